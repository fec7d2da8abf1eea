#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What each mechanism of the fast road gains: bench_ratios with it and without it, in turns.

bench/ablation/NAME.patch takes one mechanism out and leaves the ids alone; bench_ratios compares them with
libsentencepiece's before it times anything. The patches are applied to a copy of the tree, one at a time, never to the
tree itself. For each mechanism runs alternate: with, without, with, without. A cell is the time without by the time with
it, of the quickest rounds, the geometric mean of both parity modes: at 1.10 a text takes a tenth longer without it. "control"
has no patch: what it shows is noise. Programs are built while others are measured, so leave a core.

usage: ablation.py [--pairs N] [--rounds N] [--json FILE] [NAME ...]     without names: all; `ablation.py list` lists them,
       `ablation.py check` says which patches no longer fit the tree
RANKFEED_SHARED_DATA as bench_ratios has it; ccache is taken where it is installed.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parent.parent
PATCHES = ROOT / "bench" / "ablation"
ROWS = ["en_cold", "en_first", "en_eighth", "all_cold", "th_cold", "zh_cold", "document_cold", "document_warm"]
MODES = ["rankfeed_sp", "rankfeed_hf"]
GATHER = "avx512-gather"

# Name: what is taken out, about how many lines of src and builder serve it alone, and the instruction set that is forced.
MECHANISMS = {
    "control": ("nothing", 0, None),
    "span_table": ("table of spans (`SegmentTables::spans`); all are searched", 170, None),
    "search_starts": ("searches begin after U+2581 and letters; all begin after one character", 60, None),
    "start_pairs": ("of those, the ones after two letters", 10, None),
    "repeats": ("repeats in a batch (`find_repeats`)", 60, None),
    "fetch_texts": ("texts fetched ahead (`SegmentQueue::Fetch`)", 20, None),
    "prefetch_buckets": ("prefetch of the table's buckets", 1, None),
    "prefetch_lines": ("prefetch of the cache's lines", 4, None),
    "prefetch_units": ("prefetch of units while reading", 1, None),
    "prefetch_states": ("prefetch of states while summing", 5, None),
    "decode_short": ("loop for short segments", 130, None),
    "decode_cjk": ("loop of runs from U+2E80 on, with direct codes and their cuts", 80, None),
    "decode_run": ("loop of other three-byte runs", 60, None),
    "pruning": ("pruning of pieces (`builder/pruning`)", 190, None),
    "cache": ("cache of segments", 180, None),
    "cache_shorts": ("two short segments to a line of it; all are long ones", 40, None),
    "cache_long": ("long segments in it; they are not kept", 30, None),
    "isa_avx2": ("`avx512`: the set avx2 instead", 30, "avx2"),
    "isa_gather": ("`avx512`: the set avx512-gather instead", 0, GATHER),
    "few": ("`few` tables", 10, GATHER),
    "avx512_list": ("list of avx512_look_up.cc", 35, GATHER),
    "avx512_keys": ("make_keys, match_table and match_cache there, which share a layout", 165, GATHER),
    "avx512_decode_short": ("decode_short of avx512_decode.cc", 40, GATHER),
    "avx512_decode_run": ("decode_run there", 70, GATHER),
    "avx512_decode_cjk": ("decode_cjk there", 65, GATHER),
    "avx512_look_up_spans": ("look_up_spans there", 50, GATHER),
    "avx512_walk": ("walk of avx512_search.cc, with what it lets relax_independent do", 105, GATHER),
    "avx512_relax_independent": ("relax_independent there", 45, GATHER),
    "avx512_trace": ("trace there", 110, GATHER),
}


def sh(command, **more):
    return subprocess.run([str(c) for c in command], check=True, **more)


