# SPDX-License-Identifier: MIT
"""Folders with a tokenizer.json of a few pieces, of the classes that transformers 5 rebuilds, and a tokenizer_config.json that lists and
names its added tokens in other ways."""

import json
import pathlib

NAMES = {"Qwen2Tokenizer": ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], "GPT2Tokenizer": ["<|endoftext|>"],
         "RobertaTokenizer": ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], "BertTokenizer": ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
         "PreTrainedTokenizerFast": ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]}
NEW = "<NEW>"  # an added token that is no piece
LETTERS = [chr(c) for c in (*range(33, 127), *range(161, 173), *range(174, 256), *range(256, 324))]  # of bytes, as GPT-2 writes them


def flags(**settings):
    return {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True, **settings}


def tokenizer_json(kind, **settings):
    """settings: of the token NEW. Qwen's added tokens stand behind its pieces."""
    names, of_bytes = NAMES[kind], NAMES[kind][0][0] == "<"
    vocab = {piece: i for i, piece in enumerate([*([] if kind == "Qwen2Tokenizer" else names),
                                                 *(sorted(LETTERS) if of_bytes else ["a", "b", "c", "##s", "<", ">", "new"])])}
    added = [{"id": vocab.get(text, len(vocab) + i), "content": text, **flags(lstrip=text == "<mask>")} for i, text in enumerate(names)]
    added.append({"id": max(len(vocab), added[-1]["id"] + 1), "content": NEW, **flags(**settings)})
    file = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None, "post_processor": None}
    if of_bytes:
        byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
        file.update(pre_tokenizer=byte_level, decoder=byte_level,
                    model={"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "", "end_of_word_suffix": "", "fuse_unk": False,
                           "byte_fallback": False, "vocab": vocab, "merges": []})
        if kind == "RobertaTokenizer":
            file["post_processor"] = {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0], "trim_offsets": True, "add_prefix_space": False}
    else:
        file.update(normalizer={"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
                    pre_tokenizer={"type": "BertPreTokenizer"}, decoder={"type": "WordPiece", "prefix": "##", "cleanup": True},
                    post_processor={"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
                    model={"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": vocab})
    return file


def listed(file, names):
    """added_tokens_decoder with these tokens of the file."""
    return {str(token["id"]): {key: value for key, value in token.items() if key != "id"} for token in file["added_tokens"] if token["content"] in names}


def drawn(kind, rng):
    """A file, and a configuration that lists some of its tokens, some with other settings, and names some."""
    file = tokenizer_json(kind, lstrip=rng.random() < 0.5, special=rng.random() < 0.5)
    names = [token["content"] for token in file["added_tokens"]]
    config = {"tokenizer_class": kind}
    if rng.random() < 0.8:
        config["added_tokens_decoder"] = listed(file, [name for name in names if rng.random() < 0.6])
        for token in config["added_tokens_decoder"].values():
            if rng.random() < 0.3:
                token[rng.choice(["lstrip", "rstrip", "single_word", "special"])] ^= True
    for key, share in (("pad_token", 0.4), ("additional_special_tokens", 0.3), ("extra_special_tokens", 0.1), ("image_token", 0.3), ("mask_token", 0.2),
                       ("model_specific_special_tokens", 0.2)):
        if rng.random() < share:
            text = rng.choice([*names, names[0], "b"])
            config[key] = {"x_token": text} if key.startswith("model") else [text] if key.endswith("tokens") else text
    return file, config


def texts(kind, rng, count=6):
    words = [*NAMES[kind], NEW, "<new>", "<mask>", "[SEP]", "a", "b", "new"]
    return ["".join(rng.choice([" ", ""]) + rng.choice(words) for _ in range(8)) for _ in range(count)]


def write(folder, file, config):
    folder = pathlib.Path(folder)
    for name, data in (("tokenizer.json", file), ("tokenizer_config.json", config)):
        (folder / name).write_text(json.dumps(data), encoding="utf-8")
