# SPDX-License-Identifier: MIT
"""rankfeed below transformers' own tokenizer classes:

    tokenizer = rankfeed.hf.wrap(tokenizer)                       # any fast tokenizer of transformers 5
    tokenizer = rankfeed.hf.AutoTokenizer.from_pretrained(folder)  # the same in one step

The tokenizer that comes back is of the same class, with rankfeed below its calls. Ids are those of the wrapped one,
whatever it was built from: its backend_tokenizer is the truth, and is compiled as it is. What rankfeed does not do
goes to the wrapped tokenizer, with one warning for each reason.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
import warnings
from typing import Any, Callable, Dict, List, Optional, Tuple, Type

import tokenizers
import transformers
from transformers import BatchEncoding as _BatchEncoding
from transformers import PreTrainedTokenizerFast

from . import _core, _options
from ._plan import Plan, Ragged
from ._transformers import windows_keep_types

__all__ = ["Accelerated", "AutoTokenizer", "BatchEncoding", "wrap"]

# Ids of older releases differ (docs/drift.md); these two cut as they tokenize, and lose windows and odd places.
_OLDEST = (0, 23, 1)
_CUT_EARLY = ((0, 23, 1), (0, 23, 2))


class _NotDone(Exception):
    """What rankfeed does not do; the message is the reason that a warning names."""


class BatchEncoding(_BatchEncoding):  # type: ignore[misc]
    """transformers' BatchEncoding. tokenizers.Encoding objects, which tokens(), word_ids(), char_to_token() and the like
    read, are made by the wrapped tokenizer when something first asks for them. Pickles hold the data, and those objects
    only where they were made."""

    _remake: Optional[Callable[[], List[Any]]] = None
    _made: Optional[List[Any]] = None

    @property
    def _encodings(self) -> Optional[List[Any]]:
        if self._made is None and self._remake is not None:
            self._made = self._remake()
        return self._made

    @_encodings.setter
    def _encodings(self, encodings: Optional[List[Any]]) -> None:
        self._made = encodings

    @property
    def is_fast(self) -> bool:
        return self._made is not None or self._remake is not None

    def __getstate__(self) -> Dict[str, Any]:
        return {"data": self.data, "encodings": self._made, "n_sequences": self._n_sequences}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        super().__setstate__(state)
        self._n_sequences = state.get("n_sequences")


class _Engine:
    """The compiled vocabulary of a tokenizer, kept equal to its backend. Internally synchronised."""

    def __init__(self, threads: int):
        self.threads = threads
        self.lock = threading.RLock()
        self.suspect = True  # something may have changed the backend
        self.fallbacks: Dict[str, int] = {}
        self._state: Optional[int] = None  # hash of what was compiled
        self._probe: Any = None
        self._model: Optional["_core.Model"] = None
        self._why: Optional[str] = None  # why there is none
        self._slow: Optional[Tuple[int, Any]] = None  # (state, a backend that calls may configure)

    def __reduce__(self) -> Any:  # compiled again where it is read
        return (_Engine, (self.threads,))

    def model(self, backend: Any) -> "_core.Model":
        """The vocabulary for the backend as it is now."""
        if self.suspect or self._probe != _probe(backend):
            with self.lock:
                self._look(backend)
        if self._model is None:
            raise _NotDone(self._why)
        return self._model

    def slow(self, backend: Any) -> Any:
        """A copy of the backend: calls set its truncation and padding, which other threads must not see. With the
        lock held."""
        self._look(backend)
        if self._slow is None or self._slow[0] != self._state:
            self._slow = (self._state or 0, tokenizers.Tokenizer.from_str(backend.to_str()))
        return self._slow[1]

    def count(self, reason: str) -> None:
        with self.lock:
            first = reason not in self.fallbacks
            self.fallbacks[reason] = self.fallbacks.get(reason, 0) + 1
        if first:
            warnings.warn(f"rankfeed does not accelerate {reason}; the wrapped tokenizer does such calls", stacklevel=4)

    def _look(self, backend: Any) -> None:
        if not self.suspect and self._probe == _probe(backend):
            return
        self.suspect = False
        self._probe = _probe(backend)
        text = backend.to_str()
        state = hash(text[text.index('"added_tokens":'):])  # what stands before is the last call's padding and truncation
        if state == self._state:
            return
        self._state, self._model = state, None
        try:
            if _release() < _OLDEST:
                raise _NotDone(f"tokenizers {tokenizers.__version__}, whose ids can differ from those of 0.23.1 and later")
            self._model = _compiled(text, self.threads)
        except (_NotDone, ValueError) as error:
            self._why = str(error)


def _release() -> Tuple[int, ...]:
    return tuple(int(part) for part in tokenizers.__version__.split(".")[:3] if part.isdigit())


def _probe(backend: Any) -> Any:
    """The parts that methods of transformers' classes change, cheap enough to look at in every call."""
    parts = (backend.post_processor, backend.pre_tokenizer)
    return [None if part is None else part.__getstate__() for part in parts], repr(backend.get_added_tokens_decoder())


