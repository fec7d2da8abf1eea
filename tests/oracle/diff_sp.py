# SPDX-License-Identifier: MIT
"""Compares the engine's SentencePiece modes with a sentencepiece wheel: the mode that follows its version.

  diff_sp.py --driver D [--wheel VERSION] MODEL... [--xquad DIR] [--count N] [--random K] [--long KIB] [--every E]

For each .model: ids and byte offsets of the fixed list, of XQuAD and of N stress texts, one in eight
of them not valid UTF-8; extra options in every order that the wheel offers; decode of the ids found,
of random ones and of ids outside the vocabulary; texts of KIB kilobytes, past the sums where the
newest rule rebases. --random adds K generated models with all piece types and normalizer flags, and
as many with scores so large that short texts pass those sums, and as many of BPE. --every: each Eth of XQuAD's texts and of
the models that the wheel trains. Models that are neither
Unigram nor BPE must be refused. --wheel (default: the version that tests/requirements.txt pins) says which version must be
installed.
"""

import json
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import engine as E  # noqa: E402
import long_texts  # noqa: E402
import numpy as np  # noqa: E402
import sp_models  # noqa: E402
import spm_proto  # noqa: E402
import stress  # noqa: E402

try:
    import sp_wheel
except ImportError as error:
    E.require(False, f"the reference wheel is not installed: {error}")

BATCH = 4096


def in_units(columns, texts, unit):
    """The same columns with offsets in another unit than bytes. Each byte that is no part of a character counts one."""
    if unit == "bytes":
        return columns
    begin, end = columns.begin.copy(), columns.end.copy()
    for i, text in enumerate(texts):
        a, b = columns.starts[i], columns.starts[i + 1]
        characters = text.decode("utf-8", "surrogateescape")
        points = np.frombuffer(characters.encode("utf-32-le", "surrogatepass"), "<u4")
        bad = (points >= 0xdc80) & (points < 0xdd00)
        size = 1 + ((points >= 0x80) & ~bad) + ((points >= 0x800) & ~bad) + (points >= 0x10000)
        units = np.zeros(len(text) + 1, np.uint32)
        units[np.cumsum(np.concatenate([[0], size]))] = np.cumsum(
            np.concatenate([[0], 1 + (points >= 0x10000) * (unit == "utf-16")]))
        begin[a:b], end[a:b] = units[begin[a:b]], units[end[a:b]]
    return E.Columns(columns.status, columns.starts, columns.ids, begin, end)


class Comparison:
    def __init__(self, eng, model_bytes, report, name):
        self.engine, self.report, self.name = eng, report, name
        self.wheel = sp_wheel.Wheel(model_bytes)

    def _both(self, texts, unit):
        """unit: of E.UNITS, or False for ids alone."""
        if unit:
            return (self.engine.encode(texts, E.UNITS[unit], E.COLUMN_OFFSETS),
                    in_units(self.wheel.columns(texts), texts, unit))
        return self.engine.encode(texts), self.wheel.ids(texts)

    def _compare(self, batch, unit):
        """Counts and explains; returns the wheel's columns."""
        mine, theirs = self._both(batch, unit)
        self.report.checks += len(batch)
        for i in mine.differing_rows(theirs).tolist():
            self._explain(batch[i], mine.row(i), theirs.row(i), unit)
        return theirs

    def texts(self, texts, unit=False):
        """Returns some of the ids, to decode."""
        kept = []
        for first in range(0, len(texts), BATCH):
            batch = texts[first:first + BATCH]
            theirs = self._compare(batch, unit)
            kept += [theirs.row(i)["ids"] for i in range(0, len(batch), 5)]
        return kept

    def count(self, texts):
        """Compares the ids of all texts at once; returns how many there are."""
        return len(self._compare(texts, False).ids)

    def _explain(self, text, mine, theirs, unit):
        def differs(part):
            a, b = self._both([part], unit)
            return len(a.differing_rows(b)) > 0

        fragment = None
        if self.report.shown.get(self.name, 0) < self.report.limit:
            part = E.reduce_text(text, differs)
            a, b = self._both([part], unit)
            fragment = part, a.row(0), b.row(0)
        self.report.mismatch(self.name, text, mine, theirs, fragment)

    def extras(self, texts):
        """The library applies its options in the order written."""
        for names in self.wheel.orders():
            mine = self.engine.encode(texts, 0, 0, [sp_wheel.EXTRA[n] for n in names])
            for i, (text, expected) in enumerate(zip(texts, self.wheel.with_extras(names, texts))):
                got = mine.row(i)["ids"]
                self.report.checks += 1
                if got != expected:
                    self.report.mismatch(f"{self.name} {':'.join(names)}", text, got, expected)

    def decode(self, id_lists):
        for ids, got in zip(id_lists, self.engine.decode(id_lists)):
            expected = self.wheel.decode(ids)
            self.report.checks += 1
            if got != expected:
                self.report.mismatch(f"{self.name} decode", ids, got, expected)

    def everything(self, texts, seed):
        ids = self.texts(texts, "bytes")
        for unit in ("code points", "utf-16"):
            self.texts(texts[::3], unit)
        if self.wheel.has_bos_and_eos:
            self.extras(texts[:40])
        r = random.Random(seed)
        size = self.wheel.size
        self.decode(ids[:500] + [[r.randrange(size) for _ in range(r.randint(0, 12))] for _ in range(500)])
        self.decode([[size], [0, size + 5, 1], [-1]])

    def stress(self, pieces, count, seed):
        generator = stress.byte_strings(count, seed, pieces)
        while batch := [t for _, t in zip(range(BATCH), generator)]:
            self.texts(batch)


FIXED = [t.encode() for _, t in stress.MINIMUM]


