"""The shared part of the adapters: where it finds a row, and what it does with rows without a value."""

from copy import deepcopy
from dataclasses import dataclass

import anyio
import pytest
from pydantic import BaseModel

from sgi.integrations.adapter import HostScorer, describe
from sgi.kernel.errors import UnknownNameError, UsageError

PARTS = {"inputs": "question", "outputs": "response", "expected": "reference", "metadata": ""}


@dataclass
class Answer:
    answer: str
    documents: list[dict[str, str]]


class Question(BaseModel):
    query: str
    ground_truth: str | None = None


def host(metrics="squad_token_f1", **options):
    return HostScorer(metrics, parts=PARTS, **options)


@pytest.mark.parametrize(
    ("values", "row"),
    [
        ({"inputs": "Who?", "outputs": "Ada", "expected": "Ada L."}, ("Who?", None, "Ada", "Ada L.")),
        (
            {
                "inputs": {"Query": "Who?", "contexts": ["a"]},
                "outputs": {"answer": "Ada"},
                "expected": {"answer": "L."},
            },
            ("Who?", ["a"], "Ada", "L."),
        ),
        (
            {"inputs": Question(query="Who?", ground_truth="L."), "outputs": Answer("Ada", [{"text": "b"}])},
            ("Who?", [{"text": "b"}], "Ada", "L."),
        ),
        # Passages beside the response are the retrieved ones; those beside the expected answer are not.
        (
            {
                "inputs": {"question": "Who?", "contexts": ["of the data"]},
                "outputs": {"response": "Ada", "contexts": ["retrieved"]},
                "expected": {"reference": "L.", "contexts": ["ideal"]},
            },
            ("Who?", ["retrieved"], "Ada", "L."),
        ),
        ({"inputs": "Who?", "expected": {"contexts": ["ideal"]}}, ("Who?", None, None, None)),
        ({"inputs": "Who?", "metadata": {"documents": ["m"], "query": "no"}}, ("Who?", ["m"], None, None)),
        ({"inputs": {"question": None}, "outputs": {"response": ""}}, (None, None, "", None)),
        # The answer in an object with the question is the expected one, so it is not the response.
        ({"inputs": {"question": "Who?", "answer": "Ada"}}, ("Who?", None, None, None)),
    ],
)
def test_a_field_is_found_by_its_usual_names(values, row):
    fields = host().row(**values)
    assert tuple(fields[name] for name in ("question", "contexts", "response", "reference")) == row


def test_a_mapping_names_places_by_the_names_of_the_host():
    scorer = host(
        columns={"contexts": "outputs.hits.text, metadata.extra", "question": "metadata.q", "reference": ""}
    )
    row = scorer.row(
        inputs="not this",
        outputs={"answer": "Ada", "hits": {"text": ["a", "b"]}},
        metadata={"extra": "c", "q": "Who?"},
        expected="not this",
    )
    assert row == {
        "id": None,
        "question": "Who?",
        "contexts": ["a", "b", "c"],
        "response": "Ada",
        "reference": None,
    }
    assert scorer.row(outputs={"answer": "Ada"})["contexts"] is None


def test_the_reason_of_a_missing_field_lists_the_keys_that_are_there():
    score = host("grounding").score(inputs={"q": "Who?", "docs_used": []}, outputs="Ada")["grounding"]
    assert score.value is None
    assert describe(score) == "missing: the sample has no contexts (inputs has 'q', 'docs_used')"


def test_the_reason_stays_short_for_an_object_with_many_keys():
    score = host("grounding").score(outputs={"x" * 900 + str(n): n for n in range(900)}, inputs="Who?")
    reason = score["grounding"].reason
    assert reason.endswith("and 888 more)")
    assert len(reason) < 1000


def test_a_row_that_cannot_be_read_fails_with_the_error():
    scores = host(["squad_em", "squad_token_f1"]).score(inputs="Who?", outputs=7, expected="Ada")
    assert {describe(score) for score in scores.values()} == {
        "failed: field 'response': expected text, found number 7"
    }


def test_async_callers_get_the_same_scores():
    scorer = host()
    values = {"inputs": "Who?", "outputs": "Ada Lovelace", "expected": "Ada"}

    async def score():
        return await scorer.ascore(**values)

    assert anyio.run(score) == scorer.score(**values)


def test_equal_configurations_and_copies_share_the_open_models():
    scorer = host()
    assert host(["squad_token_f1"])._scorer is scorer._scorer
    assert deepcopy(scorer)._scorer is scorer._scorer
    assert host(max_waiting=3)._scorer is not scorer._scorer


def test_several_rows_at_once_get_the_scores_of_single_rows_also_beside_a_bad_one():
    host = HostScorer("squad_em", parts={"row": "row"})
    rows = [{"row": {"response": "Paris", "reference": reference}} for reference in ("Paris", 3, None)]
    single = [host.score(**row) for row in rows]
    assert host.score_many(rows) == single
    assert host.score_many(rows[::2]) == single[::2]
    assert [str(row["squad_em"].status) for row in single] == ["ok", "failed", "missing"]


def test_a_host_with_one_score_takes_one_metric():
    assert HostScorer("squad_em", parts={}).only_metric() == "squad_em"
    with pytest.raises(UsageError, match="squad_em"):
        HostScorer(["squad_em", "rouge_l"], parts={}).only_metric()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"metrics": "rouge_l"}, "Unknown argument 'metrics'. Known arguments: judge"),
        ({"embeder": "x"}, "Did you mean 'embedder'"),
        ({"columns": {"contexts": "nowhere.hits"}}, "unknown part: 'nowhere.hits'.* one of: inputs"),
        ({"columns": {"context": "outputs.hits"}}, "Unknown field 'context'"),
    ],
)
def test_wrong_arguments_are_errors_of_the_constructor(options, text):
    with pytest.raises(UsageError, match=text):
        HostScorer("squad_em", parts=PARTS, **options)


def test_a_wrong_configuration_is_an_error_of_the_constructor(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(UnknownNameError):
        host("groundin")
    with pytest.raises(UsageError, match="judge is needed"):
        host("faithfulness")
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        host("faithfulness", judge="openai:any")
    with pytest.raises(UnknownNameError, match="no-such"):
        HostScorer("sgi", "no-such", parts=PARTS)
