# SPDX-License-Identifier: MIT
"""The parity suites with whatever version of one reference is installed; run by drift.py inside an environment.

  drift_suites.py PACKAGE --driver D --data FOLDER --stream FILE [--quick]

Prints one line of JSON: the version, and for each suite and mode how many comparisons there were and how
many differ. A suite that ends in an exception says so instead. SentencePiece runs both rules, so that
the one a version does not follow shows that the suites tell them apart.
"""

import argparse
import importlib.metadata
import json
import os
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import engine as E  # noqa: E402
import long_texts  # noqa: E402
import stress  # noqa: E402

SENTENCEPIECE_MODELS = ["xlmr.model", "models/xlnet.model", "models/sp_en_1k.model", "models/sp_ja_8k.model"]
QUICK = 20  # how much less --quick runs


class Run:
    def __init__(self, args):
        self.args, self.suites = args, []
        self.engine = E.Engine(args.driver)

    def scaled(self, count):
        return count // QUICK if self.args.quick else count

    def xquad(self):
        for file in sorted((self.args.data / "xquad").glob("*.jsonl")):
            texts = [json.loads(line)["text"] for line in file.read_text().splitlines()]
            yield texts[::QUICK] if self.args.quick else texts

    def stream(self):
        step = 16 * QUICK if self.args.quick else 16
        with open(self.args.stream) as lines:
            return [json.loads(line)["text"] for i, line in enumerate(lines) if i % step == 0]

    def suite(self, name, mode, compare):
        """Runs compare(report). Differences are counted, not shown: diff_hf.py and diff_sp.py do that."""
        report, result = E.Report(limit=0), {"suite": name, "mode": mode}
        try:
            compare(report)
        except Exception as problem:  # of a wheel that does not have what a suite calls, for instance
            result["error"] = f"{type(problem).__name__}: {problem}"[:300]
        self.suites.append(result | {"compared": report.checks, "differ": report.bad})


def sentencepiece(run):
    import diff_sp
    import sp_models

    models = [run.args.data / name for name in SENTENCEPIECE_MODELS]
    texts = [t.encode() for t in run.stream()]

    def each(mode, chosen, compare):
        def all_models(report):
            for path in chosen:
                compare(*diff_sp.load(run.engine, path, mode, report))
        return all_models

    def of_stress(comparison, pieces):
        comparison.everything(diff_sp.FIXED, 1)
        comparison.stress(pieces, run.scaled(8000), 1)

    def of_long(*sizes):
        def compare(comparison, pieces):
            for size in sizes:
                for _, text in long_texts.texts(pieces, size, 1, run.args.data / "xquad", run.args.stream):
                    comparison.texts([text])
        return compare

    def generated(mode):
        def compare(report):
            diff_sp.compare_generated(run.engine, mode, report, range(run.scaled(20)), count=200)
            diff_sp.compare_generated(run.engine, mode, report, range(run.scaled(20)), sp_models.with_large_scores, 100)
        return compare

    for mode in ("sentencepiece", "sentencepiece-0.2.1"):
        run.suite("XQuAD", mode, each(mode, models, lambda c, _: diff_sp.compare_xquad(c, run.args.data / "xquad")))
        run.suite("stress", mode, each(mode, models, of_stress))
        run.suite("generated models", mode, generated(mode))
        run.suite("many languages", mode, each(mode, models[:2], lambda c, _: c.texts(texts)))
        run.suite("texts of 0.1 MB", mode, each(mode, models, of_long(100_000)))
        if not run.args.quick:
            run.suite("texts of 1 MB", mode, each(mode, models[1:2], of_long(1_000_000)))


