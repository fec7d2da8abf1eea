# SPDX-License-Identifier: MIT
"""rankfeed.CrossEncoder against the command line, bit for bit, and, where it is installed, against the class of
sentence-transformers that it is named after, argument for argument; and what is refused, interrupted and forked."""

import inspect
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
import unittest.mock
import warnings

import numpy as np

os.environ["HF_HUB_OFFLINE"] = "1"  # folders are all that is opened here
os.environ["TOKENIZERS_PARALLELISM"] = "false"
try:
    import sentence_transformers
    import torch
except ImportError:
    sentence_transformers = torch = None

import rankfeed
import support

sys.path.insert(0, os.path.join(support.SOURCE, "tests", "serve"))
import random_model  # noqa: E402

FACTS = rankfeed.Tokenizer.from_file(support.hf_file("roberta")).info
PROGRAM = os.environ.get("RANKFEED_PROGRAM", "rankfeed")
QUERY = "What is a panda?"
DOCS = ["A panda is a bear.", "It eats bamboo, all day long.", "", "bamboo " * 90, "Die Hauptstadt: Berlin", "panda</s>bear", "bear " * 400]
WITHIN = 2e-5  # of sentence-transformers' scores
# What sentence-transformers 6 writes beside a cross-encoder.
BESIDE = {"modules": [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.base.modules.transformer.Transformer", "kwargs": []}],
          "config_sentence_transformers": {"model_type": "CrossEncoder", "activation_fn": "torch.nn.modules.linear.Identity",
                                           "prompts": {"query": "query: ", "other": "Find: "}, "default_prompt_name": "query"},
          "sentence_bert_config": {"transformer_task": "sequence-classification", "module_output_name": "scores", "max_seq_length": 24, "do_lower_case": True,
                                   "modality_config": {"text": {"method": "forward", "method_output_name": "logits"}}}}


def folder_of(parent, **options):
    """A cross-encoder of random weights with the default vocabulary, and what stands beside them."""
    beside = {name: options.pop(name) for name in BESIDE if name in options}
    folder = tempfile.mkdtemp(dir=parent)
    with open(support.hf_file("roberta"), "rb") as file:
        tokenizer = file.read()
    beside["tokenizer_config"] = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 64, "pad_token": "<pad>",
                                  **options.pop("tokenizer", {})}
    random_model.write(folder, FACTS["id_count"], FACTS["pad_id"], **options)
    for name, data in beside.items():
        with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as file:
            json.dump(data, file)
    with open(os.path.join(folder, "tokenizer.json"), "wb") as file:
        file.write(tokenizer)
    return folder


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        parent = tempfile.TemporaryDirectory()
        cls.addClassCleanup(parent.cleanup)
        cls.parent = parent.name
        cls.folder = folder_of(cls.parent)
        cls.model = rankfeed.CrossEncoder(cls.folder, threads=2)


