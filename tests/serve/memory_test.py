# SPDX-License-Identifier: MIT
"""memory_test.py RANKFEED MODULE [--all-starts]: `rankfeed serve` where memory runs out, once or for good, at every
allocation of a request, a swap and the metrics, in one process, and of starts: at the first 200 allocations and 200
drawn ones, or with --all-starts at every one. MODULE: scarce_memory.c."""

import concurrent.futures
import gzip
import json
import mmap
import os
import random
import re
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import random_model
from hostile import http_request, read_answer
from server_process import Server, command_of_the_unit

RANKFEED, MODULE = sys.argv[1:3]
ALL_STARTS = "--all-starts" in sys.argv
WORK = tempfile.TemporaryDirectory()
VOCAB, MODEL = (os.path.join(WORK.name, name) for name in ("vocabulary", "model"))
PIECES = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", *"abcdefghijklmnopqrstuvwxyz", "panda", "bear"]


def write_files():
    """A vocabulary of few pieces, compiled, and a model for it: what is loaded costs less than what is tested."""
    def special(token):
        return {"SpecialToken": {"id": token, "type_id": 0}}
    a, b = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    tokens = {name: {"id": name, "ids": [PIECES.index(name)], "tokens": [name]} for name in ("[CLS]", "[SEP]")}
    file = {"added_tokens": [{"id": i, "content": PIECES[i], "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
                              "special": True} for i in range(4)],
            "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": {"type": "TemplateProcessing", "single": [special("[CLS]"), a, special("[SEP]")],
                               "pair": [special("[CLS]"), a, special("[SEP]"), b, special("[SEP]")], "special_tokens": tokens},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                      "vocab": {piece: i for i, piece in enumerate(PIECES)}}}
    with open(VOCAB + ".json", "w", encoding="utf-8") as out:
        json.dump(file, out)
    subprocess.run([RANKFEED, "compile", VOCAB + ".json", "-o", VOCAB], check=True, stdout=subprocess.DEVNULL)
    random_model.write(MODEL, len(PIECES), 1, hidden=8, layers=1, heads=2, inner=8, positions=66)


class Scarcity:
    """The page of a process that runs under the module."""

    def __init__(self):
        self.path = os.path.join(WORK.name, f"page-{os.urandom(8).hex()}")
        with open(self.path, "wb+") as file:
            file.write(bytes(32))
            file.flush()
            self.page = mmap.mmap(file.fileno(), 32)

    def get(self, place):
        return struct.unpack_from("=q", self.page, 8 * place)[0]

    def set(self, place, value):
        struct.pack_into("=q", self.page, 8 * place, value)

    count, failed = property(lambda self: self.get(0)), property(lambda self: self.get(3))

    def fail_at(self, n, times=1):
        """So many allocations fail, the first of them the n-th from now on; its number, which count reaches with it."""
        self.set(1, 0)
        self.set(2, times)
        first = self.count + n
        self.set(1, first)
        return first

    def end(self):
        """None fails any more."""
        self.set(1, 0)

    def environment(self):
        return {"LD_PRELOAD": MODULE, "RANKFEED_SCARCE": self.path}


RERANK = {"query": "panda", "texts": ["a bear", "panda", "bamboo"], "return_text": True}
DOCUMENTS = {"query": "panda", "documents": ["a bear", {"text": "panda"}], "return_documents": True}
REQUESTS = {
    "texts": http_request(RERANK),
    "documents": http_request(DOCUMENTS, "/v2/rerank"),
    "compressed": http_request(gzip.compress(json.dumps(RERANK).encode()), fields="Content-Encoding: gzip\r\n"),
    "refused": http_request({"query": "panda", "texts": [1]}),
    "no JSON": http_request(b"{"),
    "tokenize": http_request({"inputs": ["a panda", "bear"]}, "/tokenize"),
    "decode": http_request({"ids": [4, 5, 6]}, "/decode"),
    "metrics": b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "info": b"GET /info HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "docs": b"GET /docs HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "no such path": b"GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n",
}


