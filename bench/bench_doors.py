# SPDX-License-Identifier: MIT
"""bench_doors.py VOCABULARY [TEXTS.jsonl ...]: what the Python package adds to the C++ call that it makes.

One query against 100 documents, at most 512 tokens a row, padded int64 tensors, one thread: encode_pairs and the callable
beside the same batch of C++'s Reranker, which is warm (--library, the target doors_peer); and encode_batch with its ids
as lists beside rankfeed_encode of the same texts into the same memory. The callable's lists hold as many masks as ids,
which that call does not make: there is no target for them. Ids are compared first. Rounds take turns; processor time;
medians, and the ratio within a round (median, and between which four fifths of the rounds lie)."""

import argparse
import ctypes as c
import json
import os
import platform
import statistics
import sys
import time

import numpy as np
import rankfeed

HERE = os.path.dirname(os.path.abspath(__file__))


class Text(c.Structure):
    _fields_ = [("data", c.c_char_p), ("size", c.c_size_t)]


def program(path):
    """The C++ side: bench/doors_peer.cc."""
    library = c.CDLL(path)
    library.doors_open.restype = c.c_void_p
    library.doors_open.argtypes = [c.c_char_p, c.POINTER(Text), c.c_size_t, c.c_uint32]
    library.doors_pairs.restype = c.c_int64
    library.doors_pairs.argtypes = [c.c_void_p, c.POINTER(c.c_void_p), c.POINTER(c.c_int64)]
    library.doors_encode.restype = c.c_int64
    library.doors_encode.argtypes = [c.c_void_p]
    return library


def rounds_of(functions, seconds):
    times = [[] for _ in functions]
    for function in functions:
        function()
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds or len(times[0]) < 11:
        for function, out in zip(functions, times):
            at = time.process_time()
            function()
            out.append(time.process_time() - at)
    return times


def report(rows, name, base, mine, target):
    ratios = sorted(b / a for a, b in zip(base, mine))
    low, high = ratios[len(ratios) // 10], ratios[-1 - len(ratios) // 10]
    rows.append({"what": name, "cpp_ms": 1e3 * statistics.median(base), "python_ms": 1e3 * statistics.median(mine),
                 "ratio": {"median": statistics.median(ratios), "low": low, "high": high}, "target": target})
    print(f"| {name} | {1e3 * statistics.median(base):.3f} ms | {1e3 * statistics.median(mine):.3f} ms | "
          f"{statistics.median(ratios):.2f}x ({low:.2f}-{high:.2f}) | {target or '-'} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("vocabulary")
    parser.add_argument("texts", nargs="*")
    parser.add_argument("--library", required=True, help="libdoors_peer.so of the build")
    parser.add_argument("--json", help="file for the same as JSON")
    parser.add_argument("--seconds", type=float, default=4, help="per case")
    arguments = parser.parse_args()
    docs = []
    for path in arguments.texts or [os.path.join(HERE, "..", "data", "sample", "docs.jsonl")]:
        with open(path, encoding="utf-8") as file:
            docs += [v for line in file for v in json.loads(line).values() if isinstance(v, str) and len(v) > 100]
    docs = docs[:100]
    query = "What is a panda, and what does it eat?"
    tok = rankfeed.Tokenizer.from_file(arguments.vocabulary, threads=1, model_max_length=512)
    library = program(arguments.library)
    encoded = [text.encode() for text in [query, *docs]]
    texts = (Text * len(encoded))(*[Text(text, len(text)) for text in encoded])
    peer = library.doors_open(arguments.vocabulary.encode(), texts, len(encoded), 512)
    if not peer:
        sys.exit("the library cannot open the vocabulary")

    data, shape = c.c_void_p(), (c.c_int64 * 2)()

    def pairs():
        if library.doors_pairs(peer, c.byref(data), shape) < 0:
            sys.exit("rankfeed_encode_pairs failed")

    call = dict(padding=True, truncation=True, return_tensors="np")
    queries = [query] * len(docs)
    pairs()
    ids = np.ctypeslib.as_array(c.cast(data, c.POINTER(c.c_int64)), tuple(shape)).copy()
    for mine in (tok.encode_pairs(query, docs, padding_side="right"), tok(queries, docs, **call)):
        if mine["input_ids"].shape != ids.shape or (mine["input_ids"] != ids).any():
            sys.exit("ids differ: nothing is timed")
    if library.doors_encode(peer) != sum(len(e.ids) for e in tok.encode_batch(docs, add_special_tokens=False)):
        sys.exit("tokens differ: nothing is timed")
    print(f"rankfeed {rankfeed.__version__}, Python {platform.python_version()}, {tok.isa}, {len(docs)} documents, "
          f"{sum(map(len, encoded[1:]))} bytes, rows of {ids.shape[1]} tokens, one thread")
    rows = []
    print("\n| | C++ | Python | ratio | target |\n|---|---|---|---|---|")
    times = rounds_of((pairs, lambda: tok.encode_pairs(query, docs), lambda: tok(queries, docs, **call)), arguments.seconds)
    report(rows, "`encode_pairs`", times[0], times[1], 1.15)
    report(rows, "`tok(queries, docs)` to arrays", times[0], times[2], 1.15)
    times = rounds_of((lambda: library.doors_encode(peer),
                       lambda: [e.ids for e in tok.encode_batch(docs, add_special_tokens=False)],
                       lambda: tok(docs, add_special_tokens=False)["input_ids"]), arguments.seconds)
    report(rows, "`encode_batch`, ids as lists", times[0], times[1], 1.5)
    report(rows, "`tok(docs)` to lists, with masks", times[0], times[2], None)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"python": platform.python_version(), "isa": tok.isa, "pages": tok.pages, "documents": len(docs),
                       "bytes": sum(map(len, encoded[1:])), "row_tokens": int(ids.shape[1]), "rows": rows}, file, indent=1)


main()
