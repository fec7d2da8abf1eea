# SPDX-License-Identifier: MIT
"""test_ray.py RANKFEED: python -m rankfeed pretokenize on a cluster of two nodes. A driver that is killed in the
middle is started again and goes on; in that run a worker and then a node are killed, and it ends all the same. What
comes out holds what one `rankfeed corpus build` makes of the same documents. Documents that come as Parquet, as
ray.data and datasets.Dataset find the same shards; a damaged shard, and that of a changed document, are made again.
RANKFEED_RAY_DOCUMENTS: how many (default 200,000)."""

import glob
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

try:
    import datasets
    import pyarrow.parquet
    import ray
    from ray.cluster_utils import Cluster
except ImportError as missing:
    print(f"SKIPPED: {missing} (scripts/python-env.sh ray)")
    sys.exit(77)
import rankfeed
import rankfeed.ray
from support import WORD_PIECES, word_piece_folder

os.environ.setdefault("RAY_worker_niceness", "0")  # Ray's 15 lets a busy machine starve the workers that are waited for
RANKFEED = sys.argv[1]
MODEL = os.path.join(os.environ["RANKFEED_SOURCE_DIR"], "data", "default.model")
COUNT = int(os.environ.get("RANKFEED_RAY_DOCUMENTS", 200_000))
SHARDS = 32
WAIT = 300  # seconds, for anything


def documents():
    rng = random.Random(1)
    words = "panda bamboo bear mountain river city light train music winter Überraschung 北京 Москва".split()
    for i in range(COUNT):
        # Strings and numbers, some of more than one word, in the order of nothing.
        yield {"id": f"doc {i}" if i % 3 else i, "text": " ".join(rng.choices(words, k=rng.randrange(60)))}


