#!/usr/bin/env python3
"""foreign.py EXTENSION PLATFORM WHEEL: fails unless the file, for macOS or Windows, suits the wheel's platform tag.

On macOS machine and oldest system are the tag's; the system's own library is the only one needed; of all that is
looked up among what is loaded, everything is Python's. Beside PyInit the file hands out what the linker, which takes
no list of symbols, leaves visible: the C API, C++'s allocation functions, nanobind's exceptions. Names belong to a
library on macOS: no other file's are mixed up with them. On Windows the file needs nothing but Windows, its C
library and python3.dll, the stable ABI's, and hands out PyInit and nanobind's exceptions. Forward pass and program
were not ported: the wheel has neither, and its command says so.
"""
import pathlib
import re
import sys
import zipfile

import lief

SYSTEM = ["/usr/lib/libSystem.B.dylib"]
VISIBLE = re.compile(r"__Zn[wa]m|__Zd[la]Pv|_rankfeed_|__mh_dylib_header$|___dso_handle$|__ZT[IS]N8nanobind")
WINDOWS = re.compile(r"(kernel32|advapi32|ntdll|api-ms-win-crt-\w+-l1-1-0|ucrtbase|python3)\.dll$", re.I)


def of_macos(file: lief.MachO.Binary, platform: str):
    """The libraries it needs, and what is wrong with it."""
    machine = {"ARM64": "arm64", "X86_64": "x86_64"}.get(file.header.cpu_type.name)
    oldest = (file.build_version.minos if file.has_build_version else file.version_min.version)[:2]
    found = f"macosx_{oldest[0]}_{oldest[1]}_{machine}"
    needed = [one.name for one in file.libraries if one.command != lief.MachO.LoadCommand.TYPE.ID_DYLIB]
    handed = [one.name for one in file.exported_symbols if not VISIBLE.match(one.name)]
    # A symbol that only code left out by the linker needs stays in the list and is bound to nothing, so the bindings
    # are asked. Their ordinals below 0 name no library (<mach-o/loader.h>, BIND_SPECIAL_DYLIB_FLAT_LOOKUP).
    problems = [f"{one.symbol.name} is in no library" for one in file.bindings
                if one.library_ordinal < 0 and not re.match(r"__?Py", one.symbol.name)]
    if found != platform:
        problems.append(f"it is for {found}, and the wheel says {platform}")
    if needed != SYSTEM:
        problems.append(f"it needs {needed}")
    if handed != ["_PyInit__core"]:
        problems.append(f"it hands out {handed}")
    return needed, problems


def of_windows(file: lief.PE.Binary, platform: str):
    """The same."""
    needed = sorted(one.name for one in file.imports)
    handed = [one.name for one in file.get_export().entries if not one.name.startswith("_ZTVN8nanobind")]
    problems = [f"it needs {name}" for name in needed if not WINDOWS.match(name)]
    if file.header.machine.name != "AMD64" or lief.PE.Header.CHARACTERISTICS.DLL not in file.header.characteristics_list:
        problems.append("it is not a DLL for x86_64")
    if platform != "win_amd64":
        problems.append(f"the wheel says {platform}")
    if handed != ["PyInit__core"]:
        problems.append(f"it hands out {handed}")
    if "python3.dll" not in needed:
        problems.append("it does not need python3.dll")
    return needed, problems


def of_wheel(wheel: str, extension: bytes) -> list:
    """What is wrong with a wheel that promises neither forward pass nor program."""
    names = zipfile.ZipFile(wheel).namelist()
    problems = [f"the wheel has {name}" for name in names if ".data/" in name]
    if not any(name.endswith(".dist-info/entry_points.txt") for name in names):
        problems.append("the wheel has no command that says so")
    if b"CrossEncoder" in extension:  # the name of its class
        problems.append("it has a forward pass, which was not ported")
    return problems


def main(path: str, platform: str, wheel: str) -> None:
    lief.logging.disable()
    file = lief.parse(path)
    if isinstance(file, lief.MachO.Binary):
        needed, problems = of_macos(file, platform)
    elif isinstance(file, lief.PE.Binary):
        needed, problems = of_windows(file, platform)
    else:
        needed, problems = [], ["it is for neither macOS nor Windows"]
    problems += of_wheel(wheel, pathlib.Path(path).read_bytes())
    if problems:
        sys.exit("\n".join(f"{path}: {problem}" for problem in problems))
    print(f"wheels: {platform}, needs {', '.join(needed)}")


main(*sys.argv[1:])
