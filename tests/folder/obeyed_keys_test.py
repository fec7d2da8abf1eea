# SPDX-License-Identifier: MIT
"""obeyed_keys_test.py RANKFEED: the list of src/folder/keys.cc, row by row. A value of each obeyed key is changed, and scores, rows or ids
change, or the folder is refused; an obeyed key without a case here is a failure. A refused key is
refused by its name, and harmless keys change nothing."""

import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

sys.path.insert(0, os.path.dirname(__file__))
import keys_table  # noqa: E402

sys.path.insert(0, str(keys_table.SOURCE / "tests" / "serve"))
import bert_folder_test  # noqa: E402
import numpy_families  # noqa: E402
import numpy_models  # noqa: E402
from bert_folder_test import PIECES, RANKFEED, tokenizer_json  # noqa: E402

MODEL, TOKENIZER, SPECIALS = "config.json", "tokenizer_config.json", "special_tokens_map.json"
ENCODER, TRANSFORMER, MODULES = "config_sentence_transformers.json", "sentence_bert_config.json", "modules.json"
KEYS = keys_table.read()
ABSENT = object()
IDENTITY = "torch.nn.modules.linear.Identity"
MODULE = {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.base.modules.transformer.Transformer", "kwargs": []}
TEXTS = ["a panda is a bear.", "pandas eat bamboo [MASK] the car", "the car", "What \u00e9 A\u4e2d is", "panda " * 15 + "the car " * 9]
TOKEN = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}


def put(folder, name, data):
    (folder / name).write_text(json.dumps(data), encoding="utf-8")


def change(folder, file, key, value):
    path = folder / file
    data = json.loads(path.read_text(encoding="utf-8")) if path.exists() else [dict(MODULE)] if file == MODULES else {}
    target = data[0] if file == MODULES else data
    if value is ABSENT:
        target.pop(key, None)
    else:
        target[key] = value
    put(folder, file, data)


def model(kind, **options):
    def write(folder):
        bert_folder_test.write_folder(folder, kind, **options)
        put(folder, ENCODER, {"model_type": "CrossEncoder", "prompts": {"q": "the ", "r": "car "}})
        put(folder, MODULES, [MODULE])
        put(folder, TOKENIZER, {"tokenizer_class": "BertTokenizer", "model_max_length": 20, "pad_token": "[PAD]"})
    return write


def family(kind, **options):
    """A model of the other families, whose rows have no token types."""
    def write(folder):
        rng = np.random.default_rng(7)
        made = kind(len(PIECES), 32, 3, 4, 40, 70, rng=rng, **options)
        numpy_models.save(folder, {**made.config, "pad_token_id": 0}, made.tensors, base=made.base, rng=rng)
        put(folder, "tokenizer.json", tokenizer_json(typed=False))
        put(folder, TOKENIZER, {"model_max_length": 64})
    return write


def pieces(folder):
    """A folder of BERT as it was: pieces by line."""
    (folder / "vocab.txt").write_text("".join(p + "\n" for p in [*PIECES, "\u00e9", "e", "\u4e2d", "What", "A"]), encoding="utf-8")
    put(folder, TOKENIZER, {"tokenizer_class": "BertTokenizer", "do_lower_case": False, "tokenize_chinese_chars": True})


def merges(folder, name="RobertaTokenizer"):
    """A folder of RoBERTa as it was: bytes, a few pieces, and their merges."""
    letters = [chr(c) for c in (*range(33, 127), *range(161, 173), *range(174, 256), *range(256, 324))]
    vocab = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "<|endoftext|>", *letters, "\u0120a", "ca"]
    put(folder, "vocab.json", {piece: i for i, piece in enumerate(vocab)})
    (folder / "merges.txt").write_text("#version: 0.2\n\u0120 a\nc a\n", encoding="utf-8")
    put(folder, TOKENIZER, {"tokenizer_class": name})


def gpt2(folder):
    merges(folder, "GPT2Tokenizer")


