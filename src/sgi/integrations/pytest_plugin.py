"""The pytest plugin: one test for each row of a data file, scores of rows, and gates.

pytest loads this in every run where the package is installed, so nothing heavy is imported before use.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping
    from pathlib import Path

    from sgi.analysis.gate.gate import GateReport
    from sgi.analysis.gate.rules import Rule
    from sgi.analysis.given_runs import RunLike
    from sgi.engine.run import Run
    from sgi.kernel.metric import Score
    from sgi.kernel.sample import Sample
    from sgi.service.scorer import Scorer

_METRICS = "sgi_metrics"
_DEFINE = "sgi_define"
_MARKER = (
    "sgi_rows(data, columns=None, encoding=None): run the test once for each row of a data file, as sgi_row"
)
_COMPARED = pytest.StashKey[list[Any]]()
"""The `RowScore` of each comparison that failed in the current test."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the pytest setting that selects the metrics."""
    parser.addini(
        _METRICS, "Metrics of the fixture sgi_scorer; default: those of sgi.Scorer.", type="linelist"
    )
    parser.addini(_DEFINE, "TOML file that defines metrics for sgi_metrics, relative to the rootdir.")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker ``sgi_rows``."""
    config.addinivalue_line("markers", _MARKER)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test with the marker ``sgi_rows`` once for each row of the file."""
    for marker in metafunc.definition.iter_markers("sgi_rows"):
        rows = _marked_rows(metafunc.definition.path.parent, *marker.args, **marker.kwargs)
        metafunc.parametrize("sgi_row", [pytest.param(row, id=row.id) for row in rows])


