# SPDX-License-Identifier: MIT
"""Compares the engine with the HuggingFace wheel tokenizers that tests/requirements.txt pins.

  diff_hf.py --driver D xlmr FILE.json [--xquad DIR] [--count N]   one file, real and stress texts
  diff_hf.py --driver D variants [--base FILE]... [--small K] [--count N]   generated pipelines
  diff_hf.py --driver D refused [--base FILE]                      files that must be refused

For each file: ids, offsets (code points, and bytes derived from them), special tokens mask and type
ids, with and without special tokens; decode of the ids found and of random ones; pairs, whole and
truncated. Exit status 0: no mismatch, 1: mismatches, 77: wheel missing.
"""

import json
import random
import sys
import tempfile
from itertools import chain
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import engine as E  # noqa: E402
import stress  # noqa: E402

try:
    import numpy as np
    import tokenizers
    from tokenizers import Tokenizer
except ImportError as error:
    E.require(False, f"the reference wheel is not installed: {error}")
import variants as V  # noqa: E402

BATCH = 4096
TRUNCATE = {"longest_first": 1, "only_first": 3, "only_second": 4}


PANICKED = -1  # no status of the engine


def failure(problem):
    """Status of an exception of the wheel that is an answer; others are raised again."""
    if "unk_id" in str(problem):
        return E.E_UNK_ID
    if "truncat" in str(problem).lower():
        return E.E_TRUNCATION
    if type(problem).__name__ == "PanicException":
        return PANICKED
    raise problem


class Wheel:
    def __init__(self, text):
        self.tokenizer = Tokenizer.from_str(text)
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()

    def encode(self, texts, specials):
        """Columns as the engine gives them; status E_UNK_ID where the wheel raises for that, PANICKED where it panics."""
        try:
            encodings = self.encode_batch(texts, specials)
            status = np.zeros(len(texts), np.int32)
        except BaseException:  # one failing text fails the batch: each on its own
            encodings, codes = [], []
            for text in texts:
                try:
                    encodings += self.encode_batch([text], specials)
                    codes.append(E.OK)
                except BaseException as problem:
                    encodings.append(None)
                    codes.append(failure(problem))
            status = np.array(codes, np.int32)
        counts = [0 if e is None else len(e) for e in encodings]
        starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        return self.columns(status, starts, [e for e in encodings if e is not None])

    @staticmethod
    def column(encodings, name, kind):
        return np.array(list(chain.from_iterable(getattr(e, name) for e in encodings)), kind)

    def columns(self, status, starts, encodings):
        offsets = self.column(encodings, "offsets", np.uint32).reshape(-1, 2)
        return E.Columns(status, starts, self.column(encodings, "ids", np.int32), offsets[:, 0], offsets[:, 1],
                         self.column(encodings, "special_tokens_mask", np.uint8),
                         self.column(encodings, "type_ids", np.uint32))

    def encode_batch(self, texts, specials):
        return self.tokenizer.encode_batch(texts, add_special_tokens=specials)

    def pair(self, a, b, specials, strategy, max_length):
        """strategy: of TRUNCATE, or None."""
        if strategy:
            self.tokenizer.enable_truncation(max_length, strategy=strategy)
        try:
            return self.tokenizer.encode(a, b, add_special_tokens=specials)
        finally:
            self.tokenizer.no_truncation()

    def decode(self, ids, skip):
        return self.tokenizer.decode(ids, skip_special_tokens=skip)

    def size(self):
        return self.tokenizer.get_vocab_size()


def in_units(columns, texts, unit):
    """The same columns with offsets in another unit than the wheel's code points, if there are any."""
    if columns.begin is None or unit == "code points":
        return columns
    begin, end = columns.begin.copy(), columns.end.copy()
    for i, text in enumerate(texts):
        a, b = columns.starts[i], columns.starts[i + 1]
        if a == b or text.isascii():
            continue
        points = np.frombuffer(text.encode("utf-32-le"), "<u4")
        size = 1 + (points >= 0x10000)
        if unit == "bytes":
            size += (points >= 0x80).astype(int) + (points >= 0x800)
        at = np.concatenate([[0], np.cumsum(size)])
        begin[a:b], end[a:b] = at[begin[a:b]], at[end[a:b]]
    return E.Columns(columns.status, columns.starts, columns.ids, begin, end, columns.mask, columns.types)


