# SPDX-License-Identifier: MIT
"""rebuilt_test.py RANKFEED [DRAWN]: classes of transformers 5 put a normalizer and a pre-tokenizer of their own in place of those of the
tokenizer.json, by flags of tokenizer_config.json. At the doors that take a folder the ids are AutoTokenizer's of that folder, whatever the file
says and however the flag is given; the file by itself has its own. Ids of transformers 5.23 are written here; with DRAWN so many drawn folders are
given to it."""

import itertools
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

RANKFEED, DRAWN = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
if DRAWN:
    import transformers

    transformers.logging.set_verbosity_error()
ABSENT = object()
META = "\u2581"
CHARS = ["a", "b", "A", "B", "e", "\u00e9", "E", "\u00c9", "n", "\u0301", "f", "i", "\ufb01", ".", ",", "!", "'", "\"", "`", "\u4e2d", "1", META]
SPECIALS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "[CLS]", "[SEP]", "[MASK]", "[PAD]", "[UNK]", "<cls>", "<sep>"]
BYTES = [chr(c) for c in (*range(33, 127), *range(161, 173), *range(174, 256), *range(256, 324))]


def step(kind, **members):
    return {"type": kind, **members}


def replace(pattern, content):
    return step("Replace", pattern=pattern, content=content)


def metaspace(scheme="always", split=True):
    return step("Metaspace", replacement=META, prepend_scheme=scheme, split=split)


def chain(member, *steps):
    return step("Sequence", **{member: list(steps)})


def normalizers(*steps):
    return chain("normalizers", *steps)


def pre_tokenizers(*steps):
    return chain("pretokenizers", *steps)


QUOTES = replace({"String": "``"}, '"'), replace({"String": "''"}, '"')
ACCENTS, LOWER, SPACES = (step("NFKD"), step("StripAccents")), step("Lowercase"), replace({"Regex": " {2,}"}, " ")
WORDS = pre_tokenizers(step("WhitespaceSplit"), metaspace())
STRIP = step("Strip", strip_left=False, strip_right=True)
DEBERTA = replace({"Regex": "\\s{2,}|[\\n\\r\\t]"}, " "), step("NFC"), STRIP


def bert(lower=True, strip=None, chinese=True):
    return step("BertNormalizer", clean_text=True, handle_chinese_chars=chinese, strip_accents=strip, lowercase=lower)


def byte_level(prefix=False, regex=True):
    return step("ByteLevel", add_prefix_space=prefix, trim_offsets=True, use_regex=regex)


# By class: the place of the unknown piece, and what files of it may be written with.
UNIGRAM = {"AlbertTokenizer": 1, "XLNetTokenizer": 0, "RemBertTokenizer": 2, "CamembertTokenizer": 3, "XLMRobertaTokenizer": 3, "T5Tokenizer": 2, "LasrTokenizer": 3,
           "VideoPrismTokenizer": 2, "MBart50Tokenizer": 3, "PegasusTokenizer": 4, "XGLMTokenizer": 3, "MBartTokenizer": 3, "UdopTokenizer": 2,
           "BigBirdTokenizer": 5, "LayoutXLMTokenizer": 3, "DebertaV2Tokenizer": 3}
WORDPIECE = ("BertTokenizer", "DistilBertTokenizer", "MPNetTokenizer", "ElectraTokenizer")
OF_BYTES, OF_METAS = ("GPT2Tokenizer", "RobertaTokenizer", "BartTokenizer", "Qwen2Tokenizer"), ("LlamaTokenizer", "GemmaTokenizer")
NORMALIZERS = {"unigram": [None, normalizers(*QUOTES), normalizers(*QUOTES, *ACCENTS), normalizers(*QUOTES, *ACCENTS, LOWER), normalizers(*QUOTES, LOWER), SPACES,
                           normalizers(*DEBERTA), normalizers(LOWER, *DEBERTA), normalizers(*QUOTES, SPACES, *ACCENTS)],
               "wordpiece": [bert(), bert(False), bert(True, False), bert(False, True), bert(True, None, False), normalizers(step("NFD"), LOWER)],
               "bytes": [None, step("NFC")],
               "metas": [None, replace({"String": " "}, META), normalizers(step("Prepend", prepend=META), replace({"String": " "}, META))]}
