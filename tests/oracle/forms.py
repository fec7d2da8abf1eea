# SPDX-License-Identifier: MIT
"""tokenizer.json of every form that Unigram models are published in, over the real XLM-R vocabulary.

  forms.py --list
  forms.py --form deberta-v3 -o FILE [--base tokenizer.json] [--pieces N]
  forms.py --all DIR [--base tokenizer.json] [--pieces N]

A form is a family's vocabulary order, special tokens and template with one normalizer and pre-tokenizer. Plain names
are what the converters of transformers write from a SentencePiece model; names ending in -rebuilt are what a class of
transformers 5 makes of such a file when it is loaded: it keeps vocabulary, charsmap and template and puts its own
normalizer and pre-tokenizer in place. forms_judge.py holds both against transformers itself.

The base gives the pieces and the charsmap; --pieces keeps the first N pieces only, for quick runs.
"""

import argparse
import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from variants import Base, added, kind, metaspace, precompiled, replace, replace_regex, seq, strip  # noqa: E402

MBART_CODES = ("ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT lv_LV my_MM "
               "ne_NP nl_XX ro_RO ru_RU si_LK tr_TR vi_VN zh_CN").split()
MBART50_CODES = MBART_CODES + (
    "af_ZA az_AZ bn_IN fa_IR he_IL hr_HR id_ID ka_GE km_KH mk_MK ml_IN mn_MN mr_IN pl_PL ps_AF pt_XX sv_SE sw_KE ta_IN "
    "te_IN th_TH tl_XX uk_UA ur_PK xh_ZA gl_ES sl_SI").split()
EXTRA_IDS = [f"<extra_id_{i}>" for i in range(99, -1, -1)]
PEGASUS_UNKNOWN = [f"<unk_{i}>" for i in range(2, 103)]
MADE_UP = [f"<madeupword{i}>" for i in range(7)]


@dataclass
class Family:
    """What all forms of a family share: the order of the vocabulary, the added tokens, the template."""
    tokenizer_class: str
    head: list                  # pieces before the base's, of score 0 where they are plain strings
    tail: list = field(default_factory=list)
    unk: str = "<unk>"
    single: str = "$A"          # in the notation of TemplateProcessing
    pair: str = "$A $B:1"
    special: list | None = None  # added tokens in order; by default the head
    mask: str | None = None     # takes the whitespace before it
    beyond: list = field(default_factory=list)  # special tokens that are no pieces
    digits_with_comma: float = 0.0  # added to the score of pieces like "16,"
    flags: dict = field(default_factory=dict)   # of added tokens that differ: content -> fields
    unused: list = field(default_factory=list)  # special tokens that the template lists and does not use


def is_digit_with_comma(piece):
    return len(piece) > 1 and piece[-1] == "," and piece[-2].isdigit()


FAIRSEQ = ["<s>", "<pad>", "</s>", "<unk>"]
BERT = {"single": "[CLS] $A [SEP]", "pair": "[CLS] $A [SEP] $B:1 [SEP]:1"}
ROBERTA = {"single": "<s> $A </s>", "pair": "<s> $A </s> </s> $B </s>"}
T5_TEMPLATE = {"single": "$A </s>", "pair": "$A </s> $B </s>"}

