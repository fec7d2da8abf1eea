# SPDX-License-Identifier: MIT
"""Folders of BertTokenizer and its kin: rankfeed against AutoTokenizer of transformers 5.

  bert_folders.py --rankfeed PROGRAM [--count N] [--seed N]

Half of the generated folders have a vocab.txt and some of the files that stand beside one: the ids, offsets and decoded
texts of that file must be those of AutoTokenizer. The others have a tokenizer.json: the ids of the file must be those of
tokenizers, those of AutoTokenizer's backend those of rankfeed over its serialized form (Tokenizer.from_transformers), and
`rankfeed compile` must note the folder exactly where normalizer, pre-tokenizer or model of the two differ.
Exit status 0: no difference, 1: some, 77: transformers missing.
"""

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import engine as E  # noqa: E402

try:
    from tokenizers import Tokenizer
    from transformers import AutoTokenizer, logging
except ImportError as error:
    E.require(False, f"transformers is not installed: {error}")

LINES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "<s>", "</s>", "<pad>", "<unk>", "<mask>", "a", "b", "##b", "##c", "he", "##llo",
         "\u00e9", "##\u00e9", "\u00c9", "\u4e2d", "##\u6587", ".", ",", "Hello", "hello", "x", "##x", "i", "##\u0307", "\u00df", "<x>", "[NEW]",
         "q \t", "A", "##a", "\u3000"]
TEXTS = ["Hello, h\u00e9llo a\u4e2d\u6587b \u00c9.", "[CLS] hello [SEP] <x> [new] [NEW]", "a  <mask> b <MASK> <unk> <UNK>",
         "aBc \u0130x \u00df A\u0301", "x\u0301x \u2028 q", "[MASK]hello[MASK] , .", "b" * 120, ""]
BERT = ("BertTokenizer", "BertTokenizerFast", "DistilBertTokenizer", "DistilBertTokenizerFast", "ElectraTokenizer", "MobileBertTokenizer",
        "ConvBertTokenizer", "LayoutLMTokenizer")


class Folder:
    """Writes one at random."""

    def __init__(self, rng, path):
        self.rng, self.path = rng, Path(path)
        self.mpnet = self.chance(0.3)
        self.config = {}

    def chance(self, share):
        return self.rng.random() < share

    def write(self, name, value):
        (self.path / name).write_text(json.dumps(value), encoding="utf-8")

    def token(self, text, typed=True):
        if self.chance(0.6):
            return text
        entry = {"content": text, "lstrip": self.chance(.3), "rstrip": self.chance(.3), "single_word": self.chance(.2),
                 "normalized": self.chance(.5)}
        return {"__type": "AddedToken", **entry} if typed else entry

    def specials(self):
        names = {"cls_token": "<s>", "sep_token": "</s>", "unk_token": "[UNK]", "pad_token": "<pad>", "mask_token": "<mask>"}
        return names if self.mpnet else {"cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]", "pad_token": "[PAD]",
                                         "mask_token": "[MASK]"}

    def settings(self):
        config = self.config
        if self.chance(.6):
            config["tokenizer_class"] = "MPNetTokenizer" if self.mpnet else self.rng.choice(BERT)
        self.write("config.json", {"model_type": "mpnet" if self.mpnet else self.rng.choice(["bert", "electra", "distilbert", "mobilebert"])})
        if self.chance(.5):
            config["do_lower_case"] = self.chance(.5)
        if self.chance(.3):
            config["tokenize_chinese_chars"] = self.chance(.5)
        if self.chance(.5):
            config["strip_accents"] = self.rng.choice([None, True, False])

    def tokens(self):
        config = self.config
        for name, text in self.specials().items():
            if self.chance(.3):
                config[name] = self.token(text)
        if self.chance(.1):
            config["unk_token"] = "<unk>"
        if self.chance(.2):
            config["bos_token"] = self.token("<s>")
        if self.chance(.15):
            config["image_token"] = "<img>"
        if self.chance(.2):
            config[self.rng.choice(["additional_special_tokens", "extra_special_tokens"])] = [self.rng.choice(["<x>", "[NEW]", "[zz]", "a"])]
        if self.chance(.4):
            texts = self.rng.sample(["<x>", "[NEW]", "[CLS]", "[SEP]", "[MASK]", "Hello", "[zz]"], self.rng.randint(0, 4))
            config["added_tokens_decoder"] = {
                str(self.rng.randint(0, 60)): {"content": text, "lstrip": self.chance(.2), "rstrip": self.chance(.2), "single_word": self.chance(.2),
                                               "normalized": self.chance(.4), "special": self.chance(.6)} for text in texts}
        if self.chance(.3):
            names = self.specials()
            listed = {name: self.token(names[name], typed=False) for name in ("cls_token", "mask_token") if self.chance(.5)}
            if self.chance(.4):
                listed["additional_special_tokens"] = ["<x>"]
            self.write("special_tokens_map.json", listed)
        if self.chance(.3):
            self.write("added_tokens.json", {c: self.rng.randint(40, 60) for c in self.rng.sample(["<x>", "[NEW]", "[MASK]", "Hello", "[yy]"], 2)})

    def vocab_txt(self):
        self.settings()
        self.tokens()
        lines = list(LINES)
        if self.chance(.3):
            self.rng.shuffle(lines)
        for text in ("<x>", "[NEW]", "[MASK]", "[PAD]"):
            if self.chance(.2):
                lines.remove(text)
        end = self.rng.choice(["\n", "\r\n"])
        (self.path / "vocab.txt").write_bytes((end.join(lines) + (end if self.chance(.5) else "")).encode())
        if self.chance(.8):
            self.write("tokenizer_config.json", self.config)

    def tokenizer_json(self):
        self.settings()
        self.config.setdefault("tokenizer_class", self.rng.choice(["PreTrainedTokenizerFast", "BertTokenizer", "MPNetTokenizer"]))
        lower = self.chance(.5)
        bert = {"type": "BertNormalizer", "clean_text": self.chance(.9), "handle_chinese_chars": self.chance(.8),
                "strip_accents": self.rng.choice([None, None, True, False]), "lowercase": lower}
        other = {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}]}
        specials = self.specials()
        ends = {"sep": [specials["sep_token"], LINES.index(specials["sep_token"])], "cls": [specials["cls_token"], LINES.index(specials["cls_token"])]}
        self.write("tokenizer_config.json", self.config)
        self.write("tokenizer.json", {
            "version": "1.0", "truncation": None, "padding": None, "normalizer": self.rng.choice([bert, bert, bert, other]),
            "added_tokens": [{"id": LINES.index(text), "content": text, "single_word": False, "lstrip": False, "rstrip": False,
                              "normalized": False, "special": True} for text in specials.values()],
            "pre_tokenizer": {"type": self.rng.choice(["BertPreTokenizer"] * 3 + ["WhitespaceSplit"])},
            "post_processor": {"type": "BertProcessing", **ends}, "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": self.chance(.7)},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                      "max_input_chars_per_word": self.rng.choice([100, 100, 100, 200]), "vocab": {text.strip(): i for i, text in enumerate(LINES)}}})


