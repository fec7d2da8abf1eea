# SPDX-License-Identifier: MIT
"""Texts that tell tokenizers apart: a seeded, class-stratified generator and the fixed lists.

strings(count, seed, fragments) yields valid str for HuggingFace; byte_strings(count, seed,
fragments) yields bytes, one in eight with invalid UTF-8, for SentencePiece. Every class below is
drawn equally often, in turn, so that a count of 1,000,000 holds about 45,000 of each. The same
(count, seed, fragments) gives the same texts on every machine. About 10 us per string.

tests/support/stress.cc is the generator of the C++ tests: the same classes, other draws.
"""

import random
import unicodedata

# --- Fixed lists ---------------------------------------------------------------------------------

# The minimum list for HuggingFace parity, by name.
MINIMUM = [
    ("empty", ""), ("space", " "), ("tab", "\t"), ("cr_lf", "\r\n"), ("a_crlf_b", "a\r\nb"),
    ("cr_mark_lf", "\r\u0300\n"), ("a_cr_mark_lf_b", "a\r\u0300\nb"),
    ("nul", "\0"), ("nul_inside", "a\0b"), ("nel", "a\u0085b"), ("nbsp", "a\u00a0b"),
    ("zwsp", "a\u200bb"), ("zwnj", "a\u200cb"), ("zwj", "a\u200db"), ("zwj_alone", "\u200d"),
    ("metaspace_literal", "a\u2581b"), ("metaspace_run", "\u2581\u2581a\u2581"),
    ("bom", "\ufeffabc"), ("replacement_char", "a\ufffdb"), ("ideographic_space", "a\u3000b"),
    ("soft_hyphen", "a\u00adb"), ("ligature_fi", "\ufb01n"), ("fdfa", "\ufdfa"),
    ("fdfa_inside", "a\ufdfab"), ("halfwidth_ga", "\uff76\uff9e"),
    ("halfwidth_word", "\uff76\uff9e\uff77\uff9e\uff8a\uff9f\uff70"),
    ("vietnamese_nfd", unicodedata.normalize("NFD", "Tiếng Việt rất đẹp")),
    ("vietnamese_nfc", "Tiếng Việt rất đẹp"),
    ("hangul_nfd", unicodedata.normalize("NFD", "한국어 형태소")),
    ("zwj_emoji", "\U0001f468\u200d\U0001f469\u200d\U0001f467 ok"),
    ("flags", "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7 \U0001f1e9"),
    ("mask_with_spaces", "a   <mask>   b"), ("mask_glued", "<mask>foo"), ("mask_after", "foo<mask>"),
    ("adjacent_specials", "<s></s><pad><unk><mask><mask>"), ("special_start", "<s> Hello"),
    ("special_end", "Hello </s>"), ("literal_eos", "a </s> b"), ("word_300_bytes", "q" * 300),
    ("word_300_letters", "abcdefghij" * 30), ("ties", "o" * 37), ("ties_upper", "O" * 64),
    ("all_unknown", "\U00012000\U00012001\U00012002"), ("one_unknown", "ab\U00012000cd"),
    ("unknowns_and_space", "\U00012000 \U00012001"), ("lone_mark_first", "\u0301a"),
    ("lone_mark", "\u0301"), ("digits_comma", "in 2,000, 30,5 and 1,,2"),
    ("two_spaces", "a  b"), ("many_spaces", "   a     b   "), ("trailing_space", "Hello world "),
    ("leading_control", "\x01abc"), ("only_control", "\x01\x02"), ("newline_tabs", "a\n\t b\n\n"),
    ("quotes", "``quoted'' \"x\""), ("deferred_case", "ΑΣ İstanbul ẞ"),
    ("conjunct", "\u0915\u094d\u0958\u0301"), ("pictographs", "\u260e\u200d\u2122\u0301"),
    ("byte_piece_literal", "<0x41><0xE3>"), ("unused_literal", "</s>NOTUSED <unk>NOTUSED"),
]

# 1 MiB without a space; apart, because it is slow in the reference.
LONG_UNSPACED = ("long_unspaced", "abcdefgh" * 131072)

