# SPDX-License-Identifier: MIT
"""ctypes_test.py LIBRARY_FOLDER IMAGE_SOURCE WORK: the C API from Python's ctypes, with nothing but the
headers' text: structs declared here, no helper library. Covers what an FFI gets wrong: struct_size,
structs by value, pointers to columns, needs that are reported and grown, callbacks."""

import ctypes as c
import os
import subprocess
import sys

FOLDER, MODEL, WORK = sys.argv[1:4]
lib = c.CDLL(os.path.join(FOLDER, "librankfeed_runtime.so.0.1"))
builder = c.CDLL(os.path.join(FOLDER, "librankfeed_builder.so.0.1"))


class MemReq(c.Structure):
    _fields_ = [("size", c.c_size_t), ("alignment", c.c_size_t)]


class Mapping(c.Structure):
    _fields_ = [("data", c.c_void_p), ("size", c.c_size_t), ("page_size_obtained", c.c_uint32),
                ("reserved", c.c_uint32), ("base", c.c_void_p), ("base_size", c.c_size_t)]


class Text(c.Structure):
    _fields_ = [("data", c.c_char_p), ("size", c.c_size_t)]


class Limits(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("max_text_bytes", c.c_uint32), ("with_offsets", c.c_uint32),
                ("cache_bytes", c.c_uint32)]


class EncodeOptions(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("flags", c.c_uint32), ("sp_extra", c.c_uint8 * 8)]


class Encoding(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("capacity", c.c_uint32), ("input_ids", c.POINTER(c.c_int32)),
                ("offset_begin", c.POINTER(c.c_uint32)), ("offset_end", c.POINTER(c.c_uint32)),
                ("special_tokens_mask", c.POINTER(c.c_uint8)), ("token_type_ids", c.POINTER(c.c_uint32)),
                ("count", c.c_uint32)]


class BuilderError(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("code", c.c_int32), ("byte_offset", c.c_uint64), ("message", c.c_char * 496)]


lib.rankfeed_model_mem_req.restype = MemReq
lib.rankfeed_status_name.restype = c.c_char_p
lib.rankfeed_version_string.restype = c.c_char_p
lib.rankfeed_encode.argtypes = [c.c_void_p, Text, c.c_void_p, c.POINTER(Encoding)]
lib.rankfeed_decode.argtypes = [c.c_void_p, c.POINTER(c.c_int32), c.c_size_t, c.c_uint32, c.c_char_p, c.c_size_t,
                                c.POINTER(c.c_size_t)]
lib.rankfeed_model_open.argtypes = [c.c_void_p, c.c_size_t, c.c_uint32, c.c_void_p, c.c_size_t, c.POINTER(c.c_void_p), c.c_void_p]
lib.rankfeed_encoder_mem_req.argtypes = [c.c_void_p, c.POINTER(Limits), c.POINTER(MemReq)]
lib.rankfeed_encoder_init.argtypes = [c.c_void_p, c.POINTER(Limits), c.c_void_p, c.c_size_t, c.POINTER(c.c_void_p)]


def check(status):
    assert status == 0, lib.rankfeed_status_name(status)


def aligned(need):
    block = c.create_string_buffer(need.size + need.alignment)
    return block, (c.addressof(block) + need.alignment - 1) & ~(need.alignment - 1)


def main():
    image = os.path.join(WORK, "ctypes.rfimg").encode()
    error = BuilderError(struct_size=c.sizeof(BuilderError))
    check(builder.rankfeed_compile_file(MODEL.encode(), image, None, c.byref(error)))
    assert builder.rankfeed_compile_file(b"/no/such", image, None, c.byref(error)) != 0
    assert b"/no/such" in error.message and error.code != 0, error.message

    mapping = Mapping()
    check(lib.rankfeed_image_map(image, c.byref(mapping), None))
    need = lib.rankfeed_model_mem_req()
    storage, address = aligned(need)
    model = c.c_void_p()
    check(lib.rankfeed_model_open(mapping.data, mapping.size, 0, address, need.size, c.byref(model), None))
    limits = Limits(struct_size=c.sizeof(Limits), max_text_bytes=4096, with_offsets=1)
    check(lib.rankfeed_encoder_mem_req(model, c.byref(limits), c.byref(need)))
    scratch, address = aligned(need)
    encoder = c.c_void_p()
    assert lib.rankfeed_encoder_init(model, c.byref(limits), address, need.size - 1, c.byref(encoder)) == 3  # WORKSPACE_SIZE
    check(lib.rankfeed_encoder_init(model, c.byref(limits), address, need.size, c.byref(encoder)))
    wrong = Limits(struct_size=3)
    assert lib.rankfeed_encoder_mem_req(model, c.byref(wrong), c.byref(need)) == 6  # STRUCT_SIZE

    text = "What is a panda?".encode()
    options = EncodeOptions(struct_size=c.sizeof(EncodeOptions), flags=1)
    io = Encoding(struct_size=c.sizeof(Encoding))
    assert lib.rankfeed_encode(encoder, Text(text, len(text)), c.byref(options), c.byref(io)) == 4  # OUTPUT_SIZE
    count = io.count
    ids, begin, end, mask = (c.c_int32 * count)(), (c.c_uint32 * count)(), (c.c_uint32 * count)(), (c.c_uint8 * count)()
    io.capacity, io.input_ids, io.offset_begin, io.offset_end, io.special_tokens_mask = count, ids, begin, end, mask
    check(lib.rankfeed_encode(encoder, Text(text, len(text)), c.byref(options), c.byref(io)))
    assert io.count == count and list(mask)[0] == 1 == list(mask)[-1]
    assert text[begin[1]:end[count - 2]] == text
    out, size = c.create_string_buffer(64), c.c_size_t()
    check(lib.rankfeed_decode(encoder, ids, count, 1, out, 64, c.byref(size)))
    assert out.raw[:size.value] == text, out.raw[:size.value]
    print(lib.rankfeed_version_string().decode(), *ids)

    expected = subprocess.run([sys.argv[4], "encode", "--special", "--vocab", image.decode()], input=text + b"\n",
                              capture_output=True, check=True).stdout.split()
    assert [int(i) for i in expected] == list(ids), (expected, list(ids))
    lib.rankfeed_image_unmap(c.byref(mapping))


main()
