# SPDX-License-Identifier: MIT
"""measured_test.py SOURCE: the README's tables are those of bench/RESULTS.md, its first screen quotes a row of it,
and the README stays short enough to read. Standard library only."""

import pathlib
import sys

source = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(source / "bench"))
import run  # noqa: E402

readme = (source / "README.md").read_text(encoding="utf-8")
problems = []
results = run.sections((source / "bench" / "RESULTS.md").read_text(encoding="utf-8"))["In short"]
summary = results.removeprefix("README's tables.\n\n") + "\n"
if run.README_MARKS[0] + summary + run.README_MARKS[1] not in readme:
    problems.append("README.md: the tables of measurements are not those of bench/RESULTS.md; bench/run.py writes both")
screen = readme.splitlines()[:25]
quoted = [line for line in screen if line.startswith("|") and "MB/s" in line]
if not quoted or any(line not in summary for line in quoted):
    problems.append("README.md: the first 25 lines quote no row of the tables, or one that is not in it")
if (lines := readme.count("\n")) >= 250:
    problems.append(f"README.md has {lines} lines; it is to stay under 250")
print("\n".join(problems) or "as in bench/RESULTS.md")
sys.exit(bool(problems))
