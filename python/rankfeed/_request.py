# SPDX-License-Identifier: MIT
"""One query against many documents: batches of tensors, scores, ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

import numpy as np

from . import _core, _options

if TYPE_CHECKING:
    from ._tokenizer import Tokenizer

_TENSORS = {"attention_mask": 1, "token_type_ids": 2, "position_ids": 4, "lengths": 8, "row_of_token": 16}


class Request:
    """Batches of one query with many documents. Iterate over it; after each batch put its scores;
    rank at the end.

    padding False is the packed layout. max_rows_per_batch, max_tokens_per_batch (budget: what it
    counts), sort: how rows are grouped. max_query_tokens, max_tokens_per_doc, max_chunks_per_doc:
    limits of the parts. overflow: "drop", or windows "short_last" (HuggingFace) or "aligned_last".
    specials_in_text: what becomes of a special token that somebody typed into a text: "parse" (as
    HuggingFace), "escape" (plain text), "error" (that document fails). byte_ranges: row_map says which
    bytes of the document a row holds, which takes the slower path that knows offsets; default: with
    windows only. tensors: names besides input_ids; default: what the model family reads.
    One thread at a time."""

    def __init__(self, tokenizer: "Tokenizer", query: Any, docs: Sequence[Any], *,
                 max_length: Optional[int] = None, truncation: Union[bool, str] = "longest_first",
                 padding: Union[bool, str] = True, stride: int = 0, truncation_side: str = "right",
                 padding_side: str = "model", pad_to_multiple_of: Optional[int] = None,
                 add_special_tokens: bool = True, split_special_tokens: bool = False,
                 specials_in_text: str = "parse", overflow: str = "drop",
                 max_query_tokens: Optional[int] = None, max_tokens_per_doc: Optional[int] = None,
                 max_chunks_per_doc: Optional[int] = None, max_rows_per_batch: Optional[int] = None,
                 max_tokens_per_batch: Optional[int] = None, budget: str = "layout", sort: str = "none",
                 dtype: str = "int64", tensors: Optional[Sequence[str]] = None,
                 max_arena_bytes: int = 0, byte_ranges: Optional[bool] = None):
        kind = _options.padding_name(padding)
        packed = kind == "do_not_pad"
        if tensors is None:
            tensors = ["position_ids"] if packed else ["attention_mask"]
            if tokenizer.info["has_token_type_ids"]:
                tensors = [*tensors, "token_type_ids"]
        unknown = set(tensors) - set(_TENSORS)
        if unknown:
            raise ValueError(f"no tensor {', '.join(sorted(unknown))}; there are {', '.join(_TENSORS)}")
        number = _options.positive
        options: Dict[str, int] = {
            "max_length": number("max_length", max_length),
            "stride": number("stride", stride),
            "truncation": _options.choice(_options.TRUNCATION, "truncation", _options.truncation_name(truncation)),
            "truncation_side": _options.choice(_options.SIDE, "truncation_side", truncation_side),
            "no_special_tokens": int(not add_special_tokens),
            "encode_flags": (_options.SPLIT_SPECIAL_TOKENS if split_special_tokens else 0)
            | _options.choice(_options.SPECIALS_IN_TEXT, "specials_in_text", specials_in_text),
            "overflow": _options.choice(_options.OVERFLOW, "overflow", overflow),
            "max_query_tokens": number("max_query_tokens", max_query_tokens),
            "max_tokens_per_doc": number("max_tokens_per_doc", max_tokens_per_doc),
            "max_chunks_per_doc": number("max_chunks_per_doc", max_chunks_per_doc),
            "max_rows_per_batch": number("max_rows_per_batch", max_rows_per_batch),
            "max_tokens_per_batch": number("max_tokens_per_batch", max_tokens_per_batch),
            "budget": _options.choice(_options.BUDGET, "budget", budget),
            "sort": _options.choice(_options.SORT, "sort", sort),
            "id_type": _options.choice(_options.DTYPE, "dtype", dtype),
            "layout": int(packed),
            "tensors": sum(_TENSORS[name] for name in set(tensors)),
            "max_arena_bytes": max_arena_bytes,
        }
        if not packed:
            options["padding_side"] = _options.choice(_options.SIDE, "padding_side", padding_side)
            options["pad_to_multiple_of"] = number("pad_to_multiple_of", pad_to_multiple_of)
            if kind == "max_length":
                if not max_length:
                    raise ValueError('padding="max_length" needs max_length')
                options["pad_to_length"] = max_length
        self.tokenizer = tokenizer
        if byte_ranges is None:
            byte_ranges = overflow != "drop"
        self._core = _core.Request(tokenizer._model, query, list(docs), options, byte_ranges)

    def next(self, ring: Optional["_core.Ring"] = None, timeout: Optional[float] = None) -> Optional["_core.Batch"]:
        """The next batch, or None. ring: fill a slot of it, waiting up to timeout seconds for one;
        make slot_bytes and max_arena_bytes equal."""
        return self._core.next(ring, -1.0 if timeout is None else timeout)

    def __iter__(self) -> Iterator["_core.Batch"]:
        while (batch := self.next()) is not None:
            yield batch

    def put_scores(self, batch: Union["_core.Batch", "PairBatch"], logits: Any, activation: str = "raw",
                   label: int = 0) -> None:
        """logits: [rows] or [rows, labels], any float array of NumPy or a DLPack framework."""
        if isinstance(batch, PairBatch):
            batch = batch.batch
        logits = np.ascontiguousarray(np.asarray(logits), dtype=np.float32)
        self._core.put_scores(batch, logits, _options.choice(_options.ACTIVATION, "activation", activation), label)

    def rank(self, top_n: int = 0, aggregation: str = "max", ties: str = "ascending") -> List[Tuple[int, float]]:
        """(document, score), best first; documents without rows are left out."""
        return self._core.rank(top_n, _options.choice(_options.AGGREGATION, "aggregation", aggregation),
                               _options.choice(_options.TIES, "ties", ties))

    @property
    def statuses(self) -> List[str]:
        """Per document: RANKFEED_OK, or why it has no row (RANKFEED_E_STATE: not reached yet)."""
        return self._core.statuses

    @property
    def token_count(self) -> int:
        """Tokens of the query and of all documents, before anything is cut."""
        return self._core.tokens


class PairBatch(Dict[str, Any]):
    """Tensors by name, as a model takes them (`model(**batch)`), with what they came from."""

    def __init__(self, batch: "_core.Batch", request: Request, return_tensors: str):
        if return_tensors not in ("np", "dlpack", "pt"):
            raise ValueError(f"return_tensors must be np, dlpack or pt, not {return_tensors!r}")
        from ._tokenizer import _convert
        super().__init__({name: _convert(tensor, return_tensors) for name, tensor in batch.tensors.items()})
        self.batch = batch
        self.request = request

    @property
    def documents(self) -> List[int]:
        """The document of each row."""
        return [row[0] for row in self.batch.row_map]

    @property
    def row_map(self) -> List[Tuple[int, ...]]:
        return self.batch.row_map

    @property
    def max_seqlen(self) -> int:
        return self.batch.max_seqlen

    @property
    def statuses(self) -> List[str]:
        return self.request.statuses
