"""The public scorer: rows, metrics, models and judges."""

import asyncio
import threading

import anyio
import pytest

import sgi
from sgi.kernel.errors import BudgetExceededError, DataError, UnknownNameError, UsageError
from sgi.kernel.registry import metric
from sgi.kernel.sample import Sample
from sgi.models.embedder.onnx_embedder import OnnxEmbedder
from sgi.service.scorer import Scorer, allowed_metrics
from sgi.store.cache import SqliteCache
from sgi.testing.fakes import HashEmbedder
from support.calibration_files import EMBEDDER, calibration_file
from support.entailment_models import counting_model
from support.judge_server import JudgeServer, ServerReply
from support.judged_metrics import Echo, Politeness, RuleJudge

ROW = {
    "question": "How tall is the tower?",
    "contexts": ["The tower is 330 m tall.", "It is in Paris."],
    "response": "It is 312 m tall. It is in Paris.",
    "reference": "330 m",
}


def equal(scores, expected, number):
    """Compare the scores of one row with those of `evaluate`, to the last bit."""
    assert [*scores] == [*expected]
    for name, score in scores.items():
        other = expected[name]
        value = other.values[number].item() if other.ok[number] else None
        assert (score.value, score.status, score.reason, score.details) == (
            value,
            str(other.status[number]),
            other.reasons[number],
            other.details[number],
        )


def test_scores_equal_those_of_evaluate():
    metrics = ["grounding", "sgi", "rouge_l", "bertscore", "semantic_similarity"]
    rows = [ROW | {"id": str(n), "response": f"Answer {n}. {ROW['response']}"} for n in range(5)]
    rows.append({"id": "blank", "question": "", "contexts": [], "response": " ", "reference": ""})
    rows.append({"id": "absent", "response": None})
    expected = sgi.evaluate(rows, metrics, cache=False)
    with Scorer(metrics) as scorer:
        for number, scores in enumerate(scorer.score_many(rows)):
            equal(scores, expected, number)
        for number, row in enumerate(rows):
            equal(scorer.score(row), expected, number)
        assert scorer.signature(len(rows)) == expected.signature
        assert scorer.metrics == tuple(metrics)


def test_the_default_metrics_need_no_judge():
    with Scorer(embedder=HashEmbedder()) as scorer:
        scores = scorer.score({"response": "Paris.", "reference": "Paris"})
        assert scorer.metrics == ("grounding", "semantic_similarity", "recall")
    assert {name: score.status.value for name, score in scores.items()} == {
        "grounding": "missing",
        "semantic_similarity": "ok",
        "recall": "missing",
    }
    assert scores["grounding"].reason == "the sample has no contexts"


def test_a_scorer_opens_at_the_first_call_and_works_in_an_event_loop():
    async def score():
        scorer = Scorer("content_f1")
        try:
            many = await scorer.ascore_many([ROW, ROW | {"id": "b"}])
            return scorer.score(ROW), await scorer.ascore(ROW), many
        finally:
            await scorer.aclose()

    first, second, many = asyncio.run(score())
    assert [first, first, first] == [second, *many]


def test_async_with_opens_and_closes():
    async def score():
        async with Scorer("content_f1") as scorer:
            return await scorer.ascore(Sample(id="1", response="a cat", reference="a cat"))

    assert anyio.run(score)["content_f1"].value == 1.0


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"answer_text": "x"}, "no column is recognised: found 'answer_text'."),
        (
            {"id": "a", "response": 3, "reference": "b"},
            "row 1: id 'a': field 'response': expected text, found number 3",
        ),
        ("Paris", "row 1: expected a dict or a Sample, found text 'Paris'"),
    ],
)
def test_a_row_that_cannot_be_read_is_refused_as_by_evaluate(row, message):
    with pytest.raises(DataError) as expected:
        sgi.evaluate([row], ["content_f1"])
    with Scorer("content_f1") as scorer, pytest.raises(DataError) as error:
        scorer.score(row)
    assert str(error.value) == str(expected.value)
    assert message in str(error.value)


def test_columns_are_mapped():
    with Scorer("content_f1", columns={"response": "out", "reference": "gold.text"}) as scorer:
        assert scorer.score({"out": "Emma", "gold": {"text": "emma"}})["content_f1"].value == 1.0
    with pytest.raises(UsageError, match="respons"):
        Scorer("content_f1", columns={"respons": "out"})


def test_options_of_whole_runs_are_refused():
    with pytest.raises(UsageError, match="no option 'target'"):
        Scorer("content_f1", target="app:answer")


def test_a_row_with_two_answers_is_refused():
    row = {"question": "q", "knowledge": "k", "right_answer": "a", "hallucinated_answer": "b"}
    with Scorer("content_f1") as scorer, pytest.raises(UsageError, match="two answers"):
        scorer.score(row)


