# SPDX-License-Identifier: MIT
"""ONNX Runtime reads a batch of the package: by address without a copy, as examples/onnxruntime_scores.py does, and as NumPy
arrays; both give the same scores, and padding does not change them."""

import contextlib
import io
import os
import sys
import tempfile
import unittest
from unittest import mock

import numpy as np
import onnxruntime
import rankfeed

import random_onnx

SOURCE = os.environ["RANKFEED_SOURCE_DIR"]
sys.path.insert(0, os.path.join(SOURCE, "examples"))
import onnxruntime_scores  # noqa: E402

MODEL = os.path.join(SOURCE, "data", "default.model")
QUERY = "What is a panda?"
DOCS = ["A panda is a bear.", "", "It eats bamboo in the mountains, day after day.", "Bears."]


class OnnxRuntime(unittest.TestCase):
    def test_scores(self):
        tok = rankfeed.Tokenizer.from_file(MODEL)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            random_onnx.write(path, tok.vocab_size)
            session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
            printed = io.StringIO()
            with mock.patch("sys.argv", ["scores", MODEL, path, QUERY]), mock.patch("sys.stdin", io.StringIO("\n".join(DOCS))), \
                    contextlib.redirect_stdout(printed):
                onnxruntime_scores.main()
        by_numpy, = session.run(["logits"], dict(tok.encode_pairs(QUERY, DOCS)))
        self.assertEqual(by_numpy.shape, (len(DOCS), 1))
        by_address = onnxruntime_scores.score(tok, session, QUERY, DOCS)
        np.testing.assert_array_equal(by_address, by_numpy[:, 0])
        want = sorted(zip(by_address, DOCS), key=lambda one: -one[0])
        self.assertEqual(printed.getvalue(), "".join(f"{logit:.5f} {text}\n" for logit, text in want))

        tensors = tok.encode_pairs(QUERY, DOCS, return_tensors="dlpack")
        self.assertTrue(all(np.from_dlpack(tensor).ctypes.data % 256 == 0 for tensor in tensors.values()))
        singles = [session.run(["logits"], dict(tok.encode_pairs(QUERY, [d])))[0][0] for d in DOCS]
        np.testing.assert_allclose(by_numpy, singles, rtol=1e-4, atol=1e-5)
        self.assertEqual(len(set(by_numpy[:, 0].tolist())), len(DOCS))


if __name__ == "__main__":
    unittest.main(verbosity=1)
