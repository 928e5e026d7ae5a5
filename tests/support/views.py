"""Views with chosen values and hostile texts."""

# ruff: noqa: FBT003 - the values of views are data, in the order of their fields

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sgi.analysis.audit.audited_means import AuditedMean
from sgi.analysis.changes import MetricChange
from sgi.analysis.compare import ChangedRow, Comparison, MetricComparison, MissingPairs
from sgi.analysis.groups import Group
from sgi.analysis.run_differences import Difference
from sgi.engine.summary import MetricSummary
from sgi.kernel.metric import Status
from sgi.kernel.protocols import Usage
from sgi.reporting.views.comparison import ChangedSample, ComparisonView
from sgi.reporting.views.group_view import GroupTable
from sgi.reporting.views.headline import Headline
from sgi.reporting.views.metric_pairs import Correlation, DisagreeingRow, Disagreement, Scatter, ScatterPoint
from sgi.reporting.views.metric_values import Distribution, LabelMetrics
from sgi.reporting.views.row_view import LowestRows, SampleView, ScoreView
from sgi.reporting.views.run_view import Earlier, RunView
from sgi.stats.calibration import Reliability
from sgi.stats.confounds import Baseline
from sgi.stats.intervals import Interval
from sgi.stats.judge_trust import CorrectedShare
from sgi.stats.paired_tests import McNemar, PairedDifference
from sgi.stats.ranking import Ranking
from sgi.store.angle_plane import Plane, PlanePoint
from sgi.store.row_query import Cell, RowLine, RowPage, RowQuery
from sgi.store.run_queries import RunRecord
from sgi.store.scored_runs import Reason

HOSTILE = (
    "</script><script>window.hacked=1</script> <!-- ]]> {{ 7*7 }} {% raw %} <img src=x onerror=hacked=1>"
    " \u202eesrever\u2066 nul\x00 bell\x07 \u2028line <b>bold</b> [link](javascript:alert(1))"
    " & &lt; \"quotes' \ud800"
)
HOSTILE_ID = "../../a/b \"c' <d>&\u202e"
HOSTILE_METRIC = 'judged(note="</script><i>")'
METRICS = ("sgi", "bleu", HOSTILE_METRIC)
HALF = Interval(0.4, 0.6, 0.95, "t")


def score(value: float | None, **parts: Any) -> ScoreView:
    """A score with this value; None has the status undefined."""
    known = {
        "status": "ok" if value is not None else "undefined",
        "reason": "" if value is not None else HOSTILE,
    }
    return ScoreView(value=value, **{"details": {}, "evidence": {}, **known, **parts})


def theta(position: int) -> tuple[float, float]:
    """The two angles of a row: a spiral over the plane."""
    return 1.0 + 0.4 * math.cos(position / 7), 1.1 + 0.4 * math.sin(position / 5)


def value_of(position: int) -> float:
    """The SGI of a row."""
    rc, rq = theta(position)
    return rq / rc


def label_of(position: int) -> bool | None:
    """Alternating labels; every tenth row has none."""
    return None if position % 10 == 9 else position % 2 == 0


def id_of(position: int) -> str:
    """The id of a row; the third is hostile."""
    return HOSTILE_ID if position == 2 else f"row-{position}"


def sample(position: int, *, response: str = HOSTILE, **parts: Any) -> SampleView:
    """A row with all fields."""
    rc, rq = theta(position)
    sentences = [{"text": HOSTILE, "sgi": 1.25}, {"text": "Second.", "sgi": None}]
    details = {"theta_rq": rq, "theta_rc": rc, "passage": 1, "passages": [None, 1.25], "sentences": sentences}
    evidence = {"statements": [{"text": HOSTILE, "verdict": 1}], HOSTILE: [], "why": ["a", {"deep": HOSTILE}]}
    given: dict[str, Any] = {
        "id": id_of(position),
        "position": position,
        "question": f"Question {position}? {HOSTILE}",
        "contexts": (HOSTILE, f"Passage of {position}."),
        "response": response,
        "reference": HOSTILE,
        "alternatives": ("Another.", HOSTILE),
        "further": {"context_ids": ["d1", HOSTILE]},
        "label": label_of(position),
        "metadata": {"topic": HOSTILE, HOSTILE: 3},
        "reason": "",
        "scores": {
            "sgi": score(value_of(position), details=details),
            "bleu": score(0.25),
            HOSTILE_METRIC: score(None, evidence=evidence),
        },
    }
    return SampleView(**{**given, **parts})


