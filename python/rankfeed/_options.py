# SPDX-License-Identifier: MIT
"""Names of options as HuggingFace writes them, to the numbers of rankfeed/rerank.h."""

from __future__ import annotations

from typing import Dict, Optional, Union

SPLIT_SPECIAL_TOKENS = 4
SPECIALS_IN_TEXT = {"parse": 0, "escape": 16, "error": 8}

TRUNCATION = {"do_not_truncate": 0, "none": 0, "longest_first": 1, "longest_first_slow": 2,
              "only_first": 3, "only_second": 4}
SIDE = {"right": 0, "left": 1, "model": 2}
LAYOUT = {"padded": 0, "packed": 1}
DTYPE = {"int32": 0, "int64": 1, "uint32": 2}
OVERFLOW = {"drop": 0, "short_last": 1, "aligned_last": 2}
SORT = {"none": 0, "descending": 1, "ascending": 2}
BUDGET = {"layout": 0, "padded": 1, "packed": 2}
ACTIVATION = {"raw": 0, "sigmoid": 1, "softmax": 2}
AGGREGATION = {"max": 0, "first": 1, "mean": 2}
TIES = {"ascending": 0, "descending": 1}


def choice(table: Dict[str, int], name: str, value: str) -> int:
    try:
        return table[value]
    except (KeyError, TypeError):
        raise ValueError(f"{name} must be one of {', '.join(table)}, not {value!r}") from None


def truncation_name(value: Union[bool, str, None]) -> str:
    """transformers' values: True is longest_first, False and None cut nothing."""
    if value is True:
        return "longest_first"
    if value is None or value is False:
        return "do_not_truncate"
    return str(getattr(value, "value", value))  # an enum of transformers


def padding_name(value: Union[bool, str, None]) -> str:
    if value is True:
        return "longest"
    if value is None or value is False:
        return "do_not_pad"
    name = str(getattr(value, "value", value))
    if name not in ("longest", "max_length", "do_not_pad"):
        raise ValueError(f"padding must be a bool, longest, max_length or do_not_pad, not {name!r}")
    return name


def positive(name: str, value: Optional[int]) -> int:
    if value is None:
        return 0
    if value < 0:
        raise ValueError(f"{name} must not be negative")
    return int(value)
