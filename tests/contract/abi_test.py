# SPDX-License-Identifier: MIT
"""abi_test.py [--update]: holds the C ABI of the public headers against abi.xml, with libabigail's abidiff.

Signatures, layouts and names of fields, and enumerators are compared: a C source takes the address of every function of
cmake/symbols, and abidw reads what the compiler says of it. Any difference but a new function fails. --update accepts it;
the diff of abi.xml then shows to whoever reviews it that something was only added (docs/abi.md).
Exits with 77, which is "not run", on another system than 64-bit x86 Linux and where abigail-tools is missing."""
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BASELINE = ROOT / "tests/contract/abi.xml"


def source():
    """A C source from which every public function and type can be reached."""
    headers = sorted(path.name for path in (ROOT / "include/rankfeed").glob("*.h"))
    functions = [name for path in sorted((ROOT / "cmake/symbols").glob("*.txt"))
                 for name in re.findall(r"^(rankfeed_\w+)$", path.read_text(), re.M)]
    assert len(functions) > 100, functions
    return "".join(f"#include <rankfeed/{name}>\n" for name in headers) + "".join(
        f"__typeof__({name})* abi_{name} = &{name};\n" for name in functions)


def describe(folder):
    """Writes the ABI of the headers as they are to abi.xml in the folder."""
    (folder / "abi.c").write_text(source())
    # Enumerators are in anonymous enums, which no function names.
    subprocess.run(["cc", "-g", "-shared", "-fPIC", "-fno-eliminate-unused-debug-types", f"-I{ROOT}/include", "-o", "abi.so", "abi.c"],
                   cwd=folder, check=True)
    xml = subprocess.run(["abidw", "--load-all-types", "--no-corpus-path", "--no-show-locs", "--no-comp-dir-path",
                          "--no-parameter-names", "abi.so"], cwd=folder, check=True, capture_output=True, text=True).stdout
    (folder / "abi.xml").write_text(re.sub(r"^\s+", "", xml, flags=re.M))


def main():
    missing = [tool for tool in ("cc", "abidw", "abidiff") if shutil.which(tool) is None]
    if missing or sys.platform != "linux" or platform.machine() != "x86_64":
        print(f"abi_test: not run: {', '.join(missing) or platform.machine()} (Debian: abigail-tools, on amd64)")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        describe(folder)
        if "--update" in sys.argv[1:]:
            shutil.copy(folder / "abi.xml", BASELINE)
            return 0
        result = subprocess.run(["abidiff", "--non-reachable-types", "--harmless", "--no-added-syms", BASELINE, folder / "abi.xml"],
                                capture_output=True, text=True)
    print(result.stdout + result.stderr, end="")
    if result.returncode != 0:
        print("abi_test: the C ABI is not that of tests/contract/abi.xml; where it has only grown, accept it with "
              "tests/contract/abi_test.py --update")
    return min(result.returncode, 1)


if __name__ == "__main__":
    sys.exit(main())
