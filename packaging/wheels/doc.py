#!/usr/bin/env python3
"""doc.py RESULTS OUT NAME...: OUT, a Markdown table, from the JSON that scripts/wheels.sh left in RESULTS.

A wheel that has none there keeps its row of OUT, of the last run that made it.
"""
import json
import pathlib
import sys

HEAD = """<!-- Made by scripts/wheels.sh --doc from what the last run of each wheel built and ran. -->
# Portable wheels

[install.md](install.md#wheels) says how they are made.

Those for Linux rank: `rankfeed.CrossEncoder`, and the program `rankfeed` beside it. The last column says what
`packaging/wheels/check.py` found by an interpreter of the wheel's kind: images, ids and offsets have the hashes of the
package that pip builds; its scores are equal to the bit or lie so near; the program's are the wheel's own to the bit.

| wheel | file | size | import, hashes of XQuAD, scores |
|---|---|---|---|"""
TAIL = """
An aarch64 wheel for Linux runs under qemu-user. Interpreters that neither Debian nor PyPI has, for musl and without the
GIL, are compiled from Debian's sources of Python; Debian's musl loads the former. Where Debian's servers do not have the
source of 3.14 that their lists name, the wheel for its free threads is made with the headers of Debian's own 3.14, which
has the GIL and the same headers but for one line (`Py_GIL_DISABLED`), and is **built, not run**.

## macOS

The wheels are **built, not run**: no Mac is at hand, and nothing here runs its programs. `packaging/wheels/foreign.py`
holds their files to the tag: the machine, the oldest system, no library but the system's own, nothing lacking but
Python's functions; abi3audit holds those to the stable ABI.

They have neither forward pass nor program, which were not ported: `rankfeed.CrossEncoder` and the command `rankfeed` say
so. So do those for Windows.

There are base pages only: `pages="hugetlb"` is refused. Images cannot be shared by descriptor (`RANKFEED_PLACE_SHARED`
is an error, ENOTSUP), and memory nodes are unknown.

## Windows

No CPython for Windows can be had from Debian or PyPI, so the extension is **not imported**.
`packaging/wheels/foreign.py` and abi3audit hold it to the tag: nothing needed but Windows, its C library and
`python3.dll`; nothing handed out but PyInit and nanobind's exceptions. Its archives run under wine in a program
(`packaging/wheels/check.cc`) that compiles the three vocabularies, maps the images, encodes XQuAD, makes pairs, opens a
ring, and writes, locks, appends to, compacts and reads stores with names outside ASCII. Images, ids, offsets and pairs
have the hashes of the package that pip builds on Linux.

* Base pages only, as on macOS. Paths are UTF-8.
* A file that someone has mapped cannot be replaced. Replacing one that someone has open for reading takes NTFS on
  Windows 10 or newer; wine 8 does not have that call, so that path was **not run**.
* A store that is replaced gives up its lock just before the rename: a writer that opens the old one in that moment
  writes to nothing.
* `rankfeed.Ring` has the host's backend alone, and its memory is locked only as far as the working set allows.
* Forward pass, command line and service are not built: they were not ported.

## Not built

* CPython 3.10: its headers are in no suite of Debian from 12 on, nor is a package of PyPI known that has them.
* Free-threaded CPython on aarch64: building such an interpreter takes its emulation."""


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
    path.write_text("\n".join([HEAD, *rows, TAIL]) + "\n", encoding="utf-8")


main(*sys.argv[1:])
