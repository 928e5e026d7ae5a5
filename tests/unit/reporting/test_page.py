from __future__ import annotations

import base64
import hashlib
import json
import zlib
from functools import cache
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError
from markupsafe import Markup

from sgi.reporting.formatting import beginning, format_interval, format_mean, missing_values
from sgi.reporting.html_page import asset, content_hash, data_block, environment, inline, vega_bundle
from sgi.reporting.row_details import as_tree, passages, row_maps
from sgi.reporting.safe_text import plain
from sgi.reporting.views.headline import headline_notes
from sgi.stats.intervals import Interval
from support.views import HOSTILE, HOSTILE_METRIC, headline, plane, sample, score, summary

if TYPE_CHECKING:
    from jinja2 import Environment

_STEERING = {*range(9), *range(11, 32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)}
_ANY_TEXT = st.text(st.characters(exclude_categories=()))
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | _ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_ANY_TEXT, inner, max_size=3),
    max_leaves=8,
)


@cache
def templates() -> Environment:
    """One for all tests, which makes the parts once."""
    return environment()


def rendered(source: str, **names: object) -> str:
    return templates().from_string(source).render(**names)


@given(_ANY_TEXT)
def test_no_text_steers_or_opens_anything(text: str) -> None:
    page = rendered("{{ text }}", text=text)
    assert not _STEERING & set(map(ord, page))
    assert "<" not in page
    assert '"' not in page
    page.encode()


@given(_ANY_TEXT)
def test_plain_text_stays_plain(text: str) -> None:
    assert plain(plain(text)) == plain(text)


def test_markup_of_a_macro_is_left_as_it_is() -> None:
    source = "{% macro bold(text) %}<b>{{ text }}</b>{% endmacro %}{{ bold(text) }}"
    assert rendered(source, text="<i>\x00") == "<b>&lt;i&gt;\N{REPLACEMENT CHARACTER}</b>"
    assert rendered("{{ text }}", text=Markup("<b>")) == "<b>"


def test_a_name_that_is_not_there_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="nothing"):
        rendered("{{ nothing }}")


def test_templates_of_another_package_come_first(tmp_path, monkeypatch) -> None:
    folder = tmp_path / "extra_pages" / "templates"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("")
    (folder / "own.html").write_text('{% import "parts.html" as parts %}{{ parts.chart("a", "b", "c") }}')
    monkeypatch.syspath_prepend(tmp_path)
    assert 'data-chart="a"' in environment("extra_pages").get_template("own.html").render()


@given(_JSON)
def test_json_in_a_page_is_the_value_and_ends_nothing(value: object) -> None:
    block = data_block(value)
    assert not set(block.text) & set("<>&\u2028\u2029")
    block.text.encode()
    again = json.loads(block.text)
    assert data_block(again) == block


def test_json_in_a_page_keeps_plain_values_and_has_no_infinity() -> None:
    assert json.loads(data_block({"a": [1, 0.5, None, True, "é<"]}).text) == {"a": [1, 0.5, None, True, "é<"]}
    assert data_block([float("nan"), float("inf")]).text == "[null,null]"


def test_large_data_in_a_page_is_compressed() -> None:
    value = {"texts": [f"</script> {n}" for n in range(10_000)]}
    block = data_block(value)
    assert block.packed
    assert len(block.text) < 60_000
    assert json.loads(zlib.decompress(base64.b64decode(block.text))) == value


@pytest.mark.parametrize("end", ["</script>", "</STYLE >", "a </x> <!-- "])
def test_an_inline_part_cannot_contain_a_closing_tag(end: str) -> None:
    with pytest.raises(ValueError, match="must not contain a closing tag"):
        inline(f"x{end}")


@pytest.mark.parametrize("name", ["sgi.css", "charts.js", "report.js", "sections.js"])
def test_our_assets_can_stand_inline_and_take_no_data_as_markup(name: str) -> None:
    text = asset(name)
    assert inline(text) == text
    assert "\r" not in text
    assert not {"innerHTML", "insertAdjacentHTML", "document.write", "eval(", "localStorage"} & set(
        text.split()
    )
    assert "innerHTML" not in text
    assert "http" not in text


