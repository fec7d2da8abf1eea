# SPDX-License-Identifier: MIT
"""binaries_test.py SOURCE: every committed binary file is accounted for.

Files that are not text (a zero byte, or no UTF-8) must be in a SHA256SUMS of their folder or of one above, with
the right checksum, or be an input of a test below ACCOUNTED, whose README says where such files come from. A folder
with SHA256SUMS must have a README that speaks of the licence and of the script. Standard library only."""

import hashlib
import pathlib
import subprocess
import sys

# Hostile or generated inputs of tests, a few bytes each; their README says how they come about.
ACCOUNTED = {"fuzz/regressions": "fuzz/README.md"}


def main():
    source = pathlib.Path(sys.argv[1])
    listed = subprocess.run(["git", "-C", source, "ls-files", "-z"], capture_output=True)
    if listed.returncode != 0:
        print("SKIPPED: not a git checkout")
        sys.exit(77)
    problems, binaries, sums = [], [], {}
    names = [name for name in listed.stdout.decode().split("\0") if name]
    for name in names:
        path = source / name
        if path.name == "SHA256SUMS":
            for line in path.read_text(encoding="utf-8").splitlines():
                digest, file = line.split(maxsplit=1)
                sums[(path.parent / file.lstrip("*")).resolve()] = digest
            # The README of the folder, or of the one above, names script and licence.
            readme = next((p for p in (path.parent / "README.md", path.parent.parent / "README.md") if p.exists()), None)
            text = readme.read_text(encoding="utf-8") if readme else ""
            if "icence" not in text or not any(word in text for word in (".py", ".sh")):
                problems.append(f"{name}: no README beside it names licence and script")
        if not path.is_file() or path.is_symlink():
            continue
        data = path.read_bytes()
        try:
            if b"\0" not in data and data.decode("utf-8") is not None:
                continue
        except UnicodeDecodeError:
            pass
        binaries.append(path)
    for path in binaries:
        name = path.relative_to(source).as_posix()
        accounted = next((readme for folder, readme in ACCOUNTED.items() if name.startswith(folder + "/")), None)
        if accounted is None and path.resolve() not in sums:
            problems.append(f"{name}: in no SHA256SUMS")
        if accounted is not None and not (source / accounted).exists():
            problems.append(f"{name}: {accounted} is not there")
    for path, digest in sums.items():
        if not path.is_file():
            problems.append(f"{path}: in SHA256SUMS, not there")
        elif hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            problems.append(f"{path}: another checksum")
    print("\n".join(problems) or f"{len(binaries)} binary files, {len(sums)} checksums")
    sys.exit(1 if problems or not binaries else 0)


main()
