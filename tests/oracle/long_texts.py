# SPDX-License-Identifier: MIT
"""Texts past the sums at which SentencePiece 0.2.2 and later rebase: from there on scores are rounded as
those of a new text are, so ties fall otherwise than up to 0.2.1.

The best sum falls by about 3 to 5 for each byte of a text, so -100,000 is passed every 20 to 30 kB.
Models of sp_models.with_large_scores pass it, in both directions, within a few characters.
"""

import json
import random
from pathlib import Path


def _filled(parts, size):
    """Parts, joined until there are size bytes; not cut."""
    out, total = [], 0
    for part in parts:
        if total >= size:
            break
        out.append(part)
        total += len(part) + 1
    return b" ".join(out)


def repeated(pieces, size, seed):
    """(name, text) of few characters again and again, which is where sums tie."""
    r = random.Random(seed)
    units = [("letter", "o"), ("two letters", "ha"), ("letter and space", "s "), ("mark", "="), ("unknown", "\U00012000")]
    for _ in range(3):
        some = r.sample(pieces, min(len(pieces), r.randint(1, 3)))
        units.append(("pieces " + ascii("".join(some)), "".join(some).replace("▁", " ")))
    for name, unit in units:
        data = unit.encode() or b"a"
        yield name, data * (size // len(data))
    letters = sorted({c for p in pieces for c in p if c != "▁"})[:200] or ["a"]
    few = r.sample(letters, min(len(letters), 3))
    for name, pool in (("few letters", few), ("few letters and unknown", few + ["\U00012000", " "])):
        yield name, "".join(r.choices(pool, k=size // max(len(c.encode()) for c in pool))).encode()


def texts(pieces, size, seed, xquad=None, stream=None):
    """(name, text) of about size bytes each: real passages joined, and repetitions."""
    for name, rows in (("XQuAD", _rows(xquad)), ("many languages", _stream(stream))):
        rows = list(rows)
        if rows:
            random.Random(seed).shuffle(rows)
            yield name, _filled(rows, size)
            yield name + " without spaces", _filled(rows, size).replace(b" ", b"")
    r = random.Random(seed)
    yield "pieces", _filled((r.choice(pieces).replace("▁", " ").encode() for _ in range(size)), size)
    yield from repeated(pieces, size, seed)


def _rows(folder):
    for file in sorted(Path(folder).glob("*.jsonl")) if folder else []:
        for line in file.read_text().splitlines():
            yield json.loads(line)["text"].encode()


def _stream(path):
    if path:
        with open(path) as lines:
            for line in lines:
                yield json.loads(line)["text"].encode()
