#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the benchmarks and writes bench/RESULTS.md with its tables and plots, and bench/results/*.json.

usage: bench/run.py [--build build-bench] [--rounds 5] [--languages en,th,all] [--min-time 0.2] [--only peers,receipt,programs,instructions]

Needs a build with benchmarks and the command line (cmake --preset bench && cmake --build --preset bench), the texts of
RANKFEED_SHARED_DATA, valgrind for the simulated counts, and PyPI the first time: wheels go to .venv-bench and
.venv-bench-0.21. A part that cannot run is named in RESULTS.md instead of left out.
"""
import argparse
import datetime
import hashlib
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RESULTS = os.path.join(ROOT, "bench", "results")
PROGRAMS = ("bench_query", "bench_open", "bench_latency", "bench_scaling")


def venv(name, requirements):
    """Python of an environment with the wheels; made once per requirements file."""
    folder = os.path.join(ROOT, name)
    path = os.path.join(ROOT, "bench", "peers", requirements)
    stamp, wanted = os.path.join(folder, "requirements.sha256"), hashlib.sha256(open(path, "rb").read()).hexdigest()
    python = os.path.join(folder, "bin", "python")
    if not (os.path.exists(stamp) and open(stamp).read() == wanted):
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
        pins = [l.strip() for l in open(path) if l.strip() and not l.startswith("#")]
        # The peers alone, without what they would draw in for downloading models; matplotlib needs its own.
        subprocess.run(pip + ["--no-deps"] + [p for p in pins if p != "matplotlib"], check=True)
        if "matplotlib" in pins:
            subprocess.run(pip + ["matplotlib"], check=True)
        open(stamp, "w").write(wanted)
    return python


def table(head, rows):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head)] + ["| " + " | ".join(map(str, r)) + " |" for r in rows]) + "\n"


def peers_section(results):
    out = []
    by = {r["language"]: r for r in results}
    main = by.get("all") or results[-1]
    languages = [r["language"] for r in results]
    ratio = {(r["language"], e["name"]): e for r in results for e in r["engines"]}
    names = [e["name"] for e in main["engines"]]
    out.append("CPU time per pass, median over interleaved rounds, as a multiple of libsentencepiece in the same round (higher is faster); lowest and highest "
               "round in brackets for the column \"all\". One thread. *Other ids*: documents of all languages run whose ids differ from the engine's own "
               "reference (tokenizers 0.23 or libsentencepiece).\n")
    rows = []
    for name in names:
        e = ratio[(main["language"], name)]
        wrong = sum(ratio[(l, name)]["mismatches"] for l in languages if (l, name) in ratio)
        total = sum(ratio[(l, name)]["documents"] for l in languages if (l, name) in ratio)
        r = e["ratio_to_libsentencepiece"]
        rows.append([("**" + name + "**") if name.startswith("rankfeed") else name, e["version"] or "–"]
                    + [ratio[(l, name)]["ratio_to_libsentencepiece"]["median"] if (l, name) in ratio else "–" for l in languages if l != main["language"]]
                    + [f"{r['median']} ({r['min']}–{r['max']})", e["megabytes_per_second"], f"{wrong} of {total:,}"])
    out.append(table(["engine", "version"] + [l for l in languages if l != main["language"]] + [main["language"], f"MB/s, {main['language']}", "other ids"], rows))
    out.append("![peers](results/peers.svg)\n")
    out.append("How each was called:\n\n" + "\n".join(f"* {e['name']}: {e['path']}; an empty call of as many texts, which is subtracted, takes {e['empty_call_us']} µs"
                                                        if e["empty_call_us"] else f"* {e['name']}: {e['path']}" for e in sorted(main["engines"], key=lambda e: e["name"])) + "\n")
    if main["failed"]:
        out.append("Did not run: " + "; ".join(f"{f['name']} ({f['error']})" for f in main["failed"]) + "\n")
    return "\n".join(out)


def programs_section(data):
    out = []
    for name, result in data.items():
        if "error" in result:
            out.append(f"### {name}\n\nnot run: {result['error']}\n")
            continue
        rows = []
        for b in result["benchmarks"]:
            if b.get("run_type") == "aggregate" or b.get("error_occurred"):
                continue
            skip = {"name", "run_name", "run_type", "repetitions", "repetition_index", "threads", "iterations", "real_time", "cpu_time", "time_unit",
                    "family_index", "per_family_instance_index", "bytes_per_second", "items_per_second", "label"}
            extra = ", ".join(f"{k} {v:.4g}" for k, v in b.items() if k not in skip and isinstance(v, (int, float)))
            rows.append([b["name"], f"{b['cpu_time']:.4g} {b['time_unit']}", f"{b['bytes_per_second'] / 1e6:.1f}" if "bytes_per_second" in b else "–", extra or "–"])
        out.append(f"### {name}\n\n" + table(["benchmark", "CPU time", "MB/s", "counters"], rows))
    return "\n".join(out)


PLOT = r"""
import json, sys
import matplotlib
matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "rankfeed"
import matplotlib.pyplot as plt
results, out = json.load(open(sys.argv[1])), sys.argv[2]
main = next((r for r in results if r["language"] == "all"), results[-1])
rows = list(reversed(main["engines"]))
fig, ax = plt.subplots(figsize=(8, 0.38 * len(rows) + 1))
colors = ["#1f5fd6" if r["name"].startswith("rankfeed") else "#9aa0ac" for r in rows]
values = [r["ratio_to_libsentencepiece"]["median"] for r in rows]
low = [v - r["ratio_to_libsentencepiece"]["min"] for v, r in zip(values, rows)]
high = [r["ratio_to_libsentencepiece"]["max"] - v for v, r in zip(values, rows)]
ax.barh([r["name"] for r in rows], values, color=colors, xerr=[low, high], error_kw={"elinewidth": 1, "ecolor": "#52565f"})
for i, v in enumerate(values):
    ax.text(v + high[i] + max(values) * 0.01, i, f"{v:g}\u00d7", va="center", fontsize=9)
