# SPDX-License-Identifier: MIT
"""adversary_test.py RANKFEED: `rankfeed serve` and clients that mean it harm, or know no better.

Beside every case runs a liveness probe on both listeners; none may fail. What the server holds at most
is looked at in the end."""

import contextlib
import gzip
import json
import signal
import socket
import sys
import threading
import time
import unittest
import zlib

from hostile import Probe, http_request, raise_descriptors, read_answer
from server_process import Server

RANKFEED = sys.argv[1]
BODY = {"query": "What do pandas eat?", "texts": ["Bamboo.", "A car."]}
MEBIBYTE = 1 << 20
DRAINS = 6

raise_descriptors()

class Adversary(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(RANKFEED, (), ["--workers", 2, "--max-connections", 600, "--header-timeout-ms", 1500,
                                           "--deadline-ms", 20000, "--max-length", 64])
        cls.probe = Probe(cls.server)

    @classmethod
    def tearDownClass(cls):
        cls.probe.stop()
        highest = cls.server.highest_resident()
        rest, status = cls.server.stop()
        print(f"held at most {highest / MEBIBYTE:.0f} MiB; {rest.strip()}")
        assert not cls.probe.failed, cls.probe.failed[:5]
        assert highest < 512 * MEBIBYTE, highest
        assert status == 0, status

    def connect(self, stack=None):
        client = socket.create_connection(("127.0.0.1", self.server.port), timeout=60)
        return stack.enter_context(client) if stack is not None else client

    def raw(self, data, half_close=False):
        """All answers to these bytes, until the server closes or has answered as often as asked."""
        with self.connect() as client:
            client.sendall(data)
            if half_close:
                client.shutdown(socket.SHUT_WR)
            with client.makefile("rb") as file:
                return read_answer(file)

    def fine(self):
        self.assertEqual(self.server.post("/rerank", BODY)[0], 200)

    def test_first_byte_comes_late(self):
        """Time for a head runs from its first byte on: a client that connects early, or that gets no processor, is answered."""
        with self.connect() as client:
            time.sleep(2.5)  # longer than --header-timeout-ms
            client.sendall(http_request(BODY))
            with client.makefile("rb") as file:
                answer = read_answer(file)
        self.assertIsNotNone(answer)
        self.assertEqual(answer[0], 200)

    def test_slow_heads_do_not_starve(self):
        """More connections that never finish a head than the server keeps, while a client that was served goes on."""
        with contextlib.ExitStack() as stack:
            kept = self.connect(stack)
            file = stack.enter_context(kept.makefile("rb"))
            for _ in range(1500):
                slow = self.connect(stack)
                with contextlib.suppress(OSError):  # already closed to make room
                    slow.sendall(b"POST /rerank HT")
                if _ % 100 == 0:
                    kept.sendall(http_request(BODY))
                    self.assertEqual(read_answer(file)[0], 200)
                    self.fine()
        self.assertGreater(self.server.metrics()["rankfeed_connections_evicted_total"], 100)

    def test_heads_and_bodies_that_stop(self):
        with self.connect() as head, self.connect() as body:
            head.sendall(b"POST /rerank HTTP/1.1\r\nHost: a\r\n")
            body.sendall(http_request(BODY, fields="X-Deadline-Ms: 700\r\n")[:-5])
            for client in (head, body):
                with client.makefile("rb") as file:
                    status, fields, content = read_answer(file)
                    self.assertEqual((status, fields["connection"]), (408, "close"), content)
                    self.assertIsNone(read_answer(file))

    def test_pipelined(self):
        bodies = [{**BODY, "texts": ["word " * i, "bamboo"], "return_text": True} for i in range(1, 41)]
        with self.connect() as client, client.makefile("rb") as file:
            client.sendall(b"".join(http_request(body) for body in bodies))
            for body in bodies:
                status, _, content = read_answer(file)
                self.assertEqual(status, 200)
                self.assertEqual({r["text"] for r in json.loads(content)}, set(body["texts"]))

    def test_half_closed(self):
        self.assertEqual(self.raw(http_request(BODY), half_close=True)[0], 200)
        self.assertIsNone(self.raw(http_request(BODY)[:-4], half_close=True))  # nobody can say what it would have been

    def test_encodings(self):
        plain = json.dumps(BODY).encode()
        want = self.server.post("/rerank", BODY)[1]
        for encoding, data in (("gzip", gzip.compress(plain)), ("GZIP", gzip.compress(plain[:9]) + gzip.compress(plain[9:])),
                               ("deflate", zlib.compress(plain)), ("identity", plain)):
            self.assertEqual(self.server.post("/rerank", data, **{"Content-Encoding": encoding}), (200, want))
        for data in (gzip.compress(plain)[:-9], plain, b"", gzip.compress(plain) + b"more"):
            self.assertEqual(self.server.post("/rerank", data, **{"Content-Encoding": "gzip"})[0], 400, data)
        self.assertEqual(self.server.post("/rerank", plain, **{"Content-Encoding": "br"})[0], 415)
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(plain[i:i + 7]), plain[i:i + 7]) for i in range(0, len(plain), 7)) + b"0\r\n\r\n"
        head = b"POST /rerank HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        status, _, content = self.raw(head + chunks)
        self.assertEqual((status, json.loads(content)), (200, want))
        self.assertEqual(self.raw(head + b"zz\r\n")[0], 400)
        self.assertEqual(self.raw(head + b"ffffffffff\r\n" + b"x" * 100)[0], 413)

    def test_bombs(self):
        zeros = gzip.compress(b"0" * (200 * MEBIBYTE), 1)
        twice = gzip.compress(b'{"query":"' + b"a" * (17 * MEBIBYTE) + b'"}')
        for data in (zeros, twice):
            status, answer = self.server.post("/rerank", data, **{"Content-Encoding": "gzip"})
            self.assertEqual(status, 413, answer)
        for data in (b"[" * 10_000_000, b'{"a":' * 1_000_000, b"[" + b"1," * 5_000_000, b"[" + b"[]," * 3_000_000):
            self.assertEqual(self.server.post("/rerank", data)[0], 413)
        self.assertEqual(self.server.post("/rerank", b" " * 10_000_000)[0], 400)

    def test_large(self):
        long = {"query": "panda", "texts": ["bamboo " * 1_500_000]}  # 10 MB
        self.assertEqual(self.server.post("/rerank", long)[0], 200)
        many = {"query": "panda", "texts": [f"text {i}" for i in range(1000)]}
        status, answer = self.server.post("/rerank", many)
        self.assertEqual((status, len(answer)), (200, 1000))
        many["texts"].append("one more")
        self.assertEqual(self.server.post("/rerank", many)[0], 413)
        self.assertEqual(self.server.post("/v2/rerank", {"query": "panda", "documents": many["texts"]})[0], 413)
        head = b"POST /rerank HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n"
        self.assertEqual(self.raw(head)[0], 413)
        self.assertEqual(self.raw(b"GET /health HTTP/1.1\r\nHost: a\r\nX-Long: " + b"x" * 100_000 + b"\r\n\r\n")[0], 431)
        # A client that does not stop sending what was refused still gets to read why.
        with self.connect() as client:
            client.sendall(head + b"x" * MEBIBYTE)
            with client.makefile("rb") as file:
                self.assertEqual(read_answer(file)[0], 413)

    def test_wrong_requests_in_every_dialect(self):
        """The status and the shape of errors, by dialect; never 500, never a closed connection."""
        def tei(answer):
            return set(answer) == {"error", "error_type"}

        def cohere(answer):
            return set(answer) == {"message"}

        def jina(answer):
            return set(answer) == {"detail"}

        def infinity(answer):
            return set(answer["error"]) == {"message", "type", "param", "code"}
        query = {"query": "q"}
        documents = [([], None), ([1], None), ([None], None), ([["a"]], None), ("a", None), ([{"title": "x"}], None), ([{"text": 1.5}], 200),
                     ([{"text": ["a"]}], None), ([{"text": None}], None), ([{}], None), (None, None)]
        for path, shape, wrong in (("/v1/rerank", cohere, 400), ("/v2/rerank", cohere, 400), ("/rerank", jina, 422)):
            for value, status in documents:
                if path == "/rerank" and value is None:
                    continue
                got, answer = self.server.post(path, {**query, "documents": value})
                self.assertEqual(got, status or wrong, (path, value, answer))
                if got != 200:
                    self.assertTrue(shape(answer), answer)
            for name, value in (("top_n", 0), ("top_n", -1), ("top_n", 1.5), ("top_n", "2"), ("top_n", 10**30), ("query", 1),
                                ("query", None), ("return_documents", "yes"), ("model", 7), ("rank_fields", "text"),
                                ("rank_fields", [1]), ("max_chunks_per_doc", 0), ("max_tokens_per_doc", [])):
                got, answer = self.server.post(path, {**query, "documents": ["a"], name: value})
                self.assertEqual((got, shape(answer)), (wrong, True), (path, name, value, answer))
        got, answer = self.server.post("/rerank", {**query, "documents": [], "raw_scores": True})
        self.assertEqual((got, infinity(answer)), (422, True), answer)
        for body, status in ((b'{"query": "\\ud800", "texts": ["a"]}', 400), (b'{"query": "\xff", "texts": ["a"]}', 400), (b"", 400),
                             (b"null", 400), (b'{"query": "q", "texts": ["a"]} x', 400), (b'{"query": "q", "texts": [1]}', 422),
                             (b'{"query": "q", "texts": {}}', 422), (b'{"query": "q", "texts": ["a"], "truncate": 1}', 422),
                             (b'{"query": NaN, "texts": ["a"]}', 400), (b'{"query": "q", "texts": ["a"], "raw_scores": 1e999}', 400)):
            got, answer = self.server.post("/rerank", body)
            self.assertEqual((got, tei(answer)), (status, True), (body, answer))
        for path, body, status in (("/tokenize", {"inputs": 1}, 422), ("/tokenize", {"inputs": []}, 400), ("/tokenize", {}, 422),
                                   ("/decode", {"ids": "a"}, 422), ("/decode", {"ids": [[1], 2]}, 422), ("/decode", {"ids": [-1]}, 422),
                                   ("/decode", {"ids": [2**31 - 1]}, 422)):
            got, answer = self.server.post(path, body)
            self.assertEqual((got, tei(answer)), (status, True), (path, body, answer))

    def test_http(self):
        self.assertEqual(self.raw(b"hello\r\n\r\n")[0], 400)
        self.assertEqual(self.raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 500)[0], 400)  # TLS
        self.assertEqual(self.raw(b"GET /health HTTP/1.1\r\n\r\n")[0], 400)  # no Host
        self.assertEqual(self.raw(b"GET /health HTTP/1.0\r\n\r\n")[0], 200)
        both = b"POST /rerank HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        self.assertEqual(self.raw(both)[0], 400)
        self.assertEqual(self.raw(http_request(BODY, fields="Content-Length: 3\r\n"))[0], 400)
        self.assertEqual(self.raw(http_request(BODY, fields="Expect: 200-ok\r\n"))[0], 417)
        status, _, headers = self.server.call("HEAD", "/info")
        self.assertEqual(status, 200)
        self.assertGreater(int(headers["Content-Length"]), 100)
        request = http_request(BODY, fields="Expect: 100-continue\r\n")
        end = request.index(b"\r\n\r\n") + 4
        with self.connect() as client, client.makefile("rb") as file:
            client.sendall(request[:end])
            self.assertEqual(file.readline(), b"HTTP/1.1 100 Continue\r\n")
            self.assertEqual(file.readline(), b"\r\n")
            client.sendall(request[end:])
            self.assertEqual(read_answer(file)[0], 200)
        status, fields, _ = self.raw(b"DELETE /rerank HTTP/1.1\r\nHost: a\r\n\r\n")
        self.assertEqual(status, 405)
        self.assertEqual(self.raw(b"POST /admin/reload HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")[0], 404)

    def test_many_keep_alive_clients(self):
        """Three hundred clients that all ask again and again, and every one is answered."""
        answered = [0] * 300
        with contextlib.ExitStack() as stack:
            clients = [self.connect(stack) for _ in answered]
            files = [stack.enter_context(c.makefile("rb")) for c in clients]
            for _ in range(4):
                for client in clients:
                    client.sendall(http_request(BODY))
                for i, file in enumerate(files):
                    status = read_answer(file)[0]
                    self.assertIn(status, (200, 429))
                    answered[i] += 1
        self.assertEqual(set(answered), {4})


