# SPDX-License-Identifier: MIT
"""A small ONNX graph with a cross-encoder's inputs and output (input_ids, attention_mask: int64
[rows, length]; logits: float [rows, 1]) and random weights. For tests: every id, its place and the mask
count. Written as protobuf by hand (onnx.proto3, IR 8, opset 17), so that no onnx package is needed."""

import struct

import numpy as np

FLOAT, INT64 = 1, 7  # TensorProto.DataType


def varint(value):
    out = b""
    while True:
        byte, value = value & 0x7F, value >> 7
        out += bytes([byte | (0x80 if value else 0)])
        if not value:
            return out


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, *parts):
    data = b"".join(p.encode() if isinstance(p, str) else p for p in parts)
    return varint(field << 3 | 2) + varint(len(data)) + data


def tensor(name, array):
    kind = FLOAT if array.dtype == np.float32 else INT64
    return message(5, *[number(1, d) for d in array.shape], number(2, kind), message(8, name), message(9, array.tobytes()))


def node(op, inputs, output, **attributes):
    parts = [message(1, i) for i in inputs] + [message(2, output), message(4, op)]
    for name, value in attributes.items():  # integers only: AttributeProto.i, type INT
        parts.append(message(5, message(1, name), number(3, value), number(20, 2)))
    return message(1, *parts)


def value(field, name, kind, *dimensions):
    shape = b"".join(message(1, message(2, d) if isinstance(d, str) else number(1, d)) for d in dimensions)
    return message(field, message(1, name), message(2, message(1, number(1, kind), message(2, shape))))


def write(path, vocab_size, seed=1, hidden=32):
    rng = np.random.default_rng(seed)

    def weights(*shape):
        return rng.standard_normal(shape).astype("<f4")
    graph = [
        node("Gather", ["embeddings", "input_ids"], "x"),
        node("MatMul", ["x", "w1"], "x1"),
        node("Tanh", ["x1"], "x2"),
        node("Cast", ["attention_mask"], "mask", to=FLOAT),
        node("CumSum", ["mask", "one"], "position"),
        node("Sin", ["position"], "weight"),
        node("Mul", ["weight", "mask"], "weight1"),
        node("Unsqueeze", ["weight1", "two"], "weight2"),
        node("Mul", ["x2", "weight2"], "x3"),
        node("ReduceSum", ["x3", "one_axis"], "pooled", keepdims=0),
        node("MatMul", ["pooled", "w2"], "logits"),
        message(2, "cross_encoder"),
        tensor("embeddings", weights(vocab_size, hidden)), tensor("w1", weights(hidden, hidden) / hidden**0.5),
        tensor("w2", weights(hidden, 1) / hidden), tensor("one", np.array(1, "<i8")),
        tensor("one_axis", np.array([1], "<i8")), tensor("two", np.array([2], "<i8")),
        value(11, "input_ids", INT64, "rows", "length"), value(11, "attention_mask", INT64, "rows", "length"),
        value(12, "logits", FLOAT, "rows", 1),
    ]
    model = number(1, 8) + message(7, *graph) + message(8, message(1, ""), number(2, 17))
    with open(path, "wb") as file:
        file.write(model)


if __name__ == "__main__":
    import sys
    write(sys.argv[1], int(sys.argv[2]))
    assert struct.calcsize("<q") == 8
