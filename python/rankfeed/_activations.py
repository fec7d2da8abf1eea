# SPDX-License-Identifier: MIT
"""What makes scores of logits: torch's Identity, Sigmoid and Softmax by their names, without torch, and any callable."""

from __future__ import annotations

import sys
from typing import Any, Callable, Dict, Type

import numpy as np

from . import _core, _options

Activation = Callable[[Any], Any]


class Identity:
    """Scores are logits. Called, as Sigmoid and Softmax are, with an array [rows, labels]."""

    def __call__(self, logits: Any) -> Any:
        return logits

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))


class Sigmoid(Identity):
    def __call__(self, logits: Any) -> Any:
        return _core.activated(np.ascontiguousarray(logits, dtype=np.float32), _options.ACTIVATION["sigmoid"])


class Softmax(Identity):
    """Each label's share of its row."""

    def __call__(self, logits: Any) -> Any:
        return _core.activated(np.ascontiguousarray(logits, dtype=np.float32), _options.ACTIVATION["softmax"])


KNOWN: Dict[str, Type[Identity]] = {kind.__name__: kind for kind in (Identity, Sigmoid, Softmax)}


def named(name: str, where: str) -> Activation:
    """By the dotted name of torch's class, or its last part. where: the argument or file that says it."""
    kind = KNOWN.get(name.rpartition(".")[2])
    if kind is None:
        raise ValueError(f"{where} is {_options.words(name)}; it must be one of {', '.join(KNOWN)} of torch.nn, or a callable as "
                         "activation_fn")
    return kind()


def resolved(value: Any, name: str = "activation_fn") -> Activation:
    """A callable over a NumPy array [rows, labels]. torch's own modules and functions get a tensor of the same memory."""
    if isinstance(value, str):
        return named(value, name)
    if not callable(value):
        raise TypeError(f"{name} is {_options.words(value)}; it must be callable, or one of {', '.join(KNOWN)}")
    torch = sys.modules.get("torch")
    if torch is None or isinstance(value, Identity):
        return value  # type: ignore[no-any-return]
    kind = type(value)
    if kind.__module__.startswith("torch.nn.") and kind.__name__ in KNOWN and getattr(value, "dim", None) in (None, 1, -1):
        return KNOWN[kind.__name__]()
    own = getattr(value, "__name__", "")
    if isinstance(value, torch.nn.Module) or any(own and getattr(place, own, None) is value for place in (torch, torch.nn.functional)):
        def over_tensor(logits: Any) -> Any:
            with torch.inference_mode():
                return value(torch.from_numpy(logits)).numpy()
        return over_tensor
    return value  # type: ignore[no-any-return]
