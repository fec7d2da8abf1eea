#!/usr/bin/env python3
"""Small random cross-encoders with the scores that PyTorch gives them: the reference of the forward.

    make_golden.py OUTPUT_DIR [MODEL...]  writes <model>/config.json, <model>/model.safetensors, golden.json
    make_golden.py --check DIR            computes the scores of the models in DIR again and compares

Needs torch and transformers (requirements-golden.txt). The models are what transformers saves; the
scores are computed in float32, row by row without padding, so that no mask takes part. Committed
beside this file is what the versions of requirements-golden.txt wrote with seed 20 for xlmr, roberta
and camembert; the others are made by the long test (torch_test.sh). --check also takes what
numpy_models.py wrote: transformers must find every tensor that it looks for, and give the same scores.
"""

import json
import pathlib
import sys

import torch
from transformers import (AutoModelForSequenceClassification, BertConfig, BertForSequenceClassification,
                          CamembertConfig, CamembertForSequenceClassification, DistilBertConfig,
                          DistilBertForSequenceClassification, ElectraConfig, ElectraForSequenceClassification,
                          RobertaConfig, RobertaForSequenceClassification, XLMRobertaConfig,
                          XLMRobertaForSequenceClassification)

MODELS = {
    # one score, float32
    "xlmr": (XLMRobertaForSequenceClassification, XLMRobertaConfig, torch.float32, dict(
        vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
        max_position_embeddings=40, type_vocab_size=1, layer_norm_eps=1e-5, pad_token_id=1, num_labels=1)),
    # three labels, two token types, stored as float16, sizes that fill no vector
    "roberta": (RobertaForSequenceClassification, RobertaConfig, torch.float16, dict(
        vocab_size=51, hidden_size=27, num_hidden_layers=1, num_attention_heads=3, intermediate_size=37,
        max_position_embeddings=30, type_vocab_size=2, layer_norm_eps=1e-12, pad_token_id=0, num_labels=3)),
    # one head, stored as bfloat16
    "camembert": (CamembertForSequenceClassification, CamembertConfig, torch.bfloat16, dict(
        vocab_size=40, hidden_size=40, num_hidden_layers=3, num_attention_heads=1, intermediate_size=20,
        max_position_embeddings=80, type_vocab_size=1, layer_norm_eps=1e-5, pad_token_id=1, num_labels=1)),
    # as the ms-marco cross-encoders
    "bert": (BertForSequenceClassification, BertConfig, torch.float32, dict(
        vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
        max_position_embeddings=40, num_labels=1)),
    "bert_new": (BertForSequenceClassification, BertConfig, torch.float16, dict(
        vocab_size=51, hidden_size=27, num_hidden_layers=1, num_attention_heads=3, intermediate_size=37, hidden_act="gelu_new",
        max_position_embeddings=30, type_vocab_size=3, layer_norm_eps=1e-5, pad_token_id=5, num_labels=3)),
    "distilbert": (DistilBertForSequenceClassification, DistilBertConfig, torch.float32, dict(
        vocab_size=64, dim=32, n_layers=2, n_heads=4, hidden_dim=48, max_position_embeddings=40, num_labels=1)),
    "distilbert_relu": (DistilBertForSequenceClassification, DistilBertConfig, torch.float32, dict(
        vocab_size=45, dim=24, n_layers=2, n_heads=2, hidden_dim=56, max_position_embeddings=35, activation="relu", num_labels=2)),
    # embeddings narrower, wider and as wide
    "electra": (ElectraForSequenceClassification, ElectraConfig, torch.float32, dict(
        vocab_size=64, embedding_size=16, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
        max_position_embeddings=40, num_labels=1)),
    "electra_wide": (ElectraForSequenceClassification, ElectraConfig, torch.bfloat16, dict(
        vocab_size=51, embedding_size=90, hidden_size=20, num_hidden_layers=1, num_attention_heads=2, intermediate_size=37,
        hidden_act="gelu_new", max_position_embeddings=30, num_labels=4)),
    "electra_same": (ElectraForSequenceClassification, ElectraConfig, torch.float32, dict(
        vocab_size=48, embedding_size=24, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40,
        hidden_act="relu", max_position_embeddings=36, type_vocab_size=1, num_labels=1)),
}


def make(name):
    model_class, config_class, dtype, sizes = MODELS[name]
    config = config_class(**sizes)
    model = model_class(config)
    with torch.no_grad():  # larger than the usual initial values, so that no part of the model idles
        for key, p in model.named_parameters():
            if "LayerNorm.weight" in key or "layer_norm.weight" in key:
                p.copy_(1 + 0.3 * torch.randn_like(p))
            elif p.dim() == 1:
                p.copy_(0.2 * torch.randn_like(p))
            else:
                p.copy_(torch.randn_like(p) * (0.6 if "embeddings" in key else 1.5 / p.shape[1] ** 0.5))
    return model.to(dtype), config


def rows_of(config, generator):
    after_pad = "roberta" in config.model_type or config.model_type == "camembert"
    longest = config.max_position_embeddings - (config.pad_token_id + 1 if after_pad else 0)
    kinds = getattr(config, "type_vocab_size", 1)  # DistilBERT has no token types
    lengths = [1, 2, 3, 7, longest, longest - 1] + torch.randint(1, longest, (10,), generator=generator).tolist()
    rows, types = [], []
    for n, length in enumerate(lengths):
        ids = torch.randint(0, config.vocab_size, (length,), generator=generator)
        if n % 4 != 2:  # every fourth row may hold pad ids, as a text that spells <pad> does
            ids[ids == config.pad_token_id] = config.pad_token_id + 1
        rows.append(ids.tolist())
        types.append(torch.randint(0, kinds, (length,), generator=generator).tolist())
    return rows, types


@torch.no_grad()
def scores(folder, name, rows, types):
    # The attention that is written out in full, not a fused one.
    model, said = AutoModelForSequenceClassification.from_pretrained(
        folder / name, dtype=torch.float32, attn_implementation="eager", output_loading_info=True)
    if said["missing_keys"]:
        sys.exit(f"{name}: transformers misses {said['missing_keys']}")
    model.eval()
    typed = ["token_type_ids"] if model.config.model_type != "distilbert" else []
    return [model(input_ids=torch.tensor([ids]), **{key: torch.tensor([kinds]) for key in typed},
                  attention_mask=torch.ones(1, len(ids), dtype=torch.long)).logits[0].tolist()
            for ids, kinds in zip(rows, types)]


def main():
    if sys.argv[1] == "--check":
        folder = pathlib.Path(sys.argv[2])
        worst = 0.0
        for name, golden in json.loads((folder / "golden.json").read_text()).items():
            now = scores(folder, name, golden["rows"], golden["types"])
            for a, b in zip(sum(now, []), sum(golden["logits"], [])):
                worst = max(worst, abs(a - b) / max(1.0, abs(b)))
        print(f"largest difference {worst:.2e}, versions {torch.__version__}")
        sys.exit(worst > 1e-5)
    folder = pathlib.Path(sys.argv[1])
    torch.manual_seed(20)
    generator = torch.Generator().manual_seed(20)
    result = {}
    for name in sys.argv[2:] or MODELS:
        model, config = make(name)
        model.save_pretrained(folder / name, safe_serialization=True)
        rows, types = rows_of(config, generator)
        result[name] = {"rows": rows, "types": types, "logits": scores(folder, name, rows, types)}
    (folder / "golden.json").write_text(json.dumps(result, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
