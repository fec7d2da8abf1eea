#!/usr/bin/env python3
"""HuggingFace tokenizer.json for a SentencePiece Unigram model with XLM-R's pipeline.

    make_tokenizer_json.py [MODEL [OUTPUT]]     default: default.model beside this file, to stdout

Pieces keep their ids, scores are the model's float32 values written so that they read back exactly
as doubles, the normalization table is copied, and <mask> gets the next free id. The model must have
<s>, <pad>, </s>, <unk> as its ids 0 to 3. Not committed as a file: it is 2 MB and follows from the
model in a moment. Standard library only.
"""

import base64
import json
import pathlib
import struct
import sys

SPECIALS = ["<s>", "<pad>", "</s>", "<unk>"]
MASK = "<mask>"


def fields(data):
    """(number, value) of each field of a protobuf message: int or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            yield key >> 3, varint()
            continue
        size = {1: 8, 5: 4}.get(kind) or varint()
        yield key >> 3, data[at:at + size]
        at += size


def read_model(data):
    """Field numbers of sentencepiece_model.proto: ModelProto.pieces 1 (piece 1, score 2),
    ModelProto.normalizer_spec 3 (precompiled_charsmap 2)."""
    vocab, charsmap = [], b""
    for number, value in fields(data):
        if number == 1:
            piece = dict(fields(value))
            score = struct.unpack("<f", piece[2])[0] if 2 in piece else 0.0
            vocab.append([piece[1].decode("utf-8"), score])
        elif number == 3:
            charsmap = dict(fields(value))[2]
    return vocab, charsmap


def special(name, index, lstrip=False):
    return {"id": index, "content": name, "single_word": False, "lstrip": lstrip, "rstrip": False,
            "normalized": False, "special": True}


def token(name):
    return {"SpecialToken": {"id": name, "type_id": 0}}


def sequence(name):
    return {"Sequence": {"id": name, "type_id": 0}}


def tokenizer(vocab, charsmap):
    if [piece for piece, _ in vocab[:4]] != SPECIALS:
        raise SystemExit(f"make_tokenizer_json: ids 0 to 3 are not {' '.join(SPECIALS)}")
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    begin, end = "<s>", "</s>"
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [special(name, i) for i, name in enumerate(SPECIALS)]
                        + [special(MASK, len(vocab), lstrip=True)],
        "normalizer": {"type": "Precompiled",
                       "precompiled_charsmap": base64.b64encode(charsmap).decode("ascii")},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, metaspace]},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [token(begin), sequence("A"), token(end)],
            "pair": [token(begin), sequence("A"), token(end), token(end), sequence("B"), token(end)],
            "special_tokens": {name: {"id": name, "ids": [SPECIALS.index(name)], "tokens": [name]}
                               for name in (begin, end)},
        },
        "decoder": metaspace,
        "model": {"type": "Unigram", "unk_id": SPECIALS.index("<unk>"),
                  "vocab": vocab + [[MASK, 0.0]], "byte_fallback": False},
    }


def main():
    model = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else (
        pathlib.Path(__file__).parent / "default.model")
    # repr of a float, which json uses, is the shortest text that reads back as the same double.
    text = json.dumps(tokenizer(*read_model(model.read_bytes())), ensure_ascii=False, indent=1)
    if len(sys.argv) > 2:
        pathlib.Path(sys.argv[2]).write_text(text + "\n", encoding="utf-8")
    else:
        sys.stdout.buffer.write(text.encode("utf-8") + b"\n")


if __name__ == "__main__":
    main()
