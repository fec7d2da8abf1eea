# SPDX-License-Identifier: MIT
"""The one exception of the package."""


class RankfeedError(ValueError):
    """A call that failed with a status of the C API (rankfeed/status.h)."""

    status: int
    name: str

    def __init__(self, message: str, status: int = 0, name: str = ""):
        super().__init__(message)
        self.status = status
        self.name = name
