"""The folder of a run on a cluster, and its import into the database.

``scores.parquet`` has the columns of ``sgi run -o scores.parquet``, and the column ``record``: the sample,
its scores with their details, and its judgements, as JSON. ``run.json`` is written last.
"""

from __future__ import annotations

import json
from collections.abc import Mapping  # noqa: TC003 - pydantic reads the annotations
from contextlib import contextmanager
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NotRequired, cast

import numpy as np
from typing_extensions import TypedDict

from sgi.engine.accumulator import Accumulator
from sgi.engine.export import flat_row, nested_row
from sgi.engine.plan import batch_digest, merge_metrics
from sgi.engine.score import BatchScores
from sgi.engine.stored_options import checked_options
from sgi.engine.summarise import summarise
from sgi.io.parquet import parquet_rows
from sgi.io.write import json_line, write_whole
from sgi.kernel.errors import StoreError, UsageError
from sgi.kernel.metric import Scores
from sgi.kernel.metric_column import MetricProvenance  # noqa: TC001 - likewise
from sgi.kernel.parsing import AnyText, Count, Finite, JsonObject, Rows, read_whole, validate
from sgi.kernel.protocols import Usage
from sgi.kernel.sample import Batch, Sample
from sgi.store.run_queries import find_run, list_runs
from sgi.store.writer import Setup, create_run
from sgi_cluster.worker import ScoredBatch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

SCORES = "scores.parquet"
_MANIFEST = "run.json"
_FACTS = ("truncated", "windowed", "failures")
FORMAT = 4
"""Version of the files; increased when older versions cannot read them."""


class _Manifest(TypedDict):
    """The fields of `Setup` in ``run.json``."""

    dataset: AnyText
    dataset_name: AnyText
    rows: Rows
    spec: JsonObject
    spec_hash: AnyText
    signature: AnyText
    versions: Mapping[AnyText, AnyText]
    rejected: Rows
    provenance: Mapping[AnyText, MetricProvenance]


class _BatchFacts(TypedDict):
    """Facts about a whole batch; the record of its first row has it."""

    rows: Rows
    truncated: dict[AnyText, Rows]
    windowed: dict[AnyText, Rows]
    failures: dict[AnyText, AnyText]
    usage: dict[AnyText, dict[AnyText, Count | Finite | None]]


class _Cell(TypedDict):
    value: Finite | None
    status: Literal["ok", "undefined", "missing", "failed"]
    reason: NotRequired[AnyText]
    details: NotRequired[JsonObject]


class _Record(TypedDict):
    sample: JsonObject
    scores: dict[AnyText, _Cell]
    judgements: dict[AnyText, JsonObject | None]
    batch: _BatchFacts | None


