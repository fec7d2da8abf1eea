# SPDX-License-Identifier: MIT
"""WordPiece models: ids, offsets and decoded text of the engine against the tokenizers wheel.

  diff_wordpiece.py --driver D sweep --data FOLDER [--all]     every code point in four places, published vocabularies
  diff_wordpiece.py --driver D worlds [--length N]             all texts over a small alphabet, tiny vocabularies
  diff_wordpiece.py --driver D random [--data FOLDER] [--count N] [--files N] [--seed N]
  diff_wordpiece.py --driver D stream --data FOLDER --texts FILE   texts of a file, such as that of bench/text_streams.py

--data: the folder with bert-base-uncased and the others. Without --all a sweep takes planes that Unicode leaves empty, and
all but one of the vocabularies, by samples. Random texts are drawn from pieces and from characters that some step treats
specially, over published vocabularies and over random tiny files.
"""

import itertools
import json
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import engine as E  # noqa: E402
import numpy as np  # noqa: E402

try:
    from tokenizers import Tokenizer
except ImportError as error:
    E.require(False, f"tokenizers is not installed: {error}")

FOLDERS = ("bert-base-uncased", "bert-base-cased", "bert-base-multilingual-cased", "all-MiniLM-L6-v2")
TEMPLATES = ("*", "a*b", "x *", "*\u0301", "\u4e2d*")
PER_TEXT = 16
FLAGS = E.ADD_SPECIAL_TOKENS | E.OFFSETS_CODE_POINTS


class Pair:
    """One file in both."""

    def __init__(self, driver, document):
        self.tokenizer = Tokenizer.from_str(document)
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self.engine = E.Engine(driver)
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            file.write(document)
            file.flush()
            self.engine.load(file.name)

    def expected(self, texts):
        return [(e.ids, e.offsets) for e in self.tokenizer.encode_batch(texts)]

    def columns(self, texts):
        return self.engine.encode([t.encode() for t in texts], FLAGS, E.COLUMN_OFFSETS)

    def got(self, texts):
        columns = self.columns(texts)
        rows = (columns.row(i) for i in range(len(texts)))
        return [(r["ids"], list(zip(r["begin"], r["end"]))) if r["status"] == E.OK else r["status"] for r in rows]

    def all_equal(self, texts, expected):
        """Whether all are as expected, without a look at each."""
        columns, flat = self.columns(texts), itertools.chain.from_iterable
        ids = np.fromiter(flat(ids for ids, _ in expected), "<i4")
        places = np.fromiter(flat(flat(places for _, places in expected)), "<u4").reshape(-1, 2)
        return (not columns.status.any() and np.diff(columns.starts).tolist() == [len(ids) for ids, _ in expected]
                and np.array_equal(columns.ids, ids) and np.array_equal(columns.begin, places[:, 0])
                and np.array_equal(columns.end, places[:, 1]))

    def differs(self, text):
        return self.got([text]) != self.expected([text])

    def close(self):
        self.engine.close()


def compare(pair, name, texts, report):
    texts = list(texts)
    expected = pair.expected(texts)
    report.checks += len(texts)
    equal = pair.all_equal(texts, expected)
    for text, want, have in () if equal else zip(texts, expected, pair.got(texts)):
        if want != have:
            small = E.reduce_text(text, pair.differs)
            report.mismatch(name, ascii(small), pair.got([small])[0], pair.expected([small])[0])
    # Ids back to text; where an id is none of a token the wheel drops it, as the engine does.
    some = [ids for ids, _ in expected[:len(texts) // 8 + 1]]
    for skip in (False, True):
        decoded = pair.engine.decode(some, E.SKIP_SPECIAL_TOKENS if skip else 0)
        for ids, text in zip(some, decoded):
            report.checks += 1
            want = pair.tokenizer.decode(ids, skip_special_tokens=skip)
            if text != want.encode():
                report.mismatch(name, ids, text, want)


def code_points(everything, step):
    for c in range(0x110000):
        empty = 0x33000 <= c < 0xe0000 or c >= 0xe0200
        if not 0xd800 <= c < 0xe000 and (everything or c % (61 if empty else step) == 0):
            yield chr(c)


def batches(items, size):
    items = iter(items)
    while batch := list(itertools.islice(items, size)):
        yield batch


def sweep(args, report):
    for folder in FOLDERS[:3]:
        pair = Pair(args.driver, (args.data / folder / "tokenizer.json").read_text(encoding="utf-8"))
        step = 1 if args.all else 3 if folder == FOLDERS[0] else 7
        for template in TEMPLATES:
            lines = (" | ".join(template.replace("*", c) for c in some)
                     for some in batches(code_points(args.all, step), PER_TEXT))
            for texts in batches(lines, 4096):
                compare(pair, f"{folder}, {template!a}", texts, report)
        pair.close()


def document(vocab, normalizer, pre_tokenizer, prefix="##", most=100, decoder=None, post_processor=None, added=()):
    return json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": list(added), "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer, "post_processor": post_processor, "decoder": decoder,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": prefix,
                  "max_input_chars_per_word": most, "vocab": vocab}})


