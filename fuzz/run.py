#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs fuzz targets for a given time and adds what they did to a file of JSON lines.

  fuzz/run.py --program build/fuzz/rankfeed_fuzz --seconds 60 [TARGET ...]
  fuzz/run.py --libfuzzer build-fuzz/fuzz --seconds 60 [--corpus DIR] [TARGET ...]
  fuzz/run.py --coverage build-fuzz/fuzz [--corpus DIR] [TARGET ...]
  fuzz/run.py --faults build-release
  fuzz/run.py --scratch build-release
  fuzz/run.py --soak build-release/tests/soak/rankfeed_soak [--documents N] [--threads T]...

The first runs generated inputs, with whatever compiler and sanitizer the program was built with; the
second runs libFuzzer programs, which keep inputs that reach new code in DIR/TARGET; the third replays
those inputs in programs built with RANKFEED_COVERAGE and writes down which lines of which file they
reach. Without targets, all of them, one after the other. The fourth runs the tests that injure
the library and adds up their faults; the fifth, the test that measures scratch which texts leave resident; the last, the load of
tests/soak. --results FILE (default fuzz/results.jsonl): one line for each run,
which fuzz/report.py turns into REPORT.md. Ends with status 1 when any property failed; the input is
then in the current folder.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

# What sanitizers spend most of their time on here, and need not: a quarantine that outgrows the cache, and
# a stack trace of each allocation (an input that fails is replayed with the defaults). No check is off.
FAST_SANITIZERS = "quarantine_size_mb=1:thread_local_quarantine_size_kb=64:malloc_context_size=0:max_malloc_fill_size=0"
# Tests that print "faults injected: N KIND" (tests/support/faults.h).
FAULT_TESTS = ["capi_builder_test", "cli_fault_test", "corpus_capi_test", "corpus_writer_crash_test", "degrade_test",
               "handoff_ring_model_test", "handoff_ring_open_test", "rewritten_files_test", "wrapper_memory_test"]

FUZZ = pathlib.Path(__file__).resolve().parent


def git(*arguments):
    done = subprocess.run(["git", "-C", str(FUZZ), *arguments], capture_output=True, text=True)
    return done.stdout.strip()


def build_kind(rankfeed_fuzz):
    """optimized, asan, asan-ubsan, ...: as the program says."""
    done = subprocess.run([rankfeed_fuzz, "--build"], capture_output=True, text=True, check=True, env=environment())
    names = {"": "optimized", "address": "asan", "address,undefined": "asan-ubsan", "thread": "tsan"}
    return names.get(done.stdout.strip(), done.stdout.strip())


def environment(**more):
    return {"ASAN_OPTIONS": FAST_SANITIZERS, "TSAN_OPTIONS": "halt_on_error=1", "LLVM_PROFILE_FILE": "/dev/null", **os.environ, **more}


def dearest(output):
    """The dearest loads of a run (fuzz/load_cost.h), of the targets that load files."""
    match = re.search(r"dearest load ([\d.]+) s for (\d+) bytes, ([\d.]+) of the bound; "
                      r"(\d+) heap bytes for (\d+) bytes, ([\d.]+) of the bound", output)
    names = ["seconds", "seconds_file_bytes", "seconds_share", "heap", "heap_file_bytes", "heap_share"]
    return {"dearest": {name: float(text) if "." in text else int(text)
                        for name, text in zip(names, match.groups())}} if match else {}


def run_generated(arguments, target):
    command = [arguments.program, target, "--generate", str(arguments.seconds), "--seed", str(arguments.seed)]
    if arguments.max_executions:
        command += ["--max-executions", str(arguments.max_executions)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment())
    match = re.search(r": (\d+) inputs, (\d+) executions, (\d+) accepted, (\d+) distinct, ([\d.]+) s of proc", done.stdout)
    numbers = [float(n) if "." in n else int(n) for n in match.groups()] if match else [0, 0, 0, 0, 0.0]
    return done.returncode, {"mode": "generated", "seed": arguments.seed, "build": build_kind(arguments.program),
                             "inputs": numbers[0], "executions": numbers[1], "accepted": numbers[2],
                             "distinct": numbers[3], "processor_seconds": numbers[4], **dearest(done.stdout)}


