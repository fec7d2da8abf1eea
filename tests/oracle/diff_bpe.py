# SPDX-License-Identifier: MIT
"""BPE models: ids, offsets and decoded text of the engine against the tokenizers wheel.

  diff_bpe.py --driver D sweep --data FOLDER [--all] [--file NAME]...   every code point in six places
  diff_bpe.py --driver D random --data FOLDER [--count N] [--files N] [--seed N]
  diff_bpe.py --driver D spaces --data FOLDER --xquad DIR [--count N] [--files N] [--every N] [--seed N]
  diff_bpe.py --driver D traps --data FOLDER            the recorded ids of texts that are easy to get wrong
  diff_bpe.py --driver D bulk --data FOLDER --xquad DIR [--stream FILE] [--count N] [--seed N] [--file NAME]...
  diff_bpe.py --driver D whole --data FOLDER --xquad DIR [--every N] [--left-out PART]...
  diff_bpe.py --driver D stream --data FOLDER --stream FILE [--file NAME]...
                                                        these and sweep: [--results fuzz/results.jsonl], to append to

--data: the folder with qwen and the others. Without --all a sweep takes planes that Unicode leaves empty, and all but one of
the vocabularies, by samples. Random texts are drawn from pieces and from characters that some step treats specially, over
published vocabularies and over random files whose merges follow no rule. Spaces: random small files that make a U+2581 of each
space, in the forms that are published, over all short texts and over longer ones; and mistral's in those forms, over each N-th
text of every language, code, and both in one. Bulk: --count texts of each vocabulary, in turn all of
a length over a few characters, and one to five pieces, words and characters that some step treats specially, because many short
texts find more in the same time than few long ones; some are words put together anew, mixtures, or drawn as random texts are
(bulk_texts.py, mixtures.py). Whole: qwen's file with ignore_merges, with all its merges and without a tenth, a third and all of
them (--left-out), over each N-th text of every language; and golden.jsonl of the folder ignore_merges there. Stream: the texts of
bench/text_streams.py, whole. --file: one of the vocabularies, such as qwen/tokenizer.json (repeatable).
"""

import ast
import itertools
import json
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import bulk_texts  # noqa: E402
import engine as E  # noqa: E402
import mixtures  # noqa: E402
import tokenizers  # noqa: E402
from diff_wordpiece import FLAGS, Pair, batches, code_points, compare  # noqa: E402

FILES = ("qwen/tokenizer.json", "modernbert/tokenizer.json", "roberta/tokenizer.json", "openai/cl100k.tokenizer.json",
         "gpt2/tokenizer.json", "mistral/tokenizer.json")
TEMPLATES = ("*", "a*b", "x *", "*\u0301", "*\u0323", "\u4e2d*")
PER_TEXT = 16


def traps(args, report):
    """traps.txt: a text in quotes, and lines of a vocabulary's name, ids, tokens and offsets."""
    names = {"qwen": FILES[0], "mbert": FILES[1], "roberta": FILES[2], "gpt2": FILES[4]}
    pairs = {key: Pair(args.driver, (args.data / name).read_text(encoding="utf-8")) for key, name in names.items()}
    text = None
    for line in (args.data / "traps.txt").read_text(encoding="utf-8").splitlines()[1:]:
        if not line.startswith("    "):
            text = ast.literal_eval(line)
            continue
        key, rest = line.split(None, 1)
        ids = ast.literal_eval(rest[:rest.index("]") + 1])
        columns = pairs[key].engine.encode([text.encode()], 0, E.COLUMN_OFFSETS)
        report.checks += 1
        if columns.row(0)["ids"] != ids:
            report.mismatch(key, ascii(text), columns.row(0)["ids"], ids)
        compare(pairs[key], key, [text], report)


