#!/usr/bin/env python3
"""Trains data/reranker: a cross-encoder of XLM-RoBERTa's architecture for the default vocabulary.

    train_reranker.py PAIRS_FILE OUTPUT_DIR [--steps N] [--check N] [--seed S]

PAIRS_FILE comes from reranker_pairs.py. Needs torch, transformers and sentencepiece (PyPI); one thread.
Written to OUTPUT_DIR: config.json and model.safetensors (float16), as transformers saves and loads them.

A model this small learns little about meaning in an hour on one core; runs with all weights free ended
below where they had begun. So it is laid out by hand as a count of shared pieces and shared pairs of
neighbouring pieces, close to BM25's formula, and what is trained is how it counts: a factor for each block
of weights named in Gains, the head's bias, and how much a piece weighs by its rarity (a curve of 12
points). All other weights stay zero. `--steps 0` writes the layout as it is before training.

  embeddings  random codes, one per piece, nearly orthogonal (spellings that differ in case alone: alike);
              one dimension holds the piece's rarity, from its passage frequency and the vocabulary's own
              log probabilities; two say "query" and "passage" (token types 0 and 1); sines and cosines of
              the position at ten frequencies
  layer 1     one head copies half of the code of the token before; the other tells the question's pieces
              how long the passage is (its share of their attention, against a fixed weight on <s>)
  layer 2     one head attends to equal pieces, the other to equal pieces after equal pieces. What they
              collect is the share of their attention that lies in the passage: tf / (tf + K), where K, the
              piece's weight on itself, grows with the passage's length: BM25's saturation and norm
  layer 3     <s> attends to the question's pieces by rarity and collects both shares
Scores do not depend on where in the row a passage stands, so that rows longer than those of the training
behave the same.

Documents whose names' checksums are divisible by 20 are held out: every --check steps the loss on fixed
lists from them and the mean reciprocal rank are printed; the weights that ranked best (those before
training among them) are what is written.

Loss: cross-entropy of the right passage among eight: two of the same document, three that share the
rarest pieces with the question out of 256 random ones, two random; plus a tenth of the binary loss,
so that the sigmoid of a score means something. Passages are joined with others of their document at
random, up to 400 pieces, so that lengths vary.
"""

import argparse
import json
import math
import pathlib
import random
import re
import time
import zlib
from collections import defaultdict

import numpy as np
import sentencepiece
import torch
from transformers import XLMRobertaConfig, XLMRobertaForSequenceClassification

HERE = pathlib.Path(__file__).resolve().parent
HIDDEN, LAYERS, HEADS, INTERMEDIATE, POSITIONS = 112, 3, 2, 16, 1026
HEAD = HIDDEN // HEADS
# Dimensions: codes of the piece, of its position, of the piece before it; and single ones.
CODE, PLACE, PREVIOUS = slice(0, 56), slice(56, 76), slice(76, 104)
RARITY, QUERY, PASSAGE, BEGIN, LENGTH, MATCH, PAIR, COVERAGE = range(104, 112)
# Of 3,000 random sets of ten the one whose positions are most unlike each other at any distance up to 1,022.
FREQUENCIES = (0.1136, 1.5274, 0.9228, 1.7388, 1.4529, 3.0721, 3.0823, 2.3065, 0.2368, 1.3125)
PLACE_GAIN, MATCH_GAIN = 20.0, 1.3
RARITY_SCALE, RARITY_CENTRE = 0.7, 1.5
SHORT = BEGIN  # what layer 1 has no more use for
SHORT_LENGTH = -0.86
LENGTH_GAIN, LENGTH_SHIFT = 1.1, -0.68
BOS, PAD, EOS = 0, 1, 2
QUERIES, CANDIDATES, POOL = 6, 8, 256  # per step
LONGEST = 400  # pieces of a joined passage
RARITY_PIECES = 128  # of a passage, that rarities are counted on
MAX_QUERY, MAX_PASSAGE = 24, 200       # pieces
CURVE = 12
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
        self.groups = defaultdict(list)
        counts, passages = np.zeros(self.sp.vocab_size()), 0
        self.parts = {"train": defaultdict(list), "held out": defaultdict(list)}
        for n, row in enumerate(rows):
            self.groups[row["group"]].append(n)
            if zlib.crc32(row["group"].encode()) % 20 == 0:
                self.parts["held out"][row["language"]].append(n)
                continue
            self.parts["train"][row["language"]].append(n)
            counts[np.unique(ids[n][:RARITY_PIECES])] += 1
            passages += 1
        self.idf = np.log((passages + 1) / (counts + 1)).astype(np.float32)
        self.pieces = [self.sp.id_to_piece(i) for i in range(len(counts))]
        # The vocabulary's own log probabilities know more languages than the pairs do.
        unigram = -np.array([self.sp.get_score(i) for i in range(len(counts))])
        self.rarity = (np.clip(unigram - 5, 0.3, None) + self.idf).astype(np.float32)
        # Large languages are drawn more often, but not in proportion.
        self.languages, self.weights = {}, {}
        for part, by_language in self.parts.items():
            self.languages[part] = sorted(l for l, members in by_language.items() if len(members) >= POOL)
            self.weights[part] = [len(by_language[l]) ** 0.5 for l in self.languages[part]]

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

    def joined(self, n, ids):
        """Every other passage longer, between others of its document: lengths must not tell what is right."""
        group = self.groups[self.rows[n]["group"]]
        while len(ids) < LONGEST and len(group) > 1 and self.rng.random() < 0.5:
            other = self.ids[self.rng.choice(group)]
            ids = ids + other if self.rng.random() < 0.5 else other + ids
        return ids[:LONGEST]

    def batch(self, part="train"):
        rng = self.rng
        language = rng.choices(self.languages[part], self.weights[part])[0]
        members = self.parts[part][language]
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
            group = [m for m in self.groups[self.rows[n]["group"]] if m != n]
            near = rng.sample(group, min(2, len(group)))
            others = [m for m in pool[QUERIES:] if m not in hard]
            rest = rng.sample(others, CANDIDATES - 1 - len(hard) - len(near))
            wanted = self.rows[n]["passage"]
            candidates = [self.joined(n, positive if positive is not None else self.ids[n])]
            candidates += [self.joined(m, self.ids[m]) for m in
                           (m if self.rows[m]["passage"] != wanted else rest[0] for m in hard + near + rest)]
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


