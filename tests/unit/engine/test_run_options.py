from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.engine.flags import Flag
from sgi.engine.open_resources import OptionKeywords, read_options
from sgi.engine.option_parsing import share
from sgi.engine.run_options import RunOptions
from sgi.kernel.errors import SgiError, UnknownNameError, UsageError
from sgi.kernel.registry import metric

TOML = """
data = "rows.jsonl"
metrics = ["sgi", "rouge_l(beta=1.2)"]
embedders = "minilm"
name = "nightly"
max_failures = "10%"
out = "scores.csv"

[columns]
response = "output"

[target]
where = "https://example.org/ask"
concurrency = 4
headers = { Authorization = "Bearer ${RAG_TOKEN}" }
"""


def spec(**values):
    return RunOptions.of({"data": "rows.jsonl"} | values)


def test_a_file_is_read_with_paths_from_its_own_folder(tmp_path):
    (tmp_path / "run.toml").write_text(TOML)
    made = RunOptions.of(read_options(tmp_path / "run.toml"))
    assert made.data == tmp_path / "rows.jsonl"
    assert made.out == tmp_path / "scores.csv"
    assert made.metrics == ("sgi", "rouge_l(beta=1.2)")
    assert made.embedders == ("minilm",)
    assert made.max_failures == 0.1
    assert made.columns == {"response": "output"}
    assert made.target.concurrency == 4


def test_what_is_stored_reads_back_and_holds_no_secret(tmp_path, monkeypatch):
    monkeypatch.setenv("RAG_TOKEN", "hush")
    (tmp_path / "run.toml").write_text(TOML)
    made = RunOptions.of(read_options(tmp_path / "run.toml")).with_metrics([metric("sgi")])
    stored = made.to_dict()
    assert "hush" not in str(stored)
    assert stored["target"]["headers"] == {"Authorization": "Bearer ${RAG_TOKEN}"}
    assert RunOptions.of(stored) == made
    assert stored["metrics"] == ["sgi"]
    assert Path(stored["data"]).is_absolute()


def test_a_file_that_cannot_be_read(tmp_path):
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    for name in ("none.toml", "bytes.toml"):
        with pytest.raises(UsageError, match=name):
            read_options(tmp_path / name)


@pytest.mark.parametrize("address", ["https://user:hush@host/v1", "http://hush@host/v1"])
def test_no_password_of_a_model_is_kept(address):
    with pytest.raises(UsageError) as caught:
        spec(embedders=[f"openai:model@{address}"])
    assert "hush" not in str(caught.value)
    assert spec(embedders="openai:model@http://host:1/v1").embedders == ("openai:model@http://host:1/v1",)


def test_only_what_can_change_a_number_is_in_the_identity():
    chosen = [metric("sgi")]
    same = [spec(), spec(name="x"), spec(out="o.csv"), spec(max_failures="50%"), spec(inputs=True)]
    assert len({made.identity(chosen) for made in same}) == 1
    target = {"where": "http://h/ask"}
    others = [
        spec(embedders="e5-base-v2"),
        spec(long_texts="truncate"),
        spec(target=target),
        spec(target=target | {"body": {"top_k": 3}}),
        spec(target=target | {"answer_field": "text"}),
    ]
    assert len({made.identity(chosen) for made in [spec(), *others]}) == 6
    assert spec().identity([metric("sgi(passages='mean')")]) != spec().identity(chosen)
    quicker = spec(target=target | {"concurrency": 2, "retries": 0, "timeout": 3})
    assert quicker.identity(chosen) == spec(target=target).identity(chosen)


@given(st.one_of(st.text(), st.floats(), st.integers(), st.none()))
def test_a_share_is_a_share_or_an_error(value):
    with suppress(UsageError):
        assert 0 <= share(value) <= 1


@given(st.dictionaries(st.sampled_from([*RunOptions.model_fields, "extra"]), st.text() | st.integers()))
def test_any_values_give_a_spec_or_an_error_of_ours(values):
    with suppress(SgiError):
        assert isinstance(RunOptions.of(values), RunOptions)


def test_data_named_with_its_benchmark_is_found_from_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    spec = RunOptions.of({"data": "ragtruth(split=test):../elsewhere", "metrics": "sgi"}).with_metrics([])
    assert str(spec.data) == f"ragtruth(split=test):{tmp_path.parent / 'elsewhere'}"
    assert spec.with_metrics([]).data == spec.data


INTERNAL = {"cassette", "code_folder", "given_embedders", "given_judge"}


def test_python_has_a_keyword_for_every_option():
    outside = {"data", "metrics", "embedders", "store", "take_over"} | INTERNAL
    assert set(OptionKeywords.__annotations__) - {"listener"} == set(RunOptions.model_fields) - outside


def test_the_command_line_has_a_flag_for_every_option():
    without = {name for name, field in RunOptions.model_fields.items() if not _flags(field)}
    assert without == {"data", "threads", "allow_empty"} | INTERNAL


def _flags(field):
    return [each for each in field.metadata if isinstance(each, Flag)]


@pytest.mark.parametrize("name", ["db", "cache", "tags", "code_folder", "given_judge", "nli"])
def test_a_file_or_a_stored_run_cannot_set_an_option_of_the_call(name):
    with pytest.raises(UnknownNameError, match=name):
        RunOptions.of({"data": "rows.csv", name: "x"}, source="run.toml")


def test_options_of_the_call_are_not_stored():
    options = RunOptions.of(
        {"data": "rows.csv"}, db="a.db", cache=False, tags=("nightly",), retry_failed=True
    )
    assert options.to_dict() == {"data": "rows.csv"}
