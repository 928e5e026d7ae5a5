"""Labelled runs for calibration, written directly into a database."""

import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import sqlalchemy as sa

from sgi.kernel.metric_column import MetricProvenance
from sgi.kernel.registry import metric as named_metric
from sgi.kernel.registry import metric_names
from sgi.kernel.sample import Sample
from sgi.store import schema
from sgi.store.database import Database
from sgi.store.run_queries import RunRecord, find_run
from support.runs import add_run

MINILM = "minilm@8199be6f-ff1e,mean,256tok-windows,fp32"


def signature(*, encoders: str = MINILM, judge: str = "-", rows: int = 240) -> str:
    """The signature of a run."""
    return f"sgi:1|emb:{encoders}|judge:{judge}|n:{rows}|v:0.1.0"


def _provenance(metric: str, text: str) -> dict[str, Any] | None:
    """The models and the judge of a signature, as a run records them; None for another text."""
    match = re.fullmatch(r"sgi:1\|emb:(.*)\|judge:(.*)\|n:\d+\|v:[^|]*", text)
    if match is None or metric.partition("(")[0] not in metric_names():
        return None
    models = {model.partition("@")[0]: model for model in match[1].split("+") if "@" in model}
    kind = named_metric(metric)
    names = kind.embedder_names(tuple(models)) if kind.vector_needs else ()
    judge, _, prompts = match[2].rpartition("@")
    known = tuple(models[name] for name in names if name in models)
    prompts = prompts if judge else ""
    return asdict(MetricProvenance(known, judge, None, prompts, version=kind.spec.version))


def labelled_run(
    database: Database,
    metric: str = "sgi",
    *,
    run: str = "r1",
    rows: int = 240,
    gap: float = 1.5,
    run_signature: str | None = None,
    metric_columns: dict[str, Any] | None = None,
    run_columns: dict[str, Any] | None = None,
    changes: dict[int, dict[str, Any]] | None = None,
    values: Sequence[float | None] | None = None,
) -> RunRecord:
    """A finished run with two answers per question; grounded rows score higher by ``gap``.

    Args:
        database: the database.
        metric: the only metric of the run.
        run: its id.
        rows: number of rows; half of them are grounded.
        gap: in standard deviations.
        run_signature: signature of the run; None for that of the embedded model.
        metric_columns: columns of the metric to overwrite.
        run_columns: columns of the run to overwrite.
        changes: fields of samples to overwrite, by row.
        values: the scores; None draws them.
    """
    generator = np.random.default_rng(0)
    lengths = generator.integers(3, 200, size=rows)
    samples = [
        Sample(
            **{
                "id": f"q{row}",
                "question": f"Question {row // 2}?",
                "response": "x" * int(lengths[row]),
                "label": row % 2 == 0,
                "metadata": {"stars": row % 5, "human": ("no", "yes")[row % 3 == 0]},
            }
            | (changes or {}).get(row, {})
        )
        for row in range(rows)
    ]
    drawn = (generator.normal(size=rows) + gap * (np.arange(rows) % 2 == 0)).tolist()
    add_run(database, run, samples=samples, scores={metric: drawn if values is None else values})
    with database.writing() as connection:
        columns = {"signature": run_signature or signature(rows=rows)} | (run_columns or {})
        connection.execute(sa.update(schema.runs).where(schema.runs.c.id == run).values(columns))
        table = schema.run_metrics
        facts = {"provenance": _provenance(metric, columns["signature"])} | (metric_columns or {})
        connection.execute(sa.update(table).where(table.c.run == run).values(facts))
    return find_run(database, run)


def few_labels(database: Database, rows: int = 40, grounded: int = 20, **changes: Any) -> RunRecord:
    """A run in which the first rows are grounded, each of a question of its own."""
    samples = {
        row: {"label": row < grounded, "question": f"{row}?", "contexts": ["one two"], "response": "one four"}
        for row in range(rows)
    }
    return labelled_run(database, rows=rows, changes=samples, **changes)


def reference_rows(n: int = 260) -> list[dict[str, Any]]:
    """Right answers repeat the reference, wrong ones little of it; every third has a word too many."""
    return [
        {
            "id": f"q{k}",
            "question": f"Question {k} of many?",
            "response": f"answer {k}" + " well" * (k % 3) if k % 2 else f"no {'idea ' * (k % 5)}answer",
            "reference": f"answer {k}",
            "label": k % 2,
            "metadata": {"method": ("bm25", "dense")[k % 4 > 1], "pair": k // 2},
        }
        for k in range(n)
    ]