def initial_model(pieces, rarity, seed):
    """The layout. pieces: spellings by id; rarity: of each."""
    torch.manual_seed(seed)
    config = XLMRobertaConfig(
        vocab_size=32000, hidden_size=HIDDEN, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        intermediate_size=INTERMEDIATE, max_position_embeddings=POSITIONS, type_vocab_size=2,
        layer_norm_eps=1e-5, pad_token_id=PAD, bos_token_id=BOS, eos_token_id=EOS, num_labels=1,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, classifier_dropout=0.0)
    model = XLMRobertaForSequenceClassification(config)
    first, second, third = (layer.attention for layer in model.roberta.encoder.layer)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "LayerNorm" not in name:
                p.zero_()
        embed(model.roberta.embeddings, pieces, rarity)
        copy_previous(first)
        measure_passage(first, HEAD)
        find_short(model.roberta.encoder.layer[0])
        code, previous = list(range(HIDDEN)[CODE]), list(range(HIDDEN)[PREVIOUS])
        count(second, 0, MATCH, code[:HEAD - 1])
        count(second, HEAD, PAIR, previous + code[:len(previous):-1])
        # <s> attends to the question's pieces by rarity: the softmax weighs them in proportion to it.
        third.self.query.bias[0] = HEAD ** 0.5
        side(third.self.key.weight[0], -8.0)
        read(third.self.key.weight[0], RARITY, 1.0)
        read(third.self.value.weight[0], MATCH, 1.0)
        read(third.self.value.weight[1], PAIR, 1.0)
        third.output.dense.weight[COVERAGE, 0] = 1.0
        third.output.dense.weight[COVERAGE, 1] = 1.5
        model.classifier.dense.weight[0, COVERAGE] = 0.5
        model.classifier.dense.weight[0, SHORT] = -0.03
        model.classifier.out_proj.weight[0, 0] = 12.0
        model.classifier.out_proj.bias[0] = 6.0
    return model


def embed(embeddings, pieces, rarity):
    """Codes, flags and the sines and cosines of positions. Codes have as many +1 as -1, so that LayerNorm leaves their sum
    at 0; spellings that differ in case alone differ in four dimensions, so that they match a little."""
    half = (CODE.stop - CODE.start) // 2
    signs = torch.cat([torch.ones(half), -torch.ones(half)])
    word, codes = embeddings.word_embeddings.weight, {}
    for n, piece in enumerate(pieces):
        code = codes.setdefault(piece.lower(), signs[torch.randperm(2 * half)]).clone()
        if piece != piece.lower():
            for part in (slice(0, half), slice(half, 2 * half)):  # one of either sign in either half
                for sign in (1, -1):
                    at = torch.nonzero(code[part] == sign)
                    at = at[torch.randint(len(at), (1,))] + part.start
                    code[at] = -code[at]
        word[n, CODE] = code
    word[:, RARITY] = RARITY_SCALE * (torch.tensor(rarity).log() - RARITY_CENTRE)
    word[[BOS, PAD, EOS], RARITY] = -4.0
    word[BOS, BEGIN] = 2.0
    embeddings.token_type_embeddings.weight[0, QUERY] = 2.0
    embeddings.token_type_embeddings.weight[1, PASSAGE] = 2.0
    angles = torch.arange(POSITIONS)[:, None] * torch.tensor(FREQUENCIES)
    embeddings.position_embeddings.weight[:, PLACE] = torch.cat([angles.cos(), angles.sin()], 1)