def unigram(kind, normalizer, pre_tokenizer, **config):
    """A tokenizer.json as a class of transformers would make it with the settings beside it."""
    def write(folder):
        names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "[CLS]", "[SEP]", "[MASK]", "[PAD]", "[UNK]"]
        put(folder, "tokenizer.json", {
            "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": normalizer, "pre_tokenizer": pre_tokenizer,
            "post_processor": None, "decoder": None,
            "model": {"type": "Unigram", "unk_id": 3, "byte_fallback": False, "vocab": [[t, 0.0] for t in (*names, *"abcdeinprstw.\u2581")]}})
        put(folder, TOKENIZER, {"tokenizer_class": kind, **config})
    return write


def sequence(kind, *steps):
    return {"type": "Sequence", {"normalizers": "normalizers", "pre": "pretokenizers"}[kind]: list(steps)}


def replace(pattern, content):
    return {"type": "Replace", "pattern": pattern, "content": content}


METASPACE = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
ALBERT = unigram("AlbertTokenizer", sequence("normalizers", replace({"String": "``"}, '"'), replace({"String": "''"}, '"'), {"type": "NFKD"},
                                             {"type": "StripAccents"}, {"type": "Lowercase"}),
                 sequence("pre", {"type": "WhitespaceSplit"}, METASPACE), keep_accents=False)
DEBERTA = unigram("DebertaV2Tokenizer", sequence("normalizers", replace({"Regex": "\\s{2,}|[\\n\\r\\t]"}, " "), {"type": "NFC"},
                                                 {"type": "Strip", "strip_left": False, "strip_right": True}), METASPACE)


def llama(folder):
    """A \u2581 file of BPE, as LlamaTokenizer makes it."""
    vocab = ["<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(256)), "\u2581", "a", "c"]
    put(folder, "tokenizer.json", {
        "version": "1.0", "truncation": None, "padding": None, "normalizer": None, "post_processor": None, "decoder": None,
        "added_tokens": [{"id": len(vocab), **TOKEN, "content": "[MASK]", "rstrip": True}],  # a text goes on behind it
        "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": False},
        "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": True,
                  "byte_fallback": True, "vocab": {p: i for i, p in enumerate(vocab)}, "merges": []}})
    put(folder, TOKENIZER, {"tokenizer_class": "LlamaTokenizer", "legacy": False})


BERT, DISTIL, ELECTRA, TWO = (model("bert"), model("distilbert"), model("electra", embedding=16),
                              model("bert", labels=2, config={"id2label": {"0": "no", "1": "yes"}}))
