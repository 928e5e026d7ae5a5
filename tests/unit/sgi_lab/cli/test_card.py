import json
import struct
import xml.etree.ElementTree as ET

import pytest

from sgi.kernel import registry
from support.answers import TERMINAL_ATTACK, write_jsonl
from support.overlap_metric import register_metric, rows

FAST = ("--draws", "40", "-q")


@pytest.fixture(autouse=True)
def _support(monkeypatch):
    names = registry.metric_names
    register_metric(monkeypatch)
    yield
    names.cache_clear()


@pytest.fixture
def made_run(sgi, tmp_path):
    def make(data=None, metrics="support", name="stones"):
        write_jsonl(tmp_path / "stones.jsonl", rows() if data is None else data)
        result = sgi("run", "stones.jsonl", "-m", metrics, "--name", name, "-q")
        assert result.code == 0, result.err

    return make


def test_a_card_in_markdown(sgi, made_run):
    made_run()
    result = sgi("study", "card", "stones", "-m", "support", *FAST)
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith(
        "# Detector card: support on stones.jsonl\n\n80 labelled rows with a score: 40 grounded"
    )
    for heading in (
        *("Findings", "Ranking performance", "Comparison with trivial baselines", "By subgroup"),
        "Calibration",
    ):
        assert f"\n## {heading}\n" in result.out
    for name in (
        *("length (", "content-word precision (higher", "verbatim (higher", "cos(r,q) ("),
        "cos(r,c) (higher",
    ):
        assert f"| {name}" in result.out
    assert "| the score with contexts shuffled | 0." in result.out
    assert "It uses the contexts." in result.out
    assert "from 40 independent groups" in result.out
    assert "sgi:1" in result.out.splitlines()[-1]


def test_json_holds_every_number(sgi, made_run):
    made_run()
    facts = sgi("study", "card", "stones", "-m", "support", "--json", *FAST).json
    assert (facts["rows"], facts["grounded"], facts["clusters"], facts["dropped"]) == (80, 40, 40, {})
    assert [entry["name"] for entry in facts["baselines"]] == [
        *("length", "content-word precision", "overlap", "verbatim", "cos(r,q)", "cos(r,c)"),
    ]
    # Overlap is what this metric measures, so both rank alike, and nothing is left once it is held still.
    assert facts["baselines"][1]["ranking"] == facts["ranking"]
    assert facts["ranking"]["auroc"] == pytest.approx(0.8, abs=0.1)
    assert facts["shuffled"]["ranking"]["auroc"] < 0.65
    assert {(group["column"], group["value"]) for group in facts["subgroups"]} >= {
        ("model", "small"),
        ("model", "large"),
        ("model", "(none)"),
    }
    assert not {"turn", "tags"} & {group["column"] for group in facts["subgroups"]}
    assert [entry["method"] for entry in facts["calibration"]] == ["platt", "isotonic", "base rate"]


def test_a_folder_of_files(sgi, made_run, tmp_path):
    made_run()
    folder = tmp_path / "out" / "card"
    folder.mkdir(parents=True)
    for suffix in ("md", "json"):
        (folder / f"card.{suffix}").write_text("old")
    with (folder / "card.md").open() as page, (folder / "card.json").open() as data:
        result = sgi("study", "card", "stones", "-m", "support", "-o", "out/card", "--draws", "40")
        assert (result.code, page.read(), data.read()) == (0, "old", "old")  # replaced, not overwritten
    assert "Written to out/card: card.md, card.json, card.png, card.svg." in result.err
    assert (folder / "card.md").read_text("utf-8") == result.out
    assert json.loads((folder / "card.json").read_text("utf-8"))["rows"] == 80
    picture = (folder / "card.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert min(struct.unpack(">II", picture[16:24])) > 200
    assert ET.fromstring((folder / "card.svg").read_text("utf-8")).tag.endswith("svg")


def test_another_column_of_labels_and_subgroups(sgi, made_run):
    data = rows()
    for k, row in enumerate(data):
        row["metadata"]["human"] = None if k < 20 else ["no", "yes"][row["label"]]
    made_run(data)
    facts = sgi(
        "study", "card", "stones", "-m", "support", "--label", "human", "--by", "model", "--json", *FAST
    ).json
    assert facts["dropped"] == {"no label": 20}
    assert facts["rows"] == 60
    assert {group["column"] for group in facts["subgroups"]} == {"model", "length"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--by", "turn"), "The column 'turn' has 40 distinct values"),
        (("--by", "tags"), "The column 'tags' has lists or objects"),
        (("--by", "modle"), "Unknown column of the data 'modle'. It has: model, tags, turn."),
        (("--label", "turn"), "The labels in 'turn' of"),
        (("--label", "model"), "The labels in 'model' of"),
        (("--label", "nothing"), "Unknown column of stones"),
        (("-m", "sgi"), "Unknown metric of stones 'sgi'. It has: support."),
        (("--draws", "0"), "draws"),
        (("--seed", "-1"), "seed"),
        (("-o", "stones.jsonl/card"), "stones.jsonl/card"),
        (("-e", "nomodel"), "Unknown"),
    ],
)
def test_errors_have_a_hint(sgi, made_run, words, message):
    made_run()
    result = sgi("study", "card", "stones", "-m", "support", "-q", *words)
    assert (result.code, result.out) == (2, "")
    assert message in result.err


