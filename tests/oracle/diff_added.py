# SPDX-License-Identifier: MIT
"""Added tokens: ids and offsets of the engine against the tokenizers wheel, over drawn files.

  diff_added.py --driver D [--count N] [--files N] [--seed N]

Files: small models of the three kinds, each normalizer that makes something else of an added token, added tokens of all flags
whose content is white space, marks, letters or several of them, and every post-processor, with and without trim_offsets and
add_prefix_space. A file with a token that its normalizer makes nothing of must be refused by that token; the wheel finds such a
token between all characters. --count: texts of all files together; they are drawn from the tokens and what they are made of.
"""

import json
import os
import random
import sys
from pathlib import Path

os.environ["RUST_BACKTRACE"] = "0"
sys.path.insert(0, str(Path(__file__).parent))
import engine as E  # noqa: E402
from diff_wordpiece import Pair, compare  # noqa: E402
from tokenizers import normalizers  # noqa: E402
from tokenizers.pre_tokenizers import ByteLevel  # noqa: E402

UNITS = ["a", "b", "A", "1", ";", "<x>", "<X>", " ", "  ", "\n", "\r\n", "\t", "\u3000", "\u00a0", "\u00e9", "\u0301", "\u200d", "\ufeff",
         "\u0120", "\u2581", "\u4e2d", "\U0001f600"]
CONTENTS = [*UNITS, "ab", " a", "a ", "\n\n", " <x> ", "\u0120a", "\u2581a", "e\u0301", "\u0301\u0301", "\u2002", "\x85"]
STRIP = {"type": "Strip", "strip_left": True, "strip_right": True}
NORMALIZERS = [
    STRIP, {"type": "Strip", "strip_left": False, "strip_right": True}, {"type": "Lowercase"}, {"type": "NFC"}, {"type": "NFKD"},
    {"type": "StripAccents"}, {"type": "Nmt"}, {"type": "Prepend", "prepend": "\u2581"},
    {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}, {"type": "Replace", "pattern": {"String": "a"}, "content": ""},
    {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
    {"type": "BertNormalizer", "clean_text": False, "handle_chinese_chars": False, "strip_accents": True, "lowercase": False}]


def byte_level(rng):
    pieces = ["<s>", "</s>", *sorted(ByteLevel.alphabet()), "ab", "\u0120a", "\u0120\u0120", "\u010a\u010a"]
    merges = [["a", "b"], ["\u0120", "a"], ["\u0120", "\u0120"], ["\u010a", "\u010a"]]
    pre = {"type": "ByteLevel", "add_prefix_space": rng.random() < 0.4, "trim_offsets": True, "use_regex": rng.random() < 0.7}
    return {"type": "BPE", "vocab": {piece: i for i, piece in enumerate(pieces)}, "merges": merges, "unk_token": None}, pre


def unigram(rng):
    pieces = ["<s>", "</s>", "<unk>", "\u2581", "a", "b", "ab", "\u2581a", " ", "\u0120", "1", ";", "\u00e9", "\n", "\u3000"]
    pre = rng.choice((None, {"type": "WhitespaceSplit"},
                      {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": rng.choice(("always", "first", "never")), "split": True}))
    return {"type": "Unigram", "unk_id": 2, "vocab": [[piece, -1.0 - len(piece)] for piece in pieces], "byte_fallback": False}, pre


def word_piece(rng):
    pieces = ["<s>", "</s>", "[UNK]", "a", "b", "##a", "##b", "1", ";", "ab", "\u00e9", "\u4e2d", "\u0120", "<", "x", "##x", "##>"]
    pre = rng.choice(({"type": "BertPreTokenizer"}, {"type": "WhitespaceSplit"}, None))
    return {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
            "vocab": {piece: i for i, piece in enumerate(pieces)}}, pre


def post_processor(rng):
    ends = {"sep": ["</s>", 1], "cls": ["<s>", 0]}
    flags = {"trim_offsets": rng.random() < 0.8, "add_prefix_space": rng.random() < 0.5}
    text = {"Sequence": {"id": "A", "type_id": 0}}
    template = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, text],
                "pair": [text, {"Sequence": {"id": "B", "type_id": 1}}], "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}}}
    level = {"type": "ByteLevel", **flags, "use_regex": True}
    return rng.choice((None, level, level, {"type": "RobertaProcessing", **ends, **flags}, {"type": "BertProcessing", **ends}, template,
                       {"type": "Sequence", "processors": [level, template]}))


def draw_file(rng):
    """A tokenizer.json, and the tokens that its normalizer makes nothing of."""
    model, pre_tokenizer = rng.choice((byte_level, byte_level, unigram, word_piece))(rng)
    some = rng.choices(NORMALIZERS, k=rng.choice((0, 0, 1, 1, 2)))
    normalizer = {"type": "Sequence", "normalizers": some} if len(some) > 1 else some[0] if some else None
    by_wheel = normalizers.Sequence([])
    if normalizer is not None:
        by_wheel.__setstate__(json.dumps({"type": "Sequence", "normalizers": some}).encode())
    tokens, texts, nothing = [], set(), []
    for content in rng.sample(CONTENTS, rng.randrange(1, 5)):
        flags = {name: rng.random() < share for name, share in
                 (("single_word", 0.2), ("lstrip", 0.4), ("rstrip", 0.4), ("normalized", 0.6), ("special", 0.3))}
        found = by_wheel.normalize_str(content) if flags["normalized"] else content
        if (found, flags["normalized"]) in texts:
            continue  # the wheel finds either, by the order of a hash map
        texts.add((found, flags["normalized"]))
        if not found:
            nothing.append(content)
        tokens.append({"id": 0, "content": content, **flags})
    for i, token in enumerate(tokens):
        token["id"] = len(model["vocab"]) + i
    return json.dumps({"version": "1.0", "truncation": None, "padding": None, "added_tokens": tokens, "normalizer": normalizer,
                       "pre_tokenizer": pre_tokenizer, "post_processor": post_processor(rng), "decoder": None, "model": model}), tokens, nothing


def answers(pair, text):
    """Whether the wheel has an answer: where one token ends inside the white space of another it panics."""
    try:
        pair.tokenizer.encode(text)
    except BaseException as error:  # its panics are no Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        return False
    return True


def main():
    parser = E.arguments(__doc__, "driver", "seed")
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--files", type=int, default=200)
    args = parser.parse_args()
    report, rng, refused, panics = E.Report(limit=1), random.Random(args.seed), 0, 0
    for number in range(args.files):
        document, tokens, nothing = draw_file(rng)
        try:
            pair = Pair(args.driver, document)
        except E.EngineError as error:
            report.checks += 1
            refused += 1
            names = [" ".join(f"U+{ord(c):04X}" for c in content) for content in nothing]
            if not any(f"({name})" in error.message for name in names):
                report.mismatch("refused", document, error.message, f"names one of {names}")
            continue
        if nothing:
            report.checks += 1
            report.mismatch("taken", document, "no error", f"refused: one of {ascii(nothing)} normalizes to nothing")
            pair.close()
            continue
        units = UNITS + 3 * [token["content"] for token in tokens] + [" ", "\n", "a"]
        texts = ["".join(rng.choices(units, k=rng.choice((1, 2, 3, 4, 6, 9)))) for _ in range(args.count // args.files)]
        kept = [text for text in texts if answers(pair, text)]
        panics += len(texts) - len(kept)
        compare(pair, f"file {number}: {document}", kept, report)
        pair.close()
    print(f"{args.files} files, {refused} refused; {panics} texts that the wheel has no answer to")
    return report.finish("added tokens")


if __name__ == "__main__":
    sys.exit(main())
