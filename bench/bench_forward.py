# SPDX-License-Identifier: MIT
"""bench_forward.py LIBRARY_FOLDER [--texts XQUAD/en.jsonl --vocabulary VOCABULARY]: the forward pass of a BERT cross-encoder on the
CPU, 6 layers of width 384 as MiniLM has them, beside ONNX Runtime's with its fused operators: EmbedLayerNormalization, Attention,
SkipLayerNormalization and BiasGelu, which onnxruntime.transformers.optimizer puts into a BERT graph. Both have the same random
weights, the same rows and as many threads, in float32; scores are compared first. Rounds take turns; wall time, or the process' CPU time
(--cpu-time with --threads 1, for a machine that is not quiet); medians of the ratios within each round, and between which four fifths of
them lie.

Rows: 100 of 256 tokens, in one call on both sides; then 100 pairs of XQuAD's lengths, packed in one call here, padded there: to the
longest in one call, and sorted in calls of 32 as sentence-transformers' CrossEncoder has them. LIBRARY_FOLDER has the shared libraries
of a build (librankfeed_crossencoder.so, librankfeed_parallel.so). Without --texts, real lengths are drawn.
Needs the wheels of tests/requirements-examples.txt (.venv-examples)."""

import argparse
import ctypes as c
import json
import os
import pathlib
import statistics
import struct
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "tests", "examples"), os.path.join(HERE, "..", "tests", "gpu_handoff", "crossencoder", "forward")]

import numpy as np  # noqa: E402
import numpy_models  # noqa: E402
import onnxruntime  # noqa: E402
from random_onnx import FLOAT, message, number, tensor, value, varint  # noqa: E402

VOCAB, HIDDEN, LAYERS, HEADS, INNER, POSITIONS, EPS = 30522, 384, 6, 12, 1536, 512, 1e-12
INT32 = 6  # TensorProto.DataType


class Options(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("dtype", c.c_uint32), ("backend", c.c_void_p), ("device", c.c_int32),
                ("graph_tokens", c.c_uint32), ("executor", c.c_void_p)]


class Error(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("code", c.c_int32), ("message", c.c_char * 376)]


class Packed(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("rows", c.c_uint32), ("tokens", c.c_uint32), ("max_seqlen", c.c_uint32),
                ("input_ids", c.c_void_p), ("cu_seqlens", c.c_void_p), ("token_type_ids", c.c_void_p)]


class MemReq(c.Structure):
    _fields_ = [("size", c.c_size_t), ("alignment", c.c_size_t)]


class Rankfeed:
    """The model of a folder, on so many threads."""

    def __init__(self, libraries, folder, threads):
        parallel = c.CDLL(os.path.join(libraries, "librankfeed_parallel.so"))
        self.library = c.CDLL(os.path.join(libraries, "librankfeed_crossencoder.so"))
        parallel.rankfeed_parallel_executor.restype = c.c_void_p
        pool, self.model = c.c_void_p(), c.c_void_p()
        assert parallel.rankfeed_parallel_open(threads, c.byref(pool)) == 0
        options, error = Options(c.sizeof(Options)), Error(c.sizeof(Error))
        options.executor = parallel.rankfeed_parallel_executor(pool)
        if self.library.rankfeed_crossencoder_open(os.fsencode(folder), c.byref(options), c.byref(self.model), c.byref(error)):
            sys.exit(error.message.decode())

    def prepare(self, rows):
        """A call that scores them, packed."""
        ids, types = (np.concatenate([row[i] for row in rows]).astype(np.int32) for i in (0, 1))
        ends = np.cumsum([0] + [len(row[0]) for row in rows]).astype(np.int32)
        longest, need = max(len(row[0]) for row in rows), MemReq()
        assert self.library.rankfeed_crossencoder_workspace(self.model, len(rows), len(ids), longest, c.byref(need)) == 0
        memory, logits = np.zeros(need.size + need.alignment, np.uint8), np.zeros(len(rows), np.float32)
        work = memory.ctypes.data + -memory.ctypes.data % need.alignment
        batch = Packed(c.sizeof(Packed), len(rows), len(ids), longest, ids.ctypes.data, ends.ctypes.data, types.ctypes.data)
        kept = (ids, types, ends, memory)  # the batch points into them

        def call():
            assert kept and self.library.rankfeed_crossencoder_score(
                self.model, c.byref(batch), c.c_void_p(work), c.c_size_t(need.size), c.c_void_p(logits.ctypes.data)) == 0
            return logits
        return call