def run(program, *arguments, text=None):
    made = subprocess.run([program, *arguments], capture_output=True, text=True, input=text)
    return made.stdout if made.returncode == 0 else None, made.stderr


def parity(program, vocab, texts, name, report):
    """`rankfeed parity` over the folder: the reference reads the files as transformers does."""
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    out, error = run(program, "parity", "--vocab", vocab, "--against", "huggingface", "--special", "--python", sys.executable, "--jsonl", text=lines)
    report.checks += 1
    if out is None or f"{len(texts)} documents" not in out or " 0 mismatches against transformers 5" not in out:
        report.mismatch(name + ", rankfeed parity", vocab, out, error)


def compare(program, vocab, tokenizer, name, report):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in TEXTS)
        file.flush()
        out, error = run(program, "encode", "--vocab", vocab, "--special", "--json", "--offsets", "code-points", file.name)
    if out is None:
        report.checks += 1
        return report.mismatch(name, vocab, error, "ids")
    encoded = [tokenizer.encode(text) for text in TEXTS]
    lines = "\n".join(" ".join(map(str, e.ids)) for e in encoded)
    decoded, _ = run(program, "decode", "--vocab", vocab, "--skip-special-tokens", text=lines)
    for text, line, want in zip(TEXTS, out.splitlines(), encoded):
        got = json.loads(line)
        report.checks += 1
        if (got["ids"], [tuple(place) for place in got["offsets"]]) != (want.ids, want.offsets):
            report.mismatch(name, text, (got["ids"], got["offsets"]), (want.ids, want.offsets))
    report.checks += 1
    wanted = "".join(tokenizer.decode(e.ids, skip_special_tokens=True) + "\n" for e in encoded)
    if decoded != wanted:
        report.mismatch(name + ", decoded", lines, decoded, wanted)


def same(written, made):
    """Whether two backends give every text the same ids."""
    def normal(part):
        if part and part["type"] == "BertNormalizer" and part.get("strip_accents") is None:
            return {**part, "strip_accents": part["lowercase"]}
        return part

    keys = ("unk_token", "continuing_subword_prefix", "max_input_chars_per_word")
    return (normal(written["normalizer"]) == normal(made["normalizer"]) and written["pre_tokenizer"] == made["pre_tokenizer"]
            and all(written["model"][k] == made["model"][k] for k in keys))


def main():
    parser = E.arguments(__doc__, "rankfeed", "seed")
    parser.add_argument("--count", type=int, default=60)
    args = parser.parse_args()
    logging.set_verbosity_error()
    rng, report, notes = random.Random(args.seed), E.Report(limit=3), 0
    for number in range(args.count):
        with tempfile.TemporaryDirectory() as path:
            folder = Folder(rng, path)
            with_vocab_txt = number % 2 == 0
            folder.vocab_txt() if with_vocab_txt else folder.tokenizer_json()
            backend = AutoTokenizer.from_pretrained(path).backend_tokenizer
            name = f"folder {number} of seed {args.seed}: {folder.config}"
            if with_vocab_txt:
                compare(args.rankfeed, f"{path}/vocab.txt", backend, name, report)
                if number % 8 == 0:  # each starts Python
                    parity(args.rankfeed, path, TEXTS, name, report)
                continue
            written, made = Path(path, "tokenizer.json"), Path(path, "made.json")
            made.write_text(backend.to_str(), encoding="utf-8")
            compare(args.rankfeed, str(written), Tokenizer.from_file(str(written)), name, report)
            compare(args.rankfeed, str(made), backend, name + ", in memory", report)
            _, said = run(args.rankfeed, "compile", str(written), "-o", f"{path}/image")
            differs = not same(json.loads(written.read_text()), json.loads(made.read_text()))
            report.checks += 1
            notes += differs
            if differs != ("rankfeed: note:" in said):
                report.mismatch(name + ", note", written.read_text()[:600], said, differs)
    print(f"{notes} of {args.count // 2} files are another tokenizer in memory")
    return report.finish("folders")


if __name__ == "__main__":
    sys.exit(main())
