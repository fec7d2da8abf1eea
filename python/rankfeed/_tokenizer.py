# SPDX-License-Identifier: MIT
"""Tokenizer: one text, many texts, pairs, and a callable with the arguments of transformers."""

from __future__ import annotations

import os
from collections import UserDict
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple, Union

import numpy as np

from . import _core, _options
from ._errors import RankfeedError
from ._request import PairBatch, Request

Text = Union[str, bytes]
_NO_LIMIT = int(1e20)  # transformers' bound for "no model_max_length" (LARGE_INTEGER)


class _Call:
    """Rows of one call. Ids alone take the fast path, so offsets are made when first asked for."""

    __slots__ = ("_arguments", "rows", "_with_offsets")

    def __init__(self, *arguments: Any):
        self._arguments = arguments
        self.rows: "_core.Rows" = _core.encode_rows(*arguments, False, True)
        self._with_offsets: Optional["_core.Rows"] = None

    def with_offsets(self) -> "_core.Rows":
        if self._with_offsets is None:
            self._with_offsets = _core.encode_rows(*self._arguments, True, True)
        return self._with_offsets


class Encoding:
    """One row, with the attributes of tokenizers.Encoding. Lists are made when asked for."""

    __slots__ = ("_model", "_call", "_row", "overflowing")

    def __init__(self, model: "_core.Model", call: _Call, row: int):
        self._model, self._call, self._row = model, call, row
        self.overflowing: List[Encoding] = []

    @property
    def _rows(self) -> "_core.Rows":
        return self._call.rows

    def __len__(self) -> int:
        return self._rows.lengths[self._row]

    @property
    def ids(self) -> List[int]:
        return self._rows.column("input_ids", self._row)

    @property
    def type_ids(self) -> List[int]:
        return self._rows.column("token_type_ids", self._row)

    @property
    def attention_mask(self) -> List[int]:
        return self._rows.column("attention_mask", self._row)

    @property
    def special_tokens_mask(self) -> List[int]:
        return self._rows.column("special_tokens_mask", self._row)

    @property
    def offsets(self) -> List[Tuple[int, int]]:
        return self._call.with_offsets().column("offset_mapping", self._row)

    @property
    def sequence_ids(self) -> List[Optional[int]]:
        return [None if i < 0 else i for i in self._rows.column("sequence", self._row)]

    @property
    def tokens(self) -> List[str]:
        return [self._model.id_to_piece(i) for i in self.ids]

    @property
    def n_sequences(self) -> int:
        return 1 + max(self._rows.column("sequence", self._row), default=0)

    def __repr__(self) -> str:
        return f"Encoding(num_tokens={len(self)}, attributes=[ids, type_ids, tokens, offsets, " \
               "attention_mask, special_tokens_mask, overflowing])"


