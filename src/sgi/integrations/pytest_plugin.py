"""The pytest plugin: score rows in a test, and fail the test if a rule fails.

pytest loads this in every run where the package is installed, so nothing heavy is imported before use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Unpack

    from sgi.analysis.gate.gate import GateReport
    from sgi.analysis.gate.gate import Options as GateOptions
    from sgi.analysis.gate.rules import Rule
    from sgi.engine.evaluate import Options
    from sgi.engine.open_resources import EmbedderLike
    from sgi.engine.results import Result
    from sgi.io.dataset import DataLike
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.scored_run import ScoredRun


class Score(Protocol):
    """Type of the fixture `sgi_score`; the arguments are those of `sgi.evaluate`."""

    def __call__(
        self,
        data: DataLike,
        metrics: str | AnyMetric | Sequence[str | AnyMetric] | None = None,
        embedder: EmbedderLike | Sequence[EmbedderLike] | None = None,
        **options: Unpack[Options],
    ) -> Result:
        """Score rows, and return the result."""


class AssertGate(Protocol):
    """Type of the fixture `assert_gate`; the arguments are those of `sgi.analysis.gate.gate.gate`."""

    def __call__(
        self,
        scored: Result | ScoredRun,
        *rules: str | Path | Rule,
        against: Result | ScoredRun | None = None,
        **options: Unpack[GateOptions],
    ) -> GateReport:
        """Fail the test unless every rule passes."""


@pytest.fixture(scope="session")
def sgi_score() -> Score:
    """Fixture: a function that scores rows, with the arguments of `sgi.evaluate`."""
    from sgi.engine.evaluate import evaluate

    return evaluate


@pytest.fixture(scope="session")
def assert_gate() -> AssertGate:
    """Fixture: a function that fails the test unless the result of `sgi_score` meets the rules."""
    from sgi.analysis.gate.gate import gate
    from sgi.engine.results import Result

    def columns(scored: Result | ScoredRun) -> ScoredRun:
        return scored.scored() if isinstance(scored, Result) else scored

    def check(
        scored: Result | ScoredRun,
        *rules: str | Path | Rule,
        against: Result | ScoredRun | None = None,
        **options: Unpack[GateOptions],
    ) -> GateReport:
        __tracebackhide__ = True
        before = None if against is None else columns(against)
        report = gate(columns(scored), rules, against=before, **options)
        if not report.passed:
            pytest.fail(str(report), pytrace=False)
        return report

    return check
