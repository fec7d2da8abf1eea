# SPDX-License-Identifier: MIT
"""The few fields of a SentencePiece .model that the tests need (sentencepiece_model.proto, 0.2.1),
read from the protobuf wire format, and the same written back for generated models."""

import struct
import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "data"))
from make_tokenizer_json import fields  # noqa: E402

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6


@dataclass
class SpmModel:
    pieces: list = field(default_factory=list)  # (piece bytes, float score, type)
    model_type: int = 1
    byte_fallback: bool = False
    treat_whitespace_as_suffix: bool = False
    charsmap: bytes = b""
    add_dummy_prefix: bool = True
    remove_extra_whitespaces: bool = True
    escape_whitespaces: bool = True
    unk_surface: bytes | None = None


def read(data):
    model = SpmModel()
    for number, value in fields(data):
        if number == 1:
            piece, score, kind = b"", 0.0, NORMAL
            for n, v in fields(value):
                if n == 1:
                    piece = v
                elif n == 2:
                    score, = struct.unpack("<f", v)
                elif n == 3:
                    kind = v
            model.pieces.append((piece, score, kind))
        elif number == 2:
            for n, v in fields(value):
                if n == 3:
                    model.model_type = v
                elif n == 24:
                    model.treat_whitespace_as_suffix = bool(v)
                elif n == 35:
                    model.byte_fallback = bool(v)
                elif n == 44:
                    model.unk_surface = v
        elif number == 3:
            for n, v in fields(value):
                if n == 2:
                    model.charsmap = v
                elif n == 3:
                    model.add_dummy_prefix = bool(v)
                elif n == 4:
                    model.remove_extra_whitespaces = bool(v)
                elif n == 5:
                    model.escape_whitespaces = bool(v)
    return model


def _varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def _bytes(number, value):
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _int(number, value):
    return _varint(number << 3) + _varint(int(value))


def write(model):
    out = b""
    ids = {}
    for i, (piece, score, kind) in enumerate(model.pieces):
        ids.setdefault(piece, i)
        out += _bytes(1, _bytes(1, piece) + _varint(2 << 3 | 5) + struct.pack("<f", score) + _int(3, kind))
    trainer = _int(3, model.model_type) + _int(24, model.treat_whitespace_as_suffix)
    trainer += _int(35, model.byte_fallback)
    if model.unk_surface is not None:
        trainer += _bytes(44, model.unk_surface)
    out += _bytes(2, trainer)
    normalizer = _bytes(1, b"generated") + _bytes(2, model.charsmap) + _int(3, model.add_dummy_prefix)
    normalizer += _int(4, model.remove_extra_whitespaces) + _int(5, model.escape_whitespaces)
    return out + _bytes(3, normalizer)
