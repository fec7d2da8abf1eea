#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The dearest text of each pipeline: what it costs against plain text of the same pipeline, and a search for dearer ones.

  worst_text.py check  --rankfeed R --program P [FORM ...]             fails when a known text costs more than its form's bound
  worst_text.py search --rankfeed R --program P [--seconds S] [--seed N] [--keep] [FORM ...]
                       looks for dearer texts, counts them, and fails when one is above the bound; --keep adds them
  worst_text.py record --rankfeed R --program P [FORM ...]             counts and times all known texts and writes the results
  worst_text.py stretches --rankfeed R --program P [FORM ...]          fails when a long stretch costs more per byte than one of 64 KiB by
                       more than its form's factor

Costs are instructions per byte under callgrind, which repeat exactly; plain text is 256 KiB of the English passages of
XQuAD. Both are encoded from an empty word cache on, without offsets, on whatever road the engine takes: a form
whose plain text takes the general path is compared with plain text on that path. Known texts, as recipes
(worst_text.cc), and the bounds of the forms are in worst_texts.json, the results in worst_text_results.json.

Texts are of 64 KiB, which the arrays of the general path hold. A stretch that cannot be cut and does not fit into them takes another way
(src/general/long_path.h); texts that are one such stretch, how long, and the factors of some forms are in worst_texts.json too.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FUZZ = pathlib.Path(__file__).resolve().parent
ROOT = FUZZ.parent
sys.path.insert(0, str(ROOT / "tests" / "oracle"))
import variants  # noqa: E402

KNOWN, RESULTS = FUZZ / "worst_texts.json", FUZZ / "worst_text_results.json"
SKIPPED = 77
SHORT = 1 << 16  # bytes of a text, as the program has it


class Forms:
    """Images of the published forms over real vocabularies, made when they are asked for."""

    def __init__(self, data, rankfeed, folder):
        self.data, self.rankfeed, self.folder = data, rankfeed, pathlib.Path(folder)
        self.families = {}

    def image(self, form):
        image = self.folder / f"{form}.rfimg"
        subprocess.run([self.rankfeed, "compile", str(self.source(form)), "-o", str(image)], check=True, stdout=subprocess.DEVNULL)
        return image

    def source(self, form):
        vocabulary, family = form.split(":")
        path = {"xlmr": self.data / "xlmr.tokenizer.json", "xlnet": self.data / "models" / "xlnet.model"}[vocabulary]
        if family == "sentencepiece":
            return self.data / "xlmr.model" if vocabulary == "xlmr" else path
        if vocabulary not in self.families:
            base = variants.Base.from_json(path) if path.suffix == ".json" else variants.Base.from_model(path)
            self.families[vocabulary] = dict(variants.families(base))
        file = self.folder / f"{vocabulary}_{family}.json"
        file.write_text(json.dumps(self.families[vocabulary][family]))
        return file


def count(program, image, plain, recipes, folder, size=()):
    """Instructions per byte: of plain text, and by recipe. size: bytes of a text, if not as ever, and "offsets"."""
    lines = pathlib.Path(folder) / "recipes"
    lines.write_text("".join(recipe + "\n" for recipe in recipes))
    out = pathlib.Path(folder) / "callgrind.out"
    for old in out.parent.glob("callgrind.out*"):
        old.unlink()
    done = subprocess.run(["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={out}",
                           f"--log-file={folder}/log", program, "count", str(image), str(plain), str(lines), *map(str, size)],
                          stdout=subprocess.PIPE, text=True, check=True)
    costs = []
    for i, line in enumerate(done.stdout.splitlines()):
        total = re.search(r"^totals: (\d+)", pathlib.Path(f"{out}.{i + 1}").read_text(), re.M)
        costs.append(int(total.group(1)) / int(line.split()[0]))
    if len(costs) != len(recipes) + 1 or min(costs) == 0:
        sys.exit("worst_text.py: callgrind counted nothing; was worst_text built without valgrind's headers?")
    return costs[0], dict(zip(recipes, costs[1:]))


