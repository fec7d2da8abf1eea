# SPDX-License-Identifier: MIT
"""deploy_test.py RANKFEED: the files of packaging/deploy by the programs that read them: nginx's configuration by nginx, which
then passes requests on over TLS, Prometheus's by promtool, which also reads /metrics, and the compose file by
docker-compose. Needs Debian's nginx-light, prometheus, docker-compose and openssl; no container is started."""

import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest

from server_process import SOURCE, Server

RANKFEED = sys.argv[1]
FILES = pathlib.Path(SOURCE, "packaging", "deploy")
RERANK = json.dumps({"query": "What do pandas eat?", "texts": ["A panda is a bear.", "Bamboo."]})


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout + done.stderr


class Deploy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.server = Server(RANKFEED, (), ["--workers", 1], corpus=False)
        self.addCleanup(self.server.stop)

    def nginx(self):
        """nginx with the file as it is but for the machine's ports and the certificate; the port it listens on."""
        port = free_port()
        run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=rerank.example.org",
            "-addext", "subjectAltName=DNS:rerank.example.org", "-keyout", self.folder / "privkey.pem", "-out", self.folder / "fullchain.pem")
        site = (FILES / "nginx.conf").read_text(encoding="utf-8")
        for old, new in (("127.0.0.1:8080", f"127.0.0.1:{self.server.port}"), ("listen 443", f"listen 127.0.0.1:{port}"),
                         ("/etc/ssl/rankfeed", str(self.folder))):
            self.assertIn(old, site)
            site = site.replace(old, new)
        (self.folder / "site.conf").write_text(site, encoding="utf-8")
        temporary = "".join(f"{name}_temp_path {self.folder};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (self.folder / "nginx.conf").write_text(
            f"pid {self.folder}/pid;\nerror_log {self.folder}/error.log;\nevents {{}}\n"
            f"http {{\n{temporary}access_log off;\ninclude {self.folder}/site.conf;\n}}\n", encoding="utf-8")
        program = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
        command = [program, "-c", str(self.folder / "nginx.conf"), "-e", str(self.folder / "error.log")]
        self.assertIn("test is successful", run(*command, "-t"))
        process = subprocess.Popen([*command, "-g", "daemon off; master_process off;"])
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return port
            except ConnectionRefusedError:
                time.sleep(0.05)
        self.fail("nginx does not listen")

    def test_nginx(self):
        port = self.nginx()
        trust = ssl.create_default_context(cafile=str(self.folder / "fullchain.pem"))
        with socket.create_connection(("127.0.0.1", port), timeout=60) as plain, \
                trust.wrap_socket(plain, server_hostname="rerank.example.org") as secure:
            connection = http.client.HTTPConnection("rerank.example.org")
            connection.sock = secure

            def ask(method, path, body=None, **headers):
                connection.request(method, path, body, headers)
                answer = connection.getresponse()
                return answer.status, answer.read(), answer.getheaders()
            for given in ("one-of-the-client", ""):
                status, content, headers = ask("POST", "/rerank", RERANK, **({"X-Request-Id": given} if given else {}))
                self.assertEqual((status, content), (200, json.dumps(self.server.post("/rerank", json.loads(RERANK))[1], separators=(",", ":")).encode()))
                ids = [value for name, value in headers if name.lower() == "x-request-id"]
                self.assertEqual(len(ids), 1)
                self.assertRegex(ids[0], given or "^[0-9a-f]{32}$")  # nginx's own
            self.assertEqual(ask("GET", "/metrics")[0], 404)
            self.assertEqual(ask("GET", "/health")[0], 200)
            self.assertEqual(ask("POST", "/rerank", b"x" * (17 << 20))[0], 413)

    def test_prometheus(self):
        self.assertIn("SUCCESS", run("promtool", "check", "config", FILES / "prometheus.yml"))
        text = self.server.call("GET", "/metrics")[1]
        run("promtool", "check", "metrics", input=text)

    def test_the_dashboard_asks_what_prometheus_can_parse(self):
        panels = json.loads((FILES / "grafana.json").read_text(encoding="utf-8"))["panels"]
        expressions = [target["expr"] for panel in panels for target in panel["targets"]]
        rules = "groups:\n- name: dashboard\n  rules:\n" + "".join(
            f"  - record: dashboard:query{i}\n    expr: {json.dumps(e.replace('$__rate_interval', '1m'))}\n" for i, e in enumerate(expressions))
        (self.folder / "rules.yml").write_text(rules, encoding="utf-8")
        self.assertIn(f"SUCCESS: {len(expressions)} rules found", run("promtool", "check", "rules", self.folder / "rules.yml"))

    def test_compose(self):
        run("docker-compose", "-f", FILES / "compose.yaml", "config", "-q")
        text = (FILES / "compose.yaml").read_text(encoding="utf-8")
        for name in re.findall(r"\./([\w-]+\.\w+):", text):  # files of this folder
            self.assertTrue((FILES / name).exists(), name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