def run_libfuzzer(arguments, target):
    program = pathlib.Path(arguments.libfuzzer) / f"fuzz_{target}"
    corpus = pathlib.Path(arguments.corpus) / target
    corpus.mkdir(parents=True, exist_ok=True)
    if not any(corpus.iterdir()):
        subprocess.run([str(pathlib.Path(arguments.libfuzzer) / "rankfeed_fuzz"), target, "--write-seeds",
                        str(corpus), "--inputs", "200"], check=True)
    command = [str(program), str(corpus), f"-max_total_time={arguments.seconds}", "-print_final_stats=1",
               "-max_len=8192", "-timeout=60", "-rss_limit_mb=4096", "-verbosity=1"]
    dictionary = FUZZ / "dict" / f"{target}.dict"
    if dictionary.exists():
        words = dictionary.read_text()
        if target == "hf_json":  # and the type of every element
            rows = (FUZZ.parent / "src" / "image" / "ops.def").read_text()
            types = sorted(set(re.findall(r'^[A-Z_]+\(\d+, k\w+, "(\w+)"', rows, re.MULTILINE)))
            words += "".join(f'"\\"{name}\\""\n' for name in types)
        written = corpus.parent / f"{target}.dict"
        written.write_text(words)
        command.append(f"-dict={written}")
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          env=environment())
    units = re.search(r"stat::number_of_executed_units:\s*(\d+)", done.stdout)
    counts = re.search(rf"{target}: (\d+) executions, (\d+) accepted", done.stdout)
    coverage = re.findall(r"cov: (\d+) ft: (\d+) corp: (\d+)", done.stdout)
    if done.returncode:
        print(done.stdout[-8000:])
    return done.returncode, {
        "mode": "libfuzzer", "build": build_kind(program.parent / "rankfeed_fuzz"), "inputs": int(units.group(1)) if units else 0,
        "executions": int(counts.group(1)) if counts else 0, "accepted": int(counts.group(2)) if counts else 0,
        "edges": int(coverage[-1][0]) if coverage else 0, "features": int(coverage[-1][1]) if coverage else 0,
        "corpus": int(coverage[-1][2]) if coverage else 0, **dearest(done.stdout)}


def coverage(arguments, targets):
    """Lines of each source file that the corpora reach, all targets together."""
    folder = pathlib.Path(arguments.coverage)
    with tempfile.TemporaryDirectory() as work:
        files = 0
        for target in targets:
            corpus = pathlib.Path(arguments.corpus) / target
            files += sum(1 for _ in corpus.iterdir())
            subprocess.run([str(folder / f"fuzz_{target}"), "-runs=0", "-rss_limit_mb=4096", str(corpus)], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           env=environment(LLVM_PROFILE_FILE=f"{work}/{target}.profraw"))
        merged = f"{work}/all.profdata"
        subprocess.run([arguments.llvm_profdata, "merge", "-o", merged, *(f"{work}/{t}.profraw" for t in targets)], check=True)
        objects = [str(folder / f"fuzz_{t}") for t in targets]
        done = subprocess.run([arguments.llvm_cov, "export", "-summary-only", f"-instr-profile={merged}", objects[0],
                               *(f"-object={o}" for o in objects[1:])], check=True, capture_output=True, text=True)
    lines = {}
    for entry in json.loads(done.stdout)["data"][0]["files"]:
        path = pathlib.Path(os.path.normpath(folder.parent.resolve() / entry["filename"]))  # as the compiler was given it
        if path.is_relative_to(FUZZ.parent) and path.relative_to(FUZZ.parent).parts[0] in ("src", "gpu_handoff"):
            counts = entry["summary"]["lines"]
            lines[str(path.relative_to(FUZZ.parent))] = [counts["count"], counts["covered"]]
    note = {"note": arguments.note} if arguments.note else {}
    return {"coverage": {"targets": targets, "inputs": files, **note, "lines": dict(sorted(lines.items()))}}


