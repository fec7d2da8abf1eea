# SPDX-License-Identifier: MIT
"""What stands beside a vocabulary: the folder of a HuggingFace model, with tokenizer_config.json and
special_tokens_map.json, the truncation and padding that a tokenizer.json carries, and what config.json says of scores."""

from __future__ import annotations

import json
import os
import warnings
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple, Union

from . import _core, _options

_STRATEGIES = {"LongestFirst": "longest_first", "OnlyFirst": "only_first", "OnlySecond": "only_second"}
# Classes of transformers whose attributes are not those of PreTrainedTokenizerFast.
_BERT = ("BertTokenizer", "ElectraTokenizer", "MobileBertTokenizer", "SqueezeBertTokenizer", "LayoutLMTokenizer", "LxmertTokenizer")
_ROBERTA = ("RobertaTokenizer", "BartTokenizer", "LongformerTokenizer", "LEDTokenizer", "MvpTokenizer")
_BYTES = _ROBERTA + ("GPT2Tokenizer", "Qwen2Tokenizer")
_NAMES = {"DebertaV2Tokenizer": ["input_ids", "attention_mask", "token_type_ids"], **dict.fromkeys(_BYTES, ["input_ids", "attention_mask"]),
          **dict.fromkeys(_BERT, ["input_ids", "token_type_ids", "attention_mask"])}
# The classes that model types are taken for.
_CLASSES = {**dict.fromkeys(("bert", "convbert", "distilbert", "electra", "ernie", "layoutlm", "megatron-bert", "mobilebert", "nezha",
                             "nomic_bert", "squeezebert"), "BertTokenizer"), "mpnet": "MPNetTokenizer",
            **dict.fromkeys(("roberta", "roberta-prelayernorm", "bart", "data2vec-text", "ibert", "lilt", "longformer", "mra"), "RobertaTokenizer"),
            **dict.fromkeys(("gpt2", "gpt_neo", "gptj", "opt", "phi", "starcoder2", "codegen"), "GPT2Tokenizer"),
            **dict.fromkeys(("qwen2", "qwen2_moe", "qwen2_vl", "qwen2_5_vl", "qwen3", "qwen3_moe", "qwen3_next", "qwen3_vl"), "Qwen2Tokenizer")}
_SIDES = {"XLNetTokenizer": "left"}
_PADS = {"Qwen2Tokenizer": "<|endoftext|>", **dict.fromkeys(_ROBERTA, "<pad>")}  # of classes, where no file names one
# Names of what is often found in place of a file, by its first bytes.
_OTHERS = ((b"version https://git-lfs", "a git-lfs pointer, not the file; `git lfs pull` fetches it"), (b"<", "an HTML or XML page, not the file"),
           (b"\x1f\x8b", "a gzip archive; unpack it"), (b"PK\x03\x04", "a zip archive; unpack it"),
           (b"\xff\xfe", "UTF-16; it must be UTF-8"), (b"\xfe\xff", "UTF-16; it must be UTF-8"))


