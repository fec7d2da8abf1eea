# SPDX-License-Identifier: MIT
"""service_test.py RANKFEED: `rankfeed serve`, request by request."""

import contextlib
import json
import math
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from server_process import Server

RANKFEED = sys.argv[1]
TEXTS = ["A panda is a bear.", "Bamboo.", "", "The capital of France is Paris, on the Seine.", "Pandas eat bamboo all day."]
QUERY = "What do pandas eat?"


class Rerank(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(RANKFEED, [(str(i), t) for i, t in enumerate(TEXTS)],
                            ["--workers", 2, "--queue", 8, "--max-length", 64])

    @classmethod
    def tearDownClass(cls):
        rest, status = cls.server.stop()
        assert status == 0 and "drained" in rest, (rest, status)

    def scores(self, **extra):
        status, answer = self.server.post("/rerank", {"query": QUERY, "texts": TEXTS, "truncate": True, **extra})
        self.assertEqual(status, 200, answer)
        return answer

    def test_tei(self):
        answer = self.scores()
        self.assertEqual(sorted(r["index"] for r in answer), list(range(len(TEXTS))))
        self.assertEqual([list(r) for r in answer], [["index", "score"]] * len(TEXTS))
        values = [r["score"] for r in answer]
        self.assertEqual(values, sorted(values, reverse=True))
        self.assertEqual(len(set(values)), len(values))
        self.assertTrue(all(0 < v < 1 for v in values))
        raw = {r["index"]: r["score"] for r in self.scores(raw_scores=True)}
        for r in answer:
            self.assertAlmostEqual(r["score"], 1 / (1 + math.exp(-raw[r["index"]])), places=6)
        texts = self.scores(return_text=True)
        self.assertEqual([r["text"] for r in texts], [TEXTS[r["index"]] for r in texts])

    def test_one_by_one_equals_all(self):
        raw = {r["index"]: r["score"] for r in self.scores(raw_scores=True)}
        for i, text in enumerate(TEXTS):
            _, answer = self.server.post("/rerank", {"query": QUERY, "texts": [text], "raw_scores": True})
            self.assertAlmostEqual(answer[0]["score"], raw[i], places=5)

    def test_cohere_and_jina(self):
        order = [r["index"] for r in self.scores()]
        for path in ("/rerank", "/v1/rerank", "/v2/rerank"):  # the first: as Jina's
            status, answer = self.server.post(path, {"model": "m", "query": QUERY, "documents": TEXTS, "top_n": 3,
                                                     "return_documents": True})
            self.assertEqual(status, 200)
            self.assertEqual([r["index"] for r in answer["results"]], order[:3])
            self.assertEqual([r["document"]["text"] for r in answer["results"]], [TEXTS[i] for i in order[:3]])
            self.assertIn("relevance_score", answer["results"][0])
            self.assertGreater(answer["usage"]["total_tokens"], 0)
            self.assertTrue(answer["id"])
        status, answer = self.server.post("/v1/rerank", {"query": QUERY, "documents": [{"text": t} for t in TEXTS]})
        self.assertEqual([r["index"] for r in answer["results"]], order)
        self.assertNotIn("document", answer["results"][0])

    def test_paths_of_llama_cpp_and_infinity(self):
        body = {"query": QUERY, "documents": TEXTS, "return_documents": True}
        jina = self.server.post("/rerank", body)[1]["results"]
        for path in ("/reranking", "/v1/reranking"):
            self.assertEqual(self.server.post(path, body)[1]["results"], jina)
            self.assertEqual(self.server.post(path, {"query": QUERY, "texts": TEXTS})[1], self.scores())
        infinity = self.server.post("/infinity/rerank", body)[1]
        self.assertEqual(infinity["object"], "rerank")
        self.assertEqual(infinity["results"], [{**r, "document": r["document"]["text"]} for r in jina])

    def test_values_as_clients_write_them(self):
        """RAGFlow's Xinference client sends `return_documents: "true"` and reads `meta.tokens`; Gson and Lua send 3.0."""
        body = {"query": QUERY, "documents": TEXTS, "top_n": 3, "return_documents": True}
        plain = self.server.post("/v1/rerank", body)[1]
        lax = self.server.post("/v1/rerank", {**body, "top_n": 3.0, "return_documents": "true"})[1]
        self.assertEqual(lax["results"], plain["results"])
        self.assertEqual(lax["meta"]["tokens"], {"input_tokens": plain["usage"]["total_tokens"], "output_tokens": 0})
        without = self.server.post("/v1/rerank", {**body, "return_documents": "False"})[1]["results"]
        self.assertNotIn("document", without[0])
        for wrong in ({"top_n": 3.5}, {"top_n": -1.0}, {"top_n": 1e300}, {"top_n": "3"}, {"return_documents": "yes, please"}, {"return_documents": 1}):
            self.assertEqual(self.server.post("/rerank", {**body, **wrong})[0], 422, wrong)

    def test_scores_of_vllm(self):
        by_index = {r["index"]: r["score"] for r in self.scores()}
        want = [by_index[i] for i in range(len(TEXTS))]
        for path in ("/score", "/v1/score"):
            for names in (("text_1", "text_2"), ("data_1", "data_2"), ("queries", "documents")):
                for first in (QUERY, [QUERY], [QUERY] * len(TEXTS)):
                    status, answer = self.server.post(path, {"model": "m", names[0]: first, names[1]: TEXTS})
                    self.assertEqual(status, 200, answer)
                    self.assertEqual([(d["index"], d["object"]) for d in answer["data"]], [(i, "score") for i in range(len(TEXTS))])
                    self.assertEqual([d["score"] for d in answer["data"]], want)
                    self.assertEqual((answer["object"], answer["model"]), ("list", "m"))
                    self.assertGreater(answer["usage"]["prompt_tokens"], 0)
        pairs = self.server.post("/score", {"text_1": TEXTS, "text_2": TEXTS[::-1], "use_activation": False})[1]["data"]
        for i, text in enumerate(TEXTS):
            alone = self.server.post("/rerank", {"query": text, "texts": [TEXTS[-1 - i]], "raw_scores": True})[1]
            self.assertEqual(pairs[i]["score"], alone[0]["score"])
        for wrong in ({"text_1": ["a", "b"], "text_2": ["a", "b", "c"]}, {"text_1": ["a", "b"], "text_2": "c"}, {"text_1": "a"},
                      {"text_2": "a"}, {"text_1": "a", "text_2": [1]}, {"text_1": [], "text_2": ["a"]}, {"text_1": "a", "text_2": []}):
            status, answer = self.server.post("/score", wrong)
            self.assertEqual(status, 400, wrong)
            self.assertEqual((answer["error"]["type"], answer["error"]["code"]), ("BadRequestError", 400))

    def test_predictions_of_tei(self):
        raw = {r["index"]: r["score"] for r in self.scores(raw_scores=True)}
        answer = self.server.post("/predict", {"inputs": [[QUERY, t] for t in TEXTS], "raw_scores": True})[1]
        self.assertEqual(answer, [[{"score": raw[i], "label": answer[0][0]["label"]}] for i in range(len(TEXTS))])
        one = self.server.post("/predict", {"inputs": [QUERY, TEXTS[1]], "raw_scores": True})[1]
        self.assertEqual(one, answer[1])
        for wrong, status in (("a text", 422), (["a text"], 422), ([["a"]], 422), ([[QUERY, "a"], "a"], 422), ([[QUERY, 1]], 422), ([], 400)):
            self.assertEqual(self.server.post("/predict", {"inputs": wrong})[0], status, wrong)

    def test_models(self):
        for path in ("/v1/models", "/models"):
            status, answer, _ = self.server.call("GET", path)
            self.assertEqual((status, answer["object"], len(answer["data"])), (200, "list", 1))
            model = answer["data"][0]
            self.assertEqual((model["object"], model["max_model_len"]), ("model", 64))
            self.assertTrue(model["id"])

    def test_documents_of_the_corpus(self):
        status, answer = self.server.post("/v1/rerank", {"query": QUERY, "documents": [{"id": str(i)} for i in range(len(TEXTS))]})
        self.assertEqual(status, 200, answer)
        texts = self.server.post("/v1/rerank", {"query": QUERY, "documents": TEXTS})[1]
        self.assertEqual(answer["results"], texts["results"])
        self.assertEqual(self.server.post("/v1/rerank", {"query": QUERY, "documents": [{"id": "none such"}]})[0], 400)

    def test_chunks(self):
        long = "bamboo and pandas in the mountains " * 60
        one = self.server.post("/v1/rerank", {"query": QUERY, "documents": [long]})[1]
        many = self.server.post("/v1/rerank", {"query": QUERY, "documents": [long], "max_chunks_per_doc": 10})[1]
        self.assertGreater(many["usage"]["total_tokens"], 3 * one["usage"]["total_tokens"])
        self.assertEqual([r["index"] for r in many["results"]], [0])

    def test_refused(self):
        long = ["word " * 500]
        for body, status in ((b"{", 400), (b"[]", 400), ({"query": QUERY}, 422), ({"texts": ["a"]}, 422),
                             ({"query": QUERY, "texts": []}, 400), ({"query": 1, "texts": ["a"]}, 422),
                             ({"query": QUERY, "texts": [1]}, 422), ({"query": QUERY, "documents": ["a"], "top_n": -1}, 422),
                             ({"query": QUERY, "texts": ["a"], "truncation_direction": "Up"}, 422),
                             ({"query": QUERY, "texts": long, "truncate": False}, 413)):
            got, answer = self.server.post("/rerank", body)
            self.assertEqual(got, status, (body, answer))
            self.assertTrue("error" in answer or "detail" in answer)
        self.assertEqual(self.server.post("/rerank", {"query": QUERY, "texts": long, "truncate": True})[0], 200)
        left = self.server.post("/rerank", {"query": QUERY, "texts": long, "truncate": True, "truncation_direction": "Left"})
        self.assertEqual(left[0], 200)
        self.assertEqual(self.server.call("GET", "/rerank")[0], 405)
        self.assertEqual(self.server.call("GET", "/none")[0], 404)
        for value in ("soon", "-1", "1e3"):
            got, answer = self.server.post("/rerank", {"query": QUERY, "texts": ["a"]}, **{"X-Deadline-Ms": value})
            self.assertEqual(got, 422, (value, answer))
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=60) as raw:
            raw.sendall(b"POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Length: some\r\nConnection: close\r\n\r\n")
            self.assertTrue(raw.recv(1 << 16).startswith(b"HTTP/1.1 400 "))

    def test_deadline(self):
        got, answer = self.server.post("/rerank", {"query": QUERY, "texts": ["word " * 5000] * 200, "truncate": True}, **{"X-Deadline-Ms": "1"})
        self.assertEqual(got, 504, answer)
        self.assertEqual(answer["error_type"], "Deadline")
        self.assertEqual(self.server.post("/rerank", {"query": QUERY, "texts": ["a"]})[0], 200)

    def test_overload(self):
        before = self.server.metrics()
        # All but the last byte of each request first, so that they are complete at the same time however fast the
        # service is.
        body = json.dumps({"query": QUERY, "texts": ["word " * 400] * 100, "truncate": True}).encode()
        head = f"POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(socket.create_connection(("127.0.0.1", self.server.port), timeout=120)) for _ in range(24)]
            for client in clients:
                client.sendall(head.encode() + body[:-1])
            time.sleep(0.5)
            for client in clients:
                client.sendall(body[-1:])
            codes = []
            for client in clients:
                answer = b""
                while part := client.recv(1 << 16):
                    answer += part
                codes.append(int(answer.split(b" ", 2)[1]))
        self.assertEqual(set(codes) - {200, 429}, set())
        self.assertIn(429, codes)
        self.assertGreaterEqual(codes.count(200), 8)
        after = self.server.metrics()
        count = 'rankfeed_responses_total{outcome="overloaded"}'
        self.assertEqual(after[count] - before[count], codes.count(429))
        self.assertEqual(after["rankfeed_queue_depth"], 0)

    def test_metrics_and_info(self):
        self.scores()
        metrics = self.server.metrics()
        self.assertEqual(metrics["rankfeed_requests_total"],
                         sum(v for k, v in metrics.items() if k.startswith("rankfeed_responses_total")))
        self.assertEqual(metrics["rankfeed_request_seconds_count"], metrics['rankfeed_responses_total{outcome="ok"}'])
        self.assertEqual(metrics['rankfeed_request_seconds_bucket{le="+Inf"}'], metrics["rankfeed_request_seconds_count"])
        self.assertGreater(metrics["rankfeed_tokens_total"], 0)
        # As OpenTelemetry's proposal of a rerank span names its attributes.
        for name in ("gen_ai_rerank_candidate_count", "gen_ai_rerank_top_n"):
            self.assertEqual(metrics[f"{name}_count"], metrics[f'{name}_bucket{{le="+Inf"}}'])
            self.assertGreater(metrics[f"{name}_sum"], 0)
        pages = [name for name in metrics if name.startswith("rankfeed_vocabulary_pages")]
        self.assertRegex(pages[0], r'^rankfeed_vocabulary_pages\{kind="(hugetlb|transparent|base|file)"\}$')
        self.assertEqual((len(pages), metrics[pages[0]]), (1, 1))
        self.assertEqual(self.server.call("GET", "/info")[1]["max_input_length"], 64)
        self.assertEqual(self.server.call("GET", "/health")[0], 200)

    def test_manifest_of_stores(self):
        path, server = self.server.path, self.server
        for i in range(3):
            server.build_corpus(path(f"part-{i}.rfc"), [(str(j), t) for j, t in enumerate(TEXTS) if j % 3 == i])
        server.build_manifest(path("parts.json"), [path(f"part-{i}.rfc") for i in range(3)])
        body = {"query": QUERY, "documents": [{"id": str(i)} for i in range(len(TEXTS))]}
        expected = server.post("/v1/rerank", body)[1]["results"]
        self.assertEqual(server.post("/admin/reload", {"corpus": path("parts.json")})[0], 200)
        try:
            self.assertEqual(server.post("/v1/rerank", body)[1]["results"], expected)
            self.assertEqual(server.post("/v1/rerank", {"query": QUERY, "documents": [{"id": "none such"}]})[0], 400)
            # A manifest whose shard is gone leaves the set that serves; open shards need no file.
            os.remove(path("part-1.rfc"))
            status, answer = server.post("/admin/reload", {"corpus": path("parts.json")})
            self.assertEqual(status, 422)
            self.assertIn("part-1.rfc", json.dumps(answer))
            self.assertEqual(server.post("/v1/rerank", body)[1]["results"], expected)
        finally:
            self.assertEqual(server.post("/admin/reload", {"corpus": server.corpus})[0], 200)

    def test_hot_swap_under_load(self):
        """While clients ask, vocabulary, corpus and model change: every answer is that of one set."""
        path, server = self.server.path, self.server
        vocab = path("other.rfimg")
        ids = server.compile_permuted(vocab)
        server.write_model(path("larger"), 1, ids)
        server.write_model(path("other"), 2)
        server.build_corpus(path("reversed.rfc"), [(str(i), t) for i, t in enumerate(reversed(TEXTS))])
        server.build_corpus(path("permuted.rfc"), [(str(i), t) for i, t in enumerate(TEXTS)], vocab)
        body = {"query": QUERY, "documents": [*({"id": str(i)} for i in range(len(TEXTS))), "A text of its own."]}
        original = {"vocab": server.vocab, "model": server.model, "corpus": server.corpus}
        sets = [{**original, "model": path("other"), "corpus": path("reversed.rfc")}, original,
                {"vocab": vocab, "model": path("larger"), "corpus": path("permuted.rfc")}]
        expected = []
        for paths in sets:
            self.assertEqual(server.post("/admin/reload", paths)[0], 200)
            expected.append(server.post("/v1/rerank", body)[1]["results"])
        for i, j in ((0, 1), (0, 2), (1, 2)):
            self.assertNotEqual(expected[i], expected[j])
        # A store of another vocabulary, or a file that is not there, leaves the set that serves.
        for paths in ({"vocab": server.vocab}, {"corpus": server.corpus}, {"vocab": "/no/such"}):
            self.assertEqual(server.post("/admin/reload", paths)[0], 422, paths)
        self.assertEqual(server.post("/v1/rerank", body)[1]["results"], expected[2])
        stop, seen, wrong = threading.Event(), set(), []

        def ask():
            while not stop.is_set():
                status, answer = server.post("/v1/rerank", body)
                if status != 200 or answer["results"] not in expected:
                    wrong.append((status, answer))
                else:
                    seen.add(expected.index(answer["results"]))
        threads = [threading.Thread(target=ask) for _ in range(3)]
        for t in threads:
            t.start()
        for round in range(9):
            self.assertEqual(server.post("/admin/reload", sets[round % 3])[0], 200)
            time.sleep(0.1)
        self.assertEqual(server.post("/admin/reload", original)[0], 200)
        self.assertEqual(server.post("/admin/reload", {"model": "/no/such"})[0], 422)
        for name in ("vocab", "corpus", "model"):  # whole, and escaped
            status, answer = server.post("/admin/reload", {name: "a\0b/\u0001"})
            self.assertEqual((status, answer["error"]), (422, f'`{name}` is "a\\u0000b/\\u0001"; no path has the character U+0000'))
        for paths, words in (({"vocb": "x"}, "`vocb` is none of"), ({"model": ""}, "`model` must be a path"), ({"corpus": 1}, "`corpus` must be a path")):
            status, answer = server.post("/admin/reload", paths)
            self.assertEqual(status, 422, answer)
            self.assertIn(words, answer["error"])
        stop.set()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])
        self.assertEqual(seen, {0, 1, 2})