def _keeps_types(backend: Any) -> bool:
    processor = backend.post_processor
    return processor is not None and windows_keep_types(json.loads(processor.__getstate__()))


def _compiled(text: str, threads: int) -> "_core.Model":
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "tokenizer.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        try:
            model = _core.Model(path, _core.parity_number("huggingface"), "", False)
        except ValueError as error:
            raise _NotDone("this vocabulary (" + str(error).replace(path, "tokenizer.json") + ")") from None
    if threads:
        model.set_threads(threads)
    return model


class Accelerated(PreTrainedTokenizerFast):  # type: ignore[misc]
    """What wrap() puts in front of a tokenizer's class. Share it between threads, as long as none changes it."""

    _wrapped_class: Type[Any]

    # ---- calls -----------------------------------------------------------------------------

    def _encode_plus(self, text: Any, text_pair: Any = None, **options: Any) -> Any:
        try:
            return self._accelerated(text, text_pair, dict(options))
        except _NotDone as error:
            reason = str(error)
        except Ragged:
            reason = "tensors of rows of different lengths"
        except (ValueError, TypeError) as error:  # the wrapped tokenizer says it in its own words, or does it
            reason = f"a call that it refused ({error})"
        result = self._by_wrapped(text, text_pair, options)
        self._rankfeed_engine.count(reason)
        return result

    def tokenize(self, text: Any, pair: Any = None, add_special_tokens: bool = False, **kwargs: Any) -> Any:
        return self._by_wrapped(text, pair, dict(kwargs, add_special_tokens=add_special_tokens)).tokens()

    def _by_wrapped(self, text: Any, text_pair: Any, options: Dict[str, Any]) -> Any:
        engine = self._rankfeed_engine
        with engine.lock:
            slow = _plain(self)
            slow.__dict__["_tokenizer"] = engine.slow(self._tokenizer)
            return slow._encode_plus(text=text, text_pair=text_pair, **options)

    def _accelerated(self, text: Any, text_pair: Any, options: Dict[str, Any]) -> BatchEncoding:
        model = self._rankfeed_engine.model(self._tokenizer)
        original = dict(options)
        plan = self._plan(options, model)
        first, second, batched = _texts(text, text_pair)
        plan.pair = second is not None
        uneven = plan.overflow or (plan.pair and plan.cut == "longest_first")
        if plan.cut is not None and uneven and _release() in _CUT_EARLY:
            raise _NotDone(f"truncation as tokenizers {tokenizers.__version__} does it")
        if plan.cut is not None and plan.overflow and plan.pair and plan.cut != "only_second":
            raise _NotDone("windows of both texts of a pair")
        data = plan.run(model, first, second, not batched)
        verbose, longest = original.get("verbose", True), plan.longest
        if original.get("max_length") is None and longest > self.model_max_length:
            self._eventual_warn_about_too_long_sequence(range(longest), None, verbose)
        batch = BatchEncoding(data, n_sequences=2 if plan.pair else 1)
        batch._remake = lambda: list(self._by_wrapped(text, text_pair, dict(original, return_tensors=None)).encodings)
        return batch

    def _plan(self, options: Dict[str, Any], model: "_core.Model") -> Plan:
        """The call's options, all of them: what is left over is not known here."""
        take = options.pop
        cut = str(getattr(take("truncation_strategy", "do_not_truncate"), "value", "do_not_truncate"))
        padding = str(getattr(take("padding_strategy", "do_not_pad"), "value", "do_not_pad"))
        max_length, stride, multiple = take("max_length", None), take("stride", 0), take("pad_to_multiple_of", None)
        kind = take("return_tensors", None)
        kind = getattr(kind, "value", kind)
        side, split = take("padding_side", None), take("split_special_tokens", None)
        types, mask = take("return_token_type_ids", None), take("return_attention_mask", None)
        overflow = bool(take("return_overflowing_tokens", False))
        if _options.flag("is_split_into_words", take("is_split_into_words", False)):
            raise _NotDone("words split before (is_split_into_words)")
        if kind not in (None, "np", "pt"):
            raise _NotDone(f"return_tensors={kind!r}")
        if stride is None or (stride and not overflow):
            raise _NotDone("a stride without return_overflowing_tokens")
        names = ["input_ids"]
        if types or (types is None and "token_type_ids" in self.model_input_names):
            names.append("token_type_ids")
        if mask or (mask is None and "attention_mask" in self.model_input_names):
            names.append("attention_mask")
        special = _options.flag("add_special_tokens", take("add_special_tokens", True))
        cuts = cut != "do_not_truncate"
        plan = Plan(
            pair=False, special=special, cut=cut if cuts else None,
            limit=_options.number("max_length", max_length, int(cuts), most=2**31) if cuts or padding == "max_length" else 0,
            multiple=_options.number("pad_to_multiple_of", multiple) if padding != "do_not_pad" else 0, padding=padding,
            left=_options.choice(_options.ONE_SIDE, "padding_side", self.padding_side if side is None else side) == 1, names=names, stride=_options.number("stride", stride),
            truncation_side=_options.choice(_options.ONE_SIDE, "truncation_side", self.truncation_side),
            split_special_tokens=_options.flag("split_special_tokens", self.split_special_tokens if split is None else split),
            overflow=overflow,
            special_tokens_mask=bool(take("return_special_tokens_mask", False)),
            offsets=bool(take("return_offsets_mapping", False)), length=bool(take("return_length", False)),
            pad_id=self.pad_token_id if padding != "do_not_pad" else 0, pad_type_id=self.pad_token_type_id, kind=kind,
            window_types=overflow and _keeps_types(self._tokenizer), objects=False)
        options.pop("verbose", None)
        if options:
            raise _NotDone(f"the argument {', '.join(sorted(options))}")
        return plan

    # ---- what may change the backend ---------------------------------------------------------

    @property
    def _rankfeed_engine(self) -> _Engine:
        engine: Optional[_Engine] = self.__dict__.get("_rankfeed")
        if engine is None:  # made by its constructor, as methods of the class do that make a new tokenizer
            engine = self.__dict__.setdefault("_rankfeed", _Engine(0))
        return engine

    def rankfeed_refresh(self) -> None:
        """Looks at the backend again in the next call. Only needed after a change to the private `_tokenizer`: those
        through methods, properties and `backend_tokenizer` are seen."""
        self._rankfeed_engine.suspect = True

    @property
    def rankfeed_fallbacks(self) -> Dict[str, int]:
        """How many calls went to the wrapped tokenizer, by reason."""
        return dict(self._rankfeed_engine.fallbacks)

    @property
    def rankfeed_off(self) -> Optional[str]:
        """Why no call is accelerated; None where calls are."""
        try:
            self._rankfeed_engine.model(self._tokenizer)
        except _NotDone as error:
            return str(error)
        return None

    @property
    def backend_tokenizer(self) -> Any:
        self._rankfeed_engine.suspect = True  # whoever has it may change it
        return self._tokenizer

    def __setattr__(self, key: str, value: Any) -> None:
        super().__setattr__(key, value)
        if key == "_tokenizer" or isinstance(getattr(type(self), key, None), property):
            self._rankfeed_engine.suspect = True

    def _add_tokens(self, new_tokens: Any, special_tokens: bool = False) -> int:
        self._rankfeed_engine.suspect = True
        return int(super()._add_tokens(new_tokens, special_tokens))

    def _decode(self, *args: Any, **kwargs: Any) -> str:
        return str(_plain(self)._decode(*args, **kwargs))  # which looks at backend_tokenizer

    def convert_tokens_to_string(self, tokens: List[str]) -> str:
        return str(_plain(self).convert_tokens_to_string(tokens))

    # ---- copies ------------------------------------------------------------------------------

    def __reduce__(self) -> Any:
        return (_rewrap, (_plain(self), self._rankfeed_engine.threads))

    def train_new_from_iterator(self, *args: Any, **kwargs: Any) -> Any:
        return wrap(_plain(self).train_new_from_iterator(*args, **kwargs), threads=self._rankfeed_engine.threads)

    @classmethod
    def from_pretrained(cls, *args: Any, **kwargs: Any) -> Any:
        return wrap(cls._wrapped_class.from_pretrained(*args, **kwargs))


