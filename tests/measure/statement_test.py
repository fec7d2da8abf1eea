# SPDX-License-Identifier: MIT
"""statement_test.py RANKFEED: `rankfeed receipt statement` as the in-toto attestation library reads it, digests as hashlib makes
them, other files refused; `rankfeed receipt show`, of a receipt and of a statement."""
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from google.protobuf import json_format
from in_toto_attestation.v1 import statement, statement_pb2

RANKFEED = sys.argv.pop(1)
MODEL = pathlib.Path(__file__).parents[2] / "data" / "default.model"


def run(*arguments, cwd):
    return subprocess.run([RANKFEED, *arguments], cwd=cwd, capture_output=True, text=True, check=False)


class StatementTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        (cls.folder / "docs.txt").write_text("A panda is a bear.\nIt eats bamboo.\nCars have wheels.\n", encoding="utf-8")
        cls.ok("compile", str(MODEL), "-o", "v.rfimg")
        cls.ok("trace", "make", "--docs", "docs.txt", "--requests", "4", "--candidates", "2", "-o", "t.jsonl")
        cls.ok("receipt", "run", "--vocab", "v.rfimg", "--trace", "t.jsonl", "--encode-seconds", "0.02", "-o", "r.json")

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    @classmethod
    def ok(cls, *arguments):
        done = run(*arguments, cwd=cls.folder)
        assert done.returncode == 0, (arguments, done.stderr)
        return done.stdout

    def refused(self, why, *arguments):
        done = run(*arguments, cwd=self.folder)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(why, done.stderr)

    def test_the_library_takes_it(self):
        self.ok("receipt", "statement", "r.json", "--vocab", "v.rfimg", "--trace", "t.jsonl", "-o", "s.json")
        text = (self.folder / "s.json").read_text(encoding="utf-8")
        proto = json_format.Parse(text, statement_pb2.Statement())
        statement.Statement.copy_from_pb(proto).validate()
        digests = {s.name: s.digest["sha256"] for s in proto.subject}
        for name in ("v.rfimg", "t.jsonl"):
            self.assertEqual(digests.pop(name), hashlib.sha256((self.folder / name).read_bytes()).hexdigest())
        self.assertEqual(digests, {})
        receipt = json.loads((self.folder / "r.json").read_text(encoding="utf-8"))
        self.assertEqual(json.loads(text)["predicate"], receipt)
        self.assertEqual(proto.predicate_type, f"urn:rankfeed:receipt:v{receipt['schema_version']}")

    def test_all_files_of_a_vocabulary(self):
        model = self.folder / "model"
        model.mkdir()
        letters = [chr(c) for c in [*range(33, 127), *range(0xa1, 0xad), *range(0xae, 0x100), *range(0x100, 0x144)]]  # one for each byte
        pieces = {text: i for i, text in enumerate(["<s>", "<pad>", "</s>", "<unk>", "<mask>", *letters, "an"])}
        (model / "vocab.json").write_text(json.dumps(pieces), encoding="utf-8")
        (model / "merges.txt").write_text("#version: 0.2\na n\n", encoding="utf-8")
        (model / "tokenizer_config.json").write_text('{"tokenizer_class": "RobertaTokenizer"}', encoding="utf-8")
        self.ok("receipt", "run", "--vocab", "model", "--trace", "t.jsonl", "--encode-seconds", "0.02", "-o", "r2.json")
        self.ok("receipt", "statement", "r2.json", "--vocab", "model", "--trace", "t.jsonl", "-o", "s3.json")
        subjects = json.loads((self.folder / "s3.json").read_text(encoding="utf-8"))["subject"]
        self.assertEqual([s["name"] for s in subjects], ["vocab.json", "merges.txt", "tokenizer_config.json", "t.jsonl"])
        self.assertEqual(subjects[1]["digest"]["sha256"], hashlib.sha256((model / "merges.txt").read_bytes()).hexdigest())

    def test_other_files_are_refused(self):
        other = (self.folder / "t.jsonl").read_text(encoding="utf-8").replace("panda", "koala")
        (self.folder / "other.jsonl").write_text(other, encoding="utf-8")
        self.ok("compile", str(MODEL), "--parity", "sentencepiece-0.2.1", "-o", "other.rfimg")
        self.refused("not the workload of the receipt", "receipt", "statement", "r.json", "--vocab", "v.rfimg", "--trace",
                     "other.jsonl", "-o", "none.json")
        self.refused("not the vocabulary of the receipt", "receipt", "statement", "r.json", "--vocab", "other.rfimg", "--trace",
                     "t.jsonl", "-o", "none.json")
        (self.folder / "empty.json").write_text("{}", encoding="utf-8")
        self.refused("not a receipt", "receipt", "statement", "empty.json", "--vocab", "v.rfimg", "--trace", "t.jsonl")
        self.assertFalse((self.folder / "none.json").exists())

    def test_show(self):
        shown = self.ok("receipt", "show", "r.json", "--html", "r.html")
        for word in ("machine", "one text", "pages", "parity     not compared", "documents", "answered", "r.html"):
            self.assertIn(word, shown)
        page = (self.folder / "r.html").read_text(encoding="utf-8")
        self.assertIn('"schema":"rankfeed-receipt"', page)
        self.ok("receipt", "statement", "r.json", "--vocab", "v.rfimg", "--trace", "t.jsonl", "-o", "s2.json")
        self.assertEqual(self.ok("receipt", "show", "s2.json"), shown.split("\npage:")[0])
        (self.folder / "list.json").write_text("[1]", encoding="utf-8")
        self.refused("not a receipt", "receipt", "show", "list.json")


if __name__ == "__main__":
    unittest.main()
