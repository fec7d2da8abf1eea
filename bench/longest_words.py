#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Words of BPE as long as the default limit permits, in instructions a byte beside those of a first pass over English, counted
by callgrind: at most 60 times as many. Exits 1 above that, 77 without valgrind or vocabularies.

usage: longest_words.py --program build-release/bench/bench_instructions --rankfeed build-release/bin/rankfeed --shared FOLDER
"""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

import callgrind

MOST = 60
SIZE = 256 << 10
VOCABULARIES = ("qwen", "modernbert", "roberta")
WORDS = {"one letter": lambda: "a" * SIZE, "two letters in turn": lambda: "ab" * (SIZE // 2), "spaces": lambda: " " * SIZE,
         "random letters": lambda: "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz", k=SIZE))}


def passages(shared):
    with open(os.path.join(shared, "xquad", "en.jsonl"), encoding="utf-8") as file:
        return [row["text"] for row in map(json.loads, file) if row["kind"] == "passage"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--program", "--rankfeed", "--shared"):
        parser.add_argument(name, required=True)
    o = parser.parse_args()
    files = {name: os.path.join(o.shared, "bpe", name, "tokenizer.json") for name in VOCABULARIES}
    missing = "valgrind" if shutil.which("valgrind") is None else next((f for f in files.values() if not os.path.exists(f)), None)
    if missing is not None:
        print(f"SKIPPED: no {missing}")
        sys.exit(77)
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        image, texts = os.path.join(folder, "v.rfimg"), os.path.join(folder, "texts.jsonl")

        def per_byte(all_texts):
            with open(texts, "w", encoding="utf-8") as file:
                file.writelines(json.dumps({"text": text}) + "\n" for text in all_texts)
            counts, size, _ = callgrind.count(o.program, image, texts, 0, "first_pass")
            return counts["Ir"] / size

        for name, file in files.items():
            subprocess.run([o.rankfeed, "compile", file, "-o", image], check=True, stdout=subprocess.DEVNULL)
            plain = per_byte(passages(o.shared))
            for what, word in WORDS.items():
                times = per_byte([word()]) / plain
                failed |= times > MOST
                print(f"{name}, {what}: {times:.1f} times the {plain:.1f} instructions a byte of English", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
