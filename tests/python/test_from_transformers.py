# SPDX-License-Identifier: MIT
"""Tokenizer.from_transformers and `python -m rankfeed compile` against AutoTokenizer of transformers, in every form of
tests/oracle/forms.py: the first pieces of the XLM-R vocabulary, as every class rebuilds it."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import warnings

import rankfeed

from support import SHARED, SOURCE, SWEEP, needs

sys.path.insert(0, os.path.join(SOURCE, "tests", "oracle"))
import forms as F  # noqa: E402
import mixtures  # noqa: E402

try:
    import tokenizers
    import transformers
    from transformers import AutoTokenizer
    transformers.logging.set_verbosity_error()
except ImportError as error:
    print(f"SKIPPED: {error}")
    transformers = None

XLMR = pathlib.Path(SHARED, "xlmr.tokenizer.json")
WORDS = "What is a panda? The GIANT panda's 2,000 ﬁne İzmir bears ate naïve ``bamboo'' \u00a0 Ａ\u0301 \u200b ½ Σ".split(" ")


@needs(transformers, "transformers")
@unittest.skipUnless(XLMR.exists(), f"SKIPPED: {XLMR} is not there")
class FromTransformers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.base = F.base_of_xlmr(XLMR, 4000)
        cls.forms = F.forms(cls.base)
        cls.folder = tempfile.TemporaryDirectory()
        cls.texts = ["Hello  world ", "", "x\n\ny", *mixtures.mixtures(200 if SWEEP else 60, 5, WORDS, ["<mask>", "[SEP]"])]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def put(self, name, base=None):
        """A folder with the form and the configuration that names its class."""
        folder = pathlib.Path(self.folder.name, name)
        folder.mkdir(exist_ok=True)
        form = self.forms[name]
        (folder / "tokenizer.json").write_text(F.text_of(form, base or self.base), encoding="utf-8")
        config = {"tokenizer_class": form.tokenizer_class or F.FAMILIES[form.family].tokenizer_class, **form.config}
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
        return folder

    def same(self, mine, theirs):
        options = {"return_offsets_mapping": True, "return_token_type_ids": True}
        got, expected = mine(self.texts, **options), theirs(self.texts, **options)
        self.assertEqual(got.data, dict(expected))
        pairs = self.texts[1:] + self.texts[:1]
        options = {"padding": theirs.pad_token is not None, "truncation": True, "max_length": 48}
        got, expected = mine(self.texts, pairs, **options), theirs(self.texts, pairs, **options)
        self.assertEqual(got.data, dict(expected))

    def test_every_class_is_followed(self):
        other = 0
        names = [name for name, form in self.forms.items() if not form.rebuilt]
        for name in names:
            with self.subTest(name):
                folder = self.put(name)
                theirs = AutoTokenizer.from_pretrained(folder)
                self.same(rankfeed.Tokenizer.from_transformers(theirs), theirs)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    self.same(rankfeed.Tokenizer.from_pretrained(folder), theirs)
                as_written = rankfeed.Tokenizer.from_file(folder / "tokenizer.json")
                written = [e.ids for e in as_written.encode_batch(self.texts)]
                other += written != theirs(self.texts)["input_ids"]
        self.assertGreater(other, len(names) // 2)  # else the two truths would not need telling apart

    def test_what_the_document_says(self):
        """The rows of docs/parity.md."""
        base = F.base_of_xlmr(XLMR, 50000)
        rows = re.findall(r'^\| `([a-z0-9-]+)` \| `"(.+?)"` \| `(.+?)` \| `(.+?)` \|$',
                          pathlib.Path(SOURCE, "docs", "parity.md").read_text(encoding="utf-8"), re.MULTILINE)
        self.assertGreaterEqual(len(rows), 4)
        for name, text, as_written, by_class in rows:
            with self.subTest(name):
                folder = self.put(name, base)
                for tokenizer, expected in (
                        (rankfeed.Tokenizer.from_file(folder / "tokenizer.json"), as_written),
                        (rankfeed.Tokenizer.from_transformers(AutoTokenizer.from_pretrained(folder)), by_class)):
                    self.assertEqual(tokenizer.encode(text, add_special_tokens=False).tokens, expected.split(" "))

    def test_the_image_does_not_depend_on_earlier_calls(self):
        theirs = AutoTokenizer.from_pretrained(self.put("deberta-v3"))
        before = rankfeed.Tokenizer.from_transformers(theirs).info["config_hash"]
        theirs("a b c d e f", truncation=True, max_length=4, padding="max_length")
        self.assertEqual(rankfeed.Tokenizer.from_transformers(theirs).info["config_hash"], before)

    def test_attributes(self):
        theirs = AutoTokenizer.from_pretrained(self.put("xlnet"), model_max_length=77)
        mine = rankfeed.Tokenizer.from_transformers(theirs, truncation_side="left")
        self.assertEqual((mine.padding_side, mine.model_max_length, mine.truncation_side), ("left", 77, "left"))
        self.assertEqual((mine.pad_token_id, mine.model_input_names), (theirs.pad_token_id, theirs.model_input_names))

    def test_a_tokenizer_of_tokenizers(self):
        theirs = tokenizers.Tokenizer.from_file(str(self.put("t5") / "tokenizer.json"))
        mine = rankfeed.Tokenizer.from_transformers(theirs)
        self.assertEqual([e.ids for e in mine.encode_batch(self.texts)], [e.ids for e in theirs.encode_batch(self.texts)])

    def test_what_is_refused(self):
        with self.assertRaisesRegex(TypeError, "str has no backend"):
            rankfeed.Tokenizer.from_transformers("xlm-roberta-base")
        theirs = AutoTokenizer.from_pretrained(self.put("t5"), split_special_tokens=True)
        with self.assertRaisesRegex(ValueError, "split_special_tokens"):
            rankfeed.Tokenizer.from_transformers(theirs)

    def command(self, *arguments):
        return subprocess.run([sys.executable, "-m", "rankfeed", *map(str, arguments)], capture_output=True, text=True)

    def test_command(self):
        folder = self.put("deberta-v3-lower")
        image = folder / "v.rfimg"
        run = self.command("compile", "--from-transformers", folder, "-o", image)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("DebertaV2Tokenizer", run.stdout)
        theirs = AutoTokenizer.from_pretrained(folder)
        self.same(rankfeed.Tokenizer.from_file(image, **{"model_input_names": theirs.model_input_names}), theirs)
        run = self.command("compile", "--from-transformers", folder / "no-such-folder", "-o", image)
        self.assertEqual(run.returncode, 1)
        self.assertIn("rankfeed: ", run.stderr)
        self.assertIn("--from-transformers", self.command("compile", "--help").stdout)


if __name__ == "__main__":
    if transformers is None:
        sys.exit(77)  # of ctest: skipped
    unittest.main()
