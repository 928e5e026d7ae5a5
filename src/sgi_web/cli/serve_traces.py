"""The options of ``sgi serve`` for live traces, and the printed counts."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, fields
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any, Literal

from sgi.cli import options
from sgi.cli.console import print_message
from sgi.cli.option_values import scored_metrics
from sgi.kernel.errors import MissingExtraError, UsageError
from sgi.kernel.input_limits import size_in_bytes
from sgi.kernel.registry import DEFAULTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.engine.open_resources import ModelKeywords
    from sgi.store.database import Database
    from sgi_traces.live.open_receiver import TraceOptions
    from sgi_traces.live.receiver import TraceReceiver

_traces = options.option_group("Live traces")


@dataclass(frozen=True, kw_only=True)
class TraceFlags:
    """The values of the options for live traces: one field for each option."""

    otlp: Annotated[bool, _traces("--otlp", help="Receive traces at /v1/traces: OTLP over HTTP.")] = False
    otlp_share: Annotated[
        float, _traces(min=0.0, max=1.0, help="Share of the traces to score; the trace id decides which.")
    ] = 1.0
    otlp_runs: Annotated[
        Literal["hour", "service"], _traces(help="A run holds the traces of an hour (UTC), or of a service.")
    ] = "hour"
    otlp_service: Annotated[
        list[str] | None,
        _traces(help="A service that always has a run of its own, with --otlp-runs service; repeatable."),
    ] = None
    otlp_max_services: Annotated[
        int,
        _traces(min=0, max=10_000, help="Maximum number of services with runs; others share traces-other."),
    ] = 100
    otlp_wait: Annotated[
        float, _traces(min=0.1, max=3600.0, help="Seconds without a span that complete a trace with a root.")
    ] = 5.0
    otlp_buffer: Annotated[
        str, _traces(help="Maximum size of waiting spans; above it, clients must retry later.")
    ] = "256MB"
    metric: Annotated[
        list[str] | None,
        _traces(
            "-m",
            "--metric",
            help="A metric for the traces, or several separated by commas; repeatable. Default: "
            f"{', '.join(DEFAULTS)}.",
            autocompletion=options.complete_metric,
        ),
    ] = None
    define: options.Define = None
    max_cost: Annotated[
        float | None, _traces(min=0.0, help="Maximum cost of the judge for the traces in US dollars.")
    ] = None
    no_texts: Annotated[
        bool, _traces("--no-texts", help="Store digests of the texts, and nothing that a judge wrote.")
    ] = False

    def options(self, models: dict[str, Any], *, judge: dict[str, Any] | None) -> TraceOptions | None:
        """Return the settings of a receiver; None without --otlp.

        Raises:
            UsageError: another option is given without --otlp, or a size is not valid.
            MissingExtraError: the package that decodes Protobuf is not installed.
        """
        if not self.otlp:
            self._refuse_others()
            return None
        if self.otlp_service and self.otlp_runs != "service":
            raise UsageError("--otlp-service needs --otlp-runs service.")
        from sgi_traces.live.open_receiver import TraceOptions
        from sgi_traces.live.receiver import ReceiverSettings

        if find_spec("opentelemetry") is None or find_spec("opentelemetry.proto") is None:
            raise MissingExtraError("`sgi serve --otlp`", "otlp")
        read: ModelKeywords = {"long_texts": models["long_texts"]} if "long_texts" in models else {}
        limits = {} if self.max_cost is None else {"max_cost": self.max_cost}
        return TraceOptions(
            receiver=ReceiverSettings(sample=self.otlp_share, quiet=self.otlp_wait),
            runs_by=self.otlp_runs,
            max_services=self.otlp_max_services,
            services=frozenset(self.otlp_service or ()),
            metrics=scored_metrics(self.metric, self.define),
            embedders=models["embedders"],
            models={**read, "judge": None if judge is None else judge | limits},
            no_texts=self.no_texts,
            buffer_bytes=size_in_bytes(self.otlp_buffer),
        )

    def _refuse_others(self) -> None:
        for field in fields(self):
            if (getattr(self, field.name) or None) != (field.default or None):
                raise UsageError(f"--{field.name.replace('_', '-')} needs --otlp.")


@contextmanager
def trace_receiver(database: Database, options: TraceOptions | None) -> Iterator[TraceReceiver | None]:
    """Context manager that opens the receiver, and prints its counts at the end."""
    if options is None:
        yield None
        return
    from sgi_traces.live.open_receiver import open_receiver

    receiver = open_receiver(database, options)
    try:
        yield receiver
    finally:
        receiver.close()
        print_message(f"Traces: {receiver.counts().line()}.")
