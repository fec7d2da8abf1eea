# SPDX-License-Identifier: MIT
"""serve_test.py RANKFEED VENDOR: `rankfeed serve --device VENDOR` over the fake devices. Answers are those of the same service on the
host, alone and among hundreds at once, before, during and after a hot swap; a drain answers what was asked; a device that faults is
answered with errors; and no check of the fake runtime fails, those at the end of the process included."""

import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(os.environ["RANKFEED_SOURCE_DIR"]) / "tests" / "serve"))
import random_model  # noqa: E402
from server_process import Server  # noqa: E402

RANKFEED, VENDOR = sys.argv[1], sys.argv[2]
QUERY = "pandas?"
TEXTS = ["A bear.", "Bamboo.", "", "The capital of France is Paris, on the Seine.", "They eat all day."]
# Few tokens, because the kernels are emulated thread by thread. Batches of two or three rows: requests of more than a few texts
# come round the ring's slots.
SMALL = ["--max-length", 12, "--max-batch-tokens", 24, "--queue", 1024, "--drain-ms", 30000]
TOLERANCE = 1e-4  # float32 on both sides


class Device(Server):
    """On the fake devices; what it says on stderr is kept, of its log the errors. Sanitizers look at the server, not at the tools around it."""

    def __init__(self, workers=2, graph_tokens=0, fake="devices=2,seed=5,latency=9", device=VENDOR, log="error"):
        self.said = tempfile.TemporaryFile("w+")
        super().__init__(RANKFEED, [(str(i), t) for i, t in enumerate(TEXTS)], [*SMALL, "--log-level", log, "--device", device, "--workers", workers, "--graph-tokens", graph_tokens],
                         {"RANKFEED_FAKE_GPU": fake}, self.said)

    def write_model(self, folder, seed, id_count=None):
        random_model.write(folder, id_count or self.id_count, self.pad_id, seed, hidden=16, layers=1, heads=2, inner=24)

    def end(self):
        """What it printed, its exit status, and its stderr."""
        rest, status = self.stop()
        self.process.stdout.close()
        with self.said:
            self.said.seek(0)
            # AddressSanitizer's notice about the coroutines of the emulation, which tells it of its stacks.
            lines = [line for line in self.said if "ASan doesn't fully support makecontext" not in line]
            return rest, status, "".join(lines)


def ask(server, texts, raw=True):
    status, answer = server.post("/rerank", {"query": QUERY, "texts": texts, "raw_scores": raw})
    assert status == 200, (status, answer)
    return {r["index"]: r["score"] for r in answer}


class Answers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.host, cls.device = Device(device="host"), Device()

    @classmethod
    def tearDownClass(cls):
        cls.host.end()
        rest, status, said = cls.device.end()
        assert status == 0 and "drained" in rest and said == "", (rest, status, said)

    def same(self, texts):
        host, device = ask(self.host, texts), ask(self.device, texts)
        self.assertEqual(host.keys(), device.keys())
        for i, score in host.items():
            self.assertAlmostEqual(device[i], score, delta=TOLERANCE)
        return host

    def test_ranks_as_the_host(self):
        self.same(TEXTS)
        self.same(TEXTS[:1])
        self.same([f"{i} {text}" for i in range(3) for text in TEXTS])  # more batches than slots
        body = {"query": QUERY, "documents": [{"id": str(i)} for i in range(len(TEXTS))], "top_n": 3}
        host, device = (server.post("/v2/rerank", body)[1] for server in (self.host, self.device))
        self.assertEqual([r["index"] for r in host["results"]], [r["index"] for r in device["results"]])
        self.assertEqual(host["usage"], device["usage"])

    def test_info_says_the_device(self):
        self.same(TEXTS[:1])
        info = self.device.call("GET", "/info")[1]
        self.assertEqual(info["device"]["backend"], VENDOR)
        self.assertTrue(info["device"]["name"].startswith("Fake device"))
        self.assertIn("BLASLt", info["device"]["gemm"])
        self.assertNotIn("tiled", info["device"]["gemm"])
        self.assertEqual(info["model_dtype"], "float32")
        self.assertEqual(self.host.call("GET", "/info")[1]["device"]["backend"], "host")
        fields = [s.call("POST", "/rerank", {"query": QUERY, "texts": TEXTS[:1]})[2] for s in (self.host, self.device)]
        self.assertEqual([f["x-compute-type"] for f in fields], ["cpu", "gpu"])

    def test_deadline(self):
        status, answer = self.device.post("/rerank", {"query": QUERY, "texts": ["a word"] * 900}, **{"X-Deadline-Ms": "2"})
        self.assertEqual((status, answer["error_type"]), (504, "Deadline"))
        self.same(TEXTS)  # what that request left in the queue is not these scores

    def test_hundreds_at_once_and_a_hot_swap(self):
        self.device.write_model(self.device.path("other"), 2)
        self.host.write_model(self.host.path("other"), 2)
        texts = [[f"{i} bears"] for i in range(30)]
        first = [ask(self.host, t) for t in texts]
        self.assertEqual(self.host.post("/admin/reload", {"model": self.host.path("other")})[0], 200)
        second = [ask(self.host, t) for t in texts]
        seen, wrong, start = set(), [], threading.Barrier(30)

        def client(number):
            start.wait()
            for i in range(number, number + 10):
                got = ask(self.device, texts[i % 30])
                near = [all(abs(got[k] - wanted[i % 30][k]) < TOLERANCE for k in got) for wanted in (first, second)]
                seen.add(tuple(near))
                if sum(near) != 1:
                    wrong.append((i, got))

        with concurrent.futures.ThreadPoolExecutor(31) as pool:
            clients = [pool.submit(client, n) for n in range(30)]
            time.sleep(0.3)
            self.assertEqual(self.device.post("/admin/reload", {"model": self.device.path("other")})[0], 200)
            for c in clients:
                c.result()
        self.assertEqual(wrong, [])
        self.assertIn((False, True), seen)
        for server in (self.host, self.device):
            self.assertEqual(server.post("/admin/reload", {"model": server.model})[0], 200)
        self.same(TEXTS)


