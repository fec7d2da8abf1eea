# SPDX-License-Identifier: MIT
"""Options: their names as HuggingFace writes them, their types, and the numbers of rankfeed/rerank.h. What is
no value of an argument is refused in one sentence with the argument, the value and what is allowed."""

from __future__ import annotations

import difflib
import operator
import os
from typing import (TYPE_CHECKING, Any, Dict, Iterable, Literal, Mapping, Optional, Sequence, Tuple, TypedDict,
                    Union)

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

SPLIT_SPECIAL_TOKENS = 4
SPECIALS_IN_TEXT = {"parse": 0, "escape": 16, "error": 8}

TRUNCATION = {"do_not_truncate": 0, "none": 0, "longest_first": 1, "longest_first_slow": 2,
              "only_first": 3, "only_second": 4, "text_end": 5}
SIDE = {"right": 0, "left": 1, "model": 2}
ONE_SIDE = {"right": 0, "left": 1}
LAYOUT = {"padded": 0, "packed": 1}
DTYPE = {"int32": 0, "int64": 1, "uint32": 2}
OVERFLOW = {"drop": 0, "short_last": 1, "aligned_last": 2}
SORT = {"none": 0, "descending": 1, "ascending": 2}
BUDGET = {"layout": 0, "padded": 1, "packed": 2}
ACTIVATION = {"raw": 0, "sigmoid": 1, "softmax": 2}
AGGREGATION = {"max": 0, "first": 1, "mean": 2}
TIES = {"ascending": 0, "descending": 1}
PAGES = {"auto": 0, "hugetlb": 1, "transparent": 2, "base": 3, "file": 4}
INVALID_TEXT = {"reference": 0, "error": 1, "replace": 2}
OFFSETS = {"bytes": 0, "code_points": 2, "utf16": 32}  # RANKFEED_OFFSETS_*

Text = Union[str, bytes]
# A document is a text or an array of ids. Columns of Arrow (pyarrow, pandas, polars) are read in place.
Document = Union[str, bytes, "npt.NDArray[np.int32]", "npt.NDArray[np.int64]", Any]
Texts = Iterable[Any]  # a str is an iterable of str too: refused when the call runs
Truncation = Literal["longest_first", "longest_first_slow", "only_first", "only_second", "text_end", "do_not_truncate", "none"]
Padding = Literal["longest", "max_length", "do_not_pad"]
Side = Literal["right", "left"]
ModelSide = Literal["right", "left", "model"]
Specials = Literal["parse", "escape", "error"]
Overflow = Literal["drop", "short_last", "aligned_last"]
Budget = Literal["layout", "padded", "packed"]
Sort = Literal["none", "descending", "ascending"]
DType = Literal["int32", "int64", "uint32"]
TensorName = Literal["attention_mask", "token_type_ids", "position_ids", "lengths", "row_of_token", "last_tokens"]
TensorKind = Literal["np", "dlpack", "pt"]
Activation = Literal["raw", "sigmoid", "softmax"]
Aggregation = Literal["max", "first", "mean"]
Ties = Literal["ascending", "descending"]
InvalidText = Literal["reference", "error", "replace"]
OffsetUnit = Literal["bytes", "code_points", "utf16"]
Parity = Literal["huggingface", "sentencepiece", "sentencepiece-0.2.1"]
Pages = Literal["auto", "hugetlb", "transparent", "base", "file"]


class RowOptions(TypedDict, total=False):
    """Options of Request that Tokenizer.encode_pairs hands on; see Request."""

    truncation_side: Side
    padding_side: ModelSide
    pad_to_multiple_of: Optional[int]
    add_special_tokens: bool
    split_special_tokens: bool
    specials_in_text: Specials
    overflow: Overflow
    max_query_tokens: Optional[int]
    max_tokens_per_doc: Optional[int]
    max_chunks_per_doc: Optional[int]
    max_rows_per_batch: Optional[int]
    max_tokens_per_batch: Optional[int]
    budget: Budget
    sort: Sort
    dtype: DType
    tensors: Optional[Sequence[TensorName]]
    max_arena_bytes: int
    byte_ranges: Optional[bool]
    template: Any
    instruction: Optional[str]