FAMILIES = {
    "albert": Family("AlbertTokenizer", ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"], mask="[MASK]",
                     digits_with_comma=-100.0, **BERT),
    "bigbird": Family("BigBirdTokenizer", ["<pad>", "</s>", "<s>", "<unk>", "[CLS]", "[SEP]", "[MASK]"],
                      mask="[MASK]", **BERT),
    "camembert": Family("CamembertTokenizer",
                        ["<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", ["<unk>NOTUSED", -100.0], "<s>", "</s>"],
                        ["<mask>"], mask="<mask>", **ROBERTA),
    "deberta": Family("DebertaV2Tokenizer", ["[PAD]", "[CLS]", "[SEP]", "[UNK]"], unk="[UNK]", beyond=["[MASK]"],
                      **BERT),
    "mbart": Family("MBartTokenizer", FAIRSEQ, [*MBART_CODES, "<mask>"], mask="<mask>",
                    single="$A </s> en_XX", pair="$A $B </s> en_XX"),
    "mbart50": Family("MBart50Tokenizer", FAIRSEQ, [*MBART50_CODES, "<mask>"], mask="<mask>",
                      single="en_XX $A </s>", pair="en_XX $A $B </s>"),
    "mluke": Family("MLukeTokenizer", FAIRSEQ, ["<mask>"], mask="<mask>", single=ROBERTA["single"],
                    pair="<s> $A </s> </s> $B:1 </s>:1",
                    beyond=["▁<ent>", "▁<ent2>", "[UNK]", "[PAD]", "[MASK]", "[MASK2]"]),
    "mt5": Family("T5Tokenizer", ["<pad>", "</s>", "<unk>"], **T5_TEMPLATE),
    "pegasus": Family("PegasusTokenizer", ["<pad>", "</s>", "<mask_1>", "<mask_2>",
                                           *([u, -100.0] for u in PEGASUS_UNKNOWN), "<unk>"],
                      single="$A </s>", pair="$A $B </s>"),
    "rembert": Family("RemBertTokenizer", ["<pad>", "</s>", "<unk>", "[CLS]", "[SEP]", "[MASK]"], mask="[MASK]", **BERT),
    "t5": Family("T5Tokenizer", ["<pad>", "</s>", "<unk>"], EXTRA_IDS, **T5_TEMPLATE),
    # Written by releases in which the sentinels took the whitespace around them.
    "umt5": Family("T5Tokenizer", ["<pad>", "</s>", "<unk>"], EXTRA_IDS, **T5_TEMPLATE,
                   flags={e: {"lstrip": True, "rstrip": True} for e in EXTRA_IDS}),
    "xglm": Family("XGLMTokenizer", FAIRSEQ, MADE_UP, single="</s> $A", pair="</s> $A </s> </s> $B",
                   unused=["<s>"]),
    "xlmr": Family("XLMRobertaTokenizer", FAIRSEQ, ["<mask>"], mask="<mask>", **ROBERTA),
    "xlnet": Family("XLNetTokenizer", ["<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>"],
                    mask="<mask>", single="$A <sep> <cls>:2", pair="$A <sep> $B:1 <sep>:1 <cls>:2",
                    digits_with_comma=-100.0),
    # Byte fallback in the file; the line feed is a piece and ends every other.
    "helium": Family("PreTrainedTokenizerFast", ["<unk>", "<s>", "</s>", "<pad>"], single="<s> $A",
                     pair="<s> $A <s> $B", special=["<s>", "</s>", "<pad>", "\n"],
                     flags={"\n": {"special": False}, **{t: {"single_word": True} for t in ("<s>", "</s>", "<pad>")}}),
    # A model without a class of its own: the order of the .model, no template.
    "model": Family("TokenizersBackend", ["<unk>", "<s>", "</s>"]),
}


@dataclass
class Form:
    name: str
    family: str
    normalizer: dict | None
    pre_tokenizer: dict | None
    decoder: dict = field(default_factory=metaspace)
    config: dict = field(default_factory=dict)  # of tokenizer_config.json, as the class takes it
    tokenizer_class: str = ""   # where it is not the family's
    byte_fallback: bool = False
    flags: dict = field(default_factory=dict)   # of added tokens, over the family's
    unk_id: int | None = None   # where it is not the family's

    @property
    def rebuilt(self):
        return self.name.endswith("-rebuilt")


WORDS = seq("pretokenizers", [kind("WhitespaceSplit"), metaspace()])
SPACES = replace_regex(" {2,}", " ")
STRIP_RIGHT = strip(False, True)
TO_META = [STRIP_RIGHT, replace_regex(" {2,}", "▁")]
QUOTES = [replace("``", '"'), replace("''", '"')]
ACCENTS = [kind("NFKD"), kind("StripAccents")]
LOWER = kind("Lowercase")


