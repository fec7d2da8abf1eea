#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The comments of src, include and gpu_handoff begin with their verb or their noun (CONTRIBUTING.md, "Comments").

usage: first_words_test.py SOURCE_DIR
"""
import os
import re
import sys

MOST = 15  # a condition may come first where it is the point
RIDDLE = re.compile(r"^\s*(?://|/\*+)\s*(?:Of|What|Where|Which|Those|That|By|With|Without|As)\b(?! (?:far|long|soon) as)")


def riddles(text):
    before = ""
    for number, line in enumerate(text.splitlines(), 1):
        if RIDDLE.match(line) and not before.strip().startswith("//"):
            yield number, line.strip()
        before = line


def main():
    if len(list(riddles("// Of a text.\n// Where it ends.\nint a;\n/* As before. */\n// Returns what\n"))) != 2:
        sys.exit("the pattern does not find what it shall")
    found = [f"{path}:{number}: {line}" for top in ("src", "include", "gpu_handoff")
             for folder, _, names in os.walk(os.path.join(sys.argv[1], top)) for path in sorted(os.path.join(folder, n) for n in names)
             if path.endswith((".h", ".hpp", ".cc", ".inl", ".cu")) for number, line in riddles(open(path, encoding="utf-8").read())]
    print("\n".join(found))
    print(f"{len(found)} comments begin with a word that keeps the subject back: at most {MOST}")
    return len(found) > MOST


if __name__ == "__main__":
    sys.exit(main())
