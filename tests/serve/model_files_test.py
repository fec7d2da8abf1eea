# SPDX-License-Identifier: MIT
"""model_files_test.py RANKFEED: a model's folder as people have it: weights in shards, files that are not what their names say,
tokens beside the tokenizer.json."""

import gzip
import json
import os
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
TEXTS = ["Pandas eat bamboo.", "A car.", "The sea."]
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 1112201932\n"
OTHERS = [(POINTER, "git-lfs pointer"), (b"<!DOCTYPE html><html></html>", "HTML"), (b"<html>", "HTML"), (gzip.compress(b"{}"), "gzip"),
          (b"PK\x03\x04" + b"x" * 100, "zip"), ('{"a": 1}'.encode("utf-16"), "UTF-16")]


def read_tensors(path):
    """Entries of the header, each with the bytes of its tensor."""
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    return {name: (entry, data[8 + size:][slice(*entry["data_offsets"])]) for name, entry in json.loads(data[8:8 + size]).items()}


def write_tensors(path, tensors):
    header, data = {}, b""
    for name, (entry, value) in tensors.items():
        header[name] = {**entry, "data_offsets": [len(data), len(data) + len(value)]}
        data += value
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


class ModelFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.model = folder.name
        random_model.write(self.model, 32000, 1, hidden=8, heads=2, inner=16)
        self.whole = self.path("model.safetensors")

    def path(self, name):
        return os.path.join(self.model, name)

    def write(self, name, data):
        with open(self.path(name), "wb" if isinstance(data, bytes) else "w") as file:
            file.write(data if isinstance(data, bytes) else json.dumps(data))

    def run_rerank(self, vocab=VOCAB):
        return subprocess.run([RANKFEED, "rerank", "--vocab", vocab, "--model", self.model, "--query", "What do pandas eat?", "--docs", "-",
                               "--json"], input="\n".join(TEXTS) + "\n", capture_output=True, text=True, timeout=120)

    def results(self):
        done = self.run_rerank()
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["results"]

    def refused(self, *words, vocab=VOCAB):
        done = self.run_rerank(vocab)
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def split(self, count=3):
        """The file's tensors in shards, and their index."""
        tensors, places = read_tensors(self.whole), {}
        os.remove(self.whole)
        for i in range(count):
            name = f"model-{i + 1:05}-of-{count:05}.safetensors"
            part = {key: tensors[key] for key in list(tensors)[i::count]}
            write_tensors(self.path(name), part)
            places.update(dict.fromkeys(part, name))
        self.write("model.safetensors.index.json", {"metadata": {"total_size": 1}, "weight_map": places})
        return places

    def test_shards(self):
        """spiceai#12970, sglang#32279: the same scores from shards as from one file."""
        whole = self.results()
        self.split()
        self.assertEqual(self.results(), whole)

    def test_shards_that_do_not_fit(self):
        places = self.split()
        index = "model.safetensors.index.json"
        first, *_, last = sorted(set(places.values()))
        tensor = next(t for t in places if places[t] == first)
        for wrong, words in (({**places, tensor: last}, "not there, where the index puts it"), ({**places, "more": last}, "more"),
                             ({t: p for t, p in places.items() if t != tensor}, "weight_map has"), ({}, "weight_map"), (3, "weight_map"),
                             ({**places, tensor: "../" + first}, "of the same folder"), ({**places, tensor: 1}, "of the same folder"),
                             ({**places, tensor: "none.safetensors"}, "none.safetensors: No such file"), ({**places, tensor: "a.bin"}, "of the same folder")):
            self.write(index, {"weight_map": wrong})
            self.refused(words)
        self.write(index, {"weight_map": places})
        parts = read_tensors(self.path(last))
        write_tensors(self.path(last), {**parts, tensor: read_tensors(self.path(first))[tensor]})
        self.refused(tensor, "in another file too")
        os.remove(self.path(first))
        self.refused(first, "No such file")

    def test_pickles(self):
        """Weights of other kinds stay refused, with what converts them."""
        for name in ("pytorch_model.bin", "pytorch_model.bin.index.json", "tf_model.h5"):
            os.rename(self.whole, self.path(name))
            self.refused(name, "save_pretrained")
            os.rename(self.path(name), self.whole)

    def test_files_that_are_something_else(self):
        """transformers#27923: what the file is, in words."""
        for data, words in OTHERS:
            for name in ("config.json", "model.safetensors"):
                with self.subTest((name, words)):
                    with open(self.path(name), "rb") as file:
                        before = file.read()
                    self.write(name, data)
                    self.refused(name, words)
                    self.write(name, before)
            for name in ("tokenizer.json", "spiece.model"):
                with self.subTest((name, words)):
                    self.write(name, data)
                    self.refused(name, words, vocab=self.path(name))
            self.write("model.safetensors.index.json", data)
            os.rename(self.whole, self.path("kept"))
            self.refused("model.safetensors.index.json", words)
            os.rename(self.path("kept"), self.whole)
        os.remove(self.whole)
        os.mkdir(self.whole)
        self.refused("model.safetensors: Is a directory")

    def test_tensors_of_another_head(self):
        """Set aside with a note; those of the model's own that it does not have are refused."""
        tensors = read_tensors(self.whole)
        bias = tensors["classifier.dense.bias"]
        write_tensors(self.whole, {**tensors, "lm_head.bias": bias, "lm_head.dense.bias": bias, "roberta.pooler.dense.bias": bias})
        done = self.run_rerank()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("not used: lm_head.bias and 2 other tensors", done.stderr)
        write_tensors(self.whole, {**tensors, "roberta.encoder.layer.9.output.dense.bias": bias})
        self.refused("roberta.encoder.layer.9", "not part of the architecture")

    def test_pages_in_place_of_weights(self):
        for text, words in ((b'{"error": "not found"}' * 9, "begins with '{\"error\"'"), (b"Entry not found", "begins with 'Entry no'"), (b"GGUF" + b"x" * 90, "GGUF")):
            self.write("model.safetensors", text)
            self.refused("model.safetensors", words)



