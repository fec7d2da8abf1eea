# SPDX-License-Identifier: MIT
"""run_shell.py SOURCE BUILD RANKFEED PYTHON pages|helps: executes the shell blocks of the documents, or the examples of the helps.

Every fenced block of README.md, CONTRIBUTING.md, docs/, fuzz/README.md and examples/README.md is looked at. Shell commands run
in a scratch folder that holds the files their pages name (vocab.rfimg, passages.jsonl, ...), with the
build's `rankfeed` first on the path; a command that fails fails the test. Commands that install, build, or
take minutes are not run again here: ELSEWHERE says which part of the tests or of continuous integration
runs each, and a name there that is not a test, preset, target or file any more fails too, as does an
entry that no page uses. Blocks of a language that nobody executes fail. Standard library only."""

import atexit
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

# What executes blocks of other languages.
LANGUAGES = {"cpp": "tests/readme/CMakeLists.txt", "c": "tests/readme/CMakeLists.txt",
             "python": "tests/readme/run_docs.py", "cmake": "tests/docs/run_cmake.sh", "json": "below",
             "ini": "tests/serve/model_test.py", "mermaid": "tests/docs/architecture_test.py", "pycon": "tests/readme/run_session.py"}

# Commands (their beginning) that run elsewhere, and where: kind:name, looked up below.
ELSEWHERE = {
    "scripts/demo.sh": "preset:demo",  # ci runs its parts; tests/gpu_handoff/rerank_cli_test.sh its last command
    "rankfeed serve --model": "file:tests/serve/model_test.py",
    "scripts/test.sh": "file:scripts/test.sh",  # this very run
    "scripts/install-deps.sh long": "file:scripts/install-deps.sh",
    "ctest --preset release": "preset:release",
    "build-release/tests/words_test": "test:words_test",
    "scripts/python-env.sh long": "file:scripts/python-env.sh",
    "ctest --preset long": "preset:long",
    "cmake --install build": "test:consumer_install",
    "ldconfig": "test:readme_bare_debian_long",
    "c++ -std=c++20 main.cc -o main $(pkg-config": "test:readme_bare_debian_long",
    "cc -std=c11 main.c -o main_c $(pkg-config": "test:readme_bare_debian_long",
    "./main": "test:readme_examples",
    "python3 -m venv venv": "test:readme_bare_debian_long",
    "venv/bin/pip install .": "test:python_wheel",
    "venv/bin/python main.py": "test:readme_python",
    "c++ -std=c++20 main.cc $(pkg-config": "test:consumer_pkgconfig_shared",
    "cc -std=c11 main.c $(pkg-config": "test:consumer_c_only",
    "cmake --preset bench": "preset:bench",
    "cmake --build --preset bench": "preset:bench",
    "build-bench/bench/bench_": "preset:bench",
    "scripts/bench-sentencepiece.sh": "test:bench_newest_long_test",
    "bench/run.py": "file:bench/run.py",
    "bench/callgrind.py": "file:bench/callgrind.py",
    "cmake --preset dev": "preset:dev",
    "cmake --build --preset dev": "preset:dev",
    "ctest --preset dev": "preset:dev",
    "cmake --preset clang": "preset:clang",
    "cmake --build --preset clang": "preset:clang",
    "cmake --preset fuzz": "preset:fuzz",
    "cmake --build --preset fuzz": "preset:fuzz",
    "cmake --preset checked": "preset:checked",
    "cmake --preset release": "preset:release",
    "cmake --build --preset release": "preset:release",
    "cmake --build build-fuzz-asan": "target:rankfeed_fuzz",
    "fuzz/run.py": "file:fuzz/run.py",
    ".venv/bin/python tests/oracle/bulk_sp.py": "file:tests/oracle/bulk_sp.py",
    ".venv/bin/python tests/oracle/bulk_forms.py": "file:tests/oracle/bulk_forms.py",
    "python -m rankfeed compile": "test:python_from_transformers_test",
    "python -m rankfeed pretokenize": "test:python_ray_long",
    "tests/serve/load_test.py": "test:serve_load_test",
    "bench/serve_load.py": "file:bench/serve_load.py",
    "bench/bench_documents.py": "file:bench/bench_documents.py",
    "pip install .": "test:python_wheel",
    "scripts/gpu-check.sh": "test:gpu_check_dry_run",
    "scripts/static-libs.sh": "test:consumer_static_whole",
    "export PKG_CONFIG_PATH=": "test:consumer_static_whole",
    "cc -std=c11 main.c -o main_c -static": "test:consumer_static_whole",
    "c++ -std=c++20 main.cc -o main -static": "test:consumer_static_whole",
    "cmake -S examples": "test:examples_test",
    "cmake --build examples/build": "test:examples_test",
    "cc -std=c11 examples/scores.c": "test:examples_test",
    "c++ -std=c++20 examples/scores.cc": "test:examples_test",
    "cc -std=c11 -pthread examples/thread_pool.c": "test:examples_test",
    "hf download cross-encoder/ms-marco-MiniLM-L6-v2": "file:tests/examples/examples_test.sh",  # makes another model
    "rankfeed compile minilm": "test:examples_test",
    "examples/build/": "test:examples_test",
    "conan create packaging/conan": "test:packages_conan_long",
    "vcpkg install rankfeed": "test:packages_test",  # with the port's functions played
    "spack develop --path": "test:packages_test",
    "LD_LIBRARY_PATH=build-release/fake_gpu": "file:tests/fake_gpu/rerank_test.py",
}

