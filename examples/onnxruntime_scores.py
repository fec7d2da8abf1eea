#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ranks the lines of standard input for a query with a cross-encoder in ONNX Runtime, which reads rankfeed's batches by
address, without a copy.

    onnxruntime_scores.py VOCABULARY MODEL.onnx 'What is a panda?' <passages.txt

VOCABULARY: an image, a tokenizer.json, a .model, or a model's folder. The graph has the inputs that `optimum-cli export onnx`
gives a cross-encoder, and the output "logits". Prints a logit and a passage a line, best first."""

import sys

import numpy as np
import onnxruntime
import rankfeed


def score(tokenizer, session, query, passages, max_length=512):
    """Returns the logits of all passages, in one batch."""
    tensors = tokenizer.encode_pairs(query, passages, max_length=max_length, truncation="longest_first", return_tensors="dlpack")
    binding = session.io_binding()
    arrays = {}  # keep the memory that the session reads
    for wanted in session.get_inputs():  # of token_type_ids only where the graph has them
        array = arrays[wanted.name] = np.from_dlpack(tensors[wanted.name])
        binding.bind_input(wanted.name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)
    binding.bind_output("logits", "cpu")
    session.run_with_iobinding(binding)
    return binding.copy_outputs_to_cpu()[0][:, 0]


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    passages = sys.stdin.read().splitlines()
    session = onnxruntime.InferenceSession(sys.argv[2], providers=["CPUExecutionProvider"])
    logits = score(rankfeed.Tokenizer.from_file(sys.argv[1]), session, sys.argv[3], passages)
    for place in np.argsort(-logits, kind="stable"):
        print(f"{logits[place]:.5f} {passages[place]}")


if __name__ == "__main__":
    main()