def time(program, image, plain, recipes, folder):
    lines = pathlib.Path(folder) / "recipes"
    lines.write_text("".join(recipe + "\n" for recipe in recipes))
    done = subprocess.run([program, "time", str(image), str(plain), str(lines)], stdout=subprocess.PIPE, text=True, check=True)
    costs = [float(line.split()[0]) for line in done.stdout.splitlines()]
    return costs[0], dict(zip(recipes, costs[1:]))


def search(program, image, plain, seconds, seed):
    done = subprocess.run([program, "search", str(image), str(plain), "--seconds", str(seconds), "--seed", str(seed)],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    return done.stdout.splitlines()


def stretches(program, forms, plain, known, folder, names):
    """How many forms have a long stretch that is too dear, without offsets or with them."""
    long, failed = known["stretches"], 0
    for form in names or long["bounds"]:
        bound, image = long["bounds"][form], forms.image(form)
        for offsets in [], ["offsets"]:
            _, short_costs = count(program, image, plain, long["texts"], folder, [SHORT, *offsets])
            _, costs = count(program, image, plain, long["texts"], folder, [long["bytes"], *offsets])
            ratios = {recipe: costs[recipe] / short_costs[recipe] for recipe in costs}
            for recipe, ratio in ratios.items():
                print(f"{form:22} {'offsets' if offsets else 'ids':8}{short_costs[recipe]:7.1f} instructions per byte of 64 KiB, "
                      f"{ratio:5.2f} times as many of {long['bytes']} bytes: {recipe}"
                      + ("  ABOVE THE BOUND" if ratio > bound else ""), flush=True)
            failed += max(ratios.values()) > bound
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["check", "search", "record", "stretches"])
    parser.add_argument("--rankfeed", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--data", default=os.environ.get("RANKFEED_SHARED_DATA", str(ROOT.parent / "shared" / "data")))
    parser.add_argument("--seconds", type=int, default=60, help="of climbing, for each form")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="search: add what is dearer than all known to worst_texts.json")
    parser.add_argument("forms", nargs="*")
    o = parser.parse_intermixed_args()
    plain = pathlib.Path(o.data) / "xquad" / "en.jsonl"
    if not plain.exists():
        print(f"not run: no {plain}")
        return SKIPPED
    if subprocess.run(["sh", "-c", "command -v valgrind"], stdout=subprocess.DEVNULL).returncode != 0:
        print("not run: no valgrind (apt-get install valgrind)")
        return SKIPPED
    known = json.loads(KNOWN.read_text())
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        forms = Forms(pathlib.Path(o.data), o.rankfeed, folder)
        if o.what == "stretches":
            return 1 if stretches(o.program, forms, plain, known, folder, o.forms) else 0
        for form in o.forms or known["bounds"]:
            bound, image = known["bounds"][form], forms.image(form)
            recipes = known["texts"]
            if o.what == "search":
                recipes = recipes + [r for r in search(o.program, image, plain, o.seconds, o.seed) if r not in recipes]
            base, costs = count(o.program, image, plain, recipes, folder)
            dearest = max(costs, key=costs.get)
            ratio = costs[dearest] / base
            failed += ratio > bound
            print(f"{form:22} {base:7.1f} instructions per byte of plain text; at most {ratio:5.2f} times as many, bound {bound}: {dearest}"
                  + ("  ABOVE THE BOUND" if ratio > bound else ""), flush=True)
            if o.keep and dearest not in known["texts"]:
                known["texts"].append(dearest)
                KNOWN.write_text(json.dumps(known, indent=1) + "\n")
            if o.what == "record":
                base_ns, ns = time(o.program, image, plain, recipes, folder)
                slowest = max(ns, key=ns.get)
                results[form] = {"plain": round(base, 1), "ratio": round(ratio, 2), "text": dearest, "plain_ns": round(base_ns, 2),
                                 "ratio_ns": round(ns[slowest] / base_ns, 2), "text_ns": slowest}
                RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
