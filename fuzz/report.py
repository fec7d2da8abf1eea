#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""report.py [RESULTS]: writes fuzz/REPORT.md, the summary of the runs in RESULTS (fuzz/results.jsonl), to which fuzz/run.py,
tests/oracle/bulk_sp.py, bulk_forms.py and diff_bpe.py append. A release's report has all runs since the release before it."""

import json
import pathlib
import sys
import textwrap

FOLDER = pathlib.Path(__file__).resolve().parent
PARITY = ["encode_parity_hf", "encode_parity_sp"]
LOADERS = ["charsmap", "corpus_manifest", "corpus_store", "hf_json", "image_open", "image_open_bpe", "image_open_wordpiece", "spm_model", "vocab_txt"]

HEAD = """# What was fuzzed

The summary of all runs before release 0.1.0, written by `fuzz/report.py`. [README.md](README.md) says what each target checks
and how to run it.

One execution is one comparison that could have failed: for the parity targets one text by both roads and by the reference;
for loaders one file; for `kernels` one text through one SIMD target; for `handoff_states`, `api_calls` and `shared_calls` one
call; for `handed_back` one struct; for `pairs` one document; for `workspace` one text; for `roundtrip` one list of ids. "Per
s" is per second of processor time. "Failed" runs ended before their time or with a finding; each finding of the list below
has been fixed.
"""

LOADING = """
## Cost of loading

The costliest files that the targets met, in processor time and in heap held at once, against what SECURITY.md promises: 1 s
and 100 ns for each byte; 64 MiB, 8 bytes for each byte of the file and 2 for each byte of the image that came of it. A
sanitizer's build may take 20 times the time and 4 times the memory. A file over a bound is a finding.

"""

WHEEL = """
## Against the SentencePiece wheel

By `tests/oracle/bulk_sp.py`: ids of generated texts, one text one comparison. "Ties" are all texts of one length over
few characters, "words" are real words put together anew, "stress" the classes of `tests/oracle/stress.py`.

"""

FORMS = """
## Against the tokenizers wheel, every published form

By `tests/oracle/bulk_forms.py`: ids alone, ids with offsets in code points and in bytes, of generated texts in every form
that transformers writes or rebuilds; a pair is one text in one form. "Pieces" of the XLM-R vocabulary: all, or the first
ones.

"""

BPE = """
## Against the tokenizers wheel, BPE

By `tests/oracle/diff_bpe.py`: ids, and ids with offsets, of published vocabularies. "Bulk" are short texts in turn, as above; "stream" the
texts of `bench/text_streams.py`; "sweep" every code point in six places, sixteen to a text.

"""

FAULTS = """
## Faults injected

By `fuzz/run.py --faults`: {times} faults of {kinds} kinds (allocations, full disks, killed processes, lost devices and
others), each answered with an error that names it, or by going on without, as the tests say:
{tests}.
"""

REWRITES = """
## Files written to and cut off after they were opened

By `tests/fault/rewritten_files_test.cc` in its long run (`ctest --preset long -R rewritten_files_long`): random writes and
truncations of an image or a store in use, each followed by calls. "Differing" are answers other than before, "signals" calls
that ended the process. SECURITY.md promises none of either under a private copy, and no hang with any.

"""

