"""What a notebook shows of a result."""

from __future__ import annotations

import base64
import html
import json
import re
import sys
import warnings
from xml.etree import ElementTree as ET

import anyio
import pytest

import sgi
from sgi.analysis.compare import compare
from sgi.analysis.duel.duel import duel
from sgi.analysis.leaderboard import leaderboard
from sgi.analysis.pareto import pareto
from sgi.analysis.repeats import repeats
from sgi.analysis.systems import systems_in_run
from sgi.engine.summary import NotebookRepr
from sgi.kernel.errors import UsageError
from sgi.kernel.sample import Sample
from sgi.reporting.notebook import notebook_html
from sgi.store.database import open_database
from sgi.testing import ScriptedJudge
from support.runs import add_run
from support.scored_runs import column, run_of

HOSTILE = "</td><script>alert(1)</script><img src=x onerror=y> \x00\x1b\u202e"
ROWS = [
    {
        "id": str(k),
        "response": f"Item {k} is old.",
        "reference": f"Item {k} is old." if k % 2 else "Nobody knows.",
        "label": k % 2,
    }
    for k in range(20)
]


@pytest.fixture(scope="module")
def result():
    return sgi.evaluate(ROWS, ["content_f1", "squad_em"])


def cells(page):
    rows = re.findall("<tr>(.*?)</tr>", page)
    return [
        [html.unescape(re.sub("<.*?>", "", cell)) for cell in re.findall("<t[dh][^>]*>(.*?)</t[dh]>", row)]
        for row in rows
    ]


def pictures(page):
    """The drawings on a page, with their words."""
    found = re.findall('<img src="data:image/svg\\+xml;base64,([^"]*)" alt="([^"]*)">', page)
    return [(ET.fromstring(base64.b64decode(data)), html.unescape(text)) for data, text in found]