class CrossEncoder(Case):
    def test_scores_are_the_command_lines(self):
        path = os.path.join(self.parent, "docs.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps({"id": str(i), "text": text}) + "\n" for i, text in enumerate(DOCS))
        for length in (64, 16):
            done = subprocess.run([PROGRAM, "rerank", "--model", self.folder, "--query", QUERY, "--docs", path, "--max-length", str(length), "--json"],
                                  capture_output=True, text=True, check=True)
            model = rankfeed.CrossEncoder(self.folder, max_length=length)
            ranked = [(place["corpus_id"], np.float32(place["score"])) for place in model.rank(QUERY, DOCS)]
            self.assertEqual(ranked, [(place["index"], np.float32(place["score"])) for place in json.loads(done.stdout)["results"]])

    def test_scores_depend_on_nothing_but_texts(self):
        queries = [QUERY, "bear", "", QUERY]
        lists = [DOCS, DOCS[:2], [], DOCS[3:]]
        alone = [self.model.rank(query, docs) for query, docs in zip(queries, lists)]
        self.assertEqual(self.model.rank(queries, lists), alone)
        pairs = [(query, text) for query, docs in zip(queries, lists) for text in docs]
        want = [place["score"] for places in alone for place in sorted(places, key=lambda place: place["corpus_id"])]
        for batch_size, threads in ((1, 1), (2, 2), (1000, 3)):
            model = rankfeed.CrossEncoder(self.folder, threads=threads)
            self.assertEqual(model.predict(pairs, batch_size=batch_size).tolist(), want)
        self.assertEqual(self.model.predict(pairs[0]), np.float32(want[0]))
        self.assertEqual(self.model.predict(np.array(pairs)).tolist(), want)

    def test_rank_returns_what_it_is_asked_for(self):
        places = self.model.rank(QUERY, DOCS, top_k=2, return_documents=True)
        self.assertEqual([place["text"] for place in places], [DOCS[place["corpus_id"]] for place in places])
        self.assertEqual(len(places), 2)
        self.assertEqual(self.model.rank(QUERY, []), [])
        self.assertEqual(self.model.rank([], []), [])
        self.assertEqual(self.model.predict([]).shape, (0,))

    def test_equal_scores_keep_the_order_of_logits(self):
        def heavier(tensors):
            tensors["classifier.out_proj.weight"] *= 4000
            tensors["classifier.out_proj.bias"] += 1e5
        model = rankfeed.CrossEncoder(folder_of(self.parent, change=heavier))
        logits = model.predict([(QUERY, text) for text in DOCS], activation_fn="Identity")
        places = model.rank(QUERY, DOCS)
        self.assertEqual({place["score"] for place in places}, {1.0})
        self.assertEqual([place["corpus_id"] for place in places], np.argsort(-logits, kind="stable").tolist())

    def test_activations(self):
        pairs = [(QUERY, text) for text in DOCS]
        logits = self.model.predict(pairs, activation_fn="Identity")
        for activation, want in ((None, 1 / (1 + np.exp(-logits.astype("f8")))), ("torch.nn.modules.activation.Sigmoid", 1 / (1 + np.exp(-logits.astype("f8")))),
                                 (lambda x: x * 2, logits * 2), (lambda x: x[:, 0].tolist(), logits), ("Softmax", np.ones(len(DOCS)))):
            np.testing.assert_allclose(self.model.predict(pairs, activation_fn=activation), want, rtol=1e-6)
        names = {"activation_fn": "torch.nn.modules.linear.Identity", "version": "5.0.0"}
        np.testing.assert_array_equal(rankfeed.CrossEncoder(folder_of(self.parent, sentence_transformers=names)).predict(pairs), logits)
        several = rankfeed.CrossEncoder(folder_of(self.parent, labels=("no", "maybe", "yes")))
        logits = several.predict(pairs)
        self.assertEqual(logits.shape, (len(pairs), 3))
        shares = several.predict(pairs, apply_softmax=True)
        np.testing.assert_allclose(shares, several.predict(pairs, activation_fn="Softmax"))
        np.testing.assert_allclose(shares, np.exp(logits) / np.exp(logits).sum(1, keepdims=True), rtol=1e-5)
        self.assertEqual((several.num_labels, several.config.id2label[2], several.config.num_labels), (3, "yes", 3))
        with self.assertRaisesRegex(ValueError, "rank.. needs a model of one label"):
            several.rank(QUERY, DOCS)

    def test_prompts(self):
        want = self.model.predict([("query: " + QUERY, DOCS[0])])
        self.assertEqual(self.model.predict([(QUERY, DOCS[0])], prompt="query: "), want)
        model = rankfeed.CrossEncoder(self.folder, prompts={"query": "query: "}, default_prompt_name="query")
        self.assertEqual(model.predict([(QUERY, DOCS[0])]), want)
        self.assertEqual(model.predict([(QUERY, DOCS[0])], prompt=""), self.model.predict([(QUERY, DOCS[0])]))
        with self.assertRaisesRegex(ValueError, "prompt_name is 'passage'"):
            model.predict([(QUERY, DOCS[0])], prompt_name="passage")
        with self.assertRaisesRegex(ValueError, "default_prompt_name"):
            rankfeed.CrossEncoder(self.folder, default_prompt_name="query")

    def test_files_of_sentence_transformers(self):
        """Activation, prompt (once), length and case, as the command line takes them; arguments come first."""
        folder = folder_of(self.parent, **BESIDE)
        plain = rankfeed.CrossEncoder(self.folder, max_length=24, activation_fn="Identity")
        pairs = [(QUERY, text) for text in DOCS]
        for model, prompt in ((rankfeed.CrossEncoder(folder), "query: "), (rankfeed.CrossEncoder(folder, default_prompt_name="other"), "find: "),
                              (pickle.loads(pickle.dumps(rankfeed.CrossEncoder(folder))), "query: ")):
            self.assertEqual(model.max_seq_length, 24)
            want = plain.predict([((prompt + QUERY).lower(), text.lower()) for text in DOCS])
            self.assertEqual(model.predict(pairs).tolist(), want.tolist())
        model = rankfeed.CrossEncoder(folder)
        path = os.path.join(self.parent, "docs.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps({"id": str(i), "text": text}) + "\n" for i, text in enumerate(DOCS))
        done = subprocess.run([PROGRAM, "rerank", "--model", folder, "--query", QUERY, "--docs", path, "--json"], capture_output=True, text=True, check=True)
        self.assertEqual([(place["corpus_id"], np.float32(place["score"])) for place in model.rank(QUERY, DOCS)],
                         [(place["index"], np.float32(place["score"])) for place in json.loads(done.stdout)["results"]])
        longer = rankfeed.CrossEncoder(folder, max_length=40, activation_fn="Sigmoid")
        self.assertEqual(longer.max_seq_length, 40)
        self.assertNotEqual(longer.predict(pairs).tolist(), model.predict(pairs).tolist())

    def test_side_of_cuts(self):
        """truncation_side of tokenizer_config.json, as the command line and sentence-transformers' class cut by it."""
        text = "bear " * 40 + "bamboo " * 40
        scores = {}
        for side in ("right", "left"):
            folder = folder_of(self.parent, tokenizer={"truncation_side": side})
            done = subprocess.run([PROGRAM, "rerank", "--model", folder, "--query", QUERY, "--docs", "-", "--json"], input=text + "\n", capture_output=True,
                                  text=True, check=True)
            scores[side] = rankfeed.CrossEncoder(folder).predict([(QUERY, text)]).tolist()
            self.assertEqual(scores[side], [np.float32(place["score"]) for place in json.loads(done.stdout)["results"]])
        self.assertNotEqual(scores["left"], scores["right"])

    def test_attributes(self):
        model = rankfeed.CrossEncoder(self.folder)
        self.assertEqual((model.max_seq_length, model.num_labels, model.device, model.config.model_type), (64, 1, "cpu", "xlm-roberta"))
        long = model.predict([(QUERY, DOCS[3])])
        model.max_seq_length = 20
        self.assertNotEqual(model.predict([(QUERY, DOCS[3])]), long)
        self.assertEqual(model.predict([(QUERY, DOCS[3])]), rankfeed.CrossEncoder(self.folder, max_length=20).predict([(QUERY, DOCS[3])]))
        with self.assertWarns(DeprecationWarning):
            self.assertEqual(model.max_length, 20)
        with self.assertRaises(ValueError):
            model.max_seq_length = 3
        self.assertRegex(repr(model), r"^CrossEncoder\('.*', xlm-roberta, 2 layers of 32, labels=1, dtype=float32, products='.+', isa=\S+, max_seq_length=20, threads=\d+\)$")
        again = pickle.loads(pickle.dumps(model))
        self.assertEqual((again.max_seq_length, again.rank(QUERY, DOCS)), (20, model.rank(QUERY, DOCS)))

    def test_deprecated_names(self):
        with self.assertWarns(DeprecationWarning):
            model = rankfeed.CrossEncoder(model_name=self.folder, automodel_args={"torch_dtype": "float32"}, default_activation_function="Identity")
        with self.assertWarns(DeprecationWarning):
            self.assertEqual(rankfeed.CrossEncoder(self.folder, 1, 20).max_seq_length, 20)
        pairs = [(QUERY, text) for text in DOCS]
        with self.assertWarns(DeprecationWarning):
            got = model.predict(sentences=pairs, activation_fct="Sigmoid", num_workers=2)
        self.assertEqual(got.tolist(), self.model.predict(pairs).tolist())
        with self.assertWarns(DeprecationWarning):
            self.assertEqual(self.model.rank(QUERY, DOCS, convert_to_numpy=True, apply_softmax=True), self.model.rank(QUERY, DOCS))

    def test_a_bar_counts_the_pairs(self):
        bars = []

        class Bar:
            def __init__(self, **options):
                self.options, self.n, self.closed = options, 0, False
                bars.append(self)

            def update(self, count):
                self.n += count

            def close(self):
                self.closed = True
        modules = {"tqdm": types.ModuleType("tqdm"), "tqdm.auto": types.ModuleType("tqdm.auto")}
        modules["tqdm.auto"].tqdm = Bar
        before = {name: sys.modules.pop(name, None) for name in modules}
        sys.modules.update(modules)
        try:
            self.model.rank(QUERY, DOCS, show_progress_bar=True)
            self.model.rank(QUERY, DOCS, show_progress_bar=False)
            self.assertEqual([(bar.options["total"], bar.n, bar.closed) for bar in bars], [(len(DOCS), len(DOCS), True)])
            sys.modules["tqdm.auto"] = None
            with self.assertWarnsRegex(UserWarning, "tqdm is not installed"):
                self.model.rank(QUERY, DOCS, show_progress_bar=True)
        finally:
            for name, module in before.items():
                del sys.modules[name]
                if module is not None:
                    sys.modules[name] = module


class BadInput(Case):
    def test_a_wheel_without_the_forward_pass_says_so(self):
        """As those for macOS and Windows are (packaging/wheels/pack.py)."""
        with unittest.mock.patch.object(rankfeed._cross_encoder, "_core", types.SimpleNamespace()):
            self.assertRaisesRegex(rankfeed.RankfeedError, "this wheel has no forward pass", rankfeed.CrossEncoder, self.folder)

    def test_arguments_are_named(self):
        model, pair = self.model, [(QUERY, "a")]
        for error, words, call in (
                (TypeError, "query is None", lambda: model.rank(None, DOCS)), (TypeError, "documents is None", lambda: model.rank(QUERY, None)),
                (TypeError, "documents is one str", lambda: model.rank(QUERY, "text")), (TypeError, r"documents\[1\] is None", lambda: model.rank(QUERY, ["a", None])),
                (TypeError, r"documents\[0\] is an int", lambda: model.rank(QUERY, [1])), (TypeError, "list of lists", lambda: model.rank([QUERY], ["a"])),
                (ValueError, "2 queries and 1 lists", lambda: model.rank(["a", "b"], [["a"]])), (ValueError, "top_k is -1", lambda: model.rank(QUERY, DOCS, top_k=-1)),
                (TypeError, "inputs is None", lambda: model.predict(None)), (TypeError, "inputs is 'ab'", lambda: model.predict("ab")),
                (TypeError, r"inputs\[0\] is .*pair", lambda: model.predict([("a", "b", "c")])), (TypeError, "is an int", lambda: model.predict([("a", 3)])),
                (UnicodeEncodeError, r"\[0\]", lambda: model.predict([("a\ud800", "b")])), (ValueError, "device is 'cuda'", lambda: model.predict(pair, device="cuda")),
                (ValueError, "device is ", lambda: model.predict(pair, device=["cpu", "cpu"])), (ValueError, "pool is", lambda: model.predict(pair, pool={"processes": []})),
                (ValueError, "batch_size is 0", lambda: model.predict(pair, batch_size=0)), (TypeError, "batch_size is '8'", lambda: model.predict(pair, batch_size="8")),
                (TypeError, "did you mean batch_size", lambda: model.predict(pair, bath_size=8)), (TypeError, "prompt is 1", lambda: model.predict(pair, prompt=1)),
                (TypeError, "activation_fn is 3", lambda: model.predict(pair, activation_fn=3)), (ValueError, "activation_fn is 'Tanh'", lambda: model.predict(pair, activation_fn="Tanh")),
                (ValueError, "activation_fn gave", lambda: model.predict(pair, activation_fn=lambda x: 1.0)), (AttributeError, "start_multi_process_pool", lambda: model.start_multi_process_pool()),
                (ValueError, r"documents\[1\] has 400000 bytes, with a stretch", lambda: model.rank(QUERY, ["a", "a" * 400_000])),
                (TypeError, "model_name_or_path is None", lambda: rankfeed.CrossEncoder()), (FileNotFoundError, "is no folder", lambda: rankfeed.CrossEncoder("cross-encoder/none")),
                (ValueError, "device is 'cuda:0'", lambda: rankfeed.CrossEncoder(self.folder, device="cuda:0")), (ValueError, "backend is 'onnx'", lambda: rankfeed.CrossEncoder(self.folder, backend="onnx")),
                (ValueError, "modules is", lambda: rankfeed.CrossEncoder(self.folder, modules=[1])), (ValueError, "num_labels is 2", lambda: rankfeed.CrossEncoder(self.folder, num_labels=2)),
                (ValueError, "dtype of model_kwargs is 'float16'", lambda: rankfeed.CrossEncoder(self.folder, model_kwargs={"torch_dtype": "float16"})),
                (ValueError, "config_kwargs has hidden_act", lambda: rankfeed.CrossEncoder(self.folder, config_kwargs={"hidden_act": "relu"})),
                (ValueError, "max_seq_length is 2", lambda: rankfeed.CrossEncoder(self.folder, max_length=2)), (TypeError, "threads is 'two'", lambda: rankfeed.CrossEncoder(self.folder, threads="two"))):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                call()
        self.assertEqual(len(model.rank(QUERY, DOCS)), len(DOCS))

    @unittest.skipIf(torch is not None, "torch is installed")
    def test_tensors_need_torch(self):
        for arguments in ({"convert_to_tensor": True}, {"convert_to_numpy": False}):
            with self.assertRaisesRegex(ImportError, "needs torch"):
                self.model.predict([(QUERY, "a")], **arguments)

    def test_folders(self):
        for error, words, change in (
                (FileNotFoundError, "config.json", lambda folder: os.remove(os.path.join(folder, "config.json"))),
                (FileNotFoundError, "safetensors", lambda folder: os.remove(os.path.join(folder, "model.safetensors"))),
                (FileNotFoundError, "tokenizer.json", lambda folder: os.remove(os.path.join(folder, "tokenizer.json"))),
                (ValueError, "config.json is no JSON", lambda folder: open(os.path.join(folder, "config.json"), "w").close()),
                (rankfeed.RankfeedError, "model.safetensors", lambda folder: open(os.path.join(folder, "model.safetensors"), "w").close()),
                (rankfeed.RankfeedError, "XLMRobertaModel", lambda folder: self.change(folder, architectures=["XLMRobertaModel"])),
                (rankfeed.RankfeedError, "hidden_size", lambda folder: self.change(folder, hidden_size="32"))):
            folder = folder_of(self.parent)
            change(folder)
            with self.subTest(words), self.assertRaisesRegex(error, words):
                rankfeed.CrossEncoder(folder)

    @staticmethod
    def change(folder, **members):
        path = os.path.join(folder, "config.json")
        with open(path, encoding="utf-8") as file:
            data = {**json.load(file), **members}
        with open(path, "w", encoding="utf-8") as file:
            json.dump(data, file)


class Processes(Case):
    def test_an_interrupted_call_ends_and_the_next_one_works(self):
        """The calls would take minutes; how long the interrupt took is printed."""
        # A shell's background jobs ignore it, and the calls would go on.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        model = rankfeed.CrossEncoder(folder_of(self.parent, hidden=256, inner=1024, layers=12), threads=1)
        want = model.rank(QUERY, DOCS[:2])
        docs = ["bamboo " * 300] * 20000
        for call in (lambda: model.rank(QUERY, docs), lambda: model.predict([(text, QUERY) for text in docs])):
            sent = []

            def interrupt():
                sent.append(time.monotonic())
                os.kill(os.getpid(), signal.SIGINT)
            timer = threading.Timer(0.3, interrupt)
            with self.assertRaises(KeyboardInterrupt):
                timer.start()
                call()
            print(f"interrupted after {1000 * (time.monotonic() - sent[0]):.0f} ms", file=sys.stderr)
            self.assertEqual(model.rank(QUERY, DOCS[:2]), want)

    def test_a_forked_child_scores_alone(self):
        want = self.model.rank(QUERY, DOCS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns of threads beside a fork
            child = os.fork()
        if child == 0:
            os._exit(0 if self.model.rank(QUERY, DOCS) == want else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(self.model.rank(QUERY, DOCS), want)

    def test_threads_share_a_model(self):
        want = self.model.rank(QUERY, DOCS)
        got = []
        threads = [threading.Thread(target=lambda: got.append(self.model.rank(QUERY, DOCS))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(got, [want] * 4)


@support.needs(sentence_transformers, "sentence-transformers")
class SentenceTransformers(Case):
    def both(self, folder=None, **arguments):
        folder = folder or self.folder
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return rankfeed.CrossEncoder(folder, **arguments), sentence_transformers.CrossEncoder(folder, device="cpu", **arguments)

    def test_signatures_are_the_same(self):
        for name in ("__init__", "predict", "rank"):
            ours = list(inspect.signature(getattr(rankfeed.CrossEncoder, name)).parameters.values())
            theirs = list(inspect.signature(getattr(sentence_transformers.CrossEncoder, name)).parameters.values())
            self.assertEqual([(p.name, p.kind, p.default) for p in ours[:len(theirs)]], [(p.name, p.kind, p.default) for p in theirs])
            self.assertEqual([p.name for p in ours[len(theirs):]], ["threads"] if name == "__init__" else [])

    def test_attributes_are_the_same(self):
        for arguments in ({}, {"max_length": 20}, {"processor_kwargs": {"model_max_length": 24}}, {"num_labels": 1}):
            ours, theirs = self.both(**arguments)
            self.assertEqual((ours.max_seq_length, ours.num_labels, ours.config.hidden_size, ours.config.id2label),
                             (theirs.max_seq_length, theirs.num_labels, theirs.config.hidden_size, theirs.config.id2label))
            self.assertEqual(type(ours.activation_fn).__name__, type(theirs.activation_fn).__name__)
            self.assertEqual(ours.tokenizer(QUERY)["input_ids"], theirs.tokenizer(QUERY)["input_ids"])

    def test_predict_is_the_same(self):
        pairs = [[QUERY, text] for text in DOCS] + [["bear", text] for text in DOCS]
        folders = [self.folder, folder_of(self.parent, labels=("a", "b", "c")),
                   folder_of(self.parent, sentence_transformers={"activation_fn": "torch.nn.modules.linear.Identity", "version": "5.0"}),
                   folder_of(self.parent, **BESIDE), folder_of(self.parent, tokenizer={"truncation_side": "left"}), folder_of(self.parent, sbert_ce_default_activation_function="torch.nn.modules.linear.Identity")]
        for folder in folders:
            ours, theirs = self.both(folder)
            for arguments in ({}, {"batch_size": 3}, {"activation_fn": torch.nn.Identity()}, {"activation_fn": torch.nn.Sigmoid()}, {"activation_fn": torch.nn.Softmax(-1)},
                              {"activation_fn": torch.nn.Tanh()}, {"activation_fn": torch.sigmoid}, {"activation_fn": lambda x: x * 3 + 1}, {"apply_softmax": True},
                              {"convert_to_tensor": True}, {"convert_to_numpy": False}, {"prompt": "query: "}, {"device": "cpu"}, {"show_progress_bar": False}, {"chunk_size": 4}):
                with self.subTest(folder=folder, **arguments):
                    for inputs in (pairs, pairs[0], tuple(map(tuple, pairs)), np.array(pairs), []):
                        a, b = ours.predict(inputs, **arguments), theirs.predict(inputs, **arguments)
                        self.assertIs(type(a), type(b))
                        a, b = (np.array([np.asarray(x) for x in value]) if isinstance(value, list) else np.asarray(value) for value in (a, b))
                        self.assertEqual((a.shape, a.dtype), (b.shape, b.dtype))
                        if a.size:
                            self.assertLess(np.abs(a - b).max(), WITHIN)

    def test_rank_is_the_same(self):
        ours, theirs = self.both(prompts={"query": "query: ", "other": "Find: "}, default_prompt_name="query")
        for arguments in ({}, {"top_k": 3}, {"return_documents": True}, {"prompt_name": "other"}, {"prompt": ""}, {"batch_size": 2}, {"activation_fn": torch.nn.Identity()}, {"device": "cpu"}):
            with self.subTest(**arguments):
                a, b = ours.rank(QUERY, DOCS, **arguments), theirs.rank(QUERY, DOCS, **arguments)
                self.assertEqual([{**place, "score": 0} for place in a], [{**place, "score": 0} for place in b])
                self.assertLess(max(abs(x["score"] - y["score"]) for x, y in zip(a, b)), WITHIN)
                self.assertEqual({type(value) for place in a for value in place.values()}, {type(value) for place in b for value in place.values()})


if __name__ == "__main__":
    unittest.main()
