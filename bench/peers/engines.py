# SPDX-License-Identifier: MIT
"""Tokenizers in Python wheels, each by its best documented path for many texts, on RAYON_NUM_THREADS threads (default 1).

make(name, model, tokenizer_json) -> Engine, or raises when the wheel is not installed. Ids are without special
tokens. `reference` says whose ids it claims: "huggingface" or "sentencepiece".
"""
import array
import os
from importlib.metadata import version

# One thread everywhere unless said otherwise, before any of the wheels starts its pool.
for variable in ("RAYON_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
THREADS = int(os.environ["RAYON_NUM_THREADS"])
os.environ.setdefault("TOKENIZERS_PARALLELISM", "true" if THREADS > 1 else "false")


class Engine:
    def __init__(self, name, wheel, reference, call, ids, note, reset=None, together=0):
        self.name, self.version, self.reference = name, version(wheel), reference
        self.together = together  # texts of one call on a long stream; 0: all
        self.call, self.note = call, note  # call(texts) -> the wheel's own result
        self.reset = reset  # forgets the texts it has seen; None: it remembers none, or cannot forget them
        self._ids = ids

    def encode(self, texts):
        """Lists of ids."""
        return self._ids(self.call(texts))


def _tokenizers(model, tokenizer_json):
    import tokenizers

    held = []

    def reset():
        held[:] = [tokenizers.Tokenizer.from_file(tokenizer_json)]

    reset()
    name = "encode_batch_fast" if hasattr(held[0], "encode_batch_fast") else "encode_batch"
    # Its caches of words live as long as the tokenizer.
    return Engine("tokenizers", "tokenizers", "huggingface", lambda texts: getattr(held[0], name)(texts, add_special_tokens=False),
                  lambda result: [e.ids for e in result], name, reset)


def _gigatoken(model, tokenizer_json):
    import gigatoken

    held = []

    def reset():
        held[:] = [gigatoken.Tokenizer(tokenizer_json)]

    reset()
    return Engine("gigatoken", "gigatoken", "huggingface", lambda texts: held[0].encode_batch(texts, parallel=False),
                  lambda result: [list(row) for row in result], "encode_batch, parallel=False", reset)


def _fastokens(model, tokenizer_json):
    import fastokens

    held = []

    def reset():
        held[:] = [fastokens.Tokenizer.from_file(tokenizer_json)]

    reset()
    return Engine("fastokens", "fastokens", "huggingface", lambda texts: held[0].encode_batch(texts, add_special_tokens=False),
                  lambda result: [list(getattr(row, "ids", row)) for row in result], "encode_batch", reset)


def _sentencepiece(model, tokenizer_json):
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_file=model)
    return Engine("sentencepiece", "sentencepiece", "sentencepiece", lambda texts: processor.encode(texts, num_threads=THREADS),
                  lambda result: result, f"encode(list), num_threads={THREADS}")


def _tokie(model, tokenizer_json):
    import tokie

    held = []

    def reset():
        held[:] = [tokie.Tokenizer.from_json(tokenizer_json)]

    reset()

    def split(result):
        ids, lengths = result
        out, at = [], 0
        for n in lengths.tolist():
            out.append(ids[at:at + n].tolist())
            at += n
        return out

    return Engine("tokie", "tokie", "huggingface", lambda texts: held[0].encode_batch_flat(texts, add_special_tokens=False),
                  split, "encode_batch_flat", reset)


def _nanotoken(model, tokenizer_json):
    import nanotoken

    tokenizer = nanotoken.Tokenizer.from_json(open(tokenizer_json, encoding="utf-8").read())
    return Engine("nanotoken", "nanotoken", "huggingface", lambda texts: tokenizer.encode_batch(texts, add_special_tokens=False),
                  lambda result: [list(row) for row in result], "encode_batch", tokenizer.clear_cache, together=64)


def _splintr(model, tokenizer_json):
    import splintr

    tokenizer = splintr.from_json(tokenizer_json)
    # encode_batch_flat, its quickest call, always adds the template's tokens: these before a text, the others behind it.
    letter, whole = list(tokenizer.encode_raw("a")), list(tokenizer.encode("a"))
    before = next(i for i in range(len(whole)) if whole[i:i + len(letter)] == letter)
    after = len(whole) - before - len(letter)

    def split(result):
        ids, offsets = array.array("I", result[0]), array.array("Q", result[1])
        return [ids[begin + before:end - after].tolist() for begin, end in zip(offsets, offsets[1:])]

    return Engine("splintr", "splintr-rs", "huggingface", tokenizer.encode_batch_flat, split, "encode_batch_flat", tokenizer.clear_cache)


def _kitoken(model, tokenizer_json):
    import kitoken

    tokenizer = kitoken.Kitoken.from_tokenizers_file(tokenizer_json)
    return Engine("kitoken", "kitoken", "huggingface", lambda texts: tokenizer.encode_all(texts, False), lambda r: r, "encode_all")


def _kitoken_sp(model, tokenizer_json):
    import kitoken

    tokenizer = kitoken.Kitoken.from_sentencepiece_file(model)
    return Engine("kitoken_sp", "kitoken", "sentencepiece", lambda texts: tokenizer.encode_all(texts, False), lambda r: r,
                  "encode_all, from the .model")


def _blingfire(model, tokenizer_json):
    import blingfire

    path = os.path.join(os.path.dirname(blingfire.__file__), "xlm_roberta_base.bin")
    handle = blingfire.load_model(path)
    # Capacity is the number of bytes: the array is allocated per call, as the wheel does.
    return Engine("blingfire", "blingfire", "huggingface",
                  lambda texts: [blingfire.text_to_ids(handle, t, max(1, len(t)), 3, True) for t in texts],
                  lambda result: [r.tolist() for r in result], "text_to_ids per text (it has no batch call), its own XLM-R file")


def _iree(model, tokenizer_json):
    import iree.tokenizer

    tokenizer = iree.tokenizer.Tokenizer.from_file(tokenizer_json)
    return Engine("iree", "iree-tokenizer", "huggingface", tokenizer.encode_batch, lambda r: r, "encode_batch")


def _onnxruntime(model, tokenizer_json):
    import json
    import shutil
    import tempfile

    from onnxruntime_extensions import pp_api

    folder = tempfile.mkdtemp(prefix="peer.")
    shutil.copyfile(tokenizer_json, os.path.join(folder, "tokenizer.json"))
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as f:
        json.dump({"tokenizer_class": "XLMRobertaTokenizer", "unk_token": "<unk>", "pad_token": "<pad>"}, f)
    tokenizer = pp_api.Tokenizer(folder)
    shutil.rmtree(folder)
    return Engine("onnxruntime", "onnxruntime-extensions", "huggingface", tokenizer.tokenize, lambda r: [list(x) for x in r],
                  "Tokenizer.tokenize")


ENGINES = {"tokenizers": _tokenizers, "sentencepiece": _sentencepiece, "tokie": _tokie, "nanotoken": _nanotoken, "kitoken": _kitoken,
           "kitoken_sp": _kitoken_sp, "blingfire": _blingfire, "iree": _iree, "onnxruntime": _onnxruntime,
           "gigatoken": _gigatoken, "fastokens": _fastokens, "splintr": _splintr}


def make(name, model, tokenizer_json):
    return ENGINES[name](model, tokenizer_json)
