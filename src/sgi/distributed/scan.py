"""Scan all fragments before scoring, so that errors in the data are raised before any work."""

from __future__ import annotations

import base64
import json
from collections import Counter
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Self

from sgi.distributed.error_codec import decode_error, encode_error
from sgi.distributed.fragments import ONE_SAMPLE, Expansion, Fragment, FragmentDataset
from sgi.engine.plan import (
    Plan,
    Scan,
    batch_digest,
    batches,
    check_cluster,
    check_fields,
    default_metrics,
    merge_metrics,
)
from sgi.io.column_use import ColumnUse
from sgi.io.columns import missing_mapped
from sgi.io.raw_rows import with_place
from sgi.kernel.clusters import BY_QUESTION
from sgi.kernel.errors import DataError, SgiError, UsageError
from sgi.kernel.registry import resolve
from sgi.kernel.sample import Field

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sgi.io.rows import RejectedRow
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.sample import Sample


@dataclass(frozen=True)
class FragmentScan:
    """Result of scanning a fragment.

    Attributes:
        present: number of rows with each field.
        digests: digest of each batch of samples, hexadecimal.
        ids: 8-byte hash of the id of each row of the data, base64.
        columns: some column names of the data, for messages.
        unseen: mapped columns that no row of the fragment has.
        error: the first error; None if there is none.
        taken: ids of earlier fragments, with their locations; rows with these ids are rejected.
        use: the columns that became fields, as JSON values.
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
        """The hash of all samples."""
        return combine_digests(self.digests)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read a scan from its fields as JSON values."""
        lists = {name: tuple(values[name]) for name in ("digests", "columns", "unseen", "metadata")}
        return cls(**{**values, **lists})

    def plan(self, fragment: Fragment, metrics: tuple[AnyMetric, ...]) -> Plan:
        """Return the plan for scoring the fragment."""
        return Plan(
            fragment.source.shown,
            self.rows,
            self.rejected,
            {Field(name): rows for name, rows in self.present.items()},
            metrics,
            digests=tuple(map(bytes.fromhex, self.digests)),
        )


def combine_digests(digests: Iterable[str]) -> str:
    """Combine batch digests into one hash."""
    return blake2b(",".join(digests).encode(), digest_size=16).hexdigest()


def scan_fragment(
    fragment: Fragment,
    columns: Mapping[str, str] | None,
    *,
    skipping: bool,
    taken: Mapping[str, str] | None = None,
    expansion: Expansion = ONE_SAMPLE,
) -> FragmentScan:
    """Read a fragment; ``taken`` has the ids of earlier fragments, with their locations."""
    dataset = FragmentDataset(fragment, columns, taken or {}, expansion)
    reading = dataset.reading()
    refused: list[SgiError] = []
    rows: Counter[str] = Counter()

    def reject(row: RejectedRow) -> None:
        rows["rejected"] += 1
        if not refused:
            refused.append(row.error)

    present: Counter[str] = Counter()
    digests, ids = [], bytearray()
    metadata: set[str] = set()

    def collect_ids() -> Iterator[Sample]:
        # Record each id before its batch is full, so that a later error cannot hide it.
        for _, row in dataset.with_lines(reading, on_reject=reject if skipping else None):
            ids.extend(id_hash(row.id))
            for sample in expansion.samples(row):
                rows["read"] += 1
                yield sample

    try:
        for batch in batches(collect_ids()):
            digests.append(batch_digest(batch).hex())
            present.update(name.value for sample in batch.samples for name in Field if sample.has(name))
            metadata.update(name for sample in batch.samples for name in sample.metadata)
    except DataError as error:
        refused.insert(0, error)
    return FragmentScan(
        rows["read"],
        rows["rejected"],
        dict(present),
        tuple(digests),
        base64.b64encode(bytes(ids)).decode(),
        tuple(reading.noted),
        tuple(sorted(reading.unseen)),
        tuple(sorted(metadata)),
        encode_error(refused[0]) if refused else None,
        dataset.taken,
        reading.use.to_dict(),
    )


def scan_item(
    text: str, *, columns: Mapping[str, str], skipping: bool, expansion: Expansion = ONE_SAMPLE
) -> str:
    """Scan a fragment on a worker.

    The text is JSON: the number of the fragment, the fragment, and ``taken`` of `scan_fragment`. Returns the
    number and the scan as JSON; `read_scans` reads them.
    """
    number, fragment, taken = json.loads(text)
    part = Fragment.from_dict(fragment)
    scan = scan_fragment(part, columns, skipping=skipping, taken=taken, expansion=expansion)
    return json.dumps([number, asdict(scan)])


def read_scans(texts: Iterable[str]) -> Iterator[tuple[int, FragmentScan]]:
    """Read what `scan_item` returned."""
    return ((number, FragmentScan.from_dict(values)) for number, values in map(json.loads, texts))


def select_metrics(
    name: str,
    fragments: Sequence[Fragment],
    scans: Sequence[FragmentScan],
    metrics: Sequence[str | AnyMetric] | None,
    extra: Sequence[AnyMetric],
    *,
    cluster: str = BY_QUESTION,
    skipping: bool,
) -> tuple[AnyMetric, ...]:
    """Select the metrics to score, and check them against the data.

    ``extra`` are further metrics; ``name`` is the data's name in messages.

    Raises DataError if a row cannot be read or there is none; UsageError if a metric is unknown, or needs a
    field that no row has; UnknownNameError if no row has the cluster column.
    """
    chosen = resolve(metrics) if metrics is not None else None
    errors = [fragment_scan.error for fragment_scan in scans if fragment_scan.error is not None]
    first = decode_error(errors[0]) if errors else None
    if first is not None and not skipping:
        raise first
    scan = Scan(
        sum(fragment_scan.rows for fragment_scan in scans),
        sum(fragment_scan.rejected for fragment_scan in scans),
    )
    for fragment_scan in scans:
        scan.present.update({Field(field): rows for field, rows in fragment_scan.present.items()})
        scan.metadata.update(fragment_scan.metadata)
    if not scan.rows and first is not None:
        raise DataError(f"None of the {scan.rejected} rows can be read; the first: {first}", file=name)
    if not scan.rows:
        raise DataError("The data has no rows.", file=name)
    _check_mapped(name, scans)
    dataset = FragmentDataset(fragments[0])
    usable = merge_metrics(chosen if chosen is not None else default_metrics(scan, dataset), extra)
    check_fields(usable, scan, dataset)
    check_cluster(cluster, scan, dataset)
    return usable


def reject_idf_metrics(metrics: Sequence[AnyMetric]) -> None:
    """Raise UsageError for a metric that needs all references before it scores a row."""
    weighing = [
        metric.canonical for metric in metrics if metric.token_needs and metric.token_needs.weighs_tokens
    ]
    if weighing:
        message = (
            f"{weighing[0]} weighs tokens by all references of the data, and a worker sees a part of them."
        )
        raise UsageError(message, hint="Leave out idf, or score without Ray.")


def _check_mapped(name: str, scans: Sequence[FragmentScan]) -> None:
    unseen = set.intersection(*(set(fragment_scan.unseen) for fragment_scan in scans))
    seen = tuple(dict.fromkeys(column for fragment_scan in scans for column in fragment_scan.columns))
    try:
        if seen:
            missing_mapped(seen, sorted(unseen))
    except DataError as error:
        raise with_place(error, file=name, line=None) from None


def id_hash(sample_id: str) -> bytes:
    """Return the 8-byte hash of an id."""
    return blake2b(sample_id.encode(), digest_size=8).digest()