# Sizes that make an example worth reading are made smaller for the test.
SMALLER = [("--requests 1000", "--requests 40"), ("--sweep 0.5,2,4", "--sweep 2"), ("--load 1 ", "--load 8 "),
           ("adapter.py tokie", "adapter.py tokenizers")]


def blocks(path):
    """(line, language, text) of each fenced block."""
    found, language, begin, lines = [], None, 0, []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("```"):
            if language is None:
                language, begin, lines = line[3:].strip(), number, []
            else:
                found.append((begin, language, "\n".join(lines)))
                language = None
        elif language is not None:
            lines.append(line)
    assert language is None, f"{path}: a block does not end"
    return found


def commands(text):
    """Commands of a block: continued lines joined, comments dropped, `a && b` apart."""
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        line = re.sub(r"(^|\s)#.*$", "", line).strip()
        for part in re.split(r"\s&&\s", line):
            if part:
                yield part


def exists(source, build, kind, name):
    if kind == "file":
        return (source / name).exists()
    if kind == "preset":
        presets = json.loads((source / "CMakePresets.json").read_text())
        return any(p["name"] == name for p in presets["configurePresets"] + presets["testPresets"])
    text = "\n".join(p.read_text(encoding="utf-8") for p in source.rglob("CMakeLists.txt")
                     if not p.relative_to(source).parts[0].startswith(("build", ".")))
    if kind == "target":
        return name in text
    stem = name.split("_long")[0]
    return name in text or any(f"{prefix}_${{" in text or f"{prefix}_{stem[len(prefix) + 1:]}" in text
                               for prefix in ("consumer",) if stem.startswith(prefix))


def compile_vocabulary(folder, source, rankfeed):
    subprocess.run([rankfeed, "compile", source / "data/default.model", "-o", folder / "vocab.rfimg"], check=True,
                   stdout=subprocess.DEVNULL)