def test_an_impossible_folder_is_an_error_before_the_work(sgi, made_run):
    made_run()
    # The metric is unknown too, but that is found by looking at the run.
    result = sgi("study", "card", "stones", "-m", "nothing", "-o", "stones.jsonl", "-q")
    assert (result.code, result.out) == (2, "")
    assert "stones.jsonl" in result.err
    assert "Unknown metric" not in result.err


def test_sgi_by_the_run_s_own_model(sgi, made_run):
    made_run(rows(12), "sgi,theta_rq")
    facts = sgi("study", "card", "stones", "-m", "sgi", "--json", *FAST).json
    angle = sgi("study", "card", "stones", "-m", "theta_rq", "--json", "--no-shuffled", *FAST).json
    assert facts["shuffled"]["ranking"]["positives"] == 12
    assert facts["higher_is_better"]
    # cos(r,q) falls as θ(r,q) grows: as baseline and as metric they rank alike, but for the direction.
    (cosine,) = (entry for entry in facts["baselines"] if entry["name"] == "cos(r,q)")
    assert cosine["ranking"]["auroc"] in (
        pytest.approx(angle["ranking"]["auroc"]),
        pytest.approx(1 - angle["ranking"]["auroc"]),
    )


def test_a_terminal_gets_tables(sgi, made_run, monkeypatch):
    made_run()
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    result = sgi("study", "card", "stones", "-m", "support", *FAST)
    assert "| " not in result.out
    assert "Ranking performance" in result.out
    assert "Near chance" not in result.out
    assert "- A threshold that flags 95 % of the ungrounded answers" in result.out


def test_hostile_text_steers_neither_terminal_nor_page(sgi, made_run, tmp_path, monkeypatch):
    data = rows()
    for k, row in enumerate(data):
        row["metadata"] = {f"| {TERMINAL_ATTACK}": [TERMINAL_ATTACK, "<script>alert(1)</script>"][k % 2]}
    made_run(data)
    page = sgi("study", "card", "stones", "-m", "support", *FAST).out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    for entry in (page, sgi("study", "card", "stones", "-m", "support", *FAST).out):
        assert not {"\x9b", "\u202e"} & set(entry)
        assert "\x1b[31m" not in entry
        assert "\nforged" not in entry
    assert "<script>" not in page


def test_hostile_names_of_data_and_label_steer_no_terminal(sgi, tmp_path, monkeypatch):
    column = f"human {TERMINAL_ATTACK}"
    data = [row | {"metadata": {column: row["label"]}} for row in rows(10)]
    name = "stones [bold]\x1b[31m| <b>.jsonl"
    write_jsonl(tmp_path / name, data)
    assert sgi("run", name, "-m", "support", "--name", "wild", "-q").code == 0
    words = ("study", "card", "wild", "-m", "support", *FAST)
    page = sgi(*words, "--label", column)
    assert page.out.startswith("# Detector card: support on stones")
    refused = sgi(*words, "--label", f"{column}?")
    assert refused.code == 2
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    result = sgi(*words, "--label", column)
    assert result.code == 0
    assert "[bold]" in result.out
    for entry in (page.out, result.out):
        assert "\nforged" not in entry
    for entry in (page.out, refused.err, result.out):
        assert not {"\x9b", "\u202e"} & set(entry)
        assert "\x1b[31m" not in entry
