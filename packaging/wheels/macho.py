#!/usr/bin/env python3
"""macho.py EXTENSION PLATFORM: fails unless the Mach-O file suits the wheel's platform tag, macosx_X_Y_MACHINE.

The machine and the oldest system are the tag's; the system's own library is the only one that it names; what it
leaves to be found among all that is loaded are functions and objects of Python, and everything else that it lacks
is in that library. It hands out its PyInit function and what the linker, which takes no list of symbols, leaves
visible: the C API, C++'s allocation functions, nanobind's exceptions. Names are of a library on macOS: no other file's are mixed up with them.
"""
import re
import struct
import sys

MACHINES = {0x01000007: "x86_64", 0x0100000C: "arm64"}
SYMTAB, DYLIB_COMMANDS, MINIMUM, BUILD_VERSION = 0x2, (0xC, 0x18 | 1 << 31, 0x1F | 1 << 31), 0x24, 0x32
ANYWHERE = 0xFE  # the library's number where one is looked up among all
ALLOWED = re.compile(r"__Zn[wa]m|__Zd[la]Pv|_rankfeed_|__mh_dylib_header$|___dso_handle$|__ZT[IS]N8nanobind")


def text_at(data: bytes, at: int) -> str:
    return data[at:data.index(b"\0", at)].decode()


def commands(data: bytes):
    at = 32
    for _ in range(struct.unpack_from("<I", data, 16)[0]):
        kind, size = struct.unpack_from("<II", data, at)
        yield kind, at
        at += size


def version(number: int) -> str:
    return f"{number >> 16}_{number >> 8 & 255}"


def main(path: str, platform: str) -> None:
    with open(path, "rb") as file:
        data = file.read()
    magic, machine = struct.unpack_from("<II", data)
    if magic != 0xFEEDFACF:
        sys.exit(f"{path} is not a 64-bit Mach-O file")
    libraries, oldest, exported, problems = [], "", [], []
    for kind, at in commands(data):
        if kind in DYLIB_COMMANDS:
            libraries.append(text_at(data, at + struct.unpack_from("<I", data, at + 8)[0]))
        elif kind == BUILD_VERSION:
            oldest = version(struct.unpack_from("<I", data, at + 12)[0])
        elif kind == MINIMUM:
            oldest = version(struct.unpack_from("<I", data, at + 8)[0])
        elif kind == SYMTAB:
            symbols, count, strings = struct.unpack_from("<III", data, at + 8)
            for i in range(count):
                name_at, flags, _, description, _ = struct.unpack_from("<IBBHQ", data, symbols + 16 * i)
                name = text_at(data, strings + name_at)
                if flags & 0xE0 or not flags & 1:  # for debuggers, or not visible outside
                    continue
                if flags & 0x0E:
                    exported.append(name)
                elif description >> 8 == ANYWHERE and not re.match(r"__?Py", name):
                    problems.append(f"{name} is in no library")
    found = f"macosx_{oldest}_{MACHINES.get(machine)}"
    if found != platform:
        problems.append(f"it is for {found}, and the wheel says {platform}")
    if libraries != ["/usr/lib/libSystem.B.dylib"]:
        problems.append(f"it needs {libraries}")
    visible = [name for name in exported if not ALLOWED.match(name)]
    if visible != ["_PyInit__core"]:
        problems.append(f"it hands out {visible}")
    if problems:
        sys.exit("\n".join(f"{path}: {problem}" for problem in problems))
    print(f"wheels: {found}, needs {libraries[0]}")


main(*sys.argv[1:])
