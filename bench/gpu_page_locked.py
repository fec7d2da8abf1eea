#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gpu_page_locked.py --vocab IMAGE [--backend cuda]: a batch of the Python package in a slot that the GPU's runtime
page-locked, taken by torch in place and copied asynchronously. Prints one JSON object; ends with 1 when torch does not see
page-locked memory, or the copy differs. Needs the rankfeed package, torch with CUDA, and the backend's library on the
loader's path."""

import argparse
import json
import sys
import time

import rankfeed
import torch


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--vocab", required=True)
    parser.add_argument("--backend", default="cuda")
    arguments = parser.parse_args()
    tok = rankfeed.Tokenizer.from_file(arguments.vocab)
    ring = rankfeed.Ring.open(slots=3, slot_bytes=1 << 20, backend=arguments.backend)
    documents = [f"{'a panda eats bamboo ' * (1 + i % 20)}{i}" for i in range(100)]
    copies = []
    for _ in range(50):
        batch = tok.request("What is a panda?", documents, padding=False, dtype="int32", max_arena_bytes=1 << 20).next(ring)
        ids = torch.from_dlpack(batch.tensors["input_ids"])
        torch.cuda.synchronize()
        begin = time.perf_counter()
        there = ids.to("cuda", non_blocking=True)
        returned = time.perf_counter()
        torch.cuda.synchronize()
        copies.append((returned - begin, time.perf_counter() - begin))
        right, pinned, ids_bytes = bool((there.cpu() == ids).all()), ids.is_pinned(), ids.nbytes
        if not (right and pinned):
            break
        del batch, ids, there
    queued, landed = (sorted(part)[len(copies) // 2] * 1e6 for part in zip(*copies))
    print(json.dumps({"backend": ring.backend, "page_locked": ring.page_locked, "torch_sees_it_pinned": pinned, "copy_right": right,
                      "bytes": ids_bytes, "queued_us_p50": round(queued, 2), "landed_us_p50": round(landed, 2),
                      "torch": torch.__version__}, indent=1))
    return 0 if right and pinned else 1


if __name__ == "__main__":
    sys.exit(main())
