#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Small random cross-encoders of every kind with the scores that NumPy gives them in float64, written from the
equations of transformers' ...ForSequenceClassification: the reference of the forward.

    numpy_models.py OUTPUT_DIR     writes <model>/config.json, <model>/model.safetensors, golden.json, and families.json of the
                                   kinds of numpy_families.py

The same in every run. Weights are stored as a kind's files have them: names with or without the model's prefix, old
names of LayerNorm, heads and buffers that were left over, float32, float16 and bfloat16."""

import json
import math
import pathlib
import struct
import sys

import numpy as np

from numpy_families import FAMILIES

ROBERTA_NAMES = dict(
    base="roberta.", layers="encoder.layer.", query="attention.self.query", key="attention.self.key",
    value="attention.self.value", out="attention.output.dense", norm1="attention.output.LayerNorm",
    up="intermediate.dense", down="output.dense", norm2="output.LayerNorm", dense="classifier.dense",
    scores="classifier.out_proj")
NAMES = {
    "roberta": ROBERTA_NAMES,
    "bert": {**ROBERTA_NAMES, "base": "bert.", "dense": "bert.pooler.dense", "scores": "classifier"},
    "electra": {**ROBERTA_NAMES, "base": "electra."},
    "distilbert": dict(
        base="distilbert.", layers="transformer.layer.", query="attention.q_lin", key="attention.k_lin",
        value="attention.v_lin", out="attention.out_lin", norm1="sa_layer_norm", up="ffn.lin1", down="ffn.lin2",
        norm2="output_layer_norm", dense="pre_classifier", scores="classifier"),
}
CLASSES = {"roberta": "Roberta", "bert": "Bert", "electra": "Electra", "distilbert": "DistilBert"}

# kind, vocabulary, width, layers, heads, inner width, positions; what else differs from the defaults of make()
MODELS = {
    "bert": ("bert", 64, 32, 2, 4, 48, 40, {}),
    # sizes that fill no vector; as bert-base-uncased is stored: old names, and a head of another task beside it
    "bert_new": ("bert", 51, 27, 1, 3, 37, 30, dict(
        activation="gelu_new", types=3, labels=3, pad=5, eps=1e-5, stored="F16", old_names=True,
        left_over={"cls.predictions.bias": (51,), "cls.seq_relationship.weight": (2, 27), "bert.embeddings.position_ids": None})),
    "bert_relu": ("bert", 40, 40, 3, 1, 20, 33, dict(activation="relu", eps=1e-3, stored="BF16", prefix=False)),
    "distilbert": ("distilbert", 64, 32, 2, 4, 48, 40, dict(
        left_over={"vocab_transform.weight": (32, 32), "vocab_projector.bias": (64,)})),
    "distilbert_relu": ("distilbert", 45, 24, 2, 2, 56, 35, dict(activation="relu", stored="F16", labels=2)),
    "electra": ("electra", 64, 32, 2, 4, 48, 40, dict(
        embedding=16, left_over={"discriminator_predictions.dense.weight": (32, 32)})),
    "electra_wide": ("electra", 51, 20, 1, 2, 37, 30, dict(embedding=90, stored="BF16", activation="gelu_new", labels=4)),
    "electra_same": ("electra", 48, 24, 2, 3, 40, 36, dict(embedding=24, activation="relu", types=1)),
    # Trained under torch.compile, in float64, and without model_type.
    "bert_wrapped": ("bert", 40, 24, 2, 2, 40, 33, dict(activation="silu", stored="F64", wrapper="_orig_mod.", labels=1, config={
        "model_type": None, "num_labels": 1, "id2label": {"0": "no", "1": "yes"}}, left_over={"bert.embeddings.token_type_ids": None})),
    "roberta_fast": ("roberta", 44, 24, 1, 3, 40, 36, dict(activation="gelu_fast", types=1, pad=1, wrapper="module.")),
    "distilbert_wrapped": ("distilbert", 45, 24, 1, 2, 56, 35, dict(activation="tanh", wrapper="model.")),
    "electra_tanh": ("electra", 48, 24, 1, 3, 40, 36, dict(embedding=16, activation="gelu_pytorch_tanh", types=1, stored="F64")),
    "electra_swish": ("electra", 43, 20, 1, 2, 37, 30, dict(activation="swish")),
    "bert_python": ("bert", 41, 24, 1, 3, 40, 36, dict(activation="gelu_python")),
    "roberta_new": ("roberta", 48, 24, 1, 3, 40, 36, dict(activation="gelu_new", types=2, pad=4)),
}

erf = np.vectorize(math.erf, otypes=[np.float64])
ACTIVATIONS = {
    "gelu": lambda x: x * 0.5 * (1 + erf(x / math.sqrt(2))),
    "gelu_new": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "tanh": np.tanh,
}
ACTIVATIONS.update(gelu_fast=lambda x: 0.5 * x * (1 + np.tanh(x * 0.7978845608 * (1 + 0.044715 * x * x))),
                   gelu_pytorch_tanh=ACTIVATIONS["gelu_new"], gelu_python=ACTIVATIONS["gelu"], swish=ACTIVATIONS["silu"])
HEADS = {"roberta": "tanh", "bert": "tanh", "distilbert": "relu", "electra": "gelu"}


def make(kind, vocab, hidden, layers, heads, inner, positions, activation="gelu", types=2, labels=1, pad=0, eps=1e-12,
         embedding=None, rng=None, config=None, **_):
    """The settings of config.json, and the tensors under their names."""
    n, tensors = NAMES[kind], {}
    embedding = embedding or hidden

    def matrix(name, rows, columns, scale=None):
        tensors[name] = rng.standard_normal((rows, columns)) * (scale or 1.5 / columns**0.5)

    def linear(name, rows, columns):
        matrix(name + ".weight", rows, columns)
        tensors[name + ".bias"] = 0.2 * rng.standard_normal(rows)

    def norm(name, size):
        tensors[name + ".weight"] = 1 + 0.3 * rng.standard_normal(size)
        tensors[name + ".bias"] = 0.2 * rng.standard_normal(size)

    embeddings = n["base"] + "embeddings."
    matrix(embeddings + "word_embeddings.weight", vocab, embedding, 0.6)
    matrix(embeddings + "position_embeddings.weight", positions, embedding, 0.6)
    if kind != "distilbert":
        matrix(embeddings + "token_type_embeddings.weight", types, embedding, 0.6)
    norm(embeddings + "LayerNorm", embedding)
    if embedding != hidden:
        linear(n["base"] + "embeddings_project", hidden, embedding)
    for i in range(layers):
        layer = f"{n['base']}{n['layers']}{i}."
        for part in ("query", "key", "value", "out"):
            linear(layer + n[part], hidden, hidden)
        norm(layer + n["norm1"], hidden)
        linear(layer + n["up"], inner, hidden)
        linear(layer + n["down"], hidden, inner)
        norm(layer + n["norm2"], hidden)
    linear(n["dense"], hidden, hidden)
    linear(n["scores"], labels, hidden)

    more, config = config, {"architectures": [CLASSES[kind] + "ForSequenceClassification"], "model_type": kind, "vocab_size": vocab,
              "max_position_embeddings": positions, "pad_token_id": pad,
              "id2label": {str(i): f"LABEL_{i}" for i in range(labels)}}
    if kind == "distilbert":
        config.update(dim=hidden, n_layers=layers, n_heads=heads, hidden_dim=inner, activation=activation,
                      sinusoidal_pos_embds=False, layer_norm_eps=0.5)  # which this kind does not read
    else:
        config.update(hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads, intermediate_size=inner,
                      hidden_act=activation, type_vocab_size=types, layer_norm_eps=eps)
    if kind == "electra":
        config["embedding_size"] = embedding
    config.update(more or {})
    return {key: value for key, value in config.items() if value is not None}, tensors


def score(kind, tensors, ids, type_ids, heads, layers, activation="gelu", pad=0, eps=1e-12, **_):
    """The logits of one row."""
    n = NAMES[kind]

    def linear(name, x):
        return x @ tensors[name + ".weight"].T + tensors[name + ".bias"]

    def norm(name, x):
        centred = x - x.mean(-1, keepdims=True)
        unit = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps)
        return unit * tensors[name + ".weight"] + tensors[name + ".bias"]

    ids = np.array(ids)
    at = np.arange(len(ids))
    if kind == "roberta":
        at = np.where(ids != pad, pad + np.cumsum(ids != pad), pad)
    embeddings = n["base"] + "embeddings."
    x = tensors[embeddings + "word_embeddings.weight"][ids] + tensors[embeddings + "position_embeddings.weight"][at]
    if kind != "distilbert":
        x = x + tensors[embeddings + "token_type_embeddings.weight"][np.array(type_ids)]
    x = norm(embeddings + "LayerNorm", x)
    if n["base"] + "embeddings_project.weight" in tensors:
        x = linear(n["base"] + "embeddings_project", x)
    for i in range(layers):
        layer = f"{n['base']}{n['layers']}{i}."
        q, k, v = (linear(layer + n[part], x).reshape(len(ids), heads, -1).swapaxes(0, 1) for part in ("query", "key", "value"))
        weights = q @ k.swapaxes(1, 2) / math.sqrt(q.shape[-1])
        weights = np.exp(weights - weights.max(-1, keepdims=True))
        attended = (weights / weights.sum(-1, keepdims=True) @ v).swapaxes(0, 1).reshape(x.shape)
        x = norm(layer + n["norm1"], linear(layer + n["out"], attended) + x)
        inner = ACTIVATIONS[activation](linear(layer + n["up"], x))
        x = norm(layer + n["norm2"], linear(layer + n["down"], inner) + x)
    return linear(n["scores"], ACTIVATIONS[HEADS[kind]](linear(n["dense"], x[0])))


def rounded(values, stored):
    """As bytes in the stored type, and the values that these are."""
    if stored == "BF16":  # to nearest, ties to even
        bits = values.astype("<f4").view("<u4")
        bits = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
        return bits.astype("<u2").tobytes(), (bits.astype("<u4") << 16).view("<f4").astype(np.float64)
    kept = values.astype({"F64": "<f8", "F32": "<f4", "F16": "<f2"}[stored])
    return kept.tobytes(), kept.astype(np.float64)


def save(folder, config, tensors, stored="F32", prefix=True, old_names=False, left_over=None, base="", wrapper="", rng=None):
    """Writes the two files. tensors become what the stored type keeps of them."""
    header, data = {}, b""

    def add(name, kind, shape, raw):
        nonlocal data
        header[wrapper + name] = {"dtype": kind, "shape": list(shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw

    for name in tensors:
        raw, tensors[name] = rounded(tensors[name], stored)
        told = name if prefix else name.removeprefix(base)
        if old_names:
            told = told.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        add(told, stored, tensors[name].shape, raw)
    for name, shape in (left_over or {}).items():
        if shape is None:
            add(name, "I64", (1, 8), np.arange(8, dtype="<i8").tobytes())
        else:
            add(name, stored, shape, rounded(rng.standard_normal(shape), stored)[0])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def save_modules(folder, model):
    """modules.json and the modules' folders."""
    listed = [{"idx": i, "name": str(i), "path": path, "type": kind} for i, (path, kind, _) in enumerate(model.modules)]
    (folder / "modules.json").write_text(json.dumps(listed), encoding="utf-8")
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"model_type": "CrossEncoder"}), encoding="utf-8")
    for path, _, config in model.modules[1:]:
        own = {key.removeprefix(path + "/"): value for key, value in model.parts.items() if key.startswith(path + "/")}
        save(folder / path, config, own)
        model.parts.update({f"{path}/{key}": value for key, value in own.items()})
        if not own:
            (folder / path / "model.safetensors").unlink()