def node(op, inputs, outputs, domain="", **attributes):
    parts = [message(1, i) for i in inputs] + [message(2, o) for o in outputs] + [message(4, op), message(7, domain)]
    for name, given in attributes.items():
        if isinstance(given, float):
            parts.append(message(5, message(1, name), varint(2 << 3 | 5) + struct.pack("<f", given), number(20, 1)))
        else:
            parts.append(message(5, message(1, name), number(3, given), number(20, 2)))
    return message(1, *parts)


def graph(tensors):
    """An ONNX model of numpy_models' tensors, of fused operators."""
    nodes, constants, fused = [], [], dict(domain="com.microsoft")

    def keep(name, array):
        constants.append(tensor(name, array.astype(np.int64 if array.dtype == np.int64 else np.float32)))
        return name

    def of(name):
        return keep(name, tensors[name])

    def weight(name):
        return keep(name + ".weight", tensors[name + ".weight"].T)  # MatMul's way round

    base = "bert.embeddings."
    tables = [of(base + part + "_embeddings.weight") for part in ("word", "position", "token_type")]
    nodes.append(node("EmbedLayerNormalization", ["input_ids", "token_type_ids", *tables, of(base + "LayerNorm.weight"),
                                                  of(base + "LayerNorm.bias"), "attention_mask"], ["x0", "mask"], epsilon=EPS, **fused))
    for i in range(LAYERS):
        layer = f"bert.encoder.layer.{i}."
        parts = [layer + "attention.self." + part for part in ("query", "key", "value")]
        w = keep(f"qkv{i}", np.concatenate([tensors[p + ".weight"].T for p in parts], axis=1))
        b = keep(f"qkv_bias{i}", np.concatenate([tensors[p + ".bias"] for p in parts]))

        def norm(come, skip, bias, name, to):
            nodes.append(node("SkipLayerNormalization", [come, skip, of(name + ".weight"), of(name + ".bias"), of(bias)], [to],
                              epsilon=EPS, **fused))
        out, up, down = layer + "attention.output.dense", layer + "intermediate.dense", layer + "output.dense"
        nodes.append(node("Attention", [f"x{i}", w, b, "mask"], [f"a{i}"], num_heads=HEADS, **fused))
        nodes.append(node("MatMul", [f"a{i}", weight(out)], [f"o{i}"]))
        norm(f"o{i}", f"x{i}", out + ".bias", layer + "attention.output.LayerNorm", f"y{i}")
        nodes.append(node("MatMul", [f"y{i}", weight(up)], [f"u{i}"]))
        nodes.append(node("BiasGelu", [f"u{i}", of(up + ".bias")], [f"g{i}"], **fused))
        nodes.append(node("MatMul", [f"g{i}", weight(down)], [f"d{i}"]))
        norm(f"d{i}", f"y{i}", down + ".bias", layer + "output.LayerNorm", f"x{i + 1}")
    keep("zero", np.array(0, dtype=np.int64))
    nodes.append(node("Gather", [f"x{LAYERS}", "zero"], ["first"], axis=1))
    for come, name, to in (("first", "bert.pooler.dense", "dense"), ("pooled", "classifier", "logits")):
        nodes.append(node("Gemm", [come, of(name + ".weight"), of(name + ".bias")], [to], transB=1))
        if to == "dense":
            nodes.append(node("Tanh", ["dense"], ["pooled"]))
    inputs = [value(11, name, INT32, "rows", "length") for name in ("input_ids", "token_type_ids", "attention_mask")]
    whole = message(7, *nodes, message(2, "bert"), *constants, *inputs, value(12, "logits", FLOAT, "rows", 1))
    return number(1, 8) + whole + message(8, message(1, ""), number(2, 17)) + message(8, message(1, "com.microsoft"), number(2, 1))