class Trees:
    """A copy of the tree, and a program from it for each patch."""

    def __init__(self, folder):
        self.tree, self.programs = folder / "tree", folder / "programs"
        self.programs.mkdir()
        names = sh(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True).stdout.decode().split("\0")
        for name in filter(None, names):
            to = self.tree / name
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to, follow_symlinks=False)
        self.environment = dict(os.environ)
        ccache = []
        if shutil.which("ccache"):
            self.environment |= {"CCACHE_BASEDIR": str(self.tree), "CCACHE_NOHASHDIR": "true"}
            ccache = [f"-DCMAKE_{language}_COMPILER_LAUNCHER=ccache" for language in ("C", "CXX")]
        self._quiet(["cmake", "--preset", "bench", *ccache])

    def _quiet(self, command):
        done = subprocess.run([str(c) for c in command], cwd=self.tree, env=self.environment, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")

    def build(self, name):
        """Without the mechanism; of names without a patch, the tree as it is."""
        patch = PATCHES / f"{name}.patch"
        program = self.programs / (name if patch.exists() else "base")
        if program.exists():
            return program
        if patch.exists():
            self._quiet(["patch", "-p1", "-i", patch])
        self._quiet(["nice", "cmake", "--build", "--preset", "bench", "--target", "bench_ratios"])
        shutil.copy2(self.tree / "build-bench" / "bench" / "bench_ratios", program)
        if patch.exists():
            self._quiet(["patch", "-p1", "-R", "-i", patch])
        return program


def misfits():
    """Patches that do not apply, and names of which one is there without the other."""
    found = {patch.stem for patch in PATCHES.glob("*.patch")}
    for name in sorted(found):
        done = subprocess.run(["patch", "-p1", "--dry-run", "--force", "-i", PATCHES / f"{name}.patch"], cwd=ROOT, capture_output=True, text=True)
        if done.returncode != 0:
            yield f"{name}.patch: {done.stdout.strip()}"
    without = {name for name in MECHANISMS if name != "control" and not name.startswith("isa_")}
    yield from (f"{name}.patch takes out no mechanism" for name in sorted(found - without))
    yield from (f"{name}: there is no patch" for name in sorted(without - found))


def measure(program, isa, rounds, rows):
    """Nanoseconds of the quickest round, by mode and row."""
    environment = {"RANKFEED_SHARED_DATA": str((ROOT / "../shared/data").resolve()), **os.environ}
    environment.pop("RANKFEED_ISA", None)
    if isa:
        environment["RANKFEED_ISA"] = isa
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        done = subprocess.run([program, "--rounds", str(rounds), "--rows", ",".join(rows), "--engines", ",".join(MODES),
                               "--json", report.name], env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{program.name}: {done.stderr}")
        entries = json.load(report)["rows"]
    return {(mode, row["name"]): min(row["engines"][mode]["ns"]) for row in entries if "engines" in row for mode in MODES}


def compare(program, base, isa, base_isa, options):
    """The time without by the time with, by mode and row."""
    runs = [(measure(base, base_isa, options.rounds, ROWS), measure(program, isa, options.rounds, ROWS))
            for _ in range(options.pairs)]
    return {at: min(without[at] for _, without in runs) / min(with_it[at] for with_it, _ in runs) for at in runs[0][0]}


def line(cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    names = options.names or list(MECHANISMS)
    if names == ["list"]:
        return print("\n".join(MECHANISMS))
    if names == ["check"]:
        return sys.exit("\n".join(misfits()) or 0)
    if unknown := set(names) - set(MECHANISMS):
        parser.error(f"no such mechanism: {', '.join(sorted(unknown))}")
    results = {}
    line(["without", "lines", *ROWS])
    line(["---", *["---:"] * (len(ROWS) + 1)])
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(1) as builder:
        trees = Trees(pathlib.Path(folder))
        base = trees.build("control")
        programs = {name: builder.submit(trees.build, name) for name in names}  # while others are measured
        for name in names:
            what, lines, isa = MECHANISMS[name]
            base_isa = None if name.startswith("isa_") else isa
            gain = compare(programs[name].result(), base, isa, base_isa, options)
            results[name] = {f"{mode} {row}": ratio for (mode, row), ratio in gain.items()}
            line([what, str(lines), *[f"{statistics.geometric_mean(gain[mode, row] for mode in MODES):.2f}" for row in ROWS]])
            if options.json:
                pathlib.Path(options.json).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
