from __future__ import annotations

from datetime import UTC, datetime

import scale
from cost import DISK, TIME
from measured import Figure
from results import document

FIGURES = [
    Figure(f"{TIME}: sgi", "core-ms", 36.0, higher_is_better=False),
    Figure(f"{TIME}: quick", "core-ms", 0.36, higher_is_better=False),
    Figure(f"{TIME}: bertscore", "core-ms", note="FAILED"),
    Figure(f"{DISK}: SQLite", "bytes", 800.0, higher_is_better=False),
    Figure("Ray, two workers", "rows/s", 170.0, 100.0, "one worker"),
]


def test_a_billion_rows_are_computed_from_what_was_measured_and_nothing_else():
    text = scale.computed(document(FIGURES, datetime(2026, 11, 22, tzinfo=UTC)))
    assert "| sgi | 36 | 27.8 | 10,000 |\n" in text
    assert "| quick | 0.36 | 2,778 | 100 |\n" in text
    assert "| SQLite | 800 | 800 GB |" in text
    assert "Ray, two workers: 1.7 × one worker." in text
    assert "bertscore" not in text
    assert "64" not in text
    assert "more workers, and several machines, were not measured" in text


def test_without_a_measurement_of_workers_none_is_mentioned():
    assert "workers" not in scale.computed(document(FIGURES[:4], datetime(2026, 11, 22, tzinfo=UTC)))


def test_only_the_part_between_the_marks_is_replaced():
    page = scale.PAGE.read_text(encoding="utf-8")
    once = scale.placed(page, "new")
    assert scale.placed(once, "new") == once
    assert once.split(scale.BEGIN)[0] == page.split(scale.BEGIN)[0]
    assert once.split(scale.END)[1] == page.split(scale.END)[1]
