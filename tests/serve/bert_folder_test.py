# SPDX-License-Identifier: MIT
"""bert_folder_test.py RANKFEED: cross-encoders of BERT's kinds in folders as they are published: `rankfeed rerank --model FOLDER`
and `rankfeed serve --model FOLDER` against NumPy in float64."""

import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import tokenizers

from server_process import SOURCE, Server

sys.path.insert(0, os.path.join(SOURCE, "tests", "gpu_handoff", "crossencoder", "forward"))
import numpy_models  # noqa: E402

RANKFEED = sys.argv[1]
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "what", "is", "a", "panda", "##s", "bear", "bamboo", "eat", "?", ".", "the", "car"]
PUBLISHED = os.path.join(os.environ.get("RANKFEED_SHARED_DATA") or os.path.join(SOURCE, "..", "shared", "data"), "wordpiece", "all-MiniLM-L6-v2")
QUERY, WORDS = "What is a panda?", ["what", "is", "a", "panda", "?"]
TEXTS = {"A panda is a bear.": ["a", "panda", "is", "a", "bear", "."], "Pandas eat bamboo": ["panda", "##s", "eat", "bamboo"],
         "the car": ["the", "car"], "Zebra": ["[UNK]"], "": []}


def tokenizer_json(typed=True):
    special = {"lstrip": False, "rstrip": False, "normalized": False, "single_word": False, "special": True}

    def token(text, kind=0):
        return {"SpecialToken": {"id": text, "type_id": kind}}
    second = int(typed)
    return {
        "version": "1.0",
        # As in MiniLM's file; AutoTokenizer leaves both aside.
        "truncation": {"direction": "Right", "max_length": 6, "strategy": "LongestFirst", "stride": 0},
        "padding": {"strategy": {"Fixed": 6}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"},
        "added_tokens": [{"id": i, "content": PIECES[i], **special} for i in range(5)],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing", "single": [token("[CLS]"), {"Sequence": {"id": "A", "type_id": 0}}, token("[SEP]")],
                           "pair": [token("[CLS]"), {"Sequence": {"id": "A", "type_id": 0}}, token("[SEP]"),
                                    {"Sequence": {"id": "B", "type_id": second}}, token("[SEP]", second)],
                           "special_tokens": {t: {"id": t, "ids": [PIECES.index(t)], "tokens": [t]} for t in ("[CLS]", "[SEP]")}},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                  "vocab": {piece: i for i, piece in enumerate(PIECES)}}}


def write_folder(folder, kind, tokenizer=None, config=None, **options):
    """A folder as it is published, with small random weights, which it returns."""
    rng = np.random.default_rng(7)
    settings, tensors = numpy_models.make(kind, len(PIECES), 32, 2, 4, 48, 40, rng=rng, **options)
    settings.update(config or {})
    numpy_models.save(folder, settings, tensors, base=numpy_models.NAMES[kind]["base"], rng=rng,
                      **{name: options[name] for name in ("prefix", "left_over") if name in options})
    for name, data in (("tokenizer.json", tokenizer_json()), ("tokenizer_config.json", tokenizer or {"model_max_length": 512})):
        (folder / name).write_text(json.dumps(data), encoding="utf-8")
    return tensors


class BertFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, kind, tokenizer=None, config=None, **options):
        self.tensors = write_folder(self.folder, kind, tokenizer, config, **options)

    def logits(self, kind, typed=True, **options):
        """Of every text, from the equations: one row of logits each."""
        out = []
        for words in TEXTS.values():
            ids = [PIECES.index(t) for t in ("[CLS]", *WORDS, "[SEP]", *words, "[SEP]")]
            types = [int(typed and i > len(WORDS) + 1) for i in range(len(ids))]
            out.append(numpy_models.score(kind, self.tensors, ids, types, 4, 2, **options).tolist())
        return out

    def rerank(self, *arguments, texts=TEXTS):
        return subprocess.run([RANKFEED, "rerank", "--model", self.folder, "--query", QUERY, "--docs", "-", "--json", *arguments],
                              input="".join(t + "\n" for t in texts), capture_output=True, text=True, timeout=120)

    def scores(self, *arguments, texts=TEXTS):
        done = self.rerank(*arguments, texts=texts)
        self.assertEqual(done.returncode, 0, done.stderr)
        results = json.loads(done.stdout)["results"]
        self.assertEqual([r["score"] for r in results], sorted((r["score"] for r in results), reverse=True))
        return [score for _, score in sorted((r["index"], r["score"]) for r in results)]

    def near(self, got, want, within=2e-5):
        self.assertEqual(len(got), len(want))
        for a, b in zip(got, want):
            self.assertLess(abs(a - b), within, (got, want))

    def test_kinds(self):
        for kind, options in (("bert", {}), ("bert", {"prefix": False, "left_over": {"cls.predictions.bias": (17,)}}), ("distilbert", {}),
                              ("electra", {"embedding": 16})):
            with self.subTest(kind=kind, **options):
                self.write(kind, **options)
                self.near(self.scores("--raw"), [row[0] for row in self.logits(kind, **options)])

    def test_vocab_txt(self):
        """A folder as old ones are: pieces by line, and what lowercases them beside."""
        self.write("bert", tokenizer={"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 512})
        os.remove(self.folder / "tokenizer.json")
        (self.folder / "vocab.txt").write_text("".join(p + "\n" for p in PIECES), encoding="utf-8")
        self.near(self.scores("--raw"), [row[0] for row in self.logits("bert")])

    def test_normalization(self):
        """A vocab.txt that --preset bert-cased reads, beside a model whose files say lower case, is refused by both commands."""
        self.write("bert", tokenizer={"do_lower_case": True})
        (self.folder / "pieces").mkdir()
        vocab = self.folder / "pieces" / "vocab.txt"
        vocab.write_text("".join(p + "\n" for p in PIECES), encoding="utf-8")
        for says in ("tokenizer.json", "tokenizer_config.json"):
            for command in (["rerank", "--query", "q", "--docs", "-"], ["serve", "--port", "0"]):
                done = subprocess.run([RANKFEED, *command, "--vocab", vocab, "--preset", "bert-cased", "--model", self.folder],
                                      input="a\n", capture_output=True, text=True, timeout=60)
                self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
                for words in ("do not belong together", f"{self.folder / says} lowercases texts (do_lower_case), the vocabulary keeps capitals",
                              "--preset bert lowercases texts"):
                    self.assertIn(words, done.stderr)
            self.near(self.scores("--raw", "--vocab", vocab, "--preset", "bert"), [row[0] for row in self.logits("bert")])
            if says == "tokenizer.json":
                os.remove(self.folder / says)

    def test_service(self):
        """MiniLM's folder says Identity: logits on the command line, and the dialects' scores in the service."""
        self.write("bert", config={"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity", "version": "4.1.0"}})
        want = [row[0] for row in self.logits("bert")]
        self.near(self.scores(), want)
        server = Server(RANKFEED, (), ["--workers", 1], vocab=str(self.folder), model=str(self.folder), one_option=True, corpus=False)
        self.addCleanup(server.stop)
        for path, names, raw in (("/rerank", ("texts", "score"), True), ("/rerank", ("texts", "score"), False),
                                 ("/v1/rerank", ("documents", "relevance_score"), False)):
            status, answer = server.post(path, {"query": QUERY, names[0]: list(TEXTS), "raw_scores": raw})
            self.assertEqual(status, 200, answer)
            got = [s for _, s in sorted((r["index"], r[names[1]]) for r in (answer if path == "/rerank" else answer["results"]))]
            self.near(got, want if raw else [1 / (1 + math.exp(-x)) for x in want])
        self.assertEqual(server.call("GET", "/info")[1]["activation"], {"folder": "identity", "service": "sigmoid"})

    def test_two_labels(self):
        """monoBERT, amberoad: the share of the second label, in double precision from the logits."""
        self.write("bert", labels=2)
        done = self.rerank()
        self.assertEqual(done.returncode, 1)
        for words in ("2 labels", "LABEL_0, LABEL_1", "--label"):
            self.assertIn(words, done.stderr)
        logits = self.logits("bert")
        for name in ("1", "LABEL_1"):
            self.near(self.scores("--label", name), [1 / (1 + math.exp(a - b)) for a, b in logits])
            self.near(self.scores("--label", name, "--raw"), [b for _, b in logits])

    def test_length_of_rows(self):
        """The model's 40 positions and tokenizer_config.json bind, the tokenizer.json's own truncation to 6 does not."""
        for limit, tokens in ((512, 40), (14, 14)):
            self.write("bert", tokenizer={"model_max_length": limit})
            server = Server(RANKFEED, (), ["--workers", 1], vocab=str(self.folder), model=str(self.folder), one_option=True, corpus=False)
            answer = server.post("/v1/rerank", {"query": QUERY, "documents": ["panda " * 100]})[1]
            self.assertEqual(answer["usage"]["total_tokens"], tokens)
            server.stop()

    @unittest.skipUnless(os.path.exists(PUBLISHED), f"not run: no {PUBLISHED}")
    def test_published_file(self):
        """MiniLM's own tokenizer.json cuts and pads to 128, which binds no row: the scores are those of the wheel's ids, all of them."""
        for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt"):
            shutil.copy(os.path.join(PUBLISHED, name), self.folder)
        wheel = tokenizers.Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        self.assertEqual((wheel.truncation["max_length"], wheel.padding["length"]), (128, 128))
        wheel.no_truncation()
        wheel.no_padding()
        settings, tensors = numpy_models.make("bert", wheel.get_vocab_size(), 16, 1, 2, 24, 512, rng=np.random.default_rng(7))
        numpy_models.save(self.folder, settings, tensors, base=numpy_models.NAMES["bert"]["base"])
        texts = ["Giant pandas eat bamboo, 38 kg a day. " * 30, "A bear."]
        rows = [wheel.encode(QUERY, text.strip()) for text in texts]
        self.assertGreater(len(rows[0].ids), 300)
        self.near(self.scores("--raw", texts=texts),
                  [numpy_models.score("bert", tensors, row.ids, row.type_ids, 2, 1).tolist()[0] for row in rows])

    def test_without_types(self):
        """model_input_names without token_type_ids: the model gets type 0 everywhere, as from transformers."""
        self.write("bert", tokenizer={"model_input_names": ["input_ids", "attention_mask"]})
        self.near(self.scores("--raw"), [row[0] for row in self.logits("bert", typed=False)])

    def test_types_beyond_the_table(self):
        """type_vocab_size 1 under a template with types 0 and 1: transformers raises IndexError; refused before the first score."""
        self.write("bert", types=1)
        done = self.rerank()
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        for words in ("token type 1", "embeds 1", "type_vocab_size", "model_input_names"):
            self.assertIn(words, done.stderr)
        self.write("bert", types=1, tokenizer={"model_input_names": ["input_ids", "attention_mask"]})
        self.near(self.scores("--raw"), [row[0] for row in self.logits("bert", typed=False)])

    def test_num_labels_before_id2label(self):
        """transformers takes num_labels, and names the labels anew."""
        self.write("bert", config={"num_labels": 1, "id2label": {"0": "no", "1": "yes"}})
        self.near(self.scores("--raw"), [row[0] for row in self.logits("bert")])

    def test_refused(self):
        for config, words in (({"model_type": "mpnet"}, 'model_type" is "mpnet"'), ({"model_type": "nomic_bert"}, "nomic_bert"),
                              ({"architectures": ["JinaBertForSequenceClassification"]}, "JinaBert"), ({"vocab_size": 18}, "tensor"),
                              ({"bos_token_id": 9}, "bos_token_id 9")):
            with self.subTest(config):
                # The class is named, for the tokenizer of another model_type would be refused before.
                self.write("bert", {"tokenizer_class": "BertTokenizer"}, config)
                done = self.rerank()
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