def normalizers(*parts):
    return seq("normalizers", list(parts))


def written(p):
    """What converters write. p: the Precompiled normalizer."""
    a, c = normalizers(p, *TO_META), normalizers(p, SPACES)
    yield Form("xlmr-a", "xlmr", a, metaspace())
    yield Form("xlmr-b", "xlmr", p, WORDS)
    yield Form("xlmr-c", "xlmr", c, metaspace())
    for name, parts, config in (
            ("albert-uncased", [*ACCENTS, LOWER], {"do_lower_case": True, "keep_accents": False}),
            ("albert-cased", ACCENTS, {"do_lower_case": False, "keep_accents": False}),
            ("albert-accents", [], {"do_lower_case": False, "keep_accents": True})):
        yield Form(name, "albert", normalizers(*QUOTES, *parts, p, SPACES), metaspace(), config=config)
    yield Form("bigbird", "bigbird", a, metaspace())
    yield Form("camembert", "camembert", a, metaspace())
    for name, lower, punctuation in deberta_names():
        yield Form(name, "deberta", normalizers(*([LOWER] if lower else []), strip(True, True), p, SPACES),
                   deberta_pieces(punctuation), config={"do_lower_case": lower, "split_by_punct": punctuation})
    yield Form("mbart", "mbart", a, metaspace())
    yield Form("mbart50", "mbart50", a, metaspace())
    yield Form("mt5", "mt5", a, metaspace())
    yield Form("pegasus", "pegasus", a, WORDS)
    yield Form("pegasus-c", "pegasus", c, WORDS)
    for name, parts, config in (("rembert", [], {"do_lower_case": False, "keep_accents": True}),
                                ("rembert-uncased", [*ACCENTS, LOWER], {"do_lower_case": True, "keep_accents": False})):
        yield Form(name, "rembert", normalizers(*QUOTES, SPACES, *parts, p), metaspace(), config=config)
    yield Form("t5", "t5", a, metaspace())
    yield Form("t5-first", "t5", a, metaspace("first"), metaspace("first"))
    yield Form("t5-b", "t5", p, WORDS)
    yield Form("umt5", "umt5", c, metaspace())
    yield Form("xglm", "xglm", a, metaspace())
    for name, parts, config in (("xlnet", ACCENTS, {"do_lower_case": False, "keep_accents": False}),
                                ("xlnet-uncased", [*ACCENTS, LOWER], {"do_lower_case": True, "keep_accents": False}),
                                ("xlnet-accents", [], {"do_lower_case": False, "keep_accents": True})):
        yield Form(name, "xlnet", normalizers(*QUOTES, *parts, p, SPACES), metaspace(), config=config)


    bytes_decoder = seq("decoders", [replace("▁", " "), kind("ByteFallback"), kind("Fuse"),
                                     kind("Strip", content=" ", start=1, stop=0)])
    yield Form("moshi", "model", normalizers(p, replace(" ", "▁")), metaspace("first", split=False), bytes_decoder,
               byte_fallback=True)
    split = kind("Split", pattern={"String": "\n"}, behavior="Contiguous", invert=False)
    yield Form("helium", "helium", normalizers(kind("Prepend", prepend=" "), replace(" ", "▁")),
               seq("pretokenizers", [split]), bytes_decoder, byte_fallback=True)


def deberta_names():
    for lower in (False, True):
        for punctuation in (False, True):
            yield "deberta-v3" + "-lower" * lower + "-punct" * punctuation, lower, punctuation


def deberta_pieces(punctuation):
    parts = [kind("Punctuation", behavior="Isolated")] if punctuation else []
    return seq("pretokenizers", [*parts, metaspace()])


