# SPDX-License-Identifier: MIT
"""rankfeed.hf.wrap against the tokenizer that it wraps, call for call: generated models of every Unigram class of
transformers and of every pipeline; changes after wrapping; padding, collators, pickles, threads, CrossEncoder."""

import copy
import json
import os
import pathlib
import pickle
import random
import sys
import tempfile
import threading
import unittest
import warnings

import numpy as np

os.environ["RUST_BACKTRACE"] = "0"
os.environ["HF_HUB_OFFLINE"] = "1"  # folders are all that is opened here
os.environ["TOKENIZERS_PARALLELISM"] = "false"  # of several errors in a batch the first one is raised, not any
try:
    import transformers
except ImportError:
    print("SKIPPED: the transformers wheel is not installed")
    sys.exit(77)
try:
    import torch
except ImportError:
    torch = None
try:
    import sentence_transformers
except ImportError:
    sentence_transformers = None
try:
    import datasets
except ImportError:
    datasets = None

import drawn_calls
import hf_models
import rankfeed
import rankfeed.hf

from support import SOURCE, SWEEP, needs

transformers.logging.set_verbosity_error()
OWN_ENCODING = ("LayoutXLMTokenizer", "MLukeTokenizer", "UdopTokenizer")


def quiet(function, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **kwargs)


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.dir.cleanup()

    def folder(self, data, kind="PreTrainedTokenizerFast", **config):
        return hf_models.write(tempfile.mkdtemp(dir=self.dir.name), data, kind, **config)

    def plain(self, seed=1, **config):
        """A tokenizer of XLM-R's kind."""
        data = dict(hf_models.pipelines(seed))["xlmr_a"]
        return transformers.AutoTokenizer.from_pretrained(self.folder(data, "XLMRobertaTokenizer", **config))

    def same(self, mine, theirs, what):
        """Two BatchEncodings: keys in order, values, types of values."""
        self.assertEqual(list(mine.keys()), list(theirs.keys()), what)
        for key, value in theirs.items():
            self.assertIs(type(mine[key]), type(value), (key, what))
            if isinstance(value, np.ndarray):
                self.assertEqual((mine[key].dtype, mine[key].shape), (value.dtype, value.shape), (key, what))
                self.assertEqual([np.asarray(x).tolist() for x in mine[key]], [np.asarray(x).tolist() for x in value], (key, what))
            elif torch is not None and isinstance(value, torch.Tensor):
                self.assertEqual((mine[key].dtype, mine[key].tolist()), (value.dtype, value.tolist()), (key, what))
            else:
                self.assertEqual(mine[key], value, (key, what))

    def both(self, mine, theirs, *args, **kwargs):
        """True: a result; False: both refused in the same words."""
        what = (str(args)[:200], kwargs)
        try:
            expected = quiet(theirs, *args, **kwargs)
        except BaseException as error:  # tokenizers' panics are no Exception
            if isinstance(error, KeyboardInterrupt):
                raise
            with self.assertRaises(type(error), msg=what) as caught:
                quiet(mine, *args, **kwargs)
            self.assertEqual(str(caught.exception), str(error), what)
            return False
        self.same(quiet(mine, *args, **kwargs), expected, what)
        return True

    def fuzz(self, mine, theirs, seed, rounds):
        rng = random.Random(seed)
        sample = hf_models.texts(40, seed)
        answered = 0
        for _ in range(rounds):
            answered += self.both(mine, theirs, *drawn_calls.inputs(rng, sample), **drawn_calls.options(rng))
        return answered

    def drawn(self, theirs, seed, rounds):
        """Calls of a rankfeed.Tokenizer that was made of theirs; how many both answer."""
        theirs.backend_tokenizer.encode_special_tokens = False  # the last call may have left it on
        mine = rankfeed.Tokenizer.from_transformers(theirs)
        answered = drawn_calls.draw_calls(self, mine, theirs, hf_models.texts(40, seed), random.Random(seed), rounds)
        theirs.backend_tokenizer.encode_special_tokens = False
        return answered


