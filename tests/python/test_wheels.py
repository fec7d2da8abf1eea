# SPDX-License-Identifier: MIT
"""The package against the HuggingFace wheels, call for call: tokenizers for encode, encode_batch and
decode, transformers for the callable."""

import glob
import inspect
import itertools
import json
import os
import pickle
import random
import tempfile
import unittest
import warnings

import numpy as np
import rankfeed

from support import SHARED, SWEEP, hf_file, needs, sampled

try:
    import tokenizers
except ImportError:
    tokenizers = None
try:
    import transformers
    import rankfeed.hf
    transformers.logging.set_verbosity_error()
except ImportError:
    transformers = None


def texts(count, seed=1):
    """Real texts where they are, and generated ones: scripts, spaces, special tokens, marks."""
    rng = random.Random(seed)
    pool = ["", " ", "What is a panda?", "</s>", "a <mask> b", "e\u0301\u0302", "\uff76\uff9e", "x\r\n\ty",
            "\u4eca\u65e5\u306f", "\U0001f469\u200d\U0001f467", "\u00df\ufb01", "1" * 300, "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35"]
    for path in sorted(glob.glob(os.path.join(SHARED, "xquad", "*.jsonl"))):
        with open(path, encoding="utf-8") as file:
            for line in itertools.islice(file, 40):
                row = json.loads(line)
                pool += [value for value in row.values() if isinstance(value, str)]
    out = []
    for _ in range(count):
        kind = rng.random()
        if kind < 0.6:
            out.append(rng.choice(pool))
        elif kind < 0.9:
            out.append(" ".join(rng.choice(pool)[:40] for _ in range(rng.randrange(1, 5))))
        else:
            out.append("".join(chr(rng.choice([0x20, 0x301, 0x41, 0x3b1, 0x4e00, 0xac00, 0x1f600]) + rng.randrange(40))
                               for _ in range(rng.randrange(1, 30))))
    return [t for t in out if not any(0xd800 <= ord(c) < 0xe000 for c in t)]


class Files:
    """The tokenizer.json files that are compared: XLM-R's when it is there, and one made of the default
    vocabulary with each kind of template."""

    @staticmethod
    def all(large=True):
        """large: XLM-R's too, which takes seconds to load; in the long suite every test has it."""
        out = [hf_file("roberta"), hf_file("bert"), hf_file("t5")]
        xlmr = os.path.join(SHARED, "xlmr.tokenizer.json")
        return out + ([xlmr] if (large or SWEEP) and os.path.exists(xlmr) else [])


class Encodings(unittest.TestCase):
    def same(self, mine, theirs, what):
        self.assertEqual(mine.ids, theirs.ids, what)
        self.assertEqual(mine.type_ids, theirs.type_ids, what)
        self.assertEqual(mine.offsets, theirs.offsets, what)
        self.assertEqual(mine.attention_mask, theirs.attention_mask, what)
        self.assertEqual(mine.special_tokens_mask, theirs.special_tokens_mask, what)
        self.assertEqual(len(mine), len(theirs), what)


