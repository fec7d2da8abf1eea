#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Adapter protocol (docs/audit.md) over the tokenizers of engines.py.

usage: adapter.py ENGINE --model FILE.model --json TOKENIZER.JSON

`rankfeed audit --adapter` measures it, `--reference` compares ids with it.
"""
import argparse
import json
import os
import sys
import time

import engines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", choices=sorted(engines.ENGINES))
    parser.add_argument("--model", help="SentencePiece .model")
    parser.add_argument("--json", dest="tokenizer_json", help="HuggingFace tokenizer.json")
    options = parser.parse_args()
    # Answers go to a copy of standard output; whatever a wheel prints goes to standard error.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    engine = engines.make(options.engine, options.model, options.tokenizer_json)

    def answer(value):
        out.write(json.dumps(value, separators=(",", ":")) + "\n")
        out.flush()

    answer({"adapter": 1, "implementation": engine.name, "version": engine.version, "parity": engine.reference})
    for line in sys.stdin:
        try:
            texts = json.loads(line)["texts"]
            start = time.perf_counter_ns()
            result = engine.call(texts)
            ns = time.perf_counter_ns() - start
            answer({"ids": [list(map(int, ids)) for ids in engine._ids(result)], "ns": ns})
        except Exception as e:  # the other side decides what to do about it
            answer({"error": f"{type(e).__name__}: {e}"})


if __name__ == "__main__":
    main()
