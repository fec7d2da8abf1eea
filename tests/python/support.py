# SPDX-License-Identifier: MIT
"""What the tests of the package share: where inputs are, and tokenizer.json files of the default
vocabulary. Environment: RANKFEED_SOURCE_DIR, RANKFEED_SHARED_DATA, RANKFEED_WORK_DIR."""

import json
import os
import subprocess
import sys
import unittest

SOURCE = os.environ.get("RANKFEED_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "..", ".."))
SHARED = os.environ.get("RANKFEED_SHARED_DATA", os.path.join(SOURCE, "..", "shared", "data"))
WORK = os.environ.get("RANKFEED_WORK_DIR", "/tmp")
MODEL = os.path.join(SOURCE, "data", "default.model")
SWEEP = "RANKFEED_SWEEP" in os.environ  # the long suite runs everything that other runs sample


def sampled(values, part):
    """Every part-th of the values; in the long suite all."""
    return list(values)[::1 if SWEEP else part]


def needs(module, name):
    """Skips a class, with the reason, when a wheel is not installed."""
    return unittest.skipIf(module is None, f"SKIPPED: the {name} wheel is not installed")


WORD_PIECES = {"panda": ["panda"], "Bär": ["bar"], "北京": ["北", "京"], "city": ["ci", "##ty"], "Москва": ["мос", "##ква"]}


def word_piece_folder(path):
    """A BERT folder of a vocab.txt; the ids that it gives to the words of WORD_PIECES."""
    os.makedirs(path)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(piece for pieces in WORD_PIECES.values() for piece in pieces)]
    with open(os.path.join(path, "vocab.txt"), "w", encoding="utf-8") as file:
        file.writelines(piece + "\n" for piece in vocabulary)
    with open(os.path.join(path, "tokenizer_config.json"), "w", encoding="utf-8") as file:
        json.dump({"tokenizer_class": "BertTokenizer", "do_lower_case": True}, file)
    return {word: [vocabulary.index(piece) for piece in pieces] for word, pieces in WORD_PIECES.items()}


def _base():
    path = os.path.join(WORK, "default.tokenizer.json")
    if not os.path.exists(path):
        temporary = f"{path}.{os.getpid()}"
        subprocess.run([sys.executable, os.path.join(SOURCE, "data", "make_tokenizer_json.py"), MODEL, temporary],
                       check=True, stdout=subprocess.DEVNULL)
        os.replace(temporary, path)
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def add_special_template(data, kind):
    """Replaces the post-processor by one of a family: A-only and A-B forms, types, specials."""
    vocab = {piece: i for i, (piece, _) in enumerate(data["model"]["vocab"])}
    bos, eos = "<s>", "</s>"

    def special(name, type_id=0):
        return {"SpecialToken": {"id": name, "type_id": type_id}}

    def sequence(name, type_id=0):
        return {"Sequence": {"id": name, "type_id": type_id}}

    single = {"roberta": [special(bos), sequence("A"), special(eos)],
              "bert": [special(bos), sequence("A"), special(eos)],
              "t5": [sequence("A"), special(eos)]}[kind]
    pair = {"roberta": [special(bos), sequence("A"), special(eos), special(eos), sequence("B"), special(eos)],
            "bert": [special(bos), sequence("A"), special(eos), sequence("B", 1), special(eos, 1)],
            "t5": [sequence("A"), special(eos), sequence("B"), special(eos)]}[kind]
    data["post_processor"] = {
        "type": "TemplateProcessing", "single": single, "pair": pair,
        "special_tokens": {name: {"id": name, "ids": [vocab[name]], "tokens": [name]} for name in (bos, eos)}}
    data["truncation"] = data["padding"] = None
    return data


def hf_file(kind):
    path = os.path.join(WORK, f"{kind}.tokenizer.json")
    if not os.path.exists(path):
        data = add_special_template(_base(), kind)
        temporary = f"{path}.{os.getpid()}"
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(data, file, ensure_ascii=False)
        os.replace(temporary, path)
    return path
