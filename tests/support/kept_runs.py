"""Runs that the engine scores and stores, for tests of views, pages and reports."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import anyio

from sgi.engine.run_options import RunOptions
from sgi.engine.runner import start_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

METRICS = ("sgi", "semantic_similarity", "lexical_aggregate", "content_f1")
TOPICS = ("bridges", "rivers", "poets")


def rows(
    n: int = 12, *, answer: str = "The {topic} of item {k} are old, and number {k}."
) -> list[dict[str, Any]]:
    """Labelled rows with passages, references and a group column; every fourth response is unsupported."""
    data = []
    for k in range(n):
        topic = TOPICS[k % len(TOPICS)]
        grounded = k % 4 != 0
        response = answer.format(topic=topic, k=k) if grounded else f"Nobody knows the colour of {k} cats."
        data.append(
            {
                "id": f"item-{k}",
                "question": f"How many {topic} does item {k} have?",
                "contexts": [f"Item {k} has {k} old {topic}.", f"Nothing else is known of {topic}."],
                "response": response,
                "reference": f"Item {k} has {k} {topic}.",
                "label": grounded,
                "metadata": {"topic": topic, "number": k},
            }
        )
    return data


def write_rows(path: Path, data: Iterable[Mapping[str, Any]]) -> Path:
    """Write the rows as JSON Lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in data), encoding="utf-8")
    return path


def store_run(
    database: str | Path,
    folder: Path,
    data: Sequence[Mapping[str, Any]],
    *,
    name: str | None = None,
    metrics: Sequence[str] = METRICS,
) -> str:
    """Score the rows and store the run; return its id."""
    path = write_rows(folder / f"{name or 'data'}.jsonl", data)
    spec = RunOptions(data=path, metrics=tuple(metrics), name=name)
    report = anyio.run(start_run, spec.model_copy(update={"db": database}))
    assert report.run is not None
    return report.run