def huggingface(run, wheel):
    """Suites of a tokenizer.json, through tokenizers or through transformers."""
    import diff_hf
    import variants

    path = run.args.data / "xlmr.tokenizer.json"
    run.engine.load(path)
    of_file = wheel(path.read_text())
    passages = list(run.xquad())
    r = random.Random(7)
    pairs = [(r.choice(texts), r.choice(texts)) for texts in passages for _ in range(run.scaled(200))]

    def comparing(compare):
        return lambda report: compare(diff_hf.Comparison(run.engine, of_file, report, path.name))

    def of_xquad(comparison):
        for texts in passages:
            comparison.texts(texts)

    def of_stress(comparison):
        comparison.everything([t for _, t in stress.MINIMUM], 1)
        fragments = variants.Base.from_json(path).fragments()
        comparison.texts(list(stress.strings(run.scaled(8000), 1, fragments)))

    def truncated(strategy, *lengths):
        return comparing(lambda c: [c.pairs(pairs, length, strategy) for length in lengths])

    refused = []

    def loadable(text):
        """None where this version cannot read the file: counted, to be explained as a difference is."""
        try:
            return wheel(text)
        except ValueError as problem:
            refused.append(str(problem))
            return None

    def generated(report):
        args = argparse.Namespace(seed=1, small=1 if run.args.quick else 2, base=[], only=None, count=100)
        diff_hf.run_variants(args, run.engine, report, loadable)

    mode = "huggingface"
    run.suite("XQuAD", mode, comparing(of_xquad))
    run.suite("stress", mode, comparing(of_stress))
    run.suite("many languages", mode, comparing(lambda c: c.texts(run.stream())))
    run.suite("pairs", mode, comparing(lambda c: (c.pairs(pairs), c.pairs(pairs[::4], specials=False))))
    run.suite("only_second", mode, truncated("only_second", 64, 128))
    run.suite("longest_first, even budget", mode, truncated("longest_first", 64, 128))
    run.suite("longest_first, odd budget", mode, truncated("longest_first", 63, 127))
    run.engine.load(path)  # the next suite leaves another file loaded
    run.suite("generated pipelines", mode, generated)
    if refused:
        run.suites[-1] |= {"refused": len(refused), "reason": refused[0]}


def tokenizers(run):
    import diff_hf
    from tokenizers import Tokenizer

    class OnePointZero(diff_hf.Wheel):
        """The interface was rewritten in 1.0: files only, no offsets, settings as arguments."""

        def __init__(self, text):
            self.pieces = len(json.loads(text)["model"]["vocab"])
            self.tokenizer = from_file(text, Tokenizer.from_file)
            self.tokenizer.padding = self.tokenizer.truncation = None

        def columns(self, status, starts, encodings):
            return E.Columns(status, starts, self.column(encodings, "ids", "i4"), types=self.column(encodings, "type_ids", "u4"))

        def pair(self, a, b, specials, strategy, max_length):
            from tokenizers import Truncation
            cut = Truncation(max_length, strategy=strategy) if strategy else None
            return self.tokenizer.encode((a, b), add_special_tokens=specials, truncation=cut)

        def size(self):
            return self.pieces

    huggingface(run, diff_hf.Wheel if hasattr(Tokenizer, "from_str") else OnePointZero)


def from_file(text, load):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(text)
        file.flush()
        return load(file.name)


def transformers(run):
    import diff_hf
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    class Fast(diff_hf.Wheel):
        """A tokenizer.json as PreTrainedTokenizerFast(tokenizer_file=...) runs it: nothing of an AutoTokenizer."""

        def __init__(self, text):
            self.fast = from_file(text, lambda path: PreTrainedTokenizerFast(tokenizer_file=path))

        def encode_batch(self, texts, specials):
            return self.fast(texts, add_special_tokens=specials).encodings if texts else []

        def pair(self, a, b, specials, strategy, max_length):
            return self.fast([a], [b], add_special_tokens=specials, truncation=strategy or False,
                             max_length=max_length or None).encodings[0]

        def decode(self, ids, skip):
            return self.fast.decode(ids, skip_special_tokens=skip, clean_up_tokenization_spaces=False)

        def size(self):
            return self.fast.backend_tokenizer.get_vocab_size()

    def as_written(report):
        path = run.args.data / "xlmr.tokenizer.json"
        loaded = Fast(path.read_text()).fast.backend_tokenizer
        report.checks += 1
        if json.loads(loaded.to_str()) != json.loads(Tokenizer.from_file(str(path)).to_str()):
            report.mismatch("file", path.name, "", "")

    run.suite("file as written", "huggingface", as_written)
    huggingface(run, Fast)


def main():
    parser = E.arguments(__doc__, "driver")
    packages = {f.__name__: f for f in (sentencepiece, tokenizers, transformers)}
    parser.add_argument("package", choices=packages)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--stream", required=True)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    run = Run(args)
    output = os.fdopen(os.dup(1), "w")  # its own: wheels write to standard output, also past Python
    os.dup2(2, 1)
    packages[args.package](run)
    with_versions = {name: importlib.metadata.version(name) for name in
                     {"transformers": ["transformers", "tokenizers"]}.get(args.package, [args.package])}
    print(json.dumps({"versions": with_versions, "suites": run.suites}), file=output)


if __name__ == "__main__":
    main()
