# SPDX-License-Identifier: MIT
"""tokenizer.json files of every pipeline that Unigram models ship with, over any vocabulary.

bases: Base.from_model / from_json over real files, small_bases() for generated vocabularies.
variants(base) yields (name, dict) in a fixed order; refused(base) yields (name, dict or str) that
an engine must refuse, because they are not Unigram, not supported, or broken.
Run as a program to write the files:  variants.py OUT_DIR [MODEL_OR_JSON ...]
"""

import base64
import copy
import json
import random
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import darts  # noqa: E402
import spm_proto  # noqa: E402

# An example of every normalizer, from the list that the tests of the builder go through.
EXAMPLES = Path(__file__).parents[1] / "builder" / "normalizers.h"
NORMALIZERS = [json.loads(text) for text in re.findall(r'R"\((\{"type".*?\})\)"', EXAMPLES.read_text())]


@dataclass
class Base:
    name: str
    vocab: list  # [piece, score]
    unk_id: int
    charsmap: bytes
    specials: dict = field(default_factory=dict)  # role (cls, sep, pad, unk, mask) -> content
    user_defined: list = field(default_factory=list)

    @staticmethod
    def from_model(path):
        """Pieces in the model's order, as the converters of most families keep them."""
        model = spm_proto.read(Path(path).read_bytes())
        vocab = [[p.decode(), s] for p, s, _ in model.pieces]
        kinds = [k for _, _, k in model.pieces]
        base = Base(Path(path).stem, vocab, kinds.index(spm_proto.UNKNOWN), model.charsmap)
        base.user_defined = [p for (p, _), k in zip(vocab, kinds) if k == spm_proto.USER_DEFINED]
        return base.with_specials()

    @staticmethod
    def from_json(path):
        data = json.loads(Path(path).read_text())
        charsmap = b""

        def walk(node):
            nonlocal charsmap
            if isinstance(node, dict):
                if node.get("type") == "Precompiled":
                    charsmap = base64.b64decode(node["precompiled_charsmap"])
                for child in node.values():
                    walk(child)
            elif isinstance(node, list):
                for child in node:
                    walk(child)

        walk(data["normalizer"])
        name = Path(path).name.removesuffix(".json").removesuffix(".tokenizer")
        return Base(name, data["model"]["vocab"], data["model"]["unk_id"], charsmap).with_specials()

    def with_specials(self):
        pieces = {p for p, _ in self.vocab}

        def first(*names):
            return next((n for n in names if n in pieces), names[0])

        self.specials = {
            "cls": first("<s>", "[CLS]", "<cls>"), "sep": first("</s>", "[SEP]", "<sep>"),
            "pad": first("<pad>", "[PAD]"), "unk": self.vocab[self.unk_id][0],
            "mask": first("<mask>", "[MASK]")}
        return self

    def fragments(self, count=4000, seed=3):
        """A sample of pieces, short ones included, for stress.strings."""
        pieces = [p for p, _ in self.vocab if p]
        return pieces if len(pieces) <= count else random.Random(seed).sample(pieces, count)


# --- Parts of a file -----------------------------------------------------------------------------

def seq(key, parts):
    return {"type": "Sequence", key: parts}


def replace(pattern, content):
    return {"type": "Replace", "pattern": {"String": pattern}, "content": content}


def replace_regex(pattern, content):
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}


def strip(left, right):
    return {"type": "Strip", "strip_left": left, "strip_right": right}


def kind(name, **arguments):
    return {"type": name, **arguments}


def metaspace(scheme="always", split=True, replacement="▁"):
    return kind("Metaspace", replacement=replacement, prepend_scheme=scheme, split=split)


def precompiled(base):
    return kind("Precompiled", precompiled_charsmap=base64.b64encode(base.charsmap).decode())


def added(content, special=True, single_word=False, lstrip=False, rstrip=False, normalized=None):
    return {"id": 0, "content": content, "single_word": single_word, "lstrip": lstrip, "rstrip": rstrip,
            "normalized": (not special) if normalized is None else normalized, "special": special}