def test_the_drawing_script_stands_inline_too_and_names_its_licence() -> None:
    bundle = vega_bundle()
    assert inline(bundle) == bundle
    assert "BSD 3-Clause" in bundle[:300]


def test_a_hash_names_the_bytes_of_a_text() -> None:
    digest = base64.b64encode(hashlib.sha256("é".encode()).digest()).decode()
    assert content_hash("é") == f"'sha256-{digest}'"


def test_passages_have_the_values_of_the_metrics_that_value_them() -> None:
    first, second = passages(sample(0))
    assert [(value.metric, value.value, value.counts) for value in first.values] == [("sgi", None, False)]
    assert [(value.metric, value.value, value.counts) for value in second.values] == [("sgi", 1.25, True)]


@pytest.mark.parametrize("found", [None, [1.0], "two", [{}, {}], {"a": 1}])
def test_what_does_not_fit_the_passages_stays_with_its_metric(found: object) -> None:
    odd = score(1.0, details={"passages": found, "passage": 0})
    row = sample(0, scores={"odd": odd})
    assert all(passage.values == () for passage in passages(row))
    assert row_maps(row)["odd"].further == {"passages": found, "passage": 0}


def test_a_tree_has_tables_for_flat_mappings_and_words_for_yes_and_no() -> None:
    made = as_tree(
        {"statements": [{"text": "a", "verdict": 1}, {"text": "b", "why": None}], "n": [1, [True]]}
    )
    assert made["statements"].columns == ("#", "verdict", "text", "why")
    assert made["statements"].rows == (("1", "yes", "a", "–"), ("2", "–", "b", "–"))
    assert made["n"] == ["1", ["yes"]]


@given(_JSON)
def test_any_details_can_be_shown(value: object) -> None:
    page = rendered('{% import "parts.html" as parts %}{{ parts.tree(value | tree) }}', value=value)
    assert "<script" not in page.lower()


def test_counts_and_percentages_are_told_in_their_own_unit() -> None:
    counted = summary("tokens", total=1234.0, interval=Interval(10.0, 11.0, 0.95, "t"))
    assert (format_mean(counted), format_interval(counted)) == ("1,234", "[1,200.0, 1,320.0]")
    percent = summary(
        "accuracy", mean=51.5, is_share=False, is_percentage=True, interval=Interval(50, 53, 0.95, "t")
    )
    assert (format_mean(percent), format_interval(percent)) == ("51.50 %", "[50.00, 53.00]")
    assert (format_mean(summary("bleu")), format_interval(summary("bleu"))) == ("50.00 %", "[40.00, 60.00]")
    assert format_interval(summary("bleu", interval=None)) == "–"


def test_rows_without_a_value_are_told_by_why() -> None:
    judged = headline().metrics[2]
    assert missing_values(judged, judged.rows) == "1 undefined, 79 failed"
    assert missing_values(judged, judged.rows + 1000) == "1 undefined, 79 failed, 1,000 not scored"
    assert missing_values(summary("bleu"), 120) == ""


def test_notes_tell_what_the_numbers_lack() -> None:
    texts = list(headline_notes(headline()))
    assert [
        any(word in note for note in texts) for word in ("contexts", "model <x>", "equals the reference")
    ] == [True] * 3


def test_a_beginning_is_one_short_line_of_a_long_text() -> None:
    assert beginning("a\n" * 1000, 10) == "a a a a a…"
    assert beginning("x" * 160) == "x" * 160
    assert len(beginning("x" * 1_000_000)) == 160


@pytest.mark.parametrize("macro", ["sample_details(sample)", 'rows_table(rows, "/rows/{}".format)'])
def test_parts_show_hostile_texts_as_texts(macro: str) -> None:
    from support.views import row_page

    page = rendered(
        f'{{% import "parts.html" as parts %}}{{{{ parts.{macro} }}}}', sample=sample(0), rows=row_page(5)
    )
    assert "<script>" not in page
    assert "<img" not in page
    assert "&lt;/script&gt;" in page
    assert HOSTILE not in page
    assert HOSTILE_METRIC.replace("<", "&lt;").replace(">", "&gt;").replace('"', "&#34;") in page


def test_the_plane_of_the_views_is_what_the_browser_tests_take_it_for() -> None:
    assert len({point.position for point in plane().points}) == 120