@dataclass
class FileDefaults:
    """Truncation and padding of a tokenizer.json, which tokenizers.Tokenizer.encode applies and transformers does not."""

    truncation: Optional[Dict[str, Any]] = None
    padding: Optional[Dict[str, Any]] = None

    @staticmethod
    def read(path: str) -> "FileDefaults":
        data = _json(path)
        return FileDefaults(data.get("truncation"), data.get("padding"))

    def direction(self, part: str) -> Optional[str]:
        value = getattr(self, part)
        return None if value is None else str(value.get("direction", "Right")).lower()

    def options(self, pair: bool) -> Dict[str, Any]:
        """The truncation as options of rows, by their names in HuggingFace; windows where rankfeed makes them."""
        cut = self.truncation
        if cut is None:
            return {}
        strategy = _STRATEGIES[cut.get("strategy", "LongestFirst")]
        out = {"max_length": int(cut["max_length"]), "truncation": strategy, "truncation_side": self.direction("truncation")}
        if not pair or strategy == "only_second":
            out.update(overflow="short_last", stride=int(cut.get("stride", 0)))
        return out

    def length(self, longest: int) -> int:
        """Of padded rows; 0: they are not padded."""
        if self.padding is None:
            return 0
        strategy = self.padding["strategy"]
        length = longest if strategy == "BatchLongest" else int(strategy["Fixed"])
        multiple = self.padding.get("pad_to_multiple_of") or 1
        return -(-length // multiple) * multiple


@dataclass(frozen=True)
class Scoring:
    """What a model's folder says of its logits, by the rules of `rankfeed rerank` (_core.folder_settings)."""

    known: bool = False  # there is a config.json
    labels: Tuple[str, ...] = ()  # by number
    multi_label: bool = False
    function: str = ""  # sentence-transformers' name of its class; "": not said
    file: str = ""  # that says so
    single: Optional["_options.Activation"] = "sigmoid"  # of one label; None: another function
    refusal: str = ""  # why scores would be others than the author's

    @staticmethod
    def of(said: Dict[str, Any]) -> "Scoring":
        return Scoring(said["has_config"], tuple(said["labels"]), said["multi_label"], said["activation_fn"], said["activation_file"],
                       said["activation"], said["refusal"])

    def label(self, wanted: Union[int, str, None], count: int) -> int:
        """The number of the label that ranks, of so many: the one that is wanted, by its name or number, or the only one."""
        names = [self.labels[i] if i < len(self.labels) else f"LABEL_{i}" for i in range(min(count, 32))]
        listed = ", ".join(names) + (", ..." if count > len(names) else "")
        if wanted is None:
            if count > 1:
                raise ValueError(f"logits has {count} labels ({listed}), and a ranking is by one; label must be its name or number")
            return 0
        if not isinstance(wanted, str):
            return _options.number("label", wanted)
        names += self.labels[len(names):count]
        if wanted in names:
            return names.index(wanted)
        if wanted.isascii() and wanted.isdigit() and int(wanted) < count:
            return int(wanted)
        raise ValueError(f"label is {_options.words(wanted)}; it must be one of {listed}, or a number")

    def activation(self, count: int) -> _options.Activation:
        """What makes a score of a row's logits: of several labels the share of one, or its sigmoid where they exclude nothing;
        of one label what CrossEncoder of sentence-transformers does."""
        if not self.known:
            return "raw"
        if count > 1:
            return "sigmoid" if self.multi_label else "softmax"
        if self.refusal:
            raise ValueError(f"{self.refusal}; activation must be one of {', '.join(_options.ACTIVATION)}")
        if self.single is None:
            raise ValueError(f"{self.file} makes scores by {self.function}; activation must be one of {', '.join(_options.ACTIVATION)}")
        return self.single


@dataclass
class Folder:
    """A model's folder as it was read."""

    vocabulary: str  # the tokenizer.json; where there is none, the vocab.txt or vocab.json
    attributes: Dict[str, Any] = field(default_factory=dict)  # of Tokenizer
    pad_token: Optional[str] = None
    defaults: FileDefaults = field(default_factory=FileDefaults)
    scoring: Scoring = Scoring()
    split_special_tokens: bool = False
    prompt: str = ""  # before every query


def vocabulary_of(path: str) -> str:
    """The vocabulary's file in a folder; of a file itself."""
    names = ("tokenizer.json", "vocab.txt", "vocab.json") if os.path.isdir(path) else ()
    return next((file for name in names for file in [os.path.join(path, name)] if os.path.isfile(file)), path)


def read_folder(path: Union[str, "os.PathLike[str]"]) -> Folder:
    """Errors: FileNotFoundError, which says what there is; ValueError for what is no JSON object."""
    folder = _options.path("folder", path)
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"{folder} is no folder; from_pretrained reads a model's folder and downloads nothing")
    file = vocabulary_of(folder)
    lines = not file.endswith("tokenizer.json")
    if file == folder:
        models = [name for name in sorted(os.listdir(folder)) if name.endswith(".model")]
        hint = f"; from_file takes its {models[0]}, with the ids of SentencePiece" if models else ""
        raise FileNotFoundError(f"{folder} has no tokenizer.json, vocab.txt or vocab.json{hint}")
    config = _json(os.path.join(folder, "tokenizer_config.json"), missing={})
    specials = _json(os.path.join(folder, "special_tokens_map.json"), missing={})
    model = _json(os.path.join(folder, "config.json"), missing={})
    data = {} if lines else _json(file)
    out = Folder(file, defaults=FileDefaults(data.get("truncation"), data.get("padding")))
    said = _core.folder_settings(folder)
    if said["note"]:
        warnings.warn(said["note"], stacklevel=3)
    out.scoring = Scoring.of(said)
    out.split_special_tokens = said["split_special_tokens"]
    out.prompt = said["prompts"].get(said["default_prompt_name"], "")
    kind = str(config.get("tokenizer_class") or model.get("tokenizer_class") or "").replace("Fast", "")
    kind = kind or _CLASSES.get(str(model.get("model_type")), "")
    if file.endswith("vocab.txt") and config.get("do_lower_case") is None:
        warnings.warn(f"no do_lower_case beside {file}: it lowercases texts, as AutoTokenizer of transformers does; if it is a cased "
                      'vocabulary, from_file(path, preset="bert-cased")', stacklevel=3)
    attributes = out.attributes
    if said["max_length"] is not None:  # max_seq_length of sentence-transformers before model_max_length
        attributes["model_max_length"] = said["max_length"]
    elif config.get("model_max_length") is not None:
        attributes["model_max_length"] = int(config["model_max_length"])
    names: Optional[List[str]] = config.get("model_input_names") or _NAMES.get(kind)
    if names is not None:
        attributes["model_input_names"] = names
    for name, part in (("padding_side", "padding"), ("truncation_side", "truncation")):
        side = config.get(name) or out.defaults.direction(part) or (_SIDES.get(kind) if part == "padding" else None)
        if side is not None:
            attributes[name] = side
    # The map is of older files, and read where the configuration lists no added tokens.
    pad = None if "added_tokens_decoder" in config else specials.get("pad_token")
    pad = pad or config.get("pad_token")
    out.pad_token = pad.get("content") if isinstance(pad, dict) else pad
    if out.pad_token is None and out.defaults.padding is not None:
        out.pad_token = out.defaults.padding.get("pad_token")
    if "pad_token" not in config and "pad_token" not in specials:
        out.pad_token = out.pad_token or _PADS.get(kind)
    return out


def _json(path: str, missing: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
    if missing is not None and not os.path.isfile(path):
        return missing
    with open(path, "rb") as file:
        text = file.read()
    for begin, what in _OTHERS:
        if text.startswith(begin):
            raise ValueError(f"{path} is {what}")
    try:
        data = json.loads(text.decode("utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is no JSON: {error}") from None
    if not isinstance(data, dict):
        raise ValueError(f"{path} is no JSON object")
    return data


@dataclass(frozen=True)
class ModelSettings:
    """What a cross-encoder's folder says of its texts, rows and scores."""

    activation: str = ""  # as sentence-transformers names its class; "": not said
    prompts: Dict[str, str] = field(default_factory=dict)
    default_prompt_name: Optional[str] = None
    max_length: Optional[int] = None  # tokens of a row; None: not said
    encode_flags: int = 0
    refusal: str = ""  # why scores would be others than the author's

    @staticmethod
    def read(folder: str) -> "ModelSettings":
        said = _core.folder_settings(folder)
        return ModelSettings(said["activation_fn"], dict(said["prompts"]), said["default_prompt_name"], said["max_length"],
                             _options.SPLIT_SPECIAL_TOKENS if said["split_special_tokens"] else 0, said["refusal"])
