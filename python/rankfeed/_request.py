# SPDX-License-Identifier: MIT
"""One query against many documents: batches of tensors, scores, ranking."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, TypeVar, Union

import numpy as np

from . import _core, _options
from ._errors import RankfeedError
from ._folder import Scoring
from ._options import (Activation, Aggregation, Budget, Document, DType, ModelSide, Overflow, Padding, Side, Sort,
                       Specials, TensorName, Texts, Ties, Truncation)
from ._plan import convert

if TYPE_CHECKING:
    from ._tokenizer import Tokenizer

Array = TypeVar("Array")
Row = Tuple[int, int, int, int, int, int, int, int]
_TENSORS = {"attention_mask": 1, "token_type_ids": 2, "position_ids": 4, "lengths": 8, "row_of_token": 16,
            "last_tokens": 32}


class _RowFacts(NamedTuple):
    """What they depend on of its row template."""

    max_length: int
    template_tokens: int
    truncation: int
    pad_to_multiple_of: int
    pad_id: int


class _Facts(NamedTuple):
    """What the options of a Request depend on of its tokenizer."""

    has_token_type_ids: int
    specials_pair: int
    vocabulary_pad_id: int
    pad_id: int
    model_max_length: int
    truncation_side: Side
    padding_side: ModelSide  # of the folder, if it names one
    row: Optional[_RowFacts]


def _resolve(facts: _Facts, max_length: Optional[int], truncation: Union[bool, Truncation], padding: Union[bool, Padding],
             stride: int, truncation_side: Optional[Side], padding_side: ModelSide, pad_to_multiple_of: Optional[int],
             add_special_tokens: bool, split_special_tokens: bool, specials_in_text: Specials, overflow: Overflow,
             max_query_tokens: Optional[int], max_tokens_per_doc: Optional[int], max_chunks_per_doc: Optional[int],
             max_rows_per_batch: Optional[int], max_tokens_per_batch: Optional[int], budget: Budget, sort: Sort,
             dtype: DType, tensors: Optional[Sequence[TensorName]],
             max_arena_bytes: int) -> Tuple[Dict[str, int], Sequence[str], bool]:
    """A Request's arguments as the library's options; the names of its tensors; whether nothing is cut although it was
    asked for."""
    kind = _options.padding_name(padding)
    packed = kind == "do_not_pad"
    names: Sequence[str]
    if tensors is None:
        names = ["position_ids"] if packed else ["attention_mask"]
        if facts.has_token_type_ids:
            names = [*names, "token_type_ids"]
    else:
        _options.check_tensors(tensors, _TENSORS)
        names = tensors
    choice, limit = _options.choice, _options.limit
    special = _options.flag("add_special_tokens", add_special_tokens)
    cut = _options.truncation_name(truncation)
    cuts_nothing = False
    row = facts.row
    if row is not None:
        if cut == "longest_first":  # the default, and True: as the template's reference cuts
            cut = next(name for name, number in _options.TRUNCATION.items() if number == row.truncation)
        if max_length is None and cut not in ("do_not_truncate", "none") and row.max_length:
            max_length = row.max_length
        if pad_to_multiple_of is None and not packed and row.pad_to_multiple_of:
            pad_to_multiple_of = row.pad_to_multiple_of
        if padding_side == "model":
            padding_side = "left"
        if not _options.flag("add_special_tokens", add_special_tokens):
            raise ValueError("add_special_tokens is False; with a template it must be True: a template has all tokens of its rows")
    if max_length is None and cut not in ("do_not_truncate", "none"):
        known = facts.model_max_length <= _options.NO_LIMIT
        max_length = facts.model_max_length if known else None
        cuts_nothing = truncation is True and not known
    if row is not None:
        least, why = max(1, row.template_tokens), ", the tokens of the template"
        special = True
    else:
        least, why = _options.row_minimum(facts.specials_pair if special else 0, True)
    options: Dict[str, int] = {
        "max_length": limit("max_length", max_length, least, why),
        "stride": _options.number("stride", stride),
        "truncation": _options.TRUNCATION[cut],
        "truncation_side": choice(_options.ONE_SIDE, "truncation_side",
                                  facts.truncation_side if truncation_side is None else truncation_side),
        "no_special_tokens": int(not special),
        "encode_flags": (_options.SPLIT_SPECIAL_TOKENS if _options.flag("split_special_tokens", split_special_tokens) else 0)
        | choice(_options.SPECIALS_IN_TEXT, "specials_in_text", specials_in_text),
        "overflow": choice(_options.OVERFLOW, "overflow", overflow),
        "max_query_tokens": limit("max_query_tokens", max_query_tokens),
        "max_tokens_per_doc": limit("max_tokens_per_doc", max_tokens_per_doc),
        "max_chunks_per_doc": limit("max_chunks_per_doc", max_chunks_per_doc),
        "max_rows_per_batch": limit("max_rows_per_batch", max_rows_per_batch),
        "max_tokens_per_batch": limit("max_tokens_per_batch", max_tokens_per_batch),
        "budget": choice(_options.BUDGET, "budget", budget),
        "sort": choice(_options.SORT, "sort", sort),
        "id_type": choice(_options.DTYPE, "dtype", dtype),
        "layout": int(packed),
        "tensors": sum(_TENSORS[name] for name in set(names)),
        "max_arena_bytes": _options.number("max_arena_bytes", max_arena_bytes, most=2**63 - 1),
    }
    if not packed:
        if padding_side == "model":
            padding_side = facts.padding_side
        if facts.pad_id != facts.vocabulary_pad_id and (row is None or row.pad_id < 0):
            raise ValueError(f"the folder's pad_token has id {facts.pad_id}, the vocabulary's {facts.vocabulary_pad_id}, which "
                             "Request pads with; padding must be False, or the tokenizer's callable used")
        options["padding_side"] = choice(_options.SIDE, "padding_side", padding_side)
        options["pad_to_multiple_of"] = limit("pad_to_multiple_of", pad_to_multiple_of)
        if kind == "max_length":
            if not options["max_length"]:
                raise ValueError('padding is "max_length" and max_length is None; it must be an int')
            options["pad_to_length"] = options["max_length"]
    return options, names, cuts_nothing


# Most programs ask for the same options again and again. `typed`: True is not 1.
_known = functools.lru_cache(maxsize=64, typed=True)(_resolve)


class Request:
    """Batches of one query with many documents. Iterate over it; after each batch put its scores;
    rank at the end.

    padding False is the packed layout. max_rows_per_batch, max_tokens_per_batch (budget: what it
    counts), sort: how rows are grouped. max_query_tokens, max_tokens_per_doc, max_chunks_per_doc:
    limits of the parts. overflow: "drop", or windows "short_last" (HuggingFace) or "aligned_last".
    specials_in_text: what becomes of a special token that somebody typed into a text: "parse" (as
    HuggingFace), "escape" (plain text), "error" (that document fails). byte_ranges: row_map says which
    bytes of the document a row holds, which costs time; default: with
    windows only. tensors: names besides input_ids; default: what the model family reads.
    max_length None: the tokenizer's model_max_length, where that is known and something is to be cut.
    template: rows of an LLM reranker: the name of a preset ("qwen3-reranker"), the path of a JSON file, an object as
    rankfeed.template_preset gives it, or what Tokenizer.row_template made of one (docs/batches.md). Then truncation
    (the default, or True), max_length, the limits of query and documents, the side and the multiple of padding are those of
    the reference, where arguments do not say otherwise. instruction: of this request, where the template has a place for it; None: the template's own. split_special_tokens None: the tokenizer's.
    A query that is a text gets the default prompt of from_pretrained's folder before it, except in rows of a template.
    One thread at a time."""

    def __init__(self, tokenizer: "Tokenizer", query: Document, docs: Texts, *,
                 max_length: Optional[int] = None, truncation: Union[bool, Truncation] = "longest_first",
                 padding: Union[bool, Padding] = True, stride: int = 0, truncation_side: Optional[Side] = None,
                 padding_side: ModelSide = "model", pad_to_multiple_of: Optional[int] = None,
                 add_special_tokens: bool = True, split_special_tokens: Optional[bool] = None,
                 specials_in_text: Specials = "parse", overflow: Overflow = "drop",
                 max_query_tokens: Optional[int] = None, max_tokens_per_doc: Optional[int] = None,
                 max_chunks_per_doc: Optional[int] = None, max_rows_per_batch: Optional[int] = None,
                 max_tokens_per_batch: Optional[int] = None, budget: Budget = "layout", sort: Sort = "none",
                 dtype: DType = "int64", tensors: Optional[Sequence[TensorName]] = None,
                 max_arena_bytes: int = 0, byte_ranges: Optional[bool] = None, template: Any = None,
                 instruction: Optional[str] = None):
        info = tokenizer.info
        row = None if template is None else tokenizer.row_template(template)
        if instruction is not None and not isinstance(instruction, str):
            raise TypeError(f"instruction is {_options.words(instruction)}; it must be a str")
        if instruction == "":
            raise ValueError("instruction is ''; it must be None, which is the template's own, or a text")
        if split_special_tokens is None:
            split_special_tokens = tokenizer.split_special_tokens and specials_in_text == "parse"
        if row is None and tokenizer._prompt:
            query = _prompted(tokenizer._prompt, query)
        if instruction is not None and row is None:
            raise ValueError(f"instruction is {_options.words(instruction)}; it needs a template")
        arguments = (
            _Facts(info["has_token_type_ids"], info["specials_pair"], info["pad_id"], tokenizer._pad_id,
                   tokenizer.model_max_length, tokenizer.truncation_side,
                   tokenizer.padding_side if tokenizer._sided and row is None else "model",
                   None if row is None else _RowFacts(row.max_length, row.template_tokens, row.truncation, row.pad_to_multiple_of,
                                                 row.pad_id)),
            max_length, truncation, padding, stride, truncation_side, padding_side, pad_to_multiple_of,
            add_special_tokens, split_special_tokens, specials_in_text, overflow, max_query_tokens,
            max_tokens_per_doc, max_chunks_per_doc, max_rows_per_batch, max_tokens_per_batch, budget, sort, dtype,
            tuple(tensors) if isinstance(tensors, list) else tensors, max_arena_bytes)
        resolved = None
        try:
            resolved = _known(*arguments)
        except TypeError:  # a value without a hash, or a wrong one, which is named below
            pass
        if resolved is None:
            resolved = _resolve(*arguments)
        options, names, cuts_nothing = resolved
        if row is not None and options["max_length"]:
            query_tokens, document_tokens = row.limits(options["max_length"])
            options = {**options, "max_query_tokens": options["max_query_tokens"] or query_tokens,
                       "max_tokens_per_doc": options["max_tokens_per_doc"] or document_tokens}
        if cuts_nothing:
            tokenizer.row_limit("max_length")  # warns
        self.tokenizer = tokenizer
        self.template = row
        self._scoring = tokenizer._scoring if row is None else Scoring()
        self._list_scores: Optional[Dict[int, float]] = None
        ranges = overflow != "drop" if byte_ranges is None else _options.flag("byte_ranges", byte_ranges)
        try:
            self._core = _core.Request(tokenizer._model, query, docs, options, ranges, template=row,
                                       instruction=instruction or "")
        except RankfeedError as error:
            problem = _core.options_problem(tokenizer._model, options, row)
            if problem is None:
                raise
            # The library's name of an option is the argument's, but for the layout.
            name, rule = "padding" if problem[0] == "layout" else problem[0], problem[1]
            given = {"padding": padding, "overflow": overflow, "truncation": truncation, "tensors": list(names)}
            value = _options.words(given.get(name, options.get(name)))
            raise RankfeedError(f"{name} is {value}; {rule}", status=error.status, name=error.name) from None

    def next(self, ring: Optional["_core.Ring"] = None, timeout: Optional[float] = None) -> Optional["_core.Batch"]:
        """The next batch, or None. ring: fill a slot of it, waiting up to timeout seconds for one;
        make slot_bytes and max_arena_bytes equal. Work on another stream than the device's default one that
        reads the batch: Batch.record_stream."""
        return self._core.next(ring, -1.0 if timeout is None else timeout)

    def __iter__(self) -> Iterator["_core.Batch"]:
        while (batch := self.next()) is not None:
            yield batch

    def put_scores(self, batch: Union["_core.Batch", "PairBatch[Any]"], logits: Any,
                   activation: Optional[Activation] = None, label: Union[int, str, None] = None) -> None:
        """logits: [rows] or [rows, labels], any array of finite floats of NumPy or a DLPack framework. Of rows that hold several
        documents, one for each document of the batch, in order: [documents]. Of a language model's answers no and yes, [rows, 2]
        with activation "softmax" and label 1: the sigmoid of their difference.

        label: the name or number of the one that ranks, of a model with several. activation: what makes its score of the row's
        logits, "raw", "sigmoid" or "softmax". None: as the config.json of from_pretrained's folder says, by the rules of
        `rankfeed rerank` (docs/serve.md); "raw" of other tokenizers, and of rows of a template."""
        if isinstance(batch, PairBatch):
            batch = batch.batch
        try:
            scores = np.asarray(logits, dtype=np.float32, order="C")
        except (TypeError, ValueError) as error:
            raise TypeError(f"logits is {_options.words(logits)}; it must be an array of floats in host memory") from error
        if batch.list_rows:
            self._put_list(batch, scores)
            return
        count = scores.shape[1] if scores.ndim == 2 else 1
        number = self._scoring.label(label, count)
        if activation is None:
            activation = self._scoring.activation(count)
        self._core.put_scores(batch, scores, _options.choice(_options.ACTIVATION, "activation", activation), number)

    def rank(self, top_n: int = 0, aggregation: Aggregation = "max",
             ties: Ties = "ascending") -> List[Tuple[int, float]]:
        """(document, score), best first; documents without rows are left out."""
        if self._list_scores is not None:
            return self._rank_list(top_n, ties)
        return self._core.rank(_options.number("top_n", top_n),
                               _options.choice(_options.AGGREGATION, "aggregation", aggregation),
                               _options.choice(_options.TIES, "ties", ties))

    def _put_list(self, batch: "_core.Batch", scores: Any) -> None:
        places = [range(first, first + count) for first, count, _ in batch.list_rows]
        count = sum(map(len, places))
        if scores.shape != (count,):
            raise ValueError(f"logits has the shape {list(scores.shape)}; it must be [{count}], a number for each document of the batch")
        wrong = np.flatnonzero(~np.isfinite(scores))
        if len(wrong):
            raise ValueError(f"logits[{wrong[0]}] is {scores[wrong[0]]}; it must be a finite number")
        if self._list_scores is None:
            self._list_scores = {}
        self._list_scores.update(zip((document for place in places for document in place), scores.tolist()))

    def _rank_list(self, top_n: int, ties: Ties) -> List[Tuple[int, float]]:
        scores = self._list_scores or {}
        sign = 1 if _options.choice(_options.TIES, "ties", ties) == 0 else -1
        ranked = sorted(scores.items(), key=lambda item: (-item[1], sign * item[0]))
        return ranked[:_options.number("top_n", top_n) or None]

    @property
    def statuses(self) -> List[str]:
        """Per document: RANKFEED_OK, or why it has no row (RANKFEED_E_STATE: not reached yet)."""
        return self._core.statuses

    @property
    def token_count(self) -> int:
        """Tokens of the query and of all documents, before anything is cut."""
        return self._core.tokens


def _prompted(prompt: str, query: Any) -> Any:
    """The query with the folder's prompt before it, as sentence-transformers puts it there; ids are what they are."""
    if hasattr(query, "as_py"):
        query = query.as_py()
    if isinstance(query, str):
        return prompt + query
    return prompt.encode("utf-8") + query if isinstance(query, bytes) else query


