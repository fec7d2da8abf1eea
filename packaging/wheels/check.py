#!/usr/bin/env python3
"""check.py FOLDER CROSS_ENCODER MODEL...: what this interpreter's rankfeed makes of the models and of FOLDER/*.jsonl.

Prints one line of JSON: SHA-256 of each model's image, of the ids and of the offsets of all texts, and of a
batch of pairs, and the scores that the folder CROSS_ENCODER gives QUERY and the lines of its docs.jsonl. scripts/wheels.sh
compares the lines of a wheel and of the package that pip builds here; the images differ when the wheel's ICU lacks data.
"""
import glob
import hashlib
import json
import os
import platform
import sys
import tempfile

QUERY = "What is a panda?"
ODD = ["", " ", "\u0130\ufb01 \uff76\uff9e e\u0301 \U0001f469\u200d\U0001f467 </s> <mask>", "\u1e9b\u0323 \u2126 \u3300 \ufdfa",
       "\u0e40\u0e01\u0e33 \u0915\u094d\u0937 \U0001f1e9\U0001f1ea\U0001f3fd \u00a0\u2028\ufeff", "a" * 3000]


def texts_of(folder: str) -> list:
    texts = list(ODD)
    for path in sorted(glob.glob(os.path.join(folder, "*.jsonl"))):
        with open(path, encoding="utf-8") as file:
            for line in list(file)[:40]:
                texts += [value for value in json.loads(line).values() if isinstance(value, str)]
    return texts


def scores_of(folder: str) -> list:
    import rankfeed

    with open(os.path.join(folder, "docs.jsonl"), encoding="utf-8") as file:
        docs = [json.loads(line)["text"] for line in file]
    # As `rankfeed rerank --json` prints them: enough digits for every float.
    return [float(score) for score in rankfeed.CrossEncoder(folder).predict([(QUERY, text) for text in docs])]


def main(folder: str, cross_encoder: str, *models: str) -> None:
    import numpy as np
    import rankfeed

    texts = texts_of(folder)
    out = {"texts": len(texts), "scores": scores_of(cross_encoder)}
    for model in models:
        tok = rankfeed.Tokenizer.from_file(model)
        ids, offsets, pairs = hashlib.sha256(), hashlib.sha256(), hashlib.sha256()
        count = 0
        for encoding in tok.encode_batch(texts):
            one = np.asarray(encoding.ids, np.int32)
            count += len(one)
            ids.update(one.tobytes() + b"|")
            offsets.update(np.asarray(encoding.offsets, np.int64).tobytes() + b"|")
        try:
            batch = tok.encode_pairs(texts[2], texts[:200], max_length=128)
            pairs.update(np.ascontiguousarray(np.asarray(batch["input_ids"])).tobytes())
        except rankfeed.RankfeedError as error:  # a vocabulary without pairs
            pairs.update(error.name.encode())
        with tempfile.TemporaryDirectory() as work:
            image = os.path.join(work, "image")
            tok.save_image(image)
            with open(image, "rb") as file:
                made = hashlib.sha256(file.read()).hexdigest()
        if len(set(tok.encode(texts[2]).ids)) < 3 or count < len(texts):
            sys.exit(f"check: {model} gives no ids")
        out[os.path.basename(model)] = {"count": count, "ids": ids.hexdigest(), "offsets": offsets.hexdigest(),
                                        "pairs": pairs.hexdigest(), "image": made}
    print(json.dumps(out, sort_keys=True))
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    print(f"check: CPython {platform.python_version()} on {platform.machine()}, {'with' if gil else 'without'} the GIL, "
          f"isa {tok.isa if isinstance(tok.isa, str) else tok.isa()}", file=sys.stderr)


if __name__ == "__main__":  # check_program.py takes the texts
    main(*sys.argv[1:])