SCRATCH = """
## Memory that a text leaves behind

By `fuzz/run.py --scratch` (`encoder_trim_test`): scratch that is resident after a text, and after `rankfeed_encoder_trim`.
At most 26 bytes for each byte of normalized text are promised, 42 with offsets, and half a MiB that every encoder has.

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


def report(results):
    entries = [json.loads(line) for line in results.read_text().splitlines() if line]
    runs = [e for e in entries if "target" in e]
    soaks = [e["soak"] for e in entries if "soak" in e]
    wheels = [e["wheel"] for e in entries if "wheel" in e]
    injected = [e for e in entries if "faults" in e]
    out = [HEAD]
    groups = {}
    for run in runs:
        groups.setdefault(run["target"], []).append(run)
    rows = []
    for target, group in sorted(groups.items()):
        builds = ", ".join(sorted({r["build"] for r in group}))
        failed = sum(r["outcome"] != "clean" for r in group)
        rows.append([f"`{target}`", builds, str(len(group)), number(sum(r["executions"] for r in group)),
                     number(sum(r["accepted"] for r in group)), f"{sum(r['seconds'] for r in group) / 3600:.1f}", rate(group), str(failed)])
    out.append("\n## By target\n\n" + table(rows, ["target", "builds", "runs", "executions", "accepted", "hours", "per s", "failed runs"]))
    measured = [e["coverage"] for e in entries if "coverage" in e]
    if measured:
        counts = list(measured[-1]["lines"].values())
        lines, reached = sum(c[0] for c in counts), sum(c[1] for c in counts)
        out.append(f"\nOf {number(lines)} lines that are linked into the targets, the inputs that libFuzzer kept reach {100 * reached / lines:.1f} %.\n")

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
    rows.append(["failed runs for which no fix is recorded", str(len(open_findings)), "0"])
    out.append("\n## Against the goals\n\n" + table(rows, ["", "reached", "goal"]))
    costs = {}
    for run in runs:
        if "dearest" in run and run["build"] == "optimized":
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
    if wheels:
        rows = [[w["version"], w["mode"], ", ".join(w["models"]), *(number(w["texts"][kind]) for kind in ("ties", "words", "stress")),
                 number(w["tokens"]), str(w["differences"]), number(w["seconds"])] for w in wheels]
        out.append(WHEEL + table(rows, ["wheel", "mode", "models", "ties", "words", "stress", "tokens", "other ids", "seconds"]))
    forms = [e["forms"] for e in entries if "forms" in e]
    if forms:
        kinds = ["ties", "words", "mixtures", "stress", "damaged"]
        rows = [[f["version"], str(f["forms"]), number(f["pieces"]) if f["pieces"] else "all", number(sum(f["pairs"].values())),
                 *(number(f["pairs"][kind]) for kind in kinds), str(f["differences"]), number(f["seconds"])] for f in forms]
        out.append(FORMS + table(rows, ["wheel", "forms", "pieces", "pairs", *kinds, "differ", "seconds"]))
    bpe = [{**e["bpe"], "commit": e["commit"]} for e in entries if "bpe" in e]
    if bpe:
        rows = [[b["version"], b["vocabulary"], b["of"], number(b["texts"]), str(b["differences"]), number(b["seconds"]), b["commit"]] for b in bpe]
        out.append(BPE + table(rows, ["wheel", "vocabulary", "of", "texts", "differ", "seconds", "commit"]))
    if soaks:
        rows = [[str(s["threads"]), s.get("build", "optimized"), number(s["documents"]), number(s["tokens"]), number(s["swaps"]),
                 str(s["differences"]), f"{s['seconds']:,.0f}", f"{s['resident_early'] / 2**20:.1f}",
                 f"{s['resident_end'] / 2**20:.1f}", s["outcome"]] for s in soaks]
        out.append("\n## Load\n\n`tests/soak`: both parity modes at once, vocabularies swapped under load, every result "
                   "compared with that of one thread.\n\n" +
                   table(rows, ["threads", "build", "documents", "tokens", "swaps", "differences", "seconds",
                                "MiB resident, first third", "at the end", "outcome"]))
    if injected:
        latest = injected[-1]
        out.append(FAULTS.format(times=number(sum(latest["faults"].values())), kinds=len(latest["faults"]),
                                 tests=textwrap.fill(", ".join(f"`{t}`" for t in latest["tests"]), 120)))
    rewritten = [e for e in entries if "rewrites" in e]
    if rewritten:
        opened = {}
        for r in rewritten[-1]["rewrites"]:
            sums = opened.setdefault(r["opened"], [0] * 4)
            opened[r["opened"]] = [a + r[k] for a, k in zip(sums, ("changes", "differing", "signals", "hangs"))]
        out.append(REWRITES + table([[how, *map(number, sums)] for how, sums in opened.items()], ["opened", "changes", "differing", "signals", "hangs"]))
    scratch = [e for e in entries if "scratch" in e]
    if scratch:
        rows = [[s["text"], "yes" if s["offsets"] else "no", *(number(s[k]) for k in ("bytes", "normalized", "touched")),
                 f"{s['touched'] / s['bytes']:.0f}", f"{s['touched'] / s['normalized']:.1f}", number(s["after_trim"])] for s in scratch[-1]["scratch"]]
        out.append(SCRATCH +
                   table(rows, ["text", "offsets", "bytes", "normalized", "resident", "for each byte", "for each normalized byte", "after trim"]))
    out.append("\n## Findings\n\n" + table(
        [[f"`{f['target']}`", f["what"], f["test"]] for f in
         (json.loads(line) for line in (FOLDER / "findings.jsonl").read_text().splitlines() if line)],
        ["target", "what", "test"]))
    return "".join(out)


if __name__ == "__main__":
    (FOLDER / "REPORT.md").write_text(report(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER / "results.jsonl"))
