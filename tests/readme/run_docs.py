# SPDX-License-Identifier: MIT
"""run_docs.py SOURCE: executes the Python blocks of every page in docs/, those of one page in order and
in one namespace, with MODEL (a vocabulary file), FOLDER (a scratch folder) and RERANKER (a model's folder) defined."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

source = pathlib.Path(sys.argv[1])
count = 0
for page in sorted((source / "docs").glob("*.md")):
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        model = source / "data" / "default.model"
        reranker = pathlib.Path(folder, "reranker")
        shutil.copytree(source / "data" / "reranker", reranker)
        subprocess.run([sys.executable, source / "data" / "make_tokenizer_json.py", model, reranker / "tokenizer.json"], check=True, stdout=subprocess.DEVNULL)
        names = {"MODEL": str(model), "FOLDER": folder, "RERANKER": str(reranker)}
        for block in re.finditer(r"```python\n(.*?)```", text, re.S):
            line = text[:block.start(1)].count("\n")
            exec(compile("\n" * line + block[1], str(page), "exec"), names)  # tracebacks name the page's line
            count += 1
        names.clear()  # before the folder goes
print(f"{count} blocks executed")
sys.exit(0 if count >= 5 else 1)
