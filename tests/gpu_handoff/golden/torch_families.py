#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random models of the kinds beyond BERT beside PyTorch on the CPU.

    torch_families.py LIBRARY [--models N] [--seed S] [KIND ...]

LIBRARY is librankfeed_crossencoder.so. For each kind N models are drawn: 1 to 8 layers, 1 to 16 heads of 32 to 128, rows of 1 to
1,024 tokens and empty ones, packed. Weights are of transformers' own initializer. A score may differ from PyTorch's float32 by the
kind's bound times max(1, |score|). "new" is transformers' "gte" under Alibaba's names and, for NTK, with frequencies by the formula in
Alibaba's code: that code itself is not run."""

import argparse
import ctypes
import json
import math
import pathlib
import random
import sys
import tempfile

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import (DebertaV2Config, DebertaV2ForSequenceClassification, GteConfig, GteForSequenceClassification, ModernBertConfig,
                          ModernBertForSequenceClassification, ModernBertModel)

BOUNDS = {"modernbert": 2e-5, "modular": 2e-5, "gte": 2e-5, "new": 2e-5, "deberta": 5e-5}
IDS = dict(pad_token_id=0, bos_token_id=1, cls_token_id=1, eos_token_id=2, sep_token_id=2)


class Batch(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("rows", ctypes.c_uint32), ("tokens", ctypes.c_uint32), ("max_seqlen", ctypes.c_uint32),
                ("input_ids", ctypes.c_void_p), ("cu_seqlens", ctypes.c_void_p), ("token_type_ids", ctypes.c_void_p)]


class Error(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("code", ctypes.c_int32), ("message", ctypes.c_char * 376)]


class Needed(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("alignment", ctypes.c_size_t)]


def packed_scores(library, folder, rows, types, labels):
    """The scores of all rows in one batch, by C."""
    model, error = ctypes.c_void_p(), Error(ctypes.sizeof(Error))
    if library.rankfeed_crossencoder_open(str(folder).encode(), None, ctypes.byref(model), ctypes.byref(error)):
        sys.exit(f"{folder}: {error.message.decode()}")
    ids, kinds = torch.tensor(sum(rows, []), dtype=torch.int32), torch.tensor(sum(types, []), dtype=torch.int32)
    ends = torch.tensor([0] + [len(row) for row in rows], dtype=torch.int32).cumsum(0, dtype=torch.int32)
    batch = Batch(ctypes.sizeof(Batch), len(rows), len(ids), max(map(len, rows)), ids.data_ptr(), ends.data_ptr(), kinds.data_ptr())
    need = Needed()
    if library.rankfeed_crossencoder_workspace(model, batch.rows, batch.tokens, batch.max_seqlen, ctypes.byref(need)):
        sys.exit("no workspace")
    memory = torch.empty(need.size + 256, dtype=torch.uint8)
    scores = torch.empty(len(rows), labels)
    at = (memory.data_ptr() + 255) // 256 * 256
    status = library.rankfeed_crossencoder_score(model, ctypes.byref(batch), ctypes.c_void_p(at), ctypes.c_size_t(need.size),
                                                 ctypes.c_void_p(scores.data_ptr()))
    library.rankfeed_crossencoder_close(model)
    if status:
        sys.exit(f"{folder}: status {status}")
    return scores


def sizes(draw):
    heads, size = draw.choice([1, 2, 3, 4, 6, 8, 12, 16]), draw.choice([32, 40, 48, 64, 64, 96, 128])
    while heads * size > 1024:
        heads, size = draw.choice([1, 2, 3, 4, 6, 8, 12, 16]), draw.choice([32, 40, 48, 64, 64, 96, 128])
    return dict(vocab_size=draw.randrange(20, 300), hidden_size=heads * size, num_hidden_layers=draw.randrange(1, 9),
                num_attention_heads=heads, intermediate_size=draw.randrange(16, 600), max_position_embeddings=1024,
                initializer_range=draw.choice([0.02, 0.05]), num_labels=draw.choice([1, 1, 2, 3]))


