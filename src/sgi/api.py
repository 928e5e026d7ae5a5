"""All functions of the public API that make or read runs; most have the name of their command.

A run is a `Run` of `evaluate` or `open_run`, or the name of a stored run (its id, its name, ``last``,
``last~1``). ``db`` is a SQLite file or ``postgresql://…``; None stands for
``SGI_DATABASE_URL`` and, without that, for ``sgi.db`` in the working folder.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from sgi.analysis.given_runs import given_run, open_given_runs
from sgi.api_analysis import (
    compare,
    compare_causes,
    diagnose,
    leaderboard,
    pareto,
    repeats,
    rescore,
    run,
)
from sgi.api_audit import audit
from sgi.api_duel import duel
from sgi.engine.opened_models import close_models
from sgi.engine.stored_runs import open_run
from sgi.kernel.errors import UsageError
from sgi.metrics.definitions import read_metrics
from sgi.store.label_consensus import ALL_PEOPLE, DRAWN, PEOPLE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sgi.analysis.agreement.report import AgreementReport
    from sgi.analysis.calibrate import MapKind
    from sgi.analysis.gate.gate import GateReport
    from sgi.analysis.gate.gate import Options as GateOptions
    from sgi.analysis.gate.rules import Rule
    from sgi.analysis.given_runs import Db, RunLike
    from sgi.engine.calibration_file import CalibrationFile
    from sgi.io.trace_scores import TraceFormat
    from sgi.metrics.definitions import Definitions
    from sgi.reporting.render import ReportFormat
    from sgi.stats.agreement import Weights
    from sgi.store.run_queries import RunRecord

__all__ = [
    "agree",
    "audit",
    "calibrate",
    "close_models",
    "compare",
    "compare_causes",
    "diagnose",
    "duel",
    "export",
    "gate",
    "leaderboard",
    "open_run",
    "pareto",
    "read_metrics",
    "repeats",
    "report",
    "rescore",
    "run",
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

    Returns:
        The record of each run: id, name, settings, number of rows and state, without the rows. `open_run`
        reads the rows.

    Raises:
        StoreError: there is no database, or it cannot be read.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> folder = Path(mkdtemp())
    >>> _ = (folder / "rows.jsonl").write_text('{"response": "Paris.", "reference": "paris"}')
    >>> _ = run(folder / "rows.jsonl", "squad_em", name="monday", db=folder / "sgi.db")
    >>> [(record.name, record.rows) for record in runs(db=folder / "sgi.db")]
    [('monday', 1)]
    """
    from sgi.store.database import open_database
    from sgi.store.run_queries import list_runs

    with open_database(db, create=False) as database:
        return list_runs(database, search=search, tag=tag, limit=limit)


def gate(
    run: RunLike,
    rules: str | Path | Rule | Sequence[str | Path | Rule] = (),
    *,
    against: RunLike | None = None,
    require_audit: bool = False,
    cluster: str | None = None,
    db: Db = None,
    **options: Unpack[GateOptions],
) -> GateReport:
    """Decide whether a run is good enough.

    A rule passes if the whole 95 % interval of the mean keeps the bound, not only the mean. A gate of stored
    runs is recorded in their database, as by ``sgi gate``; the notes of the report say how often these
    questions were used for a gate.

    Args:
        run: the run to decide on.
        rules: expressions such as ``"faithfulness>=0.8"``, TOML files with rules, or Rules.
        against: the baseline run, for rules on drops.
        require_audit: whether a rule on a metric with a judge fails unless `audit` has certified the judge;
            the run must be stored.
        cluster: which rows of stored runs belong together; None for the rule of each run.
        db: the database of runs given by name.
        **options: as for `sgi.analysis.gate.gate.gate`: ``coverage`` (the required share of rows with a
            value), ``max_drop`` (the largest accepted drop of each metric below ``against``),
            ``allow_unfinished``, ``allow_different``, ``on`` (``"interval"`` or ``"mean"``), ``looks`` (the
            planned number of gates on these questions), ``worst`` (number of worst rows to list) and ``by``
            (a column: each rule is checked for each of its values).

    Returns:
        The report: ``passed``, and in ``checks`` the value, the bound and the reason of each rule. A metric
        without values fails its rules.

    Raises:
        UsageError: there is no rule, or a rule is invalid.
        UnknownNameError: there is no such run or metric.

    >>> from sgi import evaluate
    >>> rows = [{"question": str(n), "response": "Paris.", "reference": "paris"} for n in range(40)]
    >>> gate(evaluate(rows, "squad_em"), "squad_em>=0.8").passed
    True
    """
    from sgi.analysis.gate.gate import gate as gate_run
    from sgi.analysis.gate.looks import gate_stored_run

    given = [run] if against is None else [run, against]
    if all(isinstance(one, str) or one.record.id for one in given):
        with open_given_runs(given, cluster, db) as (database, records):
            report, notes = gate_stored_run(
                database, records[0], rules, *records[1:], require_audit=require_audit, **options
            )
        return replace(report, notes=(*report.notes, *notes))
    if require_audit:
        raise UsageError("`require_audit` needs a stored run.", hint="Score the data with `sgi.run`.")
    first, *base = (given_run(one, cluster, db) for one in given)
    return gate_run(first, rules, against=base[0] if base else None, **options)


