"""A judge's spec: what it takes, what it refuses, and what of it can change a number."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.llm.judge_spec import JudgeSpec, ModelName


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("openai:gpt-4o", ("openai", "gpt-4o", "")),
        ("ollama:llama3.2:1b", ("ollama", "llama3.2:1b", "")),
        ("openai:model@2024@https://host/v1", ("openai", "model@2024", "https://host/v1")),
        ("ollama:m@http://[::1]:11434/v1", ("ollama", "m", "http://[::1]:11434/v1")),
    ],
)
def test_names(text, parts):
    assert ModelName.of(text) == parts
    assert JudgeSpec.of(text).name_parts == parts


@pytest.mark.parametrize(
    "text",
    [
        *("", "openai:", "openai:a b", "mistral:x", "openai:m@ftp://host", "openai:m@http://host:0/v1"),
        *("openai:m@http://host/v1?key=secret-1", "openai:m@http://[::1/v1", "azure:m@http://host/v1"),
    ],
)
def test_names_of_no_judge(text):
    with pytest.raises(UsageError, match="The judge's model") as caught:
        JudgeSpec.of(text)
    assert "secret-1" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://user:secret-1@host/v1", "http://secret-1@host/v1"])
def test_an_address_with_a_password_is_refused_and_not_shown(url):
    with pytest.raises(UsageError, match="contains a user or a password") as caught:
        JudgeSpec.of(f"openai:m@{url}")
    assert "secret-1" not in str(caught.value)
    assert "secret-1" not in repr(vars(caught.value))


@pytest.mark.parametrize(
    "values",
    [
        {"concurrency": 0},
        {"timeout": 0},
        {"timeout": float("inf")},
        {"retries": -1},
        {"max_tokens": 0},
        {"temperature": -1},
        {"max_cost": 0},
        {"rpm": 0},
        {"budget": "many"},
        {"input_price": 1.0},
        {"output_price": 1.0},
        {"input_price": -1.0, "output_price": 1.0},
    ],
)
def test_nonsense_is_refused_by_name(values):
    with pytest.raises(UsageError, match="The judge"):
        JudgeSpec(model="openai:m", **values)


def test_an_unknown_setting_has_a_suggestion():
    with pytest.raises(UnknownNameError, match=r"Did you mean 'timeout'"):
        JudgeSpec.of({"model": "openai:m", "time_out": 3})
    with pytest.raises(UsageError, match="model"):
        JudgeSpec.of({})


def test_identity_holds_what_can_change_a_number():
    spec = JudgeSpec.of("openai:m")
    for name in ("concurrency", "retries", "rpm", "tpm", "timeout", "max_cost"):
        assert JudgeSpec(model="openai:m", **{name: 7}).identity() == spec.identity()
    for name, value in {"temperature": None, "seed": None, "max_tokens": 5, "budget": 500}.items():
        assert JudgeSpec(model="openai:m", **{name: value}).identity() != spec.identity()


def test_a_spec_survives_storage():
    spec = JudgeSpec(model="openai:m@http://host/v1", temperature=None, rpm=30)
    assert JudgeSpec.of(spec.model_dump(mode="json", exclude_defaults=True)) == spec


@given(st.text(max_size=40))
def test_any_text_is_a_name_or_is_refused(text):
    try:
        spec = JudgeSpec.of(text)
    except UsageError:
        return
    assert spec.name_parts.kind in text
    assert spec.name_parts.name


@pytest.mark.parametrize(
    "text", ["openai:m@127.0.0.1:8911/v1", "openai:m@localhost", "ollama:m@host:11434", "openai:m@10.0.0.1"]
)
def test_an_address_without_its_scheme_is_no_part_of_a_name(text):
    with pytest.raises(UsageError, match="must begin with http:// or https://"):
        JudgeSpec.of(text)