ROBERTA = model("roberta")
MODERN, LISTED = (family(numpy_families.ModernBert, biases=True, types=types) for types in (None, ["sliding_attention"] * 2 + ["full_attention"]))
GTE, DEBERTA_V2 = family(numpy_families.Gte), family(numpy_families.Deberta, biased=True)
MASK = dict(TOKEN, content="[MASK]", lstrip=True)
SPLIT = "panda"  # an ordinary piece, which is a token in "pandas" too, once it is named
# (file, key): a folder, the value before and the value after; of a key with a case of its own, which reads the vocabulary alone.
CASES = {
    (MODEL, "model_type"): (BERT, "bert", "electra"),
    (MODEL, "architectures"): (BERT, ["BertForSequenceClassification"], ["BertForMaskedLM"]),
    (MODEL, "vocab_size"): (BERT, 17, 18), (MODEL, "hidden_size"): (BERT, 32, 16), (MODEL, "dim"): (DISTIL, 32, 16),
    (MODEL, "num_hidden_layers"): (BERT, 2, 1), (MODEL, "n_layers"): (DISTIL, 2, 1),
    (MODEL, "num_attention_heads"): (BERT, 4, 2), (MODEL, "n_heads"): (DISTIL, 4, 2),
    (MODEL, "intermediate_size"): (BERT, 48, 47), (MODEL, "hidden_dim"): (DISTIL, 48, 47), (MODEL, "embedding_size"): (ELECTRA, 16, 8),
    (MODEL, "hidden_act"): (BERT, "gelu", "relu"), (MODEL, "activation"): (DISTIL, "gelu", "relu"), (MODEL, "layer_norm_eps"): (BERT, 1e-12, 0.5),
    (MODEL, "max_position_embeddings"): (BERT, 40, 39), (MODEL, "type_vocab_size"): (BERT, 2, 1),
    (MODEL, "pad_token_id"): (ROBERTA, 0, 1),
    (MODEL, "bos_token_id"): (BERT, ABSENT, 3), (MODEL, "eos_token_id"): (BERT, ABSENT, 2),
    (MODEL, "cls_token_id"): (BERT, ABSENT, 3), (MODEL, "sep_token_id"): (BERT, ABSENT, 2),
    (MODEL, "num_labels"): (BERT, ABSENT, 2), (MODEL, "id2label"): (TWO, {"0": "no", "1": "yes"}, {"0": "yes", "1": "no"}),
    (MODEL, "problem_type"): (TWO, ABSENT, "multi_label_classification"),
    (MODEL, "sentence_transformers"): (BERT, ABSENT, {"activation_fn": IDENTITY}),
    (MODEL, "sbert_ce_default_activation_function"): (BERT, ABSENT, IDENTITY),
    (MODEL, "tokenizer_class"): (merges, "RobertaTokenizer", "GPT2Tokenizer"),
    (MODEL, "position_embedding_type"): (BERT, "absolute", "relative_key"),
    (MODEL, "norm_eps"): (MODERN, 1e-5, 0.5), (MODEL, "norm_bias"): (MODERN, True, False), (MODEL, "attention_bias"): (MODERN, True, False),
    (MODEL, "mlp_bias"): (MODERN, True, False), (MODEL, "classifier_bias"): (MODERN, True, False), (MODEL, "hidden_activation"): (MODERN, "gelu", "relu"),
    (MODEL, "classifier_activation"): (MODERN, "gelu", "relu"), (MODEL, "classifier_pooling"): (MODERN, "cls", "mean"),
    (MODEL, "layer_types"): (LISTED, ["sliding_attention"] * 2 + ["full_attention"], ["full_attention"] * 3),
    (MODEL, "global_attn_every_n_layers"): (MODERN, 3, 1), (MODEL, "local_attention"): (MODERN, 16, 8),
    (MODEL, "global_rope_theta"): (MODERN, 160000.0, 10.0), (MODEL, "local_rope_theta"): (MODERN, 10000.0, 10.0),
    (MODEL, "rope_parameters"): (LISTED, ABSENT, {"full_attention": {"rope_type": "default", "rope_theta": 10.0}}),
    (MODEL, "rope_scaling"): (GTE, ABSENT, {"type": "ntk", "factor": 8.0}), (MODEL, "rope_theta"): (GTE, 10000.0, 10.0),
    (MODEL, "layer_norm_type"): (GTE, "layer_norm", "rms_norm"), (MODEL, "logn_attention_scale"): (GTE, False, True),
    (MODEL, "num_experts"): (GTE, ABSENT, 4),
    (MODEL, "relative_attention"): (DEBERTA_V2, True, False), (MODEL, "position_buckets"): (DEBERTA_V2, 8, 4),
    (MODEL, "max_relative_positions"): (DEBERTA_V2, -1, 20), (MODEL, "pos_att_type"): (DEBERTA_V2, ["p2c", "c2p"], ["c2p"]),
    (MODEL, "share_att_key"): (DEBERTA_V2, True, False), (MODEL, "norm_rel_ebd"): (DEBERTA_V2, "layer_norm", "none"),
    (MODEL, "position_biased_input"): (DEBERTA_V2, True, False), (MODEL, "conv_kernel_size"): (DEBERTA_V2, 0, 3),
    (MODEL, "attention_head_size"): (DEBERTA_V2, ABSENT, 16), (MODEL, "pooler_hidden_act"): (DEBERTA_V2, "gelu", "tanh"),
    (MODEL, "pooler_hidden_size"): (DEBERTA_V2, 32, 16),
    (TOKENIZER, "tokenizer_class"): (merges, "RobertaTokenizer", "GPT2Tokenizer"),
    (TOKENIZER, "model_max_length"): (BERT, 20, 14), (TOKENIZER, "max_len"): (BERT, 20, 14),
    (TOKENIZER, "padding_side"): (BERT, "right", "left"), (TOKENIZER, "truncation_side"): (BERT, "right", "left"),
    (TOKENIZER, "model_input_names"): (BERT, ABSENT, ["input_ids", "attention_mask"]), (TOKENIZER, "split_special_tokens"): (BERT, False, True),
    (TOKENIZER, "added_tokens_decoder"): (BERT, ABSENT, {"4": MASK}),
    (TOKENIZER, "bos_token"): (BERT, ABSENT, SPLIT), (TOKENIZER, "eos_token"): (BERT, ABSENT, SPLIT), (TOKENIZER, "mask_token"): (BERT, ABSENT, SPLIT),
    (TOKENIZER, "unk_token"): (BERT, "[UNK]", "[MASK]"), (TOKENIZER, "sep_token"): (BERT, "[SEP]", "[MASK]"), (TOKENIZER, "cls_token"): (BERT, "[CLS]", "[MASK]"),
    (TOKENIZER, "pad_token"): (BERT, "[PAD]", "[MASK]"), (TOKENIZER, "additional_special_tokens"): (BERT, ABSENT, [SPLIT]),
    (TOKENIZER, "extra_special_tokens"): (BERT, ABSENT, [SPLIT]), (TOKENIZER, "model_specific_special_tokens"): (BERT, ABSENT, {"x_token": SPLIT}),
    (TOKENIZER, "do_lower_case"): (pieces, False, True), (TOKENIZER, "strip_accents"): (pieces, False, True),
    (TOKENIZER, "tokenize_chinese_chars"): (pieces, True, False),
    (TOKENIZER, "add_prefix_space"): (merges, False, True), (TOKENIZER, "trim_offsets"): (merges, True, False),
    (TOKENIZER, "add_bos_token"): (gpt2, False, True), (TOKENIZER, "add_eos_token"): (gpt2, False, True),
    (TOKENIZER, "keep_accents"): (ALBERT, False, True), (TOKENIZER, "split_by_punct"): (DEBERTA, False, True), (TOKENIZER, "legacy"): (llama, False, True),
    **{(SPECIALS, key): (BERT, ABSENT, value) for key, value in (
        ("bos_token", SPLIT), ("eos_token", SPLIT), ("mask_token", SPLIT), ("unk_token", "[MASK]"), ("sep_token", "[MASK]"), ("cls_token", "[MASK]"),
        ("pad_token", "[MASK]"), ("additional_special_tokens", [SPLIT]), ("extra_special_tokens", [SPLIT]))},
    (ENCODER, "model_type"): (BERT, "CrossEncoder", "SentenceTransformer"), (ENCODER, "activation_fn"): (BERT, ABSENT, IDENTITY),
    (ENCODER, "prompts"): (BERT, {"q": "the "}, {"q": "car "}), (ENCODER, "default_prompt_name"): (BERT, ABSENT, "q"),
    (TRANSFORMER, "max_seq_length"): (BERT, ABSENT, 12), (TRANSFORMER, "do_lower_case"): (pieces, False, True),
    (TRANSFORMER, "modality_config"): (BERT, ABSENT, {"message": {"method": "forward"}}),
    (MODULES, "type"): (BERT, MODULE["type"], "sentence_transformers.base.modules.dense.Dense"), (MODULES, "path"): (BERT, "", "0_Transformer"),
}
# What must be there for the key to say something.
WITH = {(ENCODER, "model_type"): {(ENCODER, "default_prompt_name"): "q"}, (ENCODER, "prompts"): {(ENCODER, "default_prompt_name"): "q"},
        (MODEL, "tokenizer_class"): {(TOKENIZER, "tokenizer_class"): ABSENT}, (TOKENIZER, "max_len"): {(TOKENIZER, "model_max_length"): ABSENT},
        (SPECIALS, "pad_token"): {(TOKENIZER, "pad_token"): ABSENT}}