def row_page(n: int = 120, *, of: int | None = None, response: str = HOSTILE) -> RowPage:
    """A page of ``n`` rows for the table of a report."""
    return RowPage(
        METRICS, tuple(_row(at, response) for at in range(n)), n, n if of is None else of, RowQuery(), 1
    )


def _row(position: int, response: str) -> RowLine:
    cells = {
        "sgi": Cell(value_of(position), "ok", ""),
        "bleu": Cell(position / 1000, "ok", ""),
        HOSTILE_METRIC: Cell(None, "failed", HOSTILE) if position % 3 else Cell(1.0, "ok", ""),
    }
    question = f"Question {position}? {HOSTILE}"
    return RowLine(
        id_of(position), position, label_of(position), question, f"Answer {position}. {response}", cells
    )


def head(n: int = 120, **parts: Any) -> RunRecord:
    """A finished run."""
    given: dict[str, Any] = {
        "id": "01J00000000000000000000000",
        "name": f"nightly {HOSTILE}",
        "dataset": "d",
        "dataset_name": f"data {HOSTILE}.jsonl",
        "rows": n,
        "scored": n,
        "rejected": 2,
        "stopped": None,
        "created_at": "2026-01-01T12:00:00.123+00:00",
        "finished_at": "2026-01-01T12:01:00.123+00:00",
        "metrics": METRICS,
        "summary": {
            "metrics": [
                {"metric": name, "mean": mean, "is_share": name != "sgi"}
                for name, mean in (("sgi", 1.1), ("bleu", 0.06), (HOSTILE_METRIC, 1.0))
            ]
        },
        "tags": ("<b>", "weekly"),
        "spec_hash": "",
        "signature": f"sgi v1 {HOSTILE}",
        "versions": {"sgi": "0.1", "numpy": "2.4"},
        "spec": {"data": HOSTILE, "metrics": list(METRICS)},
    }
    return RunRecord(**{**given, **parts})


def summary(metric: str, n: int = 120, **parts: Any) -> MetricSummary:
    """The summary of a metric over all rows."""
    counts = {Status.OK: n, Status.UNDEFINED: 0, Status.MISSING: 0, Status.FAILED: 0}
    given: dict[str, Any] = {
        "metric": metric,
        "mean": 0.5,
        "interval": HALF,
        "deviation": 0.1,
        "counts": counts,
        "ranking": Ranking(0.75, Interval(0.7, 0.8, 0.95, "delong"), 60, 48),
        "is_share": metric != "sgi",
    }
    return MetricSummary(**{**given, **parts})


