# SPDX-License-Identifier: MIT
"""bench_python.py VOCABULARY.json [TEXTS.jsonl ...]: the Python package beside the tokenizers wheel, on
equal threads. Ids are compared before anything is timed. Per case the median, least and spread (CV) of
the rounds; a ratio is printed only when it is larger than the noise. transformers' callable is timed too
when the wheel is there."""

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


def timed(function, seconds):
    function()
    rounds = []
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds or len(rounds) < 5:
        at = time.perf_counter()
        function()
        rounds.append(time.perf_counter() - at)
    return rounds


def report(name, mine, theirs, tokens):
    a, b = statistics.median(mine), statistics.median(theirs)
    spread = [statistics.stdev(r) / statistics.mean(r) for r in (mine, theirs)]
    ratio = f"{b / a:5.2f}x" if abs(b / a - 1) > 2 * max(spread) else "  n/a"
    print(f"{name:34} {1e3 * a:9.2f} {1e3 * min(mine):9.2f} {100 * spread[0]:5.1f}% {1e3 * b:9.2f} "
          f"{1e3 * min(theirs):9.2f} {100 * spread[1]:5.1f}%  {ratio}  {tokens / a / 1e6:7.2f} M tokens/s")


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
    print(f"{'':34} {'rankfeed':>9} {'least':>9} {'CV':>6} {'wheel':>9} {'least':>9} {'CV':>6}   ms; ratio of medians")
    report("encode_batch, ids read", timed(lambda: [e.ids for e in mine.encode_batch(docs)], arguments.seconds),
           timed(lambda: [e.ids for e in theirs.encode_batch(docs)], arguments.seconds), tokens)
    one = docs[len(docs) // 2]
    report("encode of one text", timed(lambda: [mine.encode(one).ids for _ in range(100)], arguments.seconds),
           timed(lambda: [theirs.encode(one).ids for _ in range(100)], arguments.seconds), 100 * len(mine.encode(one)))

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
    report("1 query x 100 documents, arrays", timed(package, arguments.seconds), timed(wheel, arguments.seconds),
           int(ours["attention_mask"].sum()))
    if transformers is not None:
        fast = transformers.PreTrainedTokenizerFast(tokenizer_file=arguments.vocabulary, model_max_length=512,
                                                    pad_token=mine.id_to_token(mine.pad_token_id))
        call = dict(padding=True, truncation="only_second", return_tensors="np")
        if not (mine([query] * 100, batch, **call)["input_ids"] == fast([query] * 100, batch, **call)["input_ids"]).all():
            sys.exit("the callables differ: nothing is timed")
        report("transformers' callable, 100 pairs", timed(lambda: mine([query] * 100, batch, **call), arguments.seconds),
               timed(lambda: fast([query] * 100, batch, **call), arguments.seconds), int(ours["attention_mask"].sum()))


main()
