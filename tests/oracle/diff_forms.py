# SPDX-License-Identifier: MIT
"""Compares the engine with the tokenizers wheel in every published form of forms.py.

  diff_forms.py --driver D --base XLMR.tokenizer.json [--xquad DIR] [--form NAME]... [--pieces N]
                [--passages N] [--count N] [--seed S]

For each form: ids alone, then ids with offsets (code points, bytes, UTF-16), alone and all in one call (the driver's part), special tokens mask and type ids, over the
passages and questions of XQuAD, the fixed list of stress.py, its classes and mixtures.py (ids of its long segments too, and texts longer than arrays); bad UTF-8 against what
Python decodes of it; decode of the ids found and of random ones; pairs; and that all but those README names take the
fast road. --pieces keeps the first pieces of the
vocabulary, for quick runs. Differing texts are printed, reduced. Exit status 0: no mismatch, 1: mismatches, 77:
wheel or data missing.
"""

import json
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import diff_hf  # noqa: E402
import engine as E  # noqa: E402
import forms as F  # noqa: E402
import mixtures  # noqa: E402
import stress  # noqa: E402

# Off the fast road, by reason; README.md, "Limits", says so.
OFF_ROAD = {}
COLUMNS = E.COLUMN_OFFSETS | E.COLUMN_MASK | E.COLUMN_TYPES


class Comparison(diff_hf.Comparison):
    """Adds the ids alone, which the library finds on another road; data may be bytes that are not UTF-8."""

    def ids(self, texts, data=None):
        """texts: str; data: the bytes given to the engine, where they are not the texts' own."""
        data = data or [t.encode() for t in texts]
        mine = self.engine.encode(data)
        theirs = self.wheel.encode(texts, False)
        self.report.checks += len(texts)
        differing = mine.differing_rows(theirs).tolist()
        for i in differing:
            self._explain_ids(data[i], mine.row(i), theirs.row(i))
        return differing, theirs

    def _explain_ids(self, data, mine, theirs):
        def differs(part):
            text = part.decode("utf-8", "replace")
            return len(self.engine.encode([part]).differing_rows(self.wheel.encode([text], False))) > 0

        where, fragment = f"{self.name} ids alone", None
        if self.report.shown.get(where, 0) < self.report.limit:
            part = E.reduce_text(data, differs)
            wheel = self.wheel.encode([part.decode("utf-8", "replace")], False)
            fragment = part, self.engine.encode([part]).row(0), wheel.row(0)
        theirs = {key: theirs[key] for key in ("status", "ids")}
        self.report.mismatch(where, data, mine, theirs, fragment)

    def both_roads(self, texts):
        """Ids alone and all columns, in code points and bytes, with one call of the wheel."""
        for first in range(0, len(texts), diff_hf.BATCH):
            batch = texts[first:first + diff_hf.BATCH]
            differing, theirs = self.ids(batch)
            # The driver ends where ids with and without offsets differ; those texts are reported already.
            kept = [i for i in range(len(batch)) if i not in set(differing)]
            if differing:
                batch = [batch[i] for i in kept]
                theirs = self.wheel.encode(batch, False)
            data = [t.encode() for t in batch]
            for unit, flags in E.UNITS.items():
                mine = self.engine.encode(data, flags, COLUMNS)
                expected = diff_hf.in_units(theirs, batch, unit)
                self.report.checks += len(batch)
                for i in mine.differing_rows(expected).tolist():
                    self._explain(batch[i], mine.row(i), expected.row(i), False, unit)


def rows(folder, count):
    """The first and last texts of each language, passages and questions; count: None for all."""
    out = []
    for file in sorted(Path(folder).glob("*.jsonl")):
        texts = [json.loads(line)["text"] for line in file.read_text().splitlines()]
        out += texts if count is None else texts[:count] + texts[-count:]
    return out


def load(eng, form, base, report, folder):
    text = F.text_of(form, base)
    return diff_hf.load_both(eng, text, form.name, report, folder, make=Comparison), text


def compare(form, eng, base, texts, words, args, report, folder):
    comparison, text = load(eng, form, base, report, folder)
    if comparison is None:
        return
    road = eng.off_fast_road()
    if road != OFF_ROAD.get(form.name, ""):
        report.mismatch(form.name, "the fast road", road, OFF_ROAD.get(form.name, ""))
    added = [t["content"] for t in json.loads(text)["added_tokens"]][:40]
    seed = args.seed + F.NAMES.index(form.name)
    generated = list(stress.strings(args.count, seed, base.fragments()))
    generated += mixtures.mixtures(args.count, seed, words, added)
    comparison.both_roads([t for _, t in stress.MINIMUM] + texts + generated)
    comparison.ids(list(mixtures.long_segments(args.count // 25, seed)))
    comparison.both_roads(list(mixtures.lengthy(args.count // 250, seed)))
    damaged = list(stress.byte_strings(args.count // 4, seed, base.fragments()))[7::8]
    comparison.ids([d.decode("utf-8", "replace") for d in damaged], damaged)
    found = comparison.texts(texts[:8] + generated[::16])
    r = random.Random(seed)
    size = comparison.wheel.size()
    comparison.decode(found + [[r.randrange(size + 3) for _ in range(r.randint(0, 12))] for _ in range(100)])
    comparison.pairs([("", ""), ("a", ""), ("", "b")] + [(r.choice(texts), r.choice(generated)) for _ in range(8)])


def main():
    parser = E.arguments(__doc__, "driver", "seed", "pieces", "base", limit=2)
    parser.add_argument("--xquad", required=True, type=Path)
    parser.add_argument("--form", action="append", choices=F.NAMES, metavar="NAME", help="one form (repeatable)")
    parser.add_argument("--passages", type=int, help="passages and questions of each language (default: all)")
    parser.add_argument("--count", type=int, default=1000, help="generated texts of each of two kinds")
    args = parser.parse_args()
    E.require_wheel("tokenizers", diff_hf.tokenizers.__version__)
    E.require(args.base.exists() and args.xquad.exists(), f"{args.base} or {args.xquad} is not there")
    base = F.base_of_xlmr(args.base, args.pieces)
    texts = rows(args.xquad, args.passages)
    words = sorted({w for t in texts[::7] for w in t.split()})
    eng, report = E.Engine(args.driver), E.Report(args.limit)
    every = F.forms(base)
    with tempfile.TemporaryDirectory() as folder:
        for name in args.form or F.NAMES:
            before = report.bad
            compare(every[name], eng, base, texts, words, args, report, folder)
            print(f"{name}: {report.bad - before} mismatches", flush=True)
    eng.close()
    return report.finish(f"{len(args.form or F.NAMES)} forms")


if __name__ == "__main__":
    sys.exit(main())
