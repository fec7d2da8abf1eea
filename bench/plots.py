# SPDX-License-Identifier: MIT
"""plots.py FOLDER: draws what bench/run.py measured, from the JSON files in the folder, into SVG files beside them."""
import json
import os
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "rankfeed"  # the same file from the same numbers
import matplotlib.pyplot as plt  # noqa: E402

OWN, OWN_LIGHT, OTHER, INK = "#1f5fd6", "#6ea3ff", "#9aa0ac", "#52565f"


def read(name):
    path = os.path.join(sys.argv[1], name)
    return json.load(open(path)) if os.path.exists(path) else None


def save(figure, axis, name):
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    figure.tight_layout()
    figure.savefig(os.path.join(sys.argv[1], name), metadata={"Date": None})
    plt.close(figure)


def peers(results):
    main = next((r for r in results if r["language"] == "all"), results[-1])
    rows = list(reversed(main["engines"]))
    figure, axis = plt.subplots(figsize=(8, 0.38 * len(rows) + 1))
    spans = [r["ratio_to_libsentencepiece"] for r in rows]
    values = [s["median"] for s in spans]
    axis.barh([r["name"] + (f" {r['version']}" if r["version"] else "") for r in rows], values,
              color=[OWN if r["name"].startswith("rankfeed") else OTHER for r in rows],
              xerr=[[s["median"] - s["min"] for s in spans], [s["max"] - s["median"] for s in spans]], error_kw={"elinewidth": 1, "ecolor": INK})
    for i, s in enumerate(spans):
        axis.text(s["max"] + max(values) * 0.01, i, f"{s['median']:g}\u00d7", va="center", fontsize=9)
    axis.set_xlabel(f"throughput, libsentencepiece = 1 (XQuAD {main['language']}, one thread)")
    save(figure, axis, "peers.svg")


def lines(series, xlabel, ylabel, name):
    figure, axis = plt.subplots(figsize=(8, 4))
    for label, points, color in series:
        if points:
            xs, ys = zip(*sorted(points))
            axis.plot(xs, ys, marker="o", markersize=4, color=color, label=label)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel(xlabel)
    axis.set_ylabel(ylabel)
    axis.grid(alpha=0.25)
    axis.legend(frameon=False)
    save(figure, axis, name)


def main():
    results = read("peers.json")
    if results:
        peers(results)
    rows = read("bench_latency.json") or []
    points = {}
    for b in rows:
        if b["name"].startswith("length/"):
            _, engine, size = b["name"].split("/")[:3]
            points.setdefault(engine, []).append((int(size), b["p50_us"] * 1e3 / int(size)))
    if points:
        lines([("rankfeed, HuggingFace parity", points.get("hf"), OWN), ("rankfeed, SentencePiece parity", points.get("newest") or points.get("sp"), OWN_LIGHT),
               ("libsentencepiece", points.get("libsentencepiece"), OTHER)], "bytes of one text", "ns per byte, p50", "length.svg")
    points = {}
    for b in read("bench_query.json") or []:
        _, source, count = b["name"].split("/")[:3]
        points.setdefault(source, []).append((int(count), b["cpu_us"]))
    if points:
        lines([("candidates as texts", points.get("text"), OWN), ("from a corpus store", points.get("store"), OWN_LIGHT)], "candidates of a query",
              "CPU \u00b5s per query", "candidates.svg")


main()
