#!/usr/bin/env python3
"""same.py REFERENCE MADE: fails unless the file MADE has what REFERENCE has, both with what check.py printed. Scores are the same
to 2e-5, or MADE has none. Prints how far they are apart."""
import json
import pathlib
import sys


def main(*paths: str) -> None:
    reference, made = (json.loads(pathlib.Path(path).read_text(encoding="utf-8")) for path in paths)
    want, got = reference.pop("scores"), made.pop("scores", None)
    if made != reference:
        sys.exit("images, ids or offsets are not the reference's")
    if got is None:
        return
    if len(got) != len(want) or len(set(got)) < 10:
        sys.exit(f"{len(got)} scores, {len(set(got))} of them different, and the reference has {len(want)}")
    apart = max(abs(one - other) for one, other in zip(got, want))
    if not apart <= 2e-5:
        sys.exit(f"scores differ from the reference's by {apart:.2g}")
    print(f"scores within {apart:.1g}" if apart else "scores equal")


main(*sys.argv[1:])
