# SPDX-License-Identifier: MIT
"""framing_test.py RANKFEED: raw requests, the answers to them, and what the connection does then (RFC 9112, RFC 9110).

Every row is sent on a connection of its own, followed by GET /ping with `Connection: close`. The row says the statuses
of all answers until the end of the connection: a last 200 of its own is that of /ping, so a row without it closed."""

import json
import socket
import sys
import time
import unittest

from hostile import read_answer
from server_process import Server

RANKFEED = sys.argv[1]
BODY = json.dumps({"query": "q", "texts": ["a"]}).encode()
SMUGGLED = b"GET /info HTTP/1.1\r\nHost: a\r\n\r\n"
PING = b"GET /ping HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


def chunks(data, size=9, end=b"0\r\n\r\n", extension=b""):
    return b"".join(b"%x%s\r\n%s\r\n" % (len(data[i:i + size]), extension, data[i:i + size])
                    for i in range(0, len(data), size)) + end


def post(*fields, body=b"", version=b"1.1", target=b"/rerank", host=b"Host: a\r\n"):
    return b"POST %s HTTP/%s\r\n%s%s\r\n" % (target, version, host, b"".join(f + b"\r\n" for f in fields)) + body


def get(target=b"/info", version=b"1.1", fields=b"Host: a\r\n", method=b"GET"):
    return b"%s %s HTTP/%s\r\n%s\r\n" % (method, target, version, fields)


LENGTH = b"Content-Length: %d" % len(BODY)
CHUNKED = b"Transfer-Encoding: chunked"
KEPT, ENDED, ANSWERED_AND_ENDED = [200, 200], [400], [200]

