#!/usr/bin/env python3
"""pe.py EXTENSION: fails unless the file is a Windows DLL for x86_64 that needs nothing but Windows, its C library and
python3.dll, the stable ABI's, and hands out nothing but its PyInit function and nanobind's exceptions."""
import re
import struct
import sys

ALLOWED = re.compile(r"(kernel32|advapi32|ntdll|api-ms-win-crt-\w+-l1-1-0|ucrtbase|python3)\.dll$", re.I)


def main(path: str) -> None:
    with open(path, "rb") as file:
        data = file.read()
    at = struct.unpack_from("<I", data, 0x3C)[0]
    machine, sections, _, _, _, optional, flags = struct.unpack_from("<HHIIIHH", data, at + 4)
    if data[at:at + 4] != b"PE\0\0" or machine != 0x8664 or not flags & 0x2000 or struct.unpack_from("<H", data, at + 24)[0] != 0x20B:
        sys.exit(f"{path} is not a DLL for x86_64")
    table = [struct.unpack_from("<IIII", data, at + 24 + optional + 40 * i + 8) for i in range(sections)]

    def offset(address: int) -> int:
        for size, begin, raw, where in table:
            if begin <= address < begin + max(size, raw):
                return where + address - begin
        raise ValueError(f"{address:#x} is in no section")

    def text(address: int) -> str:
        begin = offset(address)
        return data[begin:data.index(b"\0", begin)].decode()

    directory = [struct.unpack_from("<II", data, at + 24 + 112 + 8 * i) for i in range(2)]
    count, names = struct.unpack_from("<I", data, offset(directory[0][0]) + 24)[0], struct.unpack_from("<I", data, offset(directory[0][0]) + 32)[0]
    exported = [text(struct.unpack_from("<I", data, offset(names) + 4 * i)[0]) for i in range(count)]
    needed = []
    for entry in range(offset(directory[1][0]), len(data), 20):
        name = struct.unpack_from("<I", data, entry + 12)[0]
        if name == 0:
            break
        needed.append(text(name))
    problems = [f"it needs {name}" for name in needed if not ALLOWED.match(name)]
    handed = [name for name in exported if not name.startswith("_ZTVN8nanobind")]  # its exceptions
    if handed != ["PyInit__core"]:
        problems.append(f"it hands out {handed}")
    if "python3.dll" not in needed:
        problems.append("it does not need python3.dll")
    if problems:
        sys.exit("\n".join(f"{path}: {problem}" for problem in problems))
    print(f"wheels: x86_64, needs {', '.join(sorted(needed))}")


main(*sys.argv[1:])
