# SPDX-License-Identifier: MIT
"""published_keys_test.py: every key that the authors' software reads from a folder is in the list of src/folder/keys.cc. The keys
come from transformers' classes of settings of the served types and of tokenizers, from sentence-transformers 6.2 (from its classes
where it is installed) and from the folders of the shared data."""

import glob
import inspect
import json
import os
import pathlib
import re
import sys
import unittest

try:
    import transformers
    from transformers import CONFIG_MAPPING, tokenization_utils_base, tokenization_utils_tokenizers
except ImportError:
    print("SKIPPED: no transformers (scripts/python-env.sh examples makes .venv-examples)")
    sys.exit(77)
try:
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.cross_encoder import CrossEncoder
except ImportError:
    Transformer = CrossEncoder = None

SOURCE = pathlib.Path(os.environ.get("RANKFEED_SOURCE_DIR") or pathlib.Path(__file__).resolve().parents[2])
SHARED = os.environ.get("RANKFEED_SHARED_DATA") or str(SOURCE.parent / "shared" / "data")
TEXT = (SOURCE / "src" / "folder" / "keys.cc").read_text(encoding="utf-8")
FILES = dict(re.findall(r'\*?(k\w+) = "(\w+\.json)"', TEXT))
KEYS = {}
for name, key, rule in re.findall(r'\{(k\w+), "([^"]+)", (k\w+),', TEXT):
    KEYS.setdefault(FILES[name], {})[key] = rule
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


class PublishedKeys(unittest.TestCase):
    def check(self, file, keys):
        self.assertEqual(sorted(set(keys) - set(KEYS[file])), [], f"keys of {file} that src/folder/keys.cc does not list")

    def test_settings_of_models(self):
        for kind in TYPES:
            if kind not in CONFIG_MAPPING:  # of a newer transformers
                continue
            with self.subTest(kind):
                self.check("config.json", CONFIG_MAPPING[kind]().to_dict())

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
