# SPDX-License-Identifier: MIT
"""What drift.py lets pass: a difference, a refused file and an exception are failures until they are explained exactly."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import drift
from versions import version_key

EXPLAINED = {"package": "p", "from": "0.2.0", "to": "0.2.1", "suite": "stress", "mode": "m", "differ": 3,
             "reason": "Known.", "followed_by": "nothing"}


def results(version="0.2.1", **suite):
    return {"p": {version: {"versions": {"p": version}, "suites": [
        {"suite": "stress", "mode": "m", "compared": 10, "differ": 0} | suite]}}}


class Judge(unittest.TestCase):
    def fails(self, found, expected):
        return bool(drift.judge(found, expected)[0])

    def test_nothing_differs(self):
        self.assertFalse(self.fails(results(), []))

    def test_differences_must_be_explained_exactly(self):
        self.assertTrue(self.fails(results(differ=3), []))
        self.assertFalse(self.fails(results(differ=3), [EXPLAINED]))
        self.assertTrue(self.fails(results(differ=4), [EXPLAINED]))
        self.assertTrue(self.fails(results(differ=0), [EXPLAINED]))

    def test_of_the_versions_named_only(self):
        for version in ("0.1.99", "0.2.2", "0.10.0", "1.0.0rc1"):
            self.assertTrue(self.fails(results(version, differ=3), [EXPLAINED]), version)
        self.assertFalse(self.fails(results("0.2.0", differ=3), [EXPLAINED]))

    def test_other_suites_and_modes_are_not_covered(self):
        self.assertTrue(self.fails(results(differ=3), [EXPLAINED | {"suite": "XQuAD"}]))
        self.assertTrue(self.fails(results(differ=3), [EXPLAINED | {"mode": "other"}]))

    def test_refused_files_and_exceptions(self):
        self.assertTrue(self.fails(results(refused=2), []))
        self.assertFalse(self.fails(results(refused=2), [EXPLAINED | {"differ": 0, "refused": 2}]))
        self.assertTrue(self.fails(results(error="X: y", compared=0), []))

    def test_explained_twice_or_nothing_compared(self):
        self.assertTrue(self.fails(results(differ=3), [EXPLAINED, EXPLAINED]))
        self.assertTrue(self.fails(results(compared=0), []))

    def test_an_explanation_of_an_earlier_run_is_forgotten(self):
        found = results(differ=3)
        drift.judge(found, [EXPLAINED | {"suite": "XQuAD"}, EXPLAINED])
        self.assertTrue(self.fails(found, []))
        self.assertNotIn("explanation", found["p"]["0.2.1"]["suites"][0])

    def test_table_names_what_was_not_run(self):
        found = results(differ=3)
        found["p"]["0.1.0"] = {drift.NOT_RUN: "no wheel"}
        drift.judge(found, [EXPLAINED])
        text = drift.table(found, [EXPLAINED])
        self.assertIn("| 0.2.1 | 3 [1] |", text)
        self.assertIn("| 0.1.0 | not run: no wheel", text)
        self.assertIn("1. Known. Followed by: nothing.", text)

    def test_order_of_versions(self):
        versions = ["0.2.3", "0.2.10", "0.23.3", "1.0.0rc1", "1.0.0rc3", "1.0.0"]
        self.assertEqual(sorted(reversed(versions), key=version_key), versions)


if __name__ == "__main__":
    unittest.main()
