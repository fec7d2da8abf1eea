#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Closed-loop load on a rerank service with wrk: requests per second, latency and memory, one line for each number of
connections, as a Markdown table.

    bench/serve_load.py --command 'build-release/bin/rankfeed serve' [--connections 8,64,256] [--seconds 10]
                        [--memory-requests 1000000] [--reload] [--health]

--command is a program that takes --vocab, --model, --port and --workers, and prints the port it listens on: this one, or one
of an earlier revision, so that both are measured alike; what it says on stderr, its log, goes to /dev/null. Requests are text-embeddings-inference's, 4 texts of 12 words; the model is
small and random (tests/serve/random_model.py), so that what is measured is the service and not the forward pass. --memory-requests goes on
at 64 connections until that many were answered and says what the service holds then; --reload swaps the set ten times in the meantime."""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "serve"))
import random_model  # noqa: E402

TEXT = "the panda eats bamboo in the mountains and sleeps all the afternoon"
BODY = json.dumps({"query": "What do pandas eat?", "texts": [f"{TEXT} {i}" for i in range(4)], "truncate": True})


def resident(process):
    with open(f"/proc/{process.pid}/status") as file:
        fields = dict(line.split(":", 1) for line in file)
    return int(fields["VmRSS"].split()[0]) / 1024, int(fields["VmHWM"].split()[0]) / 1024, int(fields["Threads"])


def cpu_seconds(process):
    with open(f"/proc/{process.pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wrk(port, connections, seconds, script):
    done = subprocess.run(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s", "--latency", "-s", script,
                           f"http://127.0.0.1:{port}/rerank"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout[done.stdout.index("{\"requests"):])


def main():
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    parser.add_argument("--command", required=True)
    parser.add_argument("--rankfeed", default=os.path.join(HERE, "..", "build-release", "bin", "rankfeed"), help="makes the image")
    parser.add_argument("--connections", default="8,64,256")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--health", action="store_true", help="GET /health instead: what the service costs without the model")
    parser.add_argument("--memory-requests", type=int, default=0)
    parser.add_argument("--reload", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        vocab, model, script = (os.path.join(folder, n) for n in ("v.rfimg", "model", "post.lua"))
        subprocess.run([arguments.rankfeed, "compile", os.path.join(HERE, "..", "data", "default.model"), "-o", vocab], check=True,
                       stdout=subprocess.DEVNULL)
        info = json.loads(subprocess.run([arguments.rankfeed, "info", "--vocab", vocab, "--json"], check=True, capture_output=True).stdout)
        random_model.write(model, info["id_count"], info["pad_id"])
        with open(script, "w") as file:
            if arguments.health:
                file.write("wrk.method = 'GET'\nwrk.path = '/health'\n")
            else:
                file.write(f"wrk.method = 'POST'\nwrk.body = [[{BODY}]]\nwrk.headers['Content-Type'] = 'application/json'\n")
            file.write(
                       "function done(s, l, r) io.write(string.format('{\"requests\": %d, \"us\": %d, \"p50\": %d, \"p99\": %d, "
                       "\"not200\": %d, \"broken\": %d}', s.requests, s.duration, l:percentile(50), l:percentile(99), s.errors.status, "
                       "s.errors.connect + s.errors.read + s.errors.write + s.errors.timeout)) end\n")
        # A queue that holds every connection of this load and of the one before: refusals would look like speed.
        most = max(int(c) for c in arguments.connections.split(","))
        process = subprocess.Popen([*arguments.command.split(), "--vocab", vocab, "--model", model, "--port", "0", "--workers", "2",
                                    "--queue", str(2 * max(most, 64))], stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True)
        port = int(re.search(r":(\d+)", process.stdout.readline())[1])
        try:
            print("| connections | requests/s | p50 ms | p99 ms | server's CPU us per request | not 200 | broken | resident MiB | threads |\n"
                  "|---|---|---|---|---|---|---|---|---|")
            for connections in arguments.connections.split(","):
                before = cpu_seconds(process)
                r = wrk(port, connections, arguments.seconds, script)
                cpu = 1e6 * (cpu_seconds(process) - before) / max(1, r["requests"])
                now, _, threads = resident(process)
                print(f"| {connections} | {1e6 * r['requests'] / r['us']:.0f} | {r['p50'] / 1e3:.2f} | {r['p99'] / 1e3:.2f} | {cpu:.0f} | {r['not200']} | "
                      f"{r['broken']} | {now:.1f} | {threads} |", flush=True)
            if arguments.memory_requests:
                memory(process, port, arguments, script)
        finally:
            process.terminate()
            process.wait(timeout=60)


def memory(process, port, arguments, script):
    sent, wrong, samples, swaps = 0, 0, [], 0
    over = threading.Event()

    def swap():
        nonlocal swaps
        admin = int(re.search(r":(\d+)", process.stdout.readline())[1])
        while not over.wait(arguments.memory_requests / 100_000):
            request = urllib.request.Request(f"http://127.0.0.1:{admin}/admin/reload", b"{}")
            urllib.request.urlopen(request, timeout=30).read()
            swaps += 1
    swapper = threading.Thread(target=swap)
    if arguments.reload:
        swapper.start()
    begin = time.monotonic()
    while sent < arguments.memory_requests:
        r = wrk(port, 64, 5, script)
        sent, wrong = sent + r["requests"], wrong + r["not200"] + r["broken"]
        samples.append(resident(process)[0])
    over.set()
    if arguments.reload:
        swapper.join()
    print(f"\n{sent} requests in {time.monotonic() - begin:.0f} s, {wrong} not answered with 200, {swaps} swaps: resident {samples[0]:.1f} MiB "
          f"after the first 5 s, {samples[-1]:.1f} MiB in the end, at most {resident(process)[1]:.1f} MiB")


main()
