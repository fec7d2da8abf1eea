#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The requests of bench_pipeline through PyTorch: transformers' model on the GPU and its own fast tokenizer.

    gpu_pytorch.py --model DIR --tokenizer tokenizer.json --docs FILE [--queries N] [--pairs N] [--max-length N]
                   [--dtype f16|f32] [--device cuda|cpu] [--scores FILE]

Per query: tokenizers' encode_batch (its own threads), truncation longest_first, padding to the longest row,
one copy, one forward, scores back. Two ways: one query after the other, and with the next query tokenized on
another thread while the device works, as bench_pipeline does; the faster one is the figure to compare with.
Prints one JSON object. Needs torch, transformers and tokenizers."""

import argparse
import json
import queue
import threading
import time

import numpy as np
import tokenizers
import torch
import transformers


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--docs", required=True)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--max-length", type=int, default=512)
    parser.add_argument("--dtype", default="f16")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--scores")
    a = parser.parse_args()
    device = torch.device(a.device)
    model = transformers.XLMRobertaForSequenceClassification.from_pretrained(a.model)
    model = model.to(device=device, dtype=torch.float16 if a.dtype == "f16" else torch.float32).eval()
    tokenizer = tokenizers.Tokenizer.from_file(a.tokenizer)
    tokenizer.enable_truncation(a.max_length, strategy="longest_first")
    tokenizer.enable_padding(pad_id=model.config.pad_token_id, pad_token=tokenizer.id_to_token(model.config.pad_token_id))
    texts = [line.rstrip("\n") for line in open(a.docs, encoding="utf-8") if line.strip()]

    def text_of(i):  # as bench_pipeline's TextOf
        n = len(texts)
        return texts[i] if i < n else texts[i % n] + " " + texts[(i // n * 7 + i) % n]

    def tokenize(q):
        query = text_of(q * (a.pairs + 1))
        encodings = tokenizer.encode_batch([(query, text_of(q * (a.pairs + 1) + 1 + i)) for i in range(a.pairs)])
        ids = torch.from_numpy(np.array([e.ids for e in encodings], dtype=np.int64))
        mask = torch.from_numpy(np.array([e.attention_mask for e in encodings], dtype=np.int64))
        return (ids.pin_memory(), mask.pin_memory()) if device.type == "cuda" else (ids, mask)

    def forward(batch):
        ids, mask = (t.to(device, non_blocking=True) for t in batch)
        return model(input_ids=ids, attention_mask=mask).logits[:, 0]

    def synchronize():
        if device.type == "cuda":
            torch.cuda.synchronize()

    with torch.inference_mode():
        scores = forward(tokenize(0)).float().cpu()
        if a.scores:
            with open(a.scores, "w", encoding="utf-8") as file:
                file.writelines(f"{float(s):.9g}\n" for s in scores)
        for q in range(min(3, a.queries)):
            forward(tokenize(q))
        synchronize()

        begin, tokenizing = time.perf_counter(), 0.0
        for q in range(a.queries):
            at = time.perf_counter()
            batch = tokenize(q)
            tokenizing += time.perf_counter() - at
            forward(batch).float().cpu()
        one_by_one = time.perf_counter() - begin

        ready = queue.Queue(maxsize=3)

        def fill():
            for q in range(a.queries):
                ready.put(tokenize(q))

        begin = time.perf_counter()
        thread = threading.Thread(target=fill)
        thread.start()
        out = [forward(ready.get()) for _ in range(a.queries)]
        torch.stack(out).float().cpu()
        overlapped = time.perf_counter() - begin
        thread.join()

        begin = time.perf_counter()
        batch = tokenize(0)
        for _ in range(10):
            forward(batch)
        synchronize()
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    print(json.dumps({
        "torch": torch.__version__, "transformers": transformers.__version__, "tokenizers": tokenizers.__version__,
        "device": name, "dtype": a.dtype, "queries": a.queries, "pairs": a.pairs, "max_length": a.max_length,
        "queries_per_second": a.queries / min(one_by_one, overlapped),
        "queries_per_second_one_by_one": a.queries / one_by_one,
        "queries_per_second_overlapped": a.queries / overlapped,
        "ms_per_query_tokenize": 1e3 * tokenizing / a.queries}, indent=1))


if __name__ == "__main__":
    main()
