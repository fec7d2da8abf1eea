# SPDX-License-Identifier: MIT
"""Pins the plain C++ references (tests/reference) to the wheels: tokenizers for hf_unigram and
hf_normalize, sentencepiece for sp_unigram, with the rule that its version has. Generated vocabularies
and stress texts.

  pin_reference.py --driver REFERENCE_DRIVER [--sp-only] [--charsmap FILE.model] [--count N] [--worlds K]

--sp-only is for environments that have no tokenizers wheel.
"""

import json
import random
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import engine as E  # noqa: E402
import long_texts  # noqa: E402
import sp_models  # noqa: E402
import spm_proto  # noqa: E402
import stress  # noqa: E402
import variants as V  # noqa: E402

try:
    import numpy as np
    import sp_wheel
    if "--sp-only" not in sys.argv:
        from tokenizers import Regex, Tokenizer, normalizers
except ImportError as error:
    E.require(False, f"a reference wheel is not installed: {error}")

FORMS = ("NFC", "NFD", "NFKC", "NFKD")


def packed_texts(texts):
    return struct.pack("<I", len(texts)) + np.array([len(t) for t in texts], "<u4").tobytes() + b"".join(texts)


def packed(data):
    return struct.pack("<I", len(data)) + data


class Reference(E.Engine):
    def charsmap(self, blob):
        self.call("C", blob)

    def hf_model(self, vocab, unk_id, byte_fallback):
        out = struct.pack("<iII", -1 if unk_id is None else unk_id, byte_fallback, len(vocab))
        self.call("H", out + b"".join(struct.pack("<d", s) + packed(p.encode()) for p, s in vocab))

    def sp_model(self, model):
        flags = (model.add_dummy_prefix | model.remove_extra_whitespaces << 1 | model.escape_whitespaces << 2
                 | model.treat_whitespace_as_suffix << 3 | model.byte_fallback << 4
                 | (sp_wheel.MODE == "sentencepiece-0.2.1") << 5)
        self.charsmap(model.charsmap)
        self.call("S", struct.pack("<II", flags, len(model.pieces))
                  + b"".join(struct.pack("<fI", s, k) + packed(p) for p, s, k in model.pieces))

    def encode_with(self, command, texts):
        answer = np.frombuffer(self.call(command, packed_texts(texts)), "<u4")
        counts = answer[:len(texts)].tolist()
        total = sum(c for c in counts if c != 0xffffffff)
        columns = answer[len(texts):].reshape(3, total)
        out, at = [], 0
        for c in counts:
            if c == 0xffffffff:
                out.append(None)
            else:
                out.append(columns[:, at:at + c].tolist())
                at += c
        return out

    def normalize(self, operation, texts, x=0, y=0, a="", b=""):
        head = struct.pack("<III", operation, x, y) + packed(a.encode()) + packed(b.encode())
        answer = self.call("N", head + packed_texts(texts))
        sizes = np.frombuffer(answer, "<u4", len(texts)).tolist()
        out, at = [], 4 * len(texts)
        for size in sizes:
            out.append(answer[at:at + size])
            at += size
        return out


def pin_normalizers(reference, report, charsmaps, texts):
    encoded = [t.encode() for t in texts]

    def compare(name, wheel, *arguments, **keywords):
        mine = reference.normalize(*arguments, texts=encoded, **keywords)
        for text, got in zip(texts, mine):
            expected = wheel.normalize_str(text).encode()
            report.checks += 1
            if got != expected:
                report.mismatch(f"normalizer {name}", text, ascii(got.decode()), ascii(expected.decode()))

    for name, blob in charsmaps:
        reference.charsmap(blob)
        compare(f"Precompiled {name}", normalizers.Precompiled(blob), 0)
    for k, form in enumerate(FORMS):
        compare(form, getattr(normalizers, form)(), 1, x=k)
    compare("Lowercase", normalizers.Lowercase(), 2)
    compare("StripAccents", normalizers.StripAccents(), 3)
    compare("Nmt", normalizers.Nmt(), 4)
    for left in (0, 1):
        for right in (0, 1):
            compare(f"Strip {left}{right}", normalizers.Strip(bool(left), bool(right)), 5, x=left, y=right)
    compare("Prepend", normalizers.Prepend("▁"), 6, a="▁")
    for a, b in ((" ", "▁"), ("oo", "o"), (",", ""), ("a", "bcd"), ("\u0301", "")):
        compare(f"Replace {a!r}", normalizers.Replace(a, b), 7, a=a, b=b)
    compare("Replace  {2,}", normalizers.Replace(Regex(" {2,}"), "▁"), 8, x=2, b="▁")
    compare("Replace whitespace", normalizers.Replace(Regex(r"\s{2,}|[\n\r\t]"), " "), 9, b=" ")


