"""Before any scoring: every fragment is read once, and what would stop the run is said in one error."""

from __future__ import annotations

import base64
from collections import Counter
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Self

from sgi.distributed.error_codec import packed, unpacked
from sgi.distributed.fragments import Fragment, FragmentDataset
from sgi.engine.plan import (
    Plan,
    Scan,
    batch_digest,
    batches,
    check_cluster,
    check_fields,
    default_metrics,
    merge_metrics,
    resolve,
)
from sgi.io.column_use import ColumnUse
from sgi.io.columns import missing_mapped
from sgi.io.raw_rows import with_place
from sgi.kernel.clusters import BY_QUESTION
from sgi.kernel.errors import DataError, SgiError, UsageError
from sgi.kernel.sample import Field

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sgi.io.rows import Rejected
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.sample import Sample


@dataclass(frozen=True)
class FragmentSurvey:
    """What is in a fragment.

    Attributes:
        rows: how many rows can be scored.
        rejected: how many rows cannot be read.
        present: how many rows have each field.
        digests: of each batch of its samples, in hexadecimal.
        ids: eight bytes of the hash of each id, in base64.
        columns: some of its columns, for messages.
        unseen: columns that were mapped and are not there.
        metadata: its metadata columns.
        error: the first thing that is wrong; None where nothing is.
        taken: ids that stand in fragments before, with their places; rows with them were refused.
        use: which columns became which fields, as JSON values.
    """

    rows: int
    rejected: int
    present: Mapping[str, int]
    digests: tuple[str, ...]
    ids: str
    columns: tuple[str, ...]
    unseen: tuple[str, ...]
    metadata: tuple[str, ...]
    error: Mapping[str, Any] | None = None
    taken: Mapping[str, str] = field(default_factory=dict)
    use: Mapping[str, Any] = field(default_factory=ColumnUse().to_dict)

    @property
    def digest(self) -> str:
        """A hash of all its samples."""
        return combined(self.digests)

    def to_dict(self) -> dict[str, Any]:
        """The survey as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The survey that `to_dict` wrote."""
        lists = {name: tuple(values[name]) for name in ("digests", "columns", "unseen", "metadata")}
        return cls(**{**values, **lists})

    def plan(self, fragment: Fragment, metrics: tuple[AnyMetric, ...]) -> Plan:
        """What is to be done with the fragment."""
        return Plan(
            fragment.source.shown,
            self.rows,
            self.rejected,
            {Field(name): rows for name, rows in self.present.items()},
            metrics,
            digests=tuple(map(bytes.fromhex, self.digests)),
        )


def combined(digests: Iterable[str]) -> str:
    """One hash of those of the batches.

    >>> combined(["00", "ff"]) == combined(["00ff"])
    False
    """
    return blake2b(",".join(digests).encode(), digest_size=16).hexdigest()


def survey(
    fragment: Fragment,
    columns: Mapping[str, str] | None,
    *,
    skipping: bool,
    taken: Mapping[str, str] | None = None,
) -> FragmentSurvey:
    """Read a fragment.

    Args:
        fragment: a part of a file.
        columns: field → column, where names are not recognised.
        skipping: whether rows that cannot be read are passed over.
        taken: ids that stand in fragments before, with their places.
    """
    dataset = FragmentDataset(fragment, columns, taken or {})
    reading = dataset.reading()
    refused: list[SgiError] = []
    rejected: Counter[str] = Counter()

    def reject(row: Rejected) -> None:
        rejected["rows"] += 1
        if not refused:
            refused.append(row.error)

    present: Counter[str] = Counter()
    digests, ids = [], bytearray()
    metadata: set[str] = set()

    def noted() -> Iterator[Sample]:
        # Before a batch is full: an error further on must not hide that an id was there.
        for sample in dataset.read(reading, on_reject=reject if skipping else None):
            ids.extend(hashed(sample.id))
            yield sample

    try:
        for batch in batches(noted()):
            digests.append(batch_digest(batch).hex())
            present.update(name.value for sample in batch.samples for name in Field if sample.has(name))
            metadata.update(name for sample in batch.samples for name in sample.metadata)
    except DataError as error:
        refused.insert(0, error)
    return FragmentSurvey(
        len(ids) // 8,
        rejected["rows"],
        dict(present),
        tuple(digests),
        base64.b64encode(bytes(ids)).decode(),
        tuple(reading.noted),
        tuple(sorted(reading.unseen)),
        tuple(sorted(metadata)),
        packed(refused[0]) if refused else None,
        dataset.taken,
        reading.use.to_dict(),
    )


def chosen_metrics(
    name: str,
    fragments: Sequence[Fragment],
    surveys: Sequence[FragmentSurvey],
    metrics: Sequence[str] | None,
    extra: Sequence[AnyMetric],
    *,
    cluster: str = BY_QUESTION,
    skipping: bool,
) -> tuple[AnyMetric, ...]:
    """The metrics to score, once nothing that was read speaks against it.

    Args:
        name: what messages call the data.
        fragments: all parts of the data.
        surveys: what is in them.
        metrics: names; None takes those whose fields the data has.
        extra: further metrics.
        cluster: the rule by which rows form clusters; a column that it names must be in some row.
        skipping: whether rows that cannot be read are passed over.

    Raises:
        DataError: a row cannot be read, or there is none.
        UsageError: a metric is unknown, or needs a field that no row has.
        UnknownNameError: no row has the column by which rows are to be clustered.
    """
    chosen = resolve(metrics) if metrics is not None else None
    errors = [found.error for found in surveys if found.error is not None]
    first = unpacked(errors[0]) if errors else None
    if first is not None and not skipping:
        raise first
    scan = Scan(sum(found.rows for found in surveys), sum(found.rejected for found in surveys))
    for found in surveys:
        scan.present.update({Field(field): rows for field, rows in found.present.items()})
        scan.metadata.update(found.metadata)
    if not scan.rows and first is not None:
        raise DataError(f"None of the {scan.rejected} rows can be read; the first: {first}", file=name)
    if not scan.rows:
        raise DataError("There is nothing to score: no rows.", file=name)
    _check_mapped(name, surveys)
    dataset = FragmentDataset(fragments[0])
    usable = merge_metrics(chosen if chosen is not None else default_metrics(scan, dataset), extra)
    check_fields(usable, scan, dataset)
    check_cluster(cluster, scan, dataset)
    return usable


def refuse_weighing(metrics: Sequence[AnyMetric]) -> None:
    """Raise where a metric wants to see all rows before it scores one."""
    weighing = [
        metric.canonical for metric in metrics if metric.token_needs and metric.token_needs.weighs_tokens
    ]
    if weighing:
        message = (
            f"{weighing[0]} weighs tokens by all references of the data, and a worker sees a part of them."
        )
        raise UsageError(message, hint="Leave out idf, or --ray.")


def _check_mapped(name: str, surveys: Sequence[FragmentSurvey]) -> None:
    """Every column that was mapped is in some row."""
    unseen = set.intersection(*(set(found.unseen) for found in surveys))
    seen = tuple(dict.fromkeys(column for found in surveys for column in found.columns))
    try:
        if seen:
            missing_mapped(seen, sorted(unseen))
    except DataError as error:
        raise with_place(error, file=name, line=None) from None


def hashed(sample_id: str) -> bytes:
    """Eight bytes that ids which differ hardly ever share."""
    return blake2b(sample_id.encode(), digest_size=8).digest()
