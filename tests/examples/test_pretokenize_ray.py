# SPDX-License-Identifier: MIT
"""test_pretokenize_ray.py RANKFEED: shards made on a local Ray, merged by `rankfeed corpus merge`, hold
what one `rankfeed corpus build` makes of the same documents."""

import glob
import json
import os
import random
import subprocess
import sys
import tempfile

try:
    import ray
except ImportError:
    print("SKIPPED: the ray wheel is not installed (scripts/python-env.sh ray)")
    sys.exit(77)
import rankfeed
from pretokenize_ray import pretokenize

RANKFEED = sys.argv[1]
MODEL = os.path.join(os.environ["RANKFEED_SOURCE_DIR"], "data", "default.model")


def main():
    rng = random.Random(1)
    words = "panda bamboo bear mountain river city light train music winter".split()
    docs = [{"id": f"doc-{i}", "text": " ".join(rng.choices(words, k=rng.randrange(80)))} for i in range(3000)]
    with tempfile.TemporaryDirectory() as folder:
        def path(name):
            return os.path.join(folder, name)
        with open(path("docs.jsonl"), "w", encoding="utf-8") as file:
            file.writelines(json.dumps(d) + "\n" for d in docs)
        subprocess.run([RANKFEED, "compile", MODEL, "-o", path("v.rfimg")], check=True)
        ray.init(num_cpus=2, include_dashboard=False, configure_logging=False, log_to_driver=False,
                 object_store_memory=100 << 20,
                 # Workers import this folder's modules and the package under test.
                 runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join(sys.path)}})
        shards, documents, tokens = pretokenize(path("v.rfimg"), path("docs.jsonl"), path("shards"), blocks=6, workers=(1, 2))
        again, _, _ = pretokenize(path("v.rfimg"), path("docs.jsonl"), path("shards"), blocks=6, workers=(1, 2))
        ray.shutdown()
        assert documents == len(docs) and len(shards) == 6, (documents, shards)
        assert sorted(shards) == sorted(again) == sorted(glob.glob(path("shards/*.rfc"))), "a second run makes the same shards"
        subprocess.run([RANKFEED, "corpus", "merge", "-o", path("merged.rfc"), *sorted(shards)], check=True)
        subprocess.run([RANKFEED, "corpus", "build", "--vocab", path("v.rfimg"), "--docs", path("docs.jsonl"), "-o", path("one.rfc")], check=True)
        subprocess.run([RANKFEED, "corpus", "verify", path("merged.rfc"), "--vocab", path("v.rfimg")], check=True)
        tok = rankfeed.Tokenizer.from_file(path("v.rfimg"))
        merged, one = rankfeed.Corpus(path("merged.rfc"), tok), rankfeed.Corpus(path("one.rfc"), tok)
        assert len(merged) == len(one) == len(docs) and merged.token_count == one.token_count == tokens
        for d in docs:
            assert (merged[d["id"]] == one[d["id"]]).all() and len(merged[d["id"]]) == len(one[d["id"]]), d
        # A shard of another vocabulary is refused.
        with open(path("tiny.txt"), "w", encoding="utf-8") as file:
            file.write("\n".join(" ".join(rng.choices(words, k=8)) for _ in range(200)))
        if subprocess.run(["sh", "-c", f"command -v spm_train >/dev/null && cd {folder} && spm_train --input=tiny.txt "
                           "--model_prefix=tiny --vocab_size=40 --model_type=unigram --hard_vocab_limit=false 2>/dev/null"]).returncode == 0:
            with rankfeed.CorpusWriter(path("other.rfc"), rankfeed.Tokenizer.from_file(path("tiny.model"))) as writer:
                writer.put("x", "panda")
            refused = subprocess.run([RANKFEED, "corpus", "merge", "-o", path("bad.rfc"), shards[0], path("other.rfc")], capture_output=True, text=True)
            assert refused.returncode == 1 and not os.path.exists(path("bad.rfc")), refused
            print("refused:", refused.stderr.strip())
    print(f"{documents} documents, {tokens} tokens in {len(shards)} shards; merged equals one build")


main()