class Classes(Case):
    def test_every_unigram_class(self):
        found = hf_models.classes()
        self.assertGreaterEqual(len(found), 16, sorted(found))
        for name, kind in sorted(found.items()):
            for seed in (1, 2):
                pipelines = dict(hf_models.pipelines(seed))
                for pipeline in ("xlmr_a", "albert") if SWEEP else ("xlmr_a",) if seed == 1 else ("albert",):
                    folder = self.folder(pipelines[pipeline], name)
                    plain = kind.from_pretrained(folder)
                    with warnings.catch_warnings(record=True) as caught:
                        warnings.simplefilter("always")
                        mine = rankfeed.hf.wrap(plain)
                    if name in OWN_ENCODING:
                        self.assertIs(mine, plain)
                        self.assertEqual([str(w.message) for w in caught],
                                         [f"rankfeed does not accelerate {name}, which encodes in its own way; it is returned "
                                          "as it is"])
                        continue
                    self.assertEqual([str(w.message) for w in caught if "rankfeed" in str(w.message)], [])
                    self.assertIsInstance(mine, kind)
                    self.assertIsInstance(mine, transformers.PreTrainedTokenizerFast)
                    self.assertEqual((type(mine).__name__, mine.rankfeed_off), (name, None))
                    theirs = kind.from_pretrained(folder)
                    with self.subTest(kind=name, pipeline=pipeline):
                        self.assertGreater(self.fuzz(mine, theirs, seed, 60 if SWEEP else 30), 20 if SWEEP else 10)
                        self.assertGreater(self.drawn(theirs, seed, 600 if SWEEP else 30), 200 if SWEEP else 8)
                        # Ordinary calls did not reach the wrapped tokenizer.
                        fresh = rankfeed.hf.wrap(kind.from_pretrained(folder))
                        docs = hf_models.texts(30, seed + 9)
                        for kwargs in (dict(padding=True, truncation=True, return_tensors="np"), dict(max_length=20, truncation=True),
                                       dict(padding="max_length", truncation="only_second", max_length=32)):
                            self.same(fresh(["a b"] * 30, docs, **kwargs), theirs(["a b"] * 30, docs, **kwargs), kwargs)
                        self.assertEqual(fresh.rankfeed_fallbacks, {})

    def test_word_piece_classes(self):
        """Those that rebuild a file too: whatever it says, some lowercase by themselves."""
        for name in ("BertTokenizer", "BertTokenizerFast", "DistilBertTokenizer", "DistilBertTokenizerFast", "ElectraTokenizer", "FunnelTokenizer",
                     "MobileBertTokenizer", "MPNetTokenizer", "PreTrainedTokenizerFast", "SplinterTokenizer"):
            for seed, config in ((1, {}), (2, {"do_lower_case": False}), (3, {"tokenize_chinese_chars": False, "strip_accents": True})):
                folder = self.folder(hf_models.word_piece(seed), name, **config, **({"pad_token": "[PAD]"} if "PreTrained" in name else {}))
                kind = getattr(transformers, name)
                mine, theirs = quiet(rankfeed.hf.wrap, kind.from_pretrained(folder)), kind.from_pretrained(folder)
                with self.subTest(kind=name, seed=seed):
                    self.assertEqual((type(mine).__name__, mine.rankfeed_off), (kind.__name__, None))
                    self.assertGreater(self.fuzz(mine, theirs, seed, 30 if SWEEP else 10), 3)
                    self.assertGreater(self.drawn(theirs, seed, 300 if SWEEP else 15), 3)
                    fresh, docs = quiet(rankfeed.hf.wrap, kind.from_pretrained(folder)), hf_models.texts(30, seed + 9)
                    for kwargs in (dict(padding=True, truncation=True, return_tensors="np"), dict(padding="max_length", truncation="only_second", max_length=32)):
                        self.same(fresh(["a b"] * 30, docs, **kwargs), theirs(["a b"] * 30, docs, **kwargs), kwargs)
                    self.assertEqual(fresh.rankfeed_fallbacks, {})
                    ids = [encoding.ids for encoding in rankfeed.Tokenizer.from_transformers(theirs).encode_batch(docs)]
                    self.assertEqual(ids, theirs(docs)["input_ids"])

    def test_every_pipeline(self):
        off = []
        for name, data in hf_models.pipelines(3):
            folder = self.folder(data, pad_token="<pad>")
            theirs = transformers.PreTrainedTokenizerFast.from_pretrained(folder)
            mine = quiet(rankfeed.hf.wrap, transformers.PreTrainedTokenizerFast.from_pretrained(folder))
            with self.subTest(pipeline=name):
                self.fuzz(mine, theirs, 5, 25 if SWEEP else 12)
            if mine.rankfeed_off is not None:
                off.append((name, mine.rankfeed_off))
        self.assertEqual(off, [])

    def test_auto_tokenizer(self):
        folder = self.folder(dict(hf_models.pipelines(4))["t5_always"], "T5Tokenizer")
        mine, theirs = rankfeed.hf.AutoTokenizer.from_pretrained(folder), transformers.AutoTokenizer.from_pretrained(folder)
        self.assertIsInstance(mine, type(theirs))
        self.assertGreater(self.fuzz(mine, theirs, 6, 40), 15)
        again = type(mine).from_pretrained(folder)
        self.assertIsInstance(again, rankfeed.hf.Accelerated)
        self.assertEqual(again("a b c").data, theirs("a b c").data)
        self.assertIs(rankfeed.hf.wrap(mine), mine)
        with self.assertRaises(TypeError) as caught:
            rankfeed.hf.wrap("bge-reranker")
        self.assertIn("tokenizer is 'str'; it must be a PreTrainedTokenizerFast", str(caught.exception))


