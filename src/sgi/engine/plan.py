"""Plans a run: reads the data once, checks it, and reports problems before anything is scored."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING

from sgi.engine.progress import Advanced, ColumnsRead, Finished, Started, silent
from sgi.io.column_use import ColumnUse
from sgi.io.columns import join_names
from sgi.io.dataset import open_dataset
from sgi.io.repeated_rows import JUDGE_REPEAT, answer_id, expand
from sgi.io.split_contexts import SplitContexts
from sgi.io.write import json_line
from sgi.kernel.clusters import BY_QUESTION, BY_ROW, is_column, unknown_column
from sgi.kernel.errors import DataError, UsageError
from sgi.kernel.input_limits import size_of
from sgi.kernel.judged_metric import JudgedMetric, judged_metrics
from sgi.kernel.registry import DEFAULTS, NO_DEFAULT_HINT, metric_class, metric_classes, resolve
from sgi.kernel.sample import CONTEXTS, RESPONSE, RETRIEVED, Batch, Field
from sgi.kernel.sample_parts import AnswerCosts, Ranking
from sgi.kernel.short_text import metric_label, pluralize
from sgi.kernel.signature import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from sgi.engine.progress import Listener
    from sgi.engine.run_options import RunOptions
    from sgi.io.dataset import DataLike
    from sgi.io.readers import Dataset
    from sgi.io.rows import RejectedRow
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.sample import Fields, Sample

BATCH_SIZE = 256
"""Rows scored together: enough to fill the embedder's batches, and few enough for constant memory."""
MAX_BATCH_BYTES = 16_000_000
"""Memory for the rows of a batch. It is not an option: the same data must give the same batches."""
_LARGE = ("question", "contexts", "response", "reference", "alternatives", "metadata")
"""The fields of most data that can be large."""
_OF_TARGETS = RESPONSE | CONTEXTS | RETRIEVED | {Field(n) for n in (*Ranking._fields, *AnswerCosts._fields)}
_MAX_COLUMNS = 6  # listed in an error
_MAX_METRICS = 5  # listed in an error for the same fields


@dataclass(frozen=True)
class Plan:
    """The data that a run scores, after one complete reading.

    Attributes:
        dataset: the data's name.
        rejected: how many rows cannot be read.
        present: how many rows have a value for each field.
        texts: how many distinct texts are embedded; None if they were not counted.
        characters: their total length.
        identity: a hash of all samples in order.
        digests: a hash of each batch; the second reading compares them, to detect changed data.
        columns: the field that each column of the data became.
        cluster: the rule by which rows form clusters; see `sgi.kernel.clusters`.
    """

    dataset: str
    rows: int
    rejected: int
    present: Mapping[Field, int]
    metrics: tuple[AnyMetric, ...]
    texts: int | None = None
    characters: int = 0
    identity: str = ""
    digests: tuple[bytes, ...] = ()
    columns: ColumnUse = field(default_factory=ColumnUse)
    cluster: str = BY_QUESTION


@dataclass
class Scan:
    """The counts and hashes from one reading of the data."""

    rows: int = 0
    rejected: int = 0
    first_error: DataError | None = None
    present: Counter[Field] = field(default_factory=Counter)
    identity: str = ""
    digests: list[bytes] = field(default_factory=list)
    metadata: set[str] = field(default_factory=set)
    columns: ColumnUse = field(default_factory=ColumnUse)