@needs(tokenizers, "tokenizers")
class AgainstTokenizers(Encodings):
    def test_encode(self):
        for path in Files.all():
            mine, theirs = rankfeed.Tokenizer.from_file(path), tokenizers.Tokenizer.from_file(path)
            theirs.no_truncation()
            theirs.no_padding()
            sample = texts(300 if SWEEP else 100)
            for special in (True, False):
                for text in sample[:100 if SWEEP else 40]:
                    self.same(mine.encode(text, add_special_tokens=special),
                              theirs.encode(text, add_special_tokens=special), (path, text))
                for a, b in zip(sample, sample[1:100 if SWEEP else 40]):
                    self.same(mine.encode(a, b, special), theirs.encode(a, b, add_special_tokens=special),
                              (path, a, b))
                for x, y in zip(mine.encode_batch(sample, special),
                                theirs.encode_batch(sample, add_special_tokens=special)):
                    self.same(x, y, path)
            pairs = list(zip(sample, reversed(sample)))
            for x, y in zip(mine.encode_batch(pairs), theirs.encode_batch(pairs)):
                self.same(x, y, path)
                self.assertEqual([i for i, s in zip(x.sequence_ids, x.special_tokens_mask) if not s],
                                 [i for i, s in zip(y.sequence_ids, y.special_tokens_mask) if not s])

    def test_decode_and_pieces(self):
        for path in Files.all(large=False):
            mine, theirs = rankfeed.Tokenizer.from_file(path), tokenizers.Tokenizer.from_file(path)
            rng = random.Random(3)
            lists = [theirs.encode(t).ids for t in texts(60)]
            lists += [[rng.randrange(theirs.get_vocab_size() + 5) for _ in range(rng.randrange(20))]
                      for _ in range(100)]
            for skip in (True, False):
                for ids in lists:
                    self.assertEqual(mine.decode(ids, skip), theirs.decode(ids, skip_special_tokens=skip), ids)
            self.assertEqual(mine.decode_batch(lists), theirs.decode_batch(lists))
            self.assertEqual(mine.get_vocab_size(), theirs.get_vocab_size())
            for i in list(range(20)) + [theirs.get_vocab_size() - 1, theirs.get_vocab_size()]:
                self.assertEqual(mine.id_to_token(i), theirs.id_to_token(i))
            # The wheel's Encoding.tokens shows the text of unknown and stripped added tokens; here they
            # are the vocabulary's, as in transformers' convert_ids_to_tokens.
            for text in texts(60):
                encoding = mine.encode(text)
                self.assertEqual(encoding.tokens, [theirs.id_to_token(i) for i in encoding.ids])
            for token in ("<s>", "\u2581the", "no such piece"):
                self.assertEqual(mine.token_to_id(token), theirs.token_to_id(token))

    def test_pairs(self):
        """encode_pairs against the wheel's truncation and padding."""
        for path in Files.all(large=False):
            mine, theirs = rankfeed.Tokenizer.from_file(path), tokenizers.Tokenizer.from_file(path)
            docs = texts(60, seed=5)
            pad = mine.info["pad_id"]
            for query, max_length, cut in itertools.product(("What is a panda?", "q"), (12, 13, 64),
                                                            ("longest_first", "only_second")):
                if cut == "longest_first" and (max_length - mine.num_special_tokens_to_add(True)) % 2:
                    max_length += 1  # see test_callable
                theirs.enable_truncation(max_length, strategy=cut)
                theirs.enable_padding(pad_id=pad, pad_type_id=mine.info["pad_type_id"], pad_token=mine.id_to_token(pad))
                try:
                    rows = theirs.encode_batch([(query, d) for d in docs])
                except Exception:  # a document too short to cut: the whole batch fails there
                    rows = None
                batch = mine.encode_pairs(query, docs, max_length=max_length, truncation=cut,
                                          tensors=["attention_mask", "token_type_ids"], padding_side="right")
                if rows is None:
                    self.assertIn("RANKFEED_E_TRUNCATION", batch.statuses)
                    continue
                self.assertEqual(set(batch.statuses), {"RANKFEED_OK"})
                self.assertEqual(batch["input_ids"].tolist(), [r.ids for r in rows], (path, query, max_length, cut))
                self.assertEqual(batch["attention_mask"].tolist(), [r.attention_mask for r in rows])
                self.assertEqual(batch["token_type_ids"].tolist(), [r.type_ids for r in rows])


def drawn_template(rng):
    """A template, most of both texts in either order, with any special tokens and types; and whether each text is there once."""
    def texts(names):
        return [{"Sequence": {"id": name, "type_id": rng.choice((0, 1, 2, 7, 2**31 - 1))}} for name in names]

    def around(parts):
        for _ in range(rng.choice((0, 1, 2, 3, 5))):
            parts.insert(rng.randrange(len(parts) + 1), {"SpecialToken": {"id": rng.choice("XYZ"), "type_id": rng.choice((0, 0, 1, 5, 2**31 - 1))}})
        return parts

    single = "A" if rng.random() < 0.9 else rng.choice(("", "B", "AA", "AB"))
    pair = rng.choice(("AB", "BA")) if rng.random() < 0.8 else rng.choice(("", "A", "B", "AAB", "ABA", "BB", "BAB"))
    ids = {"X": [0], "Y": [1, 1, 3], "Z": rng.choice(([], [2, 0]))}
    return {"type": "TemplateProcessing", "single": around(texts(single)), "pair": around(texts(pair)),
            "special_tokens": {name: {"id": name, "ids": i, "tokens": list(map(str, i))} for name, i in ids.items()}}, \
        single == "A" and sorted(pair) == ["A", "B"]


