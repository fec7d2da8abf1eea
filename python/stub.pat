# What nanobind's stub generator leaves out of _core.pyi.
_core.__suffix__:
    __version__: str

    class Row:
        """One row of a call."""

        @property
        def ids(self) -> list[int]: ...
        @property
        def _call(self) -> Any: ...
        @property
        def _row(self) -> int: ...
