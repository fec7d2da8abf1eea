# SPDX-License-Identifier: MIT
"""model_test.py RANKFEED: what `rankfeed serve` and `rankfeed rerank` read of a model's folder and make of its logits."""

import json
import math
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

import random_model
from server_process import MODEL, Server

RANKFEED = sys.argv[1]
WORK = tempfile.TemporaryDirectory()
VOCAB = os.path.join(WORK.name, "vocabulary.rfimg")  # compiled once
subprocess.run([RANKFEED, "compile", MODEL, "-o", VOCAB], check=True, stdout=subprocess.DEVNULL)
QUERY = "What do pandas eat?"
TEXTS = ["A panda is a bear.", "Bamboo.", "The capital of France is Paris.", "Pandas eat bamboo all day.", "A car."]
IDS, PAD = 32000, 1  # of the default vocabulary


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.model = os.path.join(self.folder, "model")

    def write(self, id_count=IDS, pad=PAD, **options):
        random_model.write(self.model, id_count, pad, **options)

    def say(self, **data):
        with open(os.path.join(self.model, "rankfeed.json"), "w", encoding="utf-8") as file:
            json.dump(data, file)

    def rerank(self, *arguments, vocab=VOCAB, texts=TEXTS):
        return subprocess.run([RANKFEED, "rerank", "--vocab", vocab, "--model", self.model, "--query", QUERY, "--docs", "-", "--json",
                               *arguments], input="".join(t + "\n" for t in texts), capture_output=True, text=True, timeout=120)

    def scores(self, *arguments, **options):
        done = self.rerank(*arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [(r["index"], r["score"]) for r in json.loads(done.stdout)["results"]]

    def refused(self, words, *arguments, vocab=VOCAB):
        """By both commands."""
        for done in (self.rerank(*arguments, vocab=vocab),
                     subprocess.run([RANKFEED, "serve", "--vocab", vocab, "--model", self.model, "--port", "0", *arguments],
                                    capture_output=True, text=True, timeout=60)):
            self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
            for word in words:
                self.assertIn(word, done.stderr)

    def server(self, *arguments, environment=None, vocab=VOCAB, stderr=None, one_option=False):
        server = Server(RANKFEED, (), ["--workers", 1, *arguments], environment, stderr, vocab=vocab, model=self.model, one_option=one_option,
                        corpus=False)
        self.addCleanup(server.stop)
        return server


def sentencepiece_model(path, pieces):
    """A Unigram .model with its own ids: <unk> 0, <s> 1, </s> 2, and the pieces."""
    out = b""
    for text, score, kind in [("<unk>", 0, 2), ("<s>", 0, 3), ("</s>", 0, 3), *((p, -3 - i / 10, 1) for i, p in enumerate(pieces))]:
        data = text.encode()
        inner = b"\x0a" + bytes([len(data)]) + data + b"\x15" + struct.pack("<f", score) + b"\x18" + bytes([kind])
        out += b"\x0a" + bytes([len(inner)]) + inner
    with open(path, "wb") as file:
        file.write(out + b"\x12\x02\x18\x01" + b"\x1a\x0a\x0a\x08identity")


class Pairing(Folder):
    def test_ids_of_special_tokens(self):
        """fairseq#2094, sentencepiece#1042: ids that the model numbers otherwise."""
        for name, value in (("bos_token_id", 1), ("eos_token_id", 3), ("cls_token_id", 2), ("sep_token_id", 0)):
            with self.subTest(name):
                self.write(**{name: value})
                self.refused(["do not belong together", f"{name} {value}", "--preset"])
        self.write(pad=3)
        self.refused(["pad_token_id is 3", "--preset"])
        self.write(bos_token_id=0, eos_token_id=2, cls_token_id=0, sep_token_id=2)
        self.assertEqual(len(self.scores()), len(TEXTS))

    def test_number_of_ids(self):
        """fairseq#2094: 32,000 ids under a model of 250,002; a few spare rows are common."""
        for count, good in ((250_002, False), (IDS + 5000, False), (IDS - 2, False), (IDS - 1, True), (IDS + 900, True)):
            with self.subTest(count):
                self.write(count, hidden=8, heads=2)
                if good:
                    self.assertEqual(len(self.scores()), len(TEXTS))
                else:
                    self.refused([f"32000 ids, the model embeds {count}"])

    def test_preset(self):
        """sentencepiece#1042: a SentencePiece .model under a cross-encoder of XLM-R's family, which numbers its pieces otherwise."""
        vocab = os.path.join(self.folder, "sp.model")
        pieces = ["\u2581", *"abcdefghijklmnopqrstuvwxyz.?ABCPTW"]
        sentencepiece_model(vocab, pieces)
        for ids in ({}, {"bos_token_id": 0, "eos_token_id": 2}):
            self.write(len(pieces) + 5, **ids)
            self.refused(["do not belong together", "--preset xlm-roberta"], vocab=vocab)
            self.refused(["no-such-family"], "--preset", "no-such-family", vocab=vocab)
            want = self.scores("--preset", "xlm-roberta", vocab=vocab)
            answer = self.server("--preset", "xlm-roberta", vocab=vocab).post("/rerank", {"query": QUERY, "texts": TEXTS})[1]
            self.assertEqual([r["index"] for r in answer], [i for i, _ in want])


    def test_pieces(self):
        """fairseq#2094: as many ids and the same special ones, but other pieces than the tokenizer in the model's folder has."""
        other, data = os.path.join(self.folder, "other"), Server.tokenizer_json()
        vocab = data["model"]["vocab"]
        vocab[5000], vocab[5001] = vocab[5001], vocab[5000]
        with open(other + ".json", "w", encoding="utf-8") as file:
            json.dump(data, file)
        subprocess.run([RANKFEED, "compile", other + ".json", "-o", other], check=True, stdout=subprocess.DEVNULL)
        Server.write_folder(self.model, {})
        self.write(IDS + 1)
        self.refused(["do not belong together", f'the id 5000 is "{vocab[5000][0]}" in the vocabulary and "{vocab[5001][0]}" beside'], vocab=other)
        want = self.scores(vocab=os.path.join(self.model, "tokenizer.json"))
        self.assertEqual(self.scores(), want)  # SentencePiece's .model has the same pieces
        server = self.server()
        status, answer, _ = server.call("POST", "/admin/reload", {"vocab": other})
        self.assertEqual(status, 422, answer)
        self.assertIn("the id 5000", answer["error"])

    def test_pieces_of_lists(self):
        """The same of folders with vocab.txt (bert) and with vocab.json (roberta)."""
        words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz", "what", "pandas", "\u00e9\u2028 "]
        for name, write in (("vocab.txt", lambda f, w: f.write("".join(t + "\n" for t in w))),
                            ("vocab.json", lambda f, w: json.dump({t: i for i, t in enumerate(w)}, f))):
            with self.subTest(name):
                image, source = os.path.join(self.folder, "image"), os.path.join(self.folder, "source")
                os.makedirs(source, exist_ok=True)
                with open(os.path.join(source, "vocab.txt"), "w", encoding="utf-8", newline="") as file:
                    file.write("".join(t + "\n" for t in words))
                subprocess.run([RANKFEED, "compile", os.path.join(source, "vocab.txt"), "-o", image], check=True, stdout=subprocess.DEVNULL)
                self.write(len(words), 0, types=2)  # as many as the template of vocab.txt gives
                for swap in (False, True):
                    own = [*words]
                    if swap:
                        own[9], own[10] = own[10], own[9]
                    with open(os.path.join(self.model, name), "w", encoding="utf-8", newline="") as file:
                        write(file, own if name == "vocab.txt" else [t.rstrip() for t in own])
                    if swap:
                        self.refused(['the id 9 is "e" in the vocabulary and "f" beside'], vocab=image)
                    else:
                        self.assertEqual(len(self.scores(vocab=image)), len(TEXTS))
                os.remove(os.path.join(self.model, name))


class Types(Folder):
    def test_types_are_the_vocabularys(self):
        """transformers#2432, #2727: of a model with two types the document has type 0, unless its folder says otherwise."""
        self.write(types=2)
        two = self.scores("--raw")

        def same(tensors):
            tensors["roberta.embeddings.token_type_embeddings.weight"][1] = tensors["roberta.embeddings.token_type_embeddings.weight"][0]
        self.write(types=2, change=same)
        self.assertEqual(self.scores("--raw"), two)
        self.write(types=2)
        self.say(token_type_ids={"query": 0, "document": 1})
        other = self.scores("--raw")
        self.assertNotEqual(other, two)
        answer = self.server().post("/rerank", {"query": QUERY, "texts": TEXTS, "raw_scores": True})[1]
        self.assertEqual([r["index"] for r in answer], [i for i, _ in other])
        for r, (_, score) in zip(answer, other):
            self.assertAlmostEqual(r["score"], score, places=4)

    def test_types_that_the_model_lacks(self):
        self.write(types=1)
        self.say(token_type_ids={"query": 0, "document": 1})
        self.refused(["token type 1, the model embeds 1"])
        for wrong in (1, {"query": 0}, {"query": -1, "document": 0}, {"query": "0", "document": 1}):
            self.say(token_type_ids=wrong)
            self.refused(["rankfeed.json", "token_type_ids"])


    def test_folder_without_types(self):
        """A tokenizer_config.json whose model_input_names has no token_type_ids: transformers gives the model none."""
        self.write(types=2)
        plain = self.scores("--raw")
        folder = os.path.join(self.folder, "vocabulary")
        Server.write_folder(folder, {})
        with open(os.path.join(folder, "tokenizer.json"), encoding="utf-8") as file:
            data = json.load(file)
        for part in data["post_processor"]["pair"][-2:]:  # the document and the token after it
            next(iter(part.values()))["type_id"] = 1
        with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as file:
            json.dump(data, file)
        self.write(IDS + 1, types=2)
        typed = self.scores("--raw", vocab=folder)
        with open(os.path.join(self.model, "tokenizer_config.json"), "w", encoding="utf-8") as file:
            json.dump({"model_input_names": ["input_ids", "attention_mask"]}, file)
        without = self.scores("--raw", vocab=folder)
        self.assertNotEqual(typed, without)
        self.assertEqual(len(plain), len(without))


class Labels(Folder):
    LABELS = ("contradiction", "entailment", "neutral")

    def test_several_labels(self):
        """txtai#1189, sentence-transformers PR 3126: a ranking is by one label, which somebody names."""
        self.write(labels=self.LABELS)
        self.refused(["3 labels", *self.LABELS, "--label"])
        self.refused(["no label other"], "--label", "other")
        raw = {name: dict(self.scores("--raw", "--label", name)) for name in self.LABELS}
        for number, name in enumerate(self.LABELS):
            got = self.scores("--label", str(number))
            self.assertEqual([s for _, s in got], sorted((s for _, s in got), reverse=True))
            for index, score in got:
                self.assertAlmostEqual(score, math.exp(raw[name][index]) / sum(math.exp(r[index]) for r in raw.values()), places=5)
        server = self.server("--label", "entailment")
        self.assertEqual(server.call("GET", "/info")[1]["model_type"]["reranker"],
                         {"id2label": {str(i): n for i, n in enumerate(self.LABELS)}, "label2id": {n: i for i, n in enumerate(self.LABELS)}})
        answer = server.post("/rerank", {"query": QUERY, "texts": TEXTS})[1]
        self.assertEqual([r["index"] for r in answer], [i for i, _ in self.scores("--label", "1")])


    def test_labels_that_exclude_nothing(self):
        """problem_type multi_label_classification: a label's sigmoid, whatever the others are."""
        self.write(labels=self.LABELS, problem_type="multi_label_classification")
        for (index, score), (other, logit) in zip(self.scores("--label", "neutral"), self.scores("--raw", "--label", "2")):
            self.assertEqual(index, other)
            self.assertAlmostEqual(score, 1 / (1 + math.exp(-logit)), places=6)

    def test_activation_of_the_folder(self):
        """sentence-transformers' function in config.json decides in rerank, the dialect in serve; /info names both."""
        self.write()
        raw, sigmoid = self.scores("--raw"), self.scores()
        for said, want, name in (({"sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity"}, raw, "identity"),
                                 ({"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"}}, raw, "identity"),
                                 ({"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Sigmoid"}}, sigmoid, "sigmoid"),
                                 ({"sentence_transformers": {"version": "5"}}, sigmoid, "sigmoid")):
            with self.subTest(said):
                self.write(**said)
                self.assertEqual(self.scores(), want)
        self.write(sentence_transformers={"activation_fn": "torch.nn.modules.linear.Identity"})
        server = self.server()
        self.assertEqual(server.call("GET", "/info")[1]["activation"], {"folder": "identity", "service": "sigmoid"})
        for answer, expected in ((server.post("/rerank", {"query": QUERY, "texts": TEXTS})[1], sigmoid),
                                 (server.post("/rerank", {"query": QUERY, "texts": TEXTS, "raw_scores": True})[1], raw)):
            for r, (index, score) in zip(answer, expected):
                self.assertEqual(r["index"], index)
                self.assertAlmostEqual(r["score"], score, places=4)
        self.write(sentence_transformers={"activation_fn": "torch.nn.modules.activation.Tanh"})
        done = self.rerank()
        self.assertEqual(done.returncode, 1)
        self.assertIn("activation.Tanh", done.stderr)
        self.assertEqual(self.scores("--raw"), raw)


