# SPDX-License-Identifier: MIT
"""Folders of small generated tokenizers, for every class of transformers that has a Unigram model and those of WordPiece: random
vocabularies with the special tokens of all families, and the pipelines of tests/oracle/variants.py."""

import glob
import importlib
import inspect
import json
import os
import random
import sys

import transformers

from support import MODEL, SOURCE

sys.path.insert(0, os.path.join(SOURCE, "tests", "oracle"))
import variants  # noqa: E402

SPECIALS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "[CLS]", "[SEP]", "[MASK]", "<cls>", "<sep>", "<eod>", "<eop>"]
LETTERS = "abcdeinorst" + "\u0430\u0431\u0438" + "\u00e9\u00df" + "\u4e2d\u56fd" + "\u0e01\u0e33" + "\uac00" + "0123,.!"


def classes():
    """Every tokenizer class that transformers gives a Unigram model, by name."""
    found = {}
    root = os.path.join(os.path.dirname(transformers.__file__), "models")
    for path in sorted(glob.glob(os.path.join(root, "*", "tokenization_*.py"))):
        with open(path, encoding="utf-8") as file:
            if "Unigram(" not in file.read():
                continue
        name = f"transformers.models.{os.path.basename(os.path.dirname(path))}.{os.path.basename(path)[:-3]}"
        module = importlib.import_module(name)
        for kind in vars(module).values():
            if inspect.isclass(kind) and issubclass(kind, transformers.PreTrainedTokenizerFast) \
                    and kind.__module__ == module.__name__:
                found[kind.__name__] = kind
    return found


def vocabulary(seed):
    """A random vocabulary: specials, all letters, and pieces of them with and without a leading U+2581."""
    rng = random.Random(seed)
    pieces = {}
    for letter in LETTERS + "\u2581":
        pieces[letter] = -8.0 - rng.random()
    while len(pieces) < 400:
        piece = ("\u2581" if rng.random() < 0.5 else "") + "".join(rng.choice(LETTERS) for _ in range(rng.randrange(1, 6)))
        # Few scores, so that ties are common; long pieces score no better.
        pieces.setdefault(piece, -float(rng.randrange(4, 12)))
    order = list(pieces.items())
    rng.shuffle(order)
    return [[token, 0.0] for token in SPECIALS] + [list(item) for item in order]


CHARSMAP = variants.Base.from_model(MODEL).charsmap  # reading the model takes longer than most tests


def base(seed):
    made = variants.Base("", [], 0, CHARSMAP)
    made.name, made.vocab, made.unk_id = f"random{seed}", vocabulary(seed), SPECIALS.index("<unk>")
    made.user_defined = []
    return made.with_specials()


def word_piece(seed):
    """A tokenizer.json of a random WordPiece vocabulary, with the special tokens of all families."""
    rng = random.Random(seed)
    begin, on = ["[PAD]", "[UNK]", *SPECIALS, "[QUESTION]"], "abcdeinorstéß\u0301бика0123."
    pieces = dict.fromkeys([*begin, *LETTERS, *("##" + letter for letter in on)])
    while len(pieces) < 400:
        pieces["##" * rng.randrange(2) + "".join(rng.choice(on) for _ in range(rng.randrange(2, 6)))] = None
    ids = {piece: i for i, piece in enumerate(pieces)}
    ends = {"cls": ["[CLS]", ids["[CLS]"]], "sep": ["[SEP]", ids["[SEP]"]]}
    return {"version": "1.0", "truncation": {"direction": "Right", "max_length": 9, "strategy": "LongestFirst", "stride": 0}, "padding": None,
            "added_tokens": [{"id": ids[token], "content": token, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
                              "special": True} for token in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")],
            "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": seed % 2 == 0},
            "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": {"type": "BertProcessing", **ends},
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": ids}}


def write(folder, data, kind="PreTrainedTokenizerFast", **config):
    """A folder that from_pretrained reads."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as file:
        json.dump(data, file, ensure_ascii=False)
    with open(os.path.join(folder, "tokenizer_config.json"), "w", encoding="utf-8") as file:
        json.dump({"tokenizer_class": kind, "model_max_length": 40, **config}, file)
    return folder


def pipelines(seed):
    """(name, tokenizer.json) of every pipeline that variants.py knows, over a random vocabulary."""
    made = base(seed)
    for group in (variants.families, variants.metaspaces, variants.pre_tokenizers, variants.normalizers,
                  variants.added_tokens):
        yield from group(made)


def texts(count, seed):
    rng = random.Random(seed)
    out = ["", " ", "a", "</s>", "a <mask> b", "[CLS] x [SEP]", "abc " * 30, "e\u0301\u0302 \u1e69", "a\r\n\tb  c", "\uff76\uff9e\ufb01"]
    extra = LETTERS + "    \u2581ABxyz\u0301\u3000\U0001f600\u200d\n"
    while len(out) < count:
        out.append("".join(rng.choice(extra) for _ in range(rng.choice((3, 8, 20, 60, 200)))))
    rng.shuffle(out)
    return out
