"""Health checks and Prometheus metrics."""

import logging
import time
from collections.abc import Iterator
from typing import cast

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sgi.kernel.errors import StoreError
from sgi.kernel.metric import Scores
from sgi.service.guard import Guard
from sgi.store.run_queries import list_runs
from sgi_web.site import Site, site_of

_log = logging.getLogger("sgi_web")
router = APIRouter(include_in_schema=False)

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_BATCH_ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_SPAN_OUTCOMES = ("invalid", "refused", "sampled_out", "late", "assembled")
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class ServerMetrics:
    """Prometheus metrics of one application. Labels are never user input, so their number is bounded."""

    def __init__(self, site: Site) -> None:
        self.registry = CollectorRegistry()
        self.requests = Histogram(
            "sgi_http_request_seconds",
            "Number and duration of HTTP requests, in seconds.",
            ("route", "method", "status"),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.rows = Counter(
            "sgi_score_rows",
            "Rows scored by POST /score, by metric and status.",
            ("metric", "status"),
            registry=self.registry,
        )
        self.registry.register(_SiteCollector(site))
        ProcessCollector(registry=self.registry)

    def count_scores(self, metric: str, scores: Scores) -> None:
        """Count scores by status; ``metric`` has no parameters, because callers choose them."""
        statuses = scores.status.tolist()
        for status in set(statuses):
            self.rows.labels(metric, status).inc(statuses.count(status))


class _SiteCollector:
    """Exports the queue and the batch sizes of the scorer, and the counts of traces and of the guard."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def collect(self) -> Iterator[Metric]:
        scorer, receiver = self._site.scorer, self._site.receiver
        if scorer is not None:
            yield GaugeMetricFamily(
                "sgi_score_waiting_rows", "Rows waiting to be scored.", value=scorer.waiting
            )
            sizes = dict(scorer.batch_sizes)
            buckets = [
                (str(most), sum(n for rows, n in sizes.items() if rows <= most)) for most in _BATCH_ROWS
            ]
            total = sum(rows * n for rows, n in sizes.items())
            family = HistogramMetricFamily("sgi_score_batch_rows", "Rows per scoring batch.")
            family.add_metric([], [*buckets, ("+Inf", sum(sizes.values()))], sum_value=total)
            yield family
        if receiver is not None:
            counts = receiver.counts()
            yield GaugeMetricFamily("sgi_trace_waiting_spans", "Spans of incomplete traces.", counts.waiting)
            received = counts.received + counts.restored
            yield CounterMetricFamily("sgi_trace_received_spans", "Spans received.", received)
            spans = {name: getattr(counts, name) for name in _SPAN_OUTCOMES}
            yield _by_outcome("sgi_trace_spans", "Received spans by outcome.", spans)
            lost = {"unanswered": counts.unanswered.total(), "failed": counts.failed.total()}
            turns = {"scored": counts.scored} | lost
            yield _by_outcome("sgi_trace_turns", "Turns in complete traces by outcome.", turns)
        if self._site.guard is not None:
            yield from _guard_metrics(self._site.guard)


def _guard_metrics(guard: Guard) -> Iterator[Metric]:
    counts = guard.counts
    yield CounterMetricFamily("sgi_guard_checked", "Answers checked by the guard.", counts.checked)
    yield CounterMetricFamily("sgi_guard_blocked", "Answers that the guard blocked.", counts.blocked)
    yield CounterMetricFamily("sgi_guard_errors", "Answers that could not be scored.", counts.errors)
    withdrawn = "Whether the promise of the guard is withdrawn: 0 or 1."
    yield GaugeMetricFamily("sgi_guard_promise_withdrawn", withdrawn, bool(guard.withdrawn))


def _by_outcome(name: str, meaning: str, values: dict[str, int]) -> CounterMetricFamily:
    family = CounterMetricFamily(name, meaning, labels=["state"])
    for outcome, value in values.items():
        family.add_metric([outcome], value)
    return family


class MetricsMiddleware:
    """ASGI middleware that measures requests."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self._app = app
        self._measures = ServerMetrics(site)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, and record its duration and status."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope.setdefault("state", {})["measures"] = self._measures
        status = 500  # the status if no handler responds

        async def send_and_note(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        began = time.perf_counter()
        try:
            await self._app(scope, receive, send_and_note)
        finally:
            route = str(getattr(scope.get("route"), "path", "unmatched"))  # its template
            method = scope["method"] if scope["method"] in _METHODS else "other"
            seconds = time.perf_counter() - began
            self._measures.requests.labels(route, method, str(status)).observe(seconds)


def server_metrics(request: Request) -> ServerMetrics:
    """Return the metrics of the application."""
    return cast("ServerMetrics", request.state.measures)


@router.get("/healthz")
async def alive() -> Response:
    """Report that the process responds."""
    return PlainTextResponse("alive\n")


@router.get("/readyz")
def ready(request: Request) -> Response:
    """Return status 200 if the database and the models are ready, otherwise 503; the log says why."""
    site = site_of(request)
    problems = {}
    try:
        list_runs(site.database, limit=1)
    except StoreError as error:
        problems["database"] = str(error)
    if site.scorer is not None and site.scorer.trouble:
        problems["scorer"] = site.scorer.trouble
    if problems:
        _log.warning("not ready: %s", problems)
    return JSONResponse(
        {"ready": not problems, "problems": dict.fromkeys(problems, "unavailable")}, 503 if problems else 200
    )


@router.get("/metrics")
def figures(request: Request) -> Response:
    """Return the metrics in the Prometheus format."""
    text = generate_latest(server_metrics(request).registry)
    return Response(text, headers={"Content-Type": CONTENT_TYPE_LATEST})
