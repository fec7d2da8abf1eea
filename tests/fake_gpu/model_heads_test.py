# SPDX-License-Identifier: MIT
"""model_heads_test.py BENCH_PIPELINE VOCAB: models that the benchmarks make have heads of the published sizes: 64 for the base models'
768, 32 for MiniLM's 384. Standard library only."""

import json
import pathlib
import subprocess
import sys
import tempfile

for hidden, head in ((768, 64), (384, 32)):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], "--make-model", folder, "--layers", "1", "--hidden", str(hidden), "--vocab", sys.argv[2]], check=True)
        config = json.loads((pathlib.Path(folder) / "config.json").read_text())
        assert config["hidden_size"] // config["num_attention_heads"] == head, config
print("ok")
