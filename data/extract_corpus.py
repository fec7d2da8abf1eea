#!/usr/bin/env python3
"""Text for the default vocabulary: reads unpacked Debian packages, writes one balanced corpus.

    extract_corpus.py UNPACKED_DIR CORPUS_FILE

UNPACKED_DIR/<package>/ holds the files of one binary package. Each known file kind (HTML, Mallard and
DocBook pages, gettext and Qt catalogs, CLDR, MediaWiki messages, manual pages, dictd databases,
fortunes) is reduced to plain lines; a line is kept once, and only when it reads like prose of the
language its path names. Every language then gets a budget of characters, shared evenly between the
packages that have text in it, so that no single program's wording decides the vocabulary.

Everything is ordered by checksums of the text, never by directory order or time: the same packages
give the same corpus, byte for byte. Cost: one pass over the files, all kept lines in memory (a few
hundred MB).
"""

import gzip
import html
import json
import pathlib
import re
import struct
import sys
import zlib

# Characters per language. The twelve XQuAD languages come first; scripts without spaces write more
# in fewer characters, so they need less.
BUDGET = {
    "en": 3_000_000,
    **dict.fromkeys("ar de el es hi ro ru te th tr vi".split(), 1_500_000),
    "zh": 1_300_000,
    "ja": 900_000,
    "ko": 900_000,
    **dict.fromkeys("fr it pt pl uk".split(), 1_000_000),
    **dict.fromkeys("nl cs sv hu fi id he fa bg da bn ta".split(), 500_000),
}

# Letters and marks of each language's script (Unicode blocks). At least half of a line's letters must
# be of that script: untranslated English is what this removes.
LATIN = "A-Za-z\u00aa\u00ba\u00c0-\u024f\u0300-\u036f\u1e00-\u1eff"
SCRIPTS = {
    **dict.fromkeys(("ar", "fa"), "\u0600-\u06ff\u0750-\u077f\u200c"),
    **dict.fromkeys(("ru", "uk", "bg"), "\u0400-\u04ff"),
    "el": "\u0370-\u03ff\u1f00-\u1fff", "he": "\u0590-\u05ff", "hi": "\u0900-\u097f",
    "bn": "\u0980-\u09ff", "ta": "\u0b80-\u0bff", "te": "\u0c00-\u0c7f", "th": "\u0e00-\u0e7f",
    "zh": "\u3400-\u9fff", "ja": "\u3040-\u30ff\u3400-\u9fff", "ko": "\uac00-\ud7a3",
}
MAX_LINE = 800  # characters; longer paragraphs are cut at a space or full stop
ENGLISH = "en"


# --- file kinds -------------------------------------------------------------------------------

# Elements whose text is code, menus or metadata, and elements that do not end a line.
SKIPPED = ("script|style|pre|code|screen|programlisting|synopsis|cmdsynopsis|command|literal|filename"
           "|info|head|nav")
INLINE = ("a|b|i|em|strong|span|u|tt|sub|sup|acronym|abbr|q|emphasis|ulink|link|xref|phrase|guilabel"
          "|guimenu|guimenuitem|guibutton|gui|guiseq|app|key|keyseq|keycap|keycombo|application|quote"
          "|menuchoice|citetitle|firstterm|wordasword")
SKIPPED_ELEMENT = re.compile(rf"<!--.*?-->|<({SKIPPED})\b[^>]*(?<!/)>.*?</\1>", re.S)
INLINE_TAG = re.compile(rf"</?(?:{INLINE})(?:\s[^>]*)?>")
ANY_TAG = re.compile(r"<[^>]*>")


def markup_lines(data):
    """Text of HTML, Mallard (.page) and DocBook: one line per block element."""
    text = SKIPPED_ELEMENT.sub(" ", data.decode("utf-8", "replace")).replace("\n", " ")
    return ANY_TAG.sub("\n", INLINE_TAG.sub("", text)).split("\n")


def gettext_lines(data):
    """Translations of a .mo file (GNU gettext manual, "The Format of GNU MO Files")."""
    order = "<" if data[:4] == b"\xde\x12\x04\x95" else ">"
    count, _, table = struct.unpack_from(order + "3I", data, 8)
    lines = []
    for i in range(1, count):  # entry 0 is the catalog's header
        length, offset = struct.unpack_from(order + "2I", data, table + 8 * i)
        for form in data[offset:offset + length].split(b"\0"):
            lines += form.decode("utf-8", "replace").split("\n\n")
    return lines


def qt_lines(data):
    """Translations of a .qm file: after 16 bytes of magic, sections of (tag u8, length u32 BE).
    Section 0x69 holds messages: tag 3 is a translation in UTF-16BE, tag 1 ends a message."""
    lines, at = [], 16
    while at + 5 <= len(data):
        section, length = struct.unpack_from(">BI", data, at)
        at += 5
        pos, end = at, at + length
        while section == 0x69 and pos < end:
            tag = data[pos]
            pos += 1
            if tag == 1:
                continue
            size = struct.unpack_from(">I", data, pos)[0]
            pos += 4
            if size == 0xFFFFFFFF:
                continue
            if tag == 3:
                lines += data[pos:pos + size].decode("utf-16-be", "replace").split("\n")
            pos += size
        at = end
    return lines