def assign_ids(tokens, vocab):
    """Fills in the ids that the reference assigns: the vocabulary's, else the next free one."""
    ids = {}
    for i, (piece, _) in enumerate(vocab):
        ids[piece] = i  # last one wins
    following = len(vocab)
    for token in tokens:
        if token["content"] not in ids:
            ids[token["content"]] = following
            following += 1
        token["id"] = ids[token["content"]]
    return ids


A, B = "A", "B"


def item(what, type_id=0):
    key = "Sequence" if what in (A, B) else "SpecialToken"
    return {key: {"id": what, "type_id": type_id}}


def template(ids, single, pair):
    names = {n for part in (single, pair) for e in part if "SpecialToken" in e
             for n in [e["SpecialToken"]["id"]]}
    return {"type": "TemplateProcessing", "single": single, "pair": pair,
            "special_tokens": {n: {"id": n, "ids": [ids[n]], "tokens": [n]} for n in sorted(names)}}


def assemble(base, normalizer=None, pre_tokenizer=None, decoder=None, post="roberta_template",
             tokens=None, byte_fallback=False, vocab=None, model_type="Unigram"):
    vocab = base.vocab if vocab is None else vocab
    s = base.specials
    tokens = copy.deepcopy(tokens) if tokens is not None else [
        added(s["cls"]), added(s["pad"]), added(s["sep"]), added(s["unk"]), added(s["mask"], lstrip=True)]
    known = {t["content"] for t in tokens}
    for role in ("cls", "sep"):
        if s[role] not in known:
            tokens.append(added(s[role]))
            known.add(s[role])
    tokens += [added(u, special=False, normalized=False) for u in base.user_defined if u not in known]
    ids = assign_ids(tokens, vocab)
    cls, sep = s["cls"], s["sep"]
    if callable(post):
        post = post(ids, cls, sep)
    elif post == "roberta_template":
        post = template(ids, [item(cls), item(A), item(sep)],
                        [item(cls), item(A), item(sep), item(sep), item(B), item(sep)])
    elif post == "bert_template":
        post = template(ids, [item(cls), item(A), item(sep)],
                        [item(cls), item(A), item(sep), item(B, 1), item(sep, 1)])
    elif post == "xlnet_template":
        post = template(ids, [item(A), item(sep), item(cls, 2)],
                        [item(A), item(sep), item(B, 1), item(sep, 1), item(cls, 2)])
    elif post == "eos_template":
        post = template(ids, [item(A), item(sep)], [item(A), item(sep), item(B), item(sep)])
    elif post == "pegasus_template":
        post = template(ids, [item(A), item(sep)], [item(A), item(B), item(sep)])
    model = {"type": model_type, "unk_id": base.unk_id, "vocab": vocab, "byte_fallback": byte_fallback}
    if model_type is None:
        del model["type"]
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": tokens,
            "normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "post_processor": post,
            "decoder": decoder if decoder != "metaspace" else metaspace(), "model": model}


# --- The variants --------------------------------------------------------------------------------

