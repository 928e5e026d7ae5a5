"""Opens a receiver of traces: its buffer, its scorer and its runs."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sgi.engine.open_resources import ModelKeywords
from sgi.kernel.registry import DEFAULTS, resolve
from sgi.service.scorer import Scorer
from sgi_traces.live.receiver import ReceiverSettings, TraceReceiver
from sgi_traces.live.spool import SpanSpool
from sgi_traces.live.trace_batch import RowScorer
from sgi_traces.live.trace_runs import MAX_SERVICES, TraceRuns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi.kernel.metric import AnyMetric
    from sgi.store.database import Database
    from sgi_traces.live.trace_runs import RunsBy

logger = logging.getLogger("sgi.traces")

BUFFER_BYTES = 256_000_000
"""Default size of the buffer of spans, in bytes."""


@dataclass(frozen=True)
class TraceOptions:
    """Options for receiving and scoring traces.

    Attributes:
        receiver: how traces are sampled and assembled.
        runs_by: whether a run holds the rows of an hour or of a service.
        max_services: maximum number of services with a run of their own.
        services: services that always have a run of their own.
        metrics: metrics or their names; None for the default metrics of `sgi.Scorer`.
        embedders: names of embedding models; empty for the embedded one.
        models: further arguments of `sgi.Scorer`, such as the judge.
        no_texts: whether runs store placeholders in place of texts; the buffer is then in memory.
        buffer_bytes: maximum size of the waiting spans.
    """

    receiver: ReceiverSettings = field(default_factory=ReceiverSettings)
    runs_by: RunsBy = "hour"
    max_services: int = MAX_SERVICES
    services: frozenset[str] = frozenset()
    metrics: Sequence[str | AnyMetric] | None = None
    embedders: Sequence[str] = ()
    models: ModelKeywords = field(default_factory=ModelKeywords)
    no_texts: bool = False
    buffer_bytes: int = BUFFER_BYTES


def open_receiver(database: Database, options: TraceOptions) -> TraceReceiver:
    """Open a receiver that stores rows in a database.

    The buffer is a file beside a SQLite database, otherwise in the working folder.

    Raises:
        UsageError: a metric or a model is not valid.
        StoreError: the buffer cannot be opened, or another server uses it.
    """
    scorer = Scorer(options.metrics, list(options.embedders) or None, **options.models)
    metrics = resolve(DEFAULTS if options.metrics is None else options.metrics)
    place = Path(f"{database.shown}-otlp" if database.dialect == "sqlite" else "sgi.db-otlp")
    if options.no_texts and place.exists():
        logger.warning(
            "%s can have spans with texts, from a server without --no-texts. Start a server without this "
            "option to score them, or delete the file.",
            place,
        )
    spool = SpanSpool(None if options.no_texts else place, options.buffer_bytes)
    runs = TraceRuns(
        database,
        options.runs_by,
        no_texts=options.no_texts,
        max_services=options.max_services,
        services=options.services,
    )
    return TraceReceiver(options.receiver, spool, runs, RowScorer(scorer, metrics, no_texts=options.no_texts))
