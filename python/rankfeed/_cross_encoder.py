# SPDX-License-Identifier: MIT
"""CrossEncoder: sentence-transformers' class by name, over the forward pass of the extension."""

from __future__ import annotations

import atexit
import functools
import json
import os
import sys
import warnings
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, NoReturn, Optional, Sequence, Tuple, TypeVar, Union

import numpy as np

from . import _core, _options
from ._activations import Activation, Identity, Sigmoid, named, resolved
from ._errors import RankfeedError
from ._folder import ModelSettings
from ._tokenizer import Tokenizer

if TYPE_CHECKING:
    import numpy.typing as npt

Call = TypeVar("Call", bound=Callable[..., Any])
_DTYPES = {"auto": 0, "float32": 1, "bfloat16": 3}  # RANKFEED_DTYPE_*
_PATIENCE = 0.02  # seconds between looks at signals
# What sentence-transformers' class has beside scoring.
_LACKS = {**dict.fromkeys(("start_multi_process_pool", "stop_multi_process_pool"), "threads= of the constructor shares each call between processors"),
          **dict.fromkeys(("fit", "old_fit", "train", "smart_batching_collate"), "it does not train"),
          **dict.fromkeys(("save", "save_pretrained", "save_to_hub", "push_to_hub"), "it writes no models: the folder is there already"),
          **dict.fromkeys(("cuda", "half", "bfloat16", "compile"), "it runs on the processor, in float32, or with model_kwargs={'dtype': 'bfloat16'} "
                                                                    "where that has such products")}


def _warn_deprecated(message: str) -> None:
    warnings.warn(message, DeprecationWarning, stacklevel=4)


def _renamed(function: str, names: Mapping[str, str], dropped: Sequence[str] = (), positional: Sequence[str] = ()) -> Callable[[Call], Call]:
    """Takes the deprecated names of sentence-transformers' arguments, with a warning; the signature shows the new ones."""

    def decorator(call: Call) -> Call:
        @functools.wraps(call)
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            if positional and len(args) > 1:
                for name, value in zip(positional, args[1:]):
                    _warn_deprecated(f"{name} of {function} as a positional argument is deprecated; it must be {name}={value!r}")
                    kwargs.setdefault(name, value)
                args = args[:1] + args[1 + len(positional):]
            for old, new in names.items():
                if old in kwargs:
                    _warn_deprecated(f"{old} of {function} is deprecated; its name is {new}")
                    value = kwargs.pop(old)
                    kwargs.setdefault(new, value)
            for old in dropped:
                if old in kwargs:
                    _warn_deprecated(f"{old} of {function} is deprecated and has no effect")
                    del kwargs[old]
            return call(self, *args, **kwargs)
        return wrapper  # type: ignore[return-value]
    return decorator


class Config(SimpleNamespace):
    """The members of a config.json as attributes, with num_labels and id2label as transformers has them."""

    def to_dict(self) -> Dict[str, Any]:
        return dict(vars(self))


