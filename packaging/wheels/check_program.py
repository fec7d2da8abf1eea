#!/usr/bin/env python3
"""check_program.py FOLDER WORK MODEL... -- COMMAND...: the line that check.py prints, from what the program of check.cc
leaves in WORK. COMMAND starts it. What it prints, the instruction sets, goes to standard error."""
import hashlib
import json
import pathlib
import shutil
import struct
import subprocess
import sys

from check import texts_of


def main(folder: str, work: str, *rest: str) -> None:
    models, command = list(rest[:rest.index("--")]), rest[rest.index("--") + 1:]
    out = pathlib.Path(work)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    texts = [text.encode() for text in texts_of(folder)]
    (out / "texts").write_bytes(b"".join(struct.pack("<I", len(text)) + text for text in texts))
    done = subprocess.run([*command, str(out / "texts"), str(out), *models], stdout=subprocess.PIPE, text=True, check=True)
    found: dict = {"texts": len(texts)}
    for model in models:
        name = pathlib.Path(model).name
        made = {kind: (out / f"{name}.{kind}").read_bytes() for kind in ("ids", "offsets", "pairs", "image")}
        found[name] = {kind: hashlib.sha256(data).hexdigest() for kind, data in made.items()}
        found[name]["count"] = (len(made["ids"]) - len(texts)) // 4  # each text ends in one byte
        if found[name]["count"] < len(texts):
            sys.exit(f"check: {model} gives no ids")
    print(json.dumps(found, sort_keys=True))
    print(f"check: {', '.join(sorted(set(done.stdout.split(chr(10))) - {''}))}", file=sys.stderr)


main(*sys.argv[1:])
