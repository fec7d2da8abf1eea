#!/usr/bin/env python3
"""pack.py: a wheel from an extension that scripts/wheels.sh built, the package's Python files and their metadata.

Files are in order and have one date, so the same inputs make the same bytes.
"""
import argparse
import base64
import hashlib
import pathlib
import stat
import zipfile

parser = argparse.ArgumentParser()
parser.add_argument("--tag", required=True, help="such as cp312-abi3-manylinux_2_28_x86_64")
parser.add_argument("--extension", required=True, type=pathlib.Path)
parser.add_argument("--name", required=True, help="the extension's name in the package")
parser.add_argument("--stub", required=True, type=pathlib.Path)
parser.add_argument("--package", required=True, type=pathlib.Path, help="python/rankfeed")
parser.add_argument("--metadata", required=True, type=pathlib.Path, help="the .dist-info that the build backend prepared")
parser.add_argument("--licenses", required=True, type=pathlib.Path, help="folder with those of what is linked in")
parser.add_argument("--sbom", required=True, type=pathlib.Path, help="of cmake/sbom.py; its place is PEP 770's")
parser.add_argument("--program", type=pathlib.Path, help="the program `rankfeed`; where it is not given, the command says that it is not there")
parser.add_argument("--out", required=True, type=pathlib.Path)
args = parser.parse_args()

info = args.metadata.name
files = {f"rankfeed/{path.name}": path.read_bytes() for path in args.package.iterdir()
         if path.is_file() and path.suffix != ".pyc"}
files[f"rankfeed/{args.name}"] = args.extension.read_bytes()
files["rankfeed/_core.pyi"] = args.stub.read_bytes()
for path in args.metadata.rglob("*"):
    if path.is_file() and path.name not in ("WHEEL", "RECORD"):
        files[f"{info}/{path.relative_to(args.metadata)}"] = path.read_bytes()
for path in args.licenses.iterdir():
    files[f"{info}/licenses/linked/{path.name}"] = path.read_bytes()
files[f"{info}/sboms/{args.sbom.name}"] = args.sbom.read_bytes()
script = f"{info.removesuffix('.dist-info')}.data/scripts/rankfeed"
if args.program is not None:
    files[script] = args.program.read_bytes()
else:
    files[f"{info}/entry_points.txt"] = b"[console_scripts]\nrankfeed = rankfeed.__main__:without_program\n"
python, abi, platforms = args.tag.split("-")
tags = "".join(f"Tag: {python}-{abi}-{one}\n" for one in platforms.split("."))
files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: scripts/wheels.sh\nRoot-Is-Purelib: false\n{tags}".encode()


def row(name: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


record = "".join(row(name, data) for name, data in sorted(files.items())) + f"{info}/RECORD,,\n"
args.out.mkdir(parents=True, exist_ok=True)
wheel = args.out / f"{info.removesuffix('.dist-info')}-{args.tag}.whl"
with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
    for name, data in [*sorted(files.items()), (f"{info}/RECORD", record.encode())]:
        entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
        entry.compress_type = zipfile.ZIP_DEFLATED
        # pip keeps the mode of regular files only.
        entry.external_attr = (stat.S_IFREG | (0o755 if name == script or name.endswith((".so", ".pyd")) else 0o644)) << 16
        archive.writestr(entry, data)
print(wheel)
