# SPDX-License-Identifier: MIT
"""bench_cross_encoder.py TOKENIZER.json [TEXTS.jsonl ...] [--class-name BertTokenizer]: what rankfeed.hf.wrap saves a
CrossEncoder of sentence-transformers: the time of tokenizing one query with 100 documents to torch's tensors, before and
after the one line that wraps its tokenizer. Scores and tensors are compared first and must be equal. The model has random
weights, one narrow layer, BERT's or RoBERTa's by the class of the tokenizer: its own time does not matter here. Rounds take
turns; wall time, or the process' CPU time (--cpu-time, for a machine that is not quiet); medians, and between which four
fifths of the rounds lie. Needs the wheels of tests/requirements-hf.txt (scripts/python-env.sh hf) and rankfeed."""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, os.path.join(HERE, "..", "tests", "gpu_handoff", "crossencoder", "forward"))

import numpy as np  # noqa: E402
import numpy_models  # noqa: E402
import rankfeed.hf  # noqa: E402
import sentence_transformers  # noqa: E402
import tokenizers  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402


def documents(paths, count):
    found = []
    for path in paths or [os.path.join(HERE, "..", "data", "sample", "docs.jsonl")]:
        with open(path, encoding="utf-8") as file:
            found += [value for line in file for value in json.loads(line).values() if isinstance(value, str) and len(value) > 100]
    found = list(dict.fromkeys(found))
    return [found[i % len(found)] for i in range(count)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tokenizer")
    parser.add_argument("texts", nargs="*")
    parser.add_argument("--class-name", default="XLMRobertaTokenizer")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--cpu-time", action="store_true")
    arguments = parser.parse_args()
    clock = time.process_time if arguments.cpu_time else time.perf_counter
    query, docs = "What is a panda, and what does it eat?", documents(arguments.texts, 100)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copyfile(arguments.tokenizer, os.path.join(folder, "tokenizer.json"))
        with open(os.path.join(folder, "tokenizer_config.json"), "w", encoding="utf-8") as file:
            json.dump({"tokenizer_class": arguments.class_name, "model_max_length": 512}, file)
        plain = transformers.AutoTokenizer.from_pretrained(folder)
        kind = "roberta" if "Roberta" in arguments.class_name else "bert"
        config, tensors = numpy_models.make(kind, len(plain), 32, 1, 4, 64, 516, pad=plain.pad_token_id, rng=np.random.default_rng(1))
        numpy_models.save(pathlib.Path(folder), config, tensors)
        model = sentence_transformers.CrossEncoder(folder, device="cpu", max_length=512)
        pairs = [(query, document) for document in docs]
        before = model.predict(pairs)
        model[0].processor = rankfeed.hf.wrap(model[0].processor)
        after = model.predict(pairs)
    if not np.array_equal(before, after):
        sys.exit(f"{int((before != after).sum())} scores differ")
    wrapped = model.tokenizer
    options = dict(padding=True, truncation=True, max_length=512, return_tensors="pt")
    calls = [lambda t=t: t([query] * len(docs), docs, **options) for t in (plain, wrapped)]
    a, b = (call() for call in calls)
    if list(a) != list(b) or any(not torch.equal(a[key], b[key]) for key in a) or wrapped.rankfeed_fallbacks:
        sys.exit("the tensors differ, or calls fell back")
    times = [[], []]
    begin = time.perf_counter()
    while time.perf_counter() - begin < arguments.seconds or len(times[0]) < 11:
        for call, out in zip(calls, times):
            at = clock()
            call()
            out.append(1e3 * (clock() - at))
    print(f"100 documents of {sum(map(len, docs))} characters, {int(a['attention_mask'].sum())} tokens; scores and tensors equal; "
          f"transformers {transformers.__version__}, tokenizers {tokenizers.__version__}, "
          f"sentence-transformers {sentence_transformers.__version__}, {os.cpu_count()} cores, {len(times[0])} rounds")
    for name, out in zip(("the tokenizer as it was", "rankfeed.hf.wrap"), times):
        out.sort()
        print(f"{name}: {statistics.median(out):.2f} ms ({out[len(out) // 10]:.2f} to {out[-1 - len(out) // 10]:.2f})")


if __name__ == "__main__":
    main()