def _texts(text: Any, text_pair: Any) -> Tuple[List[str], Optional[List[str]], bool]:
    """First and second texts, and whether they were a batch, by transformers' rules; str only."""
    batched = isinstance(text, (list, tuple))
    first, second = text, text_pair
    if not batched:
        if text_pair is not None and not isinstance(text_pair, (str, list, tuple)):
            raise _NotDone("texts that are no str")
        first, second = [text], [text_pair] if text_pair else None
    elif not text or (text_pair is not None and (not isinstance(text_pair, (list, tuple)) or len(text_pair) != len(text))):
        raise _NotDone("an empty batch, or texts and text_pairs of different numbers")
    elif text_pair is None and not _all_str(text):
        for item in text:
            if not isinstance(item, (list, tuple)) or len(item) != 2:
                raise _NotDone("a batch of texts and pairs, or of words")
        first, second = [a for a, _ in text], [b for _, b in text]
    if not _all_str(first) or (second is not None and not _all_str(second)):
        raise _NotDone("texts that are no str")
    return first, second, batched


def _all_str(items: Any) -> bool:
    return all(issubclass(kind, str) for kind in set(map(type, items)))


def _plain(tokenizer: Any) -> Any:
    """The tokenizer without rankfeed, over the same parts."""
    plain = object.__new__(tokenizer._wrapped_class)
    plain.__dict__.update({key: value for key, value in tokenizer.__dict__.items() if key != "_rankfeed"})
    return plain


