#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rows of one query with 100 English passages of XQuAD (74 KB), packed, at most 512 tokens each, on one thread: rankfeed with the
vocabulary of a MiniLM folder and with XLM-R's (bench/bench_pairs.cc), and tokenizers' encode_batch of the same pairs with the former.
Ids are compared first. Rounds in which each makes the rows once of texts it has not seen (a new reranker; a tokenizer that was loaded
again) and once more of texts it has seen, in an order that changes; CPU time; medians of the ratios within each round.

usage: pairs.py --build BUILD --shared FOLDER --rounds 9       (an interpreter with the wheels of requirements.txt)
"""
import argparse
import array
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.update(RAYON_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")
import tokenizers  # noqa: E402

from compare import load, read_ids  # noqa: E402

QUERY = "What is a panda, and what does it eat?"


class Rankfeed:
    def __init__(self, program, vocabulary, path):
        self.process = subprocess.Popen([program, vocabulary, path, QUERY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def ids(self, folder):
        if self.ask(f"ids {folder}/ids") != "ok":
            sys.exit("bench_pairs ended")
        return read_ids(f"{folder}/ids")

    def time(self, kind):
        return int(self.ask(kind))

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Wheel:
    def __init__(self, vocabulary, texts):
        self.vocabulary, self.pairs = vocabulary, [(QUERY, text) for text in texts]
        self.load()

    def load(self):
        self.tokenizer = tokenizers.Tokenizer.from_file(self.vocabulary)
        self.tokenizer.enable_truncation(512)
        self.tokenizer.no_padding()

    def ids(self, folder):
        return [array.array("i", e.ids).tobytes() for e in self.tokenizer.encode_batch(self.pairs)]

    def time(self, kind):
        if kind == "cold":
            self.load()
        begin = time.process_time_ns()
        made = self.tokenizer.encode_batch(self.pairs)
        end = time.process_time_ns()
        del made
        return end - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build-bench", help="folder with bench/bench_pairs")
    parser.add_argument("--shared", default=os.environ.get("RANKFEED_SHARED_DATA"), help="folder with wordpiece/, xlmr.tokenizer.json and xquad/")
    parser.add_argument("--rounds", type=int, default=9)
    o = parser.parse_args()
    texts = load(o.shared, "en", None)[:100]
    minilm, xlmr = (os.path.join(o.shared, name) for name in ("wordpiece/all-MiniLM-L6-v2/tokenizer.json", "xlmr.tokenizer.json"))
    program = os.path.join(o.build, "bench", "bench_pairs")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "texts.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
        engines = {"MiniLM": Rankfeed(program, minilm, path), "XLM-R": Rankfeed(program, xlmr, path), "tokenizers": Wheel(minilm, texts)}
        for mine, theirs in (("MiniLM", engines["tokenizers"]), ("XLM-R", Wheel(xlmr, texts))):
            if engines[mine].ids(folder) != theirs.ids(folder):
                sys.exit(f"{mine}: ids are not those of tokenizers")
        times = {(name, kind): [] for name in engines for kind in ("cold", "run")}
        order = list(engines)
        for _ in range(o.rounds):
            random.shuffle(order)
            for name in order:
                for kind in ("cold", "run"):
                    times[name, kind].append(engines[name].time(kind))
        for name in ("MiniLM", "XLM-R"):
            engines[name].close()
    print(f"{len(texts)} passages, {sum(len(t.encode()) for t in texts)} bytes; tokenizers {tokenizers.__version__}; load {os.getloadavg()[0]:.1f}; "
          f"{o.rounds} rounds")
    for kind, what in (("cold", "texts not seen before"), ("run", "texts seen before")):
        print(what)
        for name in engines:
            print(f"  {name:12} {statistics.median(times[name, kind]) / 1e6:9.3f} ms")
        for one, other in (("MiniLM", "XLM-R"), ("tokenizers", "MiniLM")):
            ratios = sorted(a / b for a, b in zip(times[one, kind], times[other, kind]))
            print(f"  {one} / {other}: {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")


if __name__ == "__main__":
    main()