def rows_of(kind, vocab, positions, rng, types=2, pad=0, **_):
    longest = positions - pad - 1 if kind == "roberta" else positions
    lengths = [1, 2, 3, 7, longest, longest - 1, *rng.integers(1, longest, 10)]
    kinds = 1 if kind == "distilbert" else types
    # Pad ids among them, as a text that spells [PAD] has.
    return ([rng.integers(0, vocab, size).tolist() for size in lengths],
            [rng.integers(0, kinds, size).tolist() for size in lengths])


def main():
    folder = pathlib.Path(sys.argv[1])
    result = {}
    for seed, (name, (kind, vocab, hidden, layers, heads, inner, positions, more)) in enumerate(MODELS.items()):
        rng = np.random.default_rng(seed)
        config, tensors = make(kind, vocab, hidden, layers, heads, inner, positions, rng=rng, **more)
        save(folder / name, config, tensors, base=NAMES[kind]["base"], rng=rng,
             **{key: more[key] for key in ("stored", "prefix", "old_names", "left_over", "wrapper") if key in more})
        rows, types = rows_of(kind, vocab, positions, rng, **more)
        result[name] = {"rows": rows, "types": types,
                        "logits": [score(kind, tensors, ids, of, heads, layers, **more).tolist() for ids, of in zip(rows, types)]}
    (folder / "golden.json").write_text(json.dumps(result, separators=(",", ":")) + "\n", encoding="utf-8")
    result = {}
    for seed, (name, (kind, *sizes, more)) in enumerate(FAMILIES.items(), 1000):
        rng = np.random.default_rng(seed)
        model = kind(*sizes, rng=rng, **more)
        save(folder / name, model.config, model.tensors, base=model.base, rng=rng,
             **{key: more[key] for key in ("stored", "prefix", "left_over", "wrapper") if key in more})
        if hasattr(model, "modules"):
            save_modules(folder / name, model)
        longest, vocab, kinds = model.longest, sizes[0], model.config.get("type_vocab_size") or 1
        lengths = [1, 2, 3, 7, longest, longest - 1, *rng.integers(1, longest, 10)]
        rows, types = ([rng.integers(0, most, size).tolist() for size in lengths] for most in (vocab, kinds))
        result[name] = {"rows": rows, "types": types, "logits": [model.score(ACTIVATIONS, *row).tolist() for row in zip(rows, types)]}
    (folder / "families.json").write_text(json.dumps(result, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