def bert(clean=True, cjk=True, strip=None, lower=True):
    return {"type": "BertNormalizer", "clean_text": clean, "handle_chinese_chars": cjk, "strip_accents": strip,
            "lowercase": lower}


def worlds(args, report):
    """A letter with and without a mark, an ideograph, punctuation, the prefix' character, space, a capital, what is removed
    and what no piece has."""
    alphabet = "aA\u0301\u4e2d.# \u200bq"
    pieces = ["[UNK]", "[CLS]", "[SEP]", "a", "##a", "##aa", "aa", "#", "##", "##\u4e2d", "\u4e2d", ".", "##.", "A", "\u0301",
              "##\u0301", "\u00e1", "##\u00e1", "a\u0301", "##a#", "a a", "\u200b", "\u4e2d\u4e2d", "aA"]
    vocab = {piece: i for i, piece in enumerate(pieces)}
    decoder = {"type": "WordPiece", "prefix": "##", "cleanup": True}
    words = {"type": "BertPreTokenizer"}
    files = [document(vocab, normalizer, pre_tokenizer, most=most, decoder=decoder)
             for normalizer in (None, bert(), bert(lower=False), bert(clean=False, strip=False), bert(cjk=False, strip=True, lower=False))
             for pre_tokenizer, most in ((words, 100), (words, 2), ({"type": "WhitespaceSplit"}, 100), (None, 3),
                                         ({"type": "Whitespace"}, 4))]
    for number, text in enumerate(files):
        pair = Pair(args.driver, text)
        texts = ("".join(t) for n in range(args.length + 1) for t in itertools.product(alphabet, repeat=n))
        for some in batches(texts, 8192):
            compare(pair, f"world {number}", some, report)
        pair.close()


SPECIAL = ["\u0301", "\u200b", "\u00ad", "\ufeff", "\0", "\ufffd", "\x85", "\u2028", "\u3000", "\u00a0", "\t", "\n", " ", "  ", "\u4e2d",
           "\uf900", "\U0002b820", "\U0002b920", "\u3007", "\u304c", "\ud55c", "\u1112\u1161\u11ab", "\u00df", "\u1e9e", "\u0130", "\u0131",
           "\u212a", "\u212b", "\u2260", "\u226e", "\u1fef", "\u03a3", "\u0915\u09fe", "\u1734", "\u166d", "\U000111c9", "\u0378", "\ue000",
           "\U000f0000", "\U000fffff", "\u20ac", "\u2212", "\u00b2", "\ufb01", "\U0001f600", "\u200d", "\ufe0f", "#", "##", "[", "]", "[MASK]",
           "[SEP]", "[mask]", ".", ",", "'", "-", "\u2013", "a", "B", "\u00e9", "\u00c9", "\u302e\u1b44", "\U0001d15e", "x" * 50, "\u0e01\u0e34"]


