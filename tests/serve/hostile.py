# SPDX-License-Identifier: MIT
"""What the tests with hostile clients share: requests as bytes, answers from a socket, and a liveness probe."""

import http.client
import json
import resource
import select
import subprocess
import sys
import time


def raise_descriptors():
    """As many open files as the system allows; that number."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def http_request(body, path="/rerank", fields="", version="1.1"):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return (f"POST {path} HTTP/{version}\r\nHost: localhost\r\nContent-Length: {len(data)}\r\n{fields}\r\n").encode() + data


def read_answer(file):
    """Status, fields and content of the next answer; None at the end of the connection."""
    line = file.readline()
    if not line:
        return None
    status, fields = int(line.split(b" ")[1]), {}
    while (field := file.readline()) not in (b"\r\n", b""):
        name, value = field.decode().split(":", 1)
        fields[name.lower()] = value.strip()
    return status, fields, file.read(int(fields.get("content-length", 0)))


class Probe:
    """GET /health on both listeners, again and again, each on a connection of its own, from a process of its own."""

    def __init__(self, server):
        self.process = subprocess.Popen([sys.executable, "-B", __file__, str(server.port), str(server.admin_port)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.failed, self.count = [], 0

    def stop(self):
        """Milliseconds: p50, p99, longest. What failed is in `failed`."""
        seen = json.loads(self.process.communicate("stop\n", timeout=60)[0])
        self.failed, ordered = seen["failed"], sorted(seen["seconds"])
        self.count = len(ordered)
        p50, p99, longest = (round(1e3 * s, 1) for s in (ordered[len(ordered) // 2], ordered[int(0.99 * len(ordered))], ordered[-1]))
        print(f"{self.count} probes, p50 {p50} ms, p99 {p99} ms, longest {longest} ms")
        return p50, p99, longest


def probe(ports):
    seconds, failed = [], []
    while not select.select([sys.stdin], [], [], 0.02)[0]:
        for port in ports:
            begin = time.monotonic()
            try:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
                connection.request("GET", "/health")
                status = connection.getresponse().status
                connection.close()
                if status != 200:
                    failed.append((port, status))
            except OSError as error:
                failed.append((port, repr(error)))
            seconds.append(time.monotonic() - begin)
    print(json.dumps({"seconds": seconds, "failed": failed}))


if __name__ == "__main__":
    probe([int(port) for port in sys.argv[1:]])