ax.set_xlabel(f"throughput, libsentencepiece = 1 (XQuAD {main['language']}, one thread)")
for side in ("top", "right"):
    ax.spines[side].set_visible(False)
fig.tight_layout()
fig.savefig(out, metadata={"Date": None})
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build-bench"))
    parser.add_argument("--shared", default=os.environ.get("RANKFEED_SHARED_DATA", os.path.join(ROOT, "..", "shared", "data")))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--languages", default="en,de,ru,ar,hi,th,zh,all")
    parser.add_argument("--min-time", default="0.2", help="seconds per benchmark of the C++ programs")
    parser.add_argument("--only", default="peers,receipt,instructions,programs")
    o = parser.parse_args()
    os.makedirs(RESULTS, exist_ok=True)
    wanted = o.only.split(",")
    environment = dict(os.environ, RANKFEED_SHARED_DATA=o.shared)
    rankfeed = os.path.join(o.build, "bin", "rankfeed")
    path = lambda name: os.path.join(RESULTS, name)
    problems = []

    def attempt(part, function):
        if part not in wanted:
            return
        print(f"== {part}", file=sys.stderr, flush=True)
        try:
            function()
        except Exception as e:
            problems.append(f"{part}: {e}")
            print(f"{part}: {e}", file=sys.stderr)

    def peers():
        python, old = venv(".venv-bench", "requirements.txt"), venv(".venv-bench-0.21", "requirements-0.21.txt")
        subprocess.run([python, os.path.join(ROOT, "bench", "peers", "compare.py"), "--build", o.build, "--shared", o.shared, "--languages", o.languages,
                        "--rounds", str(o.rounds), "--python", python, "--python-0.21", old, "-o", path("peers.json")], check=True)
        subprocess.run([python, "-c", PLOT, path("peers.json"), path("peers.svg")], check=True)

    def instructions():
        for name, vocab in (("instructions_xlmr_hf.json", "xlmr.tokenizer.json"), ("instructions_xlmr_sp.json", "xlmr.model")):
            texts = path("texts.tmp.jsonl")
            with open(texts, "w") as f:
                for line in open(os.path.join(o.shared, "xquad", "en.jsonl")):
                    row = json.loads(line)
                    if row["kind"] == "passage":
                        f.write(json.dumps({"text": row["text"]}) + "\n")
            subprocess.run([sys.executable, os.path.join(ROOT, "bench", "callgrind.py"), "--program", os.path.join(o.build, "bench", "bench_instructions"),
                            "--rankfeed", rankfeed, "--vocab", os.path.join(o.shared, vocab), "--texts", texts, "-o", path(name)], check=True)
            os.remove(texts)

    def receipt():
        docs, queries = path("docs.tmp.jsonl"), path("queries.tmp.txt")
        with open(docs, "w") as d, open(queries, "w") as q:
            for line in open(os.path.join(o.shared, "xquad", "en.jsonl")):
                row = json.loads(line)
                if row["kind"] == "passage":
                    d.write(json.dumps({"text": row["text"]}) + "\n")
                else:
                    q.write(row["text"].replace("\n", " ") + "\n")
        command = [rankfeed, "receipt", "run", "--vocab", os.path.join(o.shared, "xlmr.tokenizer.json"), "--docs", docs, "--queries", queries, "--requests", "300",
                   "--candidates", "50", "--price-per-core-hour", "0.05", "-o", path("receipt.json")]
        if os.path.exists(path("instructions_xlmr_hf.json")):
            command += ["--simulated", path("instructions_xlmr_hf.json")]
        reference = os.path.join(ROOT, ".venv-bench", "bin", "python")
        if os.path.exists(reference):
            command += ["--reference", f"'{reference}' '{os.path.join(ROOT, 'bench', 'peers', 'adapter.py')}' tokenizers --json '{os.path.join(o.shared, 'xlmr.tokenizer.json')}'"]
        subprocess.run(command, check=True)
        for name in (docs, queries):
            os.remove(name)

    def programs():
        for name in PROGRAMS:
            program = os.path.join(o.build, "bench", name)
            if not os.path.exists(program):
                continue
            out = subprocess.run([program, f"--benchmark_min_time={o.min_time}", "--benchmark_format=json"], capture_output=True, text=True, env=environment)
            if out.returncode != 0:
                problems.append(f"{name}: {out.stderr.strip()[-200:]}")
                continue
            open(path(name + ".json"), "w").write(out.stdout)

    attempt("peers", peers)
    attempt("instructions", instructions)
    attempt("receipt", receipt)
    attempt("programs", programs)
    write(path, problems)


