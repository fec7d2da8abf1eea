# SPDX-License-Identifier: MIT
"""Every code point through every Unicode property that a pipeline can show, engine against wheel.

A vocabulary of byte pieces makes the normalized text itself visible as ids, and the ranges of fused
unknown characters make splits visible as offsets. Code points are tried many to a text, each within
its own line; a mismatch is reduced to the code points that matter. Without --all, the planes that Unicode
leaves empty (U+33000 to U+DFFFF, U+E0200 on) are sampled, and so are the blocks of ideographs, of Hangul and
for private use but for their ends, because all of a block have the same properties, and what Python's Unicode data
knows no character of beyond U+FFFF.

  unicode_sweep.py --driver D [--all] [--only NAME,...]
"""

import base64
import json
import sys
import tempfile
import unicodedata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import darts  # noqa: E402
import diff_hf  # noqa: E402
import engine as E  # noqa: E402

PER_TEXT = 24
VOCAB = [["<unk>", 0.0]] + [[f"<0x{b:02X}>", 0.0] for b in range(256)]

# Rules whose effect on a cluster of at most five bytes is to replace it as a whole: keys of one to
# three bytes of each grapheme class.
CLUSTER_RULES = {"a": "X", "\u0915": "Y", "\u00a9": "Z", "\u0600": "W", "\u1100": "U", "\u1161": "V",
                 "\u11a8": "T", "\r": "R", "\u2600": "S", "\u0d4d": "P"}


# Ideographs, Hangul, private use, Tangut; the compatibility ideographs between the last two are no such block.
UNIFORM = [(0x3400, 0xa000), (0xac00, 0xd7a4), (0xe000, 0xf900), (0x17000, 0x18d00), (0x20000, 0x2f800), (0x2fa20, 0x33000)]


def code_points(everything):
    for c in range(0x110000):
        if 0xd800 <= c < 0xe000:
            continue
        empty = 0x33000 <= c < 0xe0000 or c >= 0xe0200
        alike = any(first + 64 <= c < end - 64 for first, end in UNIFORM) or (c > 0xffff and unicodedata.category(chr(c)) == "Cn")
        if everything or not (empty or alike) or c % (211 if empty else 17) == 0:
            yield c


def tokenizer(normalizer=None, pre_tokenizer=None, tokens=()):
    added = [{"id": len(VOCAB) + i, "special": False, "normalized": False, "single_word": False,
              "lstrip": False, "rstrip": False, **t} for i, t in enumerate(tokens)]
    return {"version": "1.0", "added_tokens": added, "normalizer": normalizer, "pre_tokenizer": pre_tokenizer,
            "post_processor": None, "decoder": None, "truncation": None, "padding": None,
            "model": {"type": "Unigram", "unk_id": 0, "byte_fallback": True, "vocab": VOCAB}}


def precompiled(rules):
    blob = darts.build({k.encode(): v.encode() for k, v in rules.items()})
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(blob).decode()}


def sweeps():
    """Yields (name, tokenizer.json, [template...]): '*' in a template stands for the code point."""
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        # Alone; against combining class 1 after it and 240 before it; as a starter between marks.
        yield form, tokenizer({"type": form}), ["*", "a*\u0334", "a\u0345*", "a\u0327*\u0301\u0323"]
    yield "Lowercase", tokenizer({"type": "Lowercase"}), ["*"]
    yield "StripAccents", tokenizer({"type": "StripAccents"}), ["a*"]
    yield "Nmt", tokenizer({"type": "Nmt"}), ["a*"]
    yield "Replace", tokenizer({"type": "Replace", "pattern": {"Regex": r"\s{2,}|[\n\r\t]"}, "content": "_"}), ["a**b"]
    clusters = tokenizer(precompiled(CLUSTER_RULES))
    yield "clusters", clusters, ["a*", "*a\u0301", "\u0600\u0600*", "\u0600\u1100*", "\u0600\u1161*", "\u0600\u11a8*"]
    yield "clusters_pictographic", clusters, ["*\u200d\u00a9\u0301", "\u00a9*\u200d\u00a9\u0301", "\u00a9\u200d*\u0301"]
    yield "clusters_conjunct", clusters, ["*\u094d\u0915\u0301", "\u0915*\u0915\u0301", "\u0915*\u094d\u0915\u0301",
                                          "\u0915\u094d*\u0915\u0301"]
    for name, pre in (("WhitespaceSplit", {"type": "WhitespaceSplit"}), ("Whitespace", {"type": "Whitespace"}),
                      ("Punctuation", {"type": "Punctuation", "behavior": "Isolated"}),
                      ("Digits", {"type": "Digits", "individual_digits": True})):
        yield name, tokenizer(None, pre), ["a*a", "-*"]
    yield "single_word", tokenizer(tokens=[{"content": "QQ", "single_word": True}]), ["*QQ", "QQ*"]
    yield "strip_flags", tokenizer(tokens=[{"content": "QQ", "lstrip": True, "rstrip": True}]), ["a*QQ", "QQ*a"]
    yield "Strip", tokenizer({"type": "Strip", "strip_left": True, "strip_right": True}), None


def texts_of(template, points):
    for first in range(0, len(points), PER_TEXT):
        yield "\n".join(template.replace("*", chr(c)) for c in points[first:first + PER_TEXT])


def main():
    parser = E.arguments(__doc__, "driver", limit=10)
    parser.add_argument("--all", action="store_true", help="the empty planes completely too")
    parser.add_argument("--only", help="names, separated by commas")
    args = parser.parse_args()
    eng, report = E.Engine(args.driver), E.Report(args.limit)
    points = list(code_points(args.all))
    print(f"{len(points)} code points")
    with tempfile.TemporaryDirectory() as directory:
        for name, data, templates in sweeps():
            if args.only and name not in args.only.split(","):
                continue
            comparison = diff_hf.load_both(eng, json.dumps(data), name, report, directory)
            if comparison is None:
                continue
            if templates is None:  # only the ends of a text show it
                comparison.texts([chr(c) + "a" + chr(c) for c in points if c < 0x3100 or c % 17 == 0])
                continue
            for template in templates:
                comparison.texts(list(texts_of(template, points)))
            print(f"  {name}: {report.bad} mismatches so far")
            sys.stdout.flush()
    eng.close()
    return report.finish("code points")


if __name__ == "__main__":
    sys.exit(main())
