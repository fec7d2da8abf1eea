# SPDX-License-Identifier: MIT
"""Generated SentencePiece models: all piece types and flags of the normalizer."""

import random

import numpy as np
import spm_proto
import variants as V


def random_model(seed):
    r = random.Random(seed)
    base = V.small_base(seed)
    model = spm_proto.SpmModel()
    model.pieces = [(b"<unk>", 0.0, spm_proto.UNKNOWN), (b"<s>", 0.0, spm_proto.CONTROL),
                    (b"</s>", 0.0, spm_proto.CONTROL)]
    taken = {p for p, _, _ in model.pieces}
    for piece, score in base.vocab:
        data = piece.encode()
        if data not in taken:
            taken.add(data)
            kind = r.choices([spm_proto.NORMAL, spm_proto.USER_DEFINED, spm_proto.UNUSED], [8, 1, 1])[0]
            model.pieces.append((data, score, kind))
    if r.random() < 0.3:  # spelled as special pieces are: another id of the same text
        model.pieces += [(b"<s>", -2.5, spm_proto.NORMAL), (b"<unk>", -3.0, spm_proto.USER_DEFINED)]
    model.byte_fallback = r.random() < 0.4
    if model.byte_fallback:
        model.pieces += [(b"<0x%02X>" % b, 0.0, spm_proto.BYTE) for b in range(256)]
    model.charsmap = V.trap_charsmap() if r.random() < 0.7 else b""
    model.add_dummy_prefix, model.remove_extra_whitespaces = r.random() < 0.7, r.random() < 0.6
    model.escape_whitespaces = r.random() < 0.8
    model.treat_whitespace_as_suffix = r.random() < 0.2
    return model


def with_large_scores(seed):
    """A generated model whose sums pass the threshold soon; one in three has positive scores, one in three both.
    The factor has all bits of a float, so that sums are rounded and equal ones differ by where they were rounded."""
    r = random.Random(seed)
    model = random_model(seed)
    scale, sign = 10 ** r.uniform(2, 6.5), r.choice([(1,), (-1,), (1, -1)])
    model.pieces = [(p, float(np.float32(s * scale * r.choice(sign))) if k == spm_proto.NORMAL else s, k)
                    for p, s, k in model.pieces]
    return model
