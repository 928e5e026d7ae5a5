"""``sgi runs export --as-quiz``: writes the failed rows of a run as rows of a test set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from sgi.cli.console import ignore_broken_pipe, print_json, print_json_line, print_message
from sgi.cli.option_values import stored_metrics
from sgi.io.write import check_target, json_line, write_whole
from sgi.kernel.errors import UsageError
from sgi.kernel.short_text import metric_label, pluralize
from sgi.store.open_runs import open_runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from sgi.analysis.regression import Regressions
    from sgi.reporting.views.row_view import LowestRows
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

WORST = 20
"""Default number of rows."""


def export_quiz(
    run: str,
    out: Path | None,
    worst: int | None,
    metric: str | None,
    *,
    define: Path | None,
    db: str | None,
    as_json: bool,
) -> None:
    """Write the worst rows that failed; rows whose question is in the file already are not added."""
    from sgi.engine.export import require_not_data

    if out is not None:
        if out.suffix != ".jsonl":
            raise UsageError(f"--as-quiz needs a .jsonl file, not {out}.")
        check_target(out)
    if metric is not None:
        (metric,) = stored_metrics([metric], define)
    with open_runs(db, run) as (database, (record,)):
        if out is not None:
            require_not_data(record, out)
        found = _failed_rows(database, record, metric, worst or WORST)
    for note in _notes(found):
        print_message(note)
    if out is None:
        with ignore_broken_pipe():
            for row in found.rows:
                print_json_line(row)
        return
    there, known = _read_quiz(out)
    rows = [row for row in found.rows if str(row["id"]).removeprefix("regression-") not in known]
    write_whole(out, b"".join([there, *map(json_line, rows)]))
    if as_json:
        facts = {"metric": found.metric, "failed": found.failed, "passed": found.passed}
        print_json({"run": record.id, "rows": len(rows), "output": str(out), **facts})
        return
    repeated = len(found.rows) - len(rows)
    already = f" {repeated:,} {'is' if repeated == 1 else 'are'} in the file already." if repeated else ""
    print_message(f"Wrote {pluralize(len(rows), 'row')} to {out}.{already}")


def _failed_rows(database: Database, record: RunRecord, metric: str | None, most: int) -> Regressions:
    """Find the failed rows by a metric, by default by the most important one with failed rows."""
    from sgi.analysis.regression import failed_rows, find_regressions
    from sgi.engine.run_recorder import require_texts
    from sgi.reporting.views.headline import scored_rows
    from sgi.reporting.views.row_view import ids_by_importance, lowest_ids

    require_texts(record, "--as-quiz")
    columns = scored_rows(database, record)
    every = record.scored
    ranked: Sequence[LowestRows[str]]
    if metric is None:
        ranked = ids_by_importance(columns, most=every)
    else:
        ranked = lowest_ids(columns, most=every, metric=metric)
    scored = [column.metric for column in columns.metrics if column.ok.any()]
    if not ranked and metric is None and scored:  # all values are the best possible ones
        ranked = lowest_ids(columns, most=every, metric=scored[0])
    if not ranked:
        what = f"a value of {metric}" if metric else "a value"
        raise UsageError(f"No row of {record.label} has {what}.", hint="`sgi show RUN` says why.")
    failed = {
        lowest.metric: failed_rows(columns.run.metric(lowest.metric), columns.classes.get(lowest.metric, ()))
        for lowest in ranked
    }
    lowest = next((one for one in ranked if failed[one.metric].any()), ranked[0])
    return find_regressions(database, columns.run, lowest.metric, failed[lowest.metric], lowest.samples, most)


def _notes(found: Regressions) -> Iterator[str]:
    counts = {
        "did not fail": found.passed,
        "have no value": found.without_value,
        "have no question": found.without_question,
        "repeat a question": found.repeats,
    }
    others = "".join(f", {count:,} {what}" for what, count in counts.items() if count)
    yield f"By {metric_label(found.metric)}, {pluralize(found.failed, 'row')} failed{others}."
    if found.no_causes:
        yield f"The rows have no causes: {found.no_causes}"


def _read_quiz(path: Path) -> tuple[bytes, set[str]]:
    """Return the content of a quiz, empty if there is no file, and the keys of its questions."""
    from sgi.analysis.regression import question_key

    if not path.exists():
        return b"", set()
    content = path.read_bytes()
    try:
        keys = {question_key(orjson.loads(line)) for line in content.splitlines() if line.strip()}
    except (ValueError, AttributeError):
        message = f"{path} is not a quiz, so no rows can be added."
        raise UsageError(message, hint="Choose another file.") from None
    return content + (b"" if content.endswith(b"\n") or not content else b"\n"), keys
