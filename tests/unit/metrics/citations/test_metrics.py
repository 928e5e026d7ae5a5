"""Citation metrics on rows made by hand, with the bundled embedder."""

import math

import numpy as np
import pytest

import sgi
from sgi.kernel.metric import Status
from sgi.kernel.sample import Batch
from sgi.metrics.citations.citation_map import CitationMap, citation_map
from sgi.metrics.citations.cited_row import NO_KINDS, NO_NUMBERS, cited_rows
from sgi.metrics.citations.support import CitationPrecision, CitationRecall
from sgi.reporting.views.evidence_view import citation_view

TALL = "The Eiffel Tower is 330 m tall."
BUILT = "The company of Gustave Eiffel built it from 1887 to 1889."
BEES = "Bees sleep under wooden roofs."
CONTEXTS = [TALL, BUILT, BEES]
METRICS = ["citation_recall", "citation_precision", "citation_validity", "uncited_share"]


def scored(
    response,
    contexts=CONTEXTS,
    metrics=METRICS,
    question="How tall is the Eiffel Tower?",
    ids=None,
    **options,
):
    row = {"id": "1", "question": question, "contexts": contexts, "response": response}
    row |= {"context_ids": ids} if ids else {}
    result = sgi.evaluate([row], metrics, cache=False, **options)
    return {name: result[name].row(0) for name in metrics}


def verdicts(score):
    return [(each["text"], each["verdict"]) for each in score.details["citations"]]


@pytest.mark.parametrize(
    ("response", "values", "expected"),
    [
        (f"{TALL[:-1]} [1]. {BUILT[:-1]} [2].", (1, 1, 1, 0), [("[1]", "right"), ("[2]", "right")]),
        (f"{TALL[:-1]} [3].", (0, 0, 1, 0), [("[3]", "wrong")]),
        (f"{TALL[:-1]} [1][3].", (1, 0.5, 1, 0), [("[1]", "right"), ("[3]", "needless")]),
        (f"{TALL[:-1]} [1][7].", (1, 0.5, 0.5, 0), [("[1]", "right"), ("[7]", "invalid")]),
        (f"Yes [3]. {TALL[:-1]} [1].", (1, 1, 1, 0), [("[3]", "unchecked"), ("[1]", "right")]),
    ],
)
def test_each_citation_has_its_verdict(response, values, expected):
    scores = scored(response)
    assert [scores[name].value for name in METRICS] == pytest.approx(values)
    assert verdicts(scores["citation_recall"]) == expected
    assert scores["citation_recall"].details == scores["citation_precision"].details


KINDS = ["report:2", "Sources:15", "entity:5"]


@pytest.mark.parametrize(
    ("first", "second", "values", "invalid"),
    [
        ("[Data: Reports (2)]", "[Data: Sources (15); Entities (5)]", (1, 2 / 3, 1, 0), []),
        ("(Report 2)", "[Data: Source (15, +more), Reports (64)]", (1, 2 / 3, 2 / 3, 0), ["report:64"]),
        ("[Data: Reports (2)]", "[15]", (1, 1, 1, 0), []),
    ],
)
def test_citations_by_kind_and_id_have_verdicts(first, second, values, invalid):
    scores = scored(f"{TALL[:-1]} {first}. {BUILT[:-1]} {second}.", ids=KINDS)
    assert [scores[name].value for name in METRICS] == pytest.approx(values)
    assert scores["citation_validity"].details["invalid"] == invalid


@pytest.mark.parametrize(
    ("marker", "ids", "reason"),
    [
        *(("[Data: Reports (2)]", None, NO_KINDS), ("[Data: Reports (2)]", ["2", "7", "9"], NO_KINDS)),
        *(("[1]", KINDS, NO_NUMBERS), ("[Data: Sources (2)]", ["2", "7", "9"], "")),
    ],
)
def test_markers_that_cannot_name_the_passages_of_a_row_have_no_verdict(marker, ids, reason):
    scores = scored(f"{TALL[:-1]} {marker}.", ids=ids)
    assert [scores[name].reason for name in METRICS] == [reason] * 3 + [""]


@pytest.mark.parametrize(
    ("response", "contexts", "reasons"),
    [
        (" ", CONTEXTS, ["the response is blank"] * 4),
        ("Yes.", CONTEXTS, ["the response claims nothing that passages could support"] * 2),
        (TALL, CONTEXTS, ["", "the response cites nothing", "the response cites nothing", ""]),
        (f"{TALL} [1]", [], ["there are no passages", "there are no passages", "", ""]),
        (f"{TALL} [1]", ["", " "], ["all passages are blank", "all passages are blank", "", ""]),
    ],
)
def test_a_row_without_a_value_has_a_reason(response, contexts, reasons):
    scores = scored(response, contexts)
    assert [scores[name].reason for name in METRICS][: len(reasons)] == reasons
    assert all((score.value is None) == (score.status is Status.UNDEFINED) for score in scores.values())


