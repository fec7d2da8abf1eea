# SPDX-License-Identifier: MIT
"""clients_test.py RANKFEED: the rerank clients that people have, against `rankfeed serve`: cohere's SDK (API 1 and
2, waiting and asynchronous), langchain-cohere, llama-index's postprocessor for text-embeddings-inference,
infinity_client, LiteLLM, Haystack's ranker for Cohere and a search in Milvus Lite; and what reads its documents: a validator of OpenAPI, parsers of Prometheus and OpenMetrics."""

import asyncio
import json
import os
import pathlib
import sys
import tempfile
import unittest
import urllib.request

# Read when they are imported: nothing is fetched, nothing reported.
os.environ.update(LITELLM_LOCAL_MODEL_COST_MAP="True", HAYSTACK_TELEMETRY_ENABLED="False")

import cohere
import litellm
import openapi_spec_validator
from haystack import Document
from haystack.utils import Secret
from haystack_integrations.components.rankers.cohere import CohereRanker
from infinity_client import Client as InfinityClient
from infinity_client.api.default import rerank as infinity_rerank
from infinity_client.models import RerankInput
from langchain_cohere import CohereRerank
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.postprocessor.tei_rerank import TextEmbeddingInference
from pymilvus import DataType, Function, FunctionType, MilvusClient
from prometheus_client import parser as prometheus_parser
from prometheus_client.openmetrics import parser as openmetrics_parser

import bert_folder_test
from server_process import Server

litellm.suppress_debug_info = True
RANKFEED, KEY = sys.argv[1], "a-key"
QUERY = "What do pandas eat?"
DOCUMENTS = ["A panda is a bear.", "Bamboo.", "The capital of France is Paris.", "Pandas eat bamboo all day."]