class Life(unittest.TestCase):
    def test_drain(self):
        server = Device(workers=1)
        answers = []

        def client():
            try:
                answers.append(server.post("/rerank", {"query": QUERY, "texts": TEXTS})[0])
            except OSError:
                answers.append(0)  # came after the listener was closed
        threads = [threading.Thread(target=client) for _ in range(8)]
        for t in threads:
            t.start()
        deadline = time.monotonic() + 20
        while server.metrics()["rankfeed_queue_depth"] < 4 and time.monotonic() < deadline:
            time.sleep(0.005)
        rest, status, said = server.end()
        for t in threads:
            t.join()
        self.assertEqual((status, said), (0, ""))
        self.assertLessEqual(set(answers), {200, 503, 0})
        self.assertGreaterEqual(answers.count(200), 4)
        self.assertIn(f"drained: {answers.count(200)} answered", rest)

    def test_a_device_that_faults(self):
        server = Device(fake="devices=1,seed=5,latency=9,kernel_fault=120", log="off")
        codes = [server.post("/rerank", {"query": QUERY, "texts": TEXTS})[0] for _ in range(12)]
        self.assertLessEqual(set(codes), {200, 424})
        self.assertEqual(codes[-3:], [424] * 3)
        self.assertEqual(server.call("GET", "/health")[0], 200)
        rest, status, said = server.end()
        # Nothing can be freed or destroyed on such a device; the driver does it when the process is gone.
        self.assertEqual((status, [line for line in said.splitlines() if "-left: " not in line]), (0, []))

    def test_graphs(self):
        """The same scores, with the layers of small batches as one launch."""
        plain, graphs = Device(workers=1), Device(workers=1, graph_tokens=64)
        for _ in range(4):
            self.assertEqual(ask(graphs, TEXTS[:2]), ask(plain, TEXTS[:2]))
        info = graphs.call("GET", "/info")[1]["device"]
        self.assertEqual((info["graphs"], info["graph_launches"], info["graph_failures"]), (1, 3, 0))
        for server in (plain, graphs):
            self.assertEqual(server.end()[1:], (0, ""))

    def test_a_driver_that_is_too_old(self):
        data = pathlib.Path(os.environ["RANKFEED_SOURCE_DIR"]) / "data"
        done = subprocess.run([RANKFEED, "serve", "--vocab", data / "default.model", "--model", data / "reranker", "--port", "0",
                               "--device", VENDOR], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "RANKFEED_FAKE_GPU": "devices=1,old_driver=1"})
        self.assertEqual(done.returncode, 1)
        self.assertIn("update the driver", done.stderr)

    def test_what_is_left_at_the_end_is_found(self):
        """The check that the others rely on."""
        for call, name in (("StreamDestroy", "stream-left"), ("Free", "device-memory-left"), ("EventDestroy", "event-left")):
            server = Device(fake=f"devices=1,seed=5,omit={call}")
            ask(server, TEXTS[:1])
            self.assertIn(f"fake_gpu: {name}: ", server.end()[2])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
