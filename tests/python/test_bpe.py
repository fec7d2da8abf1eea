# SPDX-License-Identifier: MIT
"""BPE vocabularies below Python: from_pretrained, from_transformers and hf.wrap over the published ones, with the classes that
transformers makes of them."""

import json
import os
import random
import shutil
import sys
import tempfile
import unittest
import warnings

try:
    import tokenizers
    import transformers
except ImportError:
    print("SKIPPED: the tokenizers and transformers wheels are not installed")
    sys.exit(77)

import drawn_calls
import rankfeed
import rankfeed.hf

from support import SWEEP

DATA = os.path.join(os.environ["RANKFEED_SHARED_DATA"], "bpe")
if not os.path.isdir(DATA):
    print(f"SKIPPED: there are no vocabularies in {DATA}")
    sys.exit(77)
os.environ["TOKENIZERS_PARALLELISM"] = "false"
transformers.logging.set_verbosity_error()

# (vocabulary, tokenizer_config.json, files besides the tokenizer.json: else vocab.json and merges.txt)
FOLDERS = {
    "qwen": ("qwen", {"tokenizer_class": "Qwen2Tokenizer", "eos_token": "<|im_end|>"}, True),
    "qwen, lists": ("qwen", {"tokenizer_class": "Qwen2Tokenizer", "additional_special_tokens": ["<|im_end|>"]}, False),
    "roberta": ("roberta", {"tokenizer_class": "RobertaTokenizer", "pad_token": "<pad>"}, True),
    "roberta, lists": ("roberta", {"tokenizer_class": "RobertaTokenizer", "pad_token": "<pad>"}, False),
    "gpt2": ("gpt2", {"tokenizer_class": "GPT2Tokenizer", "pad_token": "<|endoftext|>"}, True),
    "gpt2, lists": ("gpt2", {"tokenizer_class": "GPT2Tokenizer", "pad_token": "<|endoftext|>", "add_prefix_space": True}, False),
    "mistral": ("mistral", {"tokenizer_class": "LlamaTokenizer", "pad_token": "</s>"}, True),
    "mistral, legacy": ("mistral", {"tokenizer_class": "LlamaTokenizer", "pad_token": "</s>", "legacy": True}, True),
    "mistral as Gemma's": ("mistral", {"tokenizer_class": "GemmaTokenizer", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "</s>", "mask_token": "</s>"}, True),
    "modernbert": ("modernbert", {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]",
                                  "model_input_names": ["input_ids", "attention_mask"]}, True)}
TEXTS = ["Hello  world, it's DON'T 12345", "what is a panda?\n", " <|im_end|> </s>a [MASK] <mask> b", "e\u0301 \u212b \u4e2d\u6587\u3002 \U0001f469\u200d\U0001f467",
         "def f(x):\n        return x  # \t\n\n\n", "\u0928\u092e\u0938\u094d\u0924\u0947 \u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35 \u00a0x", " Hello", "a"]


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def folder(self, name, config, whole):
        folder = tempfile.mkdtemp(dir=self.dir.name)
        for file in ["tokenizer.json"] if whole else ["vocab.json", "merges.txt"]:
            shutil.copy(os.path.join(DATA, name, file), folder)
        with open(os.path.join(folder, "tokenizer_config.json"), "w", encoding="utf-8") as file:
            json.dump(config, file)
        return folder

    def encodings(self, mine, backend):
        """Ids, offsets and decoded texts of a Tokenizer and a tokenizers.Tokenizer. Tokens too, whose text is the wheel's own with
        the space that an lstrip took."""
        for text in TEXTS:
            for special in (True, False):
                a, b = mine.encode(text, add_special_tokens=special), backend.encode(text, add_special_tokens=special)
                self.assertEqual((a.ids, a.offsets, a.special_tokens_mask), (b.ids, b.offsets, b.special_tokens_mask), text)
                self.assertEqual([t.lstrip(" ") for t in a.tokens], [t.lstrip(" ") for t in b.tokens], text)
                for skip in (True, False):
                    self.assertEqual(mine.decode(a.ids, skip_special_tokens=skip), backend.decode(b.ids, skip_special_tokens=skip), text)

    def calls(self, mine, theirs):
        """The same dictionaries, of texts and of pairs."""
        cut = dict(truncation=True, max_length=9)
        for first, second, kwargs in ((TEXTS, None, {}), (TEXTS, None, cut), (TEXTS, TEXTS[::-1], {}), (TEXTS, TEXTS[::-1], cut),
                                      (["a b"] * len(TEXTS), TEXTS, dict(truncation="only_second", max_length=12))):
            a, b = (t(first, second, padding=True, return_token_type_ids=True, **kwargs) for t in (mine, theirs))
            self.assertEqual((set(a), dict(a)), (set(b), dict(b)), kwargs)


