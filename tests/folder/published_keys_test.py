# SPDX-License-Identifier: MIT
"""published_keys_test.py: every key that the authors' software reads from a folder is in the list of src/folder/keys.cc, and every field
of a published request is in that of src/serve/dialect.cc, or changes no score. The keys come from the classes of settings of the served
types and of tokenizers in transformers 5.23, from sentence-transformers 6.2 (from its classes where it is installed) and from the folders
of the shared data; the fields from the servers' documents, as of November 2026."""

import glob
import inspect
import json
import os
import pathlib
import re
import sys
import unittest

import keys_table

try:
    import transformers
    from transformers import CONFIG_MAPPING, tokenization_utils_base, tokenization_utils_tokenizers
except ImportError:
    print("SKIPPED: no transformers (scripts/python-env.sh examples makes .venv-examples)")
    sys.exit(77)
try:
    import sentence_transformers
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.cross_encoder import CrossEncoder
except ImportError:
    Transformer = CrossEncoder = None

SOURCE = keys_table.SOURCE
SHARED = os.environ.get("RANKFEED_SHARED_DATA") or str(SOURCE.parent / "shared" / "data")
TRANSFORMERS, SENTENCE_TRANSFORMERS_VERSION = "5.23.", "6.2."  # whose keys these are
KEYS = {}
for file, key in keys_table.read():
    KEYS.setdefault(file, set()).add(key)
TYPES = ("xlm-roberta", "roberta", "camembert", "bert", "distilbert", "electra", "modernbert", "deberta-v2", "gte")
CLASSES = ("BertTokenizer", "MPNetTokenizer", "RobertaTokenizer", "GPT2Tokenizer", "Qwen2Tokenizer", "XLMRobertaTokenizer",
           "CamembertTokenizer", "DebertaV2Tokenizer", "AlbertTokenizer")
# Arguments that are files or objects of a call, and no keys of a file.
ARGUMENTS = {"self", "args", "kwargs", "vocab", "merges", "vocab_file", "tokenizer_object", "gguf_file", "tokenizer", "unk_id", "backend",
             "_json_truncation", "_json_padding", "_spm_precompiled_charsmap", "post_processor", "tokenizer_padding", "tokenizer_truncation",
             "proxies", "subfolder", "_from_pipeline", "_from_auto", "_commit_hash", "commit_message", "repo_id", "padding", "truncation",
             "max_target_length", "trust_remote_code", "fix_mistral_regex"}
SENTENCE_TRANSFORMERS = {
    "config_sentence_transformers.json": ["model_type", "__version__", "prompts", "default_prompt_name", "activation_fn", "keep_in_fp32_modules",
                                          "similarity_fn_name", "requirements"],
    "sentence_bert_config.json": ["transformer_task", "modality_config", "module_output_name", "processing_kwargs", "unpad_inputs", "query_length",
                                  "document_length", "query_expansion", "max_seq_length", "do_lower_case", "tokenizer_name_or_path", "model_args",
                                  "tokenizer_args", "config_args", "model_kwargs", "processor_kwargs", "config_kwargs"],
    "modules.json": ["idx", "name", "path", "type", "kwargs"]}


# Fields of requests by their server: the scoring ones, and those of answers, of other inputs and of operation.
VLLM = ["model", "user", "truncate_prompt_tokens", "truncation_side", "padding", "request_id", "priority", "mm_processor_kwargs", "cache_salt",
        "use_activation", "activation", "add_special_tokens", "instruction", "chat_template", "chat_template_kwargs", "score_template",
        "max_tokens_per_query", "max_tokens_per_doc"]
REQUESTS = {
    "text-embeddings-inference /rerank": ["query", "texts", "raw_scores", "return_text", "truncate", "truncation_direction"],
    "text-embeddings-inference /predict": ["inputs", "raw_scores", "truncate", "truncation_direction"],
    "Cohere 1": ["model", "query", "documents", "top_n", "rank_fields", "return_documents", "max_chunks_per_doc"],
    "Cohere 2": ["model", "query", "documents", "top_n", "max_tokens_per_doc", "priority"],
    "Jina": ["model", "query", "documents", "top_n", "return_documents", "return_embeddings", "truncation", "overlap_tokens"],
    "infinity": ["model", "query", "documents", "top_n", "return_documents", "raw_scores"],
    "llama.cpp": ["model", "query", "documents", "texts", "top_n"],
    "vLLM /rerank": [*VLLM, "query", "documents", "top_n"],
    "vLLM /score": [*VLLM, "text_1", "text_2", "data_1", "data_2", "queries", "documents"],
    "SGLang": ["query", "documents", "instruct", "top_n", "return_documents"],
    "sentence-transformers": ["prompt", "prompt_name"],
}
NO_SCORE = {"query", "texts", "documents", "inputs", "text_1", "text_2", "data_1", "data_2", "queries",  # what is scored
            "rank_fields",  # and which parts of it
            "model", "top_n", "return_text", "return_documents", "user", "request_id", "priority",
            "padding", "cache_salt"}  # pads are not attended to, and no prefix is kept


