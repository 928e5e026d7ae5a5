"""Rows with planted causes: each has the passages, response and columns that its cause says."""

from __future__ import annotations

import itertools

import pytest

from sgi.kernel.sample import Sample
from sgi.text.citation_markers import find_markers
from sgi_lab.metric_bench.cause_plants import PLANTS
from sgi_lab.metric_bench.planted_causes import (
    CONTEXTS,
    LAST_HIGH_RANK,
    VERSIONS,
    plant_causes,
    without_fields,
)

NAMES = [a + b for a, b in itertools.product(("Ar", "Bel", "Cor", "Dun", "Em"), ("ford", "mouth"))]
FORMS = {
    "town": (
        (
            "The market town of {name} lies on a river and has {count} inhabitants.",
            "How many inhabitants does {name} have?",
        ),
        (
            "In the year {year}, the engineer {person} built its stone bridge.",
            "When was the stone bridge of {name} built?",
        ),
        (
            "Visitors mostly come to see the museum of {craft} near the station.",
            "What do visitors of {name} come to see?",
        ),
    ),
    "opera": (
        (
            "The opera {name} was first sung in {year} before an enthusiastic audience.",
            "When was the opera {name} first sung?",
        ),
        (
            "Its composer, {person}, wrote the whole score during one winter.",
            "Who composed the opera {name}?",
        ),
        (
            "The second act needs {count} candles on the stage.",
            "How many candles does the opera {name} need?",
        ),
    ),
    "ship": (
        (
            "The whaling ship {name} left the harbour with {count} barrels.",
            "How many barrels did the ship {name} carry?",
        ),
        ("Her captain was {person}, who kept a careful diary.", "Who was the captain of the ship {name}?"),
        (
            "A storm near the southern islands sank her in {year} with all hands.",
            "When did the ship {name} sink?",
        ),
    ),
}


def _questions() -> list[Sample]:
    rows = []
    for at, (form, name) in enumerate(itertools.product(FORMS, NAMES)):
        values = {
            "name": name,
            "count": f"{1_200 + 37 * at}",
            "year": f"{1700 + 7 * at}",
            "person": f"{name[::-1].capitalize()} Stone",
            "craft": f"painted {name.lower()} glass",
        }
        passage = " ".join(sentence.format_map(values) for sentence, _ in FORMS[form])
        for number, (sentence, question) in enumerate(FORMS[form]):
            key = next(key for key in ("count", "person", "craft", "year") if f"{{{key}}}" in sentence)
            key = "year" if question.startswith("When") else key
            rows.append(
                Sample(
                    id=f"{form}-{name}-{number}",
                    question=question.format_map(values),
                    contexts=(passage,),
                    reference=values[key],
                )
            )
    return rows


@pytest.fixture(scope="module")
def rows() -> list[Sample]:
    return plant_causes(_questions(), PLANTS)


def _gold_rank(row: Sample) -> int:
    """Return the rank of the gold passage; 0 if it is not retrieved."""
    paragraph = str(row.metadata["paragraph"])
    return row.context_ids.index(paragraph) + 1 if paragraph in row.context_ids else 0


def test_each_question_gives_one_row_and_each_cause_occurs(rows: list[Sample]) -> None:
    assert len(rows) == len(_questions())
    assert {row.metadata["cause"] for row in rows} == set(PLANTS)
    assert all(len(row.contexts) == len(set(row.context_ids)) == CONTEXTS for row in rows)


def test_rank_of_the_gold_passage(rows: list[Sample]) -> None:
    for row in rows:
        cause, rank = row.metadata["cause"], _gold_rank(row)
        if cause in {"retrieval_miss", "answered_unanswerable"} or row.answerable is False:
            assert rank == 0
        elif cause == "passage_ranked_low" or row.metadata["plant"] == "correct_low":
            assert rank > LAST_HIGH_RANK
        else:
            assert 1 <= rank <= LAST_HIGH_RANK


def test_only_answerable_rows_have_gold_passages_and_references(rows: list[Sample]) -> None:
    for row in rows:
        assert (row.relevance == {row.metadata["paragraph"]: 1}) is row.answerable
        assert (row.reference is not None) is row.answerable
        unanswerable = (
            row.metadata["plant"] == "correct_refusal" or row.metadata["cause"] == "answered_unanswerable"
        )
        assert row.answerable is not unanswerable


def test_wrong_citations_name_a_passage_without_the_answer(rows: list[Sample]) -> None:
    wrong = [row for row in rows if row.metadata["cause"] == "wrong_citation"]
    assert wrong
    for row in wrong:
        numbers = [int(position) for marker in find_markers(row.response) for position in marker.targets]
        assert numbers
        assert all(number != _gold_rank(row) for number in numbers)
        assert (numbers[0] > CONTEXTS) is (row.metadata["plant"] == "missing_passage_cited")


def test_incomplete_answers_lack_an_answer_and_correct_ones_do_not(rows: list[Sample]) -> None:
    for row in rows:
        parts = (row.reference or "").split("; ")
        if row.metadata["cause"] == "incomplete_answer":
            held = sum(part.casefold() in row.response.casefold() for part in parts)
            assert held == len(parts) - 1
        elif row.metadata["plant"] in {"correct_high", "correct_low"}:
            assert parts[0].casefold() in row.response.casefold()


def test_rows_of_a_paragraph_are_in_one_half(rows: list[Sample]) -> None:
    halves = {(row.metadata["paragraph"], row.metadata["half"]) for row in rows}
    assert len(halves) == len({paragraph for paragraph, _ in halves})
    assert {half for _, half in halves} == {"choosing", "held"}


def test_rows_do_not_depend_on_the_order_of_the_questions(rows: list[Sample]) -> None:
    again = plant_causes(_questions(), PLANTS)
    assert again == rows
    assert plant_causes(_questions(), PLANTS, seed=1) != rows


def test_versions_lack_fields(rows: list[Sample]) -> None:
    for missing in VERSIONS.values():
        part = without_fields(rows, missing)
        assert [row.id for row in part] == [row.id for row in rows]
        assert not any(missing & row.model_fields_set for row in part)