class CrossEncoder:
    """A cross-encoder in a folder as published: config.json, model.safetensors and a tokenizer. Arguments, their order, defaults
    and deprecated names are those of sentence_transformers.CrossEncoder 6.2, and so are scores, to 2e-5; nothing is downloaded,
    and torch is not needed. Scores are those of `rankfeed rerank`, bit for bit.

    max_length: tokens of a row. activation_fn: a callable over an array [rows, labels], or "Identity", "Sigmoid" or "Softmax";
    None: as the folder says. num_labels: must be the folder's. model_kwargs: dtype, "float32" or "bfloat16". threads: of each
    call; 0: one for each processor that the process may keep busy. What cannot be done here (other devices, pools, training,
    modules of torch) is an error that names the argument.

    Share it between threads: calls release the GIL. Ctrl-C ends a call at once. A forked child works without threads.
    Errors: TypeError and ValueError name the argument; FileNotFoundError the file; RankfeedError, a ValueError, what the files
    of the model hold."""

    activation_fn: Activation

    @_renamed("CrossEncoder", {"model_name": "model_name_or_path", "automodel_args": "model_kwargs", "tokenizer_args": "processor_kwargs",
                               "tokenizer_kwargs": "processor_kwargs", "config_args": "config_kwargs", "cache_dir": "cache_folder",
                               "default_activation_function": "activation_fn"},
              dropped=("classifier_dropout",), positional=("num_labels", "max_length", "activation_fn", "device"))
    def __init__(self, model_name_or_path: Union[str, "os.PathLike[str]", None] = None, *, modules: Any = None, device: Any = None,
                 prompts: Optional[Dict[str, str]] = None, default_prompt_name: Optional[str] = None,
                 cache_folder: Optional[str] = None, trust_remote_code: bool = False, revision: Optional[str] = None,
                 local_files_only: bool = False, token: Union[bool, str, None] = None,
                 model_kwargs: Optional[Dict[str, Any]] = None, processor_kwargs: Optional[Dict[str, Any]] = None,
                 config_kwargs: Optional[Dict[str, Any]] = None, model_card_data: Any = None, backend: str = "torch",
                 num_labels: Optional[int] = None, max_length: Optional[int] = None,
                 activation_fn: Union[Activation, str, None] = None, keep_in_fp32_modules: Optional[List[str]] = None,
                 threads: int = 0):
        if not hasattr(_core, "CrossEncoder"):
            raise RankfeedError("this wheel has no forward pass, which was not ported to this system; the wheels for Linux have it (docs/wheels.md)")
        _refuse("modules", modules, None, "layers are those of the folder's config.json")
        _refuse("backend", backend, "torch", "the package has a forward pass of its own, which this name stands for")
        _refuse("keep_in_fp32_modules", keep_in_fp32_modules or None, None, "all layers compute in float32")
        _check_device("device", device)
        if model_name_or_path is None:
            raise TypeError("model_name_or_path is None; it must be a model's folder")
        folder = _options.path("model_name_or_path", model_name_or_path)
        if not os.path.isdir(folder):
            raise FileNotFoundError(f"{folder} is no folder; CrossEncoder reads a model's folder and downloads nothing "
                                    f"(hf download {folder} --local-dir FOLDER)")
        count = _options.number("threads", threads)
        dtype, limit, labels = _read_kwargs(model_kwargs, processor_kwargs, config_kwargs)
        limit = limit if max_length is None else max_length
        labels = labels if num_labels is None else num_labels
        self._config = _read_config(folder)
        self._settings = ModelSettings.read(folder)
        if self._settings.refusal:
            raise ValueError(self._settings.refusal)
        self.tokenizer = Tokenizer.from_pretrained(folder, threads=count)
        self._folder, self._threads = folder, count
        try:
            self._core = _core.CrossEncoder(self.tokenizer._model, folder, self.tokenizer._source[0] if self.tokenizer._source else folder, dtype, count)
        except RankfeedError as error:
            if error.name != "RANKFEED_E_IO":
                raise
            missing = not any(name.endswith(".safetensors") for name in os.listdir(folder))
            raise (FileNotFoundError if missing else OSError)(str(error)) from None
        self._info: Dict[str, Any] = self._core.info()
        if labels is not None and _options.number("num_labels", labels) != self.num_labels:
            raise ValueError(f"num_labels is {labels}; it must be {self.num_labels}, as in {folder}, or None")
        self.config = Config(**self._config)
        self.config.num_labels = self.num_labels
        names = self._config.get("id2label")
        names = names if isinstance(names, dict) else {}
        self.config.id2label = {i: str(names.get(str(i), f"LABEL_{i}")) for i in range(self.num_labels)}
        self.prompts = {**self._settings.prompts, **(prompts or {})}
        self.default_prompt_name = self._settings.default_prompt_name if default_prompt_name is None else default_prompt_name
        if self.default_prompt_name is not None and self.default_prompt_name not in self.prompts:
            raise ValueError(f"default_prompt_name is {self.default_prompt_name!r}; it must be one of {_names(self.prompts)}")
        self.tokenizer.model_max_length = min(self.tokenizer.model_max_length, self._settings.max_length or sys.maxsize, self._info["max_row_tokens"])
        if limit is not None:
            self.max_seq_length = limit
        self.trust_remote_code, self.backend = bool(trust_remote_code), backend
        self.activation_fn = self.get_default_activation_fn() if activation_fn is None else activation_fn if callable(activation_fn) else resolved(activation_fn)
        if self._info["note"]:
            warnings.warn(f"{folder}: {self._info['note']}", stacklevel=3)

    # ---- facts -----------------------------------------------------------------------------

    @property
    def num_labels(self) -> int:
        return int(self._info["labels"])

    @property
    def max_seq_length(self) -> int:
        """Tokens of the longest row."""
        return min(self.tokenizer.model_max_length, int(self._info["max_row_tokens"]))

    @max_seq_length.setter
    def max_seq_length(self, value: int) -> None:
        least, why = _options.row_minimum(int(self.tokenizer.info["specials_pair"]) + 1, True)
        self.tokenizer.model_max_length = _options.number("max_seq_length", value, least, why) or int(self._info["max_row_tokens"])

    @property
    def max_length(self) -> int:
        warnings.warn("max_length of CrossEncoder is deprecated; its name is max_seq_length", DeprecationWarning, stacklevel=2)
        return self.max_seq_length

    @max_length.setter
    def max_length(self, value: int) -> None:
        warnings.warn("max_length of CrossEncoder is deprecated; its name is max_seq_length", DeprecationWarning, stacklevel=2)
        self.max_seq_length = value

    @property
    def default_activation_function(self) -> Activation:
        warnings.warn("default_activation_function of CrossEncoder is deprecated; its name is activation_fn", DeprecationWarning, stacklevel=2)
        return self.activation_fn

    def get_default_activation_fn(self) -> Activation:
        """What the folder says, or else the sigmoid of one label and the logits of several."""
        if self._settings.activation:
            return named(self._settings.activation, f"the activation that {self._folder} names")
        return Sigmoid() if self.num_labels == 1 else Identity()

    @property
    def device(self) -> str:
        return "cpu"

    def to(self, device: Any) -> "CrossEncoder":
        _check_device("device", device)
        return self

    def eval(self) -> "CrossEncoder":
        return self

    def __getattr__(self, name: str) -> NoReturn:
        reason = f": {_LACKS[name]}" if name in _LACKS else ""
        raise AttributeError(f"rankfeed's CrossEncoder has no {name}{reason}")

    def __repr__(self) -> str:
        i = self._info
        return (f"CrossEncoder({self._folder!r}, {self._config.get('model_type', 'model')}, {i['layers']} layers of {i['hidden_size']}, "
                f"labels={i['labels']}, dtype={i['dtype']}, products={i['products']!r}, isa={self.tokenizer.isa}, "
                f"max_seq_length={self.max_seq_length}, threads={i['threads']})")

    def __reduce__(self) -> Any:
        return (_reopened, (self._folder, dict(prompts=self.prompts, default_prompt_name=self.default_prompt_name, threads=self._threads,
                                               max_length=self.max_seq_length, activation_fn=self.activation_fn,
                                               model_kwargs={"dtype": self._info["dtype"]})))

    # ---- scores ----------------------------------------------------------------------------

    @_renamed("CrossEncoder.predict", {"sentences": "inputs", "activation_fct": "activation_fn"}, dropped=("num_workers",))
    def predict(self, inputs: Any, prompt_name: Optional[str] = None, prompt: Optional[str] = None, batch_size: int = 32,
                show_progress_bar: Optional[bool] = None, activation_fn: Union[Activation, str, None] = None,
                apply_softmax: Optional[bool] = False, convert_to_numpy: bool = True, convert_to_tensor: bool = False,
                device: Any = None, pool: Any = None, chunk_size: Optional[int] = None, **kwargs: Any) -> Any:
        """Scores of pairs of texts, [pairs] or [pairs, labels]; of one pair its own.

        batch_size bounds memory: no more than so many times max_seq_length tokens are worked on at once; scores do not depend on
        it. show_progress_bar: of tqdm; None: where it is installed, stderr is a terminal and the work takes seconds.
        convert_to_tensor, and convert_to_numpy=False, need torch."""
        _options.check_names("CrossEncoder.predict", kwargs, _PREDICT)
        torch = _torch("convert_to_tensor" if convert_to_tensor else "convert_to_numpy=False") if convert_to_tensor or not convert_to_numpy else None
        _check_call(device, pool)
        single = self.is_singular_input(inputs)
        pairs = [inputs.tolist() if isinstance(inputs, np.ndarray) else inputs] if single else \
            inputs.tolist() if isinstance(inputs, np.ndarray) else inputs if isinstance(inputs, list) else list(inputs)
        first, second = _columns(pairs)
        logits = self._logits(first, second, [1] * len(pairs), self._prompt(prompt, prompt_name), batch_size, show_progress_bar,
                              ("the first texts of inputs", "the second texts of inputs"))
        scores = self._scores(logits, activation_fn)
        if apply_softmax and scores.ndim > 1:
            scores = _core.activated(np.ascontiguousarray(scores), _options.ACTIVATION["softmax"])
        if torch is not None:
            tensor = torch.from_numpy(scores) if len(scores) else torch.tensor([])
            out = tensor if convert_to_tensor else list(tensor)
        else:
            out = scores if len(scores) else np.array([])
        return out[0] if single else out

    @_renamed("CrossEncoder.rank", {"activation_fct": "activation_fn"}, dropped=("num_workers", "apply_softmax", "convert_to_numpy", "convert_to_tensor"))
    def rank(self, query: Any, documents: Any, top_k: Optional[int] = None, return_documents: bool = False,
             prompt_name: Optional[str] = None, prompt: Optional[str] = None, batch_size: int = 32,
             show_progress_bar: Optional[bool] = None, activation_fn: Union[Activation, str, None] = None, device: Any = None,
             pool: Any = None, chunk_size: Optional[int] = None) -> List[Any]:
        """Documents of a query, best first: dictionaries with corpus_id, score and, with return_documents, text. Of a list of
        queries with a list of documents for each: a list of such lists, made in one call. Equal scores keep the order of
        their logits, then that of the documents. Other arguments: as for predict."""
        if self.num_labels != 1:
            raise ValueError(f"rank() needs a model of one label, and {self._folder} has {self.num_labels}; predict() gives the scores of all")
        if top_k is not None:
            _options.number("top_k", top_k)
        _check_call(device, pool)
        single = isinstance(query, (str, bytes))
        if not single and not isinstance(query, (list, tuple)):
            raise TypeError(f"query is {_options.words(query)}; it must be a str, or a list of str with a list of documents for each")
        queries = [query] if single else list(query)
        lists = [documents] if single else _lists(documents, len(queries))
        names = "documents" if single else "the documents"
        if single and isinstance(documents, (str, bytes)):
            raise TypeError("documents is one str; it must be a sequence of documents, such as [documents]")
        if documents is None:
            raise TypeError("documents is None; it must be a sequence of documents")
        lists = [docs if hasattr(docs, "__len__") and hasattr(docs, "__getitem__") else list(docs) for docs in lists]
        counts = [len(docs) for docs in lists]
        together = lists[0] if single else [document for docs in lists for document in docs]
        logits = self._logits(queries, together, counts, self._prompt(prompt, prompt_name), batch_size, show_progress_bar, ("query", names))
        chosen = self.activation_fn if activation_fn is None else activation_fn
        scores = self._scores(logits, activation_fn)
        second = -logits[:, 0] if isinstance(resolved(chosen), Sigmoid) else np.zeros(len(logits), np.float32)
        out, begin = [], 0
        for docs, count in zip(lists, counts):
            order = np.lexsort((second[begin:begin + count], -scores[begin:begin + count]))[:top_k]
            places: List[Dict[str, Any]] = [{"corpus_id": int(i), "score": float(scores[begin + i])} for i in order]
            if return_documents:
                for place in places:
                    place["text"] = docs[place["corpus_id"]]
            out.append(places)
            begin += count
        return out[0] if single else out

    def is_singular_input(self, inputs: Any) -> bool:
        """Whether it is one pair, as sentence-transformers decides it."""
        if isinstance(inputs, np.ndarray) and inputs.dtype.kind in "UO":
            return inputs.size != 0 and inputs.ndim < 2
        if isinstance(inputs, (list, tuple)):
            return len(inputs) > 0 and not isinstance(inputs[0], (list, tuple))
        if isinstance(inputs, (str, bytes, dict)) or not hasattr(inputs, "__iter__"):
            raise TypeError(f"inputs is {_options.words(inputs)}; it must be a pair of texts, or a sequence of pairs")
        return False

    def _prompt(self, prompt: Optional[str], name: Optional[str]) -> str:
        if prompt is not None:
            if not isinstance(prompt, str):
                raise TypeError(f"prompt is {_options.words(prompt)}; it must be a str")
            if name is not None:
                warnings.warn("prompt and prompt_name are both given; prompt counts", stacklevel=4)
            return prompt
        if name is not None and name not in self.prompts:
            raise ValueError(f"prompt_name is {name!r}; it must be one of {_names(self.prompts)}")
        name = self.default_prompt_name if name is None else name
        return "" if name is None else self.prompts[name] or ""

    def _logits(self, queries: Any, documents: Any, counts: List[int], prompt: str, batch_size: int, bar: Optional[bool],
                names: Tuple[str, str]) -> "npt.NDArray[np.float32]":
        """[documents, labels]; counts[i] documents are query i's."""
        rows = _options.number("batch_size", batch_size, 1)
        if rows == 0:
            raise TypeError("batch_size is None; it must be an int")
        if prompt:
            queries = [prompt + query if isinstance(query, str) else query for query in queries]
        limit = self.max_seq_length
        _left[:] = [call for call in _left if not call.wait(0)]
        call = _core.Scoring(self._core, queries, documents, counts, limit, self._settings.encode_flags,
                             self.tokenizer.truncation_side == "left", rows * limit, *names)
        _wait(call, len(documents), bar)
        return call.logits()

    def _scores(self, logits: "npt.NDArray[np.float32]", activation_fn: Union[Activation, str, None]) -> Any:
        if not len(logits):
            return np.zeros(0, np.float32)
        scores = resolved(self.activation_fn if activation_fn is None else activation_fn)(logits)
        scores = np.asarray(scores)
        if scores.ndim == 0 or len(scores) != len(logits) or scores.dtype.kind not in "fiu":
            raise ValueError(f"activation_fn gave {scores.dtype} of the shape {list(scores.shape)} for logits of {list(logits.shape)}; "
                             "it must give a score or a row of scores for each row")
        scores = scores.astype(np.float32, copy=False)
        return scores[..., 0] if self.num_labels == 1 and scores.ndim > 1 else scores


