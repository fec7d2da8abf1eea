# SPDX-License-Identifier: MIT
"""Compares whole rerank requests with the HuggingFace wheel, row for row.

  diff_requests.py --driver D --model FILE.json --xquad DIR [--count N] [--seed S]

A case is a query, documents and options, all drawn at random; texts are passages, questions and
pieces of them in all languages of the XQuAD folder. Expected rows come from the wheel: Encodings of
the texts, Tokenizer.post_process (or encode, for some) with its truncation. What the wheel does not
have (longest_first of transformers' slow tokenizers, windows aligned to the end, max_chunks_per_doc,
no truncation) is written out here in plain Python.

The rows are those of tokenizers up to 0.22 and from 0.23.3 on. 0.23.1 and 0.23.2 lose overflow windows
and put the odd token elsewhere, so only cases that this cannot touch would agree: they are refused.

The pair template is that of the file, then others put into the file: different numbers of special
tokens (so that budgets are odd and even), token types, the special tokens after the text.
Exit status 0: no mismatch, 1: mismatches, 77: wheel missing.
"""

import argparse
import json
import random
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(77)


try:
    import numpy as np
    import tokenizers
    from tokenizers import Encoding, Tokenizer
except ImportError as problem:
    skip(f"the reference wheel is not installed: {problem}")
if tokenizers.__version__ in ("0.23.1", "0.23.2"):
    skip(f"tokenizers {tokenizers.__version__} stops tokenizing at max_length")

OK, E_TRUNCATION, E_TOO_LONG = 0, 103, 104
NONE, LONGEST_FIRST, SLOW, ONLY_FIRST, ONLY_SECOND = range(5)
DROP, SHORT_LAST, ALIGNED_LAST = range(3)
NAMES = {LONGEST_FIRST: "longest_first", ONLY_FIRST: "only_first", ONLY_SECOND: "only_second"}
CASES_PER_FRAME = 250

# name, items ("A", "B" or a special token, type); the special tokens are XLM-R's.
TEMPLATES = [
    ("of the file", None),
    ("bert", [("<s>", 0), ("A", 0), ("</s>", 0), ("B", 1), ("</s>", 1)]),
    ("xlnet", [("A", 0), ("</s>", 0), ("B", 1), ("</s>", 1), ("<s>", 2)]),
    ("t5", [("A", 0), ("</s>", 0), ("B", 0), ("</s>", 0)]),
    ("document first", [("<s>", 0), ("B", 3), ("</s>", 0), ("A", 0)]),
]


def with_template(data, items):
    """The tokenizer.json with another pair template."""
    if items is None:
        return data
    ids = {t["content"]: t["id"] for t in data["added_tokens"]}

    def item(name, kind):
        return {"Sequence": {"id": name, "type_id": kind}} if name in "AB" else \
            {"SpecialToken": {"id": name, "type_id": kind}}

    used = sorted({name for name, _ in items if name not in "AB"})
    return data | {"post_processor": {
        "type": "TemplateProcessing",
        "single": [item("A", 0)],
        "pair": [item(*pair) for pair in items],
        "special_tokens": {name: {"id": name, "ids": [ids[name]], "tokens": [name]} for name in used},
    }}


def texts_of(folder, r, count):
    """Passages, questions, and runs of characters of them, of all languages; many are short."""
    all_texts = [json.loads(line)["text"]
                 for file in sorted(Path(folder).glob("*.jsonl")) for line in file.read_text().splitlines()]
    pool = ["", " ", "a", "</s>", "x <pad> y"]
    while len(pool) < count:
        text = r.choice(all_texts)
        if r.random() < 0.9:
            size = int(2 ** r.uniform(0, 9))
            start = r.randrange(max(len(text) - size, 0) + 1)
            text = text[start:start + size]
        pool.append(text)
    return pool


