# SPDX-License-Identifier: MIT
"""Tokenizer.from_pretrained against transformers on the same folder, and file_defaults against tokenizers: what each
door does with tokenizer_config.json, special_tokens_map.json and a tokenizer.json's own truncation and padding."""

import itertools
import json
import math
import os
import pickle
import random
import subprocess
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

import hf_models
import rankfeed
import rankfeed.hf
import support

sys.path.insert(0, os.path.join(support.SOURCE, "tests", "folder"))
import small_tokenizers  # noqa: E402

os.environ["TOKENIZERS_PARALLELISM"] = "false"
transformers.logging.set_verbosity_error()
TRUNCATION = {"direction": "Left", "max_length": 12, "strategy": "LongestFirst", "stride": 3}
PADDING = {"strategy": "BatchLongest", "direction": "Left", "pad_to_multiple_of": 4, "pad_id": 1, "pad_type_id": 2,
           "pad_token": "<pad>"}


def noted_rebuilt(warned):
    return sum("Its ids are those of the folder" in str(w.message) for w in warned)


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.data = dict(hf_models.pipelines(1))["xlmr_a"]

    def folder(self, kind="PreTrainedTokenizerFast", specials=None, **config):
        folder = hf_models.write(tempfile.mkdtemp(dir=self.dir.name), self.data, kind, **config)
        if specials is not None:
            with open(os.path.join(folder, "special_tokens_map.json"), "w", encoding="utf-8") as file:
                json.dump(specials, file)
        return folder


