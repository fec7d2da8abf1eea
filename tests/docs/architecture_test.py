#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/architecture.md: every function of the walk is in the file named beside it, files and modules go down without a
return, and every room of src that the runtime or the builder has is in the table of rooms.

usage: architecture_test.py SOURCE_DIR
"""
import os
import re
import sys


def main():
    root = sys.argv[1]
    text = open(os.path.join(root, "docs", "architecture.md"), encoding="utf-8").read()
    problems = []
    walk = re.findall(r"^\| (\d+) \| `([^`]+)` \| (.+) \|$", text, re.M)
    if len(walk) < 10:
        problems.append(f"only {len(walk)} rows of the walk were found")
    if len(walk) > 12:
        problems.append(f"the walk has {len(walk)} files, where a reader is to follow a document through at most 12")
    seen = set()
    for number, path, functions in walk:
        if path in seen:
            problems.append(f"{path}: comes twice")
        seen.add(path)
        try:
            source = open(os.path.join(root, path), encoding="utf-8").read()
        except OSError:
            problems.append(f"{path}: no such file")
            continue
        names = re.findall(r"`([A-Za-z_:<>]+)`", functions)
        if not names:
            problems.append(f"{path}: the row names no function")
        for name in names:
            # A definition: at the begin of a line, or indented inside of a class, with its arguments after it.
            if not re.search(rf"^[^\n;=]*(?<![\w:]){re.escape(name)}\(", source, re.M):
                problems.append(f"{path}: no function {name}")
    listed = open(os.path.join(root, "tests", "contract", "include_edges_test.cmake"), encoding="utf-8").read()
    order = re.search(r"set\(order ([^)]*)\)", listed).group(1).split()
    runtime = order[:order.index("parallel")]
    expected = runtime + [module for module in order if module.split("/")[0] == "builder"]
    rooms = re.findall(r"^\| `([a-z/]+)` \|", text, re.M)
    for module in expected:
        if module not in rooms:
            problems.append(f"the table of rooms lacks {module}")
    for module in rooms:
        if module not in expected:
            problems.append(f"the table of rooms has {module}, which is no module of the runtime or the builder")
    for _, path, _ in walk:
        module = path.split("/")[1]
        if module not in runtime:
            problems.append(f"{path}: no module of the runtime")
    picture = re.search(r"```mermaid\n(.*?)```", text, re.S)
    drawn = re.findall(r"src/([a-z/]+)", picture.group(1)) if picture else []
    if len(drawn) < 8:
        problems.append(f"the picture shows only {len(drawn)} rooms")
    for module in drawn:
        if not os.path.isdir(os.path.join(root, "src", module)):
            problems.append(f"the picture shows src/{module}, which is not there")
    for problem in problems:
        print(problem)
    print(f"{len(walk)} files of the walk, {len(rooms)} rooms")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
