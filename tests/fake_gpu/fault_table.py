# SPDX-License-Identifier: MIT
"""fault_table.py PROGRAM DOCUMENT [--write]: the table of planted faults in docs/handoff-checks.md is the list of the program that
plants them (fake_gpu_planted_faults_test). --write makes it so. Standard library only."""

import os
import pathlib
import re
import subprocess
import sys

program, document = sys.argv[1], pathlib.Path(sys.argv[2])
done = subprocess.run([program, "--gtest_filter=PlantedFaults.List"], capture_output=True, text=True, check=True,
                      env={**os.environ, "RANKFEED_LIST_FAULTS": "1"})
faults = [line.split("\t")[1:] for line in done.stdout.splitlines() if line.startswith("fault\t")]
rows = ["| fault | found by | where |", "|---|---|---|"]
for name, found, vendor in faults:
    checks = " or ".join(f"`{check}`" if re.fullmatch(r"[a-z]+(-[a-z]+)+", check) else check for check in found.split("|"))
    rows.append(f"| {name} | {checks} | {vendor} |")
table = "\n".join(rows) + "\n"
text = document.read_text(encoding="utf-8")
begin, end = "<!-- planted faults -->\n", "<!-- end -->\n"
before, rest = text.split(begin)
written, after = rest.split(end)
if len(faults) < 58:
    sys.exit(f"{len(faults)} faults were listed")
if "--write" in sys.argv:
    document.write_text(before + begin + table + end + after, encoding="utf-8")
elif written != table:
    sys.exit(f"{document.name}: the table is not the program's; tests/fake_gpu/fault_table.py --write makes it")
print(f"{len(faults)} faults")