def pytest_assertrepr_compare(
    config: pytest.Config, op: str, left: object, right: object
) -> list[str] | None:
    """Name the scores in a failed comparison, and note them for the report of the test."""
    scores = [side for side in (left, right) if isinstance(side, RowScore)]
    if not scores:
        return None
    config.stash.setdefault(_COMPARED, []).extend(scores)
    first, second = (
        f"{float(side):.4f}" if isinstance(side, RowScore) else repr(side) for side in (left, right)
    )
    return [f"{' and '.join(map(repr, scores))}, so {first} {op} {second} is false"]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the evidence maps of failed comparisons to the report, where pytest does not truncate them."""
    report = yield
    scores = item.config.stash.get(_COMPARED, [])
    if report.when == "call":
        if report.failed:
            report.sections += [(repr(score), "\n".join(score.explanation())) for score in scores]
        scores.clear()
    return report


@pytest.fixture(scope="session")
def sgi_scorer(pytestconfig: pytest.Config) -> Iterator[Scorer]:
    """Fixture: the `sgi.Scorer` of this process. Its models open at the first use, and stay open.

    The option ``sgi_metrics`` of the configuration file names its metrics, and ``sgi_define`` a file that
    defines some of them. For other settings, such as a judge, define your own fixture of this name.
    """
    from sgi.kernel.registry import resolve
    from sgi.metrics.definitions import read_metrics
    from sgi.service.scorer import Scorer

    names, file = pytestconfig.getini(_METRICS), pytestconfig.getini(_DEFINE)
    defined = read_metrics(pytestconfig.rootpath / file) if file else {}
    with Scorer(resolve(names or defined, defined) if names or defined else None) as scorer:
        yield scorer


@pytest.fixture(scope="session")
def sgi_score_row(sgi_scorer: Scorer) -> Callable[..., RowScores]:
    """Fixture: a function that scores one row with the metrics of ``sgi_scorer``.

    It takes a `Sample` or a mapping, and fields that it replaces, such as ``response=answer``.
    """
    from sgi.io.dataset import object_dataset
    from sgi.kernel.sample import Sample

    def score(row: Sample | Mapping[str, Any], **fields: Any) -> RowScores:
        values = row.model_dump(mode="json", exclude_unset=True) if isinstance(row, Sample) else row
        (sample,) = object_dataset([{**values, **fields}]).samples()
        return RowScores(sample, sgi_scorer.score(sample))

    return score


@pytest.fixture(scope="session")
def sgi_score() -> Callable[..., Run]:
    """Fixture: a function that scores rows, with the arguments of `sgi.evaluate`."""
    from sgi.engine.evaluate import evaluate

    return evaluate


@pytest.fixture(scope="session")
def assert_gate() -> Callable[..., GateReport]:
    """Fixture: a function that fails the test unless a run meets the rules.

    It takes the result of `sgi_score` or another run, the rules, and by name the baseline ``against`` and the
    options of `sgi.gate`.
    """
    from sgi.analysis.gate.gate import gate
    from sgi.analysis.given_runs import given_run

    def check(
        run: RunLike, *rules: str | Path | Rule, against: RunLike | None = None, **options: Any
    ) -> GateReport:
        __tracebackhide__ = True
        base = None if against is None else given_run(against, None, None)
        report = gate(given_run(run, None, None), rules, against=base, **options)
        if not report.passed:
            pytest.fail(str(report), pytrace=False)
        return report

    return check


def _marked_rows(
    folder: Path, data: str | Path, columns: Mapping[str, str] | None = None, encoding: str | None = None
) -> list[Sample]:
    """Read the rows; a relative path is relative to the folder of the test."""
    from sgi.io.files import open_file
    from sgi.kernel.errors import SgiError

    try:
        return list(open_file(folder / data, columns, encoding).samples())
    except SgiError as error:
        pytest.fail(f"sgi_rows: {error}", pytrace=False)


_LONGEST = 160


@dataclass(frozen=True, eq=False)
class RowScore:
    """The score of one row under one metric.

    Compare it with a number, as in ``assert score >= 0.5``. A comparison fails the test if the score has no
    value. The message of a failed assertion shows the evidence map, if the metric has one.
    """

    metric: str
    row: Sample
    score: Score

    def __ge__(self, other: float | RowScore) -> bool:
        return float(self) >= other

    def __gt__(self, other: float | RowScore) -> bool:
        return float(self) > other

    def __le__(self, other: float | RowScore) -> bool:
        return float(self) <= other

    def __lt__(self, other: float | RowScore) -> bool:
        return float(self) < other

    def __eq__(self, other: object) -> bool:
        return float(self) == other

    def __ne__(self, other: object) -> bool:
        return float(self) != other

    __hash__ = None  # type: ignore[assignment]  # equality depends on the value alone

    def __bool__(self) -> NoReturn:
        __tracebackhide__ = True
        raise TypeError(f"{self.metric} is a score, not a yes or no. Compare it with a number.")

    def __float__(self) -> float:
        if self.score.value is None:
            pytest.fail("\n".join([repr(self), *self.explanation()]), pytrace=False)
        return self.score.value

    def __repr__(self) -> str:
        from sgi.reporting.safe_text import one_line

        name, score = f"{self.metric} of row {one_line(self.row.id)}", self.score
        if score.value is None:
            return f"{name} has no value: {score.status}: {score.reason}"
        return f"{name} is {score.value:.4f}"

    def explanation(self) -> Iterator[str]:
        """Yield the texts of the row, and the evidence map of the score."""
        from sgi.metrics.grounding.evidence_map import EvidenceMap
        from sgi.reporting.evidence_lines import map_lines
        from sgi.reporting.formatting import beginning
        from sgi.reporting.safe_text import one_line
        from sgi.reporting.views.evidence_view import evidence_view

        for name in ("question", "response", "reference"):
            if text := getattr(self.row, name):
                yield f"{name}: {one_line(beginning(text, _LONGEST), longest=_LONGEST)}"
        evidence = EvidenceMap.read(self.score.details)
        if evidence is not None:
            view = evidence_view(evidence, self.row.contexts)
            yield from (line.plain.rstrip() for line in map_lines(view))


class RowScores:
    """The scores of one row, by metric."""

    def __init__(self, row: Sample, scores: Mapping[str, Score]) -> None:
        self.row = row
        self.scores = scores

    def __getitem__(self, metric: str) -> RowScore:
        """Return the score under a metric, by its canonical string or by its name alone."""
        from sgi.kernel.errors import UnknownNameError
        from sgi.kernel.registry import metric_name

        names = [name for name in self.scores if metric in {name, metric_name(name)}]
        if len(names) != 1:
            hint = f"It has: {', '.join(self.scores)}. Set sgi_metrics in the configuration file of pytest."
            raise UnknownNameError("metric of the scorer", metric, hint=hint)
        return RowScore(names[0], self.row, self.scores[names[0]])

    def __repr__(self) -> str:
        return "\n".join(repr(self[name]) for name in self.scores)