def read(weights, dimension, gain):
    """Reads a dimension against one that is still zero: LayerNorm takes the mean from every dimension."""
    weights[dimension] += gain
    weights[COVERAGE] -= gain


def side(weights, gain):
    """Which side a token is on: the passage's is positive."""
    weights[PASSAGE] += gain
    weights[QUERY] -= gain


def copy_previous(attention):
    """A head of layer 1: every token attends to the one before it, whose sines are its own turned by one position, and
    takes half of its code."""
    n = len(FREQUENCIES)
    cos, sin = torch.diag(torch.tensor(FREQUENCIES).cos()), torch.diag(torch.tensor(FREQUENCIES).sin())
    turned = torch.cat([torch.cat([cos, sin], 1), torch.cat([-sin, cos], 1)])
    width = PREVIOUS.stop - PREVIOUS.start
    attention.self.query.weight[:2 * n, PLACE] = PLACE_GAIN * turned
    attention.self.key.weight[:2 * n, PLACE] = torch.eye(2 * n)
    for i in range(width):
        attention.self.value.weight[i, CODE.start + i] = 1.0
        attention.output.dense.weight[PREVIOUS.start + i, i] = 1.0


def measure_passage(attention, at):
    """The other head of layer 1: pieces of the question attend to all alike, but to <s> as much as to some 300, and
    take the passage's share; pieces of the passage attend to <s> alone."""
    scale = HEAD ** 0.5
    attention.self.query.bias[at] = 2 * scale
    side(attention.self.query.weight[at], 0.4 * scale)
    read(attention.self.key.weight[at], BEGIN, 2.6)
    side(attention.self.value.weight[at], 0.5)
    attention.output.dense.weight[LENGTH, at] = 1.0


def find_short(layer):
    """A unit of layer 1 that is above zero where the passage has fewer than about 60 pieces: those answer little."""
    read(layer.intermediate.dense.weight[0], LENGTH, -10.0)
    layer.intermediate.dense.bias[0] = 10.0 * SHORT_LENGTH
    layer.output.dense.weight[SHORT, 0] = 1.0


def count(attention, at, into, dimensions):
    """A head of layer 2: a token attends to those that agree with it in `dimensions`, and takes the passage's share. What a
    piece of the question weighs against those of the passage grows with the passage's length."""
    for i, dimension in enumerate(dimensions):
        attention.self.query.weight[at + i, dimension] = MATCH_GAIN
        attention.self.key.weight[at + i, dimension] = MATCH_GAIN
    last = at + HEAD - 1
    attention.self.query.bias[last] = HEAD ** 0.5
    side(attention.self.key.weight[last], -LENGTH_SHIFT)
    read(attention.self.key.weight[last], LENGTH, LENGTH_GAIN)
    side(attention.self.value.weight[at], 0.5)
    attention.output.dense.weight[into, at] = 1.0


def curve(rarity):
    """[piece, point]: how much each point of the curve counts for a piece; lines between the points."""
    at = np.log(rarity)
    points = np.linspace(at.min(), at.max(), CURVE)
    weights = np.maximum(0, 1 - np.abs(at[:, None] - points) / (points[1] - points[0]))
    return torch.tensor(weights / weights.sum(1, keepdims=True), dtype=torch.float32)


