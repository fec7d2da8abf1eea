#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench_documents.py LIBRARY_FOLDER: documents a second of the forward pass on the CPU, in float32, for models of random weights of
published shapes, by tokens of a row and by threads, beside ONNX Runtime. Prints the rows of docs/serve.md's table.

Both get the same ids, in one process, and take turns, in another order each round; scores are compared first. ONNX Runtime runs
bench_forward.py's graph of fused operators for BERT and XLM-R, which its optimizer makes of them, and for ModernBERT what torch.onnx
exports of transformers' class. Vocabularies have 30,522 ids, also XLM-R's: a larger one costs memory and no time. Per engine the
median and the quartiles of documents a second by the clock, and the median per second of the process' CPU time; ratios are medians of
those within each round, with quartiles. LIBRARY_FOLDER has the shared libraries of a build. Needs onnxruntime; for ModernBERT also
torch, transformers, onnx and onnxscript, without which it says that it was not run."""

import argparse
import os
import pathlib
import platform
import random
import statistics
import tempfile
import time

os.environ.update(HF_HUB_OFFLINE="1")

import bench_forward  # noqa: E402
import numpy as np  # noqa: E402
import numpy_families  # noqa: E402
import numpy_models  # noqa: E402
import onnxruntime  # noqa: E402

# kind, width, layers, heads, inner width
SHAPES = {"MiniLM-L6": ("bert", 384, 6, 12, 1536), "bge-base": ("bert", 768, 12, 12, 3072), "XLM-R-base": ("roberta", 768, 12, 12, 3072),
          "ModernBERT-base": ("modernbert", 768, 22, 12, 1152)}
ROBERTA_PAD = 1


def of_bert_names(tensors):
    """RoBERTa's tensors under BERT's names, with positions from 0: without pads in a row it differs in nothing else."""
    out = {}
    for name, values in tensors.items():
        for theirs, ours in (("classifier.dense", "bert.pooler.dense"), ("classifier.out_proj", "classifier"), ("roberta.", "bert.")):
            name = name.replace(theirs, ours)
        out[name] = values[ROBERTA_PAD + 1:] if "position_embeddings" in name else values
    return out


def models_of(shape, folder):
    """Writes the model to the folder; answers with what makes ONNX Runtime's side of it, or None and why not."""
    kind, hidden, layers, heads, inner = SHAPES[shape]
    rng = np.random.default_rng(5)
    if kind == "modernbert":
        made = numpy_families.ModernBert(bench_forward.VOCAB, hidden, layers, heads, inner, 8192, rng, window=64)
        numpy_models.save(pathlib.Path(folder), made.config, made.tensors)
        try:
            import bench_models
            exported = bench_models.transformers.AutoModelForSequenceClassification.from_pretrained(folder, attn_implementation="eager")
            return bench_models.export(exported.float().eval(), folder), None
        except Exception as problem:  # of an exporter: whatever it is, there is nothing to compare with
            return None, f"torch.onnx: {type(problem).__name__}: {problem}".splitlines()[0][:200]
    roberta = kind == "roberta"
    config, tensors = numpy_models.make(kind, bench_forward.VOCAB, hidden, layers, heads, inner, bench_forward.POSITIONS + 2 * roberta,
                                        types=1 if roberta else 2, pad=ROBERTA_PAD if roberta else 0, rng=rng)
    numpy_models.save(pathlib.Path(folder), config, tensors)
    bench_forward.HIDDEN, bench_forward.LAYERS, bench_forward.HEADS, bench_forward.INNER = hidden, layers, heads, inner
    return bench_forward.graph(of_bert_names(tensors) if roberta else tensors), None


def onnx_call(model, threads, rows):
    """A call that scores rows of one length together."""
    session = bench_forward.Onnx(model, threads).session
    ids = np.stack([row[0] for row in rows])
    types = np.stack([row[1] for row in rows])
    feeds = {}
    for wanted in session.get_inputs():
        values = {"input_ids": ids, "token_type_ids": types, "attention_mask": np.ones_like(ids)}[wanted.name]
        feeds[wanted.name] = values.astype(np.int64 if "int64" in wanted.type else np.int32)
    return lambda: session.run(["logits"], feeds)[0][:, 0]


def told(values):
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.3g} ({low:.3g} to {high:.3g})"


def measure(shape, calls, count, tokens, threads, rounds, order):
    want = calls["onnx"]()
    apart = np.abs(calls["rankfeed"]() - want).max() / max(1, np.abs(want).max())
    if not apart <= 1e-4:
        raise SystemExit(f"{shape}: scores differ by {apart}")
    took = {name: [] for name in calls}
    for _ in range(rounds):
        for name in order.sample(list(calls), len(calls)):
            wall, cpu = time.perf_counter(), time.process_time()
            calls[name]()
            took[name].append((time.perf_counter() - wall, time.process_time() - cpu))
    clock = {name: [count / t[0] for t in times] for name, times in took.items()}
    cpu = {name: statistics.median(count / t[1] for t in times) for name, times in took.items()}
    ratios = [[theirs[i] / ours[i] for ours, theirs in zip(took["rankfeed"], took["onnx"])] for i in (0, 1)]
    print(f"| {shape} | {tokens} | {threads} | {told(clock['rankfeed'])} | {cpu['rankfeed']:.3g} | {told(clock['onnx'])} | {cpu['onnx']:.3g} | "
          f"{told(ratios[0])} | {told(ratios[1])} | {rounds} | {os.getloadavg()[0]:.0f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries")
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--tokens", type=int, nargs="+", default=[128, 512])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--together", type=int, default=2048, help="tokens of a call")
    arguments = parser.parse_args()
    order, rng = random.Random(1), np.random.default_rng(7)
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, ONNX Runtime {onnxruntime.__version__}, float32")
    print("| shape | tokens | threads | rankfeed, documents/s | per CPU second | ONNX Runtime, documents/s | per CPU second | ratio, clock | ratio, CPU "
          "| rounds | load |\n|---|---|---|---|---|---|---|---|---|---|---|", flush=True)
    for shape in arguments.shapes:
        with tempfile.TemporaryDirectory() as folder:
            theirs, why = models_of(shape, folder)
            if theirs is None:
                print(f"| {shape} | not run: {why} |", flush=True)
                continue
            for threads in arguments.threads:
                ours = bench_forward.Rankfeed(arguments.libraries, folder, threads)
                for tokens in arguments.tokens:
                    count = max(1, arguments.together // tokens)
                    two = SHAPES[shape][0] == "bert"
                    rows = [(ids, types if two else 0 * types) for ids, types in bench_forward.rows_of([tokens] * count, rng)]
                    measure(shape, {"rankfeed": ours.prepare(rows), "onnx": onnx_call(theirs, threads, rows)}, count, tokens, threads,
                            arguments.rounds, order)


if __name__ == "__main__":
    main()
