# SPDX-License-Identifier: MIT
"""The list of keys of src/folder/keys.cc, as tests read it."""

import os
import pathlib
import re

SOURCE = pathlib.Path(os.environ.get("RANKFEED_SOURCE_DIR") or pathlib.Path(__file__).resolve().parents[2])


def read():
    """Pairs of rule and note by (file, key)."""
    text = (SOURCE / "src" / "folder" / "keys.cc").read_text(encoding="utf-8")
    files = dict(re.findall(r'\*?(k\w+) = "(\w+\.json)"', text))
    groups = re.findall(r'^    \{(k\w+), k(Obeyed|Harmless|Refused), ("[^"]*"|k\w+),\s*\{([^}]*)\}', text, re.M)
    assert len(groups) == len(re.findall(r"^    \{k", text, re.M))
    rows = [(name, key, rule, note) for name, rule, note, keys in groups for key in re.findall(r'"([^"]+)"', keys)]
    assert len(rows) > 200
    return {(files[name], key): (rule.lower(), note) for name, key, rule, note in rows}
