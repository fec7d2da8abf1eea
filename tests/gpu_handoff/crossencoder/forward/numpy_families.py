# SPDX-License-Identifier: MIT
"""Small random cross-encoders of the kinds that are not BERT's, as numpy_models.py has BERT's: settings, tensors and the scores of
NumPy in float64, from the equations of transformers."""

import math

import numpy as np


class Tensors(dict):
    """Random tensors by name, larger than usual initial values, so that no part of a model idles."""

    def __init__(self, rng):
        super().__init__()
        self.rng = rng

    def matrix(self, name, rows, columns, scale=None):
        self[name + ".weight"] = self.rng.standard_normal((rows, columns)) * (scale or 1.5 / columns**0.5)

    def linear(self, name, rows, columns, bias=True):
        self.matrix(name, rows, columns)
        if bias:
            self[name + ".bias"] = 0.2 * self.rng.standard_normal(rows)

    def norm(self, name, size, bias=True):
        self[name + ".weight"] = 1 + 0.3 * self.rng.standard_normal(size)
        if bias:
            self[name + ".bias"] = 0.2 * self.rng.standard_normal(size)


def linear(tensors, name, x):
    return x @ tensors[name + ".weight"].T + tensors.get(name + ".bias", 0)


def norm(tensors, name, x, eps):
    centred = x - x.mean(-1, keepdims=True)
    unit = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps)
    return unit * tensors[name + ".weight"] + tensors.get(name + ".bias", 0)


def rotated(x, frequencies):
    """x: heads, tokens, dimensions; in halves."""
    angle = np.arange(x.shape[1])[:, None] * frequencies
    cos, sin = np.cos(angle), np.sin(angle)
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def attend(q, k, v, scale, bias=None, window=None):
    scores = q @ k.swapaxes(1, 2) * scale
    if bias is not None:
        scores = scores + bias
    if window is not None:
        at = np.arange(q.shape[1])
        scores = np.where(abs(at[:, None] - at) <= window, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True) @ v).swapaxes(0, 1).reshape(q.shape[1], -1)


def heads_of(x, heads):
    return x.reshape(len(x), heads, -1).swapaxes(0, 1)


