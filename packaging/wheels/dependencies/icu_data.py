#!/usr/bin/env python3
"""icu_data.py FOLDER OUT ITEM...: assembly of an ICU data library that has only the named items.

The layout is that of ICU's "common data" files (udata.h, ucmndata.h): a header, a table of contents
with the items' names in order, and the items, each at a multiple of 16 bytes. Little-endian, as the items
in the source package are.
"""
import pathlib
import struct
import sys

PREFIX = "icudt72l/"


def main(folder: str, out: str, *items: str) -> None:
    contents = {name: (pathlib.Path(folder) / name).read_bytes() for name in sorted(items)}
    # sizeof the info, reserved, little-endian, ASCII, 2-byte UChar, reserved, format and versions.
    info = struct.pack("<HHBBBB4s4s4s", 20, 0, 0, 0, 2, 0, b"CmnD", bytes((1, 0, 0, 0)), bytes((3, 0, 0, 0)))
    header = struct.pack("<HBB", 32, 0xDA, 0x27) + info
    header += bytes(32 - len(header))
    names = b""
    offsets = []
    base = 4 + 8 * len(contents)
    for name in contents:
        offsets.append(base + len(names))
        names += (PREFIX + name).encode() + b"\0"
    at = -(-(base + len(names)) // 16) * 16
    table = struct.pack("<I", len(contents))
    body = b""
    for offset, data in zip(offsets, contents.values()):
        if data[2:4] != b"\xda\x27" or data[8] != 0:
            sys.exit(f"icu_data: an item of {folder} is not little-endian ICU data")
        table += struct.pack("<II", offset, at + len(body))
        body += data + bytes(-len(data) % 16)
    data = header + (table + names).ljust(at, b"\0") + body
    blob = pathlib.Path(out).with_suffix(".dat")
    blob.write_bytes(data)
    pathlib.Path(out).write_text(f"""// Made by icu_data.py from: {' '.join(contents)}
#if defined(__APPLE__)
#define NAME _icudt72_dat
  .const
  .private_extern NAME
#else
#define NAME icudt72_dat
#if defined(_WIN32)
  .section .rdata,"dr"
#else
  .section .rodata
  .hidden NAME
#endif
#endif
  .globl NAME
  .balign 16
NAME:
  .incbin "{blob}"
#if defined(__ELF__)
  .section .note.GNU-stack,"",%progbits
#endif
""")


main(*sys.argv[1:])
