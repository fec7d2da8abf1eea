#!/usr/bin/env python3
"""doc.py RESULTS OUT NAME...: OUT, a Markdown table, from the JSON that scripts/wheels.sh left in RESULTS."""
import json
import pathlib
import sys

results, out, *names = sys.argv[1:]
lines = ["<!-- Made by scripts/wheels.sh --doc from what its last run built and ran. -->", "",
         "| wheel | file | size | import and hashes of XQuAD |", "|---|---|---|---|"]
for name in names:
    path = pathlib.Path(results) / f"{name}.json"
    if not path.exists():
        lines.append(f"| {name} | not built in the last run | | |")
        continue
    made = json.loads(path.read_text(encoding="utf-8"))
    ran = made["ran"] if made["ran"] == "not run" else f"equal; {made['ran']}"
    lines.append(f"| {name} | `{made['wheel']}` | {made['bytes'] / 1e6:.2f} MB | {ran} |")
lines += ["", "An aarch64 wheel runs under qemu-user. Wheels for musl are built and audited, not run: neither Debian nor PyPI has a Python",
          "for musl.", "", "## Not built", "",
          "* macOS and Windows, which zig also targets: the sources call what only Linux has. `src/platform` places images in a sealed",
          "  memfd and on huge pages (`memfd_create`, `MAP_HUGETLB`, `MADV_HUGEPAGE`, `MADV_POPULATE_WRITE`, `/proc/self/smaps`),",
          "  `gpu_handoff/numa.cc` asks for memory nodes (`get_mempolicy`, `set_mempolicy`, `move_pages`). Windows lacks",
          "  also `mmap` and `madvise`, `dlopen`, and the `flock` of `src/corpus_builder`. This is read from the sources; no port was tried.",
          "* free-threaded CPython 3.14 and CPython 3.10: their headers are not in Debian 12 or 13.",
          "* free-threaded CPython on aarch64: Debian has no such interpreter there either, and building one takes its emulation."]
pathlib.Path(out).write_text("\n".join(lines) + "\n", encoding="utf-8")
