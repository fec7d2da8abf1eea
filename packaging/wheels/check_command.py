#!/usr/bin/env python3
"""check_command.py LINE CROSS_ENCODER VOCABULARY -- COMMAND...: fails unless the program that COMMAND starts does what the package beside
it does. LINE is a file with what check.py printed of that package.

It ranks the folder's docs.jsonl and answers a request over HTTP with the package's scores to the bit, compiles VOCABULARY into the
package's image, and says of a command that is left out where it is. Prints what was compared. The interpreter needs no package.
"""
import hashlib
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile
import urllib.request

from check import QUERY

COMMANDS = ("rerank", "serve", "encode", "compile", "parity", "info")


def ended(command: list, *arguments: str, code: int = 0) -> subprocess.CompletedProcess:
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=600)
    if done.returncode != code:
        sys.exit(f"rankfeed {' '.join(arguments)}: status {done.returncode}: {done.stderr}")
    return done


def served(command: list, folder: str) -> list:
    """Scores in order of index, of the service's answer."""
    with open(os.path.join(folder, "docs.jsonl"), encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line in file]
    service = subprocess.Popen([*command, "serve", "--model", folder, "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        port = re.search(r":(\d+)$", service.stdout.readline().strip())[1]
        body = json.dumps({"query": QUERY, "texts": texts, "truncate": True}).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{port}/rerank", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=600) as answer:
            places = {place["index"]: place["score"] for place in json.load(answer)}
        service.send_signal(signal.SIGTERM)
        if service.wait(60):
            sys.exit(f"rankfeed serve ended with status {service.returncode}")
    finally:
        service.kill()
    # Printed with the digits that tell floats apart, and no more.
    return [struct.unpack("f", struct.pack("f", places[i]))[0] for i in range(len(texts))]


def main(line: str, folder: str, vocabulary: str, *rest: str) -> None:
    command = list(rest[1:])
    want = json.loads(pathlib.Path(line).read_text(encoding="utf-8"))
    version = ended(command, "--version").stdout.strip()
    if "program of the Python package" not in version:
        sys.exit(f"--version says {version!r}")
    told = ended(command, "--help").stdout
    missing = [name for name in COMMANDS if not re.search(rf"^ +{name}\b", told, re.M)]
    if missing:
        sys.exit(f"--help does not have {missing}")
    ranked = json.loads(ended(command, "rerank", "--model", folder, "--query", QUERY, "--docs", os.path.join(folder, "docs.jsonl"), "--json").stdout)
    if {place["index"]: place["score"] for place in ranked["results"]} != dict(enumerate(want["scores"])):
        sys.exit("rankfeed rerank: scores are not those of the package")
    if served(command, folder) != want["scores"]:
        sys.exit("rankfeed serve: scores are not those of the package")
    with tempfile.TemporaryDirectory() as work:
        image = os.path.join(work, "image")
        ended(command, "compile", vocabulary, "-o", image)
        if hashlib.sha256(pathlib.Path(image).read_bytes()).hexdigest() != want[os.path.basename(vocabulary)]["image"]:
            sys.exit("rankfeed compile: the image is not the package's")
    if "is in the C++ build" not in ended(command, "audit", code=1).stderr:
        sys.exit("rankfeed audit does not say where it is")
    print("rerank, serve, compile")


main(*sys.argv[1:])
