"""From names to findings, on a small part of real data."""

import json

import pytest

from sgi.kernel.errors import DataError, SgiError, UsageError
from sgi_lab.paper.reproduce import EXPERIMENTS, open_workbench, run_experiments

ANSWERS = 400
"""Few enough to be quick, enough for three thirds of a selected sample to hold both classes."""


@pytest.fixture(scope="module")
def findings(data_folder):
    with open_workbench(["minilm"], [data_folder], limit=ANSWERS) as bench:
        return {finding.name: finding for finding in run_experiments(EXPERIMENTS, bench)}


def rows(finding, table=0):
    return finding.to_dict()["tables"][table]["rows"]


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_becomes_a_page_data_and_pictures(findings, name, tmp_path):
    paths = findings[name].write(tmp_path)
    assert {path.suffix for path in paths} == {".md", ".json", ".png", ".svg"}
    data = json.loads((tmp_path / f"{name}.json").read_bytes())
    assert data["signatures"]
    assert "nan" not in (tmp_path / f"{name}.md").read_text(encoding="utf-8").lower()
    for key in ("data", "seed"):
        assert key in data["settings"]


@pytest.mark.slow
def test_a_leak_is_perfect_and_goes_when_the_question_is_left_out(findings):
    flat = {row["score"]: row for row in rows(findings["displacement"], 1)}
    consistency = flat["flat_displacement_consistency"]
    assert consistency["leaky"] > 0.99 > consistency["out"] > consistency["matched"]
    assert any("above 0.99 in the leaky protocol" in remark for remark in findings["displacement"].remarks)


@pytest.mark.slow
def test_the_bounds_hold_for_every_answer(findings):
    assert any(f": 0 of {ANSWERS} answers violate" in remark for remark in findings["table2"].remarks)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes(data_folder, tmp_path):
    written = []
    for name in ("one", "two"):
        with open_workbench(["minilm"], [data_folder], limit=ANSWERS, seed=3) as bench:
            (finding,) = run_experiments(["table1"], bench)
        written.append([path.read_bytes() for path in finding.write(tmp_path / name)])
    assert written[0] == written[1]


def test_a_file_can_be_named_with_its_benchmark_or_alone(data_folder):
    for named in (f"halueval_qa:{data_folder / 'halueval_qa.jsonl'}", data_folder / "halueval_qa.jsonl"):
        with open_workbench(["minilm"], [named], limit=10) as bench:
            assert len(bench.halueval.answers.labels) == 10


def test_truthfulqa_is_found_beside_the_file_of_halueval(data_folder):
    with open_workbench(["minilm"], [data_folder / "halueval_qa.jsonl"], limit=10) as bench:
        assert bench.truthfulqa.answers.name == "TruthfulQA.csv"


@pytest.mark.parametrize("models", [[], [""], ["minilm", "minilm"]])
def test_models_are_wanted_each_once(models):
    with (
        pytest.raises(UsageError, match="Give one or more models, each of them once"),
        open_workbench(models),
    ):
        pass


def test_a_missing_file_and_a_file_without_labels_are_told(tmp_path):
    with (
        open_workbench(["minilm"], [tmp_path / "none.jsonl"]) as bench,
        pytest.raises(UsageError, match=r"none\.jsonl"),
    ):
        _ = bench.halueval
    plain = tmp_path / "plain.jsonl"
    plain.write_text('{"id": "1", "question": "q", "context": "c", "response": "r"}\n', encoding="utf-8")
    with open_workbench(["minilm"], [plain]) as bench, pytest.raises(DataError, match="of both classes"):
        _ = bench.halueval


def test_data_that_is_nowhere_is_told_with_the_way_out(monkeypatch, tmp_path):
    monkeypatch.setenv("SGI_DATA_DIR", str(tmp_path))
    with open_workbench(["minilm"]) as bench, pytest.raises(SgiError, match="SGI_DATA_DIR"):
        _ = bench.truthfulqa
