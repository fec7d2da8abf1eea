# SPDX-License-Identifier: MIT
"""What the package takes and refuses: every refusal is one sentence that names the argument, its value or type, and
what is allowed; columns of pyarrow and pandas, ids of NumPy; text that is no valid Unicode; pickling."""

import os
import pickle
import subprocess
import sys
import tempfile
import unittest
import warnings

import numpy as np
import rankfeed

from support import MODEL, hf_file, needs

try:
    import pyarrow
except ImportError:
    pyarrow = None
try:
    import pandas
except ImportError:
    pandas = None

DOCS = ["A panda is a bear.", "", "It eats bamboo in the mountains of China, day after day.", "B\u00e4ren \U0001f43c."]


class Refused(unittest.TestCase):
    """Messages, whole: nobody should have to guess what a call wanted."""

    @classmethod
    def setUpClass(cls):
        cls.tok = rankfeed.Tokenizer.from_file(hf_file("roberta"))

    def refuses(self, kind, message, function, *args, **kwargs):
        with self.assertRaises(kind) as caught:
            function(*args, **kwargs)
        self.assertEqual(str(caught.exception), message)

    def test_docs(self):
        pairs = self.tok.encode_pairs
        array = "a str, bytes, or a contiguous one-dimensional array of int32 or int64 ids in host memory"
        for docs, message in (
                ("abc", "docs is one str; it must be a sequence of documents, such as [docs]"),
                (b"abc", "docs is one bytes; it must be a sequence of documents, such as [docs]"),
                (None, "docs is None; it must be a sequence of documents"),
                (7, "docs is an int; it must be a sequence of documents"),
                ({"a": "b"}, "docs is a dict; it must be a sequence of documents"),
                ({"a", "b"}, "docs is a set; it must be a sequence of documents"),
                (["a", None], f"docs[1] is None; it must be {array}"),
                (["a", 3.5], f"docs[1] is a float; it must be {array}"),
                ([["a"]], f"docs[0] is a list; it must be {array}"),
                ([np.zeros((1, 2), np.int32)], f"docs[0] is a numpy.ndarray; it must be {array}"),
                ([np.zeros(4, np.int32)[::2]], f"docs[0] is a numpy.ndarray; it must be {array}"),
                ([np.zeros(4, np.float32)], f"docs[0] is a numpy.ndarray; it must be {array}"),
                (bytearray(b"abc"), "docs is a bytearray; it must be a sequence of documents"),
                (memoryview(b"abc"), "docs is a memoryview; it must be a sequence of documents")):
            self.refuses(TypeError, message, pairs, "q", docs)
            self.refuses(TypeError, message, self.tok.request, "q", docs)
        self.refuses(ValueError, "docs is empty; encode_pairs needs at least one document", pairs, "q", [])
        self.refuses(TypeError, f"query is None; it must be {array}", pairs, None, ["a"])
        self.refuses(TypeError, f"query is a list; it must be {array}", pairs, ["q"], ["a"])

    def test_ids(self):
        last = self.tok.vocab_size - 1
        for dtype in (np.int32, np.int64):
            for bad in (-1, last + 1, np.iinfo(dtype).max, np.iinfo(dtype).min):
                message = f"docs[1][2] is {bad}; ids of this vocabulary are 0 to {last}"
                docs = ["text", np.array([5, last, bad], dtype)]
                self.refuses(ValueError, message, self.tok.encode_pairs, "q", docs)
                self.refuses(ValueError, message.replace("docs[1]", "query"), self.tok.encode_pairs, docs[1], ["d"])
        self.refuses(ValueError, "ids[1] is -1; ids are 0 to 2147483647", self.tok.decode, [5, -1])
        self.refuses(ValueError, "ids[0] is 2147483648; ids are 0 to 2147483647", self.tok.decode, [2**31])
        self.refuses(TypeError, "ids is 'ab'; it must be a sequence of int", self.tok.decode, "ab")
        self.refuses(TypeError, "ids is [1.5]; it must be a sequence of int", self.tok.decode, [1.5])
        self.refuses(ValueError, "id is -1; it must be at least 0", self.tok.id_to_token, -1)
        self.assertEqual(self.tok.decode([]), "")

    def test_numbers(self):
        pairs, no_limit = self.tok.encode_pairs, "or None for no limit"
        least = f"it must be at least 4, the special tokens of a pair, {no_limit}"
        for name, value, message in (
                ("max_length", -1, f"max_length is -1; {least}"),
                ("max_length", 0, f"max_length is 0; {least}"),
                ("max_length", 3, f"max_length is 3; {least}"),
                ("max_length", 2**32, f"max_length is {2**32}; it must be at most {2**32 - 1}"),
                ("stride", -2, "stride is -2; it must be at least 0"),
                ("max_query_tokens", 0, f"max_query_tokens is 0; it must be at least 1, {no_limit}"),
                ("max_rows_per_batch", -1, f"max_rows_per_batch is -1; it must be at least 1, {no_limit}"),
                ("pad_to_multiple_of", 0, f"pad_to_multiple_of is 0; it must be at least 1, {no_limit}")):
            self.refuses(ValueError, message, pairs, "q", DOCS, **{name: value})
        for name, value in (("max_length", "8"), ("max_length", 8.0), ("stride", None), ("max_length", True),
                            ("max_tokens_per_doc", "a")):
            if value is not None:
                self.refuses(TypeError, f"{name} is {value!r}; it must be an int", pairs, "q", DOCS, **{name: value})
        self.assertEqual(pairs("q", DOCS, max_length=4)["input_ids"].shape, (4, 4))
        self.assertEqual(pairs("q", DOCS, max_length=1, add_special_tokens=False)["input_ids"].shape, (4, 1))
        self.assertEqual(pairs("q", DOCS, max_length=np.int64(9))["input_ids"].shape, (4, 9))

    def test_choices_and_names(self):
        pairs = self.tok.encode_pairs
        strategies = "longest_first, longest_first_slow, only_first, only_second, text_end"
        for kwargs, message in (
                ({"truncation": "sideways"},
                 f"truncation is 'sideways'; it must be a bool, or one of do_not_truncate, none, {strategies}"),
                ({"padding": "wide"}, "padding is 'wide'; it must be a bool, longest, max_length or do_not_pad"),
                ({"padding": "max_length"}, 'padding is "max_length" and max_length is None; it must be an int'),
                ({"return_tensors": "tf"}, "return_tensors is 'tf'; it must be one of np, dlpack, pt"),
                ({"sort": "up"}, "sort is 'up'; it must be one of none, descending, ascending"),
                ({"truncation_side": "model"}, "truncation_side is 'model'; it must be one of right, left"),
                ({"dtype": np.int32}, "dtype is <class 'numpy.int32'>; it must be one of int32, int64, uint32"),
                ({"tensors": ["mask"]}, "tensors is 'mask'; it must be one of attention_mask, token_type_ids, "
                                        "position_ids, lengths, row_of_token, last_tokens")):
            self.refuses(ValueError, message, pairs, "q", DOCS, **kwargs)
        self.refuses(TypeError, "tensors is 'attention_mask', one str; it must be a list of names, such as "
                                "['attention_mask']", pairs, "q", DOCS, tensors="attention_mask")
        self.refuses(TypeError, "add_special_tokens is 'no'; it must be True or False", pairs, "q", DOCS,
                     add_special_tokens="no")
        self.refuses(TypeError, "encode_pairs() has no argument max_lenght; did you mean max_length?", pairs, "q", DOCS,
                     max_lenght=8)
        self.refuses(TypeError, "request() has no argument max_row_per_batch; did you mean max_rows_per_batch?",
                     self.tok.request, "q", DOCS, max_row_per_batch=8)
        self.refuses(ValueError, "max_rows_per_batch split docs into several batches; encode_pairs makes one, request() "
                                 "makes all", pairs, "q", DOCS, max_rows_per_batch=2)
        self.assertEqual(len(pairs("q", DOCS, max_rows_per_batch=4).documents), 4)
        load = rankfeed.Tokenizer.from_file
        self.refuses(TypeError, "Tokenizer.from_file() has no argument max_length; did you mean model_max_length?", load,
                     MODEL, max_length=8)
        self.refuses(ValueError, "padding_side is 'up'; it must be one of right, left", load, MODEL, padding_side="up")
        self.refuses(TypeError, "model_input_names is 'input_ids', one str; it must be a list of names", load, MODEL,
                     model_input_names="input_ids")
        self.refuses(ValueError, "invalid_text is 'ignore'; it must be one of reference, error, replace", load, MODEL,
                     invalid_text="ignore")

    def test_options_that_contradict_each_other(self):
        pairs = self.tok.encode_pairs
        windows = dict(overflow="short_last", truncation="only_second")
        for kwargs, message in (
                (dict(windows), "overflow is 'short_last'; windows need a max_length"),
                (dict(overflow="aligned_last", max_length=9),
                 "truncation is 'longest_first'; windows need only_second, which leaves the query whole"),
                (dict(windows, max_length=9, stride=5),
                 "stride is 5; it must be below what max_length leaves beside the special tokens"),
                (dict(max_length=9, stride=9, add_special_tokens=False),
                 "stride is 9; it must be below what max_length leaves beside the special tokens"),
                (dict(padding=False, tensors=["attention_mask"]),
                 "tensors is ['attention_mask']; packed rows have no such tensor"),
                (dict(tensors=["lengths", "row_of_token"]),
                 "tensors is ['lengths', 'row_of_token']; padded rows have no such tensor")):
            self.refuses(rankfeed.RankfeedError, message, pairs, "q", DOCS, **kwargs)
        with tempfile.TemporaryDirectory() as folder, open(hf_file("roberta"), encoding="utf-8") as file:
            path = os.path.join(folder, "no_pad.tokenizer.json")
            with open(path, "w", encoding="utf-8") as out:
                out.write(file.read().replace('"<pad>"', '"<other>"'))
            no_pad = rankfeed.Tokenizer.from_file(path)
        with self.assertRaisesRegex(rankfeed.RankfeedError, "padding is True; padded rows need a padding token, and the vocabulary has none") as caught:
            no_pad.encode_pairs("q", DOCS)
        self.assertEqual(caught.exception.name, "RANKFEED_E_ARGUMENT")
        self.assertEqual(pairs("q", DOCS[:1], max_length=9, stride=3, **windows).documents[0], 0)
        self.refuses(TypeError, "tensors is 3; it must be a list of names", pairs, "q", DOCS, tensors=3)
        for name in ("split_special_tokens", "byte_ranges"):
            self.refuses(TypeError, f"{name} is 'no'; it must be True or False", pairs, "q", DOCS, **{name: "no"})

    def test_scores(self):
        request = self.tok.request("q", DOCS)
        self.refuses(rankfeed.RankfeedError, "rank() needs scores of every row: take all batches, and put_scores for each", request.rank)
        batch = request.next()
        shape = "it must be [4] or [4, labels]"
        for logits, kind, message in (
                ([1.0], ValueError, f"logits has the shape [1]; {shape}"),
                (1.0, ValueError, f"logits has the shape []; {shape}"),
                (np.zeros((4, 0)), ValueError, f"logits has the shape [4, 0]; {shape}"),
                (np.zeros((4, 1, 1)), ValueError, f"logits has the shape [4, 1, 1]; {shape}"),
                *(([1.0, 2.0, wrong, 4.0], ValueError, f"logits[2] is {wrong}; it must be a finite number")
                  for wrong in (float("nan"), float("inf"), float("-inf"))),
                ([[1.0], [2.0], [float("inf")], [4.0]], ValueError, "logits[2, 0] is inf; it must be a finite number"),
                ("abcd", TypeError, "logits is 'abcd'; it must be an array of floats in host memory")):
            self.refuses(kind, message, request.put_scores, batch, logits)
        self.refuses(ValueError, "label is 2; it must be at most 1, the last label of logits", request.put_scores, batch, np.zeros((4, 2)), label=2)
        self.refuses(ValueError, "top_n is -1; it must be at least 0", request.rank, -1)
        request.put_scores(batch, [1.0, 4.0, 2.0, 3.0])
        self.assertEqual([document for document, _ in request.rank()], [1, 3, 2, 0])

    def test_opening(self):
        file = rankfeed.Tokenizer.from_file
        for call, message in (
                (lambda: file(None), "path is None; it must be a path, a str or os.PathLike"),
                (lambda: file(MODEL, preset=3), "preset is 3; it must be a str"),
                (lambda: rankfeed.Tokenizer.from_pretrained(3), "folder is 3; it must be a path, a str or os.PathLike"),
                (lambda: self.tok.token_to_id(3), "token is 3; it must be a str or bytes"),
                (lambda: self.tok.encode_stream(None), "pieces is None; it must be an iterable of texts"),
                (lambda: self.tok.row_template(3), "template is 3; it must be the name of a preset, a path or a dict"),
                (lambda: rankfeed.Corpus(MODEL, "xlmr"), "tokenizer is 'xlmr'; it must be a rankfeed.Tokenizer"),
                (lambda: rankfeed.Corpus(MODEL, trusted="no"), "trusted is 'no'; it must be True or False"),
                (lambda: rankfeed.CorpusWriter(MODEL, None), "tokenizer is None; it must be a rankfeed.Tokenizer")):
            self.refuses(TypeError, message, call)
        self.refuses(FileNotFoundError, "org/model is no folder; from_pretrained reads a model's folder and downloads nothing",
                     rankfeed.Tokenizer.from_pretrained, "org/model")
        self.refuses(IsADirectoryError, f"{os.path.dirname(MODEL)} is a folder; from_pretrained opens a model's folder", file,
                     os.path.dirname(MODEL))
        with tempfile.TemporaryDirectory() as folder:
            pipe = os.path.join(folder, "pipe.json")
            os.mkfifo(pipe)
            self.refuses(ValueError, f"template is '{pipe}', which is no file", self.tok.row_template, pipe)
        self.refuses(ValueError, "name is 'qwen'; it must be one of " + ", ".join(rankfeed.template_names()), rankfeed.template_preset, "qwen")
        for kwargs, message in ((dict(slots=0), "slots is 0; it must be from 1 to 4096"),
                                (dict(slot_bytes=-1), f"slot_bytes is -1; it must be from 1 to {2**63 - 1}"),
                                (dict(device=-1), f"device is -1; it must be from 0 to {2**31 - 1}")):
            self.refuses(ValueError, message, rankfeed.Ring.open, **kwargs)

    def test_texts_and_pairs(self):
        tok = self.tok
        text = "it must be a str or bytes"
        for call, args, message in (
                (tok.encode, (3,), f"sequence is 3; {text}"),
                (tok.encode, (["a"],), f"sequence is ['a']; {text}"),
                (tok.encode, ("a", 3), f"pair is 3; {text}"),
                (tok.encode_batch, ("ab",), "input is 'ab', one text; it must be a sequence of texts, such as [input]"),
                (tok.encode_batch, (["a", 3],), f"input[1] is an int; {text}"),
                (tok.encode_batch, ([("a", "b"), "cd"],), "input[1] is 'cd' among pairs; it must be a pair of texts too"),
                (tok, (None,), "text is None; it must be a sequence of texts"),
                (tok, (5,), "text is an int; it must be a sequence of texts"),
                (tok, (["a", None],), f"text[1] is None; {text}"),
                (tok, ("a", ["b"]), f"text_pair is ['b']; {text}"),
                (tok, (["a"], "b"), "text_pair is 'b', one text; with several texts it must be as many"),
                (tok, ([("a", "b"), "cd"],), "text[1] is 'cd' among pairs; it must be a pair of texts too"),
                (tok, (["a"], [3]), f"text_pair[0] is an int; {text}")):
            self.refuses(TypeError, message, call, *args)
        for call, args, message in (
                (tok.encode_batch, ([("a", "b", "c")],), "input[0] has 3 items; it must be a pair of texts"),
                (tok, (["a"], ["b", "c"]), "text has 1 texts and text_pair 2; they must have as many")):
            self.refuses(ValueError, message, call, *args)

    def test_callable(self):
        least = "it must be at least 4, the special tokens of a pair, or None for no limit"
        for value in (-1, 0, 3):
            self.refuses(ValueError, f"max_length is {value}; {least}", self.tok, ["a"], ["b"], truncation=True,
                         max_length=value)
        self.refuses(ValueError, "max_length is -1; it must be at least 0, or None for no limit", self.tok, ["a"],
                     padding=True, max_length=-1)
        self.refuses(ValueError, "is_split_into_words is True; it must be False: texts are tokenized whole", self.tok,
                     [["a"]], is_split_into_words=True)
        self.refuses(ValueError, "padding_side is 'model'; it must be one of right, left", self.tok, ["a"],
                     padding_side="model")
        short = rankfeed.Tokenizer.from_file(hf_file("roberta"), model_max_length=3)
        self.refuses(ValueError, "model_max_length is 3; it must be at least 4, the special tokens of a pair", short,
                     ["a"], ["b"], truncation=True)

    def test_truncation_without_limit_warns(self):
        for call in (lambda: self.tok(["a"], truncation=True), lambda: self.tok.encode_pairs("q", ["a"], truncation=True)):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                call()
            self.assertEqual([str(w.message) for w in caught],
                             ["truncation cuts nothing: neither max_length nor model_max_length is set"])
            self.assertEqual(caught[0].filename, __file__)
        limited = rankfeed.Tokenizer.from_file(hf_file("roberta"), model_max_length=9)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.tok.encode_pairs("q", ["a"])
            self.tok(["a"], truncation=False)
            self.assertEqual(limited.encode_pairs("q", ["a " * 50])["input_ids"].shape, (1, 9))
            self.assertGreater(limited.encode_pairs("q", ["a " * 50], truncation=False)["input_ids"].shape[1], 50)
            self.assertEqual(len(limited(["a " * 50], truncation=True)["input_ids"][0]), 9)

    def test_arguments_that_were_right_before(self):
        """Options are resolved once for calls that ask for the same: what is equal is not the same."""
        pairs = self.tok.encode_pairs
        for stride in (1, np.int64(1)):
            pairs("q", DOCS, stride=stride, truncation="only_second", max_length=9)
            self.refuses(TypeError, "stride is True; it must be an int", pairs, "q", DOCS, stride=True,
                         truncation="only_second", max_length=9)
        first = pairs("q", DOCS, tensors=["attention_mask"])
        self.assertEqual(list(pairs("q", DOCS, tensors=("attention_mask",))), list(first))
        self.refuses(TypeError, "max_length is [9]; it must be an int", pairs, "q", DOCS, max_length=[9])
        # Of two tokenizers, each by its own attributes, also when those change.
        tok = rankfeed.Tokenizer.from_file(hf_file("roberta"), model_max_length=12, truncation_side="left")
        for side, limit in (("left", 12), ("right", 12), ("right", 9), ("left", 9)):
            tok.truncation_side, tok.model_max_length = side, limit
            here = self.tok.encode_pairs("q", DOCS, max_length=limit, truncation_side=side)["input_ids"]
            np.testing.assert_array_equal(tok.encode_pairs("q", DOCS)["input_ids"], here)

    def test_corpus(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.rfc")
            with rankfeed.CorpusWriter(path, self.tok) as writer:
                self.refuses(TypeError, "documents is one str; it must be a sequence of documents, such as [documents]",
                             writer.put_all, ["a"], "b")
                self.refuses(ValueError, "ids has 2 items and documents 1; they must have as many", writer.put_all,
                             ["a", "b"], ["c"])
                last = self.tok.vocab_size - 1
                self.refuses(ValueError, f"documents[0][0] is -4; ids of this vocabulary are 0 to {last}", writer.put, "a",
                             np.array([-4]))
                writer.put("a", np.array([7, 8], np.int64))
            self.assertEqual(rankfeed.Corpus(path)["a"].tolist(), [7, 8])


class InvalidText(unittest.TestCase):
    """A str with lone surrogates, and bytes that are not UTF-8, under each policy."""

    def test_policies(self):
        lone, bad = "pa\ud800nda", b"pa\xffnda"
        for name in ("reference", "error", "replace"):
            tok = rankfeed.Tokenizer.from_file(hf_file("roberta"), invalid_text=name)
            replaced = tok.encode("pa\ufffdnda").ids
            for again in (tok, pickle.loads(pickle.dumps(tok))):
                if name == "replace":
                    self.assertEqual(again.encode(lone).ids, replaced)
                    self.assertEqual(again.encode("pa\ud83d\udc3cnda\udc00").ids, again.encode("pa\U0001f43cnda\ufffd").ids)
                    self.assertEqual(again.encode_pairs("q", [lone])["input_ids"].tolist(),
                                     again.encode_pairs("q", ["pa\ufffdnda"])["input_ids"].tolist())
                else:
                    with self.assertRaises(UnicodeEncodeError) as caught:
                        again.encode_pairs("q", ["fine", lone])
                    self.assertIn("position 2: docs[1]: surrogates not allowed", str(caught.exception))
                if name == "error":
                    with self.assertRaises(UnicodeDecodeError) as caught:
                        again([b"fine", bad])
                    self.assertIn("position 2: text[1]: invalid start byte", str(caught.exception))
                else:
                    self.assertEqual(again.encode(bad).ids, replaced)


class Columns(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tok = rankfeed.Tokenizer.from_file(hf_file("roberta"))
        cls.expected = cls.tok.encode_pairs("q", DOCS)["input_ids"].tolist()

    def same(self, docs, expected=None):
        self.assertEqual(self.tok.encode_pairs("q", docs)["input_ids"].tolist(), expected or self.expected)
        if expected is None:
            self.assertEqual([e.ids for e in self.tok.encode_batch(docs)], [e.ids for e in self.tok.encode_batch(DOCS)])
            self.assertEqual(self.tok(["q"] * 4, docs)["input_ids"], self.tok(["q"] * 4, DOCS)["input_ids"])

    def test_iterables(self):
        self.same(tuple(DOCS))
        self.same(np.array(DOCS, dtype=object))
        self.same(np.array(DOCS))
        self.assertEqual(self.tok.encode_pairs("q", (d for d in DOCS))["input_ids"].tolist(), self.expected)

    def test_numpy_ids(self):
        ids = [self.tok.encode(d, add_special_tokens=False).ids for d in DOCS]
        for dtype in (np.int32, np.int64):
            self.same([np.array(i, dtype) for i in ids], self.expected)
        read_only = np.array(ids[0], np.int32)
        read_only.flags.writeable = False
        self.same([read_only, *DOCS[1:]], self.expected)
        square = np.array([[5, 6], [7, 8]], np.int64)
        self.assertEqual(self.tok.encode_pairs("q", square, add_special_tokens=False)["input_ids"][:, -2:].tolist(),
                         square.tolist())

    @needs(pyarrow, "pyarrow")
    def test_pyarrow(self):
        types = [pyarrow.string(), pyarrow.large_string(), pyarrow.string_view(), pyarrow.binary(), pyarrow.large_binary(),
                 pyarrow.binary_view()]
        for kind in types:
            values = [d.encode() for d in DOCS] if "binary" in str(kind) else DOCS
            column = pyarrow.array(values, kind)
            self.same(column)
            self.same(pyarrow.array(["x", *values, "y"], kind)[1:5])
            self.same(pyarrow.chunked_array([column[:1], column[1:1], column[1:]]))
            with self.assertRaises(TypeError) as caught:
                self.tok.encode_pairs("q", pyarrow.array(["x", None], kind))
            self.assertEqual(str(caught.exception), "docs[1] is null; it must be a text")
        self.same([pyarrow.scalar(d) for d in DOCS])
        for scalar in (pyarrow.scalar("abc"), pyarrow.scalar(b"abc", pyarrow.large_binary())):  # which can be iterated over
            with self.assertRaisesRegex(TypeError, "docs is one pyarrow.lib.[A-Za-z]+Scalar; it must be a sequence of documents"):
                self.tok.encode_pairs("q", scalar)
            with self.assertRaisesRegex(TypeError, "input is <.*>, one text; it must be a sequence of texts"):
                self.tok.encode_batch(scalar)
        null = pyarrow.scalar(None, pyarrow.string())
        for name, call in (("docs[0]", lambda: self.tok.encode_pairs("q", [null])), ("query", lambda: self.tok.encode_pairs(null, ["a"])),
                           ("sequence", lambda: self.tok.encode(null)), ("input[1]", lambda: self.tok.encode_batch(["a", null]))):
            with self.assertRaises(TypeError) as caught:
                call()
            self.assertEqual(str(caught.exception), f"{name} is null; it must be a text")
        self.same(pyarrow.array(DOCS).dictionary_encode())
        self.assertEqual(self.tok.encode(pyarrow.scalar("a b")).ids, self.tok.encode("a b").ids)
        self.assertEqual(self.tok.encode_pairs(pyarrow.scalar("q"), DOCS)["input_ids"].tolist(), self.expected)
        for column, words in ((pyarrow.table({"a": DOCS}), "a table"), (pyarrow.array([1, 2]), "a column of Arrow's format 'l'")):
            with self.assertRaises(TypeError) as caught:
                self.tok.encode_pairs("q", column)
            self.assertEqual(str(caught.exception), f"docs is {words}; it must be one column of string, large_string, "
                                                    "string_view, binary, large_binary or binary_view")
        empty = pyarrow.array([], pyarrow.string())
        self.assertEqual(self.tok.encode_batch(empty), [])

    @needs(pyarrow, "pyarrow")
    def test_pyarrow_is_read_in_place(self):
        """Arrow's own count of bytes does not move while a column is read, and falls when it is gone."""
        column = pyarrow.array(["word " * 1000] * 200)
        before = pyarrow.total_allocated_bytes()
        request = self.tok.request("q", column, max_rows_per_batch=1)
        self.assertEqual(pyarrow.total_allocated_bytes(), before)
        self.assertIsNotNone(request.next())
        del column
        self.assertLess(pyarrow.total_allocated_bytes(), before - 900_000)  # the request holds ids, not the texts

    @needs(pandas, "pandas")
    def test_pandas(self):
        self.same(pandas.Series(DOCS))
        self.same(pandas.Series(DOCS, dtype=object))
        self.same(pandas.Series(["x", *DOCS])[1:])
        self.same(pandas.Series(DOCS, index=[9, 8, 7, 6]))
        self.same(pandas.Series(DOCS, dtype="category"))
        if pyarrow is not None:
            self.same(pandas.Series(DOCS, dtype=pandas.ArrowDtype(pyarrow.string())))
        with self.assertRaises(TypeError) as caught:
            self.tok.encode_pairs("q", pandas.Series(["a", None], dtype=object))
        self.assertTrue(str(caught.exception).startswith("docs[1] is None; it must be"))
        ids = [np.array(self.tok.encode(d, add_special_tokens=False).ids, np.int64) for d in DOCS]
        self.same(pandas.Series(ids, dtype=object), self.expected)


class OptionalPackages(unittest.TestCase):
    """Packages that need not be installed: absent or too old one by one, in interpreters of their own."""

    def run_without(self, name, program, version=None):
        blocked = f"sys.modules[{name!r}] = None"
        if version is not None:
            blocked = f"import {name}; {name}.__version__ = {version!r}"
        source = f"""
import sys
{blocked}
import numpy as np, rankfeed
tok = rankfeed.Tokenizer.from_file(sys.argv[1])
wanted = tok.encode_pairs("q", ["a", "b c"])["input_ids"]
def same(docs): assert (tok.encode_pairs("q", docs)["input_ids"] == wanted).all()
{program}
"""
        done = subprocess.run([sys.executable, "-c", source, MODEL], capture_output=True, text=True, timeout=100)
        self.assertEqual((done.returncode, done.stderr), (0, ""), name)

    def test_each_absent(self):
        for name in ("pandas", "pyarrow", "polars", "torch", "transformers", "tokenizers", "datasets", "ray",
                     "typing_extensions", "safetensors", "huggingface_hub"):
            self.run_without(name, """
same(["a", "b c"])
same(np.array(["a", "b c"], dtype=object))
assert tok(["a", "b"], padding=True, return_tensors="np")["input_ids"].shape[0] == 2
try:
    tok.encode_pairs("q", ["a"], return_tensors="pt")
except ImportError as error:
    assert "torch" in str(error)
""")

    @needs(pandas, "pandas")
    def test_pandas_without_pyarrow_and_with_an_old_one(self):
        program = """
import pandas
for dtype in (None, "str", "string", object, "category"):
    same(pandas.Series(["a", "b c"], dtype=dtype))
same(pandas.Index(["a", "b c"]))
assert tok.encode_batch(pandas.Series(["a", "b c"]))[1].ids == tok.encode("b c").ids
for table in (pandas.DataFrame({"a": ["a", "b c"]}), pandas.DataFrame({"a": ["x"], "b": ["y"]})):
    try:
        tok.encode_pairs("q", table)
        raise SystemExit("a table was taken")
    except TypeError as error:
        assert str(error).startswith("docs is a table; it must be "), error
"""
        self.run_without("pyarrow", program)
        if pyarrow is not None:
            self.run_without("pyarrow", program, version="1.0.0")


class Pickling(unittest.TestCase):
    def test_encodings(self):
        tok = rankfeed.Tokenizer.from_file(hf_file("bert"))
        for mine in (tok.encode("What is a panda?"), *tok.encode_batch([("a b", "c"), ("", "d")])):
            again = pickle.loads(pickle.dumps(mine))
            for name in ("ids", "type_ids", "attention_mask", "special_tokens_mask", "offsets", "sequence_ids", "tokens",
                         "n_sequences", "overflowing"):
                self.assertEqual(getattr(again, name), getattr(mine, name), name)
            self.assertEqual((len(again), repr(again)), (len(mine), repr(mine)))
            self.assertEqual(pickle.loads(pickle.dumps(again)).ids, mine.ids)

    def test_batches(self):
        tok = rankfeed.Tokenizer.from_file(hf_file("roberta"))
        for kind in ("np", "dlpack"):
            batch = tok.encode_pairs("q", DOCS, max_length=12, return_tensors=kind)
            again = pickle.loads(pickle.dumps(batch))
            self.assertEqual({k: np.asarray(v).tolist() for k, v in again.items()},
                             {k: np.asarray(v).tolist() for k, v in batch.items()})
            for name in ("documents", "row_map", "max_seqlen", "statuses"):
                self.assertEqual(getattr(again, name), getattr(batch, name), name)
            with self.assertRaisesRegex(ValueError, "put its scores where its request is"):
                again.batch
        tensor = pickle.loads(pickle.dumps(batch["input_ids"]))
        self.assertIsInstance(tensor, rankfeed.Tensor)
        self.assertEqual((tensor.dtype, tensor.shape), (batch["input_ids"].dtype, batch["input_ids"].shape))
        called = tok(["a", "b c"], padding=True, return_tensors="dlpack")
        self.assertEqual(pickle.loads(pickle.dumps(called)).input_ids.numpy().tolist(), called.input_ids.numpy().tolist())

    def test_batches_of_a_request(self):
        tok = rankfeed.Tokenizer.from_file(hf_file("roberta"))
        batch = tok.request("q", DOCS, padding=False).next()
        again = pickle.loads(pickle.dumps(batch))
        for name in ("rows", "tokens", "max_seqlen", "row_length", "row_map"):
            self.assertEqual(getattr(again, name), getattr(batch, name), name)
        self.assertEqual(len(again), len(batch))
        self.assertEqual({k: v.numpy().tolist() for k, v in again.tensors.items()},
                         {k: v.numpy().tolist() for k, v in batch.tensors.items()})


if __name__ == "__main__":
    unittest.main(verbosity=1)
