# SPDX-License-Identifier: MIT
"""test_rerank_load.py SERVER RANKFEED [--seconds N] [--rate N]: open-loop load on loopback.

Requests start at times drawn beforehand (exponential gaps), whether or not earlier ones were answered:
a slow server does not slow the load down, and latency counts from the drawn time. Every answer is
compared with the one that the same request got before the load began, so a lost, mixed up or
misordered result is seen. Ends by itself; fails on any wrong answer, on an error other than 429 and 504,
on growing memory, or when more than 1 % were refused. Standard library only."""

import argparse
import asyncio
import json
import random
import time

from server_process import Server

WORDS = ("panda bamboo bear mountain river city light train music winter paper stone bread story cloud "
         "garden window letter market island").split()


def make_requests(rng, count):
    out = []
    for _ in range(count):
        documents = [" ".join(rng.choices(WORDS, k=rng.randrange(1, 60))) for _ in range(rng.randrange(1, 25))]
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


class Client:
    """HTTP/1.1 over kept-alive connections, as many as are needed up to `limit`."""

    def __init__(self, port, limit):
        self.port, self.idle, self.slots = port, [], asyncio.Semaphore(limit)

    async def post(self, body):
        async with self.slots:
            for attempt in range(2):
                while self.idle and time.monotonic() - self.idle[-1][2] > 2:  # the server closes after 5 s
                    self.idle.pop()[1].close()
                fresh = not self.idle
                reader, writer = (await asyncio.open_connection("127.0.0.1", self.port)) if fresh else self.idle.pop()[:2]
                try:
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


async def run(server, arguments):
    rng = random.Random(7)
    bodies = make_requests(rng, 200)
    client = Client(server.port, 60)
    expected = []
    for body in bodies:
        status, content = await client.post(body)
        assert status == 200, (status, content)
        results = results_of(content)
        scores = [r.get("score", r.get("relevance_score")) for r in results]
        assert scores == sorted(scores, reverse=True) and len({r["index"] for r in results}) == len(results)
        expected.append(results)

    latencies, wrong, refused, resident = [], [], 0, []
    tasks = set()

    async def one(number, due):
        nonlocal refused
        try:
            status, content = await client.post(bodies[number])
        except Exception as error:
            wrong.append((number, repr(error)))
            return
        if status in (429, 504):  # the queue was full, or the deadline passed
            refused += 1
        elif status != 200 or results_of(content) != expected[number]:
            wrong.append((number, status, content[:200]))
        else:
            latencies.append(time.monotonic() - due)

    begin = time.monotonic()
    due, sent, sampled, late = begin, 0, begin, 0.0
    while due < begin + arguments.seconds:
        wait = due - time.monotonic()
        if wait > 0:
            await asyncio.sleep(wait)
        else:
            late = max(late, -wait)
        task = asyncio.create_task(one(rng.randrange(len(bodies)), due))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        sent += 1
        if time.monotonic() - sampled >= max(1.0, arguments.seconds / 200):
            sampled = time.monotonic()
            resident.append(server.rss())
        due += rng.expovariate(arguments.rate)
    if tasks:
        await asyncio.wait(tasks, timeout=120)
    elapsed = time.monotonic() - begin
    return sent, latencies, wrong, refused, resident, elapsed, late


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("server")
    parser.add_argument("rankfeed")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rate", type=float, default=40, help="requests per second")
    arguments = parser.parse_args()
    server = Server(arguments.server.split(), arguments.rankfeed, (), ["--workers", 2, "--queue", 64])
    try:
        sent, latencies, wrong, refused, resident, elapsed, late = asyncio.run(run(server, arguments))
        metrics = server.metrics()
    finally:
        rest, status = server.stop()
    latencies.sort()

    def quantile(q):
        return 1e3 * latencies[min(len(latencies) - 1, int(q * len(latencies)))]
    lost = sent - len(latencies) - refused - len(wrong)
    first = sorted(resident[len(resident) // 4:len(resident) // 2] or resident[:1])
    last = sorted(resident[-max(1, len(resident) // 4):])
    growth = last[len(last) // 2] - first[len(first) // 2]
    print(f"{elapsed:.1f} s, {sent} requests ({sent / elapsed:.1f}/s), {len(latencies)} right, {refused} refused "
          f"(429, 504), {len(wrong)} wrong, {lost} lost; sender at most {1e3 * late:.0f} ms late")
    print(f"latency from the drawn time: p50 {quantile(0.5):.1f} ms, p90 {quantile(0.9):.1f} ms, p99 {quantile(0.99):.1f} ms, "
          f"max {1e3 * latencies[-1]:.1f} ms")
    print(f"memory: {first[len(first) // 2] / 1e6:.1f} MB in the second quarter, {last[len(last) // 2] / 1e6:.1f} MB in "
          f"the last ({growth / 1e6:+.1f} MB)")
    print(f"server: {int(metrics['rankfeed_tokens_total'])} tokens, {int(metrics['rankfeed_documents_total'])} documents; {rest.strip()}")
    for item in wrong[:5]:
        print("WRONG", item)
    assert not wrong and lost == 0, "wrong or lost answers"
    assert refused <= 0.01 * sent, "more than 1 % refused: the machine is too slow for this rate"
    assert growth < 4 << 20, "memory grows"
    assert status == 0 and metrics["rankfeed_queue_depth"] == 0


main()
