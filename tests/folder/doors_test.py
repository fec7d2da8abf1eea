# SPDX-License-Identifier: MIT
"""doors_test.py RANKFEED: every key of a folder that is obeyed by the command line or the service, changed: another output, or a
refusal. What each value should give is computed here from the pieces, and the scores by NumPy."""

import ctypes
import json
import math
import os
import pathlib
import re
import struct
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(os.environ.get("RANKFEED_SOURCE_DIR") or pathlib.Path(__file__).resolve().parents[2])
sys.path.insert(0, str(SOURCE / "tests" / "serve"))
import bert_folder_test  # noqa: E402
import numpy_models  # noqa: E402
from bert_folder_test import PIECES, QUERY, RANKFEED, TEXTS, WORDS, tokenizer_json  # noqa: E402
from server_process import Server  # noqa: E402

IDENTITY, SIGMOID = "torch.nn.modules.linear.Identity", "torch.nn.modules.activation.Sigmoid"
TRANSFORMER = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.base.modules.transformer.Transformer", "kwargs": []}]


class Doors(unittest.TestCase):
    """A folder as sentence-transformers 6 writes it."""

    setUp, rerank, scores, near = bert_folder_test.BertFolder.setUp, bert_folder_test.BertFolder.rerank, bert_folder_test.BertFolder.scores, bert_folder_test.BertFolder.near

    def write(self, own=None, transformer=None, modules=None, **others):
        bert_folder_test.BertFolder.write(self, "bert", **others)
        for name, data in (("config_sentence_transformers.json", None if own is None else {"model_type": "CrossEncoder", **own}),
                           ("sentence_bert_config.json", transformer), ("modules.json", TRANSFORMER if modules is None else modules),
                           ("special_tokens_map.json", None)):
            (self.folder / name).unlink(missing_ok=True)
            if data is not None:
                (self.folder / name).write_text(json.dumps(data), encoding="utf-8")

    def expected(self, words=WORDS):
        out = []
        for document in TEXTS.values():
            ids = [PIECES.index(t) for t in ("[CLS]", *words, "[SEP]", *document, "[SEP]")]
            types = [int(i > len(words) + 1) for i in range(len(ids))]
            out.append(numpy_models.score("bert", self.tensors, ids, types, 4, 2).tolist()[0])
        return out

    def run_program(self, *arguments, text=""):
        return subprocess.run([RANKFEED, *map(str, arguments)], input=text, capture_output=True, text=True, timeout=120)

    def ids(self, text, *arguments):
        done = self.run_program("encode", "--vocab", self.folder, *arguments, text=text + "\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        return [int(i) for i in done.stdout.split()]

    def rows(self, *arguments, query=QUERY, text="a car"):
        done = self.run_program("batch", "--vocab", self.folder, "--query", query, "--docs", "-", "--json", *arguments, text=text + "\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["input_ids"]

    def serve(self):
        server = Server(RANKFEED, (), ["--workers", 1], vocab=str(self.folder), model=str(self.folder), one_option=True, corpus=False)
        self.addCleanup(server.stop)
        return server

    @staticmethod
    def answered(answer):
        return [s for _, s in sorted((r["index"], r["score"]) for r in answer)]

    def opens(self, start):
        """How often start() opens the folder's tokenizer.json."""
        libc = ctypes.CDLL(None, use_errno=True)
        watcher = libc.inotify_init1(os.O_NONBLOCK)
        self.addCleanup(os.close, watcher)
        IN_OPEN, IN_CLOSE_NOWRITE = 0x20, 0x10  # the latter, so that no two equal events follow each other and become one
        self.assertGreater(libc.inotify_add_watch(watcher, os.fsencode(self.folder / "tokenizer.json"), IN_OPEN | IN_CLOSE_NOWRITE), 0)
        start()
        events = os.read(watcher, 1 << 16)
        return sum(struct.unpack_from("iIII", events, at)[1] & IN_OPEN != 0 for at in range(0, len(events), 16))  # events of a file have no name

    def test_file_is_parsed_once(self):
        """By the one who compiles the vocabulary; before that its truncation and padding are looked for. The service also looks at its first bytes,
        whether it is an image; before it starts, the test asks for `info` of the folder."""
        self.write(tokenizer={"tokenizer_class": "BertTokenizer", "mask_token": "[MASK]"})
        for start, count in ((self.scores, 2), (lambda: self.ids("a"), 2), (self.serve, 1 + 3)):
            self.assertEqual(self.opens(start), count)

    def test_activation(self):
        """sentence-transformers issue 1004 and pull request 4006: config_sentence_transformers.json before config.json; the service stays in [0, 1]."""
        for own, config, raw in (({"activation_fn": IDENTITY}, {}, True), ({"activation_fn": IDENTITY}, {"sentence_transformers": {"activation_fn": SIGMOID}}, True),
                                 ({"activation_fn": SIGMOID}, {"sbert_ce_default_activation_function": IDENTITY}, False), ({}, {}, False)):
            with self.subTest(own=own, config=config):
                self.write(own, config=config)
                logits = self.expected()
                self.near(self.scores(), logits if raw else [1 / (1 + math.exp(-x)) for x in logits])
        self.write({"activation_fn": "torch.nn.modules.activation.Tanh"})
        done = self.rerank()
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "config_sentence_transformers.json makes scores by torch.nn.modules.activation.Tanh")
        self.near(self.scores("--raw"), self.expected())

    def test_prompts(self):
        """sentence-transformers pull request 4006: the default prompt before the query at every door; prompt_name and prompt of a request choose another."""
        prompts = {"prompts": {"query": "the car ", "other": "eat "}, "default_prompt_name": "query"}
        self.write(prompts)
        with_prompt, with_other, without = self.expected(["the", "car", *WORDS]), self.expected(["eat", *WORDS]), self.expected()
        self.near(self.scores("--raw"), with_prompt)
        server = self.serve()
        for path in ("/rerank", "/v1/rerank", "/v2/rerank"):
            for asked, want in (({}, with_prompt), ({"prompt_name": "other"}, with_other), ({"prompt": "eat "}, with_other), ({"prompt": ""}, without)):
                with self.subTest(path, asked=asked):
                    field = "texts" if path == "/rerank" else "documents"
                    status, answer = server.post(path, {"query": QUERY, field: list(TEXTS), "raw_scores": True, **asked})
                    self.assertEqual(status, 200, answer)
                    got = self.answered(answer if path == "/rerank" else [{"index": r["index"], "score": r["relevance_score"]} for r in answer["results"]])
                    self.near(got, want)
        for path, field in (("/rerank", "texts"), ("/v1/rerank", "documents")):
            status, answer = server.post(path, {"query": QUERY, field: list(TEXTS), "prompt_name": "nobody's"})
            self.assertIn(status, (400, 422))
            self.assertIn("the prompts query, other", json.dumps(answer))
        tokens = [t["id"] for t in server.post("/tokenize", {"inputs": "a bear", "prompt_name": "other"})[1][0]]
        self.assertEqual(tokens, [PIECES.index(p) for p in ("[CLS]", "eat", "a", "bear", "[SEP]")])
        rows = self.rows()
        self.write({**prompts, "default_prompt_name": None})
        self.near(self.scores("--raw"), self.expected())
        self.assertEqual(self.rows(query="the car " + QUERY), rows)
        self.assertNotEqual(self.rows(), rows)

    # A value of each field of src/serve/dialect.cc that is read, which changes the scores of LONG, or is an error.
    LONG = "the car " * 20 + "panda bear " * 20
    FIELDS = {"raw_scores": True, "use_activation": False, "activation": False, "truncate": False, "truncation": False, "truncation_direction": "Left",
              "truncation_side": "left", "truncate_prompt_tokens": 12, "max_tokens_per_query": 2, "max_tokens_per_doc": 2, "max_chunks_per_doc": 4,
              "prompt": "eat ", "prompt_name": "other", "add_special_tokens": False, "return_embeddings": True}

    def requests(self, routes):
        """Paths with bodies of all shapes, without the fields."""
        for path, action, dialect in routes:
            if action == "Rerank":
                for name in ("texts", "documents") if dialect == "Tei" else ("documents",):
                    yield path, {"query": QUERY, name: [self.LONG]}
            elif path == "/predict":
                yield path, {"inputs": [[QUERY, self.LONG]]}
            else:
                yield path, {"text_1": QUERY, "text_2": [self.LONG]}

    def test_fields_of_requests(self):
        """SGLang pull request 16403: a field that would change a score is honoured or refused at every path, whatever dialect it is of; what nobody
        knows is ignored."""
        text = (SOURCE / "src" / "serve" / "dialect.cc").read_text(encoding="utf-8")
        rows = dict(re.findall(r'^    \{"(\w+)", (.+)\},$', text[text.index("kFields[]"):text.index("void ParseFields")], re.M))
        refused = {name for name, read in rows.items() if read.startswith("Refuse")}
        self.assertEqual(set(rows) - refused, set(self.FIELDS))
        self.assertGreater(len(refused), 5)
        document = json.loads((SOURCE / "src" / "serve" / "openapi.json").read_text(encoding="utf-8"))
        self.assertEqual(set(document["components"]["schemas"]["ScoringFields"]["properties"]), set(self.FIELDS))
        self.write({"prompts": {"other": "eat "}})
        server = self.serve()
        routes = re.findall(r'\{"(\S+)", Action::k(Rerank|Score), Dialect::k(\w+)\}', text)
        self.assertGreater(len(routes), 8)
        for path, body in self.requests(routes):
            plain = server.post(path, body)
            self.assertEqual(plain[0], 200, plain)
            self.assertEqual(self.only_scores(server.post(path, {**body, "nobody_knows_it": "x"})), self.only_scores(plain))
            for name in rows:
                with self.subTest(path, body=list(body), name=name):
                    status, answer = server.post(path, {**body, name: self.FIELDS.get(name, "x")})
                    if status == 200:
                        self.assertNotIn(name, refused)
                        self.assertNotEqual(self.only_scores((status, answer)), self.only_scores(plain))
                    else:
                        self.assertIn(status, (400, 413, 422))
                        self.assertIn(name if name in refused or "truncat" not in name else "wants none to be cut", json.dumps(answer))
            self.assertIn(server.post(path, {**body, "prompt_name": "nobody's"})[0], (400, 422))
            self.assertIn(server.post(path, {**body, "prompt": 7})[0], (400, 422))

    @staticmethod
    def only_scores(answered):
        status, answer = answered
        assert status == 200, answer
        rows = answer if isinstance(answer, list) else answer.get("results") or answer["data"]
        return [row.get("score", row.get("relevance_score")) for one in rows for row in (one if isinstance(one, list) else [one])]

    def test_side_of_cuts(self):
        """truncation_side of tokenizer_config.json, which CrossEncoder's tokenizer cuts by, at every door; a request says another."""
        text = "car eat " * 20 + "panda bear " * 20
        scores = []
        for side, end in (("right", ["car", "eat"] * 20), ("left", ["panda", "bear"] * 20)):
            self.write(tokenizer={"truncation_side": side, "model_max_length": 20})
            kept = 20 - len(WORDS) - 3
            end = end[:kept] if side == "right" else end[-kept:]
            ids = [PIECES.index(t) for t in ("[CLS]", *WORDS, "[SEP]", *end, "[SEP]")]
            want = numpy_models.score("bert", self.tensors, ids, [int(i > len(WORDS) + 1) for i in range(20)], 4, 2).tolist()
            self.assertEqual(self.rows(text=text), [ids])
            self.near(self.scores("--raw", texts=[text]), want)
            server = self.serve()
            asked = [self.only_scores(server.post("/rerank", {"query": QUERY, "texts": [text], "raw_scores": True, **fields}))
                     for fields in ({}, {"truncation_direction": "Left"}, {"truncation_direction": "Right"})]
            self.near(asked[0], want)
            scores.append(asked)
        self.assertEqual([scores[0][0], scores[1][0]], [scores[0][2], scores[0][1]])
        self.assertEqual([scores[0][0], scores[1][0]], [scores[1][2], scores[1][1]])

    def test_length_of_rows(self):
        """vLLM pull requests 11184 and 11815: --max-length before max_seq_length before model_max_length."""
        text = "panda " * 100
        self.write(transformer={"max_seq_length": 12, "do_lower_case": False}, tokenizer={"model_max_length": 20})
        self.assertEqual(len(self.rows(text=text)[0]), 12)
        self.assertEqual(len(self.rows("--max-length", 9, text=text)[0]), 9)
        answer = self.serve().post("/v1/rerank", {"query": QUERY, "documents": [text]})[1]
        self.assertEqual(answer["usage"]["total_tokens"], 12)
        done = json.loads(self.rerank(texts=[text]).stdout)
        self.assertEqual(done["tokens"], 12)
        self.write(tokenizer={"model_max_length": 20})
        self.assertEqual(len(self.rows(text=text)[0]), 20)

    def test_lower_case(self):
        """vLLM pull requests 11184 and 11815: do_lower_case of sentence_bert_config.json lowercases before a normalizer that keeps case."""
        for lower, want in ((True, ["panda", "bear"]), (False, ["[UNK]", "[UNK]"])):
            self.write(transformer={"do_lower_case": lower}, tokenizer={"do_lower_case": False})
            file = tokenizer_json()
            file["normalizer"]["lowercase"] = False
            (self.folder / "tokenizer.json").write_text(json.dumps(file), encoding="utf-8")
            self.assertEqual(self.ids("Panda BEAR"), [PIECES.index(p) for p in want])

    def test_class_that_lowercases(self):
        """A cased file whose class lowercases, for nothing beside it says that it does not: the folder has the class's ids, the file its own."""
        self.write(tokenizer={"tokenizer_class": "BertTokenizer"})
        file = tokenizer_json()
        file["normalizer"]["lowercase"] = False
        (self.folder / "tokenizer.json").write_text(json.dumps(file), encoding="utf-8")
        lowered = [PIECES.index(p) for p in ("panda", "bear")]
        self.assertEqual(self.ids("Panda BEAR"), lowered)
        self.assertEqual(self.rows(text="Panda BEAR")[0][-3:-1], lowered)
        self.near(self.scores("--raw"), self.expected())
        self.assertEqual([t["id"] for t in self.serve().post("/tokenize", {"inputs": "Panda BEAR", "add_special_tokens": False})[1][0]], lowered)
        self.assertEqual(self.run_program("encode", "--vocab", self.folder / "tokenizer.json", text="Panda BEAR\n").stdout.split(), ["1", "1"])
        self.assertNotEqual(self.scores("--raw", "--vocab", self.folder / "tokenizer.json"), self.scores("--raw"))

    def test_split_special_tokens(self):
        """split_special_tokens of tokenizer_config.json at every door, as AutoTokenizer of the folder."""
        split = [PIECES.index(p) for p in ("a", "[UNK]", "[UNK]", "[UNK]", "bear")]
        for flag, want in ((True, split), (False, [PIECES.index(p) for p in ("a", "[SEP]", "bear")])):
            with self.subTest(flag):
                self.write(tokenizer={"split_special_tokens": flag})
                self.assertEqual(self.ids("a [SEP] bear"), want)
                self.assertEqual(self.rows(text="a [SEP] bear")[0][len(WORDS) + 2:-1], want)
                server = self.serve()
                self.assertEqual([t["id"] for t in server.post("/tokenize", {"inputs": "a [SEP] bear", "add_special_tokens": False})[1][0]], want)
                tokens = server.post("/v1/rerank", {"query": QUERY, "documents": ["a [SEP] bear"]})[1]["usage"]["total_tokens"]
                self.assertEqual(tokens, len(WORDS) + 3 + len(want))
        self.write(tokenizer={"split_special_tokens": True})
        self.assertNotEqual(self.ids("a [SEP] bear", "--specials-in-text", "parse"), split)

    def test_listed_tokens(self):
        """Of a class that transformers rebuilds the added tokens are those that tokenizer_config.json lists."""
        token = {"content": "[NEW]", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
        listed = {str(i): {**token, "content": PIECES[i]} for i in range(5)}
        for name, all_listed, want in (("BertTokenizer", False, 1), ("BertTokenizer", True, len(PIECES)), ("PreTrainedTokenizerFast", False, len(PIECES))):
            with self.subTest(name, all_listed=all_listed):
                decoder = {**listed, str(len(PIECES)): token} if all_listed else listed
                self.write(tokenizer={"tokenizer_class": name, "added_tokens_decoder": decoder})
                file = tokenizer_json()
                file["added_tokens"].append({"id": len(PIECES), **token})
                (self.folder / "tokenizer.json").write_text(json.dumps(file), encoding="utf-8")
                self.assertEqual(want in self.ids("a [NEW] bear"), True)
                self.assertEqual(len(PIECES) in self.ids("a [NEW] bear"), want != 1)

    def test_other_separator(self):
        """special_tokens_map.json with another sep_token than the template's, which BertTokenizer would put there."""
        self.write(tokenizer={"tokenizer_class": "BertTokenizer"})
        (self.folder / "special_tokens_map.json").write_text(json.dumps({"sep_token": "[MASK]"}), encoding="utf-8")
        for done in (self.rerank(), self.run_program("encode", "--vocab", self.folder, text="a\n")):
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, r"name \[MASK\] as sep_token, and BertTokenizer of transformers puts it around rows")
        self.write(tokenizer={"tokenizer_class": "PreTrainedTokenizerFast"})
        self.near(self.scores("--raw"), self.expected())

    def test_refused(self):
        for options, words in (({"modules": [*TRANSFORMER, {"type": "sentence_transformers.base.modules.dense.Dense", "path": "1_Dense"}], "own": {}}, "Dense"),
                               ({"own": {"default_prompt_name": "x"}}, "prompts has none of that name"),
                               ({"transformer": {"processing_kwargs": {"text": {"max_length": 3}}}}, "processing_kwargs"),
                               ({"config": {"quantization_config": {"bits": 4}}}, "quantization_config"),
                               ({"config": {"n_layers": 1}}, "num_hidden_layers is 2 and n_layers, which is the same, 1"),
                               ({"tokenizer": {"init_inputs": [1]}}, "init_inputs")):
            with self.subTest(options):
                self.write(**options)
                done = self.rerank()
                self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
                self.assertIn(words, done.stderr)

    def test_instruction(self):
        """An empty instruction is refused: left out, it is the template's own."""
        self.write()
        done = self.run_program("batch", "--vocab", self.folder, "--query", "x", "--docs", "-", "--instruction", "", text="a\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--instruction is empty", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
