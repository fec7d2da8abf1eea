#!/usr/bin/env python3
"""doc.py RESULTS OUT NAME...: OUT, a Markdown table, from the JSON that scripts/wheels.sh left in RESULTS.

A wheel that has none there keeps its row of OUT, of the last run that made it.
"""
import json
import pathlib
import sys

HEAD = """<!-- Made by scripts/wheels.sh --doc from what the last run of each wheel built and ran. -->

| wheel | file | size | import and hashes of XQuAD |
|---|---|---|---|"""
TAIL = """
An aarch64 wheel for Linux runs under qemu-user. The interpreter for musl, which neither Debian nor PyPI has, is compiled from Debian's
sources of Python 3.13 and loaded by Debian's musl. Wheels for macOS are **built, not run**: no Mac is at hand, and nothing here runs its
programs. `packaging/wheels/macho.py` holds their files to the tag: the machine, the oldest system, no library but the system's own,
nothing lacking but Python's functions; abi3audit holds those to the stable ABI.

macOS has base pages only: `pages="hugetlb"` is refused; the others open in private memory, which is made read-only before it is
verified, and `"file"` maps the file. Images cannot be shared by descriptor there (`RANKFEED_PLACE_SHARED` is an error, ENOTSUP), and memory nodes are unknown.

## Not built

* Windows. {windows}
* free-threaded CPython 3.14 and CPython 3.10: their headers are not in Debian 12 or 13.
* free-threaded CPython on aarch64: Debian has no such interpreter there either, and building one takes its emulation."""
WINDOWS = """No port was tried; what stops it is read from the sources. `src/platform` maps files and memory (`mmap`, `mprotect`, `madvise`,
  `pread`), `src/corpus_builder` locks its file, writes at offsets and renames over an open one (`flock`, `pwrite`, `rename`), the slot ring
  locks pages and finds its backends (`mlock`, `dlopen`, `dladdr`), and memory of `aligned_alloc`, which Windows has not, goes to callers who
  free it with `free`."""


def row(results: pathlib.Path, name: str, before: list) -> str:
    path = results / f"{name}.json"
    if not path.exists():
        kept = [line for line in before if line.startswith(f"| {name} | `")]
        return kept[0] if kept else f"| {name} | not built yet | | |"
    made = json.loads(path.read_text(encoding="utf-8"))
    ran = "built, not run" if made["ran"] == "not run" else f"equal; {made['ran']}"
    return f"| {name} | `{made['wheel']}` | {made['bytes'] / 1e6:.2f} MB | {ran} |"


def main(results: str, out: str, *names: str) -> None:
    path = pathlib.Path(out)
    before = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = [row(pathlib.Path(results), name, before) for name in names]
    path.write_text("\n".join([HEAD, *rows, TAIL.format(windows=WINDOWS)]) + "\n", encoding="utf-8")


main(*sys.argv[1:])