@pytest.mark.parametrize(
    ("metrics", "error", "message"),
    [
        (["groundin"], UnknownNameError, "groundin"),
        (["faithfulness"], UsageError, "A judge is needed for faithfulness"),
        ([], UsageError, "No metric was named"),
    ],
)
def test_metrics_are_checked_when_the_scorer_is_created(metrics, error, message):
    with pytest.raises(error, match=message):
        Scorer(metrics)


def test_a_metric_that_weighs_tokens_over_the_data_is_refused():
    with pytest.raises(UsageError), Scorer("bertscore(idf=true)"):
        pass


def test_several_embedders_stay_open_and_the_first_is_the_primary_one():
    one, two = HashEmbedder(name="one"), HashEmbedder(name="two")
    with Scorer(["semantic_similarity", "sgi"], [one, two]) as scorer:
        scores = scorer.score(ROW)
    assert set(scores["semantic_similarity"].details["models"]) == {"one", "two"}
    assert ROW["contexts"][0] in one.texts_seen
    assert ROW["contexts"][0] not in two.texts_seen


def test_an_asynchronous_embedder_is_awaited_in_the_loop_of_the_scorer():
    class Asynchronous(HashEmbedder):
        async def embed(self, texts, /):
            threads.add(threading.current_thread().name)
            return HashEmbedder.embed(self, texts)

    threads = set()
    with Scorer("semantic_similarity", Asynchronous()) as scorer:
        scores = scorer.score(ROW)
    expected = sgi.evaluate([ROW], "semantic_similarity", HashEmbedder(), cache=False)
    equal(scores, expected, 0)
    assert threads == {"sgi.Scorer"}


def test_vectors_are_kept_in_memory():
    model = HashEmbedder()
    with Scorer("semantic_similarity", model) as scorer:
        scorer.score(ROW)
        scorer.score(ROW)
    assert model.texts_seen.count(ROW["response"]) == 1


def test_a_row_costs_one_call_of_the_model_no_file_and_no_other_thread(monkeypatch):
    calls, threads = [], []
    encode, run_sync = OnnxEmbedder.encode, anyio.to_thread.run_sync

    def count_texts(self, texts):
        calls.append(len(texts))
        return encode(self, texts)

    async def count_threads(call, *arguments, **options):
        threads.append(call)
        return await run_sync(call, *arguments, **options)

    def refuse(*_):
        raise AssertionError("vectors are stored in a file")

    monkeypatch.setattr(OnnxEmbedder, "encode", count_texts)
    monkeypatch.setattr(SqliteCache, "__init__", refuse)
    with Scorer(["grounding", "sgi", "semantic_similarity"]) as scorer:
        monkeypatch.setattr(anyio.to_thread, "run_sync", count_threads)
        scorer.score(ROW)
        # Question, reference, both passages, the response and its first sentence; the second is a passage.
        assert calls == [6]
        scorer.score(ROW | {"response": "It is high."})
        assert calls == [6, 1]
    assert threads == []


def test_the_event_loop_stays_free_for_a_judge(monkeypatch):
    threads = []
    run_sync = anyio.to_thread.run_sync

    async def count_threads(call, *arguments, **options):
        threads.append(call)
        return await run_sync(call, *arguments, **options)

    with Scorer(["sgi", Politeness()], judge=RuleJudge()) as scorer:
        monkeypatch.setattr(anyio.to_thread, "run_sync", count_threads)
        assert scorer.score(ROW)["sgi"].value
    assert len(threads) == 1


def test_the_default_metrics_for_rows():
    answered = Sample(id="1", question="q", contexts=("c",), response="r")
    assert [found.canonical for found in allowed_metrics([answered])] == ["grounding"]
    with pytest.raises(UsageError):
        allowed_metrics([Sample(id="1", question="q")])


def marks(request):
    del request
    return ServerReply('{"reasoning": "Kind.", "marks": [1.0, 0.5]}')


def test_judged_metrics_of_a_service_are_scored_with_the_others():
    rows = [{"id": str(n), "response": f"Please sit, guest {n}.", "reference": "Sit."} for n in range(20)]
    rows.append({"id": "absent", "reference": "Sit."})
    with JudgeServer(replies=marks) as server:
        judge = f"openai:m@{server.url}"
        with Scorer([Politeness(), "content_f1"], judge=judge) as scorer:
            scored = scorer.score_many(rows)
            assert scorer.score(rows[0]) == scored[0]
            signature = scorer.signature(len(rows))
        expected = sgi.evaluate(rows, [Politeness(), "content_f1"], judge=judge, cache=False)
    for number, scores in enumerate(scored):
        equal(scores, expected, number)
    assert (scored[0]["politeness"].value, scored[20]["politeness"].status) == (0.75, "missing")
    assert signature == expected.signature
    assert len(server.requests) == 40  # a reply of the judge is cached


