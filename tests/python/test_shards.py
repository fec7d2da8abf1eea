# SPDX-License-Identifier: MIT
"""test_shards.py RANKFEED: what rankfeed.ray does on a cluster's machines, without a cluster: documents cut into
pieces anyhow make the same shards, which open as one corpus; the errors of each kind of input; manifests in Python.
The cluster itself is in test_ray.py, of the long run."""

import json
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import unittest

import rankfeed
import rankfeed.ray as on_ray
from rankfeed import _core

from support import MODEL, needs, word_piece_folder

try:
    import pyarrow
    import pyarrow.parquet
except ImportError:
    pyarrow = None
RANKFEED = sys.argv.pop(1) if len(sys.argv) > 1 else "rankfeed"
SHARDS = 5


class Shards(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        rng = random.Random(2)
        self.rows = [{"id": i if i % 4 else f"döc {i}", "text": " ".join(rng.choices(["panda", "Bär", "北京", "city"], k=i % 9))}
                     for i in range(400)]
        self.docs = self.path("docs.jsonl")
        self.write(self.docs, self.rows)
        self.tok = rankfeed.Tokenizer.from_file(MODEL)
        self.out = self.path("out")
        os.mkdir(self.out)
        self.image = self.tok._model.image()
        self.job = on_ray._Job(self.out, SHARDS, "id", "text", False, self.tok._model.info()["config_hash"], "image")

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, path, rows, **options):
        with open(path, "w", encoding="utf-8") as file:
            file.writelines((r if isinstance(r, str) else json.dumps(r, **options)) + "\n" for r in rows)

    def make(self, pieces, job=None):
        """As pretokenize does, in this process."""
        job = job or self.job
        parts = [on_ray._split(job, piece) for piece in pieces]
        if job.shards == 1:
            parts = [[part] for part in parts]
        return [on_ray._make(job, self.image, k, *[part[k] for part in parts]) for k in range(job.shards)]

    def pieces(self, source, block_bytes=1 << 20):
        return list(on_ray._pieces(None, source, block_bytes))

    @needs(pyarrow, "pyarrow")
    def test_one_corpus(self):
        made = self.make(self.pieces(self.docs))
        self.assertTrue(all(shard.made for shard in made))
        manifest = on_ray._write_manifest(self.job, "manifest.json", made)
        corpus = rankfeed.Corpus(manifest, self.tok)
        self.assertEqual((len(corpus), corpus.shard_count), (len(self.rows), SHARDS))
        one = self.path("one.rfc")
        with rankfeed.CorpusWriter(one, self.tok) as writer:
            writer.put_all([str(r["id"]) for r in self.rows], [r["text"] for r in self.rows])
        single = rankfeed.Corpus(one, self.tok)
        self.assertEqual(single.shard_count, 0)
        self.assertEqual(corpus.token_count, single.token_count)
        self.assertEqual(sorted(corpus.keys()), sorted(single.keys()))
        names = [str(r["id"]) for r in self.rows]
        for name, ids in zip(names, corpus.get_all(names)):
            self.assertEqual(ids.tolist(), single[name].tolist())
        self.assertEqual(_core.shards_of(["döc 4", b"1"], SHARDS),
                         [next(k for k, s in enumerate(made) if name in rankfeed.Corpus(os.path.join(self.out, s.file)))
                          for name in ("döc 4", "1")])
        batch = self.tok.encode_pairs("q", [corpus["döc 4"], "panda", corpus["7"]])
        plain = self.tok.encode_pairs("q", [self.rows[4]["text"], "panda", self.rows[7]["text"]])
        self.assertEqual(batch["input_ids"].tolist(), plain["input_ids"].tolist())
        ids = corpus["7"]
        del corpus
        self.assertEqual(ids.tolist(), single["7"].tolist())
        if os.path.exists(RANKFEED):
            said = subprocess.run([RANKFEED, "corpus", "verify", manifest, "--vocab", MODEL], capture_output=True, text=True)
            self.assertIn(f"sound: {len(self.rows)} documents", said.stdout, said.stderr)
        # What belongs together is checked when it is opened.
        os.remove(os.path.join(self.out, made[2].file))
        with self.assertRaisesRegex(rankfeed.RankfeedError, made[2].file):
            rankfeed.Corpus(manifest)

    @needs(pyarrow, "pyarrow")
    def test_pieces_do_not_matter(self):
        first = [shard.content for shard in self.make(self.pieces(self.docs))]
        size = os.path.getsize(self.docs)
        for block_bytes in (1, 2, 37, 100, 1000, size - 1, size, size + 1):
            pieces = self.pieces(self.docs, block_bytes)
            random.Random(block_bytes).shuffle(pieces)
            again = self.make(pieces)
            self.assertEqual([shard.content for shard in again], first, block_bytes)
            self.assertFalse(any(shard.made for shard in again))
        # Other JSON of the same documents, twice over; Windows' ends of lines and none at the end.
        self.write(self.path("b.jsonl"), reversed(self.rows), ensure_ascii=False)
        with open(self.path("b.jsonl"), "rb") as file:
            crlf = file.read().replace(b"\n", b"\r\n\r\n").rstrip()
        with open(self.path("c.ndjson"), "wb") as file:
            file.write(crlf)
        paths = [self.path("b.jsonl"), self.path("c.ndjson")]
        self.assertEqual([shard.content for shard in self.make(self.pieces(paths, 50))], first)
        for group, kind in ((7, pyarrow.large_string()), (400, pyarrow.dictionary(pyarrow.int32(), pyarrow.string()))):
            table = pyarrow.table({"text": pyarrow.array([r["text"] for r in self.rows]).cast(kind), "x": range(400),
                                   "id": [str(r["id"]) for r in self.rows]})
            pyarrow.parquet.write_table(table, self.path("d.parquet"), row_group_size=group)
            self.assertEqual([shard.content for shard in self.make(self.pieces(self.path("d.parquet")))], first)
            self.assertEqual([shard.content for shard in self.make([table.slice(100), table.slice(0, 100), table.schema.empty_table()])], first)
        # A changed text, another number of shards and other options are other shards.
        self.rows[5]["text"] += "!"
        self.write(self.docs, self.rows)
        self.assertEqual(sum(shard.made for shard in self.make(self.pieces(self.docs))), 1)
        for job in (self.job._replace(shards=1), self.job._replace(split_special_tokens=True)):
            self.assertTrue(all(shard.made for shard in self.make(self.pieces(self.docs), job)))

    @needs(pyarrow, "pyarrow")
    def test_word_piece_folder(self):
        """In a process that gets all of it pickled, as a cluster's machines do."""
        expected = word_piece_folder(self.path("bert"))
        tok = rankfeed.Tokenizer.from_pretrained(self.path("bert"))
        job = self.job._replace(config_hash=tok._model.info()["config_hash"], image_hash="of WordPiece")
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            parts = pool.starmap(on_ray._split, [(job, piece) for piece in self.pieces(self.docs, 1000)])
            made = pool.starmap(on_ray._make, [(job, bytes(tok._model.image()), k, *[part[k] for part in parts]) for k in range(SHARDS)])
        corpus = rankfeed.Corpus(on_ray._write_manifest(job, "manifest.json", made), tok)
        self.assertEqual(len(corpus), len(self.rows))
        for row in self.rows:
            self.assertEqual(corpus[str(row["id"])].tolist(), [id for word in row["text"].split() for id in expected[word]])
        with self.assertRaises(rankfeed.RankfeedError):
            rankfeed.Corpus(os.path.join(self.out, "manifest.json"), self.tok)

    @needs(pyarrow, "pyarrow")
    def test_damaged_shard_is_made_again(self):
        made = self.make(self.pieces(self.docs))
        path = os.path.join(self.out, made[3].file)
        with open(path, "rb") as file:
            sound = file.read()
        for damage in (sound[:5000], sound[:13000] + b"x" + sound[13001:], b"", b"{}"):
            with open(path, "wb") as file:
                file.write(damage)
            self.assertEqual([shard.made for shard in self.make(self.pieces(self.docs))], [k == 3 for k in range(SHARDS)])
            with open(path, "rb") as file:
                self.assertEqual(file.read(), sound)
        self.assertEqual(len(os.listdir(self.out)), SHARDS, "left-overs")

    @needs(pyarrow, "pyarrow")
    def test_errors_of_the_disk_are_tried_again(self):
        """Ray does so after an OSError, and after no other."""
        os.rmdir(self.out)
        with self.assertRaises(OSError) as raised:
            self.make(self.pieces(self.docs))
        self.assertNotIsInstance(raised.exception, rankfeed.RankfeedError)
        self.assertIn("No such file", str(raised.exception))
        with self.assertRaises(OSError):
            self.make([on_ray._Lines(self.path("none.jsonl"), 0, 10)])

    @needs(pyarrow, "pyarrow")
    def test_empty_shards(self):
        self.write(self.docs, self.rows[:1])
        manifest = on_ray._write_manifest(self.job, "m.json", self.make(self.pieces(self.docs)))
        self.assertEqual(rankfeed.Corpus(manifest, self.tok).keys(), ["döc 0"])

    @needs(pyarrow, "pyarrow")
    def test_refused_documents(self):
        for line, words in (('{"id": "x"}', "byte 12: KeyError: 'text'"), ('{"id": 1.5, "text": ""}', "must be a string or an integer"),
                            ('{"id": true, "text": ""}', "must be a string"), ('{"id": "x", "text": null}', "must be a string"),
                            ('{"id": "x", "text": "\\ud800"}', "surrogates"), ("nope", "JSONDecodeError"), ("[1]", "TypeError"),
                            ("[" * 100000, "RecursionError"), ('{"id": 0, "text": "other"}', None)):
            self.write(self.docs, ["           ", line, {"id": 0, "text": "one"}])
            if words is None:
                with self.assertRaisesRegex(on_ray.DocumentError, "two documents have the id \"0\" and different texts"):
                    self.make(self.pieces(self.docs))
                continue
            with self.assertRaisesRegex(on_ray.DocumentError, words):
                self.make(self.pieces(self.docs))
        self.write(self.docs, [{"id": "", "text": "x"}])
        with self.assertRaisesRegex(rankfeed.RankfeedError, "1 to 65535 bytes"):
            self.make(self.pieces(self.docs))
        self.assertEqual([name for name in os.listdir(self.out) if "part" in name], [], "left-overs")
        for columns, words in (({"id": ["a"]}, "no column \"text\""), ({"id": [1.5], "text": ["a"]}, "must be strings or integers"),
                               ({"id": ["a"], "text": [1]}, "must be strings"), ({"id": ["a", None], "text": ["a", "b"]}, "null in 1 rows")):
            with self.assertRaisesRegex(on_ray.DocumentError, words):
                self.make([pyarrow.table(columns)])
            pyarrow.parquet.write_table(pyarrow.table(columns), self.path("e.parquet"))
            with self.assertRaisesRegex(on_ray.DocumentError, "e.parquet.*" + words):
                self.make(self.pieces(self.path("e.parquet")))
        with self.assertRaisesRegex(ValueError, "must end in"):
            self.pieces(self.path("docs.txt"))
        with self.assertRaisesRegex(TypeError, "source is a int"):
            self.pieces(7)

    def test_arguments(self):
        for options, words in (({"shards": 0}, "from 1 to 32768"), ({"shards": 32769}, "from 1 to 32768"),
                               ({"manifest": "a/b.json"}, "without a folder")):
            with self.assertRaisesRegex(ValueError, words):
                on_ray.pretokenize(self.docs, self.out, self.tok, **options)

    def test_output_is_the_programs_own(self):
        """What Ray's threads print when the work is done, or has failed, comes before its shutdown ends and is no output."""
        folder = self.path("fake")
        os.mkdir(folder)
        with open(os.path.join(folder, "ray.py"), "w", encoding="utf-8") as file:
            file.write("""
import threading, time
def init(address, log_to_driver):
    def late():
        time.sleep(0.5)
        print("a raylet is gone")
    global thread
    thread = threading.Thread(target=late)
    thread.start()
def is_initialized():
    return True
def shutdown():
    thread.join()
""")
        program = """if True:
            import sys, rankfeed.__main__ as program, rankfeed.ray as on_ray
            on_ray.pretokenize = lambda *args, **kwargs: on_ray.Pretokenized("m", 1, 2, 3, 4, 5, 6.0)
            sys.exit(program.main(sys.argv[1:]))"""
        path = os.pathsep.join([folder, *sys.path])
        for command, out, last in ((["-c", program], "m: 1 documents, 2 tokens in 3 shards, 4 of them made and 5 found, 6.0 s\n",
                                    "a raylet is gone"),
                                   (["-m", "rankfeed"], "", "rankfeed: shards is 0; it must be from 1 to 32768")):
            done = subprocess.run([sys.executable, *command, "pretokenize", "--vocab", MODEL, "--docs", self.docs, "-o", self.out,
                                   "--shards", "0"], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
            said = done.stderr.splitlines()
            self.assertEqual((done.returncode, done.stdout, said[0], said[-1]), (int(not out), out, "a raylet is gone", last))

    def test_without_ray(self):
        """The package imports without Ray, and says what is missing when it is asked for."""
        try:
            import ray
            self.skipTest(f"ray {ray.__version__} is installed")
        except ImportError:
            pass
        with self.assertRaisesRegex(rankfeed.RankfeedError, "rankfeed.ray needs the ray package: pip install"):
            on_ray.pretokenize(self.docs, self.out, self.tok)
        done = subprocess.run([sys.executable, "-m", "rankfeed", "pretokenize", "--vocab", MODEL, "--docs", self.docs, "-o", self.out],
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, "rankfeed: rankfeed.ray needs the ray package: pip install 'ray[data]'\n")


if __name__ == "__main__":
    unittest.main(verbosity=1)
