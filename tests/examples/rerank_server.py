# SPDX-License-Identifier: MIT
"""A rerank micro-service in Python: the standard library's HTTP server, the rankfeed package and ONNX
Runtime. The same interface as rerank_server.cc, which documents it.

    rerank_server.py --vocab VOCAB --model FOLDER_WITH_model.onnx [--corpus STORE] [--port N]
                     [--workers N] [--queue N] [--deadline-ms N] [--max-length N]

Tokenizing and scoring release the GIL, so worker threads run side by side."""

import argparse
import bisect
import itertools
import json
import os
import queue
import signal
import sys
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, List, Optional

import numpy as np
import onnxruntime
import rankfeed

MOST_BYTES = 64 << 20  # of a request's body
EDGES = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0]


class Problem(Exception):
    """An answer other than 200."""

    def __init__(self, code: int, message: str, kind: str = "Validation"):
        super().__init__(message)
        self.code, self.kind = code, kind


class Assets:
    """Vocabulary, corpus and model: replaced as one set; a request keeps the one it began with."""

    def __init__(self, paths, generation):
        self.paths, self.generation = dict(paths), generation
        self.tokenizer = rankfeed.Tokenizer.from_file(paths["vocab"], threads=1)  # workers are the threads
        self.corpus = rankfeed.Corpus(paths["corpus"], self.tokenizer) if paths["corpus"] else None
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(os.path.join(paths["model"], "model.onnx"), options,
                                                    providers=["CPUExecutionProvider"])

    def score(self, batch) -> np.ndarray:
        """ONNX Runtime reads the batch where it lies: bound by address, nothing is copied."""
        binding = self.session.io_binding()
        tensors = batch.tensors
        for name in ("input_ids", "attention_mask"):
            array = tensors[name].numpy()
            binding.bind_input(name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)
        binding.bind_output("logits", "cpu")
        self.session.run_with_iobinding(binding)
        return binding.copy_outputs_to_cpu()[0]


@dataclass
class Job:
    query: str
    documents: List[Any]
    options: dict
    top_n: int
    raw: bool
    deadline: float
    arrival: float
    done: threading.Event = field(default_factory=threading.Event)
    error: Optional[Problem] = None
    ranked: list = field(default_factory=list)
    tokens: int = 0
    generation: int = 0