class Published(Folder):
    """A folder with everything is one unit: --model is enough."""

    def setUp(self):
        super().setUp()
        Server.write_folder(self.model, {"model_max_length": 12})
        self.write(IDS + 1)

    def test_one_option(self):
        long = ["Pandas eat bamboo all day in the mountains of China. " * 5]
        done = subprocess.run([RANKFEED, "rerank", "--model", self.model, "--query", QUERY, "--docs", "-", "--json"],
                              input="".join(t + "\n" for t in TEXTS), capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([(r["index"], r["score"]) for r in json.loads(done.stdout)["results"]],
                         self.scores("--max-length", "12", vocab=os.path.join(self.model, "tokenizer.json")))
        server = self.server(vocab=self.model, one_option=True)
        info = server.call("GET", "/info")[1]
        self.assertEqual((info["vocabulary"], info["max_input_length"]), (os.path.join(self.model, "tokenizer.json"), 12))
        self.assertEqual(server.post("/v1/rerank", {"query": QUERY, "documents": long})[1]["usage"]["total_tokens"], 12)
        # Another folder, with its own length of rows.
        other = os.path.join(self.folder, "other")
        Server.write_folder(other, {"model_max_length": 20})
        random_model.write(other, IDS + 1, PAD)
        self.assertEqual(server.call("POST", "/admin/reload", {"model": other, "corpus": ""})[0], 200)
        self.assertEqual(server.post("/v1/rerank", {"query": QUERY, "documents": long})[1]["usage"]["total_tokens"], 20)
        with open(os.path.join(self.model, "added_tokens.json"), "w", encoding="utf-8") as file:
            json.dump({"<new>": 32001}, file)
        status, answer, _ = server.call("POST", "/admin/reload", {"model": self.model})
        self.assertEqual(status, 422, answer)
        self.assertIn("<new>", answer["error"])

    def test_folder_without_a_vocabulary(self):
        os.remove(os.path.join(self.model, "tokenizer.json"))
        for command in (["rerank", "--query", "q", "--docs", "-"], ["serve", "--port", "0"]):
            done = subprocess.run([RANKFEED, *command, "--model", self.model], input="a\n", capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 1)
            self.assertIn("has no tokenizer.json", done.stderr)


class LongStarts(Folder):
    """What a vocabulary costs to compile is told with the way to spare it, which then gives the same answers."""

    def notes(self, *arguments, vocab):
        with tempfile.TemporaryFile("w+") as log:
            server = self.server(*arguments, vocab=vocab, stderr=log)
            answer = server.post("/v1/rerank", {"query": QUERY, "documents": [" ".join(["bamboo"] * 90)]})[1]
            server.stop()
            log.seek(0)
            return [json.loads(line) for line in log.read().splitlines() if "compiling" in line], answer["results"], answer["usage"]

    def test_compiling_is_told(self):
        big = os.path.join(self.folder, "big")
        Server.write_folder(big, {"model_max_length": 60, "split_special_tokens": True})
        with open(os.path.join(big, "tokenizer.json"), encoding="utf-8") as file:
            data = json.load(file)
        vocab = data["model"]["vocab"]
        mask = data["added_tokens"][-1]["id"]
        vocab += [[f"{i:06}{a}", -20.0 - i / 1e4] for i in range(10_000) for a in "abcdefghijklmnopqrst"]
        data["added_tokens"] = [token for token in data["added_tokens"] if token["id"] < mask]
        with open(os.path.join(big, "tokenizer.json"), "w", encoding="utf-8") as file:
            json.dump(data, file, ensure_ascii=False)
        self.write(len(vocab), hidden=8, heads=2)
        told, results, usage = self.notes(vocab=big)
        self.assertEqual(len(told), 1, told)
        self.assertEqual((told[0]["level"], told[0]["event"]), ("warn", "note"))
        self.assertRegex(told[0]["message"], "compiling the vocabulary took [0-9.]+ s; `rankfeed compile ")
        command, options = told[0]["message"].split("`rankfeed ")[1].split("`, done once, spares it with ")
        image = os.path.join(self.folder, "vocab.rfimg")
        subprocess.run([RANKFEED, *command.replace("vocab.rfimg", image).split()], check=True, stdout=subprocess.DEVNULL)
        self.assertEqual(options, "--vocab vocab.rfimg --max-length 60 --split-special-tokens")
        self.assertEqual(self.notes(*options.split()[2:], vocab=image), ([], results, usage))

    def test_a_short_time_is_not_told(self):
        pieces = ["<s>", "<pad>", "</s>", "<unk>", *"abmo"]
        self.write(len(pieces), hidden=8, heads=2)
        small = os.path.join(self.folder, "small.json")
        with open(small, "w", encoding="utf-8") as file:
            json.dump({"model": {"type": "Unigram", "unk_id": 3, "vocab": [[p, -float(i)] for i, p in enumerate(pieces)]},
                       "added_tokens": [{"id": i, "content": p, "special": True, "normalized": False, "single_word": False, "lstrip": False,
                                         "rstrip": False} for i, p in enumerate(pieces[:4])],
                       "post_processor": {"type": "RobertaProcessing", "cls": ["<s>", 0], "sep": ["</s>", 2], "trim_offsets": True,
                                          "add_prefix_space": True}}, file)
        told, results, _ = self.notes(vocab=small)
        self.assertEqual((told, len(results)), ([], 1))

    def test_compile_once_before_the_unit_starts(self):
        """The ExecStartPre of docs/serve.md compiles where there is no image, an old one or a broken one, and else not."""
        with open(os.path.join(os.environ["RANKFEED_SOURCE_DIR"], "docs", "serve.md"), encoding="utf-8") as page:
            command = re.search(r"^ExecStartPre=/bin/sh -c '(.*)'$", page.read(), re.MULTILINE)[1]
        self.assertNotRegex(command, "[$%]")  # which systemd would expand
        os.makedirs(self.model)
        tokenizer, image = os.path.join(self.model, "tokenizer.json"), os.path.join(self.folder, "vocab.rfimg")
        with open(tokenizer, "w", encoding="utf-8") as file:
            json.dump({"model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0]]}}, file)
        old = {file: 1_000_000_000 for file in (tokenizer, self.model)}
        for file, seconds in old.items():
            os.utime(file, (seconds, seconds))
        for old_name, name in (("/var/lib/rankfeed/model", self.model), ("/var/cache/rankfeed", self.folder)):
            self.assertIn(old_name, command)
            command = command.replace(old_name, name)
        command = re.sub("rankfeed (info|compile)", lambda found: f"{RANKFEED} {found[1]}", command)

        def compiles():
            done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            return done.stdout != ""
        self.assertEqual([compiles(), compiles()], [True, False])
        with open(image, "r+b") as file:
            file.truncate(100)
        self.assertEqual([compiles(), compiles()], [True, False])
        os.utime(image, (1_100_000_000, 1_100_000_000))
        self.assertFalse(compiles())
        os.utime(tokenizer, (1_200_000_000, 1_200_000_000))
        self.assertEqual([compiles(), compiles()], [True, False])

class Logits(Folder):
    @staticmethod
    def scaled(by, shift):
        def change(tensors):
            tensors["classifier.out_proj.weight"] *= by
            tensors["classifier.out_proj.bias"] = tensors["classifier.out_proj.bias"] * 0 + shift
        return change

    def test_saturated(self):
        """haiku.rag#529, agentmemory#724: logits beyond the sigmoid's range in float32 rank as they are, at both ends."""
        for shift in (200, -300):
            with self.subTest(shift):
                self.write(change=self.scaled(30, shift))
                raw = self.scores("--raw")
                self.assertEqual(len({s for _, s in raw}), len(TEXTS))
                got = self.scores()
                self.assertEqual([i for i, _ in got], [i for i, _ in raw])
                self.assertEqual({s for _, s in got}, {1.0 if shift > 0 else 0.0})
                server = self.server()
                for path, name in (("/rerank", "texts"), ("/v1/rerank", "documents")):
                    answer = server.post(path, {"query": QUERY, name: TEXTS})[1]
                    self.assertEqual([r["index"] for r in (answer if name == "texts" else answer["results"])], [i for i, _ in raw])

    def test_weights_that_are_no_numbers(self):
        """node-llama-cpp#550: named when the model is read, by both commands."""
        for value in (float("nan"), float("inf")):
            def change(tensors):
                tensors["roberta.encoder.layer.1.output.dense.weight"][0, 0] = value
            self.write(change=change)
            self.assertIn("roberta.encoder.layer.1.output.dense.weight holds values that are no finite numbers", self.rerank().stderr)
        with open(os.path.join(self.folder, "log"), "w+", encoding="utf-8") as log:
            server = self.server(stderr=log)
            self.assertEqual(server.post("/rerank", {"query": "q", "texts": ["a"]})[0], 424)
            server.stop()
            log.seek(0)
            self.assertIn("no finite numbers", log.read())

    def test_ties_by_index(self):
        self.write(change=self.scaled(0, 100))
        self.assertEqual([i for i, _ in self.scores()], list(range(len(TEXTS))))

    def test_no_finite_number(self):
        """node-llama-cpp#550: a forward pass that gives no finite number is the model's failure, says whose, and is counted, in
        every dialect and whatever makes scores of logits."""
        for weight, bias, name in ((3e38, float("-inf"), "nan"), (3e38, 0, "inf"), (-3e38, 0, "-inf")):
            def change(tensors):
                tensors["classifier.dense.weight"] *= 0
                tensors["classifier.dense.bias"] = tensors["classifier.dense.bias"] * 0 + 50  # tanh: 1
                tensors["classifier.out_proj.weight"] = tensors["classifier.out_proj.weight"] * 0 + weight
                tensors["classifier.out_proj.bias"] = tensors["classifier.out_proj.bias"] * 0 + bias
            self.write(change=change)
            words = f"{self.model}: the forward pass gave the logit {name}, which is not a finite number"
            for arguments in ((), ("--raw",)):
                done = self.rerank(*arguments)
                self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
                self.assertIn(words, done.stderr)
            server = self.server()
            calls = [(path, {kind: ["a"], field: on}, status)
                     for path, kind, status, fields in (("/rerank", "texts", 424, ["raw_scores"]), ("/rerank", "documents", 500, ["raw_scores"]),
                                                        ("/rerank", "documents", 500, ["use_activation", "activation"]),
                                                        ("/v1/rerank", "documents", 500, ["use_activation"]),
                                                        ("/v2/rerank", "documents", 500, ["use_activation"]))
                     for field in fields for on in (False, True)]
            for path, body, status in calls:
                got, answer = server.post(path, {"query": "q", **body})
                self.assertEqual(got, status, (name, path, body, answer))
                self.assertIn(words, json.dumps(answer))
            counted = server.metrics()
            self.assertEqual([counted[f'rankfeed_responses_total{{outcome="{o}"}}'] for o in ("failed", "ok")], [len(calls), 0])


class Requests(Folder):
    def test_fields_of_the_dialects(self):
        """vllm#38827, litellm#39363: a documented field is honoured or refused, never passed over."""
        self.write()
        server = self.server("--max-length", 64)
        long = ["bamboo and pandas in the mountains " * 20]

        def tokens(path="/v1/rerank", **fields):
            status, answer = server.post(path, {"query": "panda " * 30, "documents": long, **fields})
            self.assertEqual(status, 200, answer)
            return answer["usage"]["total_tokens"]
        self.assertEqual((tokens(), tokens(truncate_prompt_tokens=-1), tokens(truncate_prompt_tokens=20), tokens(truncate_prompt_tokens=900)),
                         (64, 64, 20, 64))
        self.assertEqual(tokens(max_tokens_per_query=2, max_tokens_per_doc=3), 2 + 3 + 4)
        self.assertEqual(tokens(user="u", priority=1), 64)  # nothing to do with scores
        for path, wrong in (("/v1/rerank", 400), ("/v2/rerank", 400), ("/rerank", 422)):
            for fields in ({"truncate_prompt_tokens": 7}, {"truncate_prompt_tokens": "a"}, {"truncate_prompt_tokens": -2}, {"max_tokens_per_query": 0},
                           {"instruction": "x"}, {"truncation_side": "up"}, {"overlap_tokens": 5}, {"add_special_tokens": False}, {"return_embeddings": True}, {"truncation": False}):
                self.assertEqual(server.post(path, {"query": "q", "documents": long, **fields})[0], wrong, (path, fields))
        raw, plain = (server.post("/v1/rerank", {"query": "q", "documents": ["a"], "use_activation": on})[1]["results"][0]["relevance_score"]
                      for on in (False, True))
        self.assertAlmostEqual(plain, 1 / (1 + math.exp(-raw)), places=6)

    def test_id_and_text(self):
        """Of a document with both, the text is what is ranked and what is answered; a number is the id of its digits."""
        self.write()
        server = Server(RANKFEED, [("7", TEXTS[3]), ("b", TEXTS[4])], ["--workers", 1], model=self.model)
        self.addCleanup(server.stop)

        def score(document):
            status, answer = server.post("/v1/rerank", {"query": QUERY, "documents": [document], "return_documents": True})
            self.assertEqual(status, 200, answer)
            return answer["results"][0]["relevance_score"]
        self.assertEqual(score({"id": "7", "text": TEXTS[0]}), score(TEXTS[0]))
        self.assertEqual({score({"id": 7}), score({"id": "7"})}, {score(TEXTS[3])})
        self.assertNotEqual(score(TEXTS[0]), score(TEXTS[3]))
        for wrong in (8, 7.0, [7], True):
            self.assertEqual(server.post("/v1/rerank", {"query": QUERY, "documents": [{"id": wrong}]})[0], 400, wrong)

    def test_special_tokens_in_stored_texts(self):
        """A store whose texts took special tokens in another way than rows do is refused by both commands."""
        self.write(IDS + 1)
        folder, store = (os.path.join(self.folder, n) for n in ("vocabulary", "store"))
        Server.write_folder(folder, {})
        subprocess.run([RANKFEED, "corpus", "build", "--vocab", folder, "--specials-in-text", "escape", "--jsonl", "-o", store],
                       input='{"id": "a", "text": "a </s> b"}\n', text=True, check=True, stdout=subprocess.DEVNULL)
        self.refused(["other options"], "--corpus", store, vocab=folder)
        server = self.server("--specials-in-text", "escape", "--corpus", store, vocab=folder)
        got = [server.post("/v1/rerank", {"query": "q", "documents": [d]})[1]["results"][0]["relevance_score"]
               for d in ({"id": "a"}, "a </s> b")]
        self.assertEqual(got[0], got[1])
        self.assertEqual(server.call("POST", "/admin/reload", {"corpus": store})[0], 200)

    def test_special_tokens_in_texts(self):
        """Of a tokenizer.json, whose reference finds them."""
        self.write(IDS + 1)
        folder = os.path.join(self.folder, "vocabulary")
        Server.write_folder(folder, {})
        body = {"query": QUERY, "texts": ["a </s> b"], "raw_scores": True}
        scores = set()
        for mode in ("parse", "escape"):
            score = self.server("--specials-in-text", mode, vocab=folder).post("/rerank", body)[1][0]["score"]
            scores.add(score)
            done = self.rerank("--raw", "--specials-in-text", mode, vocab=folder, texts=["a </s> b"])
            self.assertAlmostEqual(json.loads(done.stdout)["results"][0]["score"], score, places=4)
        self.assertEqual(len(scores), 2)
        self.assertEqual(self.server("--specials-in-text", "error", vocab=folder).post("/rerank", body)[0], 422)


class Operators(Folder):
    def test_key(self):
        """kthena#1637, external-dns#5400: what editors and shells put around a key is no part of it."""
        self.write()
        path = os.path.join(self.folder, "key")
        for data in (b"k\n", b"k\r\n", b"\xef\xbb\xbfk\r\n", b" k \n", b"k\nmore\n", b"k"):
            with open(path, "wb") as file:
                file.write(data)
            server = self.server("--api-key-file", path)
            self.assertEqual([server.call("GET", "/info", None, {"Authorization": f"Bearer {k}"})[0] for k in ("k", "l")], [200, 401], data)
        server = self.server(environment={"RANKFEED_API_KEY": "k\n"})
        self.assertEqual(server.call("GET", "/info", None, {"Authorization": "Bearer k"})[0], 200)
        for data in (b"", b"\n", b"\r\nk\n", b"\xef\xbb\xbf\n", b"k k\n", b"k\x00\n", "ké\n".encode(), "k\n".encode("utf-16")):
            with open(path, "wb") as file:
                file.write(data)
            self.refused_key("--api-key-file", path)
        self.refused_key("--api-key-file", "/dev/zero", word="/dev/zero: is a device")
        # The longest one that a head can carry, and one that no head can.
        head = "GET /info HTTP/1.0\r\nAuthorization: Bearer {}\r\n\r\n"
        key = "k" * ((16 << 10) - len(head.format("")))
        with socket.create_connection(("127.0.0.1", self.server(environment={"RANKFEED_API_KEY": key}).port), timeout=60) as client:
            client.sendall(head.format(key).encode())
            self.assertTrue(client.recv(1 << 16).startswith(b"HTTP/1.0 200 "))
        for size in (len(key) + len("info") + 1, 64 << 10, 1 << 20):
            with open(path, "w", encoding="utf-8") as file:
                file.write("k" * size + "\nmore\n")
            self.refused_key("--api-key-file", path, word=f"{path}: the key has more than {len(key) + len('info')} bytes")
        self.refused_key(environment={"RANKFEED_API_KEY": "k" * (len(key) + 5)}, word="RANKFEED_API_KEY: the key has more than")
        self.refused_key(environment={"RANKFEED_API_KEY": "\n"})

    def refused_key(self, *arguments, environment=None, word="key"):
        done = subprocess.run([RANKFEED, "serve", "--vocab", VOCAB, "--model", self.model, "--port", "0", *arguments], capture_output=True,
                              text=True, timeout=60, env={**os.environ, **(environment or {})})
        self.assertEqual(done.returncode, 1)
        self.assertIn(word, done.stderr)

    def test_localhost_and_folders(self):
        """--host localhost; /admin/reload takes the folder that --vocab takes."""
        self.write()
        server = self.server("--host", "localhost", "--admin-host", "localhost")
        folder = os.path.join(self.folder, "vocabulary")
        Server.write_folder(folder, {})
        status, answer, _ = server.call("POST", "/admin/reload", {"vocab": folder, "corpus": ""})
        self.assertEqual(status, 200, answer)
        self.assertEqual(server.post("/rerank", {"query": QUERY, "texts": TEXTS})[0], 200)

    def test_byte_order_mark(self):
        self.write()
        done = subprocess.run([RANKFEED, "rerank", "--vocab", VOCAB, "--model", self.model, "--query", QUERY, "--docs", "-", "--jsonl", "--json"],
                              input=b'\xef\xbb\xbf{"id": "a", "text": "A panda."}\n', capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["results"][0]["id"], "a")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
