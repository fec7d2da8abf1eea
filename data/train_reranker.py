#!/usr/bin/env python3
"""Trains data/reranker: a cross-encoder of XLM-RoBERTa's architecture for the default vocabulary.

    train_reranker.py PAIRS_FILE OUTPUT_DIR [--steps N] [--seed S]

PAIRS_FILE comes from reranker_pairs.py. Needs torch, transformers and sentencepiece (PyPI); one thread.
Written to OUTPUT_DIR: config.json and model.safetensors (float16), as transformers saves and loads them.

A model this small learns little about meaning in half an hour on one core, so it starts out as something
that already counts shared words, with rarities taken from the pairs. `--steps 0` writes that start: it is
what data/reranker holds now (data/README.md says how well it ranks). Training goes on from there, all
weights free except the positions:

  embeddings  random codes, one per piece, nearly orthogonal; one dimension holds the piece's rarity
              (inverse passage frequency), two more say "query" and "passage" (token types 0 and 1)
  layer 1     queries and keys are the codes: a piece attends to equal pieces. What it collects is the
              share of its attention that lies in the passage: tf / (tf + 1), BM25's saturation
  layer 2     <s> attends to the query's pieces by rarity and collects that share
  layer 3     free
Positions stay zero, so that rows longer than those of the training behave the same.

Loss: cross-entropy of the right passage among eight: two of the same document, three that share the
rarest pieces with the question out of 256 random ones, two random; plus a tenth of the binary loss,
so that the sigmoid of a score means something.
"""

import argparse
import json
import math
import pathlib
import random
import re
import time
from collections import defaultdict

import numpy as np
import sentencepiece
import torch
from transformers import XLMRobertaConfig, XLMRobertaForSequenceClassification

HERE = pathlib.Path(__file__).resolve().parent
HIDDEN, LAYERS, INTERMEDIATE = 64, 3, 128
CODE = slice(0, 58)  # dimensions of the embeddings
RARITY, QUERY, PASSAGE, MATCH, COVERAGE = 58, 59, 60, 61, 62
BOS, PAD, EOS = 0, 1, 2
QUERIES, CANDIDATES, POOL = 12, 8, 256  # per step
RARITY_PIECES = 128  # of a passage, that rarities are counted on
MAX_QUERY, MAX_PASSAGE = 24, 72        # pieces
OPENINGS = ("What is", "What was", "What", "Who", "When did", "When was", "How many", "How much", "How",
            "Where", "Where did", "Which", "Why", "In what", "What did", "What kind of", "Who was")
UNSPACED = {"zh", "ja", "th"}


