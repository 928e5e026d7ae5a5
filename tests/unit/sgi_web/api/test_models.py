from __future__ import annotations

import enum
import json
from dataclasses import dataclass
from typing import NamedTuple

import pytest
from jsonschema import Draft202012Validator

from sgi.reporting.views.to_json import as_json
from sgi.store.row_query import Cell
from sgi_web.api.api_models import (
    ComparisonModel,
    HeadlineModel,
    HeadModel,
    RowPageModel,
    RunListModel,
    SampleModel,
    model_of,
)


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