def test_without_citations_recall_is_0_and_every_statement_is_uncited():
    scores = scored(f"{TALL} {BUILT}")
    assert (scores["citation_recall"].value, scores["uncited_share"].value) == (0.0, 1.0)
    assert scores["uncited_share"].details == {"statements": 2, "uncited": [TALL, BUILT]}


def test_a_superscript_after_a_year_is_named_and_not_counted():
    scores = scored("The company of Gustave Eiffel built the tower in 1889².")

    assert {name: score.details["unread"] for name, score in scores.items() if "unread" in score.details} == {
        "citation_recall": ["1889²"],
        "citation_validity": ["1889²"],
        "uncited_share": ["1889²"],
    }
    assert "after a year" in scores["citation_validity"].reason
    verdict = citation_view(CitationMap.read(scores["citation_recall"].details)).summary
    assert verdict.endswith("1 marker was not read, because numbers after years can be exponents: 1889².")


def test_without_passages_every_citation_is_invalid():
    score = scored(f"{TALL} [1, 2]", [])["citation_validity"]
    assert (score.value, score.details) == (0.0, {"citations": 2, "invalid": ["1", "2"]})


class TableOracle:
    """Scores sets of passages by a table; all other sets have the score 0."""

    def __init__(self, *supporting):
        self.supporting = [frozenset(each) for each in supporting]
        self.calls = []

    def score(self, _statement, contexts, /):
        self.calls.append(tuple(contexts))
        return float(any(each <= set(contexts) for each in self.supporting))


def map_of(response, oracle, contexts=6):
    sample = sgi.types.Sample(id="1", contexts=[f"Passage {n}" for n in range(contexts)], response=response)
    return citation_map(cited_rows(Batch.of([sample]), "")[0], oracle, 0.5)


@pytest.mark.parametrize(
    ("supporting", "expected"),
    [
        ([], "wrong wrong wrong"),
        ([{0}, {2}], "right needless right"),
        ([{0, 1}], "right right needless"),
        ([{0, 1}, {0, 2}], "right needless needless"),
        ([{0, 1}, {1, 2}, {0, 2}], "needless needless needless"),
    ],
)
def test_verdicts_follow_the_sets_that_support_a_statement(supporting, expected):
    found = map_of("The tower is old [1, 2, 3].", TableOracle(*supporting))
    assert [part.verdict for part in found.citations[0].passages] == expected.split()
    assert found.statements[0].supported == bool(supporting)


def test_only_needed_sets_are_scored():
    oracle = TableOracle({0})
    map_of("The tower is old [1, 2, 3].", oracle)
    assert oracle.calls == [(0,), (1,), (2,)]
    oracle = TableOracle({0, 1})
    map_of("The tower is old [1, 2, 3].", oracle)
    assert oracle.calls == [(0,), (1,), (2,), (0, 1, 2), (1, 2), (0, 2), (0, 1)]


def test_a_passage_that_is_cited_twice_in_a_statement_counts_twice():
    found = map_of("The tower is old [1] and red [1].", TableOracle({0}))
    assert [citation.verdict for citation in found.citations] == ["right", "right"]
    assert found.statements[0].cited == (0,)


def test_the_threshold_decides():
    response = f"{BUILT[:-1]} [2]."
    score = scored(response)["citation_recall"].details["statements"][0]["score"]
    low, high = f"citation_recall(threshold={score - 0.01})", f"citation_recall(threshold={score + 0.01})"
    scores = scored(response, metrics=[low, high])
    assert (scores[low].value, scores[high].value) == (1.0, 0.0)


def test_ids_of_a_pattern_are_citations():
    name = 'citation_validity(pattern="[a-z]+-[0-9]+")'
    score = scored("It is old (doc-1).", metrics=[name])[name]
    assert (score.value, score.details) == (0.0, {"citations": 1, "invalid": ["doc-1"]})


def test_recall_and_precision_share_the_analysis():
    batch = Batch.of([sgi.types.Sample(id="1", contexts=CONTEXTS, response=f"{TALL[:-1]} [1].")])
    assert CitationRecall().prepare(batch) is CitationPrecision().prepare(batch)


def test_an_entailment_model_reads_the_cited_passages(tmp_path):
    from support.entailment_models import counting_model

    name = f'citation_recall(nli="{counting_model(tmp_path / "nli")}")'
    score = scored(f"{TALL[:-1]} [1, 2].", metrics=[name])[name]
    found = CitationMap.model_validate(dict(score.details))
    assert found.threshold == 0.5
    assert all(0 <= part.score <= 1 for part in found.citations[0].passages)
    assert not math.isnan(score.value)
    assert np.isfinite(found.statements[0].score)
