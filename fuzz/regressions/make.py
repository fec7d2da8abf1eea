#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes every file under fuzz/regressions, and SHA256SUMS, from what is written down here.

  fuzz/regressions/make.py            writes them
  fuzz/regressions/make.py --check    fails when a file differs, is missing, or is not made here

Each is the least input that still shows a finding of the fuzz targets, rebuilt field by field: no byte
of it comes from anywhere else. README.md beside this file says what each one is.
"""

import hashlib
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
NORMAL, UNKNOWN, CONTROL, USER_DEFINED = 1, 2, 3, 4


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def piece(text, score, kind=NORMAL):
    return field(1, field(1, text.encode()) + b"\x15" + struct.pack("<f", score) + b"\x18" + varint(kind))


def model(*pieces, unk_surface=None, charsmap=None):
    """A ModelProto of sentencepiece_model.proto: pieces 1, trainer_spec 2, normalizer_spec 3."""
    out = piece("<unk>", 0, UNKNOWN) + piece("<s>", 0, CONTROL) + piece("</s>", 0, CONTROL) + b"".join(pieces)
    if unk_surface is not None:
        out += field(2, field(44, unk_surface))
    return out + field(3, field(1, b"regression") + (field(2, charsmap) if charsmap else b""))


def charsmap(units, pool):
    return struct.pack("<I", 4 * len(units)) + struct.pack(f"<{len(units)}I", *units) + pool


def value_outside_pool():
    units = [0] * 512
    units[0] = 256 << 10  # the children of the root are at 256 ^ byte
    units[256] = 0xFF
    units[256 ^ ord("a")] = 0x100 | ord("a")  # key "a": its value is at the same place ^ 0
    units[256 ^ ord("a")] |= (256 ^ ord("a") ^ 300) << 10
    units[300] = 0x80000000
    units[40] = 0x80000000 | 1000  # no key leads here
    return charsmap(units, b"b\0")


def units_in_a_circle():
    units = [0] * 512
    units[0] = 256 << 10
    units[256 ^ ord("a")] = ord("a") << 10 | ord("a")  # the child "a" has itself as child "a"
    return charsmap(units, b"b\0")


# Inputs of the parity targets are no files but choices: each word says what the generator of models and texts
# does next. This one draws a charsmap with the key CR LF and the text "1", CR, LF, "<s>".
CR_LF_AFTER_A_DIGIT = bytes.fromhex(
    "00ff000000040060000000b7000000730085e64a00000042a10000000000000000000000000000000000000000000047"
    "00000000000000e100df000000000000000000000000b285d443")

# A reranker of two documents and a row per batch; begin; hand back the batch with first_row 2^64 - 1.
FIRST_ROW_WRAPS = bytes.fromhex("0100" "0400" "04050101030001000005")
# The same; begin twice; hand back the batch of the first request as it was.
LATE_BATCH = bytes.fromhex("0100" "0400" "0400" "0405000001000005")

# The second image of BPE, whose characters fall back to bytes; at the end of its pages; one change: of its byte_ids,
# number 0xed64 modulo 256 of them, a word of edges[0xa0 modulo 16], 0xffffffff.
BYTE_WITHOUT_AN_ID = bytes.fromhex("01" "01" "98" "20" "ed64" "ec" "a09eb7")

FILES = {
    "charsmap/units-in-a-circle": b"\x00" + units_in_a_circle(),  # the first byte chooses the parity
    "encode_parity_sp/cr-lf-after-a-digit": CR_LF_AFTER_A_DIGIT,
    "handed_back/first-row-wraps": FIRST_ROW_WRAPS,
    "handed_back/late-batch": LATE_BATCH,
    "image_open_bpe/byte-without-an-id": BYTE_WITHOUT_AN_ID,
    "spm_model/charsmap-value-outside-pool": model(piece("o", -1), charsmap=value_outside_pool()),
    "spm_model/flag-without-value-at-the-end": model(piece("o", -1)) + field(3, b"\x18"),
    "spm_model/unk-surface-with-nul": model(piece("o", -1), unk_surface=b"x\0y"),
    "spm_model/user-defined-score-overflows":
        model(piece("o", -0.5), piece("AAA\u2581A", -0.4, USER_DEFINED), piece("big", 3.4e38)),
}


def sums():
    return "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(FILES.items()))


def main():
    want = {HERE / name: data for name, data in FILES.items()}
    want[HERE / "SHA256SUMS"] = sums().encode()
    if "--check" not in sys.argv[1:]:
        for path, data in want.items():
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
        return 0
    wrong = [path for path, data in want.items() if not path.exists() or path.read_bytes() != data]
    text = (HERE / "README.md").read_text()
    wrong += [name for name in FILES if f"`{name}`" not in text]
    wrong += [path for path in HERE.glob("*/*") if path not in want]
    for path in wrong:
        print(f"{path}: not what make.py makes, or not described in README.md")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