def template_document(template):
    """A small Unigram tokenizer.json with that post-processor."""
    vocab = ["<s>", "</s>", "<unk>", "<pad>", "\u2581", "a", "b", "ab", "\u2581a", "\u00e9"]
    return json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
        "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True},
        "post_processor": template, "decoder": None,
        "model": {"type": "Unigram", "unk_id": 2, "vocab": [[piece, -float(len(piece))] for piece in vocab], "byte_fallback": False}})


@needs(transformers, "transformers")
class DrawnTemplates(Encodings):
    """TemplateProcessing of any order: equal at every door, or refused when the file is read."""

    TEXTS = ["", "a", "ab \u00e9 b", "b" * 7, "a a a a a x"]

    def test_every_door(self):
        rng = random.Random(58)
        refused = 0
        with tempfile.TemporaryDirectory() as folder:
            for number in range(300 if SWEEP else 40):
                template, whole = drawn_template(rng)
                path = os.path.join(folder, f"{number}.json")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(template_document(template))
                theirs = tokenizers.Tokenizer.from_file(path)
                if not whole:
                    refused += 1
                    with self.assertRaisesRegex(ValueError, r"post_processor\.(single|pair) must use A once and B"):
                        rankfeed.Tokenizer.from_file(path)
                    continue
                with self.subTest(template=template):
                    self.encode(rankfeed.Tokenizer.from_file(path), theirs)
                    self.call(path, theirs, rng)
        self.assertGreater(refused, 3)

    def same(self, mine, theirs, what):
        super().same(mine, theirs, what)
        self.assertEqual((mine.sequence_ids, mine.n_sequences), (theirs.sequence_ids, theirs.n_sequences), what)
        again = pickle.loads(pickle.dumps(mine))
        self.assertEqual((again.ids, again.n_sequences), (theirs.ids, theirs.n_sequences), what)

    def encode(self, mine, theirs):
        for special, a in itertools.product((True, False), self.TEXTS):
            self.same(mine.encode(a, add_special_tokens=special), theirs.encode(a, add_special_tokens=special), a)
            for b in self.TEXTS:
                self.same(mine.encode(a, b, special), theirs.encode(a, b, add_special_tokens=special), (a, b))
            pairs = [(a, b) for b in self.TEXTS]
            for x, y in zip(mine.encode_batch(pairs, special), theirs.encode_batch(pairs, add_special_tokens=special)):
                self.same(x, y, pairs)
        docs, specials = self.TEXTS, mine.num_special_tokens_to_add(True)
        for limit in (specials + 2, specials + 6):
            theirs.enable_truncation(limit, strategy="longest_first")
            rows = [theirs.encode("ab b a", d) for d in docs]
            batch = mine.encode_pairs("ab b a", docs, max_length=limit, padding=False, tensors=["token_type_ids"])
            self.assertEqual(batch["input_ids"].tolist(), [i for row in rows for i in row.ids])
            self.assertEqual(batch["token_type_ids"].tolist(), [i for row in rows for i in row.type_ids])
        theirs.no_truncation()

    def call(self, path, theirs, rng):
        plain = transformers.PreTrainedTokenizerFast(tokenizer_object=theirs, pad_token="<pad>")
        mine = rankfeed.Tokenizer.from_transformers(plain)
        wrapped = rankfeed.hf.wrap(plain)
        docs = self.TEXTS
        specials = mine.num_special_tokens_to_add(True)
        for _ in range(6):
            options = dict(padding=rng.random() < 0.5, return_token_type_ids=True, return_special_tokens_mask=True,
                           return_offsets_mapping=True, add_special_tokens=rng.random() < 0.7)
            if rng.random() < 0.6:
                options.update(truncation=True, max_length=specials + 2 * rng.randrange(1, 5))
            queries = [rng.choice(docs) for _ in docs]
            expected = plain(queries, docs, **options)
            for tokenizer in (mine, wrapped):
                self.assertEqual(dict(tokenizer(queries, docs, **options)), dict(expected), options)
        self.windows(path, mine, wrapped, plain)
        self.assertEqual(wrapped.rankfeed_fallbacks, {})

    def windows(self, path, mine, wrapped, plain):
        """Tokens that overflow have types of their own; an image does not tell which."""
        from_file = rankfeed.Tokenizer.from_file(path)
        from_file.save_image(path + ".rfimg")
        image = rankfeed.Tokenizer.from_file(path + ".rfimg")
        docs = ["ab \u00e9 b a b", "b" * 7, "a"]
        for arguments, cut in (((docs,), True), ((["a"] * 3, docs), "only_second")):
            options = dict(truncation=cut, max_length=5 + max(map(plain.num_special_tokens_to_add, (False, True))), stride=2,
                           return_overflowing_tokens=True, return_token_type_ids=True)
            expected = dict(plain(*arguments, **options))
            for tokenizer in (mine, wrapped, from_file):
                self.assertEqual(dict(tokenizer(*arguments, **options)), expected, options)
            try:
                self.assertEqual(dict(image(*arguments, **options)), expected, options)
            except ValueError as error:
                self.assertIn("return_token_type_ids is asked for windows", str(error))