class FromPretrained(Case):
    def test_every_file_that_transformers_rebuilds_is_noted(self):
        metaspace = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
        words = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, metaspace]}
        self.data["normalizer"] = None
        for kind, pre_tokenizer, differs in (("XLMRobertaTokenizer", words, 0), ("XLMRobertaTokenizer", metaspace, 1),
                                             ("XGLMTokenizer", metaspace, 1), ("PreTrainedTokenizerFast", metaspace, 0)):
            self.data["pre_tokenizer"] = pre_tokenizer
            folder = self.folder(kind)
            with self.subTest(kind=kind, differs=differs), warnings.catch_warnings(record=True) as noted:
                warnings.simplefilter("always")
                mine = rankfeed.Tokenizer.from_pretrained(folder)
                self.assertEqual(noted_rebuilt(noted), differs)
            file = os.path.join(folder, "tokenizer.json")
            pairs = ((mine, transformers.AutoTokenizer.from_pretrained(folder).backend_tokenizer),
                     (rankfeed.Tokenizer.from_file(file), tokenizers.Tokenizer.from_file(file)))
            ids = [[[t.encode(text, add_special_tokens=False).ids for text in hf_models.texts(20, 3)] for t in pair] for pair in pairs]
            for ours, theirs in ids:
                self.assertEqual(ours, theirs)
            self.assertEqual(ids[0] != ids[1], bool(differs))

    def same(self, folder):
        mine, theirs = rankfeed.Tokenizer.from_pretrained(folder), transformers.AutoTokenizer.from_pretrained(folder)
        for name in ("model_max_length", "padding_side", "truncation_side", "pad_token_id"):
            self.assertEqual(getattr(mine, name), getattr(theirs, name), name)
        self.assertEqual(set(mine.model_input_names), set(theirs.model_input_names))
        docs = hf_models.texts(20, 2)
        for again, kwargs in itertools.product((mine, pickle.loads(pickle.dumps(mine))), (
                dict(), dict(truncation=True), dict(padding=True, truncation=True),
                dict(padding="max_length", truncation="only_second", return_token_type_ids=True))):
            a, b = again(["a b"] * 20, docs, **kwargs), theirs(["a b"] * 20, docs, **kwargs)
            self.assertEqual((list(a), a.data), (list(b), dict(b)), kwargs)
        return mine

    def test_configurations(self):
        pad = {"content": "<pad>", "lstrip": False, "normalized": False, "rstrip": False, "single_word": False}
        for config in (dict(pad_token="<pad>"), dict(pad_token="<pad>", model_max_length=17, padding_side="left"),
                       dict(pad_token="</s>", truncation_side="left"), dict(specials={"pad_token": "<pad>"}),
                       dict(specials={"pad_token": pad}, pad_token="</s>"),
                       dict(pad_token="<pad>", model_input_names=["input_ids", "token_type_ids", "attention_mask"]),
                       dict(pad_token="<pad>", pad_token_type_id=2, model_max_length=24)):
            with self.subTest(config=config):
                self.same(self.folder(**config))
        self.data["truncation"] = TRUNCATION
        self.same(self.folder(pad_token="<pad>"))
        self.data["padding"] = PADDING
        self.same(self.folder())
        self.same(self.folder(padding_side="right", truncation_side="right"))

    def test_tokens_beside(self):
        """llama.cpp#3633, tokenizers#1444: a token that transformers would add to those of the tokenizer.json."""
        known = self.data["added_tokens"][0]["content"]
        self.same(self.folder(pad_token="<pad>", bos_token=known))
        for config in (dict(additional_special_tokens=["<new>"]), dict(sep_token={"content": "<new>"}), dict(specials={"sep_token": "<new>"}),
                       dict(added_tokens_decoder={"900": {"content": "<new>"}})):
            with self.subTest(config=config), self.assertRaisesRegex(ValueError, "has the token <new> beside its tokenizer.json"):
                rankfeed.Tokenizer.from_pretrained(self.folder(**config))
        folder = self.folder()
        with open(os.path.join(folder, "added_tokens.json"), "w", encoding="utf-8") as file:
            json.dump({"<new>": 900}, file)
        with self.assertRaisesRegex(ValueError, "<new>"):
            rankfeed.Tokenizer.from_pretrained(folder)
        rankfeed.Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))  # the file by itself is taken
        token = {**self.data["added_tokens"][0], "lstrip": True}
        piece = next(p for p, _ in self.data["model"]["vocab"] if p not in {t["content"] for t in self.data["added_tokens"]})
        for config, words in ((dict(added_tokens_decoder={"0": token}), "has other settings"), (dict(image_token=piece), "ordinary piece")):
            with self.subTest(config=config), self.assertWarnsRegex(UserWarning, words):
                rankfeed.Tokenizer.from_pretrained(self.folder(**config))

    def test_attributes_of_classes(self):
        """Those that a class has where a folder's configuration does not say."""
        for name, kind in hf_models.classes().items():
            mine = rankfeed.Tokenizer.from_pretrained(self.folder(name))
            self.assertEqual(sorted(mine.model_input_names), sorted(kind.model_input_names), name)
            self.assertEqual((mine.padding_side, mine.truncation_side), (kind.padding_side, kind.truncation_side), name)
            self.assertEqual(mine._pad_type_id, kind.from_pretrained(self.folder(name)).pad_token_type_id, name)

    def test_limits_reach_encode_pairs(self):
        mine = rankfeed.Tokenizer.from_pretrained(self.folder(pad_token="<pad>", model_max_length=11, padding_side="left"))
        batch = mine.encode_pairs("a", ["b", "abc " * 30])
        self.assertEqual(batch["input_ids"].shape, (2, 11))
        self.assertEqual(batch["attention_mask"][0].tolist(), sorted(batch["attention_mask"][0].tolist()))
        self.assertEqual(mine.encode_pairs("a", ["abc " * 30], max_length=7)["input_ids"].shape, (1, 7))
        self.assertEqual(rankfeed.Tokenizer.from_pretrained(self.folder(), model_max_length=9).model_max_length, 9)
        folder = self.folder(pad_token="</s>")
        theirs = transformers.AutoTokenizer.from_pretrained(folder)(["a", "a"], ["b", "abc"], padding=True, return_tensors="np")["input_ids"]
        self.assertEqual(theirs[0, -1], 2)
        self.assertEqual(rankfeed.Tokenizer.from_pretrained(folder).encode_pairs("a", ["b", "abc"])["input_ids"].tolist(), theirs.tolist())
        self.data["padding"] = PADDING
        other = rankfeed.Tokenizer.from_pretrained(self.folder(pad_token="</s>"))
        with self.assertRaisesRegex(ValueError, "the folder's pad_token has id 2, the vocabulary's 1"):
            other.encode_pairs("a", ["b"])
        self.assertEqual(len(other.encode_pairs("a", ["b"], padding=False).documents), 1)

    def test_errors(self):
        empty = tempfile.mkdtemp(dir=self.dir.name)
        with self.assertRaisesRegex(FileNotFoundError, "has no tokenizer.json, vocab.txt or vocab.json$"):
            rankfeed.Tokenizer.from_pretrained(empty)
        open(os.path.join(empty, "spiece.model"), "wb").close()
        with self.assertRaisesRegex(FileNotFoundError, "from_file takes its spiece.model, with the ids of SentencePiece"):
            rankfeed.Tokenizer.from_pretrained(empty)
        with self.assertRaisesRegex(ValueError, "has the token no such beside its tokenizer.json"):
            rankfeed.Tokenizer.from_pretrained(self.folder(pad_token="no such"))
        with self.assertRaisesRegex(ValueError, "padding_side is 'up'"):
            rankfeed.Tokenizer.from_pretrained(self.folder(padding_side="up"))
        folder = self.folder()
        with open(os.path.join(folder, "tokenizer_config.json"), "w", encoding="utf-8") as file:
            file.write("{")
        with self.assertRaisesRegex(ValueError, "tokenizer_config.json is no JSON"):
            rankfeed.Tokenizer.from_pretrained(folder)