class Service:
    def __init__(self, arguments):
        self.arguments = arguments
        self.lock = threading.Lock()
        self.counts = dict.fromkeys(("requests", "documents", "tokens", "batches", "swaps"), 0)
        self.outcomes = dict.fromkeys(("ok", "overloaded", "deadline", "invalid", "failed"), 0)
        self.buckets, self.seconds, self.running = [0] * (len(EDGES) + 1), 0.0, 0
        self.unanswered = 0  # requests read, whose answer is not yet written
        self.jobs: "queue.Queue[Optional[Job]]" = queue.Queue(arguments.queue)
        self.stopping = False
        self.assets = Assets({"vocab": arguments.vocab, "corpus": arguments.corpus, "model": arguments.model}, 1)
        self.threads = [threading.Thread(target=self.work) for _ in range(arguments.workers)]
        for thread in self.threads:
            thread.start()

    def submit(self, job):
        with self.lock:
            if self.stopping:
                raise Problem(503, "the server is shutting down", "Unhealthy")
            try:
                self.jobs.put_nowait(job)
            except queue.Full:
                raise Problem(429, "Model is overloaded", "Overloaded") from None

    def stop(self):
        with self.lock:
            self.stopping = True
        for _ in self.threads:
            self.jobs.put(None)  # behind every accepted job
        for thread in self.threads:
            thread.join()

    def work(self):
        while (job := self.jobs.get()) is not None:
            with self.lock:
                self.running += 1
            try:
                self.process(job, self.assets)
            except Problem as problem:
                job.error = problem
            except rankfeed.RankfeedError as error:
                code = {"RANKFEED_E_TOO_LONG": 413, "RANKFEED_E_TRUNCATION": 413, "RANKFEED_E_LIMIT": 422,
                        "RANKFEED_E_ARGUMENT": 422}.get(error.name, 500)
                job.error = Problem(code, str(error), "Validation" if code < 500 else "Backend")
            except Exception as error:  # the service goes on
                job.error = Problem(500, repr(error), "Backend")
            with self.lock:
                self.running -= 1
                self.counts["documents"] += len(job.documents)
                self.counts["tokens"] += job.tokens
            job.done.set()

    def process(self, job, assets):
        def in_time():
            if time.monotonic() >= job.deadline:
                raise Problem(504, "deadline passed", "Deadline")
        in_time()
        job.generation = assets.generation
        documents = []
        for document in job.documents:
            if isinstance(document, dict):
                stored = assets.corpus.get(document["id"]) if assets.corpus and document.get("id") else None
                if stored is None and not document.get("text") and document.get("id"):
                    raise Problem(422, f"document {document['id']}: no such document in the corpus store")
                documents.append(document.get("text", "") if stored is None else stored)
            else:
                documents.append(document)
        request = assets.tokenizer.request(job.query, documents, max_tokens_per_batch=8192, sort="descending", **job.options)
        for batch in request:
            request.put_scores(batch, assets.score(batch), "raw" if job.raw else "sigmoid")
            job.tokens += batch.tokens
            with self.lock:
                self.counts["batches"] += 1
            in_time()
        for i, status in enumerate(request.statuses):
            if status != "RANKFEED_OK":
                raise Problem(413, f"document {i}: {status}")
        job.ranked = request.rank(job.top_n)

    def swap(self, changes):
        try:
            assets = Assets({**self.assets.paths, **changes}, self.assets.generation + 1)
        except Exception as error:  # the old set goes on serving
            raise Problem(422, str(error)) from None
        self.assets = assets
        with self.lock:
            self.counts["swaps"] += 1
        return assets.generation

    def finished(self, outcome, elapsed):
        with self.lock:
            self.outcomes[outcome] += 1
            if outcome == "ok":
                self.buckets[bisect.bisect_left(EDGES, elapsed)] += 1
                self.seconds += elapsed

    def prometheus(self):
        with self.lock:
            lines = [f"# TYPE rankfeed_{n}_total counter\nrankfeed_{n}_total {v}" for n, v in self.counts.items()]
            lines.append("# TYPE rankfeed_responses_total counter")
            lines += [f'rankfeed_responses_total{{outcome="{n}"}} {v}' for n, v in self.outcomes.items()]
            for name, value in (("generation", self.assets.generation), ("queue_depth", self.jobs.qsize()),
                                ("running", self.running)):
                lines.append(f"# TYPE rankfeed_{name} gauge\nrankfeed_{name} {value}")
            lines.append("# TYPE rankfeed_request_seconds histogram")
            total = list(itertools.accumulate(self.buckets))
            lines += [f'rankfeed_request_seconds_bucket{{le="{e}"}} {n}' for e, n in zip([*EDGES, "+Inf"], total)]
            lines.append(f"rankfeed_request_seconds_sum {self.seconds}\nrankfeed_request_seconds_count {total[-1]}")
        return "\n".join(lines) + "\n"


def get(body, name, kind, fallback=None):
    value = body.get(name)
    if value is None:
        if fallback is None:
            raise Problem(422, f"missing field `{name}`")
        return fallback
    if not isinstance(value, kind) or (kind is int and (isinstance(value, bool) or not 0 <= value <= 10**6)):
        raise Problem(422, f"field `{name}` is of the wrong type or out of range")
    return value


