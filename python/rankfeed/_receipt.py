# SPDX-License-Identifier: MIT
"""Receipts: what tokenization costs on a workload, as `rankfeed receipt` measures it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any, Dict, Union

Path = Union[str, "os.PathLike[str]"]


def receipt(vocab: Path, docs: Path, *, program: str = "rankfeed", **options: Any) -> Dict[str, Any]:
    """Measures a vocabulary on the documents of a file and returns the receipt (docs/receipts.md). Runs
    the command line in a process of its own, so that this interpreter's threads take no part in what is
    measured; program: where it is. options: those of `rankfeed receipt run`, with underscores, for example
    requests=100, encode_seconds=0.5; True for a flag."""
    found = shutil.which(program)
    if found is None:
        raise FileNotFoundError(f"no program {program!r}: build the command line (scripts/demo.sh) or name it")
    arguments = [found, "receipt", "run", "--vocab", os.fspath(vocab), "--docs", os.fspath(docs)]
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            arguments.append(flag)
        elif value not in (None, False):
            values = value if isinstance(value, (list, tuple)) else [value]
            arguments += [flag, *map(str, values)]
    result = subprocess.run(arguments, capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(result.stderr.strip() or f"rankfeed receipt ended with status {result.returncode}")
    measured: Dict[str, Any] = json.loads(result.stdout)
    return measured