def until(what, condition):
    end = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def worker_making_a_shard(raylets):
    """A process of those raylets that runs _make now."""
    for path in glob.glob("/proc/[0-9]*"):
        try:
            with open(f"{path}/cmdline", "rb") as file:
                if not file.read().startswith(b"ray::_make"):
                    continue
            with open(f"{path}/stat", encoding="utf-8") as file:
                parent = int(file.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
        if parent in raylets:
            return int(os.path.basename(path))
    return None


class Test:
    def __init__(self, folder):
        self.path = lambda name: os.path.join(folder, name)
        self.out = self.path("shards")
        self.manifest = os.path.join(self.out, "manifest.json")
        size = 150 << 20
        self.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": size})
        self.second = self.cluster.add_node(num_cpus=1, object_store_memory=size)

    def start(self):
        return subprocess.Popen([sys.executable, "-m", "rankfeed", "pretokenize", "--address", self.cluster.address, "--vocab",
                                 self.path("v.rfimg"), "--docs", self.path("docs.jsonl"), "-o", self.out, "--shards", str(SHARDS)],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def finish(self, process):
        """Documents, made, found."""
        said, errors = process.communicate(timeout=WAIT)
        assert process.returncode == 0, errors
        assert said.count("\n") == 1, said  # what Ray has to say is not among it
        print(said.strip().replace(self.out, "shards"))
        documents, made, found = re.search(r": (\d+) documents, \d+ tokens in \d+ shards, (\d+) of them made and (\d+) found", said).groups()
        return int(documents), int(made), int(found)

    def shards(self):
        return glob.glob(os.path.join(self.out, "shard-*.rfc"))

    def run_killed(self):
        process = self.start()
        until("the first shards", lambda: len(self.shards()) >= 4 or process.poll() is not None)
        process.kill()
        process.communicate()
        time.sleep(2)  # Ray ends the tasks of a driver that is gone
        left = len(self.shards())
        print(f"driver killed: {left} of {SHARDS} shards")
        assert 4 <= left < SHARDS and not os.path.exists(self.manifest), left
        return left

    def run_with_losses(self, left):
        raylets = {p.process.pid for node in self.cluster.list_all_nodes() for p in node.all_processes["raylet"]}
        process = self.start()
        # Also a shard that is only found takes a _make; one more on the disk means that shards are made.
        until("a shard", lambda: len(self.shards()) > left)
        victims = []
        until("a worker to kill", lambda: victims.append(worker_making_a_shard(raylets)) or victims[-1] is not None)
        os.kill(victims[-1], signal.SIGKILL)
        before = len(self.shards())
        until("shards after a worker was killed", lambda: len(self.shards()) > before)
        assert process.poll() is None, "nothing left to do when the node goes"
        self.cluster.remove_node(self.second, allow_graceful=False)
        print(f"worker killed at {before} shards, node at {len(self.shards())}")
        assert len(self.shards()) < SHARDS
        total, made, found = self.finish(process)
        # A task whose worker was lost right after it had put its shard into place finds it when it is run again.
        assert total == COUNT and made + found == SHARDS and left <= found <= left + 2, (total, made, found)
        assert sorted(os.listdir(self.out)) == sorted([os.path.basename(s) for s in self.shards()] + ["manifest.json"]), "left-overs"

    def compare(self):
        """With one store of all documents."""
        start = time.monotonic()
        subprocess.run([RANKFEED, "corpus", "build", "--vocab", self.path("v.rfimg"), "--docs", self.path("docs.jsonl"), "-o",
                        self.path("one.rfc")], check=True)
        print(f"one store, built by the command line on two threads: {time.monotonic() - start:.1f} s")
        subprocess.run([RANKFEED, "corpus", "verify", self.manifest, "--vocab", self.path("v.rfimg")], check=True)
        tok = rankfeed.Tokenizer.from_file(self.path("v.rfimg"))
        one = rankfeed.Corpus(self.path("one.rfc"), tok)
        ids = [str(d["id"]) for d in documents()]
        for options in ({}, {"trusted": True, "map_file": True}):
            many = rankfeed.Corpus(self.manifest, tok, **options)
            assert many.shard_count == SHARDS and len(many) == len(one) == COUNT and many.token_count == one.token_count
            for at in range(0, COUNT, 10_000):
                names = ids[at:at + 10_000]
                for name, a, b in zip(names, many.get_all(names), one.get_all(names)):
                    assert a is not None and len(a) == len(b) and (a == b).all(), name
            assert many.get("none") is None and sorted(many.keys()) == sorted(ids)
        seconds = []
        for corpus in (many, one):
            start = time.monotonic()
            for at in range(0, COUNT, 100):
                corpus.get_all(ids[at:at + 100])
            seconds.append(time.monotonic() - start)
        print(f"look-ups of all documents by hundreds: {seconds[0]:.2f} s in {SHARDS} shards, {seconds[1]:.2f} s in one store")

    def other_sources(self):
        """Every kind of input finds the same shards, whatever its blocks are."""
        rows = list(documents())
        table = pyarrow.table({"other": [0] * COUNT, "text": [d["text"] for d in rows], "id": [str(d["id"]) for d in rows]})
        pyarrow.parquet.write_table(table, self.path("docs.parquet"), row_group_size=COUNT // 7)
        frame = datasets.Dataset.from_dict({"name": [str(d["id"]) for d in rows], "body": [d["text"] for d in rows]})

        def run(source, **options):
            lines = []
            made = rankfeed.ray.pretokenize(source, self.out, self.path("v.rfimg"), shards=SHARDS, progress=lines.append, **options)
            assert re.match(rf"{SHARDS} of {SHARDS} shards, {made.skipped} of them found; ", lines[-1]), lines
            return made.documents, made.made, made.skipped
        everything_found = (COUNT, 0, SHARDS)
        assert run(self.path("docs.parquet")) == everything_found
        assert run(ray.data.read_parquet(self.path("docs.parquet")).random_shuffle()) == everything_found
        assert run(frame, id_column="name", text_column="body") == everything_found
        assert run([self.path("docs.jsonl")] * 2, block_bytes=1 << 20) == everything_found, "documents twice are stored once"

        with open(self.shards()[0], "r+b") as file:
            file.seek(13000)
            file.write(b"damage")
        assert run(self.path("docs.jsonl")) == (COUNT, 1, SHARDS - 1), "a damaged shard"
        rows[77]["text"] += " changed"
        with open(self.path("docs.jsonl"), "w", encoding="utf-8") as file:
            file.writelines(json.dumps(d) + "\n" for d in rows)
        assert run(self.path("docs.jsonl")) == (COUNT, 1, SHARDS - 1), "a changed document"
        try:
            run([self.path("docs.jsonl"), self.path("docs.parquet")])
            raise AssertionError("two texts of one id were taken")
        except rankfeed.ray.DocumentError as problem:
            assert "\"doc 77\" and different texts" in str(problem), problem

    def word_pieces(self):
        """With the tokenizer of a BERT folder."""
        expected = word_piece_folder(self.path("bert"))
        words = list(WORD_PIECES)
        texts = [" ".join(words[(i + j) % len(words)] for j in range(i % 7)) for i in range(5000)]
        frame = datasets.Dataset.from_dict({"id": [str(i) for i in range(len(texts))], "text": texts})
        tok = rankfeed.Tokenizer.from_pretrained(self.path("bert"))
        made = rankfeed.ray.pretokenize(frame, self.path("bert-shards"), tok, shards=3)
        assert (made.documents, made.made) == (len(texts), 3), made
        corpus = rankfeed.Corpus(made.manifest, tok)
        for i, text in enumerate(texts):
            assert corpus[str(i)].tolist() == [id for word in text.split() for id in expected[word]], text
        print(f"WordPiece: {made.documents} documents, {made.tokens} tokens in {made.shards} shards")

    def run(self):
        left = self.run_killed()
        self.run_with_losses(left)
        self.second = self.cluster.add_node(num_cpus=1, object_store_memory=150 << 20)
        assert self.finish(self.start()) == (COUNT, 0, SHARDS)
        for shard in self.shards():
            os.remove(shard)
        assert self.finish(self.start()) == (COUNT, SHARDS, 0)  # undisturbed, for its time
        self.compare()
        ray.init(address=self.cluster.address, log_to_driver=False)
        self.other_sources()
        self.word_pieces()


def main():
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "docs.jsonl"), "w", encoding="utf-8") as file:
            file.writelines(json.dumps(d, ensure_ascii=False) + "\n" for d in documents())
        subprocess.run([RANKFEED, "compile", MODEL, "-o", os.path.join(folder, "v.rfimg")], check=True, stdout=subprocess.DEVNULL)
        test = Test(folder)
        try:
            test.run()
        finally:
            ray.shutdown()
            test.cluster.shutdown()


main()
