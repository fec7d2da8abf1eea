# SPDX-License-Identifier: MIT
"""storm_test.py RANKFEED [--connections N] [--requests N] [--report FILE]: everything at once.

Connections that send a byte of a head every two seconds and are opened again when they are closed, gzip bombs and pipelined requests go on while
honest clients (wrk, 16 kept-alive connections) send requests whose answers are known and compare every one, the set is swapped once a second,
and a probe asks both listeners for /health. Fails on a wrong or lost answer, a failed probe, or more than 512 MB resident."""

import argparse
import asyncio
import gzip
import json
import os
import random
import resource
import statistics
import time

from hostile import Probe, http_request, raise_descriptors
from server_process import Server

WORDS = "panda bamboo bear mountain river city light train music winter paper stone bread story cloud".split()
BOMB = http_request(gzip.compress(b"0" * (100 << 20), 1), fields="Content-Encoding: gzip\r\n")
SMALL = http_request({"query": "panda", "texts": ["bamboo"]})
# One connection for each of wrk's threads, whose states are their own: an answer is that to the thread's last request.
HONEST = """
local requests, threads, last = {}, {}
function setup(thread) thread:set("number", #threads + 1) table.insert(threads, thread) end
function init()
  right, wrong, refused = 0, 0, 0
  math.randomseed(number)
  for i, body in ipairs(BODIES) do requests[i] = wrk.format("POST", "/rerank", {["Content-Type"] = "application/json", Host = wrk.headers.Host}, body) end
end
function request() last = math.random(#requests) return requests[last] end
function response(status, fields, body)
  if status == 429 then refused = refused + 1
  elseif status == 200 and body == ANSWERS[last] then right = right + 1
  else
    if wrong == 0 then io.stderr:write(status, " ", body, ", not ", ANSWERS[last], "\\n") end
    wrong = wrong + 1
  end
end
function done(summary, latency)
  local sum = {right = 0, wrong = 0, refused = 0}
  for _, thread in ipairs(threads) do
    for name in pairs(sum) do sum[name] = sum[name] + thread:get(name) end
  end
  local e = summary.errors
  io.write(string.format('{"right": %d, "wrong": %d, "refused": %d, "not_connected": %d, "not_read": %d, "not_written": %d, "late": %d, ' ..
                         '"p50": %d, "p99": %d}', sum.right, sum.wrong, sum.refused, e.connect, e.read, e.write, e.timeout,
                         latency:percentile(50), latency:percentile(99)))
end
"""
LOST = ("not_connected", "not_read", "not_written", "late")