def prepare(folder, source, rankfeed, python):
    """The files that the pages name."""
    for name in ("data", "bench", "tests", "fuzz", "scripts"):
        (folder / name).symlink_to(source / name)
    docs = (source / "data/sample/docs.jsonl").read_text(encoding="utf-8")
    (folder / "passages.jsonl").write_text(docs, encoding="utf-8")
    texts = [json.loads(line)["text"] for line in docs.splitlines()]
    (folder / "passages.txt").write_text("\n".join(" ".join(t.split()) for t in texts) + "\n", encoding="utf-8")
    (folder / "questions.txt").write_text("What is a panda?\nWhere do bears live?\n", encoding="utf-8")
    model = source / "data/default.model"
    with open(folder / "tokenizer.json", "w", encoding="utf-8") as file:
        subprocess.run([python, source / "data/make_tokenizer_json.py", model], check=True, stdout=file)
    compile_vocabulary(folder, source, rankfeed)
    subprocess.run([rankfeed, "trace", "make", "--docs", folder / "passages.jsonl", "--queries", folder / "questions.txt",
                    "--requests", "40", "--rate", "40", "-o", folder / "live.jsonl"], check=True, stdout=subprocess.DEVNULL)
    with open(folder / "ids.txt", "w", encoding="utf-8") as file:
        subprocess.run([rankfeed, "encode", "--vocab", folder / "vocab.rfimg", folder / "passages.txt"], check=True, stdout=file)


def commands_of(rankfeed, *words):
    """The commands that a help lists, and for each the examples that end its own."""
    text = subprocess.run([rankfeed, *words, "--help"], check=True, capture_output=True, text=True).stdout
    options, _, examples = text.partition("\nExamples:\n")
    names = re.findall(r"^  ([a-z]+) ", options.partition("\nSubcommands:\n")[2], re.M)
    if not names:
        return [(" ".join(words), [line.strip() for line in examples.splitlines() if line])]
    return [found for name in names for found in commands_of(rankfeed, *words, name)]


def prepare_for_help(folder, source, rankfeed):
    """The files that the examples of the helps name, and the pages do not."""
    shutil.copy(source / "data/default.model", folder / "sentencepiece.bpe.model")
    shutil.copy(folder / "live.jsonl", folder / "trace.jsonl")
    shutil.copy(folder / "passages.jsonl", folder / "more.jsonl")
    for name in ("docs", "shard-0", "shard-1"):
        subprocess.run([rankfeed, "corpus", "build", "--vocab", folder / "vocab.rfimg", "--docs", folder / "passages.jsonl", "-o",
                        folder / f"{name}.rfc"], check=True, stdout=subprocess.DEVNULL)
    for name in ("before", "after"):
        subprocess.run([rankfeed, "receipt", "run", "--vocab", folder / "vocab.rfimg", "--trace", folder / "live.jsonl",
                        "--encode-seconds", "0.02", "-o", folder / f"{name}.json"], check=True, stdout=subprocess.DEVNULL)


