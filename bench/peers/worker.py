#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One Python wheel in a process of its own; the commands of bench/bench_peer.cc.

usage: worker.py ENGINE MODEL TOKENIZER_JSON TEXTS.jsonl
"""
import array
import gc
import json
import os
import sys
import time

import engines


def resident():
    """Bytes of this process in memory."""
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main():
    name, model, tokenizer_json, path = sys.argv[1:5]
    texts = [json.loads(line)["text"] for line in open(path, encoding="utf-8")]
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    before = resident()
    engine = engines.make(name, model, tokenizer_json)
    loaded = resident() - before

    def say(line):
        out.write(line + "\n")
        out.flush()

    # What a call costs that does nothing but cross into the wheel and back: the same number of texts, all empty.
    empty = [""] * len(texts)
    engine.call(empty)
    wall, cpu = time.perf_counter_ns(), time.process_time_ns()
    engine.call(empty)
    wall, cpu = time.perf_counter_ns() - wall, time.process_time_ns() - cpu
    say(json.dumps({"version": engine.version, "reference": engine.reference, "path": engine.note, "empty_call_ns": [wall, cpu], "resident_bytes": loaded}))
    gc.disable()
    for line in sys.stdin:
        if line.startswith("ids "):
            with open(line[4:].rstrip("\n"), "wb") as f:
                for ids in engine.encode(texts):
                    f.write(array.array("I", [len(ids)]).tobytes() + array.array("i", [int(i) for i in ids]).tobytes())
            say("ok")
        elif line.startswith("range "):
            begin, end, times = map(int, line.split()[1:])
            stretch = texts[begin:end] * times
            together = engine.together or len(stretch)
            calls = [stretch[i:i + together] for i in range(0, len(stretch), together)]
            wall, cpu = time.perf_counter_ns(), time.process_time_ns()
            made = [engine.call(call) for call in calls]
            wall, cpu = time.perf_counter_ns() - wall, time.process_time_ns() - cpu
            del made
            say(f"{wall} {cpu} 0")
        elif line == "cold\n" and engine.reset:
            # The engine forgets the texts it has seen before each pass.
            wall = cpu = passes = 0
            while wall < 20_000_000:
                engine.reset()
                wall_from, cpu_from = time.perf_counter_ns(), time.process_time_ns()
                result = engine.call(texts)
                wall, cpu, passes = wall + time.perf_counter_ns() - wall_from, cpu + time.process_time_ns() - cpu_from, passes + 1
                del result
            say(f"{wall // passes} {cpu // passes} 0")
        else:
            # As bench_peer: passes one after another until 20 ms are timed.
            wall = cpu = passes = 0
            while wall < 20_000_000:
                wall_from, cpu_from = time.perf_counter_ns(), time.process_time_ns()
                result = engine.call(texts)
                wall, cpu, passes = wall + time.perf_counter_ns() - wall_from, cpu + time.process_time_ns() - cpu_from, passes + 1
                del result
            say(f"{wall // passes} {cpu // passes} 0")


if __name__ == "__main__":
    main()