class Scarce(unittest.TestCase):
    def setUp(self):
        self.scarcity = Scarcity()
        self.log = tempfile.TemporaryFile("w+")
        self.server = Server(RANKFEED, (), ["--workers", 1, "--max-length", 32], self.scarcity.environment(), self.log, vocab=VOCAB,
                             model=MODEL, corpus=False)
        self.wanted = {name: self.ask(request) for name, request in REQUESTS.items()}
        self.assertEqual({status for status, _ in self.wanted.values()}, {200, 400, 404, 422})

    def tearDown(self):
        self.scarcity.end()
        for name, request in REQUESTS.items():
            status, content = self.ask(request)
            self.assertEqual(status, self.wanted[name][0])
            if name not in ("metrics", "info", "documents"):  # which count, or have an id of their own
                self.assertEqual(content, self.wanted[name][1])
        rest, status = self.server.stop()
        self.assertEqual(status, 0, rest)
        self.log.close()

    def ask(self, request, port=None, timeout=60):
        """Status and content; None where the connection ends without an answer."""
        try:
            with socket.create_connection(("127.0.0.1", port or self.server.port), timeout=timeout) as client:
                client.sendall(request)
                with client.makefile("rb") as file:
                    answer = read_answer(file)
            return None if answer is None else (answer[0], answer[2])
        except ConnectionError:
            return None

    def at_every_allocation(self, request, statuses, port=None):
        """Asks again and again, until it takes fewer allocations than the one that would fail; how many it took."""
        n = 1
        while True:
            before = self.scarcity.failed
            first = self.scarcity.fail_at(n)
            answer = self.ask(request, port)
            self.assertIsNotNone(answer, f"allocation {n} failed")
            self.assertIn(answer[0], statuses, (n, answer))
            if self.scarcity.failed != before:
                n += 1
            elif self.scarcity.count < first:
                self.scarcity.end()
                return n
            # Else another thread, at the end of the connection before, took the n-th before it was to fail: again.

    def test_every_allocation_of_requests(self):
        took = {name: self.at_every_allocation(request, {self.wanted[name][0], 424, 429, 500, 503}) for name, request in REQUESTS.items()}
        print("allocations:", took)
        self.assertGreater(min(took.values()), 5)
        self.assertGreater(took["texts"], 50)

    def test_every_allocation_of_a_swap(self):
        request, port = http_request({}, "/admin/reload"), self.server.admin_port
        took = self.at_every_allocation(request, {200, 422, 429, 503}, port)
        print("allocations of a swap:", took)
        self.assertGreater(took, 100)
        wrong = http_request({"model": "/no/such"}, "/admin/reload")
        self.at_every_allocation(wrong, {422, 429, 503}, port)
        for n in range(1, took, 7):  # and of one that a signal asks for
            loaded = self.server.metrics()["rankfeed_generation"], self.scarcity.failed
            self.scarcity.fail_at(n)
            self.server.process.send_signal(signal.SIGHUP)
            deadline = time.monotonic() + 60
            while (self.scarcity.failed == loaded[1] and self.server.metrics()["rankfeed_generation"] == loaded[0]
                   and time.monotonic() < deadline):
                time.sleep(0.01)
            self.assertLess(time.monotonic(), deadline)
        self.scarcity.end()
        deadline = time.monotonic() + 60
        while (status := self.ask(request, port)[0]) == 429 and time.monotonic() < deadline:  # the last signal's swap
            time.sleep(0.05)
        self.assertEqual(status, 200)

    def test_no_help_at_every_allocation(self):
        """Two in a row fail, so that a thread's reserve does not help: a connection may end without an answer, and no other."""
        for request in REQUESTS.values():
            for n in range(1, 100_000):
                before = self.scarcity.failed
                self.scarcity.fail_at(n, times=2)
                self.ask(request)
                self.assertIsNone(self.server.process.poll(), (request, n))
                if self.scarcity.failed == before:
                    break
        self.scarcity.end()

    def test_limit_of_the_address_space(self):
        """Of the kernel (ulimit -v), as a service meets it, while it loads a set or reads a body that takes much memory."""
        pid, swap = self.server.process.pid, http_request({}, "/admin/reload")
        large = http_request({"query": "panda", "texts": [["panda" * 20] for _ in range(49_000)]})
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            now = next(int(line.split()[1]) << 10 for line in file if line.startswith("VmSize"))
        for more in (0, 1 << 16, 1 << 20, 1 << 23, 1 << 25, 1 << 27):
            resource.prlimit(pid, resource.RLIMIT_AS, (now + more, resource.RLIM_INFINITY))
            self.assertIn(self.ask(large)[0], {413, 424, 429, 503})
            for _ in range(3):
                self.assertIn(self.ask(swap, self.server.admin_port)[0], {200, 422, 503})
                self.assertIn(self.ask(REQUESTS["texts"])[0], {200, 424, 429, 503})
            resource.prlimit(pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            self.assertEqual(self.ask(swap, self.server.admin_port)[0], 200)


class Start(unittest.TestCase):
    def start(self, n):
        """A start whose n-th allocation fails (0: none): how many it asked for, and what is wrong with how it went."""
        scarcity = Scarcity()
        if n != 0:
            scarcity.fail_at(n)
        process = subprocess.Popen(command_of_the_unit(RANKFEED, ["--vocab", VOCAB, "--model", MODEL, "--workers", "1", "--port", "0"]),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **scarcity.environment()})
        line = process.stdout.readline()
        count = scarcity.count
        wrong = None
        if line.startswith("listening on "):
            with socket.create_connection(("127.0.0.1", int(line.rsplit(":", 1)[1])), timeout=60) as client:
                client.sendall(REQUESTS["texts"])
                with client.makefile("rb") as file:
                    answer = read_answer(file)
            if answer is None or answer[0] != 200:
                wrong = answer
            process.kill()
        said = process.communicate(timeout=60)[1]
        if not line and (process.returncode != 1 or not re.search(r"^rankfeed: .*(memory|thread)", said, re.MULTILINE)):
            wrong = process.returncode, said
        os.remove(scarcity.path)
        return count, wrong

    def test_starts_or_says_why(self):
        count, wrong = self.start(0)
        self.assertIsNone(wrong)
        print("allocations of a start:", count)
        numbers = range(1, count + 1)
        if not ALL_STARTS:
            numbers = [*numbers[:200], *random.Random(58).sample(numbers[200:], 200)]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            wrong = {n: wrong for n, (_, wrong) in zip(numbers, pool.map(self.start, numbers)) if wrong is not None}
        self.assertEqual(wrong, {})


if __name__ == "__main__":
    write_files()
    unittest.main(argv=sys.argv[:1], verbosity=1)
