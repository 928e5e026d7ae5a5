"""Statements of a text, and the markers that cite them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.text.citation_markers import find_markers
from sgi.text.cited_text import remove_markers, split_cited_text
from sgi.text.footnotes import footnote_spans
from sgi.text.sentences import sentences

WORDS = st.lists(st.sampled_from(["tower", "old", "Paris", "ab", "Seine", "very"]), min_size=1, max_size=6)
MARKERS = st.sampled_from(["[1]", "[2, 3]", "[4-6]", "[^7]", "(Source 8)", "[Doc 9]", "【10】"])


def split(text):
    cited = split_cited_text(text)
    markers = [text[marker.start : marker.end] for marker in cited.markers]
    return [(part.text, [markers[number] for number in part.markers]) for part in cited.statements]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is old [1]. It is red [2].", [("It is old.", ["[1]"]), ("It is red.", ["[2]"])]),
        ("It is old. [1] It is red. [2]", [("It is old.", ["[1]"]), ("It is red.", ["[2]"])]),
        ("It is old.[1][2] It is red.", [("It is old.", ["[1]", "[2]"]), ("It is red.", [])]),
        ("It is old [1] and red [2].", [("It is old and red.", ["[1]", "[2]"])]),
        ("It is old [1], [2] and [3].", [("It is old.", ["[1]", "[2]", "[3]"])]),
        ("[1] It is old.\n[2] It is red.", [("It is old.", ["[1]"]), ("It is red.", ["[2]"])]),
        ("It is old.\n[1]\nIt is red.", [("It is old.", ["[1]"]), ("It is red.", [])]),
        ("It is old.\n\n[1]", [("It is old.", ["[1]"])]),
        ("- It is old [1]\n- It is red [2]", [("- It is old", ["[1]"]), ("- It is red", ["[2]"])]),
        ("tower[1]stands here.", [("tower stands here.", ["[1]"])]),
        ("It is old.¹ It is red.²", [("It is old.", ["¹"]), ("It is red.", ["²"])]),
        ("It is old [1].\n\nSources:\n[1] A page", [("It is old.", ["[1]"])]),
        ("[1]", []),
        ("", []),
    ],
)
def test_a_marker_cites_its_statement(text, expected):
    assert split(text) == expected


@given(st.text(max_size=300))
def test_a_text_without_markers_is_not_changed(text):
    cited = split_cited_text(text)
    if not cited.markers and not footnote_spans(text):
        assert cited.plain == text
        assert [part.text for part in cited.statements] == sentences(text)
    assert all(0 <= part.start < part.end <= len(text) for part in cited.statements)
    spans = [(part.start, part.end) for part in cited.statements]
    assert spans == sorted(spans)


@given(st.lists(st.tuples(WORDS, MARKERS), min_size=1, max_size=5))
def test_inserted_markers_are_found_again_at_their_places(parts):
    text, spans = "", []
    for words, marker in parts:
        text += " ".join(words) + " "
        spans.append((len(text), len(text) + len(marker)))
        text += marker + ". "
    assert [(marker.start, marker.end) for marker in find_markers(text)] == spans
    cited = split_cited_text(text)
    assert cited.plain == "".join(" ".join(words) + ". " for words, _ in parts)
    assert [number for part in cited.statements for number in part.markers] == [*range(len(parts))]


@given(st.text("ab [](),.1²³\n`:^-", max_size=60))
def test_markers_do_not_overlap_and_each_has_one_statement(text):
    cited = split_cited_text(text)
    ends = [at for marker in cited.markers for at in (marker.start, marker.end)]
    assert ends == sorted(ends)
    used = [number for part in cited.statements for number in part.markers]
    assert sorted(used) == ([*range(len(cited.markers))] if cited.statements else [])


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("It is old [1]. It is red (Source 2).", "It is old. It is red."),
        ("It is old\u00a0[1]!", "It is old!"),
        ("It is old.¹ It is red.²", "It is old. It is red."),
        ("It is old[1]and red.", "It is old and red."),
        ("It is old [1].\n\n[1]: A book", "It is old.\n\n[1]: A book"),
        ("[1]", ""),
    ],
)
def test_markers_are_removed_and_positions_are_those_of_the_text(text, plain):
    removed = remove_markers(text)
    assert removed.text == plain
    assert removed.positions is not None
    assert [text[at] for at in removed.positions if text[at] != "["] == [
        sign for sign, at in zip(plain, removed.positions, strict=True) if text[at] != "["
    ]


@pytest.mark.parametrize("text", ["", "It is old (1).", "names[2] = x", "in [2019]", "It has 5 m²."])
def test_a_text_without_markers_is_the_same_object(text):
    removed = remove_markers(text)
    assert removed.text is text
    assert removed.positions is None


def test_ids_of_passages_in_brackets_are_removed():
    assert remove_markers("It is old [w-1].", ids=["w-1"]).text == "It is old."
    assert remove_markers("It is old [w-1].").positions is None
