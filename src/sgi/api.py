"""Functions of the public API that read stored runs; each has the name of its command.

A run is a `Result` of `evaluate`, a `StoredRun` of `open_run`, or the name of a stored run (its id, its
name, ``last``, ``last~1``). ``db`` is a SQLite file or ``postgresql://…``; None stands for
``SGI_DATABASE_URL`` and, without that, for ``sgi.db`` in the working folder.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack

from sgi.analysis.stored_run import StoredRun, open_run
from sgi.engine.progress import default_listener
from sgi.engine.results import Result
from sgi.kernel.errors import UsageError
from sgi.kernel.scored_run import ScoredRun
from sgi.store.open_runs import open_runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.analysis.agreement.report import AgreementReport
    from sgi.analysis.calibrate import MapKind
    from sgi.analysis.card.card import DetectorCard
    from sgi.analysis.compare import Comparison
    from sgi.analysis.duel.duel import Duel
    from sgi.analysis.gate.gate import GateReport
    from sgi.analysis.gate.gate import Options as GateOptions
    from sgi.analysis.gate.rules import Rule
    from sgi.analysis.leaderboard import Leaderboard
    from sgi.analysis.repeats import Repeats
    from sgi.engine.calibration_file import CalibrationFile
    from sgi.engine.open_resources import JudgeLike
    from sgi.engine.progress import Listener
    from sgi.io.trace_scores.score import TraceFormat
    from sgi.reporting.render import ReportFormat
    from sgi.stats.agreement import Weights
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

    Db = str | Path | None
    Stored = str | StoredRun
    Run = str | StoredRun | Result | ScoredRun

__all__ = [
    "agree",
    "calibrate",
    "card",
    "compare",
    "duel",
    "export",
    "gate",
    "leaderboard",
    "open_run",
    "repeats",
    "report",
    "runs",
]


def runs(
    *, search: str = "", tag: str | None = None, limit: int | None = None, db: Db = None
) -> list[RunRecord]:
    """List the stored runs, newest first.

    Args:
        search: only runs with this text in their id, name, data or tags.
        tag: only runs with this tag.
        limit: the maximum number of runs; None for all.
        db: the database.
    """
    from sgi.store.database import open_database
    from sgi.store.run_queries import list_runs

    with open_database(db, create=False) as database:
        return list_runs(database, search=search, tag=tag, limit=limit)


def compare(
    base: Run,
    new: Run,
    *,
    changed: int = 10,
    metrics: Sequence[str] = (),
    allow_different: bool = False,
    cluster: str | None = None,
    db: Db = None,
) -> Comparison:
    """Compare two runs over the same questions, with intervals and tests.

    Args:
        base: the run before.
        new: the run after.
        changed: number of most changed rows to list for each metric.
        metrics: only these; all if empty.
        allow_different: compare runs that differ in more than their responses.
        cluster: which rows of stored runs belong together; None for the rule of each run.
        db: the database of runs given by name.

    Raises:
        RunsDifferError: the runs differ in more than their responses.
        UsageError: the runs share no row or no metric.
    """
    from sgi.analysis.compare import compare as compare_runs

    first, second = (_scored_run(run, cluster, db) for run in (base, new))
    return compare_runs(first, second, changed=changed, metrics=metrics, allow_different=allow_different)


def leaderboard(
    *runs: Run,
    by: str | None = None,
    metrics: Sequence[str] = (),
    allow_different: bool = False,
    cluster: str | None = None,
    db: Db = None,
) -> Leaderboard:
    """Rank several runs over the same questions, or the systems of one run.

    Args:
        *runs: two or more runs; one run if ``by`` is given.
        by: the column of the data that names the system of each row.
        metrics: only these; all if empty.
        allow_different: compare runs that differ in more than their responses.
        cluster: which rows of stored runs belong together; None for the rule of each run.
        db: the database of runs given by name.

    Raises:
        RunsDifferError: the runs differ in more than their responses.
        UsageError: there are fewer than two systems, or they share no question.
    """
    from sgi.analysis.leaderboard import leaderboard as rank_systems
    from sgi.analysis.systems import compared_systems

    scored = [_scored_run(run, cluster, db) for run in runs]
    return rank_systems(compared_systems(scored, by, allow_different=allow_different), metrics=metrics)


def duel(
    *runs: Run,
    judge: JudgeLike,
    by: str | None = None,
    allow_different: bool = False,
    cluster: str | None = None,
    cache: bool | str | Path = True,
    db: Db = None,
) -> Duel:
    """Ask a judge which of two systems answers each question better, and rank the systems.

    Args:
        *runs: two or more runs; one run if ``by`` is given.
        judge: a name such as ``"openai:NAME"``, its settings, or a judge of yours.
        by: the column of the data that names the system of each row.
        allow_different: compare runs that differ in more than their responses.
        cluster: which rows of stored runs belong together; None for the rule of each run.
        cache: where replies are stored: beside a file, in the user's cache (True), or nowhere (False).
        db: the database of runs given by name.

    Raises:
        RunsDifferError: the runs differ in more than their responses.
        UsageError: there are fewer than two systems, they share no question, or their texts are not stored.
    """
    from sgi.analysis.duel.duel import duel as ask_about_all
    from sgi.analysis.systems import compared_systems
    from sgi.engine.evaluate import run_outside_loop
    from sgi.engine.open_resources import open_given_judge

    scored = [_scored_run(run, cluster, db) for run in runs]
    systems = compared_systems(scored, by, allow_different=allow_different)

    async def ask() -> Duel:
        async with open_given_judge(judge, cache=cache) as opened:
            return await ask_about_all(systems, opened, listener=default_listener())

    return run_outside_loop(ask)


def repeats(
    run: Run, metric: str, *, threshold: float | None = None, examples: int = 10, db: Db = None
) -> Repeats:
    """Analyse repeated answers to the same questions: pass rates, flaky questions, components of variance.

    Args:
        run: the run, with several answers to each question.
        metric: one of its metrics.
        threshold: the value from which on an answer passes (at most this if lower is better); None: 1 for a
            metric whose values are all 0 or 1, otherwise no pass rates.
        examples: number of flaky questions to list.
        db: the database of a run given by name.

    Raises:
        UsageError: no question has two answers with a value.
    """
    from sgi.analysis.repeats import repeats as analyse

    return analyse(_scored_run(run, None, db), metric, threshold=threshold, examples=examples)


def gate(
    run: Run,
    rules: str | Path | Rule | Sequence[str | Path | Rule] = (),
    *,
    against: Run | None = None,
    cluster: str | None = None,
    db: Db = None,
    **options: Unpack[GateOptions],
) -> GateReport:
    """Decide whether a run is good enough.

    A gate of stored runs is recorded in their database, as ``sgi gate`` does; its notes say how often these
    questions were used for a gate.

    Args:
        run: the run to decide on.
        rules: expressions such as ``"faithfulness>=0.8"``, TOML files with rules, or Rules.
        against: the baseline run, for rules on drops.
        cluster: which rows of stored runs belong together; None for the rule of each run.
        db: the database of runs given by name.
        **options: ``coverage``, ``max_drop``, ``allow_unfinished``, ``allow_different``, ``on``, ``looks``
            and ``worst``, as for `sgi.analysis.gate.gate.gate`.

    Raises:
        UsageError: there is no rule, or a rule makes no sense.
    """
    from dataclasses import replace

    from sgi.analysis.gate.gate import gate as gate_run
    from sgi.analysis.gate.looks import gate_stored_run

    if isinstance(run, str | StoredRun) and isinstance(against, str | StoredRun | None):
        names = (run,) if against is None else (run, against)
        with _open_runs(names, cluster, db) as (database, records):
            report, notes = gate_stored_run(database, records[0], rules, *records[1:], **options)
        return replace(report, notes=(*report.notes, *notes))
    base = None if against is None else _scored_run(against, cluster, db)
    return gate_run(_scored_run(run, cluster, db), rules, against=base, **options)


def calibrate(
    run: Stored,
    metric: str,
    target: str = "fpr=0.05",
    *,
    label: str = "label",
    bins: int = 4,
    kind: MapKind = "platt",
    cluster: str | None = None,
    db: Db = None,
) -> CalibrationFile:
    """Fit thresholds and probabilities of a metric on the labelled rows of a stored run.

    ``Path("sgi.calibration.json").write_text(calibration.to_json())`` stores the result for
    ``evaluate(…, calibration=…)``.

    Args:
        run: the run.
        metric: one of its metrics.
        target: the guaranteed error rate, such as ``"fpr=0.05"``.
        label: the column of labels, true or 1 for grounded.
        bins: maximum number of ranges of answer length; each range has its own threshold.
        kind: the probability map, ``"platt"`` (logistic) or ``"isotonic"`` (monotone).
        cluster: which rows belong together; None for the rule of the run.
        db: the database of a run given by name.

    Raises:
        UsageError: too few labelled rows, or labels that are not yes and no.
    """
    from sgi.analysis.calibrate import calibrate as fit
    from sgi.engine.calibration_file import Target

    with _open_runs((run,), cluster, db) as (database, records):
        return fit(database, records[0], metric, Target.of(target), label=label, bins=bins, kind=kind)


def card(
    run: Stored,
    metric: str,
    *,
    label: str = "label",
    beside: Sequence[str] = (),
    by: Sequence[str] = (),
    embedder: str | None = None,
    shuffled: bool = True,
    cache: bool | Path = True,
    draws: int = 1000,
    seed: int = 0,
    cluster: str | None = None,
    db: Db = None,
    listener: Listener | None = None,
) -> DetectorCard:
    """Make a detector card of a metric of a stored run; `detector_card` makes one of any scores.

    Args:
        run: the run.
        metric: one of its metrics.
        label: the column of labels, true or 1 for grounded.
        beside: other metrics of the run to compare with.
        by: columns of subgroups; empty for all with 2 to 12 distinct values.
        embedder: the model for the cosine baselines; None for the embedder of the run.
        shuffled: also score the metric with the contexts of other questions.
        cache: a file for vectors, your user cache (True), or none (False).
        draws: number of bootstrap samples.
        seed: random seed.
        cluster: which rows belong together; None for the rule of the run.
        db: the database of a run given by name.
        listener: takes progress events; None shows a progress bar in a notebook.
    """
    from sgi.analysis.card.from_run import CardOptions, card_of_run
    from sgi.engine.evaluate import run_outside_loop

    options = CardOptions(label, beside, by, embedder, shuffled, cache, draws, seed)
    work = partial(card_of_run, listener=listener or default_listener())
    with _open_runs((run,), cluster, db) as (database, (record,)):
        return run_outside_loop(partial(work, database, record, metric, options))


def agree(
    run: Stored,
    label: str = "label",
    *,
    metrics: Sequence[str] = (),
    threshold: float | None = None,
    weights: Weights = "quadratic",
    scale: tuple[float, float] | None = None,
    cluster: str | None = None,
    db: Db = None,
) -> AgreementReport:
    """Measure the agreement of a stored run with human labels, and correct its means.

    Args:
        run: the run.
        label: the column of labels.
        metrics: only these; all if empty.
        threshold: scores of at least this value count as yes; if lower is better, scores of at most it.
        weights: how kappa weights disagreements, ``"quadratic"`` or ``"linear"``.
        scale: lowest and highest label; None for the scale of the metric.
        cluster: which rows belong together; None for the rule of the run.
        db: the database of a run given by name.
    """
    from sgi.analysis.agreement.agree import agree as measure
    from sgi.engine.summarise import class_keys
    from sgi.store.scored_runs import grouped_run

    with _open_runs((run,), cluster, db) as (database, (record,)):
        scored, values, classes = grouped_run(database, record, label, class_keys(record.metrics))
    return measure(
        scored,
        label,
        values,
        metrics=metrics,
        classes=classes,
        threshold=threshold,
        weights=weights,
        scale=scale,
    )


def export(
    run: Stored,
    out: str | Path,
    *,
    inputs: bool = False,
    format: TraceFormat | Literal["otel", "phoenix", "langfuse"] | None = None,  # noqa: A002 - see `report`
    db: Db = None,
) -> int:
    """Write the scored rows of a stored run to a .jsonl, .csv or .parquet file, and return their number.

    Args:
        run: the run.
        out: the file; an existing one is replaced.
        inputs: add question, contexts, response and reference.
        format: write the scores for the traces of the rows; rows without the id of a trace are left out.
        db: the database of a run given by name.
    """
    from sgi.engine.export import export as write_rows
    from sgi.engine.export import require_not_data
    from sgi.engine.export_traces import TraceExport
    from sgi.io.trace_scores.score import TraceFormat as Format

    with _open_runs((run,), None, db) as (database, (record,)):
        require_not_data(record, Path(out))
        if format is None:
            return write_rows(database, record, Path(out), inputs=inputs)
        if inputs:
            raise UsageError("`format` writes scores without the texts of the rows.", hint="Omit `inputs`.")
        traces = TraceExport(database, record, Format(format))
        traces.write(Path(out))
        return traces.rows


def report(
    run: Stored,
    out: str | Path | None = None,
    *,
    new: Stored | None = None,
    format: Literal["html", "md", "json"] | None = None,  # noqa: A002 - the name of the option
    worst: int = 10,
    rows: int = 10_000,
    title: str | None = None,
    allow_different: bool = False,
    cluster: str | None = None,
    db: Db = None,
) -> str:
    """Render a report about a stored run, or about the differences between two stored runs.

    Args:
        run: the run.
        out: a file; its suffix gives the format, unless ``format`` does.
        new: a second, newer run.
        format: the format; None for that of the suffix of ``out``, or for HTML without ``out``.
        worst: number of worst (or most changed) rows shown in full for each metric.
        rows: number of rows in the table of an HTML report; a larger run is also written as CSV beside it.
        title: the title of the page; None for the name of the run.
        allow_different: compare runs that differ in more than their responses.
        cluster: which rows belong together; None for the rule of each run.
        db: the database of runs given by name.

    Returns:
        The report as text.
    """
    from sgi.reporting.render import ReportOptions, render_report, report_format

    path = None if out is None else Path(out)
    kind: ReportFormat = format or ("html" if path is None else report_format(path))
    options = ReportOptions(worst=worst, rows=rows, title=title, allow_different=allow_different)
    with _open_runs((run,) if new is None else (run, new), cluster, db) as (database, records):
        return render_report(database, records, kind, options, path)[0]


@contextmanager
def _open_runs(
    names: Sequence[Stored], cluster: str | None, db: Db
) -> Iterator[tuple[Database, list[RunRecord]]]:
    """Context manager that opens the database of stored runs, and yields it with the records of the runs."""
    databases = dict.fromkeys(name.db if isinstance(name, StoredRun) else db for name in names)
    if len(databases) > 1:
        raise UsageError("The runs are in different databases.", hint="Compare them with `compare`.")
    ids = [name.record.id if isinstance(name, StoredRun) else name for name in names]
    rules = [cluster or (name.record.cluster if isinstance(name, StoredRun) else None) for name in names]
    with open_runs(next(iter(databases)), *ids) as (database, records):
        yield database, [record.with_clusters(rule) for record, rule in zip(records, rules, strict=True)]


def _scored_run(run: Run, cluster: str | None, db: Db) -> ScoredRun:
    if isinstance(run, ScoredRun):
        return run
    if isinstance(run, Result) or (isinstance(run, StoredRun) and cluster is None):
        return run.scored()
    name, database = (run.record.id, run.db) if isinstance(run, StoredRun) else (run, db)
    return open_run(name, db=database, cluster=cluster).scored()