def families(base):
    """What the model families ship."""
    p, spaces = precompiled(base), replace_regex(" {2,}", " ")
    split_meta = seq("pretokenizers", [kind("WhitespaceSplit"), metaspace()])
    a = seq("normalizers", [p, strip(False, True), replace_regex(" {2,}", "▁")])
    c = seq("normalizers", [p, spaces])
    quotes = [replace("``", '"'), replace("''", '"')]

    def make(**arguments):
        return assemble(base, decoder="metaspace", **arguments)

    yield "xlmr_a", make(normalizer=a, pre_tokenizer=metaspace())
    yield "xlmr_b", make(normalizer=p, pre_tokenizer=split_meta)
    yield "xlmr_c", make(normalizer=c, pre_tokenizer=metaspace())
    yield "t5_always", make(normalizer=a, pre_tokenizer=metaspace(), post="eos_template")
    yield "t5_first", make(normalizer=a, pre_tokenizer=metaspace("first"), post="eos_template")
    accents = [kind("NFKD"), kind("StripAccents")]
    yield "albert", make(normalizer=seq("normalizers", quotes + accents + [kind("Lowercase"), p, spaces]),
                         pre_tokenizer=split_meta, post="bert_template")
    yield "xlnet", make(normalizer=seq("normalizers", quotes + [p, spaces]), pre_tokenizer=metaspace(),
                        post="xlnet_template")
    yield "xlnet_accents", make(normalizer=seq("normalizers", quotes + accents + [p, spaces]),
                                pre_tokenizer=split_meta, post="xlnet_template")
    v4 = [strip(True, True), p, spaces]
    yield "deberta_v4", make(normalizer=seq("normalizers", v4), pre_tokenizer=seq("pretokenizers", [metaspace()]),
                             post="bert_template")
    yield "deberta_v4_punct", make(
        normalizer=seq("normalizers", [kind("Lowercase")] + v4), post="bert_template",
        pre_tokenizer=seq("pretokenizers", [kind("Punctuation", behavior="Isolated"), metaspace()]))
    yield "deberta_v5", make(
        normalizer=seq("normalizers", [replace_regex(r"\s{2,}|[\n\r\t]", " "), kind("NFC"), strip(False, True)]),
        pre_tokenizer=seq("pretokenizers", [kind("Punctuation", behavior="Isolated"), metaspace()]),
        post="bert_template")
    each_digit = kind("Digits", individual_digits=True)
    yield "deberta_v4_digits", make(
        normalizer=seq("normalizers", v4), post="bert_template",
        pre_tokenizer=seq("pretokenizers", [each_digit, metaspace()]))
    yield "nfkc_digits_punct", make(
        normalizer=seq("normalizers", [kind("NFKC"), spaces]),
        pre_tokenizer=seq("pretokenizers", [each_digit, kind("Punctuation", behavior="Isolated"), metaspace()]),
        post="bert_template")
    def beside(*elements):
        return seq("pretokenizers", [*elements, metaspace()])

    def signs(behavior):
        return kind("Punctuation", behavior=behavior)

    numbers = kind("Digits", individual_digits=False)
    for name, *elements in (("numbers", numbers), ("runs", signs("Contiguous")), ("previous", signs("MergedWithPrevious")),
                            ("next", signs("MergedWithNext")), ("removed", signs("Removed")), ("whitespace", kind("Whitespace")),
                            ("split", kind("Split", pattern={"String": "-"}, behavior="MergedWithPrevious", invert=False)),
                            ("words_numbers_punct", kind("WhitespaceSplit"), numbers, signs("Isolated"))):
        yield f"deberta_v4_{name}", make(normalizer=seq("normalizers", v4), pre_tokenizer=beside(*elements), post="bert_template")
    yield "camembert", make(
        normalizer=seq("normalizers", [replace("\n", " "), replace("\r", " "), replace("\t", " "), p,
                                       strip(True, True), spaces]),
        pre_tokenizer=metaspace(), post=lambda ids, cls, sep: kind(
            "RobertaProcessing", sep=[sep, ids[sep]], cls=[cls, ids[cls]], trim_offsets=True,
            add_prefix_space=True))
    language = added("en_XX")
    yield "mbart", make(
        normalizer=c, pre_tokenizer=metaspace(),
        tokens=[added(base.specials["cls"]), added(base.specials["pad"]), added(base.specials["sep"]),
                added(base.specials["unk"]), language, added("ro_RO"), added(base.specials["mask"], lstrip=True)],
        post=lambda ids, cls, sep: template(ids, [item("en_XX"), item(A), item(sep)],
                                            [item("en_XX"), item(A), item(B), item(sep)]))
    yield "pegasus", make(normalizer=c, pre_tokenizer=split_meta, post="pegasus_template")
    yield "rembert", make(normalizer=seq("normalizers", quotes + [spaces, p]), pre_tokenizer=metaspace(),
                          post="bert_template")
    yield "bigbird", make(normalizer=replace_regex(" {2,}", "▁"), pre_tokenizer=metaspace(), post="bert_template")
    yield "legacy_no_type", make(normalizer=p, pre_tokenizer=split_meta, model_type=None)


