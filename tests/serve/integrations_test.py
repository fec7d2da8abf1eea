# SPDX-License-Identifier: MIT
"""integrations_test.py RANKFEED: the requests of docs/integrations.md against `rankfeed serve`: each is answered with the ranking that
`rankfeed rerank` gives the same texts, where the page says that it stands. What the page marks as not run is printed with its reason."""

import json
import pathlib
import re
import subprocess
import sys
import unittest

from server_process import SOURCE, Server

RANKFEED = sys.argv[1]
PAGE = pathlib.Path(SOURCE, "docs", "integrations.md").read_text(encoding="utf-8")
REQUEST = re.compile(r"[Rr]equest to `(/[\w/]*)`,\s+whose order is (in `results`|the answer):\n\n```json\n(.*?)\n```", re.S)


class Integrations(unittest.TestCase):
    def test_requests_are_answered_as_the_page_says(self):
        server = Server(RANKFEED, (), ["--workers", 1], corpus=False)
        self.addCleanup(server.stop)
        requests = REQUEST.findall(PAGE)
        self.assertEqual(len(requests), PAGE.count("equest to `/"))
        self.assertGreaterEqual(len(requests), 4)
        for path, place, text in requests:
            body = json.loads(text)
            documents = body.get("documents") or body["texts"]
            done = subprocess.run([RANKFEED, "rerank", "--vocab", server.vocab, "--model", server.model, "--query", body["query"], "--docs", "-", "--json"],
                                  input="".join(document + "\n" for document in documents), capture_output=True, text=True, check=True)
            want = [place["index"] for place in json.loads(done.stdout)["results"]][:body.get("top_n")]
            answer = server.post(path, body)[1]
            got = answer["results"] if place == "in `results`" else answer
            self.assertEqual([one["index"] for one in got], want, (path, body))
            for one in got:
                self.assertIn("relevance_score" if place == "in `results`" else "score", one)
                if body.get("return_documents"):
                    text = one["document"]
                    self.assertEqual(text["text"] if isinstance(text, dict) else text, documents[one["index"]])

    def test_what_no_test_runs_says_so(self):
        clients = pathlib.Path(SOURCE, "tests", "serve", "clients_test.py").read_text(encoding="utf-8").replace("_", "")
        for section in PAGE.split("\n## ")[1:]:
            name, text = section.split("\n", 1)
            for reason in re.findall(r"\*\*not run\*\*([^)]*)\)", text):
                self.assertRegex(reason, r"\A: \w", name)
                print(f"NOT RUN: {name}{' '.join(reason.split())}")
            run = "```python\n" in text or REQUEST.search(text) or f"def test{name.lower()}(" in clients
            self.assertTrue(run or "**not run**" in text, name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
