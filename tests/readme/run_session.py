# SPDX-License-Identifier: MIT
"""run_session.py SOURCE: runs the interpreter sessions (blocks of pycon) of README.md, beside a folder of the demo's model, and of
docs/python.md, in the source tree, and compares what they print; and the first of the latter with a folder as that of MiniLM's
cross-encoder is, made on the spot, against the tokenizers wheel."""

import doctest
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import warnings

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "what", "is", "a", "pan", "##da", "bear", "?", "."]


def write_folder(folder):
    """With truncation and padding to 128 in its file, as published."""
    made = tokenizers.Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(PIECES)}, unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer, made.decoder = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
    made.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
                                                        special_tokens=[(name, PIECES.index(name)) for name in ("[CLS]", "[SEP]")])
    made.add_special_tokens(PIECES[:5])
    made.enable_truncation(128)
    made.enable_padding(length=128)
    made.save(os.path.join(folder, "tokenizer.json"))
    for name, data in (("config.json", {"model_type": "bert"}),
                       ("tokenizer_config.json", {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 512})):
        pathlib.Path(folder, name).write_text(json.dumps(data), encoding="utf-8")
    made.no_truncation()
    made.no_padding()
    return made


def values(session, folder):
    """Of its expressions, with the folder's tokenizer."""
    out, names, opening = [], {}, 'from_file("data/default.model")'
    assert session.count(opening) == 1, session
    for example in doctest.DocTestParser().get_examples(session.replace(opening, f"from_pretrained({folder!r})")):
        out += [eval(example.source, names)] if example.want else [exec(example.source, names)] * 0
    return out


def sessions(page):
    return re.findall(r"```pycon\n(.*?)```", (source / page).read_text(encoding="utf-8"), re.S)


def run(page):
    for number, session in enumerate(sessions(page), 1):
        runner.run(doctest.DocTestParser().get_doctest(session, {}, f"session {number}", page, None))


source = pathlib.Path(sys.argv[1]).resolve()
runner = doctest.DocTestRunner()
with tempfile.TemporaryDirectory() as beside:
    sample = pathlib.Path(beside, "models", "sample")
    shutil.copytree(source / "data" / "reranker", sample)
    subprocess.run([sys.executable, source / "data" / "make_tokenizer_json.py", source / "data" / "default.model", sample / "tokenizer.json"],
                   check=True, stdout=subprocess.DEVNULL)
    os.chdir(beside)
    run("README.md")
    os.chdir(source)  # the other sessions name files of the tree
run("docs/python.md")
print(f"{runner.tries} lines of input, {runner.failures} failures")
with tempfile.TemporaryDirectory() as made_here, warnings.catch_warnings():
    warnings.simplefilter("error")
    theirs = write_folder(made_here)
    text, document = "What is a panda?", "A bear."
    got = values(sessions("docs/python.md")[0], made_here)
    want = [theirs.encode(text).ids, [theirs.encode(text, document).ids], theirs.decode(theirs.encode(text).ids)]
    assert want[0] == [2, 5, 6, 7, 8, 9, 11, 3], want
    print(f"with MiniLM's folder: {got}")
sys.exit(runner.failures > 0 or runner.tries < 10 or got != want)
