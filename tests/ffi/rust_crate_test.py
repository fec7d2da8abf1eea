# SPDX-License-Identifier: MIT
"""rust_crate_test.py COLUMNS MODEL: the crate's encodings (example `columns`) against the tokenizers wheel: ids, type ids, masks,
sequence ids and offsets of single texts and pairs, with and without special tokens, under every truncation."""
import random
import subprocess
import sys

import tokenizers

TEXTS = ["What is a panda?", "", " ", "A bear that eats bamboo, and eats, and eats.", "Ein Bär — müde.", "熊猫吃竹子。它是熊。",
         "ĳ ﬁ ½ ㎏ e\u0301", "🐼🐼 emoji", "  two  spaces ", "ﷺ", "a" * 300, "สวัสดีครับ"]


def cases(rng, count):
    for _ in range(count):
        texts = [rng.choice(TEXTS) + rng.choice(["", " ", "."]) * rng.randrange(2) for _ in range(rng.randrange(1, 3))]
        yield (rng.choice([0, 5, 6, 8, 13, 40]), rng.choice(["longest_first", "only_first", "only_second"]),
               rng.choice(["left", "right"]), rng.randrange(2), texts)


def expected(tokenizer, case):
    max_length, strategy, direction, special, texts = case
    tokenizer.no_truncation()
    if max_length:
        tokenizer.enable_truncation(max_length, strategy=strategy, direction=direction)
    try:
        e = tokenizer.encode(*texts, add_special_tokens=bool(special))
    except BaseException:  # the wheel panics on some
        return "error"
    columns = [e.ids, e.type_ids, e.special_tokens_mask, [-1 if s is None else s for s in e.sequence_ids],
               [o[0] for o in e.offsets], [o[1] for o in e.offsets]]
    return "|".join(" ".join(map(str, column)) for column in columns)


def main():
    columns, model = sys.argv[1:]
    tokenizer = tokenizers.Tokenizer.from_file(model)
    rows = list(cases(random.Random(7), 3000))
    lines = ["\t".join([*map(str, case[:4]), *case[4]]) for case in rows]
    out = subprocess.run([columns, model], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    got = out.stdout.splitlines()
    assert len(got) == len(rows), (len(got), len(rows), out.stderr)
    wrong = 0
    for case, line in zip(rows, got):
        want = expected(tokenizer, case)
        if line != want:
            wrong += 1
            if wrong <= 5:
                print("differs:", case, "\n  crate", line, "\n  wheel", want)
    errors = sum(line == "error" for line in got)
    print(f"{len(rows)} encodings, {errors} errors, {wrong} differ")
    assert wrong == 0 and errors < len(rows) // 2


main()
