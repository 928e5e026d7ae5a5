from __future__ import annotations

import io
import json
import re

import pytest

from sgi.cli import console
from sgi.cli.console import complain, plain, print_summary, print_tables, progress
from sgi.engine.evaluate import evaluate
from sgi.engine.progress import Advanced, Embedded, Finished, Started
from sgi.kernel.errors import UsageError
from sgi.reporting.table import Table
from sgi.testing.fakes import HashEmbedder

ROWS = [
    {"id": str(i), "question": f"q{i}", "contexts": ["c"], "response": "r" * (i + 1), "label": i % 2}
    for i in range(12)
]


@pytest.mark.parametrize("sign", ["\x00", "\x1b", "\x7f", "\x9b", "\r", "\u202e", "\u2066"])
def test_what_steers_a_terminal_is_shown_as_a_sign(sign):
    assert plain(f"a{sign}b") == "a\N{REPLACEMENT CHARACTER}b"


def test_names_in_an_error_cannot_forge_a_line(capsys):
    complain(UsageError("Unknown column 'a\n::error::forged\u2028x\tb'"))
    assert capsys.readouterr().err == "Error: Unknown column 'a\ufffd::error::forged\ufffdx\ufffdb'\n"


def test_ordinary_text_stays():
    text = "é 東京 עברית 👩\u200d👧\t\n"
    assert plain(text) == text


@pytest.fixture
def shown(capsys, monkeypatch):
    def show(rows, metrics, *, percent=True, columns=80):
        monkeypatch.setenv("COLUMNS", str(columns))
        print_summary(evaluate(rows, metrics, HashEmbedder()).summary(), percent=percent)
        return capsys.readouterr().out

    return show


def test_shares_are_percent_by_default_and_angles_never(shown):
    rows = [row | {"reference": row["response"]} for row in ROWS]
    means = shown(rows, ["squad_em", "theta_rq"]).partition("ranks label")[0].splitlines()
    assert [line.count("%") for line in means[:3]] == [1, 1, 0]  # the title's, the share's, none of the angle
    assert "100.00 %" in means[1]
    assert "1.0000" in shown(rows, ["squad_em"], percent=False)


def test_rankings_are_shown_where_labels_are_and_only_there(shown):
    assert "AUROC" in shown(ROWS, ["theta_rq"])
    bare = [{key: value for key, value in row.items() if key != "label"} for row in ROWS]
    assert "AUROC" not in shown(bare, ["theta_rq"])


def test_gaps_are_counted_by_status(shown):
    rows = [*ROWS, {"id": "x", "question": "q", "response": " "}]
    assert "1 undefined" in shown(rows, ["theta_rq"])


@pytest.mark.parametrize("columns", [20, 80, 200])
def test_nothing_is_cut_however_narrow_the_window(shown, columns):
    page = shown(ROWS, ["theta_rq", "sgi(sentences=false)"], columns=columns)
    assert "…" not in page
    assert page == shown(ROWS, ["theta_rq", "sgi(sentences=false)"], columns=columns)
    lines = [line.split() for line in page.splitlines()]
    assert [line[0] for line in lines[1:3]] == ["theta_rq", "sgi(sentences=false)"]
    assert page.splitlines()[-1].startswith("sgi:1|emb:hash@")
    assert "12 / 12" in page


@pytest.mark.parametrize("columns", [80, 100])
def test_long_texts_in_the_first_column_wrap_and_counts_are_not_cut(capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    reasons = {
        f"the sample has no {name}; {'the run has no such metric; ' * 12}end": "1,234" for name in "abc"
    }
    print_tables([Table(("because", "rows"), reasons.items())])
    lines = [re.sub(r"\x1b\[\d*m", "", line) for line in capsys.readouterr().out.splitlines()]
    assert max(map(len, lines)) <= columns
    assert sum(line.rstrip().endswith(" 1,234") for line in lines) == len(reasons)
    assert " ".join(" ".join(lines).split()).count("such metric; end") == len(reasons)


def heard(monkeypatch, capsys, seconds):
    clock = iter(seconds)
    monkeypatch.setattr(console.time, "monotonic", lambda: next(clock))
    with progress(quiet=False) as listen:
        for event in (Started("scoring", 20), Advanced(10), Advanced(10), Finished("scoring")):
            listen(event)
    return capsys.readouterr().err.splitlines()


def test_a_quick_stage_writes_no_line(monkeypatch, capsys):
    assert heard(monkeypatch, capsys, [0, 0, 1, 2, 2]) == []


def test_a_slow_stage_writes_lines_with_rate_and_time_left(monkeypatch, capsys):
    lines = heard(monkeypatch, capsys, [0, 0, 10, 11, 12])
    assert lines == [
        "scoring: 10 of 20 rows, 1 rows/s, 10 s left",
        "scoring: 20 of 20 rows, 2 rows/s, 0 s left",
    ]


def test_lines_count_the_texts_of_the_current_batch(monkeypatch, capsys):
    clock = iter([0, 0, 10, 20, 20])
    monkeypatch.setattr(console.time, "monotonic", lambda: next(clock))
    with progress(quiet=False) as listen:
        for event in (Started("scoring", 20), Embedded(25, 100, 20), Advanced(20), Finished("scoring")):
            listen(event)
    assert capsys.readouterr().err.splitlines() == [
        "scoring: 5 of 20 rows, 0 rows/s, 30 s left",
        "scoring: 20 of 20 rows, 1 rows/s, 0 s left",
    ]


def test_the_bar_moves_inside_a_batch(monkeypatch):
    drawn = io.StringIO()
    drawn.isatty = lambda: True
    monkeypatch.setattr(console.sys, "stderr", drawn)
    with progress(quiet=False) as listen:
        for event in (Started("scoring", 20), Embedded(25, 100, 20)):
            listen(event)
    assert re.search(r"5/20.*25 of 100 texts", drawn.getvalue())


def test_quiet_is_quiet(capsys):
    with progress(quiet=True) as listen:
        listen(Started("scoring", 1))
    assert capsys.readouterr() == ("", "")


_CODES = (*range(0x80, 0xA0), 0x061C, 0x200B, 0x200F, *range(0x2028, 0x202F), 0x2066, 0xFEFF)
STRANGE = "".join(map(chr, _CODES))


def test_json_on_stdout_holds_no_character_that_steers_a_terminal(sgi, tmp_path):
    row = {"id": f"a{STRANGE}", "response": f"{STRANGE} x", "reference": f"x\x1b[2J\x7f{STRANGE}"}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row))
    assert sgi("run", "rows.jsonl", "-m", "rouge_l", "-q").code == 0
    outs = [
        sgi("show", "last", "--sample", row["id"], "--json").out,
        sgi("runs", "export", "last", "--inputs").out,
        sgi("score", "rows.jsonl", "-m", "rouge_l", "--inputs").out,
        sgi("runs", "--json").out,
    ]
    assert all(outs)
    for out in outs:
        assert not set(out) & set(f"{STRANGE}\x1b\x7f")
    for out in outs[1:3]:
        assert json.loads(out)["reference"] == row["reference"]
