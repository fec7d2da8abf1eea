#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""roofline.py: prints the least time that each kernel of the cross-encoder's forward can take on two devices, computed, not measured.

Bytes: a kernel reads from and writes to device memory once (activations, weights; a second reading is taken to come from a cache).
Operations: multiplications and additions of products. Shared memory: the bytes that attention's tiles pass through it, for each step of 64
queries and 64 keys (gpu_handoff/crossencoder/kernels/attention_halves.inl): a tile stored once and loaded by each of four warps, twice (keys,
values); scores as float and weights as half, written and read. A kernel takes at least as long as the slowest of the three; no launch, no tail,
no clock below the peak is in it. Standard library only."""

ROWS, LENGTH = 100, 256  # a batch
TOKENS = ROWS * LENGTH
HALF = 2  # bytes
TILE = 64
# NVIDIA H200 data sheet: 4.8 TB/s, 1,979 TFLOPS of half types with sparsity; 132 multiprocessors of 4,096 operations a cycle, hence the clock;
# 128 bytes of shared memory a cycle (CUDA C++ Programming Guide). AMD Instinct MI300X data sheet: 5.3 TB/s, 1,307.4 TFLOPS, 304 compute units,
# 2.1 GHz; 128 bytes of LDS a cycle (AMD CDNA3 ISA).
DEVICES = {"H200": {"bytes": 4.8e12, "flops": 989.4e12, "shared": 132 * 128 * 1.83e9},
           "MI300X": {"bytes": 5.3e12, "flops": 1307.4e12, "shared": 304 * 128 * 2.1e9}}
MODELS = [(6, 384, 12, 1536), (12, 768, 12, 3072)]  # layers, hidden, heads, intermediate


def product(n, k):
    return {"bytes": HALF * (TOKENS * k + n * k + TOKENS * n), "flops": 2 * TOKENS * n * k}


def attention(hidden, heads):
    dim, tiles = hidden // heads, -(-LENGTH // TILE)
    steps = ROWS * heads * tiles * tiles
    step = 2 * (1 + 4) * TILE * dim * HALF + 2 * TILE * TILE * (4 + HALF)
    return {"bytes": HALF * TOKENS * 4 * hidden, "flops": steps * 2 * 2 * TILE * TILE * dim, "shared": steps * step}


def kernels(layers, hidden, heads, inner):
    def passes(reads, width):
        return {"bytes": HALF * TOKENS * width * (reads + 1)}
    return [("embeddings", 1, passes(3, hidden)),
            ("product: query, key, value", layers, product(3 * hidden, hidden)),
            ("bias of it", layers, passes(1, 3 * hidden)),
            ("attention", layers, attention(hidden, heads)),
            # After the last layer's attention each row's first token goes on alone: a hundredth of the others, left out.
            ("product: output", layers - 1, product(hidden, hidden)),
            ("bias, residual, LayerNorm", 2 * (layers - 1), passes(2, hidden)),
            ("product: up", layers - 1, product(inner, hidden)),
            ("bias and GELU of it", layers - 1, passes(1, inner)),
            ("product: down", layers - 1, product(hidden, inner))]


def table(layers, hidden, heads, inner):
    lines = [f"{layers} layers of {hidden}, {heads} heads, {inner} inside; {ROWS} rows of {LENGTH} tokens, float16:", "",
             "| kernel | launches | MB | GFLOP | " + " | ".join(f"{name}, µs" for name in DEVICES) + " |", "|---|---|---|---|" + "---|" * len(DEVICES)]
    total = dict.fromkeys(DEVICES, 0.0)
    for name, launches, work in kernels(layers, hidden, heads, inner):
        cells = []
        for device, peak in DEVICES.items():
            times = {what: launches * amount / peak[what] * 1e6 for what, amount in work.items()}
            slowest = max(times, key=times.get)
            total[device] += times[slowest]
            cells.append(f"{times[slowest]:.0f} ({ {'bytes': 'memory', 'flops': 'matrix units', 'shared': 'shared memory'}[slowest]})")
        lines.append(f"| {name} | {launches} | {launches * work['bytes'] / 1e6:.0f} | {launches * work.get('flops', 0) / 1e9:.0f} | " + " | ".join(cells) + " |")
    lines.append("| **all** | | | | " + " | ".join(f"**{time:.0f}**" for time in total.values()) + " |")
    return lines


print("\n\n".join("\n".join(table(*model)) for model in MODELS))