def pin_hf(reference, report, seed, count):
    """Whole text as one model call: no normalizer, no pre-tokenizer."""
    base = V.small_base(seed)
    r = random.Random(seed)
    names = [p for p, _ in base.vocab]
    vocab = base.vocab + [[f"<0x{b:02X}>", r.choice([0.0, -1.5])] for b in range(256)] if seed % 2 else base.vocab
    fallback = seed % 4 < 3
    unk_id = None if seed % 9 == 8 else base.unk_id
    model = {"type": "Unigram", "unk_id": unk_id, "vocab": vocab, "byte_fallback": fallback}
    wheel = Tokenizer.from_str(json.dumps({"version": "1.0", "added_tokens": [], "model": model}))
    reference.hf_model(vocab, unk_id, fallback)
    letters = sorted({c for p in names[4:] for c in p}) + ["é", "\U0001f600", "▁"]
    texts = ["".join(r.choices(letters, k=r.randint(0, 25))) for _ in range(count)]
    texts += list(stress.strings(count // 4, seed, names[3:]))
    for text, got in zip(texts, reference.encode_with("h", [t.encode() for t in texts])):
        try:
            encoding = wheel.encode(text, add_special_tokens=False)
            sizes = np.concatenate([[0], np.cumsum([len(c.encode()) for c in text])]).astype(int)
            expected = [encoding.ids, [int(sizes[a]) for a, _ in encoding.offsets],
                        [int(sizes[b]) for _, b in encoding.offsets]]
        except Exception as problem:
            expected = None if "unk_id" in str(problem) else str(problem)
        report.checks += 1
        if got != expected:
            report.mismatch("hf_unigram", (seed, text), got, expected)


def pin_sp(reference, report, model, seed, count):
    wheel = sp_wheel.Wheel(spm_proto.write(model))
    reference.sp_model(model)
    r = random.Random(seed)
    letters = sorted({c for p, _, k in model.pieces[3:] if k != spm_proto.BYTE for c in p.decode()})
    texts = ["".join(r.choices(letters + [" ", "é", "Ａ"], k=r.randint(0, 25))).encode() for _ in range(count)]
    texts += list(stress.byte_strings(count // 4, seed, [p.decode() for p, _, _ in model.pieces[3:80]]))
    texts += [text for _, text in long_texts.repeated([p.decode() for p, _, _ in model.pieces[3:80]], 1000, seed)]
    if model.charsmap:
        # A NUL can walk libsentencepiece's double array through units that belong to no key, so what
        # it does depends on the array's layout, which a reference over keys does not have. The engine
        # walks the same array and is compared with libsentencepiece on NULs directly.
        texts = [text for text in texts if b"\0" not in text]
    expected = wheel.ids(texts)
    for i, (text, got) in enumerate(zip(texts, reference.encode_with("s", texts))):
        report.checks += 1
        if got[0] != expected.row(i)["ids"]:
            report.mismatch("sp_unigram", (seed, text), got[0], expected.row(i)["ids"])


def main():
    parser = E.arguments(__doc__, "driver")
    parser.add_argument("--sp-only", action="store_true")
    parser.add_argument("--charsmap", help="a .model whose map is compared too")
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--worlds", type=int, default=60)
    args = parser.parse_args()
    reference, report = Reference(args.driver), E.Report()
    if not args.sp_only:
        charsmaps = [("of the traps", V.trap_charsmap())]
        if args.charsmap and Path(args.charsmap).exists():
            charsmaps.append((Path(args.charsmap).name, spm_proto.read(Path(args.charsmap).read_bytes()).charsmap))
        texts = [t for _, t in stress.MINIMUM] + list(stress.strings(args.count, 5))
        pin_normalizers(reference, report, charsmaps, texts)
    for seed in range(args.worlds):
        if not args.sp_only:
            pin_hf(reference, report, seed, 400)
        pin_sp(reference, report, sp_models.random_model(seed), seed, 400)
        pin_sp(reference, report, sp_models.with_large_scores(seed), seed, 400)
    reference.close()
    return report.finish("references against the wheels")


if __name__ == "__main__":
    sys.exit(main())
