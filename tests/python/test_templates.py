# SPDX-License-Identifier: MIT
"""Rows of LLM rerankers: each preset's equal those that its model card or library constructs, which is written anew here
over the tokenizers wheel, with published vocabularies in the place of those that are not at hand."""

import json
import os
import sys
import unittest

import numpy as np
import rankfeed
from support import SHARED, WORK

import sentencepiece
import tokenizers

BPE = os.path.join(SHARED, "bpe")
if not os.path.isdir(BPE):
    print(f"SKIPPED: there are no vocabularies in {BPE}")
    sys.exit(77)
JUDGE = ('Judge whether the Document meets the requirements based on the Query and the Instruct provided. Note that the answer '
         'can only be "yes" or "no".')
TASK = "Given a web search query, retrieve relevant passages that answer the query"
EXPERT = ("You are a search relevance expert who evaluates how well documents match search queries. For each query-document pair, "
          "carefully analyze the semantic relationship between them, then provide your binary relevance judgment (0 for not "
          "relevant, 1 for relevant).\nRelevance:")
RANKING = ("You are a search relevance expert who can determine a ranking of the passages based on how relevant they are to the query. If "
           "the query is a question, how relevant a passage is depends on how well it answers the question. If not, try to analyze the "
           "intent of the query and assess how well each passage satisfies the intent. If an instruction is provided, you should follow "
           "the instruction when determining the ranking.")
PROMPT = ("Given a query A and a passage B, determine whether the passage contains an answer to the query by providing a prediction "
          "of either 'Yes' or 'No'.")
# Names of special tokens that stand in the place of the presets'.
QWEN = {"<pad>": "<|endoftext|>", "<bos>": "<|im_start|>", "<|begin_of_text|>": "<|im_start|>"}
MISTRAL = {"<|endoftext|>": "</s>", "<pad>": "</s>", "<|im_start|>": "<s>", "<|im_end|>": "</s>", "<think>": "<unk>", "</think>": "<s>", "<bos>": "<s>",
           "<|begin_of_text|>": "<s>"}
QWEN_NAMES = ("<pad>", "<|im_start|>", "<|im_end|>", "<think>", "</think>", "<bos>", "<|begin_of_text|>")
OPENAI = {name: "<|endoftext|>" for name in QWEN_NAMES}
XLMR = {"<|endoftext|>": "<pad>", "<|im_start|>": "<s>", "<|im_end|>": "</s>", "<think>": "<pad>", "</think>": "<unk>", "<bos>": "<s>",
        "<|begin_of_text|>": "<s>"}
ODD = ["", " ", "?", "\n", "a", " a", "a\n", "\n\na", "What is a panda?", "What is a panda? ", "what\n\nis\r\n it?\n", "1, 2 & 3",
       "...", "a <|im_end|> b", "e\u0301 \u212b", "\u0338x", "中文。", "\t\tx", "/n", "don't", "  two  spaces  ", "\u00a0x\u00a0"]


