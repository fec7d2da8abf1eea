#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""paths_test.py SOURCE: every relative link of the documents leads to a file, and to a heading of it where it names one; every path
in backticks that begins with a folder of the tree exists; and so does every source file that a comment in src names with its room.
Standard library only."""

import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1]).resolve()
FOLDERS = ("bench", "bindings", "cmake", "data", "docs", "examples", "fuzz", "gpu_handoff", "include", "packaging", "python", "scripts", "src", "tests")
# What programs write there; git ignores it.
MADE = {"examples/build", "bench/results", "bench/results/gpu.json", "fuzz/results.jsonl"}


def anchors(path):
    """The anchors of a page's headings, as renderers of Markdown on the web make them."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


pages = [page for folder in (source, source / "docs", source / "docs/pictures", source / "bench", source / "fuzz", source / "data", source / "examples") for page in sorted(folder.glob("*.md"))]
problems, links, paths = [], 0, 0
for page in pages:
    text = page.read_text(encoding="utf-8")
    name = page.relative_to(source)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        links += 1
        file, _, anchor = target.partition("#")
        path = (page.parent / file).resolve() if file else page
        if not path.exists():
            problems.append(f"{name}: a link to {target}, which is not there")
        elif anchor and path.suffix == ".md" and anchor not in anchors(path):
            problems.append(f"{name}: a link to {target}, which has no such heading")
    for found in re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./*+-]+)`", text):
        paths += 1
        pattern = re.sub("NAME|LIBRARY", "*", found.rstrip("/"))  # in recipes
        if pattern not in MADE and not any(source.glob(pattern)):
            problems.append(f"{name}: {found} is not there")
rooms = "|".join(sorted(room.name for room in (source / "src").iterdir() if room.is_dir()))
for file in sorted((source / "src").rglob("*.*")):
    if file.suffix in (".h", ".cc", ".def"):
        for comment in re.findall(r"//(.*)", file.read_text(encoding="utf-8")):
            for found in re.findall(rf"(?<![\w/.-])((?:{rooms})/[\w/]+\.(?:h|cc|def))\b", comment):
                paths += 1
                if not (source / "src" / found).exists():
                    problems.append(f"{file.relative_to(source)}: a comment names {found}, which is not there")
print("\n".join(problems) or f"{links} links and {paths} paths of {len(pages)} pages")
sys.exit(bool(problems) or links < 50 or paths < 100)
