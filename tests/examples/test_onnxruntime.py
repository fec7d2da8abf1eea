# SPDX-License-Identifier: MIT
"""ONNX Runtime reads a batch of the package: by address without a copy, and as NumPy arrays; both give
the same scores, and padding does not change them."""

import os
import tempfile
import unittest

import numpy as np
import onnxruntime
import rankfeed

import random_onnx

MODEL = os.path.join(os.environ["RANKFEED_SOURCE_DIR"], "data", "default.model")
DOCS = ["A panda is a bear.", "", "It eats bamboo in the mountains, day after day.", "Bears."]


class OnnxRuntime(unittest.TestCase):
    def test_scores(self):
        tok = rankfeed.Tokenizer.from_file(MODEL)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            random_onnx.write(path, tok.vocab_size)
            session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        inputs = tok.encode_pairs("What is a panda?", DOCS)
        by_numpy, = session.run(["logits"], dict(inputs))
        self.assertEqual(by_numpy.shape, (len(DOCS), 1))

        tensors = tok.encode_pairs("What is a panda?", DOCS, return_tensors="dlpack")
        binding = session.io_binding()
        addresses = []
        for name, tensor in tensors.items():
            array = np.from_dlpack(tensor)
            addresses.append(array.ctypes.data)
            binding.bind_input(name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)
        binding.bind_output("logits", "cpu")
        session.run_with_iobinding(binding)
        np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[0], by_numpy)
        self.assertTrue(all(address % 256 == 0 for address in addresses))

        singles = [session.run(["logits"], dict(tok.encode_pairs("What is a panda?", [d])))[0][0] for d in DOCS]
        np.testing.assert_allclose(by_numpy, singles, rtol=1e-4, atol=1e-5)
        self.assertEqual(len(set(by_numpy[:, 0].tolist())), len(DOCS))


if __name__ == "__main__":
    unittest.main(verbosity=1)
