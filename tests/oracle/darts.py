# SPDX-License-Identifier: MIT
"""Reads and writes precompiled charsmaps: u32 trie size, Darts-clone units, NUL-separated pool.

The unit layout is that of spm_precompiled 0.1.4 and sentencepiece 0.2.1 (darts.h): leaf flag in bit
8, label in the low byte, offset above bit 10, a value unit has bit 31 set. build() places the nodes
first fit and is meant for tens to a few thousand keys.
"""

import struct


def build(rules):
    """dict of bytes -> bytes to a blob. Keys are not empty and hold no NUL."""
    pool, starts = b"", {}
    for replacement in sorted(set(rules.values())):
        starts[replacement] = len(pool)
        pool += replacement + b"\0"
    root = {}
    for key, replacement in rules.items():
        node = root
        for byte in key:
            node = node.setdefault(byte, {})
        node[0] = starts[replacement]
    units, bases = {0: 0}, {0}

    def place(node, position):
        offset = 1
        while True:
            base = position ^ offset
            # base itself is label 0: left free, or a NUL in a text would lead somewhere.
            if base not in bases and base not in units and not any((base ^ label) in units for label in node):
                break
            offset += 1
        assert offset < 1 << 21
        bases.add(base)
        units.setdefault(base, 0)
        units[position] |= offset << 10 | (0x100 if 0 in node else 0)
        for label, child in node.items():
            units[base ^ label] = label if label else 0x80000000 | child
        for label, child in node.items():
            if label:
                place(child, base ^ label)

    place(root, 0)
    count = (max(units) | 255) + 1
    trie = struct.pack("<%dI" % count, *(units.get(i, 0) for i in range(count)))
    return struct.pack("<I", len(trie)) + trie + pool


def rules_of(blob):
    """Blob back to its dict of bytes -> bytes: every key of the trie."""
    size, = struct.unpack_from("<I", blob)
    units = struct.unpack_from("<%dI" % (size // 4), blob, 4)
    pool, rules = blob[4 + size:], {}

    def offset(unit):
        return unit >> 10 << ((unit & 0x200) >> 6)

    stack = [(0, b"")]
    while stack:
        position, key = stack.pop()
        base = position ^ offset(units[position])
        if units[position] >> 8 & 1:
            start = units[base] & 0x7fffffff
            rules[key] = pool[start:pool.index(b"\0", start)]
        for label in range(1, 256):
            child = base ^ label
            if child < len(units) and units[child] & 0x800000ff == label:
                stack.append((child, key + bytes([label])))
    return rules