def metaspaces(base):
    p = precompiled(base)

    def make(pre_tokenizer, decoder=None):
        return assemble(base, normalizer=p, pre_tokenizer=pre_tokenizer, decoder=decoder or "metaspace")

    for scheme in ("always", "first", "never"):
        for split in (True, False):
            m = metaspace(scheme, split)
            yield f"meta_{scheme}_{'split' if split else 'whole'}", make(m, m)
    yield "meta_defaults", make(kind("Metaspace", replacement="▁"))
    legacy = kind("Metaspace", replacement="▁", str_rep="▁", add_prefix_space=True)
    yield "meta_legacy", make(legacy, legacy)
    both = kind("Metaspace", replacement="▁", add_prefix_space=False, prepend_scheme="never")
    yield "meta_legacy_never", make(both, both)
    yield "meta_underscore", make(metaspace(replacement="_"), metaspace(replacement="_"))
    yield "normalizer_null", assemble(base, pre_tokenizer=metaspace(), decoder="metaspace")
    yield "pre_tokenizer_null", assemble(base, normalizer=p, decoder="metaspace")
    yield "all_null", assemble(base, post=None)
    yield "split_then_first", make(seq("pretokenizers", [kind("WhitespaceSplit"), metaspace("first")]))


def pre_tokenizers(base):
    p = precompiled(base)

    def make(*parts):
        pre = parts[0] if len(parts) == 1 else seq("pretokenizers", list(parts))
        return assemble(base, normalizer=p, pre_tokenizer=pre, decoder="metaspace")

    yield "whitespace", make(kind("Whitespace"))
    yield "whitespace_meta", make(kind("Whitespace"), metaspace())
    yield "whitespace_split", make(kind("WhitespaceSplit"))
    behaviors = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
    for behavior in behaviors:
        yield f"punct_{behavior.lower()}", make(kind("Punctuation", behavior=behavior), metaspace())
    for individual in (True, False):
        digits = kind("Digits", individual_digits=individual)
        yield f"digits_{'each' if individual else 'runs'}", make(digits, metaspace())
        yield f"meta_digits_{'each' if individual else 'runs'}", make(metaspace(), digits)
    yield "punct_alone", assemble(base, pre_tokenizer=kind("Punctuation", behavior="Isolated"))
    yield "sequence_empty", make(seq("pretokenizers", []))
    yield "sequence_nested", make(seq("pretokenizers", [seq("pretokenizers", [kind("WhitespaceSplit")]), metaspace()]))