def modernbert_config(draw):
    flag = lambda: draw.random() < 0.3  # noqa: E731
    return ModernBertConfig(**sizes(draw), **IDS, local_attention=draw.choice([2, 16, 64, 128, 128, 400]), norm_bias=flag(), attention_bias=flag(),
                            mlp_bias=flag(), classifier_bias=flag(), classifier_pooling=draw.choice(["cls", "mean"]),
                            global_attn_every_n_layers=draw.choice([1, 2, 3, 3]), norm_eps=draw.choice([1e-5, 1e-12]),
                            global_rope_theta=draw.choice([160000.0, 80000.0]), local_rope_theta=draw.choice([10000.0, 160000.0]),
                            hidden_activation=draw.choice(["gelu", "gelu", "silu"]))


def draw_modernbert(draw, folder):
    model = ModernBertForSequenceClassification(modernbert_config(draw)).eval()
    model.save_pretrained(folder)
    if draw.random() < 0.5:  # the keys of files from before transformers 5
        config = json.loads((folder / "config.json").read_text())
        rope, kinds = config.pop("rope_parameters"), config.pop("layer_types")
        full = [i for i, kind in enumerate(kinds) if kind == "full_attention"]
        config.update(global_rope_theta=rope["full_attention"]["rope_theta"], local_rope_theta=rope["sliding_attention"]["rope_theta"],
                      global_attn_every_n_layers=full[1] if len(full) > 1 else len(kinds))
        (folder / "config.json").write_text(json.dumps(config))
    return lambda ids, types: model(input_ids=ids).logits[0], model.config, 1


def draw_modular(draw, folder):
    from sentence_transformers import CrossEncoder
    from sentence_transformers.base.modules import Dense, Transformer
    from sentence_transformers.sentence_transformer.modules import LayerNorm, Pooling
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast
    config = modernbert_config(draw)
    ModernBertModel(config).save_pretrained(folder / "body")
    PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]"))).save_pretrained(folder / "body")
    hidden, wide = config.hidden_size, draw.choice([config.hidden_size, 96])
    model = CrossEncoder(device="cpu", modules=[
        Transformer(str(folder / "body")), Pooling(hidden, draw.choice(["cls", "mean"])),
        Dense(hidden, wide, bias=draw.random() < 0.5, activation_function=torch.nn.GELU()), LayerNorm(wide),
        Dense(wide, 1, activation_function=torch.nn.Identity(), module_output_name="scores")]).eval()
    with torch.no_grad():
        model[3].norm.weight.normal_(1, 0.3), model[3].norm.bias.normal_(0, 0.2)
    model.save_pretrained(str(folder))
    config.num_labels = 1
    return lambda ids, types: model({"input_ids": ids, "attention_mask": torch.ones_like(ids)})["scores"][0], config, 1


def draw_gte(draw, folder):
    config = GteConfig(**sizes(draw), type_vocab_size=draw.choice([0, 1, 2]), layer_norm_eps=draw.choice([1e-12, 1e-5]),
                       rope_parameters={"rope_type": "default", "rope_theta": draw.choice([160000.0, 20000.0, 500.0])})
    model = GteForSequenceClassification(config).eval()
    dtype = draw.choice([torch.float32, torch.float16])
    for weights in model.parameters():
        weights.copy_(weights.to(dtype))
    model.save_pretrained(folder)
    # The names that the class has, or Alibaba's, which save_pretrained writes.
    tensors = model.state_dict() if draw.random() < 0.5 else load_file(folder / "model.safetensors")
    save_file({name: tensor.to(dtype).contiguous() for name, tensor in tensors.items()}, folder / "model.safetensors")
    typed = config.type_vocab_size > 0
    return lambda ids, types: model(input_ids=ids, **({"token_type_ids": types} if typed else {})).logits[0], config, max(1, config.type_vocab_size)