class Onnx:
    def __init__(self, model, threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def prepare(self, rows, together):
        """A call that scores them, sorted where they take several, padded to the longest of each."""
        order = sorted(range(len(rows)), key=lambda i: -len(rows[i][0])) if together < len(rows) else range(len(rows))
        calls = []
        for begin in range(0, len(rows), together):
            some = order[begin:begin + together]
            shape = (len(some), max(len(rows[i][0]) for i in some))
            feeds = {name: np.zeros(shape, np.int32) for name in ("input_ids", "token_type_ids", "attention_mask")}
            for place, i in enumerate(some):
                size = len(rows[i][0])
                for name, filling in zip(feeds, (*rows[i], 1)):
                    feeds[name][place, :size] = filling
            calls.append((some, feeds))
        logits = np.zeros(len(rows), np.float32)

        def call():
            for some, feeds in calls:
                logits[some] = self.session.run(None, feeds)[0][:, 0]
            return logits
        return call


def rows_of(lengths, rng):
    """Ids, and types: 1 after the first sixteen tokens."""
    return [(rng.integers(1000, VOCAB, n), (np.arange(n) >= 16).astype(np.int64)) for n in lengths]


def real_lengths(arguments, rng):
    if not arguments.texts:
        return np.clip(rng.lognormal(5.1, 0.45, 100).astype(int), 30, 512)
    import tokenizers
    tokenizer = tokenizers.Tokenizer.from_file(arguments.vocabulary)
    tokenizer.no_padding()
    tokenizer.enable_truncation(512)
    with open(arguments.texts, encoding="utf-8") as file:
        found = [entry["text"] for entry in map(json.loads, file) if entry["kind"] == "passage"][:100]
    return [len(e.ids) for e in tokenizer.encode_batch([("What is a panda, and what does it eat?", text) for text in found])]


def compare(name, calls, seconds, clock):
    mine, theirs = (call().copy() for call in calls)
    if not np.allclose(mine, theirs, rtol=0, atol=1e-4 * max(1, np.abs(theirs).max())):
        sys.exit(f"{name}: scores differ by {np.abs(mine - theirs).max()}")
    times, begin = [[], []], clock()
    while clock() - begin < seconds or len(times[0]) < 5:
        for call, out in zip(calls, times):
            at = clock()
            call()
            out.append(1e3 * (clock() - at))
    ratios = sorted(b / a for a, b in zip(*times))
    print(f"{name}: rankfeed {statistics.median(times[0]):.0f} ms, ONNX Runtime {statistics.median(times[1]):.0f} ms, ratio "
          f"{statistics.median(ratios):.2f} ({ratios[len(ratios) // 10]:.2f} to {ratios[-1 - len(ratios) // 10]:.2f}), {len(ratios)} rounds, "
          f"scores within {np.abs(mine - theirs).max():.1e}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries")
    parser.add_argument("--texts")
    parser.add_argument("--vocabulary", help="tokenizer.json that gives the texts' lengths")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--cpu-time", action="store_true")
    arguments = parser.parse_args()
    clock = time.process_time if arguments.cpu_time else time.perf_counter
    rng = np.random.default_rng(5)
    config, tensors = numpy_models.make("bert", VOCAB, HIDDEN, LAYERS, HEADS, INNER, POSITIONS, rng=rng)
    with tempfile.TemporaryDirectory() as folder:
        numpy_models.save(pathlib.Path(folder), config, tensors)
        mine = Rankfeed(arguments.libraries, folder, arguments.threads)
    theirs = Onnx(graph(tensors), arguments.threads)
    print(f"{LAYERS} layers of {HIDDEN}, {HEADS} heads, float32, {arguments.threads} threads of {os.cpu_count()} cores, ONNX Runtime "
          f"{onnxruntime.__version__}, load {os.getloadavg()[0]:.1f}")
    equal, real = rows_of([256] * 100, rng), rows_of(real_lengths(arguments, rng), rng)
    compare("100 rows of 256 tokens", (mine.prepare(equal), theirs.prepare(equal, 100)), arguments.seconds, clock)
    tokens = sum(len(row[0]) for row in real)
    for together in (100, 32):
        compare(f"{len(real)} pairs of {tokens} tokens, packed, against padded in calls of {together}",
                (mine.prepare(real), theirs.prepare(real, together)), arguments.seconds, clock)


if __name__ == "__main__":
    main()
