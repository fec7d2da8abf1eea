# SPDX-License-Identifier: MIT
"""bench_python.py VOCABULARY.json [TEXTS.jsonl ...]: the Python package beside the tokenizers wheel, on
equal threads. Ids are compared before anything is timed. Rounds take turns; per case the medians and the
ratio within a round (median, and between which four fifths of the rounds lie). On one thread times are the
process's CPU time. transformers' callable is timed too when the wheel is there."""

import argparse
import json
import os
import platform
import statistics
import sys
import time

import numpy as np
import rankfeed
import tokenizers

try:
    import transformers
    transformers.logging.set_verbosity_error()
except ImportError:
    transformers = None


def rounds_of(mine, theirs, seconds, clock):
    """Times of both, in turns, so that a busy moment of the machine hits both."""
    mine(), theirs()
    times = [], []
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds or len(times[0]) < 5:
        for function, out in zip((mine, theirs), times):
            at = clock()
            function()
            out.append(clock() - at)
    return times


def report(name, mine, theirs, tokens, arguments):
    # One thread: its processor time, which other programs take no part of.
    clock = time.process_time if arguments.threads == 1 else time.perf_counter
    mine, theirs = rounds_of(mine, theirs, arguments.seconds, clock)
    a, b = statistics.median(mine), statistics.median(theirs)
    ratios = sorted(y / x for x, y in zip(mine, theirs))
    low, high = ratios[len(ratios) // 10], ratios[-1 - len(ratios) // 10]
    print(f"| {name} | {1e3 * a:.3g} ms | {1e3 * b:.3g} ms | {statistics.median(ratios):.1f}x ({low:.1f}-{high:.1f}) | {tokens / a / 1e6:.2f} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("vocabulary")
    parser.add_argument("texts", nargs="*")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2, help="per case and side")
    arguments = parser.parse_args()
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if arguments.threads > 1 else "false"
    os.environ["RAYON_NUM_THREADS"] = str(arguments.threads)

    docs = []
    for path in arguments.texts or [os.path.join(os.path.dirname(__file__), "..", "data", "sample", "docs.jsonl")]:
        with open(path, encoding="utf-8") as file:
            docs += [v for line in file for v in json.loads(line).values() if isinstance(v, str) and len(v) > 20]
    docs = docs[:2000]
    query = docs[0][:60]
    mine = rankfeed.Tokenizer.from_file(arguments.vocabulary, threads=arguments.threads, model_max_length=512)
    theirs = tokenizers.Tokenizer.from_file(arguments.vocabulary)
    theirs.no_truncation()
    theirs.no_padding()

    expected = theirs.encode_batch(docs)
    if [e.ids for e in mine.encode_batch(docs)] != [e.ids for e in expected]:
        sys.exit("ids differ: nothing is timed")
    tokens = sum(len(e.ids) for e in expected)
    print(f"rankfeed {rankfeed.__version__}, tokenizers {tokenizers.__version__}, Python {platform.python_version()}, "
          f"{platform.processor() or platform.machine()}, {arguments.threads} thread(s), {len(docs)} texts, "
          f"{sum(len(d.encode()) for d in docs)} bytes, {tokens} tokens")
    print("\n| | rankfeed | wheel | ratio | M tokens/s of rankfeed |\n|---|---|---|---|---|")
    report(f"`encode_batch` of {len(docs)} texts, ids read", lambda: [e.ids for e in mine.encode_batch(docs)],
           lambda: [e.ids for e in theirs.encode_batch(docs)], tokens, arguments)
    one = docs[len(docs) // 2]
    report(f"`encode` of one text of {len(one.encode())} bytes, 100 times", lambda: [mine.encode(one).ids for _ in range(100)],
           lambda: [theirs.encode(one).ids for _ in range(100)], 100 * len(mine.encode(one)), arguments)

    theirs.enable_truncation(512, strategy="only_second")
    theirs.enable_padding(pad_id=mine.pad_token_id, pad_token=mine.id_to_token(mine.pad_token_id))
    batch = docs[:100]

    def wheel():
        rows = theirs.encode_batch([(query, d) for d in batch])
        return {"input_ids": np.array([r.ids for r in rows]), "attention_mask": np.array([r.attention_mask for r in rows])}

    def package():
        return mine.encode_pairs(query, batch, max_length=512, truncation="only_second", padding_side="right")
    ours, other = package(), wheel()
    if not all((ours[name] == other[name]).all() for name in other):
        sys.exit("pairs differ: nothing is timed")
    report(f"1 query, {len(batch)} documents, as arrays: `encode_pairs`", package, wheel, int(ours["attention_mask"].sum()), arguments)
    if transformers is not None:
        fast = transformers.PreTrainedTokenizerFast(tokenizer_file=arguments.vocabulary, model_max_length=512,
                                                    pad_token=mine.id_to_token(mine.pad_token_id))
        queries = [query] * len(batch)
        call = dict(padding=True, truncation="only_second", return_tensors="np")
        if not (mine(queries, batch, **call)["input_ids"] == fast(queries, batch, **call)["input_ids"]).all():
            sys.exit("the callables differ: nothing is timed")
        report(f"the same by transformers' callable ({transformers.__version__})", lambda: mine(queries, batch, **call),
               lambda: fast(queries, batch, **call), int(ours["attention_mask"].sum()), arguments)


main()
