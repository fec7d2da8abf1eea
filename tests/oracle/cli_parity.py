# SPDX-License-Identifier: MIT
"""Ids of stress texts from the command line (the path without offsets) against both wheels.

  cli_parity.py --rankfeed PROGRAM [--count N] [--seed S] tokenizer.json FILE.model
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile

import stress

SKIP = 77
CHUNK = 50000


def encode(rankfeed, image, texts, *options):
    lines = "\n".join(json.dumps({"text": text}) for text in texts) + "\n"
    done = subprocess.run([rankfeed, "encode", "--vocab", image, "--jsonl", *options],
                          input=lines.encode(), capture_output=True, check=True)
    ids = [[int(i) for i in line.split()] for line in done.stdout.split(b"\n")[:-1]]
    if len(ids) != len(texts):
        raise SystemExit(f"{len(texts)} texts gave {len(ids)} lines")
    return ids


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rankfeed", required=True)
    parser.add_argument("--count", type=int, default=1000000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("tokenizer_json")
    parser.add_argument("model")
    arguments = parser.parse_args()
    for path in (arguments.tokenizer_json, arguments.model):
        if not os.path.exists(path):
            print(f"SKIPPED: {path} is absent")
            return SKIP
    import sentencepiece
    import tokenizers
    huggingface = tokenizers.Tokenizer.from_file(arguments.tokenizer_json)
    sp = sentencepiece.SentencePieceProcessor(model_file=arguments.model)
    words = [sp.id_to_piece(i).replace("▁", "") for i in range(3, sp.get_piece_size(), 97)]
    texts = itertools.islice(stress.strings(arguments.count, arguments.seed, words), arguments.count)
    total, mismatches = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        images = []
        for source in (arguments.tokenizer_json, arguments.model):
            images.append(os.path.join(folder, f"{len(images)}.rfimg"))
            subprocess.run([arguments.rankfeed, "compile", source, "-o", images[-1]], check=True,
                           stdout=subprocess.DEVNULL)
        while part := list(itertools.islice(texts, CHUNK)):
            for name, got, expected in (
                    ("huggingface", encode(arguments.rankfeed, images[0], part, "--special"),
                     [e.ids for e in huggingface.encode_batch_fast(part)]),
                    ("sentencepiece", encode(arguments.rankfeed, images[1], part), sp.encode(part))):
                for text, a, b in zip(part, got, expected):
                    if a != b:
                        mismatches += 1
                        if mismatches <= 20:
                            print(f"MISMATCH {name}\n  text      {text!r}\n  engine    {a}\n  reference {b}")
            total += len(part)
    print(f"{total} texts in both modes, {mismatches} mismatches")
    return 1 if mismatches or total != arguments.count else 0


if __name__ == "__main__":
    sys.exit(main())
