"""The options of ``sgi serve`` for live traces, and the printed counts."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, fields
from importlib.util import find_spec
from threading import Event, Thread
from typing import TYPE_CHECKING, Annotated, Any, Literal

from sgi.cli import options
from sgi.cli.console import print_message
from sgi.cli.option_values import scored_metrics
from sgi.kernel.errors import MissingExtraError, UsageError
from sgi.kernel.limits import size_in_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sgi.models.embedder.long_texts import LongTexts
    from sgi.service.traces.open_receiver import TraceOptions
    from sgi.service.traces.receiver import TraceReceiver
    from sgi.store.database import Database

_PRINT_SECONDS = 60.0
_traces_option = options.option_group("Live traces")

Otlp = Annotated[
    bool,
    _traces_option(
        "--otlp",
        help="Receive traces at /v1/traces: OTLP over HTTP, as Protobuf or JSON.",
    ),
]
Sample = Annotated[
    float, _traces_option(min=0.0, max=1.0, help="Share of the traces to score; the trace id decides which.")
]
RunsOption = Annotated[
    Literal["hour", "service"],
    _traces_option("--otlp-runs", help="A run holds the traces of an hour (UTC), or those of a service."),
]
Wait = Annotated[
    float,
    _traces_option(
        "--otlp-wait",
        min=0.1,
        max=3600.0,
        help="Seconds without a span after which a trace with a root span is complete.",
    ),
]
Buffer = Annotated[
    str,
    _traces_option(
        "--otlp-buffer", help="Maximum size of waiting spans; above it, clients must retry later."
    ),
]
TraceMetrics = Annotated[
    list[str] | None,
    _traces_option(
        "-m",
        "--metric",
        help="A metric for the traces, or several separated by commas; repeatable. Default: grounding, sgi, "
        "semantic_similarity and lexical_aggregate.",
        show_default=False,
        autocompletion=options.complete_metric,
    ),
]
MaxCost = Annotated[
    float | None,
    _traces_option(min=0.0, help="Maximum cost of the judge in US dollars, until the server stops."),
]
NoTexts = Annotated[
    bool,
    _traces_option(
        "--no-texts",
        help="For private data: store digests of the traces' texts, and nothing that a judge wrote. Waiting "
        "spans are in memory, not in a file.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class TraceFlags:
    """The values of the options for live traces: one field for each option."""

    otlp: Otlp = False
    sample: Sample = 1.0
    otlp_runs: RunsOption = "hour"
    otlp_wait: Wait = 5.0
    otlp_buffer: Buffer = "256MB"
    metric: TraceMetrics = None
    define: options.Define = None
    max_cost: MaxCost = None
    no_texts: NoTexts = False

    def options(
        self,
        *,
        embedders: Sequence[str],
        long_texts: LongTexts,
        judge: dict[str, Any] | None,
    ) -> TraceOptions | None:
        """Return the settings of a receiver; None without --otlp.

        Raises:
            UsageError: another option is given without --otlp, or a size is not valid.
            MissingExtraError: the package that decodes Protobuf is not installed.
        """
        if not self.otlp:
            self._refuse_others()
            return None
        from sgi.service.traces.open_receiver import TraceOptions
        from sgi.service.traces.receiver import ReceiverSettings

        if find_spec("opentelemetry") is None or find_spec("opentelemetry.proto") is None:
            raise MissingExtraError("`sgi serve --otlp`", "otlp")
        limits = {} if self.max_cost is None else {"max_cost": self.max_cost}
        return TraceOptions(
            receiver=ReceiverSettings(sample=self.sample, quiet=self.otlp_wait),
            runs_by=self.otlp_runs,
            metrics=scored_metrics(self.metric, self.define),
            embedders=embedders,
            long_texts=long_texts,
            judge=None if judge is None else judge | limits,
            no_texts=self.no_texts,
            buffer_bytes=size_in_bytes(self.otlp_buffer),
        )

    def _refuse_others(self) -> None:
        for field in fields(self):
            if (getattr(self, field.name) or None) != (field.default or None):
                raise UsageError(f"--{field.name.replace('_', '-')} needs --otlp.")


@contextmanager
def trace_receiver(database: Database, options: TraceOptions | None) -> Iterator[TraceReceiver | None]:
    """Context manager that opens the receiver, and prints its counts each minute and at the end."""
    if options is None:
        yield None
        return
    from sgi.service.traces.open_receiver import open_receiver

    ended = Event()
    receiver = open_receiver(database, options)
    printer = Thread(target=_print_changes, args=(receiver, ended), daemon=True)
    printer.start()
    try:
        yield receiver
    finally:
        receiver.close()
        ended.set()
        printer.join()
        print_message(f"Traces: {receiver.counts().line()}.")


def _print_changes(receiver: TraceReceiver, ended: Event) -> None:
    before = receiver.counts().line()
    while not ended.wait(_PRINT_SECONDS):
        line = receiver.counts().line()
        if line != before:
            print_message(f"{time.strftime('%H:%M:%S')} Traces: {line}.")
        before = line