def rebuilt(p):
    """What classes of transformers 5 make of them."""
    yield Form("xlmr-rebuilt", "xlmr", p, WORDS)
    for name, parts, config in (
            ("albert-uncased-rebuilt", [*ACCENTS, LOWER], {"do_lower_case": True, "keep_accents": False}),
            ("albert-cased-rebuilt", ACCENTS, {"do_lower_case": False, "keep_accents": False}),
            ("albert-accents-rebuilt", [], {"do_lower_case": False, "keep_accents": True})):
        yield Form(name, "albert", normalizers(*QUOTES, *parts, p), WORDS, config=config)
    yield Form("bigbird-rebuilt", "bigbird", normalizers(strip(False, False), replace_regex(" {2,}", "▁")), metaspace())
    yield Form("camembert-rebuilt", "camembert", p, WORDS)
    for name, lower, punctuation in deberta_names():
        parts = [replace_regex(r"\s{2,}|[\n\r\t]", " "), kind("NFC"), STRIP_RIGHT]
        yield Form(name + "-rebuilt", "deberta", normalizers(*([LOWER] if lower else []), *parts),
                   deberta_pieces(punctuation), config={"do_lower_case": lower, "split_by_punct": punctuation})
    yield Form("layoutxlm-rebuilt", "xlmr", normalizers(*TO_META), metaspace(), tokenizer_class="LayoutXLMTokenizer")
    # The two classes below count on another order of the vocabulary, and take one of its pieces for the unknown one.
    yield Form("lasr-rebuilt", "t5", p, WORDS, tokenizer_class="LasrTokenizer", unk_id=3)
    yield Form("mluke-rebuilt", "mluke", normalizers(*QUOTES), metaspace(), unk_id=0)
    yield Form("mbart-rebuilt", "mbart", None, WORDS)
    yield Form("mbart50-rebuilt", "mbart50", normalizers(p, SPACES), metaspace())
    yield Form("pegasus-rebuilt", "pegasus", normalizers(p, SPACES), metaspace())
    for name, parts, config in (("rembert-rebuilt", [], {"do_lower_case": False, "keep_accents": True}),
                                ("rembert-uncased-rebuilt", [*ACCENTS, LOWER],
                                 {"do_lower_case": True, "keep_accents": False})):
        # The class gives its mask token as a string, before the file's flags are read.
        yield Form(name, "rembert", normalizers(*QUOTES, SPACES, *parts, p), metaspace(), config=config,
                   flags={"[MASK]": {"lstrip": False}})
    yield Form("t5-rebuilt", "t5", p, WORDS)
    yield Form("udop-rebuilt", "t5", None, WORDS, tokenizer_class="UdopTokenizer")
    yield Form("xglm-rebuilt", "xglm", normalizers(p, SPACES), metaspace())
    for name, parts, config in (("xlnet-rebuilt", ACCENTS, {"do_lower_case": False}),
                                ("xlnet-uncased-rebuilt", [*ACCENTS, LOWER], {"do_lower_case": True})):
        yield Form(name, "xlnet", normalizers(*QUOTES, *parts, p), WORDS, config=config)
    to_space = replace("▁", " ")
    yield Form("model-rebuilt", "model", normalizers(p, replace(" ", "▁")), None,
               seq("decoders", [to_space]))
    yield Form("model-bytes-rebuilt", "model", normalizers(p, replace(" ", "▁")), None,
               seq("decoders", [to_space, kind("ByteFallback"), kind("Fuse")]), byte_fallback=True)


def forms(charsmap_of):
    """name -> Form, in a fixed order. charsmap_of: a Base."""
    p = precompiled(charsmap_of)
    return {form.name: form for group in (written(p), rebuilt(p)) for form in group}


NAMES = list(forms(Base("", [], 0, b"")))


def base_of_xlmr(path, pieces=None):
    """The pieces of XLM-R without the special ones, and its charsmap."""
    base = Base.from_json(path)
    special = {"<s>", "<pad>", "</s>", "<unk>", "<mask>"}
    base.vocab = [entry for entry in base.vocab if entry[0] not in special][:pieces]
    return base


