import json
import sys

import pytest

from sgi.cli.main import main
from sgi_lab.metric_bench.catalogue import FAULTS, PERTURBATIONS

SAID = "The yard of Tolvik launched {} boats for Ada Stone."


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run ``sgi study bench …`` in this process, beside a file of rows; its code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {"question": f"How many, {k}?", "contexts": ["None."], "label": 1}
        | dict.fromkeys(("response", "reference"), SAID.format(k))
        for k in range(20, 44)
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    def command(*words):
        monkeypatch.setattr(sys, "argv", ["sgi", "study", "bench", *words])
        code = 0
        try:
            main()
        except SystemExit as left:
            code = int(left.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return command


def test_the_matrix_as_json_and_as_markdown(run, tmp_path):
    words = (
        *("-m", "rouge_l,squad_em", "--data", "rows.jsonl", "--perturb", "number_swap,refusal"),
        "--no-cache",
    )
    code, out, err = run(*words, "--json", "-q")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["metrics"] == ["rouge_l", "squad_em"]
    assert [cell["verdict"] for cell in found["cells"]] == ["sees", "sees", "falls", "falls"]
    code, out, err = run(*words, "-o", "result")
    assert code == 0
    assert "| number_swap | 24 | sees 1.00 [0.83, 1.00] | sees 1.00 [0.83, 1.00] |" in out
    assert "Written to result" in err
    assert json.loads((tmp_path / "result" / "bench.json").read_text("utf-8")) == found
    assert (tmp_path / "result" / "bench.md").read_text("utf-8") == out


def test_tables_on_a_terminal(run, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    code, out, _ = run("-m", "rouge_l", "--data", "rows.jsonl", "--perturb", "refusal", "--no-cache", "-q")
    assert code == 0
    assert out.startswith("\x1b[1m24 grounded rows of rows.jsonl, 1 changes, 1 metrics, seed 0.\x1b[0m")
    assert "falls 1.00" in out
    assert "|" not in out.splitlines()[3]


def test_the_perturbations_are_listed(run):
    _, out, _ = run("--list", "--json")
    assert [one["name"] for one in json.loads(out)] == [*PERTURBATIONS, *FAULTS]
    _, out, _ = run("--list")
    assert len(out.strip().splitlines()) == len(PERTURBATIONS) + len(FAULTS) + 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--perturb", "number_swop"), "number_swap"),
        (("-m", "rouge"), "rouge_l"),
        (("-m", "faithfulness"), "--judge"),
        (("--perturb", "reply_cut"), "judge"),
        (("--cache", "x", "--no-cache"), "not both"),
    ],
)
def test_a_mistake_is_told_in_a_line(run, words, message):
    code, out, err = run("--data", "rows.jsonl", "-q", *words)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err
