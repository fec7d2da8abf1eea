#!/usr/bin/env python3
"""MRR@10 of the compact reranker on XQuAD beside BM25 and a random order.

    eval_reranker.py RANKFEED XQUAD_DIR [--languages en,de] [--every N] [--model DIR]

Every question of a language is ranked against all 240 passages of that language; the passage that the
data names is the right one. Neither questions nor passages of XQuAD take part in the training. The
reranker's order is what `rankfeed rerank --max-length 1024` prints, so that both see whole passages. BM25
(Robertson and Zaragoza, 2009; k1 0.9, b 0.4) is counted twice: over lower-cased words, and over the
pieces of the default vocabulary, which is what the reranker sees. A random order is worth
(1 + 1/2 + ... + 1/10) / 240 by calculation.
"""

import argparse
import collections
import json
import math
import pathlib
import re
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
K1, B = 0.9, 0.4


class Bm25:
    def __init__(self, documents):
        self.counts = [collections.Counter(d) for d in documents]
        self.lengths = [len(d) for d in documents]
        self.mean = sum(self.lengths) / len(documents)
        df = collections.Counter(t for c in self.counts for t in c)
        n = len(documents)
        self.idf = {t: math.log(1 + (n - f + 0.5) / (f + 0.5)) for t, f in df.items()}

    def order(self, query):
        scores = []
        for counts, length in zip(self.counts, self.lengths):
            norm = K1 * (1 - B + B * length / self.mean)
            scores.append(sum(self.idf[t] * counts[t] * (K1 + 1) / (counts[t] + norm)
                              for t in set(query) if t in counts))
        return sorted(range(len(scores)), key=lambda i: -scores[i])


def reciprocal(order, wanted):
    return next((1 / (rank + 1) for rank, i in enumerate(order[:10]) if i == wanted), 0.0)


def words(text):
    return re.findall(r"\w+", text.lower())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("rankfeed")
    parser.add_argument("xquad")
    parser.add_argument("--languages", default="en")
    parser.add_argument("--every", type=int, default=1, help="take every Nth question")
    parser.add_argument("--model", default=str(HERE / "reranker"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        image = f"{work}/default.rfimg"
        subprocess.run([args.rankfeed, "compile", str(HERE / "default.model"), "-o", image], check=True,
                       stdout=subprocess.DEVNULL)

        def pieces(texts):
            out = subprocess.run([args.rankfeed, "encode", "--vocab", image], input="\n".join(texts) + "\n",
                                 capture_output=True, text=True, check=True).stdout
            return [line.split() for line in out.split("\n")][:len(texts)]

        for language in args.languages.split(","):
            rows = [json.loads(line) for line in open(f"{args.xquad}/{language}.jsonl", encoding="utf-8")]
            passages = [r for r in rows if r["kind"] == "passage"]
            questions = [r for r in rows if r["kind"] == "query"][::args.every]
            number = {p["id"]: i for i, p in enumerate(passages)}
            texts = [" ".join(p["text"].split()) for p in passages]
            docs = f"{work}/docs.jsonl"
            with open(docs, "w", encoding="utf-8") as file:
                for p, text in zip(passages, texts):
                    file.write(json.dumps({"id": str(p["id"]), "text": text}, ensure_ascii=False) + "\n")
            by_word, by_piece = Bm25([words(t) for t in texts]), Bm25(pieces(texts))
            asked = pieces([" ".join(q["text"].split()) for q in questions])
            sums = collections.Counter()
            for q, ids in zip(questions, asked):
                wanted = number[q["passage"]]
                sums["words"] += reciprocal(by_word.order(words(q["text"])), wanted)
                sums["pieces"] += reciprocal(by_piece.order(ids), wanted)
                out = subprocess.run([args.rankfeed, "rerank", "--vocab", image, "--model", args.model, "--query",
                                      q["text"], "--docs", docs, "--top", "10", "--max-length", "1024", "--json"],
                                     capture_output=True, text=True, check=True).stdout
                sums["reranker"] += reciprocal([r["index"] for r in json.loads(out)["results"]], wanted)
            n = len(questions)
            chance = sum(1 / r for r in range(1, 11)) / len(passages)
            print(f"{language}: {n} questions, {len(passages)} passages, MRR@10: reranker {sums['reranker'] / n:.3f}, "
                  f"BM25 words {sums['words'] / n:.3f}, BM25 pieces {sums['pieces'] / n:.3f}, random {chance:.3f}",
                  flush=True)


if __name__ == "__main__":
    main()