METASPACE, SPACE_TO_IT = "\u2581", {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
PREPEND = {"type": "Prepend", "prepend": METASPACE}
SPLIT_NOTHING = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
SPACE_FORMS = {  # normalizer and pre-tokenizer: Llama 2 and Mistral, the same without a prefix, Gemma, Llama of transformers 5
    "prepend": ({"type": "Sequence", "normalizers": [PREPEND, SPACE_TO_IT]}, None),
    "prepend last": ({"type": "Sequence", "normalizers": [SPACE_TO_IT, PREPEND]}, None),
    "replace": (SPACE_TO_IT, None),
    "gemma": (SPACE_TO_IT, SPLIT_NOTHING),
    **{scheme: (None, {"type": "Metaspace", "replacement": METASPACE, "prepend_scheme": scheme, "split": False})
       for scheme in ("always", "first", "never")}}
LETTERS = ["a", "b", "c", "1", "2", ",", ".", "\n", "\u00e9", "\u00df", "\u03b1", "\u4e2d", "\u56fd", "\u3002", "\u201d", "\U0001f600"]


def space_file(rng):
    """A few letters. Merges join them in any order, in some files those of other kinds too, a U+2581 after others, or unknown ones."""
    kind = lambda c: "letter" if c.isalpha() else "digit" if c.isdigit() else "other"  # noqa: E731
    letters = rng.sample(LETTERS, rng.randrange(2, 9))
    vocab, merges = letters + [METASPACE] * (rng.random() < 0.95), []
    across, mixed = rng.random() < 0.1, rng.random() < 0.4
    for _ in range(rng.randrange(40)):
        left, right = rng.choice(vocab), rng.choice(vocab)
        if len(left + right) > 10 or (left[-1] != METASPACE and not across and right[0] == METASPACE):
            continue
        if METASPACE not in left[-1] + right[0] and kind(left[-1]) != kind(right[0]) and not mixed:
            continue
        merges.append([left, right])
        vocab += [left + right] * (left + right not in vocab)
    if rng.random() < 0.5:
        rng.shuffle(merges)
    unk, fallback = rng.choice((None, "<unk>", "<unk>", "<unk>")), rng.random() < 0.6
    vocab += ["<unk>"] * (unk is not None) + [f"<0x{b:02X}>" for b in range(256)] * fallback
    if rng.random() < 0.05 and "<" in vocab[-1]:
        merges.append([letters[0], vocab[-1]])
        vocab.append("".join(merges[-1]))
    normalizer, pre_tokenizer = SPACE_FORMS[rng.choice(list(SPACE_FORMS))]
    return json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "normalizer": normalizer, "pre_tokenizer": pre_tokenizer,
        "added_tokens": [{"id": len(vocab), "content": "<s>", "single_word": False, "lstrip": rng.random() < 0.3,
                          "rstrip": rng.random() < 0.3, "normalized": False, "special": True}],
        "post_processor": None, "decoder": None,
        "model": {"type": "BPE", "dropout": None, "unk_token": unk, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                  "fuse_unk": rng.random() < 0.5, "byte_fallback": fallback, "ignore_merges": rng.random() < 0.05,
                  "vocab": {piece: i for i, piece in enumerate(vocab)}, "merges": merges}}), letters


