#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Instructions and simulated cache misses per token and byte, counted by callgrind: the same numbers on any machine,
without privileges, whatever else it is doing.

usage: callgrind.py --program build-bench/bench/bench_instructions [--vocab FILE --texts FILE.jsonl] [-o REPORT.json]
       callgrind.py --program ... --gate      compare with bench/instructions.json: exit 1 above +3 %, 77 on a processor
                                              that it has no counts of
       callgrind.py --program ... --update    make that the new baseline of this processor

Counted is what happens inside first_pass() and warm_rounds() of the program, not opening and reading; the gate looks at
both. valgrind knows no AVX-512 and says so to programs: the vector code that runs is the AVX2 target. Cache sizes are
fixed here, not the machine's. Counts depend on the compiler, which the baseline names, on flags, which are those of the
release preset, and by some percent on the processor, so the baseline is kept for each kind of processor.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BASELINE = os.path.join(ROOT, "bench", "instructions.json")
# A current server core: 48 KiB first level, 2 MiB as the last level a single core has to itself.
CACHES = ["--I1=32768,8,64", "--D1=49152,12,64", "--LL=2097152,16,64"]
TOLERANCE = 0.03


def count(program, vocab, texts, rounds, function):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        command = ["valgrind", "--tool=callgrind", "--cache-sim=yes", *CACHES, f"--toggle-collect={function}", f"--callgrind-out-file={out}", "--log-file=" + os.path.join(folder, "log"),
                   program, vocab, texts, str(rounds)]
        # No address randomization: hash tables and caches see the same addresses every time.
        result = subprocess.run(["setarch", "-R", *command], capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"callgrind.py: {' '.join(command)}: {result.stderr.strip()}\n{open(os.path.join(folder, 'log')).read()[-2000:]}")
        events = summary = None
        for line in open(out):
            if line.startswith("events:"):
                events = line.split()[1:]
            if line.startswith("summary:"):
                summary = [int(x) for x in line.split()[1:]]
        summary += [0] * (len(events) - len(summary))  # callgrind leaves out zeros at the end
        size, tokens = map(int, result.stdout.split())
        return dict(zip(events, summary)), size, tokens


def per_unit(counts, rounds, size, tokens):
    d = {key: value / rounds for key, value in counts.items()}
    return {"instructions_per_token": round(d["Ir"] / tokens, 2), "instructions_per_byte": round(d["Ir"] / size, 3),
            "d1_read_misses_per_token": round(d["D1mr"] / tokens, 4), "ll_read_misses_per_token": round(d["DLmr"] / tokens, 4),
            "d1_write_misses_per_token": round(d["D1mw"] / tokens, 4)}


def compiler_of(program):
    try:
        comments = subprocess.run(["readelf", "-p", ".comment", program], capture_output=True, text=True).stdout
        return ", ".join(sorted(set(re.findall(r"\]\s+(.+)", comments))))
    except OSError:
        return ""


def processor():
    """Vendor, family and model, as the CPU says them."""
    said = dict(re.findall(r"^(vendor_id|cpu family|model)\s*: (.+)$", open("/proc/cpuinfo").read(), re.M))
    return " ".join(said.get(key, "?") for key in ("vendor_id", "cpu family", "model"))


def baselines(path):
    """Counts of each kind of processor."""
    if not os.path.exists(path):
        return {}
    with open(path) as file:
        return json.load(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--vocab", help="default: data/default.model, as a warm image the program compiles")
    parser.add_argument("--texts", help="default: data/sample/docs.jsonl")
    parser.add_argument("--rankfeed", help="the rankfeed program; compiles --vocab into an image first (much faster)")
    parser.add_argument("-o", "--output")
    parser.add_argument("--gate", action="store_true")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--baseline", default=BASELINE, help="default: bench/instructions.json")
    parser.add_argument("--rounds", type=int, help="warm rounds; default: as many as a million bytes of text need, 2 to 40")
    o = parser.parse_args()
    vocab = o.vocab or os.path.join(ROOT, "data", "default.model")
    texts = o.texts or os.path.join(ROOT, "data", "sample", "docs.jsonl")
    with tempfile.TemporaryDirectory() as folder:
        image = os.path.join(folder, "v.rfimg")
        if o.rankfeed:
            subprocess.run([o.rankfeed, "compile", vocab, "-o", image], check=True, stdout=subprocess.DEVNULL)
            vocab = image
        once, size, tokens = count(o.program, vocab, texts, 0, "first_pass")
        rounds = o.rounds or max(2, min(40, 1000000 // size))
        many, _, _ = count(o.program, vocab, texts, rounds, "warm_rounds")
    warm, first = per_unit(many, rounds, size, tokens), per_unit(once, 1, size, tokens)
    report = {"tool": subprocess.run(["valgrind", "--version"], capture_output=True, text=True).stdout.strip() + " callgrind",
              "caches": CACHES, "compiler": compiler_of(o.program), "text_bytes": size, "tokens": tokens, **warm, "first_pass": first}
    text = json.dumps(report, indent=2) + "\n"
    if o.output:
        open(o.output, "w").write(text)
    else:
        print(text, end="")
    if o.update:
        with open(o.baseline + ".new", "w") as file:
            json.dump({**baselines(o.baseline), processor(): report}, file, indent=2, sort_keys=True)
            file.write("\n")
        os.replace(o.baseline + ".new", o.baseline)
        print(f"{o.baseline} written", file=sys.stderr)
    if o.gate:
        baseline = baselines(o.baseline).get(processor())
        if baseline is None:
            print(f"SKIPPED: {o.baseline} has no counts of {processor()}; --update adds them", file=sys.stderr)
            sys.exit(77)
        failed = False
        for name, before, now in (("warm", baseline, warm), ("first pass", baseline["first_pass"], first)):
            ratio = now["instructions_per_byte"] / before["instructions_per_byte"]
            failed |= ratio > 1 + TOLERANCE
            print(f"instructions per byte, {name}: {before['instructions_per_byte']} -> {now['instructions_per_byte']} (x{ratio:.3f})"
                  + (" REGRESSION" if ratio > 1 + TOLERANCE else ""), file=sys.stderr)
        if failed and baseline["compiler"] != report["compiler"]:
            print(f"note: the baseline's compiler is {baseline['compiler']}, this one is {report['compiler']}", file=sys.stderr)
        sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