class Bpe(Case):
    def test_classes(self):
        for title, (name, config, whole) in FOLDERS.items():
            folder = self.folder(name, config, whole)
            with self.subTest(title), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theirs = transformers.AutoTokenizer.from_pretrained(folder)
                made = rankfeed.Tokenizer.from_transformers(theirs)
                self.assertEqual(made.info["model"], "bpe")
                self.encodings(made, theirs.backend_tokenizer)
                self.calls(made, theirs)
                rounds = 600 if SWEEP else 40
                self.assertGreater(drawn_calls.draw_calls(self, made, theirs, TEXTS, random.Random(title), rounds), rounds // 4)
                wrapped = rankfeed.hf.wrap(transformers.AutoTokenizer.from_pretrained(folder))
                self.assertIsInstance(wrapped, type(theirs))
                self.calls(wrapped, theirs)
                offsets = [t(TEXTS, return_offsets_mapping=True)["offset_mapping"] for t in (wrapped, theirs)]
                self.assertEqual(*offsets)
                self.assertEqual(wrapped.batch_decode(theirs(TEXTS)["input_ids"], skip_special_tokens=True),
                                 theirs.batch_decode(theirs(TEXTS)["input_ids"], skip_special_tokens=True))
                self.assertEqual(wrapped.rankfeed_fallbacks, {})

    def test_folders(self):
        """from_pretrained: a folder as transformers reads it, from_file its tokenizer.json as it is written."""
        for title, (name, config, whole) in FOLDERS.items():
            folder = self.folder(name, config, whole)
            with self.subTest(title):
                mine = rankfeed.Tokenizer.from_pretrained(folder)
                theirs = transformers.AutoTokenizer.from_pretrained(folder)
                self.encodings(mine, theirs.backend_tokenizer)
                if whole:
                    file = os.path.join(folder, "tokenizer.json")
                    self.encodings(rankfeed.Tokenizer.from_file(file), tokenizers.Tokenizer.from_file(file))
                self.assertEqual(mine.pad_token_id, theirs.pad_token_id)
                self.assertEqual(set(mine.model_input_names), set(theirs.model_input_names))
                if name != "mistral":  # whose classes pad on the left, and write a template where the file has none
                    self.calls(mine, theirs)

    def test_both_truths(self):
        """The table of docs/parity.md: Mistral's file, and what LlamaTokenizer makes of it."""
        rows = ((dict(), " Hello", ["\u2581", "\u2581Hello"], ["\u2581Hello"]), (dict(), "</s>a", ["</s>", "\u2581a"], ["</s>", "a"]),
                (dict(legacy=True), "</s>a", ["</s>", "\u2581a"], ["</s>", "\u2581a"]), (dict(add_prefix_space=False), "a", ["\u2581a"], ["a"]))
        for config, text, written, made in rows:
            folder = self.folder("mistral", dict(config, tokenizer_class="LlamaTokenizer"), True)
            with self.subTest(text, **config):
                self.assertEqual(rankfeed.Tokenizer.from_file(os.path.join(folder, "tokenizer.json")).encode(text).tokens, written)
                self.assertEqual(rankfeed.Tokenizer.from_pretrained(folder).encode(text).tokens, made)
                theirs = transformers.AutoTokenizer.from_pretrained(folder)
                self.assertEqual(theirs.backend_tokenizer.encode(text).tokens, made)
                self.assertEqual(rankfeed.Tokenizer.from_transformers(theirs).encode(text).tokens, made)

    def test_special_tokens(self):
        """Those of a BPE file are its added tokens: "<s>" is a piece that Qwen learned from code."""
        tok = rankfeed.Tokenizer.from_file(os.path.join(DATA, "qwen", "tokenizer.json"))
        self.assertEqual((tok.info["bos_id"], tok.info["eos_id"], tok.info["pad_id"]), (-1, -1, -1))
        self.assertIsNotNone(tok.token_to_id("<s>"))
        tok = rankfeed.Tokenizer.from_file(os.path.join(DATA, "roberta", "tokenizer.json"))
        self.assertEqual((tok.info["bos_id"], tok.info["eos_id"], tok.info["pad_id"], tok.info["mask_id"]), (0, 2, 1, 50264))

    def test_refused(self):
        folder = self.folder("gpt2", {"tokenizer_class": "CLIPTokenizer"}, False)
        with self.assertRaisesRegex(rankfeed.RankfeedError, "\"CLIPTokenizer\" does not read vocab.json and merges.txt"):
            rankfeed.Tokenizer.from_pretrained(folder)
        folder = self.folder("gpt2", {"tokenizer_class": "GPT2Tokenizer"}, False)
        os.remove(os.path.join(folder, "merges.txt"))
        with self.assertRaisesRegex(rankfeed.RankfeedError, "there is no merges.txt beside it"):
            rankfeed.Tokenizer.from_file(os.path.join(folder, "vocab.json"))


if __name__ == "__main__":
    unittest.main(verbosity=1)