def load(eng, path, mode, report):
    """A Comparison of the model with the wheel, and pieces to make texts of."""
    data = path.read_bytes()
    eng.load(path, E.MODES[mode])
    pieces = [p.decode() for p, _, k in spm_proto.read(data).pieces if k == spm_proto.NORMAL]
    return (Comparison(eng, data, report, path.name),
            pieces if len(pieces) < 4000 else random.Random(3).sample(pieces, 4000))


def compare_xquad(comparison, folder, every):
    for file in sorted(Path(folder).glob("*.jsonl")):
        texts = [json.loads(line)["text"].encode() for line in file.read_text().splitlines()[::every]]
        comparison.texts(texts)
        for first, unit in enumerate(E.UNITS):
            comparison.texts(texts[first::20], unit)


def expect_road(eng, suffix, name, report):
    """Models with U+2581 after words are off the fast road, all others on it."""
    expected = "treat_whitespace_as_suffix=true" if suffix else ""
    if eng.off_fast_road() != expected:
        report.mismatch(name, "what keeps it off the fast road", eng.off_fast_road(), expected)


def compare_generated(eng, mode, report, seeds, make=sp_models.random_model, count=300, on_road=False):
    """Generated models. Some that one version loads are refused by another: both must refuse, or neither."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "generated.model"
        for seed in seeds:
            model = make(seed)
            path.write_bytes(spm_proto.write(model))
            eng.load(path, E.MODES[mode])
            comparison = Comparison(eng, path.read_bytes(), report, f"{make.__name__} {seed}")
            if on_road:
                expect_road(eng, model.treat_whitespace_as_suffix, comparison.name, report)
            pieces = [p.decode() for p, _, _ in model.pieces[3:80]]
            comparison.everything(FIXED + list(stress.byte_strings(count, seed, pieces)), seed)
            comparison.texts([t for _, t in long_texts.repeated(pieces, 1 << 13, seed)])


def compare_on_fast_road(eng, mode, report, seeds, count):
    """Generated models, most of which take the fast road, with texts of pieces, spaces and symbols in every order."""
    compare_generated(eng, mode, report, seeds, sp_models.fast_model, count, on_road=True)


def compare_trained(eng, mode, report, xquad, count, every):
    """Models that the wheel trains, with every charsmap it has and flags in turn; each of so many."""
    texts = [json.loads(line)["text"] for name in ("en", "de", "ru", "zh")
             for line in (Path(xquad) / f"{name}.jsonl").read_text().splitlines()]
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "trained.model"
        for name, options in list(sp_models.TRAINED.items())[::every]:
            data = sp_models.train(texts[::5], **options)
            path.write_bytes(data)
            eng.load(path, E.MODES[mode])
            report.checks += 1
            if "model_type" not in options:
                expect_road(eng, options.get("treat_whitespace_as_suffix", False), f"trained {name}", report)
            comparison = Comparison(eng, data, report, f"trained {name}")
            pieces = [p.decode() for p, _, k in spm_proto.read(data).pieces if k in (spm_proto.NORMAL, spm_proto.USER_DEFINED)]
            comparison.everything(FIXED + list(stress.byte_strings(count, 7, pieces)), 7)
            for first, unit in enumerate(E.UNITS):
                comparison.texts([t.encode() for t in texts[first::30]], unit)


def check_refused(eng, path, report):
    report.checks += 1
    try:
        eng.load(path)
        report.mismatch("refused", str(path), "loads", "must be refused")
    except E.EngineError as problem:
        print(f"  {path.name}: {problem}")
        if problem.status != E.E_UNSUPPORTED or "BPE" not in problem.message:
            report.mismatch("refused", path.name, problem, "unsupported, with the kind of model")


def main():
    parser = E.arguments(__doc__, "driver", "seed", "xquad", limit=3)
    parser.add_argument("--wheel", help="version that must be installed, else the pinned one")
    parser.add_argument("--count", type=int, default=12500, help="stress texts for each model")
    parser.add_argument("--random", type=int, default=30, help="generated models of each kind")
    parser.add_argument("--long", type=int, default=256, help="kilobytes of each long text")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("models", nargs="*")
    args = parser.parse_args()
    E.require_wheel("sentencepiece", sp_wheel.VERSION, args.wheel)
    mode = sp_wheel.MODE
    eng, report = E.Engine(args.driver), E.Report(args.limit)
    missing = [p for p in args.models if not Path(p).exists()]
    E.require(not missing, f"{missing} not there")
    for path in map(Path, args.models):
        if spm_proto.read(path.read_bytes()).model_type > 2:
            check_refused(eng, path, report)
            continue
        comparison, pieces = load(eng, path, mode, report)
        comparison.everything(FIXED, args.seed)
        comparison.texts([stress.LONG_UNSPACED[1].encode()])
        if args.xquad:
            compare_xquad(comparison, args.xquad, args.every)
        for _, text in long_texts.texts(pieces, args.long << 10, args.seed, args.xquad):
            comparison.texts([text])
        comparison.everything(list(stress.byte_strings(2000 // args.every, args.seed + 1, pieces)), args.seed)
        comparison.stress(pieces, args.count, args.seed)
    seeds = range(args.seed * 1000, args.seed * 1000 + args.random)
    compare_generated(eng, mode, report, seeds)
    compare_generated(eng, mode, report, seeds, sp_models.with_large_scores, 100)
    compare_on_fast_road(eng, mode, report, seeds, 300)
    compare_generated(eng, mode, report, range(args.seed * 1000, args.seed * 1000 + 4 * args.random), sp_models.bpe_model)
    if args.xquad:
        compare_trained(eng, mode, report, args.xquad, 400, args.every)
    eng.close()
    return report.finish(f"{mode} against sentencepiece {sp_wheel.VERSION}")


if __name__ == "__main__":
    sys.exit(main())
