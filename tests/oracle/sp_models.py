# SPDX-License-Identifier: MIT
"""Generated SentencePiece models: all piece types and flags of the normalizer."""

import random

import darts
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


# What the fast road's normalizer can meet: spaces of all kinds, what vanishes, spaces inside of what a character
# becomes, keys of several characters, growth. No two spaces in a row, and no key that begins with a separator.
FAST_RULES = {"\t": " ", "\u3000": " ", "\u2581": " ", "\u00a0": " ", "\x01": "", "\u200b": "", "\x02": " a", "\x03": "a ",
              "\x04": " a b ", "A": "a", "O": "oo", "\ufdfa": "ab ba ab", "e\u0301": "\u00e9", "a\u0301": "b",
              "a\u0301\u0323": "ab", "\uff76\uff9e": "\u30ac", "\uff76": "\u30ab", "\ufffd": " ", "\u00bd": "1\u20442"}


def fast_model(seed):
    """A generated model that takes the fast road: U+2581 only in front of pieces, or only after them, all flags of the
    normalizer but escape_whitespaces, user-defined symbols in ASCII."""
    r = random.Random(seed)
    letters = r.choice(["ab", "abo", "abcxy,.", "oO0\u00e9", "aA\u30ab1", "the rainspdog<>".replace(" ", ""), "\u4e16\u754cab"])
    scores = r.choice([[-1.0, -2.0, -3.0], [-1.5, -3.0], [-0.1, -0.2, -0.3, -0.6],
                       [round(-r.random() * 12, 5) for _ in range(40)]])
    pieces = {"\u2581": r.choice(scores)}
    for _ in range(r.randint(6, 110)):
        text = "".join(r.choices(letters, k=r.randint(1, 5)))
        pieces.setdefault("\u2581" + text if r.random() < 0.35 else text, r.choice(scores))
    model = spm_proto.SpmModel()
    model.pieces = [(b"<unk>", 0.0, spm_proto.UNKNOWN), (b"<s>", 0.0, spm_proto.CONTROL), (b"</s>", 0.0, spm_proto.CONTROL)]
    symbols = r.sample(["<sep>", "<se", "ab", "[x]", ".", ",", "a", "<s>", "10", "ba"], r.choice([0, 0, 1, 3]))
    if "<s>" in symbols:
        model.pieces[1] = (b"<bos>", 0.0, spm_proto.CONTROL)
    for symbol in symbols:
        pieces.pop(symbol, None)
        model.pieces.append((symbol.encode(), 0.0, spm_proto.USER_DEFINED))
    model.pieces += [(p.encode(), s, spm_proto.NORMAL if p == "\u2581" or r.random() < 0.9 else spm_proto.UNUSED)
                     for p, s in pieces.items()]
    if r.random() < 0.7:
        some = [k for k in FAST_RULES if r.random() < 0.8]
        model.charsmap = darts.build({k.encode(): FAST_RULES[k].encode() for k in some})
    model.add_dummy_prefix, model.remove_extra_whitespaces = r.random() < 0.6, r.random() < 0.5
    if r.random() < 0.25:  # short texts pass the threshold of the newest rule, with all bits of a float
        scale = 10 ** r.uniform(1, 4)
        model.pieces = [(p, float(np.float32(s * scale)), k) for p, s, k in model.pieces]
    if r.random() < 0.1:
        space = "\u2581".encode()
        model.treat_whitespace_as_suffix = True
        model.pieces = [(p[len(space):] + space if p.startswith(space) else p, s, k) for p, s, k in model.pieces]
    return model


def bpe_model(seed):
    """A generated BPE model: pieces of a few characters with scores that many share, user-defined symbols that reach over
    them, and what no published model has: pieces that no merges make, and cheap ones inside of dear ones. Half are as published
    ones are in what they make of spaces, and take the fast road."""
    r = random.Random(seed)
    letters = r.choice(["a", "ab", "abo", "a\u00e9\u4e16", "ab.,", "oO0"])
    texts = dict.fromkeys(letters + "\u2581")
    scores = r.choice([[-1.0], [-1.0, -2.0], [0.0, -0.0, -1.0, 1.0, 2.5], [-float(k) for k in range(400)]])
    for _ in range(r.randint(1, 120)):
        parts = r.choices(list(texts), k=2) if r.random() < 0.9 else r.choices(letters, k=r.randint(2, 6))
        text = "".join(parts)
        texts.setdefault(text if len(text) < 24 else text[:3])
    model = spm_proto.SpmModel(model_type=2)
    model.pieces = [(b"<unk>", 0.0, spm_proto.UNKNOWN), (b"<s>", 0.0, spm_proto.CONTROL), (b"</s>", 0.0, spm_proto.CONTROL)]
    symbols = r.sample(["<sep>", "<se", "ab", "aa", "\u2581\u2581", "ba", "a" * 5, "xyz"], r.choice([0, 0, 1, 3]))
    model.pieces += [(s.encode(), r.choice(scores), spm_proto.USER_DEFINED) for s in symbols]
    model.pieces += [(t.encode(), r.choice(scores), spm_proto.NORMAL) for t in texts if t not in symbols]
    model.byte_fallback = r.random() < 0.5
    if model.byte_fallback:
        model.pieces += [(b"<0x%02X>" % b, 0.0, spm_proto.BYTE) for b in range(256)]
    model.charsmap = V.trap_charsmap() if r.random() < 0.3 else b""
    model.add_dummy_prefix, model.remove_extra_whitespaces = r.random() < 0.7, r.random() < 0.5
    model.escape_whitespaces = r.random() < 0.8
    if r.random() < 0.5:
        model.charsmap, model.remove_extra_whitespaces, model.escape_whitespaces = b"", False, True
        model.pieces = [p for p in model.pieces if p[2] != spm_proto.USER_DEFINED and "\u2581" not in p[0].decode().lstrip("\u2581")]
    return model


def train(texts, model_type="unigram", **options):
    """A model of the wheel's own trainer, as bytes."""
    import io

    import sentencepiece
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=out, model_type=model_type, vocab_size=2000, character_coverage=0.995,
        num_threads=1, minloglevel=2, hard_vocab_limit=False, **options)
    return out.getvalue()


TRAINED = {
    "identity": dict(normalization_rule_name="identity"),
    "nfkc": dict(normalization_rule_name="nfkc", user_defined_symbols=["<sep>", "[x]", "<s1>"]),
    "nmt_nfkc": dict(normalization_rule_name="nmt_nfkc", add_dummy_prefix=False),
    "nmt_nfkc_cf": dict(normalization_rule_name="nmt_nfkc_cf", remove_extra_whitespaces=False),
    "nfkc_cf": dict(normalization_rule_name="nfkc_cf", remove_extra_whitespaces=False, add_dummy_prefix=False),
    "symbols": dict(normalization_rule_name="identity", add_dummy_prefix=False, remove_extra_whitespaces=False,
                    user_defined_symbols=["<sep>", "."]),
    "suffix": dict(normalization_rule_name="nmt_nfkc", treat_whitespace_as_suffix=True),
    "suffix_all": dict(normalization_rule_name="identity", treat_whitespace_as_suffix=True, add_dummy_prefix=False,
                       remove_extra_whitespaces=False),
    "bpe": dict(model_type="bpe", normalization_rule_name="nmt_nfkc", user_defined_symbols=["<sep>", "[x]"]),
    "bpe_bytes": dict(model_type="bpe", normalization_rule_name="identity", byte_fallback=True,
                      remove_extra_whitespaces=False),
}