# Where a body ends: 9112, 6.
BODIES = [
    ("a length", post(LENGTH, body=BODY), KEPT),
    ("no length and no coding is no body", post(), [400, 200]),
    ("chunked", post(CHUNKED, body=chunks(BODY)), KEPT),
    ("chunked in capitals", post(b"TRANSFER-ENCODING: ChunkeD", body=chunks(BODY)), KEPT),
    ("chunked and white space", post(b"Transfer-Encoding: \t chunked \t", body=chunks(BODY)), KEPT),
    ("chunked and empty elements", post(b"Transfer-Encoding: , chunked ,", body=chunks(BODY)), ENDED),
    ("extensions of chunks", post(CHUNKED, body=chunks(BODY, extension=b";a=b;c=\"d\"")), KEPT),
    ("trailers", post(CHUNKED, body=chunks(BODY, end=b"0\r\nX-A: b\r\n\r\n")), KEPT),
    ("trailers that look like framing",
     post(CHUNKED, body=chunks(BODY, end=b"0\r\nContent-Length: 31\r\nTransfer-Encoding: gzip\r\nHost: b\r\n\r\n")), ENDED),
    ("an unknown coding", post(b"Transfer-Encoding: xchunked", body=SMUGGLED), ENDED),
    ("an unknown coding and a length", post(b"Transfer-Encoding: xchunked", LENGTH, body=BODY + SMUGGLED), ENDED),
    ("chunked is not the last coding", post(b"Transfer-Encoding: chunked, identity", body=SMUGGLED), ENDED),
    ("chunked is not the only coding", post(b"Transfer-Encoding: gzip, chunked", body=chunks(BODY)), ENDED),
    ("chunked twice", post(b"Transfer-Encoding: chunked, chunked", body=chunks(BODY)), ENDED),
    ("chunked in two fields", post(CHUNKED, CHUNKED, body=chunks(BODY)), ENDED),
    ("two fields, the second unknown", post(CHUNKED, b"Transfer-Encoding: cow", body=chunks(BODY)), ENDED),
    ("two fields, the first unknown", post(b"Transfer-Encoding: cow", CHUNKED, body=chunks(BODY)), ENDED),
    ("identity", post(b"Transfer-Encoding: identity", LENGTH, body=BODY), ENDED),
    ("an empty coding", post(b"Transfer-Encoding:", LENGTH, body=BODY), ENDED),
    ("an empty coding and no length", post(b"Transfer-Encoding: ", body=SMUGGLED), ENDED),
    ("a coding in quotes", post(b'Transfer-Encoding: "chunked"', body=SMUGGLED), ENDED),
    ("a coding with a parameter", post(b"Transfer-Encoding: chunked;q=1", body=chunks(BODY)), ENDED),
    ("a coding with a control character", post(b"Transfer-Encoding: \x0bchunked", body=SMUGGLED), ENDED),
    ("a folded coding", post(b"Transfer-Encoding: x,\r\n chunked", body=SMUGGLED), ENDED),
    ("white space before the colon", post(b"Transfer-Encoding : chunked", body=chunks(BODY)), ENDED),
    ("white space before the colon of a length", post(b"Content-Length : %d" % len(BODY), body=BODY), ENDED),
    ("a name with an underscore is another field", post(b"Transfer_Encoding: chunked", LENGTH, body=BODY), KEPT),
    ("a length and chunked", post(LENGTH, CHUNKED, body=chunks(BODY)), ENDED),
    ("chunked and a length", post(CHUNKED, LENGTH, body=chunks(BODY)), ENDED),
    ("chunked in HTTP/1.0", post(CHUNKED, body=chunks(BODY), version=b"1.0"), ENDED),
    ("chunked in HTTP/1.0, kept", post(CHUNKED, b"Connection: keep-alive", body=chunks(BODY), version=b"1.0"), ENDED),
    ("chunked of a GET in HTTP/1.0", get(version=b"1.0", fields=CHUNKED + b"\r\n") + chunks(SMUGGLED), ENDED),
    ("an unknown coding of a GET", get(fields=b"Host: a\r\nTransfer-Encoding: x\r\n") + SMUGGLED, ENDED),
    ("two lengths", post(LENGTH, b"Content-Length: 3", body=BODY), ENDED),
    ("the same length twice", post(LENGTH, LENGTH, body=BODY), ENDED),
    ("a list of lengths", post(b"Content-Length: %d, %d" % (len(BODY), len(BODY)), body=BODY), ENDED),
    ("a signed length", post(b"Content-Length: +%d" % len(BODY), body=BODY), ENDED),
    ("a negative length", post(b"Content-Length: -1", body=SMUGGLED), ENDED),
    ("a length in hexadecimal", post(b"Content-Length: 0x%x" % len(BODY), body=BODY), ENDED),
    ("no digits", post(b"Content-Length:", body=SMUGGLED), ENDED),
    ("a length with a fraction", post(b"Content-Length: %d.0" % len(BODY), body=BODY), ENDED),
    ("a length of two words", post(b"Content-Length: 1 2", body=BODY), ENDED),
    ("a length of more than 64 bits", post(b"Content-Length: 18446744073709551617", body=b"{}" + SMUGGLED), ENDED),
    ("a length with white space", post(b"Content-Length: \t%d \t" % len(BODY), body=BODY), KEPT),
    ("a length with zeros before it", post(b"Content-Length: 000%d" % len(BODY), body=BODY), KEPT),
    ("a GET with a body", get(fields=b"Host: a\r\nContent-Length: %d\r\n" % len(SMUGGLED)) + SMUGGLED, KEPT),
    ("a chunk without a size", post(CHUNKED, body=b"\r\n" + SMUGGLED), ENDED),
    ("a signed chunk", post(CHUNKED, body=b"+5\r\nhello\r\n0\r\n\r\n"), ENDED),
    ("a chunk in 0x", post(CHUNKED, body=b"0x5\r\nhello\r\n0\r\n\r\n"), ENDED),
    ("a chunk longer than its size", post(CHUNKED, body=b"5\r\nhelloo\r\n0\r\n\r\n"), ENDED),
    ("a chunk of more than 64 bits", post(CHUNKED, body=b"10000000000000005\r\nhello\r\n0\r\n\r\n"), ENDED),
    ("a chunk of more than is taken", post(CHUNKED, body=b"ffffffff\r\nhello"), [413]),
    ("an extension without end", post(CHUNKED, body=b"5;" + b"a" * 1_000_000), ENDED),
    ("a chunk whose line ends in LF", post(CHUNKED, body=b"2\n{}\r\n0\r\n\r\n"), ENDED),
]

