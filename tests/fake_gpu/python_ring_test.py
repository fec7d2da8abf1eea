# SPDX-License-Identifier: MIT
"""python_ring_test.py FOLDER VENDOR...: the Python package's rings over the shipped backends of those vendors and the fake
runtime: batches are filled into page-locked slots, taken in place, sent to the device and taken there, and their slots come
back after the consumer's work. A framework is played by ctypes on the fake runtime. The package is on the path, FOLDER (with
the backends' libraries) on the loader's."""

import ctypes
import gc
import os
import pathlib
import subprocess
import sys

HOST_DEVICE_TYPE = {"cuda": 3, "hip": 11}  # DLPack: kDLCUDAHost, kDLROCMHost
DEVICE_TYPE = {"cuda": 2, "hip": 10}  # kDLCUDA, kDLROCM
FAULT = 86  # FAKE_GPU_EXIT


class Framework:
    """Streams, memory and copies of the vendor's runtime, and the fake one's controls."""

    made = []  # by all objects: what frees it, and its handle

    def __init__(self, vendor):
        self.vendor = vendor
        self.runtime = ctypes.CDLL({"cuda": "libcudart.so.13", "hip": "libamdhip64.so.7"}[vendor])
        self.fake = ctypes.CDLL("librankfeed_fake_gpu.so")
        self.fake.fake_gpu_calls.restype = ctypes.c_uint64
        self.kept = []

    def call(self, name, *arguments):
        assert getattr(self.runtime, self.vendor + name)(*arguments) == 0, name

    def stream(self):
        out = ctypes.c_void_p()
        self.call("StreamCreateWithFlags", ctypes.byref(out), 1)  # non-blocking, as PyTorch's
        self.made.append(("StreamDestroy", out.value))
        return out.value

    def memory(self, size, host=False):
        out = ctypes.c_void_p()
        name = "Malloc" if not host else "HostAlloc" if self.vendor == "cuda" else "HostMalloc"
        self.call(name, ctypes.byref(out), ctypes.c_size_t(size), *([0] if host else []))
        free = "Free" if not host else "FreeHost" if self.vendor == "cuda" else "HostFree"
        self.made.append((free, out.value))
        return out.value

    def close(self):
        """Nothing of its own is left for the runtime to find when the process ends."""
        self.hold(False)
        for name, handle in reversed(self.made):
            self.call(name, ctypes.c_void_p(handle))
        self.made.clear()

    def copy(self, to, source, size, stream):
        self.call("MemcpyAsync", ctypes.c_void_p(to), ctypes.c_void_p(source), ctypes.c_size_t(size), 4, ctypes.c_void_p(stream))

    def synchronize(self, stream):
        self.call("StreamSynchronize", ctypes.c_void_p(stream))

    def hold(self, on):
        self.fake.fake_gpu_hold(int(on))

    def run(self, stream, count=20):
        self.fake.fake_gpu_run(ctypes.c_void_p(stream), count)

    def calls(self, name):
        return self.fake.fake_gpu_calls(name.encode())

    def found(self):
        out = ctypes.create_string_buffer(2048)
        self.fake.fake_gpu_found_so_far(out, ctypes.c_size_t(2048))
        return out.value.decode()


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Managed(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", DLTensor)]


def described(capsule):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return Managed.from_address(get(capsule, b"dltensor_versioned")).tensor


def tokenizer():
    import rankfeed

    return rankfeed.Tokenizer.from_file(str(pathlib.Path(os.environ["RANKFEED_SOURCE_DIR"]) / "data" / "default.model"))


def refused(error, call, name=None):
    try:
        call()
    except error as caught:
        assert name is None or caught.name == name, caught
        return
    raise AssertionError(f"no {error.__name__}")


def check_rings(vendor):
    import numpy as np
    import rankfeed

    tok = tokenizer()
    documents = ["pandas eat bamboo", "bears", "a longer passage about something else", "", "and one more"]
    wanted = [row.tolist() for row in (tok.encode_pairs("what is a panda?", [d])["input_ids"] for d in documents)]
    rings = [rankfeed.Ring.open(slots=2, slot_bytes=1 << 16, backend=vendor, device=device) for device in (0, 1)]
    for ring in rings:
        assert (ring.backend, ring.page_locked, ring.device_numa_node) == (vendor, True, None)
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
    refused(rankfeed.RankfeedError, lambda: request.next(ring, timeout=0), "RANKFEED_E_DEADLINE")
    del ring, request
    gc.collect()
    assert all((tensor.numpy() == copy).all() for tensor, copy in zip(held, copies, strict=True))
    refused(rankfeed.RankfeedError, lambda: rankfeed.Ring.open(backend=vendor, device=2), "RANKFEED_E_NO_DEVICE")
    del held


def check_device(vendor):
    """Device tensors: the consumer's stream waits, the host does not, and the slot comes back after that stream."""
    import numpy as np
    import rankfeed

    tok, gpu = tokenizer(), Framework(vendor)
    documents = [f"pandas number {i}" for i in range(40)]
    ring = rankfeed.Ring.open(slots=1, slot_bytes=1 << 16, backend=vendor, device_slots=True)
    request = tok.request("q", documents, max_rows_per_batch=1, max_arena_bytes=1 << 16)
    stream, copies, back = gpu.stream(), gpu.stream(), gpu.memory(1 << 16, host=True)

    # One more than the ring has slots, dropped with the consumer's work still to be done. Mapped memory is read in place.
    for mode in ("copy", "mapped", "choose", "copy"):
        batch = request.next(ring, timeout=10)
        expected = batch.tensors["input_ids"].numpy().copy()
        gpu.hold(True)
        ids = batch.submit(copies, mode=mode)["input_ids"]
        assert ids.__dlpack_device__() == (DEVICE_TYPE[vendor], 0)
        assert (ids.shape, ids.dtype, ids.nbytes) == (expected.shape, str(expected.dtype), expected.nbytes)
        capsule = ids.__dlpack__(stream=stream, max_version=(1, 1))
        tensor = described(capsule)
        assert (tensor.device_type, tensor.device_id, tensor.ndim, tensor.bits) == (DEVICE_TYPE[vendor], 0, 2, 64)
        gpu.copy(back, tensor.data + tensor.byte_offset, expected.nbytes, stream)
        gpu.run(stream)  # no further than the copy to the device
        del batch, ids, tensor, capsule
        gc.collect()
        gpu.run(copies)  # everybody but the consumer has done what there was to do
        gpu.run(0)
        refused(rankfeed.RankfeedError, lambda: request.next(ring, timeout=0), "RANKFEED_E_DEADLINE")
        gpu.hold(False)
        gpu.synchronize(stream)
        read = np.frombuffer((ctypes.c_char * expected.nbytes).from_address(back), expected.dtype)
        assert (read == expected.reshape(-1)).all(), (mode, read, expected)

    # The numbers of the array API.
    batch = request.next(ring, timeout=10)
    refused(rankfeed.RankfeedError, lambda: batch.device_tensors, "RANKFEED_E_STATE")
    refused(ValueError, lambda: batch.submit(mode="fast"))
    ids = batch.submit(stream)["input_ids"]
    assert ids.__dlpack_device__() == batch.device_tensors["input_ids"].__dlpack_device__()
    refused(rankfeed.RankfeedError, batch.submit, "RANKFEED_E_STATE")
    for number in (-3, -2, *((0,) if vendor == "cuda" else (1, 2))):
        refused(ValueError, lambda n=number: ids.__dlpack__(stream=n))
    for wrong in (True, 1.0, "1"):
        refused(TypeError, lambda w=wrong: ids.__dlpack__(stream=w))
    refused(BufferError, lambda: ids.__dlpack__(dl_device=(1, 0)))
    refused(BufferError, lambda: ids.__dlpack__(copy=True))
    waits = gpu.calls("StreamWaitEvent")
    ids.__dlpack__(stream=-1)
    assert gpu.calls("StreamWaitEvent") == waits
    del batch, ids
    gpu.synchronize(stream)
    for number in (None, *((1, 2) if vendor == "cuda" else (0,))):
        batch = request.next(ring, timeout=10)
        gpu.hold(True)
        ids = batch.submit()["input_ids"]
        waits = gpu.calls("StreamWaitEvent")
        ids.__dlpack__(stream=number, dl_device=(DEVICE_TYPE[vendor], 0))
        assert gpu.calls("StreamWaitEvent") == waits + 1, number
        gpu.hold(False)
        del batch, ids
    check_cuda_array_interface(vendor, gpu, request, ring, stream)
    plain = rankfeed.Ring.open(slots=1, slot_bytes=1 << 16, backend=vendor, device=1)
    batch = request.next(plain, timeout=10)
    refused(rankfeed.RankfeedError, batch.submit, "RANKFEED_E_ARGUMENT")
    assert batch.submit(mode="mapped")["input_ids"].__dlpack_device__() == (DEVICE_TYPE[vendor], 1)
    assert gpu.found() == "", gpu.found()


def check_cuda_array_interface(vendor, gpu, request, ring, stream):
    for on in (None, stream, 0, 1, 2):
        if vendor == "hip" and on in (1, 2):
            batch = request.next(ring, timeout=10)
            refused(ValueError, lambda b=batch, s=on: b.submit(s))
            del batch
            continue
        batch = request.next(ring, timeout=10)
        gpu.hold(True)
        ids = batch.submit(on)["input_ids"]
        if vendor == "hip":
            assert not hasattr(ids, "__cuda_array_interface__")
        else:
            face = ids.__cuda_array_interface__
            tensor = described(capsule := ids.__dlpack__(stream=-1, max_version=(1, 1)))
            assert face["data"] == (tensor.data + tensor.byte_offset, False)
            assert (face["shape"], face["typestr"], face["version"], face["strides"]) == (ids.shape, "<i8", 3, None)
            assert face["stream"] == {stream: stream, None: face["stream"]}.get(on, 1) and face["stream"] not in (None, 0), face
            del tensor, capsule
        gpu.hold(False)
        while vendor == "cuda" and ids.__cuda_array_interface__["stream"] is not None:  # until it has landed
            pass
        del batch, ids


def check_race(vendor, how):
    """A framework copies page-locked memory on its own stream and lets the tensor go: `x.to("cuda", non_blocking=True)`."""
    import numpy as np
    import rankfeed

    tok, gpu = tokenizer(), Framework(vendor)
    documents = [f"a passage about panda number {i} and nothing else but bamboo" for i in range(400)]
    ring = rankfeed.Ring.open(slots=1, slot_bytes=1 << 20, backend=vendor)
    request = tok.request("q", documents, max_rows_per_batch=100, max_arena_bytes=1 << 20)
    stream = 0 if how == "default stream" else gpu.stream()
    batch = request.next(ring, timeout=10)
    array = np.from_dlpack(batch.tensors["input_ids"])
    expected, size = array.copy(), array.nbytes
    assert size > 3 * 4096
    memory, back = gpu.memory(size), gpu.memory(size, host=True)
    gpu.hold(True)
    gpu.copy(memory, array.ctypes.data, size, stream)
    if how == "batch.record_stream":
        batch.record_stream(stream)
    elif how == "tensor.record_stream":
        class Stream:  # as torch.cuda.Stream
            cuda_stream = stream
        batch.tensors["attention_mask"].record_stream(Stream())
    del batch, array
    gc.collect()
    if stream != 0:
        gpu.run(0)  # what the default stream has to do is done; the copy is not
    if how == "nothing":
        request.next(ring, timeout=0)  # fills the slot while it is being copied
        return
    refused(rankfeed.RankfeedError, lambda: request.next(ring, timeout=0), "RANKFEED_E_DEADLINE")
    gpu.hold(False)
    kept = request.next(ring, timeout=10)
    gpu.copy(back, memory, size, stream)
    gpu.synchronize(stream)
    read = np.frombuffer((ctypes.c_char * size).from_address(back), expected.dtype)
    assert (read == expected.reshape(-1)).all()
    for wrong in (-1, *((1, 2) if vendor == "hip" else ())):
        refused(ValueError, lambda w=wrong: kept.record_stream(w))
    refused(TypeError, lambda: kept.record_stream("stream"))
    for _ in range(4):
        kept.record_stream(gpu.stream())
    refused(rankfeed.RankfeedError, lambda: kept.record_stream(gpu.stream()), "RANKFEED_E_LIMIT")
    assert gpu.found() == "", gpu.found()


CHECKS = {"rings": check_rings, "device": check_device,
          **{f"race, {how}": lambda vendor, how=how: check_race(vendor, how)
             for how in ("batch.record_stream", "tensor.record_stream", "default stream", "nothing")}}

if sys.argv[1] == "--check":
    try:
        CHECKS[sys.argv[2]](sys.argv[3])
    finally:
        Framework(sys.argv[3]).close()  # what is held would wait for ever
    print("ok")
else:
    folder, vendors = sys.argv[1], sys.argv[2:]
    for name in vendors:
        for check in CHECKS:
            done = subprocess.run([sys.executable, __file__, "--check", check, name], capture_output=True, text=True, timeout=120,
                                  env={**os.environ, "LD_LIBRARY_PATH": folder, "RANKFEED_FAKE_GPU": "devices=2,seed=9,latency=9"})
            said = (name, check, done.returncode, done.stdout, done.stderr)
            if check == "race, nothing":  # the fault that the lease is there for, and the fake runtime sees it
                assert done.returncode == FAULT and "fake_gpu: page-locked-written-while-read" in done.stderr, said
            else:
                assert (done.returncode, done.stdout) == (0, "ok\n") and "fake_gpu: " not in done.stderr, said
    print(f"rings of {', '.join(vendors)}: ok")