class Fallback(Case):
    def test_says_so_once(self):
        mine, theirs = rankfeed.hf.wrap(self.plain()), self.plain()
        for _ in range(3):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                self.same(mine(["a", "b c"], is_split_into_words=True), theirs(["a", "b c"], is_split_into_words=True), "")
            first = [str(w.message) for w in caught]
            self.assertEqual(first, ["rankfeed does not accelerate words split before (is_split_into_words); the wrapped "
                                     "tokenizer does such calls"] if _ == 0 else [])
            if _ == 0:
                self.assertEqual(caught[0].filename, __file__)
        self.assertEqual(mine.rankfeed_fallbacks, {"words split before (is_split_into_words)": 3})
        self.assertEqual(mine.tokenize("abc abd"), theirs.tokenize("abc abd"))
        self.assertEqual(mine.encode("abc", "b"), theirs.encode("abc", "b"))
        self.both(mine, theirs, [])
        self.both(mine, theirs, None)
        self.both(mine, theirs, ["a", 3])
        self.both(mine, theirs, [b"a"])
        self.both(mine, theirs, ["\ud800"])
        self.both(mine, theirs, ["a", ("b", "c")])
        self.both(mine, theirs, ["a"], ["b", "c"])
        self.both(mine, theirs, ["a"], "b")
        self.both(mine, theirs, "a", "")
        self.both(mine, theirs, ["a"], return_tensors="nonsense")
        self.both(mine, theirs, ["abc " * 40, "a"], ["b " * 40, "c"], truncation=True, return_overflowing_tokens=True, stride=3)

    def test_other_vocabularies(self):
        """A WordLevel model: everything goes to the wrapped tokenizer, which is said when it is wrapped."""
        data = {"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": None, "post_processor": None,
                "decoder": None, "model": {"type": "WordLevel", "vocab": {"a": 0, "<unk>": 1, "abab": 2}, "unk_token": "<unk>"}}
        plain = transformers.PreTrainedTokenizerFast.from_pretrained(self.folder(data))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            mine = rankfeed.hf.wrap(plain)
            self.assertEqual(mine("abab")["input_ids"], [2])
        self.assertEqual(len(caught), 1, [str(w.message) for w in caught])
        self.assertRegex(str(caught[0].message), r"rankfeed does not accelerate this vocabulary \(.*WordLevel.*\); the wrapped "
                                                 "tokenizer does all calls")
        self.assertIn("WordLevel", mine.rankfeed_off)