def plan(
    dataset: Dataset,
    metrics: Sequence[str | AnyMetric] | None = None,
    *,
    on_reject: Callable[[RejectedRow], None] | None = None,
    supplied: Fields = frozenset(),
    extra: Sequence[AnyMetric] = (),
    cluster: str = BY_QUESTION,
    count_texts: bool = False,
    allow_empty: bool = False,
    listener: Listener = silent,
) -> Plan:
    """Read all data, check every row, and match the metrics with its fields.

    Args:
        dataset: what will be scored.
        metrics: names or metrics; None for the default metrics whose fields the data has.
        on_reject: called with each row that cannot be read; None raises the first error.
        supplied: fields that the target may supply, such as response and contexts.
        extra: further metrics; each metric is scored once.
        cluster: the rule by which rows form clusters; a column that it names must be in some row.
        count_texts: also count the distinct texts that would be embedded.
        allow_empty: accept a metric whose columns have no value in any row.
        listener: takes progress events.

    Raises:
        DataError: the data has no row, or a row that cannot be read.
        UsageError: a metric is unknown, named twice, or needs a field that no row has.
        UnknownNameError: no row has the column by which rows are to be clustered.
    """
    chosen = resolve(metrics) if metrics is not None else None
    scan = _scan(dataset, on_reject, listener)
    if not scan.rows:
        if scan.first_error is not None:
            message = f"None of {pluralize(scan.rejected, 'row')} can be read; the first: {scan.first_error}"
            raise DataError(message, file=dataset.name)
        raise DataError("There is nothing to score: no rows.", file=dataset.name)
    for name in supplied:
        scan.present[name] = scan.rows
    usable = merge_metrics(chosen if chosen is not None else default_metrics(scan, dataset), extra)
    check_fields(usable, scan, dataset, allow_empty=allow_empty)
    check_cluster(cluster, scan, dataset)
    texts, characters = _count_texts(dataset, usable, on_reject) if count_texts else (None, 0)
    return Plan(
        dataset.name,
        scan.rows,
        scan.rejected,
        dict(scan.present),
        usable,
        texts,
        characters,
        scan.identity,
        tuple(scan.digests),
        scan.columns,
        cluster,
    )


def merge_metrics(metrics: Iterable[AnyMetric], extra: Iterable[AnyMetric]) -> tuple[AnyMetric, ...]:
    """Return the metrics, followed by the extra metrics that are not among them."""
    return tuple({metric.canonical: metric for metric in (*metrics, *extra)}.values())


def _scan(dataset: Dataset, on_reject: Callable[[RejectedRow], None] | None, listener: Listener) -> Scan:
    scan = Scan()

    def reject(rejected: RejectedRow) -> None:
        if on_reject is None:
            raise rejected.error
        scan.rejected += 1
        scan.first_error = scan.first_error or rejected.error
        on_reject(rejected)

    def note_columns(columns: ColumnUse) -> None:
        scan.columns = columns

    listener(Started("reading", None))
    identity = blake2b(digest_size=16)
    for batch in batches(dataset.samples(on_reject=reject, on_columns=note_columns)):
        scan.digests.append(batch_digest(batch))
        identity.update(scan.digests[-1])
        scan.rows += len(batch)
        for sample in batch.samples:
            scan.present.update(sample.present)
            scan.metadata.update(sample.metadata)
        listener(Advanced(len(batch)))
    listener(Finished("reading"))
    listener(ColumnsRead(scan.columns))
    scan.identity = identity.hexdigest()
    return scan


def planned_batches(
    dataset: Dataset, plan: Plan, on_reject: Callable[[RejectedRow], None] | None
) -> Iterator[tuple[int, Batch]]:
    """Yield the batches of a planned dataset, each with the position of its first row.

    Raises:
        DataError: a row cannot be read, or the data differs from what was planned.
    """
    start = 0
    changed = DataError("The data changed while it was read.", file=dataset.name, hint="Run again.")
    for number, batch in enumerate(batches(dataset.samples(on_reject=on_reject))):
        if number >= len(plan.digests) or batch_digest(batch) != plan.digests[number]:
            raise changed
        yield start, batch
        start += len(batch)
    if start != plan.rows:
        raise changed


def batch_digest(batch: Batch) -> bytes:
    """Return a hash of the given fields of each sample; absent and blank fields differ."""
    state = blake2b(digest_size=16)
    for sample in batch.samples:
        state.update(json_line(sample.field_values()))
    return state.digest()