class Clients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.log = tempfile.TemporaryFile("w+")
        cls.server = cls.start(["--workers", 2, "--model-name", "panda"], {"RANKFEED_API_KEY": KEY}, cls.log)
        cls.url = f"http://127.0.0.1:{cls.server.port}"
        answer = cls.server.post("/v2/rerank", {"query": QUERY, "documents": DOCUMENTS}, Authorization=f"Bearer {KEY}")[1]
        cls.order = [r["index"] for r in answer["results"]]
        cls.scores = [r["relevance_score"] for r in answer["results"]]

    @classmethod
    def start(cls, options, environment, log):
        return Server(RANKFEED, (), options, environment, log)

    @classmethod
    def tearDownClass(cls):
        rest, status = cls.server.stop()
        assert status == 0, rest
        cls.log.seek(0)
        for line in map(json.loads, cls.log):  # what the clients sent, as the service's log has it
            if line["event"] == "request":
                print(line["method"], line["path"], line["status"], line.get("dialect", "-"), line.get("rows", 0), "rows")
        cls.log.close()

    def check(self, indices, scores, count=None):
        self.assertEqual(list(indices), self.order[:count])
        for got, want in zip(scores, self.scores):
            self.assertAlmostEqual(got, want, places=6)

    def test_cohere(self):
        for client in (cohere.Client(api_key=KEY, base_url=self.url), cohere.ClientV2(api_key=KEY, base_url=self.url)):
            answer = client.rerank(model="panda", query=QUERY, documents=DOCUMENTS, top_n=3)
            self.check((r.index for r in answer.results), (r.relevance_score for r in answer.results), 3)
            self.assertEqual(answer.meta.billed_units.search_units, 1)
            with self.assertRaises(cohere.BadRequestError) as wrong:
                client.rerank(model="panda", query=QUERY, documents=[])
            self.assertEqual(wrong.exception.body, {"message": "`documents` cannot be empty"})
        wrong_key = cohere.ClientV2(api_key="another", base_url=self.url)
        with self.assertRaises(cohere.UnauthorizedError):
            wrong_key.rerank(model="panda", query=QUERY, documents=DOCUMENTS)

    def test_cohere_documents(self):
        client = cohere.Client(api_key=KEY, base_url=self.url)
        documents = [{"text": text, "title": str(i)} for i, text in enumerate(DOCUMENTS)]
        answer = client.rerank(model="panda", query=QUERY, documents=documents, return_documents=True)
        self.check((r.index for r in answer.results), (r.relevance_score for r in answer.results))
        self.assertEqual([r.document.text for r in answer.results], [DOCUMENTS[r.index] for r in answer.results])
        fields = client.rerank(model="panda", query=QUERY, documents=documents, rank_fields=["title", "text"])
        joined = client.rerank(model="panda", query=QUERY, documents=[f"title: {i}\ntext: {t}" for i, t in enumerate(DOCUMENTS)])
        self.assertEqual([(r.index, r.relevance_score) for r in fields.results],
                         [(r.index, r.relevance_score) for r in joined.results])
        with self.assertRaises(cohere.BadRequestError):
            client.rerank(model="panda", query=QUERY, documents=[{"title": "no text"}])

    def test_cohere_asynchronous(self):
        async def ask():
            client = cohere.AsyncClientV2(api_key=KEY, base_url=self.url)
            return await asyncio.gather(*(client.rerank(model="panda", query=QUERY, documents=DOCUMENTS) for _ in range(20)))
        for answer in asyncio.run(ask()):
            self.check((r.index for r in answer.results), (r.relevance_score for r in answer.results))

    def test_langchain(self):
        reranker = CohereRerank(model="panda", cohere_api_key=KEY, base_url=self.url, top_n=2)
        answer = reranker.rerank(DOCUMENTS, QUERY)
        self.check((r["index"] for r in answer), (r["relevance_score"] for r in answer), 2)

    def test_llama_index(self):
        postprocessor = TextEmbeddingInference(base_url=self.url, top_n=3, auth_token=f"Bearer {KEY}")
        nodes = [NodeWithScore(node=TextNode(text=text, id_=str(i))) for i, text in enumerate(DOCUMENTS)]
        answer = postprocessor.postprocess_nodes(nodes, query_str=QUERY)
        self.check((int(n.node.id_) for n in answer), (n.score for n in answer), 3)

    def test_infinity(self):
        client = InfinityClient(base_url=self.url, headers={"Authorization": f"Bearer {KEY}"})
        body = RerankInput(query=QUERY, documents=DOCUMENTS, return_documents=True, model="panda")
        answer = infinity_rerank.sync(client=client, body=body)
        self.check((r.index for r in answer.results), (r.relevance_score for r in answer.results))
        self.assertEqual([r.document for r in answer.results], [DOCUMENTS[i] for i in self.order])
        self.assertEqual(answer.model, "panda")
        self.assertGreater(answer.usage.total_tokens, 0)

    def test_litellm(self):
        given = dict(api_base=self.url, api_key=KEY, query=QUERY, documents=DOCUMENTS, top_n=3)
        answers = (litellm.rerank(model="hosted_vllm/panda", **given),
                   litellm.rerank(model="infinity/panda", **{**given, "api_base": self.url + "/infinity"}))
        for answer in answers:
            self.check((r["index"] for r in answer.results), (r["relevance_score"] for r in answer.results), 3)
            self.assertGreater(answer.meta["tokens"]["input_tokens"], 0)
            self.assertEqual([r["document"]["text"] for r in answer.results], [DOCUMENTS[i] for i in self.order[:3]])

    def test_haystack(self):
        ranker = CohereRanker(model="panda", api_key=Secret.from_token(KEY), api_base_url=self.url, top_k=3)
        ranker.warm_up()
        answer = ranker.run(query=QUERY, documents=[Document(content=text, id=str(i)) for i, text in enumerate(DOCUMENTS)])["documents"]
        self.check((int(document.id) for document in answer), (document.score for document in answer), 3)

    def test_milvus(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        client = MilvusClient(os.path.join(folder.name, "milvus.db"))
        self.addCleanup(client.close)
        schema, index = client.create_schema(), client.prepare_index_params()
        schema.add_field("id", DataType.INT64, is_primary=True)
        schema.add_field("text", DataType.VARCHAR, max_length=1000)
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=2)
        index.add_index("vector", index_type="FLAT", metric_type="IP")
        client.create_collection("passages", schema=schema, index_params=index)
        client.insert("passages", [{"id": i, "text": text, "vector": [1.0, i]} for i, text in enumerate(DOCUMENTS)])
        ranker = Function(name="rankfeed", input_field_names=["text"], function_type=FunctionType.RERANK,
                          params={"reranker": "model", "provider": "cohere", "queries": [QUERY], "model_name": "panda", "api_key": KEY,
                                  "base_url": self.url + "/v2"})
        found = client.search("passages", [[1.0, 1.0]], limit=3, output_fields=["text"], ranker=ranker)[0]
        self.check((hit["id"] for hit in found), (hit["distance"] for hit in found), 3)

    def get(self, path, **fields):
        request = urllib.request.Request(self.url + path, headers={"Authorization": f"Bearer {KEY}", **fields})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read().decode(), answer.headers["Content-Type"]

    def test_openapi(self):
        document = json.loads(self.get("/docs")[0])
        openapi_spec_validator.validate(document)
        for path in ("/rerank", "/v1/rerank", "/v2/rerank", "/tokenize", "/decode", "/info", "/health", "/metrics", "/ping", "/docs",
                     "/reranking", "/v1/reranking", "/infinity/rerank", "/score", "/v1/score", "/predict", "/v1/models", "/models"):
            self.assertIn(path, document["paths"])

    def test_metrics(self):
        text, kind = self.get("/metrics")
        self.assertIn("version=0.0.4", kind)
        names = {f.name for f in prometheus_parser.text_string_to_metric_families(text)}
        text, kind = self.get("/metrics", Accept="application/openmetrics-text; version=1.0.0")
        self.assertIn("application/openmetrics-text", kind)
        self.assertEqual(names, {f.name for f in openmetrics_parser.text_string_to_metric_families(text)})
        self.assertIn("rankfeed_request_seconds", names)


class BertClients(Clients):
    """The same of a BERT cross-encoder's folder, by --model alone."""

    @classmethod
    def start(cls, options, environment, log):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        bert_folder_test.write_folder(pathlib.Path(folder.name), "bert")
        return Server(RANKFEED, (), options, environment, log, vocab=folder.name, model=folder.name, one_option=True, corpus=False)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