PRE_TOKENIZERS = {"unigram": [WORDS, metaspace(), metaspace("first"), metaspace("never"), pre_tokenizers(step("Punctuation", behavior="Isolated"), metaspace())],
                  "wordpiece": [step("BertPreTokenizer"), step("WhitespaceSplit")], "bytes": [byte_level(), byte_level(True)],
                  "metas": [None, metaspace("first", False), metaspace("always", False), metaspace("never", False)]}
KEYS = ("keep_accents", "do_lower_case", "split_by_punct", "legacy", "add_prefix_space", "strip_accents", "tokenize_chinese_chars")


def family(kind):
    return "unigram" if kind in UNIGRAM else "wordpiece" if kind in WORDPIECE else "bytes" if kind in OF_BYTES else "metas"


def document(kind, normalizer, pre_tokenizer, unk=None, **settings):
    """unk: the file's unk_id where it is not the class's. settings: of the model."""
    group = family(kind)
    if group == "unigram":
        unknown = "[UNK]" if kind == "DebertaV2Tokenizer" else "<unk>"
        names = [name for name in SPECIALS if name != unknown]
        names.insert(UNIGRAM[kind], unknown)
        vocab = [[name, 0.0] for name in names] + [[piece, -4.0 - i / 8] for i, piece in enumerate([*CHARS, "en_XX", META + "a", "ab", META + "A", META + META, "''", "``"])]
        model = step("Unigram", unk_id=UNIGRAM[kind] if unk is None else unk, vocab=vocab, byte_fallback=False)
    elif group == "wordpiece":
        vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *CHARS[:-1], *("##" + char for char in CHARS[:-1]), "ab", "##ab", *("@" + char for char in "abe")]
        model = step("WordPiece", unk_token="[UNK]", continuing_subword_prefix="##", max_input_chars_per_word=100, vocab={piece: i for i, piece in enumerate(vocab)})
    else:
        vocab = ["<unk>", "<s>", "</s>", "<pad>", "<mask>", "<bos>", "<eos>", "<|endoftext|>", *(BYTES if group == "bytes" else [f"<0x{i:02X}>" for i in range(256)] + CHARS)]
        merges = ["a b", "\u0120 a"] if group == "bytes" else ["a b", META + " a"]
        vocab += [merge.replace(" ", "") for merge in merges]
        model = step("BPE", dropout=None, unk_token=None, continuing_subword_prefix="", end_of_word_suffix="", fuse_unk=group == "metas", byte_fallback=group == "metas",
                     vocab={piece: i for i, piece in enumerate(vocab)}, merges=merges)
    model.update(settings)
    added = [{"id": 2, "content": "</s>", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}]
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added if kind == "LlamaTokenizer" else [], "normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "post_processor": None,
            "decoder": byte_level() if group == "bytes" else None, "model": model}


def drawn(rng):
    kind = rng.choice([*UNIGRAM, *WORDPIECE, *OF_BYTES, *OF_METAS])
    group, settings = family(kind), {}
    if rng.random() < 0.15:
        settings = {"unigram": {"unk_id": rng.randrange(6)} if kind in ("AlbertTokenizer", "T5Tokenizer", "XLMRobertaTokenizer") else {},
                    "wordpiece": rng.choice([{"continuing_subword_prefix": "@"}, {"max_input_chars_per_word": 3}]), "bytes": {"ignore_merges": True},
                    "metas": rng.choice([{"ignore_merges": True}, {"byte_fallback": False}])}[group]
    config = {"tokenizer_class": kind + rng.choice(["", "Fast"])}
    for key in KEYS:
        value = rng.choice([True, False, ABSENT, ABSENT])
        if value is not ABSENT:
            config[key] = value
    return document(kind, rng.choice(NORMALIZERS[group]), rng.choice(PRE_TOKENIZERS[group]), **settings), config


def texts(rng, count=8):
    return [" a\u00e9 B.", *("".join(rng.choice([" ", "", "  "]) + rng.choice([*CHARS[:-1], "``", "''", "\t", "ab", "\u0436", "E\u0301", "aaab"]) for _ in range(9))
                              for _ in range(count))]


