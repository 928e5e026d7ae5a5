from __future__ import annotations

import csv
import shutil

import pytest

from support import command
from support.answers import FAILING_TARGET, rows, write_jsonl


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scored")
    write_jsonl(folder / "a.jsonl", rows(12))
    assert command.sgi(folder, "run", "a.jsonl", "-m", "squad_em", "-o", "scores.jsonl", "-q").code == 0
    return folder


@pytest.fixture
def kept(scored, tmp_path):
    shutil.copytree(scored, tmp_path, dirs_exist_ok=True)


def test_the_file_is_what_the_run_would_have_written(sgi, kept, tmp_path):
    result = sgi("runs", "export", "last", "-o", "again.jsonl")
    assert (result.code, result.out) == (0, "")
    assert "Wrote 12 rows to again.jsonl." in result.err
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "scores.jsonl").read_bytes()
    assert sgi("runs", "export", "last").out == (tmp_path / "scores.jsonl").read_text()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_tables(sgi, kept, tmp_path, suffix):
    facts = sgi("runs", "export", "last", "-o", f"t.{suffix}", "--inputs", "--json").json
    assert (facts["rows"], facts["output"]) == (12, f"t.{suffix}")
    if suffix == "csv":
        with (tmp_path / "t.csv").open(newline="") as file:
            table = list(csv.DictReader(file))
    else:
        parquet = pytest.importorskip("pyarrow.parquet")
        table = parquet.read_table(tmp_path / "t.parquet").to_pylist()
    assert [row["response"] for row in table] == [row["response"] for row in rows(12)]
    assert {float(row["squad_em"]) for row in table} == {1.0}


def test_a_file_that_is_there_is_replaced_but_not_the_data(sgi, kept, tmp_path):
    (tmp_path / "out.jsonl").write_text("old")
    assert sgi("runs", "export", "last", "-o", "out.jsonl").code == 0
    assert (tmp_path / "out.jsonl").read_text() != "old"
    before = (tmp_path / "a.jsonl").read_bytes()
    assert sgi("run", "a.jsonl", "-m", "squad_em", "-q").code == 0  # of the data in this folder
    result = sgi("runs", "export", "last", "-o", "./a.jsonl")
    assert (result.code, "data of the run" in result.err) == (2, True)
    assert (tmp_path / "a.jsonl").read_bytes() == before


def test_an_unfinished_run_gives_the_rows_it_has(sgi, tmp_path):
    (tmp_path / "flaky_for_export.py").write_text(FAILING_TARGET)
    write_jsonl(tmp_path / "many.jsonl", rows(300))
    sgi("run", "many.jsonl", "-m", "squad_em", "--target", "flaky_for_export:answer", "-q")
    result = sgi("runs", "export", "last", "-o", "part.jsonl")
    assert "256 of 300 rows (44 not scored) to" in result.err
    assert len((tmp_path / "part.jsonl").read_text().splitlines()) == 256


def test_scores_for_traces_as_lines_or_as_a_file(sgi, tmp_path):
    row = {"response": "r", "reference": "r", "trace_id": "1" * 32, "span_id": "2" * 16}
    write_jsonl(tmp_path / "t.jsonl", [row, {"response": "r", "reference": "r"}])
    assert sgi("run", "t.jsonl", "-m", "squad_em", "-q").code == 0
    result = sgi("runs", "export", "last", "-o", "scores.jsonl", "--format", "langfuse")
    assert "Wrote 1 of 2 rows (1 without a usable trace id) to scores.jsonl." in result.err
    assert (
        sgi("runs", "export", "last", "--format", "langfuse").out == (tmp_path / "scores.jsonl").read_text()
    )
    assert sgi("runs", "export", "last", "--format", "otel", "--inputs").code == 2
