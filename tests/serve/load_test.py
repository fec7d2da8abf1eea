#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""load_test.py RANKFEED [--seconds N] [--rate N] [--report FILE]: open-loop load on loopback.

Requests start at times drawn beforehand (exponential gaps), whether or not earlier ones were answered:
a slow server does not slow the load down, and latency counts from the drawn time. How late the sender
itself was is measured for every request, between the drawn time and the moment before the first byte
is written; a driver that is late is no open-loop driver, so such a run fails too.

Every answer is compared with the one that the same request got before the load began, so a lost,
mixed up or misordered result is seen. Refusals (429: the queue is full, 504: the deadline passed) are
counted apart from wrong answers. Ends by itself; fails on any wrong or lost answer, on a status other than
200, 429 and 504, on growing memory, threads or open files, when more than 1 % were refused, or when more
than 1 % of the requests were sent later than --late-ms. --report writes what was seen, with the machine, as
JSON. Standard library only."""

import argparse
import asyncio
import datetime
import json
import os
import platform
import random
import subprocess
import time

from server_process import Server

WORDS = ("panda bamboo bear mountain river city light train music winter paper stone bread story cloud "
         "garden window letter market island").split()


def make_requests(rng, count, most_documents):
    out = []
    for _ in range(count):
        documents = [" ".join(rng.choices(WORDS, k=rng.randrange(1, 60)))
                     for _ in range(rng.randint(1, most_documents))]
        if rng.random() < 0.5:
            body = {"query": " ".join(rng.choices(WORDS, k=6)), "texts": documents, "truncate": True}
        else:
            body = {"query": " ".join(rng.choices(WORDS, k=6)), "documents": documents, "top_n": rng.randrange(1, 8),
                    "return_documents": True}
        out.append(json.dumps(body).encode())
    return out


def results_of(content):
    answer = json.loads(content)
    return answer if isinstance(answer, list) else answer["results"]


class Full(Exception):
    """As many requests under way as this driver keeps connections for."""


class Client:
    """HTTP/1.1 over kept-alive connections, as many as are needed up to `limit`."""

    def __init__(self, port, limit):
        self.port, self.limit, self.idle, self.open, self.most = port, limit, [], 0, 0

    async def post(self, body, due=None, lateness=None):
        if self.open >= self.limit:  # never wait for a place: that would close the loop
            raise Full
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            return await self._post(body, due, lateness)
        finally:
            self.open -= 1

    async def _post(self, body, due, lateness):
        for attempt in range(2):
            while self.idle and time.monotonic() - self.idle[-1][2] > 2:  # long before the server closes it
                self.idle.pop()[1].close()
            fresh = not self.idle
            reader, writer = (await asyncio.open_connection("127.0.0.1", self.port)) if fresh else self.idle.pop()[:2]
            try:
                if lateness is not None and attempt == 0:
                    lateness.append(time.monotonic() - due)
                writer.write(b"POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                             b"Content-Length: %d\r\n\r\n" % len(body) + body)
                head = await reader.readuntil(b"\r\n\r\n")
                break
            except (asyncio.IncompleteReadError, ConnectionError):
                writer.close()
                if fresh or attempt:  # only an idle connection may have been closed by the server
                    raise
        status = int(head.split(b" ", 2)[1])
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
        content = await reader.readexactly(int(fields[b"content-length"]))
        if fields.get(b"connection") == b"close":
            writer.close()
        else:
            self.idle.append((reader, writer, time.monotonic()))
        return status, content


class Seen:
    """What one run saw."""

    def __init__(self):
        self.latencies, self.lateness, self.wrong, self.refused = [], [], [], {429: 0, 504: 0}
        self.drawn, self.held_back, self.elapsed, self.most = 0, 0, 0.0, 0
        self.resources = []  # (resident bytes, threads, open files)

    def lost(self):
        return self.drawn - self.held_back - len(self.latencies) - sum(self.refused.values()) - len(self.wrong)


async def run(server, arguments):
    rng = random.Random(7)
    bodies = make_requests(rng, 200, arguments.documents)
    client = Client(server.port, 256)  # 64 may queue, 2 work, the others are told 429
    expected = []
    for body in bodies:
        status, content = await client.post(body)
        assert status == 200, (status, content)
        results = results_of(content)
        scores = [r.get("score", r.get("relevance_score")) for r in results]
        assert scores == sorted(scores, reverse=True) and len({r["index"] for r in results}) == len(results)
        expected.append(results)

    seen, tasks = Seen(), set()

    async def one(number, due):
        try:
            status, content = await client.post(bodies[number], due, seen.lateness)
            if status in seen.refused:
                seen.refused[status] += 1
            elif status != 200 or results_of(content) != expected[number]:
                seen.wrong.append((number, status, content[:200]))
            else:
                seen.latencies.append(time.monotonic() - due)
        except Full:
            seen.held_back += 1
        except Exception as error:
            seen.wrong.append((number, repr(error)))

    begin = time.monotonic()
    due = sampled = begin
    while due < begin + arguments.seconds:
        wait = due - time.monotonic()
        if wait > 0:
            await asyncio.sleep(wait)
        task = asyncio.create_task(one(rng.randrange(len(bodies)), due))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        seen.drawn += 1
        if time.monotonic() - sampled >= max(1.0, arguments.seconds / 200):
            sampled = time.monotonic()
            seen.resources.append(server.resources())
        due += rng.expovariate(arguments.rate)
    if tasks:
        await asyncio.wait(tasks, timeout=120)
    seen.elapsed, seen.most = time.monotonic() - begin, client.most
    return seen


def quantiles(seconds):
    """Milliseconds."""
    ordered = sorted(seconds)
    if not ordered:
        return {}
    at = {f"p{name}": ordered[min(len(ordered) - 1, int(q * len(ordered)))]
          for name, q in (("50", .5), ("90", .9), ("99", .99), ("99.9", .999))}
    return {name: round(1e3 * value, 2) for name, value in {**at, "max": ordered[-1]}.items()}


def growth(values):
    """Medians of the second and of the last quarter."""
    quarter = max(1, len(values) // 4)
    middle = [sorted(part)[len(part) // 2] for part in (values[quarter:2 * quarter] or values[:1], values[-quarter:])]
    return {"second_quarter": middle[0], "last_quarter": middle[1], "growth": middle[1] - middle[0]}


def revision():
    """Of the source tree, asked for at the start."""
    return subprocess.run(["git", "-C", os.path.dirname(os.path.abspath(__file__)), "rev-parse", "HEAD"],
                          capture_output=True, text=True).stdout.strip()


def machine(commit):
    with open("/proc/cpuinfo") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return {"cpu": names[0] if names else platform.machine(), "cpus": os.cpu_count(), "kernel": platform.release(),
            "load_average_1_5_15": os.getloadavg(), "nice": os.nice(0), "python": platform.python_version(), "commit": commit,
            "ended": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rankfeed")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rate", type=float, default=40, help="requests per second")
    parser.add_argument("--documents", type=int, default=24, help="at most this many per request")
    parser.add_argument("--deadline-ms", type=int, default=5000, help="of the server, for a request")
    parser.add_argument("--late-ms", type=float, default=250, help="99 %% must be sent no later than this")
    parser.add_argument("--report", help="JSON file")
    arguments = parser.parse_args()
    commit = revision()
    server = Server(arguments.rankfeed, (),
                    ["--workers", 2, "--queue", 64, "--deadline-ms", arguments.deadline_ms])
    try:
        seen = asyncio.run(run(server, arguments))
        metrics = server.metrics()
    finally:
        rest, status = server.stop()
    resident, threads, files = (growth(column) for column in zip(*seen.resources))
    lost, refused = seen.lost(), sum(seen.refused.values())
    checks = {
        "every answer right": not seen.wrong and len(seen.latencies) > 0,
        "none lost": lost == 0,
        "every drawn request sent": seen.held_back == 0,
        "at most 1 % refused": refused <= 0.01 * seen.drawn,
        "memory does not grow": resident["growth"] < 4 << 20,
        "threads and open files do not grow": max(threads["growth"], files["growth"]) <= 16,  # connections come and go
        "the sender kept its times": quantiles(seen.lateness).get("p99", 0) <= arguments.late_ms,
        "drained, ended with 0": status == 0 and metrics["rankfeed_queue_depth"] == 0,
    }
    report = {
        "command": {k: v for k, v in vars(arguments).items() if k not in ("rankfeed", "report")},
        "seconds": round(seen.elapsed, 1), "drawn": seen.drawn, "held_back": seen.held_back,
        "per_second": round(seen.drawn / seen.elapsed, 2),
        "right": len(seen.latencies), "wrong": len(seen.wrong), "lost": lost,
        "refused_429": seen.refused[429], "refused_504": seen.refused[504],
        "most_under_way": seen.most, "latency_ms_from_drawn_time": quantiles(seen.latencies),
        "sender_lateness_ms": quantiles(seen.lateness), "resident_bytes": resident, "threads": threads,
        "open_files": files, "server_tokens": int(metrics["rankfeed_tokens_total"]),
        "server_documents": int(metrics["rankfeed_documents_total"]), "server_said": rest.strip(),
        "checks": checks, "machine": machine(commit)}
    print(json.dumps(report, indent=1))
    for item in seen.wrong[:5]:
        print("WRONG", item)
    if arguments.report:
        with open(arguments.report, "w") as file:
            json.dump(report, file, indent=1)
            file.write("\n")
    failed = [name for name, held in checks.items() if not held]
    assert not failed, f"not held: {'; '.join(failed)}"


main()
