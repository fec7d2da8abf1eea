#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Engines for a WordPiece or BPE vocabulary on the same texts in one run, one thread: ids compared first, then rounds in which
every engine encodes the texts once as new ones (it has forgotten what it saw) and once more as texts it has seen, in an order
that changes from round to round. Time is CPU time of the engine's process, an empty call's time subtracted. rankfeed's word
cache has 1 MiB for new texts and 4 MiB for texts it has seen.

usage: vocabulary.py --build BUILD --shared FOLDER --vocabulary wordpiece/bert-base-uncased --languages en,zh,all --rounds 5
                     --python VENV/bin/python --peers tokenizers,nanotoken,tokie [-o RESULT.json]
       vocabulary.py --vocabulary bpe/qwen --peers tokenizers,tokie,gigatoken,fastokens,pre --python-pre PRE/bin/python

--python has the wheels of requirements.txt, --python-pre those of requirements-pre.txt ("pre" among the peers).
"""
import argparse
import json
import os
import random
import statistics
import sys
import tempfile

from compare import HERE, Process, load, read_ids
import subprocess


def start(o, tokenizer_json, path, folder):
    peer = os.path.join(o.build, "bench", "bench_peer")
    image = os.path.join(folder, "vocabulary.rfimg")
    subprocess.run([peer, "compile", tokenizer_json, image], check=True)
    engines = {}
    for name, cache in (("rankfeed", 1 << 20), ("rankfeed 4 MiB", 4 << 20)):
        engines[name] = Process(name, [peer, "rankfeed", image, path, "1", str(cache)], "huggingface", "rankfeed_encode_batch, 64 texts a call", 1)
    for name in o.peers.split(","):
        python, wheel = (o.python_pre, "tokenizers") if name == "pre" else (o.python, name)
        process = Process(name, [python, os.path.join(HERE, "worker.py"), wheel, "", tokenizer_json, path], "huggingface", "", 1)
        process.greeting()
        engines[name] = process
    return engines


def measure(o, language, folder):
    texts = load(o.shared, language, None)
    size = sum(len(t.encode()) for t in texts)
    path = os.path.join(folder, language + ".jsonl")
    with open(path, "w", encoding="utf-8") as f:
        for text in texts:
            f.write(json.dumps({"text": text}) + "\n")
    engines = start(o, os.path.join(o.shared, o.vocabulary, "tokenizer.json"), path, folder)
    ids = {}
    for name, engine in engines.items():
        answer = os.path.join(folder, "ids")
        assert engine.ask("ids " + answer) == "ok"
        ids[name] = read_ids(answer)
    different = {name: sum(a != b for a, b in zip(of, ids["tokenizers"])) for name, of in ids.items()}
    if different["rankfeed"] != 0:
        sys.exit(f"{language}: ids of {different['rankfeed']} texts are not those of tokenizers")
    speeds = {(name, kind): [] for name in engines for kind in ("first", "repeated")}
    order = list(engines)
    for _ in range(o.rounds):
        random.shuffle(order)
        for name in order:
            for kind, command in (("first", "cold"), ("repeated", "run")):
                cpu = engines[name].run(command)[1] - engines[name].empty_call_ns
                speeds[name, kind].append(size * 1000 / max(cpu, 1))
    for engine in engines.values():
        engine.close()
    row = {"language": language, "bytes": size, "texts": len(texts), "different": different, "versions": {n: e.version for n, e in engines.items()}}
    for (name, kind), values in speeds.items():
        row[f"{name} {kind}"] = round(statistics.median(values), 1)
    mine = {"first": "rankfeed", "repeated": "rankfeed 4 MiB"}
    for kind in ("first", "repeated"):
        for name in o.peers.split(","):
            pairs = zip(speeds[mine[kind], kind], speeds[name, kind])
            row[f"rankfeed / {name}, {kind}"] = round(statistics.median(a / b for a, b in pairs), 2)
    if "tokie" in o.peers:
        pairs = zip(speeds["rankfeed", "first"], speeds["tokie", "repeated"])
        row["rankfeed first / tokie repeated"] = round(statistics.median(a / b for a, b in pairs), 2)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build-bench", help="folder with bench/bench_peer")
    parser.add_argument("--shared", default=os.environ.get("RANKFEED_SHARED_DATA"), help="folder with wordpiece/, bpe/ and xquad/")
    parser.add_argument("--vocabulary", default="wordpiece/bert-base-uncased", help="folder in it with a tokenizer.json")
    parser.add_argument("--peers", default="tokenizers,nanotoken,tokie")
    parser.add_argument("--python-pre", default=sys.executable)
    parser.add_argument("--languages", default="en,zh,all", help="of XQuAD, all: twelve of them interleaved; code: files of this tree")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--python", default=sys.executable, help="interpreter that has the wheels of requirements.txt")
    parser.add_argument("-o", "--output", help="file for the result as JSON")
    o = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for language in o.languages.split(","):
            row = measure(o, language, folder)
            rows.append(row)
            print(f"{o.vocabulary} {language}: {row['bytes']} bytes in {row['texts']} texts, of which not as tokenizers: {row['different']}")
            for key, value in row.items():
                if isinstance(value, float):
                    print(f"  {key:34} {value:8} {'' if '/' in key else 'MB/s'}")
            sys.stdout.flush()
    if o.output:
        with open(o.output, "w", encoding="utf-8") as f:
            json.dump({"vocabulary": o.vocabulary, "rounds": o.rounds, "rows": rows}, f, indent=1)


if __name__ == "__main__":
    main()