class Storm:
    def __init__(self, server, arguments):
        self.server, self.arguments, self.over = server, arguments, False
        self.seen = dict.fromkeys(("right", "wrong", *LOST, "refused", "bombs", "pipelined", "slow_opened", "swaps"), 0)
        self.latencies, self.begin = [], time.monotonic()  # p50 and p99 of each of wrk's runs, ms

    async def open(self):
        return await asyncio.open_connection("127.0.0.1", self.server.port)

    async def answer(self, reader):
        head = await reader.readuntil(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
        return int(head.split(b" ", 2)[1]), await reader.readexactly(int(fields[b"content-length"]))

    async def once(self, body):
        reader, writer = await self.open()
        writer.write(http_request(body))
        status, content = await self.answer(reader)
        writer.close()
        assert status == 200, (status, content)
        return content.decode()

    async def slow(self):
        while not self.over:
            try:
                reader, writer = await self.open()
            except OSError:
                await asyncio.sleep(0.5)
                continue
            self.seen["slow_opened"] += 1
            writer.write(b"POST /rerank HTTP/1.1\r\nHost: ")
            while not self.over:  # until the server has had enough
                try:
                    writer.write(b"x")
                    await asyncio.wait_for(reader.read(1000), 2)
                    break
                except asyncio.TimeoutError:
                    continue
                except OSError:
                    break
            writer.close()

    async def bomb(self):
        while not self.over:
            reader, writer = await self.open()
            writer.write(BOMB)
            status, _ = await self.answer(reader)
            self.seen["bombs"] += status in (413, 429)
            writer.close()
            await asyncio.sleep(0.2)

    async def pipeline(self):
        while not self.over:
            reader, writer = await self.open()
            writer.write(SMALL * 20)
            for _ in range(20):
                self.seen["pipelined"] += (await self.answer(reader))[0] in (200, 429)
            writer.close()

    async def honest(self, bodies, answers):
        script = self.server.path("honest.lua")
        with open(script, "w") as file:
            for name, texts in (("BODIES", bodies), ("ANSWERS", answers)):
                file.write(f"local {name} = {{{', '.join(f'[==[{text}]==]' for text in texts)}}}\n")
            file.write(HONEST)
        while self.seen["right"] < self.arguments.requests and self.seen["wrong"] == 0 and not any(t.done() for t in self.tasks):
            process = await asyncio.create_subprocess_exec(
                "wrk", "-t16", "-c16", f"-d{self.arguments.slice}s", "--timeout", "30s", "-s", script, f"http://127.0.0.1:{self.server.port}",
                stdout=asyncio.subprocess.PIPE)
            printed = (await process.communicate())[0].decode()
            part = json.loads(printed[printed.index('{"right"'):])
            self.latencies.append((part.pop("p50") / 1e3, part.pop("p99") / 1e3))
            for name, count in part.items():
                self.seen[name] += count
            print(f"{self.seen} {time.monotonic() - self.begin:.0f} s", flush=True)
        self.over = True

    async def swap(self):
        while not self.over:
            status = await asyncio.to_thread(self.server.call, "POST", "/admin/reload", {})
            self.seen["swaps"] += status[0] == 200
            await asyncio.sleep(1)

    async def run(self):
        rng = random.Random(3)
        requests = [{"query": " ".join(rng.choices(WORDS, k=5)), "texts": [" ".join(rng.choices(WORDS, k=rng.randrange(1, 20)))
                     for _ in range(rng.randrange(1, 5))]} for _ in range(50)]
        answers = [await self.once(body) for body in requests]
        # They go on until the honest ones are done: one that has ended before has failed.
        self.tasks = tasks = [asyncio.create_task(self.slow()) for _ in range(self.arguments.connections)]
        await asyncio.sleep(2)
        tasks += [asyncio.create_task(t) for t in (self.bomb(), self.bomb(), self.pipeline(), self.pipeline(), self.swap())]
        await self.honest([json.dumps(body) for body in requests], answers)
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        return [repr(r) for r in results if isinstance(r, Exception) and not isinstance(r, asyncio.CancelledError)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rankfeed")
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--slice", type=int, default=5, help="seconds of each of wrk's runs")
    parser.add_argument("--report")
    arguments = parser.parse_args()
    if raise_descriptors() < arguments.connections + 200:
        raise SystemExit(f"open files are limited to {resource.getrlimit(resource.RLIMIT_NOFILE)[0]}")
    # This driver may get no processor for minutes: a connection that it has opened and not used yet is to be there then.
    server = Server(arguments.rankfeed, (), ["--workers", 2, "--idle-timeout-ms", 3_600_000])
    probe, begin = Probe(server), time.monotonic()
    storm = Storm(server, arguments)
    try:
        problems = asyncio.run(storm.run())
    except BaseException:
        server.process.kill()
        raise
    seconds = time.monotonic() - begin
    metrics = server.metrics()
    p50, p99, longest = probe.stop()
    highest = server.highest_resident()
    status = server.stop()[1]
    report = {"connections": arguments.connections, "seconds": round(seconds, 1), **storm.seen,
              "evicted": metrics["rankfeed_connections_evicted_total"], "timed_out": metrics["rankfeed_connections_timed_out_total"],
              "request_ms": {"p50": round(statistics.median(p[0] for p in storm.latencies), 1),
                             "p99": round(statistics.median(p[1] for p in storm.latencies), 1)},
              "load_average": os.getloadavg()[0],
              "probe_ms": {"count": probe.count, "p50": p50, "p99": p99, "longest": longest, "failed": len(probe.failed)},
              "resident_mb_at_most": round(highest / 1e6, 1)}
    print(json.dumps(report, indent=1))
    if arguments.report:
        with open(arguments.report, "w") as file:
            json.dump(report, file, indent=1)
            file.write("\n")
    assert not problems, problems[:3]
    assert storm.seen["wrong"] == 0 and not any(storm.seen[name] for name in LOST) and storm.seen["right"] > 0, storm.seen
    assert storm.seen["bombs"] > 0 and storm.seen["pipelined"] > 0 and storm.seen["swaps"] > 0, storm.seen
    assert not probe.failed, probe.failed[:3]
    assert highest < 512e6 and status == 0, (highest, status)


main()