class Comparison:
    def __init__(self, eng, wheel, report, name):
        self.engine, self.wheel, self.report, self.name = eng, wheel, report, name

    def _both(self, texts, specials, unit):
        flags = (E.ADD_SPECIAL_TOKENS if specials else 0) | E.UNITS[unit]
        mine = self.engine.encode([t.encode() for t in texts], flags, 7)
        return mine, in_units(self.wheel.encode(texts, specials), texts, unit)

    def texts(self, texts, specials=True, unit="code points"):
        """Compares all columns of all texts; returns the ids for decode tests."""
        kept = []
        for first in range(0, len(texts), BATCH):
            batch = texts[first:first + BATCH]
            mine, theirs = self._both(batch, specials, unit)
            self.report.checks += len(batch)
            for i in mine.differing_rows(theirs).tolist():
                self._explain(batch[i], mine.row(i), theirs.row(i), specials, unit)
            kept += [theirs.row(i)["ids"] for i in range(0, len(batch), 7)]
        return kept

    def _explain(self, text, mine, theirs, specials, unit):
        def differs(part):
            a, b = self._both([part], specials, unit)
            return len(a.differing_rows(b)) > 0

        where = f"{self.name} " + ("ids" if mine["ids"] != theirs["ids"] or mine["status"] != theirs["status"]
                                   else "columns")
        fragment = None
        if self.report.shown.get(where, 0) < self.report.limit:
            part = E.reduce_text(text, differs)
            a, b = self._both([part], specials, unit)
            fragment = part, a.row(0), b.row(0)
        self.report.mismatch(where, text, mine, theirs, fragment)

    def decode(self, id_lists):
        for skip in (False, True):
            mine = self.engine.decode(id_lists, E.SKIP_SPECIAL_TOKENS if skip else 0)
            for ids, got in zip(id_lists, mine):
                try:
                    expected = self.wheel.decode(ids, skip).encode()
                except BaseException as problem:  # the reference panics in some decoders
                    if isinstance(problem, KeyboardInterrupt):
                        raise
                    continue
                self.report.checks += 1
                if got != expected:
                    self.report.mismatch(f"{self.name} decode skip={skip}", ids, got, expected)

    def pairs(self, pairs, max_length=0, strategy=None, specials=True):
        """Ids and types of pairs, truncated ones too: 0.23.1 and 0.23.2 cut odd budgets in another way."""
        mine = self.engine.pairs([(a.encode(), b.encode()) for a, b in pairs], max_length,
                                 TRUNCATE[strategy] if strategy else 0, no_special=int(not specials))
        for (a, b), got in zip(pairs, mine):
            try:
                encoding = self.wheel.pair(a, b, specials, strategy, max_length)
                expected = [(encoding.ids, encoding.type_ids)]
            except BaseException as problem:
                expected = failure(problem)
            self.report.checks += 1
            if got != expected:
                self.report.mismatch(f"{self.name} pair{'' if specials else ' without specials'}"
                                     + (f" {strategy} {max_length}" if strategy else ""), (a, b), got, expected)

    def everything(self, texts, seed, pair_count=60):
        ids = self.texts(texts, specials=True)
        self.texts(texts[::3], specials=False, unit="bytes")
        self.texts(texts[1::3], specials=True, unit="utf-16")
        r = random.Random(seed)
        size = self.wheel.size()
        random_ids = [[r.randrange(size + 3) for _ in range(r.randint(0, 12))] for _ in range(200)]
        self.decode(ids[:400] + random_ids)
        pairs = [("", ""), ("a", ""), ("", "b"), ("What is a panda?", "The giant panda is a bear.")]
        pairs += [(r.choice(texts), r.choice(texts)) for _ in range(pair_count)]
        self.pairs(pairs)
        self.pairs(pairs[:20], specials=False)


def load_both(eng, text, name, report, directory, wheel=Wheel, make=Comparison):
    """None where the engine refuses, which is a mismatch, or where wheel() returns None."""
    path = Path(directory) / f"{name}.json"
    path.write_text(text)
    try:
        eng.load(path)
    except E.EngineError as problem:
        report.mismatch("load", name, problem, "loads")
        return None
    finally:
        path.unlink()
    of_text = wheel(text)
    return make(eng, of_text, report, name) if of_text else None