def default_metrics(scan: Scan, dataset: Dataset) -> tuple[AnyMetric, ...]:
    """Return the default metrics for these fields; raises UsageError if none fits."""
    names = [name for name in DEFAULTS if _has_fields(scan, metric_class(name))]
    if not names:
        hint = f"{NO_DEFAULT_HINT} Name other metrics, or name columns with `columns`: field=column."
        if not scan.present[Field.RESPONSE]:
            hint += " No row has a response: name its column (response=COLUMN), or `target` asks your system."
        raise UsageError(f"No default metric fits the fields of {dataset.name}: {_fields(scan)}.", hint=hint)
    return resolve(names)


def check_fields(
    metrics: Iterable[AnyMetric], scan: Scan, dataset: Dataset, *, allow_empty: bool = False
) -> None:
    """Raise a UsageError if no row has the fields that a metric needs.

    With ``allow_empty``, a column for the field is enough.
    """
    known = {name for name in Field if scan.present[name] or (allow_empty and name in scan.columns.fields)}
    by_fields: dict[str, list[str]] = {}
    for metric in metrics:
        if missing := sorted(metric.spec.needs - known):
            by_fields.setdefault(" and ".join(missing), []).append(metric_label(metric.canonical))
    if not by_fields:
        return
    problems = [
        f"{join_names(names, _MAX_METRICS)} {'needs' if len(names) == 1 else 'need'} {fields}"
        for fields, names in by_fields.items()
    ]
    classes, _ = metric_classes()
    usable = [name for name, kind in classes.items() if _has_fields(scan, kind)]
    message = (
        f"No row of {dataset.name} has what is needed: {'; '.join(problems)}. Its fields: {_fields(scan)}."
    )
    if columns := join_names([*scan.columns.metadata], _MAX_COLUMNS):
        message += f" Its other columns: {columns}."
    raise UsageError(
        message,
        hint=f"Usable here: {join_names(usable, _MAX_COLUMNS) or 'none'}."
        " Name columns with `columns`: field=column.",
    )


def check_cluster(cluster: str, scan: Scan, dataset: Dataset) -> None:
    """Raise an UnknownNameError if the rule is a column that no row has."""
    if is_column(cluster) and cluster not in scan.metadata:
        raise unknown_column(dataset.name, cluster, scan.metadata)


def _has_fields(scan: Scan, kind: type[AnyMetric]) -> bool:
    return all(scan.present[name] for name in kind.spec.needs)


def _fields(scan: Scan) -> str:
    present = (name for name in Field if scan.present[name] and " or " not in name)
    return ", ".join(f"{name} ({scan.present[name]})" for name in present) or "none"


def _count_texts(
    dataset: Dataset, metrics: Sequence[AnyMetric], on_reject: Callable[[RejectedRow], None] | None
) -> tuple[int, int]:
    ignore = None if on_reject is None else (lambda _: None)
    digests: set[bytes] = set()
    characters = 0
    for batch in batches(dataset.samples(on_reject=ignore)):
        for text in _known_texts(batch, metrics):
            key = digest(text.encode(), size=8)
            characters += 0 if key in digests else len(text)
            digests.add(key)
    return len(digests), characters


def _known_texts(batch: Batch, metrics: Sequence[AnyMetric]) -> Iterable[str]:
    """Yield the texts to embed, as far as they are known without the judge."""
    for metric in metrics:
        if metric.vector_needs and not isinstance(metric, JudgedMetric):
            complete = batch.take(batch.present(metric.spec.needs).nonzero()[0])
            yield from metric.vector_needs.texts(metric.prepare(complete))


def require_judged(metrics: Sequence[AnyMetric]) -> None:
    """Raise a UsageError if no metric needs a judge."""
    if not judged_metrics(metrics):
        hint = "Add a judged metric such as faithfulness, or leave out `cascade`."
        raise UsageError("A cascade selects the rows for a judge, but no metric needs a judge.", hint=hint)


