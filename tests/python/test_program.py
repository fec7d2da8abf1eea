# SPDX-License-Identifier: MIT
"""The program `rankfeed` of the wheel, as pip installs it beside the package, against the program of the C++ build: the
same rankings, ids and images; what it lacks says where it is; and nothing is left when the package goes."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.request

import numpy as np
import rankfeed
import support

sys.path.insert(0, os.path.join(support.SOURCE, "tests", "serve"))
import random_model  # noqa: E402

OURS = os.path.join(os.path.dirname(os.path.dirname(rankfeed.__file__)), "bin", "rankfeed")
THEIRS = os.environ["RANKFEED_PROGRAM"]
QUERY = "What is a panda?"
DOCS = ["A panda is a bear.", "It eats bamboo.", "The capital is Berlin."]


class Program(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        parent = tempfile.TemporaryDirectory()
        cls.addClassCleanup(parent.cleanup)
        cls.parent, cls.folder = parent.name, os.path.join(parent.name, "model")
        facts = rankfeed.Tokenizer.from_file(support.hf_file("roberta")).info
        random_model.write(cls.folder, facts["id_count"], facts["pad_id"])
        shutil.copy(support.hf_file("roberta"), os.path.join(cls.folder, "tokenizer.json"))

    def run_one(self, program, *arguments, text=None):
        return subprocess.run([program, *arguments], input=text, capture_output=True, text=True, timeout=300)

    def both(self, *arguments, text=None):
        done = [self.run_one(program, *arguments, text=text) for program in (OURS, THEIRS)]
        self.assertEqual([(one.returncode, one.stderr) for one in done], [(0, "")] * 2)
        return [one.stdout for one in done]

    def test_it_says_which_program_it_is(self):
        ours, theirs = self.both("--version")
        self.assertEqual(ours, f"rankfeed {rankfeed.__version__}, program of the Python package, {os.path.realpath(OURS)}\n")
        self.assertEqual(theirs, f"rankfeed {rankfeed.__version__}, program of the C++ build, {os.path.realpath(THEIRS)}\n")

    def test_commands_are_those_of_the_other_program(self):
        text = "".join(text + "\n" for text in DOCS)
        ours, theirs = self.both("rerank", "--model", self.folder, "--query", QUERY, "--docs", "-", "--json", text=text)
        self.assertEqual(json.loads(ours)["results"], json.loads(theirs)["results"])
        self.assertEqual([place["score"] for place in json.loads(ours)["results"]],
                         [place["score"] for place in rankfeed.CrossEncoder(self.folder).rank(QUERY, DOCS)])
        for arguments in (["encode", "--vocab", self.folder, "--special"], ["info", "--vocab", self.folder, "--json"]):
            ours, theirs = self.both(*arguments, text=text)
            self.assertEqual(ours, theirs)
        images = [os.path.join(self.parent, name) for name in ("ours", "theirs")]
        for program, image in zip((OURS, THEIRS), images):
            self.assertEqual(self.run_one(program, "compile", self.folder, "-o", image).returncode, 0)
        with open(images[0], "rb") as ours, open(images[1], "rb") as theirs:
            self.assertEqual(ours.read(), theirs.read())
        if shutil.which(sys.executable) and not self.run_one(sys.executable, "-c", "import tokenizers").returncode:
            done = self.run_one(OURS, "parity", "--vocab", os.path.join(self.folder, "tokenizer.json"), "--against", "huggingface",
                                "--python", sys.executable, "-", text=text)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_it_serves(self):
        service = subprocess.Popen([OURS, "serve", "--model", self.folder, "--port", "0"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(service.stdout.close)
        self.addCleanup(service.kill)
        port = re.search(r":(\d+)$", service.stdout.readline().strip())[1]
        body = json.dumps({"query": QUERY, "texts": DOCS}).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{port}/rerank", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            got = [(place["index"], place["score"]) for place in json.load(answer)]
        want = [(place["corpus_id"], place["score"]) for place in rankfeed.CrossEncoder(self.folder).rank(QUERY, DOCS)]
        self.assertEqual([(index, np.float32(score)) for index, score in got], want)
        service.send_signal(signal.SIGTERM)
        self.assertEqual(service.wait(30), 0)

    def test_what_is_elsewhere_says_so(self):
        for command in ("batch", "corpus", "receipt", "audit", "trace"):
            done = self.run_one(OURS, command, "--vocab", "x", "run")
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertRegex(done.stderr, f"^rankfeed: `rankfeed {command}` is in the C\\+\\+ build .docs/install.md., not in the program of the Python package")
        done = self.run_one(OURS, "rerank", "--model", self.folder, "--query", "q", "--docs", "-", "--device", "cuda", text="a\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--device cuda", done.stderr)

    def test_wheels_without_it_say_so(self):
        """The command of wheels for macOS and Windows (packaging/wheels/pack.py)."""
        done = self.run_one(sys.executable, "-c", "from rankfeed.__main__ import without_program; raise SystemExit(without_program())")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("rankfeed: this wheel has no program", done.stderr)

    def test_nothing_is_left_when_the_package_goes(self):
        wheels = os.path.join(support.WORK, "wheel")
        if not os.path.isdir(wheels):
            self.skipTest("SKIPPED: no wheel is here")
        wheel = next(os.path.join(wheels, name) for name in os.listdir(wheels) if name.endswith(".whl"))
        venv = os.path.join(self.parent, "venv")
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # which has the package, for pip
        subprocess.run([sys.executable, "-m", "venv", venv], check=True, env=environment)
        pip = [os.path.join(venv, "bin", "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]

        def files():
            return {os.path.join(place, name) for place, _, names in os.walk(venv) for name in names if not name.endswith(".pyc")}
        before = files()
        for arguments in (["install", "--no-deps", "--no-compile", wheel], ["install", "--no-deps", "--no-compile", "--force-reinstall", wheel]):
            subprocess.run(pip + arguments, check=True, env=environment)
            self.assertIn("program of the Python package", self.run_one(os.path.join(venv, "bin", "rankfeed"), "--version").stdout)
        subprocess.run(pip + ["uninstall", "--yes", "rankfeed"], check=True, env=environment)
        self.assertEqual(files(), before)


if __name__ == "__main__":
    unittest.main()
