#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs fuzz targets for a given time and adds what they did to a file of JSON lines.

  fuzz/run.py --program build/fuzz/rankfeed_fuzz --seconds 60 [TARGET ...]
  fuzz/run.py --libfuzzer build-fuzz/fuzz --seconds 60 [--corpus DIR] [TARGET ...]

The first runs generated inputs, with whatever compiler and sanitizer the program was built with; the
second runs libFuzzer programs, which keep inputs that reach new code in DIR/TARGET. Without targets,
all of them, one after the other. --results FILE (default fuzz/results.jsonl): one line for each run,
which fuzz/report.py turns into REPORT.md. Ends with status 1 when any property failed; the input is
then in the current folder.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import time

FUZZ = pathlib.Path(__file__).resolve().parent


def git(*arguments):
    done = subprocess.run(["git", "-C", str(FUZZ), *arguments], capture_output=True, text=True)
    return done.stdout.strip()


def build_kind(program):
    """release, asan-ubsan, tsan: by the symbols of a sanitizer's runtime."""
    data = pathlib.Path(program).read_bytes()
    if b"__tsan_init" in data:
        return "tsan"
    return "asan-ubsan" if b"__asan_init" in data else "optimized"


def run_generated(arguments, target):
    command = [arguments.program, target, "--generate", str(arguments.seconds), "--seed", str(arguments.seed)]
    if arguments.max_executions:
        command += ["--max-executions", str(arguments.max_executions)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    match = re.search(r": (\d+) inputs, (\d+) executions, (\d+) accepted", done.stdout)
    numbers = [int(n) for n in match.groups()] if match else [0, 0, 0]
    return done.returncode, {"mode": "generated", "seed": arguments.seed, "build": build_kind(arguments.program),
                             "inputs": numbers[0], "executions": numbers[1], "accepted": numbers[2]}


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
        command.append(f"-dict={dictionary}")
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    units = re.search(r"stat::number_of_executed_units:\s*(\d+)", done.stdout)
    counts = re.search(rf"{target}: (\d+) executions, (\d+) accepted", done.stdout)
    coverage = re.findall(r"cov: (\d+) ft: (\d+) corp: (\d+)", done.stdout)
    if done.returncode:
        print(done.stdout[-8000:])
    return done.returncode, {
        "mode": "libfuzzer", "build": build_kind(program), "inputs": int(units.group(1)) if units else 0,
        "executions": int(counts.group(1)) if counts else 0, "accepted": int(counts.group(2)) if counts else 0,
        "edges": int(coverage[-1][0]) if coverage else 0, "features": int(coverage[-1][1]) if coverage else 0,
        "corpus": int(coverage[-1][2]) if coverage else 0}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--program")
    how.add_argument("--libfuzzer", metavar="FOLDER")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=None, help="default: the time")
    parser.add_argument("--max-executions", type=int)
    parser.add_argument("--corpus", default="fuzz-corpus")
    parser.add_argument("--results", default=str(FUZZ / "results.jsonl"))
    parser.add_argument("--commit", help="default: the commit checked out")
    parser.add_argument("targets", nargs="*")
    arguments = parser.parse_args()
    if arguments.seed is None:
        arguments.seed = int(time.time())
    listing = arguments.program or str(pathlib.Path(arguments.libfuzzer) / "rankfeed_fuzz")
    targets = arguments.targets or subprocess.run([listing, "--list"], capture_output=True, text=True,
                                                  check=True).stdout.split()
    commit = arguments.commit or git("rev-parse", "--short=12", "HEAD") + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")
    failed = 0
    for target in targets:
        start = time.time()
        code, entry = (run_generated if arguments.program else run_libfuzzer)(arguments, target)
        entry = {"target": target, **entry, "seconds": round(time.time() - start, 1), "commit": commit,
                 "date": time.strftime("%Y-%m-%d", time.gmtime(start)), "outcome": "clean" if code == 0 else f"failed ({code})"}
        failed += code != 0
        with open(arguments.results, "a", encoding="ascii") as results:
            results.write(json.dumps(entry) + "\n")
        print(json.dumps(entry), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