def cldr_lines(data):
    """Names and keywords of a CLDR file; comments, patterns and inherited entries (arrows) dropped."""
    text = re.sub(r"<!--.*?-->", "", data.decode("utf-8"), flags=re.S)
    words = [html.unescape(w.strip()) for w in re.findall(r">([^<>\n]+)<", text)]
    words = [w.replace(" | ", ", ") for w in words if not re.search(r"[↑{}\[\];#¤]", w)]
    # Single names are shorter than a line that passes the filter: eight to a line.
    return [", ".join(words[i:i + 8]) for i in range(0, len(words), 8)]


def message_lines(data):
    """MediaWiki: one JSON object of messages; keys with @ are metadata."""
    messages = json.loads(data)
    return [line for key, value in messages.items() if key[:1] != "@" and isinstance(value, str)
            for line in value.split("\n")]


def manual_lines(data):
    """Running text of a manual page: requests end a paragraph, font and size escapes vanish,
    everything between .nf/.EX and .fi/.EE is code."""
    lines, current, verbatim = [], [], False
    for raw in gzip.decompress(data).decode("utf-8", "replace").split("\n"):
        if raw[:1] in (".", "'"):
            words = raw[1:].split(None, 1)
            request = words[0] if words else ""
            verbatim = (verbatim or request in ("nf", "EX")) and request not in ("fi", "EE")
            if request in ("B", "I", "BR", "IR", "RB", "RI", "BI", "IB") and len(words) == 2:
                current.append(words[1].replace('"', ""))
            else:
                lines.append(" ".join(current))
                current = []
        elif not verbatim:
            current.append(raw)
    lines.append(" ".join(current))
    text = "\n".join(lines)
    text = re.sub(r"\\f(\[.*?\]|\(..|.)|\\s[+-]?\d|\\[&|^%/,]|\\c$", "", text, flags=re.M)
    text = re.sub(r"\\\((?:aq|cq|oq)|\\\[(?:aq|cq|oq)\]", "'", text)
    text = re.sub(r"\\\((?:lq|rq|dq)|\\\[(?:lq|rq|dq)\]", '"', text)
    text = re.sub(r"\\\((?:em|en)|\\\[(?:em|en)\]", "–", text)
    text = re.sub(r"\\-", "-", re.sub(r"\\ ", " ", text))
    return [line for line in text.split("\n") if "\\" not in line]


def dictionary_lines(data):
    """dictd: head words at the margin, indented definitions; a block ends at a blank line, at the
    margin or at a numbered sense."""
    text = gzip.decompress(data).decode("utf-8", "replace")
    text = re.sub(r"\[[^\]]*\]|\{|\}|\\[^\\\n]*\\", "", text)
    blocks = re.split(r"\n\s*\n|\n(?=\S)|\n\s+(?=\d+[:.] |(?:n|v|adj|adv) \d*:)", text)
    return [re.sub(r"^\s*(?:(?:n|v|adj|adv) )?\d*[:.] ", "", " ".join(b.split())) for b in blocks]


def fortune_lines(data):
    text = data.decode("utf-8", "replace")
    return [" ".join(entry.split()) for entry in re.split(r"\n%+\n", text)]


# --- which reader, which language -------------------------------------------------------------

LANGUAGE_DIR = re.compile(
    r"/(?:help|html|HTML|locale|resource|installation-guide-amd64|man)/([a-z]{2,3})(?:[_-]\w+)?(?=/)")
FILE_LANGUAGE = re.compile(r"[./_-]([a-z]{2})(?:[_-][A-Z]{2})?\.(?:html|qm|mo|json|xml)$")
PACKAGE_LANGUAGE = re.compile(r"-([a-z]{2})(?:-[a-z]{2})?$")


def language_of(package, path):
    for found in (LANGUAGE_DIR.search(path), FILE_LANGUAGE.search(path),
                  PACKAGE_LANGUAGE.search(package)):
        if found and len(found.group(1)) == 2:
            return found.group(1)
    return None


def classify(package, path):
    """(reader, language) of a file, or None when it is not text for the corpus."""
    name = path.rsplit("/", 1)[-1]
    language = language_of(package, path)
    if "/cldr/" in path:
        wanted = re.search(r"/common/(?:main|annotations|subdivisions)/([a-z]{2})\.xml$", path)
        return (cldr_lines, wanted.group(1)) if wanted else None
    if "/man/man" in path and name.endswith(".gz"):
        return manual_lines, ENGLISH
    if "/help/C/" in path and name.endswith(".page"):
        return markup_lines, ENGLISH
    if name.endswith(".dict.dz"):
        return dictionary_lines, ENGLISH
    if "/games/fortunes/" in path:
        return None if "." in name else (fortune_lines, language or ENGLISH)
    if "/i18n/" in path and name.endswith(".json"):
        return message_lines, language
    for suffix, reader in ((".html", markup_lines), (".page", markup_lines),
                           (".docbook", markup_lines), (".mo", gettext_lines), (".qm", qt_lines)):
        if name.endswith(suffix):
            return reader, language
    if "/man/" in path and name.endswith(".gz"):
        return manual_lines, language
    return None


