"""A stored run whose rows came from traces."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import sgi

if TYPE_CHECKING:
    from pathlib import Path

    from sgi.engine.run import Run


def run_of_traces(folder: Path) -> Run:
    """A run of ``squad_em``: a row with the value 1, an undefined and a missing one, and one without ids."""
    rows = [
        {"id": "a", "response": "Paris.", "reference": "paris", "trace_id": "1" * 32, "span_id": "2" * 16},
        {"id": "b", "response": "Zoë 🦊", "reference": "", "trace_id": "3" * 32, "span_id": "4" * 16},
        {"id": "c", "response": "Lima", "reference": None, "trace_id": "5" * 32, "span_id": "6" * 16},
        {"id": "d", "response": "Lima", "reference": "Lima"},
    ]
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return sgi.run(path, ["squad_em"], db=folder / "sgi.db")
