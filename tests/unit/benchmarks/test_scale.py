from __future__ import annotations

from datetime import UTC, datetime

import scale
from cost import DISK, TIME
from harness import Figure
from results import document

FIGURES = [
    Figure(f"{TIME}: sgi", "core-ms", 36.0, higher_is_better=False),
    Figure(f"{TIME}: quick", "core-ms", 0.36, higher_is_better=False),
    Figure(f"{TIME}: bertscore", "core-ms", note="FAILED"),
    Figure(f"{DISK}: SQLite", "bytes", 800.0, higher_is_better=False),
    Figure("Ray, two workers", "rows/s", 170.0, 100.0, "one worker"),
]


def test_the_cost_of_a_billion_rows_uses_only_measured_figures():
    text = scale.cost_tables(document(FIGURES, datetime(2026, 11, 22, tzinfo=UTC)))
    assert "| sgi | 36 | 27.8 | 10,000 |\n" in text
    assert "| quick | 0.36 | 2,778 | 100 |\n" in text
    assert "| SQLite | 800 | 800 GB |" in text
    assert "Ray, two workers: 1.7 × one worker." in text
    assert "bertscore" not in text
    tables = text.partition("\n")[2]  # without the line with the revision, which can hold any digits
    assert "64" not in tables
    assert "more workers, and several machines, were not measured" in text


def test_workers_are_mentioned_only_if_they_were_measured():
    assert "workers" not in scale.cost_tables(document(FIGURES[:4], datetime(2026, 11, 22, tzinfo=UTC)))


def test_only_the_part_between_the_markers_is_replaced():
    page = scale.PAGE.read_text(encoding="utf-8")
    once = scale.replace_tables(page, "new")
    assert scale.replace_tables(once, "new") == once
    assert once.split(scale.BEGIN)[0] == page.split(scale.BEGIN)[0]
    assert once.split(scale.END)[1] == page.split(scale.END)[1]