MODULAR = (BERT, DISTIL, ELECTRA, TWO, ROBERTA)  # with a modules.json
MODELS = (*MODULAR, MODERN, LISTED, GTE, DEBERTA_V2)


class Keys(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.root = pathlib.Path(made.name)
        self.base, self.said = functools.cache(self.base), functools.cache(self.said)

    def base(self, write):
        """A folder as it is written, and the image of its vocabulary."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.root))
        write(folder)
        if write in MODELS:
            subprocess.run([RANKFEED, "compile", folder / "tokenizer.json", "-o", f"{folder}.rfimg"], check=True, capture_output=True)
        return folder

    def folder(self, write, *settings):
        """The folder with other values, and with the weights of all of its kind; itself where it has these values."""
        folder, base = pathlib.Path(tempfile.mkdtemp(dir=self.root)), self.base(write)
        for path in base.iterdir():
            (folder / path.name).symlink_to(path) if path.suffix == ".safetensors" else (folder / path.name).write_bytes(path.read_bytes())
        for file, key, value in settings:
            change(folder, file, key, value)
        same = all((base / path.name).exists() and path.read_bytes() == (base / path.name).read_bytes() for path in folder.iterdir())
        return base if same else folder

    def said(self, write, folder, door):
        """Status, output without times, and notes without the folder's name."""
        command = {"scores": "rerank"}.get(door, door)
        if door == "encode":
            arguments = ["--vocab", folder, "--special", "--json", "--offsets", "bytes"]
        else:
            arguments = ["--vocab" if door == "batch" else "--model", folder, "--query", "what is a bear", "--docs", "-", "--json"]
            if door == "scores":
                arguments += ["--vocab", f"{self.base(write)}.rfimg"]
            if write is TWO and command == "rerank":
                arguments += ["--label", "yes"]
        done = subprocess.run([RANKFEED, command, *map(str, arguments)], input="".join(text + "\n" for text in TEXTS), capture_output=True, text=True,
                              timeout=120)
        out = json.dumps(json.loads(done.stdout)["results"]) if command == "rerank" and done.returncode == 0 else done.stdout
        return done.returncode, out, done.stderr.replace(str(folder), "FOLDER")

    @staticmethod
    def doors(write, file):
        """The doors where a key of the file can show, the cheapest first. scores: with the vocabulary as it was."""
        if write not in MODELS:
            return ["encode"]
        return ["encode", "batch", "rerank"] if file in (TOKENIZER, SPECIALS) else ["scores", "rerank"]

    def test_obeyed_keys(self):
        self.assertEqual({place for place, (rule, _) in KEYS.items() if rule == "obeyed"} ^ set(CASES), set(), "keys without a case, or cases without a key")
        for (file, key), (write, before, after) in CASES.items():
            with self.subTest(file=file, key=key):
                more = [(*place, value) for place, value in WITH.get((file, key), {}).items()]
                one, other = (self.folder(write, *more, (file, key, value)) for value in (before, after))
                self.assertNotEqual(one, other)
                for door in self.doors(write, file):
                    was, now = self.said(write, one, door), self.said(write, other, door)
                    self.assertEqual(was[0], 0, was)
                    if was[:2] != now[:2]:
                        break
                self.assertNotEqual(was[:2], now[:2], now[2])
                self.assertTrue(now[0] == 0 or now[:2] == (1, ""), now)

    def test_refused_keys(self):
        for file, key in (place for place, (rule, _) in KEYS.items() if rule == "refused"):
            with self.subTest(file=file, key=key):
                code, out, why = self.said(BERT, self.folder(BERT, (file, key, "other")), "encode" if file == TOKENIZER else "scores")
                self.assertEqual((code, out), (1, ""))
                self.assertRegex(why, f'FOLDER/{file}: "?{key}"? is "other"(.* which is not supported|; supported is )')

    def test_harmless_keys(self):
        """In a model of each family."""
        keys = [(file, key, 7) for (file, key), (rule, _) in KEYS.items() if rule == "harmless" and key != "*"]
        keys += [(file, "a_key_of_nobody", 7) for file in (MODEL, TOKENIZER, ENCODER, TRANSFORMER, MODULES)]
        self.assertGreater(len(keys), 70)
        for write in MODELS:
            folder = self.folder(write, *(one for one in keys if write in MODULAR or one[0] in (MODEL, TOKENIZER)))
            for door in ("scores", "encode") if write is BERT else ("scores",):
                self.assertEqual(self.said(write, folder, door), self.said(write, self.base(write), door))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