# Two files by class, which ask for either value of its flags; and by class, flag and text the ids where it is true, false, null, not there.
FILES = {
    "AlbertTokenizer": [(normalizers(*QUOTES), WORDS), (normalizers(*QUOTES, *ACCENTS, LOWER), pre_tokenizers(step("WhitespaceSplit"), metaspace("never")))],
    "XLNetTokenizer": [(normalizers(*QUOTES), WORDS), (normalizers(*QUOTES, *ACCENTS, LOWER), WORDS)],
    "RemBertTokenizer": [(normalizers(*QUOTES, SPACES), metaspace()), (normalizers(*QUOTES, SPACES, *ACCENTS, LOWER), metaspace("never"))],
    "DebertaV2Tokenizer": [(normalizers(*DEBERTA), metaspace()), (normalizers(LOWER, *DEBERTA), pre_tokenizers(step("Punctuation", behavior="Isolated"), metaspace("first")))],
    "BertTokenizer": [(bert(), step("BertPreTokenizer")), (bert(False, True, False), step("BertPreTokenizer"))],
    "XLMRobertaTokenizer": [(None, WORDS), (None, pre_tokenizers(step("WhitespaceSplit"), metaspace("never")))],
    "T5Tokenizer": [(None, WORDS), (None, metaspace("first"))],
    "RobertaTokenizer": [(None, byte_level()), (None, byte_level(True))],
    "LlamaTokenizer": [(None, metaspace("first", False)), (None, metaspace("always", False)), (None, metaspace("never", False))],
}
GOLDEN = {
    ("AlbertTokenizer", "keep_accents", "a\u00e9 B"): ([35, 17, 33, 13], [35, 16, 33, 13], [35, 16, 33, 13], [35, 16, 33, 13]),
    ("AlbertTokenizer", "do_lower_case", "a\u00e9 B"): ([35, 16, 33, 13], [35, 16, 33, 15], [35, 16, 33, 15], [35, 16, 33, 13]),
    ("AlbertTokenizer", "add_prefix_space", "ab \u00e9"): ([35, 13, 33, 16], [36, 16], [36, 16], [35, 13, 33, 16]),
    ("XLNetTokenizer", "keep_accents", "a\u00e9 B"): ([35, 16, 33, 15], [35, 16, 33, 15], [35, 16, 33, 15], [35, 16, 33, 15]),
    ("XLNetTokenizer", "do_lower_case", "a\u00e9 B"): ([35, 16, 33, 13], [35, 16, 33, 15], [35, 16, 33, 15], [35, 16, 33, 15]),
    ("RemBertTokenizer", "keep_accents", "a\u00e9 B"): ([35, 17, 33, 15], [35, 16, 33, 15], [35, 16, 33, 15], [35, 17, 33, 15]),
    ("RemBertTokenizer", "do_lower_case", "a\u00e9 B"): ([35, 17, 33, 13], [35, 17, 33, 15], [35, 17, 33, 15], [35, 17, 33, 15]),
    ("RemBertTokenizer", "add_prefix_space", "ab \u00e9"): ([35, 13, 33, 17], [36, 33, 17], [36, 33, 17], [35, 13, 33, 17]),
    ("DebertaV2Tokenizer", "split_by_punct", "ab.b A"): ([35, 13, 33, 25, 33, 13, 37], [35, 13, 25, 13, 37], [35, 13, 25, 13, 37], [35, 13, 25, 13, 37]),
    ("DebertaV2Tokenizer", "do_lower_case", "ab.b A"): ([35, 13, 25, 13, 35], [35, 13, 25, 13, 37], [35, 13, 25, 13, 37], [35, 13, 25, 13, 37]),
    ("DebertaV2Tokenizer", "add_prefix_space", "ab.b A"): ([35, 13, 25, 13, 37], [35, 13, 25, 13, 37], [35, 13, 25, 13, 37], [35, 13, 25, 13, 37]),
    ("BertTokenizer", "do_lower_case", "aB\u00e9 \u4e2da"): ([47, 30, 24, 5], [5, 29, 31, 24, 5], None, [47, 30, 24, 5]),
    ("BertTokenizer", "strip_accents", "aB\u00e9 \u4e2da"): ([47, 30, 24, 5], [47, 31, 24, 5], [47, 30, 24, 5], [47, 30, 24, 5]),
    ("BertTokenizer", "tokenize_chinese_chars", "aB\u00e9 \u4e2da"): ([47, 30, 24, 5], [47, 30, 24, 26], None, [47, 30, 24, 5]),
    ("XLMRobertaTokenizer", "add_prefix_space", "ab a"): ([35, 13, 35], [36, 12], [36, 12], [35, 13, 35]),
    ("T5Tokenizer", "legacy", "ab</s> a"): ([35, 13, 3, 35], [35, 13, 3, 35], [35, 13, 3, 35], [35, 13, 3, 35]),
    ("RobertaTokenizer", "add_prefix_space", "ab a"): ([228, 264, 265], [264, 265], None, [264, 265]),
    ("LlamaTokenizer", "legacy", "ab</s>a"): ([285, 286, 2, 287], [285, 286, 2, 264], [285, 286, 2, 264], [285, 286, 2, 264]),
    ("LlamaTokenizer", "add_prefix_space", "ab</s>a"): ([285, 286, 2, 264], [286, 2, 264], [285, 286, 2, 264], [285, 286, 2, 264]),
}


