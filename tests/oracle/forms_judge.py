# SPDX-License-Identifier: MIT
"""Holds the forms of forms.py against transformers' own code, over the first pieces of the XLM-R vocabulary.

  forms_judge.py --base XLMR.tokenizer.json [--pieces N]

Every -rebuilt form must be, field by field, the backend of the AutoTokenizer that loads the form it is rebuilt from.
Every other form must be what the converter of its class makes of a SentencePiece model, apart from the list of added
tokens, which a converter leaves to the class; forms that only older releases wrote are held against each other. Exit
status 0: all equal, 1: differences, 77: transformers missing.
"""

import json
import struct
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import engine as E  # noqa: E402
import forms as F  # noqa: E402
import spm_proto as P  # noqa: E402

try:
    from transformers import AutoTokenizer
    from transformers import convert_slow_tokenizer as converters
    from transformers.convert_slow_tokenizer import import_protobuf
except ImportError as error:
    E.require(False, f"transformers is not installed: {error}")

# Where the name without -rebuilt is not that of the file.
SOURCES = {"xlmr-rebuilt": "xlmr-a", "layoutxlm-rebuilt": "xlmr-a", "udop-rebuilt": "t5",
           "lasr-rebuilt": "t5", "mluke-rebuilt": "xlmr-a"}
# Written by releases whose converters are gone: the normalizer of one form that is judged, the pre-tokenizer of another.
OLDER = {"xlmr-b": ("xlmr-rebuilt", "xlmr-rebuilt"), "xlmr-c": ("mbart50-rebuilt", "mbart50-rebuilt"),
         "t5-b": ("t5-rebuilt", "t5-rebuilt"), "umt5": ("xglm-rebuilt", "xglm-rebuilt"),
         "pegasus-c": ("xglm-rebuilt", "pegasus")}
FAIRSEQ_FAMILIES = {"xlmr", "mbart", "mbart50", "xglm", "camembert"}


def differences(mine, theirs, at=""):
    """Paths at which two documents differ, with both values."""
    if isinstance(mine, dict) and isinstance(theirs, dict):
        for key in sorted(mine.keys() | theirs.keys()):
            if key in mine and key in theirs:
                yield from differences(mine[key], theirs[key], f"{at}.{key}")
            else:
                yield f"{at}.{key} is only in {'forms.py' if key in mine else 'transformers'}"
    elif isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
        for i, (a, b) in enumerate(zip(mine, theirs)):
            yield from differences(a, b, f"{at}[{i}]")
    elif mine != theirs:
        yield f"{at}: forms.py {str(mine)[:120]}, transformers {str(theirs)[:120]}"


def auto_tokenizer(form, source, base):
    """The backend of AutoTokenizer over the source's file, as a document."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "tokenizer.json").write_text(F.text_of(source, base))
        config = {"tokenizer_class": form.tokenizer_class or F.FAMILIES[form.family].tokenizer_class, **form.config}
        Path(folder, "tokenizer_config.json").write_text(json.dumps(config))
        tokenizer = AutoTokenizer.from_pretrained(folder)
        if type(tokenizer).__name__ != config["tokenizer_class"]:
            sys.exit(f"{form.name}: AutoTokenizer made a {type(tokenizer).__name__}")
        return json.loads(tokenizer.backend_tokenizer.to_str())


def sentencepiece_model(form, base):
    """The .model from which a converter makes the form's vocabulary."""
    if form.family in FAIRSEQ_FAMILIES:
        head = ["<unk>", "<s>", "</s>"]
    elif form.family == "pegasus":
        head = ["<pad>", "</s>", "<unk>"]
    else:
        head = list(F.FAMILIES[form.family].head)
    unk = head.index(F.FAMILIES[form.family].unk)
    pieces = [(h.encode(), 0.0, P.UNKNOWN if i == unk else P.CONTROL) for i, h in enumerate(head)]
    if form.byte_fallback:
        pieces += [(f"<0x{b:02X}>".encode(), 0.0, P.BYTE) for b in range(256)]
    pieces += [(piece.encode(), score, P.NORMAL) for piece, score in base.vocab]
    data = P.write(P.SpmModel(pieces, charsmap=base.charsmap, byte_fallback=form.byte_fallback))
    return data + P._bytes(2, P._int(40, unk))  # trainer_spec.unk_id; messages of one field are merged


