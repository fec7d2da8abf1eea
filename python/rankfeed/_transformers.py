# SPDX-License-Identifier: MIT
"""Tokenizers as transformers holds them in memory, which need not be the file that they were loaded from."""

from __future__ import annotations

import json
import os
import tempfile
from typing import TYPE_CHECKING, Any, Dict

if TYPE_CHECKING:
    from ._tokenizer import Tokenizer


def serialized(tokenizer: Any) -> str:
    """The tokenizer.json of what the tokenizer does: a fast tokenizer of transformers, or a tokenizers.Tokenizer.

    Of transformers, the padding section names the token and side that it pads with, which the file need not know; the
    backend's own sections hold what the last call asked for."""
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if not hasattr(backend, "to_str"):
        raise TypeError(f"a {type(tokenizer).__name__} has no backend of the tokenizers library: from_transformers takes a "
                        "fast tokenizer of transformers or a tokenizers.Tokenizer; a SentencePiece .model is opened by "
                        "Tokenizer.from_file")
    if backend.encode_special_tokens:
        raise ValueError("split_special_tokens of the tokenizer is on, which an image does not hold: turn it off, and "
                         "give split_special_tokens=True to the calls here")
    document = json.loads(backend.to_str())
    if backend is not tokenizer:
        document["truncation"] = document["padding"] = None
        if tokenizer.pad_token_id is not None:
            document["padding"] = {"strategy": "BatchLongest", "direction": tokenizer.padding_side.title(),
                                   "pad_to_multiple_of": None, "pad_id": tokenizer.pad_token_id,
                                   "pad_type_id": tokenizer.pad_token_type_id, "pad_token": tokenizer.pad_token}
    return json.dumps(document, ensure_ascii=False)


def windows_keep_types(post_processor: Any) -> bool:
    """Whether that object of a tokenizer.json is, or holds, a TemplateProcessing, which gives its types to the first window of
    a text alone: tokens of later ones keep 0, or 1 in a second text."""
    if not isinstance(post_processor, dict):
        return False
    return post_processor.get("type") == "TemplateProcessing" or any(map(windows_keep_types, post_processor.get("processors", ())))


def attributes_of(tokenizer: Any) -> Dict[str, Any]:
    """The attributes of rankfeed.Tokenizer that the tokenizer has too."""
    names = ("model_max_length", "model_input_names", "padding_side", "truncation_side")
    return {name: getattr(tokenizer, name) for name in names if hasattr(tokenizer, name)}


def tokenizer_from(cls: Any, tokenizer: Any, arguments: Dict[str, Any]) -> "Tokenizer":
    """cls.from_file over the serialized backend, which lies in a private file for as long as that takes."""
    document = serialized(tokenizer)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "tokenizer.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(document)
        made: "Tokenizer" = cls.from_file(path, **{**attributes_of(tokenizer), **arguments})
    made._source = None  # the file is gone: workers of other processes need an image
    made._window_types = windows_keep_types(json.loads(document)["post_processor"])
    return made