# Lines, versions, hosts and targets: 9112, 2, 3 and 5; 9110, 4.2, 7.2 and 9.3.
HEADS = [
    ("an empty line before", b"\r\n" + get(), KEPT),
    ("two empty lines before, as after the body of an old client", post(LENGTH, body=BODY + b"\r\n") + b"\r\n" + get(), [200, 200, 200]),
    ("nothing but empty lines", b"\r\n" * 40_000, [431]),
    ("bare LF", b"GET /info HTTP/1.1\nHost: a\n\n", ENDED),
    ("a bare CR in a field", get(fields=b"Host: a\r\nX-A: b\rTransfer-Encoding: chunked\r\n"), ENDED),
    ("a NUL in a field", get(fields=b"Host: a\r\nX-A: b\0c\r\n"), ENDED),
    ("white space before the first field", get(fields=b" X-A: b\r\nHost: a\r\n"), ENDED),
    ("a field without a colon", get(fields=b"Host: a\r\nX-A\r\n"), ENDED),
    ("a field without a name", get(fields=b"Host: a\r\n: b\r\n"), ENDED),
    ("HTTP/1.0 closes", get(version=b"1.0"), ANSWERED_AND_ENDED),
    ("HTTP/1.0 is kept when asked", get(version=b"1.0", fields=b"Connection: keep-alive\r\n"), KEPT),
    ("HTTP/1.1 closes when asked", get(fields=b"Host: a\r\nConnection: x, Close\r\n"), ANSWERED_AND_ENDED),
    ("HTTP/1.2 is answered as 1.1", get(version=b"1.2"), KEPT),
    ("HTTP/1.9 with a body", post(LENGTH, body=BODY, version=b"1.9"), KEPT),
    ("chunked in HTTP/1.2", post(CHUNKED, body=chunks(BODY), version=b"1.2"), KEPT),
    ("HTTP/1.2 closes when asked", get(version=b"1.2", fields=b"Host: a\r\nConnection: close\r\n"), ANSWERED_AND_ENDED),
    ("HTTP/1.2 without a Host", get(version=b"1.2", fields=b""), ENDED),
    ("HTTP/1.2 after empty lines and after 1.1", b"\r\n" + get() + get(version=b"1.2"), [200, 200, 200]),
    ("HTTP/1.22", get(version=b"1.22"), ENDED),
    ("HTTP/1.a", get(version=b"1.a"), ENDED),
    ("HTTP/01.2", get(version=b"01.2"), ENDED),
    ("HTTP/3.2", get(version=b"3.2"), ENDED),
    ("http/1.2", get(version=b"1.2").replace(b"HTTP", b"http"), ENDED),
    ("HTTP/1.2 inside of a target", get(b"/info HTTP/1.2"), ENDED),
    ("HTTP/0.9", b"GET /info\r\n\r\n", ENDED),
    ("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", ENDED),
    ("another protocol", get().replace(b"HTTP", b"HTTQ"), ENDED),
    ("two keys", get(fields=b"Host: a\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n"), ENDED),
    ("no Host", get(fields=b""), ENDED),
    ("an empty Host", get(fields=b"Host:\r\n"), KEPT),
    ("two Hosts", get(fields=b"Host: a\r\nHost: a\r\n"), ENDED),
    ("two Hosts in HTTP/1.0", get(version=b"1.0", fields=b"Host: a\r\nHost: b\r\n"), ENDED),
    ("a list of Hosts", get(fields=b"Host: a, b\r\n"), ENDED),
    ("a Host with a path", get(fields=b"Host: a/b\r\n"), ENDED),
    ("a Host with a user", get(fields=b"Host: u@a\r\n"), ENDED),
    ("a Host with a port", get(fields=b"Host: a.example:8080\r\n"), KEPT),
    ("a Host with a wrong port", get(fields=b"Host: a:b\r\n"), ENDED),
    ("a Host of IPv6", get(fields=b"Host: [::1]:80\r\n"), KEPT),
    ("a Host that is no IPv6", get(fields=b"Host: [::1\r\n"), ENDED),
    ("an absolute target", get(b"http://a.example:80/info?x=y"), KEPT),
    ("an absolute target in capitals", get(b"HTTP://a/info"), KEPT),
    ("an absolute target without a path", get(b"http://a"), KEPT),
    ("an absolute target without a Host", get(b"http://a/info", fields=b""), ENDED),
    ("an absolute target of another scheme", get(b"ftp://a/info"), ENDED),
    ("an absolute target without a host", get(b"http:///info"), ENDED),
    ("a target that does not begin with a slash", get(b"info"), ENDED),
    ("a target with a query", get(b"/info?a=/b/"), KEPT),
    ("a slash too many", post(LENGTH, body=BODY, target=b"//rerank"), KEPT),
    ("a trailing slash", get(b"/info/"), KEPT),
    ("a trailing slash of a route that is not", get(b"/no/"), [404, 200]),
    ("a star for OPTIONS", get(b"*", method=b"OPTIONS"), KEPT),
    ("a star for GET", get(b"*"), ENDED),
    ("an authority", get(b"a:80", method=b"CONNECT"), ENDED),
    ("OPTIONS", get(b"/rerank", method=b"OPTIONS"), KEPT),
    ("an unknown method", get(method=b"COW"), [405, 200]),
    ("methods are told apart by case", get(method=b"get"), [405, 200]),
    ("PUT with a body closes", get(method=b"PUT", fields=b"Host: a\r\nContent-Length: %d\r\n" % len(SMUGGLED)) + SMUGGLED, [405]),
    ("expectations in capitals", post(LENGTH, b"Expect: 100-CONTINUE", body=BODY), [100, 200, 200]),
    ("HTTP/1.0 knows no expectations", post(LENGTH, b"Expect: 100-continue", body=BODY, version=b"1.0"), ANSWERED_AND_ENDED),
    ("a coding with white space", post(LENGTH, b"Content-Encoding:  identity\t", body=BODY), KEPT),
    ("a deadline with white space", post(LENGTH, b"X-Deadline-Ms: \t20000 ", body=BODY), KEPT),
]