class ModernBert:
    base = "model."

    def __init__(self, vocab, hidden, layers, heads, inner, positions, rng, labels=1, types=None, window=8, thetas=(160000.0, 10000.0), eps=1e-5,
                 pooling="cls", biases=False, activation="gelu", head_activation="gelu", bare=False, **_):
        self.layers, self.heads, self.window, self.thetas, self.eps = layers, heads, window, thetas, eps
        self.pooling, self.activation, self.head_activation = pooling, activation, head_activation
        self.types = types or ["sliding_attention" if i % 3 else "full_attention" for i in range(layers)]
        self.vocab, self.positions, self.longest = vocab, positions, positions
        self.tensors = t = Tensors(rng)
        t.matrix("model.embeddings.tok_embeddings", vocab, hidden, 0.6)
        t.norm("model.embeddings.norm", hidden, biases)
        for i in range(layers):
            layer = f"model.layers.{i}."
            if i:
                t.norm(layer + "attn_norm", hidden, biases)
            t.linear(layer + "attn.Wqkv", 3 * hidden, hidden, biases)
            t.linear(layer + "attn.Wo", hidden, hidden, biases)
            t.norm(layer + "mlp_norm", hidden, biases)
            t.linear(layer + "mlp.Wi", 2 * inner, hidden, biases)
            t.linear(layer + "mlp.Wo", hidden, inner, biases)
        t.norm("model.final_norm", hidden, biases)
        if not bare:
            t.linear("head.dense", hidden, hidden, biases)
            t.norm("head.norm", hidden, biases)
            t.linear("classifier", labels, hidden)
        self.config = {"architectures": ["ModernBertModel" if bare else "ModernBertForSequenceClassification"], "model_type": "modernbert",
                       "vocab_size": vocab, "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads,
                       "intermediate_size": inner, "max_position_embeddings": positions, "local_attention": 2 * window, "norm_eps": eps,
                       "layer_norm_eps": 0.5,  # which this kind does not read
                       "hidden_activation": activation, "classifier_activation": head_activation, "classifier_pooling": pooling,
                       "pad_token_id": 3, "id2label": {str(i): f"LABEL_{i}" for i in range(labels)}}
        if types is None:
            self.config.update(global_attn_every_n_layers=3, global_rope_theta=thetas[0], local_rope_theta=thetas[1])
        else:
            self.config.update(layer_types=types, rope_parameters={"full_attention": {"rope_type": "default", "rope_theta": thetas[0]},
                                                                   "sliding_attention": {"rope_type": "default", "rope_theta": thetas[1]}})
        if biases:
            self.config.update(norm_bias=True, attention_bias=True, mlp_bias=True, classifier_bias=True)

    def hidden(self, activations, ids):
        t = self.tensors
        x = norm(t, "model.embeddings.norm", t["model.embeddings.tok_embeddings.weight"][np.array(ids)], self.eps)
        size = x.shape[1] // self.heads
        for i, kind in enumerate(self.types):
            layer, full = f"model.layers.{i}.", kind == "full_attention"
            frequencies = self.thetas[not full] ** (-np.arange(0, size, 2) / size)
            normed = norm(t, layer + "attn_norm", x, self.eps) if i else x
            q, k, v = (heads_of(part, self.heads) for part in np.split(linear(t, layer + "attn.Wqkv", normed), 3, axis=-1))
            x = x + linear(t, layer + "attn.Wo", attend(rotated(q, frequencies), rotated(k, frequencies), v, size**-0.5,
                                                        window=None if full else self.window))
            a, b = np.split(linear(t, layer + "mlp.Wi", norm(t, layer + "mlp_norm", x, self.eps)), 2, axis=-1)
            x = x + linear(t, layer + "mlp.Wo", activations[self.activation](a) * b)
        return norm(t, "model.final_norm", x, self.eps)

    def score(self, activations, ids, types):
        x = self.hidden(activations, ids)
        x = x[0] if self.pooling == "cls" else x.mean(0)
        x = norm(self.tensors, "head.norm", activations[self.head_activation](linear(self.tensors, "head.dense", x)), self.eps)
        return linear(self.tensors, "classifier", x)