class Tokens(unittest.TestCase):
    """llama.cpp#3633, tokenizers#1444: what AutoTokenizer reads beside the tokenizer.json."""

    def test_tokens_beside(self):
        data = Server.tokenizer_json()
        known = [t["content"] for t in data["added_tokens"]]
        piece = data["model"]["vocab"][300][0]
        with tempfile.TemporaryDirectory() as work:
            for i, (files, lacking) in enumerate((
                    ({}, None),
                    ({"tokenizer_config.json": {"bos_token": known[0], "added_tokens_decoder": {"0": {"content": known[0]}}}}, None),
                    ({"tokenizer_config.json": {"additional_special_tokens": [known[0]]}}, None),
                    ({"tokenizer_config.json": {"image_token": "<new>"}}, "<new>"),
                    ({"tokenizer_config.json": {"extra_special_tokens": {"image_token": "<new>"}}}, "<new>"),
                    ({"tokenizer_config.json": {"additional_special_tokens": ["<new>"]}}, "<new>"),
                    ({"tokenizer_config.json": {"extra_special_tokens": [{"content": "<new>"}]}}, "<new>"),
                    ({"tokenizer_config.json": {"added_tokens_decoder": {"32001": {"content": "<new>", "special": False}}}}, "<new>"),
                    ({"tokenizer_config.json": {"sep_token": {"content": "<new>"}}}, "<new>"),
                    ({"special_tokens_map.json": {"additional_special_tokens": [{"content": "<new>"}]}}, "<new>"),
                    ({"added_tokens.json": {"<new>": 32001}}, "<new>"),
                    # Not read where the configuration lists tokens.
                    ({"added_tokens.json": {"<new>": 32001}, "tokenizer_config.json": {"added_tokens_decoder": {}}}, None))):
                folder = os.path.join(work, str(i))
                Server.write_folder(folder, {})
                for name, value in files.items():
                    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                        json.dump(value, file)
                with self.subTest(files):
                    done = subprocess.run([RANKFEED, "info", "--vocab", folder], capture_output=True, text=True, timeout=60)
                    self.assertEqual(done.returncode, 1 if lacking else 0, done.stderr)
                    if lacking:
                        self.assertIn(lacking, done.stderr)
                        self.assertIn("save_pretrained", done.stderr)
                    else:
                        self.assertEqual(done.stderr, "")
                    alone = subprocess.run([RANKFEED, "info", "--vocab", os.path.join(folder, "tokenizer.json")], capture_output=True, timeout=60)
                    self.assertEqual(alone.returncode, 0)

    def test_notes(self):
        """Tokens that transformers would look for in other ways than the tokenizer.json does: said, and not done."""
        data = Server.tokenizer_json()
        known, piece = data["added_tokens"][0], data["model"]["vocab"][300][0]
        with tempfile.TemporaryDirectory() as work:
            for i, (config, words) in enumerate((({"additional_special_tokens": [piece]}, [piece, "ordinary piece"]),
                                                 ({"added_tokens_decoder": {"0": {**known, "lstrip": True}}}, [known["content"], "other settings"]))):
                folder = os.path.join(work, str(i))
                Server.write_folder(folder, config)
                for command in (["info", "--vocab", folder], ["compile", os.path.join(folder, "tokenizer.json"), "-o", os.path.join(folder, "image")]):
                    done = subprocess.run([RANKFEED, *command], capture_output=True, text=True, timeout=60)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    for word in ["note", *words]:
                        self.assertIn(word, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
