# SPDX-License-Identifier: MIT
"""Tokenizer: one text, many texts, pairs, and a callable with the arguments of transformers."""

from __future__ import annotations

import json
import os
import warnings
from collections import UserDict
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Union, overload

import numpy as np

from . import _core, _options, _transformers
from ._encoding import Call, Encoding, Padded, encodings
from ._errors import RankfeedError
from ._folder import FileDefaults, Scoring, read_folder, vocabulary_of
from ._options import Document, InvalidText, OffsetUnit, Padding, Pages, Parity, Side, Text, Texts, Truncation
from ._plan import Plan, convert
from ._request import OPTIONS, PairBatch, Request

if TYPE_CHECKING:
    from typing import Literal

    import numpy.typing as npt
    from typing_extensions import Unpack

    from ._options import Attributes, RequestOptions, RowOptions

_Path = Union[str, "os.PathLike[str]"]


class BatchEncoding(UserDict[str, Any]):
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
                 padding_side: Side = "right", truncation_side: Side = "right"):
        self._model = model
        self._source: Optional[Tuple[str, Dict[str, Any]]] = None
        self.info: Dict[str, Any] = model.info()
        if isinstance(model_input_names, str):
            raise TypeError(f"model_input_names is {model_input_names!r}, one str; it must be a list of names")
        _options.limit("model_max_length", model_max_length, most=int(1e40))
        _options.choice(_options.ONE_SIDE, "padding_side", padding_side)
        _options.choice(_options.ONE_SIDE, "truncation_side", truncation_side)
        self.model_max_length = int(model_max_length) if model_max_length is not None else int(1e30)
        self.model_input_names = list(model_input_names)
        self.padding_side: Side = padding_side
        # What a model's folder says otherwise.
        self._pad_id = int(self.info["pad_id"])
        self._pad_type_id = int(self.info["pad_type_id"])
        self._sided = False  # padding_side is the folder's
        self._window_types: Optional[bool] = None  # _transformers.windows_keep_types, where it was looked for
        self._defaults = FileDefaults()
        self._scoring = Scoring()
        self.split_special_tokens = False  # whether texts spell no special tokens, where arguments do not say
        self._prompt = ""  # before every query
        self.truncation_side: Side = truncation_side
        self._templates: Dict[str, "_core.RowTemplate"] = {}

    @classmethod
    def from_file(cls, path: _Path, *, parity: Optional[Parity] = None, preset: Optional[str] = None,
                  threads: int = 0, pages: Pages = "auto", invalid_text: InvalidText = "reference",
                  file_defaults: bool = False, max_stretch_bytes: int = 0,
                  **attributes: "Unpack[Attributes]") -> "Tokenizer":
        """An image of `rankfeed compile`, a SentencePiece .model, a tokenizer.json, the vocab.txt of a WordPiece model, which is
        read with the files beside it or by its preset ("bert", "bert-cased", "mpnet"), or the vocab.json of a BPE model, with its
        merges.txt and the files beside it.

        parity: "huggingface", "sentencepiece" (of the newest releases) or "sentencepiece-0.2.1" (of
        those up to it); default: the first or the second, by the file's format.
        preset: a model family for files without template. threads: of batches; 0: one for each processor that may be used.
        pages: the memory that the vocabulary lies on: "auto" (the largest pages there are), "hugetlb"
        (preallocated 2 MiB pages, or an error), "transparent" (transparent huge pages where the system
        gives them), "base", or "file" (an image in place, so that processes share it: only for files that
        nobody else changes, SECURITY.md, "Files that change").
        invalid_text: what becomes of a str with lone surrogates and of bytes that are not UTF-8.
        "reference": as the reference does, which refuses the str and replaces in bytes; "error": both are
        refused; "replace": both are replaced by U+FFFD.
        file_defaults: encode and encode_batch cut and pad as the truncation and padding of a tokenizer.json say,
        like tokenizers.Tokenizer; everything else leaves them aside, like transformers (docs/parity.md).
        max_stretch_bytes: the longest stretch of a text that leaves the fast road and cannot be cut; a longer one is an
        error for its text. 0: 256 KiB.
        attributes: those of the class."""
        _options.check_names("Tokenizer.from_file", attributes, _ATTRIBUTES)
        file = _options.path("path", path)
        if os.path.isdir(file):
            raise IsADirectoryError(f"{file} is a folder; from_pretrained opens a model's folder")
        return cls._open(file, file, parity, preset, threads, pages, invalid_text, file_defaults, max_stretch_bytes, attributes)

    @classmethod
    def _open(cls, file: str, vocabulary: str, parity: Optional[Parity], preset: Optional[str], threads: int, pages: Pages,
              invalid_text: InvalidText, file_defaults: bool, max_stretch_bytes: int, attributes: Any) -> "Tokenizer":
        """from_file of a file, or of a model's folder whose vocabulary is that file."""
        policy = _options.choice(_options.INVALID_TEXT, "invalid_text", invalid_text)
        workers = _options.number("threads", threads)
        stretch = _options.number("max_stretch_bytes", max_stretch_bytes)
        if preset is not None and not isinstance(preset, str):
            raise TypeError(f"preset is {_options.words(preset)}; it must be a str")
        model = _core.Model(file, -1 if parity is None else _core.parity_number(parity),
                            preset or "", _options.choice(_options.PAGES, "pages", pages))
        if workers:
            model.set_threads(workers)
        model.set_invalid_text(policy)
        model.set_max_stretch_bytes(stretch)
        self = cls(model, **attributes)
        self._source = (os.path.abspath(file),
                        dict(parity=parity, preset=preset, threads=threads, pages=pages,
                             invalid_text=invalid_text, file_defaults=file_defaults,
                             max_stretch_bytes=max_stretch_bytes))
        if _options.flag("file_defaults", file_defaults):
            if not vocabulary.endswith(".json"):
                raise ValueError(f"file_defaults is True; it must be False for {vocabulary}, which is no tokenizer.json")
            self._defaults = FileDefaults.read(vocabulary)
        return self

    @classmethod
    def from_pretrained(cls, folder: _Path, *, threads: int = 0, invalid_text: InvalidText = "reference",
                        file_defaults: bool = False, **attributes: "Unpack[Attributes]") -> "Tokenizer":
        """The tokenizer.json of a model's folder, or its vocab.txt or vocab.json as transformers reads it, with what tokenizer_config.json and special_tokens_map.json say:
        model_max_length, sides, model_input_names, split_special_tokens, the padding token, and those of sentence-transformers:
        max_seq_length (before model_max_length), do_lower_case, the default prompt, which request and encode_pairs put before a
        query, labels, and what makes scores of their logits (Request.put_scores). Ids are those of AutoTokenizer; a warning
        says where the file by itself (from_file) has others, since a class of transformers 5 has another normalizer or pre-tokenizer
        or other added tokens.

        threads, invalid_text, file_defaults, attributes: those of from_file; attributes come before the folder's."""
        _options.check_names("Tokenizer.from_pretrained", attributes, _ATTRIBUTES)
        found = read_folder(folder)
        merged: Any = {**found.attributes, **attributes}
        self = cls._open(_options.path("folder", folder), found.vocabulary, None, None, threads, "auto", invalid_text, file_defaults, 0,
                         merged)
        if self._model.note:
            warnings.warn(self._model.note, stacklevel=2)
        if found.pad_token is not None:
            pad = self.token_to_id(found.pad_token)
            if pad is None:
                raise ValueError(f"pad_token is {found.pad_token!r}; it must be a token of {found.vocabulary}")
            self._pad_id = pad
        self._pad_type_id = 0  # as in transformers, whatever the files say
        self._sided = "padding_side" in merged
        self._scoring = found.scoring
        self.split_special_tokens = found.split_special_tokens
        self._prompt = found.prompt
        return self

    @classmethod
    def from_transformers(cls, tokenizer: Any, *, threads: int = 0, **attributes: Any) -> "Tokenizer":
        """What a fast tokenizer of transformers, or a tokenizers.Tokenizer, does now: its own serialized backend, which is
        not always the file that it was loaded from (docs/parity.md). Attributes of the class that are not given are
        the tokenizer's. Later changes to it have no effect here. To pickle or share it, save_image and from_file."""
        return _transformers.tokenizer_from(cls, tokenizer, {"threads": threads, **attributes})

    def __reduce__(self) -> Any:  # workers of other processes open the file again
        if self._source is None:
            raise TypeError("only a Tokenizer made by from_file can be pickled")
        path, arguments = self._source
        arguments = dict(arguments, model_max_length=self.model_max_length,
                         model_input_names=self.model_input_names, padding_side=self.padding_side,
                         truncation_side=self.truncation_side)
        return (_from_file, (path, arguments, (self._pad_id, self._pad_type_id, self._sided, self._scoring, self.split_special_tokens,
                                               self._prompt)))

    # ---- facts -----------------------------------------------------------------------------

    @property
    def pages(self) -> str:
        """The pages that the vocabulary lies on: "hugetlb", "transparent", "base" or "file"."""
        return self._model.pages[0]

    @property
    def huge_page_bytes(self) -> Optional[int]:
        """Bytes of the vocabulary on huge pages when it was loaded; None where the system does not say."""
        return self._model.pages[1]

    @property
    def vocab_size(self) -> int:
        return int(self.info["id_count"])

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        return int(self.info["id_count" if with_added_tokens else "piece_count"])

    @property
    def pad_token_id(self) -> Optional[int]:
        return None if self._pad_id < 0 else self._pad_id

    @property
    def off_fast_road(self) -> Optional[str]:
        """Why no text of this vocabulary takes the fast road, such as "pre-tokenizer, Punctuation"; None where texts may."""
        reason = self.info["off_fast_road"]
        return None if reason is None else str(reason)

    @property
    def isa(self) -> str:
        """The instruction set that encoders run, such as "avx2"."""
        return self._model.isa()

    def roads(self) -> Dict[str, Tuple[int, int]]:
        """(texts, bytes) that calls have encoded up to now: under "fast road" those that took it, under
        "pipeline", "options", "invalid utf-8", "character", "context", "length", "unknown", "capacity" and "added token" those
        that left it for that reason. A text counts for its first reason, bytes for that of their stretch.
        Asking an Encoding for its offsets encodes the texts of its call once more, with offsets."""
        return self._model.roads()

    def id_to_token(self, id: int) -> Optional[str]:
        return self._model.id_to_piece(_options.number("id", id))

    def token_to_id(self, token: Text) -> Optional[int]:
        if not isinstance(token, (str, bytes)):
            raise TypeError(f"token is {_options.words(token)}; it must be a str or bytes")
        found = self._model.piece_to_id(token)
        return None if found < 0 else found

    def num_special_tokens_to_add(self, is_pair: bool = False) -> int:
        return int(self.info["specials_pair" if is_pair else "specials_single"])

    def row_limit(self, name: str, explicit: bool = True) -> Optional[int]:
        """model_max_length, or None where it is not known; then, if `explicit`, warns that nothing is cut."""
        if self.model_max_length <= _options.NO_LIMIT:
            return self.model_max_length
        if explicit:
            warnings.warn(f"truncation cuts nothing: neither {name} nor model_max_length is set", stacklevel=4)
        return None

    def save_image(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """The compiled image, which opens at once."""
        temporary = f"{os.fspath(path)}.tmp"
        with open(temporary, "wb") as file:
            file.write(self._model.image())
        os.replace(temporary, path)

    # ---- tokenizers' methods ----------------------------------------------------------------

    def encode(self, sequence: Text, pair: Optional[Text] = None, add_special_tokens: bool = True,
               offsets: Optional[OffsetUnit] = None) -> Encoding:
        """One text or pair, as tokenizers.Tokenizer.encode.

        offsets: "code_points", "bytes" (of UTF-8) or "utf16" (code units, for JavaScript and Java; a character above
        U+FFFF has two): what Encoding.offsets count, made in this call. None: code points, made when they are first
        asked for, which encodes the texts once more."""
        _single("sequence", sequence)
        if pair is not None:
            _single("pair", pair)
        return self._encodings(self._call(sequence, pair, add_special_tokens, ("sequence", "pair"), offsets))[0]

    def encode_batch(self, input: Iterable[Union[Text, Tuple[Text, Text]]],
                     add_special_tokens: bool = True, offsets: Optional[OffsetUnit] = None) -> List[Encoding]:
        """Texts, or pairs as tuples; not both in one call. offsets: as in encode."""
        first: Any
        if isinstance(input, (str, bytes)) or hasattr(input, "as_py"):
            raise TypeError(f"input is {_options.words(input)}, one text; it must be a sequence of texts, such as [input]")
        first, second = _pairs("input", input)
        call = self._call(first, second, add_special_tokens,
                          ("input", "input") if second is None else ("first texts of input", "second texts of input"),
                          offsets)
        return self._encodings(call)

    def encode_stream(self, pieces: Iterable[Text], add_special_tokens: bool = True,
                      window_bytes: int = 1 << 16) -> "Iterator[npt.NDArray[np.int32]]":
        """The ids of one text that comes in pieces, cut anywhere (bytes inside a character too), as they are settled:
        those of encode, for texts of any length, of which no more than window_bytes wait at a time.

        Raises RankfeedError for a vocabulary or a text that cannot be cut: LIMIT where window_bytes hold no single
        space or line feed between two plain characters (docs/python.md)."""
        if isinstance(pieces, (str, bytes)):
            raise TypeError(f"pieces is {_options.words(pieces)}, one text; it must be an iterable of texts, such as [pieces]")
        if not hasattr(pieces, "__iter__"):
            raise TypeError(f"pieces is {_options.words(pieces)}; it must be an iterable of texts")
        special = _options.flag("add_special_tokens", add_special_tokens)
        size = _options.number("window_bytes", window_bytes, least=1)
        return self._stream(iter(pieces), int(special) | (_options.SPLIT_SPECIAL_TOKENS if self.split_special_tokens else 0), size)

    def _stream(self, pieces: Iterator[Text], flags: int, window_bytes: int) -> "Iterator[npt.NDArray[np.int32]]":
        stream = _core.Stream(self._model, flags, window_bytes)
        for piece in pieces:
            ids = stream.feed(piece)
            if len(ids):
                yield ids
        yield stream.end()

    def _call(self, first: Any, second: Any, add_special_tokens: bool, names: Tuple[str, str],
              offsets: Optional[OffsetUnit]) -> Call:
        options = {"no_special_tokens": int(not _options.flag("add_special_tokens", add_special_tokens))}
        if self.split_special_tokens:
            options["encode_flags"] = _options.SPLIT_SPECIAL_TOKENS
        options.update(_options.numbers(self._defaults.options(second is not None)))
        unit = None if offsets is None else _options.choice(_options.OFFSETS, "offsets", offsets)
        keep_types = self._defaults.truncation is not None and bool(self._windows_keep_types())
        return Call(self._model, first, second, options, names, unit, keep_types)

    def _windows_keep_types(self) -> Optional[bool]:
        """None: what the vocabulary was made of is not there to look at."""
        file_name = "" if self._source is None else vocabulary_of(self._source[0])
        if self._window_types is None and file_name.endswith(".json"):
            with open(file_name, encoding="utf-8") as file:
                document = json.load(file)
            if "post_processor" in document:  # else a vocab.json
                self._window_types = _transformers.windows_keep_types(document["post_processor"])
        return self._window_types

    def _encodings(self, call: Call) -> List[Encoding]:
        """One of each text, with its further windows, if the file's defaults make any, in overflowing."""
        count = len(call.rows)
        if self._defaults.padding is None:
            made = encodings(call, call.rows, count)
        else:
            made = encodings(Padded(call, self._defaults.length(call.rows.longest), self._defaults.padding), None, count)
        if self._defaults.truncation is None:
            return made
        out: List[Encoding] = []
        for encoding, chunk in zip(made, call.rows.chunks):
            if chunk == 0:
                out.append(encoding)
            else:
                out[-1].overflowing.append(encoding)
        return out

    def decode(self, ids: Any, skip_special_tokens: bool = True) -> str:
        """ids: a sequence of int, or an int32 array of NumPy or any DLPack framework (not copied)."""
        if not hasattr(ids, "__dlpack__") or getattr(ids, "dtype", None) not in (np.dtype("int32"), "int32"):
            ids = _int32("ids", ids)
        return str(self._model.decode(ids, _options.flag("skip_special_tokens", skip_special_tokens)))

    def decode_batch(self, sequences: Iterable[Any], skip_special_tokens: bool = True) -> List[str]:
        return [self.decode(ids, skip_special_tokens) for ids in sequences]

    batch_decode = decode_batch  # transformers' name

    def trim(self) -> int:
        """Hands the memory that texts have touched in encoders back to the system, except in those that
        another thread uses now. Worth a call after texts that normalization makes many times longer. No
        output changes. The bytes of the pages that were handed back, resident or not."""
        return self._model.trim()

    # ---- one query, many documents -----------------------------------------------------------

    @overload
    def encode_pairs(self, query: Document, docs: Texts, max_length: Optional[int] = ...,
                     truncation: Union[bool, Truncation] = ..., padding: Union[bool, Padding] = ..., stride: int = ...,
                     return_tensors: "Literal['np']" = ...,
                     **options: "Unpack[RowOptions]") -> "PairBatch[npt.NDArray[Any]]": ...

    @overload
    def encode_pairs(self, query: Document, docs: Texts, max_length: Optional[int] = ...,
                     truncation: Union[bool, Truncation] = ..., padding: Union[bool, Padding] = ..., stride: int = ...,
                     *, return_tensors: "Literal['dlpack']",
                     **options: "Unpack[RowOptions]") -> "PairBatch[_core.Tensor]": ...

    @overload
    def encode_pairs(self, query: Document, docs: Texts, max_length: Optional[int] = ...,
                     truncation: Union[bool, Truncation] = ..., padding: Union[bool, Padding] = ..., stride: int = ...,
                     *, return_tensors: "Literal['pt']", **options: "Unpack[RowOptions]") -> "PairBatch[Any]": ...

    def encode_pairs(self, query: Document, docs: Texts, max_length: Optional[int] = None,
                     truncation: Union[bool, Truncation] = "longest_first", padding: Union[bool, Padding] = True,
                     stride: int = 0, return_tensors: "Literal['np', 'dlpack', 'pt']" = "np",
                     **options: "Unpack[RowOptions]") -> "PairBatch[Any]":
        """One query with each document, as one batch of tensors that share one block of memory.

        docs: texts, or arrays of int32 or int64 ids without special tokens (rows of a Corpus); a column
        of Arrow (pyarrow, pandas, polars) is read where it lies.
        max_length: of a row, special tokens included; None: model_max_length, where that is known.
        truncation: longest_first, only_second, only_first, longest_first_slow, True, or False: a row
        that is too long is an error. padding: True or "longest", "max_length", or False for the packed
        layout with cu_seqlens. return_tensors: "np", "dlpack" for rankfeed.Tensor, or "pt".
        options: those of Request. Documents that fail leave no row; see PairBatch.statuses."""
        _options.check_names("encode_pairs", options, _PAIR_NAMES)
        request = Request(self, query, docs, max_length=max_length, truncation=truncation, padding=padding,
                          stride=stride, **options)
        batch = request.next()
        if batch is None:
            statuses = request.statuses
            if not statuses:
                raise ValueError("docs is empty; encode_pairs needs at least one document")
            raise RankfeedError("no document became a row: " + ", ".join(statuses[:3]))
        if not _ONE_BATCH.isdisjoint(options) and request.next() is not None:
            raise ValueError(f"{' and '.join(sorted(_ONE_BATCH.intersection(options)))} split docs into several batches; "
                             "encode_pairs makes one, request() makes all")
        return PairBatch(batch, request, return_tensors)

    def row_template(self, template: Any) -> "_core.RowTemplate":
        """Rows of an LLM reranker, compiled with this vocabulary: the name of a preset (rankfeed.template_names()), the path
        of a JSON file, or an object as rankfeed.template_preset gives it. Those with a name are kept."""
        if isinstance(template, _core.RowTemplate):
            return template
        if isinstance(template, dict):
            return _core.RowTemplate(self._model, str(template.get("name", "template")), json.dumps(template))
        if not isinstance(template, (str, os.PathLike)):
            raise TypeError(f"template is {_options.words(template)}; it must be the name of a preset, a path or a dict")
        name = _options.path("template", template)
        if name not in self._templates:
            text = ""
            if name.endswith(".json"):
                if os.path.exists(name) and not os.path.isfile(name):
                    raise ValueError(f"template is {_options.words(name)}, which is no file")  # a pipe would be waited for
                with open(name, encoding="utf-8") as file:
                    text = file.read()
            made = _core.RowTemplate(self._model, name, text)
            if text:
                return made
            self._templates[name] = made
        return self._templates[name]

    def request(self, query: Document, docs: Texts, **options: "Unpack[RequestOptions]") -> Request:
        """As encode_pairs, in several batches; see Request."""
        _options.check_names("request", options, OPTIONS)
        return Request(self, query, docs, **options)

    # ---- transformers' callable --------------------------------------------------------------

    def __call__(self, text: Any, text_pair: Any = None, add_special_tokens: bool = True,
                 padding: Union[bool, Padding] = False, truncation: Union[bool, Truncation, None] = None,
                 max_length: Optional[int] = None, stride: int = 0, is_split_into_words: bool = False,
                 pad_to_multiple_of: Optional[int] = None, padding_side: Optional[Side] = None,
                 return_tensors: "Optional[Literal['np', 'dlpack', 'pt']]" = None,
                 return_token_type_ids: Optional[bool] = None,
                 return_attention_mask: Optional[bool] = None, return_overflowing_tokens: bool = False,
                 return_special_tokens_mask: bool = False, return_offsets_mapping: bool = False,
                 return_length: bool = False, verbose: bool = True,
                 split_special_tokens: Optional[bool] = None) -> BatchEncoding:
        """tok(queries, docs, padding=True, truncation=True, return_tensors="np"): the dictionary that
        transformers' fast tokenizer of the same file returns. return_tensors: None (lists), "np",
        "dlpack" (rankfeed.Tensor) or "pt"."""
        if _options.flag("is_split_into_words", is_split_into_words):
            raise ValueError("is_split_into_words is True; it must be False: texts are tokenized whole")
        if padding is None:
            raise ValueError("padding is None; it must be a bool, longest, max_length or do_not_pad")
        if stride is None:
            raise TypeError("stride is None; it must be an int")
        split = self.split_special_tokens if split_special_tokens is None else _options.flag("split_special_tokens", split_special_tokens)
        single, first, second = _inputs(text, text_pair)
        padding_kind = _options.padding_name(padding)
        cut = _options.truncation_name(truncation)
        if max_length is not None and padding_kind == "do_not_pad" and truncation is None:
            cut = "longest_first"  # transformers' rule for max_length without truncation
        special = _options.flag("add_special_tokens", add_special_tokens)
        specials = self.num_special_tokens_to_add(second is not None) if special else 0
        least, why = _options.row_minimum(specials, second is not None)
        cuts = cut not in ("do_not_truncate", "none")
        if max_length is None:
            if cuts and self.row_limit("max_length") is None:
                cuts = False
            if padding_kind == "max_length" and self.model_max_length > _options.NO_LIMIT:
                padding_kind = "do_not_pad"
            limit = self.model_max_length
            if cuts:
                _options.number("model_max_length", limit, least, why)
        else:
            limit = _options.limit("max_length", max_length, least if cuts else 0, why if cuts else "", 2**62)
        multiple = _options.limit("pad_to_multiple_of", pad_to_multiple_of)
        if padding_kind != "do_not_pad" and self.pad_token_id is None:
            raise ValueError(f"padding is {padding!r} and the vocabulary has no padding token; it must be False")
        if cuts and padding_kind != "do_not_pad" and multiple and limit % multiple != 0:
            raise ValueError(f"max_length is {limit}; with truncation and padding it must be a multiple of "
                             f"pad_to_multiple_of, which is {multiple}")
        side = _options.choice(_options.ONE_SIDE, "padding_side", self.padding_side if padding_side is None else padding_side)
        kind = _options.tensors_name(return_tensors, (None, "np", "dlpack", "pt"))
        names = ["input_ids"]
        if return_token_type_ids or (return_token_type_ids is None and "token_type_ids" in self.model_input_names):
            names.append("token_type_ids")
        if return_attention_mask or (return_attention_mask is None and "attention_mask" in self.model_input_names):
            names.append("attention_mask")
        plan = Plan(pair=second is not None, special=special, cut=cut if cuts else None, limit=limit, multiple=multiple,
                    padding=padding_kind, left=side == 1, names=names, stride=_options.number("stride", stride),
                    truncation_side=_options.choice(_options.ONE_SIDE, "truncation_side", self.truncation_side),
                    split_special_tokens=split, overflow=bool(return_overflowing_tokens),
                    special_tokens_mask=bool(return_special_tokens_mask), offsets=bool(return_offsets_mapping),
                    length=bool(return_length), pad_id=self.pad_token_id or 0, pad_type_id=self._pad_type_id, kind=kind,
                    window_types=self._windows_keep_types() if return_overflowing_tokens else False)
        return BatchEncoding(plan.run(self._model, first, second, single))


_ATTRIBUTES = ("model_max_length", "model_input_names", "padding_side", "truncation_side")
_PAIR_NAMES = (*OPTIONS, "return_tensors")
_ONE_BATCH = frozenset(("max_rows_per_batch", "max_tokens_per_batch", "max_arena_bytes"))


def _from_file(path: str, arguments: Dict[str, Any], folder: Tuple[int, int, bool, Scoring, bool, str]) -> Tokenizer:
    first = {name: arguments.pop(name) for name in ("parity", "preset", "threads", "pages", "invalid_text", "file_defaults", "max_stretch_bytes")}
    self = Tokenizer._open(path, vocabulary_of(path), **first, attributes=arguments)
    self._pad_id, self._pad_type_id, self._sided, self._scoring, self.split_special_tokens, self._prompt = folder
    return self


def _single(name: str, text: Any) -> None:
    if not isinstance(text, (str, bytes)) and not hasattr(text, "as_py"):
        raise TypeError(f"{name} is {_options.words(text)}; it must be a str or bytes")


def _pairs(name: str, items: Any) -> Tuple[Any, Optional[List[Any]]]:
    """Texts as they are, or the first and the second texts of a list of pairs."""
    if not isinstance(items, (list, tuple)) or not any(issubclass(kind, (list, tuple)) for kind in set(map(type, items))):
        return items, None
    for i, item in enumerate(items):
        if not isinstance(item, (list, tuple)):
            raise TypeError(f"{name}[{i}] is {_options.words(item)} among pairs; it must be a pair of texts too")
        if len(item) != 2:
            raise ValueError(f"{name}[{i}] has {len(item)} items; it must be a pair of texts")
    return [a for a, _ in items], [b for _, b in items]


def _inputs(text: Any, text_pair: Any) -> Tuple[bool, Any, Any]:
    """Whether it is one text, and the first and second texts of the callable's arguments."""
    if isinstance(text, (str, bytes)) or hasattr(text, "as_py"):
        pair = text_pair.as_py() if hasattr(text_pair, "as_py") else text_pair
        if pair is None or isinstance(pair, (str, bytes, list, tuple)) and not pair:
            return True, [text], None  # an empty second text is none there, where the first one is alone
        _single("text_pair", text_pair)
        return True, [text], [text_pair]
    if isinstance(text_pair, (str, bytes)):
        raise TypeError(f"text_pair is {_options.words(text_pair)}, one text; with several texts it must be as many")
    if text_pair is None:
        text, text_pair = _pairs("text", text)
    return False, text, text_pair


def _int32(name: str, ids: Any) -> Any:
    """Ids as int32, each of which fits."""
    if isinstance(ids, (str, bytes)):
        raise TypeError(f"{name} is {_options.words(ids)}; it must be a sequence of int")
    wide = np.asarray(ids)
    if wide.size == 0:
        return np.zeros(0, np.int32)
    if wide.dtype.kind not in "iu" or wide.ndim != 1:
        raise TypeError(f"{name} is {_options.words(ids)}; it must be a sequence of int")
    for bad in (int(wide.min()), int(wide.max())):
        if not 0 <= bad < 2**31:
            raise ValueError(f"{name}[{int(np.argmax(wide == bad))}] is {bad}; ids are 0 to {2**31 - 1}")
    return np.ascontiguousarray(wide, dtype=np.int32)
