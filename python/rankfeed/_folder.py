# SPDX-License-Identifier: MIT
"""What stands beside a vocabulary: the folder of a HuggingFace model, with tokenizer_config.json and
special_tokens_map.json, and the truncation and padding that a tokenizer.json carries."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Union

from . import _options

_STRATEGIES = {"LongestFirst": "longest_first", "OnlyFirst": "only_first", "OnlySecond": "only_second"}
# Unigram classes of transformers whose attributes are not those of PreTrainedTokenizerFast.
_NAMES = {"DebertaV2Tokenizer": ["input_ids", "attention_mask", "token_type_ids"]}
_SIDES = {"XLNetTokenizer": "left"}


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


@dataclass
class Folder:
    """A model's folder as it was read."""

    tokenizer_json: str
    attributes: Dict[str, Any] = field(default_factory=dict)  # of Tokenizer
    pad_token: Optional[str] = None
    defaults: FileDefaults = field(default_factory=FileDefaults)


def read_folder(path: Union[str, "os.PathLike[str]"]) -> Folder:
    """Errors: FileNotFoundError, which says what there is; ValueError for what is no JSON object."""
    folder = _options.path("folder", path)
    file = os.path.join(folder, "tokenizer.json")
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"{folder} is no folder; from_pretrained reads a model's folder and downloads nothing")
    if not os.path.isfile(file):
        models = [name for name in sorted(os.listdir(folder)) if name.endswith(".model")]
        hint = f"; from_file takes its {models[0]}, with the ids of SentencePiece" if models else ""
        raise FileNotFoundError(f"{folder} has no tokenizer.json{hint}")
    config = _json(os.path.join(folder, "tokenizer_config.json"), missing={})
    specials = _json(os.path.join(folder, "special_tokens_map.json"), missing={})
    out = Folder(file, defaults=FileDefaults.read(file))
    kind = str(config.get("tokenizer_class") or "").replace("Fast", "")
    attributes = out.attributes
    if config.get("model_max_length") is not None:
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
    return out


def _json(path: str, missing: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
    if missing is not None and not os.path.isfile(path):
        return missing
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except ValueError as error:
        raise ValueError(f"{path} is no JSON: {error}") from None
    if not isinstance(data, dict):
        raise ValueError(f"{path} is no JSON object")
    return data