class Original:
    """What the converters ask of the slow tokenizer that they convert."""
    def __init__(self, form, base, path):
        self.vocab_file, self.document = path, F.document(form, base)
        self.legacy = form.name != "t5-first"
        self.ids = {piece: i for i, (piece, _) in enumerate(self.document["model"]["vocab"])}
        self.ids.update((t["content"], t["id"]) for t in self.document["added_tokens"])
        self.__dict__.update(form.config)
        self.pad_token, self.eos_token, self.eos_token_id = "<pad>", "</s>", self.ids.get("</s>")
        self.mask_token_sent, self.mask_token, self.mask_token_id, self.offset = "<mask_1>", "<mask_2>", 3, 103
        self._extra_ids = 0 if form.family == "mt5" else 100

    def convert_tokens_to_ids(self, token):
        return self.ids[token]


def converted(form, base):
    """What the converter of the form's class makes of the model, as a document."""
    name = F.FAMILIES[form.family].tokenizer_class
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "spiece.model"))
        Path(path).write_bytes(sentencepiece_model(form, base))
        if form.rebuilt:  # of a .model without a class
            proto = import_protobuf().ModelProto()
            proto.ParseFromString(Path(path).read_bytes())
            vocab = [(piece.piece, piece.score) for piece in proto.pieces]
            made = converters.SpmConverter.build_tokenizer_from_spm_proto(proto, vocab)
        elif form.name == "moshi":
            made = converters.MoshiConverter(path).converted()
        elif form.name == "helium":
            made = converters.HeliumConverter(path).converted()
        else:
            made = converters.SLOW_TO_FAST_CONVERTERS[name](Original(form, base, path)).converted()
        return json.loads(made.to_str())


def judged(form, every, base):
    """(what it was held against, the differences)."""
    mine = F.document(form, base)
    if form.name in OLDER:
        normalizer, pieces = OLDER[form.name]
        theirs = {**mine, "normalizer": every[normalizer].normalizer, "pre_tokenizer": every[pieces].pre_tokenizer}
        what = f"older releases, the normalizer of {normalizer} before the pre-tokenizer of {pieces}"
    elif form.rebuilt and form.family != "model":
        source = SOURCES.get(form.name, form.name.removesuffix("-rebuilt"))
        theirs, what = auto_tokenizer(form, every[source], base), f"AutoTokenizer over {source}"
    else:
        theirs, what = converted(form, base), "its converter"
        for document in (mine, theirs):  # padding is an option of rankfeed's calls
            document["added_tokens"] = document["padding"] = None
    return what, list(differences(mine, theirs))


def main():
    parser = E.arguments(__doc__, "base")
    parser.add_argument("--pieces", type=int, default=2000)
    args = parser.parse_args()
    E.require(args.base.exists(), f"{args.base} is not there")
    base = F.base_of_xlmr(args.base, args.pieces)
    # Scores of a .model are 32-bit.
    base.vocab = [[piece, struct.unpack("<f", struct.pack("<f", score))[0]] for piece, score in base.vocab]
    every, report = F.forms(base), E.Report(limit=8)
    for form in every.values():
        what, found = judged(form, every, base)
        report.checks += 1
        print(f"{form.name:32} {'differs from' if found else 'is that of'} {what}")
        for difference in found:
            report.mismatch(form.name, difference, "", "")
    return report.finish("forms and transformers")


if __name__ == "__main__":
    sys.exit(main())