def draw_new(draw, folder):
    score, config, kinds = draw_gte(draw, folder)
    model = next(cell.cell_contents for cell in score.__closure__ if isinstance(cell.cell_contents, torch.nn.Module))
    save_file({name.replace("gte.", "new.", 1): tensor for name, tensor in load_file(folder / "model.safetensors").items()}, folder / "model.safetensors")
    written = json.loads((folder / "config.json").read_text())
    theta = written.pop("rope_parameters")["rope_theta"]
    written.update(model_type="new", architectures=["NewForSequenceClassification"], rope_theta=theta, position_embedding_type="rope",
                   layer_norm_type="layer_norm", logn_attention_scale=False, logn_attention_clip1=False, pack_qkv=True)
    size, factor, b = config.hidden_size // config.num_attention_heads, draw.choice([None, 8.0, 2.0]), draw.choice([None, 0.9])
    if factor is not None:
        written["rope_scaling"] = {"type": "ntk", "factor": factor, **({"mixed_b": b} if b else {})}
        at = torch.arange(0, size, 2).float() / size
        if b is None:
            frequencies = 1 / (theta * factor) ** at / factor ** (2 / size)
        else:
            frequencies = 1 / theta**at / (math.log(factor) / (size / 2) ** b * torch.arange(1, size // 2 + 1).float() ** b).exp()
        model.gte.rotary_emb.inv_freq.copy_(frequencies)
    (folder / "config.json").write_text(json.dumps(written))
    return score, config, kinds


def draw_deberta(draw, folder):
    config = DebertaV2Config(**sizes(draw), type_vocab_size=draw.choice([0, 0, 2]), relative_attention=True, position_buckets=draw.choice([256, 256, 32, -1]),
                             max_relative_positions=draw.choice([-1, -1, 512]), pos_att_type=draw.choice(["p2c|c2p", ["p2c", "c2p"], ["c2p"], ["p2c"]]),
                             share_att_key=draw.random() < 0.6, norm_rel_ebd=draw.choice(["layer_norm", "none"]),
                             position_biased_input=draw.random() < 0.3, layer_norm_eps=1e-7, pooler_hidden_act=draw.choice(["gelu", "tanh"]))
    model = DebertaV2ForSequenceClassification(config).eval()
    model.save_pretrained(folder)
    return lambda ids, types: model(input_ids=ids, token_type_ids=types).logits[0], config, max(1, config.type_vocab_size)


@torch.no_grad()
def main():
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("kinds", nargs="*", default=list(BOUNDS))
    parser.add_argument("--models", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    library = ctypes.CDLL(chosen.library)
    for name in ("open", "workspace", "score", "close"):
        getattr(library, "rankfeed_crossencoder_" + name).restype = ctypes.c_int32
    library.rankfeed_crossencoder_close.argtypes = library.rankfeed_crossencoder_workspace.argtypes = None
    failed = False
    for kind in chosen.kinds:
        worst, scored, most = 0.0, 0, 0.0
        for number in range(chosen.models):
            draw = random.Random(f"{kind} {chosen.seed} {number}")
            torch.manual_seed(draw.randrange(1 << 30))
            with tempfile.TemporaryDirectory() as folder:
                score, config, kinds = globals()["draw_" + kind](draw, pathlib.Path(folder))
                lengths = [1, 0, draw.randrange(2, 40), draw.randrange(100, 300), draw.choice([700, 1024]), 0, draw.randrange(2, 140)]
                draw.shuffle(lengths)
                rows = [[draw.randrange(config.vocab_size) for _ in range(n)] for n in lengths]
                types = [[draw.randrange(kinds) for _ in row] for row in rows]
                ours = packed_scores(library, folder, rows, types, config.num_labels)
            for row, kinds_of_row, own in zip(rows, types, ours):
                if not row:
                    failed |= not own.isnan().all()
                    continue
                torchs = score(torch.tensor([row]), torch.tensor([kinds_of_row]))
                apart = ((own - torchs).abs() / torchs.abs().clamp(min=1)).max().item()
                if not apart <= BOUNDS[kind]:
                    print(f"{kind} {number}: {apart:.2e} at {len(row)} tokens: {json.dumps(config.to_diff_dict(), default=str)[:1500]}")
                    failed = True
                worst, scored, most = max(worst, apart), scored + 1, max(most, torchs.abs().max().item())
        print(f"{kind}: worst difference {worst:.2e} (bound {BOUNDS[kind]:.0e}) over {chosen.models} models, {scored} rows, largest score {most:.2f}",
              flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
