# SPDX-License-Identifier: MIT
"""Stores of documents tokenized before (rankfeed/corpus.h)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Iterable, List, Optional, Sequence, Union

from . import _core, _options
from ._options import SPLIT_SPECIAL_TOKENS, Document, Specials, Texts

if TYPE_CHECKING:
    from ._tokenizer import Tokenizer

Key = Union[str, bytes]


def _model(tokenizer: Any) -> "_core.Model":
    model = getattr(tokenizer, "_model", None)
    if not isinstance(model, _core.Model):
        raise TypeError(f"tokenizer is {_options.words(tokenizer)}; it must be a rankfeed.Tokenizer")
    return model


def _flags(split_special_tokens: Any, specials_in_text: Any, tokenizer: Any) -> int:
    if split_special_tokens is None:
        split_special_tokens = specials_in_text == "parse" and getattr(tokenizer, "split_special_tokens", False)
    return ((SPLIT_SPECIAL_TOKENS if _options.flag("split_special_tokens", split_special_tokens) else 0)
            | _options.choice(_options.SPECIALS_IN_TEXT, "specials_in_text", specials_in_text))


def _template(tokenizer: Optional["Tokenizer"], template: Any) -> "Optional[_core.RowTemplate]":
    if template is None:
        return None
    if tokenizer is None:
        raise ValueError("tokenizer is None; with a template it must be a rankfeed.Tokenizer")
    return tokenizer.row_template(template)


class Corpus:
    """A store open for reading: `corpus[id]` is an int32 array over the store's bytes, which
    Tokenizer.encode_pairs takes in place of a text. Share it between threads.

    path: a store, or the manifest of a set of them (rankfeed.ray.pretokenize, `rankfeed corpus manifest`),
    which is opened as one corpus without merging.
    tokenizer: the store must be of its vocabulary; None: any. template, split_special_tokens, specials_in_text: as
    in Request: documents of the store must be made for such rows. trusted: skip the pass over all bytes.
    map_file: map the file in place of reading it to private memory, for stores larger than memory;
    only for files that nobody else changes (SECURITY.md, "Files that change")."""

    def __init__(self, path: Union[str, "os.PathLike[str]"], tokenizer: Optional["Tokenizer"] = None,
                 trusted: bool = False, split_special_tokens: Optional[bool] = None, map_file: bool = False, template: Any = None,
                 specials_in_text: Specials = "parse"):
        self._core = _core.Corpus(_options.path("path", path), None if tokenizer is None else _model(tokenizer),
                                  _options.flag("trusted", trusted), _flags(split_special_tokens, specials_in_text, tokenizer),
                                  _options.flag("map_file", map_file), _template(tokenizer, template))

    def __len__(self) -> int:
        return len(self._core)

    def __getitem__(self, id: Key) -> Any:
        found = self._core.find(id)
        if found is None:
            raise KeyError(id)
        return found

    def __contains__(self, id: Key) -> bool:
        return self._core.find(id) is not None

    def get(self, id: Key, default: Any = None) -> Any:
        found = self._core.find(id)
        return default if found is None else found

    def get_all(self, ids: Iterable[Key]) -> List[Any]:
        """One array or None per id; faster in a large store than one after the other."""
        return self._core.find_all(list(ids))

    def keys(self) -> List[str]:
        """Ids in the order in which documents were last written, shard after shard."""
        return self._core.keys()

    @property
    def token_count(self) -> int:
        return self._core.tokens

    @property
    def file_bytes(self) -> int:
        return self._core.file_bytes

    @property
    def sequence(self) -> int:
        """Grows with every commit: tells a changed store."""
        return self._core.sequence

    @property
    def shard_count(self) -> int:
        """Stores that the manifest names; 0 where the corpus is one store."""
        return self._core.shard_count


class CorpusWriter:
    """Makes a store, or changes one (append=True). Leaving a `with` block commits, unless it raised:
    then what was not committed is dropped. template, split_special_tokens, specials_in_text: as in Request: documents
    are stored as such rows have them, with the literal text that is tokenized together with each."""

    def __init__(self, path: Union[str, "os.PathLike[str]"], tokenizer: "Tokenizer", append: bool = False,
                 split_special_tokens: Optional[bool] = None, template: Any = None, specials_in_text: Specials = "parse"):
        self._core = _core.CorpusWriter(_options.path("path", path), _model(tokenizer), _options.flag("append", append),
                                        _flags(split_special_tokens, specials_in_text, tokenizer), _template(tokenizer, template))

    def put(self, id: Key, document: Document) -> None:
        """document: a text, or an array of int32 or int64 ids without special tokens."""
        self._core.put_all([id], [document])

    def put_all(self, ids: Texts, documents: Texts) -> None:
        """Tokenizes in parallel."""
        self._core.put_all(ids, documents)

    def remove(self, id: Key) -> None:
        self._core.remove(id)

    def commit(self) -> None:
        self._core.commit()

    def close(self) -> None:
        self._core.close()

    def __enter__(self) -> "CorpusWriter":
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            self.commit()
        self.close()


def merge_corpus(sources: Sequence[Union[str, "os.PathLike[str]"]], path: Union[str, "os.PathLike[str]"]) -> None:
    """Writes the documents of several stores to a new one; of equal ids the later store's wins."""
    _core.merge_corpus([os.fspath(source) for source in sources], os.fspath(path))


def compact_corpus(path: Union[str, "os.PathLike[str]"]) -> None:
    """Rewrites a store without what was replaced and removed."""
    _core.compact_corpus(os.fspath(path))