def parse(data, headers, arguments):
    """A job, and whether the answer is TEI's and holds texts."""
    arrival = time.monotonic()
    try:
        body = json.loads(data)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise Problem(400, "the body is not a JSON object")
    query = get(body, "query", str)
    tei = "texts" in body
    name = "texts" if tei else "documents"
    documents = get(body, name, list)
    if not documents:
        raise Problem(422, f"`{name}` cannot be empty", "Empty")
    if not all(isinstance(d, str) or (not tei and isinstance(d, dict)) for d in documents):
        raise Problem(422, f"an element of `{name}` is no text")
    options = {"max_length": arguments.max_length, "truncation": "longest_first"}
    top_n = 0
    if tei:
        with_text = get(body, "return_text", bool, False)
        if not get(body, "truncate", bool, False):
            options["truncation"] = False
        side = get(body, "truncation_direction", str, "Right").lower()
        if side not in ("left", "right"):
            raise Problem(422, "`truncation_direction` must be Left or Right")
        options["truncation_side"] = side
    else:
        with_text = get(body, "return_documents", bool, False)
        top_n = get(body, "top_n", int, 0)
        chunks = get(body, "max_chunks_per_doc", int, 1)
        options["max_tokens_per_doc"] = get(body, "max_tokens_per_doc", int, 0)
        if chunks > 1:
            options.update(truncation="only_second", overflow="short_last", max_chunks_per_doc=chunks,
                           max_query_tokens=arguments.max_length // 4, stride=arguments.max_length // 16)
    sooner = headers.get("X-Deadline-Ms", str(arguments.deadline_ms))
    if not (sooner.isascii() and sooner.isdigit()):
        raise Problem(422, "header X-Deadline-Ms is no number of milliseconds")
    limit = min(arguments.deadline_ms, int(sooner))
    return Job(query, documents, options, top_n, get(body, "raw_scores", bool, False), arrival + limit / 1e3, arrival), tei, with_text


def make_handler(service, serial=itertools.count(1)):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *_):
            pass

        def answer(self, code, body, kind="application/json"):
            data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            if code == 429:
                self.send_header("Retry-After", "1")
            if service.stopping:
                self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self):
            if self.path == "/health":
                self.answer(503 if service.stopping else 200, "")
            elif self.path == "/metrics":
                self.answer(200, service.prometheus(), "text/plain; version=0.0.4")
            elif self.path == "/info":
                assets = service.assets
                self.answer(200, {"model_id": assets.paths["model"], "generation": assets.generation,
                                  "max_input_length": service.arguments.max_length, "version": rankfeed.__version__})
            else:
                self.answer(404, {"message": "no such page"})

        def do_POST(self):
            length = self.headers.get("Content-Length", "0")
            if not (length.isascii() and length.isdigit()) or int(length) > MOST_BYTES:
                self.close_connection = True  # what follows cannot be told from the next request
                self.answer(413 if length.isdigit() else 400, {"error": "Content-Length", "error_type": "Validation"})
                return
            data = self.rfile.read(int(length))
            with service.lock:
                service.unanswered += 1
            try:
                self.post(data)
            finally:
                with service.lock:
                    service.unanswered -= 1

        def post(self, data):
            if self.path == "/admin/reload":
                try:
                    changes = {k: v for k, v in json.loads(data or b"{}").items() if k in ("vocab", "corpus", "model")}
                    self.answer(200, {"generation": service.swap(changes)})
                except Problem as problem:
                    self.answer(problem.code, {"error": str(problem), "error_type": problem.kind})
                return
            if self.path not in ("/rerank", "/v1/rerank", "/v2/rerank"):
                self.answer(404, {"message": "no such page"})
                return
            with service.lock:
                service.counts["requests"] += 1
            begin, tei = time.monotonic(), True
            try:
                job, tei, with_text = parse(data, self.headers, service.arguments)
                service.submit(job)
                job.done.wait()  # the worker keeps the deadline
                if job.error is not None:
                    raise job.error
                service.finished("ok", time.monotonic() - begin)
            except Problem as problem:
                outcome = {429: "overloaded", 504: "deadline"}.get(problem.code, "invalid" if problem.code < 500 else "failed")
                service.finished(outcome, 0)
                self.answer(problem.code, {"error": str(problem), "error_type": problem.kind} if tei else {"message": str(problem)})
                return

            def text(index):
                document = job.documents[index]
                return document.get("text", "") if isinstance(document, dict) else document
            if tei:
                self.answer(200, [{"index": i, "score": s, **({"text": text(i)} if with_text else {})} for i, s in job.ranked])
            else:
                self.answer(200, {
                    "id": f"rerank-{next(serial):016x}",
                    "results": [{"index": i, "relevance_score": s, **({"document": {"text": text(i)}} if with_text else {})}
                                for i, s in job.ranked],
                    "usage": {"total_tokens": job.tokens},
                    "meta": {"api_version": {"version": "1"}, "generation": job.generation}})

    return Handler


class HttpServer(ThreadingHTTPServer):
    daemon_threads = True  # idle kept-alive connections do not hold up the end
    request_queue_size = 128


def main():
    parser = argparse.ArgumentParser()
    for name in ("vocab", "model", "corpus"):
        parser.add_argument(f"--{name}", default="", required=name != "corpus")
    for name, value in (("port", 0), ("workers", 2), ("queue", 64), ("deadline-ms", 5000), ("max-length", 254)):
        parser.add_argument(f"--{name}", type=int, default=value)
    service = Service(parser.parse_args())
    server = HttpServer(("127.0.0.1", service.arguments.port), make_handler(service))

    def drain(*_):
        def end():
            service.stop()  # accepted requests are computed
            until = time.monotonic() + 10  # and their answers written, unless a client does not read
            while service.unanswered and time.monotonic() < until:
                time.sleep(0.01)
            server.shutdown()
        threading.Thread(target=end).start()
    signal.signal(signal.SIGTERM, drain)
    signal.signal(signal.SIGINT, drain)
    print(f"listening on 127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever(poll_interval=0.05)
    print(f"drained: {service.outcomes['ok']} answered")
    return 0


if __name__ == "__main__":
    sys.exit(main())
