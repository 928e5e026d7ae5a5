"""Citation markers in texts, and the brackets that are not markers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.metrics.citations.quotes import MAX_QUOTATION, QuotedTokens, quotation_spans, quoted_parts
from sgi.text.citation_markers import (
    find_markers,
    footnote_spans,
    reference_list_start,
    unread_markers,
)
from sgi.text.cited_text import remove_markers, split_cited_text
from sgi.text.linear_pattern import LinearPattern
from sgi.text.tokenizers import sentences


def markers(text, **options):
    return {text[marker.start : marker.end]: marker.targets for marker in find_markers(text, **options)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is old [1].", {"[1]": (1,)}),
        ("It is old[2, 3].", {"[2, 3]": (2, 3)}),
        ("Built in 1889[4]", {"[4]": (4,)}),
        ("A [1-3] b [5–6]", {"[1-3]": (1, 2, 3), "[5–6]": (5, 6)}),
        ("A [1; 3] b [1, 2 and 4]", {"[1; 3]": (1, 3), "[1, 2 and 4]": (1, 2, 4)}),
        ("Old [^4].", {"[^4]": (4,)}),
        ("A [1][2]", {"[1]": (1,), "[2]": (2,)}),
        ("Old.¹ Red²", {"¹": (1,), "²": (2,)}),
        ("Old.¹,³ Red²⁻³", {"¹,³": (1, 3), "²⁻³": (2, 3)}),
        ("Old (Source 2).", {"(Source 2)": (2,)}),
        ("Old (Sources 1, 2 and 3).", {"(Sources 1, 2 and 3)": (1, 2, 3)}),
        ("Old (see Document 7).", {"(see Document 7)": (7,)}),
        ("Old [Doc 3] and [Passage #2]", {"[Doc 3]": (3,), "[Passage #2]": (2,)}),
        ("Old【1】 red 【4†source】", {"【1】": (1,), "【4†source】": (4,)}),
        ("Old [[3]] and ([2])", {"[[3]]": (3,), "([2])": (2,)}),
        ("Old [٣] and ［１］", {"[٣]": (3,), "［１］": (1,)}),
        ("Old [\u200b7] and [ 8 ]", {"[\u200b7]": (7,), "[ 8 ]": (8,)}),
        ("Old [0].", {"[0]": (0,)}),
        ("Wow! [1] Great![2]", {"[1]": (1,), "[2]": (2,)}),
        (r"Old \[1\]. Red \[2, 3\].", {r"\[1\]": (1,), r"\[2, 3\]": (2, 3)}),
        (r"Old [\[4\]](https://a.b/c).", {r"[\[4\]](https://a.b/c)": (4,)}),
        ("Old<sup>1</sup> red <sup>[2, 3]</sup>", {"<sup>1</sup>": (1,), "<sup>[2, 3]</sup>": (2, 3)}),
        (
            "Old<SUP><a href='#1'>1</a></SUP> red<sup>[1][2]</sup>",
            {"<SUP><a href='#1'>1</a></SUP>": (1,), "<sup>[1][2]</sup>": (1, 2)},
        ),
        ("Old¹ ². Red ³", {"¹": (1,), "²": (2,), "³": (3,)}),
        ("Built in 1889². Old.¹", {"²": (2,), "¹": (1,)}),
        ("Built in 1889<sup>2</sup>, old<sup>3</sup>", {"<sup>2</sup>": (2,), "<sup>3</sup>": (3,)}),
        ("In the UK² and (in 1889)³ and/or¹", {"²": (2,), "³": (3,), "¹": (1,)}),
    ],
)
def test_markers_have_their_targets(text, expected):
    assert markers(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("In [2019] and (1999).", "See [1](https://example.org) and ![2](a.png) and [Source 3](page)."),
        *("See [the page][1].", "x[1] = arr[2]; my_list[0]; foo1[3]; rowCount[4]; names[5].upper()"),
        *("`old [1]` and ```\nold [2]\n```", "The interval [0, 1], the range [1, 5], v = [1, 2, 3]."),
        "An area of 5 m², 10³, x², mc², ¹⁴C and ¹⁄₂.",
        "5 m ², km², 10 ², cm³, 5 µm², CO², Ca²⁺, SO₄²⁻, 5 kg·m²/s², (a+b)², (a - 2)², y = ax ², 10⁻³",
        "m<sup>2</sup> 10<sup>3</sup> x<sup>2</sup> 5<sup>th</sup> Old<sup>[citation needed]</sup>",
        "1889² + 2, x = 1889², 1,889², $1889² and 18890²",
        *("x \\[ 1 \\], y = \\[1\\], \\[0, 1\\], \\[x^2\\]\n\\[42\\]\n", "¹ A note\n² A note"),
        *("[100-900] [3-1] [] [ ] [x] [sic] [1 km] (1) (2)", "- [ ] a task", "Source 2 says so."),
        "[1]: https://example.org\n[^2]: a note",
    ],
)
def test_other_brackets_are_not_markers(text):
    assert markers(text) == {}


def test_a_final_list_of_sources_has_no_markers():
    text = "It is old [1].\n\n**Sources:**\n[1] A page\n[2] Another page"
    assert markers(text) == {"[1]": (1,)}
    assert markers("Old [1], red [2].\n\n[1] A page\n[2] A page") == {"[1]": (1,), "[2]": (2,)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Built in 1889². Closed in 2019<sup>3</sup>!", ["1889²", "2019<sup>3</sup>"]),
        ("Built in 1889² [1].", ["1889²"]),
        ("Built in 1889². It is old.¹", []),
        ("An area of 10² or 330², 1889² + 1, `1889²`.", []),
    ],
)
def test_a_superscript_after_a_year_is_unread_without_another_superscript(text, expected):
    assert unread_markers(text) == expected


def test_lines_that_begin_with_markers_are_not_a_list_of_sources():
    text = "[1] The tower is old.\n[2] The door is red."
    assert markers(text) == {"[1]": (1,), "[2]": (2,)}


def test_ids_of_passages_in_brackets_are_markers():
    assert markers("Old [wiki/42] [wiki/42; b] [c].", ids={"wiki/42", "b"}) == {
        "[wiki/42]": ("wiki/42",),
        "[wiki/42; b]": ("wiki/42", "b"),
    }


def test_ids_of_a_pattern_are_markers_with_and_without_brackets():
    found = markers("See doc-1, [a-2, b-3] (c-4) xdoc-5x A-6", pattern=LinearPattern("[a-z]+-[0-9]+"))
    assert found == {"doc-1": ("doc-1",), "[a-2, b-3]": ("a-2", "b-3"), "(c-4)": ("c-4",)}


@pytest.mark.parametrize(
    ("entries", "found"),
    [
        ("- [1] guide.md\n- [2] History of Tolvik 1888.pdf", True),
        ("- [1] guide.md\n- [2] The dam holds 12 million litres", False),
        (
            "* [Guide](https://a.b/c)\n* https://a.b/c\n* guide.md\n1. <https://a.b>\n[Data: Reports (2)]",
            True,
        ),
        *(("- [1] The dam holds 12 million litres.", False), ("1. Solar\n2. Wind", False), ("- Coal", False)),
        ("- [1] The dam of Tolvik holds 12 million litres, says guide.md", False),
        ("- [1] guide.md\n\nIt is old", False),
    ],
)
def test_a_final_list_of_titles_states_nothing(entries, found):
    text = f"It is old [1].\n\n### References\n\n{entries}"
    assert (reference_list_start(text) == text.index("###")) == found
    assert (remove_markers(text).text.rstrip() == "It is old.") == found
    assert reference_list_start(f"Sources:\n{entries}") is None


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "[1" * 50_000,
        "(" * 100_000,
        "¹" * 100_000,
        "```" * 30_001,
        "(Source " * 12_000,
        "]" * 9,
        "<sup>" * 60_000,
        "1889² " * 30_000,
        "<sup>" + "<a>" * 50_000,
        *(
            "[Data:" * 30_000,
            "(Data: (x " * 20_000,
            "[Data: " + "Reports (2), " * 20_000,
            "(data: (data: x) " * 10_000,
        ),
        "Old.\n\nReferences\n" + "a-" * 100_000,
    ],
)
def test_unfinished_markers_are_not_markers(text):
    assert len(find_markers(text, pattern=LinearPattern("(a+)+b"))) <= 1


def test_one_hundred_thousand_brackets_are_markers():
    found = find_markers("[1]" * 33_334)
    assert len(found) == 33_334
    assert found[-1] == (99_999, 100_002, (1,))


@pytest.mark.parametrize(
    "text",
    [
        *(
            *("He said [sic] so.", "He said [...] so.", "It is old [citation needed].", "It is []."),
            "It is [ ].",
        ),
        *("```\na [1]\n``` so", "~~~\na [1]\n~~~ so", "~~~\na [1]", "`a [1]` is", "``a [1] b`` is"),
        *("see [text](https://a.b)", "see [1](https://a.b)", "[1]: A book", "a [1 b", "a 1] b", "\\[1\\]"),
        *("10² kg", "5 m²", "x² + y²", "E=mc²", "10³", "in [2019]", "[3-1]", "[1-999]", "[1.5]", "[-1]"),
        *("[99999999999999999999]", "[1,]", "[,1]", "data[1][2] = 3", "grid[1][i]", "names[1][2].upper()"),
    ],
)
def test_text_that_looks_like_a_marker_is_not_one(text):
    assert find_markers(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a [1[2]] b", {"[2]": (2,)}),
        ("a [[1] b", {"[1]": (1,)}),
        ("a [1]] b", {"[1]": (1,)}),
        ("It is tall[1][2].", {"[1]": (1,), "[2]": (2,)}),
        ("It is old [0].", {"[0]": (0,)}),
        ("It is old [[1]](https://a.b/c?d=e).", {"[[1]](https://a.b/c?d=e)": (1,)}),
        ("It is old [[1]](no link).", {"[[1]]": (1,)}),
        ("~~~\na [1]\n~~~\nIt is old [2].", {"[2]": (2,)}),
        ("About ~~~5 m [1] ~~~", {"[1]": (1,)}),
    ],
)
def test_markers_in_odd_places(text, expected):
    assert markers(text) == expected


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


TOWER = "The old tower, in Paris, is 6,650 m tall. Gustave said: 'It's mine'."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('It is "very old".', ["very old"]),
        ("It is “very old” and «tall» and „red“ and „blue”.", ["very old", "tall", "red", "blue"]),
        ('A 5" pipe and a 6" pipe.', []),
        ('He said "go" and "stay".', ["go", "stay"]),
        ('An open " quotation.', []),
        ('Two\n"lines\nof text"', []),
        ("It's a dog's life, 'he said'.", []),
        ('"' * 9, []),
    ],
)
def test_quotations_are_in_double_marks(text, expected):
    assert [text[start:end] for start, end in quotation_spans(text)] == expected


@pytest.mark.parametrize("sign", ['"', "“", "«", '" '])
def test_many_marks_are_read_in_linear_time(sign):
    assert all(end - start <= MAX_QUOTATION for start, end in quotation_spans(sign * 100_000))


@pytest.mark.parametrize(
    ("quotation", "found"),
    [
        ("The old tower, in Paris", True),
        ("the OLD  tower,\nin Paris.", True),
        ("old tower … 6,650 m tall", True),
        ("old tower [...] tall", True),
        ("[t]he old tower", True),
        ("[The big] old tower", True),
        ("‘It’s mine’", True),
        ("the o\u00adld tow\u200ber", True),
        ("６,650 m", True),
        ("the old tower in Paris", False),
        ("6,650 m … old tower", False),
        ("he old tower", False),
        ("old towers", False),
    ],
)
def test_a_quotation_is_found_word_for_word(quotation, found):
    assert QuotedTokens.of(TOWER).find(quoted_parts(quotation)) == found


def test_the_nearest_part_has_the_most_words_of_the_quotation():
    passage = QuotedTokens.of("Bees sleep here. The old tower is 330 m tall. Bees sleep.")
    span = passage.nearest(QuotedTokens.of("the old tower is 312 m tall"))
    assert passage.tokens[span.start : span.end] == ("the", "old", "tower", "is", "330", "m", "tall")
    assert span.share == 6 / 7
    assert passage.nearest(QuotedTokens.of("nothing")) is None


@given(st.lists(st.sampled_from("abcde"), min_size=1, max_size=12), st.data())
def test_a_part_of_a_text_is_found_and_is_nearest(words, data):
    start = data.draw(st.integers(0, len(words) - 1))
    end = data.draw(st.integers(start + 1, len(words)))
    passage, part = QuotedTokens.of(" ".join(words)), QuotedTokens.of(" ".join(words[start:end]))
    assert passage.find([part])
    assert passage.nearest(part).share == 1.0
