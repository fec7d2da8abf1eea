# SPDX-License-Identifier: MIT
"""model_heads_test.py BENCH_PIPELINE RANKFEED VOCAB: models that the benchmarks make have heads of the published sizes: 64 for
the base models' 768, 32 for MiniLM's 384. Standard library only."""

import json
import pathlib
import subprocess
import sys
import tempfile

pipeline, rankfeed, vocab = sys.argv[1:]
with tempfile.TemporaryDirectory() as work:
    image = f"{work}/image"  # what the benchmarks open
    subprocess.run([rankfeed, "compile", vocab, "-o", image], check=True)
    for hidden, head in ((768, 64), (384, 32)):
        folder = f"{work}/{hidden}"
        subprocess.run([pipeline, "--make-model", folder, "--layers", "1", "--hidden", str(hidden), "--vocab", image], check=True)
        config = json.loads(pathlib.Path(folder, "config.json").read_text())
        assert config["hidden_size"] // config["num_attention_heads"] == head, config
print("ok")