def faults(arguments):
    """What the fault tests injected: all of them must pass."""
    done = subprocess.run(["ctest", "--test-dir", arguments.faults, "--verbose", "--tests-regex",
                           "^(" + "|".join(FAULT_TESTS) + ")$"], stdout=subprocess.PIPE, text=True)
    counts = {}
    for count, kind in re.findall(r"faults injected: (\d+) (.*)", done.stdout):
        counts[kind] = counts.get(kind, 0) + int(count)
    passed = sorted(re.findall(r"Test +#\d+: (\w+) \.+ +Passed", done.stdout))
    missing = sorted(set(FAULT_TESTS) - set(passed))
    return {"faults": counts, "tests": passed, "outcome": "clean" if not missing else "failed: " + ", ".join(missing)}


def scratch(arguments):
    """Scratch that hostile texts leave resident, as encoder_trim_test measured and bounded it."""
    done = subprocess.run(["ctest", "--test-dir", arguments.scratch, "--verbose", "--tests-regex", "^encoder_trim_test$"],
                          stdout=subprocess.PIPE, text=True)
    rows = [json.loads(text) for text in re.findall(r'\{"text": .*"after_trim": \d+\}', done.stdout)]
    return {"scratch": rows, "outcome": "clean" if done.returncode == 0 and rows else "failed"}


def soaks(arguments):
    """One entry for each number of threads."""
    command = [arguments.soak, "--documents", str(arguments.documents)]
    for threads in arguments.threads or [64]:
        command += ["--threads", str(threads)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    entries = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"soak"')]
    for entry in entries:
        data = pathlib.Path(arguments.soak).read_bytes()
        entry["soak"]["build"] = "tsan" if b"__tsan_init" in data else "asan" if b"__asan_init" in data else "optimized"
    return done.returncode, entries


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--program")
    how.add_argument("--libfuzzer", metavar="FOLDER")
    how.add_argument("--coverage", metavar="FOLDER")
    how.add_argument("--faults", metavar="BUILD")
    how.add_argument("--scratch", metavar="BUILD")
    how.add_argument("--soak", metavar="PROGRAM")
    parser.add_argument("--documents", type=int, default=10000000)
    parser.add_argument("--threads", type=int, action="append")
    parser.add_argument("--llvm-cov", default="llvm-cov")
    parser.add_argument("--llvm-profdata", default="llvm-profdata")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=None, help="default: the time")
    parser.add_argument("--max-executions", type=int)
    parser.add_argument("--corpus", default="fuzz-corpus")
    parser.add_argument("--results", default=str(FUZZ / "results.jsonl"))
    parser.add_argument("--note", help="of --coverage: what to say of the inputs")
    parser.add_argument("--commit", help="default: the commit checked out")
    parser.add_argument("targets", nargs="*")
    arguments = parser.parse_args()
    if arguments.seed is None:
        arguments.seed = int(time.time())
    commit = arguments.commit or git("rev-parse", "--short=12", "HEAD") + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")

    def record(entry):
        with open(arguments.results, "a", encoding="ascii") as results:
            results.write(json.dumps(entry) + "\n")
        print(json.dumps(entry), flush=True)

    about = {"commit": commit, "date": time.strftime("%Y-%m-%d", time.gmtime())}
    if arguments.faults or arguments.scratch:
        entry = (faults if arguments.faults else scratch)(arguments)
        record({**entry, **about})
        return 0 if entry["outcome"] == "clean" else 1
    if arguments.soak:
        code, entries = soaks(arguments)
        for entry in entries:
            record({**entry, **about})
        return code
    listing = arguments.program or str(pathlib.Path(arguments.libfuzzer or arguments.coverage) / "rankfeed_fuzz")
    targets = arguments.targets or subprocess.run([listing, "--list"], capture_output=True, text=True, check=True,
                                                  env=environment()).stdout.split()
    if arguments.coverage:
        record({**coverage(arguments, targets), **about})
        return 0
    failed = 0
    for target in targets:
        start = time.time()
        code, entry = (run_generated if arguments.program else run_libfuzzer)(arguments, target)
        record({"target": target, **entry, "seconds": round(time.time() - start, 1), **about,
                "outcome": "clean" if code == 0 else f"failed ({code})"})
        failed += code != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
