#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Engines on a long stream of texts that they meet in order, as a service does: the first three quarters, the last quarter (new),
that quarter again, and the stream's first 20 kB over and over (hot). Each round starts every engine anew; within a stage they take
turns in changing order. CPU time of the engine's process on one thread, less that of a call of as many empty texts; medians over the
rounds with their quartiles. Ids of all texts are compared with those of tokenizers before a speed is told.

usage: stream.py --build BUILD --shared FOLDER --texts TEXTS.jsonl --python VENV/bin/python [--python-pre PRE/bin/python]
                 [--vocabularies NAME,...] [--rounds 3] [-o RESULT.json]

--texts: bench/text_streams.py --stream english prints the path of the stream that RESULTS.md is of. --python has the wheels of
requirements.txt, --python-pre those of requirements-pre.txt. RANKFEED_ISA forces rankfeed's instruction set, as rankfeed_force_isa
has them.
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

from compare import HERE, Process, read_ids

# Tokenizer files below the shared folder, and the peers that read them. "pre" is tokenizers of --python-pre.
VOCABULARIES = {
    "Qwen": ("bpe/qwen/tokenizer.json", "tokenizers,pre,gigatoken,fastokens,splintr"),
    "ModernBERT": ("bpe/modernbert/tokenizer.json", "tokenizers,pre,gigatoken,fastokens,splintr"),
    "bert-base-uncased": ("wordpiece/bert-base-uncased/tokenizer.json", "tokenizers,pre,nanotoken,splintr"),
    "XLM-R": ("xlmr.tokenizer.json", "tokenizers,pre,tokie,splintr"),
}
STAGES = ("first", "new", "again", "hot")
HOT_BYTES, HOT_TIMES = 20_000, 100


def stages(texts):
    """{stage: (from, to, times)}: the texts that it encodes and how often, and {stage: bytes} of one time."""
    sizes = [len(text.encode()) for text in texts]
    quarter = hot = done = 0
    for i, size in enumerate(sizes):
        done += size
        quarter = i + 1 if done <= 0.75 * sum(sizes) else quarter
        hot = i + 1 if done <= HOT_BYTES else max(hot, 1)
    ranges = {"first": (0, quarter, 1), "new": (quarter, len(texts), 1), "again": (quarter, len(texts), 1), "hot": (0, hot, HOT_TIMES)}
    return ranges, {stage: sum(sizes[begin:end]) for stage, (begin, end, _) in ranges.items()}


class Round:
    """Engines of one vocabulary, just started; a wheel that is missing or refuses the file is named in failed."""

    def __init__(self, o, file, peers, image):
        self.engines, self.failed = {}, {}
        self.start("rankfeed", [os.path.join(o.build, "bench", "bench_peer"), "rankfeed", image, o.texts, "1"], greets=False)
        for name in peers.split(","):
            python, wheel = (o.python_pre, "tokenizers") if name == "pre" else (o.python, name)
            if python:
                self.start(name, [python, os.path.join(HERE, "worker.py"), wheel, "", file, o.texts], greets=True)
            else:
                self.failed[name] = "no --python-pre"

    def start(self, name, command, greets):
        try:
            engine = Process(name, command, "huggingface", "", 1)
            if greets:
                engine.greeting()
            self.engines[name] = engine
        except Exception as e:
            self.failed[name] = str(e)

    def speeds(self, ranges, sizes, texts, order):
        """{(engine, stage): MB/s}."""
        out, names = {}, list(self.engines)
        for stage in STAGES:
            begin, end, times = ranges[stage]
            order.shuffle(names)
            for name in names:
                engine = self.engines[name]
                cpu = engine.run(f"range {begin} {end} {times}")[1] / times - engine.empty_call_ns * (end - begin) / texts
                out[name, stage] = sizes[stage] * 1000 / max(cpu, 1)
        return out

    def different(self, folder):
        """{engine: texts whose ids are not those of tokenizers}."""
        ids = {}
        for name, engine in self.engines.items():
            answer = os.path.join(folder, "ids." + name)
            if engine.ask("ids " + answer) != "ok":
                sys.exit(f"{name}: no ids")
            ids[name] = read_ids(answer)
            os.remove(answer)
        return {name: sum(a != b for a, b in zip(mine, ids["tokenizers"])) + abs(len(mine) - len(ids["tokenizers"])) for name, mine in ids.items()}

    def close(self):
        for engine in self.engines.values():
            engine.close()


def measure(o, name, texts, folder):
    file, peers = VOCABULARIES[name]
    file, image = os.path.join(o.shared, file), os.path.join(folder, "vocabulary.rfimg")
    subprocess.run([os.path.join(o.build, "bench", "bench_peer"), "compile", file, image], check=True)
    ranges, sizes = stages(texts)
    order, rounds, different = random.Random(1), [], {}
    for i in range(o.rounds):
        print(f"stream: {name}, round {i + 1} of {o.rounds}", file=sys.stderr, flush=True)
        one = Round(o, file, peers, image)
        rounds.append(one.speeds(ranges, sizes, len(texts), order))
        if i == 0:
            different = one.different(folder)
            if different["rankfeed"] != 0:
                sys.exit(f"{name}: ids of {different['rankfeed']} texts are not those of tokenizers")
        isa = one.engines["rankfeed"].ask("isa")
        versions, failed = {n: e.version for n, e in one.engines.items()}, one.failed
        one.close()
    rows = []
    for engine in versions:
        row = {"engine": engine, "version": versions[engine], "different": different[engine]}
        for stage in STAGES:
            values = [r[engine, stage] for r in rounds if (engine, stage) in r]
            low, middle, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
            ratios = [r["rankfeed", stage] / r[engine, stage] for r in rounds if (engine, stage) in r]
            row[stage] = {"megabytes_per_second": round(middle, 1), "quartiles": [round(low, 1), round(high, 1)], "rankfeed_over": round(statistics.median(ratios), 2)}
        rows.append(row)
    return {"vocabulary": name, "texts": len(texts), "bytes": sizes, "rounds": o.rounds, "isa": isa, "engines": rows, "failed": failed}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build-bench", help="folder with bench/bench_peer")
    parser.add_argument("--shared", default=os.environ.get("RANKFEED_SHARED_DATA"), help="folder with xlmr.tokenizer.json, bpe/ and wordpiece/")
    parser.add_argument("--texts", required=True, help="the stream, a JSON object with a text in each line")
    parser.add_argument("--vocabularies", default=",".join(VOCABULARIES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--python-pre", default="")
    parser.add_argument("-o", "--output", help="file for the result as JSON")
    o = parser.parse_args()
    texts = [json.loads(line)["text"] for line in open(o.texts, encoding="utf-8")]
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for name in o.vocabularies.split(","):
            results.append(measure(o, name, texts, folder))
            for row in results[-1]["engines"]:
                print(f"{name:18} {row['engine']:10} {row['version']:8} " + "  ".join(
                    f"{stage} {row[stage]['megabytes_per_second']:7.1f} ({row[stage]['quartiles'][0]:.0f}–{row[stage]['quartiles'][1]:.0f})" for stage in STAGES)
                      + f"  other ids: {row['different']} of {len(texts)}", flush=True)
            for engine, why in results[-1]["failed"].items():
                print(f"{name:18} {engine:10} not run: {why}", flush=True)
    if o.output:
        with open(o.output, "w", encoding="utf-8") as f:
            json.dump(results, f, indent=1)


if __name__ == "__main__":
    main()