class Folder(unittest.TestCase):
    def test_vocabulary_of_a_model_folder(self):
        """Its tokenizer_config.json says how long rows are, unless the command line does."""
        for arguments, length in (([], 24), (["--max-length", 32], 32)):
            server = Server(RANKFEED, (), ["--workers", 1, *arguments], config={"model_max_length": 24})
            try:
                self.assertEqual(server.call("GET", "/info")[1]["max_input_length"], length)
                answer = server.post("/rerank", {"query": QUERY, "texts": ["word " * 99, "A panda."]})
                self.assertEqual((answer[0], sorted(r["index"] for r in answer[1])), (200, [0, 1]), answer)
            finally:
                server.stop()

    def test_configuration_that_no_row_fits(self):
        with tempfile.TemporaryDirectory() as folder:
            vocab = os.path.join(folder, "vocabulary")
            Server.write_folder(vocab, {"model_max_length": 4})
            done = subprocess.run([RANKFEED, "serve", "--vocab", vocab, "--model", folder], capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn("model_max_length is 4; rows have at least 8 tokens: give --max-length", done.stderr)


class Clients:
    """Clients that ask again and again on connections of their own, until the service takes none any more."""

    def __init__(self, server, count=3):
        self.server, self.stopped, self.answers, self.lost = server, threading.Event(), [], []
        self.threads = [threading.Thread(target=self.ask) for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def ask(self):
        while not self.stopped.is_set():
            try:
                status, answer, fields = self.server.call("POST", "/rerank", {"query": QUERY, "texts": TEXTS})
            except ConnectionRefusedError:
                return  # came after the listener was closed
            except Exception as error:  # pylint: disable=broad-except
                self.lost.append(error)
                return
            self.answers.append((status, [r["index"] for r in answer] if status == 200 else answer, fields.get("x-rankfeed-generation")))
            if fields.get("Connection") == "close":
                return

    def stop(self):
        self.stopped.set()
        for thread in self.threads:
            thread.join()
        return self.answers


class Signals(unittest.TestCase):
    def server(self, admin=True, **options):
        server = Server(RANKFEED, (), ["--workers", 2], corpus=False, admin=admin, **options)
        self.addCleanup(server.folder.cleanup)
        self.addCleanup(server.process.stdout.close)
        self.addCleanup(server.process.wait)
        self.addCleanup(server.process.kill)
        return server

    def wait(self, server, generation):
        deadline = time.monotonic() + 60
        while server.metrics()["rankfeed_generation"] < generation and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(server.metrics()["rankfeed_generation"], generation)

    def test_hangup_loads_again(self):
        """Under load, and nothing is lost: what was last loaded, without an admin port too; what fails leaves the old set."""
        for admin in (True, False):
            log = tempfile.TemporaryFile("w+")
            self.addCleanup(log.close)
            server = self.server(admin, stderr=log)
            clients = Clients(server)
            server.process.send_signal(signal.SIGHUP)
            self.wait(server, 2)
            generation = 2
            if admin:
                server.write_model(server.path("other"), 2)
                self.assertEqual(server.post("/admin/reload", {"model": server.path("other")})[0], 200)
                generation = 3
            # The files of what was last loaded change, and are loaded again.
            last = server.path("other") if admin else server.model
            server.write_model(last, 3)
            server.process.send_signal(signal.SIGHUP)
            self.wait(server, generation + 1)
            scores = server.post("/rerank", {"query": QUERY, "texts": TEXTS})[1]
            os.rename(last, last + ".away")
            server.process.send_signal(signal.SIGHUP)
            deadline = time.monotonic() + 60
            while "reload_failed" not in self.read(log) and time.monotonic() < deadline:
                time.sleep(0.02)
            told = [json.loads(line) for line in self.read(log).splitlines() if "reload_failed" in line]
            self.assertEqual([(line["event"], line["by"], line["kept"]) for line in told], [("reload_failed", "SIGHUP", "the set loaded before")])
            self.assertIn(last, told[0]["error"])
            self.wait(server, generation + 1)
            self.assertEqual(server.post("/rerank", {"query": QUERY, "texts": TEXTS})[1], scores)
            answers = clients.stop()
            self.assertEqual((clients.lost, {status for status, _, _ in answers}), ([], {200}))
            self.assertEqual({at for _, _, at in answers} - {str(i + 1) for i in range(generation + 1)}, set())
            self.assertEqual(server.stop()[1], 0)

    @staticmethod
    def read(log):
        log.seek(0)
        return log.read()

    def test_hangup_while_a_set_loads(self):
        """It is remembered, once, however many come."""
        server = self.server()
        folder = server.path("folder")
        server.write_folder(folder, {})  # which is compiled, so that loading takes a while

        def busy():
            return server.call("POST", "/admin/reload", {"none": ""})[0] == 429
        loaded = []

        def load_folder():  # again while a question of busy() is what loads
            while not loaded or loaded[0][0] == 429:
                loaded[:] = [server.call("POST", "/admin/reload", {"vocab": folder})]
        load = threading.Thread(target=load_folder)
        load.start()
        while not busy() and load.is_alive():
            time.sleep(0.005)
        for _ in range(50):
            server.process.send_signal(signal.SIGHUP)
        load.join()
        self.assertEqual((loaded[0][0], loaded[0][1]), (200, {"generation": 2}))
        self.wait(server, 3)
        deadline = time.monotonic() + 60
        while busy() and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.3)
        self.assertEqual((busy(), server.metrics()["rankfeed_generation"]), (False, 3))
        self.assertEqual(server.call("GET", "/info")[1]["vocabulary"], os.path.join(folder, "tokenizer.json"))
        self.assertEqual(server.stop()[1], 0)

    def test_drain(self):
        """SIGQUIT and SIGINT drain as SIGTERM does, under load: every request that was taken is answered."""
        for number in (signal.SIGQUIT, signal.SIGINT, signal.SIGTERM):
            server = self.server()
            clients = Clients(server)
            deadline = time.monotonic() + 60
            while len(clients.answers) < 20 and time.monotonic() < deadline:
                time.sleep(0.01)
            server.process.send_signal(number)
            rest = server.process.communicate(timeout=60)[0]
            answers = clients.stop()
            self.assertEqual((server.process.returncode, clients.lost, {status for status, _, _ in answers}), (0, [], {200}), number)
            self.assertIn(f"drained: {len(answers)} answered", rest)

    def test_limit_of_the_address_space(self):
        """Of the kernel (ulimit -v): a swap for which there is no memory fails as others do, and later ones do not."""
        server = self.server()
        server.write_model(server.path("large"), 1, hidden=512)
        with open(f"/proc/{server.process.pid}/status", encoding="utf-8") as file:
            size = next(int(line.split()[1]) << 10 for line in file if line.startswith("VmSize"))
        resource.prlimit(server.process.pid, resource.RLIMIT_AS, (size + (4 << 20), resource.RLIM_INFINITY))
        for _ in range(3):
            self.assertEqual(server.post("/admin/reload", {"model": server.path("large")})[0], 422)
        resource.prlimit(server.process.pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        self.assertEqual(server.post("/admin/reload", {}), (200, {"generation": 2}))
        self.assertEqual(server.post("/rerank", {"query": QUERY, "texts": TEXTS})[0], 200)
        self.assertEqual(server.stop()[1], 0)

    def test_harmless_signals(self):
        server = self.server()
        for number in (signal.SIGPIPE, signal.SIGUSR1, signal.SIGUSR2):
            server.process.send_signal(number)
            time.sleep(0.1)
            self.assertEqual(server.post("/rerank", {"query": QUERY, "texts": TEXTS})[0], 200)
        self.assertEqual(server.metrics()["rankfeed_generation"], 1)
        self.assertEqual(server.stop()[1], 0)

    def test_unit(self):
        """The unit reloads by the signal that loads again, and stops by one that drains."""
        with open(os.path.join(os.environ["RANKFEED_SOURCE_DIR"], "packaging", "rankfeed.service"), encoding="utf-8") as unit:
            lines = unit.read().split("\n")
        self.assertIn("ExecReload=/bin/kill -HUP $MAINPID", lines)
        self.assertEqual([line for line in lines if line.startswith("KillSignal")], [])  # SIGTERM


class Drain(unittest.TestCase):
    def test_accepted_requests_are_answered(self):
        server = Server(RANKFEED, (), ["--workers", 1, "--queue", 16])
        body = {"query": QUERY, "texts": ["word " * 300] * 60, "truncate": True}
        answers = []

        def ask():
            try:
                answers.append(server.post("/rerank", body)[0])
            except OSError:
                answers.append(0)  # came after the listener was closed
        threads = [threading.Thread(target=ask) for _ in range(8)]
        for t in threads:
            t.start()
        deadline = time.monotonic() + 20
        while server.metrics()["rankfeed_queue_depth"] < 4 and time.monotonic() < deadline:
            time.sleep(0.005)
        rest, status = server.stop()
        for t in threads:
            t.join()
        self.assertEqual(status, 0)
        # Requests that came after the drain began are refused; every accepted one is answered.
        self.assertLessEqual(set(answers), {200, 503, 0})
        self.assertGreaterEqual(answers.count(200), 4)
        self.assertIn(f"drained: {answers.count(200)} answered", rest)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
