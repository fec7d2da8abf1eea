# SPDX-License-Identifier: MIT
"""Encoding: one row, as tokenizers.Encoding shows it."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Protocol, Tuple

from . import _core, _options

_COLUMNS = ("input_ids", "token_type_ids", "attention_mask", "special_tokens_mask", "sequence", "offset_mapping", "tokens")


class _Rows(Protocol):
    """Where an Encoding's columns come from."""

    @property
    def n_sequences(self) -> int: ...
    def length(self, row: int) -> int: ...
    def ids(self, row: int) -> List[int]: ...
    def column(self, name: str, row: int) -> List[Any]: ...


class Call:
    """Rows of one call. Offsets cost time: where the call names no unit they are made when first asked for, in
    code points."""

    __slots__ = ("_arguments", "_names", "rows", "ids", "_with_offsets")

    def __init__(self, model: "_core.Model", first: Any, second: Any, options: Dict[str, int], names: Tuple[str, str],
                 unit: Optional[int] = None, windows_keep_types: bool = False):
        self._arguments = (model, first, second, options)
        self._names = (*names, windows_keep_types)
        asked = _options.OFFSETS["code_points"] if unit is None else unit
        self.rows = _core.encode_rows(*self._arguments, unit is not None, asked, *self._names)
        self.ids = self.rows.ids  # what is asked for most often, without a step in between
        self._with_offsets: Optional["_core.Rows"] = None if unit is None else self.rows

    @property
    def n_sequences(self) -> int:
        return 1 if self._arguments[2] is None else 2

    def length(self, row: int) -> int:
        return self.rows.length(row)

    def column(self, name: str, row: int) -> List[Any]:
        if name == "tokens":
            model = self._arguments[0]
            return [model.id_to_piece(i) for i in self.ids(row)]
        if name == "offset_mapping":
            if self._with_offsets is None:
                self._with_offsets = _core.encode_rows(*self._arguments, True, _options.OFFSETS["code_points"],
                                                       *self._names)
            return self._with_offsets.column(name, row)
        return self.rows.column(name, row)


class Padded:
    """Rows of a call, filled up as a tokenizer.json's padding says."""

    __slots__ = ("_call", "_length", "_left", "_pads")

    def __init__(self, call: Call, length: int, padding: Dict[str, Any]):
        self._call, self._length = call, length
        self._left = padding.get("direction") == "Left"
        self._pads: Dict[str, Any] = {
            "input_ids": padding["pad_id"], "token_type_ids": padding["pad_type_id"], "special_tokens_mask": 1,
            "attention_mask": 0, "sequence": -1, "offset_mapping": (0, 0), "tokens": padding["pad_token"]}

    @property
    def n_sequences(self) -> int:
        return self._call.n_sequences

    def length(self, row: int) -> int:
        return max(self._call.length(row), self._length)

    def ids(self, row: int) -> List[int]:
        return self.column("input_ids", row)

    def column(self, name: str, row: int) -> List[Any]:
        column = self._call.column(name, row)
        gap = [self._pads[name]] * (self._length - len(column))
        return gap + column if self._left else column + gap


class _Stored:
    """The columns of one row that was pickled."""

    __slots__ = ("columns", "n_sequences")

    def __init__(self, columns: Dict[str, List[Any]], n_sequences: int):
        self.columns, self.n_sequences = columns, n_sequences

    def length(self, row: int) -> int:
        return len(self.columns["input_ids"])

    def ids(self, row: int) -> List[int]:
        return self.column("input_ids", row)

    def column(self, name: str, row: int) -> List[Any]:
        return list(self.columns[name])


class Encoding(_core.Row):
    """One row, with the attributes of tokenizers.Encoding. Lists are made when asked for; `ids`, which is asked for
    most often, without a step in Python. Pickling reads all of them, offsets too."""

    __slots__ = ("_overflowing",)

    _call: _Rows
    _overflowing: List[Encoding]

    def __len__(self) -> int:
        return self._call.length(self._row)

    @property
    def type_ids(self) -> List[int]:
        return self._call.column("token_type_ids", self._row)

    @property
    def attention_mask(self) -> List[int]:
        return self._call.column("attention_mask", self._row)

    @property
    def special_tokens_mask(self) -> List[int]:
        return self._call.column("special_tokens_mask", self._row)

    @property
    def offsets(self) -> List[Tuple[int, int]]:
        return self._call.column("offset_mapping", self._row)

    @property
    def sequence_ids(self) -> List[Optional[int]]:
        return [None if i < 0 else i for i in self._call.column("sequence", self._row)]

    @property
    def tokens(self) -> List[str]:
        return self._call.column("tokens", self._row)

    @property
    def n_sequences(self) -> int:
        return self._call.n_sequences

    @property
    def overflowing(self) -> List[Encoding]:
        """The further windows of the text."""
        try:
            return self._overflowing
        except AttributeError:
            self._overflowing = []
            return self._overflowing

    def __repr__(self) -> str:
        return f"Encoding(num_tokens={len(self)}, attributes=[ids, type_ids, tokens, offsets, " \
               "attention_mask, special_tokens_mask, overflowing])"

    def __reduce__(self) -> Any:
        return (_restore, ({name: self._call.column(name, self._row) for name in _COLUMNS}, self.overflowing, self.n_sequences))


def encodings(call: _Rows, rows: Optional["_core.Rows"], count: int) -> List[Encoding]:
    """Of a call's first `count` rows. rows: what has the call's ids, if they are nowhere else."""
    return _core.encodings(Encoding, call, rows, count)


def _restore(columns: Dict[str, List[Any]], overflowing: List[Encoding], n_sequences: int) -> Encoding:
    encoding = encodings(_Stored(columns, n_sequences), None, 1)[0]
    encoding._overflowing = overflowing
    return encoding
