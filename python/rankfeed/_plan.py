# SPDX-License-Identifier: MIT
"""How the callables of transformers' kind turn texts into a dictionary of lists or tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Optional

import numpy as np

from . import _core, _options


_TENSORS = {"attention_mask": 1, "token_type_ids": 2}
_SINGLE = 1  # RANKFEED_TEMPLATE_SINGLE


class Ragged(ValueError):
    """Tensors of rows of different lengths."""


@dataclass
class Plan:
    """One call's options, resolved: nothing is left to defaults."""

    pair: bool
    special: bool  # add special tokens
    cut: Optional[str]  # a strategy; None: nothing is cut
    limit: int  # tokens of a row, where something is cut or padded to it
    multiple: int  # rows are padded to a multiple of this; 0: to any length
    padding: str  # longest, max_length, do_not_pad
    left: bool  # pads go to the left
    names: List[str]  # of columns that models read
    stride: int
    truncation_side: int
    split_special_tokens: bool
    overflow: bool
    special_tokens_mask: bool
    offsets: bool
    length: bool
    pad_id: int
    pad_type_id: int
    kind: Optional[str]  # of tensors; None: lists
    window_types: Optional[bool] = False  # _transformers.windows_keep_types; None: not known
    objects: bool = True  # rows of different lengths may become a NumPy array of arrays
    longest: int = 0  # of the rows, after run()

    def run(self, model: "_core.Model", first: Any, second: Any, single: bool) -> Dict[str, Any]:
        """The dictionary that transformers returns. single: one text, whose lists are not in a list."""
        if self.cut is not None and (self.stride or self.overflow):
            self._check_room(model.info())
        if self._one_query(model, first, second):
            batch = self._padded(model, first, second)
            if batch is not None:
                return batch
        rows = _core.encode_rows(model, first, second, self._options(model), self.offsets, _options.OFFSETS["code_points"],
                                  "text", "text_pair", bool(self.window_types))
        if not len(rows):
            raise ValueError("text is empty; it must hold at least one text")
        if self.window_types is None and "token_type_ids" in self.names:
            self._check_window_types(rows)
        lengths = rows.lengths
        longest = self.longest = rows.longest
        target = {"do_not_pad": 0, "longest": longest, "max_length": self.limit}[self.padding]
        if target and self.multiple:
            target = -(-target // self.multiple) * self.multiple
        width = max(target, longest)
        uniform = not lengths or width == max(min(lengths), target)
        data: Dict[str, Any] = {}
        pads = {"input_ids": self.pad_id, "token_type_ids": self.pad_type_id, "attention_mask": 0,
                "special_tokens_mask": 1}
        for name in [*self.names, "special_tokens_mask"] if self.special_tokens_mask else self.names:
            if self.kind is not None and uniform:
                data[name] = convert(rows.padded(name, width, pads[name], self.left), self.kind)
            else:
                data[name] = self._ragged(rows.lists(name, target, pads[name], self.left))
        if self.offsets:
            if self.kind is None or not uniform:
                data["offset_mapping"] = self._ragged(rows.lists("offset_mapping", target, 0, self.left))
            else:
                data["offset_mapping"] = as_kind(
                    np.stack([rows.padded(name, width, 0, self.left).numpy()
                              for name in ("offset_begin", "offset_end")], axis=-1), self.kind)
        if self.length:
            data["length"] = as_kind([max(n, target) for n in lengths], self.kind)
        if self.overflow:
            data["overflow_to_sample_mapping"] = as_kind(rows.samples, self.kind)
        if single and self.kind is None and not self.overflow:
            data = {name: value[0] if isinstance(value[0], list) else value for name, value in data.items()}
        return data

    def _one_query(self, model: "_core.Model", first: Any, second: Any) -> bool:
        """Whether the rows are those of one query, padded: then the tensors are made in place, without rows between."""
        if self.kind is None or self.overflow or self.offsets or self.special_tokens_mask or self.length or self.stride:
            return False
        if self.padding == "do_not_pad" or (self.padding == "max_length" and self.cut is None):
            return False
        if self.pad_id != model.pad_id or ("token_type_ids" in self.names and self.pad_type_id != model.pad_type_id):
            return False
        if not isinstance(first, list) or not first:
            return False
        return second is None or (isinstance(first[0], (str, bytes)) and first.count(first[0]) == len(first)
                                  and hasattr(second, "__len__") and len(second) == len(first))

    def _padded(self, model: "_core.Model", first: Any, second: Any) -> Optional[Dict[str, Any]]:
        """None: a text failed; the other way says which one."""
        options = self._options(model)
        options.update(id_type=_options.DTYPE["int64"], padding_side=int(self.left), pad_to_multiple_of=self.multiple,
                       tensors=sum(_TENSORS[name] for name in self.names if name in _TENSORS))
        if self.padding == "max_length":
            options["pad_to_length"] = self.limit
        if second is None:
            request = _core.Request(model, "", first, dict(options, template_kind=_SINGLE), False, "text", "text")
        else:
            request = _core.Request(model, first[0], second, options, False, "text[0]", "text_pair")
        batch = request.next()
        if batch is None or not request.complete:
            return None
        self.longest = batch.max_seqlen
        tensors = batch.tensors
        return {name: convert(tensors[name], self.kind) for name in self.names}

    def _options(self, model: "_core.Model") -> Dict[str, int]:
        options = {"no_special_tokens": int(not self.special),
                   "encode_flags": _options.SPLIT_SPECIAL_TOKENS if self.split_special_tokens else 0}
        if self.cut is None:
            return options
        cut, windows = self.cut, self.overflow
        if cut == "only_second" and not self.pair:  # tokenizers misses the second text where the first is too long
            whole = self.limit > (model.info()["specials_single"] if self.special else 0)
            cut, windows = "do_not_truncate" if whole else "longest_first", False
        options.update(max_length=self.limit, truncation=_options.TRUNCATION[cut], truncation_side=self.truncation_side,
                       stride=self.stride)
        if windows:
            if self.pair and cut != "only_second":
                raise ValueError(f"truncation is {cut!r}; with return_overflowing_tokens and pairs it must be "
                                 "'only_second': windows of both texts at once are not supported")
            options["overflow"] = _options.OVERFLOW["short_last"]
        return options

    def _check_window_types(self, rows: "_core.Rows") -> None:
        """Refuses windows whose types depend on what the vocabulary was made of."""
        row = next((row for row, chunk in enumerate(rows.chunks) if chunk), None)
        if row is None:
            return
        for kind, text in zip(rows.column("token_type_ids", row), rows.column("sequence", row)):
            if text == int(self.pair) != kind:
                raise ValueError("return_token_type_ids is asked for windows, and this vocabulary does not tell which types "
                                 "transformers gives them; Tokenizer.from_transformers and a tokenizer.json tell")

    def _check_room(self, info: Dict[str, Any]) -> None:
        """Refuses windows without room for a token, and a stride that tokenizers refuses in truncation's arguments, where the
        special tokens of a single text count whether or not there are any, or panics over in the first text that it cuts."""
        single = info["specials_single"]
        specials = (info["specials_pair"] if self.pair else single) if self.special else 0
        if self.overflow and self.limit <= specials:
            raise ValueError(f"max_length is {self.limit}; with return_overflowing_tokens it must be at least {specials + 1}")
        most = max(0, self.limit - max(specials + 1, single if self.limit >= single else 0))
        if self.stride > most:
            raise ValueError(f"stride is {self.stride}; with max_length {self.limit} it must be at most {most}")

    def _ragged(self, lists: List[List[Any]]) -> Any:
        """Lists of different lengths where tensors were asked for: transformers makes NumPy's of objects."""
        if self.kind is None:
            return lists
        if self.kind == "np" and self.objects:
            rows = np.empty(len(lists), dtype=object)
            rows[:] = [np.asarray(row, dtype=np.int64) for row in lists]
            return rows
        raise Ragged("rows have different lengths, which make no tensor; set padding=True, and truncation=True if needed")


def as_kind(values: Any, kind: Optional[str]) -> Any:
    """Numbers that were no tensor before: a list, an array, or torch's tensor."""
    if kind is None:
        return values
    array = np.asarray(values, dtype=np.int64)
    if kind != "pt":
        return array
    import torch  # only where asked for
    return torch.from_numpy(array)


def convert(tensor: "_core.Tensor", kind: Optional[str]) -> Any:
    if kind == "np":
        return tensor.numpy()
    if kind == "pt":
        import torch
        return torch.from_dlpack(tensor)
    return tensor
