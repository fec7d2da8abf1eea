# SPDX-License-Identifier: MIT
"""run_session.py SOURCE: runs the interpreter sessions of README.md (blocks of pycon) in the source tree, and compares what they print."""

import doctest
import os
import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1])
readme = (source / "README.md").read_text(encoding="utf-8")
os.chdir(source)  # the sessions name files of the tree
sessions = re.findall(r"```pycon\n(.*?)```", readme, re.S)
runner = doctest.DocTestRunner()
for number, session in enumerate(sessions, 1):
    runner.run(doctest.DocTestParser().get_doctest(session, {}, f"session {number}", "README.md", None))
print(f"{len(sessions)} sessions, {runner.tries} lines of input, {runner.failures} failures")
sys.exit(runner.failures > 0 or runner.tries < 6 or not sessions)