def normalizers(base):
    p = precompiled(base)

    def make(*parts):
        n = parts[0] if len(parts) == 1 else seq("normalizers", list(parts))
        return assemble(base, normalizer=n, pre_tokenizer=metaspace(), decoder="metaspace")

    for i, example in enumerate(NORMALIZERS):
        yield f"norm_{i}_{example['type'].lower()}", make(example)
    yield "norm_nfkd_accents_lower", make(kind("NFKD"), kind("StripAccents"), kind("Lowercase"))
    yield "norm_nmt_nfkc", make(kind("Nmt"), kind("NFKC"), replace_regex(" {2,}", " "))
    yield "norm_nfd_precompiled", make(kind("NFD"), p)
    yield "norm_precompiled_nfc", make(p, kind("NFC"))
    for left in (False, True):
        for right in (False, True):
            yield f"norm_strip_{int(left)}{int(right)}", make(strip(left, right))
    yield "norm_prepend", make(kind("Prepend", prepend="▁"))
    yield "norm_prepend_text", make(kind("Prepend", prepend="ab "), p)
    yield "norm_llama", assemble(
        base, normalizer=seq("normalizers", [kind("Prepend", prepend="▁"), replace(" ", "▁")]),
        decoder=seq("decoders", [replace("▁", " "), kind("ByteFallback"), kind("Fuse"),
                                 kind("Strip", content=" ", start=1, stop=0)]))
    yield "norm_replace", make(replace("a", "bc"))
    yield "norm_replace_empty", make(replace(",", ""))
    yield "norm_replace_longer", make(replace("aa", "a"), p)
    yield "norm_replace_mark", make(replace("\u0301", ""))
    # What several characters become may begin with a space, also at the begin of a text.
    yield "norm_replace_to_space", make(replace("aa", " "), replace("e ", " x"))
    for name, rules in (("pair", {"\r\n": " "}), ("cr", {"\r": "x"}), ("cr_gone", {"\r": ""}),
                        ("both", {"\r": " ", "\n": " "})):
        line_ends = {k.encode(): v.encode() for k, v in {**rules, "\u0391": "a"}.items()}
        charsmap = base64.b64encode(darts.build(line_ends)).decode()
        yield f"norm_line_ends_{name}", make(kind("Precompiled", precompiled_charsmap=charsmap))
    yield "norm_spaces_2", make(replace_regex(" {2,}", " "))
    yield "norm_spaces_meta", make(p, replace_regex(" {2,}", "▁"))
    yield "norm_replace_regex_special", make(replace("a.b", "x"), replace("(", "["))
    yield "norm_whitespace_run", make(replace_regex(r"\s{2,}|[\n\r\t]", " "))
    yield "norm_sequence_empty", make(seq("normalizers", []))
    yield "norm_sequence_nested", make(seq("normalizers", [seq("normalizers", [p]), strip(True, True)]))
    yield "norm_twice", make(p, p)


def added_tokens(base):
    p = precompiled(base)
    split_meta = seq("pretokenizers", [kind("WhitespaceSplit"), metaspace()])

    def make(tokens, normalizer=p, pre=None):
        s = base.specials
        return assemble(base, normalizer=normalizer, pre_tokenizer=pre or metaspace(), decoder="metaspace",
                        tokens=[added(s["cls"]), added(s["sep"]), added(s["unk"])] + tokens)

    for flags in range(16):
        word, left, right, norm = (bool(flags >> k & 1) for k in range(4))
        tokens = [added(t, special=False, single_word=word, lstrip=left, rstrip=right, normalized=norm)
                  for t in ("the", "<mask>", "oo", "ooo", "▁a", "é", "a b", "1")]
        name = "added_" + ("".join(n for n, on in zip("wlrn", (word, left, right, norm)) if on) or "plain")
        yield name, make(tokens)
    lower = seq("normalizers", [kind("Lowercase"), kind("NFD"), p])
    # No two normalized tokens that normalize alike: which of them the reference takes differs from
    # one load of the file to the next (the order of a hash map).
    mixed = [added("<mask>", lstrip=True), added("The", special=False), added("the", normalized=False), added("É", special=False), added("Ａ", special=False),
             added("<mask>x", rstrip=True), added("<", special=False, single_word=True)]
    yield "added_lower", make(mixed, lower)
    yield "added_lower_first", make(mixed, lower, metaspace("first"))
    yield "added_mixed_split", make(mixed, p, split_meta)
    yield "added_prefixes", make([added(t, special=False, normalized=False) for t in
                                  ("a", "ab", "abc", "abcd", "bc", " ", "  ", "\n", "\u0301", "日")])
    wrong_ids = make(mixed)
    for token in wrong_ids["added_tokens"]:
        if token["id"] >= len(base.vocab):
            token["id"] += 9000
    yield "added_ids_far", wrong_ids


