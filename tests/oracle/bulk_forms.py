# SPDX-License-Identifier: MIT
"""Compares ids and offsets of very many texts with the tokenizers wheel, in every published form of forms.py.

  bulk_forms.py --driver D --base XLMR.tokenizer.json [--pairs N] [--seed S] [--xquad DIR] [--stream FILE]
                [--form NAME]... [--pieces N] [--results FILE]

--pairs: pairs of a text and a form, shared equally by the forms. Each text is encoded twice by the engine, ids alone
and with offsets (code points and bytes), and once by the wheel. Five kinds, in turn:
  ties      all texts of a length over two to four characters, pieces and unknown characters among them
  words     words of XQuAD and of the many-language stream, one to eight of them, put together anew
  mixtures  running text with odd characters, quotes, spaces and added tokens in it (mixtures.py)
  stress    the classes of stress.py
  damaged   texts that are not UTF-8, against what Python decodes of them; ids alone
Differing texts are printed, reduced; the run goes on. --results appends a line for fuzz/report.py. Another seed gives
other texts.
"""

import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import bulk_texts  # noqa: E402
import diff_forms  # noqa: E402
import engine as E  # noqa: E402
import forms as F  # noqa: E402
import mixtures  # noqa: E402
import stress  # noqa: E402
from diff_hf import tokenizers  # noqa: E402


class Texts:
    """Batches of each kind for one form."""

    def __init__(self, seed, pieces, words, added):
        self.random, self.pieces, self.words, self.added = random.Random(seed), pieces, words, added
        self.strings = [w.decode() for w in words]

    def seed(self):
        return self.random.randrange(1 << 32)

    def ties(self):
        return [t.decode() for t in bulk_texts.ties(self.random, self.pieces, 8192)]

    def of_words(self):
        return [t.decode() for t in bulk_texts.of_words(self.random, self.words, 2048)]

    def mixtures(self):
        return list(mixtures.mixtures(4096, self.seed(), self.strings, self.added))

    def stress(self):
        return list(stress.strings(2048, self.seed(), self.pieces))

    def damaged(self):
        return list(stress.byte_strings(4096, self.seed(), self.pieces))[7::8]

    KINDS = {"ties": ties, "words": of_words, "mixtures": mixtures, "stress": stress, "damaged": damaged}


class Progress:
    def __init__(self, report):
        self.report, self.started, self.printed = report, time.monotonic(), 0.0
        self.pairs, self.bytes = {kind: 0 for kind in Texts.KINDS}, 0

    def add(self, kind, data):
        self.pairs[kind] += len(data)
        self.bytes += sum(map(len, data))

    def total(self):
        return sum(self.pairs.values())

    def seconds(self):
        return time.monotonic() - self.started

    def show(self, name, seconds=60.0):
        """At most once in so many seconds; the time that loading takes counts."""
        now = self.seconds()
        if now - self.printed < seconds:
            return
        self.printed = now
        print(f"{self.total():,} pairs, {self.total() / now:,.0f} pairs/s, {self.bytes / now / 1e6:.2f} MB/s, "
              f"{self.report.bad} differ, {now:,.0f} s, {name}", flush=True)


def run_form(comparison, texts, pairs, progress):
    kinds, done = list(Texts.KINDS.items()), 0
    while done < pairs:
        kind, make = kinds[0]
        kinds.append(kinds.pop(0))
        batch = make(texts)[:pairs - done]
        if kind == "damaged":
            comparison.ids([d.decode("utf-8", "replace") for d in batch], batch)
        else:
            comparison.both_roads(batch)
        progress.add(kind, batch if kind == "damaged" else [t.encode() for t in batch])
        done += len(batch)
        progress.show(comparison.name)


def write_result(path, args, names, progress):
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    with open(path, "a") as out:
        out.write(json.dumps({"forms": {"version": tokenizers.__version__, "seed": args.seed, "forms": len(names),
                                        "pieces": args.pieces, "pairs": progress.pairs, "bytes": progress.bytes,
                                        "differences": progress.report.bad, "seconds": round(progress.seconds())},
                              "commit": commit}) + "\n")


def main():
    parser = E.arguments(__doc__, "driver", "seed", "results", "pieces", "stream", "xquad", "base")
    parser.add_argument("--pairs", type=int, default=10_000_000, help="(text, form), of all forms together")
    parser.add_argument("--limit", type=int, default=3, help="differing texts shown of each form and kind of result")
    parser.add_argument("--form", action="append", choices=F.NAMES, metavar="NAME", help="one form (repeatable)")
    args = parser.parse_args()
    E.require_wheel("tokenizers", tokenizers.__version__)
    E.require(args.base.exists(), f"{args.base} is not there")
    base, words = F.base_of_xlmr(args.base, args.pieces), bulk_texts.words(args.xquad, args.stream)
    names, every, pieces = args.form or F.NAMES, F.forms(base), base.fragments()
    eng, report = E.Engine(args.driver), E.Report(args.limit)
    progress = Progress(report)
    with tempfile.TemporaryDirectory() as folder:
        for i, name in enumerate(names):
            comparison, document = diff_forms.load(eng, every[name], base, report, folder)
            if comparison is None:
                continue
            added = [t["content"] for t in json.loads(document)["added_tokens"]][:40]
            texts = Texts(f"{args.seed} {name}", pieces, words, added)
            run_form(comparison, texts, args.pairs * (i + 1) // len(names) - progress.total(), progress)
    progress.show("all forms", seconds=0)
    if args.results:
        write_result(args.results, args, names, progress)
    eng.close()
    return report.finish(f"{len(names)} forms against tokenizers {tokenizers.__version__}, {progress.total():,} pairs")


if __name__ == "__main__":
    sys.exit(main())
