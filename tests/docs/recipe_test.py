#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CONTRIBUTING.md: the recipe for a normalizer lists every file of src that knows one, and at most six of src and twelve in all.

usage: recipe_test.py SOURCE_DIR
"""
import os
import re
import sys

# What the files do that know elements by name beyond the recipe: which elements a kind of model is published with, and what is
# about white space.
OTHERS = {"src/builder/fast/eligibility.cc", "src/builder/models/bpe/space_words.cc", "src/normalize/normalize.cc"}
BEYOND = {"kBertClean", "kBertSpaceCjk", "kBertStripMarks", "kPrepend", "kReplace", "kReplaceRun", "kReplaceSpaces", "kStrip"}


def main():
    root = sys.argv[1]
    text = open(os.path.join(root, "CONTRIBUTING.md"), encoding="utf-8").read()
    recipe = re.search(r"\*\*A normalizer\.\*\*(.*?)\n\*\*", text, re.S).group(1)
    steps = re.findall(r"^(\d+)\. (.*?)(?=^\d+\. |^$)", recipe, re.M | re.S)
    problems = []
    listed = set()
    for number, step in steps:
        files = re.findall(r"`((?:src|tests|docs|fuzz)/[^`]+)`", step)
        if number not in ("7",) and len(files) != 1:
            problems.append(f"step {number} names {len(files)} files")
        listed.update(files[:1])
        # Of two families of one room, as in `src/normalize/filters.cc` or `replace.cc`.
        listed.update(os.path.join(os.path.dirname(files[0]), name) for name in re.findall(r" or `([a-z_]+\.cc)`", step))
    in_src = sum(1 for _, step in steps if "`src/" in step)
    if [number for number, _ in steps] != [str(i + 1) for i in range(len(steps))]:
        problems.append("the steps are not numbered in turn")
    if in_src > 6 or len(steps) > 12:
        problems.append(f"{in_src} files of src and {len(steps)} in all: at most 6 and 12")
    for path in sorted(listed):
        if not os.path.exists(os.path.join(root, path)):
            problems.append(f"{path}: no such file")
    rows = open(os.path.join(root, "src", "image", "ops.def"), encoding="utf-8").read()
    elements = re.findall(r"^(?:FILTER|EDIT)\(\d+, (k\w+),", rows, re.M)
    if len(elements) < 10:
        problems.append(f"only {len(elements)} elements were found")
    for folder, _, names in sorted(os.walk(os.path.join(root, "src"))):
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), root)
            source = open(os.path.join(root, path), encoding="utf-8").read() if name.endswith((".cc", ".h", ".def")) else ""
            for element in sorted(set(re.findall(r"(?:Op::|EDIT\(\d+, |FILTER\(\d+, )(k\w+)", source)) & set(elements)):
                if path not in listed and not (path in OTHERS and element in BEYOND):
                    problems.append(f"{path} knows {element}, and the recipe does not list it")
    for problem in problems:
        print(problem)
    print(f"{in_src} files of src, {len(steps)} in all, {len(elements)} elements")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
