#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gpu_page_locked.py --vocab IMAGE [--backend cuda]: a batch of the Python package in a slot that the GPU's runtime
page-locked, taken by torch in place and copied asynchronously; and batches that a side stream reads and that are dropped
at once: device tensors, mapped ones, page-locked ones with record_stream. Prints one JSON object; ends with 1 when torch does
not see page-locked memory, or what arrives differs. Needs the rankfeed package, torch with CUDA, and the backend's library on the
loader's path."""

import argparse
import json
import sys
import time

import rankfeed
import torch


def dropped_at_once(tok, backend, documents):
    """Whether every batch arrives on a stream that is told of, though its slot is wanted by the next one."""
    ring = rankfeed.Ring.open(slots=2, slot_bytes=1 << 20, backend=backend, device_slots=True)
    request = tok.request("What is a panda?", documents * 10, padding=False, dtype="int32", max_rows_per_batch=5,
                          max_arena_bytes=1 << 20)
    side, arrived = torch.cuda.Stream(), []
    while (batch := request.next(ring)) is not None:
        expected = torch.from_dlpack(batch.tensors["input_ids"]).clone()
        with torch.cuda.stream(side):
            if len(arrived) % 3 == 2:
                there = torch.from_dlpack(batch.tensors["input_ids"]).to("cuda", non_blocking=True)
                batch.record_stream(side)
            else:
                mode = "mapped" if len(arrived) % 3 == 1 else "copy"
                there = torch.from_dlpack(batch.submit(mode=mode)["input_ids"]).clone()
        arrived.append((expected, there))
        del batch, there
    torch.cuda.synchronize()
    return all(torch.equal(expected, there.cpu()) for expected, there in arrived)


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
    dropped = dropped_at_once(tok, arguments.backend, documents)
    print(json.dumps({"backend": ring.backend, "numa_node": ring.numa_node, "device_numa_node": ring.device_numa_node,
                      "dropped_at_once_right": dropped, "page_locked": ring.page_locked, "torch_sees_it_pinned": pinned, "copy_right": right,
                      "bytes": ids_bytes, "queued_us_p50": round(queued, 2), "landed_us_p50": round(landed, 2),
                      "torch": torch.__version__}, indent=1))
    return 0 if right and pinned and dropped else 1


if __name__ == "__main__":
    sys.exit(main())
