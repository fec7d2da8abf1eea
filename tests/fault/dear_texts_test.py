#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds dear texts to an absolute cost: none of TEXTS takes more than BOUND instructions per byte in a published form,
or BOUND_WITH_OFFSETS with offsets, from an empty word cache on.

  dear_texts_test.py --rankfeed R --program P [FORM ...]   without forms: all of FORMS

callgrind counts, so the figures repeat exactly. A form is a vocabulary and a pipeline of tests/oracle/variants.py over it, or
"file": the published file itself.
"""

import argparse
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "oracle"))
import variants  # noqa: E402

SKIPPED = 77
BOUND, BOUND_WITH_OFFSETS = 2000, 4000
SIZE = 6144  # bytes of a text; spans, batches and groups are full several times
FILES = {"xlmr.json": "xlmr.tokenizer.json", "xlmr.model": "xlmr.model", "xlnet.model": "models/xlnet.model"}
# XLNet's vocabulary has user-defined pieces, . and " among them, which become added tokens of its converted files.
FORMS = ["xlmr.json:file", "xlmr.json:xlmr_a", "xlmr.json:xlmr_b", "xlmr.json:xlmr_c", "xlmr.model:file", "xlnet.model:file",
         *(f"xlnet.model:{name}" for name in (
             "t5_always", "t5_first", "albert", "xlnet", "xlnet_accents", "deberta_v4", "deberta_v4_punct", "deberta_v5",
             "camembert", "pegasus", "bigbird", "rembert"))]
MARKS = "\u0300\u0301\u0302\u0303\u0304\u0308\u0323\u0327\u0328\u0331\u0338\u0344"
WORDS = ("the quick brown fox", "schön größer", "быстрая лиса", "γρήγορη αλεπού", "敏捷的棕色狐狸", "素早い茶色の", "빠른 갈색", "तेज़ भूरी", "ثعلب سريع",
         "สุนัขจิ้งจอก", "נחום שועל", "🦊🐕", "x²+y²≠½", "Ⅷ ㎯ ﷺ ‴")


def repeated(unit):
    """The unit again and again, as often as SIZE bytes take."""
    return unit * (SIZE // len(unit.encode()) + 1)


def drawn(*units):
    """Units drawn at random, so that few words come twice."""
    draw, text, size = random.Random(1), [], 0
    while size < SIZE:
        text.append(draw.choice(units))
        size += len(text[-1].encode())
    return "".join(text)


def texts(added):
    """By name. added: an added token of the form."""
    letters = [a + m + n for a in "aeiouAEIOUcnsz" for m in MARKS for n in ("", "\u0323", " ")]
    marks = random.Random(2)
    return {
        "U+FDFA with marks": drawn("ﷺ", "ﷺ\u0301", "ﷺ\u0323\u0301", "\u0600ﷺ", " "),
        "U+2034 between others": drawn("㎯'", "ﷺ", "'‴<", "¼<", "\u0602", "#ﷺ‴", "‴", "\u00a0", "\u0323"),
        "U+33AF in rows": repeated("㎯"),
        "0 and U+33AF in turns": repeated("0㎯"),
        "decomposed accents": drawn(*letters),
        "short stretches between added tokens": drawn(*(s + added for s in ("a", "bc", "ﷺ", "d\u0344", "\u2057", "‴\u0301", "<\u0338"))),
        "a row of 1,000 marks": repeated("a" + "".join(marks.choice(MARKS) for _ in range(1000)) + " "),
        "one letter": repeated("a"),
        "<": repeated("<"),
        "spaces": repeated(" "),
        "dots": repeated("."),
        "mixed scripts": drawn(*WORDS, " ", "-", "\u0301", "\u200d"),
    }


def source(form, data, folder):
    """The file of a form, made where it is no published one."""
    vocabulary, pipeline = form.split(":")
    path = data / FILES[vocabulary]
    if pipeline == "file":
        return path
    base = variants.Base.from_json(path) if path.suffix == ".json" else variants.Base.from_model(path)
    file = folder / "tokenizer.json"
    file.write_text(json.dumps(dict(variants.families(base))[pipeline]))
    return file


def count(program, image, by_name, folder):
    """Instructions per byte by name, without offsets and with."""
    files = []
    for number, text in enumerate(by_name.values()):
        files.append(folder / f"text{number}")
        files[-1].write_bytes(text.encode())
    out = folder / "callgrind.out"
    for old in folder.glob("callgrind.out*"):
        old.unlink()
    done = subprocess.run(["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={out}", f"--log-file={folder}/log",
                           program, image, *files], stdout=subprocess.PIPE, text=True, check=True)
    costs = []
    for number, size in enumerate(done.stdout.splitlines()):
        profile = pathlib.Path(f"{out}.{number + 1}")
        total = re.search(r"^totals: (\d+)", profile.read_text(), re.M) if profile.exists() else None
        costs.append(int(total.group(1)) / int(size) if total else 0)
    if len(costs) != 2 * len(by_name) or min(costs) < 1:
        sys.exit(f"dear_texts_test.py: callgrind counted nothing of some text: {costs}; was dear_texts built without valgrind's headers?")
    return dict(zip(by_name, costs)), dict(zip(by_name, costs[len(by_name):]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rankfeed", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--data", default=os.environ.get("RANKFEED_SHARED_DATA", str(ROOT.parent / "shared" / "data")))
    parser.add_argument("forms", nargs="*")
    o = parser.parse_args()
    data = pathlib.Path(o.data)
    missing = [name for name in FILES.values() if not (data / name).exists()]
    if missing:
        print(f"not run: no {data / missing[0]}")
        return SKIPPED
    if subprocess.run(["sh", "-c", "command -v valgrind"], stdout=subprocess.DEVNULL).returncode != 0:
        print("not run: no valgrind (apt-get install valgrind)")
        return SKIPPED
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for form in o.forms or FORMS:
            image = folder / "image.rfimg"
            subprocess.run([o.rankfeed, "compile", source(form, data, folder), "-o", image], check=True, stdout=subprocess.DEVNULL)
            by_name = texts('"' if form.startswith("xlnet") else "</s>")
            without, with_offsets = count(o.program, image, by_name, folder)
            for mode, bound, costs in ("ids", BOUND, without), ("offsets", BOUND_WITH_OFFSETS, with_offsets):
                dearest = max(costs, key=costs.get)
                print(f"{form:28} {mode:8} at most {costs[dearest]:6.0f} instructions per byte of {bound}: {dearest}", flush=True)
                for text, cost in sorted(costs.items(), key=lambda item: -item[1]):
                    print(f"    {cost:7.0f} {text}{'  ABOVE THE BOUND' if cost > bound else ''}")
                failed += costs[dearest] > bound
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