class Pairs:
    def __init__(self, path, rng):
        self.rng = rng
        self.sp = sentencepiece.SentencePieceProcessor(model_file=str(HERE / "default.model"))
        rows = [json.loads(line) for line in open(path, encoding="utf-8")]
        ids = self.sp.encode([r["passage"] for r in rows])
        self.rows = rows
        self.ids = [i[:MAX_PASSAGE] for i in ids]
        self.by_language, self.by_group = defaultdict(list), defaultdict(list)
        for n, row in enumerate(rows):
            self.by_language[row["language"]].append(n)
            self.by_group[row["group"]].append(n)
        counts = np.zeros(self.sp.vocab_size())
        for i in ids:
            counts[np.unique(i[:RARITY_PIECES])] += 1
        self.idf = np.log((len(rows) + 1) / (counts + 1)).astype(np.float32)
        # Large languages are drawn more often, but not in proportion.
        self.languages = sorted(l for l, members in self.by_language.items() if len(members) >= POOL)
        self.weights = [len(self.by_language[l]) ** 0.5 for l in self.languages]

    def question(self, n):
        """A question for a passage: its heading, or words of one of its sentences; the sentence is
        sometimes taken out of the passage, so that shared words are not everything. Returns the
        question's pieces and the passage's."""
        rng, row = self.rng, self.rows[n]
        text = self.sp.decode(self.ids[n])  # what is left of a cut passage
        if row["kind"] != "passage":
            return self.sp.encode(row["query"]), None
        sentences = [s for s in re.split(r"(?<=[.!?。！？])\s*", text) if len(s) > 20] or [text]
        sentence = rng.choice(sentences)
        if row["language"] in UNSPACED:
            words, glue = [sentence[i:i + 2] for i in range(0, len(sentence), 2)], ""
        else:
            words, glue = sentence.split(), " "
        length = rng.randint(3, 12)
        at = rng.randrange(max(1, len(words) - length + 1))
        words = [w.strip(".,;:!?()\"") for w in words[at:at + length] if rng.random() > 0.25]
        words = [w.lower() if rng.random() < 0.3 else w for w in words if w]
        if rng.random() < 0.2:
            rng.shuffle(words)
        if row["language"] == "en" and rng.random() < 0.8:
            words.insert(0, rng.choice(OPENINGS))
        query = glue.join(words) + ("?" if rng.random() < 0.7 else "")
        kept = None
        if len(sentences) > 2 and rng.random() < 0.15:
            kept = self.sp.encode(text.replace(sentence, " "))[:MAX_PASSAGE]
        return self.sp.encode(query), kept

    def batch(self):
        rng = self.rng
        language = rng.choices(self.languages, self.weights)[0]
        members = self.by_language[language]
        pool = rng.sample(members, POOL)
        present = np.zeros((POOL, len(self.idf)), dtype=bool)
        for i, n in enumerate(pool):
            present[i, self.ids[n]] = True
        lists = []
        for i in range(QUERIES):
            n = pool[i]
            query, positive = self.question(n)
            query = query[:MAX_QUERY]
            if not query:
                query = [3]
            shared = present[:, query] @ self.idf[query]
            shared[i] = -1
            hard = [pool[j] for j in np.argsort(-shared)[:3]]
            group = [m for m in self.by_group[self.rows[n]["group"]] if m != n]
            near = rng.sample(group, min(2, len(group)))
            others = [m for m in pool[QUERIES:] if m not in hard]
            rest = rng.sample(others, CANDIDATES - 1 - len(hard) - len(near))
            wanted = self.rows[n]["passage"]
            candidates = [positive if positive is not None else self.ids[n]]
            candidates += [self.ids[m] if self.rows[m]["passage"] != wanted else self.ids[rest[0]]
                           for m in hard + near + rest]
            lists += [(query, c) for c in candidates]
        return pack(lists)


def pack(pairs):
    """input_ids, attention_mask, token_type_ids: <s> query </s></s> are 0, passage </s> are 1."""
    rows = [([BOS, *q, EOS, EOS], [*p, EOS]) for q, p in pairs]
    length = max(len(a) + len(b) for a, b in rows)
    ids = torch.full((len(rows), length), PAD)
    types = torch.zeros((len(rows), length), dtype=torch.long)
    for i, (a, b) in enumerate(rows):
        ids[i, :len(a) + len(b)] = torch.tensor(a + b)
        types[i, len(a):len(a) + len(b)] = 1
    return ids, (ids != PAD).long(), types


