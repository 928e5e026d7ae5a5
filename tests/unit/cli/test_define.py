"""The option --define: definitions of a file in runs, scored rows and the list of metrics."""

import json
import re

import pytest

ROWS = [
    {
        "id": str(n),
        "question": "When?",
        "contexts": ["It was 1950."],
        "response": f"In {n}.",
        "reference": "1950",
    }
    for n in range(1948, 1952)
]
FILE = """
[quality]
metric = "minimum"
description = "The worse of two."
of = ["rouge_l", "named"]

[named]
metric = "contains"
text = "1950"
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    (tmp_path / "metrics.toml").write_text(FILE)
    return tmp_path


def test_a_run_is_scored_gated_and_resumed_by_the_defined_name(files, sgi):
    run = sgi("run", "rows.jsonl", "--define", "metrics.toml", "-m", "quality", "--name", "one")
    assert "\nquality  " in run.out
    assert "quality >= 0" in sgi("gate", "one", "quality>=0").out
    (files / "metrics.toml").unlink()
    assert "quality" in sgi("run", "--resume", "one").out


def test_a_changed_definition_is_not_resumed(files, sgi):
    sgi("run", "rows.jsonl", "--define", "metrics.toml", "-m", "quality", "--name", "one")
    (files / "metrics.toml").write_text(FILE.replace("1950", "1951"))
    error = sgi("run", "--resume", "one", "--define", "metrics.toml").err
    assert "The definition of quality changed" in error


def test_without_metrics_all_definitions_are_scored(files, sgi):
    printed = sgi("run", "rows.jsonl", "--define", "metrics.toml", "--no-store", "--json").out
    names = [metric["metric"].partition("(")[0] for metric in json.loads(printed)["metrics"]]
    assert names == ["quality", "named"]


def test_a_spec_holds_the_tables_or_names_the_file(files, sgi):
    tables = FILE.replace("[quality]", "[define.quality]").replace("[named]", "[define.named]")
    (files / "inline.toml").write_text(f'data = "rows.jsonl"\nmetrics = ["quality"]\n{tables}')
    (files / "file.toml").write_text('data = "rows.jsonl"\nmetrics = ["quality"]\ndefine = "metrics.toml"\n')
    inline, named = (sgi("run", name, "--no-store", "--json").out for name in ("inline.toml", "file.toml"))
    assert json.loads(inline)["metrics"] == json.loads(named)["metrics"]
    (files / "inline.toml").write_text('data = "rows.jsonl"\n[define.quality]\nmetric = "nope"\n')
    assert "inline.toml: define: [quality]: Unknown metric 'nope'" in sgi("run", "inline.toml").err


def test_rows_and_the_list_of_metrics(files, sgi):
    rows = sgi("score", "rows.jsonl", "--define", "metrics.toml", "-m", "named").out.splitlines()
    values = [next(iter(json.loads(row)["scores"].values()))["value"] for row in rows]
    assert values == [0.0, 0.0, 1.0, 0.0]
    listed = sgi("metrics", "--define", "metrics.toml").out
    assert "The worse of two." in listed
    assert 'contains(text="1950")' in listed
    page = sgi("metrics", "quality", "--define", "metrics.toml").out
    assert 'Stands for  minimum(of=["rouge_l", "contains(text=\\"1950\\")"])' in page
    (facts,) = json.loads(sgi("metrics", "named", "--define", "metrics.toml", "--json").out)
    assert facts["formula"] == 'contains(text="1950")'


@pytest.mark.parametrize("page", ["report.html", "report.md"])
def test_reports_show_the_name_alone_and_exports_the_whole_string(files, sgi, page):
    for name in ("one", "two"):
        sgi("run", "rows.jsonl", "--define", "metrics.toml", "-m", "quality,named", "--name", name)
    for runs in (("one",), ("one", "two")):
        sgi("report", *runs, "-o", page)
        text = re.sub("<pre.*?</pre>", "", (files / page).read_text(), flags=re.DOTALL)  # without settings
        assert "quality" in text
        assert "definition=" not in text
    assert "definition=" not in sgi("compare", "one", "two").out
    assert (
        "definition=" in sgi("runs", "export", "one", "-o", "rows.csv").out + (files / "rows.csv").read_text()
    )


def test_a_long_metric_without_a_name_is_short_in_tables_and_errors_and_whole_in_exports(files, sgi):
    schema = {"properties": {f"field_{n}": {"type": "string", "maxLength": n} for n in range(30)}}
    name = f"json_schema(schema={json.dumps(json.dumps(schema))})"
    for run in ("one", "two"):
        assert sgi("run", "rows.jsonl", "-m", name, "-m", "length(low=1)", "--name", run).code == 0
    shown = [
        sgi("show", "one").out.partition("\ndata = ")[0],
        sgi("study", "repeats", "one").out,
        sgi("compare", "one", "two").out,
        sgi("gate", "one", "bleu>=1").out,
        sgi("show", "one", "--worst", "1", "-m", name.replace("string", "strong")).err,
        sgi("run", "rows.jsonl", "-m", name, "-m", name).err,
    ]
    for place, text in enumerate(shown):
        assert "json_schema(" in text, place
        assert "field_11" not in text
    sgi("runs", "export", "one", "-o", "rows.csv")
    assert "field_29" in (files / "rows.csv").read_text()
    assert "field_29" in sgi("show", "one", "--json").out


def test_the_help_shows_the_brackets_of_a_table(sgi):
    assert "such as [quality], with a metric" in re.sub(r"[│\s]+", " ", sgi("compare", "--help-all").out)
