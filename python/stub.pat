# What nanobind's stub generator leaves out of _core.pyi.
_core.__suffix__:
    __version__: str
