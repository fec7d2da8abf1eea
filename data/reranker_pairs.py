#!/usr/bin/env python3
"""Question-passage pairs for the compact reranker: reads unpacked Debian packages, writes JSON lines.

    reranker_pairs.py UNPACKED_DIR PAIRS_FILE

UNPACKED_DIR/<package>/ holds the files of one binary package, as train_vocab.sh and train_reranker.sh
unpack them. Three kinds of pairs, each {"query", "passage", "group", "language", "kind"}:

    heading   the heading of a section of a manual, and the section's first paragraphs
    define    a head word of a dictionary as a question, and its definition
    passage   a passage alone; train_reranker.py cuts questions from its sentences while it trains

`group` names the document, so that other passages of the same document can serve as hard negatives.
The order is by checksum of the text: the same packages give the same file. Cost: one pass over the
files.
"""

import json
import pathlib
import re
import sys
import zlib

from extract_corpus import (ANY_TAG, BUDGET, INLINE_TAG, SKIPPED_ELEMENT, checksum, classify, clean,
                            dictionary_lines, is_prose, manual_lines, markup_lines)

HEADING = re.compile(r"<(h[1-6]|title)\b[^>]*>(.*?)</\1>", re.S)
MIN_PASSAGE, MAX_PASSAGE = 120, 900  # characters; about 30 to 250 pieces
PER_LANGUAGE = {"en": 40_000}        # pairs of each kind; other languages:
OTHER_LANGUAGES = 5_000


def plain(markup):
    return clean(ANY_TAG.sub(" ", INLINE_TAG.sub("", markup)))


def passages(lines, language):
    """Consecutive paragraphs of prose, joined until a passage is long enough."""
    current = ""
    for raw in lines:
        line = clean(raw)
        if len(line) < 25 or not is_prose(line, language):
            continue
        current = f"{current} {line}".strip()
        if len(current) >= MIN_PASSAGE * 3:
            yield current[:MAX_PASSAGE]
            current = ""
    if len(current) >= MIN_PASSAGE:
        yield current[:MAX_PASSAGE]


def sections(data, language):
    """(heading, first passage below it) of HTML, Mallard and DocBook pages."""
    text = SKIPPED_ELEMENT.sub(" ", data.decode("utf-8", "replace")).replace("\n", " ")
    found = list(HEADING.finditer(text))
    for match, following in zip(found, found[1:] + [None]):
        heading = re.sub(r"^[\d.\s]+", "", plain(match.group(2)))
        end = following.start() if following else len(text)
        body = text[match.end():end].encode()
        first = next(passages(markup_lines(body), language), None)
        if first and 8 <= len(heading) <= 120 and first != heading:
            yield heading, first


def definitions(data):
    """Head word (the first line of a dictd entry) and definition."""
    for block in dictionary_lines(data):
        match = re.match(r"([A-Z][a-z]{3,20})\b\W.{0,60}?(?:\.|\)|\d)\s+(.{80,600})$", block)
        if match and is_prose(match.group(2), "en"):
            yield match.group(1), f"{match.group(1)}: {match.group(2)}"


def collect(root):
    files = []
    for package in sorted(p.name for p in root.iterdir()):
        for path in (root / package).rglob("*"):
            found = classify(package, path.as_posix())
            if found and found[1] in BUDGET and path.is_file() and not path.is_symlink():
                name = path.relative_to(root).as_posix()
                files.append((checksum(name), name, *found))
    files.sort()
    counts, seen, pairs = {}, set(), []

    def add(kind, language, group, query, passage):
        key = (kind, language)
        if counts.get(key, 0) >= PER_LANGUAGE.get(language, OTHER_LANGUAGES):
            return
        if passage in seen if kind == "passage" else (query, passage) in seen:
            return
        seen.add(passage if kind == "passage" else (query, passage))
        counts[key] = counts.get(key, 0) + 1
        pairs.append({"query": query, "passage": passage, "group": group, "language": language,
                      "kind": kind})

    for _, name, reader, language in files:
        try:
            data = (root / name).read_bytes()
            if reader is markup_lines:
                for heading, passage in sections(data, language):
                    add("heading", language, name, heading, passage)
            if reader is dictionary_lines:
                for word, definition in definitions(data):
                    add("define", language, name, f"What is {word.lower()}?", definition)
            if reader in (markup_lines, manual_lines, dictionary_lines):
                for passage in passages(reader(data), language):
                    add("passage", language, name, "", passage)
        except (OSError, ValueError, EOFError, zlib.error) as error:
            print(f"{name}: {error}", file=sys.stderr)
    for key in sorted(counts):
        print(*key, counts[key], file=sys.stderr)
    pairs.sort(key=lambda p: (checksum(p["passage"] + p["query"]), p["passage"], p["query"]))
    return pairs


def main():
    root, output = map(pathlib.Path, sys.argv[1:3])
    with output.open("w", encoding="utf-8") as file:
        for pair in collect(root):
            file.write(json.dumps(pair, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
