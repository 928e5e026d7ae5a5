from __future__ import annotations

import io

import pytest
from rich.console import Console

from sgi.cli import console
from sgi.cli.console import plain, print_summary, progress, summary_table
from sgi.engine.evaluate import evaluate
from sgi.engine.progress import Advanced, Finished, Started
from sgi.testing.fakes import HashEmbedder

ROWS = [
    {"id": str(i), "question": f"q{i}", "contexts": ["c"], "response": "r" * (i + 1), "label": i % 2}
    for i in range(12)
]


@pytest.mark.parametrize("sign", ["\x00", "\x1b", "\x7f", "\x9b", "\r", "\u202e", "\u2066"])
def test_what_steers_a_terminal_is_shown_as_a_sign(sign):
    assert plain(f"a{sign}b") == "a\N{REPLACEMENT CHARACTER}b"


def test_ordinary_text_stays():
    text = "é 東京 עברית 👩\u200d👧\t\n"
    assert plain(text) == text


def shown(rows, metrics, **options):
    summary = evaluate(rows, metrics, HashEmbedder()).summary()
    page = io.StringIO()
    Console(file=page, width=200).print(summary_table(summary, **options))
    return page.getvalue()


def test_shares_are_percent_unless_told_and_angles_never():
    rows = [row | {"reference": row["response"]} for row in ROWS]
    page = shown(rows, ["squad_em", "theta_rq"], percent=True)
    assert "100.00 %" in page
    assert page.count("%") == 3  # the column's title, the mean, and nothing of the angle
    assert "1.0000" in shown(rows, ["squad_em"], percent=False)


def test_rankings_are_shown_where_labels_are_and_only_there():
    assert "AUROC" in shown(ROWS, ["theta_rq"], percent=True)
    bare = [{key: value for key, value in row.items() if key != "label"} for row in ROWS]
    assert "AUROC" not in shown(bare, ["theta_rq"], percent=True)


def test_gaps_are_counted_by_status():
    rows = [*ROWS, {"id": "x", "question": "q", "response": " "}]
    assert "1 undefined" in shown(rows, ["theta_rq"], percent=True)


def test_nothing_is_cut_when_the_summary_goes_to_a_file(capsys):
    print_summary(evaluate(ROWS, ["semantic_similarity", "theta_rq"][1:], HashEmbedder()).summary())
    out = capsys.readouterr().out
    assert "…" not in out
    assert out.splitlines()[-1].startswith("sgi:1|emb:hash@")


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


def test_quiet_is_quiet(capsys):
    with progress(quiet=True) as listen:
        listen(Started("scoring", 1))
    assert capsys.readouterr() == ("", "")
