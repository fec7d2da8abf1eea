# SPDX-License-Identifier: MIT
"""Compares the engine's SentencePiece mode with the wheel sentencepiece 0.2.1.

  diff_sp.py --driver D MODEL... [--xquad DIR] [--count N] [--random K]

For each .model: ids and byte offsets of the fixed list, of XQuAD and of N stress texts, one in eight
of them not valid UTF-8; extra options in every order of bos, eos and reverse; decode of the ids
found, of random ones and of ids outside the vocabulary. --random adds K generated models with all
piece types and normalizer flags. Models that are not Unigram must be refused.
"""

import argparse
import itertools
import json
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import engine as E  # noqa: E402
import pin_reference  # noqa: E402
import spm_proto  # noqa: E402
import stress  # noqa: E402

try:
    import numpy as np
    import sentencepiece
except ImportError as error:
    E.require(False, f"the reference wheel is not installed: {error}")
E.require(sentencepiece.__version__ == "0.2.1", f"sentencepiece {sentencepiece.__version__} is not 0.2.1")

BATCH = 4096
EXTRA = {"bos": 1, "eos": 2, "reverse": 3}


class Comparison:
    def __init__(self, eng, model_bytes, report, name):
        self.engine, self.report, self.name = eng, report, name
        self.wheel = sentencepiece.SentencePieceProcessor(model_proto=model_bytes)

    def _wheel_columns(self, texts, with_offsets):
        ids = self.wheel.encode(texts)
        starts = np.concatenate([[0], np.cumsum([len(x) for x in ids], dtype=np.int64)])
        out = E.Columns(np.zeros(len(texts), np.int32), starts,
                        np.array(list(itertools.chain.from_iterable(ids)), np.int32))
        if with_offsets:  # of SentencePieceText, in bytes; the immutable proto gives code points
            begin, end = [], []
            for text in texts:
                spt = self.wheel.encode_as_serialized_proto(text)
                for b, e in _ranges(spt):
                    begin.append(b)
                    end.append(e)
            out.begin, out.end = np.array(begin, np.uint32), np.array(end, np.uint32)
        return out

    def texts(self, texts, with_offsets=False):
        kept = []
        for first in range(0, len(texts), BATCH):
            batch = texts[first:first + BATCH]
            mine = self.engine.encode(batch, 0, E.COLUMN_OFFSETS if with_offsets else 0)
            theirs = self._wheel_columns(batch, with_offsets)
            self.report.checks += len(batch)
            for i in mine.differing_rows(theirs).tolist():
                self._explain(batch[i], mine.row(i), theirs.row(i), with_offsets)
            kept += [theirs.row(i)["ids"] for i in range(0, len(batch), 5)]
        return kept

    def _explain(self, text, mine, theirs, with_offsets):
        columns = E.COLUMN_OFFSETS if with_offsets else 0

        def both(part):
            return self.engine.encode([part], 0, columns), self._wheel_columns([part], with_offsets)

        def differs(part):
            a, b = both(part)
            return len(a.differing_rows(b)) > 0

        fragment = None
        if self.report.shown.get(self.name, 0) < self.report.limit:
            part = E.reduce_text(text, differs)
            a, b = both(part)
            fragment = part, a.row(0), b.row(0)
        self.report.mismatch(self.name, text, mine, theirs, fragment)

    def extras(self, texts):
        """The library applies its options in the order written."""
        for count in range(1, 4):
            for names in itertools.permutations(EXTRA, count):
                self.wheel.set_encode_extra_options(":".join(names))
                mine = self.engine.encode(texts, 0, 0, [EXTRA[n] for n in names])
                for i, text in enumerate(texts):
                    got, expected = mine.row(i)["ids"], [i for i, _ in _pieces(self.wheel.encode_as_serialized_proto(text))]
                    self.report.checks += 1
                    if got != expected:
                        self.report.mismatch(f"{self.name} {':'.join(names)}", text, got, expected)
        self.wheel.set_encode_extra_options("")

    def decode(self, id_lists):
        for ids, got in zip(id_lists, self.engine.decode(id_lists)):
            try:
                expected = _text(self.wheel.decode_ids_as_serialized_proto(ids))
            except IndexError:
                expected = E.E_ID_RANGE
            self.report.checks += 1
            if got != expected:
                self.report.mismatch(f"{self.name} decode", ids, got, expected)

    def everything(self, texts, seed):
        ids = self.texts(texts, with_offsets=True)
        has_both = self.wheel.bos_id() >= 0 and self.wheel.eos_id() >= 0
        if has_both:
            self.extras(texts[:40])
        r = random.Random(seed)
        size = self.wheel.get_piece_size()
        self.decode(ids[:500] + [[r.randrange(size) for _ in range(r.randint(0, 12))] for _ in range(500)])
        self.decode([[size], [0, size + 5, 1], [-1]])


