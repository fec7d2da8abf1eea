# SPDX-License-Identifier: MIT
"""Regular expressions of Split and ByteLevel: where splits end in the engine and in the tokenizers wheel.

  diff_split.py --driver D worlds [--length N] [--count N] [--seed N]   all strings over the classes of each pattern
  diff_split.py --driver D sweep [--all]                                every code point in five places
  diff_split.py --driver D presplits --data FILE                        the splits of a file of examples
  diff_split.py --driver D patterns [--count N] [--seed N]              changed patterns: the same splits, or refused

A model that knows no piece makes one unknown token of each split, so offsets show where splits end. Many strings are one
text, parted by an added token. --count: random strings of up to 24 characters after all those of --length. worlds takes
strings over one or two characters of each class that a pattern tells apart. Without --all a sweep takes samples.
"""

import ast
import itertools
import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import engine as E  # noqa: E402

os.environ["TOKENIZERS_PARALLELISM"] = "false"
try:
    from tokenizers import Tokenizer
except ImportError as error:
    E.require(False, f"tokenizers is not installed: {error}")

MARK = "<|>"
LOWER, ANY_CASE = "'s|'t|'re|'ve|'m|'ll|'d", "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
SPACES, NEWLINES = r"\s+(?!\S)|\s+", r"\s*[\r\n]+|"
UPPER, CASED = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
PREFIX, OTHERS = r"[^\r\n\p{L}\p{N}]?", r"| ?[^\s\p{L}\p{N}]+"
O200K = PREFIX + UPPER + "*" + CASED + "+{0}|" + PREFIX + UPPER + "+" + CASED + "*{0}|"
PATTERNS = {
    "gpt2": LOWER + r"| ?\p{L}+| ?\p{N}+" + OTHERS + "|" + SPACES,
    "cl100k": ANY_CASE + "|" + PREFIX + r"\p{L}+|\p{N}{1,3}" + OTHERS + r"[\r\n]*|" + NEWLINES + SPACES,
    "qwen": ANY_CASE + "|" + PREFIX + r"\p{L}+|\p{N}" + OTHERS + r"[\r\n]*|" + NEWLINES + SPACES,
    "qwen3.5": ANY_CASE + "|" + PREFIX + r"[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|" + NEWLINES + SPACES,
    "o200k": O200K.replace("{0}", ANY_CASE + "?") + r"\p{N}{1,3}" + OTHERS + r"[\r\n/]*|" + NEWLINES + SPACES,
    "tekken": O200K.replace("{0}", "") + r"\p{N}" + OTHERS + r"[\r\n/]*|" + NEWLINES + SPACES,
    "tiktoken": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+" + OTHERS
                + r"+[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    "olmo": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++" + OTHERS + r"+|\s++$|\s+(?!\S)|\s",
    "blanks": r"\p{N}{1,2}",
}
DEEPSEEK = [r"\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
            "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
            "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"]
# What each tells apart.
LETTERS = "sl1'! \n\u00a0\u0301"
ALPHABETS = {
    "gpt2": LETTERS + "A", "cl100k": LETTERS + "L\u017f\r", "qwen": LETTERS + "L\u017f\r", "qwen3.5": LETTERS + "L\u017f\r",
    "o200k": LETTERS + "A\u4e2d/", "tekken": "sA\u4e2d\u03011! /\n\u00a0", "tiktoken": LETTERS + "L\u017f\r",
    "olmo": LETTERS + "A", "blanks": "12\u00bda ", "deepseek": "s\u00e9\u4e2d\u30fb1!\u0301\u200d \n"}
EVERYTHING = "".join(sorted(set("".join(ALPHABETS.values())) | set("TtreveRVdDmM\t\u0085\u3000\0\u0378\U0001f600\u01c5\u02b0\u2167"
                                                                   "\u20ac\u1100\u2028\U00011390\u212a\ufb06")))
PLACES = ("*", "a*b", " *1", "'*'S", "!*\n")
PER_TEXT = 64


