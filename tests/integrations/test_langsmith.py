from __future__ import annotations

import asyncio
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from langsmith import Client, aevaluate, evaluate, traceable
from langsmith.schemas import Example

import sgi
from sgi.integrations.langsmith import SgiEvaluator
from support.adapter_contract import CONTRADICTED, SUPPORTED, AdapterContract, HostResult, HostRow


class AcceptAll(BaseHTTPRequestHandler):
    """Accepts runs: `aevaluate` sends those of the target, also without `upload_results`."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(202)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    do_PATCH = do_POST

    def log_message(self, *_):
        """Log nothing."""


@pytest.fixture
def service():
    with ThreadingHTTPServer(("127.0.0.1", 0), AcceptAll) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def run_experiment(target, examples, evaluator):
    return list(
        evaluate(
            target,
            data=examples,
            evaluators=[evaluator],
            upload_results=False,
            client=Client(api_key="offline", auto_batch_tracing=False),
            max_concurrency=8,
        )
    )


def example(inputs, outputs=None):
    return Example(id=uuid.uuid4(), inputs=inputs, outputs=outputs)


def feedback(row):
    return {result.key: result for result in row["evaluation_results"]["results"]}


class TestLangSmith(AdapterContract):
    name = "langsmith"
    mean = "plain"

    def evaluate(self, rows, metric, embedder=None):
        examples = [
            example({"question": row.get("question"), "number": number}, {"answer": row.get("reference")})
            for number, row in enumerate(rows)
        ]

        def answer(inputs):
            row = rows[inputs["number"]]
            return {name: row[name] for name in ("response", "contexts") if name in row}

        recorded = run_experiment(answer, examples, SgiEvaluator(metric, embedder))
        recorded.sort(key=lambda row: row["example"].inputs["number"])
        results = [feedback(row) for row in recorded]
        for result in results:
            assert result[metric].extra is None
            assert result[f"{metric}.coverage"].score == (result[metric].score is not None)
        values = [result[metric].score for result in results if result[metric].score is not None]
        return HostResult(
            [HostRow(result[metric].score, result[metric].comment or "") for result in results],
            sum(values) / len(values) if values else None,
            sum(result[f"{metric}.coverage"].score for result in results) / len(results),
        )


def test_passages_come_from_the_retrievers_of_the_run():
    @traceable(run_type="retriever")
    def retrieve(question):
        return [{"page_content": text, "type": "Document"} for text in SUPPORTED["contexts"]]

    def target(inputs):
        retrieve(inputs["question"])
        return {"answer": SUPPORTED["response"]}

    (row,) = run_experiment(target, [example({"question": SUPPORTED["question"]})], SgiEvaluator())
    assert feedback(row)["grounding"].score == sgi.evaluate([SUPPORTED], "grounding")["grounding"].values[0]


def test_texts_in_the_outputs_win_over_the_retrievers():
    @traceable(run_type="retriever")
    def retrieve(question):
        return [{"page_content": "Something else.", "type": "Document"}]

    def target(inputs):
        retrieve(inputs["question"])
        return {"answer": SUPPORTED["response"], "docs": [{"text": text} for text in SUPPORTED["contexts"]]}

    (row,) = run_experiment(target, [example({"question": SUPPORTED["question"]})], SgiEvaluator())
    assert feedback(row)["grounding"].score == sgi.evaluate([SUPPORTED], "grounding")["grounding"].values[0]


def test_a_failed_run_has_no_value_and_the_comment_has_the_error():
    def target(inputs):
        raise RuntimeError("no connection")

    (row,) = run_experiment(
        target, [example({"question": "Who?"}, {"answer": "Ada"})], SgiEvaluator("squad_em")
    )
    result = feedback(row)["squad_em"]
    assert result.score is None
    assert result.comment == (
        "missing: the sample has no response "
        "(reference_outputs has 'answer'; inputs has 'question'). "
        "The run failed: RuntimeError('no connection')"
    )


def test_messages_are_questions_and_answers():
    def target(inputs):
        return {"messages": [*inputs["messages"], {"role": "assistant", "content": "Paris"}]}

    inputs = {
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Capital?"}]
    }
    evaluator = SgiEvaluator(["squad_em", "sgi"])
    (row,) = run_experiment(target, [example(inputs, {"answer": "paris"})], evaluator)
    assert feedback(row)["squad_em"].score == 1.0
    assert feedback(row)["sgi"].comment.startswith("missing: the sample has no contexts")


def test_columns_name_other_places():
    def target(inputs):
        return {"final": {"text": SUPPORTED["response"]}, "hits": SUPPORTED["contexts"]}

    columns = {"response": "outputs.final.text", "contexts": "outputs.hits"}
    (row,) = run_experiment(
        target, [example({"question": SUPPORTED["question"]})], SgiEvaluator(columns=columns)
    )
    assert feedback(row)["grounding"].score == sgi.evaluate([SUPPORTED], "grounding")["grounding"].values[0]


def test_an_async_experiment_gives_the_same_scores(service):
    async def target(inputs):
        return {"answer": inputs["row"]["response"], "contexts": inputs["row"]["contexts"]}

    async def run():
        client = Client(service, api_key="offline", auto_batch_tracing=False)
        data = [example({"question": row["question"], "row": row}) for row in (SUPPORTED, CONTRADICTED)]
        evaluators = [SgiEvaluator()]
        results = await aevaluate(
            target, data=data, evaluators=evaluators, upload_results=False, client=client
        )
        rows = [row async for row in results]
        return {row["example"].inputs["row"]["response"]: feedback(row)["grounding"].score for row in rows}

    expected = sgi.evaluate([SUPPORTED, CONTRADICTED], "grounding")["grounding"].values.tolist()
    assert asyncio.run(run()) == dict(
        zip((SUPPORTED["response"], CONTRADICTED["response"]), expected, strict=True)
    )