def require_empty(folder: Path) -> None:
    """Raise a UsageError unless the folder of a new run is missing or empty."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not an empty folder.", hint="Name another one.")


def write_manifest(folder: Path, start: Setup) -> None:
    """Write the file that says that the run is finished."""
    facts = {name: getattr(start, name) for name in _Manifest.__annotations__}
    write_whole(folder / _MANIFEST, json_line({"sgi_cluster_run": FORMAT, **facts}))


def result_rows(batch: Batch, scored: ScoredBatch, *, inputs: bool) -> Iterator[dict[str, Any]]:
    """Yield the rows of ``scores.parquet``."""
    result = scored.scores
    facts = {"rows": len(batch), "usage": scored.usage, **{name: getattr(result, name) for name in _FACTS}}
    flat, nested = flat_row(batch, result.scores, inputs=inputs), nested_row(batch, result.scores)
    for number, (columns, row) in enumerate(zip(flat, nested, strict=True)):
        record: dict[str, Any] = {
            "sample": batch.samples[number].model_dump(mode="json", exclude_unset=True),
            "scores": row["scores"],
            "judgements": {name: rows[number] for name, rows in scored.judgements.items()},
            "batch": None if number else facts,
        }
        yield {**columns, "record": json_line(record).decode()}


def import_folder(database: Database, folder: str | Path) -> RunRecord:
    """Import a folder of `sgi_cluster.run` into a database as one run, and return the run.

    Only the files of the folder are opened.

    Raises StoreError if the folder has no finished run, or is damaged; UsageError if the run is in the
    database already, or its name is taken.
    """
    place = Path(folder)
    values = read_manifest(place)
    spec = checked_options(values["spec"], str(place))
    values["spec"] |= {"imported_from": str(place.resolve())}
    # One transaction, so that a killed import leaves no part of the run.
    with database.transaction() as view, _damage_as_error(place):
        if any((run.dataset, run.spec) == (values["dataset"], values["spec"]) for run in list_runs(view)):
            raise UsageError(f"The run in {place} is in the database already.")
        metrics = merge_metrics(spec.named_metrics or (), spec.extra_metrics(spec.named_metrics))
        writer = create_run(view, Setup(**values, metrics=metrics, name=spec.name))
        accumulator = Accumulator.of(metrics, spec.cluster)
        state, usage = blake2b(digest_size=16), dict[str, Usage]()
        for batch, scored in _batches(place / SCORES, [metric.canonical for metric in metrics]):
            result, rows = scored.scores, (len(accumulator), batch.samples)
            facts = {name: getattr(result, name) for name in _FACTS}
            writer.put(*rows, result.scores, **facts, judgements=scored.judgements)
            accumulator.add(batch, result)
            state.update(scored.digest)
            for judge, used in scored.usage.items():
                usage[judge] = usage.get(judge, Usage()) + Usage(**used)
        if state.hexdigest() != values["dataset"]:
            raise ValueError("its rows are not those of the run")
        writer.put_usage(usage)
        writer.finish(summarise(accumulator, metrics, values["signature"]).to_dict())
    return find_run(database, writer.run)


def read_manifest(folder: Path) -> _Manifest:
    """Read ``run.json``; raises StoreError unless the folder holds a finished run."""
    path = folder / _MANIFEST
    for file in (path, folder / SCORES):
        if file.is_symlink() or not file.is_file():  # a link could name any file of this machine
            raise StoreError(f"{folder} has no finished run.", hint="Name the folder of a run on Ray.")
    content = read_whole(path, error=StoreError)
    with _damage_as_error(path):
        values = json.loads(content)
        if values.pop("sgi_cluster_run", None) != FORMAT:
            raise StoreError(f"Another version of SGI wrote {path}.")
        manifest: _Manifest = validate(_Manifest, values)
    return manifest


def _batches(path: Path, metrics: Sequence[str]) -> Iterator[tuple[Batch, ScoredBatch]]:
    texts = (cast("dict[str, str]", row.values)["record"] for row in parquet_rows(path, mapping=None))
    records = (validate(_Record, json.loads(text)) for text in texts)
    for first in records:
        facts = first["batch"]
        rows = [first, *islice(records, facts["rows"] - 1)]
        batch = Batch(tuple(Sample.model_validate(row["sample"]) for row in rows))
        scores = {name: _scores([row["scores"][name] for row in rows]) for name in metrics}
        judgements = {name: [row["judgements"][name] for row in rows] for name in first["judgements"]}
        result = BatchScores(scores, facts["truncated"], facts["failures"], windowed=facts["windowed"])
        yield batch, ScoredBatch(batch_digest(batch), result, judgements, facts["usage"])


def _scores(cells: Sequence[_Cell]) -> Scores:
    return Scores(
        np.array([cell["value"] for cell in cells], dtype=np.float64),
        np.array([cell["status"] for cell in cells], dtype="<U9"),
        tuple(cell.get("reason", "") for cell in cells),
        tuple(cell.get("details", {}) for cell in cells),
    )


@contextmanager
def _damage_as_error(path: Path) -> Iterator[None]:
    """Context manager that turns unexpected exceptions from damaged content into a StoreError."""
    try:
        yield
    except (StoreError, UsageError):
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        raise StoreError(f"{path} is damaged ({reason}).", hint="Copy the file again.") from error