def initial_model(idf, seed):
    torch.manual_seed(seed)
    config = XLMRobertaConfig(
        vocab_size=32000, hidden_size=HIDDEN, num_hidden_layers=LAYERS, num_attention_heads=1,
        intermediate_size=INTERMEDIATE, max_position_embeddings=1026, type_vocab_size=2,
        layer_norm_eps=1e-5, pad_token_id=PAD, bos_token_id=BOS, eos_token_id=EOS, num_labels=1,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, classifier_dropout=0.0)
    model = XLMRobertaForSequenceClassification(config)
    base = model.roberta
    with torch.no_grad():
        e = base.embeddings
        # By its logarithm, so that the softmax of layer 2 weighs pieces in proportion to it.
        rarity = 2.0 * (torch.tensor(idf).clamp(min=0.3).log() - 1.8)
        e.word_embeddings.weight.zero_()
        e.word_embeddings.weight[:, CODE] = torch.randn(32000, CODE.stop).sign() * 0.9
        e.word_embeddings.weight[:, RARITY] = rarity
        e.position_embeddings.weight.zero_()
        e.position_embeddings.weight.requires_grad = False
        e.token_type_embeddings.weight.zero_()
        e.token_type_embeddings.weight[0, QUERY] = 2.0
        e.token_type_embeddings.weight[1, PASSAGE] = 2.0

        first = base.encoder.layer[0].attention
        for linear in (first.self.query, first.self.key):
            linear.weight.mul_(0.1)
            linear.weight[CODE, CODE] += 1.2 * torch.eye(CODE.stop)
        first.self.value.weight.mul_(0.3)
        first.self.value.weight[MATCH, PASSAGE] = 2.0
        first.output.dense.weight.mul_(0.3)
        first.output.dense.weight[MATCH] = 0
        first.output.dense.weight[MATCH, MATCH] = 1.0

        second = base.encoder.layer[1].attention
        second.self.query.weight.mul_(0.1)
        second.self.query.bias[0] = 8.0
        second.self.key.weight.mul_(0.1)
        second.self.key.weight[0, QUERY] = 2.0
        second.self.key.weight[0, PASSAGE] = -2.0
        second.self.key.weight[0, RARITY] = 0.5
        second.self.value.weight.mul_(0.3)
        second.self.value.weight[COVERAGE] = 0
        second.self.value.weight[COVERAGE, MATCH] = 2.0
        second.output.dense.weight.mul_(0.3)
        second.output.dense.weight[COVERAGE] = 0
        second.output.dense.weight[COVERAGE, COVERAGE] = 1.0

        model.classifier.dense.weight[0] = 0
        model.classifier.dense.weight[0, COVERAGE] = 0.5
        model.classifier.out_proj.weight[0, 0] = 6.0
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pairs")
    parser.add_argument("output")
    parser.add_argument("--steps", type=int, default=2500)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(1)
    rng = random.Random(args.seed)
    data = Pairs(args.pairs, rng)
    print(f"{len(data.rows)} pairs, languages {' '.join(data.languages)}", flush=True)
    model = initial_model(data.idf, args.seed)
    embeddings = [model.roberta.embeddings.word_embeddings.weight]
    rest = [p for p in model.parameters() if p.requires_grad and p is not embeddings[0]]
    groups = [{"params": embeddings, "lr": 5e-4}, {"params": rest, "lr": 3e-4}]
    rates = [g["lr"] for g in groups]
    optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.98), weight_decay=0.0)
    begin, losses, hits = time.monotonic(), [], []
    for step in range(args.steps):
        scale = min(1.0, (step + 1) / 100) * 0.5 * (1 + math.cos(math.pi * step / args.steps))
        for group, rate in zip(groups, rates):
            group["lr"] = rate * scale
        ids, mask, types = data.batch()
        logits = model(input_ids=ids, attention_mask=mask, token_type_ids=types).logits
        scores = logits.view(QUERIES, CANDIDATES)
        target = torch.zeros(QUERIES, dtype=torch.long)
        loss = torch.nn.functional.cross_entropy(scores, target)
        labels = torch.zeros_like(scores)
        labels[:, 0] = 1
        total = loss + 0.1 * torch.nn.functional.binary_cross_entropy_with_logits(scores, labels)
        optimizer.zero_grad()
        total.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        hits.append((scores.argmax(1) == 0).float().mean().item())
        if step % 100 == 99 or step == 0:
            print(f"step {step + 1} loss {np.mean(losses[-100:]):.4f} first {np.mean(hits[-100:]):.3f} "
                  f"{time.monotonic() - begin:.0f} s", flush=True)
    model.half()
    model.save_pretrained(args.output, safe_serialization=True)
    print(f"saved {args.output}", flush=True)


if __name__ == "__main__":
    main()
