from __future__ import annotations

import asyncio
import contextlib
import enum
import json
from dataclasses import dataclass
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from sgi.kernel.errors import DataError, SgiError, UsageError
from sgi.kernel.registry import metric
from sgi.kernel.sample import Field, Sample
from sgi.kernel.sample_parts import Citation, Turn
from sgi.reporting.views.to_json import as_json
from sgi.store.row_query import Cell
from sgi_web.api.api_models import (
    MAX_METRICS,
    MAX_PASSAGES,
    MAX_TEXT,
    ChangeRequest,
    ComparisonModel,
    HeadlineModel,
    HeadModel,
    RowPageModel,
    RunListModel,
    SampleModel,
    model_of,
)
from sgi_web.api.bodies import MAX_TEXTS, check_size, read_model, read_score_request

ROW = {"question": "Who wrote Emma?", "contexts": ["Emma is by Jane Austen."], "response": "Jane Austen."}


def body(**given):
    return json.dumps({"rows": [ROW]} | given).encode()


def refused(given):
    with pytest.raises(DataError) as caught:
        read_score_request(given if isinstance(given, bytes) else body(rows=given))
    return caught.value


def test_rows_become_samples():
    full = {
        "id": 7,
        **ROW,
        "contexts": "one passage",
        "reference": ["Jane Austen", "Austen"],
        "alternatives": ["J. Austen"],
        "label": True,
        "metadata": {"a": [1, {"b": None}]},
    }
    score_input = read_score_request(body(rows=[full, ROW | {"reference": None}], details=True))
    first, second = score_input.samples
    assert (first.id, first.contexts, first.references) == (
        "7",
        ("one passage",),
        ("Jane Austen", "Austen", "J. Austen"),
    )
    assert (first.label, first.metadata) == (True, {"a": [1, {"b": None}]})
    assert (second.id, second.has(Field.REFERENCE)) == ("2", False)
    assert [metric.canonical for metric in score_input.metrics] == ["grounding", "semantic_similarity"]
    assert score_input.details


FURTHER = {
    "contexts": ["a", "b"],
    "context_ids": ["d1", "d2"],
    "context_scores": [2, 0.5],
    "gold_ids": ["d1", "d3"],
    "relevance": [2, 1],
    "gold_passages": ["a"],
    "citations": [{"passage": "d1", "start": 0, "end": 1}, {"passage": 2}],
    "answerable": True,
    "turns": [{"role": "user", "text": "Hi"}],
}


def test_fields_of_retrieval_citations_and_turns_are_read():
    (sample,) = read_score_request(body(rows=[ROW | FURTHER])).samples
    assert sample.relevance == {"d1": 2, "d3": 1}
    assert (sample.context_ids, sample.context_scores) == (("d1", "d2"), (2.0, 0.5))
    assert sample.citations == (Citation(passage="d1", start=0, end=1), Citation(passage=2))
    assert (sample.gold_passages, sample.answerable) == (("a",), True)
    assert sample.turns == (Turn(role="user", text="Hi"),)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"context_ids": ["d1", "d1"]}, "context_ids"),
        ({"context_ids": ["d1", " "]}, "context_ids"),
        ({"context_scores": [1]}, "context_scores"),
        ({"context_scores": [1, "x"]}, "context_scores"),
        ({"gold_ids": ["d1", "d1"]}, "gold_ids"),
        ({"relevance": [1]}, "relevance"),
        ({"relevance": {"d1": 1}}, "relevance"),
        ({"relevance": {"d1": 0.5}, "gold_ids": None}, "relevance"),
        ({"relevance": {"d1": 2**31}, "gold_ids": None}, "relevance"),
        ({"citations": [{"passage": 0}]}, "citations"),
        ({"citations": [{"passage": 1, "start": 0, "end": 10**6}]}, "citations"),
        ({"citations": [{"passage": 1, "page": 1}]}, "citations"),
        ({"turns": [{"role": "critic", "text": "x"}]}, "turns"),
        ({"turns": [{"role": "user"}]}, "turns"),
        ({"answerable": "yes"}, "answerable"),
    ],
)
def test_invalid_fields_of_retrieval_name_row_id_and_field(given, field):
    error = refused([ROW, ROW | FURTHER | {"id": "x"} | given])
    assert (error.line, error.sample_id) == (2, "x")
    assert str(error.field).partition(".")[0] == field


