#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""event_lists_test.py RAW_EVENTS: the raw events of the counters against the vendors' event lists that perf brings along
(Debian's linux-perf). perf is told which CPU to list (PERF_CPUID), and that there is a unit that counts (SYSFS_PATH), so
that this runs on any x86 machine. A CPU that this perf has no list of is named; a later perf's list of it is compared.

perf 6.1.187 of Debian 12 has no lists of Zen 5 and Emerald Rapids. Arm's lists are in its arm64 build: there
l2d_cache_refill is event 0x17 and dtlb_walk 0x34, as here (perf 6.1.192, looked up by hand)."""

import os
import re
import subprocess
import sys
import tempfile

# perf's CPUID, the fields of /proc/cpuinfo, and by counter the events of the list whose masks together are the counter's.
INTEL = {"l2_misses": r"l2_rqsts\.miss", "page_walk_cycles": r"dtlb_load_misses\.walk_active",
         "page_walks": r"dtlb_load_misses\.walk_completed"}
AMD = {"l2_misses": r"l2_cache_req_stat\.ic_dc_miss_in_l2", "page_walks": r"ls_l1_d_tlb_miss\.tlb_reload_(?:\w*_l2|coalesced_page)_miss"}
CPUS = [("Skylake server", "GenuineIntel", 6, 0x55, 4, INTEL), ("Ice Lake server", "GenuineIntel", 6, 0x6A, 6, INTEL),
        ("Sapphire Rapids", "GenuineIntel", 6, 0x8F, 8, INTEL), ("Emerald Rapids", "GenuineIntel", 6, 0xCF, 2, INTEL),
        ("Zen", "AuthenticAMD", 0x17, 0x01, 2, AMD), ("Zen 2", "AuthenticAMD", 0x17, 0x31, 0, AMD),
        ("Zen 3", "AuthenticAMD", 0x19, 0x01, 1, AMD), ("Zen 4", "AuthenticAMD", 0x19, 0x61, 2, AMD),
        ("Zen 5", "AuthenticAMD", 0x1A, 0x02, 1, AMD)]
FORMAT = {"event": "config:0-7,32-35", "umask": "config:8-15", "cmask": "config:24-31", "edge": "config:18", "inv": "config:23"}


def listed(sysfs, cpuid):
    """Name to raw code, of the events of that CPU."""
    out = subprocess.run(["perf", "list", "--details"], env=dict(os.environ, PERF_CPUID=cpuid, SYSFS_PATH=sysfs), text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    events, name = {}, None
    for line in out.splitlines():
        if match := re.fullmatch(r"  ([a-z]\S*)\s*", line):
            name = match[1]
        elif (match := re.fullmatch(r"\s+cpu/(\S+)/\s*", line)) and name:
            fields = {k: int(v, 0) for k, _, v in (part.partition("=") for part in match[1].split(","))}
            event = fields["event"]
            events[name] = (event & 0xFF) | (event >> 8) << 32 | fields.get("umask", 0) << 8 | fields.get("cmask", 0) << 24
    return events


def main():
    try:
        version = subprocess.run(["perf", "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        print("not run: no perf (apt-get install linux-perf)")
        return 77
    compared, problems = 0, []
    with tempfile.TemporaryDirectory() as sysfs:
        unit = os.path.join(sysfs, "bus", "event_source", "devices", "cpu")
        os.makedirs(os.path.join(unit, "format"))
        for name, bits in {"type": "4", **{f"format/{k}": v for k, v in FORMAT.items()}}.items():
            with open(os.path.join(unit, name), "w", encoding="ascii") as file:
                file.write(bits + "\n")
        for cpu, vendor, family, model, stepping, counters in CPUS:
            identity = f"vendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: {model}\nmodel name\t: {cpu}\n\n"
            own = dict(line.split() for line in subprocess.run([sys.argv[1]], input=identity, check=True, stdout=subprocess.PIPE,
                                                               text=True).stdout.splitlines())
            # In perf's CPUID the family is decimal, the model hexadecimal.
            known = listed(sysfs, f"{vendor}-{family}-{model:X}-{stepping}")
            for counter, pattern in counters.items():
                codes = [code for name, code in known.items() if re.fullmatch(pattern, name)]
                if not codes:
                    print(f"{cpu}: {counter}: {version} has no list with {pattern}")
                    continue
                wanted = 0
                for code in codes:
                    wanted |= code
                compared += 1
                print(f"{cpu}: {counter}: own {own[counter]}, listed {wanted:x} ({len(codes)} events)")
                if int(own[counter], 16) != wanted:
                    problems.append(f"{cpu}: {counter} is {own[counter]} here and {wanted:x} in {version}")
    if compared < 12:
        problems.append(f"only {compared} events were compared")
    print("\n".join(problems) or f"{compared} events as in {version}")
    return int(bool(problems))


sys.exit(main())