_PREDICT = ("inputs", "prompt_name", "prompt", "batch_size", "show_progress_bar", "activation_fn", "apply_softmax", "convert_to_numpy",
            "convert_to_tensor", "device", "pool", "chunk_size")
# Calls that were interrupted and whose threads are not over yet: what they read must stay until then.
_left: List[Any] = []
atexit.register(_left.clear)


def _wait(call: Any, total: int, show: Optional[bool]) -> None:
    bar = _bar(total, show)
    try:
        while not call.wait(_PATIENCE):
            if bar is not None:
                bar.update(call.done - bar.n)
        if bar is not None:
            bar.update(total - bar.n)
    except BaseException:
        call.cancel()
        if not call.wait(_PATIENCE):
            _left.append(call)
        raise
    finally:
        if bar is not None:
            bar.close()


def _bar(total: int, show: Optional[bool]) -> Any:
    if show is False or (show is None and not (sys.stderr is not None and sys.stderr.isatty())):
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        if show:
            warnings.warn("show_progress_bar is True, and tqdm is not installed", stacklevel=5)
        return None
    return tqdm(total=total, desc="Pairs", unit="pair", delay=0 if show else 2)


def _reopened(folder: str, arguments: Dict[str, Any]) -> CrossEncoder:
    return CrossEncoder(folder, **arguments)