class Gte:
    """Alibaba's "new" with its own names, or transformers' "gte" with those."""

    def __init__(self, vocab, hidden, layers, heads, inner, positions, rng, labels=1, kinds=1, theta=10000.0, scaling=None, eps=1e-12,
                 native=False, activation="gelu", **_):
        self.heads, self.eps, self.activation, self.longest = heads, eps, activation, positions
        self.base = "gte." if native else "new."
        self.layers = [f"{self.base}layers.{i}." if native else f"{self.base}encoder.layer.{i}." for i in range(layers)]
        out, norm1, norm2 = (("self_attn.o_proj", "post_attention_layernorm", "post_mlp_layernorm") if native
                             else ("attention.o_proj", "attn_ln", "mlp_ln"))
        self.names = out, norm1, norm2
        self.tensors = t = Tensors(rng)
        t.matrix(self.base + "embeddings.word_embeddings", vocab, hidden, 0.6)
        if kinds:
            t.matrix(self.base + "embeddings.token_type_embeddings", kinds, hidden, 0.6)
        t.norm(self.base + "embeddings.LayerNorm", hidden)
        for layer in self.layers:
            if native:
                for part in "qkv":
                    t.linear(f"{layer}self_attn.{part}_proj", hidden, hidden)
                t.linear(layer + "mlp.gate_proj", inner, hidden, False)
                t.linear(layer + "mlp.up_proj", inner, hidden, False)
            else:
                t.linear(layer + "attention.qkv_proj", 3 * hidden, hidden)
                t.linear(layer + "mlp.up_gate_proj", 2 * inner, hidden, False)
            t.linear(layer + out, hidden, hidden)
            t.norm(layer + norm1, hidden)
            t.linear(layer + "mlp.down_proj", hidden, inner)
            t.norm(layer + norm2, hidden)
        t.linear(self.base + "pooler.dense", hidden, hidden)
        t.linear("classifier", labels, hidden)
        size = hidden // heads
        j = np.arange(0, size, 2)
        self.frequencies = theta ** (-j / size)
        self.config = {"architectures": ["GteForSequenceClassification" if native else "NewForSequenceClassification"],
                       "model_type": "gte" if native else "new", "vocab_size": vocab, "hidden_size": hidden, "num_hidden_layers": layers,
                       "num_attention_heads": heads, "intermediate_size": inner, "max_position_embeddings": positions, "type_vocab_size": kinds,
                       "hidden_act": activation, "layer_norm_eps": eps, "pad_token_id": 1, "id2label": {str(i): f"LABEL_{i}" for i in range(labels)}}
        if native:
            self.config["rope_parameters"] = {"rope_type": "default", "rope_theta": theta}
        else:
            self.config.update(position_embedding_type="rope", rope_theta=theta, layer_norm_type="layer_norm", logn_attention_scale=False,
                               logn_attention_clip1=False, pack_qkv=True, unpad_inputs=False, use_memory_efficient_attention=False)
        if scaling:
            self.config["rope_scaling"] = {"type": "ntk", **scaling}
            factor, b = scaling["factor"], scaling.get("mixed_b")
            if b is None:
                self.frequencies = (theta * factor) ** (-j / size) / factor ** (2 / size)
            else:
                self.frequencies = self.frequencies / np.exp(math.log(factor) / (size / 2) ** b * np.arange(1, size / 2 + 1) ** b)

    def score(self, activations, ids, types):
        t, base = self.tensors, self.base
        x = t[base + "embeddings.word_embeddings.weight"][np.array(ids)]
        if base + "embeddings.token_type_embeddings.weight" in t:
            x = x + t[base + "embeddings.token_type_embeddings.weight"][np.array(types)]
        x = norm(t, base + "embeddings.LayerNorm", x, self.eps)
        out, norm1, norm2 = self.names
        for layer in self.layers:
            if layer + "attention.qkv_proj.weight" in t:
                parts = np.split(linear(t, layer + "attention.qkv_proj", x), 3, axis=-1)
            else:
                parts = [linear(t, f"{layer}self_attn.{part}_proj", x) for part in "qkv"]
            q, k, v = (heads_of(part, self.heads) for part in parts)
            attended = attend(rotated(q, self.frequencies), rotated(k, self.frequencies), v, q.shape[-1] ** -0.5)
            x = norm(t, layer + norm1, linear(t, layer + out, attended) + x, self.eps)
            if layer + "mlp.gate_proj.weight" in t:
                gate, up = linear(t, layer + "mlp.gate_proj", x), linear(t, layer + "mlp.up_proj", x)
            else:
                up, gate = np.split(linear(t, layer + "mlp.up_gate_proj", x), 2, axis=-1)
            x = norm(t, layer + norm2, linear(t, layer + "mlp.down_proj", activations[self.activation](gate) * up) + x, self.eps)
        return linear(t, "classifier", np.tanh(linear(t, base + "pooler.dense", x[0])))


class Modular(ModernBert):
    """A CrossEncoder folder of sentence-transformers: the encoder alone, and its head in modules."""

    base = "model."

    def __init__(self, *sizes, mean=False, old=False, **more):
        super().__init__(*sizes, bare=True, **more)
        hidden = sizes[1]
        wide = hidden + 12
        parts = Tensors(more["rng"])
        parts.linear("2_Dense/linear", wide, hidden, mean)
        parts.norm("3_LayerNorm/norm", wide)
        parts.linear("4_Dense/linear", 1, wide)
        self.parts, self.mean = parts, mean
        own = "sentence_transformers.base.modules."
        pooling = {"embedding_dimension": hidden, "pooling_mode": "mean" if mean else "cls", "include_prompt": True}
        if old:
            pooling = {"word_embedding_dimension": hidden, "pooling_mode_cls_token": not mean, "pooling_mode_mean_tokens": mean,
                       "pooling_mode_max_tokens": False, "pooling_mode_lasttoken": False, "include_prompt": True}
        self.modules = [
            ("", own + "transformer.Transformer", None), ("1_Pooling", "sentence_transformers.sentence_transformer.modules.pooling.Pooling", pooling),
            ("2_Dense", own + "dense.Dense", {"in_features": hidden, "out_features": wide, "bias": mean,
                                              "activation_function": "torch.nn.modules.activation.GELU", "module_input_name": "sentence_embedding",
                                              "module_output_name": "sentence_embedding"}),
            ("3_LayerNorm", "sentence_transformers.sentence_transformer.modules.layer_norm.LayerNorm", {"dimension": wide}),
            ("4_Dense", own + "dense.Dense", {"in_features": wide, "out_features": 1, "bias": True,
                                              "activation_function": "torch.nn.modules.linear.Identity",
                                              "module_input_name": "sentence_embedding", "module_output_name": "scores"})]

    def score(self, activations, ids, types):
        x = self.hidden(activations, ids)
        x = x.mean(0) if self.mean else x[0]
        x = norm(self.parts, "3_LayerNorm/norm", activations["gelu"](linear(self.parts, "2_Dense/linear", x)), 1e-5)
        return linear(self.parts, "4_Dense/linear", x)


