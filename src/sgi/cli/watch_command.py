"""``sgi study watch``: checks the trend of data after each new run, and raises alerts."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sgi.cli import options
from sgi.cli.console import complain, print_lines, print_message
from sgi.cli.option_values import stored_metrics
from sgi.kernel.errors import StoreError, UnknownNameError, UsageError

if TYPE_CHECKING:
    from sgi.analysis.gate.rules import Rule
    from sgi.analysis.trend import WatchCheck
    from sgi.service.webhook import Webhook
    from sgi.store.database import Database

_ALERT = 4
_INTERVAL = re.compile(r"(\d{1,6}(?:\.\d+)?)\s*(s|m|h)?")
_UNITS = {None: 1, "s": 1, "m": 60, "h": 3600}

Data = Annotated[
    str,
    typer.Argument(
        help="Name of the data, a run with this data, or 'traces' for live traces (one run an hour).",
        metavar="DATA|RUN",
        show_default=False,
    ),
]
Rules = Annotated[
    list[str] | None,
    typer.Argument(
        help='Rules as for sgi gate, such as "calibrated>=0.8"; or .toml files with rules.',
        show_default=False,
    ),
]
WebhookUrl = Annotated[
    str | None,
    options.output_option(
        "--webhook",
        metavar="URL",
        envvar="SGI_WEBHOOK_URL",
        show_envvar=False,
        help="Send each alert as JSON by POST to this address. Default: SGI_WEBHOOK_URL.",
    ),
]
Once = Annotated[
    bool, typer.Option("--once", help="Check the newest run, and exit with 4 if it raises an alert.")
]
ExitCode = Annotated[
    bool, typer.Option("--exit-code", help="Without --once: exit with 4 at the first alert.")
]
Interval = Annotated[str, typer.Option(help="Time between two checks for a new run, such as 30s, 5m or 1h.")]


def watch(
    data: Data,
    metric: options.RunMetric,
    rules: Rules = None,
    define: options.Define = None,
    webhook: WebhookUrl = None,
    once: Once = False,
    exit_code: ExitCode = False,
    interval: Interval = "60s",
    db: options.Database = None,
) -> None:
    """Check the trend of data after each new finished run, and raise alerts.

    An alert is a newest run after a change point to the worse, or one that violates a rule. Each check prints
    one line. Ctrl-C ends the watch.

    Examples:
      sgi study watch answers.jsonl -m grounding
      sgi study watch answers.jsonl "rouge_l>=0.6" -m rouge_l --once
      sgi study watch traces -m grounding --interval 5m --webhook https://hooks.example.org/services/ID
    """
    from sgi.analysis.gate.rules import read_rules
    from sgi.analysis.trend import find_series, require_limits
    from sgi.store.database import open_database
    from sgi.store.run_history import TRACES

    (metric,) = stored_metrics([metric], define)
    seconds = _seconds(interval)
    limits = read_rules(rules or [])
    require_limits(limits)
    target = _webhook(webhook)
    with open_database(db, create=False) as database:
        watcher = _Watcher(database, find_series(database, data), metric, limits, target)
        # The first hour of live traces has no finished run yet; any other unknown name is an error.
        alert = watcher.check_again() if data == TRACES and not once else watcher.check()
        while not (once or (alert and exit_code)):
            time.sleep(seconds)
            alert = watcher.check_again()
    if alert:
        raise typer.Exit(_ALERT)


@dataclass
class _Watcher:
    """Checks each new run once, and keeps alerts that the webhook did not accept."""

    database: Database
    data: str
    metric: str
    rules: tuple[Rule, ...]
    webhook: Webhook | None
    unsent: list[dict[str, Any]] = field(default_factory=list)
    _seen: str = ""

    def check(self) -> bool:
        """Check the newest run if it is new; return whether it is an alert."""
        from sgi.analysis.trend import check_newest
        from sgi.reporting.trend_view import watch_line, watch_payload
        from sgi.store.run_history import run_history

        self._send()
        newest = [run.id for run in run_history(self.database, self.data)][-1:]
        if newest == [self._seen]:
            return False
        result = check_newest(self.database, self.data, self.metric, self.rules)
        print_lines([f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {watch_line(result)}{_other(result, newest)}"])
        self._seen = newest[0]
        if result.alert and self.webhook is not None:
            self.unsent.append(watch_payload(result))
            self._send()
        return result.alert

    def check_again(self) -> bool:
        """Like `check`, but only print a message if the database cannot be read or has no run."""
        try:
            return self.check()
        except (StoreError, UnknownNameError) as error:
            complain(error)
            return False

    def _send(self) -> None:
        """Send the alerts that are not sent; report a failure, and try again at the next check."""
        from sgi.service.webhook import WebhookError

        while self.unsent and self.webhook is not None:
            try:
                self.webhook.send(self.unsent[0])
            except WebhookError as error:
                complain(error)
                return
            self.unsent.pop(0)


def _other(result: WatchCheck, newest: list[str]) -> str:
    """Say so if the newest run has no mean of the metric, so that an earlier one was checked."""
    return "" if [result.trend.newest.run] == newest else f" ({newest[0]} is newer and has no mean of it)"


def _webhook(url: str | None) -> Webhook | None:
    from sgi.service.webhook import Webhook

    return None if url is None else Webhook(url, print_message)


def _seconds(text: str) -> float:
    match = _INTERVAL.fullmatch(text.strip())
    seconds = float(match[1]) * _UNITS[match[2]] if match else 0.0
    if seconds < 1:
        raise UsageError(f"{text!r} is not an interval of at least 1 s.", hint="Write 30s, 5m or 1h.")
    return seconds