def _refuse(name: str, value: Any, allowed: Any, why: str) -> None:
    if value != allowed:
        raise ValueError(f"{name} is {_options.words(value)}; it must be {allowed!r}: {why}")


def _check_device(name: str, device: Any) -> None:
    if device is not None and (isinstance(device, (list, tuple)) or str(device) not in ("cpu", "cpu:0")):
        raise ValueError(f"{name} is {_options.words(device)}; it must be None or 'cpu': the package runs on the processor; "
                         "for a GPU there is `rankfeed rerank --device` of the C++ build")


def _check_call(device: Any, pool: Any) -> None:
    _check_device("device", device)
    _refuse("pool", pool, None, "threads= of the constructor shares each call between processors")


def _torch(argument: str) -> Any:
    try:
        import torch
    except ImportError:
        raise ImportError(f"{argument} needs torch, which is not installed; without it predict() gives NumPy arrays") from None
    return torch


def _names(names: Mapping[str, Any]) -> str:
    return ", ".join(map(repr, names)) or "none, for the folder has no prompts"


def _columns(pairs: Sequence[Any]) -> Tuple[List[Any], List[Any]]:
    for i, pair in enumerate(pairs):
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise TypeError(f"inputs[{i}] is {_options.words(pair)}; it must be a pair of texts")
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _lists(documents: Any, count: int) -> List[Any]:
    if not isinstance(documents, (list, tuple)) or any(isinstance(docs, (str, bytes)) or not hasattr(docs, "__iter__") for docs in documents):
        raise TypeError("query is a list; documents must be a list of lists, one for each query")
    if len(documents) != count:
        raise ValueError(f"there are {count} queries and {len(documents)} lists of documents; there must be one for each")
    return list(documents)