class PublishedKeys(unittest.TestCase):
    def test_versions(self):
        self.assertTrue(transformers.__version__.startswith(TRANSFORMERS), transformers.__version__)
        if CrossEncoder is not None:
            self.assertTrue(sentence_transformers.__version__.startswith(SENTENCE_TRANSFORMERS_VERSION), sentence_transformers.__version__)

    def test_fields_of_requests(self):
        text = (SOURCE / "src" / "serve" / "dialect.cc").read_text(encoding="utf-8")
        read = set(re.findall(r'^    \{"(\w+)", ', text[text.index("kFields[]"):text.index("void ParseFields")], re.M))
        self.assertGreater(len(read), 15)
        for server, fields in REQUESTS.items():
            self.assertEqual(set(fields) - read - NO_SCORE, set(), server)
        self.assertEqual(read - {field for fields in REQUESTS.values() for field in fields}, set(), "fields of nobody")
        self.assertEqual(read & NO_SCORE, set())

    def check(self, file, keys):
        self.assertEqual(sorted(set(keys) - KEYS[file]), [], f"keys of {file} that src/folder/keys.cc does not list")

    def test_settings_of_models(self):
        for kind in TYPES:
            if kind not in CONFIG_MAPPING:  # of a newer transformers
                continue
            with self.subTest(kind):
                self.check("config.json", CONFIG_MAPPING[kind]().to_dict())

    def test_settings_that_models_read(self):
        """Those that a class of settings does not have, too."""
        folder = pathlib.Path(transformers.__file__).parent / "models"
        for kind in TYPES:
            name = CONFIG_MAPPING[kind].__module__.split(".")[-2] if kind in CONFIG_MAPPING else kind
            text = (folder / name / f"modeling_{name}.py").read_text(encoding="utf-8")
            with self.subTest(kind):
                keys = set(re.findall(r"\bconfig\.([a-z]\w+)(?![\w(])", text)) | set(re.findall(r'(?:get|has)attr\((?:self\.)?config, "(\w+)"', text))
                self.assertGreater(len(keys), 10)
                self.check("config.json", keys - {"get_text_config"})

    def test_settings_of_tokenizers(self):
        for name in CLASSES:
            with self.subTest(name):
                keys = set(inspect.signature(getattr(transformers, name).__init__).parameters) - ARGUMENTS
                self.check("tokenizer_config.json", keys)
        base = inspect.getsource(tokenization_utils_base.PreTrainedTokenizerBase.__init__)
        loading = inspect.getsource(tokenization_utils_base.PreTrainedTokenizerBase._from_pretrained)
        backend = inspect.getsource(tokenization_utils_tokenizers.TokenizersBackend.__init__)
        keys = re.findall(r'kwargs\.(?:pop|get|setdefault)\(\s*"(\w+)"', base + loading + backend)
        self.assertGreater(len(keys), 20)
        self.check("tokenizer_config.json", set(keys) - ARGUMENTS)
        self.check("tokenizer_config.json", tokenization_utils_base.PreTrainedTokenizerBase.SPECIAL_TOKENS_ATTRIBUTES)
        self.check("special_tokens_map.json", tokenization_utils_base.PreTrainedTokenizerBase.SPECIAL_TOKENS_ATTRIBUTES)

    def test_sentence_transformers(self):
        for file, keys in SENTENCE_TRANSFORMERS.items():
            self.check(file, keys)
        if Transformer is not None:
            arguments = set(inspect.signature(Transformer.__init__).parameters) - {"self", "args", "kwargs", "model_name_or_path", "backend"}
            self.check("sentence_bert_config.json", arguments | set(Transformer.config_keys))
            self.check("config_sentence_transformers.json",
                       re.findall(r'model_config(?:\.get\(|\[)"(\w+)"', inspect.getsource(CrossEncoder._parse_model_config)))

    def test_folders_of_the_shared_data(self):
        found = 0
        for path in glob.glob(os.path.join(SHARED, "*", "*", "*.json")):
            if os.path.basename(path) in KEYS:
                data = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
                if "word_embedding_dimension" not in data:  # of a module that makes embeddings
                    self.check(os.path.basename(path), data)
                    found += 1
        if os.path.isdir(SHARED):
            self.assertGreater(found, 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