def formatted(value):
    """What IPython would send to a notebook."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # IPython's own
        formatters = pytest.importorskip("IPython.core.formatters")
        data, _ = formatters.DisplayFormatter().format(value)
    return data


def test_a_result_is_a_table_with_coverage_and_a_chart_a_metric(result):
    page = notebook_html(result)
    table = cells(page)
    assert table[0] == ["metric", "mean", "95 % interval", "ok / n", "no value"]
    found = result.summary().metrics[0]
    interval = f"[{found.interval.low * 100:.2f}, {found.interval.high * 100:.2f}]"
    assert table[1] == [
        "content_f1",
        f"{found.mean:.2%}".replace("%", " %"),
        interval,
        "20 / 20",
        "",
    ]
    assert cells(page)[3] == ["ranks label 1 over 0", "AUROC", "95 % interval", "1 / 0"]
    assert cells(page)[4][:2] == ["content_f1", "1.000"]
    assert table[-1][0].startswith("length alone (")
    alternatives = [words for _, words in pictures(page)]
    assert [words.partition(" over")[0] for words in alternatives] == ["content_f1", "squad_em"]
    assert html.escape(result.signature) in page
    assert "<script" not in page


def test_ipython_shows_the_page_and_the_text(result):
    data = formatted(result)
    assert data["text/html"] == notebook_html(result)
    assert data["text/plain"] == str(result)
    for shown, tables in ((result.summary(), 2), (compare(result.named("a"), result.named("b")), 2)):
        data = formatted(shown)
        assert data["text/html"].count("<table>") == tables
        assert data["text/plain"] == str(shown)


def test_a_comparison_is_a_table_and_one_chart(result):
    worse = sgi.evaluate([row | {"response": "Nothing."} for row in ROWS], ["content_f1", "squad_em"])
    made = compare(result.named("monday"), worse.named("friday"))
    page = notebook_html(made)
    assert cells(page)[1][0] == "content_f1"
    assert cells(page)[1][-1] == "worse"
    ((drawing, alternative),) = pictures(page)
    assert alternative.startswith("friday − monday over 20 pairs: content_f1 -0.5")
    assert "friday − monday" in "".join(drawing.itertext())
    assert "monday → friday: 20 pairs" in page


def test_without_the_extra_images_there_is_a_table_and_the_command_that_installs_it(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    page = notebook_html(result)
    assert (page.count("<table>"), page.count("<img")) == (2, 0)
    assert page.count("[images]") == 1


def test_a_stored_run_is_shown_like_a_result(result, tmp_path):
    with open_database(tmp_path / "sgi.db") as database:
        add_run(
            database,
            samples=[Sample(id=str(k)) for k in range(20)],
            scores={"rouge_l": [k / 20 for k in range(20)]},
        )
    page = sgi.open_run("r1", db=tmp_path / "sgi.db")._repr_html_()
    assert "<p><strong>The mean of rouge_l is 47.50 % for 20 rows.</strong></p>" in page
    assert len(pictures(page)) == 1


def test_without_the_page_the_text_stands_alone(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "sgi.reporting.notebook", None)
    assert result._repr_html_() is None
    data = formatted(result)
    assert set(data) == {"text/plain"}
    assert data["text/plain"] == str(result.summary())


def test_hostile_names_are_text():
    row = {"id": "1", "response": "a", "reference": "a"}
    scored = sgi.evaluate([row], ["squad_em"])
    made = compare(scored.named(HOSTILE), scored.named("b"))
    page = notebook_html(made)
    assert "<script" not in page
    assert "onerror" not in re.sub("&lt;.*?&gt;", "", page)
    assert not set(page) & set("\x00\x1b\u202e")
    for drawing, _ in pictures(page):
        assert not {element.tag.rpartition("}")[2] for element in drawing.iter()} & {"script", "img"}


def test_rejected_rows_and_rows_without_a_value_are_told():
    given = [{"response": "a", "reference": "a"}, {"response": "a"}, {"label": "perhaps", "response": 1}]
    made = sgi.evaluate(given, ["squad_em"], on_error="skip")
    page = notebook_html(made)
    assert "1 row could not be parsed." in page
    assert cells(page)[1][3:] == ["1 / 2", "1 missing"]


def test_a_result_without_values_has_a_table_and_no_chart():
    page = notebook_html(sgi.evaluate([{"response": "The.", "reference": "A."}], ["content_f1"]))
    assert cells(page)[1] == ["content_f1", "–", "–", "0 / 1", "1 undefined"]
    assert not pictures(page)


def test_pictures_are_legible_on_either_ground(result):
    for drawing, _ in pictures(notebook_html(result)):
        inks = {element.get("fill") for element in drawing.iter() if element.tag.endswith("text")}
        assert inks == {"#767676"}
        assert drawing.get("style") is None  # no ground of its own


def test_what_is_no_result_is_refused():
    with pytest.raises(TypeError, match="NotebookRepr cannot be displayed in a notebook"):
        notebook_html(NotebookRepr())


@pytest.fixture(scope="module")
def report():
    contexts = ["The Anke was launched in 1950. She is 31 m long.", f"Lake Serrin freezes. {HOSTILE}"]
    return sgi.check(question=HOSTILE, contexts=contexts, response=f"She is 45 m long. {HOSTILE}")


def test_an_evidence_map_marks_what_is_unsupported(report):
    page = report._repr_html_()
    assert '<mark class="contradicted"' in page
    assert "passage 1 has 31 m" in page
    assert formatted(report)["text/plain"] == str(report)
    assert str(report).startswith(f"grounding {report.value:.2f} (")
    assert "  contradicted: She is 45 m long." in str(report)


def test_an_evidence_map_is_escaped_and_loads_nothing(report):
    page = report._repr_html_()
    assert "alert(1)" in page
    assert not re.search(r"<(script|img|iframe|link|object)|url\(|@import", page.lower())
    assert not re.search(r"\son[a-z]+=", re.sub("&lt;.*?&gt;", "", page))
    assert not set(page) & set("\x00\x1b\u202e")
    (style,) = re.findall("<style>(.*?)</style>", page, re.DOTALL)
    rules = re.sub(r"/\*.*?\*/", "", style).strip().splitlines()
    scopes = (".sgi-result", ".sgi-evidence")
    assert all(
        any(name in part for name in scopes) for rule in filter(None, rules) for part in _selectors(rule)
    )


def _selectors(rule):
    return rule.partition("{")[0].split(",")


def test_a_response_without_a_value_says_why():
    found = sgi.check(contexts=["The Anke was launched in 1950."], response="")
    assert (found.value, found.evidence, found.status) == (None, None, "undefined")
    assert str(found) == "grounding has no value: the response is blank"
    assert "<p><small>grounding has no value: the response is blank</small></p>" in found._repr_html_()


def test_a_result_has_the_evidence_map_of_each_row(report):
    row = {"id": "a", "contexts": list(report.contexts), "response": report.response, "question": HOSTILE}
    made = sgi.evaluate([row], ["grounding"])
    assert made.evidence_map("a") == report
    assert json.loads(json.dumps(report.to_dict()))["evidence"]["sentences"]
    with pytest.raises(UsageError):
        made.evidence_map("b")
    with pytest.raises(UsageError, match="grounding"):
        sgi.evaluate([row], ["sgi"]).evidence_map("a")


def test_a_leaderboard_a_front_and_a_duel_are_tables():
    samples = [
        Sample(id=f"{number}{name}", question=f"q{number}", response=f"{name}{number}", metadata={"by": name})
        for number in range(6)
        for name in ("<b>", "other")
    ]
    systems = systems_in_run(run_of(samples, column("a", [0.9, 0.1] * 6), column("b", [0.5, 0.1] * 6)), "by")
    board = leaderboard(systems)
    for result, pictures in ((board, 2), (pareto(board, "a", "b"), 1)):
        page = notebook_html(result)
        assert "&lt;b&gt;" in page
        assert "<b>" not in page
        assert page.count("<img") == pictures
    judge = ScriptedJudge(lambda *_: {"reasoning": "So.", "better": "tie"})
    page = notebook_html(anyio.run(duel, systems, judge))
    assert "&lt;b&gt; against other" in page
    assert "A/A: a system is compared with itself on 6 of the questions" in page
    assert "scripted" in page


def test_repeated_answers_are_tables():
    samples = [Sample(id=f"{n}", question=f"q{n // 2}") for n in range(12)]
    page = notebook_html(repeats(run_of(samples, column("a", [0, 1, 1, 1, 0, 0] * 2)), "a"))
    assert page.count("<table>") == 4
    assert "pass@k" in page
