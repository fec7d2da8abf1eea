# SPDX-License-Identifier: MIT
"""measured_test.py SOURCE: the README's table is what bench/run.py makes of the committed bench/results, and the README
stays short enough to read. Standard library only."""

import pathlib
import sys

source = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(source / "bench"))
import run  # noqa: E402

readme = (source / "README.md").read_text(encoding="utf-8")
problems = []
if run.README_MARKS[0] + run.readme_table() + run.README_MARKS[1] not in readme:
    problems.append("README.md: the table of measurements is not that of bench/results; bench/run.py --readme writes it")
if (lines := readme.count("\n")) >= 250:
    problems.append(f"README.md has {lines} lines; it is to stay under 250")
print("\n".join(problems) or "as in bench/results")
sys.exit(bool(problems))
