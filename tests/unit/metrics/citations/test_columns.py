"""Citations of the column `citations`, ids of passages, and hostile responses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.sample import Batch, Sample
from sgi.kernel.vectors import Features
from sgi.metrics.citations.citation_map import citation_map
from sgi.metrics.citations.cited_row import cited_rows
from sgi.metrics.citations.markers import CitationValidity, UncitedShare

RESPONSE = "The tower is old. The door is red."
CONTEXTS = ("The tower is old.", "The door is red.")
FIRST = {"start": 0, "end": 17}


def cited(response=RESPONSE, **fields):
    sample = Sample(id="1", contexts=CONTEXTS, response=response, **fields)
    return cited_rows(Batch.of([sample]), "")[0]


def targets(row):
    return [
        ([target.passage for target in citation.targets], citation.statements) for citation in row.citations
    ]


def test_an_entry_with_a_span_cites_the_statements_that_it_overlaps():
    row = cited(citations=[{"passage": 1, **FIRST}, {"passage": 2, "start": 10, "end": 25}])
    assert targets(row) == [([0], (0,)), ([1], (0, 1))]
    assert [statement.cited for statement in row.statements] == [(0, 1), (1,)]


def test_an_entry_without_a_span_cites_the_statements_without_a_span():
    row = cited(citations=[{"passage": 1, **FIRST}, {"passage": 2}])
    assert targets(row) == [([0], (0,)), ([1], (1,))]


def test_entries_name_ids_or_positions():
    entries = [{"passage": name} for name in ("b", "a", 2, "c", 3)]
    row = cited(citations=entries, context_ids=["a", "b"])
    assert [target.passage for citation in row.citations for target in citation.targets] == [
        *(1, 0, 1, None, None),
    ]


def test_entries_without_spans_give_way_to_markers():
    row = cited("The tower is old [2]. The door is red.", citations=[{"passage": 1}])
    assert targets(row) == [([1], (0,))]


def test_entries_with_spans_take_precedence_over_markers():
    row = cited("The tower is old [2]. The door is red.", citations=[{"passage": 1, **FIRST}])
    assert targets(row) == [([0], (0,))]
    assert row.statements[0].text == "The tower is old."


def test_ids_in_brackets_are_citations():
    row = cited("The tower is old [b]. The door is red [c].", context_ids=["a", "b"])
    assert targets(row) == [([1], (0,))]


def test_a_citation_of_several_statements_has_the_best_verdict():
    class Oracle:
        def score(self, statement, contexts, /):
            return float(statement.text == CONTEXTS[contexts[0]])

    found = citation_map(cited(citations=[{"passage": 1}]), Oracle(), 0.5)
    assert found.citations[0].verdict == "right"
    assert [statement.supported for statement in found.statements] == [True, False]


@given(st.lists(st.sets(st.integers(0, 3), min_size=1), max_size=4), st.integers(1, 4))
def test_verdicts_equal_those_of_the_definition(supporting, number):
    """The definition of Gao et al. (2023), computed from all sets, with an oracle that more passages help."""

    class Oracle:
        def score(self, _statement, contexts, /):
            return float(any(each <= set(contexts) for each in supporting))

    markers = "".join(f"[{place}]" for place in range(1, number + 1))
    sample = Sample(id="1", contexts=["a", "b", "c", "d"], response=f"The tower is old {markers}.")
    found = citation_map(cited_rows(Batch.of([sample]), "")[0], Oracle(), 0.5)

    def supports(contexts):
        return bool(Oracle().score(None, contexts))

    everything = set(range(number))
    assert found.statements[0].supported == supports(everything)
    for place, citation in enumerate(found.citations):
        needed = supports(everything) and not supports(everything - {place})
        assert (citation.verdict == "right") == (supports({place}) or needed)
        assert (citation.verdict == "wrong") == (not supports(everything))


HOSTILE = {
    "nested brackets": "[" * 20_000 + "1" + "]" * 20_000 + " The tower is old.",
    "many markers": "The tower is old " + "[1]" * 2_000 + ".",
    "many ranges": "The tower is old " + "[1-50]" * 500 + ".",
    "right to left": "\u202eThe tower is old \u202b[1]\u202c [٢].",
    "invisible characters": "The tower\u200b is old [\u200b1\u200b]\ufeff.",
    "digits of other scripts": "The tower is old [１] [१] [²].",
    "a lone surrogate": "The tower \ud800 is old [1].",
    "line breaks": "The tower is old\r\n[1]\x0b\x85\u2028[2].",
    "markers alone": "[1][2]【3】¹",
}


@pytest.mark.parametrize("response", HOSTILE.values(), ids=HOSTILE)
def test_hostile_responses_have_a_value_or_a_reason(response):
    sample = Sample(id="1", contexts=CONTEXTS, response=response)
    for metric in (CitationValidity(), UncitedShare()):
        row = metric.score(metric.prepare(Batch.of([sample])), Features()).row(0)
        assert (row.value is None) == bool(row.reason)
    for marker in cited_rows(Batch.of([sample]), "")[0].text.markers:
        assert 0 <= marker.start < marker.end <= len(response)
