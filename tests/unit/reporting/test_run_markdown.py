"""A run and a comparison as Markdown."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.analysis.compare import Comparison, MetricComparison, MissingPairs
from sgi.analysis.groups import Group
from sgi.engine.summary import MetricSummary
from sgi.kernel.metric import Status
from sgi.kernel.protocols import Usage
from sgi.reporting.formatting import notes
from sgi.reporting.markdown import escape
from sgi.reporting.run_markdown import LONGEST, comparison_markdown, run_markdown
from sgi.reporting.views.comparison import ChangedSample, ComparisonView
from sgi.reporting.views.correlation import Correlation
from sgi.reporting.views.disagreement import DisagreeingRow, Disagreement
from sgi.reporting.views.distribution import Distribution
from sgi.reporting.views.groups import GroupTable
from sgi.reporting.views.headline import Headline
from sgi.reporting.views.label_metrics import LabelMetrics
from sgi.reporting.views.lowest import LowestRows
from sgi.reporting.views.run import RunView
from sgi.reporting.views.run_header import RunHeader
from sgi.reporting.views.sample import SampleView, ScoreView
from sgi.reporting.views.scatter import Scatter
from sgi.stats.confounds import Baseline
from sgi.stats.intervals import Interval
from sgi.stats.paired_tests import McNemar, PairedDifference
from sgi.stats.ranking import Ranking
from sgi.store.row_pages import Plane, PlanePoint
from sgi.store.scored_runs import Reason

HOSTILE = "a|b\n# head\n- item <script>alert(1)</script> [x](javascript:y) `c` *d* \x00\x1b\u202e\ud800"
UP = True


def head(name="nightly", **changed):
    header = RunHeader(
        id="20260101-120000-abcdef",
        name=name,
        data="halueval.jsonl",
        rows=1200,
        scored=1200,
        rejected=0,
        state="finished",
        stopped="",
        created_at="2026-01-01T12:00:00.5+00:00",
        finished_at="2026-01-01T12:01:00.5+00:00",
        metrics=("sgi", "squad_em"),
        means={},
        shares=frozenset({"squad_em"}),
        tags=("main", "v2"),
        signature="sgi:1|n:1200",
        versions={"sgi": "0.1.0", "numpy": "2.4"},
        spec={},
    )
    return replace(header, **changed)


def mean(metric, value, *, share=False, classes=None):
    counts = dict.fromkeys(Status, 0) | {Status.OK: 1100, Status.FAILED: 60}
    area = Interval(0.7, 0.9, 0.95, "t")
    return MetricSummary(
        metric,
        value,
        Interval(value - 0.1, value + 0.1, 0.95, "t"),
        0.1,
        counts,
        Ranking(0.8, area, 600, 500),
        is_share=share,
        classes=classes or {},
    )


def sample(name="q1", **changed):
    sample_view = SampleView(
        id=name,
        position=0,
        question="Who?",
        contexts=("It was Anke.", "It was not."),
        response="Anke.",
        reference="Anke",
        alternatives=(),
        further={},
        label=False,
        metadata={},
        reason="",
        scores={"sgi": ScoreView(0.5, "ok", "", {}, {}), "squad_em": ScoreView(0.25, "ok", "", {}, {})},
    )
    return replace(sample_view, **changed)


def view(name="sgi", row=None, run_name="nightly"):
    row = row or sample()
    metrics = (mean(name, 1.25), mean("squad_em", 0.5, share=True, classes={"yes": 1000, "no": 100}))
    ranking = Ranking(0.6, None, 600, 500)
    return RunView(
        head=head(run_name),
        headline=Headline(
            metrics,
            (Baseline("length", "longer", ranking),),
            1100,
            600,
            900,
            3,
            {"contexts": 7},
            {"bge": 2},
            "",
        ),
        distributions=(Distribution(name, (0.0, 1.0), {"all rows": (5,)}, 0, 0),),
        plane=Plane(name, (PlanePoint("q", 0, 0.5, 0.6, 1.2, None),), 1),
        groups=(GroupTable("method", (Group("bm25", 600, metrics),)),),
        correlation=Correlation((name, "squad_em"), ((1.0, None), (None, 1.0)), ((9, 9), (9, 9))),
        scatter=Scatter(name, "squad_em", (), 1100, 0.25, 3, 1),
        disagreement=Disagreement(name, "squad_em", (DisagreeingRow(row, 0.5, 0.25, -0.75),)),
        worst=(LowestRows(name, UP, (row,)), LowestRows("squad_em", not UP, (row,)), LowestRows("x", UP, ())),
        labelled=(LabelMetrics(name, 0.8, ((0, 0),), None, 0.05, 1100, 0.2, 0.25),),
        reasons=(Reason(name, "failed", "The judge gave no reply.", 60),),
        usage={"openai:gpt": Usage(1000, 5, 1, 2, 3, None), "local": Usage(cost=0.5)},
    )


def test_everything_that_the_view_holds_stands_on_the_page():
    page = run_markdown(view())
    for text in (
        "# nightly\n",
        "- run: `20260101-120000-abcdef`\n- data: halueval.jsonl\n- rows: 1,200\n- state: finished\n",
        "- started: 2026-01-01 12:00:00 UTC\n- finished: 2026-01-01 12:01:00 UTC\n- tags: main, v2\n",
        "| sgi | 1.2500 | [1.1500, 1.3500] | 1,100 / 1,200 | 60 failed, 40 not scored |",
        "| squad_em | 50.00 % | [40.00, 60.00] | 1,100 / 1,200 |",
        "- squad_em: yes 1,000 (90.9 %), no 100 (9.1 %)\n",
        "| sgi | 0.800 | [0.700, 0.900] | 600 / 500 |",
        "| length alone (longer = grounded) | 0.600 | – | 600 / 500 |",
        *(f"- {escape(note)}\n" for note in notes(view().headline)),
        "- sgi over 5 rows. Largest of 1 bins: 0 to 1, with 100.0 % of all rows.\n",
        "- The angles θ(r, c) and θ(r, q) of 1 row: 1 (100.0 %) above the diagonal",
        "- sgi against squad_em over 1,100 rows, Spearman's ρ 0.25. 3 rows rank much higher by sgi",
        "## By method\n",
        "| bm25 | 600 | sgi | 1.2500 | – | – |",
        "|  |  | squad_em | 50.00 % | – | – |",
        "| squad_em by method | yes | no |\n",
        "| sgi | 1.00 | – |",
        "| sgi | 0.800 | 0.050 | 0.200 | 0.250 | 1,100 |",
        "## Disagreements between sgi and squad_em\n",
        "- `q1`: rank difference -0.75: 0.5000 and 0.2500, label 0\n  - question: Who?\n",
        "  - reference: Anke\n  - passage 1: It was Anke.\n  - passage 2: It was not.\n",
        "## Rows with the lowest sgi\n\n- `q1`: 0.5000, label 0\n",
        "## Rows with the highest squad_em\n\n- `q1`: 25.00 %, label 0\n",
        "| 60 | failed | sgi | The judge gave no reply. |",
        "| openai:gpt | 1,000 | 5 | 1 | 0 | 2 | 3 | unknown |",
        "| local | 0 | 0 | 0 | 0 | 0 | 0 | 0.5000 |",
        "`sgi:1|n:1200`\n\nsgi 0.1.0, numpy 2.4\n",
    ):
        assert text in page, text
    assert "rows by x" not in page
    assert len(list(notes(view().headline))) == 3
    assert page.endswith("numpy 2.4\n")


def test_what_is_not_there_has_no_heading():
    bare = replace(
        view(),
        headline=Headline((), (), 0, 0, 0, 0, {}, {}, "numbers of the 0 rows that are scored, of 9"),
        distributions=(),
        plane=None,
        groups=(),
        correlation=None,
        scatter=None,
        disagreement=None,
        worst=(),
        labelled=(),
        reasons=(),
        usage={},
        head=head(scored=0, finished_at=None, tags=(), rejected=2, state="stopped", stopped="no such luck"),
    )
    page = run_markdown(bare)
    assert re.findall("^#+ .*", page, re.MULTILINE) == [
        "# nightly",
        "## Summary",
        "## Provenance",
    ]
    assert "No rows are scored yet.\n\n- numbers of the 0 rows that are scored, of 9\n" in page
    assert (
        "- rows: 0 of 1,200\n- rejected: 2 rows that could not be parsed\n- state: stopped: no such luck\n"
        in page
    )


def test_long_texts_are_cut_and_say_so():
    page = run_markdown(view(row=sample(response="x" * 5000, reference=None, label=None, contexts=())))
    assert f"  - response: {'x' * LONGEST} … (300 of 5,000 characters)\n" in page
    assert "x" * (LONGEST + 1) not in page
    assert "reference:" not in page
    assert "- `q1`: 0.5000\n" in page


def test_a_row_without_an_answer_says_why():
    page = run_markdown(view(row=sample(response="", reason="HTTP 500", scores={})))
    assert "- `q1`: –, label 0\n" in page
    assert "  - no response: HTTP 500\n" in page
    assert "  - response:" not in page


def markup(page):
    """A page without what stands in the type of code, and without what is escaped."""
    return re.sub(r"\\.", "", re.sub("`[^`\n]*`", "", re.sub(r"\\`", "", page)))


def parts(text):
    """Where Markdown begins something: headings, list items, rows of tables."""
    return [re.match(r"(#+|  -|-|\||)", line)[0] for line in text.splitlines()]


def test_hostile_texts_change_nothing_of_the_page():
    tame, wild = (
        run_markdown(view(name, sample(text, question=text, response=text, reference=text), text))
        for name, text in (("sgi", "tame"), (HOSTILE, HOSTILE))
    )
    assert parts(tame) == parts(wild)
    assert "<script" not in markup(wild)
    assert not set(wild) & set("\x00\x1b\u202e\ud800")
    wild.encode("utf-8")
    pipes = [
        len(re.findall(r"(?<!\\)\|", line))
        for page in (tame, wild)
        for line in page.splitlines()
        if line[:1] == "|"
    ]
    assert pipes[: len(pipes) // 2] == pipes[len(pipes) // 2 :]


@given(st.text())
def test_no_text_breaks_its_line(text):
    assert len(run_markdown(view(row=sample(text or "x"))).splitlines()) == len(
        run_markdown(view()).splitlines()
    )


def difference(metric, value, verdict="worse", *, test=None, lacking=()):
    between = None if value is None else Interval(value - 0.1, value + 0.1, 0.95, "t")
    paired_difference = PairedDifference(40, 40, 0.5, 0.4, value, between, 0.00001, 0.05, "t")
    return MetricComparison(metric, UP, paired_difference, 0.00001, test, lacking, verdict, (), 12)


def compared(name="squad_em", **changed):
    test = McNemar(12, 0, 0.0005, "exact")
    comparison = Comparison(
        "monday",
        "friday",
        "sgi:1|n:40",
        "sgi:1|n:41",
        40,
        0,
        1,
        (
            difference(name, -0.3, test=test, lacking=(MissingPairs("ok", "missing", 2),)),
            difference("sgi", None),
        ),
        ("bleu",),
        (),
    )
    rows = (ChangedSample(name, -1.0, sample(response="Anke."), sample(response="Nobody.")),)
    notes = ("friday is not finished.",)
    return ComparisonView(
        head("monday"), head("friday"), replace(comparison, **changed), frozenset({"squad_em"}), rows, notes
    )


def test_a_comparison_has_all_its_numbers():
    page = comparison_markdown(compared())
    for text in (
        "# monday → friday\n",
        "- base: monday (`20260101-120000-abcdef`), data halueval.jsonl\n",
        "- 40 pairs of rows; 0 only in base and 1 only in new\n- metrics only in base: bleu\n",
        "| squad_em | 50.00 % | 40.00 % | -30.00 pp | [-40.00, -20.00] | \\< 0.0001 | \\< 0.0001 |",
        " | 5.00 pp | 40 | worse |",
        "| sgi | 0.5000 | 0.4000 | – | – |",
        "| squad_em | 12 | 0 | 0.0005 | exact |",
        "| squad_em | ok | missing | 2 |",
        "- `q1`: squad_em -100.00 pp\n  - question: Who?\n  - before: Anke.\n  - after: Nobody.\n",
        "- friday is not finished.\n",
        "- base: `sgi:1|n:40`\n- new: `sgi:1|n:41`\n",
    ):
        assert text in page, text


def test_equal_signatures_stand_once_and_no_metric_is_told():
    same = compared(new_signature="sgi:1|n:40", metrics=())
    page = comparison_markdown(replace(same, changed=(), notes=()))
    assert page.count("sgi:1|n:40") == 1
    assert "No metric can be compared." in page
    assert "changed most" not in page


@pytest.mark.parametrize("text", [HOSTILE, "1. a", "- a", "=====", "    code"])
def test_hostile_names_of_runs_and_metrics_stay_text(text):
    made = compared(text)
    wild = comparison_markdown(
        replace(made, base=head(text), changed=(replace(made.changed[0], after=sample(text)),), notes=(text,))
    )
    assert parts(wild) == parts(comparison_markdown(compared("x")))
    assert "<script" not in markup(wild)