OPTIONS = tuple(inspect.signature(Request.__init__).parameters)[4:]  # after self, tokenizer, query, docs


class PairBatch(Dict[str, Array]):
    """Tensors by name, as a model takes them (`model(**batch)`), with what they came from. It pickles
    without its request: scores are put where that is."""

    def __init__(self, batch: "_core.Batch", request: Optional[Request], return_tensors: Any):
        kind = _options.tensors_name(return_tensors, ("np", "dlpack", "pt"))
        super().__init__({name: convert(tensor, kind) for name, tensor in batch.tensors.items()})
        self._batch: Optional["_core.Batch"] = batch
        self._request = request
        self._facts: Optional[Tuple[List[Row], int, List[str]]] = None

    @property
    def batch(self) -> "_core.Batch":
        if self._batch is None:
            raise ValueError("a PairBatch that was pickled has no batch; put its scores where its request is")
        return self._batch

    @property
    def request(self) -> Request:
        if self._request is None:
            raise ValueError("a PairBatch that was pickled has no request; put its scores where that is")
        return self._request

    @property
    def documents(self) -> List[int]:
        """The document of each row."""
        return [row[0] for row in self.row_map]

    @property
    def list_rows(self) -> List[Tuple[int, int, List[int]]]:
        """Of rows that hold several documents: the first, how many, and places of the markers; see Batch."""
        return self.batch.list_rows

    @property
    def row_map(self) -> List[Row]:
        return self._facts[0] if self._facts is not None else self.batch.row_map

    @property
    def max_seqlen(self) -> int:
        return self._facts[1] if self._facts is not None else self.batch.max_seqlen

    @property
    def statuses(self) -> List[str]:
        return self._facts[2] if self._facts is not None else self.request.statuses

    def __reduce__(self) -> Any:
        return (_restore, (dict(self), (self.row_map, self.max_seqlen, self.statuses)))


def _restore(tensors: Dict[str, Any], facts: Tuple[List[Row], int, List[str]]) -> "PairBatch[Any]":
    batch: PairBatch[Any] = PairBatch.__new__(PairBatch)
    batch.update(tensors)
    batch._batch = batch._request = None
    batch._facts = facts
    return batch