class Limits(unittest.TestCase):
    def test_key(self):
        server = Server(RANKFEED, (), ["--workers", 1], {"RANKFEED_API_KEY": "secret"})
        try:
            for key in (None, "Bearer", "Bearer ", "Bearer secre", "Bearer secret2", "Basic secret", "secret"):
                status, answer, fields = server.call("POST", "/v2/rerank", {}, {"Authorization": key} if key else {})
                self.assertEqual((status, list(answer)), (401, ["message"]), key)
                self.assertEqual(fields["WWW-Authenticate"], "Bearer")
            for key in ("Bearer secret", "bearer secret", "BEARER secret ", "Bearer   secret", "Bearer \tsecret"):  # litellm#14001
                self.assertEqual(server.post("/rerank", BODY, Authorization=key)[0], 200, key)
            self.assertEqual(server.call("GET", "/health")[0], 200)
            self.assertEqual(server.call("GET", "/info")[0], 401)
        finally:
            server.stop()

    def test_bodies_together(self):
        """Bodies that are held half sent take no more memory than they may together."""
        server = Server(RANKFEED, (), ["--workers", 1, "--max-body", "8MB", "--body-memory", "16MB", "--drain-ms", 1000])
        try:
            half = http_request(b"x" * 8_000_000)[:-1]
            with contextlib.ExitStack() as stack:
                codes = []
                for _ in range(6):
                    client = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=30))
                    client.sendall(half)
                    client.setblocking(False)
                    codes.append(client)
                time.sleep(1)
                refused = [read for c in codes if (read := self.received(c))]
                self.assertTrue(refused)
                self.assertTrue(all(r.startswith(b"HTTP/1.1 429 ") for r in refused), refused)
                self.assertLess(server.resources()[0], 150 * MEBIBYTE)
            self.assertEqual(server.post("/rerank", BODY)[0], 200)
        finally:
            server.stop()

    @staticmethod
    def received(client):
        try:
            return client.recv(65536)
        except BlockingIOError:
            return b""

    def test_drain_whatever_clients_do(self):
        """SIGTERM while heads and bodies hang and answers are not read: what was asked is answered, and it ends in 10 s."""
        server = Server(RANKFEED, (), ["--workers", 1, "--queue", 64])
        self.addCleanup(server.process.kill)
        work = {"query": "q", "texts": ["word " * 300] * 40, "return_text": True}
        with contextlib.ExitStack() as stack:
            def connect(data):
                client = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=30))
                client.sendall(data)
                return client
            idle = [connect(b"") for _ in range(20)]
            slow = [connect(b"POST /rerank HT") for _ in range(20)] + [connect(http_request(work)[:-3]) for _ in range(20)]
            asked = [connect(http_request(work)) for _ in range(8)]
            time.sleep(0.3)
            begin = time.monotonic()
            server.process.send_signal(signal.SIGTERM)
            late = connect(http_request(work))  # on its way when the drain begins
            answers = []
            for client in [*asked, late]:
                with client.makefile("rb") as file:
                    answers.append(read_answer(file)[:2])
                    self.assertIsNone(read_answer(file))
            self.assertEqual({status for status, _ in answers}, {200})
            self.assertEqual(answers[-1][1]["connection"], "close")
            for client in idle:
                self.assertEqual(client.recv(100), b"")  # an end, not a reset
            for client in slow:
                with client.makefile("rb") as file:
                    self.assertEqual(read_answer(file)[0], 503)
            rest, status = server.stop()
            took = time.monotonic() - begin
        self.assertEqual(status, 0, rest)
        self.assertLess(took, 10)
        self.assertIn("drained: 9 answered", rest)

    def test_drain_while_clients_connect(self):
        """Every request of a connection that was made is answered, also in the moment in which the listener closes."""
        made, lost = [0], []

        def ask(server):
            while True:
                try:
                    client = socket.create_connection(("127.0.0.1", server.port), timeout=30)
                except OSError:  # the listener is closed
                    return
                with client:
                    made[0] += 1
                    try:
                        client.sendall(b"GET /ping HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                        answer = client.recv(1000)
                    except OSError as error:
                        answer = repr(error).encode()
                    if not answer.startswith(b"HTTP/1.1 "):
                        lost.append(answer)
        for _ in range(DRAINS):
            server = Server(RANKFEED, (), ["--workers", 1])
            self.addCleanup(server.process.kill)
            clients = [threading.Thread(target=ask, args=(server,)) for _ in range(8)]
            for client in clients:
                client.start()
            time.sleep(0.1)
            status = server.stop()[1]
            for client in clients:
                client.join()
            self.assertEqual(status, 0)
        self.assertEqual(lost, [], f"of {made[0]}")
        self.assertGreater(made[0], 100 * DRAINS)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
