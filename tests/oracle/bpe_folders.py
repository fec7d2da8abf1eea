# SPDX-License-Identifier: MIT
"""Folders with vocab.json and merges.txt: rankfeed against AutoTokenizer of transformers 5.

  bpe_folders.py --rankfeed PROGRAM [--count N] [--seed N]

Each generated folder is one of RobertaTokenizer, GPT2Tokenizer or Qwen2Tokenizer, with some of the files that stand beside such a
vocabulary. Ids, offsets and decoded texts, of texts and of pairs, must be those of AutoTokenizer; a folder that AutoTokenizer
refuses must be refused.
Exit status 0: no difference, 1: some, 77: transformers missing.
"""

import json
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import engine as E  # noqa: E402
from bert_folders import parity, run  # noqa: E402

try:
    from transformers import AutoTokenizer, logging
except ImportError as error:
    E.require(False, f"transformers is not installed: {error}")

BYTES = [*range(33, 127), *range(0xa1, 0xad), *range(0xae, 0x100)]
ALPHABET = [chr(b) for b in BYTES] + [chr(256 + i) for i in range(256 - len(BYTES))]
MERGES = ["h e", "l l", "he ll", "hell o", "\u0120 t", "\u0120t he", "\u0120 hell", "a b", "\u0120 a", "\u00c3 \u00a9", "1 2", "\u0120 \u0120", "\u010a \u010a",
          "' s", "' S", "n '", "\u0120 <", "| >"]
# Texts that the patterns of the three classes cut apart, that NFC changes, and with the tokens below.
TEXTS = ["Hello  world, it's  the h\u00e9llo 12345 \u0661\u0662", "<s> hello </s> <new> <New> a<new>b", "a  <mask> b <MASK> <|endoftext|><x>", "e\u0301 A'S n'T \u212b\u0958",
         " the\n\n  ab \r\n\t!!\n x", "\u4e2d\u6587 \U0001f469\u200d\U0001f467 \u0000 \u00a0b", "<pad> <unk>hello<|pad|> <|end|>", " ", ""]
CLASSES = {"roberta": (("RobertaTokenizer", "RobertaTokenizerFast", "BartTokenizer", "LongformerTokenizer", "LEDTokenizer", "MvpTokenizer"),
                       ("roberta", "roberta-prelayernorm", "bart", "data2vec-text", "ibert", "lilt", "longformer", "mra")),
           "gpt2": (("GPT2Tokenizer", "GPT2TokenizerFast"), ("gpt2", "gpt_neo", "gptj", "opt", "phi", "starcoder2", "codegen")),
           "qwen2": (("Qwen2Tokenizer", "Qwen2TokenizerFast"),
                     ("qwen2", "qwen2_moe", "qwen2_vl", "qwen2_5_vl", "qwen3", "qwen3_moe", "qwen3_next", "qwen3_vl",
                      "qwen2_5_omni", "qwen2_audio", "qwen3_omni_moe", "qwen3_vl_moe", "internvl"))}
OTHERS = ("PreTrainedTokenizerFast", "CLIPTokenizer", "DebertaTokenizer", "BlenderbotTokenizer")
SPECIALS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


class Folder:
    """Writes one at random."""

    def __init__(self, rng, path, cuts):
        self.rng, self.path = rng, Path(path)
        self.kind = rng.choice(list(CLASSES))
        self.other = False
        pieces = (SPECIALS if self.kind == "roberta" else []) + ALPHABET + [m.replace(" ", "") for m in MERGES]
        self.size = len(pieces)
        self.files = {"vocab.json": {text: i for i, text in enumerate(pieces)}}
        if self.kind == "gpt2" or self.chance(.3):
            self.files["vocab.json"]["<|endoftext|>"] = self.size
        end = "\r\n" if self.chance(.2) else "\n"
        merges = "".join(line + end for line in (["#version: 0.2"] if self.chance(.8) else []) + MERGES).encode()
        if cuts.random() < .15:  # cut off anywhere
            merges = merges[:cuts.randrange(len(merges) + 1)]
        (self.path / "merges.txt").write_bytes(merges)
        self.beside()
        for name, value in self.files.items():
            (self.path / name).write_text(json.dumps(value, ensure_ascii=self.chance(.5)), encoding="utf-8")

    def chance(self, share):
        return self.rng.random() < share

    def token(self, text, typed=True):
        if self.chance(0.5):
            return text
        entry = {"content": text, "lstrip": self.chance(.3), "rstrip": self.chance(.3), "single_word": self.chance(.2), "normalized": self.chance(.5)}
        return {"__type": "AddedToken", **entry} if typed else entry

    def named(self, typed=True):
        out = {}
        for name in ("bos_token", "eos_token", "unk_token", "pad_token", "mask_token", "image_token"):
            if self.chance(.25):
                out[name] = self.token(self.rng.choice(SPECIALS + ["<new>", "<|endoftext|>", "<|pad|>", "<|end|>", "<x>"]), typed)
        if self.chance(.15) and self.kind != "roberta":
            out[self.rng.choice(["unk_token", "eos_token", "pad_token", "bos_token"])] = None
        return out

    def beside(self):
        names, types = CLASSES[self.kind]
        config, kind = {}, self.rng.random()
        if kind < .7:
            config["tokenizer_class"] = self.rng.choice(names)
        elif kind < .8:
            self.other = True
            config["tokenizer_class"] = self.rng.choice(OTHERS)
        if kind >= .7 and not self.other or self.chance(.3) and not self.other:
            self.files["config.json"] = {"model_type": self.rng.choice(types)}
        config.update(self.named())
        for flag in ("add_prefix_space", "trim_offsets", "add_bos_token", "add_eos_token"):
            if self.chance(.3):
                config[flag] = self.chance(.5)
        if self.chance(.3):
            texts = self.rng.sample(SPECIALS + ["<new>", "<New>", "<|end|>", "<x>", "<|endoftext|>"], 4)
            config["added_tokens_decoder"] = {
                str(self.size + i): {"content": t, "lstrip": self.chance(.3), "rstrip": self.chance(.2), "single_word": self.chance(.2),
                                     "normalized": self.chance(.5), "special": self.chance(.5)} for i, t in enumerate(texts)}
        if self.chance(.2):
            config["additional_special_tokens"] = self.rng.sample(["<x>", "<new>", "<|end|>"], 2)
        if self.chance(.3):
            self.files["special_tokens_map.json"] = self.named(typed=False)
        if self.chance(.2):
            self.files["added_tokens.json"] = {"<New>": self.size + 7, "<x>": self.size + 3}
        if config or self.chance(.5):
            self.files["tokenizer_config.json"] = config
        self.config = config