class Deberta:
    base = "deberta."

    def __init__(self, vocab, hidden, layers, heads, inner, positions, rng, labels=1, kinds=0, buckets=8, most=-1, terms=("p2c", "c2p"), shared=True,
                 normed=True, biased=False, eps=1e-7, activation="gelu", listed=True, pooler="gelu", **_):
        self.heads, self.eps, self.activation, self.pooler, self.longest, self.terms = heads, eps, activation, pooler, positions, terms
        self.most = most if most > 0 else positions
        self.buckets, self.span = buckets, buckets if buckets > 0 else self.most
        self.shared, self.normed, self.biased = shared, normed, biased
        self.layers = [f"deberta.encoder.layer.{i}." for i in range(layers)]
        self.tensors = t = Tensors(rng)
        e = "deberta.embeddings."
        t.matrix(e + "word_embeddings", vocab, hidden, 0.6)
        if biased:
            t.matrix(e + "position_embeddings", positions, hidden, 0.6)
        if kinds:
            t.matrix(e + "token_type_embeddings", kinds, hidden, 0.6)
        t.norm(e + "LayerNorm", hidden)
        t.matrix("deberta.encoder.rel_embeddings", 2 * self.span, hidden, 1.0)
        if normed:
            t.norm("deberta.encoder.LayerNorm", hidden)
        for layer in self.layers:
            for part in ("query", "key", "value"):
                t.linear(f"{layer}attention.self.{part}_proj", hidden, hidden)
            for term, part in (("c2p", "key"), ("p2c", "query")):
                if term in terms and not shared:
                    t.linear(f"{layer}attention.self.pos_{part}_proj", hidden, hidden)
            t.linear(layer + "attention.output.dense", hidden, hidden)
            t.norm(layer + "attention.output.LayerNorm", hidden)
            t.linear(layer + "intermediate.dense", inner, hidden)
            t.linear(layer + "output.dense", hidden, inner)
            t.norm(layer + "output.LayerNorm", hidden)
        t.linear("pooler.dense", hidden, hidden)
        t.linear("classifier", labels, hidden)
        self.config = {"architectures": ["DebertaV2ForSequenceClassification"], "model_type": "deberta-v2", "vocab_size": vocab,
                       "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads, "intermediate_size": inner,
                       "max_position_embeddings": positions, "type_vocab_size": kinds, "hidden_act": activation, "layer_norm_eps": eps,
                       "relative_attention": True, "position_buckets": buckets, "max_relative_positions": most,
                       "pos_att_type": list(terms) if listed else "|".join(terms), "share_att_key": shared,
                       "norm_rel_ebd": "layer_norm" if normed else "none", "position_biased_input": biased, "pooler_hidden_act": pooler,
                       "pooler_hidden_size": hidden, "pad_token_id": 0, "id2label": {str(i): f"LABEL_{i}" for i in range(labels)}}

    def rows(self, n):
        """Rows of the table for query - key."""
        r = np.arange(n)[:, None] - np.arange(n)
        if self.buckets > 0:
            mid = self.buckets // 2
            far = np.ceil(np.log(np.maximum(abs(r), mid) / mid) / np.log((self.most - 1) / mid) * (mid - 1)) + mid
            r = np.where(abs(r) <= mid, r, np.sign(r) * far).astype(int)
        return np.clip(r + self.span, 0, 2 * self.span - 1)

    def score(self, activations, ids, types):
        t, e = self.tensors, "deberta.embeddings."
        x = t[e + "word_embeddings.weight"][np.array(ids)]
        if self.biased:
            x = x + t[e + "position_embeddings.weight"][:len(ids)]
        if e + "token_type_embeddings.weight" in t:
            x = x + t[e + "token_type_embeddings.weight"][np.array(types)]
        x = norm(t, e + "LayerNorm", x, self.eps)
        table = t["deberta.encoder.rel_embeddings.weight"]
        if self.normed:
            table = norm(t, "deberta.encoder.LayerNorm", table, self.eps)
        rows = self.rows(len(ids))
        for layer in self.layers:
            own = layer + "attention.self."
            q, k, v = (heads_of(linear(t, f"{own}{part}_proj", x), self.heads) for part in ("query", "key", "value"))
            begin = own if self.shared else own + "pos_"
            scale = (q.shape[-1] * (1 + len(self.terms))) ** -0.5
            bias = 0
            at = np.arange(len(ids))
            if "c2p" in self.terms:
                bias = bias + (q @ heads_of(linear(t, begin + "key_proj", table), self.heads).swapaxes(1, 2))[:, at[:, None], rows]
            if "p2c" in self.terms:
                bias = bias + (k @ heads_of(linear(t, begin + "query_proj", table), self.heads).swapaxes(1, 2))[:, at[None, :], rows]
            attended = attend(q, k, v, scale, bias=bias * scale)
            x = norm(t, layer + "attention.output.LayerNorm", linear(t, layer + "attention.output.dense", attended) + x, self.eps)
            inner = activations[self.activation](linear(t, layer + "intermediate.dense", x))
            x = norm(t, layer + "output.LayerNorm", linear(t, layer + "output.dense", inner) + x, self.eps)
        return linear(t, "classifier", activations[self.pooler](linear(t, "pooler.dense", x[0])))