class Changes(Case):
    """Whatever is done to the tokenizer after it was wrapped, ids stay those of the wrapped one."""

    def equal(self, mine, theirs):
        docs = hf_models.texts(30, 7) + ["a <new> b", "xyz <extra>", "the"]
        self.same(mine(docs, padding=True), theirs(docs, padding=True), "")
        self.same(mine(docs, docs, truncation=True, max_length=16), theirs(docs, docs, truncation=True, max_length=16), "")
        self.assertEqual(mine.rankfeed_fallbacks, {})

    def test_changes(self):
        mine, theirs = rankfeed.hf.wrap(self.plain()), self.plain()
        self.equal(mine, theirs)
        for change in (lambda t: t.add_tokens(["<new>"]), lambda t: t.add_special_tokens({"mask_token": "<extra>"}),
                       lambda t: setattr(t, "padding_side", "left"), lambda t: setattr(t, "truncation_side", "left"),
                       lambda t: setattr(t, "model_max_length", 12), lambda t: setattr(t, "pad_token", "<new>"),
                       lambda t: setattr(t, "model_input_names", ["input_ids", "token_type_ids"]),
                       lambda t: setattr(t.backend_tokenizer, "normalizer", __import__("tokenizers").normalizers.Lowercase()),
                       lambda t: setattr(t, "add_eos_token", True), lambda t: setattr(t, "split_special_tokens", True)):
            change(mine)
            change(theirs)
            self.equal(mine, theirs)
        self.assertEqual(len(mine), len(theirs))
        self.assertEqual(mine.convert_tokens_to_ids(["<new>", "\u2581a", "no such"]),
                         theirs.convert_tokens_to_ids(["<new>", "\u2581a", "no such"]))

    def test_languages(self):
        for name in ("MBartTokenizer", "MBart50Tokenizer"):
            kind = hf_models.classes()[name]
            folder = self.folder(dict(hf_models.pipelines(2))["mbart"], name, src_lang="en_XX", tgt_lang="ro_RO")
            mine, theirs = rankfeed.hf.wrap(kind.from_pretrained(folder)), kind.from_pretrained(folder)
            self.equal(mine, theirs)
            for tok in (mine, theirs):
                tok.src_lang = "ro_RO"
            self.equal(mine, theirs)
            self.same(mine("abc", text_target="ab"), theirs("abc", text_target="ab"), name)
            self.equal(mine, theirs)

    def test_saved_and_trained(self):
        mine, theirs = rankfeed.hf.wrap(self.plain()), self.plain()
        mine.add_tokens(["<new>"])
        theirs.add_tokens(["<new>"])
        folder = tempfile.mkdtemp(dir=self.dir.name)
        mine.save_pretrained(folder)
        again = transformers.AutoTokenizer.from_pretrained(folder)
        self.assertIs(type(again), type(theirs))
        docs = hf_models.texts(30, 8)
        self.assertEqual(again(docs).data, theirs(docs).data)
        trained = mine.train_new_from_iterator(docs * 3, 80)
        self.assertIsInstance(trained, rankfeed.hf.Accelerated)
        self.same(trained(docs), rankfeed.hf._plain(trained)(docs), "")
        self.assertEqual(trained.rankfeed_fallbacks, {})


