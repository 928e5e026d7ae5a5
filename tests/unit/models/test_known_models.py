from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from sgi.models.known_models import ALIASES, DEFAULT_MODEL, MODELS, known_model

NAMES = {"minilm", "all-MiniLM-L6-v2", "all-mpnet-base-v2", "bge-base-en-v1.5", "e5-base-v2", "gte-base"}


def test_the_models_known():
    assert set(MODELS) == NAMES
    assert all(name == record.name for name, record in MODELS.items())


def test_only_the_default_is_embedded():
    assert [name for name, record in MODELS.items() if record.embedded] == [DEFAULT_MODEL]


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_record_is_whole_and_frozen(name):
    record = MODELS[name]
    assert record.hub.count("/") == 1
    assert record.dimension in (384, 768)
    assert 256 <= record.limit <= 512
    assert record.licence
    with pytest.raises(FrozenInstanceError):
        record.limit = 1


def test_pooling_and_prefix_where_they_differ():
    assert [name for name, record in MODELS.items() if record.pooling == "cls"] == ["bge-base-en-v1.5"]
    assert {name: record.prefix for name, record in MODELS.items() if record.prefix} == {
        "e5-base-v2": "query: "
    }


def test_short_names_are_those_of_the_paper():
    assert {alias: record.name for alias, record in ALIASES.items()} == {
        "mpnet": "all-mpnet-base-v2",
        "bge": "bge-base-en-v1.5",
        "e5": "e5-base-v2",
        "gte": "gte-base",
    }
    assert not set(ALIASES) & set(MODELS)


def test_a_model_is_known_by_either_name():
    assert known_model("mpnet") is known_model("all-mpnet-base-v2") is MODELS["all-mpnet-base-v2"]
    assert known_model("") is known_model("mpnet2") is None
