# SPDX-License-Identifier: MIT
"""operators_test.py RANKFEED: what an operator sees of `rankfeed serve`: its log, ids of requests, what it tells the service
manager, and that the dashboard of packaging asks for metrics that there are."""

import fcntl
import json
import os
import re
import signal
import socket
import sys
import tempfile
import time
import unittest

from server_process import SOURCE, Server

RANKFEED = sys.argv[1]
QUERY, TEXTS = "What do pandas eat?", ["A panda is a bear.", "Bamboo."]
RERANK = {"query": QUERY, "texts": TEXTS}
FRESH = r"^[0-9a-f]{16}-[0-9a-f]+$"


class Operators(unittest.TestCase):
    def server(self, *arguments, **options):
        options.setdefault("corpus", False)
        server = Server(RANKFEED, (), ["--workers", 1, *arguments], **options)
        self.addCleanup(server.folder.cleanup)
        self.addCleanup(server.process.stdout.close)
        self.addCleanup(server.process.wait)
        self.addCleanup(server.process.kill)
        return server

    def until(self, ready):
        deadline = time.monotonic() + 60
        while not (done := ready()) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertTrue(done)


class Log(Operators):
    def setUp(self):
        self.log = tempfile.TemporaryFile("w+")
        self.addCleanup(self.log.close)

    def text(self):
        self.log.seek(0)
        return self.log.read()

    def lines(self, event=None):
        lines = [json.loads(line) for line in self.text().splitlines()]
        return [line for line in lines if event in (None, line["event"])]

    def test_every_kind_of_event(self):
        server = self.server("--log-level", "debug", stderr=self.log)
        self.assertEqual(server.post("/rerank", RERANK)[0], 200)
        self.assertEqual(server.post("/v2/rerank", {"query": QUERY, "documents": TEXTS})[0], 200)
        self.assertEqual(server.post("/v2/rerank", {"query": QUERY})[0], 400)
        self.assertEqual(server.post("/rerank", b"{secret")[0], 400)
        self.assertEqual(server.call("GET", "/none")[0], 404)
        self.assertEqual(server.call("GET", "/health")[0], 200)
        self.assertEqual(server.post("//admin/reload", {}),  # on the listener of clients
                         (404, {"error": "there is no /admin/reload here, but on the listener of --admin-port", "error_type": "NotFound"}))
        self.assertEqual(server.post("/admin/reload", {"model": "/no/such"})[0], 422)
        server.process.send_signal(signal.SIGHUP)
        self.until(lambda: self.lines("reload"))
        self.assertEqual(server.stop()[1], 0)
        told = self.lines()
        self.assertEqual((told[0]["event"], told[0]["port"], told[0]["admin_port"]), ("start", server.port, server.admin_port))
        requests = [line for line in told if line["event"] == "request"]
        self.assertEqual([(r["path"], r["level"], r["status"], r.get("dialect"), r.get("reason"), r.get("rows")) for r in requests],
                         [("/rerank", "info", 200, "tei", None, 2), ("/v2/rerank", "info", 200, "cohere-v2", None, 2),
                          ("/v2/rerank", "warn", 400, "cohere-v2", "invalid", None), ("/rerank", "warn", 400, "tei", "malformed", None),
                          ("/none", "warn", 404, "tei", "no_route", None), ("/health", "debug", 200, None, None, None),
                          ("/admin/reload", "warn", 404, "tei", "no_route", None),
                          ("/admin/reload", "warn", 422, "tei", "invalid", None)])
        self.assertGreater(requests[0]["tokens"], 10)
        self.assertGreaterEqual(requests[0]["ms"], requests[0]["queued_ms"])
        failed, = self.lines("reload_failed")
        self.assertEqual((failed["by"], failed["level"], failed["generation"]), ("/admin/reload", "error", 1))
        self.assertIn("/no/such", failed["error"])
        self.assertEqual([(r["by"], r["generation"]) for r in self.lines("reload")], [("SIGHUP", 2)])
        self.assertEqual([line["event"] for line in told[-2:]], ["drain", "end"])
        self.assertEqual(told[-1]["answered"], 2)
        for word in ("panda", "amboo", "secret"):  # of a query, a document, a body that is no JSON
            self.assertNotIn(word, self.text())

    def test_levels_and_text(self):
        server = self.server("--log-level", "warn", "--log-format", "text", stderr=self.log)
        self.assertEqual(server.post("/rerank", RERANK)[0], 200)
        self.assertEqual(server.post("/rerank", {"query": QUERY})[0], 422)
        self.assertEqual(server.stop()[1], 0)
        self.assertRegex(self.text(), r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z warn  request id=\S+ method=POST path=/rerank "
                                      r"dialect=tei status=422 reason=invalid queued_ms=[0-9.]+ ms=[0-9.]+\n$")

    def test_paths_do_not_write_to_the_terminal(self):
        server = self.server("--log-format", "text", stderr=self.log)
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
            client.sendall("GET /\u009b2J\"x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            self.assertTrue(client.recv(1 << 16).startswith(b"HTTP/1.1 40"))
        self.assertEqual(server.stop()[1], 0)
        self.assertTrue(self.text().replace("\n", "").isprintable(), self.text())

    def test_a_reader_that_sleeps(self):
        """Requests are answered, lines are dropped, counted and told."""
        reader, writer = os.pipe()
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        server = self.server("--max-connections", 8, stderr=writer)
        os.close(writer)
        ask = b"GET /" + b"x" * 300 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
            for _ in range(80):
                client.sendall(50 * ask)
                answers = b""
                while answers.count(b"there is no") < 50:
                    answers += client.recv(1 << 16)
                self.assertEqual(answers.count(b"HTTP/1.1 404 "), 50)
        self.assertEqual(server.post("/rerank", RERANK)[0], 200)
        lost = server.metrics()["rankfeed_log_lines_lost_total"]
        self.assertGreater(lost, 0)
        with os.fdopen(reader, encoding="utf-8") as log:
            for line in log:
                told = json.loads(line)
                if told["event"] == "log_lines_lost":
                    break
            self.assertGreater(told["lines"], 0)
            server.process.terminate()
            log.read()
        self.assertEqual(server.process.wait(), 0)

    def test_a_reader_that_is_gone(self):
        reader, writer = os.pipe()
        server = self.server(stderr=writer)
        os.close(writer)
        os.close(reader)
        for _ in range(3):
            self.assertEqual(server.post("/rerank", RERANK)[0], 200)
        self.until(lambda: server.metrics()["rankfeed_log_lines_lost_total"] >= 3)
        self.assertEqual(server.stop()[1], 0)


class RequestIds(Operators):
    def test_taken_and_returned(self):
        with tempfile.TemporaryFile("w+") as log:
            server = self.server(stderr=log)
            ids = ["7f0c2f5e-8f6b-4a3e-9f0e-1d2c3b4a5968", "Root=1-67891233-abcdef012345678912345678",
                   "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "x" * 128]
            for given in ids:
                for path, body in (("/rerank", RERANK), ("/rerank", b"{"), ("/none", b"")):
                    self.assertEqual(server.call("POST", path, body, {"X-Request-Id": given})[2]["X-Request-Id"], given)
            fresh = set()
            for given in ("", "x" * 129, "two words", 'quo"te', "semi;colon", "caf\u00e9", "tab\tbed", "<b>"):
                got = server.call("POST", "/rerank", RERANK, {"X-Request-Id": given})[2]["X-Request-Id"]
                self.assertRegex(got, FRESH)
                fresh.add(got)
            fresh.add(server.call("GET", "/health")[2]["X-Request-Id"])
            self.assertEqual(len(fresh), 9)
            with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
                client.sendall(b"no HTTP\r\n\r\n")
                self.assertRegex(client.recv(1 << 16).decode(), r"^HTTP/1.1 400 (?s:.*)\r\nX-Request-Id: [0-9a-f]{16}-[0-9a-f]+\r\n")
            self.assertEqual(server.stop()[1], 0)
            log.seek(0)
            logged = [json.loads(line).get("id") for line in log]
            self.assertEqual([i for i in logged if i in ids], [i for i in ids for _ in range(3)])
            self.assertEqual(len(fresh - set(logged)), 1)  # that of /health: the level is info


class Manager(Operators):
    """A socket such as systemd's, by a path and by an abstract name."""

    def messages(self, socket_, wanted, timeout=60):
        """Datagrams until one has the wanted line."""
        socket_.settimeout(timeout)
        out = []
        while not out or wanted not in out[-1].split("\n"):
            out.append(socket_.recv(4096).decode())
        return out

    def test_ready_reloading_alive_and_stopping(self):
        for abstract in (False, True):
            with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
                name = f"rankfeed-test-{os.getpid()}" if abstract else os.path.join(folder, "notify")
                manager.bind("\0" + name if abstract else name)
                server = self.server(environment={"NOTIFY_SOCKET": "@" + name if abstract else name, "WATCHDOG_USEC": "400000"})
                self.messages(manager, "READY=1")
                for _ in range(3):
                    self.messages(manager, "WATCHDOG=1")
                before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
                server.process.send_signal(signal.SIGHUP)
                told = self.messages(manager, "RELOADING=1")[-1]
                stamp = int(re.search(r"^MONOTONIC_USEC=(\d+)$", told, re.MULTILINE)[1])
                self.assertTrue(before <= stamp <= time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000)
                self.messages(manager, "READY=1")
                # A reload that fails ends as well; 429: the one before has not quite ended.
                self.until(lambda: server.post("/admin/reload", {"model": "/no/such"})[0] == 422)
                self.messages(manager, "RELOADING=1")
                self.messages(manager, "READY=1")
                server.process.terminate()
                self.messages(manager, "STOPPING=1")
                self.assertEqual(server.stop()[1], 0)

    def test_no_pings_unless_asked(self):
        for environment in ({}, {"WATCHDOG_USEC": "200000", "WATCHDOG_PID": "1"}, {"WATCHDOG_USEC": "soon"}):
            with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
                manager.bind(os.path.join(folder, "notify"))
                server = self.server(environment={"NOTIFY_SOCKET": os.path.join(folder, "notify"), **environment})
                self.messages(manager, "READY=1")
                time.sleep(0.4)
                server.process.terminate()
                self.assertEqual(self.messages(manager, "STOPPING=1"), ["STOPPING=1"], environment)
                self.assertEqual(server.stop()[1], 0)

    def test_a_manager_that_is_gone(self):
        for name in ("/no/such", "@rankfeed-no-such", "vsock:2:1234", "x" * 200, "/"):
            server = self.server(environment={"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "200000"})
            self.assertEqual(server.post("/rerank", RERANK)[0], 200)
            self.assertEqual(server.stop()[1], 0)

    def test_unit(self):
        with open(os.path.join(SOURCE, "packaging", "rankfeed.service"), encoding="utf-8") as unit:
            lines = unit.read().split("\n")
        self.assertIn("Type=notify", lines)
        self.assertIn("AF_UNIX", next(line for line in lines if line.startswith("RestrictAddressFamilies=")))
        self.assertTrue([line for line in lines if line.startswith("WatchdogSec=")])


class Dashboard(Operators):
    def test_its_metrics_are_there(self):
        with open(os.path.join(SOURCE, "packaging", "deploy", "grafana.json"), encoding="utf-8") as file:
            panels = json.load(file)["panels"]
        metrics = {name.split("{")[0] for name in self.server().metrics()}
        asked = {name for panel in panels for target in panel["targets"] for name in re.findall(r"\b(?:rankfeed|gen_ai)_\w+", target["expr"])}
        self.assertGreater(len(asked), 15)
        self.assertEqual(asked - metrics, set())
        self.assertEqual(len({panel["id"] for panel in panels}), len(panels))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
