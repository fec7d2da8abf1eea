# SPDX-License-Identifier: MIT
"""A small cross-encoder with random weights, XLM-RoBERTa's layers, for a vocabulary of `vocab_size` ids:
config.json and model.safetensors as HuggingFace names and lays them out. For tests: its scores mean
nothing, but they depend on every id of a row and on their order."""

import json
import os
import struct

import numpy as np


def write(folder, vocab_size, pad_token_id, seed=1, hidden=32, layers=2, heads=4, inner=64, positions=258, labels=("LABEL_0",),
          types=1, change=None, **config):
    """labels: names. types: token types that are embedded. change: takes the tensors, by name, before they are written.
    config: more members of config.json."""
    rng = np.random.default_rng(seed)
    tensors = {}

    def matrix(name, rows, columns, scale=None):
        tensors[name] = rng.standard_normal((rows, columns)).astype("<f4") * (scale or 1.5 / columns**0.5)

    def linear(name, rows, columns):
        matrix(name + ".weight", rows, columns)
        tensors[name + ".bias"] = 0.1 * rng.standard_normal(rows).astype("<f4")

    def norm(name):
        tensors[name + ".weight"] = 1 + 0.1 * rng.standard_normal(hidden).astype("<f4")
        tensors[name + ".bias"] = 0.1 * rng.standard_normal(hidden).astype("<f4")

    matrix("roberta.embeddings.word_embeddings.weight", vocab_size, hidden, 0.6)
    matrix("roberta.embeddings.position_embeddings.weight", positions, hidden, 0.3)
    matrix("roberta.embeddings.token_type_embeddings.weight", types, hidden, 0.3)
    norm("roberta.embeddings.LayerNorm")
    for i in range(layers):
        layer = f"roberta.encoder.layer.{i}."
        for part in ("query", "key", "value"):
            linear(layer + "attention.self." + part, hidden, hidden)
        linear(layer + "attention.output.dense", hidden, hidden)
        norm(layer + "attention.output.LayerNorm")
        linear(layer + "intermediate.dense", inner, hidden)
        linear(layer + "output.dense", hidden, inner)
        norm(layer + "output.LayerNorm")
    linear("classifier.dense", hidden, hidden)
    linear("classifier.out_proj", len(labels), hidden)
    if change is not None:
        change(tensors)

    os.makedirs(folder, exist_ok=True)
    header, data = {}, b""
    for name, value in tensors.items():
        value = np.ascontiguousarray(value, dtype="<f4")
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [len(data), len(data) + value.nbytes]}
        data += value.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump({"architectures": ["XLMRobertaForSequenceClassification"], "model_type": "xlm-roberta",
                   "hidden_act": "gelu", "hidden_size": hidden, "num_hidden_layers": layers,
                   "num_attention_heads": heads, "intermediate_size": inner, "layer_norm_eps": 1e-5,
                   "max_position_embeddings": positions, "type_vocab_size": types, "vocab_size": vocab_size,
                   "pad_token_id": pad_token_id, "position_embedding_type": "absolute",
                   "id2label": {str(i): label for i, label in enumerate(labels)}, **config}, file)