def compare(program, folder, tokenizer, name, report):
    docs = [text for text in TEXTS if text]
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in docs)
        file.flush()
        out, error = run(program, "encode", "--vocab", folder, "--special", "--json", "--offsets", "code-points", file.name)
        rows, _ = run(program, "batch", "--vocab", folder, "--query", TEXTS[0], "--docs", file.name, "--json", "--layout", "packed", "--max-length", "512")
    if out is None:
        report.checks += 1
        return report.mismatch(name, folder, error, "ids")
    encoded = [tokenizer.encode(text) for text in docs]
    decoded, _ = run(program, "decode", "--vocab", folder, "--skip-special-tokens", text="\n".join(" ".join(map(str, e.ids)) for e in encoded))
    for text, line, want in zip(docs, out.splitlines(), encoded):
        got = json.loads(line)
        report.checks += 1
        if (got["ids"], [tuple(place) for place in got["offsets"]]) != (want.ids, want.offsets):
            report.mismatch(name, text, (got["ids"], got["offsets"]), (want.ids, want.offsets))
    wanted = "".join(tokenizer.decode(e.ids, skip_special_tokens=True) + "\n" for e in encoded).replace("\r\n", "\n")  # as run reads them
    got = {}
    for batch in map(json.loads, (rows or "").splitlines()):
        ends = batch["cu_seqlens"]
        for i, number in enumerate(batch["documents"]):
            place = slice(ends[i], ends[i + 1])
            got[int(number)] = batch["input_ids"][place], batch["token_type_ids"][place]
    report.checks += 2
    if decoded != wanted:
        report.mismatch(name + ", decoded", docs, decoded, wanted)
    pairs = [tokenizer.encode(TEXTS[0], text) for text in docs]
    if [got.get(i) for i in range(len(docs))] != [(e.ids, e.type_ids) for e in pairs]:
        report.mismatch(name + ", pairs", docs, got, [(e.ids, e.type_ids) for e in pairs])


def main():
    parser = E.arguments(__doc__, "rankfeed", "seed")
    parser.add_argument("--count", type=int, default=60)
    args = parser.parse_args()
    logging.set_verbosity_error()
    rng, cuts, report, refused = random.Random(args.seed), random.Random(args.seed), E.Report(limit=3), 0
    for number in range(args.count):
        with tempfile.TemporaryDirectory() as path:
            folder = Folder(rng, path, cuts)
            name = f"folder {number} of seed {args.seed}: {folder.files.get('config.json')} {folder.config}"
            try:
                backend = None if folder.other else AutoTokenizer.from_pretrained(path).backend_tokenizer
            except Exception as error:  # of any kind: transformers has none of its own
                backend, name = None, f"{name}, {error}"
            if backend is not None:
                compare(args.rankfeed, path, backend, name, report)
                if number % 5 == 0:  # each starts Python
                    parity(args.rankfeed, path, TEXTS, name, report)
                continue
            refused += 1
            report.checks += 1
            out, _ = run(args.rankfeed, "compile", path, "-o", f"{path}/image")
            if out is not None:
                report.mismatch(name, path, out, "a refusal")
    print(f"{refused} of {args.count} folders refused")
    return report.finish("folders")


if __name__ == "__main__":
    sys.exit(main())
