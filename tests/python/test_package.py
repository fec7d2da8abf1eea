# SPDX-License-Identifier: MIT
"""The package by itself: memory shared with NumPy and other frameworks, threads, corpus stores, rings,
requests, errors, pickling, the installed files."""

import gc
import importlib.metadata
import json
import os
import pickle
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest

import numpy as np
import rankfeed

from support import MODEL, SOURCE, hf_file, needs

try:
    import torch
except ImportError:
    torch = None

BACKEND = os.environ.get("RANKFEED_BACKEND_FOLDER")  # of page_locked_backend.cc
PASSAGES = ["A panda is a bear.", "", "It eats bamboo in the mountains of China, day after day after day.", "Bears."]


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tok = rankfeed.Tokenizer.from_file(MODEL)
        cls.dir = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.dir.cleanup()

    def path(self, name):
        return os.path.join(self.dir.name, name)

    def test_installed_files(self):
        folder = os.path.dirname(rankfeed.__file__)
        for name in ("py.typed", "_core.pyi"):
            self.assertTrue(os.path.exists(os.path.join(folder, name)), name)
        with open(os.path.join(folder, "_core.pyi"), encoding="utf-8") as file:
            stubs = file.read()
        for name in ("class Tensor", "class Request", "class Row", "def encode_rows", "def __dlpack__", "def roads", "def isa"):
            self.assertIn(name, stubs)
        self.assertEqual(importlib.metadata.version("rankfeed"), rankfeed.__version__)

    def test_encodings_keep_their_call_and_nothing_else(self):
        with self.assertRaises(TypeError) as caught:
            rankfeed.Encoding()
        self.assertEqual(str(caught.exception), "an Encoding is made by encode and encode_batch")
        expected = [self.tok.encode(text).ids for text in PASSAGES]

        def calls():
            gc.collect()
            return sum(type(o).__name__ == "Call" for o in gc.get_objects())

        before = calls()
        last = self.tok.encode_batch(PASSAGES)[-1]
        self.assertEqual(calls() - before, 1)
        self.assertEqual((last.ids, last._row), (expected[-1], len(PASSAGES) - 1))  # the others are gone
        loop = self.tok.encode_batch(PASSAGES)
        loop[0].overflowing.append(loop[1])
        loop[1].overflowing.append(loop[0])
        del last, loop
        self.assertEqual(calls(), before)
        gc.disable()
        try:
            types, blocks = sys.getrefcount(rankfeed.Encoding), sys.getallocatedblocks()
            for _ in range(1000):
                self.assertEqual([e.ids for e in self.tok.encode_batch(PASSAGES)], expected)
            self.assertLess(abs(sys.getrefcount(rankfeed.Encoding) - types), 100)
            self.assertLess(sys.getallocatedblocks() - blocks, 1000)
        finally:
            gc.enable()

    def test_image_is_the_model(self):
        image = self.path("default.rfimg")
        self.tok.save_image(image)
        again = rankfeed.Tokenizer.from_file(image)
        self.assertEqual(again.encode("What is a panda?").ids, self.tok.encode("What is a panda?").ids)
        self.assertEqual(again.info, self.tok.info)

    def test_errors(self):
        for path, name in (("/no/such/file", "RANKFEED_E_IO"), (__file__, "RANKFEED_E_PARSE")):
            with self.assertRaises(rankfeed.RankfeedError) as caught:
                rankfeed.Tokenizer.from_file(path)
            self.assertIn(caught.exception.name, (name, "RANKFEED_E_UNSUPPORTED"))
            self.assertIn(os.path.basename(path), str(caught.exception))
        with self.assertRaises(rankfeed.RankfeedError) as caught:
            rankfeed.Tokenizer.from_file(MODEL, parity="huggingface")
        self.assertEqual(caught.exception.name, "RANKFEED_E_PARITY")
        with self.assertRaises(TypeError):
            self.tok.encode(3)
        with self.assertRaises(UnicodeEncodeError):
            self.tok.encode("\ud800")
        with self.assertRaises(ValueError):
            self.tok.encode_pairs("q", ["d"], truncation="sideways", max_length=8)
        with self.assertRaises(TypeError):
            self.tok.encode_pairs("q", ["d"], no_such_option=1)
        batch = self.tok.encode_pairs("q", ["short", "long " * 50], max_length=16, truncation=False)
        self.assertEqual(batch.statuses, ["RANKFEED_OK", "RANKFEED_E_TOO_LONG"])
        self.assertEqual(batch.documents, [0])

    def test_parity(self):
        text = "ssssss o ooooo"
        ids = {}
        for name in ("sentencepiece", "sentencepiece-0.2.1"):
            tok = rankfeed.Tokenizer.from_file(MODEL, parity=name)
            self.assertEqual(tok.info["parity"], name)
            ids[name] = tok.encode(text).ids
            image = self.path(name + ".rfimg")
            tok.save_image(image)
            self.assertEqual(rankfeed.Tokenizer.from_file(image, parity=name).info, tok.info)
        self.assertEqual(rankfeed.Tokenizer.from_file(MODEL).encode(text).ids, ids["sentencepiece"])
        with self.assertRaises(rankfeed.RankfeedError) as caught:
            rankfeed.Tokenizer.from_file(self.path("sentencepiece.rfimg"), parity="sentencepiece-0.2.1")
        self.assertEqual(caught.exception.name, "RANKFEED_E_PARITY")
        with self.assertRaises(ValueError) as caught:
            rankfeed.Tokenizer.from_file(MODEL, parity="sentencepiece-0.1")
        self.assertIn("sentencepiece-0.2.1", str(caught.exception))

    def test_map_file(self):
        image, store, text = self.path("mapped.rfimg"), self.path("mapped.rfc"), "What is a panda?"
        self.tok.save_image(image)
        with rankfeed.CorpusWriter(store, self.tok) as writer:
            writer.put("p", text)
        ids = self.tok.encode(text).ids
        for map_file in (False, True):
            tok = rankfeed.Tokenizer.from_file(image, pages="file" if map_file else "auto")
            self.assertEqual(tok.pages == "file", map_file)
            self.assertEqual(tok.encode(text).ids, ids)
            corpus = rankfeed.Corpus(store, tok, map_file=map_file)
            self.assertEqual(corpus["p"].tolist(), tok.encode(text, add_special_tokens=False).ids)
            with open("/proc/self/maps", encoding="utf-8") as maps:
                mapped = maps.read()
            self.assertEqual(image in mapped, map_file)
            self.assertEqual(store in mapped, map_file)
            self.assertEqual(pickle.loads(pickle.dumps(tok)).encode(text).ids, ids)

    def test_pages(self):
        image, text = self.path("pages.rfimg"), "What is a panda?"
        self.tok.save_image(image)
        ids = self.tok.encode(text).ids
        for source in (image, MODEL):
            for asked in ("auto", "transparent", "base", "hugetlb"):
                try:
                    tok = rankfeed.Tokenizer.from_file(source, pages=asked)
                except rankfeed.RankfeedError as error:  # no huge pages are set aside on this machine
                    self.assertEqual((asked, error.name), ("hugetlb", "RANKFEED_E_IO"))
                    continue
                self.assertEqual(tok.encode(text).ids, ids)
                self.assertIn(tok.pages, ("hugetlb", "transparent", "base") if asked == "auto" else ("transparent", "base") if asked ==
                              "transparent" else (asked,))
                if tok.huge_page_bytes is not None:
                    self.assertEqual(tok.huge_page_bytes > 0, tok.pages != "base")
        with self.assertRaisesRegex(ValueError, "pages is 'enormous'; it must be one of auto, "):
            rankfeed.Tokenizer.from_file(image, pages="enormous")

    def test_units_of_offsets(self):
        tok = rankfeed.Tokenizer.from_file(MODEL)
        texts = ["What is a panda?", "", "\U0001f600 \u00e9t\u00e9 \u4e2d\u6587", b"a\xff b"]
        points = tok.encode_batch(texts)
        before = tok.roads()
        encoded = {unit: tok.encode_batch(texts, offsets=unit) for unit in ("code_points", "bytes", "utf16")}
        made = tok.roads()
        self.assertNotEqual(before, made)
        for i, text in enumerate(texts):
            self.assertEqual(encoded["code_points"][i].offsets, points[i].offsets)
            self.assertEqual(tok.encode(text, offsets="utf16").offsets, encoded["utf16"][i].offsets)
            characters = text if isinstance(text, str) else text.decode("utf-8", "replace")
            for unit, size in (("utf16", lambda s: len(s.encode("utf-16-le")) // 2), ("bytes", lambda s: len(s.encode()))):
                if unit == "bytes" and isinstance(text, bytes):
                    continue  # a bad byte has one there, its U+FFFD three
                self.assertEqual(encoded[unit][i].offsets,
                                 [(size(characters[:a]), size(characters[:b])) for a, b in points[i].offsets], (unit, text))
        # Made with the ids: asking for them encodes nothing.
        at_once = tok.encode_batch(texts, offsets="utf16")
        before = tok.roads()
        self.assertEqual(at_once[0].offsets[-2][1], len(texts[0]))
        self.assertEqual(tok.roads(), before)
        for bad in ("utf-16", 1, True):
            with self.assertRaisesRegex(ValueError, "offsets is .*; it must be one of bytes, code_points, utf16"):
                tok.encode("a", offsets=bad)

    def test_roads(self):
        tok = rankfeed.Tokenizer.from_file(MODEL)
        names = ["fast road", "pipeline", "options", "invalid utf-8", "character", "context", "length", "unknown",
                 "capacity", "added token"]
        self.assertEqual(tok.roads(), dict.fromkeys(names, (0, 0)))
        self.assertIsNone(tok.off_fast_road)
        self.assertIn(tok.isa, ("scalar", "ssse3", "sse4", "avx2", "avx512", "avx512-gather", "neon"))
        plain = "What is a panda?"
        encodings = tok.encode_batch([plain, "", "a\0 b", b"pa\xffnda"])
        expected = dict.fromkeys(names, (0, 0)) | {"fast road": (3, len(plain) + 6), "character": (1, 4)}
        self.assertEqual(tok.roads(), expected)
        self.assertEqual(len(encodings[0].offsets), len(encodings[0].ids))
        self.assertEqual(tok.roads(), {name: (2 * texts, 2 * bytes) for name, (texts, bytes) in expected.items()})
        # Many encoders on many threads: every text counts once, whoever encoded it.
        before = tok.roads()["fast road"]
        threads = [threading.Thread(target=lambda: [tok.encode(plain) for _ in range(50)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        tok.encode_batch([plain * 100] * 100)
        self.assertEqual(tok.roads()["fast road"],
                         (before[0] + 300, before[1] + 200 * len(plain) + 10000 * len(plain)))

    def test_off_fast_road(self):
        path = self.path("split.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"pre_tokenizer": {"type": "Split", "pattern": {"String": "ab"}, "behavior": "Isolated", "invert": False},
                       "model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0]]}}, file)
        tok = rankfeed.Tokenizer.from_file(path)
        self.assertEqual(tok.off_fast_road, "pre-tokenizer, Split")
        tok.encode("a panda")
        self.assertEqual(tok.roads()["pipeline"], (1, 7))

    def test_trim_keeps_ids(self):
        text = "\ufdfa" * 10000
        ids = self.tok.encode(text).ids
        self.assertGreater(self.tok.trim(), 0)
        self.assertEqual(self.tok.encode(text).ids, ids)

    def test_stretches_that_cannot_be_cut(self):
        long = "\u2581" + "iVBORw0KGgo" * 30_000
        with self.assertRaisesRegex(rankfeed.RankfeedError,
                                    "text 1 has 330003 bytes, with a stretch .* max_stretch_bytes, 262144, .* max_stretch_bytes [0-9]+ is enough"):
            self.tok.encode_batch(["fine", long, "also fine"])
        roomy = rankfeed.Tokenizer.from_file(MODEL, max_stretch_bytes=400_000)
        self.assertEqual(roomy.encode_batch(["fine"])[0].ids, self.tok.encode("fine").ids)
        ids = roomy.encode(long).ids
        self.assertEqual(pickle.loads(pickle.dumps(roomy)).encode(long).ids, ids)
        self.assertEqual(self.tok.encode("a panda " * 100_000 + long[:3000]).ids[:100], self.tok.encode("a panda " * 60).ids[:100])
        batch = self.tok.encode_pairs("q", ["fine", long, "also fine"])
        self.assertEqual(len(batch["input_ids"]), 2)
        self.assertEqual([status == batch.statuses[0] for status in batch.statuses], [True, False, True])
        with self.assertRaisesRegex(ValueError, "max_stretch_bytes is -1"):
            rankfeed.Tokenizer.from_file(MODEL, max_stretch_bytes=-1)

    def test_text_in_pieces(self):
        text = "What is a panda? It is a bear, \u00e9t\u00e9. " * 4000
        ids = self.tok.encode(text).ids
        data = text.encode()
        for size in (1 << 20, 70_000, 333):  # 333 cuts characters
            got = list(self.tok.encode_stream(data[i:i + size] for i in range(0, len(data), size)))
            self.assertTrue(all(part.dtype == np.int32 for part in got))
            self.assertGreater(len(got), 3 if size == 333 else 1)
            self.assertEqual(np.concatenate(got).tolist(), ids)
        bare = self.tok.encode(text, add_special_tokens=False).ids
        self.assertEqual(np.concatenate(list(self.tok.encode_stream([text], add_special_tokens=False))).tolist(), bare)
        self.assertEqual(np.concatenate(list(self.tok.encode_stream([]))).tolist(), self.tok.encode("").ids)
        with self.assertRaisesRegex(rankfeed.RankfeedError, "no place to cut within the 64 bytes"):
            list(self.tok.encode_stream(["a" * 65], window_bytes=64))
        with self.assertRaisesRegex(TypeError, "pieces is 'ab', one text; it must be an iterable of texts"):
            self.tok.encode_stream("ab")
        with self.assertRaisesRegex(ValueError, "window_bytes is 0; it must be at least 1"):
            self.tok.encode_stream(["ab"], window_bytes=0)
        with self.assertRaisesRegex(TypeError, "piece is an int; it must be a str or bytes"):
            list(self.tok.encode_stream([3]))

    def test_specials_in_text(self):
        tok = rankfeed.Tokenizer.from_file(hf_file("roberta"))
        docs = ["fine", "a </s> b", "also fine"]
        parsed = tok.encode_pairs("q", docs)
        eos = tok.token_to_id("</s>")
        self.assertEqual((parsed["input_ids"] == eos).sum(axis=1).tolist(), [3, 4, 3])
        escaped = tok.encode_pairs("q", docs, specials_in_text="escape")
        self.assertEqual((escaped["input_ids"] == eos).sum(axis=1).tolist(), [3, 3, 3])
        refused = tok.request("q", docs, specials_in_text="error")
        batch = refused.next()
        self.assertEqual([row[0] for row in batch.row_map], [0, 2])
        self.assertEqual(refused.statuses, ["RANKFEED_OK", "RANKFEED_E_SPECIAL_IN_TEXT", "RANKFEED_OK"])
        refused.put_scores(batch, [1.0, 2.0])
        self.assertEqual(refused.rank(), [(2, 2.0), (0, 1.0)])
        with self.assertRaises(rankfeed.RankfeedError) as caught:
            tok.encode_pairs("</s>", docs, specials_in_text="error")
        self.assertEqual(caught.exception.name, "RANKFEED_E_SPECIAL_IN_TEXT")

    def test_texts_together_and_alone(self):
        """Texts with more tokens than a third of their bytes, failing ones between them, and more than one thread's
        share: what each gets is what it gets alone."""
        docs = ["a b", "!?;.," * 800, "x </s> y", "", "The panda eats bamboo. " * 40, "</s>", "-" * 7, "ß" * 3000] * 9
        for threads in (1, 2):
            tok = rankfeed.Tokenizer.from_file(hf_file("roberta"), threads=threads)
            alone = [tok.encode(d, offsets="bytes") for d in docs]
            for unit in (None, "bytes"):
                together = tok.encode_batch(docs, offsets=unit)
                self.assertEqual([e.ids for e in together], [e.ids for e in alone])
                if unit is not None:
                    self.assertEqual([e.offsets for e in together], [e.offsets for e in alone])
            request = tok.request("q", docs, specials_in_text="error", padding=False, max_length=None, truncation=False)
            batch = request.next()
            good = [i for i, d in enumerate(docs) if "</s>" not in d]
            self.assertEqual(request.statuses, ["RANKFEED_OK" if i in good else "RANKFEED_E_SPECIAL_IN_TEXT"
                                                for i in range(len(docs))])
            ids, at = batch.tensors["input_ids"].numpy(), batch.tensors["cu_seqlens"].numpy()
            pairs = tok.encode_batch([("q", docs[i]) for i in good])
            self.assertEqual([list(ids[a:b]) for a, b in zip(at, at[1:])], [e.ids for e in pairs])

    def test_dlpack_out_shares_memory(self):
        batch = self.tok.encode_pairs("What is a panda?", PASSAGES, return_tensors="dlpack")
        ids = batch["input_ids"]
        self.assertEqual(ids.__dlpack_device__(), (1, 0))
        first, second = np.from_dlpack(ids), ids.numpy()
        self.assertEqual(first.dtype, np.int64)
        self.assertTrue(np.shares_memory(first, second))
        self.assertTrue(np.shares_memory(first, np.from_dlpack(ids, device="cpu")))  # passes dl_device
        copied = np.from_dlpack(ids, copy=True)
        self.assertFalse(np.shares_memory(first, copied))
        np.testing.assert_array_equal(first, copied)
        mask = np.from_dlpack(batch["attention_mask"])
        # Both tensors lie in one arena: that is what makes one copy to a device enough.
        self.assertLess(abs(mask.ctypes.data - first.ctypes.data), 1 << 20)
        expected = first.copy()
        del batch, ids, second, mask
        gc.collect()
        np.testing.assert_array_equal(first, expected)  # the array keeps the arena
        # A consumer of DLPack before 1.0.
        legacy = self.tok.encode_pairs("a", ["b"], return_tensors="dlpack")["input_ids"].__dlpack__()
        self.assertIn('"dltensor"', repr(legacy))
        versioned = self.tok.encode_pairs("a", ["b"], return_tensors="dlpack")["input_ids"].__dlpack__(max_version=(1, 1))
        self.assertIn("dltensor_versioned", repr(versioned))
        del legacy, versioned  # capsules nobody consumed free their tensors

    def test_memory_is_given_back(self):
        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        docs = ["word " * 200] * 50
        for round in range(60):
            batch = self.tok.encode_pairs("q", docs, return_tensors="dlpack")
            np.from_dlpack(batch["input_ids"])
            batch["attention_mask"].__dlpack__(max_version=(1, 0))
            if round == 20:
                before = resident()
        del batch
        self.assertLess(resident() - before, 8 << 20)  # 40 batches of 160 KB each would show

    def test_dlpack_and_numpy_in(self):
        ids = np.array(self.tok.encode("What is a panda?", add_special_tokens=False).ids, dtype=np.int32)
        self.assertEqual(self.tok.decode(ids), "What is a panda?")
        self.assertEqual(self.tok.decode(ids.astype(np.int64)), "What is a panda?")
        text = self.tok.encode_pairs("q", ["What is a panda?"])
        stored = self.tok.encode_pairs("q", [ids])
        self.assertEqual(text["input_ids"].tolist(), stored["input_ids"].tolist())
        if hasattr(np, "from_dlpack"):
            self.assertEqual(self.tok.encode_pairs("q", [np.from_dlpack(ids)])["input_ids"].tolist(),
                             text["input_ids"].tolist())
        with self.assertRaises((TypeError, RuntimeError)):
            self.tok.encode_pairs("q", [ids.astype(np.float32)])

    @needs(torch, "torch")
    def test_torch(self):
        batch = self.tok.encode_pairs("What is a panda?", PASSAGES, return_tensors="dlpack")
        tensor = torch.from_dlpack(batch["input_ids"])
        self.assertEqual(tensor.data_ptr(), batch["input_ids"].numpy().ctypes.data)
        self.assertEqual(tensor.dtype, torch.int64)
        ids = torch.tensor(self.tok.encode("bears", add_special_tokens=False).ids, dtype=torch.int32)
        self.assertEqual(self.tok.encode_pairs("q", [ids])["input_ids"].tolist(),
                         self.tok.encode_pairs("q", ["bears"])["input_ids"].tolist())
        self.assertEqual(self.tok(["a b"], return_tensors="pt")["input_ids"].tolist(),
                         self.tok(["a b"], return_tensors="np")["input_ids"].tolist())

    def test_layouts(self):
        padded = self.tok.encode_pairs("What is a panda?", PASSAGES, dtype="int32",
                                       tensors=["attention_mask", "position_ids", "lengths"])
        packed = self.tok.encode_pairs("What is a panda?", PASSAGES, dtype="int32", padding=False)
        rows = [row[mask == 1].tolist() for row, mask in zip(padded["input_ids"], padded["attention_mask"])]
        starts = packed["cu_seqlens"].tolist()
        self.assertEqual([packed["input_ids"][a:b].tolist() for a, b in zip(starts, starts[1:])], rows)
        self.assertEqual(padded["lengths"].tolist(), [len(r) for r in rows])
        self.assertEqual(packed.max_seqlen, max(len(r) for r in rows))
        singles = [self.tok.encode("What is a panda?", p).ids for p in PASSAGES]
        self.assertEqual(rows, singles)

    def test_windows(self):
        long = " ".join(PASSAGES * 10)
        batch = self.tok.encode_pairs("What is a panda?", [long, "short"], max_length=32, stride=6,
                                      truncation="only_second", overflow="short_last")
        whole = self.tok.encode(long, add_special_tokens=False).ids
        windows = [row for row in batch.row_map if row[0] == 0]
        self.assertGreater(len(windows), 3)
        self.assertEqual(windows[0][2], 0)
        self.assertEqual(windows[-1][3], len(whole))
        for a, b in zip(windows, windows[1:]):
            self.assertEqual(a[3] - b[2], 6)
            self.assertEqual(long.encode()[b[4]:b[5]].decode().strip()[:1].isspace(), False)

    def test_byte_ranges(self):
        long = " ".join(PASSAGES * 10)
        options = dict(max_length=32, truncation="only_second")
        plain = self.tok.encode_pairs("What is a panda?", [long], **options)
        known = self.tok.encode_pairs("What is a panda?", [long], byte_ranges=True, **options)
        self.assertEqual(plain["input_ids"].tolist(), known["input_ids"].tolist())
        self.assertEqual(plain.row_map[0][4:6], (0, 0))
        begin, end = known.row_map[0][4:6]
        self.assertEqual(begin, 0)
        kept = self.tok.encode(long[:end], add_special_tokens=False).ids
        self.assertEqual(kept, self.tok.encode(long, add_special_tokens=False).ids[:len(kept)])
        self.assertEqual(len(kept), known.row_map[0][3])

    def test_request_scores_and_rank(self):
        request = self.tok.request("What is a panda?", PASSAGES, max_rows_per_batch=2, sort="descending")
        lengths = []
        for batch in request:
            lengths += [row[7] for row in batch.row_map]
            request.put_scores(batch, [[float(row[0]), 1.0] for row in batch.row_map], label=0)
        self.assertEqual(lengths, sorted(lengths, reverse=True))
        self.assertEqual(request.rank(), [(3, 3.0), (2, 2.0), (1, 1.0), (0, 0.0)])
        self.assertEqual(request.rank(top_n=1), [(3, 3.0)])
        request = self.tok.request("q", PASSAGES, max_rows_per_batch=1)
        request.put_scores(request.next(), [1.0])
        with self.assertRaises(rankfeed.RankfeedError):
            request.rank()  # rows without a score
        with self.assertRaisesRegex(rankfeed.RankfeedError, r"logits\[0\] is nan"):
            request.put_scores(request.next(), [float("nan")])
        # A batch of another request would score the wrong documents.
        late, request = request.next(), self.tok.request("q", PASSAGES)
        request.next()
        with self.assertRaises(rankfeed.RankfeedError) as caught:
            request.put_scores(late, [1.0] * late.rows)
        self.assertEqual(caught.exception.name, "RANKFEED_E_STALE")
        self.assertIn("earlier request", str(caught.exception))
        self.assertEqual(self.tok.request("q", []).rank(), [])
        self.assertIsNone(self.tok.request("q", []).next())

    def test_numbers_that_wrap(self):
        request = self.tok.request("q", PASSAGES)
        batch = request.next()
        with self.assertRaisesRegex(rankfeed.RankfeedError, r"logits has the shape \[\d+, 0\]"):
            request.put_scores(batch, np.zeros((batch.rows, 0), dtype=np.float32))
        # 8 bytes times 2^61 elements is 0 in 64 bits.
        with self.assertRaisesRegex(rankfeed.RankfeedError, "1 x 2305843009213693952 elements"):
            self.tok(["a"], padding="max_length", max_length=2**61, truncation=False, return_tensors="np")
        model, core = self.tok._model, rankfeed._core
        for name, value in [("truncation", 257), ("layout", 256), ("sort", 2**32 - 1)]:
            with self.assertRaisesRegex(rankfeed.RankfeedError, "RANKFEED_E_ARGUMENT|options"):
                core.Request(model, "q", ["a"], {name: value})
        with self.assertRaisesRegex(rankfeed.RankfeedError, "max_length is 4294967296"):
            core.Request(model, "q", ["a"], {"max_length": 2**32})
        ring = rankfeed.Ring.open(slots=1, slot_bytes=1 << 16)
        with self.assertRaisesRegex(rankfeed.RankfeedError, "timeout"):
            self.tok.request("q", PASSAGES).next(ring, timeout=float("nan"))
        self.assertIsNotNone(self.tok.request("q", PASSAGES).next(ring, timeout=1e300))

    def test_ring(self):
        ring = rankfeed.Ring.open(slots=2, slot_bytes=1 << 16)
        self.assertEqual(ring.backend, "host")
        request = self.tok.request("q", PASSAGES * 3, max_rows_per_batch=4, max_arena_bytes=1 << 16)
        one, two = request.next(ring), request.next(ring)
        with self.assertRaises(rankfeed.RankfeedError) as caught:  # both slots are held
            request.next(ring, timeout=0)
        self.assertEqual(caught.exception.name, "RANKFEED_E_DEADLINE")
        ids = one.tensors["input_ids"].numpy()
        expected = ids.copy()
        del one
        gc.collect()
        with self.assertRaises(rankfeed.RankfeedError):  # the array still holds it
            request.next(ring, timeout=0)
        np.testing.assert_array_equal(ids, expected)
        del ids
        gc.collect()
        self.assertEqual(len(request.next(ring, timeout=0)), 4)
        del two, ring, request

    def test_submitted_batch_on_the_host(self):
        """The host's backend plays a device: memory of its own beside each slot, which NumPy can read."""
        ring = rankfeed.Ring.open(slots=1, slot_bytes=1 << 16, device_slots=True, mapped_limit=1 << 16)
        self.assertIsNone(ring.device_numa_node)
        self.assertIn(type(ring.numa_node), (int, type(None)))
        request = self.tok.request("q", PASSAGES * 9, max_rows_per_batch=4, max_arena_bytes=1 << 16)
        for mode, in_place in (("copy", False), ("mapped", True), ("choose", True)):
            batch = request.next(ring, timeout=10)
            ids = batch.tensors["input_ids"]
            there = batch.submit(mode=mode)["input_ids"]
            self.assertIsInstance(there, rankfeed.DeviceTensor)
            self.assertEqual((there.shape, there.dtype, there.nbytes), (ids.shape, ids.dtype, ids.nbytes))
            self.assertEqual(there.__dlpack_device__(), (1, 0))
            array = np.from_dlpack(there)  # waits for the copy
            np.testing.assert_array_equal(array, ids.numpy())
            self.assertEqual(np.shares_memory(array, ids.numpy()), in_place)
            for stream in (-1, 0, 1, 1 << 20):
                with self.assertRaisesRegex(ValueError, "must be None, because the memory is the host's"):
                    there.__dlpack__(stream=stream)
            self.assertFalse(hasattr(there, "__cuda_array_interface__"))
            there.record_stream(None)
            batch.record_stream(7)  # of a host's ring nothing is read later: nothing is done
            del batch, ids, there
            gc.collect()
            with self.assertRaises(rankfeed.RankfeedError):  # the array still holds the slot
                request.next(ring, timeout=0)
            del array
            gc.collect()
        batch = request.next(ring, timeout=10)
        with self.assertRaisesRegex(ValueError, "must be None"):
            batch.submit(stream=5)
        with self.assertRaisesRegex(TypeError, "stream is str; it must be None, an int or a framework's stream"):
            batch.submit(stream="5")
        with self.assertRaisesRegex(ValueError, "mode is 'fast'"):
            batch.submit(mode="fast")
        with self.assertRaisesRegex(rankfeed.RankfeedError, "has not been submitted"):
            batch.device_tensors
        free = self.tok.request("q", PASSAGES).next()
        with self.assertRaisesRegex(rankfeed.RankfeedError, "in no ring's slot"):
            free.submit()
        free.record_stream(3)
        free.tensors["input_ids"].record_stream(None)

    def test_ring_of_a_backend(self):
        with self.assertRaises(rankfeed.RankfeedError) as caught:
            rankfeed.Ring.open(backend="absent")
        self.assertEqual(caught.exception.name, "RANKFEED_E_UNSUPPORTED")
        self.assertIn("there is no backend 'absent'; there are: host, cuda, hip", str(caught.exception))
        with self.assertRaises(rankfeed.RankfeedError) as caught:
            rankfeed.Ring.open(backend="hip_nvidia")  # a backend, but its library is never installed
        self.assertEqual(caught.exception.name, "RANKFEED_E_UNSUPPORTED")
        self.assertIn("librankfeed_handoff_hip_nvidia.so", str(caught.exception))
        with self.assertRaises(rankfeed.RankfeedError):
            rankfeed.Ring.open(device=7)

    @unittest.skipUnless(BACKEND, "SKIPPED: RANKFEED_BACKEND_FOLDER is not set")
    def test_page_locked_tensors(self):
        """Slots of a vendor's backend, found by name through the loader's path: here one that stands in for CUDA's."""
        code = textwrap.dedent('''
            import gc, sys
            import numpy as np
            import rankfeed
            tok = rankfeed.Tokenizer.from_file(sys.argv[1])
            ring = rankfeed.Ring.open(slots=1, slot_bytes=1 << 16, backend="cuda")
            assert (ring.backend, ring.page_locked) == ("cuda", True)
            request = tok.request("q", ["pandas", "bears"], max_rows_per_batch=1, max_arena_bytes=1 << 16)
            ids = request.next(ring).tensors["input_ids"]
            assert ids.host_device_type == 3 and ids.__dlpack_device__() == (1, 0)
            array = np.from_dlpack(ids)
            assert np.shares_memory(array, ids.numpy())
            class Asks:  # a consumer that wants to know
                __dlpack_device__ = lambda self: (3, 0)
                __dlpack__ = lambda self, **k: ids.__dlpack__(**{**k, "dl_device": (3, 0)})
            assert np.shares_memory(np.from_dlpack(Asks()), array)
            for wrong in ((2, 0), (11, 0), (3, 1)):
                try:
                    ids.__dlpack__(dl_device=wrong)
                except BufferError:
                    continue
                raise AssertionError(wrong)
            if len(sys.argv) > 2:
                import torch
                tensor = torch.from_dlpack(ids)
                assert tensor.data_ptr() == array.ctypes.data and tensor.tolist() == array.tolist()
                del tensor
            assert array.tolist() == tok.encode_pairs("q", ["pandas"])["input_ids"].tolist()
            del ids, array
            gc.collect()
            # the slot is free again, after the default stream
            assert request.next(ring, timeout=10).tensors["input_ids"].numpy().shape[0] == 1
            print("ok")
        ''')
        done = subprocess.run([sys.executable, "-c", code, MODEL, *(["torch"] if torch else [])], capture_output=True, text=True,
                              env={**os.environ, "LD_LIBRARY_PATH": BACKEND})
        self.assertEqual((done.returncode, done.stdout), (0, "ok\n"), done.stderr)

    def test_corpus(self):
        path = self.path("docs.rfc")
        with rankfeed.CorpusWriter(path, self.tok) as writer:
            writer.put_all([str(i) for i in range(len(PASSAGES))], PASSAGES)
        store = rankfeed.Corpus(path, self.tok)
        self.assertEqual(len(store), len(PASSAGES))
        self.assertEqual(store.keys(), ["0", "1", "2", "3"])
        for i, text in enumerate(PASSAGES):
            self.assertEqual(store[str(i)].tolist(), self.tok.encode(text, add_special_tokens=False).ids)
        self.assertFalse(store["0"].flags.writeable)
        self.assertNotIn("4", store)
        self.assertIsNone(store.get("4"))
        self.assertEqual([x is None for x in store.get_all(["3", "none", "0"])], [False, True, False])
        mixed = self.tok.encode_pairs("q", [store["2"], PASSAGES[0], store["3"]], max_length=12)
        plain = self.tok.encode_pairs("q", [PASSAGES[2], PASSAGES[0], PASSAGES[3]], max_length=12)
        self.assertEqual(mixed["input_ids"].tolist(), plain["input_ids"].tolist())
        ids = store["2"]
        del store
        gc.collect()
        self.assertEqual(ids.tolist(), self.tok.encode(PASSAGES[2], add_special_tokens=False).ids)

        other = self.path("other.rfc")
        with rankfeed.CorpusWriter(other, self.tok) as writer:
            writer.put("3", "Replaced.")
            writer.put("9", np.array([7, 8], dtype=np.int32))
        merged = self.path("merged.rfc")
        rankfeed.merge_corpus([path, other], merged)
        store = rankfeed.Corpus(merged, self.tok)
        self.assertEqual(sorted(store.keys()), ["0", "1", "2", "3", "9"])
        self.assertEqual(store["3"].tolist(), self.tok.encode("Replaced.", add_special_tokens=False).ids)
        self.assertEqual(store["9"].tolist(), [7, 8])
        with self.assertRaises(RuntimeError):
            with rankfeed.CorpusWriter(path, self.tok, append=True) as writer:
                writer.put("dropped", "x")
                raise RuntimeError
        self.assertNotIn("dropped", rankfeed.Corpus(path))
        with self.assertRaises(rankfeed.RankfeedError):
            writer.put("x", "y")  # closed
        with rankfeed.CorpusWriter(path, self.tok, append=True) as writer:
            writer.remove("0")
        rankfeed.compact_corpus(path)
        self.assertNotIn("0", rankfeed.Corpus(path))

    def test_special_tokens_in_stored_texts(self):
        """A store is made for rows that take special tokens in texts in one way, and opened for the same."""
        path, text = self.path("escaped.rfc"), "a </s> b"
        with rankfeed.CorpusWriter(path, self.tok, specials_in_text="escape") as writer:
            writer.put("a", text)
        with self.assertRaises(rankfeed.RankfeedError):
            rankfeed.Corpus(path, self.tok)
        stored = rankfeed.Corpus(path, self.tok, specials_in_text="escape")["a"]
        rows = [self.tok.encode_pairs("q", [d], specials_in_text="escape", max_length=32)["input_ids"].tolist() for d in (stored, text)]
        self.assertEqual(rows[0], rows[1])
        with self.assertRaisesRegex(ValueError, "specials_in_text is 'none'; it must be one of parse, escape, error"):
            rankfeed.CorpusWriter(path, self.tok, specials_in_text="none")

    def test_threads_share_one_tokenizer(self):
        expected = [self.tok.encode(p).ids for p in PASSAGES]
        wrong, stop = [], time.monotonic() + 1.0

        def work(seed):
            while time.monotonic() < stop:
                if [e.ids for e in self.tok.encode_batch(PASSAGES)] != expected:
                    wrong.append(seed)
                if self.tok.encode_pairs("q", PASSAGES, max_length=8 + seed)["input_ids"].shape[1] > 8 + seed:
                    wrong.append(seed)
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    def test_gil_is_released(self):
        """While one thread tokenizes a large batch, another goes on running Python."""
        docs = ["word and word again " * 5000] * 40
        ticks, done = [], threading.Event()

        def tick():
            while not done.is_set():
                ticks.append(time.monotonic())
        thread = threading.Thread(target=tick)
        thread.start()
        begin = time.monotonic()
        self.tok.encode_pairs("q", docs)
        end = time.monotonic()
        done.set()
        thread.join()
        inside = sum(begin < t < end for t in ticks)
        self.assertGreater(inside, 1000)  # with the GIL held: none between the two readings

    def test_threads_do_not_change_results(self):
        docs = [f"{p} {i}" for i in range(400) for p in PASSAGES]
        one = rankfeed.Tokenizer.from_file(MODEL, threads=1)
        four = rankfeed.Tokenizer.from_file(MODEL, threads=4)
        self.assertEqual([e.ids for e in one.encode_batch(docs)], [e.ids for e in four.encode_batch(docs)])
        a, b = one.encode_pairs("q", docs, max_length=20), four.encode_pairs("q", docs, max_length=20)
        np.testing.assert_array_equal(a["input_ids"], b["input_ids"])

    def test_pickle(self):
        again = pickle.loads(pickle.dumps(self.tok))
        self.assertEqual(again.encode("x y").ids, self.tok.encode("x y").ids)
        batch = self.tok(["a", "b"], return_tensors="np")
        self.assertEqual(pickle.loads(pickle.dumps(batch))["input_ids"].tolist(), batch.input_ids.tolist())

    @unittest.skipUnless(os.environ.get("RANKFEED_PROGRAM"), "SKIPPED: RANKFEED_PROGRAM names no command line")
    def test_receipt(self):
        docs = os.path.join(SOURCE, "data", "sample", "docs.jsonl")
        got = rankfeed.receipt(MODEL, docs, program=os.environ["RANKFEED_PROGRAM"], requests=3, candidates=4,
                               encode_seconds=0.05, max_seconds=1, unicode_texts=5)
        self.assertEqual(got["schema"], "rankfeed-receipt")
        self.assertEqual(got["workload"]["requests"], 3)
        self.assertGreater(got["encode"]["tokens"], 0)
        with self.assertRaises(RuntimeError):
            rankfeed.receipt(MODEL, "/no/such", program=os.environ["RANKFEED_PROGRAM"])
        with self.assertRaises(FileNotFoundError):
            rankfeed.receipt(MODEL, docs, program="/no/such/program")

    def test_no_leak_messages_at_exit(self):
        code = ("import rankfeed, sys; t = rankfeed.Tokenizer.from_file(sys.argv[1]); "
                "b = t.encode_pairs('q', ['d'], return_tensors='dlpack'); print(len(b.documents))")
        result = subprocess.run([sys.executable, "-c", code, MODEL], capture_output=True, text=True, check=True)
        self.assertEqual((result.stdout, result.stderr), ("1\n", ""))


if __name__ == "__main__":
    unittest.main(verbosity=1)