class Uses(Case):
    def setUp(self):
        self.theirs = self.plain()
        self.mine = rankfeed.hf.wrap(self.plain())

    def test_encodings_are_made_when_asked_for(self):
        docs = ["abc abd", "the <mask> e\u0301"]
        for kwargs in ({}, dict(padding=True, return_tensors="np"), dict(truncation=True, max_length=5)):
            mine, theirs = self.mine(docs, ["b"] * 2, **kwargs), self.theirs(docs, ["b"] * 2, **kwargs)
            self.assertTrue(mine.is_fast)
            self.assertEqual(mine.n_sequences, theirs.n_sequences)
            self.assertIsNone(mine._made)
            for i in range(2):
                self.assertEqual(mine.tokens(i), theirs.tokens(i))
                self.assertEqual(mine.word_ids(i), theirs.word_ids(i))
                self.assertEqual(mine.sequence_ids(i), theirs.sequence_ids(i))
                self.assertEqual(mine[i].offsets, theirs[i].offsets)
                self.assertEqual(mine.char_to_token(i, 1), theirs.char_to_token(i, 1))
            self.assertEqual(copy.copy(mine).data.keys(), theirs.data.keys())

    def test_pad_and_collate(self):
        rows = [self.mine(t, truncation=True) for t in ("abc", "the e", "a " * 20)]
        theirs = [self.theirs(t, truncation=True) for t in ("abc", "the e", "a " * 20)]
        self.same(self.mine.pad(rows, return_tensors="np"), self.theirs.pad(theirs, return_tensors="np"), "")
        for kind in ["np"] + (["pt"] if torch is not None else []):
            collate = [transformers.DataCollatorWithPadding(t, return_tensors=kind) for t in (self.mine, self.theirs)]
            self.same(collate[0](rows), collate[1](theirs), kind)

    def test_decode(self):
        ids = self.mine("abc <mask> the")["input_ids"]
        self.assertEqual(self.mine.decode(ids), self.theirs.decode(ids))
        self.assertEqual(self.mine.batch_decode([ids, ids[:2]], skip_special_tokens=True),
                         self.theirs.batch_decode([ids, ids[:2]], skip_special_tokens=True))
        self.assertEqual(self.mine.convert_ids_to_tokens(ids), self.theirs.convert_ids_to_tokens(ids))
        self.assertEqual(self.mine.convert_tokens_to_string(["\u2581a", "b"]), self.theirs.convert_tokens_to_string(["\u2581a", "b"]))
        self.assertFalse(self.mine._rankfeed_engine.suspect)  # none of these makes the next call look again

    def test_pickle_and_copies(self):
        docs = hf_models.texts(20, 3)
        expected = self.theirs(docs).data
        self.mine.add_tokens(["<new>"])
        for again in (pickle.loads(pickle.dumps(self.mine)), copy.deepcopy(self.mine), copy.copy(self.mine)):
            self.assertIsInstance(again, rankfeed.hf.Accelerated)
            self.assertEqual(again(docs).data, expected)
            self.assertEqual(again("<new>")["input_ids"], self.mine("<new>")["input_ids"])
            self.assertEqual(again.rankfeed_fallbacks, {})
        batch = self.mine(docs, padding=True, return_tensors="np")
        again = pickle.loads(pickle.dumps(batch))
        self.assertEqual(again["input_ids"].tolist(), batch["input_ids"].tolist())
        self.assertEqual((again.is_fast, again.n_sequences), (False, 1))
        batch.tokens(0)
        self.assertEqual(pickle.loads(pickle.dumps(batch)).tokens(0), batch.tokens(0))

    def test_too_long_is_said(self):
        with self.assertLogs("transformers", "WARNING") as mine:
            transformers.logging.set_verbosity_warning()
            self.mine(["a", "abc " * 60])
        with self.assertLogs("transformers", "WARNING") as theirs:
            self.theirs(["a", "abc " * 60])
        transformers.logging.set_verbosity_error()
        self.assertEqual([r.getMessage() for r in mine.records], [r.getMessage() for r in theirs.records])

    def test_threads(self):
        """16 threads with different options, some of which fall back, and decoding between: what one thread gets alone."""
        docs = hf_models.texts(30, 11)
        calls = [dict(padding=True, truncation=True, max_length=n, return_tensors="np") for n in (6, 12, 20)]
        calls += [dict(truncation="only_second", max_length=9), dict(is_split_into_words=False, return_overflowing_tokens=True,
                                                                     truncation=True, max_length=8)]
        expected = [quiet(self.theirs, ["a b"] * 30, docs, **c) for c in calls]
        failures, barrier = [], threading.Barrier(16)

        def work(seed):
            rng = random.Random(seed)
            barrier.wait()
            try:
                for _ in range(60 if SWEEP else 20):
                    i = rng.randrange(len(calls))
                    self.same(self.mine(["a b"] * 30, docs, **calls[i]), expected[i], calls[i])
                    self.mine.decode(expected[-2]["input_ids"][0])
                    self.mine.pad({"input_ids": [[1, 2], [3]]})
            except BaseException as error:
                failures.append(repr(error)[:500])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            threads = [threading.Thread(target=work, args=(i,)) for i in range(16)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(failures, [])
        self.assertEqual(list(self.mine.rankfeed_fallbacks), ["windows of both texts of a pair"])

    @needs(torch, "torch")
    def test_torch(self):
        docs = hf_models.texts(20, 4)
        for kwargs in (dict(padding=True), dict(padding=True, return_offsets_mapping=True, return_length=True),
                       dict(padding=True, truncation=True, max_length=9, return_overflowing_tokens=True)):
            self.both(self.mine, self.theirs, docs, return_tensors="pt", **kwargs)
        self.both(self.mine, self.theirs, docs, return_tensors="pt")
        moved = self.mine(docs, padding=True, return_tensors="pt").to("cpu")
        self.assertIsInstance(moved, transformers.BatchEncoding)
        self.assertEqual(moved["input_ids"].dtype, torch.int64)
        loader = torch.utils.data.DataLoader(
            [dict(self.mine(t, padding="max_length", truncation=True, max_length=8)) for t in docs], batch_size=4,
            collate_fn=transformers.DataCollatorWithPadding(self.mine), num_workers=2)
        self.assertEqual([b["input_ids"].shape for b in loader], [(4, 8)] * 5)

    @needs(datasets, "datasets")
    def test_datasets_map(self):
        from datasets.fingerprint import Hasher
        before = Hasher.hash(self.mine)
        self.mine(["a", "b c"], padding=True, truncation=True)
        self.assertEqual(Hasher.hash(self.mine), before)  # so that map finds what it has cached
        table = datasets.Dataset.from_dict({"text": hf_models.texts(40, 5)})
        rows = [table.map(lambda row, tok=tok: tok(row["text"], truncation=True), batched=True, num_proc=2)["input_ids"]
                for tok in (self.mine, self.theirs)]
        self.assertEqual(list(rows[0]), list(rows[1]))

    def model(self):
        """A folder with a tokenizer and a small cross-encoder with random weights."""
        sys.path.insert(0, os.path.join(SOURCE, "tests", "serve"))
        import random_model
        folder = self.folder(dict(hf_models.pipelines(1))["xlmr_a"], "XLMRobertaTokenizer")
        random_model.write(folder, len(self.theirs), self.theirs.pad_token_id)
        return folder

    def bert_model(self):
        """The same of BERT's kind, with a vocab.txt."""
        sys.path.insert(0, os.path.join(SOURCE, "tests", "gpu_handoff", "crossencoder", "forward"))
        import numpy_models
        letters = sorted(set(hf_models.LETTERS))
        pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *("##" + x for x in letters), "the", "##bc"]
        config, tensors = numpy_models.make("bert", len(pieces), 32, 2, 4, 48, 40, rng=np.random.default_rng(3))
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.dir.name))
        numpy_models.save(folder, config, tensors)
        (folder / "vocab.txt").write_text("\n".join(pieces), encoding="utf-8")
        (folder / "tokenizer_config.json").write_text(json.dumps(
            {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 40}), encoding="utf-8")
        return str(folder)

    @needs(torch, "torch")
    def test_pipeline(self):
        docs, folder = hf_models.texts(40, 9), self.model()
        for task, inputs, options in (
                ("text-classification", [d for d in docs if d], dict(batch_size=8, padding=True, truncation=True)),
                ("text-classification", [{"text": "abc the", "text_pair": d} for d in docs], dict(batch_size=8, truncation=True)),
                ("feature-extraction", docs[:8], dict(tokenize_kwargs=dict(truncation=True)))):
            plain = transformers.AutoTokenizer.from_pretrained(folder)
            wrapped = rankfeed.hf.wrap(transformers.AutoTokenizer.from_pretrained(folder))
            answers = [transformers.pipeline(task, model=folder, tokenizer=tokenizer, device="cpu")(inputs, **options)
                       for tokenizer in (wrapped, plain)]
            self.assertEqual(answers[0], answers[1], task)
            self.assertEqual(wrapped.rankfeed_fallbacks, {})

    @needs(sentence_transformers, "sentence-transformers")
    def test_sentence_transformer(self):
        model = sentence_transformers.SentenceTransformer(self.model(), device="cpu")  # with mean pooling
        docs = hf_models.texts(60, 10)
        expected = {size: model.encode(docs, batch_size=size) for size in (32, 7)}
        if hasattr(model[0], "processor"):  # since 6.0
            model[0].processor = rankfeed.hf.wrap(model[0].processor)
        else:
            model.tokenizer = rankfeed.hf.wrap(model.tokenizer)
        self.assertIsInstance(model.tokenizer, rankfeed.hf.Accelerated)
        for size, vectors in expected.items():
            np.testing.assert_array_equal(model.encode(docs, batch_size=size), vectors)
        self.assertEqual(model.tokenizer.rankfeed_fallbacks, {})
        self.assertGreater(np.ptp(expected[32]), 0.01)

    @needs(sentence_transformers, "sentence-transformers")
    def test_cross_encoder(self):
        for folder in (self.model(), self.bert_model()):
            model = sentence_transformers.CrossEncoder(folder, device="cpu")
            docs = hf_models.texts(60, 6)
            pairs = [("abc the", d) for d in docs]
            expected = model.predict(pairs)
            ranking = model.rank("abc the", docs)
            if hasattr(model[0], "processor"):  # since 6.0
                model[0].processor = rankfeed.hf.wrap(model[0].processor)
            else:
                model.tokenizer = rankfeed.hf.wrap(model.tokenizer)
            self.assertIsInstance(model.tokenizer, rankfeed.hf.Accelerated)
            np.testing.assert_array_equal(model.predict(pairs), expected)
            self.assertEqual(model.rank("abc the", docs), ranking)
            self.assertEqual(model.tokenizer.rankfeed_fallbacks, {})
            self.assertGreater(np.ptp(expected), 0.01)


if __name__ == "__main__":
    unittest.main(verbosity=1)
