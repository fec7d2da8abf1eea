# SPDX-License-Identifier: MIT
"""Texts that mix plain running text with what a pipeline may treat in its own way.

stress.py draws one class of characters a text; here most of a text is words, so that a scanner is in its stride when it
meets the odd character, and the odd ones come singly, in runs, at the borders of words and of 64-byte blocks.
mixtures(count, seed, words, added), long_segments(count, seed) and lengthy(count, seed) yield str. The same arguments give the same texts on every machine.
"""

import random
import unicodedata

import stress

WHITE_SPACE = [chr(c) for c in (9, 10, 11, 12, 13, 32, 0x85, 0xa0, 0x1680, *range(0x2000, 0x200b), 0x2028, 0x2029,
                                0x202f, 0x205f, 0x3000)]

# Groups of odd units; a text draws from one to four of them.
ODD = {
    "quotes": ["``", "''", "`", "'", "```", "'''", '"', "`'", "'`", "''``", "` `", "' '"],
    "spaces": [" ", "  ", "   ", "\t", "\n", "\r", "\r\n", "\n\n", " \n ", "\t ", " " * 9, "\n" * 5],
    "white space": WHITE_SPACE,
    "invisible": [*map(chr, range(0x200b, 0x2010)), "\ufeff", "\u2060", "\u00ad", "\u180e", "\u034f", "\ufffd"],
    "metaspace": ["▁", "▁▁", " ▁", "▁ ", "▁a", "_"],
    "marks": stress.MARKS,
    "clusters": [b + m for b in ("a", "e", "A", "Ａ", "ä", "ا", "か", "カ", "\u1fb3", "\r", " ", "▁", "``")
                 for m in ("\u0301", "\u0323", "\u3099", "\u200d", "\ufe0f", "\u0301\u0323", "\u0903")],
    "prepend": stress.PREPEND,
    "jamo": stress.JAMO,
    "half kana": stress.KANA_HALF,
    "compatible": stress.EXPANDING + ["ﬁ", "ﬀ", "ﷺ", "㍿", "½", "①", "Ⅻ", "ǆ", "ſ"],
    "full width": [chr(c) for c in range(0xff01, 0xff5f)],
    "cased": stress.CASED + ["İ", "ß", "ẞ", "Σ", "ΑΣ", "ΑΣ ", "ΌΣΟΣ", "ς", "ŉ", "ǰ", "ΐ"],
    "digits": stress.DIGITS,
    "punctuation": stress.PUNCTUATION,
    "controls": stress.CONTROLS + ["\0"],
    "emoji": stress.EMOJI + stress.EMOJI_PARTS,
    "unknown": ["\U00012000", "\U00012000\U00012001", "\U000e0001", "\ue000", "\U0010ffff"],
    "bytes": ["<0x41>", "<0xE3>", "<0x0A>", "<unk>", "<s", "</s"],
}
GLUE = [" ", " ", " ", " ", "", "  ", "\n", "-", ", ", ". "]


def _running(r, words):
    text = "".join(word + r.choice(GLUE) for word in r.choices(words, k=r.randint(0, 12)))
    form = r.random()
    if form < 0.1:
        return unicodedata.normalize("NFD", text)
    return text.upper() if form < 0.15 else text