def posts(base):
    p, s = precompiled(base), base.specials

    def make(post, **arguments):
        return assemble(base, normalizer=p, pre_tokenizer=metaspace(), decoder="metaspace", post=post, **arguments)

    def roberta(trim, prefix):
        return lambda ids, cls, sep: kind("RobertaProcessing", sep=[sep, ids[sep]], cls=[cls, ids[cls]],
                                          trim_offsets=trim, add_prefix_space=prefix)

    def bert(ids, cls, sep):
        return kind("BertProcessing", sep=[sep, ids[sep]], cls=[cls, ids[cls]])

    for trim in (True, False):
        for prefix in (True, False):
            yield f"post_roberta_{int(trim)}{int(prefix)}", make(roberta(trim, prefix))
    yield "post_bert", make(bert)
    yield "post_null", make(None)
    yield "post_sequence", make(lambda ids, cls, sep: seq("processors", [bert(ids, cls, sep)]))

    def many(ids, cls, sep):
        out = template(ids, [item(cls, 3), item(A, 1)], [item(sep, 2), item(B, 1), item(cls), item(A, 5)])
        out["special_tokens"][cls] = {"id": cls, "ids": [ids[cls], ids[sep], ids[cls]], "tokens": [cls, sep, cls]}
        return out

    yield "post_template_many", make(many)
    yield "post_template_bare", make(lambda ids, cls, sep: template(ids, [item(A)], [item(A), item(B, 1)]))


def decoders(base):
    p = precompiled(base)

    def make(decoder, **arguments):
        return assemble(base, normalizer=p, pre_tokenizer=metaspace(), decoder=decoder, **arguments)

    yield "decode_null", make(None)
    for scheme in ("always", "first", "never"):
        yield f"decode_meta_{scheme}", make(metaspace(scheme))
    yield "decode_replace", make(replace("▁", " "))
    yield "decode_fuse", make(kind("Fuse"))
    yield "decode_strip", make(seq("decoders", [replace("▁", " "), kind("Fuse"), kind("Strip", content=" ", start=1, stop=1)]))
    yield "decode_bytes", make(seq("decoders", [kind("ByteFallback"), metaspace()]))
    yield "decode_bytes_fuse", make(seq("decoders", [kind("ByteFallback"), kind("Fuse"), replace("▁", " ")]))


def byte_fallbacks(base):
    """byte_fallback with all byte pieces, with some, and byte pieces without byte_fallback."""
    have = {p for p, _ in base.vocab}
    full = [[f"<0x{b:02X}>", 0.0] for b in range(256) if f"<0x{b:02X}>" not in have]
    # Latin capitals leave the vocabulary, so that ordinary text needs the fallback too.
    small = [[p, s] for i, (p, s) in enumerate(base.vocab)
             if i == base.unk_id or p in base.specials.values() or not any("A" <= c <= "Z" for c in p)]
    unk = next(i for i, (p, _) in enumerate(small) if p == base.vocab[base.unk_id][0])
    fallback = copy.copy(base)
    fallback.unk_id = unk
    p = precompiled(base)
    decoder = seq("decoders", [kind("ByteFallback"), metaspace()])
    for name, bytes_, on in (("all", full, True), ("some", full[:0x90], True), ("off", full, False),
                             ("none", [], True)):
        yield f"bytes_{name}", assemble(fallback, normalizer=p, pre_tokenizer=metaspace(), decoder=decoder,
                                        byte_fallback=on, vocab=small + bytes_)
    yield "bytes_whole", assemble(fallback, pre_tokenizer=metaspace("never", False), decoder=decoder,
                                  byte_fallback=True, vocab=small + full)
    missing = assemble(fallback, normalizer=p, pre_tokenizer=metaspace(), decoder="metaspace", vocab=small)
    missing["model"]["unk_id"] = None
    yield "unk_null", missing
    yield "scores_integer", assemble(base, normalizer=p, pre_tokenizer=metaspace(), decoder="metaspace",
                                     vocab=[[piece, round(score)] for piece, score in base.vocab])