# kind, vocabulary, width, layers, heads, inner width, positions; what else
FAMILIES = {
    "modernbert": (ModernBert, 64, 32, 4, 4, 24, 70, {}),
    "modernbert_mean": (ModernBert, 51, 36, 5, 3, 37, 90, dict(
        pooling="mean", biases=True, types=["sliding_attention", "full_attention"] * 2 + ["sliding_attention"], window=3, thetas=(80000.0, 500.0),
        eps=1e-3, activation="silu", head_activation="gelu_new", labels=2, stored="F16", prefix=False)),
    "gte_new": (Gte, 48, 32, 3, 4, 40, 50, dict(stored="F16", scaling={"factor": 8.0}, theta=20000.0)),
    "gte_mixed": (Gte, 48, 24, 2, 2, 21, 50, dict(scaling={"factor": 4.0, "mixed_b": 0.8}, kinds=0, labels=3, prefix=False)),
    "gte_plain": (Gte, 44, 24, 2, 3, 20, 40, dict(theta=5000.0, wrapper="module.")),
    "gte_native": (Gte, 40, 32, 2, 2, 36, 60, dict(native=True, theta=160000.0, kinds=2)),
    "modular": (Modular, 56, 32, 3, 4, 24, 60, dict(prefix=False)),
    "modular_mean": (Modular, 56, 36, 2, 3, 20, 50, dict(prefix=False, mean=True, old=True, stored="F16")),
    "deberta": (Deberta, 48, 32, 3, 4, 40, 70, dict(left_over={"lm_predictions.lm_head.bias": (48,), "mask_predictions.dense.weight": (32, 32)})),
    "deberta_v1like": (Deberta, 48, 24, 2, 2, 30, 40, dict(kinds=2, buckets=-1, most=-1, shared=False, normed=False, biased=True, listed=False, labels=3,
                                                          activation="gelu_new", pooler="tanh", stored="BF16")),
    "deberta_c2p": (Deberta, 40, 36, 2, 1, 30, 100, dict(terms=("c2p",), buckets=32, most=60, prefix=False, stored="F16",
                                                        left_over={"embeddings.position_embeddings.weight": (100, 36)})),
    "modernbert_wide": (ModernBert, 40, 256, 2, 2, 40, 40, dict(stored="BF16", window=17)),
}
