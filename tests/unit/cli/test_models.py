from __future__ import annotations

import pytest


@pytest.fixture
def models(tmp_path, monkeypatch):
    result = tmp_path / "my models"
    for name, file in (
        ("all-mpnet-base-v2", "model.safetensors"),
        ("bge-base-en-v1.5", "model.onnx"),
        ("gte-base", "x"),
    ):
        (result / name).mkdir(parents=True)
        (result / name / file).write_text("{}")
    monkeypatch.setenv("SGI_MODELS_DIR", str(result))
    return result


def test_models_says_which_are_at_hand(sgi, models):
    listed = {entry["name"]: entry["at_hand"] for entry in sgi("study", "models", "list", "--json").json}

    assert listed == {
        "minilm": "embedded",
        "all-MiniLM-L6-v2": None,
        "all-mpnet-base-v2": "torch",
        "bge-base-en-v1.5": "onnx",
        "e5-base-v2": None,
        "gte-base": None,
    }


def test_the_table_has_the_short_names_and_the_place(sgi, models):
    out = sgi("study", "models").out
    lines = {line.split()[0]: line for line in out.splitlines()}

    assert "mpnet " in lines["all-mpnet-base-v2"]
    assert lines["all-mpnet-base-v2"].endswith("your models folder, no network (extra torch)")
    assert lines["bge-base-en-v1.5"].endswith("your models folder, no network")
    assert lines["gte-base"].endswith("thenlper/gte-base (extra hub)")
    assert str(models) in out