def batches(samples: Iterable[Sample], size: int = BATCH_SIZE) -> Iterator[Batch]:
    """Divide samples into batches of about 16 MB and at most ``size`` rows, or of one larger row.

    The judgements of one answer are in the same batch, which can therefore have more rows.
    """
    rows: list[Sample] = []
    size_in_bytes = 0
    full = False
    for sample in samples:
        if full and answer_id(sample) != answer_id(rows[-1]):
            yield Batch(tuple(rows))
            rows, size_in_bytes = [], 0
        rows.append(sample)
        size_in_bytes += size_of([getattr(sample, name) for name in _LARGE], MAX_BATCH_BYTES)
        if further := sample.further_values():
            size_in_bytes += size_of(further, MAX_BATCH_BYTES)
        full = len(rows) >= size or size_in_bytes >= MAX_BATCH_BYTES
        if full and JUDGE_REPEAT not in sample.metadata:
            yield Batch(tuple(rows))
            rows, size_in_bytes, full = [], 0, False
    if rows:
        yield Batch(tuple(rows))


def missing_judge(metrics: Sequence[AnyMetric]) -> UsageError:
    """Return the error for judged metrics without a judge."""
    names = join_names([metric_label(metric.canonical) for metric in metrics], _MAX_METRICS)
    hint = (
        "Name one with `judge`: openai:NAME, anthropic:NAME, ollama:NAME or another service, or "
        "openai:NAME@http://host:port/v1 for your own server."
    )
    return UsageError(f"A judge is needed for {names}, and none is named.", hint=hint)


def plan_run(
    options: RunOptions,
    dataset: Dataset | None = None,
    metrics: Sequence[AnyMetric] | None = None,
    *,
    on_reject: Callable[[RejectedRow], None] | None = None,
    count_texts: bool = False,
    listener: Listener = silent,
) -> Plan:
    """Plan the run that the options describe; raises DataError or UsageError like `plan`.

    ``dataset`` and ``metrics`` replace the data and metrics of the options; other arguments are as in `plan`.
    """
    dataset = open_option_dataset(options) if dataset is None else dataset
    has_target = options.target is not None
    if options.repeat > 1 and not has_target:
        raise UsageError(
            "`repeat` needs a target: without one, all answers to a question would be equal.",
            hint="If your data has several answers to each question, `sgi study repeats` finds them.",
        )
    if has_target and options.no_texts:
        raise UsageError(
            "`no_texts` cannot be combined with `target`: the answers would be lost when the run is resumed.",
            hint="Ask the target first, and score a file of its answers.",
        )
    named = options.named_metrics if metrics is None else metrics
    run_plan = plan(
        dataset,
        named,
        on_reject=(on_reject or (lambda _: None)) if options.skips_rejected else None,
        supplied=_OF_TARGETS if has_target else frozenset(),
        extra=options.extra_metrics(named),
        cluster=options.cluster,
        count_texts=count_texts and not has_target,
        allow_empty=options.allow_empty,
        listener=listener,
    )
    if has_target and not run_plan.present.get(Field.QUESTION):
        raise UsageError(f"No row of {dataset.name} has a question, so there is nothing to ask the target.")
    if options.cascade is not None:
        require_judged(run_plan.metrics)
    if (judged := judged_metrics(run_plan.metrics)) and not options.has_judge:
        raise missing_judge(judged)
    check_repeat_judge(options.repeat_judge, run_plan.metrics, run_plan.cluster)
    return run_plan


def check_repeat_judge(times: int, metrics: Sequence[AnyMetric], cluster: str) -> None:
    """Raise a UsageError if repeated judgements have no judge, or each would count as independent."""
    if times == 1:
        return
    if not judged_metrics(metrics):
        hint = "Add a judged metric such as faithfulness."
        raise UsageError("`repeat_judge` needs a metric that asks a judge.", hint=hint)
    if cluster == BY_ROW:
        raise UsageError(
            "`repeat_judge` cannot be combined with the cluster rule 'row'.",
            hint="Judgements of one answer are not independent: leave out `cluster`, or name a column.",
        )


def open_option_dataset(options: RunOptions, data: DataLike | None = None) -> Dataset:
    """Open ``data``, or by default the file of the options, with the reading settings of the options."""
    place = options.rows_file if data is None else data
    rows = open_dataset(place, columns=options.columns or None, encoding=options.encoding)
    dataset = SplitContexts(rows, options.split_contexts)
    return expand(
        dataset, per_turn=options.per_turn, repeat=options.repeat, repeat_judge=options.repeat_judge
    )