def split(regex, behavior="Isolated", invert=False):
    return {"type": "Split", "pattern": {"Regex": regex}, "behavior": behavior, "invert": invert}


def pre_tokenizers():
    for name, regex in PATTERNS.items():
        yield name, split(regex)
    yield "deepseek", {"type": "Sequence", "pretokenizers": [split(regex) for regex in DEEPSEEK]}


class Pair:
    """One file in both; raises EngineError where the engine refuses it."""

    def __init__(self, engine, pre_tokenizer):
        document = json.dumps({
            "version": "1.0", "truncation": None, "padding": None, "normalizer": None, "pre_tokenizer": pre_tokenizer,
            "added_tokens": [{"id": 1, "content": MARK, "special": False, "normalized": False, "single_word": False,
                              "lstrip": False, "rstrip": False}],
            "post_processor": None, "decoder": None, "model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0]]}})
        self.engine = engine
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            file.write(document)
            file.flush()
            engine.load(file.name)
        self.tokenizer = Tokenizer.from_str(document)

    def expected(self, texts):
        return [e.offsets for e in self.tokenizer.encode_batch(texts, add_special_tokens=False)]

    def got(self, texts):
        columns = self.engine.encode([t.encode() for t in texts], E.OFFSETS_CODE_POINTS, E.COLUMN_OFFSETS)
        rows = (columns.row(i) for i in range(len(texts)))
        return [list(zip(r["begin"], r["end"])) if r["status"] == E.OK else r["status"] for r in rows]

    def differs(self, text):
        return self.got([text]) != self.expected([text])

    def compare(self, name, strings, report):
        for some in batches(strings, PER_TEXT * 256):
            texts = [MARK.join(part) for part in batches(some, PER_TEXT)]
            report.checks += len(some)
            for text, want, have in zip(texts, self.expected(texts), self.got(texts)):
                if want != have:
                    small = E.reduce_text(text, self.differs)
                    report.mismatch(name, small, self.got([small])[0], self.expected([small])[0])


def batches(items, size):
    items = iter(items)
    while batch := list(itertools.islice(items, size)):
        yield batch


def randoms(rng, count):
    for _ in range(count):
        pool = rng.sample(EVERYTHING, rng.randint(2, 6))
        yield "".join(rng.choices(pool, k=rng.randint(1, rng.choice((7, 24)))))


def worlds(args, engine, report):
    rng = random.Random(args.seed)
    for name, pre_tokenizer in pre_tokenizers():
        pair = Pair(engine, pre_tokenizer)
        pair.compare(name, ("".join(t) for n in range(1, args.length + 1)
                            for t in itertools.product(ALPHABETS[name], repeat=n)), report)
        pair.compare(name, randoms(rng, args.count), report)
    whole = Pair(engine, split(PATTERNS["cl100k"], "Removed", True))
    whole.compare("cl100k, removed and inverted", randoms(rng, args.count), report)


def sweep(args, engine, report):
    def points(step):
        for c in range(0x110000):
            if not 0xd800 <= c < 0xe000 and (step == 1 or c % (61 if 0x33000 <= c < 0xe0000 or c >= 0xe0200 else step) == 0):
                yield chr(c)

    for name, pre_tokenizer in pre_tokenizers():
        pair = Pair(engine, pre_tokenizer)
        for place in PLACES:
            step = 1 if args.all else 11 if name in ("o200k", "deepseek") else 101
            pair.compare(f"{name}, {place!a}", (place.replace("*", c) for c in points(step)), report)


def presplits(args, engine, report):
    """Five families by name, a line each under every text."""
    E.require(args.data.exists(), f"{args.data} is missing")
    pairs = dict(pre_tokenizers())
    text, by_family = None, {}
    for line in args.data.read_text(encoding="utf-8").splitlines():
        if not line.startswith(" "):
            text = ast.literal_eval(line)
        elif line.strip():
            name, splits = line.strip().split(None, 1) if " " in line.strip() else (line.strip(), "")
            by_family.setdefault(name, []).append((text, line[len("     ") + 10:]))
    for name, examples in by_family.items():
        pair = Pair(engine, pairs[name])
        for text, splits in examples:
            report.checks += 1
            got = " | ".join(ascii(text[a:b])[1:-1] for a, b in pair.got([text])[0])
            if got.replace("\\'", "'") != splits.replace("\\'", "'"):
                report.mismatch(name, text, got, splits)


CATASTROPHIC = ["(a+)+$", "(a|a)*b", "(?:" * 200 + "a" + ")" * 200, "(?:a|b)" * 500, "(?:(?:a?){9}){9}", r"(\s+\s*)+(?!\S)",
                "[" * 1000, r"\p{L}" * 150, "(?:'[a-z][a-z][a-z][a-z])", "a" * 4000, "|" * 1000, "(?i:" * 30, "", "\\", "[", "{", "(?:a{1,}"]
PARTS = ["+", "*", "?", "++", "{1,3}", "{1,}", "{1}", "{2}", "{1,2}", "{1,3}+", "\\s", "\\S", "\\r", "\\n", "\r", "\n", "\\p{L}",
         "\\p{M}", "\\p{N}", "\\p{Lu}", "\\p{Ll}", "[", "]", "(?:", "(?i:", ")", "|", "^", "$", "'", " ", "a", "-", "/", "\\/", "\\-",
         "(?!\\S)", "[^", "s", "t", "&&", "\\t", ".", "\\p{P}", "\\p{S}", "{0,1}", "{0,}", "?+", "*+", "+?"]


def changed(rng, regex):
    for _ in range(rng.choice((1, 1, 2, 3))):
        at, kind = rng.randrange(len(regex) + 1), rng.random()
        if kind < 0.3:
            regex = regex[:at] + rng.choice(PARTS) + regex[at:]
        elif kind < 0.5:
            regex = regex[:at] + regex[at + rng.choice((1, 1, 2, 4, 5)):]
        else:  # alternatives change places, or one goes or comes from another pattern
            arms, other = regex.split("|"), rng.choice(list(PATTERNS.values()) + DEEPSEEK).split("|")
            i, j = rng.randrange(len(arms)), rng.randrange(len(arms))
            if kind < 0.6:
                arms[i], arms[j] = arms[j], arms[i]
            elif kind < 0.8 or len(arms) == 1:
                arms[i] = rng.choice(other)
            else:
                del arms[i]
            regex = "|".join(arms)
    return regex


def patterns(args, engine, report):
    rng = random.Random(args.seed)
    strings = list(randoms(rng, 1500))
    taken = 0

    def check(regex):
        nonlocal taken
        started = time.monotonic()
        try:
            pair = Pair(engine, split(regex))
        except E.EngineError as error:
            report.checks += 1
            if time.monotonic() - started > 5:
                report.mismatch("slow", regex, time.monotonic() - started, "refused in time")
            if error.status != E.E_UNSUPPORTED or regex[:200] not in error.message:
                report.mismatch("message", regex, error.message, "refused by name")
            return
        except ValueError as error:
            report.mismatch("taken", regex, "taken", error)
            return
        taken += 1
        pair.compare(regex, strings, report)

    for regex in CATASTROPHIC:
        check(regex)
    for regex in PATTERNS.values():  # one possessive part of it in the plain spelling
        for at in range(len(regex)):
            if regex.startswith("++", at):
                check(regex[:at] + regex[at + 1:])
    for _ in range(args.count):
        check(changed(rng, rng.choice(list(PATTERNS.values()) + DEEPSEEK)))
    print(f"{taken} patterns are taken, all others are refused")
    if not taken:
        report.mismatch("taken", "", taken, "some")


def main():
    parser = E.arguments(__doc__, "driver", "seed")
    parser.add_argument("what", choices=("worlds", "sweep", "presplits", "patterns"))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--length", type=int, default=3)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--all", action="store_true")
    args = parser.parse_args()
    engine, report = E.Engine(args.driver), E.Report()
    globals()[args.what](args, engine, report)
    engine.close()
    return report.finish(args.what)


if __name__ == "__main__":
    sys.exit(main())