def draws(rng, pieces, count):
    """So many texts, each of one to twelve parts."""
    counts = rng.choices(range(1, 13), k=count)
    total = sum(counts)
    words = rng.choices([piece.removeprefix("##") for piece in pieces] * 4 + pieces, k=total)
    special = rng.choices(SPECIAL, k=total)
    blocks = (range(0x20, 0x250), range(0x250, 0xd800), range(0xe000, 0x30000))
    single = [chr(rng.choice(block)) for block in rng.choices(blocks, k=total // 5 + 1)]
    kinds = rng.choices((0, 1, 2), (40, 45, 15), k=total)
    spaces = rng.choices(("", " "), (60, 40), k=total)
    parts = [((word, sign, single[i % len(single)])[kind] + space)
             for i, (word, sign, kind, space) in enumerate(zip(words, special, kinds, spaces))]
    at = iter(parts)
    return ["".join(itertools.islice(at, n)) for n in counts]


def tiny(rng):
    chars = "ab#c\u00e9e\u0301\u4e2d.[i\u0307\u00df=\u1112ox X]"
    vocab, holes = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2}, rng.random() < 0.3
    for _ in range(rng.randint(5, 60)):
        piece = rng.choice(["", "", "##", "##", "#", "@@"]) + "".join(rng.choice(chars) for _ in range(rng.randint(1, 3)))
        used = set(vocab.values())
        vocab.setdefault(piece, next(i for i in itertools.count(rng.randint(0, 40) if holes else len(vocab)) if i not in used))
    flag = lambda share: rng.random() < share  # noqa: E731
    added = [{"id": vocab.get(c, 200), "content": c, "single_word": flag(.2), "lstrip": flag(.2), "rstrip": flag(.2),
              "normalized": flag(.4), "special": flag(.5)}
             for c in rng.sample(["[SEP]", "ab", "\u00c9a", "\u4e2d", "b "], rng.randint(0, 4))]
    if holes:  # an added token may take the id of a piece, and which of them decodes is left to chance
        added = [token for token in added if token["content"] in vocab]
    normalizer = rng.choice([None, {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}, {"type": "StripAccents"}]}]
                            + [bert(flag(.7), flag(.7), rng.choice([None, True, False]), flag(.5)) for _ in range(6)])
    pre_tokenizer = rng.choice([None, {"type": "BertPreTokenizer"}, {"type": "BertPreTokenizer"}, {"type": "WhitespaceSplit"},
                                {"type": "Whitespace"}, {"type": "Punctuation"},
                                {"type": "Sequence", "pretokenizers": [{"type": "BertPreTokenizer"}, {"type": "Digits", "individual_digits": True}]}])
    ends = {"sep": ["[SEP]", 2], "cls": ["[CLS]", 1]}
    post = rng.choice([None, {"type": "BertProcessing", **ends},
                       {"type": "RobertaProcessing", **ends, "trim_offsets": flag(.7), "add_prefix_space": flag(.5)}])
    decoder = rng.choice([None, {"type": "WordPiece", "prefix": rng.choice(["##", "", "@@"]), "cleanup": flag(.6)}])
    return document(vocab, normalizer, pre_tokenizer, rng.choice(["##", "##", "##", "", "@@", "#"]), rng.choice([100, 100, 3, 5]), decoder,
                    post, added)


def random_texts(args, report):
    rng = random.Random(args.seed)
    files = [((args.data / f / "tokenizer.json").read_text(encoding="utf-8"), f) for f in (FOLDERS if args.data else ())]
    files += [(tiny(rng), f"tiny {i}") for i in range(args.files)]
    for text, name in files:
        pair = Pair(args.driver, text)
        pieces = list(json.loads(text)["model"]["vocab"])
        for some in batches(range(max(args.count // len(files), 1)), 4096):
            compare(pair, name, draws(rng, pieces, len(some)), report)
        pair.close()


def stream(args, report):
    with open(args.texts, encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line in file]
    for folder in FOLDERS[:3]:
        pair = Pair(args.driver, (args.data / folder / "tokenizer.json").read_text(encoding="utf-8"))
        for some in batches(texts, 1024):
            compare(pair, folder, some, report)
        pair.close()


def main():
    parser = E.arguments(__doc__, "driver", "seed")
    parser.add_argument("mode", choices=("sweep", "worlds", "random", "stream"))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--length", type=int, default=4)
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--files", type=int, default=40)
    args = parser.parse_args()
    E.require(args.data is None or (args.data / FOLDERS[0]).exists(), f"{args.data} is not there")
    report, start = E.Report(limit=8), time.time()
    {"sweep": sweep, "worlds": worlds, "random": random_texts, "stream": stream}[args.mode](args, report)
    print(f"{report.checks} comparisons in {time.time() - start:.0f} s")
    return report.finish(f"WordPiece, {args.mode}")


if __name__ == "__main__":
    sys.exit(main())