def write(path, problems):
    read = lambda name: json.load(open(path(name))) if os.path.exists(path(name)) else None
    out = ["# Results\n", "Written by `bench/run.py` (do not edit); the numbers behind it are in `bench/results`. How to read and what to distrust: "
           "[NOTES.md](NOTES.md).\n"]
    receipt, peers = read("receipt.json"), read("peers.json")
    if receipt:
        m, b = receipt["machine"], receipt["build"]
        out.append(table(["", ""], [["date", receipt["created"]], ["CPU", m["cpu"] + (", virtual machine" if m["hypervisor"] else "")],
                                     ["cores", f"{m['cores_usable']} usable of {m['cores']}"], ["load average at the time", m["load_average"]], ["kernel", m["kernel"]],
                                     ["compiler", f"{b['compiler']} {b['flags']}"], ["revision", (b["revision"] or "unknown") + (" (modified)" if b["modified"] else "")]]))
    if peers:
        out += ["## Peers\n", f"XLM-R vocabulary, XQuAD passages ({', '.join(r['language'] for r in peers)}); ids compared before anything is timed.\n", peers_section(peers)]
    if receipt:
        q, e = receipt["per_query"], receipt["encode"]
        out.append("## Per answered query\n")
        out.append(f"{receipt['workload']['requests']} queries of {q['candidates']} candidates, {q['row_tokens']} tokens in the batch, one thread, closed loop; "
                   f"the whole receipt is [results/receipt.json](results/receipt.json).\n")
        out.append(table(["stage", "CPU µs", "wall p50", "p95", "p99"], [[n, s["cpu_us"], s["wall_us"]["p50"], s["wall_us"]["p95"], s["wall_us"]["p99"]] for n, s in q["stages"].items()]
                         + [["sum of stages", q["sum_of_stages"]["cpu_us"], "", "", ""], ["measured around all", q["host"]["cpu_us"], q["host"]["wall_us"]["p50"], q["host"]["wall_us"]["p95"], q["host"]["wall_us"]["p99"]]]))
        missing = [n for n, c in receipt["counters"]["encode"].items() if c["value"] is None]
        parity = receipt["parity"]
        out.append(f"* one text: p50 {e['latency_us']['p50']} µs, p99 {e['latency_us']['p99']} µs, first time {e['latency_us']['first_p50']} µs; "
                   f"{e['allocations_per_encode']['value']} allocations\n* pages of the vocabulary: {receipt['pages']['obtained']['kind'] if receipt['pages']['obtained'] else 'unknown'}\n"
                   f"* cost at 0.05 USD per core-hour: {q['cost'].get('per_million_queries')} USD per million queries\n"
                   + (f"* ids: {parity['mismatches']} of {parity['compared']} texts (documents, special tokens, Unicode stress) differ from {parity['reference']['implementation']} {parity['reference']['version']}\n"
                      if parity["compared"] else "* ids: not compared\n")
                   + (f"* counters this machine does not offer: {', '.join(missing)}\n" if missing else ""))
    rows = []
    for name, label in (("instructions_xlmr_hf.json", "HuggingFace parity"), ("instructions_xlmr_sp.json", "SentencePiece parity")):
        r = read(name)
        if r:
            rows.append([label, r["instructions_per_token"], r["instructions_per_byte"], r["d1_read_misses_per_token"], r["ll_read_misses_per_token"], r["first_pass"]["instructions_per_byte"]])
    if rows:
        out += ["## Instructions (cachegrind, XLM-R, XQuAD English)\n", table(["", "per token, warm", "per byte, warm", "first-level read misses per token", "2 MiB-level read misses per token", "per byte, first pass"], rows)]
    data = {name: read(name + ".json") for name in PROGRAMS if read(name + ".json")}
    if data:
        out += ["## C++ benchmarks\n", programs_section(data)]
    if problems:
        out += ["## Not run\n", "\n".join("* " + p for p in problems) + "\n"]
    open(os.path.join(ROOT, "bench", "RESULTS.md"), "w").write("\n".join(out))
    print("bench/RESULTS.md", file=sys.stderr)


if __name__ == "__main__":
    main()
