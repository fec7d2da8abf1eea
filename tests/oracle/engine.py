# SPDX-License-Identifier: MIT
"""Client of rankfeed_test_driver (tests/support/driver.cc, which documents the protocol), and what
all comparisons share: columns of results, escaping, and reduction of a differing text."""

import argparse
import os
import struct
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from versions import pinned

ADD_SPECIAL_TOKENS, OFFSETS_CODE_POINTS, SPLIT_SPECIAL_TOKENS, ERROR_ON_SPECIAL = 1, 2, 4, 8
OFFSETS_UTF16 = 32
UNITS = {"bytes": 0, "code points": OFFSETS_CODE_POINTS, "utf-16": OFFSETS_UTF16}  # of offsets
SKIP_SPECIAL_TOKENS = 1
OK, E_OUTPUT_SIZE, E_UNSUPPORTED, E_UNK_ID, E_ID_RANGE, E_TRUNCATION = 0, 4, 25, 100, 101, 103
COLUMN_OFFSETS, COLUMN_MASK, COLUMN_TYPES = 1, 2, 4
AUTO, HUGGINGFACE, SENTENCEPIECE_0_2_1, SENTENCEPIECE = -1, 0, 1, 2
MODES = {"huggingface": HUGGINGFACE, "sentencepiece": SENTENCEPIECE, "sentencepiece-0.2.1": SENTENCEPIECE_0_2_1}
SKIPPED = 77  # ctest SKIP_RETURN_CODE

INFO = ("parity id_count piece_count unk_id bos_id eos_id pad_id cls_id sep_id mask_id pad_type_id "
        "max_piece_chars specials_single specials_pair position_offset position_pad "
        "has_token_type_ids byte_fallback image_size").split()


@dataclass
class Columns:
    """Encodings of many texts: row i owns [starts[i], starts[i + 1]) of every column."""
    status: np.ndarray
    starts: np.ndarray
    ids: np.ndarray
    begin: np.ndarray | None = None
    end: np.ndarray | None = None
    mask: np.ndarray | None = None
    types: np.ndarray | None = None

    NAMES = ("ids", "begin", "end", "mask", "types")

    def row(self, i):
        a, b = self.starts[i], self.starts[i + 1]
        out = {"status": int(self.status[i])}
        for name in self.NAMES:
            column = getattr(self, name)
            if column is not None:
                out[name] = column[a:b].tolist()
        return out

    def differing_rows(self, other):
        """Indices of rows that differ in status or in any column that both have."""
        bad = (self.status != other.status) | (np.diff(self.starts) != np.diff(other.starts))
        if not bad.any():
            rows = np.repeat(np.arange(len(bad)), np.diff(self.starts))
            for name in self.NAMES:
                mine, theirs = getattr(self, name), getattr(other, name)
                if mine is not None and theirs is not None:
                    bad[rows[mine != theirs]] = True
        else:
            for i in np.flatnonzero(~bad):
                mine, theirs = self.row(i), other.row(i)
                bad[i] = any(mine[k] != theirs[k] for k in mine.keys() & theirs.keys())
        return np.flatnonzero(bad)


class EngineError(Exception):
    def __init__(self, status, message):
        super().__init__(f"status {status}: {message}")
        self.status, self.message = status, message