# Rows found with the wheel and the XLM-R tokenizer.json of the shared data (single texts).
GOLDEN_XLMR = [
    ("a </s> b", [0, 10, 2, 876, 2]), ("e\u0301\u0323", [0, 393, 2]),
    ("\u00bd\u0301x", [0, 78660, 425, 2]), ("a\u200db", [0, 10, 876, 2]),
    ("\u06001", [0, 6, 3, 418, 2]),
]
GOLDEN_XLMR_PAIRS = [
    ("What is a panda?", "The giant panda is a bear.",
     [0, 4865, 83, 10, 6, 85407, 32, 2, 2, 581, 6051, 18, 6, 85407, 83, 10, 81148, 5, 2]),
    ("query", "", [0, 41, 1294, 2, 2, 2]), ("", "doc", [0, 2, 2, 51584, 2]),
]

# --- Character pools -----------------------------------------------------------------------------

SPECIALS = ["<s>", "</s>", "<pad>", "<unk>", "<mask>", "[CLS]", "[SEP]", "[MASK]", "<sep>", "<cls>",
            "<extra_id_0>", "<eod>", "<mask_1>", "en_XX", "<0x41>", "<s", "</s", "<<s>>", "</S>"]
SPACES = [" ", " ", " ", "  ", "\t", "\n", "\r", "\r\n", "\n\r", "\x0b", "\x0c", "\u0085", "\u00a0",
          "\u1680", "\u2000", "\u2009", "\u200a", "\u200b", "\u200c", "\u200d", "\u200e", "\u200f",
          "\u2028", "\u2029", "\u202f", "\u205f", "\u2060", "\u2581", "\u3000", "\ufeff", "\ufffd",
          "\u180e"]
CONTROLS = [chr(c) for c in [*range(0, 0x20), *range(0x7f, 0xa0)]] + ["\u00ad", "\u061c", "\u2066"]
PREPEND = [chr(c) for c in (0x600, 0x601, 0x605, 0x6dd, 0x70f, 0x890, 0x8e2, 0xd4e, 0x110bd, 0x111c2,
                            0x113d1, 0x11a3a, 0x11a84, 0x11d46, 0x11f02)]
# Marks assigned in 15.1, 16.0 and 17.0, and spacing marks whose class changed in 16.0.
NEW_MARKS = [chr(c) for c in (0x897, 0x1acf, 0x1add, 0x1ae0, 0x1aeb, 0x10d69, 0x10efa, 0x10efc,
                              0x113b8, 0x113ca, 0x113ce, 0x113e1, 0x11b60, 0x11f5a, 0x1611e, 0x1612a,
                              0x1e5ee, 0x1e6e3, 0xcc0, 0x1b44, 0xa953, 0x111c0, 0x16ff0, 0x1d166,
                              0x1171e, 0x1133b, 0x16d63, 0x16d67)]
# Two-byte marks first: they make clusters of at most five bytes, the ones that can be replaced.
MARKS2 = [chr(c) for c in (0x300, 0x301, 0x302, 0x303, 0x308, 0x309, 0x31b, 0x323, 0x327, 0x328,
                           0x334, 0x338, 0x345, 0x34f, 0x483, 0x5b0, 0x64b, 0x670)]
MARKS3 = [chr(c) for c in (0x93c, 0x94d, 0x903, 0xe31, 0xe33, 0x1ab0, 0x1dc0, 0x200d, 0x20d0, 0x20dd,
                           0x20e3, 0x302a, 0x3099, 0x309a, 0xfe0e, 0xfe0f, 0xfe20)]
MARKS4 = [chr(c) for c in (0x110b9, 0x1d165, 0x1d16d, 0xe0100, 0xe01ef, 0x1f3fb, 0x1f3ff)]
MARKS = MARKS2 * 3 + MARKS3 * 2 + MARKS4 + NEW_MARKS
BASES = list("aAeEoOuUiInNcCsSdDyYzZ1 ,.\"'-") + [
    "\u00c0", "\u00e9", "\u00f1", "\u00a9", "\u00ae", "\u00bd", "\u0391", "\u03b1", "\u03a3",
    "\u0418", "\u0438", "\u05d0", "\u0627", "\u0915", "\u0958", "\u0e01", "\u1100", "\u1f00",
    "\u1fb3", "\u212b", "\u2122", "\u2126", "\u260e", "\u30ab", "\u30cf", "\u3042", "\u4e2d",
    "\uac00", "\uff21", "\uff76", "\uff8a", "\ufb01", "\U0001d400", "\U0001f600", "\U00020000"]