class Rebuilt(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name, "folder")
        self.folder.mkdir()

    def write(self, file, config):
        for name, data in (("tokenizer.json", file), ("tokenizer_config.json", config)):
            (self.folder / name).write_text(json.dumps(data), encoding="utf-8")

    def run_program(self, *arguments, text=""):
        return subprocess.run([RANKFEED, *map(str, arguments)], input=text, capture_output=True, text=True, timeout=60)

    def ids(self, vocabulary, lines):
        done = self.run_program("encode", "--vocab", vocabulary, "--jsonl", text="".join(json.dumps({"text": line}) + "\n" for line in lines))
        self.assertEqual(done.returncode, 0, done.stderr)
        return [[int(i) for i in line.split()] for line in done.stdout.splitlines()]

    def compiled(self):
        image = self.folder.parent / "image.rfimg"
        self.assertEqual(self.run_program("compile", self.folder, "-o", image).returncode, 0)
        return image

    def test_flags(self):
        for (kind, key, text), wanted in GOLDEN.items():
            files = [document(kind, *parts) for parts in FILES[kind]]
            for file, (value, want) in itertools.product(files, zip((True, False, None, ABSENT), wanted)):
                if want is None or (value is None and file is files[1]):
                    continue
                with self.subTest(kind, key=key, value=value, file=file["normalizer"] or file["pre_tokenizer"]):
                    self.write(file, {"tokenizer_class": kind, **({} if value is ABSENT else {key: value})})
                    self.assertEqual(self.ids(self.folder, [text]), [want])
            alone = []
            for file in files:
                self.write(file, {"tokenizer_class": kind})
                alone += self.ids(self.folder / "tokenizer.json", [text])
            self.assertTrue(alone[0] != alone[1] or wanted[0] == wanted[1], "the files do not ask for either value")

    def test_drawn_folders(self):
        rng, other = random.Random(5), 0
        for number in range(DRAWN):
            file, config = drawn(rng)
            lines = texts(rng)
            self.write(file, config)
            with self.subTest(number=number, config=config, normalizer=file["normalizer"], pre_tokenizer=file["pre_tokenizer"], model=[*file["model"].items()][:5]):
                theirs = transformers.AutoTokenizer.from_pretrained(self.folder)
                want = [theirs.backend_tokenizer.encode(line, add_special_tokens=False).ids for line in lines]
                self.assertEqual(self.ids(self.folder, lines), want)
                if number % 8 == 0:
                    self.assertEqual(self.ids(self.compiled(), lines), want)
                alone = transformers.PreTrainedTokenizerFast(tokenizer_file=str(self.folder / "tokenizer.json"))(lines, add_special_tokens=False)["input_ids"]
                self.assertEqual(self.ids(self.folder / "tokenizer.json", lines), alone)
                other += alone != want
        self.assertGreaterEqual(other, DRAWN // 3)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
