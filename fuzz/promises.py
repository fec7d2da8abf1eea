# SPDX-License-Identifier: MIT
"""What README's table of promises and SECURITY.md say, sentence by sentence and row by row, and the tests that hold it.

promises.json has every sentence and row of SECTIONS: with its tests, or with "explains", which says why there is nothing
to test (how to call a thing, a reason, a reference). A sentence that is not there, one that is no longer in the document,
and a test that does not exist are errors, so a promise cannot be written or changed without its test being named.

A test is `Suite.Name` (GoogleTest), `FILE::NAME` (a Python function, or a phrase in a script), or a name of ctest. The last
are looked up in a build (report.py --check --build FOLDER); without one they are not.
"""

import json
import pathlib
import re
import subprocess

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parent
SECTIONS = {
    "README.md": ["What is promised, and what shows it"],
    "SECURITY.md": ["What is untrusted", "Files that change", "What is missing or fails", "Special tokens in documents",
                    "Time", "Memory that a text leaves behind", "Limits and their reasons"],
}


def of_section(lines):
    """Rows of tables but their heads, and sentences."""
    found, words = [], []

    def end_paragraph():
        found.extend(re.split(r"(?<=[.?!]) (?=[A-Z`\[])", " ".join(words)) if words else [])
        words.clear()

    for before, line in zip([""] + lines, lines + [""]):
        if not line.startswith("|"):
            words.append(line) if line else end_paragraph()
            continue
        end_paragraph()
        if re.fullmatch(r"[|\- ]+", line):
            found.pop()  # the head was taken for a row
        else:
            found.append(" | ".join(cell.strip() for cell in line.strip("|").split("|")))
    end_paragraph()
    return found


def said():
    """(document, sentence or row), of all sections."""
    out = []
    for document, wanted in SECTIONS.items():
        parts = re.split(r"^## (.*)\n", (ROOT / document).read_text(), flags=re.MULTILINE)
        sections = dict(zip(parts[1::2], parts[2::2]))
        for name in wanted:
            out += [(document, text) for text in of_section(sections[name].splitlines())]
    return out


def existing(build):
    """A function that says whether a test of this name exists."""
    sources = [path for folder in ("tests", "fuzz", "bench") for path in (ROOT / folder).rglob("*.cc")]
    cases = {".".join(found) for path in sources
             for found in re.findall(r"^TEST(?:_[FP])?\((\w+),\s*(\w+)\)", path.read_text(), flags=re.MULTILINE)}
    listed = None
    if build:
        listing = subprocess.run(["ctest", "-N", "--test-dir", build], capture_output=True, text=True, check=True).stdout
        listed = set(re.findall(r"Test +#\d+: (\S+)", listing))

    def exists(test):
        if "::" in test:
            file, name = test.split("::")
            return (ROOT / file).exists() and name in (ROOT / file).read_text()
        if "." in test:
            return test in cases
        return listed is None or test in listed

    return exists


def read():
    return json.loads((FOLDER / "promises.json").read_text())


def row(entry):
    """A row of REPORT.md: links and columns of the document would not work there."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", entry["text"]).replace(" | ", ": ")
    return [entry["document"], text, ", ".join(f"`{test}`" for test in entry["tests"])]


def errors(build=None):
    entries, sentences, exists = read(), said(), existing(build)
    keys = [(e["document"], e["text"]) for e in entries]
    out = [f"{document}: not in fuzz/promises.json: {text}" for document, text in sentences if (document, text) not in keys]
    out += [f"{document} does not say: {text}" for document, text in keys if (document, text) not in sentences]
    for entry in entries:
        if bool(entry.get("tests")) == bool(entry.get("explains")):
            out.append(f"neither tests nor a reason, or both: {entry['text']}")
        out += [f"no such test: {test}" for test in entry.get("tests", []) if not exists(test)]
    return out