@needs(transformers, "transformers")
class AgainstTransformers(unittest.TestCase):
    def tokenizers_of(self, path):
        mine = rankfeed.Tokenizer.from_file(path, model_max_length=512)
        pad = mine.id_to_token(mine.pad_token_id)
        theirs = transformers.PreTrainedTokenizerFast(tokenizer_file=path, pad_token=pad, model_max_length=512)
        self.assertEqual(theirs.pad_token_id, mine.pad_token_id)
        return mine, theirs

    def same(self, mine, theirs, what):
        self.assertEqual(list(mine.keys()), list(theirs.keys()), what)
        for key, value in theirs.items():
            if isinstance(value, np.ndarray):
                self.assertIsInstance(mine[key], np.ndarray, (key, what))
                self.assertEqual(mine[key].dtype, value.dtype, (key, what))
                self.assertEqual([np.asarray(row).tolist() for row in mine[key]],
                                 [np.asarray(row).tolist() for row in value], (key, what))
            else:
                self.assertEqual(mine[key], value, (key, what))

    def both(self, mine, theirs, *args, **kwargs):
        what = (args if len(str(args)) < 300 else "...", kwargs)
        try:
            expected = theirs(*args, **kwargs)
        except Exception as error:  # tokenizers raises BaseException-free errors of several types
            with self.assertRaises(ValueError, msg=f"{what}: the wheel raised {error!r}"):
                mine(*args, **kwargs)
            return
        self.same(mine(*args, **kwargs), expected, what)

    def test_callable(self):
        for path in Files.all():
            mine, theirs = self.tokenizers_of(path)
            sample = texts(40, seed=7)
            queries, docs = sample[:12], sample[12:24]
            mine.model_max_length = theirs.model_max_length = 512
            # 7 has no factor in common with the number of values of any option: each value meets each other of two options.
            for padding, truncation, max_length, kind in sampled(itertools.product(
                    (True, False, "max_length", "longest"),
                    (True, False, None, "longest_first", "only_second", "only_first"), (None, 8, 9, 40, 128), ("np", None)), 7):
                arguments = dict(padding=padding, truncation=truncation, max_length=max_length, return_tensors=kind)
                self.both(mine, theirs, queries, docs, **arguments)
                if truncation != "only_second":
                    self.both(mine, theirs, docs, **arguments)

    def test_single_and_extras(self):
        for path in Files.all(large=False):
            mine, theirs = self.tokenizers_of(path)
            self.both(mine, theirs, "What is a panda?")
            self.both(mine, theirs, "What is a panda?", "A bear.")
            self.both(mine, theirs, ["a", "b b b"], ["c", "d d"], padding=True, return_tensors="np")
            self.both(mine, theirs, [("a", "b"), ("c c", "d")], padding=True, return_tensors="np")
            for kwargs in (dict(return_offsets_mapping=True), dict(return_special_tokens_mask=True),
                           dict(return_length=True), dict(return_token_type_ids=False),
                           dict(return_attention_mask=False), dict(pad_to_multiple_of=8),
                           dict(padding_side="left"), dict(add_special_tokens=False),
                           dict(max_length=16, pad_to_multiple_of=8, truncation=True)):
                for kind in ("np", None):
                    self.both(mine, theirs, ["What is a panda?", "x"], ["It is a bear.", "y z"], padding=True,
                              return_tensors=kind, **kwargs)
                self.both(mine, theirs, ["What is a panda?", "x"], padding="longest", **kwargs)

    EMPTY = (None, "", [], (), np.array([]), np.array([], dtype=str), {}, 0, False)

    def as_transformers(self, mine, theirs, name, arguments, options):
        """An error there is one here; an answer there is the same here, or an error that names the argument."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                expected = theirs(*arguments, **options)
            except Exception as error:
                with self.assertRaises((TypeError, ValueError), msg=f"{arguments} {options}: {error!r}"):
                    mine(*arguments, **options)
                return
            try:
                got = mine(*arguments, **options)
            except (TypeError, ValueError) as error:
                self.assertRegex(str(error), f"^{name} is ", (arguments, options))
                return
        self.same(got, expected, (arguments, options))

    def test_empty_arguments(self):
        _, theirs = self.tokenizers_of(hf_file("bert"))
        mine = rankfeed.Tokenizer.from_transformers(theirs)
        self.assertEqual(mine("a", "").data, mine("a").data)  # an empty second text is none
        self.assertEqual(len(mine("a", [])["input_ids"]), 3)
        self.assertEqual(len(mine(["a"], [""])["input_ids"][0]), 4)  # but one of a list is
        texts = (*self.EMPTY, "a", ["a"], ["a", "b"], ["a", ""], [""], [("a", "")], [["a", ""]], ["a", None])
        for arguments in itertools.product(texts, repeat=2):
            self.as_transformers(mine, theirs, "(text|text_pair)", arguments, {"return_tensors": "np", "padding": True})
            self.as_transformers(mine, theirs, "(text|text_pair)", arguments, {})
        names = [name for name in inspect.signature(mine.__call__).parameters if name not in ("text", "text_pair", "verbose")]
        for name, value, base, arguments in itertools.product(
                names, self.EMPTY, ({}, {"padding": True, "truncation": True, "max_length": 8}),
                (("a b c",), (["a b c", "d"], ["e", "f g"]))):
            self.as_transformers(mine, theirs, name, arguments, {**base, name: value})

    def test_windows_of_one_text(self):
        """return_overflowing_tokens: the wheel's windows, which together are the whole text. tokenizers 0.23.1
        and 0.23.2 lose all but the first (tokenizers#2091)."""
        path, limit, stride = hf_file("roberta"), 24, 4
        mine, theirs = self.tokenizers_of(path)
        for text in texts(20, seed=9):
            whole = mine.encode(text, add_special_tokens=False).ids
            arguments = dict(truncation=True, max_length=limit, stride=stride, return_overflowing_tokens=True)
            rows = mine([text], **arguments)["input_ids"]
            self.assertEqual(rows, theirs([text], **arguments)["input_ids"])
            joined = rows[0][1:-1]
            for row in rows[1:]:
                self.assertEqual(row[1:1 + stride], joined[-stride:])
                joined = joined + row[1 + stride:-1]
            self.assertEqual(joined, whole)

    def test_refused(self):
        mine, _ = self.tokenizers_of(hf_file("roberta"))
        for kwargs in (dict(is_split_into_words=True), dict(padding="wide"), dict(truncation="middle"),
                       dict(return_tensors="tf"), dict(truncation=True, max_length=16, padding=True, pad_to_multiple_of=7)):
            with self.assertRaises(ValueError, msg=str(kwargs)):
                mine(["a", "b"], **kwargs)
        with self.assertRaises(ValueError):
            mine(["a", "b c d e"], return_tensors="dlpack")
        with self.assertRaises(ValueError):
            mine(["a"], ["b", "c"])


if __name__ == "__main__":
    unittest.main(verbosity=1)