INDIC = ([chr(c) for c in range(0x915, 0x93a)] + [chr(c) for c in range(0x958, 0x960)]
         + [chr(c) for c in (0x995, 0x9dc, 0x9dd, 0x9df, 0xb15, 0xb5c, 0xc15, 0xd15, 0x1000, 0x1780)]
         + ["\u094d"] * 12 + ["\u09cd", "\u0b4d", "\u0d4d", "\u1039", "\u17d2", "\u093c", "\u200d",
                             "\u200c", "\u093f", "\u0902", "\u0301"])
EMOJI = [chr(c) for c in (0x1f468, 0x1f469, 0x1f467, 0x1f3f3, 0x1f308, 0x1f44d, 0x1f680, 0x2764,
                          0x2600, 0x260e, 0x2122, 0x2139, 0x203c, 0x3297, 0x3299, 0xa9, 0xae, 0x24c2,
                          0x1f170, 0x1f201, 0x2605, 0x2388)]
EMOJI_PARTS = ["\u200d", "\u200d", "\ufe0f", "\ufe0e", "\u20e3", "\U0001f3fb", "\U0001f3ff", "\u0301",
               "\U0001f1e6", "\U0001f1e7", "\U0001f1fa", "\U000e0067", "\U000e007f", "1", "#"]
KANA_HALF = [chr(c) for c in range(0xff61, 0xffa0)] + ["\uff9e", "\uff9f"] * 12
KANA = [chr(c) for c in range(0x3041, 0x3097)] + [chr(c) for c in range(0x30a1, 0x30fb)] + [
    "\u3099", "\u309a", "\u309b", "\u30fc"] * 8
JAMO = ([chr(c) for c in range(0x1100, 0x1113)] + [chr(c) for c in range(0x1161, 0x1176)]
        + [chr(c) for c in range(0x11a7, 0x11c3)] + [chr(0xac00 + 28 * k) for k in range(0, 399, 17)]
        + [chr(0xac01 + 28 * k) for k in range(0, 399, 41)] + [chr(c) for c in range(0x3131, 0x3164)]
        + [chr(c) for c in range(0xffa1, 0xffbf)] + ["\ua960", "\ud7b0", "\ud7cb", "\U00016d63"])
EXPANDING = [chr(c) for c in (0xfdfa, 0xfdfb, 0xfdf2, 0x33a5, 0x3300, 0x330d, 0x2474, 0x24b6, 0x249c,
                              0xbd, 0xbe, 0x2153, 0x2026, 0x2025, 0x2122, 0x2121, 0x210c, 0x1d400,
                              0xff21, 0xff41, 0xff10, 0xff0c, 0xff5e, 0xffe5, 0xfb00, 0xfb03, 0xfb4f,
                              0x132, 0x1c4, 0x17f, 0x1e9e, 0x130, 0x149, 0x1f0, 0x390, 0xb2, 0xaa,
                              0x2460, 0x32ff, 0x1f16c, 0x1fbf0, 0xab69, 0x10781, 0x1e030)]
CASED = list("ABCXYZabcxyz") + [chr(c) for c in (
    0xc0, 0xd6, 0xde, 0x130, 0x131, 0x178, 0x1c5, 0x1e9e, 0x391, 0x3a3, 0x3c2, 0x3c3, 0x410, 0x531,
    0x10a0, 0x10d0, 0x13a0, 0x1c89, 0x1c90, 0x2126, 0x212a, 0x2160, 0x24b6, 0x2c00, 0xa7cb, 0xa7dc,
    0xab70, 0xff21, 0x10400, 0x10d50, 0x118a0, 0x16ea0, 0x1e900)]
PUNCTUATION = list("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") + [chr(c) for c in (
    0xa1, 0xa7, 0xab, 0xb6, 0xbf, 0x589, 0x60c, 0x61d, 0x964, 0x9fd, 0x166d, 0x2010, 0x2014, 0x2018,
    0x201c, 0x2026, 0x203f, 0x2e43, 0x2e52, 0x3001, 0x3002, 0xff0c, 0xff3f, 0x111c9, 0x1144b, 0x1e95e)]
DIGITS = list("0123456789,,,..-%") + [chr(c) for c in (
    0xb2, 0xbd, 0x660, 0x966, 0xe51, 0x2160, 0x2460, 0x3007, 0xff10, 0x10d40, 0x1d7ce, 0x16ff4)]
