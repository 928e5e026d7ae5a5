"""Turns the rows of a run that failed into rows of a test set, each with the reason."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.analysis.amounts import format_value
from sgi.analysis.diagnosis.causes import CORRECT
from sgi.analysis.diagnosis.diagnose import diagnose_run
from sgi.engine.review import FINDING, is_to_check
from sgi.engine.run_recorder import require_texts
from sgi.engine.summarise import class_keys, with_range
from sgi.io.column_names import NAMES, TOTAL_TOKENS, WITHOUT_UNIT
from sgi.io.mapping import clean_name
from sgi.io.repeated_rows import JUDGE_REPEAT, REPEAT
from sgi.kernel.errors import SgiError
from sgi.kernel.short_text import metric_label
from sgi.store.bulk_rows import chunks
from sgi.store.evaluations import sample_evaluations
from sgi.text.conversation import USER, exchanges, history

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.analysis.diagnosis.diagnosis import RowDiagnosis
    from sgi.engine.run import Run
    from sgi.kernel.metric_column import MetricColumn
    from sgi.kernel.sample import Sample
    from sgi.store.database import Database

KIND = "regression"
"""The ``kind`` of the rows."""
_READ_AT_ONCE = 200
_OF_FIELDS = frozenset(name for names in NAMES.values() for name in names) | {*WITHOUT_UNIT, *TOTAL_TOKENS}
"""Columns that a reader would take for a field, such as the failed answer for the response."""
_OF_THE_ANSWER = frozenset(
    {REPEAT, JUDGE_REPEAT, "trace_id", "span_id", "absent", "truncated", "windowed", "left_out"}
)
"""Columns about the failed answer, which are false for the next one."""


@dataclass(frozen=True)
class Regressions:
    """Rows for a test set, worst first.

    Attributes:
        metric: the metric by which they failed, as canonical string.
        rows: one row for each question.
        failed: number of rows of the run that failed, see `failed_rows`.
        passed: number of rows with a value that did not fail.
        without_value: number of rows without a value.
        without_question: number of failed rows that were left out because they have no question.
        repeats: number of failed rows that were left out because a worse one has the same question.
        no_causes: why no causes are known; empty if they are.
    """

    metric: str
    rows: tuple[Mapping[str, Any], ...]
    failed: int
    passed: int
    without_value: int
    without_question: int = 0
    repeats: int = 0
    no_causes: str = ""


def failed_rows(column: MetricColumn, findings: Sequence[str | None]) -> NDArray[np.bool_]:
    """Return which rows failed, shape (n,): those whose value is not the best possible one.

    Under a metric with findings, they are the rows to check: those with a finding or a low score.

    Args:
        column: the values of the metric.
        findings: the class of each row; empty if the metric has no classes.
    """
    column = with_range(column)
    if class_keys([column.metric]).get(column.metric) == FINDING and findings:
        pairs = zip(findings, column.values.tolist(), strict=True)
        to_check = (is_to_check({FINDING: finding}, value) for finding, value in pairs)
        return column.ok & np.fromiter(to_check, np.bool_, len(findings))
    best = column.high if column.higher_is_better else column.low
    failed: NDArray[np.bool_] = column.ok & (column.values != best)
    return failed


def find_regressions(
    database: Database,
    run: Run,
    metric: str,
    failed: NDArray[np.bool_],
    worst_first: Sequence[str],
    most: int,
) -> Regressions:
    """Return the worst failed rows as rows of a test set, each question once.

    Args:
        database: the database of the run.
        run: a stored run.
        metric: the canonical string of a metric of the run.
        failed: which rows failed, shape (n,).
        worst_first: the ids of the rows with a value, the worst first.
        most: the maximum number of rows.

    Raises:
        UsageError: the run stores no texts.
    """
    require_texts(run.record, "--as-quiz")
    column = run.metrics[metric]
    names = {run.ids[row] for row in np.flatnonzero(failed).tolist()}
    rows: dict[str, dict[str, Any]] = {}
    blank = repeats = 0
    for some in chunks([name for name in worst_first if name in names], _READ_AT_ONCE):
        for evaluation in sample_evaluations(database, run.record, some).values():
            value = evaluation.scores[metric].value
            if value is None or len(rows) == most:
                continue
            row = _row(evaluation.sample)
            blank += not row["question"].strip()
            repeats += row["id"] in rows
            if row["question"].strip() and row["id"] not in rows:
                reason = f"{metric_label(metric)} was {format_value(value, column.unit)}"
                rows[row["id"]] = row | {
                    "why": f"{reason} in the run {run.name}.",
                    "from_run": run.record.id,
                    "from_row": evaluation.sample.id,
                }
        if len(rows) == most:
            break
    scored = int(column.ok.sum())
    numbers = len(names), scored - len(names), run.record.scored - scored, blank, repeats
    return _with_causes(run, Regressions(metric, (*rows.values(),), *numbers))


def question_key(row: Mapping[str, Any]) -> str:
    """Return a hash of the question of a row of a test set, and of the turns before it.

    >>> question_key({"question": "When?"}) == question_key({"question": "When?", "kind": "fact"})
    True
    >>> question_key({"question": "When?"}) == question_key({"question": "Who?"})
    False
    """
    turns = row.get("turns") or [{"text": row.get("question")}]
    texts = (str(turn.get("text")) for turn in turns)
    return blake2b(chr(0).join(texts).encode(errors="surrogatepass"), digest_size=8).hexdigest()


def _row(sample: Sample) -> dict[str, Any]:
    """Return what is known of a question without its answer; no reference or gold passage is made up."""
    row: dict[str, Any] = {"id": "", "question": sample.question, "reference": sample.reference}
    if sample.alternatives:
        row["alternatives"] = [*sample.alternatives]
    if "gold_passages" in sample.model_fields_set:
        row["gold_passages"] = [*sample.gold_passages]
    if "relevance" in sample.model_fields_set:
        has_grades = any(grade != 1 for grade in sample.relevance.values())
        row |= {"relevance": sample.relevance} if has_grades else {"gold_ids": [*sample.relevance]}
    if sample.answerable is not None:
        row["answerable"] = sample.answerable
    if turns := _turns(sample):
        row["turns"] = turns
    row |= {"id": f"{KIND}-{question_key(row)}", "kind": KIND, "why": "", "from_run": "", "from_row": ""}
    kept = {
        name: value
        for name, value in sample.metadata.items()
        if name not in row and name not in _OF_THE_ANSWER and clean_name(name) not in _OF_FIELDS
    }
    return row | kept


def _turns(sample: Sample) -> list[dict[str, Any]]:
    """Return the messages before the question, and the question; empty if there are none before it."""
    parts = exchanges(sample.turns)
    is_last = bool(parts) and parts[-1].question.strip() == sample.question.strip()
    before = sample.turns[: parts[-1].start] if is_last else history(sample)
    turns: list[dict[str, Any]] = [
        {"role": turn.role, "text": turn.text, **({"contexts": [*turn.contexts]} if turn.contexts else {})}
        for turn in before
    ]
    return [*turns, {"role": USER, "text": sample.question}] if turns else []


def _with_causes(run: Run, found: Regressions) -> Regressions:
    """Add the causes of `diagnose`. A failure to compute its metrics leaves the rows as they are."""
    if not found.rows:
        return found
    places = {name: place for place, name in enumerate(run.ids)}
    rows = np.array([places[row["from_row"]] for row in found.rows], dtype=np.int64)
    try:
        diagnoses = diagnose_run(run.take(rows)).rows
    except SgiError as error:
        return replace(found, no_causes=str(error))
    return replace(
        found,
        rows=tuple(
            {**row, "why": " ".join(filter(None, (row["why"], _guess(one))))}
            for row, one in zip(found.rows, diagnoses, strict=True)
        ),
    )


def _guess(diagnosis: RowDiagnosis) -> str:
    if diagnosis.cause in {None, CORRECT}:
        return f"A guess of sgi diagnose: {diagnosis.finding}." if diagnosis.finding else ""
    return f"A guess of sgi diagnose: {diagnosis.cause}. {diagnosis.because}"
