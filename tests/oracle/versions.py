# SPDX-License-Identifier: MIT
"""Versions of the references: their order, and the ones that tests/requirements.txt pins. Standard library only."""

import re
from pathlib import Path


def version_key(version):
    """Orders versions as PEP 440 does those of the reference packages: 1.0.0rc3 < 1.0.0."""
    numbers, pre = re.fullmatch(r"(\d+(?:\.\d+)*)(.*)", version).groups()
    return [int(x) for x in numbers.split(".")], not pre, pre


def pinned(package):
    """The version that tests/requirements.txt pins: the one that tests and documents speak of."""
    text = (Path(__file__).parents[1] / "requirements.txt").read_text()
    return re.search(rf"^{package}==(\S+)$", text, re.MULTILINE).group(1)
