# SPDX-License-Identifier: MIT
"""rerank_test.py RANKFEED SOURCE VENDOR [OPTION...]: `rankfeed rerank --device VENDOR` over the fake devices ranks as the host does, with the
vendor's matrix library, on one of two devices, and no check of the fake runtime fails. Standard library only."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

program, source, vendor = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
documents = (source / "data" / "sample" / "docs.jsonl").read_text(encoding="utf-8").splitlines()[:4]


def rerank(device, docs):
    done = subprocess.run([program, "rerank", "--vocab", source / "data" / "default.model", "--model", source / "data" / "reranker", "--query",
                           "What does a panda eat?", "--docs", docs, "--device", device, "--json", *sys.argv[4:]], capture_output=True, text=True,
                          env={**os.environ, "RANKFEED_FAKE_GPU": "devices=2,seed=5,latency=9"})
    assert done.returncode == 0, done.stderr
    assert "fake_gpu" not in done.stderr, done.stderr
    return json.loads(done.stdout)


with tempfile.TemporaryDirectory() as folder:
    short = pathlib.Path(folder) / "docs.jsonl"
    short.write_text("\n".join(documents) + "\n", encoding="utf-8")
    host, device = rerank("host", short), rerank(vendor, short)
assert device["device"]["backend"] == vendor and device["device"]["name"].startswith("Fake device"), device["device"]
assert "BLASLt" in device["device"]["gemm"] and "tiled" not in device["device"]["gemm"], device["device"]
assert len(host["results"]) == 4
for one, other in zip(host["results"], device["results"], strict=True):
    assert one["id"] == other["id"] and abs(one["score"] - other["score"]) < 2e-2, (one, other)
print(device["device"])