class BatchEncoding(UserDict):
    """The dictionary that transformers' callable returns; its keys are attributes too."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self.data[name]
        except KeyError:
            raise AttributeError(name) from None

    def __getstate__(self) -> Dict[str, Any]:
        return {"data": self.data}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.data = state["data"]


class Tokenizer:
    """A vocabulary. Immutable but for the attributes below; share it between threads: calls release
    the GIL and do not wait for each other.

    model_max_length, model_input_names, padding_side, truncation_side: what the callable does where
    its arguments do not say; as in transformers, whose tokenizer_config.json holds them. Defaults are
    those of PreTrainedTokenizerFast (transformers 5); families that read token_type_ids name them.
    """

    def __init__(self, model: "_core.Model", *, model_max_length: Optional[int] = None,
                 model_input_names: Sequence[str] = ("input_ids", "attention_mask"),
                 padding_side: str = "right", truncation_side: str = "right"):
        self._model = model
        self._source: Optional[Tuple[str, Dict[str, Any]]] = None
        self.info = model.info()
        self.model_max_length = int(model_max_length) if model_max_length is not None else int(1e30)
        self.model_input_names = list(model_input_names)
        self.padding_side = padding_side
        self.truncation_side = truncation_side

    @classmethod
    def from_file(cls, path: Union[str, "os.PathLike[str]"], *, parity: Optional[str] = None,
                  preset: Optional[str] = None, threads: int = 0, map_file: bool = False,
                  **attributes: Any) -> "Tokenizer":
        """An image of `rankfeed compile`, a SentencePiece .model or a tokenizer.json.

        parity: "huggingface", "sentencepiece" (of the newest releases) or "sentencepiece-0.2.1" (of
        those up to it); default: the first or the second, by the file's format.
        preset: a model family for files without template. threads: of batches; 0: all cores.
        map_file: map an image, in place of reading it to private memory, so that processes share it;
        only for files that nobody else changes (SECURITY.md, "Files that change").
        attributes: those of the class."""
        model = _core.Model(os.fspath(path), -1 if parity is None else _core.parity_number(parity),
                            preset or "", map_file)
        if threads:
            model.set_threads(threads)
        self = cls(model, **attributes)
        self._source = (os.path.abspath(os.fspath(path)),
                        dict(parity=parity, preset=preset, threads=threads, map_file=map_file))
        return self

    def __reduce__(self) -> Any:  # workers of other processes open the file again
        if self._source is None:
            raise TypeError("only a Tokenizer made by from_file can be pickled")
        path, arguments = self._source
        arguments = dict(arguments, model_max_length=self.model_max_length,
                         model_input_names=self.model_input_names, padding_side=self.padding_side,
                         truncation_side=self.truncation_side)
        return (_from_file, (path, arguments))

    # ---- facts -----------------------------------------------------------------------------

    @property
    def vocab_size(self) -> int:
        return self.info["id_count"]

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        return self.info["id_count"] if with_added_tokens else self.info["piece_count"]

    @property
    def pad_token_id(self) -> Optional[int]:
        return None if self.info["pad_id"] < 0 else self.info["pad_id"]

    @property
    def off_fast_road(self) -> Optional[str]:
        """Why no text of this vocabulary takes the fast road, such as "normalizer, NFKC"; None where texts may."""
        return self.info["off_fast_road"]

    @property
    def isa(self) -> str:
        """The instruction set that encoders run, such as "avx2"."""
        return self._model.isa()

    def roads(self) -> Dict[str, Tuple[int, int]]:
        """(texts, bytes) that calls have encoded up to now: under "fast road" those that took it, under
        "pipeline", "options", "invalid utf-8", "character", "context", "length", "unknown" and "capacity" those
        that left it for that reason. A text counts for its first reason, bytes for that of their stretch.
        Asking an Encoding for its offsets encodes the texts of its call once more, with offsets."""
        return self._model.roads()

    def id_to_token(self, id: int) -> Optional[str]:
        return self._model.id_to_piece(id)

    def token_to_id(self, token: Text) -> Optional[int]:
        found = self._model.piece_to_id(token)
        return None if found < 0 else found

    def num_special_tokens_to_add(self, is_pair: bool = False) -> int:
        return self.info["specials_pair" if is_pair else "specials_single"]

    def save_image(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """The compiled image, which opens at once."""
        temporary = f"{os.fspath(path)}.tmp"
        with open(temporary, "wb") as file:
            file.write(self._model.image())
        os.replace(temporary, path)

    # ---- tokenizers' methods ----------------------------------------------------------------

    def _rows(self, first: Iterable[Text], second: Optional[Iterable[Text]], options: Dict[str, int],
              with_offsets: bool) -> "_core.Rows":
        return _core.encode_rows(self._model, list(first), None if second is None else list(second),
                                 options, with_offsets, True)

    def encode(self, sequence: Text, pair: Optional[Text] = None, add_special_tokens: bool = True) -> Encoding:
        """One text or pair, as tokenizers.Tokenizer.encode; offsets are in code points."""
        return self.encode_batch([sequence if pair is None else (sequence, pair)], add_special_tokens)[0]

    def encode_batch(self, input: Sequence[Union[Text, Tuple[Text, Text]]],
                     add_special_tokens: bool = True) -> List[Encoding]:
        """Texts, or pairs as tuples; not both in one call."""
        inputs = list(input)
        options = {"no_special_tokens": int(not add_special_tokens)}
        pairs = [isinstance(item, (tuple, list)) for item in inputs]
        if any(pairs) and not all(pairs):
            raise TypeError("a batch holds texts or pairs, not both")
        second = [b for _, b in inputs] if any(pairs) else None
        call = _Call(self._model, [a for a, _ in inputs] if any(pairs) else inputs, second, options)
        return [Encoding(self._model, call, i) for i in range(len(call.rows))]

    def decode(self, ids: Any, skip_special_tokens: bool = True) -> str:
        """ids: a sequence of int, or an int32 array of NumPy or any DLPack framework (not copied)."""
        if not hasattr(ids, "__dlpack__") or getattr(ids, "dtype", None) not in (np.dtype("int32"), "int32"):
            ids = np.asarray(ids, dtype=np.int64)
            if ids.size and (ids.min() < -2**31 or ids.max() >= 2**31):
                raise OverflowError("ids must fit 32 bits")
            ids = ids.astype(np.int32)
        return self._model.decode(ids, skip_special_tokens)

    def decode_batch(self, sequences: Iterable[Any], skip_special_tokens: bool = True) -> List[str]:
        return [self.decode(ids, skip_special_tokens) for ids in sequences]

    batch_decode = decode_batch  # transformers' name

    def trim(self) -> int:
        """Hands the memory that texts have touched in encoders back to the system, except in those that
        another thread uses now. Worth a call after texts that normalization makes many times longer. No
        output changes. The bytes of the pages that were handed back, resident or not."""
        return self._model.trim()

    # ---- one query, many documents -----------------------------------------------------------

    def encode_pairs(self, query: Text, docs: Sequence[Any], max_length: Optional[int] = None,
                     truncation: Union[bool, str] = "longest_first", padding: Union[bool, str] = True,
                     stride: int = 0, return_tensors: str = "np", **options: Any) -> PairBatch:
        """One query with each document, as one batch of tensors that share one block of memory.

        docs: texts, or int32 arrays of ids without special tokens (rows of a Corpus).
        max_length: of a row, special tokens included; None: no limit.
        truncation: longest_first, only_second, only_first, longest_first_slow, True, or False: a row
        that is too long is an error. padding: True or "longest", "max_length", or False for the packed
        layout with cu_seqlens. return_tensors: "np", or "dlpack" for rankfeed.Tensor.
        options: those of Request. Documents that fail leave no row; see PairBatch.statuses."""
        request = self.request(query, docs, max_length=max_length, truncation=truncation, padding=padding,
                               stride=stride, **options)
        batch = request.next()
        if batch is None:
            raise RankfeedError("no document became a row: " + ", ".join(request.statuses[:3]))
        return PairBatch(batch, request, return_tensors)

    def request(self, query: Text, docs: Sequence[Any], **options: Any) -> Request:
        """As encode_pairs, in several batches; see Request."""
        return Request(self, query, docs, **options)

    # ---- transformers' callable --------------------------------------------------------------

    def __call__(self, text: Any, text_pair: Any = None, add_special_tokens: bool = True,
                 padding: Union[bool, str, None] = False, truncation: Union[bool, str, None] = None,
                 max_length: Optional[int] = None, stride: int = 0, is_split_into_words: bool = False,
                 pad_to_multiple_of: Optional[int] = None, padding_side: Optional[str] = None,
                 return_tensors: Optional[str] = None, return_token_type_ids: Optional[bool] = None,
                 return_attention_mask: Optional[bool] = None, return_overflowing_tokens: bool = False,
                 return_special_tokens_mask: bool = False, return_offsets_mapping: bool = False,
                 return_length: bool = False, verbose: bool = True,
                 split_special_tokens: bool = False) -> BatchEncoding:
        """tok(queries, docs, padding=True, truncation=True, return_tensors="np"): the dictionary that
        transformers' fast tokenizer of the same file returns. return_tensors: None (lists), "np",
        "dlpack" (rankfeed.Tensor) or "pt"."""
        if is_split_into_words:
            raise ValueError("is_split_into_words is not supported: texts are tokenized whole")
        single = isinstance(text, (str, bytes))
        first = [text] if single else list(text)
        second = None if text_pair is None else [text_pair] if single else list(text_pair)
        if second is None and first and not isinstance(first[0], (str, bytes)):
            first, second = [a for a, _ in first], [b for _, b in first]
        if second is not None and len(first) != len(second):
            raise ValueError(f"batch length of `text`: {len(first)} does not match batch length of "
                             f"`text_pair`: {len(second)}.")
        padding_kind = _options.padding_name(padding)
        cut = _options.truncation_name(truncation)
        if max_length is not None and padding_kind == "do_not_pad" and truncation is None:
            cut = "longest_first"  # transformers' rule for max_length without truncation
        limit = max_length if max_length is not None else self.model_max_length
        if limit > _NO_LIMIT:
            if padding_kind == "max_length":
                padding_kind = "do_not_pad"
            cut = "do_not_truncate"
        if padding_kind != "do_not_pad" and self.pad_token_id is None:
            raise ValueError("the vocabulary has no padding token")
        if cut != "do_not_truncate" and padding_kind != "do_not_pad" and pad_to_multiple_of is not None \
                and limit % pad_to_multiple_of != 0:
            raise ValueError("truncation and padding are both on, but max_length is not a multiple of "
                             f"pad_to_multiple_of ({limit} and {pad_to_multiple_of})")
        options = {"no_special_tokens": int(not add_special_tokens),
                   "encode_flags": _options.SPLIT_SPECIAL_TOKENS if split_special_tokens else 0}
        if cut != "do_not_truncate":
            options["max_length"] = limit
            options["truncation"] = _options.choice(_options.TRUNCATION, "truncation", cut)
            options["truncation_side"] = _options.choice(_options.SIDE, "truncation_side", self.truncation_side)
            if return_overflowing_tokens:
                if second is not None and cut != "only_second":
                    raise ValueError('overflowing pairs need truncation="only_second": windows of both '
                                     "texts at once are not supported")
                options["overflow"] = _options.OVERFLOW["short_last"]
                options["stride"] = _options.positive("stride", stride)
        rows = self._rows(first, second, options, return_offsets_mapping)

        # Lengths after padding; one number unless rows stay ragged.
        lengths = rows.lengths
        longest = rows.longest
        target = {"do_not_pad": 0, "longest": longest, "max_length": limit}[padding_kind]
        if target and pad_to_multiple_of:
            target = -(-target // pad_to_multiple_of) * pad_to_multiple_of
        left = (padding_side or self.padding_side) == "left"
        names = [("input_ids", self.pad_token_id or 0)]
        if return_token_type_ids or (return_token_type_ids is None and "token_type_ids" in self.model_input_names):
            names.append(("token_type_ids", self.info["pad_type_id"]))
        if return_attention_mask or (return_attention_mask is None and "attention_mask" in self.model_input_names):
            names.append(("attention_mask", 0))
        if return_special_tokens_mask:
            names.append(("special_tokens_mask", 1))
        uniform = not lengths or max(target, longest) == min(max(n, target) for n in lengths)
        width = max(target, longest)
        data: Dict[str, Any] = {}
        for name, pad in names:
            if return_tensors is None:
                data[name] = self._lists(rows, name, lengths, target, pad, left)
            elif not uniform and str(getattr(return_tensors, "value", return_tensors)) == "np":
                # transformers makes an object array of lists of these.
                data[name] = np.asarray(self._lists(rows, name, lengths, target, pad, left), dtype=object)
            elif not uniform:
                raise ValueError("rows of different lengths make no tensor: set padding=True, and "
                                 "truncation=True if needed")
            else:
                tensor = rows.padded(name, width, pad, left)
                data[name] = _convert(tensor, return_tensors)
        if return_offsets_mapping:
            if return_tensors is None or not uniform:
                data["offset_mapping"] = self._lists(rows, "offset_mapping", lengths, target, (0, 0), left)
            else:
                both = np.stack([rows.padded(name, width, 0, left).numpy()
                                 for name in ("offset_begin", "offset_end")], axis=-1)
                data["offset_mapping"] = both
        if return_length:
            padded = [max(n, target) for n in lengths]
            data["length"] = padded if return_tensors is None else np.asarray(padded, dtype=np.int64)
        if return_overflowing_tokens:
            samples = rows.samples
            data["overflow_to_sample_mapping"] = \
                samples if return_tensors is None else np.asarray(samples, dtype=np.int64)
        if single and return_tensors is None and not return_overflowing_tokens:
            data = {name: value[0] if isinstance(value, list) and value else value
                    for name, value in data.items()}
        return BatchEncoding(data)

    @staticmethod
    def _lists(rows: "_core.Rows", name: str, lengths: List[int], target: int, pad: Any,
               left: bool) -> List[List[Any]]:
        out = []
        for i, length in enumerate(lengths):
            row = rows.column(name, i)
            gap = [pad] * max(0, target - length)
            out.append(gap + row if left else row + gap)
        return out


def _from_file(path: str, arguments: Dict[str, Any]) -> Tokenizer:
    return Tokenizer.from_file(path, **arguments)


def _convert(tensor: "_core.Tensor", kind: str) -> Any:
    kind = str(getattr(kind, "value", kind))
    if kind == "np":
        return tensor.numpy()
    if kind == "dlpack":
        return tensor
    if kind == "pt":
        import torch  # only where asked for
        return torch.from_dlpack(tensor)
    raise ValueError(f"return_tensors must be np, dlpack, pt or None, not {kind!r}")
