# SPDX-License-Identifier: MIT
"""python_ring_test.py FOLDER VENDOR...: the Python package's rings over the shipped backends of those vendors and the fake
runtime: batches are filled into page-locked slots, taken in place, and their slots come back. The package is on the path,
FOLDER (with the backends' libraries) on the loader's."""

import gc
import os
import pathlib
import subprocess
import sys

HOST_DEVICE_TYPE = {"cuda": 3, "hip": 11}  # DLPack: kDLCUDAHost, kDLROCMHost


def check(vendor):
    import numpy as np
    import rankfeed

    tok = rankfeed.Tokenizer.from_file(str(pathlib.Path(os.environ["RANKFEED_SOURCE_DIR"]) / "data" / "default.model"))
    documents = ["pandas eat bamboo", "bears", "a longer passage about something else", "", "and one more"]
    wanted = [row.tolist() for row in (tok.encode_pairs("what is a panda?", [d])["input_ids"] for d in documents)]
    rings = [rankfeed.Ring.open(slots=2, slot_bytes=1 << 16, backend=vendor, device=device) for device in (0, 1)]
    for ring in rings:
        assert (ring.backend, ring.page_locked) == (vendor, True)
        request = tok.request("what is a panda?", documents, max_rows_per_batch=1, max_arena_bytes=1 << 16)
        for row in wanted:
            ids = request.next(ring).tensors["input_ids"]
            assert ids.host_device_type == HOST_DEVICE_TYPE[vendor]
            array = np.from_dlpack(ids)
            assert np.shares_memory(array, ids.numpy()) and array.reshape(-1).tolist() == np.reshape(row, -1).tolist()
            del ids, array
            gc.collect()
    # Slots that tensors hold are not given out, and outlive their ring's name.
    ring = rings.pop()
    request = tok.request("q", documents, max_rows_per_batch=1, max_arena_bytes=1 << 16)
    held = [request.next(ring).tensors["input_ids"] for _ in range(2)]
    copies = [np.array(tensor.numpy()) for tensor in held]
    try:
        request.next(ring, timeout=0)
        raise AssertionError("a third slot of two")
    except rankfeed.RankfeedError as error:
        assert error.name == "RANKFEED_E_DEADLINE", error.name
    del ring, request
    gc.collect()
    assert all((tensor.numpy() == copy).all() for tensor, copy in zip(held, copies, strict=True))
    try:
        rankfeed.Ring.open(backend=vendor, device=2)
        raise AssertionError("a third device of two")
    except rankfeed.RankfeedError as error:
        assert error.name == "RANKFEED_E_NO_DEVICE", error.name
    del held
    print("ok")


if sys.argv[1] == "--check":
    check(sys.argv[2])
else:
    folder, vendors = sys.argv[1], sys.argv[2:]
    for name in vendors:
        done = subprocess.run([sys.executable, __file__, "--check", name], capture_output=True, text=True,
                              env={**os.environ, "LD_LIBRARY_PATH": folder, "RANKFEED_FAKE_GPU": "devices=2,seed=9,latency=9"})
        assert (done.returncode, done.stdout) == (0, "ok\n") and "fake_gpu: " not in done.stderr, (name, done.stdout, done.stderr)
    print(f"rings of {', '.join(vendors)}: ok")
