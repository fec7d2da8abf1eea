#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the benchmarks and writes the tables of bench/RESULTS.md and README.md. The measurements themselves go to bench/results,
which git ignores; sections of RESULTS.md for which that folder has no measurement stay as they are.

usage: bench/run.py [--build build-bench] [--rounds 5] [--languages en,th,all] [--min-time 0.1] [--only ratios,peers,...]
       bench/run.py --plot       draws the measurements into SVG files in bench/results; installs matplotlib

Needs a build with benchmarks and the command line (cmake --preset bench && cmake --build --preset bench), the texts of
RANKFEED_SHARED_DATA, valgrind for the simulated counts, and the first time PyPI (wheels go to .venv-bench*) and Debian
(bench/text_streams.py). A part that cannot run is named in RESULTS.md instead of left out; a part that is not asked for
keeps the numbers it had. Parts: ratios, doors, forms, peers, threads, stream, latency, query, scaling, open, instructions, receipt,
models (with torch, of scripts/python-env.sh hf).
"""
import argparse
import glob
import hashlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RESULTS = os.path.join(ROOT, "bench", "results")
PROGRAMS = {"latency": "bench_latency", "query": "bench_query", "scaling": "bench_scaling", "open": "bench_open"}
PARTS = "ratios,doors,forms,peers,threads,stream,latency,query,scaling,open,instructions,receipt,models"
# Other versions of tokenizers beside the current one, in environments of their own.
OTHER_TOKENIZERS = {"tokenizers_0.21": ("0.21", "requirements-0.21.txt"), "tokenizers_1.0rc": ("pre", "requirements-pre.txt")}


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


def result(name):
    return os.path.join(RESULTS, name)


def read(name):
    return json.load(open(result(name))) if os.path.exists(result(name)) else None


def table(head, rows):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head)] + ["| " + " | ".join(map(str, r)) + " |" for r in rows]) + "\n"


def number(v):
    return f"{v:,.0f}" if abs(v) >= 1000 else f"{v:.3g}"


def micro(us):
    return f"{number(us / 1e6)} s" if us >= 1e6 else f"{number(us / 1e3)} ms" if us >= 1e3 else f"{number(us)} µs"


# ---- the parts: each writes files into bench/results ----

def machine():
    """The CPU as the system tells it, with family and model where a virtual machine hides the name."""
    fields = {}
    for line in open("/proc/cpuinfo"):
        name, colon, value = line.partition(":")
        if colon:
            fields.setdefault(name.strip(), value.strip())
    return {"cpu": fields.get("model name", fields.get("CPU part", "unknown")), "family": fields.get("cpu family"), "model": fields.get("model"),
            "virtual": "hypervisor" in fields.get("flags", "").split(), "cores": len(os.sched_getaffinity(0)), "date": time.strftime("%Y-%m-%d")}


class Runner:
    def __init__(self, o):
        self.o = o
        self.environment = dict(os.environ, RANKFEED_SHARED_DATA=o.shared)
        self.rankfeed = os.path.join(o.build, "bin", "rankfeed")
        self.many = self.assemble("many", o.many_cache, "RANKFEED_MANY_LANGUAGES")
        self.assemble("english", o.english_cache, "RANKFEED_ENGLISH")

    def assemble(self, name, cache, variable):
        """File of a stream of bench/text_streams.py, which the variable names to the programs; "" where it cannot be assembled."""
        command = [sys.executable, os.path.join(ROOT, "bench", "text_streams.py"), "--stream", name] + (["--cache", cache] if cache else [])
        try:
            self.environment[variable] = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        except subprocess.CalledProcessError:
            self.environment[variable] = ""
        return self.environment[variable]

    def program(self, name):
        return os.path.join(self.o.build, "bench", name)

    def sentencepiece(self):
        """The newest SentencePiece; without it bench_ratios says that it was not there."""
        subprocess.run([os.path.join(ROOT, "scripts", "bench-sentencepiece.sh")], stdout=sys.stderr)

    def ratios(self):
        self.sentencepiece()
        self.run_ratios("ratios.json", "door_sp,door_hf,rankfeed_sp,rankfeed_hf,rankfeed_sp_single,sentencepiece,sentencepiece_0.1.97,whole_sentence")

    def run_ratios(self, output, engines):
        subprocess.run([self.program("bench_ratios"), "--rounds", str(self.o.rounds), "--engines", engines, "--json", result(output)], check=True,
                       env=self.environment, stdout=sys.stderr)
        report = read(output)
        with open(result(output), "w") as f:
            json.dump({"machine": machine(), **report}, f, indent=1)

    def doors(self):
        self.run_ratios("door_ratios.json", "door_sp,door_hf,capi_sp,capi_hf")
        python = venv(".venv-bench", "requirements.txt")
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", ROOT], check=True, stdout=sys.stderr)
        library = os.path.join(self.o.build, "bench", "libdoors_peer.so")
        subprocess.run([python, os.path.join(ROOT, "bench", "bench_doors.py"), os.path.join(self.o.shared, "xlmr.tokenizer.json"),
                        os.path.join(self.o.shared, "xquad", "en.jsonl"), "--library", library, "--json", result("doors.json")], check=True, stdout=sys.stderr)

    def forms(self):
        self.sentencepiece()
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, os.path.join(ROOT, "tests", "oracle", "forms.py"), "--all", folder, "--base",
                            os.path.join(self.o.shared, "xlmr.tokenizer.json")], check=True)
            subprocess.run([self.program("bench_forms"), "--forms", folder, "--rounds", str(min(3, self.o.rounds)), "--json", result("forms.json")],
                           check=True, env=self.environment, stdout=sys.stderr)

    def compare(self, output, languages, threads, engines=None):
        python = venv(".venv-bench", "requirements.txt")
        command = [python, os.path.join(ROOT, "bench", "peers", "compare.py"), "--build", self.o.build, "--shared", self.o.shared, "--languages", languages,
                   "--rounds", str(self.o.rounds), "--python", python, "--many", self.many, "--threads", str(threads), "-o", result(output)]
        for name, (suffix, requirements) in OTHER_TOKENIZERS.items():
            command += ["--other", f"{name}={venv('.venv-bench-' + suffix, requirements)}"]
        if engines:
            command += ["--engines", engines]
        subprocess.run(command, check=True)

    def peers(self):
        languages = [l for l in self.o.languages.split(",") if l != "many" or self.many]
        self.compare("peers.json", ",".join(languages), 1)

    def threads(self):
        # Those that use more than one thread when told to.
        self.compare("peers_threads.json", "all", os.cpu_count(), "tokenizers,sentencepiece,tokie,kitoken,kitoken_sp")

    def stream(self):
        if not (texts := self.environment["RANKFEED_ENGLISH"]):
            raise RuntimeError("the English stream could not be assembled")
        python = venv(".venv-bench", "requirements.txt")
        subprocess.run([python, os.path.join(ROOT, "bench", "peers", "stream.py"), "--build", self.o.build, "--shared", self.o.shared, "--texts", texts, "--rounds", str(min(3, self.o.rounds)),
                        "--python", python, "--python-pre", venv(".venv-bench-pre", "requirements-pre.txt"), "-o", result("stream.json")], check=True, stdout=sys.stderr)
        report = read("stream.json")
        with open(result("stream.json"), "w") as f:
            json.dump({"machine": machine(), "load": os.getloadavg()[1], "vocabularies": report}, f, indent=1)

    def google(self, part):
        # Repetitions of all benchmarks in random order, so that a busy minute does not hit one of them alone.
        out = subprocess.run([self.program(PROGRAMS[part]), f"--benchmark_min_time={self.o.min_time}", f"--benchmark_repetitions={min(3, self.o.rounds)}",
                              "--benchmark_enable_random_interleaving=true", "--benchmark_format=json"], stdout=subprocess.PIPE, text=True, env=self.environment)
        if out.returncode != 0:
            raise RuntimeError(f"{PROGRAMS[part]} ended with {out.returncode}")
        runs = {}
        for b in json.loads(out.stdout)["benchmarks"]:
            if b.get("run_type") != "aggregate" and not b.get("error_occurred"):
                runs.setdefault(b["name"].split("/repeats:")[0].removesuffix("/manual_time"), []).append(b)
        skip = ("name", "run_name", "run_type", "repetitions", "repetition_index", "threads", "iterations", "family_index", "per_family_instance_index", "label")
        median = lambda rows, key: statistics.median(r[key] for r in rows)
        report = [{"name": name, "repetitions": len(rows), "time_unit": rows[0]["time_unit"], "cpu_time_min": min(r["cpu_time"] for r in rows),
                   "cpu_time_max": max(r["cpu_time"] for r in rows), **{k: median(rows, k) for k, v in rows[0].items() if k not in skip and isinstance(v, (int, float))}}
                  for name, rows in runs.items()]
        json.dump(report, open(result(PROGRAMS[part] + ".json"), "w"), indent=1)

    def instructions(self):
        for name, vocab in (("instructions_xlmr_hf.json", "xlmr.tokenizer.json"), ("instructions_xlmr_sp.json", "xlmr.model")):
            texts = result("texts.tmp.jsonl")
            with open(texts, "w") as f:
                for line in open(os.path.join(self.o.shared, "xquad", "en.jsonl")):
                    row = json.loads(line)
                    if row["kind"] == "passage":
                        f.write(json.dumps({"text": row["text"]}) + "\n")
            subprocess.run([sys.executable, os.path.join(ROOT, "bench", "callgrind.py"), "--program", self.program("bench_instructions"), "--rounds", "3",
                            "--rankfeed", self.rankfeed, "--vocab", os.path.join(self.o.shared, vocab), "--texts", texts, "-o", result(name)], check=True)
            os.remove(texts)

    def receipt(self):
        docs, queries = result("docs.tmp.jsonl"), result("queries.tmp.txt")
        with open(docs, "w") as d, open(queries, "w") as q:
            for line in open(os.path.join(self.o.shared, "xquad", "en.jsonl")):
                row = json.loads(line)
                if row["kind"] == "passage":
                    d.write(json.dumps({"text": row["text"]}) + "\n")
                else:
                    q.write(row["text"].replace("\n", " ") + "\n")
        vocab = os.path.join(self.o.shared, "xlmr.tokenizer.json")
        command = [self.rankfeed, "receipt", "run", "--vocab", vocab, "--docs", docs, "--queries", queries, "--requests", "300",
                   "--candidates", "50", "--price-per-core-hour", "0.05", "-o", result("receipt.json")]
        if os.path.exists(result("instructions_xlmr_hf.json")):
            command += ["--simulated", result("instructions_xlmr_hf.json")]
        reference = os.path.join(ROOT, ".venv-bench", "bin", "python")
        if os.path.exists(reference):
            command += ["--reference", f"'{reference}' '{os.path.join(ROOT, 'bench', 'peers', 'adapter.py')}' tokenizers --json '{vocab}'"]
        subprocess.run(command, check=True, stdout=sys.stderr)
        for name in (docs, queries):
            os.remove(name)


    def models(self):
        subprocess.run([os.path.join(ROOT, "scripts", "python-env.sh"), "hf"], check=True, stdout=sys.stderr)
        python = venv(".venv-bench-models", "requirements-models.txt")
        torch = glob.glob(os.path.join(ROOT, ".venv-hf", "lib", "python3*", "site-packages"))[0]
        command = [python, "-B", os.path.join(ROOT, "bench", "bench_models.py"), self.o.build, "--texts", os.path.join(self.o.shared, "xquad", "en.jsonl"),
                   "--vocabulary", os.path.join(self.o.shared, "xlmr.tokenizer.json"), "--json", result("models.json"), *self.o.models.split()]
        subprocess.run(command, check=True, env=dict(self.environment, PYTHONPATH=torch), stdout=sys.stderr)
        report = read("models.json")
        with open(result("models.json"), "w") as f:
            json.dump({"machine": machine(), **report}, f, indent=1)


# ---- the sections of RESULTS.md ----

def machine_section(receipt):
    m, b = receipt["machine"], receipt["build"]
    return table(["", ""], [["date", receipt["created"]], ["CPU", m["cpu"] + (", virtual machine" if m["hypervisor"] else "")],
                            ["cores", f"{m['cores_usable']} usable of {m['cores']}"], ["load average at the time", m["load_average"]], ["kernel", m["kernel"]],
                            ["compiler", f"{b['compiler']} {b['flags']}"], ["revision", (b["revision"] or "unknown") + (" (modified)" if b["modified"] else "")]])


def library(r):
    """(name, label) of the SentencePiece that ratios of bench_ratios are taken against, and of the second one, if there are two."""
    if "sentencepiece" in r:
        return ("sentencepiece", f"SentencePiece {r['sentencepiece']}"), ("sentencepiece_0.1.97", "SentencePiece 0.1.97")
    # Without the newest, and in files from before it was there.
    return ("sentencepiece_0.1.97" if "sentencepiece_not_run" in r else "sentencepiece", "libsentencepiece"), None


def ratios_section(r):
    def ratio(row, mine, peer):
        x = row["ratios"][mine][peer]
        return f"**{x['median']:.1f}×** ({x['min']:.1f}–{x['max']:.1f})"

    (base_name, label), second = library(r)
    english = json.load(open(os.path.join(ROOT, "bench", "english.json")))
    rows, left = [], []
    for row in r["rows"]:
        if "not_run" in row:
            left.append(f"{row['what']}: {row['not_run']}")
            continue
        e = row["engines"]
        own = " / ".join((micro(e[n]["p50_us"]) if "p50_us" in e[n] else f"{e[n]['megabytes_per_second']:.0f} MB/s") for n in ("rankfeed_sp", "rankfeed_hf"))
        base, single = e[base_name], "p50_us" in e[base_name]
        strength = row["ratios"]["rankfeed_sp"]
        rows.append([row["what"], own, ratio(row, "rankfeed_sp", base_name), ratio(row, "rankfeed_sp", "whole_sentence"), "" if single else ratio(row, "rankfeed_sp_single", base_name), ratio(row, "rankfeed_hf", base_name),
                     ratio(row, "rankfeed_hf", "whole_sentence"), micro(base["p50_us"]) if "p50_us" in base else f"{base['megabytes_per_second']:.1f} MB/s",
                     f"{strength[base_name]['median'] / strength['whole_sentence']['median']:.1f}×"] + ([ratio(row, "rankfeed_sp", second[0])] if second else []))
    return ("One thread, XLM-R vocabulary, all engines in one process on mimalloc. `bench_ratios` compares the ids of every text before it times anything: with "
            + (f"{label}, built from its source distribution, and those of the mode `sentencepiece-0.2.1` with Debian's 0.1.97." if second else
               "libsentencepiece (Debian's 0.1.97, so SentencePiece parity is the mode `sentencepiece-0.2.1` here).")
            + " Ratios are medians of those within each round, with the lowest and highest round in brackets.\n\n"
            "* *Cold*: the word cache is emptied, and every text encoded once, again until 100 ms are timed. *Right after another engine*: one such pass, when the CPU's caches hold the other's data.\n"
            f"* *Steady stream*: the last quarter of {english['text_bytes'] / 1e6:.0f} MB of English documentation (`bench/text_streams.py --stream english`), in texts that differ from all before, after the "
            "other three quarters; engines without a cache encode the last quarter only. *An eighth*: an eighth of the texts at a time, after the other seven.\n"
            "* *Whole sentence*: one search over the sentence, with 64-byte trie nodes on huge pages, the layout that pplx-unigram publishes, written anew with SentencePiece's ids (`bench/whole_sentence.cc`); "
            f"the last column says how much faster than {label} it is.\n"
            f"* rankfeed takes {r['texts_together']} texts a call (`rankfeed_encode_batch`); one column has it with one text a call.\n\n"
            + f"Pages of the image: {r['pages']['kind']}; best SIMD target of the CPU: {r['simd_target']}; word cache {r['cache_bytes'] >> 10} KiB, in the rows of the steady stream and of the eighth {r['stream_cache_bytes'] >> 10} KiB.\n\n"
            + table(["", "rankfeed, SentencePiece / HuggingFace parity", f"SP parity : {label}", "SP parity : whole sentence", f"SP parity, a text a call : {label}", f"HF parity : {label}", "HF parity : whole sentence",
                     label, f"whole sentence : {label}"] + ([f"SP parity : {second[1]}"] if second else []), rows)
            + ("\nNot run: " + "; ".join(left) + "\n" if left else ""))


def forms_section(r):
    """Every published form: speed, and how many times the newest SentencePiece, by row of bench_forms."""
    rows = [row for row in r["rows"] if "not_run" not in row]
    left = [f"{row['what']}: {row['not_run']}" for row in r["rows"] if "not_run" in row]

    def cell(form, row):
        x = form["rows"][row["name"]]
        worst = r["slowest"][row["name"]]["form"] == form["name"]
        text = f"{x['megabytes_per_second']:.0f} MB/s, {x['ratio']['median']:.1f}×"
        return f"**{text}** (slowest)" if worst else text

    return (f"`bench_forms`: ids in every form that transformers writes, or makes of a file (`-rebuilt`), over the XLM-R vocabulary (`tests/oracle/forms.py`), one thread; "
            f"× SentencePiece {r['sentencepiece']} with the same pieces, median of {r['rounds']} rounds. Rows are those above.\n\n"
            + table(["form"] + [row["what"] for row in rows] + ["off the fast road for"],
                    [[f"`{form['name']}`"] + [cell(form, row) for row in rows] + [form["off_fast_road"] or ""] for form in r["forms"]])
            + ("\nNot run: " + "; ".join(left) + "\n" if left else ""))


OTHER_IDS = """Why other ids: libsentencepiece is Debian's 0.1.97; the wheel sentencepiece, from 0.2.2 on, compares sums in float and
rebases them ([docs/parity.md](../docs/parity.md#sentencepiece)), which rankfeed's mode `sentencepiece` follows and `sentencepiece-0.2.1` does not. blingfire and onnxruntime have
algorithms or files of their own. Those of iree and kitoken were counted, not looked into.
"""


def peers_section(results):
    out = []
    main = next((r for r in results if r["language"] == "all"), results[-1])
    languages = [r["language"] for r in results]
    ratio = {(r["language"], e["name"]): e for r in results for e in r["engines"]}
    rows = []
    for name in [e["name"] for e in main["engines"]]:
        e = ratio[(main["language"], name)]
        wrong = sum(ratio[(l, name)]["mismatches"] for l in languages if (l, name) in ratio)
        total = sum(ratio[(l, name)]["documents"] for l in languages if (l, name) in ratio)
        r = e["ratio_to_libsentencepiece"]
        rows.append([("**" + name + "**") if name.startswith("rankfeed") else name, e["version"] or "–"]
                    + [ratio[(l, name)]["ratio_to_libsentencepiece"]["median"] if (l, name) in ratio else "–" for l in languages if l != main["language"]]
                    + [f"{r['median']} ({r['min']}–{r['max']})", e["megabytes_per_second"], e.get("resident_megabytes", "–"), f"{wrong} of {total:,}"])
    out.append(table(["engine", "version"] + [l for l in languages if l != main["language"]] + [main["language"], f"MB/s, {main['language']}", "resident MB", "other ids"], rows))
    if main["failed"]:
        out.append("Did not run: " + "; ".join(f"{f['name']} ({f['error']})" for f in main["failed"]) + "\n")
    return "\n".join(out)


STREAM_STAGES = ("first", "new", "again", "hot")


def stream_section(r):
    rows = []
    for v in r["vocabularies"]:
        for e in sorted(v["engines"], key=lambda e: -e["again"]["megabytes_per_second"]):
            cells = ["{megabytes_per_second:.0f} ({0:.0f}–{1:.0f})".format(*e[stage]["quartiles"], **e[stage]) for stage in STREAM_STAGES]
            name = "**rankfeed**" if e["engine"] == "rankfeed" else "tokenizers" if e["engine"] == "pre" else e["engine"]
            rows.append([v["vocabulary"], name, e["version"] or "–", *cells, f"{e['different']} of {v['texts']:,}"])
    v = r["vocabularies"][0]
    size = {stage: f"{v['bytes'][stage] / 1e6:.0f} MB" for stage in STREAM_STAGES}
    failed = [f"{v['vocabulary']}, {name} ({why})" for v in r["vocabularies"] for name, why in v["failed"].items()]
    return (f"English documentation in the order of the stream, a text at a time after all before it (`bench/text_streams.py --stream english`): the first {size['first']}, the next {size['new']} "
            f"(new), those again, and the first 20 kB over and over (hot). MB/s of CPU time, one thread, the median of {v['rounds']} rounds with its quartiles; in a round every engine starts anew and "
            "they take turns at each stage (`bench/peers/stream.py`). rankfeed: `rankfeed_encode_batch`, 64 texts a call, word cache 4 MiB, the wrapper's default; nanotoken: 64 texts a call; the "
            "others, a stage a call, as suits them best; a call of as many empty texts is subtracted. *Other ids*: texts whose ids are not those of tokenizers 0.23.\n\n"
            + table(["vocabulary", "engine", "version", *STREAM_STAGES, "other ids"], rows)
            + f"\n{cpu_of(r)}, load average {r['load']:.1f}; rankfeed's instructions: {v['isa']}.\n" + ("\nNot run: " + "; ".join(failed) + "\n" if failed else ""))


def readme_stream(r):
    """The README's rows of the long stream: rankfeed beside the quickest other engine of each stage that has the same ids."""
    rows = []
    for v in r["vocabularies"]:
        engines = {e["engine"]: e for e in v["engines"]}
        cells = []
        for stage in ("new", "again", "hot"):
            speed = lambda e: e[stage]["megabytes_per_second"]
            best = max((e for name, e in engines.items() if name != "rankfeed" and e["different"] == 0), key=speed)
            cells.append(f"{speed(engines['rankfeed']):.0f}, {'tokenizers' if best['engine'] == 'pre' else best['engine']} {best['version']} {speed(best):.0f}")
        rows.append([v["vocabulary"], *cells])
    return table([README_STREAM.removeprefix("| ") + " beside the best peer's", "new texts", "again", "hot"], rows)


def calls_section(main):
    return ("How each was called, and what an empty call of as many texts takes, which is subtracted:\n\n"
            + "\n".join(f"* {e['name']}: {e['path']}" + (f"; {micro(e['empty_call_us'])}" if e["empty_call_us"] else "") for e in sorted(main["engines"], key=lambda e: e["name"])) + "\n")


def length_section(rows):
    sizes = sorted({int(b["name"].split("/")[2]) for b in rows if b["name"].startswith("length/")})
    by = {b["name"]: b for b in rows}
    lines = []
    for size in sizes:
        cells = []
        for engine in ("hf", "newest", "sp", "libsentencepiece"):
            b = by.get(f"length/{engine}/{size}")
            cells.append(f"{micro(b['p50_us'])}, {b['p50_us'] * 1e3 / size:.1f} ns/B" if b else "–")
        lines.append([f"{size:,} B"] + cells)
    return table(["text", "rankfeed, HuggingFace parity", "rankfeed, SentencePiece parity", "the same, of 0.2.1", "libsentencepiece 0.1.97"], lines)


def latency_section(rows):
    keep = [b for b in rows if not b["name"].startswith("length/")]
    return table(["call", "p50", "p95", "p99"], [[b["name"]] + [micro(b[p + "_us"]) for p in ("p50", "p95", "p99")] for b in keep])


def query_section(rows):
    order = sorted(rows, key=lambda b: (b["name"].split("/")[1], int(b["name"].split("/")[2])))
    lines = []
    for b in order:
        _, source, count = b["name"].split("/")
        lines.append([f"{int(count):,}", "texts" if source == "text" else "corpus store", number(b["tokens"]), micro(b["cpu_us"]), f"{b['cpu_us'] / int(count):.3g} µs",
                      *[micro(b[s + "_p50_us"]) for s in ("query", "documents", "pack", "handoff", "total")], micro(b["total_p99_us"])])
    return table(["candidates", "from", "tokens", "CPU per query", "CPU per candidate", "query p50", "documents p50", "pack p50", "handoff p50", "total p50", "total p99"], lines)


def scaling_section(rows):
    return table(["", "threads", "MB/s of all", "times one thread in the same round"],
                 [["HuggingFace parity" if "/hf/" in b["name"] else "SentencePiece parity", n := b["name"].split("threads:")[1].split("/")[0], f"{b['bytes_per_second'] / 1e6:.1f}",
                   f"{int(n) * b['of_one_thread']:.2f}"] for b in rows])


def open_section(rows):
    unit = {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6}
    lines = []
    for b in rows:
        extra = ", ".join(f"{k.removesuffix('_bytes').replace('_', ' ')} {b[k] / 1e6:.1f} MB" for k in ("image_bytes", "scratch_bytes", "resident_bytes", "after_passages") if k in b)
        lines.append([b["name"], micro(b["cpu_time"] * unit[b["time_unit"]]), f"{micro(b['cpu_time_min'] * unit[b['time_unit']])}–{micro(b['cpu_time_max'] * unit[b['time_unit']])}", extra or "–"])
    return table(["", "median", "range", "size"], lines)


def receipt_section(receipt):
    q, e = receipt["per_query"], receipt["encode"]
    out = [f"{receipt['workload']['requests']} queries of {q['candidates']:.0f} candidates, {q['row_tokens']:.0f} tokens in the batch, one thread, closed loop; "
           "of a receipt ([docs/receipts.md](../docs/receipts.md)).\n"]
    total = q["host"]["cpu_us"]
    out.append(table(["stage", "CPU µs", "wall p50", "p95", "p99"], [[n, s["cpu_us"], s["wall_us"]["p50"], s["wall_us"]["p95"], s["wall_us"]["p99"]] for n, s in q["stages"].items()]
                     + [["sum of stages", f"{q['sum_of_stages']['cpu_us']} ({100 * (q['sum_of_stages']['cpu_us'] / total - 1):+.1f} %)", "", "", ""],
                        ["measured around all", total, q["host"]["wall_us"]["p50"], q["host"]["wall_us"]["p95"], q["host"]["wall_us"]["p99"]]]))
    missing = [n for n, c in receipt["counters"]["encode"].items() if c["value"] is None]
    parity = receipt["parity"]
    out.append(f"* one text: p50 {e['latency_us']['p50']} µs, p99 {e['latency_us']['p99']} µs, first time {e['latency_us']['first_p50']} µs; "
               f"{e['allocations_per_encode']['value']} allocations\n* pages of the vocabulary: {receipt['pages']['obtained']['kind'] if receipt['pages']['obtained'] else 'unknown'}\n"
               f"* cost at 0.05 USD per core-hour: {q['cost'].get('per_million_queries')} USD per million queries\n"
               + (f"* ids: {parity['mismatches']} of {parity['compared']} texts (documents, special tokens, Unicode stress) differ from {parity['reference']['implementation']} {parity['reference']['version']}\n"
                  if parity["compared"] else "* ids: not compared\n")
               + (f"* counters this machine does not offer: {', '.join(missing)}\n" if missing else ""))
    return "\n".join(out)


# Rows that RESULTS.md has and the README has no room for.
README_LEAVES = ("en_eighth", "en_first", "en_stream", "all_cold", "th_cold")


def readme_table():
    """The README's table: speeds, how many times SentencePiece's, and what a query costs."""
    ratios, forms = read("ratios.json"), read("forms.json")
    base, second = library(ratios)

    def cell(row, engine):
        e, r = row["engines"][engine], row["ratios"].get(engine)
        text = micro(e["p50_us"]) if "p50_us" in e else f"{e['megabytes_per_second']:.0f} MB/s" if r else f"{e['megabytes_per_second']:.1f} MB/s"
        return text + (f", **{r[base[0]]['median']:.1f}×**" if r else "")

    columns = ["door_hf", "door_sp", base[0]] + ([second[0]] if second else [])
    rows = [[row["what"]] + [cell(row, e) for e in columns] for row in ratios["rows"] if "not_run" not in row and row["name"] not in README_LEAVES]
    for name in ("en_cold", "all_cold") if forms else ():
        if name in forms["slowest"]:
            worst = forms["slowest"][name]["form"]
            x = next(form for form in forms["forms"] if form["name"] == worst)["rows"][name]
            what = next(row["what"] for row in forms["rows"] if row["name"] == name)
            rows.append([f"{what}, slowest published form (`{worst}`)", f"{x['megabytes_per_second']:.0f} MB/s, **{x['ratio']['median']:.1f}×**", "",
                         f"{x['sentencepiece_megabytes_per_second']:.1f} MB/s"] + [""] * bool(second))
    doors = read("doors.json")
    for row in doors["rows"][:1] if doors else ():
        rows.append([f"Python: {row['what']}, 100 documents, warm", f"{row['python_ms']:.2f} ms, C++ {row['cpp_ms']:.2f} ms", "", ""] + [""] * bool(second))
    for b in read("bench_query.json"):
        _, source, count = b["name"].split("/")
        if count == "100" and source == "text":
            rows.append([f"CPU of a query with {count} candidates, from texts", micro(b["cpu_us"]), "", ""] + [""] * bool(second))
    return (table(["XLM-R vocabulary, one thread", "HuggingFace parity", "SentencePiece parity", base[1]] + ([second[1]] if second else []), rows)
            + f"\n{cpu_of(ratios)}; the vocabulary on pages: {ratios['door_pages']['kind']}; instructions: {ratios['simd_target']}.\n")


def cpu_of(report):
    m = report["machine"]
    return (m["cpu"] + (f" (family {m['family']}, model {m['model']})" if m["family"] else "") + f", {m['cores']} cores"
            + (" of a virtual machine" if m["virtual"] else "") + f", {m['date']}")


def doors_section(ratios, doors):
    """What the public doors cost: the C++ wrapper beside the C API, Python beside the C++ wrapper."""
    rows = []
    for row in ratios["rows"]:
        if "not_run" not in row:
            cell = lambda mode: "{median:.2f}× ({min:.2f}–{max:.2f})".format(**row["ratios"][f"door_{mode}"][f"capi_{mode}"])
            rows.append([row["what"], cell("hf"), cell("sp")])
    out = [f"The C++ wrapper, opened and called as the README's program does, with its word cache of {ratios['door_cache_bytes'] >> 10} KiB, against the same calls of the "
           "C API with the same limits, in memory that is new to it where the wrapper's is (*cold*: another encoder), in the same rounds; 1.00 is as fast. "
           f"{cpu_of(ratios)}; rounds: {max(row.get('rounds', 0) for row in ratios['rows'])}.\n",
           table(["", "HuggingFace parity", "SentencePiece parity"], rows)]
    if doors:
        out += [f"Python {doors['python']} beside the same call of the C++ wrapper, which is warm: one question, {doors['documents']} documents of {doors['bytes']} bytes, rows of "
                f"{doors['row_tokens']} tokens, one thread, vocabulary on pages: {doors['pages']} (`bench/bench_doors.py`).\n",
                table(["", "C++", "Python", "ratio", "target"], [[r["what"], f"{r['cpp_ms']:.3f} ms", f"{r['python_ms']:.3f} ms",
                      "**{median:.2f}×** ({low:.2f}–{high:.2f})".format(**r["ratio"]), f"{r['target']}×" if r["target"] else "–"] for r in doors["rows"]])]
    return "\n".join(out)


def models_section(report):
    v, rows = report["versions"], []
    for row in report["rows"]:
        by = {e["name"]: e for e in row["engines"]}
        peer = lambda name: "{ms:,.0f} ms in calls of {together}: **{0:.2f}** ({1:.2f}–{2:.2f})".format(
            *(by[name]["ratio"][k] for k in ("median", "min", "max")), **by[name]) if name in by else "–"
        rows.append([row["shape"] + (f", {row['layers']} layers"), f"{row['rows']} rows, {row['tokens']:,} tokens" + (", all of one length" if row["tokens"] == row["rows"] * row["longest"] else ""),
                     f"{by['rankfeed']['ms']:,.0f} ms", peer("PyTorch"), peer("ONNX Runtime"), row["load"]])
    return (f"`bench_models.py`: the same random weights in float32 and the same rows on one thread, scores compared first; PyTorch {v['torch']} below transformers {v['transformers']} (SDPA, which it "
            f"lacks for DeBERTa), ONNX Runtime {v['onnxruntime']} with the graph of torch.onnx.export. CPU time of a query: the peers' best of calls of 8, 16 and 32 rows, sorted by length; in bold "
            f"rankfeed's time over theirs, median of the rounds, with the lowest and highest. {cpu_of(report)}.\n\n"
            + table(["shape", "documents", "rankfeed", "PyTorch", "ONNX Runtime", "load of the machine"], rows)
            + ("\nNot run: " + "; ".join(report["not_run"]) + "\n" if report["not_run"] else ""))


HEAD = """# Results

Written by `bench/run.py` (do not edit). How to read the tables, and which figures to distrust: [NOTES.md](NOTES.md). `bench/run.py --plot`
draws the measurements of the last run.
"""
SECTIONS = ["In short", "Machine", "Ratios to other exact engines", "Doors", "Every published form", "WordPiece and BPE", "Peers", "Peers with several threads", "A long stream", "One call",
            "Cost against length", "Cost against candidates", "Threads", "Opening and memory", "Per answered query", "Rerankers", "Instructions", "Not run"]
README_STREAM = "| A long stream, MB/s"
README_MARKS = "<!-- bench/run.py writes this table -->\n", "<!-- its end -->\n"


def sections(text):
    """The sections of a Markdown text by their headings; what comes before the first one has the key ""."""
    parts = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)
    return {"": parts[0].strip()} | {name: body.strip() for name, body in zip(parts[1::2], parts[2::2])}


def write_readme(summary):
    path = os.path.join(ROOT, "README.md")
    head, rest = open(path, encoding="utf-8").read().split(README_MARKS[0])
    tail = rest.split(README_MARKS[1])[1]
    open(path, "w", encoding="utf-8").write(head + README_MARKS[0] + summary + "\n" + README_MARKS[1] + tail)


def write(problems):
    out = []
    receipt, ratios, peers, threads = read("receipt.json"), read("ratios.json"), read("peers.json"), read("peers_threads.json")
    path = os.path.join(ROOT, "bench", "RESULTS.md")
    old, stream = sections(open(path, encoding="utf-8").read()), read("stream.json")
    # The README's two tables; one that was not measured stays as it is.
    first, head, second = old["In short"].removeprefix("README's tables.").strip().partition(README_STREAM)
    out += ["## In short\n", "README's tables.\n", readme_table() if ratios and read("bench_query.json") else first.strip() + "\n", readme_stream(stream) if stream else head + second]
    if receipt:
        out += ["## Machine\n", machine_section(receipt)]
    if ratios:
        out += ["## Ratios to other exact engines\n", ratios_section(ratios)]
    if door_ratios := read("door_ratios.json"):
        out += ["## Doors\n", doors_section(door_ratios, read("doors.json"))]
    if forms := read("forms.json"):
        out += ["## Every published form\n", forms_section(forms)]
    many = json.load(open(os.path.join(ROOT, "bench", "many_languages.json")))
    if peers:
        names = [r["language"] for r in peers]
        out += ["## Peers\n", f"XLM-R vocabulary, XQuAD passages ({', '.join(l for l in names if l != 'many')}"
                + (f"; *many*: every 20th text of the stream of `bench/text_streams.py`, {many['languages']} languages" if "many" in names else "")
                + "); ids compared before anything is timed. CPU time per pass, median over interleaved rounds, as a multiple of libsentencepiece in the same round (higher is "
                  "faster); lowest and highest round in brackets for the column \"all\". One thread; every engine has seen the texts before, except in \"(cold)\" rows. *Resident*: "
                  "memory that loading added (texts and ids apart). *Other ids*: documents of all columns whose ids differ from the engine's own reference "
                  "(tokenizers 0.23 or libsentencepiece).\n", peers_section(peers), OTHER_IDS,
                calls_section(next((r for r in peers if r["language"] == "all"), peers[-1]))]
    if threads:
        out += ["## Peers with several threads\n", f"The same on 12 languages with {threads[0]['threads']} threads on both sides, by the wall clock, as a multiple of libsentencepiece "
                "on as many threads; what other programs take from the machine is in it.\n", peers_section(threads)]
    if stream:
        out += ["## A long stream\n", stream_section(stream)]
    data = {part: read(PROGRAMS[part] + ".json") for part in PROGRAMS}
    if data["latency"]:
        out += ["## One call\n", "`bench_latency`: English documents of about 512 tokens and short questions, a call at a time, by the thread's CPU clock. *cold*: encoder made just before; "
                "*warm*: the same text again; *stream*: text after text.\n", latency_section(data["latency"]),
                "## Cost against length\n", "One text cut from passages of 12 languages, p50 of its encoding.\n", length_section(data["latency"])]
    if data["query"]:
        out += ["## Cost against candidates\n", "`bench_query`: one question against N passages of 12 languages, max_length 512, packed, one thread.\n", query_section(data["query"])]
    if data["scaling"]:
        out += ["## Threads\n", "`bench_scaling`: one vocabulary, each thread its own encoder, all passages of 12 languages.\n", scaling_section(data["scaling"])]
    if data["open"]:
        out += ["## Opening and memory\n", "`bench_open`, warm page cache. *open/…*: *private*, as by default: read the image to private memory, verify it and open a model over it; *copy*: without verifying; *mapped*: in place, verified; *trusted*: in place, not verified; *first_use*: the last and the first text; *resident*: what of the image is in memory then, and after all passages of 12 languages.\n",
                open_section(data["open"])]
    if receipt:
        out += ["## Per answered query\n", receipt_section(receipt)]
    if models := read("models.json"):
        out += ["## Rerankers\n", models_section(models)]
    rows = []
    for name, label in (("instructions_xlmr_hf.json", "HuggingFace parity"), ("instructions_xlmr_sp.json", "SentencePiece parity")):
        r = read(name)
        if r:
            rows.append([label, r["instructions_per_token"], r["instructions_per_byte"], r["d1_read_misses_per_token"], r["ll_read_misses_per_token"], r["first_pass"]["instructions_per_token"],
                         r["first_pass"]["instructions_per_byte"]])
    if rows:
        out += ["## Instructions\n", "callgrind (no AVX-512), XLM-R, XQuAD English; per token and byte.\n",
                table(["", "per token, warm", "per byte, warm", "first-level read misses per token", "2 MiB-level read misses per token", "per token, first pass", "per byte, first pass"], rows)]
    new = sections("\n".join(out))
    new["Not run"] = "\n".join("* " + p for p in problems)
    found = {name: new.get(name) or (old.get(name) if name != "Not run" else "") for name in SECTIONS}
    with open(path, "w", encoding="utf-8") as file:
        file.write(HEAD + "".join(f"\n## {name}\n\n{body}\n" for name, body in found.items() if body))
    print("bench/RESULTS.md", file=sys.stderr)
    write_readme(found["In short"].removeprefix("README's tables.\n\n"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build-bench"))
    parser.add_argument("--shared", default=os.environ.get("RANKFEED_SHARED_DATA", os.path.join(ROOT, "..", "shared", "data")))
    parser.add_argument("--many-cache", default="", help="folder of bench/text_streams.py")
    parser.add_argument("--english-cache", default="", help="folder of bench/text_streams.py --stream english")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--languages", default="en,de,ru,ar,hi,th,zh,many,all", help="of the peers on one thread")
    parser.add_argument("--min-time", default="0.1", help="seconds per repetition of the Google Benchmark programs")
    parser.add_argument("--only", default=PARTS)
    parser.add_argument("--models", default="", help="options of bench_models.py")
    parser.add_argument("--plot", action="store_true")
    o = parser.parse_args()
    os.makedirs(RESULTS, exist_ok=True)
    if o.plot:
        subprocess.run([venv(".venv-bench", "requirements.txt"), os.path.join(ROOT, "bench", "plots.py"), RESULTS], check=True)
        return
    runner, problems = Runner(o), []
    for part in PARTS.split(","):
        if part not in o.only.split(","):
            continue
        begin = time.time()
        try:
            runner.google(part) if part in PROGRAMS else getattr(runner, part)()
        except Exception as e:
            problems.append(f"{part}: {e}")
            print(f"{part}: {e}", file=sys.stderr)
        print(f"== {part}: {time.time() - begin:.0f} s", file=sys.stderr, flush=True)
    write(problems)


if __name__ == "__main__":
    main()