class Framing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(RANKFEED, (), ["--workers", 1, "--max-length", 64, "--header-timeout-ms", 3000])

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def answers(self, data):
        """All of them until the end of the connection, of which the client has sent nothing more."""
        out = []
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=30) as client:
            client.sendall(data)
            with client.makefile("rb") as file:
                while (answer := read_answer(file)) is not None:
                    out.append(answer)
        return out

    def check(self, rows):
        for name, data, want in rows:
            with self.subTest(name):
                answers = self.answers(data + PING)
                self.assertEqual([status for status, _, _ in answers], want, answers)
                self.assertEqual(answers[-1][1].get("connection"), "close", answers)

    def test_bodies(self):
        self.check(BODIES)

    def test_heads(self):
        self.check(HEADS)

    def test_byte_by_byte(self):
        """The same answers where every byte comes alone."""
        later = [row for row in HEADS if row[0].startswith("HTTP/1.2")]
        for name, data, want in BODIES[:12] + HEADS[:2] + later:
            with self.subTest(name), socket.create_connection(("127.0.0.1", self.server.port), timeout=30) as client:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                try:
                    for i in range(len(data)):
                        client.sendall(data[i:i + 1])
                    client.sendall(PING)
                except OSError:  # refused already
                    self.assertEqual(want, ENDED)
                with client.makefile("rb") as file:
                    self.assertEqual([status for status, _, _ in iter(lambda f=file: read_answer(f), None)], want)

    def test_in_two_parts(self):
        """The same answers where a head comes in two parts, which end and begin around its version."""
        for name, data, want in (row for row in HEADS if row[0].startswith("HTTP/1.")):
            version = data.rindex(b"HTTP/1.")
            for cut in range(version + 6, version + 11):
                with self.subTest(name, cut=cut - version), socket.create_connection(("127.0.0.1", self.server.port), timeout=30) as client:
                    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    try:
                        client.sendall(data[:cut])
                        time.sleep(0.02)  # read before the rest comes
                        client.sendall(data[cut:] + PING)
                    except OSError:  # refused already
                        self.assertEqual(want, ENDED)
                    with client.makefile("rb") as file:
                        self.assertEqual([status for status, _, _ in iter(lambda f=file: read_answer(f), None)], want)

    def test_allow(self):
        """405 and OPTIONS say the methods that there are (9110, 10.2.1 and 15.5.6)."""
        for target, allow in ((b"/rerank", "POST, OPTIONS"), (b"/info", "GET, HEAD, OPTIONS")):
            for method in (b"DELETE", b"OPTIONS", b"HEAD" if target == b"/rerank" else b"POST"):
                with self.subTest((target, method)):
                    data = get(target, method=method, fields=b"Host: a\r\nConnection: close\r\n")
                    with socket.create_connection(("127.0.0.1", self.server.port), timeout=30) as client:
                        client.sendall(data)
                        head, _, content = b"".join(iter(lambda c=client: c.recv(65536), b"")).partition(b"\r\n\r\n")
                    self.assertIn(f"\r\nAllow: {allow}\r\n".encode(), head + b"\r\n")
                    self.assertEqual(head.split()[1], b"200" if method == b"OPTIONS" else b"405")
                    if method == b"HEAD":
                        self.assertEqual(content, b"")

    def test_refused_head_has_no_content(self):
        """Content after the answer to HEAD would be read as the next answer (9110, 9.3.2)."""
        for fields in (b"", b"Host: a\r\nTransfer-Encoding: x\r\n"):
            with socket.create_connection(("127.0.0.1", self.server.port), timeout=30) as client:
                client.sendall(get(method=b"HEAD", fields=fields))
                answer = b"".join(iter(lambda c=client: c.recv(65536), b""))
            self.assertTrue(answer.startswith(b"HTTP/1.1 400 ") and answer.endswith(b"\r\n\r\n"), answer)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
