# SPDX-License-Identifier: MIT
"""The package's types, as mypy --strict reads them: the package itself and a program that uses it pass; each
misspelling is one error, on its line, of the kind that names it. Types of arrays and tensors are looked at too."""

import os
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest

import rankfeed

from support import needs

try:
    import mypy
except ImportError:
    mypy = None

GOOD = '''
    import numpy as np
    import rankfeed

    tok = rankfeed.Tokenizer.from_file("m.model", parity="sentencepiece", invalid_text="error", padding_side="left")
    encoding = tok.encode("a", "b")
    reveal_type(encoding.ids)  # list[int]
    reveal_type(encoding.offsets)  # list[tuple[int, int]]
    reveal_type(tok.encode_batch(["a"], offsets="utf16")[0].offsets)  # list[tuple[int, int]]
    batch = tok.encode_pairs("q", ["a", b"b", np.array([1, 2])], max_length=8, truncation="only_second", sort="descending")
    reveal_type(batch["input_ids"])  # ndarray
    tensors = tok.encode_pairs("q", ["a"], return_tensors="dlpack", tensors=["attention_mask", "lengths"])
    reveal_type(tensors["input_ids"])  # _core.Tensor
    reveal_type(tensors.row_map[0][2])  # int
    request = tok.request("q", ["a"], max_rows_per_batch=4, padding=False, dtype="int32")
    for part in request:
        reveal_type(part.tensors["input_ids"].shape)  # tuple[int, ...]
        request.put_scores(part, np.zeros(part.rows), activation="sigmoid", label="LABEL_0")
    reveal_type(request.rank(3, aggregation="mean"))  # list[tuple[int, float]]
    reveal_type(tok(["a"], padding=True, return_tensors="np"))  # BatchEncoding
    reveal_type(rankfeed.Corpus("a", tok).get("b"))  # Any
'''

BAD = (
    ('tok.encode_pairs("q", ["a"], max_lenght=8)', "call-overload|call-arg", "max_lenght"),
    ('tok.encode_pairs("q", ["a"], truncation="only_secnd")', "call-overload|arg-type", "only_secnd"),
    ('tok.encode_pairs("q", ["a"], overflow="last")', "call-overload|arg-type", "last"),
    ('tok.encode_pairs("q", ["a"], tensors=["mask"])', "call-overload|list-item", "mask"),
    ('tok.encode_pairs("q", ["a"], return_tensors="tf")', "call-overload", "tf"),
    ('tok.request("q", ["a"], max_row_per_batch=2)', "call-arg", "max_row_per_batch"),
    ('tok.request("q", ["a"], sort="up")', "arg-type", "up"),
    ('tok(["a"], padding_side="model")', "arg-type", "model"),
    ('tok(["a"], truncatoin=True)', "call-arg", "truncatoin"),
    ('rankfeed.Tokenizer.from_file("m", parity="hf")', "arg-type", "hf"),
    ('rankfeed.Tokenizer.from_file("m", model_max_len=8)', "call-arg", "model_max_len"),
    ('tok.request("q", ["a"]).rank(aggregation="best")', "arg-type", "best"),
)


@needs(mypy, "mypy")
class Types(unittest.TestCase):
    def mypy(self, source):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(textwrap.dedent(source))
            # The package's folder is where mypy finds it, as for an installed one.
            done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", folder,
                                   path], capture_output=True, text=True,
                                  env={**os.environ, "MYPYPATH": os.path.dirname(os.path.dirname(rankfeed.__file__))})
            return done.returncode, [line for line in done.stdout.splitlines() if "program.py" in line], done.stderr

    def test_good(self):
        status, lines, errors = self.mypy(GOOD)
        self.assertEqual(errors, "")
        self.assertEqual((status, [line for line in lines if "error:" in line]), (0, []))
        wanted = re.findall(r"reveal_type\(.*\)  # (.+)", GOOD)
        revealed = [re.sub(r"builtins\.|rankfeed\.(?=_core)", "", line) for line in lines if "Revealed type" in line]
        self.assertEqual(len(revealed), len(wanted), lines)
        for line, words in zip(revealed, wanted):
            self.assertIn(words, line)

    def test_typos(self):
        program = 'import rankfeed\ntok = rankfeed.Tokenizer.from_file("m")\n' + "\n".join(call for call, _, _ in BAD)
        status, lines, errors = self.mypy(program)
        self.assertEqual((status, errors), (1, ""))
        for number, (call, kinds, word) in enumerate(BAD, start=3):
            found = [line for line in lines if f":{number}: " in line]
            self.assertTrue(any(re.search(rf"error: .*\[({kinds})\]$", line) for line in found), (call, found))
            if "call-overload" not in kinds:  # of those mypy lists the signatures
                self.assertTrue(any(word in line for line in found), (call, found))

    def test_package(self):
        folder = os.path.dirname(os.path.dirname(rankfeed.__file__))
        with tempfile.TemporaryDirectory() as cache:
            config = os.path.join(cache, "mypy.ini")
            with open(config, "w", encoding="utf-8") as file:
                file.write("[mypy]\n")
                for optional in ("tokenizers", "torch", "tqdm", "transformers"):  # no requirements; unknown types, also where they are
                    file.write(f"[mypy-{optional}.*]\nfollow_imports = skip\nignore_missing_imports = True\n")
            done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--config-file", config, "--cache-dir", cache,
                                   "-p", "rankfeed"], cwd=folder, capture_output=True, text=True)
        self.assertRegex(done.stdout, r"^Success: no issues found in \d\d source files\n$", done.stderr)


if __name__ == "__main__":
    if mypy is None:
        print("SKIPPED: the mypy wheel is not installed")
        sys.exit(77)
    unittest.main(verbosity=1)
