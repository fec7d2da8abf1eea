# SPDX-License-Identifier: MIT
"""contracts_test.py INCLUDE_FOLDER: every function of the public C headers has a contract.

The head of each header says who may call from which threads. The comment right before a function says
what it costs ("O(...)") and, where it returns a status, its errors ("Errors: ...", names without
RANKFEED_E_, each of which must exist). Functions without a comment of their own fail. Standard library
only."""

import pathlib
import re
import sys

COMMENT = re.compile(r"/\*.*?\*/", re.S)
FUNCTION = re.compile(r"(/\*(?:[^*]|\*(?!/))*\*/)?([^\S\n]*\n?)RANKFEED_API\s+([^;{]*?)(rankfeed_\w+)\([^;]*?\);", re.S)
NAME = re.compile(r"\b[A-Z][A-Z_]+\b")


def plain(comment):
    return " ".join(re.sub(r"^\s*/?\*+/?", "", line).rstrip("*/ ") for line in comment.splitlines())


def check(path, statuses):
    text = path.read_text(encoding="utf-8")
    problems, count = [], 0
    head = plain(COMMENT.match(text)[0])
    for found in FUNCTION.finditer(text):
        comment, _, returns, name = found.groups()
        count += 1
        where = f"{path.name}:{text[:found.start(4)].count(chr(10)) + 1}: {name}"
        if comment is None:
            problems.append(f"{where}: no comment right before it")
            continue
        said = plain(comment)
        if "O(" not in said:
            problems.append(f"{where}: no cost, O(...)")
        if "thread" not in head and "thread" not in said:
            problems.append(f"{where}: neither it nor the head of the header speaks of threads")
        if "rankfeed_status " in returns:
            errors = re.search(r"Errors(?:, after [^:]*)?:(.*)", said)
            if errors is None:
                problems.append(f"{where}: returns a status, no \"Errors:\"")
                continue
            named = [n for n in NAME.findall(errors[1]) if n in statuses]
            if not named and not re.search(r"those of|\bnone\b|what rankfeed_|first status", errors[1]):
                problems.append(f"{where}: names no status of status.h")
    declared = len(re.findall(r"^RANKFEED_API ", text, re.M))
    if declared != count:
        problems.append(f"{path.name}: {declared} functions declared, {count} read")
    return problems, count


def main():
    include = pathlib.Path(sys.argv[1])
    status = (include / "status.h").read_text(encoding="utf-8")
    statuses = set(re.findall(r"RANKFEED_E_(\w+) =", status))
    problems, total = [], 0
    for path in sorted(include.glob("*.h")):
        text = path.read_text(encoding="utf-8")
        found, count = check(path, statuses)
        problems += found
        total += count
        # A status named in prose exists.
        problems += [f"{path.name}: RANKFEED_E_{n} does not exist"
                     for n in re.findall(r"\bE_([A-Z][A-Z_]+)\b", text.replace("RANKFEED_E_", "E_"))
                     if n not in statuses and path.name != "status.h"]
    # The check itself: a function without comment, one without cost, one without errors.
    scratch = pathlib.Path(sys.argv[2]) / "planted.h"
    scratch.write_text("/* threads */\nRANKFEED_API void rankfeed_a(int x);\n\n/* Text. Errors: ARGUMENT. */\n"
                       "RANKFEED_API rankfeed_status rankfeed_b(int x);\n/* O(1). */\n"
                       "RANKFEED_API rankfeed_status rankfeed_c(void);\n", encoding="utf-8")
    planted, _ = check(scratch, statuses)
    if len(planted) != 3:
        problems.append(f"three planted gaps, found: {planted}")
    print("\n".join(problems) or f"{total} functions, each with its contract")
    sys.exit(1 if problems or total < 80 else 0)


main()