def template(text, ids):
    out = []
    for part in text.split():
        name, _, type_id = part.rpartition(":") if part[-2:-1] == ":" else (part, "", "0")
        key, name = ("Sequence", name[1:]) if name[0] == "$" else ("SpecialToken", name)
        out.append({key: {"id": name, "type_id": int(type_id)}})
    return out, {e["SpecialToken"]["id"]: ids[e["SpecialToken"]["id"]] for e in out if "SpecialToken" in e}


def post_processor(family, ids):
    if family.single == "$A":
        return None
    single, names = template(family.single, ids)
    pair, more = template(family.pair, ids)
    more.update((name, ids[name]) for name in family.unused)
    return {"type": "TemplateProcessing", "single": single, "pair": pair,
            "special_tokens": {n: {"id": n, "ids": [i], "tokens": [n]} for n, i in sorted({**names, **more}.items())}}


def vocabulary(form, base):
    family = FAMILIES[form.family]
    entries = [[e, 0.0] if isinstance(e, str) else e for e in family.head]
    if form.byte_fallback:
        line_feed = "\n" if "\n" in (family.special or []) else "<0x0A>"
        entries += [[f"<0x{b:02X}>" if b != 10 else line_feed, 0.0] for b in range(256)]
    for piece, score in base.vocab:
        lowered = family.digits_with_comma if is_digit_with_comma(piece) else 0.0
        entries.append([piece, score + lowered] if lowered else [piece, score])
    return entries + [[e, 0.0] for e in family.tail]


def document(form, base):
    """The form as a tokenizer.json document."""
    family = FAMILIES[form.family]
    vocab = vocabulary(form, base)
    ids = {piece: i for i, (piece, _) in enumerate(vocab)}
    names = family.special or [e if isinstance(e, str) else e[0] for e in family.head] + family.tail
    tokens = []
    for name in names + family.beyond:
        token = added(name, lstrip=name == family.mask)
        token.update(family.flags.get(name, {}) | form.flags.get(name, {}))
        token["id"] = ids.setdefault(name, len(ids))
        tokens.append(token)
    unk_id = ids[family.unk] if form.unk_id is None else form.unk_id
    model = {"type": "Unigram", "unk_id": unk_id, "vocab": vocab, "byte_fallback": form.byte_fallback}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": tokens,
            "normalizer": form.normalizer, "pre_tokenizer": form.pre_tokenizer,
            "post_processor": post_processor(family, ids), "decoder": form.decoder, "model": model}


def text_of(form, base):
    return json.dumps(document(form, base), ensure_ascii=False)


def default_base():
    return Path(os.environ.get("RANKFEED_SHARED_DATA", "../shared/data")) / "xlmr.tokenizer.json"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--list", action="store_true", help="the names of all forms")
    what.add_argument("--form", choices=NAMES, metavar="NAME", help="one form, to -o FILE")
    what.add_argument("--all", metavar="DIR", type=Path, help="every form, to DIR/NAME.json")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE")
    parser.add_argument("--base", type=Path, default=default_base(), help="XLM-R's tokenizer.json (default: %(default)s)")
    parser.add_argument("--pieces", type=int, help="keep only the first N pieces")
    args = parser.parse_args()
    if args.list:
        print("\n".join(NAMES))
        return 0
    if args.form and not args.output:
        parser.error("--form writes to a file: give -o FILE")
    if not args.base.exists():
        parser.error(f"--base {args.base} is not there; RANKFEED_SHARED_DATA names its folder")
    base = base_of_xlmr(args.base, args.pieces)
    every = forms(base)
    if args.form:
        args.output.write_text(text_of(every[args.form], base))
    else:
        args.all.mkdir(parents=True, exist_ok=True)
        for form in every.values():
            (args.all / f"{form.name}.json").write_text(text_of(form, base))
    return 0


if __name__ == "__main__":
    sys.exit(main())