def run_file(args, eng, report):
    path = Path(args.file)
    E.require(path.exists(), f"{path} is not there")
    comparison = Comparison(eng, Wheel(path.read_text()), report, path.stem)
    eng.load(path)
    base = V.Base.from_json(path)
    named = [t for _, t in stress.MINIMUM]
    comparison.everything(named, 1)
    if "xlmr" in path.name:
        for text, ids in stress.GOLDEN_XLMR:
            got = eng.encode([text.encode()], E.ADD_SPECIAL_TOKENS).ids.tolist()
            report.checks += 1
            if got != ids:
                report.mismatch("golden row", text, got, ids)
        for a, b, ids in stress.GOLDEN_XLMR_PAIRS:
            got = eng.pairs([(a.encode(), b.encode())])[0]
            report.checks += 1
            if got != [(ids, [0] * len(ids))]:
                report.mismatch("golden pair", (a, b), got, ids)
    comparison.texts([stress.LONG_UNSPACED[1]])
    if args.xquad:
        for file in sorted(Path(args.xquad).glob("*.jsonl")):
            texts = [json.loads(line)["text"] for line in file.read_text().splitlines()]
            comparison.texts(texts)
            comparison.texts(texts[:300], specials=False, unit="bytes")
            r = random.Random(7)
            pairs = [(r.choice(texts), r.choice(texts)) for _ in range(40)]
            comparison.pairs(pairs)
            comparison.pairs(pairs, 64, "longest_first")
            comparison.pairs(pairs, 63, "longest_first")
            comparison.pairs(pairs, 128, "only_second")
            comparison.pairs(pairs, 40, "only_second")
    generator = stress.strings(args.count, args.seed, base.fragments())
    while batch := [t for _, t in zip(range(BATCH), generator)]:
        comparison.texts(batch, specials=False)
    return report.finish(f"huggingface {path.name}")


def run_variants(args, eng, report, wheel=Wheel):
    bases = [(V.small_base(seed), V.GROUPS) for seed in range(args.seed, args.seed + args.small)]
    for path in args.base:
        E.require(Path(path).exists(), f"{path} is not there")
        base = V.Base.from_json(path) if path.endswith(".json") else V.Base.from_model(path)
        # The reference takes half a second to load a file of 32,000 pieces.
        bases.append((base, V.GROUPS if len(base.vocab) < 10000 else [V.families, V.decoders]))
    names = set(args.only.split(",")) if args.only else None
    with tempfile.TemporaryDirectory() as directory:
        for base, groups in bases:
            texts = [t for _, t in stress.MINIMUM]
            texts += list(stress.strings(args.count, args.seed + len(base.vocab), base.fragments()))
            for name, data in V.variants(base, groups):
                if names and name not in names:
                    continue
                comparison = load_both(eng, json.dumps(data), f"{base.name}.{name}", report, directory, wheel)
                if comparison:
                    comparison.everything(texts, args.seed)
    return report.finish("huggingface variants")


def run_refused(args, eng, report):
    base = V.Base.from_model(args.base[0]) if args.base else V.small_base(1)
    with tempfile.TemporaryDirectory() as directory:
        for name, data in V.refused(base):
            path = Path(directory) / f"{name}.json"
            path.write_text(data if isinstance(data, str) else json.dumps(data))
            report.checks += 1
            try:
                eng.load(path)
                report.mismatch("refused", name, "loads", "must be refused")
            except E.EngineError as problem:
                if not 20 <= problem.status < 40 or not problem.message:
                    report.mismatch("refused", name, problem, "a file error with a reason")
                print(f"  {name:40} {problem}")
    return report.finish("refused files")


def main():
    parser = E.arguments(__doc__, "driver", "seed", limit=3)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("xlmr")
    one.add_argument("file")
    one.add_argument("--xquad")
    one.add_argument("--count", type=int, default=50000)
    many = commands.add_parser("variants")
    many.add_argument("--base", action="append", default=[])
    many.add_argument("--small", type=int, default=6)
    many.add_argument("--count", type=int, default=300)
    many.add_argument("--only", help="names, separated by commas")
    none = commands.add_parser("refused")
    none.add_argument("--base", action="append", default=[])
    args = parser.parse_args()
    E.require_wheel("tokenizers", tokenizers.__version__)
    eng = E.Engine(args.driver)
    report = E.Report(args.limit)
    run = {"xlmr": run_file, "variants": run_variants, "refused": run_refused}[args.command]
    status = run(args, eng, report)
    eng.close()
    return status


if __name__ == "__main__":
    sys.exit(main())
