# SPDX-License-Identifier: MIT
"""run_part.py K/N SCRIPT ARGUMENTS...: runs of the tests of SCRIPT, a program of unittest, each N-th from the K-th on. All parts
together run each test once."""

import os
import runpy
import sys
import unittest

part, count = map(int, sys.argv[1].split("/"))
sys.argv = sys.argv[2:]
sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
load = unittest.defaultTestLoader.loadTestsFromModule


def tests_of(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from tests_of(test)
        else:
            yield test


def load_part(module, *arguments, **keywords):
    every = list(tests_of(load(module, *arguments, **keywords)))
    assert len(every) >= count, f"{len(every)} tests in {count} parts"
    return unittest.TestSuite(every[part - 1::count])


unittest.defaultTestLoader.loadTestsFromModule = load_part
runpy.run_path(sys.argv[0], run_name="__main__")
