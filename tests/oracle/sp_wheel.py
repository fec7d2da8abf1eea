# SPDX-License-Identifier: MIT
"""The sentencepiece wheel with one interface. Its Python interface was rewritten in 0.2.2: extra options in any order
are gone, and serialized texts are asked for in another way."""

from itertools import chain

import engine as E
import numpy as np
import sentencepiece
import spm_proto
from versions import version_key

VERSION = sentencepiece.__version__
# Which rule of the engine this version follows: from 0.2.2 on candidates are compared in float and sums are rebased.
MODE = "sentencepiece" if version_key(VERSION) >= version_key("0.2.2") else "sentencepiece-0.2.1"
EXTRA = {"bos": 1, "eos": 2, "reverse": 3}


class Wheel:
    def __init__(self, model):
        """model: bytes of a .model."""
        self.processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        self.any_order = hasattr(self.processor, "set_encode_extra_options")
        self.size = self.processor.get_piece_size()
        self.has_bos_and_eos = self.processor.bos_id() >= 0 and self.processor.eos_id() >= 0

    def ids(self, texts):
        """Columns of many texts, ids only."""
        if self.any_order:
            rows = self.processor.encode(texts)
            flat = np.fromiter(chain.from_iterable(rows), np.int32)
        else:
            rows = self.processor.encode(texts, return_type="numpy", num_threads=1)
            flat = np.concatenate(rows) if rows else np.empty(0, np.int32)
        starts = np.zeros(len(rows) + 1, np.int64)
        np.cumsum([len(row) for row in rows], out=starts[1:])
        return E.Columns(np.zeros(len(rows), np.int32), starts, flat)

    def columns(self, texts):
        """Columns with offsets in bytes, those of SentencePieceText."""
        out = self.ids(texts)
        ranges = np.array(list(chain.from_iterable([r for _, r in _pieces(self._serialized(t))] for t in texts)),
                          np.uint32).reshape(-1, 2)
        out.begin, out.end = ranges[:, 0], ranges[:, 1]
        return out

    def _serialized(self, text):
        if self.any_order:
            return self.processor.encode_as_serialized_proto(text)
        return self.processor.encode(text, return_type="serialized_proto")

    def orders(self):
        """Lists of extra options that can be asked for: all, or those that reverse first."""
        names = list(EXTRA)
        if self.any_order:
            from itertools import permutations
            return [p for count in range(1, 4) for p in permutations(names, count)]
        return [("bos",), ("eos",), ("reverse",), ("bos", "eos"), ("reverse", "bos"), ("reverse", "eos"),
                ("reverse", "bos", "eos")]

    def with_extras(self, names, texts):
        if self.any_order:
            self.processor.set_encode_extra_options(":".join(names))
            out = [[i for i, _ in _pieces(self._serialized(t))] for t in texts]
            self.processor.set_encode_extra_options("")
            return out
        return [self.processor.encode(t, add_bos="bos" in names, add_eos="eos" in names, reverse="reverse" in names)
                for t in texts]

    def decode(self, ids):
        try:
            if self.any_order:
                return _text(self.processor.decode_ids_as_serialized_proto(ids))
            # By ids, which since 0.2.2 is not what decoding to SentencePieceText does: that looks the pieces up again.
            text = self.processor.decode(ids, return_type=bytes)
            return text.encode() if isinstance(text, str) else text  # 0.2.2 gives a str for no ids
        except IndexError:
            return E.E_ID_RANGE


# SentencePieceText (sentencepiece.proto): text=1, pieces=2 {piece=1, id=2, surface=3, begin=4, end=5}.
def _pieces(data):
    for number, value in spm_proto.fields(data):
        if number == 2:
            token_id, begin, end = 0, 0, 0
            for n, v in spm_proto.fields(value):
                if n == 2:
                    token_id = v
                elif n == 4:
                    begin = v
                elif n == 5:
                    end = v
            yield token_id, (begin, end)


# Its text.
def _text(data):
    return next((v for n, v in spm_proto.fields(data) if n == 1), b"")
