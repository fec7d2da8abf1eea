# SPDX-License-Identifier: MIT
"""An adapter whose ids are the bytes of the text, and, as adapter.py MODE, ones that break the protocol."""
import json
import sys

mode = sys.argv[1] if len(sys.argv) > 1 else "ok"
if mode == "silent":
    sys.exit(0)
if mode == "garbage":
    print("hello")
    sys.stdout.flush()
if mode == "version":
    print('{"adapter": 2, "implementation": "bytes"}')
    sys.stdout.flush()
print(json.dumps({"adapter": 1, "implementation": "bytes", "version": "1.0", "parity": "huggingface"}), flush=True)
for line in sys.stdin:
    texts = json.loads(line)["texts"]
    ids = [list(t.encode()) for t in texts]
    if mode == "short":
        ids = ids[1:]
    if mode == "not_ids":
        ids[0] = ["a"]
    if mode == "dies":
        sys.exit(1)
    if mode == "error":
        print(json.dumps({"error": "out of ideas"}), flush=True)
        continue
    answer = {"ids": ids}
    if mode in ("ok", "slow"):
        answer["ns"] = [1000 * len(t) for t in texts]
        answer["allocations"] = 3 * len(texts)
    if mode == "slow":
        answer.update(assemble_ns=5000000, batch_ns=7000000)
    print(json.dumps(answer), flush=True)
