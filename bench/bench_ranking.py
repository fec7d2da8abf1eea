# SPDX-License-Identifier: MIT
"""bench_ranking.py LIBRARY_FOLDER TOKENIZER: passages of 160 tokens ranked for a query on the CPU, by models of random weights of the
shapes of MiniLM-L6 and bge-base, in float32: rankfeed.CrossEncoder beside the C++ call below it, which gets the ids ready, beside
ONNX Runtime's fused operators (bench_forward.py), which get them too, and beside sentence-transformers' class, from texts, in torch.

All four are in one process; each round takes them in another order. Scores are compared first. Per engine the median CPU time of the
process, and the medians of the ratios to the C++ call within each round, in CPU time and by the clock, and between which four fifths of
them lie. LIBRARY_FOLDER has the shared libraries of a build, TOKENIZER is the tokenizer.json of bert-base-uncased. Needs the package
rankfeed, onnxruntime, torch and sentence-transformers."""

import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import tempfile
import time

os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")

import bench_forward  # noqa: E402
import numpy as np  # noqa: E402
import numpy_models  # noqa: E402
import rankfeed  # noqa: E402

SHAPES = {"minilm-l6": (384, 6, 12, 1536), "bge-base": (768, 12, 12, 3072)}  # width, layers, heads, inner width
ENGINES = ("rankfeed.CrossEncoder", "ONNX Runtime", "sentence-transformers")
QUERY, PASSAGE_TOKENS, TOGETHER = "what does a panda eat ?", 160, 32


def texts_of(tokenizer, count):
    """Passages of words that are a token each."""
    with open(tokenizer, encoding="utf-8") as file:
        words = sorted(word for word in json.load(file)["model"]["vocab"] if word.isascii() and word.isalpha() and len(word) > 3)
    rng = random.Random(7)
    return [" ".join(rng.choices(words, k=PASSAGE_TOKENS)) for _ in range(count)]


def engines_of(shape, arguments, threads):
    """Calls by name, each of which returns the logits of all pairs."""
    bench_forward.HIDDEN, bench_forward.LAYERS, bench_forward.HEADS, bench_forward.INNER = SHAPES[shape]
    config, tensors = numpy_models.make("bert", bench_forward.VOCAB, *(SHAPES[shape][i] for i in (0, 1, 2, 3)), bench_forward.POSITIONS,
                                        rng=np.random.default_rng(5))
    pairs = [(QUERY, text) for text in texts_of(arguments.tokenizer, arguments.passages)]
    with tempfile.TemporaryDirectory() as folder:
        numpy_models.save(pathlib.Path(folder), config, tensors)
        shutil.copy(arguments.tokenizer, os.path.join(folder, "tokenizer.json"))
        with open(os.path.join(folder, "tokenizer_config.json"), "w", encoding="utf-8") as file:
            json.dump({"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 512}, file)
        package = rankfeed.CrossEncoder(folder, threads=threads, activation_fn="Identity")
        peer = bench_forward.Rankfeed(arguments.libraries, folder, threads)
        batch = package.tokenizer([one for one, _ in pairs], [other for _, other in pairs])
        rows = [(np.asarray(ids), np.asarray(types)) for ids, types in zip(batch["input_ids"], batch["token_type_ids"])]
        calls = {"C++": peer.prepare(rows), "rankfeed.CrossEncoder": lambda: package.predict(pairs)}
        if "ONNX Runtime" in arguments.engines:
            calls["ONNX Runtime"] = bench_forward.Onnx(bench_forward.graph(tensors), threads).prepare(rows, TOGETHER)
        if "sentence-transformers" in arguments.engines:
            import sentence_transformers
            import torch
            torch.set_num_threads(threads)
            of_torch = sentence_transformers.CrossEncoder(folder, device="cpu", activation_fn=torch.nn.Identity())
            calls["sentence-transformers"] = lambda: of_torch.predict(pairs, batch_size=TOGETHER, show_progress_bar=False)
        want = list(calls.values())[-1]()
        for name, call in calls.items():
            apart = np.abs(call() - want).max() / max(1, np.abs(want).max())
            if not apart <= 1e-4:
                raise SystemExit(f"{name}: scores differ by {apart}")
    print(f"\n{shape}, {len(pairs)} passages, rows of {len(rows[0][0])} tokens, {threads} threads of {os.cpu_count()} cores, "
          f"load {os.getloadavg()[0]:.1f}, {package._info['products']}", flush=True)
    return calls


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries")
    parser.add_argument("tokenizer")
    parser.add_argument("--passages", type=int, default=100)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES, help="beside C++ and the first, which are always there")
    arguments = parser.parse_args()
    order = random.Random(1)
    for shape in arguments.shapes:
        for threads in arguments.threads:
            calls = engines_of(shape, arguments, threads)
            took = {name: [] for name in calls}
            for _ in range(arguments.rounds):
                for name in order.sample(list(calls), len(calls)):
                    wall, cpu = time.perf_counter(), time.process_time()
                    calls[name]()
                    took[name].append((time.process_time() - cpu, time.perf_counter() - wall))
            for name, times in took.items():
                ratios = [sorted(a[i] / b[i] for a, b in zip(times, took["C++"])) for i in (0, 1)]
                told = ", ".join(f"{statistics.median(r):.3f} ({r[len(r) // 10]:.2f} to {r[-1 - len(r) // 10]:.2f}) {clock}"
                                 for r, clock in zip(ratios, ("CPU", "clock")))
                print(f"  {name:24} {1e3 * statistics.median(t[0] for t in times):8.0f} ms CPU, ratio {told}", flush=True)


if __name__ == "__main__":
    main()
