#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""All engines on the same texts in one run: ids compared first, then rounds in which every engine encodes the corpus once,
in an order that changes from round to round. Time is CPU time of the engine's process, so that other programs on the
machine take little from it; with --threads it is wall time instead. The median of an engine's ratios to libsentencepiece
within each round is what compares.

usage: compare.py --build BUILD --shared FOLDER --languages en,th --rounds 5 --python VENV/bin/python --other NAME=VENV/bin/python -o RESULT.json

--other adds another version of tokenizers, from another environment. The language "many" is a sample of the stream of
bench/text_streams.py, when --many names its file.
"""
import argparse
import hashlib
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LANGUAGES = "ar de el en es hi ro ru th tr vi zh".split()


class Process:
    def __init__(self, name, command, reference, path, threads):
        self.name, self.reference, self.path, self.threads, self.version = name, reference, path, threads, ""
        environment = dict(os.environ, RAYON_NUM_THREADS=str(threads), OMP_NUM_THREADS=str(threads), TOKENIZERS_PARALLELISM="true" if threads > 1 else "false")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        self.samples, self.empty_call_ns, self.mismatches, self.resident_bytes = [], 0, None, None

    def greeting(self):
        facts = json.loads(self.readline())
        self.version, self.reference, self.path, self.empty_call_ns = facts["version"], facts["reference"], facts["path"], facts["empty_call_ns"][1 if self.threads == 1 else 0]
        self.resident_bytes = facts["resident_bytes"]

    def readline(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError((self.process.stderr.read() or "ended").strip().splitlines()[-1][:200])
        return line

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.readline().strip()

    def run(self, command="run"):
        return tuple(map(int, self.ask(command).split()))[:2]

    def close(self):
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.wait()


def read_ids(path):
    data = open(path, "rb").read()
    out, at = [], 0
    while at < len(data):
        n = int.from_bytes(data[at:at + 4], "little")
        out.append(data[at + 4:at + 4 + 4 * n])
        at += 4 + 4 * n
    return out


def code():
    """Code and Markdown: files of this tree, each cut into texts of about 2,000 bytes at a line."""
    root, texts = pathlib.Path(HERE).parent.parent, []
    kinds = (".cc", ".h", ".hpp", ".py", ".sh", ".md")
    files = [path for folder in ("src", "include", "python", "scripts", "docs") for path in (root / folder).rglob("*") if path.suffix in kinds]
    for path in sorted(files):
        lines, size = [], 0
        for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
            lines.append(line)
            size += len(line.encode())
            if size >= 2000:
                texts.append("".join(lines))
                lines, size = [], 0
        if lines:
            texts.append("".join(lines))
    return texts


def load(shared, language, many):
    def passages(name):
        rows = map(json.loads, open(os.path.join(shared, "xquad", name + ".jsonl"), encoding="utf-8"))
        return [row["text"] for row in rows if row["kind"] == "passage"]

    if language == "code":  # as LoadCode of bench/corpus.cc has it
        return code()
    if language == "many":
        return [json.loads(line)["text"] for i, line in enumerate(open(many, encoding="utf-8")) if i % 20 == 0]
    if language != "all":
        return passages(language)
    return [text for group in zip(*map(passages, LANGUAGES)) for text in group]


def compare(o, language, folder):
    texts = load(o.shared, language, o.many)
    size = sum(len(t.encode()) for t in texts)
    path = os.path.join(folder, language + ".jsonl")
    with open(path, "w", encoding="utf-8") as f:
        for text in texts:
            f.write(json.dumps({"text": text}) + "\n")
    model, tokenizer_json = os.path.join(o.shared, "xlmr.model"), os.path.join(o.shared, "xlmr.tokenizer.json")
    peer = os.path.join(o.build, "bench", "bench_peer")
    engines, failed = [], []

    def start(name, command, reference="", note="", greets=False):
        try:
            process = Process(name, command, reference, note, o.threads)
            if greets:
                process.greeting()
            engines.append(process)
        except Exception as e:
            failed.append({"name": name, "error": str(e)})

    start("rankfeed", [peer, "rankfeed", os.path.join(folder, "hf.rfimg"), path, str(o.threads)], "huggingface", "rankfeed_encode_batch, 64 texts a call, word cache 4 MB")
    start("rankfeed_sp", [peer, "rankfeed", os.path.join(folder, "sp.rfimg"), path, str(o.threads)], "sentencepiece", "rankfeed_encode_batch, SentencePiece parity")
    start("sentencepiece_cpp", [peer, "sentencepiece", model, path, str(o.threads)], "sentencepiece", "libsentencepiece on mimalloc, Encode to ids")
    for name in o.engines.split(","):
        start(name, [o.python, os.path.join(HERE, "worker.py"), name, model, tokenizer_json, path], greets=True)
    for name, python in (other.split("=", 1) for other in o.other):
        start(name, [python, os.path.join(HERE, "worker.py"), "tokenizers", model, tokenizer_json, path], greets=True)

    ids = {}
    for engine in list(engines):
        try:
            answer = os.path.join(folder, "ids." + engine.name)
            assert engine.ask("ids " + answer) == "ok"
            ids[engine.name] = read_ids(answer)
        except Exception as e:
            failed.append({"name": engine.name, "error": str(e)})
            engines.remove(engine)
    references = {"huggingface": ids["tokenizers"], "sentencepiece": ids["sentencepiece_cpp"]}
    for engine in engines:
        engine.mismatches = sum(a != b for a, b in zip(ids[engine.name], references[engine.reference]))
        if len(ids[engine.name]) != len(texts):
            engine.mismatches = len(texts)
    first = {}
    for engine in engines:
        engine.run()  # warm: words have been seen, buffers have grown
        if engine.resident_bytes is None:
            engine.resident_bytes = int(engine.ask("resident"))
    order = random.Random(1)
    for _ in range(o.rounds):
        order.shuffle(engines)
        for engine in engines:
            engine.samples.append(engine.run())
            if engine.name.startswith("rankfeed"):
                first.setdefault(engine.name, []).append(engine.run("cold"))
                engine.run()  # warm again
    base = next(e for e in engines if e.name == "sentencepiece_cpp").samples
    rows = []

    def row(name, engine, samples, note):
        clock = 1 if o.threads == 1 else 0  # CPU time; wall with more threads
        net = [max(1, s[clock] - engine.empty_call_ns) for s in samples]
        ratios = sorted(b[clock] / n for n, b in zip(net, base))
        rows.append({"name": name, "version": engine.version, "reference": engine.reference, "path": note, "documents": len(texts),
                     "mismatches": engine.mismatches, "megabytes_per_second": round(size / statistics.median(net) * 1e3, 2),
                     "ratio_to_libsentencepiece": {"median": round(statistics.median(ratios), 2), "min": round(ratios[0], 2), "max": round(ratios[-1], 2)},
                     "resident_megabytes": round(engine.resident_bytes / 1e6, 1), "wall_over_cpu": round(statistics.median(w / c for w, c in samples), 2), "empty_call_us": round(engine.empty_call_ns / 1e3, 1)})

    for engine in sorted(engines, key=lambda e: e.name):
        row(engine.name, engine, engine.samples, engine.path)
        if engine.name in first:
            row(engine.name + " (cold)", engine, first[engine.name], engine.path + "; emptied before every pass")
    for engine in engines:
        engine.close()
    rows.sort(key=lambda r: -r["ratio_to_libsentencepiece"]["median"])
    return {"language": language, "threads": o.threads, "bytes": size, "documents": len(texts), "sha256": hashlib.sha256(open(path, "rb").read()).hexdigest(),
            "engines": rows, "failed": failed}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--shared", default=os.environ.get("RANKFEED_SHARED_DATA", os.path.join(HERE, "..", "..", "..", "shared", "data")))
    parser.add_argument("--languages", default="en,de,ru,ar,hi,th,zh,all")
    parser.add_argument("--engines", default="tokenizers,sentencepiece,tokie,kitoken,kitoken_sp,blingfire,iree,onnxruntime")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--other", action="append", default=[], metavar="NAME=PYTHON")
    parser.add_argument("--many", default="")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("-o", "--output")
    o = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for source, image in (("xlmr.tokenizer.json", "hf.rfimg"), ("xlmr.model", "sp.rfimg")):
            subprocess.run([os.path.join(o.build, "bench", "bench_peer"), "compile", os.path.join(o.shared, source), os.path.join(folder, image)], check=True)
        for language in o.languages.split(","):
            print(f"peers: {language}", file=sys.stderr, flush=True)
            results.append(compare(o, language, folder))
    text = json.dumps(results, indent=1) + "\n"
    if o.output:
        open(o.output, "w").write(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
