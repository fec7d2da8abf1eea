# SPDX-License-Identifier: MIT
"""added_tokens_test.py RANKFEED [DRAWN]: a folder whose tokenizer_config.json lists fewer added tokens than its tokenizer.json, or others: where a
class rebuilds the file in transformers 5, the ids are AutoTokenizer's at the doors that take a folder. Ids of transformers 5.23 are written
down here; with a number so many drawn folders are compared with the transformers that is installed."""

import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

import small_tokenizers
from small_tokenizers import NAMES, NEW

RANKFEED, DRAWN = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
if DRAWN:
    try:
        import transformers
    except ImportError:
        print("SKIPPED: no transformers (scripts/python-env.sh hf makes .venv-hf)")
        sys.exit(77)
    transformers.logging.set_verbosity_error()
    assert transformers.__version__.startswith("5."), transformers.__version__

# Ids of "a FIRST b NEW LAST a NEW" with all of a class's tokens listed, and without its last one and NEW.
GOLDEN = {
    "Qwen2Tokenizer": ([64, 220, 256, 220, 65, 220, 259, 258, 220, 64, 259],
                       [64, 220, 256, 220, 65, 220, 27, 45, 36, 54, 29, 27, 91, 72, 76, 62, 68, 77, 67, 91, 29, 220, 64, 27, 45, 36, 54, 29]),
    "GPT2Tokenizer": ([65, 221, 0, 221, 66, 221, 257, 0, 221, 65, 257], [65, 221, 0, 221, 66, 221, 28, 46, 37, 55, 30, 0, 221, 65, 28, 46, 37, 55, 30]),
    "RobertaTokenizer": ([0, 69, 225, 0, 225, 70, 225, 261, 4, 225, 69, 261, 2],
                         [0, 69, 225, 0, 225, 70, 225, 32, 50, 41, 59, 34, 4, 225, 69, 32, 50, 41, 59, 34, 2]),
    "BertTokenizer": ([2, 5, 0, 6, 12, 4, 5, 12, 3], [2, 5, 0, 6, 9, 11, 10, 4, 5, 9, 11, 10, 3]),
    "PreTrainedTokenizerFast": ([2, 5, 0, 6, 12, 4, 5, 12, 3], [2, 5, 0, 6, 12, 4, 5, 12, 3]),
}
# How a folder may be refused in place of ids that could be others.
REFUSED = ("does not list, so that", "as unk_token, which", "puts it around rows", "beside its tokenizer.json, which lacks it")


class AddedTokens(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_program(self, *arguments, text=""):
        return subprocess.run([RANKFEED, *map(str, arguments)], input=text, capture_output=True, text=True, encoding="utf-8", timeout=120)

    def ids(self, vocab, texts):
        done = self.run_program("encode", "--vocab", vocab, "--special", text="".join(t + "\n" for t in texts))
        self.assertEqual(done.returncode, 0, done.stderr)
        return [[int(i) for i in line.split()] for line in done.stdout.splitlines()]

    def compiled(self):
        image = self.folder / "image"
        done = self.run_program("compile", self.folder, "-o", image)
        self.assertEqual(done.returncode, 0, done.stderr)
        return image

    def test_fewer_tokens_than_the_file(self):
        for kind, names in NAMES.items():
            file = small_tokenizers.tokenizer_json(kind)
            text = f"a {names[0]} b {NEW}{names[-1]} a{NEW}"
            for listed, want in zip(([*names, NEW], names[:-1]), GOLDEN[kind]):
                with self.subTest(kind, listed=listed):
                    small_tokenizers.write(self.folder, file, {"tokenizer_class": kind, "added_tokens_decoder": small_tokenizers.listed(file, listed)})
                    self.assertEqual(self.ids(self.folder, [text]), [want])
                    self.assertEqual(self.ids(self.compiled(), [text]), [want])
            self.assertEqual(self.ids(self.folder / "tokenizer.json", [text]), [GOLDEN[kind][0]])

    def test_padding_token_that_is_an_added_token(self):
        """Qwen3's folder: the tokenizer.json has no padding, and pad_token is an added token; with a row template and without."""
        kind = "Qwen2Tokenizer"
        file = small_tokenizers.tokenizer_json(kind)
        for text in ("<think>", "</think>"):
            file["added_tokens"].append({"id": file["added_tokens"][-1]["id"] + 1, "content": text, **small_tokenizers.flags(special=False)})
        small_tokenizers.write(self.folder, file, {"tokenizer_class": kind, "pad_token": "<|endoftext|>", "eos_token": "<|im_end|>", "model_max_length": 2000})
        for template in ([], ["--template", "qwen3-reranker"]):
            packed, padded, image = (self.run_program("batch", "--vocab", vocab, "--query", "a b", "--docs", "-", "--json", *template, *more, text="a\na bb\n")
                                     for vocab, more in ((self.folder / "tokenizer.json", ["--layout", "packed"]), (self.folder, []), (self.compiled(), [])))
            self.assertEqual([done.returncode for done in (packed, padded, image)], [0] * 3, padded.stderr)
            bare = json.loads(packed.stdout)
            rows = [bare["input_ids"][begin:end] for begin, end in zip(bare["cu_seqlens"], bare["cu_seqlens"][1:])]
            longest = max(map(len, rows))
            pads = [[256] * (longest - len(row)) for row in rows]
            self.assertEqual([len(row) for row in pads], [3, 0])
            want = [pad + row if template else row + pad for row, pad in zip(rows, pads)]
            for done in (padded, image):
                self.assertEqual(json.loads(done.stdout)["input_ids"], want)
            if not template:
                self.assertEqual(rows, [[64, 220, 65, 64], [64, 220, 65, 64, 220, 65, 65]])

    def test_drawn_folders(self):
        rng, refused = random.Random(60), 0
        for number in range(DRAWN):
            kind = sorted(NAMES)[number % len(NAMES)]
            file, config = small_tokenizers.drawn(kind, rng)
            texts = small_tokenizers.texts(kind, rng)
            small_tokenizers.write(self.folder, file, config)
            with self.subTest(config=config):
                theirs = transformers.AutoTokenizer.from_pretrained(self.folder)
                want = [theirs(text)["input_ids"] for text in texts]
                done = self.run_program("encode", "--vocab", self.folder)
                if done.returncode != 0:
                    self.assertTrue(any(words in done.stderr for words in REFUSED), done.stderr)
                    refused += 1
                    continue
                self.assertEqual(self.ids(self.folder, texts), want)
                self.assertEqual(self.ids(self.compiled(), texts), want)
        self.assertLessEqual(refused, DRAWN // 20)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