def _insert(r, text, unit):
    """At any place, mostly one of the borders that matter: of the text, of a word, of a block of 64 bytes."""
    where = r.random()
    if where < 0.15:
        return unit + text if r.random() < 0.5 else text + unit
    if where < 0.45 and " " in text:
        at = r.choice([i for i, c in enumerate(text) if c == " "]) + r.randint(0, 1)
    elif where < 0.6 and len(text) > 64 and text.isascii():
        at = min(len(text), 64 * r.randint(1, len(text) // 64) - r.randint(0, 3))
    else:
        at = r.randint(0, len(text))
    return text[:at] + unit + text[at:]


def decomposed(r, words):
    """Words in normal form D, without spaces, after characters that the engine cuts words at: whether it may have, depends on what
    comes of a character and its marks."""
    return "".join(r.choice(["", "", "于", "の", "가"]) + unicodedata.normalize("NFD", word[r.randrange(len(word) + 1):])
                   for word in r.choices(words, k=r.randint(1, 8)))


def mixture(r, words, added):
    if r.random() < 0.1:
        return decomposed(r, words)
    groups = r.sample(sorted(ODD), r.randint(1, 4))
    pool = [unit for name in groups for unit in r.choices(ODD[name], k=8)]
    if added and r.random() < 0.25:
        pool += r.choices(added, k=6)
    if r.random() < 0.3:  # nothing but odd units
        return "".join(r.choices(pool + [" ", r.choice(words)], k=r.randint(1, 24)))
    text = _running(r, words)
    for _ in range(r.choice((0, 1, 1, 1, 2, 3, 5, 9))):
        text = _insert(r, text, "".join(r.choices(pool, k=r.choice((1, 1, 1, 2, 3)))))
    return text


FILLING = ["中", "a", "é", "ا", "м", "한", "x1", "ab", "ﷺ", "😀", "ñandú", "。"]
SPACES = ["\u00a0", "\u3000", "\u2009", "\u200b", "\u2003", "\u1680"]


def long_segment(r):
    """One that no space cuts, or few do, of about as many characters as the engine reads at a time, or more; what is read with its
    neighbours stands where a batch may end."""
    odd = [*stress.MARKS, *stress.PREPEND, *stress.EXPANDING, *stress.JAMO, "ﷺ", "㎈", "£", "``", "'", "\u0085", "▁", "<s>", "İ", "क्"]
    pool = [SPACES, stress.MARKS, stress.PREPEND, odd, FILLING]
    unit = r.choice(FILLING)
    kind = r.randrange(5)
    if kind == 0:  # a batch ends near the odd ones
        size = r.randint(200, 235) if unit == "ﷺ" else r.randint(4000, 4110) // len(unit)
        text = unit * size + r.choice(SPACES + odd) + r.choice(odd + SPACES) + r.choice(FILLING) * r.randint(0, 50)
        return text + (unit * r.randint(0, 300) + r.choice(SPACES) + r.choice(stress.MARKS) + "x" if r.random() < 0.5 else "")
    if kind == 1:
        return "".join(r.choice(stress.PREPEND + ["ﷺ"] * 6 + stress.MARKS[:2]) for _ in range(r.randint(5, 900)))
    if kind == 2:  # runs of one character
        unit = r.choice(".-a_=。…!中1'h")
        return "".join(r.choice([unit * r.randint(1, 60), unit * (r.randint(1, 5000) if r.random() < 0.2 else 3), " ", r.choice(odd)])
                       for _ in range(r.randint(1, 12)))
    if kind == 3:
        return "".join(unit * r.randint(1, 400) + r.choice(odd + SPACES) + r.choice(odd + SPACES) for _ in range(r.randint(1, 25)))
    return r.choice([" ", "  ", "\n", "\u3000"]).join("".join(r.choice(r.choice(pool)) for _ in range(r.randint(1, 40)))
                                                     for _ in range(r.randint(1, 30)))


def long_segments(count, seed):
    r = random.Random(seed ^ 0x5e9)
    for _ in range(count):
        yield long_segment(r)


def lengthy(count, seed):
    """Texts longer than the parts that long ones are cut into (src/stretch/cuts.h), most without a place to cut them."""
    r = random.Random(seed ^ 0x1e96)
    odd = [*stress.MARKS, *stress.PREPEND, *stress.EXPANDING, *stress.JAMO, "ﷺ", "㎈", "㎯", "``", "''", "\u0085", "▁", "<", "İ", "क्", "\x01"]
    for _ in range(count):
        size, pool = r.randint(67 << 10, 140 << 10), r.sample(odd, r.randint(1, 6)) + [r.choice(FILLING), r.choice(FILLING)]
        units = ["".join(r.choice(pool) for _ in range(r.randint(0, 5))) + r.choice(FILLING) for _ in range(r.choice([1, 2, 300]))]
        if r.random() < 0.2:
            units.append(r.choice(SPACES))
        text, total = [r.choice(["", "", "\x01", "\x01\x7f" * r.randint(1, 40), " \x01"])], 0
        while total < size:
            text.append(r.choice(units))
            total += len(text[-1].encode())
        yield "".join(text)


def mixtures(count, seed, words, added=()):
    """words: of real texts or pieces; added: contents of added tokens. About 20 us a text."""
    r = random.Random(seed ^ 0x3171)
    added = [form for token in added for form in (token, " " + token, token + " ", token[:-1], token.lower())]
    for _ in range(count):
        yield mixture(r, words, added)
