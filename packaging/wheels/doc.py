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
        lines.append(f"| {name} | not built | | |")
        continue
    made = json.loads(path.read_text(encoding="utf-8"))
    ran = made["ran"] if made["ran"] == "not run" else f"equal; {made['ran']}"
    lines.append(f"| {name} | `{made['wheel']}` | {made['bytes'] / 1e6:.2f} MB | {ran} |")
pathlib.Path(out).write_text("\n".join(lines) + "\n", encoding="utf-8")