# --- what counts as a line of prose -----------------------------------------------------------

PLACEHOLDER = re.compile(
    r"<[^<>]{1,200}>"  # markup inside messages
    r"|%(?:\d+\$)?[-+ #0]*\d*(?:\.\d+)?[hlLzjt]*[diouxXeEfgGcsaAp%]|%\w+%|%\d+|\$\d|\$\{?\w+\}?"
    r"|\{\{[^{}]*\}\}|\{[^{}]*\}|\[\[|\]\]|'''?")  # wiki and format arguments
MNEMONIC = re.compile(r"[_&~](?=\w)|\(_?\w\)$")


def is_address(word):
    return "@" in word or word.count("/") > 1 or word.count("\\") > 1


def clean(line):
    line = html.unescape(line.replace("\\n", " ").replace("\\t", " "))
    line = MNEMONIC.sub("", PLACEHOLDER.sub(" ", line))
    return " ".join(word for word in line.split() if not is_address(word))


OWN = {language: re.compile(f"[{SCRIPTS.get(language, LATIN)}]") for language in BUDGET}
ASCII_LETTER = re.compile("[A-Za-z]")
CODE = re.compile(r"\ufffd|\w[_=]\w|::|->|\(\)|--\w")


def is_prose(line, language):
    """At least three letters of the language's script, three quarters letters and spaces, no code."""
    own = len(OWN[language].findall(line))
    foreign = len(ASCII_LETTER.findall(line)) if language in SCRIPTS else 0
    return (own >= 3 and own >= foreign and own + foreign + line.count(" ") >= 0.75 * len(line)
            and not CODE.search(line))


def cut(line):
    while len(line) > MAX_LINE:
        at = max(line.rfind(mark, 0, MAX_LINE) for mark in (" ", "。", "．", "！", "？"))
        at = at if at > 0 else MAX_LINE
        yield line[:at + 1].strip()
        line = line[at + 1:]
    yield line.strip()


def checksum(text):
    return zlib.crc32(text.encode())


# --- corpus -----------------------------------------------------------------------------------

def collect(root):
    """{language: {package: [lines]}}; English first, so that an untranslated line in another
    language's files is recognized as a repetition. Reading stops when a package has given a quarter
    of a language's budget; ten and more packages share it."""
    files = []
    for package in sorted(p.name for p in root.iterdir()):
        for path in (root / package).rglob("*"):
            found = classify(package, path.as_posix())
            if found and found[1] in BUDGET and path.is_file() and not path.is_symlink():
                name = path.relative_to(root).as_posix()
                files.append((found[1] != ENGLISH, package, checksum(name), name, *found))
    files.sort(key=lambda f: f[:4])
    pools, sizes, seen = {}, {}, set()
    for _, package, _, name, reader, language in files:
        key = (package, language)
        if sizes.get(key, 0) >= BUDGET[language] // 4:
            continue
        try:
            lines = reader((root / name).read_bytes())
        except (OSError, ValueError, struct.error, IndexError, EOFError, zlib.error) as error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
        for raw in lines:
            if raw in seen:  # menus and headings stand on every page
                continue
            seen.add(raw)
            for line in cut(clean(raw)):
                if line not in seen or line == raw:
                    seen.add(line)
                    if is_prose(line, language):
                        pools.setdefault(language, {}).setdefault(package, []).append(line)
                        sizes[key] = sizes.get(key, 0) + len(line)
    return pools


def choose(by_package, budget):
    """Equal shares for all packages; what a small package leaves over goes to the larger ones. Inside
    a package longer lines (prose) come before labels."""
    chosen, left = [], budget
    packages = sorted(by_package, key=lambda p: (sum(map(len, by_package[p])), p))
    for done, package in enumerate(packages):
        share = left // (len(packages) - done)
        for line in sorted(by_package[package], key=lambda s: (len(s) < 40, checksum(s), s)):
            if share < len(line):
                break
            share -= len(line)
            left -= len(line)
            chosen.append(line)
    return chosen


def main():
    root, output = map(pathlib.Path, sys.argv[1:3])
    pools = collect(root)
    corpus = []
    print("language  packages  available       used  (characters)", file=sys.stderr)
    for language, budget in BUDGET.items():
        by_package = pools.get(language, {})
        available = sum(len(line) for lines in by_package.values() for line in lines)
        chosen = choose(by_package, budget)
        used = sum(map(len, chosen))
        print(f"{language:8} {len(by_package):9} {available:10} {used:10}", file=sys.stderr)
        corpus += chosen
    corpus.sort(key=lambda s: (checksum(s), s))
    output.write_text("\n".join(corpus) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
