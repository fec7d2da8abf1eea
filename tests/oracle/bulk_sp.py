# SPDX-License-Identifier: MIT
"""Compares ids of very many short texts with the sentencepiece wheel that is installed, in the mode that follows it.

  bulk_sp.py --driver D [--texts N] [--seed S] [--results FILE] MODEL...

Three kinds, in turn over the models:
  ties    all texts of a length over two to four characters, pieces and unknown characters among them: where sums tie
  words   words of XQuAD and of the many-language stream (--xquad, --stream), one to eight of them, put together anew
  stress  the classes of stress.py, one in eight not valid UTF-8
Most are ties, which are what rules differ in. --large adds generated models with scores so large that the sums of these
short texts are rebased. One text is one comparison. About 4 us each; differing texts are printed, reduced. --results
appends a line for fuzz/report.py. Another seed gives other texts.
"""

import itertools
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import bulk_texts  # noqa: E402
import diff_sp  # noqa: E402
import engine as E  # noqa: E402
import sp_models  # noqa: E402
import sp_wheel  # noqa: E402
import spm_proto  # noqa: E402
import stress  # noqa: E402

ROUND = {"ties": 65536, "words": 16384, "stress": 4096}  # texts of one batch, at most


def ties(r, pieces, _words):
    return bulk_texts.ties(r, pieces, ROUND["ties"])


def of_words(r, _pieces, words):
    return bulk_texts.of_words(r, words, ROUND["words"])


def of_stress(r, pieces, _words):
    return list(stress.byte_strings(ROUND["stress"], r.randrange(1 << 32), pieces))


# One round of each kind and six of ties, the cheapest. The classes of stress.py have a long test of their own.
KINDS = [("ties", ties)] * 6 + [("words", of_words), ("stress", of_stress)]


def large_scores(folder, count, seed):
    paths = [folder / f"large_scores_{seed + i}" for i in range(count)]
    for i, path in enumerate(paths):
        path.write_bytes(spm_proto.write(sp_models.with_large_scores(seed + i)))
    return paths


def main():
    parser = E.arguments(__doc__, "driver", "seed", "results", "stream", "xquad", limit=5)
    parser.add_argument("--texts", type=int, default=100_000_000, help="of all models together")
    parser.add_argument("--large", type=int, default=4, help="generated models with large scores")
    parser.add_argument("models", nargs="+", type=Path)
    args = parser.parse_args()
    words, report, started = bulk_texts.words(args.xquad, args.stream), E.Report(args.limit), time.monotonic()
    r = random.Random(args.seed)
    counts = {kind: 0 for kind, _ in KINDS}
    tokens = 0
    with tempfile.TemporaryDirectory() as folder:
        models = args.models + large_scores(Path(folder), args.large, args.seed)
        # One engine for each, so that no image is built twice.
        loaded = [diff_sp.load(E.Engine(args.driver), path, sp_wheel.MODE, report) for path in models]
    for turn in itertools.count():
        if report.checks >= args.texts:
            break
        comparison, pieces = loaded[turn % len(loaded)]
        kind, make = KINDS[turn // len(loaded) % len(KINDS)]
        texts = make(r, pieces, words)
        tokens += comparison.count(texts)
        counts[kind] += len(texts)
        if turn % 50 == 0:
            print(f"{report.checks:,} texts, {tokens:,} tokens, {report.bad} differ, {time.monotonic() - started:,.0f} s", flush=True)
    if args.results:
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
        with open(args.results, "a") as out:
            out.write(json.dumps({"wheel": {"version": sp_wheel.VERSION, "mode": sp_wheel.MODE, "seed": args.seed,
                                            "models": [p.name for p in models], "texts": counts, "tokens": tokens,
                                            "differences": report.bad, "seconds": round(time.monotonic() - started)},
                                  "commit": commit}) + "\n")
    return report.finish(f"{sp_wheel.MODE} against sentencepiece {sp_wheel.VERSION}, {tokens:,} tokens")


if __name__ == "__main__":
    sys.exit(main())