class Reference:
    def __init__(self, text, pool):
        self.tokenizer = Tokenizer.from_str(text)
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self.pool = pool
        self.encodings = self.tokenizer.encode_batch(pool, add_special_tokens=False)
        self.ids = [e.ids for e in self.encodings]
        self.added = self.tokenizer.num_special_tokens_to_add(True)

    @staticmethod
    def cut(encoding, size, side):
        """Encoding.truncate without the overflow that it leaves."""
        if len(encoding) <= size:
            return encoding
        state = json.loads(encoding.__getstate__())
        copy = Encoding()
        copy.__setstate__(json.dumps(state).encode())
        copy.truncate(size, direction=side)
        state = json.loads(copy.__getstate__())
        state["overflowing"] = []
        copy = Encoding()
        copy.__setstate__(json.dumps(state).encode())
        return copy

    def rows(self, case, document):
        """Rows (ids, types) of one document, or its status."""
        specials = not case["no_special_tokens"]
        side = "left" if case["truncation_side"] else "right"
        a, b = self.encodings[case["query"]], self.encodings[document]
        direct = case["seed"] % 16 == 0
        if case["max_query_tokens"]:
            direct &= len(a) <= case["max_query_tokens"]
            a = self.cut(a, case["max_query_tokens"], side)
        if case["max_tokens_per_doc"]:
            direct &= len(b) <= case["max_tokens_per_doc"]
            b = self.cut(b, case["max_tokens_per_doc"], side)
        limit = case["max_length"] or None
        budget = limit - (self.added if specials else 0) if limit else None
        strategy = case["truncation"]
        fits = limit is None or len(a) + len(b) <= budget

        if fits or strategy in NAMES and case["overflow"] != ALIGNED_LAST:
            self.tokenizer.no_truncation()
            if limit is not None and strategy in NAMES:
                self.tokenizer.enable_truncation(limit, stride=case["stride"], strategy=NAMES[strategy],
                                                 direction=side)
            try:
                if direct:
                    row = self.tokenizer.encode(self.pool[case["query"]], self.pool[document],
                                                add_special_tokens=specials)
                else:
                    row = self.tokenizer.post_process(a, b, add_special_tokens=specials)
            except Exception as problem:
                if "too short" not in str(problem):
                    raise
                return E_TRUNCATION
            rows = [(row.ids, row.type_ids)]
            if case["overflow"] == SHORT_LAST:
                # The wheel's windows keep types of their own (0 and 1); the template's are expected.
                # Only the document has windows, so all rows but the last have the first one's shape.
                for window in row.overflowing:
                    rows.append((window.ids, self.shape_types(case, a, len(window.ids), specials)))
        elif strategy == NONE:
            return E_TOO_LONG
        elif strategy == SLOW:
            keep_a, keep_b = len(a), len(b)
            while keep_a + keep_b > budget:  # truncate_sequences drops from B when both are equal
                if keep_a > keep_b:
                    keep_a -= 1
                else:
                    keep_b -= 1
            rows = [self.join(self.slice(a.ids, keep_a, side), self.slice(b.ids, keep_b, side), specials)]
        else:  # aligned windows, as Jina's reranker cuts them
            size = budget - len(a)
            if size < 1:
                return E_TRUNCATION
            ids = b.ids[::-1] if side == "left" else b.ids
            overlap = min(case["stride"], size // 4)
            windows, start = [], 0
            while start < len(ids):
                end = start + size
                windows.append(ids[-size:] if end >= len(ids) else ids[start:end])
                start = end - overlap if end < len(ids) else end
            if side == "left":
                windows = [w[::-1] for w in windows]
            rows = [self.join(a.ids, w, specials) for w in windows]
        if case["overflow"] != DROP and case["max_chunks_per_doc"]:
            rows = rows[:case["max_chunks_per_doc"]]
        return rows

    @staticmethod
    def slice(ids, keep, side):
        return ids[len(ids) - keep:] if side == "left" else ids[:keep]

    def pair_items(self, specials):
        return [i for i in self.items if specials or i[0] in "AB"]

    def join(self, a, b, specials):
        ids, types = [], []
        for name, kind in self.pair_items(specials):
            part = a if name == "A" else b if name == "B" else [self.special_ids[name]]
            ids += part
            types += [kind] * len(part)
        return ids, types

    def shape_types(self, case, a, length, specials):
        b = length - len(a) - (self.added if specials else 0)
        return self.join([0] * len(a), [0] * b, specials)[1]


XLMR_PAIR = [("<s>", 0), ("A", 0), ("</s>", 0), ("</s>", 0), ("B", 0), ("</s>", 0)]


def make_reference(data, items, pool):
    reference = Reference(json.dumps(data), pool)
    reference.special_ids = {t["content"]: t["id"] for t in data["added_tokens"]}
    reference.items = items or XLMR_PAIR
    # The plain join must be the wheel's.
    a, b = reference.ids[-1], reference.ids[-2]
    row = reference.tokenizer.encode(pool[-1], pool[-2])
    assert reference.join(a, b, True) == (row.ids, row.type_ids)
    return reference


FIELDS = ("seed max_length max_query_tokens max_tokens_per_doc stride max_chunks_per_doc truncation "
          "truncation_side overflow no_special_tokens query").split()


def make_case(r, reference, queries):
    case = dict.fromkeys(FIELDS, 0)
    case["seed"] = r.randrange(2 ** 32)
    case["query"] = r.randrange(queries)
    case["documents"] = [r.randrange(len(reference.pool)) for _ in range(r.choice([1, 1, 2, 3, 5]))]
    case["truncation_side"] = int(r.random() < 0.3)
    case["no_special_tokens"] = int(r.random() < 0.1)
    case["truncation"] = r.choice([NONE, LONGEST_FIRST, LONGEST_FIRST, SLOW, ONLY_FIRST, ONLY_SECOND,
                                   ONLY_SECOND])
    if r.random() < 0.3:
        case["max_query_tokens"] = r.randrange(1, 40)
    if r.random() < 0.2:
        case["max_tokens_per_doc"] = r.randrange(1, 200)
    if r.random() < 0.1:
        return case
    added = 0 if case["no_special_tokens"] else reference.added
    case["max_length"] = added + int(2 ** r.uniform(0, 8.5))
    if r.random() < 0.02 and added:
        case["max_length"] = added
    if case["truncation"] != ONLY_SECOND or r.random() < 0.3:
        return case
    query = len(reference.ids[case["query"]])
    if case["max_query_tokens"]:
        query = min(query, case["max_query_tokens"])
    case["overflow"] = r.choice([SHORT_LAST, SHORT_LAST, ALIGNED_LAST])
    window = int(2 ** r.uniform(0, 6))
    case["max_length"] = added + query + window
    # The wheel panics when the stride is not below the window.
    case["stride"] = r.randrange(window)
    case["max_chunks_per_doc"] = r.choice([0, 0, 1, 2, 7])
    return case


def run(args, data, name, items, report):
    r = random.Random(args.seed * 1000 + len(name))
    queries = 700
    pool = texts_of(args.xquad, r, 3000)
    changed = with_template(data, items)
    reference = make_reference(changed, items, pool)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "tokenizer.json"
        path.write_text(json.dumps(changed))
        driver = subprocess.Popen([args.driver, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

        def send(payload):
            driver.stdin.write(struct.pack("<Q", len(payload)) + payload)
            driver.stdin.flush()

        raw = [t.encode() for t in pool]
        send(struct.pack(f"<{len(raw) + 1}I", len(raw), *map(len, raw)) + b"".join(raw))
        left = args.count // len(TEMPLATES) + 1
        while left > 0:
            cases = [make_case(r, reference, queries) for _ in range(min(left, CASES_PER_FRAME))]
            left -= len(cases)
            numbers = [len(cases)]
            for case in cases:
                numbers += [case[f] for f in FIELDS] + [len(case["documents"])] + case["documents"]
            send(struct.pack(f"<{len(numbers)}I", *numbers))
            expected = [[reference.rows(case, d) for d in case["documents"]] for case in cases]
            head = driver.stdout.read(8)
            if len(head) < 8:
                print(f"driver ended with status {driver.wait()}")
                return False
            answer = driver.stdout.read(struct.unpack("<Q", head)[0])
            compare(np.frombuffer(answer, "<i4").tolist(), cases, expected, name, report)
            if report["mismatches"] > 20:
                break
        driver.stdin.close()
        driver.wait()
    return True


def compare(answer, cases, expected, name, report):
    at = 0
    for case, documents in zip(cases, expected):
        report["cases"] += 1
        status, n = answer[at], len(case["documents"])
        at += 1
        found = []
        if status == OK:
            statuses, counts = answer[at:at + n], answer[at + n:at + 2 * n]
            at += 2 * n
            for document_status, count in zip(statuses, counts):
                rows = []
                for _ in range(count):
                    length = answer[at]
                    rows.append((answer[at + 1:at + 1 + length], answer[at + 1 + length:at + 1 + 2 * length]))
                    at += 1 + 2 * length
                found.append(rows if document_status == OK else document_status)
        if found != documents or status != OK:
            report["mismatches"] += 1
            if report["mismatches"] <= 5:
                print(f"MISMATCH template {name}: {case}\n  status {status}")
                for mine, theirs in zip(found, documents):
                    if mine != theirs:
                        print(f"  found    {str(mine)[:2000]}\n  expected {str(theirs)[:2000]}")
        for rows in documents:
            if isinstance(rows, int):
                report[rows] = report.get(rows, 0) + 1
            else:
                report["rows"] += len(rows)
                report["windowed"] += len(rows) > 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--driver", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--xquad", required=True)
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if not Path(args.model).exists() or not Path(args.xquad).exists():
        skip(f"{args.model} or {args.xquad} is not there")
    data = json.loads(Path(args.model).read_text())
    report = {"cases": 0, "rows": 0, "windowed": 0, "mismatches": 0}
    start = time.time()
    complete = all([run(args, data, name, items, report) for name, items in TEMPLATES])
    print(f"tokenizers {tokenizers.__version__}: {report['cases']} cases, {report['rows']} rows, "
          f"{report['windowed']} documents in windows, {report.get(E_TRUNCATION, 0)} not truncatable, "
          f"{report.get(E_TOO_LONG, 0)} too long, {report['mismatches']} mismatches, "
          f"{time.time() - start:.0f} s")
    enough = min(report["windowed"], report.get(E_TRUNCATION, 0), report.get(E_TOO_LONG, 0)) > args.count // 50
    if not enough:
        print("too few documents in windows, not truncatable or too long: the generator is broken")
    return 0 if complete and enough and report["mismatches"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