_classes: Dict[Type[Any], Type[Any]] = {}


def wrap(tokenizer: Any, *, threads: int = 0) -> Any:
    """The tokenizer with rankfeed below its calls: an instance of the same class, and of Accelerated, over the same
    backend.

    tokenizer: a fast tokenizer of transformers 5. threads: of batches; 0: all cores.
    Where nothing of it can be accelerated, a warning says why, and calls go to the wrapped tokenizer; classes that
    encode in their own way (with boxes, entities, notes) are returned as they are."""
    if isinstance(tokenizer, Accelerated):
        return tokenizer
    if not isinstance(tokenizer, PreTrainedTokenizerFast) or not hasattr(PreTrainedTokenizerFast, "_encode_plus"):
        raise TypeError(f"tokenizer is {_options.words(type(tokenizer).__name__)}; it must be a PreTrainedTokenizerFast of "
                        f"transformers 5 (installed: {transformers.__version__})")
    base = type(tokenizer)
    if any(getattr(base, name) is not getattr(PreTrainedTokenizerFast, name) for name in ("__call__", "_encode_plus")):
        warnings.warn(f"rankfeed does not accelerate {base.__name__}, which encodes in its own way; it is returned as it is",
                      stacklevel=2)
        return tokenizer
    if base not in _classes:
        # Saved files name the class: it keeps its name.
        _classes[base] = type(base.__name__, (Accelerated, base), {
            "_wrapped_class": base, "__module__": base.__module__, "__doc__": base.__doc__})
    wrapped = object.__new__(_classes[base])
    wrapped.__dict__.update(tokenizer.__dict__)
    wrapped.__dict__["_rankfeed"] = _Engine(_options.number("threads", threads))
    off = wrapped.rankfeed_off
    if off is not None:
        warnings.warn(f"rankfeed does not accelerate {off}; the wrapped tokenizer does all calls", stacklevel=2)
        wrapped._rankfeed_engine.fallbacks[off] = 0
    return wrapped


def _rewrap(plain: Any, threads: int) -> Any:
    return wrap(plain, threads=threads)


class AutoTokenizer:
    """transformers.AutoTokenizer, whose tokenizers come wrapped."""

    @staticmethod
    def from_pretrained(*args: Any, **kwargs: Any) -> Any:
        return wrap(transformers.AutoTokenizer.from_pretrained(*args, **kwargs))
