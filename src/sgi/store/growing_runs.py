"""Write growing runs, in which an application saves evaluations row by row.

Such a run has its own data (samples), which grows with it. Every metric has a score in every row, with the
status ``missing`` if nothing was saved.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass
from math import inf
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from sgi.kernel.errors import RunMismatchError, UnknownNameError, UsageError
from sgi.kernel.metric import MetricSpec, Status
from sgi.kernel.metric_column import UNOPENED
from sgi.kernel.registry import metric
from sgi.kernel.signature import canonical_json, digest, run_signature
from sgi.store import schema
from sgi.store.bulk_rows import chunks, encode_text
from sgi.store.evaluations import MetricScore, find_exact
from sgi.store.run_names import require_run_name
from sgi.store.schema import now
from sgi.store.writer import (
    ScoreRow,
    Setup,
    count_change,
    delete_scores,
    insert_answers,
    insert_batch,
    insert_metric,
    insert_run,
    insert_samples,
    insert_scores,
    new_run_id,
    spec_columns,
    update_run,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from sgi.kernel.sample import Sample
    from sgi.store.database import Database
    from sgi.store.samples import StoredAnswer

NOT_SAVED = "nothing was saved for this metric"
"""The reason of a row without a value for a metric that other rows of its run have."""

GROWING = "service-"
"""Prefix of the name of a run's own data, before the run's id."""

_ROWS_A_BATCH = 256
_ANOTHER = "Save it under another test_run_id."

# Statements of the usual save stand ready, since building one costs as much as running it.
_THIS: sa.BindParameter[str] = sa.bindparam("this")
_PLACE: sa.BindParameter[int] = sa.bindparam("place")
_METRICS_OF = (
    sa.select(schema.run_metrics)
    .where(schema.run_metrics.c.run == _THIS)
    .order_by(schema.run_metrics.c.position)
)
_POSITION_OF = sa.select(schema.samples.c.position).where(
    schema.samples.c.dataset == _THIS, schema.samples.c.id == sa.bindparam("sample")
)
_GROW_DATA = sa.update(schema.datasets).where(schema.datasets.c.hash == _THIS)
_GROW_BATCH = sa.update(schema.batches).where(schema.batches.c.run == _THIS, schema.batches.c.start == _PLACE)
_TOUCH = sa.update(schema.runs).where(schema.runs.c.id == _THIS)


@dataclass(frozen=True)
class EvaluationRow:
    """A row to save. Its answer is in ``answer`` (None if unknown), not in the sample.

    ``scores`` are by canonical string. ``embedders`` are fingerprints of all embedding models that were
    called, also of those that returned no vectors. ``judge`` is the judge's fingerprint with the digest of
    its prompts; empty without a judge.
    """

    sample: Sample
    answer: StoredAnswer | None
    scores: Mapping[str, MetricScore]
    embedders: tuple[str, ...] = ()
    judge: str = ""


def save_evaluation(
    database: Database,
    run: str,
    row: EvaluationRow,
    *,
    versions: Mapping[str, str],
    no_texts: bool = False,
) -> str:
    """Save a row into a growing run (its name or id), and return its id: run id and position.

    It replaces a row with the same sample id. A missing run is created with ``versions`` (of the packages), a
    finished run is reopened. Threads and processes may save at once. ``no_texts`` records that the row has
    placeholders in place of texts.

    Raises UsageError if the name is not allowed or the run of this name is not a growing run;
    RunMismatchError if the run's scores have another model, judge, prompts or metric version, or only one of
    run and row has texts; StoreError if
    the database cannot be written. After an error, no part of the row is saved.
    """
    with database.writing() as connection:
        try:
            found = _lock_run(connection, run)
        except UnknownNameError:
            found = _create_run(connection, run, versions, no_texts=no_texts)
        if (found.spec.get("no_texts") is True) != no_texts:
            raise RunMismatchError(
                f"Only some rows of the run {found.label} would have texts.", hint=_ANOTHER
            )
        models, judge = _merge_models(found, row.embedders), _merge_judge(found, row.judge)
        key = {"this": found.dataset, "sample": encode_text(row.sample.id)}
        position: int | None = connection.execute(_POSITION_OF, key).scalar()
        metrics = _metrics(connection, found, row.scores, position)
        if position is None:
            position = found.rows
            _append_position(connection, found)
        else:
            _delete_row(connection, found, position, metrics)
        _insert_row(connection, found, position, row, metrics)
        _update_run(connection, found, models, judge, n=max(found.rows, position + 1))
    return f"{found.id}:{position}"


def finish_growing(database: Database, run: str, summary: Mapping[str, Any]) -> None:
    """Finish a growing run, and store its summary."""
    with database.writing() as connection:
        found = _lock_run(connection, run)
        update_run(connection, found.id, finished_at=now(), summary=summary)


def _lock_run(connection: Connection, text: str) -> sa.Row[Any]:
    run = find_exact(connection, text, lock=True)
    if run is None:
        raise UnknownNameError("run", text, hint="`sgi runs` lists them.")
    if "service" not in run.spec:
        message = f"The run {text!r} was not made by saving single evaluations, and cannot grow."
        raise UsageError(message, hint=_ANOTHER)
    return run


def _create_run(
    connection: Connection, name: str, versions: Mapping[str, str], *, no_texts: bool
) -> sa.Row[Any]:
    """Create a run without rows, or return the one that another process has just created."""
    require_run_name(name)
    run = new_run_id()
    dataset, spec = f"{GROWING}{run}", {"service": True} | ({"no_texts": True} if no_texts else {})
    identity, signature = digest(canonical_json(spec)).hex(), run_signature([], n=0)
    setup = Setup(dataset, name, 0, spec, identity, signature, versions, name=name)
    with suppress(IntegrityError), connection.begin_nested():
        insert_run(connection, run, setup, now())
    return _lock_run(connection, name)


def _merge_models(run: sa.Row[Any], embedders: tuple[str, ...]) -> list[str]:
    """Merge the run's models with the row's. They must be equal, or the means of the run are meaningless.

    A model that could not be loaded matches any: it computed no number.
    """
    before, here = list(run.spec.get("embedders", ())), list(embedders)
    if not before or not here:
        return before or here
    pairs = zip(before, here, strict=False)
    may_be_equal = all(a == b or a.endswith(UNOPENED) or b.endswith(UNOPENED) for a, b in pairs)
    if len(before) != len(here) or not may_be_equal:
        message = f"The run {run.label} was made with {' + '.join(before)}, this evaluation with "
        raise RunMismatchError(f"{message}{' + '.join(here)}.", hint=_ANOTHER)
    return [new if old.endswith(UNOPENED) else old for old, new in zip(before, here, strict=True)]


def _merge_judge(run: sa.Row[Any], judge: str) -> str:
    """Merge the run's judge with the row's; one run has one judge and one set of prompts."""
    before = str(run.spec.get("judge", ""))
    if before and judge and before != judge:
        then, now_ = (fingerprint.rpartition("@") for fingerprint in (before, judge))
        what = "other prompts" if then[0] == now_[0] else now_[0]
        raise RunMismatchError(
            f"The run {run.label} was judged by {then[0]}, this evaluation by {what}.", hint=_ANOTHER
        )
    return judge or before


def _metrics(
    connection: Connection, run: sa.Row[Any], scores: Mapping[str, MetricScore], position: int | None
) -> dict[str, int]:
    """Return the number of every metric of the run; new metrics are added to all its rows.

    The first value of a metric fixes its version.
    """
    there = {row.metric: row for row in connection.execute(_METRICS_OF, {"this": run.id})}
    numbers = {name: int(row.id) for name, row in there.items()}
    for name, score in scores.items():
        if name not in there:
            numbers[name] = _new_metric(connection, run, len(numbers), name, score)
        elif score.status is Status.OK and (spec := _metric_spec(name, score)).version != there[name].version:
            if _has_values(connection, numbers[name], position):
                raise _mixed_versions_error(run, name, there[name].version, spec.version)
            _update_metric(connection, numbers[name], **spec_columns(spec))
        # The first value has the provenance: a score without a value may lack its model.
        first = name in there and score.status is Status.OK and there[name].provenance is None
        if first and score.provenance is not None:
            _update_metric(connection, numbers[name], provenance=asdict(score.provenance))
    return numbers


def _metric_spec(name: str, score: MetricScore) -> MetricSpec:
    """Return the spec of the metric. If its formula is unknown, the version is 0 and it has no bounds."""
    if score.spec is not None:
        return score.spec
    try:
        known = metric(name).spec
    except UsageError:  # also UnknownNameError
        known = None
    if known is not None and score.status is not Status.OK:
        return known
    upwards = known is None or known.higher_is_better
    return MetricSpec(name, 0, frozenset(), -inf, inf, higher_is_better=upwards)


def _has_values(connection: Connection, number: int, but: int | None) -> bool:
    scores = schema.scores
    ours = (scores.c.metric == number) & (scores.c.status == Status.OK.value)
    if but is not None:
        ours &= scores.c.position != but
    return connection.execute(sa.select(scores.c.position).where(ours).limit(1)).first() is not None


def _mixed_versions_error(run: sa.Row[Any], name: str, then: int, here: int) -> RunMismatchError:
    before, now_ = (f"computed (version {version})" if version else "given" for version in (then, here))
    message = f"The values of {name} in the run {run.label} were {before}, this one was {now_}; "
    return RunMismatchError(f"{message}their mean would be meaningless.", hint=_ANOTHER)


def _update_metric(connection: Connection, number: int, **values: Any) -> None:
    metrics = schema.run_metrics
    connection.execute(sa.update(metrics).where(metrics.c.id == number).values(values))


def _new_metric(
    connection: Connection, run: sa.Row[Any], position: int, name: str, score: MetricScore
) -> int:
    computed = score.provenance if score.status is Status.OK else None
    number = insert_metric(connection, run.id, position, name, _metric_spec(name, score), computed)
    missing: tuple[Any, ...] = (None, Status.MISSING.value, NOT_SAVED, {}, None)
    for some in chunks(range(run.rows)):
        insert_scores(connection, [(number, row, *missing) for row in some])
    return number


def _append_position(connection: Connection, run: sa.Row[Any]) -> None:
    connection.execute(_GROW_DATA, {"this": run.dataset, "rows": run.rows + 1})
    start = run.rows - (inside := run.rows % _ROWS_A_BATCH)
    if inside:
        connection.execute(_GROW_BATCH, {"this": run.id, "place": start, "rows": inside + 1})
    else:
        insert_batch(connection, run.id, start, 1)


def _delete_row(connection: Connection, run: sa.Row[Any], position: int, metrics: Mapping[str, int]) -> None:
    samples, answers = schema.samples, schema.answers
    for table, owned in (samples, samples.c.dataset == run.dataset), (answers, answers.c.run == run.id):
        connection.execute(sa.delete(table).where(owned, table.c.position == position))
    delete_scores(connection, metrics.values(), position, position)


def _insert_row(
    connection: Connection, run: sa.Row[Any], position: int, row: EvaluationRow, metrics: Mapping[str, int]
) -> None:
    insert_samples(connection, run.dataset, position, [row.sample], unless_there=False)
    if row.answer is not None:
        insert_answers(connection, run.id, {position: row.answer})
    rows: list[ScoreRow] = []
    for name, number in metrics.items():
        score = row.scores.get(name) or MetricScore(None, Status.MISSING, NOT_SAVED)
        cells = (score.value, score.status.value, score.reason, score.details, score.evidence or None)
        rows.append((number, position, *cells))
    insert_scores(connection, rows)


def _update_run(connection: Connection, run: sa.Row[Any], models: list[str], judge: str, *, n: int) -> None:
    signature = run_signature(models, n=n, judge=judge or "-")
    values: dict[str, Any] = {"finished_at": None, "summary": None, "signature": signature}
    made_with = {"embedders": models, "judge": judge}
    if (spec := {**run.spec, **{name: value for name, value in made_with.items() if value}}) != run.spec:
        values["spec"] = spec
    # The summary covers fewer rows than the run has now.
    connection.execute(_TOUCH, {"this": run.id, **values})
    count_change(connection, run.id)
