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
import shutil
import sys
import tempfile

import torch
from safetensors.torch import load_file, save_file
from transformers import (AutoModelForSequenceClassification, BertConfig, BertForSequenceClassification,
                          CamembertConfig, CamembertForSequenceClassification, DebertaV2Config,
                          DebertaV2ForSequenceClassification, DistilBertConfig, DistilBertForSequenceClassification,
                          ElectraConfig, ElectraForSequenceClassification, ModernBertConfig,
                          ModernBertForSequenceClassification, RobertaConfig, RobertaForSequenceClassification, XLMRobertaConfig,
                          XLMRobertaForSequenceClassification)

SMALL_IDS = dict(pad_token_id=0, bos_token_id=1, cls_token_id=1, eos_token_id=2, sep_token_id=2)
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
    # windows shorter and longer than vectors, rows that cross them
    "modernbert": (ModernBertForSequenceClassification, ModernBertConfig, torch.float32, dict(
        vocab_size=64, hidden_size=64, num_hidden_layers=8, num_attention_heads=2, intermediate_size=48, local_attention=16,
        max_position_embeddings=300, num_labels=1, **SMALL_IDS)),
    "modernbert_mean": (ModernBertForSequenceClassification, ModernBertConfig, torch.bfloat16, dict(
        vocab_size=51, hidden_size=48, num_hidden_layers=4, num_attention_heads=1, intermediate_size=37, local_attention=128,
        max_position_embeddings=1024, norm_bias=True, attention_bias=True, mlp_bias=True, classifier_bias=True, classifier_pooling="mean",
        global_attn_every_n_layers=2, num_labels=2, **SMALL_IDS)),
    # distances in both kinds of buckets
    "deberta": (DebertaV2ForSequenceClassification, DebertaV2Config, torch.float32, dict(
        vocab_size=64, hidden_size=64, num_hidden_layers=3, num_attention_heads=2, intermediate_size=48, max_position_embeddings=512,
        type_vocab_size=0, relative_attention=True, position_buckets=64, pos_att_type=["p2c", "c2p"], share_att_key=True,
        norm_rel_ebd="layer_norm", position_biased_input=False, num_labels=1)),
    "deberta_far": (DebertaV2ForSequenceClassification, DebertaV2Config, torch.float16, dict(
        vocab_size=51, hidden_size=36, num_hidden_layers=2, num_attention_heads=3, intermediate_size=37, max_position_embeddings=600,
        type_vocab_size=2, relative_attention=True, position_buckets=256, max_relative_positions=512, pos_att_type="c2p|p2c",
        share_att_key=False, position_biased_input=True, layer_norm_eps=1e-5, num_labels=3)),
}
try:  # from transformers 5.23 on
    from transformers import GteConfig, GteForSequenceClassification
    MODELS["gte"] = (GteForSequenceClassification, GteConfig, torch.float16, dict(
        vocab_size=64, hidden_size=64, num_hidden_layers=3, num_attention_heads=2, intermediate_size=48, max_position_embeddings=200,
        num_labels=1))
except ImportError:
    pass


def make(name):
    model_class, config_class, dtype, sizes = MODELS[name]
    config = config_class(**sizes)
    model = model_class(config)
    with torch.no_grad():  # larger than the usual initial values, so that no part of the model idles
        for key, p in model.named_parameters():
            if p.dim() == 1 and key.endswith("weight"):  # of a norm
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
def modular_scores(folder, rows):
    from sentence_transformers import CrossEncoder
    with tempfile.TemporaryDirectory() as copy:  # a tokenizer, which these folders lack and which is not called
        shutil.copytree(folder, copy, dirs_exist_ok=True)
        from tokenizers import Tokenizer, models
        Tokenizer(models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]")).save(copy + "/tokenizer.json")
        (pathlib.Path(copy) / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}))
        model = CrossEncoder(copy, device="cpu", model_kwargs={"attn_implementation": "eager", "dtype": torch.float32}).eval()
    return [model({"input_ids": torch.tensor([ids]), "attention_mask": torch.ones(1, len(ids), dtype=torch.long)})["scores"][0].tolist()
            for ids in rows]


def scores_as_gte(folder, rows, types):
    """Alibaba's layout, which transformers reads as its own "gte"; None where the frequencies are scaled, which it does not."""
    config = json.loads((folder / "config.json").read_text())
    if config.get("rope_scaling"):
        return None
    with tempfile.TemporaryDirectory() as copy:
        shutil.copy(folder / "model.safetensors", copy)
        config.update(model_type="gte", architectures=["GteForSequenceClassification"],
                      rope_parameters={"rope_type": "default", "rope_theta": config.pop("rope_theta")})
        (pathlib.Path(copy) / "config.json").write_text(json.dumps(config))
        return scores(pathlib.Path(copy), ".", rows, types)


def unwrapped(folder):
    """A copy with what transformers does not read: names under a wrapper's prefix, and no model_type."""
    config = json.loads((folder / "config.json").read_text())
    tensors = load_file(folder / "model.safetensors")
    prefix = next((one for one in ("module.", "_orig_mod.", "model.") if all(name.startswith(one) for name in tensors)), "")
    if "model_type" in config and (not prefix or config["model_type"] == "modernbert"):
        return None
    copy = tempfile.TemporaryDirectory()
    config.setdefault("model_type", "bert")
    (pathlib.Path(copy.name) / "config.json").write_text(json.dumps(config))
    save_file({name[len(prefix):]: tensor.clone() for name, tensor in tensors.items()}, copy.name + "/model.safetensors", {"format": "pt"})
    return copy


@torch.no_grad()
def scores(folder, name, rows, types):
    copy = unwrapped(folder / name)
    if copy:
        with copy:
            return scores(pathlib.Path(copy.name), ".", rows, types)
    if (folder / name / "modules.json").exists():
        return modular_scores(folder / name, rows)
    kind = json.loads((folder / name / "config.json").read_text()).get("model_type")
    if kind == "new":
        return scores_as_gte(folder / name, rows, types)
    # The attention that is written out in full, not a fused one.
    model, said = AutoModelForSequenceClassification.from_pretrained(
        folder / name, dtype=torch.float32, attn_implementation="eager", output_loading_info=True)
    if said["missing_keys"]:
        sys.exit(f"{name}: transformers misses {said['missing_keys']}")
    model.eval()
    typed = ["token_type_ids"] if getattr(model.config, "type_vocab_size", 0) else []
    return [model(input_ids=torch.tensor([ids]), **{key: torch.tensor([kinds]) for key in typed},
                  attention_mask=torch.ones(1, len(ids), dtype=torch.long)).logits[0].tolist()
            for ids, kinds in zip(rows, types)]


def main():
    if sys.argv[1] == "--check":
        folder = pathlib.Path(sys.argv[2])
        worst = 0.0
        lists = [folder / name for name in ("golden.json", "families.json") if (folder / name).exists()]
        for name, golden in sum((list(json.loads(path.read_text()).items()) for path in lists), []):
            now = scores(folder, name, golden["rows"], golden["types"])
            if now is None:
                print(f"{name}: not compared, transformers does not compute it")
                continue
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