VIET = "aăâeêioôơuưyAĂÂEÊIOÔƠUƯYđĐ"
TONES = ["\u0300", "\u0301", "\u0303", "\u0309", "\u0323", ""]
DEFAULT_FRAGMENTS = ["the", "ing", "er", "▁the", "▁", "世界", "ation", "мир", "การ", "ال", "है",
                     "の", "▁a", "oo", "ooo", ",", "00", "2,000", "한", "ő", "ß"]

_SCRIPT_RANGES = [(0x20, 0x7f), (0xa0, 0x250), (0x370, 0x400), (0x400, 0x530), (0x590, 0x700),
                  (0x900, 0xe00), (0xe00, 0x1000), (0x1100, 0x1200), (0x1e00, 0x2000), (0x2000, 0x2100),
                  (0x2100, 0x2700), (0x3000, 0x3100), (0x4e00, 0x9fff), (0xac00, 0xd7a4),
                  (0xf900, 0xfb50), (0xfb50, 0xfe00), (0xfe00, 0x10000), (0x10000, 0x11000),
                  (0x11000, 0x12000), (0x16000, 0x17000), (0x1d000, 0x1e000), (0x1e000, 0x1f000),
                  (0x1f000, 0x20000), (0x20000, 0x32000), (0xe0000, 0xe0200), (0xf0000, 0x110000)]


def _pick(r, pool, low, high):
    return "".join(r.choices(pool, k=r.randint(low, high)))


def _random_code_point(r):
    first, last = r.choice(_SCRIPT_RANGES)
    c = r.randrange(first, last)
    return chr(c) if not 0xd800 <= c < 0xe000 else "\ud7ff"


def _ties(r, f):
    unit = r.choice(["o", "a", "O", "0", "=", "-", ".", "ha", "na", "xx", "の", "オ", "ก", "한", "ا"])
    text = unit * r.randint(1, 40)
    return text if r.random() < 0.6 else text + r.choice(["", " ", "b"]) + unit * r.randint(1, 9)


def _repeat(r, f):
    return (r.choice(f) + r.choice(["", "", " ", "-"])) * r.randint(2, 12)


def _kana_half(r, f):
    return _pick(r, KANA_HALF if r.random() < 0.7 else KANA, 1, 14)


def _vietnamese(r, f):
    out = []
    for _ in range(r.randint(1, 8)):
        out.append(r.choice(["", "t", "ng", "nh", "Th"]))
        vowel = r.choice(VIET)
        marks = [r.choice(TONES)]
        if r.random() < 0.5:
            decomposed = unicodedata.normalize("NFD", vowel)
            vowel, marks = decomposed[0], marks + list(decomposed[1:])
            if r.random() < 0.5:
                marks.reverse()
        out.append(vowel + "".join(marks) + r.choice(["", "", "n", "c", " "]))
    return "".join(out)


def _hangul(r, f):
    return _pick(r, JAMO, 1, 12) + r.choice(["", " ", "\u0301"])


def _combining(r, f):
    return "".join(r.choice(BASES) + _pick(r, MARKS, 0, 3) for _ in range(r.randint(1, 6)))


def _short_clusters(r, f):
    return "".join(r.choice(BASES) + r.choice(["", r.choice(MARKS2), r.choice(MARKS3)])
                   for _ in range(r.randint(1, 10)))


def _prepend(r, f):
    return "".join(r.choice(["", r.choice(PREPEND)]) + r.choice(BASES + JAMO) + r.choice(["", "", r.choice(MARKS)])
                   for _ in range(r.randint(1, 6)))


def _emoji(r, f):
    return "".join(r.choice(EMOJI) + _pick(r, EMOJI_PARTS, 0, 3) for _ in range(r.randint(1, 6)))


def _indic(r, f):
    return _pick(r, INDIC, 1, 14)


def _spaces(r, f):
    return "".join(r.choice(["", r.choice("abXY1"), r.choice(f)]) + _pick(r, SPACES, 0, 3)
                   for _ in range(r.randint(1, 8)))


def _controls(r, f):
    return "".join(r.choice(["", "a", "\u0301", r.choice(f)]) + _pick(r, CONTROLS, 0, 2)
                   for _ in range(r.randint(1, 8)))


