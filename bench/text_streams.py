#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Assembles streams of text from Debian packages:

* many: very many languages and scripts: documentation (GNOME help, the installation guide, the administrator's handbook,
  manual pages), translated messages (gettext catalogues) and the names of languages, countries and characters in the Unicode
  CLDR. For measurements on a cold, diverse stream and for comparing ids.
* english: running text of English documentation (the kernel, Python, SQLite, PostgreSQL, LibreOffice, git, GIMP, Debian) and
  fortunes. For measurements on a steady stream: enough of one language for a word cache to have seen most of it.

usage: bench/text_streams.py [--stream many|english] [--cache FOLDER] [--update]        # prints the path of the stream

The folder (default: $XDG_CACHE_HOME/rankfeed/many_languages or .../english) gets the packages, `texts.jsonl` (one {"text",
"language"} per line) and `manifest.json`: packages with version and SHA-256, bytes per language, scripts. many_languages.json
and english.json in bench are the manifests of the streams the figures in the repository are of; a newer Debian package makes
another stream, which is said on standard error. Packages come through apt-get download, no root needed; nothing is installed.
Names with versions in them are those of Debian 12.

A text is made of neighbouring paragraphs or messages up to a length drawn from 100 bytes to 4 kB. Paragraphs that were
seen before are dropped; of many languages each gets 0.5 MB at most, its long documents first; texts are shuffled with a
fixed seed.
"""
import argparse
import collections
import dataclasses
import glob
import gzip
import hashlib
import html.parser
import json
import os
import random
import re
import struct
import subprocess
import sys
import unicodedata
import xml.etree.ElementTree as ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
LEAST_PER_LANGUAGE = 2000  # less than that is a stray file


@dataclasses.dataclass(frozen=True)
class Plan:
    name: str  # of its folder, of its manifest beside this script and in messages
    packages: list  # what comes first fills a language's share
    kinds: list  # (path inside a package, how its text is read)
    most_per_language: int
    language: str = ""  # of all texts; else the first group of the path names it

    @property
    def manifest(self):
        return os.path.join(HERE, self.name + ".json")


# Documentation first.
MANY_PACKAGES = (["gnome-user-docs", "installation-guide-amd64", "debian-handbook"]
                 + ["manpages-" + l for l in ("de", "es", "fr", "ja", "pl", "pt-br", "ru", "tr", "zh")]
                 + ["gimp-data", "evolution-common", "libgtk-3-common", "vlc-l10n", "atril-common", "gnumeric-common", "binutils-common"]
                 # Languages and scripts that little else is translated into.
                 + ["libreoffice-l10n-" + l for l in ("am", "as", "bn", "dz", "gu", "ka", "km", "kn", "ml", "ne", "or", "pa-in", "si", "ta", "te", "th", "ug", "zu")]
                 + ["iso-codes", "unicode-cldr-core"])

ENGLISH_PACKAGES = ["python3.11-doc", "postgresql-doc-15", "git-doc", "sqlite3-doc", "libreoffice-help-en-us", "gimp-help-en", "debian-policy",
                    "developers-reference", "debian-reference-en", "fortunes", "linux-doc-6.1"]


def paragraphs_of_html(data, unread=("script", "style")):
    class Parser(html.parser.HTMLParser):
        blocks = {"p", "li", "dd", "dt", "td", "th", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "title", "div"}

        def __init__(self):
            super().__init__()
            self.out, self.now, self.hidden = [], [], 0

        def flush(self):
            self.out.append(" ".join("".join(self.now).split()))
            self.now = []

        def handle_starttag(self, tag, attributes):
            self.hidden += tag in unread
            if tag in self.blocks:
                self.flush()

        def handle_endtag(self, tag):
            self.hidden -= tag in unread
            if tag in self.blocks:
                self.flush()

        def handle_data(self, text):
            if not self.hidden:
                self.now.append(text)

    parser = Parser()
    parser.feed(data.decode("utf-8", "replace"))
    parser.flush()
    return parser.out


def paragraphs_of_mallard(data):
    out = []
    for element in ElementTree.fromstring(data).iter():
        if element.tag.rsplit("}")[-1] in ("p", "title", "desc", "screen", "code"):
            out.append(" ".join("".join(element.itertext()).split()))
    return out


def paragraphs_of_catalogue(data):
    """Translations in a compiled gettext catalogue (GNU gettext manual, "The Format of GNU MO Files")."""
    order = "<" if data[:4] == b"\xde\x12\x04\x95" else ">"
    _, count, _, strings = struct.unpack_from(order + "4I", data, 4)
    out = []
    for i in range(count):
        length, at = struct.unpack_from(order + "2I", data, strings + 8 * i)
        text = data[at:at + length].decode("utf-8", "replace")
        if i == 0 and "Content-Type" in text:
            if "utf-8" not in text.lower():
                return []
            continue
        out += text.split("\0")
    return out


def paragraphs_of_cldr(data):
    return [e.text.strip() for e in ElementTree.fromstring(data).iter() if e.text and sum(map(str.isalpha, e.text)) > 2]


def paragraphs_of_manual(data):
    """Running text of a manual page: requests go, fonts go."""
    text = gzip.decompress(data).decode("utf-8", "replace")
    out, now = [], []
    for line in text.splitlines():
        macro = re.match(r"[.']\s*(\w*)\s*(.*)", line)
        if macro:
            if macro[1] in ("B", "I", "BR", "IR", "RB", "RI", "BI", "IB"):
                now.append(macro[2])
                continue
            out.append(" ".join(now))
            now = [macro[2]] if macro[1] in ("SH", "SS") else []
        else:
            now.append(line)
    out.append(" ".join(now))
    return [re.sub(r"\\(f\(..|f\[\w*\]|f.|s[-+]?\d|&|%|:|[|^])", "", p).replace("\\-", "-").replace("\\e", "\\") for p in out]


PLAIN_WORD = re.compile(r"[\"'(“‘]*[A-Za-z]+(?:[-'’][A-Za-z]+)*[.,:;!?)\"'”’]*")
FUNCTION_WORDS = {"the", "a", "of", "to", "is", "in", "and", "for", "it", "that", "not", "are", "with", "you", "this", "be", "or", "on", "if", "as", "by"}


def running_text(paragraphs):
    """Those with a dozen words and more, three quarters of them plain ones and some that tell sentences from lists of names."""
    for paragraph in paragraphs:
        words = paragraph.split()
        if (len(words) >= 12 and 4 * sum(bool(PLAIN_WORD.fullmatch(w)) for w in words) >= 3 * len(words)
                and 10 * sum(w.lower() in FUNCTION_WORDS for w in words) >= len(words)):
            yield paragraph


def paragraphs_of_documentation(data):
    return running_text(paragraphs_of_html(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data, ("script", "style", "pre")))


def paragraphs_of_fortunes(data):
    return running_text(" ".join(p.split()) for p in re.split(r"^%$", data.decode("utf-8", "replace"), flags=re.MULTILINE))


def kinds(*of):
    return [(re.compile(pattern), read) for pattern, read in of]


MANY_KINDS = kinds(
    (r"usr/share/help/([^/]+)/.*\.page$", paragraphs_of_mallard),
    (r"usr/share/doc/installation-guide-[^/]*/([^/]+)/.*\.html$", paragraphs_of_html),
    (r"usr/share/doc/debian-handbook/html/([^/]+)/.*\.html$", paragraphs_of_html),
    (r"usr/share/man/([^/]+)/man\d/.*\.gz$", paragraphs_of_manual),
    (r"usr/(?:share/locale|lib/libreoffice/program/resource)/([^/]+)/LC_MESSAGES/.*\.mo$", paragraphs_of_catalogue),
    (r"usr/share/unicode/cldr/common/(?:main|annotations|annotationsDerived|rbnf)/([^/.]+)\.xml$", paragraphs_of_cldr))

# Without what is translated: the kernel's translations, and pages like index.ja.html.
ENGLISH_KINDS = kinds(
    (r"usr/share/(?:doc|debian-reference|developers-reference|gimp/2\.0/help/en|libreoffice/help/en-US)/"
     r"(?!.*/translations/)(?!.*\.(?!en\.)[a-z]{2}(?:[-_][A-Za-z]+)?\.html).*\.html(?:\.gz)?$", paragraphs_of_documentation),
    (r"usr/share/games/fortunes/[^/.]+$", paragraphs_of_fortunes))

STREAMS = {"many": Plan("many_languages", MANY_PACKAGES, MANY_KINDS, 500000),
           "english": Plan("english", ENGLISH_PACKAGES, ENGLISH_KINDS, 100000000, "en")}


def language_of(name):
    """de-DE and de_DE.UTF-8 are de; zh_TW, sr@latin, pt_BR stay apart from zh, sr, pt."""
    name = name.split(".")[0].replace("-", "_")
    base, *rest = re.split(r"[_@]", name)
    tail = "_".join(r for r in rest if r.lower() in ("br", "tw", "cn", "hans", "hant", "latin", "latn", "cyrl", "arab", "deva", "beng",
                                                      "guru", "olck", "adlm", "vaii", "tfng", "hk"))
    return base.lower() + ("_" + tail if tail else "")


def download(plan, folder):
    """(package, version, sha256, extracted folder) for each; packages that are there already stay."""
    for name in ("debs", "files"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    path = {p: glob.glob(os.path.join(folder, "debs", p + "_*.deb")) for p in plan.packages}
    missing = [p for p in plan.packages if not path[p]]
    if missing:
        print(f"{plan.name}: downloading {', '.join(missing)}", file=sys.stderr, flush=True)
        result = subprocess.run(["apt-get", "download", "-q", *missing], cwd=os.path.join(folder, "debs"), capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"{plan.name}: apt-get download: {result.stderr.strip()}")
    out = []
    for package in plan.packages:
        found = glob.glob(os.path.join(folder, "debs", package + "_*.deb"))
        tree = os.path.join(folder, "files", package)
        if not os.path.exists(tree):
            subprocess.run(["dpkg-deb", "-x", found[0], tree + ".part"], check=True)
            os.rename(tree + ".part", tree)
        version = subprocess.run(["dpkg-deb", "-f", found[0], "Version"], check=True, capture_output=True, text=True).stdout.strip()
        out.append((package, version, hashlib.sha256(open(found[0], "rb").read()).hexdigest(), tree))
    return out


def texts_of(plan, packages):
    """language -> list of texts, in the order of packages and of paths."""
    texts, size, seen = collections.defaultdict(list), collections.Counter(), set()
    lengths = random.Random(50)
    for _, _, _, tree in packages:
        paths = sorted(os.path.relpath(os.path.join(base, f), tree) for base, _, files in os.walk(tree) for f in files)
        for path in paths:
            kind = next(((m, read) for m, read in ((p.match(path), read) for p, read in plan.kinds) if m), None)
            full = os.path.join(tree, path)
            if kind is None or os.path.islink(full):
                continue
            language = plan.language or language_of(kind[0][1])
            if size[language] >= plan.most_per_language or language in ("c", "root", "en_dsrt", "en_shaw"):
                continue
            try:
                parts = kind[1](open(full, "rb").read())
            except (ElementTree.ParseError, struct.error) as problem:
                print(f"{plan.name}: {path}: {problem}", file=sys.stderr)
                continue
            now, wanted = "", lengths.choice((100, 400, 1000, 2000, 4000))
            for part in parts:
                key = hash_of(part)
                if not part or key in seen or "\ufffd" in part:
                    continue
                seen.add(key)
                now += ("\n" if now else "") + part
                if len(now.encode()) >= wanted:
                    texts[language].append(now)
                    size[language] += len(now.encode())
                    now, wanted = "", lengths.choice((100, 400, 1000, 2000, 4000))
                    if size[language] >= plan.most_per_language:
                        break
            if now:
                texts[language].append(now)
                size[language] += len(now.encode())
    return {l: t for l, t in texts.items() if size[l] >= LEAST_PER_LANGUAGE}


def hash_of(text):
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


def scripts_of(texts):
    """Letters by the first word of their Unicode name, which names the script closely enough to count scripts."""
    letters = collections.Counter()
    for text in texts:
        letters.update(text)
    scripts = collections.Counter()
    for c, n in letters.items():
        if c.isalpha():
            words = unicodedata.name(c, "UNNAMED").split()
            name = " ".join(words[:2]) if words[0] in ("OL", "MEETEI") else words[0]
            if name not in ("MODIFIER", "MASCULINE", "FEMININE", "KATAKANA-HIRAGANA", "UNNAMED"):
                scripts[name] += n
    return {name: n for name, n in scripts.most_common() if n >= 200}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stream", choices=STREAMS, default="many")
    parser.add_argument("--cache", help="folder of the packages and of the stream")
    parser.add_argument("--update", action="store_true", help="make the result the manifest in the repository")
    o = parser.parse_args()
    plan = STREAMS[o.stream]
    cache = o.cache or os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "rankfeed", plan.name)
    stream, manifest = os.path.join(cache, "texts.jsonl"), os.path.join(cache, "manifest.json")
    script = hashlib.sha256(open(__file__, "rb").read()).hexdigest()
    if not (os.path.exists(manifest) and json.load(open(manifest))["script_sha256"] == script) or o.update:
        packages = download(plan, cache)
        languages = texts_of(plan, packages)
        rows = [{"text": t, "language": l} for l in sorted(languages) for t in languages[l]]
        random.Random(1).shuffle(rows)
        with open(stream, "w", encoding="utf-8") as f:
            for row in rows:
                f.write(json.dumps(row, ensure_ascii=False) + "\n")
        size = {l: sum(len(t.encode()) for t in languages[l]) for l in sorted(languages)}
        facts = {"script_sha256": script, "stream_sha256": hashlib.sha256(open(stream, "rb").read()).hexdigest(), "texts": len(rows),
                 "text_bytes": sum(size.values()), "languages": len(size), "scripts": scripts_of(r["text"] for r in rows), "bytes_of_language": size,
                 "packages": [{"name": n, "version": v, "sha256": h} for n, v, h, _ in packages]}
        with open(manifest + ".part", "w") as f:
            f.write(json.dumps(facts, indent=1) + "\n")
        os.rename(manifest + ".part", manifest)
    facts = json.load(open(manifest))
    if o.update:
        open(plan.manifest, "w").write(open(manifest).read())
    known = json.load(open(plan.manifest)) if os.path.exists(plan.manifest) else {}
    if known.get("stream_sha256") != facts["stream_sha256"]:
        print(f"{plan.name}: not the stream of bench/{plan.name}.json: Debian packages or this script are newer", file=sys.stderr)
    print(f"{plan.name}: {facts['text_bytes'] / 1e6:.1f} MB, {facts['texts']} texts, {facts['languages']} languages, {len(facts['scripts'])} scripts", file=sys.stderr)
    print(stream)


if __name__ == "__main__":
    main()
