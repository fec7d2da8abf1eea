# SPDX-License-Identifier: MIT
"""Very many short texts for the long comparisons of bulk_sp.py and bulk_forms.py, in UTF-8."""

import itertools
import json
from pathlib import Path


def ties(r, pieces, limit):
    """Every text of one length over a small alphabet; the longest, or the one before, for which there are no more than limit."""
    letters = {c for p in r.sample(pieces, min(40, len(pieces))) for c in p.replace("▁", " ")}
    alphabet = r.sample(sorted(letters | {" ", "o", "\U00012000"}), r.randint(2, 4))
    if r.random() < 0.3:
        alphabet[0] = r.choice(pieces).replace("▁", " ")
    length = next(n for n in itertools.count(1) if len(alphabet) ** (n + 1) > limit)
    units = [unit.encode() for unit in alphabet]
    return list(map(b"".join, itertools.product(units, repeat=r.randint(max(1, length - 1), length))))


def of_words(r, words, count, most=8):
    """About count texts of one to so many words, put together anew."""
    chosen, glue = r.choices(words, k=count * most // 2), r.choice([b" ", b" ", b" ", b"", b"  ", b"-"])
    out, at = [], 0
    while at < len(chosen):
        size = r.randint(1, most)
        out.append(glue.join(chosen[at:at + size]))
        at += size
    return out


def words(xquad=None, stream=None):
    """The words of XQuAD and of the many-language stream, sorted."""
    found = set()
    files = sorted(Path(xquad).glob("*.jsonl")) if xquad else []
    for path in files + ([Path(stream)] if stream else []):
        with open(path) as lines:
            for line in itertools.islice(lines, 20000):
                found.update(json.loads(line)["text"].split())
    return [w.encode() for w in sorted(found)] or [b"word", b"words"]
