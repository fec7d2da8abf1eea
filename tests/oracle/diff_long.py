# SPDX-License-Identifier: MIT
"""Compares the engine with the tokenizers wheel over texts longer than the arrays of its scratch (general/scratch.h).

  diff_long.py --driver D --base XLMR.tokenizer.json [--form NAME]... [--pieces N] [--texts N] [--seed S]

For forms of forms.py, each also with trim_offsets: ids alone and with offsets (code points, bytes, UTF-16) of texts of 60 KB to 1 MB: of few
units again and again, so that words may have no end; what vanishes at the begin, so that offsets fall behind; expansions, combining marks,
CR LF, white space, unknown characters and added tokens around the size of the arrays. Exit status 0: no mismatch, 1: mismatches, 77: wheel
or data missing.
"""

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import diff_forms  # noqa: E402
import diff_hf  # noqa: E402
import engine as E  # noqa: E402
import forms as F  # noqa: E402
from versions import pinned  # noqa: E402

ARRAYS = 65 << 10  # Scratch::kArrayBytes
UNITS = ["a", "the ", "the", "o", " ", "  ", "\n", "\r\n", "\t", "\u3000", "\ufdfa", "\ufb01", "\uff76\uff9e", "\u338f", "e\u0301", "\u0323\u0301",
         "\uac00\u11a8", "\u1112\u1161\u11ab", "\u200b", "\x01", "\u00ad", "\u65e5\u672c", "\U0001f600", "\U00012000", "\u0e33", "\u0130", "A", ",",
         "...", "12", "</s>", "<mask>", " <mask> ", "\u2581", "well-known"]
VANISHING = ["", "\x01", "\x01\u0008", "\u00ad\x02", "\u200b", " \x01", "\x01 "]
GROWTH = 13  # of the charsmap of XLM-R, at worst


def texts(count, seed):
    """Few units, mixed in stretches, to sizes at which they leave the arrays."""
    r = random.Random(seed)
    for i in range(count):
        units = r.sample(UNITS, r.randint(1, 5))
        size = r.choice([ARRAYS - 8, ARRAYS, ARRAYS + 9, 2 * ARRAYS, 5 * ARRAYS])
        if i % 3 == 0:
            size = ARRAYS * GROWTH + r.randint(-9, 9)
        out = [r.choice(VANISHING) * r.choice([1, 3, 700, 70000])]
        left = size - len(out[0].encode())
        while left > 0:
            unit = r.choice(units) if r.randrange(4) else "".join(r.choices(units, k=3))
            out.append(unit * r.choice([1, 2, 9, 4000]))
            left -= len(out[-1].encode())
        yield fewer_marks("".join(out).encode()[:size].decode("utf-8", "ignore"))


def fewer_marks(text):
    """More than 64 marks in a row are refused (RANKFEED_MAX_MARKS)."""
    for mark in ("\u0323\u0301", "\u11a8"):
        while mark * 20 in text:
            text = text.replace(mark * 20, mark * 9 + "b")
    return text


def trimming(text):
    made = json.loads(text)
    made["post_processor"] = {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0], "trim_offsets": True, "add_prefix_space": True}
    return json.dumps(made)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", required=True)
    parser.add_argument("--base", required=True, type=Path, help="XLM-R's tokenizer.json")
    parser.add_argument("--form", action="append", choices=F.NAMES, metavar="NAME", help="one form (repeatable)")
    parser.add_argument("--pieces", type=int, help="first pieces of the vocabulary only")
    parser.add_argument("--texts", type=int, default=6, help="of each form, and as many with trim_offsets")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    wheel = diff_hf.tokenizers.__version__
    E.require(wheel == pinned("tokenizers"), f"tokenizers {wheel} is not {pinned('tokenizers')}")
    E.require(args.base.exists(), f"{args.base} is not there")
    base = F.base_of_xlmr(args.base, args.pieces)
    eng, report = E.Engine(args.driver), E.Report(2)
    every = F.forms(base)
    with tempfile.TemporaryDirectory() as folder:
        for name in args.form or F.NAMES:
            before = report.bad
            text = F.text_of(every[name], base)
            for trims in (False, True):
                comparison = diff_hf.load_both(eng, trimming(text) if trims else text, name + " trimming" * trims, report, folder,
                                               make=diff_forms.Comparison)
                if comparison is not None:
                    for one in texts(args.texts, args.seed * 1000 + 2 * F.NAMES.index(name) + trims):
                        comparison.both_roads([one])
            print(f"{name}: {report.bad - before} mismatches", flush=True)
    eng.close()
    return report.finish(f"{len(args.form or F.NAMES)} forms, long texts")


if __name__ == "__main__":
    sys.exit(main())