def headline(n: int = 120) -> Headline:
    """A headline with every kind of note."""
    failed = {Status.OK: n // 3, Status.UNDEFINED: 1, Status.MISSING: 0, Status.FAILED: n - n // 3 - 1}
    judged = summary(HOSTILE_METRIC, counts=failed, ranking=None, classes={HOSTILE: 3, "wrong": 2})
    return Headline(
        metrics=(summary("sgi", n), summary("bleu", n), judged),
        baselines=(Baseline("length", "shorter", Ranking(0.6, None, 60, 48)),),
        labelled=108,
        positives=60,
        questions=60,
        copies=3,
        truncated={"contexts": 4},
        left_out={"model <x>": 5},
        partial="",
    )


def plane(n: int = 120) -> Plane:
    """The angles of every row."""
    points = tuple(PlanePoint(id_of(at), at, *theta(at), value_of(at), label_of(at)) for at in range(n))
    return Plane("sgi", points, n)


def run_view(n: int = 120, **parts: Any) -> RunView:
    """The view of a run with all parts."""
    found = [sample(at) for at in range(min(n, 4))]
    bins = Reliability((0.25, 0.75), (0.3, 0.7), (50, 58), "width")
    given: dict[str, Any] = {
        "record": head(n),
        "audits": (
            AuditedMean(HOSTILE_METRIC, HOSTILE, "TRUSTED", "", HOSTILE, 0.8125, CorrectedShare(0.71875)),
            AuditedMean("bleu", HOSTILE, obstacle=HOSTILE),
        ),
        "earlier": Earlier("r0", f"earlier {HOSTILE}", {"sgi": MetricChange(-0.1, "worse")}),
        "headline": headline(n),
        "distributions": (
            Distribution("sgi", (0.5, 1.0, 1.5), {"label 1": (40, 20), "label 0": (20, 28)}, 1, 0),
            Distribution("bleu", (0.0, 0.1, 0.2), {"label 1": (50, 10), "label 0": (40, 8)}, 0, 0),
        ),
        "plane": plane(n),
        "groups": (GroupTable(f"topic {HOSTILE}", (_group(HOSTILE, 70), _group("rivers", 50))),),
        "correlation": Correlation(("sgi", "bleu"), ((1.0, None), (None, 1.0)), ((n, n), (n, n))),
        "scatter": Scatter("sgi", "bleu", (ScatterPoint(HOSTILE, 0.1, 1.2, 0.8, True),), n, 0.5, 1, 0),
        "disagreement": Disagreement(
            "sgi", "bleu", tuple(DisagreeingRow(row, 1.2, 0.1, 0.8) for row in found[:2])
        ),
        "worst": (LowestRows("sgi", True, tuple(found)), LowestRows("bleu", True, tuple(found[1:]))),
        "labelled": (
            LabelMetrics("sgi", 0.75, ((0.0, 0.0), (0.2, 0.6), (1.0, 1.0)), bins, 0.05, 108, 0.2125, 0.2475),
        ),
        "reasons": (Reason(HOSTILE_METRIC, "failed", HOSTILE, 80),),
        "usage": {HOSTILE: Usage(calls=3, cached=1, input_tokens=1000, output_tokens=50, cost=None)},
    }
    view = RunView(None, given["record"])  # type: ignore[arg-type]  # all parts are known
    vars(view).update(given | parts)
    return view


def _group(name: str, rows: int) -> Group:
    classes = {HOSTILE_METRIC: {HOSTILE: 2}}
    metrics = (replace(summary(metric, rows), classes=classes.get(metric, {})) for metric in METRICS)
    return Group(name, rows, tuple(metrics))


def bare_view(n: int = 0, **parts: Any) -> RunView:
    """The view of a run without any optional part."""
    nothing = Headline((), (), 0, 0, 0, 0, {}, {}, "Of 0 rows.")
    empty: dict[str, Any] = dict.fromkeys(("distributions", "groups", "worst", "labelled", "reasons"), ())
    missing: dict[str, Any] = dict.fromkeys(("earlier", "plane", "correlation", "scatter", "disagreement"))
    given = (
        {"record": head(n, name=None, tags=()), "headline": nothing, "usage": {}, "audits": ()}
        | empty
        | missing
    )
    return run_view(n, **{**given, **parts})


def comparison_view(changed: Sequence[ChangedSample] | None = None) -> ComparisonView:
    """A comparison in which the first metric is better and the second has no pairs."""
    better = PairedDifference(120, 60, 0.4, 0.5, 0.1, Interval(0.05, 0.15, 0.95, "t"), 0.00001, 0.02, "t")
    nothing = PairedDifference(0, 0, None, None, None, None, None, None, "")
    rows = (ChangedRow("row-1", "row-1", 0.1, 0.9, 0.8),)
    compared = (
        MetricComparison(
            "bleu", True, better, 0.00002, McNemar(3, 9, 0.1, "exact binomial"), (), "better", rows, 12
        ),
        MetricComparison(
            HOSTILE_METRIC,
            True,
            nothing,
            None,
            None,
            (MissingPairs("failed", "ok", 120),),
            "no difference found",
            (),
            0,
        ),
    )
    comparison = Comparison(
        base="before",
        new="after",
        base_signature="one",
        new_signature="two",
        pairs=120,
        only_base=1,
        only_new=2,
        metrics=compared,
        only_base_metrics=("<b>",),
        only_new_metrics=(),
        differences=(Difference("embedder", HOSTILE, "another", ("sgi",)),),
        notes=(),
    )
    base, new = head(name=f"before {HOSTILE}"), head(id="01J00000000000000000000001", name="after")
    if changed is None:
        changed = (ChangedSample("bleu", 0.8, sample(1, response="No."), sample(1)),)
    return ComparisonView(base, new, comparison, frozenset({"bleu"}), tuple(changed), (HOSTILE,))