def test_metrics_are_named_as_everywhere():
    score_input = read_score_request(body(metrics=["sgi(sentences=false)", "rouge_l(beta=1.2)"]))
    assert [metric.canonical for metric in score_input.metrics] == [
        "sgi(sentences=false)",
        "rouge_l(beta=1.2)",
    ]
    for wrong, message in (
        (["nope"], "Unknown metric"),
        (["sgi", "sgi"], "named twice"),
        (["sgi("], "Cannot read"),
    ):
        with pytest.raises(UsageError, match=message):
            read_score_request(body(metrics=wrong))


@pytest.mark.parametrize(
    ("rows", "row", "sample_id", "field"),
    [
        ([ROW, {"id": "x", "questio": "a"}], 2, "x", "questio"),
        ([{"id": "x", "question": 3}], 1, "x", "question"),
        ([{"contexts": ["a", 3]}], 1, None, "contexts"),
        ([{"contexts": {"a": 3}}], 1, None, "contexts"),
        ([{"label": 1}], 1, None, "label"),
        ([{"label": "yes"}], 1, None, "label"),
        ([{"metadata": [1]}], 1, None, "metadata"),
        ([{"id": True}], 1, None, "id"),
        ([{"id": " "}], 1, " ", "id"),
        ([{"reference": ["a", None]}], 1, None, "reference"),
        ([{"id": "1"}, {"id": 1}], 2, "1", "id"),
        ([{}, {"id": "1"}], 2, "1", "id"),
        ([ROW, 5], 2, None, None),
        ([[]], 1, None, None),
        ([None], 1, None, None),
        ([{"question": "x" * (MAX_TEXT + 1)}], 1, None, "question"),
        ([{"contexts": ["x"] * (MAX_PASSAGES + 1)}], 1, None, "contexts"),
        ([{"id": "x" * 1001}], 1, "x" * 100, "id"),
        ([], None, None, "rows"),
        ([{}] * 257, None, None, "rows"),
        ({"a": 1}, None, None, "rows"),
    ],
)
def test_a_bad_row_is_named_with_its_number_id_and_field(rows, row, sample_id, field):
    error = refused(rows)
    assert (error.line, error.sample_id, error.field) == (row, sample_id, field)
    assert 0 < len(str(error)) < 400


def test_a_text_of_a_list_is_named_with_its_number():
    assert "text 2" in refused([{"contexts": ["a", 3]}]).message
    assert "text 2" in refused([{"reference": ["a", None]}]).message


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"\xff{}",
        b'{"rows":[{"question":"\\ud800"}]}',
        b'{"rows":[{"metadata":{"a":NaN}}]}',
        b'{"rows":[{"metadata":{"a":-Infinity}}]}',
        b'{"rows":[{"metadata":{"a":1e999}}]}',
        b'{"rows":[{"id":' + b"9" * 5000 + b"}]}",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"rows":[{"metadata":' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"}]}",
        b"[{}]",
        b"null",
        b'"rows"',
        b"3",
        b'{"rows":[{}],"x\\n<script>":1}',
    ],
)
def test_what_is_no_request_is_told_in_one_sentence(raw):
    error = refused(raw)
    assert error.line is None or error.line == 1
    assert 0 < len(str(error)) < 400
    assert "pydantic" not in str(error)


def test_more_metrics_than_sense_are_refused():
    with pytest.raises(DataError, match="metrics"):
        read_score_request(body(metrics=["sgi"] * (MAX_METRICS + 1)))
    with pytest.raises(DataError, match="metrics"):
        read_score_request(body(metrics=["x" * 201]))


def test_nul_is_a_character_like_any():
    (sample,) = read_score_request(body(rows=[ROW | {"id": "a\0b", "response": "\0"}])).samples
    assert (sample.id, sample.response) == ("a\0b", "\0")


def test_what_changes_of_a_run_is_what_is_given():
    assert read_model(b'{"name":null}', ChangeRequest).model_fields_set == {"name"}
    assert read_model(b"{}", ChangeRequest).model_fields_set == set()
    with pytest.raises(DataError, match="tags"):
        read_model(b'{"tags":"a"}', ChangeRequest)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
