"""Citation metrics with a judge, which replies from a table."""

import pytest

import sgi
from sgi.kernel.sample import Sample
from sgi.metrics.citations.judged import CitationRecallJudged
from sgi.metrics.judged.claims import VERIFY, Support

METRICS = ["citation_recall_judged", "citation_precision_judged"]


class TableJudge:
    """Says that passages support a statement if they contain all of its words."""

    fingerprint = "table"
    budget = 1_000

    def __init__(self):
        self.requests = []

    async def ask(self, inquiry, schema, /):
        assert inquiry.prompt is VERIFY
        self.requests.append(inquiry)
        passages, claims = (section.split("] ")[1:] for section in inquiry.text.split("</passages")[:2])
        known = {word.strip(".\n") for passage in passages for word in passage.split()}
        verdicts = []
        for index, claim in enumerate(claims[: inquiry.items], 1):
            words = {word.strip(".") for word in claim.split("\n")[0].split()}
            supported = int(words <= known)
            verdicts.append(Support(index=index, reason="Table.", supported=supported, passage=None))
        return schema(verdicts=tuple(verdicts))


CONTEXTS = ["old tower here", "red door here", "bees sleep"]


def scored(response, contexts=CONTEXTS):
    judge = TableJudge()
    ids = [f"report:{number}" for number, _ in enumerate(contexts, 1)]
    row = {"id": "1", "contexts": contexts, "context_ids": ids, "response": response}
    result = sgi.evaluate([row], METRICS, judge=judge, cache=False)
    return [result[name].row(0) for name in METRICS], judge


@pytest.mark.parametrize(
    ("response", "values", "verdicts", "requests"),
    [
        ("old tower [1].", (1, 1), "right", 1),
        ("old tower [2].", (0, 0), "wrong", 1),
        ("old tower [1, 3].", (1, 0.5), "right needless", 2),
        ("old tower [9].", (0, 0), "invalid", 0),
        ("old tower [Data: Reports (1, 3)].", (1, 0.5), "right needless", 2),
        ("old tower [1].\nred door [1].", (0.5, 0.5), "right wrong", 1),
    ],
)
def test_verdicts_follow_the_judge(response, values, verdicts, requests):
    scores, judge = scored(response)
    assert [score.value for score in scores] == pytest.approx(values)
    passages = [part for each in scores[0].details["citations"] for part in each["passages"]]
    assert [part["verdict"] for part in passages] == verdicts.split()
    assert len(judge.requests) == requests * len(METRICS)


@pytest.mark.parametrize(
    ("response", "contexts", "reasons"),
    [
        (" ", CONTEXTS, ["the response is blank"] * 2),
        ("Yes [1].", CONTEXTS, ["the response claims nothing that passages could support"] * 2),
        ("old tower [1].", [], ["there are no passages"] * 2),
        ("old tower.", CONTEXTS, ["", "the response cites nothing"]),
    ],
)
def test_a_row_without_a_value_has_a_reason_and_needs_no_judge(response, contexts, reasons):
    scores, judge = scored(response, contexts)
    assert [score.reason for score in scores] == reasons
    assert judge.requests == []


def test_equal_statements_are_asked_once():
    import asyncio

    judge = TableJudge()
    sample = Sample(id="1", contexts=CONTEXTS, response="old tower [1].\nold tower [1].")
    judgement = asyncio.run(CitationRecallJudged().ask(sample, judge))
    assert [verdict.statement for verdict in judgement.verdicts] == [0, 1]
    assert [inquiry.items for inquiry in judge.requests] == [1]