def _read_kwargs(model: Optional[Dict[str, Any]], processor: Optional[Dict[str, Any]],
                 config: Optional[Dict[str, Any]]) -> Tuple[int, Optional[int], Optional[int]]:
    """The type, the row's length and the number of labels that they ask for. Keys that change nothing here are passed over."""
    model, processor, config = dict(model or {}), dict(processor or {}), dict(config or {})
    dtype = model.pop("dtype", None) or model.pop("torch_dtype", None) or "auto"
    name = str(dtype).replace("torch.", "")
    if name not in _DTYPES:
        raise ValueError(f"dtype of model_kwargs is {_options.words(dtype)}; it must be one of {', '.join(_DTYPES)}")
    _check_device("device_map of model_kwargs", model.pop("device_map", None))
    limit, labels = processor.pop("model_max_length", None), config.pop("num_labels", None)
    for key in ("torch_dtype", "attn_implementation", "low_cpu_mem_usage", "use_safetensors", "cache_dir", "token", "revision", "trust_remote_code",
                "local_files_only", "use_fast", "classifier_dropout"):
        for given in (model, processor, config):
            given.pop(key, None)
    for argument, given in (("model_kwargs", model), ("processor_kwargs", processor), ("config_kwargs", config)):
        for key in given:
            raise ValueError(f"{argument} has {key}, which rankfeed's CrossEncoder does not know")
    return _DTYPES[name], limit, labels


def _read_config(folder: str) -> Dict[str, Any]:
    path = os.path.join(folder, "config.json")
    try:
        with open(path, encoding="utf-8-sig") as file:
            data = json.load(file)
    except FileNotFoundError:
        raise FileNotFoundError(f"{folder} has no config.json") from None
    except ValueError as error:
        raise ValueError(f"{path} is no JSON: {error}") from None
    if not isinstance(data, dict):
        raise ValueError(f"{path} is no JSON object")
    return data
