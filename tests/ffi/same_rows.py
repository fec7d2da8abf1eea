# SPDX-License-Identifier: MIT
"""same_rows.py BATCH ROWS: lines of ids in ROWS are the rows of a packed batch of `rankfeed batch --json`."""
import json
import sys

batch = json.loads(open(sys.argv[1], encoding="utf-8").read())
starts = batch["cu_seqlens"]
expected = [batch["input_ids"][a:b] for a, b in zip(starts, starts[1:])]
rows = [[int(i) for i in line.split()] for line in open(sys.argv[2], encoding="utf-8")]
assert rows and rows == expected, (rows, expected)
print(len(rows), "rows equal those of `rankfeed batch`")