def test_a_judge_without_a_reply_fails_its_rows_only():
    rows = [{"id": n, "question": "Who?", "response": n} for n in ("fine", "no reply", "good")]
    with Scorer([Echo(), Politeness()], HashEmbedder(), judge=RuleJudge()) as scorer:
        scored = scorer.score_many(rows)
    expected = sgi.evaluate(rows, [Echo(), Politeness()], HashEmbedder(), judge=RuleJudge(), max_failures=1.0)
    for number, scores in enumerate(scored):
        equal(scores, expected, number)
    assert [scores["echo"].status for scores in scored] == ["ok", "failed", "ok"]


def test_an_exhausted_budget_fails_rows_with_a_reason():
    class Exhausted(RuleJudge):
        async def ask(self, inquiry, schema, /):
            raise BudgetExceededError("The judge cost 2 USD.", hint="Raise max_cost.")

    with Scorer(Politeness(), judge=Exhausted()) as scorer:
        score = scorer.score({"response": "Please."})["politeness"]
    assert (score.status, score.reason) == ("failed", "The judge cost 2 USD. Raise max_cost.")


class SlowJudge(RuleJudge):
    """A judge that does not reply until the test continues it; about "fast" it replies at once."""

    def __init__(self):
        super().__init__()
        self.asked, self.resume, self.cancelled = threading.Event(), threading.Event(), threading.Event()

    async def ask(self, inquiry, schema, /):
        if "fast" not in inquiry.text:
            self.asked.set()
            try:
                while not self.resume.is_set():  # noqa: ASYNC110 - set by another thread
                    await anyio.sleep(0.002)
            except BaseException:
                self.cancelled.set()
                raise
        return await super().ask(inquiry, schema)


def test_a_slow_judge_delays_neither_offline_rows_nor_other_judgements():
    judge = SlowJudge()

    async def score(scorer):
        slow = asyncio.create_task(scorer.ascore({"response": "slow", "reference": "slow"}))
        await asyncio.to_thread(judge.asked.wait, 20)
        fast = await scorer.ascore({"response": "fast", "reference": "fast"})
        sample = Sample(id="1", response="a cat", reference="a cat")
        offline = await scorer.score_batch([sample], [metric("content_f1")])
        assert not slow.done()
        judge.resume.set()
        return fast, offline, await slow

    with Scorer([Politeness(), "content_f1"], judge=judge) as scorer:
        fast, offline, slow = asyncio.run(score(scorer))
    assert (fast["politeness"].status, slow["politeness"].status) == ("ok", "ok")
    assert offline.scores["content_f1"].values.tolist() == [1.0]


def test_a_cancelled_call_aborts_its_requests_to_the_judge():
    judge = SlowJudge()

    async def score(scorer):
        task = asyncio.create_task(scorer.ascore({"response": "slow"}))
        await asyncio.to_thread(judge.asked.wait, 20)
        task.cancel()
        assert await asyncio.to_thread(judge.cancelled.wait, 20)

    with Scorer(Politeness(), judge=judge) as scorer:
        asyncio.run(score(scorer))
        assert scorer.score({"response": "fast"})["politeness"].status == "ok"


def test_closing_aborts_requests_to_the_judge():
    judge = SlowJudge()
    scorer = Scorer(Politeness(), judge=judge)

    async def score():
        task = asyncio.create_task(scorer.ascore_many([{"response": "slow"}]))
        await asyncio.to_thread(judge.asked.wait, 20)
        await scorer.aclose()
        with pytest.raises(sgi.errors.SgiError):
            await task

    asyncio.run(score())
    assert judge.cancelled.is_set()


def test_a_calibration_adds_its_metric():
    with Scorer("sgi", EMBEDDER, calibration=calibration_file()) as scorer:
        scores = scorer.score(ROW)
        expected = sgi.evaluate([ROW], "sgi", EMBEDDER, calibration=calibration_file(), cache=False)
        assert scorer.metrics == tuple(expected)
    equal(scores, expected, 0)
    assert scores[scorer.metrics[1]].details["verdict"] in {"passed", "flagged"}


def test_a_calibration_of_other_scores_is_refused():
    with pytest.raises(UsageError), Scorer("sgi", HashEmbedder(8), calibration=calibration_file()):
        pass


def test_an_entailment_model_is_used(tmp_path):
    name = f'grounding(nli="{counting_model(tmp_path / "nli")}")'
    row = ROW | {"contexts": ["the tower is tall"], "response": "the tower is not old"}
    with Scorer(name) as scorer:
        scores = scorer.score(row)
    equal(scores, sgi.evaluate([row], name, cache=False), 0)
    assert scores[name].details["sentences"][0]["entailment"] is not None