class RequestOptions(RowOptions, total=False):
    """All options of Request."""

    max_length: Optional[int]
    truncation: Union[bool, Truncation]
    padding: Union[bool, Padding]
    stride: int


class Attributes(TypedDict, total=False):
    """Attributes of Tokenizer that its constructors take."""

    model_max_length: Optional[int]
    model_input_names: Sequence[str]
    padding_side: Side
    truncation_side: Side
NO_LIMIT = int(1e20)  # transformers' bound for "no model_max_length" (LARGE_INTEGER)


def words(value: Any) -> str:
    """The value, cut, for a message."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def choice(table: Mapping[str, int], name: str, value: Any) -> int:
    try:
        return table[value]
    except (KeyError, TypeError):
        raise ValueError(f"{name} is {words(value)}; it must be one of {', '.join(table)}") from None


def truncation_name(value: Any) -> str:
    """transformers' values: True is longest_first, False and None cut nothing."""
    if value is True:
        return "longest_first"
    if value is None or value is False:
        return "do_not_truncate"
    name = getattr(value, "value", value)  # an enum of transformers
    if not isinstance(name, str) or name not in TRUNCATION:
        raise ValueError(f"truncation is {words(value)}; it must be a bool, or one of {', '.join(TRUNCATION)}")
    return name


def padding_name(value: Any) -> str:
    if value is True:
        return "longest"
    if value is None or value is False:
        return "do_not_pad"
    name = getattr(value, "value", value)
    if name not in ("longest", "max_length", "do_not_pad"):
        raise ValueError(f"padding is {words(value)}; it must be a bool, longest, max_length or do_not_pad")
    return str(name)


def tensors_name(value: Any, allowed: Sequence[Optional[str]]) -> Optional[str]:
    name = getattr(value, "value", value)
    if name not in allowed:
        raise ValueError(f"return_tensors is {words(value)}; it must be one of {', '.join(map(str, allowed))}")
    return None if name is None else str(name)


def number(name: str, value: Any, least: int = 0, why: str = "", most: int = 2**32 - 1) -> int:
    """A count; None, where the option has no value, is 0. why: what asks for the least."""
    if value is None:
        return 0
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} is {value}; it must be an int")
    try:
        count = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {words(value)}; it must be an int") from None
    if not least <= count <= most:
        bound = f"at least {least}{why}" if count < least else f"at most {most}"
        raise ValueError(f"{name} is {count}; it must be {bound}")
    return count


def limit(name: str, value: Any, least: int = 1, why: str = "", most: int = 2**32 - 1) -> int:
    """The same, where None says that there is no limit."""
    return number(name, value, least, why + ", or None for no limit", most)


def numbers(options: Mapping[str, Any]) -> Dict[str, int]:
    """Names of choices among options of rows to their numbers."""
    tables = {"truncation": TRUNCATION, "truncation_side": SIDE, "overflow": OVERFLOW}
    return {name: choice(tables[name], name, value) if name in tables else int(value) for name, value in options.items()}


def path(name: str, value: Any) -> str:
    try:
        return os.fsdecode(value)
    except TypeError:
        raise TypeError(f"{name} is {words(value)}; it must be a path, a str or os.PathLike") from None


def flag(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} is {words(value)}; it must be True or False")
    return bool(value)


def row_minimum(specials: int, pair: bool) -> Tuple[int, str]:
    """What max_length must be at least, and why."""
    if specials <= 1:
        return 1, ""
    return specials, f", the special tokens of a {'pair' if pair else 'text'}"


def check_names(function: str, given: Iterable[str], known: Sequence[str]) -> None:
    """Refuses keywords that a function does not have, with the one that was probably meant."""
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(known)}"
            raise TypeError(f"{function}() has no argument {name}; {hint}")


def check_tensors(names: Any, known: Mapping[str, int]) -> None:
    if isinstance(names, str):
        raise TypeError(f"tensors is {names!r}, one str; it must be a list of names, such as [{names!r}]")
    if not isinstance(names, Iterable):
        raise TypeError(f"tensors is {words(names)}; it must be a list of names")
    for name in names:
        choice(known, "tensors", name)


Options = Dict[str, int]
