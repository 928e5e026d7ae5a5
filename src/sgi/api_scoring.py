"""Functions of the public API that store runs; each has the name of its command.

``db`` is a SQLite file or ``postgresql://…``; None stands for ``SGI_DATABASE_URL`` and, without that, for
``sgi.db`` in the working folder.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from sgi.analysis.given_runs import open_given_runs
from sgi.engine.evaluate import run_outside_loop
from sgi.engine.progress import default_listener
from sgi.engine.stored_runs import open_run
from sgi.kernel.errors import UsageError
from sgi.kernel.metric import AnyMetric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.analysis.given_runs import Db, RunLike
    from sgi.engine.given_options import OptionKeywords
    from sgi.engine.progress import Listener
    from sgi.engine.run import Run

__all__ = ["rescore", "run"]


def run(
    data: str | Path,
    metrics: str | AnyMetric | Sequence[str | AnyMetric] | None = None,
    embedder: str | Sequence[str] | None = None,
    **options: Unpack[OptionKeywords],
) -> Run:
    """Score a file of answers, and store the run, as ``sgi run`` does.

    Each finished batch is stored. If the run fails or is interrupted, ``sgi run --resume`` resumes it.

    Args:
        data: a .jsonl, .json, .csv, .tsv, .parquet, .arrow or .xlsx file; `evaluate` scores rows in memory.
        metrics: names, or metrics; None selects those whose fields the data has.
        embedder: one model name or several, the primary one first; None for the bundled model.
        **options: fields of `sgi.engine.run_options.RunOptions`, which ``sgi run`` has as options: those of
            `evaluate`, ``name``, ``tags``, ``out``, ``inputs``, ``rejects``, ``no_texts`` and ``db``.

    Returns:
        The stored run, as from `open_run`.

    Raises:
        DataError: the data cannot be read; the message names file, line, id and field.
        UsageError: an argument is invalid, or ``data`` is not a file.
        EmbedderError, JudgeError: more than ``max_failures`` of the rows failed.
        StoreError: the database cannot be written.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> folder = Path(mkdtemp())
    >>> _ = (folder / "rows.jsonl").write_text('{"response": "Paris.", "reference": "paris"}')
    >>> stored = run(folder / "rows.jsonl", "squad_em", name="monday", db=folder / "sgi.db")
    >>> stored.name, stored["squad_em"].mean
    ('monday', 1.0)
    """
    from sgi.engine.given_options import given_options
    from sgi.engine.runner import start_run
    from sgi.metrics.definitions import Definitions

    path: object = data
    if not isinstance(path, (str, os.PathLike)):
        hint = "Write the rows to a file, or score them with `sgi.evaluate`, which stores nothing."
        raise UsageError(f"A stored run reads rows from a file, not from a {type(path).__name__}.", hint=hint)
    listener = options.pop("listener", None) or default_listener()
    values: dict[str, Any] = {"data": Path(data), **options}
    if metrics is not None:
        several = [metrics] if isinstance(metrics, (str, AnyMetric)) else metrics
        values["metrics"] = [each if isinstance(each, str) else each.canonical for each in several]
        if used := Definitions.used_by(several).tables:
            values["define"] = {**used, **Definitions.of(options.get("define")).tables}
    chosen = given_options(values, embedder, source="sgi.run")
    if chosen.given_embedders is not None or chosen.given_judge is not None:
        hint = "Name them, or use `sgi.evaluate`, which takes objects."
        raise UsageError("A stored run needs an embedder and a judge that are given by name.", hint=hint)
    report = run_outside_loop(partial(start_run, chosen, listener))
    return open_run(report.run or "last", db=chosen.db)


def rescore(
    run: RunLike,
    metrics: Sequence[str | AnyMetric] | None = None,
    *,
    name: str | None = None,
    embedder: str | Sequence[str] | None = None,
    cache: bool | Path = True,
    listener: Listener | None = None,
    db: Db = None,
) -> Run:
    """Compute judged metrics again from the stored judgements of a run, as a new run; no judge is called.

    Args:
        run: the run.
        metrics: names or metrics; None takes every judged metric of the run.
        name: the name of the new run.
        embedder: one model name or several; None for the models of the run, if they are on this machine.
        cache: a file for vectors, your user cache (True), or none (False).
        listener: takes progress events; None shows a progress bar in a notebook.
        db: the database of a run given by name.

    Returns:
        The new run, which is stored beside the old one.

    Raises:
        UsageError: the run is not finished, or does not store what a metric needs.
    """
    from sgi.analysis.rescore import rescore as rescore_run

    place = db if isinstance(run, str) else run.db
    embedders = [embedder] if isinstance(embedder, str) else embedder
    with open_given_runs([run], None, db) as (database, (record,)):
        work = partial(rescore_run, database, record, metrics, name=name, embedders=embedders)
        result = run_outside_loop(partial(work, cache=cache, listener=listener or default_listener()))
    return open_run(result.report.run or "last", db=place)
