"""Citations that name passages by kind and id, in the form of GraphRAG and its variants."""

import pytest

from sgi.text.citation_markers import find_markers


def markers(text, **options):
    return {text[marker.start : marker.end]: marker.targets for marker in find_markers(text, **options)}


@pytest.mark.parametrize(
    "citation",
    [
        *("[Data: Reports (2, 7, 2, +more)]", "[Data: Report (2); Reports (7)]", "(Data: Reports (2, 7))"),
        *(
            "[data:reports(2,7)]",
            "[^Data: Reports (2, 7)]",
            "**[Data: Reports (2, 7)]**",
            "[[Data: Reports 2, 7]]",
        ),
        *("[**Data:** Reports (2), and Reports (7)]", "[Data: Reports (2, 7]", "[Data: Reports [2, 7]]"),
        *(
            r"\[Data: Reports (2, 7)\]",
            "【Data: Reports (2, 7)†source】",
            "[Data: Reports: #2 and #7, +more]",
        ),
    ],
)
def test_a_citation_by_kind_names_ids(citation):
    assert markers(f"It is old {citation}. So.") == {citation: ("report:2", "report:7")}


def test_a_citation_can_name_several_kinds():
    citation = "[Data: Sources (15-16), Reports (1), Entities (5, 7); Relationships (23); Claims (2, +more)]"
    expected = "source:15 source:16 report:1 entity:5 entity:7 relationship:23 claim:2"
    assert markers(f"Old {citation}.") == {citation: tuple(expected.split())}


@pytest.mark.parametrize(
    ("citation", "targets"),
    [
        ("[Reports (2, 7)]", ("report:2", "report:7")),
        *(("(Report 2)", ("report:2",)), ("[Source 15]", ("source:15",)), ("[report:64]", ("report:64",))),
        ("[Data: 2, 7]", ("2", "7")),
    ],
)
def test_kinds_of_ids_make_further_brackets_citations(citation, targets):
    assert markers(f"Old {citation}.", ids=("report:2", "source:15")) == {citation: targets}
    assert markers(f"Old {citation}.") == ({citation: (15,)} if "15" in citation else {})


@pytest.mark.parametrize(
    "text",
    [
        "[Data: the survey of 2020]",
        "[Data: survey (2020)]",
        "(Data: 5)",
        "(see [Data: x](y))",
        "`[Data: Reports (2)]`",
    ],
)
def test_other_notes_on_data_are_not_citations(text):
    assert markers(f"Old {text}.") == {}