_FIELDS = st.sampled_from([*ROW, "id", "reference", "alternatives", "label", "metadata", "x"])


@given(
    st.one_of(_JSON, st.fixed_dictionaries({"rows": st.lists(st.dictionaries(_FIELDS, _JSON), max_size=3)}))
)
def test_any_json_is_read_or_refused_in_words(value):
    with contextlib.suppress(SgiError):
        score_input = read_score_request(json.dumps(value).encode())
        assert score_input.samples
        assert score_input.metrics


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused_in_words(raw):
    with pytest.raises(SgiError, match=r"\w"):
        read_score_request(raw)


F1 = metric("content_f1")
SENTENCES = " ".join(f"Sentence {number} is here." for number in range(MAX_TEXTS))
ANSWER = Sample(id="1", question="Which?", contexts=("one",), response=SENTENCES)
ALTERNATIVES = [
    Sample(
        id=str(row),
        response="r",
        reference=f"s {row}",
        alternatives=tuple(f"{row} answer {number}" for number in range(100)),
    )
    for row in range(60)
]
LONG = "word " * 20_000


def check(samples, *metrics):
    asyncio.run(check_size(samples, metrics))


@pytest.mark.parametrize(
    ("samples", "metrics", "message"),
    [
        ([ANSWER], [metric("sgi")], "4,192 texts to embed"),
        (ALTERNATIVES, [metric("semantic_similarity")], "6,061 texts to embed"),
        ([Sample(id="1", response=LONG * 42, reference="r")], [metric("semantic_similarity")], "4,201 texts"),
        ([Sample(id="1", response="a cat " * 110_000, reference="A dog.")], [metric("bertscore")], "texts"),
        ([Sample(id="1", response=LONG, reference=LONG)], [F1] * 3, "character comparisons"),
    ],
)
def test_requests_with_too_much_work_are_refused(samples, metrics, message):
    with pytest.raises(UsageError, match=message):
        check(samples, *metrics)


@pytest.mark.parametrize(
    ("samples", "name"),
    [
        ([ANSWER], "sgi(sentences=false)"),
        (ALTERNATIVES, "content_f1"),
        ([Sample(id="1", response=LONG, reference="word")], "content_f1"),
    ],
)
def test_other_requests_are_accepted(samples, name):
    check(samples, metric(name))


class Pair(NamedTuple):
    first: int
    second: str | None


class Colour(enum.Enum):
    RED = "red"


@dataclass(frozen=True)
class Told:
    """Something that is shown.

    Attributes:
        pairs: of numbers
            and texts.
        colours: which there are.
        cells: by name.
        edges: of two kinds.
    """

    pairs: tuple[Pair, ...]
    colours: frozenset[Colour]
    cells: dict[str, Cell] | None
    edges: tuple[float, str]


def valid(model, value):
    return Draft202012Validator(model.model_json_schema()).is_valid(value)


def test_a_view_is_described_as_what_goes_out():
    view = Told((Pair(1, None),), frozenset({Colour.RED}), {"sgi": Cell(1.0, "ok", "")}, (0.5, "x"))
    model = model_of(Told)
    shown = as_json(view)
    assert shown["pairs"] == [{"first": 1, "second": None}]
    assert valid(model, shown)
    for name, wrong in {"pairs": [[1, None]], "colours": ["blue"], "cells": 3, "edges": [None]}.items():
        assert not valid(model, shown | {name: wrong}), name
    assert not valid(model, {name: value for name, value in shown.items() if name != "edges"})


def test_descriptions_are_those_of_the_view():
    schema = model_of(Told).model_json_schema()
    assert schema["description"] == "Something that is shown."
    assert schema["properties"]["pairs"]["description"] == "of numbers and texts."


@pytest.mark.parametrize(
    "model", [ComparisonModel, HeadModel, HeadlineModel, RowPageModel, RunListModel, SampleModel]
)
def test_every_field_of_every_view_is_described(model):
    schema = model.model_json_schema()
    Draft202012Validator.check_schema(schema)
    lacking = [name for name, field in schema["properties"].items() if not field.get("description")]
    assert lacking == []
    assert '"Any"' not in json.dumps(schema)
