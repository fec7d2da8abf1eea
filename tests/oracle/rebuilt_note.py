# SPDX-License-Identifier: MIT
"""`rankfeed compile` notes a tokenizer.json that AutoTokenizer reads in another way, and no other.

  rebuilt_note.py --rankfeed PROGRAM --base XLMR.tokenizer.json [--pieces N] [--every N]

Every form of forms.py is put into a folder with a tokenizer_config.json that names its class, with and without "Fast",
with the options of other forms of the class, or with a config.json that names a model type only. The note must be there
exactly where the normalizer, pre-tokenizer or unknown piece of transformers' AutoTokenizer over that folder is not the file's. With
--every each Nth folder alone is made.
Files of BPE are small ones in the forms that are published, with each of the classes that rebuild them.
Exit status 0: as it must be, 1: not, 77: transformers missing.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import bpe_folders as B  # noqa: E402
import engine as E  # noqa: E402
import forms as F  # noqa: E402

try:
    from transformers import AutoTokenizer
except ImportError as error:
    E.require(False, f"transformers is not installed: {error}")

QWEN2_PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
MODEL_TYPES = {"albert": "albert-uncased", "big_bird": "bigbird", "bigbird_pegasus": "pegasus", "camembert": "camembert",
               "deberta-v2": "deberta-v3", "gte": "xlmr-a", "mbart": "mbart", "mt5": "mt5", "pegasus": "pegasus", "rembert": "rembert",
               "switch_transformers": "t5", "t5": "t5", "udop": "t5", "umt5": "umt5", "xglm": "xglm", "xlm-roberta": "xlmr-a",
               "xlm-roberta-xl": "xlmr-a", "xlnet": "xlnet", "xmod": "xlmr-a", "yoso": "albert-uncased"}


def steps(part):
    """The steps of a normalizer or pre-tokenizer, without the charsmap itself and without those that do nothing."""
    if part is None:
        return []
    if part["type"] == "Sequence":
        return [s for p in part.get("normalizers", part.get("pretokenizers")) for s in steps(p)]
    if part["type"] == "Strip" and not (part["strip_left"] or part["strip_right"]):
        return []
    return [{key: value for key, value in part.items() if key != "precompiled_charsmap"}]


def cases(every):
    """(form, tokenizer_config.json, config.json)"""
    for form in every.values():
        name = form.tokenizer_class or F.FAMILIES[form.family].tokenizer_class
        yield form, {"tokenizer_class": name, **form.config}, {}
        if form.family in ("xlmr", "deberta"):
            yield form, {"tokenizer_class": name + "Fast", **form.config}, {"model_type": "xmod"}
        if form.config:  # the class' own defaults
            yield form, {"tokenizer_class": name}, {}
    for model_type, name in MODEL_TYPES.items():
        yield every[name], {}, {"model_type": model_type}
        yield every[name], {"tokenizer_class": "T5Tokenizer"}, {"model_type": model_type}
    for name in ("xlmr-a", "xlmr-b", "xlmr-rebuilt", "layoutxlm-rebuilt"):
        for other in ("LayoutXLMTokenizer", "MT5Tokenizer", "PreTrainedTokenizerFast", "TokenizersBackend",
                      "VideoPrismTokenizer", "FNetTokenizer"):
            yield every[name], {"tokenizer_class": other}, {}


def bpe_documents():
    """Files of BPE by name, with the class that makes the same of them."""
    def document(pieces, merges, normalizer, pre_tokenizer, decoder, **model):
        return {"version": "1.0", "added_tokens": [], "normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "post_processor": None,
                "decoder": decoder, "model": {"type": "BPE", "vocab": {p: i for i, p in enumerate(pieces)}, "merges": merges, **model}}

    def sequence(*steps):
        return {"type": "Sequence", "pretokenizers": list(steps)}

    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    plain = {**byte_level, "use_regex": False}
    pieces = B.SPECIALS + ["<|endoftext|>"] + B.ALPHABET + [m.replace(" ", "") for m in B.MERGES]
    qwen = {"type": "Split", "pattern": {"Regex": QWEN2_PATTERN}, "behavior": "Isolated", "invert": False}
    yield "gpt2", document(pieces, B.MERGES, None, byte_level, byte_level)
    yield "gpt2, prefix space", document(pieces, B.MERGES, None, {**byte_level, "add_prefix_space": True}, byte_level)
    yield "starcoder2", document(pieces, B.MERGES, None, sequence({"type": "Digits", "individual_digits": True}, byte_level), byte_level)
    yield "qwen2", document(pieces, B.MERGES, {"type": "NFC"}, sequence(qwen, plain), byte_level)
    yield "qwen2 without NFC", document(pieces, B.MERGES, None, sequence(qwen, plain), byte_level)
    yield "qwen2, whole words", document(pieces, B.MERGES, {"type": "NFC"}, sequence(qwen, plain), byte_level, ignore_merges=True)
    metas = ["<unk>", "<s>", "</s>"] + [f"<0x{i:02X}>" for i in range(256)] + ["\u2581", "a", "b", "\u2581a"]
    bytes_too = {"fuse_unk": True, "byte_fallback": True, "unk_token": "<unk>"}
    to_metas = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
    prepend = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"}, to_metas]}
    decoder = {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}]}
    metaspace = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": False}
    spaces = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
    yield "llama", document(metas, ["\u2581 a"], prepend, None, decoder, **bytes_too)
    yield "llama, metaspace", document(metas, ["\u2581 a"], None, metaspace, decoder, **bytes_too)
    yield "gemma", document(metas, ["\u2581 a"], to_metas, None, decoder, **bytes_too)
    yield "gemma, split", document(metas, ["\u2581 a"], to_metas, spaces, decoder, **bytes_too)
    yield "gemma without bytes", document(metas, ["\u2581 a"], to_metas, None, decoder, unk_token="<unk>")


def bpe_cases():
    """(name, document, tokenizer_config.json, config.json)"""
    for name, document in bpe_documents():
        metas = name.startswith(("llama", "gemma"))
        for kind in ("LlamaTokenizer", "GemmaTokenizer") if metas else ("GPT2Tokenizer", "Qwen2TokenizerFast", "RobertaTokenizer", "LlamaTokenizer"):
            yield name, document, {"tokenizer_class": kind}, {}
            yield name, document, {"tokenizer_class": kind}, {"model_type": "mistral"}  # runs the file, whatever is named
        if metas:
            yield name, document, {"tokenizer_class": "LlamaTokenizer", "legacy": True}, {}
            yield name, document, {"tokenizer_class": "LlamaTokenizer", "add_prefix_space": False}, {}
        else:
            yield name, document, {"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": True}, {}
            yield name, document, {"tokenizer_class": "GPT2Tokenizer"}, {"model_type": "qwen2"}
            yield name, document, {}, {"model_type": "qwen3"}
            yield name, document, {}, {"model_type": "roberta"}


def bpe_steps(document):
    """What decides ids of a text: with all bytes among the pieces, what is unknown is not asked."""
    model = document["model"]
    split = steps(document["pre_tokenizer"])
    if "Replace" in [s["type"] for s in steps(document["normalizer"])]:  # of spaces: a split at them finds none
        split = [s for s in split if s["type"] != "Split"]
    split = [{key: value for key, value in step.items() if key != "trim_offsets"} for step in split]
    return steps(document["normalizer"]), split, model.get("ignore_merges") or False, model.get("byte_fallback") or False


def noted(program, folder):
    run = subprocess.run([program, "compile", f"{folder}/tokenizer.json", "-o", f"{folder}/image"], capture_output=True,
                         text=True)
    if run.returncode:
        sys.exit(f"rankfeed compile: {run.stderr}")
    return "rankfeed: note:" in run.stderr


def main():
    parser = E.arguments(__doc__, "rankfeed", "base")
    parser.add_argument("--pieces", type=int, default=500)
    parser.add_argument("--every", type=int, default=1)
    args = parser.parse_args()
    E.require(args.base.exists(), f"{args.base} is not there")
    base = F.base_of_xlmr(args.base, args.pieces)
    report, notes = E.Report(limit=4), 0
    for form, tokenizer_config, config in list(cases(F.forms(base)))[::args.every]:
        document = F.document(form, base)
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "tokenizer.json").write_text(json.dumps(document, ensure_ascii=False))
            Path(folder, "tokenizer_config.json").write_text(json.dumps(tokenizer_config))
            if config:
                Path(folder, "config.json").write_text(json.dumps(config))
            made = json.loads(AutoTokenizer.from_pretrained(folder).backend_tokenizer.to_str())
            got = noted(args.rankfeed, folder)
        expected = any(steps(document[part]) != steps(made[part]) for part in ("normalizer", "pre_tokenizer"))
        expected |= document["model"]["unk_id"] != made["model"]["unk_id"]
        report.checks += 1
        notes += expected
        if got != expected:
            report.mismatch(form.name, f"{tokenizer_config} {config}", f"note: {got}", f"differs: {expected}")
    for name, document, tokenizer_config, config in list(bpe_cases())[::args.every]:
        with tempfile.TemporaryDirectory() as folder:
            for file, value in (("tokenizer.json", document), ("tokenizer_config.json", tokenizer_config), ("config.json", config)):
                if value or file != "config.json":
                    Path(folder, file).write_text(json.dumps(value))
            made = json.loads(AutoTokenizer.from_pretrained(folder).backend_tokenizer.to_str())
            got = noted(args.rankfeed, folder)
        expected = bpe_steps(document) != bpe_steps(made)
        report.checks += 1
        notes += expected
        if got != expected:
            report.mismatch(name, f"{tokenizer_config} {config}", f"note: {got}", f"differs: {expected}")
    with tempfile.TemporaryDirectory() as folder:  # code of its own is not run, and not judged
        Path(folder, "tokenizer.json").write_text(F.text_of(F.forms(base)["xlmr-a"], base))
        config = {"tokenizer_class": "XLMRobertaTokenizer", "auto_map": {"AutoTokenizer": ["code.Tokenizer", None]}}
        Path(folder, "tokenizer_config.json").write_text(json.dumps(config))
        report.checks += 1
        if noted(args.rankfeed, folder):
            report.mismatch("auto_map", config, "a note", "none")
    print(f"{notes} of {report.checks} folders have a note")
    return report.finish("notes") or (not 0 < notes < report.checks)


if __name__ == "__main__":
    sys.exit(main())
