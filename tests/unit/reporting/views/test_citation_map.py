"""The view of a citation map, and its marks in the evidence map."""

import pytest

import sgi
from sgi.metrics.citations.citation_map import CitationMap
from sgi.reporting.evidence_lines import evidence_markdown, map_lines
from sgi.reporting.notebook import notebook_html
from sgi.reporting.views.evidence_checks import CITATION_VERDICTS
from sgi.reporting.views.evidence_view import MAX_SENTENCES, citation_view, evidence_view, score_maps

CONTEXTS = [
    "The Eiffel Tower is 330 m tall.",
    "The company of Gustave Eiffel built it in 1889.",
    "Bees sleep under wooden roofs.",
]
RESPONSE = (
    "The Eiffel Tower is 330 m tall [1][3]. Bees sleep under <b>wooden</b> roofs [2]. "
    "It was built by the company of Gustave Eiffel [2, 7]. Yes [1]."
)
QUESTION = "How tall is the Eiffel Tower?"


@pytest.fixture(scope="module")
def report():
    return sgi.check(question=QUESTION, contexts=CONTEXTS, response=RESPONSE)


@pytest.fixture(scope="module")
def view(report):
    return citation_view(report.citations)


@pytest.fixture(scope="module")
def evidence(report):
    return evidence_view(report.evidence, CONTEXTS, report.citations)


def test_the_summary_counts_statements_and_citations(view):
    assert (
        view.summary == "2 of 3 statements are supported by the passages cited. 2 of 5 citations are right."
    )


def test_each_citation_has_a_sign_and_a_reason(view):
    signs = [[(note.text, note.sign, note.verdict) for note in each.checks] for each in view.sentences]
    assert signs == [
        [("[1]", "✓", "right"), ("[3]", "~", "needless")],
        [("[2]", "✗", "wrong")],
        [("[2, 7]", "✓", "right"), ("[2, 7]", "!", "invalid")],
        [("[1]", "–", "unchecked")],
    ]
    assert [each.verdict for each in view.sentences] == [
        "supported",
        "not supported",
        "supported",
        "claims nothing",
    ]
    assert view.sentences[2].checks[1].reason == "invalid: passage 7 does not exist"


def test_the_legend_explains_every_sign_that_occurs(view):
    assert [(verdict, sign) for verdict, sign, _ in view.legend] == [
        (verdict, sign) for verdict, (sign, _) in CITATION_VERDICTS.items()
    ]


def test_the_terminal_shows_signs_in_the_text_and_the_legend(evidence, view):
    shown = "\n".join(line.plain for line in map_lines(evidence))
    assert "The Eiffel Tower is 330 m tall [1]✓[3]~." in shown
    assert "[2, 7]!" in shown
    assert "✗ wrong: the passage does not support the statement" in shown
    lines = [line.plain for line in map_lines(view)]
    assert "          ✓ [1] right: passage 1 supports the statement" in "\n".join(lines)


def test_markdown_shows_the_signs(evidence):
    shown = "\n".join(evidence_markdown(evidence, longest=300))
    assert "✗" in shown
    assert "citations: ✓ right; ~ needless; ✗ wrong; ! invalid; – unchecked" in shown


def test_a_notebook_shows_both_maps_and_escapes_texts(report):
    page = notebook_html(report)
    for verdict in CITATION_VERDICTS:
        assert f'class="cite cite-{verdict}"' in page
    assert "<b>" not in page
    assert "Signs of citations" in page


def test_a_report_names_the_citations_that_are_not_right(report):
    assert "  needless citation: [3]\n  wrong citation: [2]\n  invalid citation: [2, 7]" in str(report)
    assert report.to_dict()["citations"]["citations"][0]["verdict"] == "right"


def test_without_markers_citations_are_not_checked():
    report = sgi.check(contexts=CONTEXTS, response="The tower is old.")
    assert report.citations is None


def test_a_map_of_recall_and_precision_is_shown_once(report):
    body = report.citations.model_dump(mode="json")
    details = {"grounding": {}, "citation_recall": body, "citation_precision": dict(body)}
    maps = score_maps(details, CONTEXTS)
    assert maps["citation_recall"] == (citation_view(report.citations), {})
    assert maps["citation_precision"] == (None, {"citations": "shown with citation_recall"})


def test_a_long_map_is_shown_in_part(report):
    statements = report.citations.statements * 30
    long = report.citations.model_copy(update={"statements": statements, "citations": ()})
    view = citation_view(long)
    assert (len(view.sentences), view.left_out) == (
        MAX_SENTENCES,
        "Only the first 100 of 120 sentences are shown.",
    )


def test_details_of_other_metrics_have_no_citation_map():
    assert CitationMap.read({"statements": 2, "uncited": []}) is None
    assert CitationMap.read({"statements": [{}], "citations": [], "threshold": 0.3}) is None


def test_a_marker_that_is_not_at_its_place_is_not_marked(report):
    moved = report.citations.model_copy(
        update={
            "citations": tuple(each.model_copy(update={"start": 0}) for each in report.citations.citations)
        }
    )
    view = evidence_view(report.evidence, CONTEXTS, moved)
    assert not any(part.sign for sentence in view.sentences for part in sentence.stretches)