class Gains:
    """What is trained: a factor for each block of weights below, the curve of rarity, and the head's bias."""

    def __init__(self, model, rarity):
        first, second, third = (layer.attention for layer in model.roberta.encoder.layer)
        head = [slice(0, HEAD - 1), slice(HEAD, 2 * HEAD - 1)]
        last = [HEAD - 1, 2 * HEAD - 1]
        sides, length = [QUERY, PASSAGE], [LENGTH, COVERAGE]
        self.blocks = [("<s> against the passage's length", first.self.key.weight, (HEAD, [BEGIN, COVERAGE]))]
        for h, name in enumerate(("pieces", "pairs")):
            self.blocks += [(f"{name}: sharpness", second.self.query.weight, head[h]),
                            (f"{name}: length", second.self.key.weight, (last[h], length)),
                            (f"{name}: saturation", second.self.key.weight, (last[h], sides))]
        self.blocks += [("weight of pairs", third.output.dense.weight, (COVERAGE, 1)),
                        ("head", model.classifier.out_proj.weight, (0, 0))]
        self.bias = model.classifier.out_proj.bias
        self.words = model.roberta.embeddings.word_embeddings.weight
        self.curve = curve(rarity)
        self.begin = [p.detach()[at].clone() for _, p, at in self.blocks]
        self.rarity = self.words.detach()[:, RARITY].clone()
        self.logs = torch.zeros(len(self.blocks), requires_grad=True)
        self.points = torch.zeros(CURVE, requires_grad=True)
        used = {id(p) for _, p, _ in self.blocks} | {id(self.words), id(self.bias)}
        for p in model.parameters():
            p.requires_grad = id(p) in used

    def collect(self):
        self.logs.grad = torch.stack([(p.grad[at] * p.detach()[at]).sum() for _, p, at in self.blocks])
        self.points.grad = self.words.grad[:, RARITY] @ self.curve

    @torch.no_grad()
    def apply(self):
        for (_, p, at), begin, log in zip(self.blocks, self.begin, self.logs):
            p[at] = begin * log.exp()
        self.words[:, RARITY] = self.rarity + self.curve @ self.points

    def __str__(self):
        factors = ", ".join(f"{name} {math.exp(log):.3f}" for (name, _, _), log in zip(self.blocks, self.logs.tolist()))
        return f"{factors}; curve {' '.join(f'{p:+.2f}' for p in self.points.tolist())}"


def losses(model, batch):
    """Cross-entropy, binary loss, and the mean reciprocal rank of the questions' own passages."""
    ids, mask, types = batch
    scores = model(input_ids=ids, attention_mask=mask, token_type_ids=types).logits.view(QUERIES, CANDIDATES)
    loss = torch.nn.functional.cross_entropy(scores, torch.zeros(QUERIES, dtype=torch.long))
    labels = torch.zeros_like(scores)
    labels[:, 0] = 1
    binary = torch.nn.functional.binary_cross_entropy_with_logits(scores, labels)
    ranks = 1 + (scores[:, 1:] >= scores[:, :1]).sum(1)
    return loss, binary, (1.0 / ranks).mean().item()


def check(model, batches):
    with torch.no_grad():
        seen = [losses(model, batch) for batch in batches]
    return float(np.mean([s[0].item() for s in seen])), float(np.mean([s[2] for s in seen]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pairs")
    parser.add_argument("output")
    parser.add_argument("--steps", type=int, default=80)
    parser.add_argument("--check", type=int, default=20, help="look at the held-out lists every so many steps")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(1)
    rng = random.Random(args.seed)
    data = Pairs(args.pairs, rng)
    print(f"{len(data.rows)} pairs, languages {' '.join(data.languages['train'])}", flush=True)
    held_out = [data.batch("held out") for _ in range(40)] if args.steps else []
    model = initial_model(data.pieces, data.rarity, args.seed)
    gains = Gains(model, data.rarity)
    optimizer = torch.optim.Adam([{"params": [gains.logs, gains.bias], "lr": 0.01}, {"params": [gains.points], "lr": 0.01}],
                                 betas=(0.9, 0.98))
    rates = [g["lr"] for g in optimizer.param_groups]
    best, best_rank = {k: v.clone() for k, v in model.state_dict().items()}, 0.0
    if held_out:
        there, best_rank = check(model, held_out)
        print(f"before: held out loss {there:.4f} MRR {best_rank:.4f}", flush=True)
    begin, seen, ranks = time.monotonic(), [], []
    for step in range(args.steps):
        scale = min(1.0, (step + 1) / 20) * 0.5 * (1 + math.cos(math.pi * step / args.steps))
        for group, rate in zip(optimizer.param_groups, rates):
            group["lr"] = rate * scale
        loss, binary, rank = losses(model, data.batch())
        model.zero_grad()
        (loss + 0.1 * binary).backward()
        gains.collect()
        optimizer.step()
        gains.apply()
        seen.append(loss.item())
        ranks.append(rank)
        if (step + 1) % args.check == 0 or step + 1 == args.steps:
            there, there_rank = check(model, held_out)
            print(f"step {step + 1} loss {np.mean(seen[-args.check:]):.4f} MRR {np.mean(ranks[-args.check:]):.4f}, held out "
                  f"loss {there:.4f} MRR {there_rank:.4f}, {time.monotonic() - begin:.0f} s\n  {gains}", flush=True)
            if there_rank > best_rank:
                best, best_rank = {k: v.clone() for k, v in model.state_dict().items()}, there_rank
    model.load_state_dict(best)
    model.half()
    model.save_pretrained(args.output, safe_serialization=True)
    # Trained with two types, which the template of the vocabulary does not give.
    (pathlib.Path(args.output) / "rankfeed.json").write_text('{"token_type_ids": {"query": 0, "document": 1}}\n', encoding="utf-8")
    print(f"saved {args.output}", flush=True)


if __name__ == "__main__":
    main()