def curl(command, port):
    """The few options of curl that the pages use; curl itself need not be installed."""
    words = shlex.split(command)[1:]
    url = next(w for w in words if "localhost" in w)
    body = words[words.index("-d") + 1].encode() if "-d" in words else None
    headers = dict([words[words.index("-H") + 1].split(": ", 1)]) if "-H" in words else {}
    request = urllib.request.Request("http://" + re.sub(r"localhost:\d+", f"127.0.0.1:{port}", url), body, headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        content = answer.read()
        assert answer.status == 200 and content, (answer.status, content)


class Run:
    """Commands in the scratch folder, and what was wrong with them."""

    def __init__(self, source, rankfeed, python, folder):
        self.source, self.rankfeed, self.folder = source, rankfeed, folder
        self.problems, self.executed, self.used, self.processes = [], 0, set(), []
        prepare(folder, source, rankfeed, python)
        bin_folder = folder / ".bin"
        bin_folder.mkdir()
        (bin_folder / "rankfeed").symlink_to(rankfeed)
        wrapper = bin_folder / "python3"  # a link would lose its virtual environment
        wrapper.write_text(f"#!/bin/sh\nexec '{python}' \"$@\"\n")
        wrapper.chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"}

    def shell(self, where, command, script):
        done = subprocess.run(["bash", "-c", script], cwd=self.folder, env=self.environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        self.executed += 1
        if done.returncode != 0:
            self.problems.append(f"{where}: {command}\n{done.stdout[-2000:]}")

    def serve(self, command):
        """Starts a service; its port."""
        words = ["data/reranker" if w == "MODEL_FOLDER" else w for w in shlex.split(command)]
        words[0] = self.rankfeed
        for option in ("--port", "--admin-port"):
            if option in words:
                words[words.index(option) + 1] = "0"
        process = subprocess.Popen(words, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, text=True)
        self.processes.append(process)
        self.executed += 1
        return int(re.search(r":(\d+)", process.stdout.readline())[1])

    def block(self, where, text):
        port = None
        for command in commands(text):
            name = next((n for n in sorted(ELSEWHERE, key=len, reverse=True) if command.startswith(n)), None)
            if name is not None:
                self.used.add(name)
            elif command.startswith("rankfeed serve "):
                port = self.serve(command)
            elif command.startswith("curl "):
                if port is not None:
                    curl(command, port)
                    self.executed += 1
            else:
                for large, small in SMALLER:
                    command = command.replace(large, small)
                begin = time.monotonic()
                self.shell(where, command, command)
                print(f"{where}: {command} ({time.monotonic() - begin:.1f} s)")

    def pages(self):
        pages = [self.source / "README.md", self.source / "CONTRIBUTING.md", *sorted((self.source / "docs").glob("*.md")),
                 self.source / "fuzz/README.md", self.source / "examples/README.md"]
        for page in pages:
            compile_vocabulary(self.folder, self.source, self.rankfeed)  # a page may have made another one
            for line, language, text in blocks(page):
                where = f"{page.relative_to(self.source)}:{line}"
                if language == "json":
                    json.loads(text)
                elif language == "sh":
                    self.block(where, text)
                elif language and language not in LANGUAGES:
                    self.problems.append(f"{where}: nothing executes blocks of {language!r}")
                elif language and LANGUAGES[language] != "below" and not (self.source / LANGUAGES[language]).exists():
                    self.problems.append(f"{where}: {LANGUAGES[language]} is not there")
        for process in self.processes:
            process.terminate()
            if process.wait(timeout=60) != 0:
                self.problems.append(f"{process.args[0]} ended with {process.returncode}")

    def elsewhere(self, build):
        """Whether what runs elsewhere is there."""
        self.problems += [f"ELSEWHERE has {n!r}, which no page uses" for n in sorted(set(ELSEWHERE) - self.used)]
        for name in sorted(self.used):
            kind, what = ELSEWHERE[name].split(":", 1)
            if not exists(self.source, build, kind, what):
                self.problems.append(f"{name!r} is said to run as {ELSEWHERE[name]}, which is not there")
            program = self.source / name.split()[0]
            if program.is_file() and not os.access(program, os.X_OK):
                self.problems.append(f"{name!r} is a command of the documents, but not executable")

    def helps(self):
        prepare_for_help(self.folder, self.source, self.rankfeed)
        for name, examples in commands_of(self.rankfeed):
            for command in examples:
                if name == "serve":  # as in docs/serve.md
                    continue
                command = command.replace("MODEL_FOLDER", "data/reranker").replace(" --gate", "")
                self.shell(f"rankfeed {name} --help", command, f"set -o pipefail; {command}")


def main():
    source, build, rankfeed, python = (pathlib.Path(a) for a in sys.argv[1:5])
    with tempfile.TemporaryDirectory() as scratch:
        run = Run(source, rankfeed, python, pathlib.Path(scratch))
        atexit.register(lambda: [process.kill() for process in run.processes if process.poll() is None])
        if sys.argv[5] == "pages":
            run.pages()
            run.elsewhere(build)
        else:
            run.helps()
    print("\n".join(run.problems) or f"{run.executed} commands executed, {len(run.used)} run elsewhere")
    sys.exit(1 if run.problems or run.executed < 15 else 0)


main()
