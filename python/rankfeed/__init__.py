# SPDX-License-Identifier: MIT
"""rankfeed: exact Unigram, WordPiece and BPE tokenization and reranker batches.

    tok = rankfeed.Tokenizer.from_file("tokenizer.json")
    tok.encode("What is a panda?").ids
    batch = tok.encode_pairs("What is a panda?", passages, max_length=512, truncation="only_second")
    rankfeed.CrossEncoder("FOLDER").rank("What is a panda?", passages)

Ids equal HuggingFace tokenizers' for a tokenizer.json and SentencePiece's for a .model.
"""

from ._core import Batch, DeviceTensor, Ring, RowTemplate, Tensor, __version__, template_names, template_preset
from ._corpus import Corpus, CorpusWriter, compact_corpus, merge_corpus
from ._cross_encoder import CrossEncoder
from ._encoding import Encoding
from ._errors import RankfeedError
from ._receipt import receipt
from ._request import PairBatch, Request
from ._tokenizer import BatchEncoding, Tokenizer

__all__ = [
    "Batch", "BatchEncoding", "Corpus", "CorpusWriter", "CrossEncoder", "DeviceTensor", "Encoding", "PairBatch", "RankfeedError",
    "Request", "Ring", "RowTemplate", "Tensor", "Tokenizer", "__version__", "compact_corpus", "merge_corpus", "receipt",
    "template_names", "template_preset",
]