class Engine:
    def __init__(self, driver):
        self.process = subprocess.Popen([driver], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)

    def close(self):
        self.process.stdin.close()
        self.process.wait()

    def _read(self, size):
        parts = []
        while size:
            part = self.process.stdout.read(size)
            if not part:
                raise RuntimeError(f"driver ended with status {self.process.wait()}")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def call(self, command, payload=b""):
        # Unbuffered pipes may take part of a write only.
        data = memoryview(struct.pack("<IQ", ord(command), len(payload)) + payload)
        while data:
            data = data[self.process.stdin.write(data):]
        size, = struct.unpack("<Q", self._read(8))
        return self._read(size)

    def load(self, path, parity=AUTO):
        answer = self.call("L", struct.pack("<i", parity) + os.fsencode(path))
        status, = struct.unpack_from("<i", answer)
        if status != OK:
            raise EngineError(status, answer[4:].decode(errors="replace"))

    def info(self):
        return dict(zip(INFO, struct.unpack(f"<{len(INFO)}i", self.call("I"))))

    def off_fast_road(self):
        """Why no text takes the fast road; empty: they take it."""
        return self.call("R").decode()

    def piece(self, token_id):
        answer = self.call("T", struct.pack("<I", token_id))
        return answer[4:] if struct.unpack_from("<i", answer)[0] == OK else None

    def find(self, piece):
        return struct.unpack("<i", self.call("F", piece))[0]

    def encode(self, texts, flags=0, columns=0, sp_extra=()):
        """texts: list of bytes."""
        sizes = np.array([len(t) for t in texts], "<u4")
        extra = bytes(sp_extra).ljust(8, b"\0")
        answer = self.call("E", struct.pack("<I", flags) + extra + struct.pack("<II", columns, len(texts))
                           + sizes.tobytes() + b"".join(texts))
        n, at = len(texts), 0

        def take(count, kind):
            nonlocal at
            out = np.frombuffer(answer, kind, count, at)
            at += out.nbytes
            return out

        status, counts = take(n, "<i4"), take(n, "<u4")
        starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        total = int(starts[-1])
        out = Columns(status, starts, take(total, "<i4"))
        if columns & COLUMN_OFFSETS:
            out.begin, out.end = take(total, "<u4"), take(total, "<u4")
        if columns & COLUMN_MASK:
            out.mask = take(total, "u1")
        if columns & COLUMN_TYPES:
            out.types = take(total, "<u4")
        assert at == len(answer)
        return out

    def decode(self, id_lists, flags=0):
        """Returns a list of bytes, or of int status where it is not OK."""
        counts = np.array([len(x) for x in id_lists], "<u4")
        ids = np.array([i for x in id_lists for i in x], "<i4")
        answer = self.call("D", struct.pack("<II", flags, len(id_lists)) + counts.tobytes() + ids.tobytes())
        n = len(id_lists)
        status = np.frombuffer(answer, "<i4", n)
        sizes = np.frombuffer(answer, "<u4", n, 4 * n)
        out, at = [], 8 * n
        for s, size in zip(status.tolist(), sizes.tolist()):
            out.append(answer[at:at + size] if s == OK else s)
            at += size
        return out

    def pairs(self, pairs, max_length=0, truncation=0, side=0, stride=0, overflow=0, max_query_tokens=0,
              no_special=0):
        """pairs: list of (bytes, bytes). Returns one status or list of rows (ids, types) per pair."""
        sizes = np.array([len(t) for p in pairs for t in p], "<u4")
        head = struct.pack("<8I", max_length, max_query_tokens, truncation, side, stride, overflow, no_special,
                           len(pairs))
        answer = self.call("P", head + sizes.tobytes() + b"".join(t for p in pairs for t in p))
        n = len(pairs)
        status = np.frombuffer(answer, "<i4", n)
        rows = np.frombuffer(answer, "<u4", n, 4 * n)
        total_rows = int(rows.sum())
        lengths = np.frombuffer(answer, "<u4", total_rows, 8 * n).tolist()
        total = sum(lengths)
        ids = np.frombuffer(answer, "<i4", total, 8 * n + 4 * total_rows)
        types = np.frombuffer(answer, "<i4", total, 8 * n + 4 * total_rows + 4 * total)
        out, row, at = [], 0, 0
        for s, count in zip(status.tolist(), rows.tolist()):
            mine = []
            for _ in range(count):
                mine.append((ids[at:at + lengths[row]].tolist(), types[at:at + lengths[row]].tolist()))
                at += lengths[row]
                row += 1
            out.append(mine if s == OK else s)
        return out


def reduce_text(text, differs, seconds=60):
    """A small part of text (str or bytes) that still differs: drops halves, quarters, ... units, until the time is over."""
    size, until = max(len(text) // 2, 1), time.monotonic() + seconds
    while True:
        at = 0
        changed = False
        while at < len(text):
            if time.monotonic() > until:
                return text
            shorter = text[:at] + text[at + size:]
            if len(shorter) < len(text) and differs(shorter):
                text, changed = shorter, True
            else:
                at += size
        if size == 1 and not changed:
            return text
        if size > 1:
            size //= 2


class Report:
    """Counts comparisons and prints the first mismatches of each kind; the verdict of a run."""

    def __init__(self, limit=5):
        """limit: mismatches printed of each kind; 0 only counts."""
        self.limit, self.checks, self.bad, self.shown = limit, 0, 0, {}
        self.started = time.monotonic()

    def mismatch(self, where, text, engine, reference, fragment=None):
        self.bad += 1
        self.shown[where] = self.shown.get(where, 0) + 1
        if self.shown[where] > self.limit:
            return
        print(f"MISMATCH {where}\n  input     {ascii(text)[:400]}\n  engine    {str(engine)[:600]}\n"
              f"  reference {str(reference)[:600]}")
        if fragment is not None:
            part, mine, theirs = fragment
            print(f"  smallest  {ascii(part)[:2000]}\n  engine    {str(mine)[:600]}\n  reference {str(theirs)[:600]}")
        sys.stdout.flush()

    def finish(self, what):
        seconds = time.monotonic() - self.started
        for where, count in sorted(self.shown.items()):
            print(f"  {count:6} x {where}")
        print(f"{what}: {self.checks} comparisons, {self.bad} mismatches, {seconds:.1f} s")
        return 1 if self.bad or not self.checks else 0


# Options that several comparisons have.
OPTIONS = {
    "driver": dict(required=True),
    "rankfeed": dict(required=True),
    "base": dict(required=True, type=Path, help="XLM-R's tokenizer.json"),
    "seed": dict(type=int, default=1),
    "pieces": dict(type=int, help="first pieces of the vocabulary only"),
    "xquad": {},
    "stream": dict(help="texts.jsonl of bench/text_streams.py"),
    "results": dict(help="fuzz/results.jsonl, to append to"),
}


def arguments(doc, *options, limit=None):
    """The parser of a comparison, with the options of OPTIONS that it names; limit: the default of --limit."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in options:
        parser.add_argument("--" + name, **OPTIONS[name])
    if limit is not None:
        parser.add_argument("--limit", type=int, default=limit, help="mismatches shown of each kind")
    return parser


def require(condition, reason):
    if not condition:
        print(f"SKIPPED: {reason}")
        sys.exit(SKIPPED)


def require_wheel(package, version, wanted=None):
    """Skips where the wheel is not the wanted version, or the one that tests/requirements.txt pins."""
    wanted = wanted or pinned(package)
    require(version == wanted, f"{package} {version} is not {wanted}")
