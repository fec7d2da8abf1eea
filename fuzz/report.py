#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes fuzz/REPORT.md of fuzz/results.jsonl, which fuzz/run.py and the soak program write.

  fuzz/report.py            writes REPORT.md
  fuzz/report.py --check [--build FOLDER]
                            fails when REPORT.md is not what it would write, or when a promise has no test (promises.py);
                            with a build of everything, also when a test that is named is not one of ctest's
"""

import argparse
import json
import pathlib
import sys

import promises

FOLDER = pathlib.Path(__file__).resolve().parent
PARITY = ["encode_parity_hf", "encode_parity_sp"]
LOADERS = ["charsmap", "corpus_manifest", "corpus_store", "hf_json", "image_open", "spm_model"]

HEAD = """# What was fuzzed

Made by `fuzz/report.py` of `fuzz/results.jsonl`; not written by hand. [README.md](README.md) says what each target
checks and how to run it.

One execution is one comparison that could have failed: for the parity targets one text through the engine (plain
and fast path) and the reference; for loaders one file; for `kernels` one text through one SIMD target; for
`handoff_states`, `api_calls` and `shared_calls` one call; for `handed_back` one struct; for `pairs` one document; for `workspace` one text; for `roundtrip` one list of ids.
Not every file is another one: "distinct" is how many different inputs there were, estimated within 2%. "Per s" is
per second of processor time. "Failed" runs are those that ended with a finding; each finding has been fixed, and is a test.
"""

LOADING = """
## Cost of loading

The dearest files that the targets met, in processor time and in heap held at once, against what SECURITY.md promises:
1 s and 100 ns for each byte; 64 MiB, 8 bytes for each byte of the file and 2 for each byte of the image that came of
it. A sanitizer's build may take 20 times the time and 4 times the memory. A file over a bound is a finding.

"""

COVERAGE = """
## Coverage

Lines that the inputs kept by libFuzzer reach, all targets together ({inputs:,} inputs{note}; `fuzz/run.py --coverage`,
commit {commit}). What only the command line, the counters, the receipts and the GPU backends use is not linked into the
targets and not listed.

"""

WHEEL = """
## Against the SentencePiece wheel

By `tests/oracle/bulk_sp.py`: ids of generated texts, one text one comparison. "Ties" are all texts of one length over
few characters, "words" are real words put together anew, "stress" the classes of `tests/oracle/stress.py`.

"""

FORMS = """
## Against the tokenizers wheel, every published form

By `tests/oracle/bulk_forms.py`: ids alone, ids with offsets in code points and in bytes, of generated texts in every form that
transformers writes or rebuilds; a pair is one text in one form. "Pieces" of the XLM-R vocabulary: all, or the first ones.

"""

DRIFT = """
## Versions of the references

By `scripts/drift.sh`, the table of all suites in [docs/drift.md](../docs/drift.md). "Differ" counts comparisons in the mode that
follows a version; those of the SentencePiece mode that does not are in docs/drift.md only. All are explained there but those
in the last column.

"""

FAULTS = """
## Faults injected

By `fuzz/run.py --faults` (commit {commit}); each was answered with an error that names it, or by going on without, as
the tests named say: {tests}.

"""

REWRITES = """
## Files written to and cut off after they were opened

By `tests/fault/rewritten_files_test.cc` in its long run (`ctest --preset long -R rewritten_files_long`): random writes and truncations
of an image or a store in use, each followed by calls. "Differing" are answers other than before, "signals" calls that ended the
process. SECURITY.md promises none of either under a private copy, and no hang with any.

"""

COSTS = """
## Cost of hostile texts

By `fuzz/worst_text.py record`: the dearest of the texts that its search found and of those made by hand, against the
English passages of XQuAD in the same pipeline, both from an empty word cache on. Instructions are callgrind's (AVX2 code)
and held to the bound by `worst_text_test`; times are the least of nine on the machine and with the load of the day. A
text is a recipe (`fuzz/worst_text.cc`), cut off here.

"""

SCRATCH = """
## Memory that a text leaves behind

By `fuzz/run.py --scratch` (`encoder_trim_test`, commit {commit}): scratch that is resident after a text, and after `rankfeed_encoder_trim`.
SECURITY.md promises at most 26 bytes for each byte of normalized text, 42 with offsets, and half a MiB that every encoder has.

"""

PROMISES = """
## Promises and their tests

What README's table of promises and SECURITY.md say, and what holds it: of `fuzz/promises.json`, which `fuzz/promises.py` compares
with both, sentence by sentence. Explanations and advice are not listed here.