GROUPS = [families, metaspaces, pre_tokenizers, normalizers, added_tokens, posts, decoders, byte_fallbacks]


def variants(base, groups=GROUPS):
    for group in groups:
        yield from group(base)


# --- Files that must be refused ------------------------------------------------------------------

def refused(base):
    p = precompiled(base)
    tiny = [["<unk>", 0.0], ["▁", -1.0], ["a", -2.0]]

    def make(**arguments):
        small = Base("tiny", tiny, 0, base.charsmap).with_specials()
        return assemble(small, vocab=tiny, **arguments)

    def with_model(model):
        out = make()
        out["model"] = model
        return out

    yield "model_bpe_dropout", with_model({"type": "BPE", "vocab": {"a": 0}, "merges": [], "dropout": 0.5})
    yield "model_bpe_untyped", with_model({"vocab": {"a": 0}, "merges": ["a b"]})
    yield "model_wordlevel", with_model({"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"})
    yield "model_unknown", with_model({"type": "Trigram", "vocab": tiny, "unk_id": 0})
    yield "unk_id_outside", with_model({"type": "Unigram", "unk_id": 3, "vocab": tiny})
    yield "unk_id_negative", with_model({"type": "Unigram", "unk_id": -1, "vocab": tiny})
    yield "vocab_empty_with_unk", with_model({"type": "Unigram", "unk_id": 0, "vocab": []})
    yield "vocab_missing", with_model({"type": "Unigram", "unk_id": 0})
    yield "vocab_not_pairs", with_model({"type": "Unigram", "unk_id": 0, "vocab": [["a", 1, 2]]})
    yield "vocab_score_text", with_model({"type": "Unigram", "unk_id": 0, "vocab": [["a", "b"]]})
    for name, part in (("byte_level", kind("ByteLevel", add_prefix_space=False, trim_offsets=True, use_regex=True)),
                       ("scripts", kind("UnicodeScripts")),
                       ("split_regex", kind("Split", pattern={"Regex": r"\p{L}+|\d"}, behavior="Isolated", invert=False)),
                       ("unknown", kind("Telepathy")), ("metaspace_two_chars", metaspace(replacement="▁▁")),
                       ("metaspace_scheme", metaspace("sometimes")),
                       ("metaspace_contradiction", {**metaspace("always"), "add_prefix_space": False}),
                       # 0.23.2 takes an absent prepend_scheme for "always" here too.
                       ("metaspace_no_prefix", kind("Metaspace", replacement="▁", str_rep="▁", add_prefix_space=False)),
                       ("punctuation_behavior", kind("Punctuation", behavior="Sideways"))):
        yield f"pre_{name}", make(pre_tokenizer=part)
        yield f"pre_sequence_{name}", make(pre_tokenizer=seq("pretokenizers", [part, metaspace()]))
    for name, part in (("byte_level", kind("ByteLevel")), ("unknown", kind("Shout")),
                       ("regex", replace_regex(r"(\w)\1", "x")),
                       ("regex_lookahead", replace_regex(r"a(?=b)", "x")),
                       ("precompiled_garbled", kind("Precompiled", precompiled_charsmap="AAECAwQ=")),
                       ("precompiled_not_base64", kind("Precompiled", precompiled_charsmap="%%%"))):
        yield f"norm_{name}", make(normalizer=part)
        yield f"norm_sequence_{name}", make(normalizer=seq("normalizers", [part, p]))
    bad_trie = bytearray(base.charsmap)
    bad_trie[0:4] = (len(bad_trie) + 400).to_bytes(4, "little")
    yield "norm_precompiled_size", make(normalizer=kind(
        "Precompiled", precompiled_charsmap=base64.b64encode(bytes(bad_trie)).decode()))
    for name, part in (("unknown", kind("Stapler")),
                       ("template_missing_special", {"type": "TemplateProcessing", "single": [item("<nope>"), item(A)],
                                                     "pair": [item(A), item(B)], "special_tokens": {}})):
        yield f"post_{name}", make(post=lambda *_, part=part: part)
    for name, part in (("bpe", kind("BPEDecoder", suffix="</w>")),
                       ("ctc", kind("CTC", pad_token="<pad>", word_delimiter_token="|", cleanup=True)),
                       ("byte_level_second", seq("decoders", [kind("Fuse"), kind("ByteLevel", add_prefix_space=True,
                                                                                 trim_offsets=True, use_regex=True)])),
                       ("unknown", kind("Unscramble"))):
        yield f"decode_{name}", make(decoder=part)
    good = json.dumps(make(normalizer=None, pre_tokenizer=metaspace()))
    yield "json_truncated", good[:len(good) // 2]
    yield "json_trailing", good + "]"
    yield "json_empty", ""
    yield "json_array", "[]"
    yield "json_nan", good.replace("-2.0", "NaN")
    yield "json_no_model", json.dumps({k: v for k, v in json.loads(good).items() if k != "model"})


# --- Generated vocabularies ----------------------------------------------------------------------

TRAP_RULES = {  # shortest against longest key, growth, removal, clusters, a Prepend character
    "Ａ": "A", "a\u0301": "á", "a\u0301\u0323": "ạ́", "\u0301": "'", "ab": "X", "abc": "Y", "\r\n": " ",
    "\n": " ", "\t": " ", "\u00a0": " ", "\u3000": " ", "\u200d": " ", "\u0001": "", "\u00ad": "",
    "ﷺ": "صلى الله عليه وسلم", "½": "1⁄2", "\u0958": "\u0915\u093c", "™": "TM", "©": "(c)",
    "\u0600": "N", "\u1100": "g", "\u2581": " ", "ｶ": "カ", "ｶﾞ": "ガ", "é": "e\u0301", "\U0001f600": ":)",
}


def trap_charsmap():
    return darts.build({k.encode(): v.encode() for k, v in TRAP_RULES.items()})


def small_base(seed, charsmap=None):
    """A vocabulary of 10 to 120 pieces with ties, duplicates and many unknown characters."""
    r = random.Random(seed)
    letters = r.choice(["ab", "abo", "abcxy", "oO0é", "aA\u0301カ", "the rainspdog".replace(" ", ""), "世界ab"])
    scores = r.choice([[-1.0, -2.0, -3.0], [-1.5, -3.0], [-0.1, -0.2, -0.3, -0.6],
                       [round(-r.random() * 12, 5) for _ in range(40)]])
    vocab = [["<s>", 0.0], ["<pad>", 0.0], ["</s>", 0.0], ["<unk>", 0.0]]
    if r.random() < 0.3:
        vocab = [["<unk>", r.choice([0.0, -1.0])], ["<s>", 0.0], ["</s>", 0.0]]
    for _ in range(r.randint(6, 110)):
        piece = "".join(r.choices(letters, k=r.randint(1, 5)))
        if r.random() < 0.35:
            piece = "▁" + piece
        elif r.random() < 0.05:
            piece = piece[:1] + "▁" + piece[1:]
        vocab.append([piece, r.choice(scores)])
    if r.random() < 0.7:
        vocab.append(["▁", r.choice(scores)])
    if r.random() < 0.3:
        vocab += [[p, r.choice(scores)] for p, _ in r.sample(vocab[4:], 3)]  # duplicates
    unk = next(i for i, (p, _) in enumerate(vocab) if p == "<unk>")
    return Base(f"small{seed}", vocab, unk, charsmap or trap_charsmap()).with_specials()


def write_all(directory, bases):
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    for base in bases:
        for name, data in variants(base):
            (directory / f"{base.name}.{name}.json").write_text(json.dumps(data, ensure_ascii=False))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    chosen = [Base.from_json(x) if x.endswith(".json") else Base.from_model(x) for x in sys.argv[2:]]
    write_all(sys.argv[1], chosen or [small_base(1)])
