# SPDX-License-Identifier: MIT
"""What pickles of the extension's objects name: functions of a module, which pickle finds again."""

from typing import Any

from . import _core


def tensor(*state: Any) -> "_core.Tensor":
    return _core.restored_tensor(*state)


def batch(*state: Any) -> "_core.Batch":
    return _core.restored_batch(*state)