# SentencePieceText (sentencepiece.proto): text=1, pieces=2 {piece=1, id=2, surface=3, begin=4, end=5}.
def _pieces(data):
    for number, value in spm_proto._fields(data):
        if number == 2:
            token_id, begin, end = 0, 0, 0
            for n, v in spm_proto._fields(value):
                if n == 2:
                    token_id = v
                elif n == 4:
                    begin = v
                elif n == 5:
                    end = v
            yield token_id, (begin, end)


def _ranges(data):
    return [r for _, r in _pieces(data)]


def _text(data):
    return next((v for n, v in spm_proto._fields(data) if n == 1), b"")


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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=int, default=3)
    parser.add_argument("--xquad")
    parser.add_argument("--count", type=int, default=12500, help="stress texts for each model")
    parser.add_argument("--random", type=int, default=30, help="generated models")
    parser.add_argument("models", nargs="*")
    args = parser.parse_args()
    eng, report = E.Engine(args.driver), E.Report(args.limit)
    fixed = [t.encode() for _, t in stress.MINIMUM]
    missing = [p for p in args.models if not Path(p).exists()]
    E.require(not missing, f"{missing} not there")
    for path in map(Path, args.models):
        data = path.read_bytes()
        model = spm_proto.read(data)
        if model.model_type != 1:
            check_refused(eng, path, report)
            continue
        eng.load(path)
        comparison = Comparison(eng, data, report, path.name)
        comparison.everything(fixed, args.seed)
        comparison.texts([stress.LONG_UNSPACED[1].encode()])
        if args.xquad:
            for file in sorted(Path(args.xquad).glob("*.jsonl")):
                texts = [json.loads(line)["text"].encode() for line in file.read_text().splitlines()]
                comparison.texts(texts)
                comparison.texts(texts[::20], with_offsets=True)
        pieces = [p.decode() for p, _, k in model.pieces if k == 1]
        pieces = pieces if len(pieces) < 4000 else random.Random(3).sample(pieces, 4000)
        comparison.everything(list(stress.byte_strings(2000, args.seed + 1, pieces)), args.seed)
        generator = stress.byte_strings(args.count, args.seed, pieces)
        while batch := [t for _, t in zip(range(BATCH), generator)]:
            comparison.texts(batch)
    with tempfile.TemporaryDirectory() as directory:
        for seed in range(args.seed * 1000, args.seed * 1000 + args.random):
            model = pin_reference.random_sp_model(seed)
            data = spm_proto.write(model)
            path = Path(directory) / f"random{seed}.model"
            path.write_bytes(data)
            eng.load(path)
            pieces = [p.decode() for p, _, _ in model.pieces[3:80]]
            texts = fixed + list(stress.byte_strings(300, seed, pieces))
            Comparison(eng, data, report, path.name).everything(texts, seed)
    eng.close()
    return report.finish("sentencepiece")


if __name__ == "__main__":
    sys.exit(main())