def calibrate(
    run: RunLike,
    metric: str,
    target: str | None = None,
    *,
    confidence: float | None = None,
    label: str | None = None,
    bins: int = 4,
    kind: MapKind = "logistic",
    define: str | Path | Mapping[str, Any] | Definitions | None = None,
    cluster: str | None = None,
    db: Db = None,
) -> CalibrationFile:
    """Fit probabilities of a metric, and for a target thresholds, on the labelled rows of a stored run.

    ``Path("sgi.calibration.json").write_text(calibration.to_json())`` stores the result for
    ``evaluate(…, calibration=…)``.

    Args:
        run: the run.
        metric: one of its metrics.
        target: the guaranteed error rate of thresholds, such as ``"fpr=0.05"``; None for probabilities only.
        confidence: the probability that this calibration keeps the target, such as 0.95. None: the target is
            kept on average over calibrations.
        label: the column of labels, true or 1 for grounded; ``people`` for labels from the dashboard. None:
            ``label`` if the data has it, otherwise those from the dashboard.
        bins: maximum number of ranges of answer length; each range has its own threshold.
        kind: the probability map, ``"logistic"`` or ``"isotonic"`` (monotone, needs more rows).
        define: file or tables of definitions that the metric uses, if the run does not store them.
        cluster: which rows belong together; None for the rule of the run.
        db: the database of a run given by name.

    Returns:
        The calibration: the probability map, its quality, and with a target the thresholds.

    Raises:
        UsageError: too few labelled rows, labels that are not yes and no, or a confidence without a target.
    """
    from sgi.analysis.calibrate import calibrate as fit
    from sgi.engine.calibration_parts import Target
    from sgi.metrics.definitions import Definitions

    if target is None and confidence is not None:
        raise UsageError("`confidence` needs `target`.", hint="Add the target fpr=0.05.")
    known = Definitions.of(define)
    how: dict[str, Any] = {"label": label, "bins": bins, "kind": kind, "define": known}
    with open_given_runs((run,), cluster, db) as (database, records):
        wanted = None if target is None else Target.of(target, confidence)
        return fit(database, records[0], metric, wanted, **how)