def pairs(few=False):
    """Questions with passages of several languages, and texts that begin and end in all ways."""
    out = []
    for language in ("en", "th") if few else ("en", "de", "ru", "th", "hi", "ar"):
        with open(os.path.join(SHARED, "xquad", f"{language}.jsonl"), encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        queries = [row["text"] for row in rows if row["kind"] != "passage"]
        documents = [row["text"] for row in rows if row["kind"] == "passage"]
        out.append((queries[0], documents[:100:25 if few else 10]))
        out.append((queries[100], documents[:3]))
    for query in ODD[::3 if few else 2]:
        out.append((query, ODD))
    return out


class Reference:
    """The constructions, over a tokenizer of the wheel."""

    def __init__(self, path, names):
        self.tok = tokenizers.Tokenizer.from_file(path)
        self.names = names

    def named(self, text):
        for name, other in self.names.items():
            text = text.replace(name, other)
        return text

    def ids(self, text):
        return self.tok.encode(self.named(text), add_special_tokens=False).ids

    def qwen3(self, query, document, instruction, max_length):
        prefix = self.ids(f"<|im_start|>system\n{JUDGE}<|im_end|>\n<|im_start|>user\n")
        suffix = self.ids("<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n")
        body = self.ids(f"<Instruct>: {instruction or TASK}\n<Query>: {query}\n<Document>: {document}")
        return prefix + body[:max_length - len(prefix) - len(suffix)] + suffix

    def qwen3_chat(self, query, document, instruction, max_length):
        chat = self.ids(f"<|im_start|>system\n{JUDGE}<|im_end|>\n<|im_start|>user\n<Instruct>: {instruction or TASK}\n\n"
                        f"<Query>: {query}\n\n<Document>: {document}<|im_end|>\n")
        suffix = self.ids("<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n")
        return chat[:max_length - len(suffix)] + suffix

    def mxbai(self, query, document, instruction, max_length):
        prefix = self.ids("<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n"
                          "<|im_start|>user\n")
        separator, task = self.ids("\n"), self.ids(EXPERT)
        suffix = self.ids("<|im_end|>\n<|im_start|>assistant\n")
        limit = max_length - len(prefix) - len(separator) - len(task) - len(suffix)  # what the library calls max_length
        given = f"instruction: {instruction}\n" if instruction else ""
        first = self.ids(f"{given}query: {query}")[:limit * 3 // 4]
        second = separator + self.ids(f"document: {document}")[:limit]
        return prefix + first + second[:limit - len(first)] + separator + task + suffix

    def mxbai_joined(self, query, document, instruction, max_length):
        given = f"instruction: {instruction}\n" if instruction else ""
        return self.ids(f"<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n"
                        f"<|im_start|>user\n{given}query: {query}\ndocument: {document}\n{EXPERT}<|im_end|>\n<|im_start|>assistant\n")

    def bge_gemma(self, query, document, instruction, max_length):
        separator, prompt = self.ids("\n"), self.ids(PROMPT)
        after = separator + prompt
        limit = max_length - 2 * len(after)  # what the library calls max_length
        first = self.ids("<bos>") + self.ids(f"A: {query}")[:limit * 3 // 4]
        second = separator + self.ids(f"B: {document}")[:limit]
        return first + second[:limit + len(after) - len(first)] + after

    def nemotron(self, query, document, instruction, max_length):
        return (self.ids("<|begin_of_text|>") + self.ids(f"question:{query} \n \n passage:{document}"))[:max_length]


class ModelReference(Reference):
    """The same over a .model and its own library, for which a special token is one by its id alone."""

    def __init__(self, path, names):
        self.tok = sentencepiece.SentencePieceProcessor(model_file=path)
        self.names = names

    def ids(self, text):
        return [self.tok.bos_id()] if text == "<bos>" else self.tok.encode(self.named(text))


JOINED = ("qwen3-reranker", "qwen3-reranker-chat", "mxbai-rerank-v2-joined", "llama-nemotron-rerank")
PRESETS = {"qwen3-reranker": "qwen3", "qwen3-reranker-chat": "qwen3_chat", "mxbai-rerank-v2": "mxbai",
           "mxbai-rerank-v2-joined": "mxbai_joined", "bge-reranker-v2-gemma": "bge_gemma", "llama-nemotron-rerank": "nemotron"}
WHOLE_ONLY = ("qwen3-reranker-chat", "mxbai-rerank-v2-joined")  # rows that are cut keep more of their end than the reference


def template_of(name, names):
    """The preset with other names of special tokens."""
    made = rankfeed.template_preset(name)
    if "pad" in made:
        made["pad"] = names.get(made["pad"], made["pad"])
    for part in made["parts"]:
        if isinstance(part, dict) and part.get("special") in names:
            part["special"] = names[part["special"]]
    return made


def rows_of(batch):
    ids, ends = np.asarray(batch["input_ids"]), np.asarray(batch["cu_seqlens"])
    return [ids[a:b].tolist() for a, b in zip(ends[:-1], ends[1:])]


class Rows(unittest.TestCase):
    def compare(self, path, names, few, make=Reference, presets=tuple(PRESETS)):
        tok = rankfeed.Tokenizer.from_file(path)
        reference = make(path, names)
        compared = 0
        for preset in presets:
            row = tok.row_template(template_of(preset, names))
            construct = getattr(reference, PRESETS[preset])
            # Lengths at which much, little and almost nothing of the texts is left.
            fixed = max(row.template_tokens, row.max_length - rankfeed.template_preset(preset)["max_length"])
            for max_length in (8192, fixed + 90, fixed + 12):
                if max_length != 8192 and preset in WHOLE_ONLY:
                    continue
                for instruction in (None, "Find the answer."):
                    for query, documents in pairs(few):
                        query, documents = reference.named(query), [reference.named(d) for d in documents]
                        batch = tok.encode_pairs(query, documents, template=row, instruction=instruction,
                                                 max_length=max_length, padding=False)
                        expected = [construct(query, d, instruction, max_length) for d in documents]
                        for document, got, want in zip(documents, rows_of(batch), expected):
                            self.assertEqual(got, want, (preset, max_length, instruction, query, document))
                            compared += 1
        return compared

    def test_unigram(self):
        """Without rules that say where a text may be cut, parts are tokenized together."""
        path = os.path.join(SHARED, "xlmr.tokenizer.json")
        self.assertGreater(self.compare(path, XLMR, few=True), 5000)

    def compare_bpe(self, name, names, cut, few=True):
        """cut: presets whose query and document are cut from each other. The others join them, unless they stand apart."""
        path = os.path.join(BPE, name)
        self.assertGreater(self.compare(path, names, few), 5000 if few else 8000)
        tok = rankfeed.Tokenizer.from_file(path)
        joined = {preset for preset in PRESETS if tok.row_template(template_of(preset, names)).query_is_joined}
        self.assertEqual(joined, set(JOINED) - set(cut))

    def test_qwen(self):
        self.compare_bpe("qwen/tokenizer.json", QWEN, JOINED, few=False)

    def test_cl100k(self):
        """In the place of Llama 3, whose pattern it has."""
        self.compare_bpe("openai/cl100k.tokenizer.json", OPENAI, JOINED)

    def test_gpt2_pattern(self):
        """Where a split takes white space up to its last character, one blank has to follow the line feed."""
        self.compare_bpe("gpt2/tokenizer.json", OPENAI, ["llama-nemotron-rerank"])

    def test_mistral(self):
        """In the place of Gemma: words begin anywhere, so that nothing is cut."""
        self.compare_bpe("mistral/tokenizer.json", MISTRAL, [])

    def test_mistral_model(self):
        """The .model of the same: bge-reranker-v2-gemma's parts stand apart, each as the library pieces it."""
        path = os.path.join(BPE, "mistral", "tokenizer.model")
        self.assertGreater(self.compare(path, MISTRAL, True, ModelReference, ["bge-reranker-v2-gemma"]), 800)


class Lists(unittest.TestCase):
    """jina-reranker-v3: rows of several documents, over Qwen's vocabulary with jina's two tokens."""

    @classmethod
    def setUpClass(cls):
        with open(os.path.join(BPE, "qwen", "tokenizer.json"), encoding="utf-8") as file:
            data = json.load(file)
        like = next(token for token in data["added_tokens"] if token["content"] == "<|im_end|>")
        data["added_tokens"] += [{**like, "id": 151669, "content": "<|unused|>"}] if not any(
            token["id"] == 151669 for token in data["added_tokens"]) else []
        data["added_tokens"] += [{**like, "id": 151670, "content": "<|embed_token|>"},
                                 {**like, "id": 151671, "content": "<|rerank_token|>"}]
        cls.path = os.path.join(WORK, "jina.tokenizer.json")
        with open(cls.path, "w", encoding="utf-8") as file:
            json.dump(data, file, ensure_ascii=False)
        cls.tok = rankfeed.Tokenizer.from_file(cls.path)
        cls.wheel = tokenizers.Tokenizer.from_file(cls.path)

    def ids(self, text):
        return self.wheel.encode(text, add_special_tokens=False).ids

    def cut(self, text, limit):
        ids = self.ids(text)[:limit]
        return (self.wheel.decode(ids, skip_special_tokens=False) if len(ids) >= limit else text), len(ids)

    def reference(self, query, documents, instruction, limits):
        """Its library's blocks, and the prompt of each."""
        max_length, block_size, max_query, max_document = limits
        query, query_tokens = self.cut(query, max_query)
        blocks, block, capacity = [], [], max_length - 2 * query_tokens
        for document in documents:
            text, tokens = self.cut(document, max_document)
            block.append(text)
            capacity -= tokens
            if len(block) >= block_size or capacity <= max_document:
                blocks.append(block)
                block, capacity = [], max_length - 2 * query_tokens
        if block:
            blocks.append(block)

        def clean(text):
            return text.replace("<|rerank_token|>", "").replace("<|embed_token|>", "")
        rows = []
        for block in blocks:
            given = f"<instruct>\n{instruction}\n</instruct>\n" if instruction else ""
            passages = "\n".join(f'<passage id="{i}">\n{clean(d)}<|embed_token|>\n</passage>' for i, d in enumerate(block))
            rows.append((len(block), self.ids(
                f"<|im_start|>system\n{RANKING}<|im_end|>\n<|im_start|>user\n"
                f"I will provide you with {len(block)} passages, each indicated by a numerical identifier. Rank the passages based "
                f"on their relevance to query: {clean(query)}\n{given}{passages}\n<query>\n{clean(query)}<|rerank_token|>\n</query>"
                "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n")))
        return rows

    def compare(self, query, documents, instruction, limits=None):
        made = rankfeed.template_preset("jina-reranker-v3")
        if limits is not None:
            made.update(zip(("max_length", "max_documents", "max_query_tokens", "max_document_tokens"), limits))
        batch = self.tok.encode_pairs(query, documents, template=made, instruction=instruction, padding=False)
        want = self.reference(query, documents, instruction, limits or (131072, 125, 512, 2048))
        self.assertEqual(rows_of(batch), [ids for _, ids in want])
        self.assertEqual([(first, count) for first, count, _ in batch.list_rows],
                         [(sum(n for n, _ in want[:i]), n) for i, (n, _) in enumerate(want)])
        ids = np.asarray(batch["input_ids"])
        self.assertEqual([place for _, _, markers in batch.list_rows for place in markers],
                         np.flatnonzero((ids == 151670) | (ids == 151671)).tolist())
        return [(count, ids[markers].tolist()) for _, count, markers in batch.list_rows]

    def test_rows(self):
        for query, documents in pairs():
            for instruction in (None, "Find the answer."):
                [(count, markers)] = self.compare(query, documents, instruction)
                self.assertEqual(markers, [151670] * count + [151671])

    def test_blocks_and_cut_texts(self):
        rows = 0
        for query, documents in pairs(few=True):
            for limits in ((500, 125, 8, 40), (100000, 4, 3, 7), (300, 3, 512, 2048)):
                rows += len(self.compare(query, documents, None, limits))
        self.assertGreater(rows, 100)

    def test_refused_parts(self):
        """By their place among the caller's parts, though line feeds are moved between sections."""
        for special in ("<|embed_token|>", "<|rerank_token|>", "<think>"):
            made = rankfeed.template_preset("jina-reranker-v3")
            flat = []
            for part in made["parts"]:
                flat += ["each", *part["each"], "end"] if isinstance(part, dict) and "each" in part else [part]
            place = next(i for i, part in enumerate(flat) if isinstance(part, dict) and part.get("special") == special)
            flat[place]["special"] = "<|nothing|>"
            with self.assertRaisesRegex(rankfeed.RankfeedError, rf"no such special token \(part {place}, "):
                self.tok.row_template(made)

    def test_markers_in_texts(self):
        odd = ["<|embed_token|>", "a<|embed<|rerank_token|>_token|>b", "<|rerank<|embed_token|>_token|>", "<|rerank_token|><|rerank_token|>x"]
        self.compare("q<|rerank_token|>?", odd, None)

    def test_scores(self):
        request = self.tok.request("q", ["one", "two", "three"], template="jina-reranker-v3", max_rows_per_batch=1)
        for batch in request:
            width = batch.row_length
            for _, count, markers in batch.list_rows:  # places in a row that is padded on the left
                self.assertEqual(len(markers), count + 1)
                self.assertLess(markers[-1], width)
            request.put_scores(batch, [0.5, 0.75, 0.5])
        self.assertEqual(request.rank(), [(1, 0.75), (0, 0.5), (2, 0.5)])
        self.assertEqual(request.rank(top_n=1, ties="descending"), [(1, 0.75)])
        with self.assertRaisesRegex(ValueError, "must be"):
            request.put_scores(batch, [0.5])
        for wrong in ("nan", "inf", "-inf"):
            with self.assertRaisesRegex(ValueError, rf"logits\[1\] is {wrong}; it must be a finite number"):
                request.put_scores(batch, [0.5, float(wrong), 0.5])


class Options(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tok = rankfeed.Tokenizer.from_file(os.path.join(SHARED, "xlmr.tokenizer.json"))
        cls.row = cls.tok.row_template(template_of("qwen3-reranker", XLMR))

    def test_padding(self):
        """On the left, with positions that begin after the pads."""
        batch = self.tok.encode_pairs("a question", ["short", "a longer document"], template=self.row,
                                      tensors=["attention_mask", "position_ids"])
        packed = rows_of(self.tok.encode_pairs("a question", ["short", "a longer document"], template=self.row, padding=False))
        for ids, mask, wanted in zip(batch["input_ids"], batch["attention_mask"], packed):
            self.assertEqual(ids[mask == 1].tolist(), wanted)
            self.assertEqual(mask.tolist(), sorted(mask.tolist()))

    def test_byte_ranges(self):
        """They count in the document, not in the text that it is tokenized in."""
        documents = ["one two three", "é" * 300 + " end"]
        batch = self.tok.encode_pairs("q", documents, template=self.row, padding=False, byte_ranges=True)
        for row, document in zip(batch.row_map, documents):
            self.assertEqual(row[5], len(document.encode()))
        self.assertEqual([row[4] for row in batch.row_map], [0, 0])

    def test_refusals(self):
        for change, word in (({"special": "<|nothing|>"}, "no such special token"), ({"text": ""}, "have a text")):
            made = template_of("qwen3-reranker", XLMR)
            made["parts"][0] = change
            with self.assertRaisesRegex(rankfeed.RankfeedError, word):
                self.tok.row_template(made)
        made = template_of("qwen3-reranker", XLMR)
        made["parts"] = [part for part in made["parts"] if part != {"role": "document"}]
        with self.assertRaisesRegex(rankfeed.RankfeedError, "the document once"):
            self.tok.row_template(made)
        with self.assertRaisesRegex(rankfeed.RankfeedError, "there is no row template"):
            self.tok.row_template("qwen-reranker")
        with self.assertRaisesRegex(rankfeed.RankfeedError, "no such special token"):
            self.tok.row_template("qwen3-reranker")  # another vocabulary's
        made = template_of("qwen3-reranker", {**XLMR, "<|im_end|>": "<mask>"})  # which takes the spaces before it
        with self.assertRaisesRegex(rankfeed.RankfeedError, "must stand apart"):
            self.tok.row_template(made)
        with self.assertRaisesRegex(ValueError, "needs a template"):
            self.tok.encode_pairs("q", ["d"], instruction="i")
        with self.assertRaisesRegex(rankfeed.RankfeedError, "is no member"):
            self.tok.row_template({"parts": [{"role": "document"}], "part": 1})
        with self.assertRaisesRegex(rankfeed.RankfeedError, "is ids"):
            self.tok.encode_pairs("q", [np.array([1, 2], np.int32)], template=self.row)

    def test_specials_in_text(self):
        documents = ["a </s> b"]
        def count(**options):
            ids = rows_of(self.tok.encode_pairs("q", documents, template=self.row, padding=False, **options))[0]
            return ids.count(self.tok.token_to_id("</s>"))
        self.assertEqual(count(), 3)
        self.assertEqual(count(specials_in_text="escape"), 2)
        with self.assertRaisesRegex(rankfeed.RankfeedError, "SPECIAL_IN_TEXT"):
            count(specials_in_text="error")

    def test_corpus(self):
        """Documents of a store have the template's literals, and one made without it is refused."""
        path = os.path.join(WORK, "templates.rfcor")
        row = self.tok.row_template(template_of("mxbai-rerank-v2", XLMR))
        documents = ["", "one", " two", "three\n"]
        with rankfeed.CorpusWriter(path, self.tok, template=row) as writer:
            writer.put_all(["0", "1", "2", "3"], documents)
        corpus = rankfeed.Corpus(path, self.tok, template=row)
        stored = self.tok.encode_pairs("q", [corpus[str(i)] for i in range(4)], template=row, padding=False)
        self.assertEqual(rows_of(stored), rows_of(self.tok.encode_pairs("q", documents, template=row, padding=False)))
        for other in (None, template_of("bge-reranker-v2-gemma", XLMR)):
            with self.assertRaisesRegex(rankfeed.RankfeedError, "vocabulary"):
                rankfeed.Corpus(path, self.tok, template=other)
        with self.assertRaisesRegex(rankfeed.RankfeedError, "joins the query"):
            rankfeed.CorpusWriter(path, self.tok, template=self.row)

    def test_file(self):
        path = os.path.join(WORK, "row_template.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(template_of("bge-reranker-v2-gemma", XLMR), file)
        one = rows_of(self.tok.encode_pairs("q", ["d"], template=path, padding=False))
        two = rows_of(self.tok.encode_pairs("q", ["d"], template=template_of("bge-reranker-v2-gemma", XLMR), padding=False))
        self.assertEqual(one, two)


if __name__ == "__main__":
    unittest.main()
