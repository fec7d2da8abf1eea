# SPDX-License-Identifier: MIT
"""Starts `rankfeed serve` as its unit does, on the default vocabulary with a random cross-encoder, and talks to it."""

import functools
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile

import random_model

SOURCE = os.environ["RANKFEED_SOURCE_DIR"]
MODEL = os.path.join(SOURCE, "data", "default.model")


def command_of_the_unit(rankfeed, options):
    """What packaging/rankfeed.service starts with those words in /etc/default/rankfeed, of that program."""
    with open(os.path.join(SOURCE, "packaging", "rankfeed.service"), encoding="utf-8") as unit:
        command = re.search(r"^ExecStart=(.*)$", unit.read(), re.MULTILINE)[1].split()
    assert command[0] == "/usr/bin/rankfeed" and "$RANKFEED_SERVE_OPTIONS" in command, command
    place = command.index("$RANKFEED_SERVE_OPTIONS")
    return [rankfeed, *command[1:place], *options, *command[place + 1:]]


@functools.cache
def compiled(rankfeed):
    """The image of the default vocabulary, compiled once for all servers of a program."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "vocabulary")
        subprocess.run([rankfeed, "compile", MODEL, "-o", path], check=True, stdout=subprocess.DEVNULL)
        with open(path, "rb") as file:
            return file.read()


class Server:
    """A running server and its files. rankfeed: the command line, which makes images and stores. config: the
    vocabulary is a model's folder with that tokenizer_config.json, not an image. vocab, model: files that are there. one_option: the
    model's folder is the vocabulary, too. corpus: whether there is a store. admin: whether operators have a port. stderr: takes the
    log; None: the test's, which has failures only."""

    def __init__(self, rankfeed, documents=(), arguments=(), environment=None, stderr=None, config=None, vocab=None, model=None,
                 one_option=False, corpus=True, admin=True):
        self.folder = tempfile.TemporaryDirectory()
        self.rankfeed = rankfeed
        self.vocab, self.corpus, self.model = (self.path(n) for n in ("vocabulary", "docs.rfc", "model"))
        if vocab is not None:
            self.vocab = vocab
        elif config is None:
            with open(self.vocab, "wb") as file:
                file.write(compiled(rankfeed))
        else:
            self.write_folder(self.vocab, config)
        info = json.loads(subprocess.run([rankfeed, "info", "--vocab", self.vocab, "--json"], check=True,
                                         capture_output=True).stdout)
        self.id_count, self.pad_id = info["id_count"], info["pad_id"]
        if model is None:
            self.write_model(self.model, 1)
        else:
            self.model = model
        if corpus:
            self.build_corpus(self.corpus, documents or [("none", "")])
        self.process = subprocess.Popen(
            command_of_the_unit(rankfeed, [*([] if one_option else ["--vocab", self.vocab]), "--model", self.model,
                                           *(["--corpus", self.corpus] if corpus else []), "--port", "0",
                                           *(["--admin-port", "0"] if admin else []),
                                           *(["--log-level", "error"] if stderr is None else []), *map(str, arguments)]),
            stdout=subprocess.PIPE, stderr=stderr, text=True, env={**os.environ, **(environment or {})})
        self.port = self.printed_port()
        self.admin_port = self.printed_port() if admin else None

    def printed_port(self):
        line = self.process.stdout.readline()
        found = re.search(r":(\d+)$", line.strip())
        if not found:
            raise RuntimeError(f"the server printed {line!r}, status {self.process.wait()}")
        return int(found[1])

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write_model(self, folder, seed, id_count=None, **options):
        random_model.write(folder, id_count or self.id_count, self.pad_id, seed, **options)

    @staticmethod
    def tokenizer_json():
        """The default vocabulary as the object of a tokenizer.json."""
        return json.loads(subprocess.run([sys.executable, os.path.join(SOURCE, "data", "make_tokenizer_json.py"), MODEL],
                                         check=True, capture_output=True).stdout)

    @classmethod
    def write_folder(cls, folder, config):
        os.mkdir(folder)
        for name, data in (("tokenizer.json", cls.tokenizer_json()), ("tokenizer_config.json", config)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                json.dump(data, file, ensure_ascii=False)

    def compile_permuted(self, image):
        """The default vocabulary as a tokenizer.json whose ordinary pieces have other ids; how many ids it has."""
        file = self.tokenizer_json()
        vocab = file["model"]["vocab"]
        vocab[4:] = vocab[:3:-1]  # <s>, <pad>, </s>, <unk> stay
        with open(image + ".json", "w", encoding="utf-8") as out:
            json.dump(file, out, ensure_ascii=False)
        subprocess.run([self.rankfeed, "compile", image + ".json", "-o", image], check=True, stdout=subprocess.DEVNULL)
        return len(vocab) + 1  # <mask>

    def build_corpus(self, path, documents, vocab=None):
        lines = "".join(json.dumps({"id": i, "text": t}) + "\n" for i, t in documents)
        subprocess.run([self.rankfeed, "corpus", "build", "--vocab", vocab or self.vocab, "--jsonl", "-o", path],
                       input=lines, text=True, check=True, stdout=subprocess.DEVNULL)

    def build_manifest(self, path, stores):
        subprocess.run([self.rankfeed, "corpus", "manifest", "-o", path, *stores], check=True, stdout=subprocess.DEVNULL)

    def call(self, method, path, body=None, headers=None, timeout=60):
        port = self.admin_port if path.startswith("/admin/") else self.port
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        connection.request(method, path, data, {"Content-Type": "application/json", **(headers or {})})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        try:
            content = json.loads(content)
        except ValueError:
            content = content.decode()
        return answer.status, content, dict(answer.getheaders())

    def post(self, path, body, **headers):
        status, content, _ = self.call("POST", path, body, headers)
        return status, content

    def metrics(self):
        out = {}
        for line in self.call("GET", "/metrics")[1].split("\n"):
            if line and not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                out[name] = float(value)
        return out

    def resources(self):
        """Resident bytes, threads, open files."""
        with open(f"/proc/{self.process.pid}/status") as file:
            fields = dict(line.split(":", 1) for line in file)
        return int(fields["VmRSS"].split()[0]) << 10, int(fields["Threads"]), len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def highest_resident(self):
        """Bytes, since it began."""
        with open(f"/proc/{self.process.pid}/status") as file:
            return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM"))

    def stop(self):
        """SIGTERM; what the server printed, and its exit status."""
        self.process.terminate()
        rest = self.process.communicate(timeout=60)[0]
        self.folder.cleanup()
        return rest, self.process.returncode