class Bert(Case):
    LINES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "hello", "Hello", "##s", "\u00e9", "e", "\u4e2d", "world", "##ld", "wor"]
    TEXTS = ["Hello world, h\u00e9llos", "[MASK] \u4e2dworld", "E\u0301 hellos"]

    def bert(self, model_type="bert", written=None, **config):
        folder = tempfile.mkdtemp(dir=self.dir.name)
        def write(name, text):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        write("config.json", json.dumps({"model_type": model_type}))
        write("tokenizer_config.json", json.dumps(config))
        if written is None:
            write("vocab.txt", "\n".join(self.LINES))
        else:
            added = [{"id": i, "content": text, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
                     for i, text in enumerate(self.LINES[:5])]
            write("tokenizer.json", json.dumps({
                "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "pre_tokenizer": {"type": "BertPreTokenizer"},
                "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": written},
                "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}, "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
                "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                          "vocab": {text: i for i, text in enumerate(self.LINES)}}}))
        return folder

    def same(self, mine, theirs):
        self.assertEqual(set(mine.model_input_names), set(theirs.model_input_names))
        for kwargs in (dict(padding=True), dict(padding=True, truncation=True, max_length=6)):
            a, b = mine(self.TEXTS, self.TEXTS[::-1], **kwargs), theirs(self.TEXTS, self.TEXTS[::-1], **kwargs)
            self.assertEqual((list(a), a.data), (list(b), dict(b)), kwargs)

    def test_folders_with_a_vocab_txt(self):
        for model_type, config in (("bert", dict(do_lower_case=False)), ("bert", dict(do_lower_case=True, strip_accents=False)),
                                   ("bert", dict(do_lower_case=True, tokenizer_class="DistilBertTokenizer")),
                                   ("electra", dict(do_lower_case=True, tokenize_chinese_chars=False))):
            folder = self.bert(model_type, **config)
            with self.subTest(config=config), warnings.catch_warnings():
                warnings.simplefilter("error", UserWarning)
                self.same(rankfeed.Tokenizer.from_pretrained(folder), transformers.AutoTokenizer.from_pretrained(folder))
        with self.assertWarnsRegex(UserWarning, "no do_lower_case beside .*vocab.txt: it lowercases"):
            mine = rankfeed.Tokenizer.from_pretrained(self.bert())
        self.same(mine, transformers.AutoTokenizer.from_pretrained(self.bert()))
        cased = rankfeed.Tokenizer.from_file(os.path.join(self.bert(), "vocab.txt"), preset="bert-cased")
        self.assertEqual(cased.encode("Hello").ids, [2, 6, 3])
        self.assertEqual(cased.info["model"], "wordpiece")

    def test_both_truths(self):
        for written, config in ((False, {}), (True, dict(do_lower_case=False)), (True, {}), (False, dict(do_lower_case=False)),
                                (True, dict(tokenize_chinese_chars=False)), (True, dict(strip_accents=False))):
            folder = self.bert(written=written, tokenizer_class="BertTokenizer", **config)
            theirs = transformers.AutoTokenizer.from_pretrained(folder)
            with warnings.catch_warnings(record=True) as noted:
                warnings.simplefilter("always")
                mine = rankfeed.Tokenizer.from_pretrained(folder)
            self.assertEqual(noted_rebuilt(noted), bool(config) != ("do_lower_case" in config) or written != config.get("do_lower_case", True))
            self.same(mine, theirs)
            file = os.path.join(folder, "tokenizer.json")
            self.assertEqual(rankfeed.Tokenizer.from_file(file).encode("Hello").ids, tokenizers.Tokenizer.from_file(file).encode("Hello").ids)
            self.same(rankfeed.Tokenizer.from_transformers(theirs), theirs)
            wrapped = rankfeed.hf.wrap(transformers.AutoTokenizer.from_pretrained(folder))
            for texts in (self.TEXTS, [(a, b) for a in self.TEXTS for b in self.TEXTS]):
                self.assertEqual(wrapped(texts, padding=True).data, theirs(texts, padding=True).data)
            self.assertEqual(wrapped.rankfeed_fallbacks, {})


class Scores(Case):
    """What put_scores makes of logits, by the config.json of the folder."""
    LOGITS = [[0.5, -1.0], [2.0, 3.0], [-4.0, 0.25]]
    ONE = [0.5, 2.0, -4.0]
    ST = "torch.nn.modules.activation."

    def setUp(self):
        super().setUp()
        self.made = rankfeed.Tokenizer.from_pretrained(self.folder())

    def scores(self, config, logits, pickled=False, **options):
        """pickled: with a tokenizer of its own, which takes long to make; else with what its folder says."""
        folder = self.folder()
        if config is not None:
            with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
                json.dump({"model_type": "bert", **config}, file)
        if pickled:
            tok = pickle.loads(pickle.dumps(rankfeed.Tokenizer.from_pretrained(folder)))
        else:
            tok = self.made
            tok._scoring = rankfeed._folder.read_folder(folder).scoring
        request = tok.request("a", ["b", "c", "a b"])
        request.put_scores(request.next(), logits, **options)
        return [score for _, score in sorted(request.rank())]

    def near(self, got, want):
        self.assertEqual(len(got), len(want))
        for a, b in zip(got, want):
            self.assertAlmostEqual(a, b, 6)

    @staticmethod
    def sigmoid(values):
        return [1 / (1 + math.exp(-x)) for x in values]

    def test_several_labels(self):
        names = {"id2label": {"0": "no", "1": "yes"}}
        second = [b for _, b in self.LOGITS]
        share = self.sigmoid([b - a for a, b in self.LOGITS])
        for label in (1, "1", "yes"):
            self.near(self.scores(names, self.LOGITS, label=label), share)
            self.near(self.scores(names, self.LOGITS, label=label, activation="raw"), second)
            self.near(self.scores({**names, "problem_type": "multi_label_classification"}, self.LOGITS, label=label), self.sigmoid(second))
        self.near(self.scores({}, self.LOGITS, label="LABEL_0"), self.sigmoid([a - b for a, b in self.LOGITS]))
        self.near(self.scores(names, self.LOGITS, pickled=True, label="no"), self.sigmoid([a - b for a, b in self.LOGITS]))
        # The name comes before the number.
        self.near(self.scores({"id2label": {"0": "1", "1": "0"}}, self.LOGITS, label="0"), share)
        for options, words in ((dict(), r"logits has 2 labels \(no, yes\), and a ranking is by one; label must be its name or number"),
                               (dict(label="maybe"), "label is 'maybe'; it must be one of no, yes, or a number"),
                               (dict(label="2"), "label is '2'; it must be one of no, yes, or a number"),
                               (dict(label=2), "label is 2; it must be at most 1, the last label of logits")):
            with self.assertRaisesRegex(ValueError, words):
                self.scores(names, self.LOGITS, **options)

    def test_one_label(self):
        shares = self.sigmoid(self.ONE)
        for config, want in (
                (None, self.ONE), ({}, shares), ({"id2label": {"0": "LABEL_0"}}, shares),
                ({"sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity"}, self.ONE),
                ({"sbert_ce_default_activation_function": self.ST + "Sigmoid"}, shares),
                ({"sbert_ce_default_activation_function": self.ST + "Sigmoid",
                  "sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"}}, self.ONE)):
            self.near(self.scores(config, self.ONE), want)
            self.near(self.scores(config, [[x] for x in self.ONE]), want)
        self.near(self.scores({}, self.ONE, activation="raw"), self.ONE)
        other = {"sentence_transformers": {"activation_fn": self.ST + "Tanh"}}
        with self.assertRaisesRegex(ValueError, "config.json makes scores by .*Tanh; activation must be one of raw, sigmoid, softmax"):
            self.scores(other, self.ONE)
        self.near(self.scores(other, self.ONE, activation="sigmoid"), shares)


class Keys(Case):
    """Keys that change rows or scores: as AutoTokenizer of the folder, or as CrossEncoder of sentence-transformers 6.2."""

    def own(self, folder, name, data):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            json.dump(data, file)

    def test_split_special_tokens(self):
        text = "a</s> b <mask> c"
        for split in (True, False):
            folder = self.folder(split_special_tokens=split)
            mine, theirs = rankfeed.Tokenizer.from_pretrained(folder), transformers.AutoTokenizer.from_pretrained(folder)
            want = theirs(text)["input_ids"]
            for tokenizer in (mine, pickle.loads(pickle.dumps(mine))):
                self.assertEqual(tokenizer.split_special_tokens, split)
                self.assertEqual(tokenizer.encode(text).ids, want)
                self.assertEqual(tokenizer(text)["input_ids"], want)
                self.assertEqual(tokenizer.encode_pairs("x", [text])["input_ids"][0].tolist(), theirs("x", text)["input_ids"])
            other = theirs(text, split_special_tokens=not split)["input_ids"]
            self.assertNotEqual(other, want)
            self.assertEqual(mine(text, split_special_tokens=not split)["input_ids"], other)

    def test_sentence_transformers(self):
        folder = self.folder(model_max_length=20)
        self.own(folder, "modules.json", [{"type": "sentence_transformers.base.modules.transformer.Transformer", "path": ""}])
        self.own(folder, "config_sentence_transformers.json", {"model_type": "CrossEncoder", "prompts": {"q": "ab "}, "default_prompt_name": "q"})
        self.own(folder, "sentence_bert_config.json", {"max_seq_length": 12})
        mine = rankfeed.Tokenizer.from_pretrained(folder)
        plain = rankfeed.Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        docs = ["c", "abc " * 30]
        for tokenizer in (mine, pickle.loads(pickle.dumps(mine))):
            self.assertEqual(tokenizer.model_max_length, 12)
            for query in ("x", b"x"):
                self.assertEqual(tokenizer.encode_pairs(query, docs)["input_ids"].tolist(),
                                 plain.encode_pairs("ab x", docs, max_length=12)["input_ids"].tolist())
        self.assertEqual(rankfeed.Tokenizer.from_pretrained(folder, model_max_length=9).model_max_length, 9)
        self.own(folder, "sentence_bert_config.json", {"do_lower_case": True})
        self.assertEqual(rankfeed.Tokenizer.from_pretrained(folder).encode("ABC Abc").ids, plain.encode("abc abc").ids)

    def test_added_tokens(self):
        """added_tokens_decoder that lists fewer tokens than the file, or others; tests/folder/added_tokens_test.py has the program's doors."""
        rng = random.Random(61)
        for kind in sorted(small_tokenizers.NAMES) * 2:
            folder = tempfile.mkdtemp(dir=self.dir.name)
            file, config = small_tokenizers.drawn(kind, rng)
            small_tokenizers.write(folder, file, config)
            texts = small_tokenizers.texts(kind, rng)
            mine, theirs = rankfeed.Tokenizer.from_pretrained(folder), transformers.AutoTokenizer.from_pretrained(folder)
            with self.subTest(config=config):
                for again in (mine, pickle.loads(pickle.dumps(mine))):
                    self.assertEqual([again.encode(text).ids for text in texts], theirs(texts)["input_ids"])
                    self.assertEqual(again(texts)["input_ids"], theirs(texts)["input_ids"])
                    self.assertEqual([again.encode_pairs(texts[0], [text], padding=False)["input_ids"].tolist() for text in texts],
                                     [theirs(texts[0], text)["input_ids"] for text in texts])

    @unittest.skipUnless(os.path.exists(os.path.join(support.SHARED, "bpe", "qwen", "tokenizer.json")), "SKIPPED: no Qwen vocabulary in the shared data")
    def test_qwen3(self):
        """Qwen3's folder, whose tokenizer.json has no padding: its padding token is an added token, in rows of pairs and of a template."""
        folder, source = tempfile.mkdtemp(dir=self.dir.name), os.path.join(support.SHARED, "bpe", "qwen", "tokenizer.json")
        os.symlink(source, os.path.join(folder, "tokenizer.json"))
        self.own(folder, "tokenizer_config.json", {"tokenizer_class": "Qwen2Tokenizer", "pad_token": "<|endoftext|>", "eos_token": "<|im_end|>",
                                                   "add_bos_token": False, "model_max_length": 131072})
        query, docs = "What is a panda?", ["A bear.", "It eats bamboo, all day long."]
        mine, theirs = rankfeed.Tokenizer.from_pretrained(folder), transformers.AutoTokenizer.from_pretrained(folder)
        want = theirs([query] * 2, docs, padding=True)["input_ids"]
        self.assertIn(151643, want[0])
        self.assertEqual(mine.encode_pairs(query, docs)["input_ids"].tolist(), want)
        rows = mine.encode_pairs(query, docs, template="qwen3-reranker")["input_ids"].tolist()
        plain = rankfeed.Tokenizer.from_file(source)
        bare = [plain.encode_pairs(query, [doc], template="qwen3-reranker", padding=False)["input_ids"].tolist() for doc in docs]
        self.assertEqual(rows, [[151643] * (len(bare[1]) - len(row)) + row for row in bare])
        done = subprocess.run([os.environ["RANKFEED_PROGRAM"], "batch", "--vocab", folder, "--query", query, "--docs", "-", "--json", "--template", "qwen3-reranker"],
                              input="".join(doc + "\n" for doc in docs), capture_output=True, text=True, check=True)
        self.assertEqual(json.loads(done.stdout)["input_ids"], rows)

    def test_instruction(self):
        tokenizer = rankfeed.Tokenizer.from_pretrained(self.folder())
        with self.assertRaisesRegex(ValueError, "instruction is ''; it must be None, which is the template's own, or a text"):
            tokenizer.encode_pairs("a", ["b"], instruction="")

    def test_list(self):
        keys = rankfeed._core.folder_keys()
        self.assertIn(("sentence_bert_config.json", "max_seq_length", "obeyed", "tokens of a row", None), keys)
        self.assertEqual({rule for _, _, rule, _, _ in keys}, {"obeyed", "harmless", "refused"})


class FileDefaults(Case):
    def test_against_tokenizers(self):
        docs = [t for t in hf_models.texts(30, 4)]
        fixed = dict(PADDING, strategy={"Fixed": 20}, direction="Right", pad_to_multiple_of=None)
        cuts = (None, TRUNCATION, dict(TRUNCATION, direction="Right", stride=0, strategy="OnlyFirst"),
                dict(TRUNCATION, strategy="OnlySecond", direction="Right"))
        for cut, pad in itertools.product(cuts, (None, PADDING, fixed)):
            self.data.update(truncation=cut, padding=pad)
            path = os.path.join(self.folder(), "tokenizer.json")
            theirs = tokenizers.Tokenizer.from_file(path)
            with self.subTest(cut=cut, pad=pad):
                for mine in (rankfeed.Tokenizer.from_file(path, file_defaults=True),
                             rankfeed.Tokenizer.from_pretrained(os.path.dirname(path), file_defaults=True)):
                    single, pairs = cut is None or cut["strategy"] != "OnlySecond", list(zip(["a"] * 30, docs))
                    if cut is not None and cut["strategy"] == "OnlyFirst":
                        pairs = []  # documents alone are longer than the limit
                    if cut is not None and cut["strategy"] == "OnlySecond":
                        pairs = [p for p in pairs if len(p[1]) > 8]  # shorter ones cannot be cut: the batch fails there
                    windows = cut is None or cut["strategy"] == "OnlySecond"
                    for inputs in ([docs] if single else []) + ([pairs] if pairs else []):
                        for a, b in zip(mine.encode_batch(inputs), theirs.encode_batch(inputs)):
                            self.equal(a, b, windows or inputs is docs)
                    if single:
                        self.equal(mine.encode("abc " * 9), theirs.encode("abc " * 9), True)
                        self.equal(pickle.loads(pickle.dumps(mine)).encode("abc"), theirs.encode("abc"), True)
                plain = rankfeed.Tokenizer.from_file(path)  # leaves them aside
                theirs.no_truncation()
                theirs.no_padding()
                for a, b in zip(plain.encode_batch(docs), theirs.encode_batch(docs)):
                    self.equal(a, b, True)

    def test_command_line(self):
        """rankfeed encode --file-defaults: the first window of each text, with its pads."""
        docs = [" ".join(text.split()) for text in hf_models.texts(30, 4)] + ["", "abc " * 9]
        fixed = dict(PADDING, strategy={"Fixed": 20}, direction="Right", pad_to_multiple_of=None)
        right = dict(TRUNCATION, direction="Right", stride=0, strategy="OnlyFirst")
        for cut, pad, special in itertools.product((None, TRUNCATION, right), (None, PADDING, fixed), (True, False)):
            self.data.update(truncation=cut, padding=pad)
            path = os.path.join(self.folder(), "tokenizer.json")
            theirs = tokenizers.Tokenizer.from_file(path)
            command = [os.environ["RANKFEED_PROGRAM"], "encode", "--vocab", path, "--file-defaults", "--json"]
            done = subprocess.run(command + ["--special"] * special, input="\n".join(docs) + "\n", capture_output=True, text=True, check=True)
            with self.subTest(cut=cut, pad=pad, special=special):
                mine = [json.loads(line) for line in done.stdout.splitlines()]
                self.assertEqual(len(mine), len(docs))
                for a, text in zip(mine, docs):
                    b = theirs.encode(text, add_special_tokens=special)
                    self.assertEqual((a["ids"], a["special_tokens_mask"]), (b.ids, b.special_tokens_mask))
                    self.assertEqual([tuple(o) for o in a["offsets"]], b.offsets)

    def equal(self, mine, theirs, windows):
        for name in ("ids", "type_ids", "attention_mask", "special_tokens_mask", "offsets"):
            self.assertEqual(getattr(mine, name), getattr(theirs, name), name)
        self.assertEqual(len(mine), len(theirs))
        if windows:
            self.assertEqual([w.ids for w in mine.overflowing], [w.ids for w in theirs.overflowing])
            again = pickle.loads(pickle.dumps(mine))
            self.assertEqual((again.ids, again.attention_mask, [w.ids for w in again.overflowing]),
                             (mine.ids, mine.attention_mask, [w.ids for w in mine.overflowing]))

    def test_refused(self):
        with self.assertRaisesRegex(ValueError, "file_defaults is True; it must be False for .*, which is no tokenizer.json"):
            rankfeed.Tokenizer.from_file(hf_models.MODEL, file_defaults=True)


if __name__ == "__main__":
    unittest.main(verbosity=1)