def _expanding(r, f):
    return "".join(r.choice(EXPANDING) + r.choice(["", "", " ", "a", "\u0301"]) for _ in range(r.randint(1, 8)))


def _specials(r, f):
    return "".join(r.choice(["", " ", "  ", "a", r.choice(f), "\u00a0", "_", "\n"]) + r.choice(SPECIALS)
                   for _ in range(r.randint(1, 5))) + r.choice(["", " ", "  b", "c", "\u3000"])


def _digits(r, f):
    return _pick(r, DIGITS, 1, 14) + r.choice(["", ",", " 1,", "a"])


def _punctuation(r, f):
    return "".join(r.choice(["", "a", " ", "Don", r.choice(f)]) + _pick(r, PUNCTUATION, 0, 3)
                   for _ in range(r.randint(1, 7)))


def _cased(r, f):
    return "".join(r.choice(CASED) + r.choice(["", "", " ", "\u0307"]) for _ in range(r.randint(1, 10)))


def _long(r, f):
    if r.random() < 0.1:  # around the reference's cache bound of 256 bytes, and far beyond
        return r.choice(["ab", "o", "xyz", "世", "\u0301"]) * r.randint(80, 700)
    return "".join(r.choices(f, k=r.randint(20, 60))).replace(" ", "")


def _glued(r, f):
    return "".join(r.choices(f, k=r.randint(1, 10)))


def _words(r, f):
    return " ".join(r.choices(f, k=r.randint(1, 10))).replace("\u2581", " ")


def _cut_fragments(r, f):
    return "".join(x[r.randrange(len(x) + 1):] if r.random() < 0.5 else x[:r.randrange(len(x) + 1)]
                   for x in r.choices(f, k=r.randint(1, 8)))


def _planes(r, f):
    return "".join(_random_code_point(r) for _ in range(r.randint(1, 10)))


CLASSES = [_ties, _repeat, _kana_half, _vietnamese, _hangul, _combining, _short_clusters, _prepend,
           _emoji, _indic, _spaces, _controls, _expanding, _specials, _digits, _punctuation, _cased,
           _long, _glued, _words, _cut_fragments, _planes]


def _mixed(r, f):
    return "".join(r.choice(CLASSES)(r, f)[:40] + r.choice(["", "", " "]) for _ in range(r.randint(2, 4)))


CLASSES.append(_mixed)


def strings(count, seed=1, fragments=None):
    """Yields count texts, the classes in turn. fragments: pieces of the vocabulary under test."""
    r = random.Random(seed)
    f = [x for x in (fragments or []) if x] or DEFAULT_FRAGMENTS
    for i in range(count):
        yield CLASSES[i % len(CLASSES)](r, f)


# Overlong, surrogate, out of range, stray and truncated sequences (RFC 3629).
BROKEN = [b"\xc0\x80", b"\xc1\xbf", b"\xe0\x80\x80", b"\xe0\x9f\xbf", b"\xf0\x80\x80\x80",
          b"\xf0\x8f\xbf\xbf", b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xed\xa0\xbd\xed\xb8\x80",
          b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xfc\x84\x80\x80\x80\x80",
          b"\xfe", b"\xff", b"\x80", b"\xbf\xbf", b"\xc3", b"\xe2\x96", b"\xe2", b"\xf0\x9f\x98",
          b"\xf0\x9f", b"\xf0", b"\xef\xbf", b"\xe2\x28\xa1", b"\xc3\x28", b"\xf0\x28\x8c\xbc"]


def byte_strings(count, seed=1, fragments=None):
    """As strings(), in UTF-8; one in eight is damaged."""
    r = random.Random(seed ^ 0x5eed)
    for i, text in enumerate(strings(count, seed, fragments)):
        data = text.encode()
        if i % 8 == 7:
            for _ in range(r.randint(1, 3)):
                at = r.randint(0, len(data))
                kind = r.randrange(4)
                if kind == 0 or not data:
                    data = data[:at] + r.choice(BROKEN) + data[at:]
                elif kind == 1:
                    data = data[:at]
                elif kind == 2:
                    data = data[at:]
                else:
                    at = min(at, len(data) - 1)
                    data = data[:at] + bytes([r.randrange(256)]) + data[at + 1:]
        yield data


def escape(text):
    """ASCII rendering for reports: Python escapes, so that a report can be pasted back."""
    return ascii(text)
