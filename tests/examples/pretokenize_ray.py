# SPDX-License-Identifier: MIT
"""Pretokenizes a corpus on Ray Data: for corpora that outgrow one machine.

    pretokenize_ray.py VOCAB DOCS.jsonl SHARD_FOLDER [--address auto] [--blocks N]
    rankfeed corpus merge -o docs.rfc SHARD_FOLDER/*.rfc

Every block of documents ("id", "text") becomes one shard, a corpus store of its own, under a name that
follows from the block's content: a block that Ray runs again after a failure replaces its own shard, by
rename, so nothing is doubled. `rankfeed corpus merge` checks that all shards were made with one
vocabulary; of equal ids the later shard's wins. On a cluster SHARD_FOLDER is shared storage."""

import argparse
import hashlib
import os

import pyarrow
import ray
import rankfeed


class Shards:
    """One per worker process: the vocabulary is opened once."""

    def __init__(self, vocab, folder):
        self.tokenizer = rankfeed.Tokenizer.from_file(vocab, threads=1)  # Ray's workers are the threads
        self.folder = folder

    def __call__(self, batch: pyarrow.Table) -> pyarrow.Table:
        ids = [str(i) for i in batch.column("id").to_pylist()]
        texts = batch.column("text").to_pylist()
        digest = hashlib.sha256(b"\0".join(i.encode() for i in ids)).hexdigest()[:16]
        path = os.path.join(self.folder, f"{digest}.rfc")
        # Two runs of one block never share a temporary name.
        temporary = f"{path}.{os.getpid()}.part"
        with rankfeed.CorpusWriter(temporary, self.tokenizer) as writer:
            writer.put_all(ids, texts)
        tokens = rankfeed.Corpus(temporary, self.tokenizer).token_count
        os.replace(temporary, path)
        return pyarrow.table({"shard": [path], "documents": [len(ids)], "tokens": [tokens]})


def pretokenize(vocab, docs, folder, blocks=8, batch_size=None, workers=(1, 4)):
    """(shards, documents, tokens); the shards lie in folder."""
    os.makedirs(folder, exist_ok=True)
    data = ray.data.read_json(docs).repartition(blocks)
    made = data.map_batches(Shards, fn_constructor_args=(os.path.abspath(vocab), os.path.abspath(folder)),
                            batch_size=batch_size, batch_format="pyarrow",
                            compute=ray.data.ActorPoolStrategy(min_size=workers[0], max_size=workers[1])).take_all()
    return [m["shard"] for m in made], sum(m["documents"] for m in made), sum(m["tokens"] for m in made)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("vocab")
    parser.add_argument("docs")
    parser.add_argument("folder")
    parser.add_argument("--address", help="of a cluster; default: a Ray of this machine")
    parser.add_argument("--blocks", type=int, default=8)
    arguments = parser.parse_args()
    ray.init(address=arguments.address)
    shards, documents, tokens = pretokenize(arguments.vocab, arguments.docs, arguments.folder, arguments.blocks)
    print(f"{documents} documents, {tokens} tokens in {len(shards)} shards")


if __name__ == "__main__":
    main()