"""


def number(n):
    return f"{n:,}"


def table(rows, head):
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join("---" for _ in head) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def rate(group):
    """Executions per second of processor time, where that was measured."""
    timed = [r for r in group if r.get("processor_seconds")]
    return number(round(sum(r["executions"] for r in timed) / sum(r["processor_seconds"] for r in timed))) if timed else "-"


def drift_cells(result):
    """Mode that follows a version (the one with fewer differences), comparisons, differences, suites not explained."""
    if "not run" in result:
        return ["not run: " + result["not run"], "", "", ""]
    suites = result["suites"]
    def differing(mode):
        return sum(s["differ"] for s in suites if s["mode"] == mode)
    mode = min(sorted({s["mode"] for s in suites}), key=differing)
    unexplained = sum((s["differ"] or "error" in s or "refused" in s) and "explanation" not in s for s in suites)
    return [mode, number(sum(s["compared"] for s in suites if s["mode"] == mode)), number(differing(mode)), str(unexplained)]


def report():
    entries = [json.loads(line) for line in (FOLDER / "results.jsonl").read_text().splitlines() if line]
    runs = [e for e in entries if "target" in e]
    soaks = [e["soak"] for e in entries if "soak" in e]
    wheels = [e["wheel"] | {"commit": e["commit"]} for e in entries if "wheel" in e]
    measured = [e for e in entries if "coverage" in e]
    injected = [e for e in entries if "faults" in e]
    out = [HEAD]
    groups = {}
    for run in runs:
        groups.setdefault((run["target"], run["mode"], run["build"]), []).append(run)
    rows = []
    for (target, mode, build), group in sorted(groups.items()):
        failed = sum(r["outcome"] != "clean" for r in group)
        rows.append([f"`{target}`", mode, build, str(len(group)), number(sum(r["executions"] for r in group)),
                     number(sum(r["accepted"] for r in group)), number(sum(r.get("distinct", 0) for r in group)) if
                     all("distinct" in r for r in group) else "-", f"{sum(r['seconds'] for r in group):,.0f}", rate(group),
                     str(max((r.get("edges", 0) for r in group), default=0) or "-"), str(failed)])
    out.append("\n## By target\n\n" + table(rows, ["target", "inputs", "build", "runs", "executions", "accepted",
                                                     "distinct", "seconds", "per s", "edges", "failed runs"]))
    def total(names, builds=None):
        return sum(r["executions"] for r in runs if r["target"] in names and (builds is None or r["build"] in builds))
    rows = [["differential executions, parity targets", number(total(PARITY)), "100,000,000"]]
    for loader in LOADERS:
        held = sum(r["executions"] for r in runs if r["target"] == loader and "dearest" in r)
        rows.append([f"hostile files, `{loader}`", f"{number(total([loader]))}, of them "
                     f"{number(total([loader], ['asan-ubsan']))} under ASan and UBSan; {number(held)} held to what "
                     "reading may cost", "10,000,000"])
    newest = [w for w in wheels if w["mode"] == "sentencepiece"]
    rows.append(["texts against the newest SentencePiece wheel", number(sum(sum(w["texts"].values()) for w in newest)), "100,000,000"])
    rows.append(["of them, tokens", number(sum(w["tokens"] for w in newest)), "-"])
    rows.append(["of them, texts with other ids", number(sum(w["differences"] for w in newest)), "0"])
    open_findings = [r for r in runs if r["outcome"] != "clean" and not r.get("fixed")]
    rows.append(["findings that are not fixed", str(len(open_findings)), "0"])
    out.append("\n## Against the goals\n\n" + table(rows, ["", "reached", "goal"]))
    costs = {}
    for run in runs:
        if "dearest" in run:
            costs.setdefault((run["target"], run["build"]), []).append(run)
    rows = []
    for (target, build), group in sorted(costs.items()):
        slow = max((r["dearest"] for r in group), key=lambda d: d["seconds_share"])
        large = max((r["dearest"] for r in group), key=lambda d: d["heap_share"])
        rows.append([f"`{target}`", build, number(sum(r["executions"] for r in group)), f"{1000 * slow['seconds']:.1f}",
                     number(slow["seconds_file_bytes"]), number(round(1e9 * slow["seconds"] / slow["seconds_file_bytes"])),
                     f"{100 * slow['seconds_share']:.1f}%", f"{large['heap'] / 2**20:.1f}", number(large["heap_file_bytes"]),
                     number(round(large["heap"] / large["heap_file_bytes"])), f"{100 * large['heap_share']:.1f}%"])
    if rows:
        out.append(LOADING + table(rows, ["target", "build", "files", "ms", "of bytes", "ns per byte", "of the bound", "MiB",
                                        "of bytes", "memory ratio", "of the bound"]))
    commits = sorted({r["commit"] for r in runs})
    out.append("\nCommits: " + ", ".join(commits) + ".\n")
    if wheels:
        rows = [[w["version"], w["mode"], ", ".join(w["models"]), *(number(w["texts"][kind]) for kind in ("ties", "words", "stress")),
                 number(w["tokens"]), str(w["differences"]), number(w["seconds"]), w["commit"]] for w in wheels]
        out.append(WHEEL + table(rows, ["wheel", "mode", "models", "ties", "words", "stress", "tokens", "other ids", "seconds", "commit"]))
    forms = [e["forms"] | {"commit": e["commit"]} for e in entries if "forms" in e]
    if forms:
        kinds = ["ties", "words", "mixtures", "stress", "damaged"]
        rows = [[f["version"], str(f["forms"]), number(f["pieces"]) if f["pieces"] else "all", number(sum(f["pairs"].values())),
                 *(number(f["pairs"][kind]) for kind in kinds), str(f["differences"]), number(f["seconds"]), f["commit"]] for f in forms]
        out.append(FORMS + table(rows, ["wheel", "forms", "pieces", "pairs", *kinds, "differ", "seconds", "commit"]))
    if soaks:
        rows = [[str(s["threads"]), s.get("build", "optimized"), number(s["documents"]), number(s["tokens"]), number(s["swaps"]),
                 str(s["differences"]), f"{s['seconds']:,.0f}", f"{s['resident_early'] / 2**20:.1f}",
                 f"{s['resident_end'] / 2**20:.1f}", s["outcome"]] for s in soaks]
        out.append("\n## Load\n\n`tests/soak`: both parity modes at once, vocabularies swapped under load, every result "
                   "compared with that of one thread.\n\n" +
                   table(rows, ["threads", "build", "documents", "tokens", "swaps", "differences", "seconds",
                                "MiB resident, first third", "at the end", "outcome"]))
    drift = FOLDER.parent / "docs" / "drift-results.json"
    if drift.exists():
        rows = [[package, version, *cells] for package, entry in json.loads(drift.read_text()).items()
                for version, result in entry["versions"].items() for cells in [drift_cells(result)]]
        out.append(DRIFT + table(rows, ["package", "version", "mode", "comparisons", "differ", "not explained"]))
    if measured:
        lines = measured[-1]["coverage"]["lines"]
        rows = [[f"`{path}`", number(count), f"{100 * reached / max(count, 1):.1f}%"]
                for path, (count, reached) in lines.items()]
        count, reached = (sum(pair[i] for pair in lines.values()) for i in (0, 1))
        rows.append(["all", number(count), f"{100 * reached / max(count, 1):.1f}%"])
        out.append(COVERAGE.format(inputs=measured[-1]["coverage"]["inputs"],
                                   note="".join(": " + n for n in [measured[-1]["coverage"].get("note")] if n), commit=measured[-1]["commit"]) +
                   table(rows, ["file", "lines", "reached"]))
    if injected:
        latest = injected[-1]
        rows = [[kind, number(count)] for kind, count in sorted(latest["faults"].items())]
        rows.append(["all", number(sum(latest["faults"].values()))])
        out.append(FAULTS.format(commit=latest["commit"], tests=", ".join(f"`{t}`" for t in latest["tests"])) +
                   table(rows, ["fault", "times"]))
    rewritten = [e for e in entries if "rewrites" in e]
    if rewritten:
        rows = [[r["what"], r["opened"], *(number(r[k]) for k in ("changes", "differing", "signals", "hangs")), rewritten[-1]["commit"]]
                for r in rewritten[-1]["rewrites"]]
        out.append(REWRITES + table(rows, ["what", "opened", "changes", "differing", "signals", "hangs", "commit"]))
    scratch = [e for e in entries if "scratch" in e]
    if scratch:
        rows = [[s["text"], "yes" if s["offsets"] else "no", *(number(s[k]) for k in ("bytes", "normalized", "touched")),
                 f"{s['touched'] / s['bytes']:.0f}", f"{s['touched'] / s['normalized']:.1f}", number(s["after_trim"])] for s in scratch[-1]["scratch"]]
        out.append(SCRATCH.format(commit=scratch[-1]["commit"]) +
                   table(rows, ["text", "offsets", "bytes", "normalized", "resident", "for each byte", "for each normalized byte", "after trim"]))
    costs = json.loads((FOLDER / "worst_text_results.json").read_text())
    bounds = json.loads((FOLDER / "worst_texts.json").read_text())["bounds"]
    rows = [[f"`{form}`", f"{cost['plain']:.0f}", f"{cost['ratio']:.1f}", str(bounds[form]), f"`{cost['text'][:40]}`", f"{cost['plain_ns']:.1f}",
             f"{cost['ratio_ns']:.1f}", f"`{cost['text_ns'][:40]}`"] for form, cost in costs.items()]
    out.append(COSTS + table(rows, ["vocabulary:form", "plain text, instructions per byte", "dearest, times that", "bound", "text",
                                    "plain text, ns per byte", "slowest, times that", "text"]))
    out.append("\n## Findings\n\n" + table(
        [[f"`{f['target']}`", f["what"], f["test"]] for f in
         (json.loads(line) for line in (FOLDER / "findings.jsonl").read_text().splitlines() if line)],
        ["target", "what", "test"]))
    out.append(PROMISES + table([promises.row(e) for e in promises.read() if "tests" in e], ["in", "promise", "held by"]))
    return "".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--build")
    arguments = parser.parse_args()
    text = report()
    path = FOLDER / "REPORT.md"
    if arguments.check:
        problems = promises.errors(arguments.build)
        if path.read_text() != text:
            problems.append("fuzz/REPORT.md is not what fuzz/report.py makes of the results; run fuzz/report.py")
        for problem in problems:
            print(problem)
        return 1 if problems else 0
    path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