def agree(
    run: RunLike,
    label: str | None = None,
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
        label: the column of labels; ``people`` for labels from the dashboard, ``people:METRIC`` for those of
            rows drawn by the uncertainty of a metric. None: ``label`` if the data has it, else ``people``.
        metrics: only these; all if empty.
        threshold: scores of at least this value count as yes; if lower is better, scores of at most it.
        weights: how kappa weights disagreements, ``"quadratic"`` or ``"linear"``.
        scale: lowest and highest label; None for the scale of the metric.
        cluster: which rows belong together; None for the rule of the run.
        db: the database of a run given by name.

    Returns:
        The report: kappa, alpha, correlation or confusion matrix of each metric, and the corrected mean.

    Raises:
        UnknownNameError: there is no such column of labels.
        UsageError: no row has a label, or the labels do not fit the metric.
    """
    from sgi.analysis.agreement.agree import agree as measure
    from sgi.analysis.labelling import require_drawn_labels, undecided_notes
    from sgi.engine.stored_runs import grouped_run, read_run
    from sgi.engine.summarise import class_keys
    from sgi.store.human_labels import default_label, run_labels

    with open_given_runs((run,), cluster, db) as (database, (record,)):
        label = label or default_label(database, record)
        classes, probabilities, notes = dict[str, list[Any]](), None, list[str]()
        if label.startswith(DRAWN):
            scored = read_run(database, record)
            drawn = require_drawn_labels(scored, run_labels(database, record), label)
            label, values, probabilities = drawn.column, list[Any](drawn.values), drawn.probabilities
        else:
            scored, values, classes = grouped_run(database, record, label, class_keys(record.metrics))
        if label.startswith(DRAWN) or label in {PEOPLE, ALL_PEOPLE}:
            notes = [*undecided_notes(run_labels(database, record))]
    report = measure(
        scored,
        label,
        values,
        metrics=metrics,
        classes=classes,
        threshold=threshold,
        weights=weights,
        scale=scale,
        probabilities=probabilities,
    )
    return replace(report, notes=(*notes, *report.notes))


def export(
    run: RunLike,
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

    Returns:
        The number of rows in the file.

    Raises:
        UsageError: the file has another suffix, is the data of the run, or ``inputs`` is set for a run
            without texts.
        StoreError: the run was changed or deleted during the export.
    """
    from sgi.engine.export import export as write_rows
    from sgi.engine.export import require_not_data
    from sgi.engine.export_traces import TraceExport
    from sgi.io.trace_scores import TraceFormat as Format

    with open_given_runs((run,), None, db) as (database, (record,)):
        require_not_data(record, Path(out))
        if format is None:
            return write_rows(database, record, Path(out), inputs=inputs)
        if inputs:
            raise UsageError(
                "`inputs` does not apply to `format`, which writes scores without texts.",
                hint="Omit `inputs`.",
            )
        traces = TraceExport(database, record, Format(format))
        traces.write(Path(out))
        return traces.rows


def report(
    *runs: RunLike,
    out: str | Path | None = None,
    by: str | None = None,
    within: str | None = None,
    pareto: tuple[str, str] | None = None,
    format: Literal["html", "md", "json"] | None = None,  # noqa: A002 - the name of the option
    worst: int = 10,
    rows: int = 10_000,
    title: str | None = None,
    allow_different: bool = False,
    cluster: str | None = None,
    db: Db = None,
) -> str:
    """Render a report about a stored run, the differences between two, or a leaderboard of several systems.

    Args:
        *runs: one run, a run and a newer one, or several runs.
        out: a file; its suffix gives the format, unless ``format`` does.
        by: a column of one run's data that names the system of each row; it gives a leaderboard.
        within: a column of the data that groups the questions; it gives a leaderboard.
        pareto: two metrics, such as quality and cost, whose front is shown; it gives a leaderboard.
        format: the format; None: the suffix of ``out`` says it; HTML without ``out``.
        worst: number of worst (or most changed) rows shown in full for each metric.
        rows: number of rows in the table of an HTML report; a larger run is also written as CSV beside it.
        title: the title of the page; None for the name of the run.
        allow_different: compare runs that differ in more than their responses.
        cluster: which rows belong together; None for the rule of each run.
        db: the database of runs given by name.

    Returns:
        The report as text.

    Raises:
        UsageError: no run is given, the suffix of ``out`` has no format, or a run in memory is given.
        NotComparableError: the runs differ in more than their responses.
        UnknownNameError: there is no such run or column.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> folder = Path(mkdtemp())
    >>> _ = (folder / "rows.jsonl").write_text('{"response": "Paris.", "reference": "paris"}')
    >>> _ = run(folder / "rows.jsonl", "squad_em", name="monday", db=folder / "sgi.db")
    >>> print(report("monday", format="md", db=folder / "sgi.db").splitlines()[0])
    # monday
    """
    from sgi.reporting.leaderboard_view import LeaderboardOptions
    from sgi.reporting.render import ReportOptions, render_report, report_format

    path = None if out is None else Path(out)
    kind: ReportFormat = format or ("html" if path is None else report_format(path))
    if not runs:
        raise UsageError("A report needs at least one run.")
    systems = LeaderboardOptions(by, within, pareto=pareto, allow_different=allow_different)
    options = ReportOptions(worst=worst, rows=rows, title=title, leaderboard=systems)
    with open_given_runs(runs, cluster, db) as (database, records):
        return render_report(database, records, kind, options, path)[0]