def spaces(args, report):
    rng, on_road = random.Random(args.seed), 0
    for number in range(args.files):
        text, letters = space_file(rng)
        pair = Pair(args.driver, text)
        on_road += not pair.engine.off_fast_road()
        drawn = rng.sample(letters, min(3, len(letters))) + [" ", METASPACE, "x"]
        texts = ["".join(t) for n in range(1, 4) for t in itertools.product(drawn, repeat=n)]
        units = 2 * letters + [" "] * 8 + ["  ", METASPACE, "x", "\u4eba", "~", "<s>", " <s> ", "\n", "   "]
        texts += ["".join(rng.choices(units, k=rng.choice((5, 9, 20, 40, 70, 200)))) for _ in range(args.count // args.files)]
        texts.append("".join(rng.choices(units, k=6000)))
        compare_columns(pair, f"file {number}: {text}", texts, report)
        pair.close()
    E.require(2 * on_road > args.files, f"only {on_road} of {args.files} files take the fast road")
    texts = [json.loads(line)["text"] for file in sorted(args.xquad.glob("*.jsonl"))
             for line in file.read_text(encoding="utf-8").splitlines()[::args.every]]
    code = Path(__file__).read_text(encoding="utf-8")
    texts += [code, "\tif (x) {\n\t\t  return;\n\n\n      }\n", "".join(texts), " ".join([code, *texts]).replace(" ", "  ")]
    document = json.loads((args.data / FILES[5]).read_text(encoding="utf-8"))
    for form, (normalizer, pre_tokenizer) in SPACE_FORMS.items():
        for fallback, fuse in ((True, True), (False, True), (False, False)):
            document["normalizer"], document["pre_tokenizer"] = normalizer, pre_tokenizer
            document["model"] |= {"byte_fallback": fallback, "fuse_unk": fuse}
            pair, name = Pair(args.driver, json.dumps(document)), f"mistral, {form}, byte_fallback {fallback}, fuse_unk {fuse}"
            report.checks += 1
            if pair.engine.off_fast_road():
                report.mismatch(name, "what keeps it off the fast road", pair.engine.off_fast_road(), "")
            compare_columns(pair, name, texts, report)
            pair.close()


def done_with(args, report, name, texts, begun):
    """Says what was compared of a vocabulary; --results: for fuzz/report.py."""
    seconds = time.monotonic() - begun
    print(f"{name}: {texts:,} texts, {report.bad} differ so far, {seconds:.0f} s", flush=True)
    if args.results:
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
        with open(args.results, "a", encoding="utf-8") as out:
            out.write(json.dumps({"bpe": {"version": tokenizers.__version__, "vocabulary": name, "of": args.command, "texts": texts,
                                          "differences": report.bad, "seconds": round(seconds)}, "commit": commit}) + "\n")


def sweep(args, report):
    for name in args.file or FILES:
        pair, begun, count = Pair(args.driver, (args.data / name).read_text(encoding="utf-8")), time.monotonic(), 0
        step = 1 if args.all else 3 if name == FILES[0] else 13
        for template in TEMPLATES:
            lines = (" | ".join(template.replace("*", c) for c in some)
                     for some in batches(code_points(args.all, step), PER_TEXT))
            for texts in batches(lines, 4096):
                compare(pair, f"{name}, {template!a}", texts, report)
                count += len(texts)
            print(f"{name}, {template!a}: {report.checks:,} comparisons so far, {report.bad} differ", flush=True)
        pair.close()
        done_with(args, report, name, count, begun)


SPECIAL = ["\u0301", "\u0300", "\u0323", "\u200b", "\u00ad", "\ufeff", "\0", "\ufffd", "\x85", "\u2028", "\u3000", "\u00a0", "\t",
           "\n", "\r", "\r\n", "\n\n", " ", "  ", "   ", " " * 25, "\u4e2d", "\u6587", "\u3002", "\u304c", "\ud55c", "\u1112\u1161\u11ab",
           "\u1100", "\u1161", "\u00df", "\u017f", "'", "'s", "'S", "'ll", "'LL", "'\u017f", "\u2019s", "\u212a", "\u212b", "\u037e",
           "\u1fef", "\u0344", "\u0958", "\u00ea\u0323", "\u1fa1\u0301", "\u0928\u093c", "\u0928\u094d", "\u0e01\u0e34", "\u0e38\u0e48", "\u0e48\u0e38", "\u00b2", "\u00bd",
           "\u2167", "\u0661", "1", "12", "123", "1234", "a", "B", "ab", "Hello", " the", "\u0434\u0430", " \u0434", "\u05d1\u05bc\u05b8",
           "\u05b8\u05bc", "\u0627\u0655", "\U0001f600", "\U0001f468\u200d\U0001f469", "\ufe0f", "#", "!", "!!", "/", "()", "...", "_", "-",
           "<s>", "</s>", "<mask>", "[MASK]", "[SEP]", "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<think>", "<|im_end|", "[unused1]",
           "|||IP_ADDRESS|||", "\u2581", "\u2581\u2581", "x" * 40, "a" * 33, "\U00011de0", "\U0001fae9", "\u02d0", "\u0295"]


def draw(rng, pieces):
    parts = []
    for _ in range(rng.choice((1, 2, 3, 5, 8, 13, 40))):
        kind = rng.random()
        if kind < 0.4:
            parts.append(rng.choice(pieces))
        elif kind < 0.85:
            parts.append(rng.choice(SPECIAL))
        elif kind < 0.95:
            parts.append(" ")
        else:
            c = rng.randrange(0x110000)
            parts.append(chr(c) if not 0xd800 <= c < 0xe000 else "?")
    return "".join(parts)


def random_file(rng):
    """Few letters, merges in any order that may repeat, with and without an unknown token, bytes and ignore_merges."""
    letters = rng.choice(("ab", "abc", "a", "ab\u00e9"))
    vocab, merges = list(letters), []
    for _ in range(rng.randrange(1, 14)):
        left, right = rng.choice(vocab), rng.choice(vocab)
        if len(left + right) <= 12:
            merges.append([left, right])
            if left + right not in vocab:
                vocab.append(left + right)
    if rng.random() < 0.3 and merges:
        merges.append(rng.choice(merges))
    rng.shuffle(merges) if rng.random() < 0.5 else None
    unk = rng.choice((None, "<unk>", "<unk>"))
    if unk or rng.random() < 0.3:
        vocab.append("<unk>")
    fallback = rng.random() < 0.3
    if fallback:
        vocab += [f"<0x{b:02X}>" for b in range(256)]
    if rng.random() < 0.3:
        vocab.append("ba" * rng.randrange(1, 4))
    vocab = list(dict.fromkeys(vocab))
    ids = list(range(len(vocab)))
    rng.shuffle(ids)
    normalizer = rng.choice((None, {"type": "NFC"}, {"type": "Sequence", "normalizers": [
        {"type": "Prepend", "prepend": "a"}, {"type": "Replace", "pattern": {"String": " "}, "content": "b"}]}))
    return json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": normalizer,
        "pre_tokenizer": rng.choice((None, {"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "a", "prepend_scheme": "first", "split": False})),
        "post_processor": None, "decoder": rng.choice((None, {"type": "Fuse"}, {"type": "ByteFallback"})),
        "model": {"type": "BPE", "dropout": None, "unk_token": unk, "continuing_subword_prefix": rng.choice((None, "")),
                  "end_of_word_suffix": None, "fuse_unk": rng.random() < 0.5, "byte_fallback": fallback,
                  "ignore_merges": rng.random() < 0.3, "vocab": dict(zip(vocab, ids)),
                  "merges": [" ".join(m) for m in merges] if rng.random() < 0.5 else merges}})


def random_texts(args, report):
    rng = random.Random(args.seed)
    each = max(1, args.count // (2 * len(FILES)))
    for name in FILES:
        text = (args.data / name).read_text(encoding="utf-8")
        pair = Pair(args.driver, text)
        pieces = [pair.tokenizer.decode([i]) for i in rng.sample(range(pair.tokenizer.get_vocab_size()), 4000)]
        for some in batches((draw(rng, pieces) for _ in range(each)), 4096):
            compare(pair, name, some, report)
        pair.close()
    for number in range(args.files):
        text = random_file(rng)
        pair = Pair(args.driver, text)
        texts = ["".join(rng.choice("aaaabbbbc\u00e9x\u4e2d \u0301") for _ in range(rng.choice((1, 2, 3, 5, 9, 17, 70, 200))))
                 for _ in range(max(1, args.count // (2 * args.files)))]
        for some in batches(texts, 4096):
            compare(pair, f"file {number}: {text}", some, report)
        pair.close()


def compare_columns(pair, name, texts, report):
    """As compare, without decoding: columns at once; the engine's ids alone too, which it makes in another way."""
    encoded, flat = pair.tokenizer.encode_batch(texts), itertools.chain.from_iterable
    ids = [e.ids for e in encoded]
    starts = np.cumsum([0, *map(len, ids)])
    places = np.fromiter(flat(flat(e.offsets for e in encoded)), np.int64, 2 * int(starts[-1])).reshape(-1, 2)
    theirs = E.Columns(np.zeros(len(texts), np.int64), starts, np.fromiter(flat(ids), np.int64, int(starts[-1])), places[:, 0], places[:, 1])
    data = [t.encode() for t in texts]
    report.checks += len(texts)
    for columns in (E.COLUMN_OFFSETS, 0):
        for i in pair.engine.encode(data, FLAGS, columns).differing_rows(theirs):
            small = E.reduce_text(texts[i], pair.differs)
            report.mismatch(name, ascii(small), pair.got([small])[0], pair.expected([small])[0])


def bulk(args, report):
    words = bulk_texts.words(args.xquad, args.stream)
    strings = [w.decode() for w in words]
    for name in args.file or FILES:
        pair, rng, begun = Pair(args.driver, (args.data / name).read_text(encoding="utf-8")), random.Random(f"{args.seed} {name}"), time.monotonic()
        pieces = [p for i in rng.sample(range(pair.tokenizer.get_vocab_size()), 4000) if (p := pair.tokenizer.decode([i])) and "\ufffd" not in p]
        added = [t.content for t in pair.tokenizer.get_added_tokens_decoder().values()][:40]
        units = [u.encode() for u in pieces + 40 * SPECIAL + 20 * added + 4 * [u for group in mixtures.ODD.values() for u in group]]
        units += rng.sample(words, min(len(words), 8000))
        short = [lambda: (t.decode() for t in bulk_texts.ties(rng, pieces, 8192)),
                 lambda: (t.decode() for t in bulk_texts.of_words(rng, units, 8192, 3)),
                 lambda: (t.decode() for t in bulk_texts.of_words(rng, units, 4096, 5))]
        kinds = itertools.cycle(short * 5 + [lambda: (t.decode() for t in bulk_texts.of_words(rng, words, 2048)),
                                             lambda: mixtures.mixtures(1024, rng.randrange(1 << 32), strings, added),
                                             lambda: (draw(rng, pieces) for _ in range(512))])
        done = 0
        while done < args.count:
            texts = list(itertools.islice(next(kinds)(), args.count - done))
            compare_columns(pair, name, texts, report)
            done += len(texts)
        pair.close()
        done_with(args, report, name, done, begun)


def stream(args, report):
    with open(args.stream, encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    for name in args.file or FILES:
        pair, begun = Pair(args.driver, (args.data / name).read_text(encoding="utf-8")), time.monotonic()
        for some in batches(texts, 256):
            compare_columns(pair, name, some, report)
        pair.close()
        done_with(args, report, name, len(texts), begun)


def whole(args, report):
    golden = args.data / "ignore_merges"
    pair = Pair(args.driver, (golden / "tokenizer.json").read_text(encoding="utf-8"))
    for line in (golden / "golden.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        (ids, places), = pair.got([row["text"]])
        report.checks += 1
        if ids != row["ids"] or [list(place) for place in places] != row["offsets"]:
            report.mismatch("golden.jsonl", ascii(row["text"]), (ids, places), (row["ids"], row["offsets"]))
    pair.close()
    texts = [json.loads(line)["text"] for file in sorted(args.xquad.glob("*.jsonl"))
             for line in file.read_text(encoding="utf-8").splitlines()[::args.every]]
    document = json.loads((args.data / FILES[0]).read_text(encoding="utf-8"))
    merges, rng = document["model"]["merges"], random.Random(1)
    for left_out in args.left_out or (0, 0.1, 1 / 3, 1):
        document["model"] |= {"ignore_merges": True, "merges": [m for m in merges if rng.random() >= left_out]}
        pair, begun = Pair(args.driver, json.dumps(document)), time.monotonic()
        for some in batches(texts, 1024):
            compare_columns(pair, f"{left_out:.2f} of the merges left out", some, report)
        pair.close()
        done_with(args, report, f"{left_out:.2f} of the merges left out", len(texts), begun)


def main():
    parser = E.arguments(__doc__, "driver")
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("sweep")
    one.add_argument("--data", type=Path, required=True)
    one.add_argument("--all", action="store_true")
    one.add_argument("--file", action="append", choices=FILES)
    one.add_argument("--results", help="fuzz/results.jsonl, to append to")
    one = commands.add_parser("random")
    one.add_argument("--data", type=Path, required=True)
    one.add_argument("--count", type=int, default=60000)
    one.add_argument("--files", type=int, default=60)
    one.add_argument("--seed", type=int, default=1)
    one = commands.add_parser("spaces")
    one.add_argument("--data", type=Path, required=True)
    one.add_argument("--xquad", type=Path, required=True)
    one.add_argument("--count", type=int, default=20000)
    one.add_argument("--files", type=int, default=100)
    one.add_argument("--every", type=int, default=40)
    one.add_argument("--seed", type=int, default=1)
    one = commands.add_parser("traps")
    one.add_argument("--data", type=Path, required=True)
    one = commands.add_parser("whole")
    one.add_argument("--data", type=Path, required=True)
    one.add_argument("--xquad", type=Path, required=True)
    one.add_argument("--every", type=int, default=1)
    one.add_argument("--left-out", type=float, action="append")
    one.set_defaults(results=None)
    for command in ("bulk", "stream"):
        one = commands.add_parser(command)
        one.add_argument("--data", type=Path, required=True)
        one.add_argument("--stream", type=Path, required=command == "stream")
        one.add_argument("--file", action="append", choices=FILES)
        one.add_argument("--results", help="fuzz/results.jsonl, to append to")
        if command == "bulk":
            one.add_argument("--xquad", type=Path, required=True)
            one.add_argument("--count", type=int, default=10_000_000)
            one.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    E.require(args.data.is_dir(), f"no folder {args.data}")
    report = E.Report(limit=8)
    started = time.monotonic()
    {"sweep": sweep, "random": random_texts, "spaces": spaces, "traps": traps, "whole": whole, "bulk": bulk, "stream": stream}[args.command](args, report)
    print(f"{args.command}: {report.checks} comparisons in {time.monotonic() - started:.0f} s")
    return report.finish(f"BPE, {args.command}")


if __name__ == "__main__":
    sys.exit(main())
