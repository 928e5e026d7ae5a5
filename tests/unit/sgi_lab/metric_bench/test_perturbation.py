import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgi.kernel.errors import UnknownNameError
from sgi.kernel.sample import CONTEXTS, RESPONSE, Sample
from sgi_lab.metric_bench.capital_names import names_of
from sgi_lab.metric_bench.catalogue import FAULTS, PERTURBATIONS, select
from sgi_lab.metric_bench.numbers import values_of
from sgi_lab.metric_bench.perturbation import Kind, Others, Perturbation, shuffle

REAL = ("halueval_qa_lenmatched", "ragtruth_qa_test", "begin")
KEPT_WORDS = ("white_space", "unicode_form", "bullets", "framed", "clause_order")
RARE = {
    *("clause_order", "voice", "order_swap", "comparative_swap", "negation_reworded", "double_negation"),
    "comparison_reworded",
}
"""Changes that need words which few answers have; tests of their own show that they apply."""


def applied(one, rows):
    others = Others(rows)
    result = [(row, one.apply(row, others, seed=0)) for row in rows if row.label]
    return [(row, changed) for row, changed in result if changed is not None]


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("one", PERTURBATIONS.values(), ids=lambda one: one.name)
def test_on_real_rows_only_what_it_names_is_changed(real_rows, name, one):
    for before, after in applied(one, real_rows[name]):
        assert (after.response != before.response) is (one.changes == RESPONSE)
        assert (after.contexts != before.contexts) is (one.changes == CONTEXTS)
        kept = ("id", "question", "reference", "label", "metadata")
        assert all(getattr(after, part) == getattr(before, part) for part in kept)
        assert after.response.strip()
        assert all(isinstance(passage, str) for passage in after.contexts)


def test_every_perturbation_applies_to_some_real_row(real_rows):
    rows = [row for some in real_rows.values() for row in some]
    counts = {name: len(applied(one, rows)) for name, one in PERTURBATIONS.items()}
    assert {name for name, rows in counts.items() if not rows} <= RARE
    assert counts["number_swap"] > 20
    assert counts["entity_swap"] > 40


@pytest.mark.parametrize("one", PERTURBATIONS.values(), ids=lambda one: one.name)
def test_neither_order_nor_company_of_the_perturbed_rows_matters(real_rows, one):
    rows = real_rows["ragtruth_qa_test"][:20]
    ahead, back = Others(rows), Others(rows[::-1])
    for row in rows:
        first = one.apply(row, ahead, seed=3)
        assert first == one.apply(row, back, seed=3)
        assert first == one.apply(row, ahead, seed=3)


def test_another_seed_draws_otherwise(real_rows):
    rows = real_rows["ragtruth_qa_test"]
    others, one = Others(rows), PERTURBATIONS["number_swap"]
    result = [[one.apply(row, others, seed=seed) for row in rows] for seed in (0, 1)]
    assert result[0] != result[1]


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("one", [PERTURBATIONS[name] for name in KEPT_WORDS], ids=lambda one: one.name)
def test_a_harmless_change_keeps_every_number_and_name(real_rows, name, one):
    for before, after in applied(one, real_rows[name]):
        texts = [unicodedata.normalize("NFC", row.response).replace("’", "'") for row in (before, after)]
        texts = [text.replace("\u2011", "-").replace("\u00a0", " ") for text in texts]
        assert values_of(texts[:1]) <= values_of(texts[1:])
        plain = [" ".join(text.split()) for text in texts]
        assert {name for name in names_of(plain[0]) if " " not in name} <= set(
            plain[1].replace(".", " ").split()
        ) | {name for name in names_of(plain[0]) if name in plain[1]}


@pytest.mark.parametrize("one", PERTURBATIONS.values(), ids=lambda one: one.name)
@settings(max_examples=25)
@given(
    response=st.text(max_size=60)
    | st.from_regex(r"([A-Z][a-z]+ (is|was) (not )?\d{1,4} ?(km|%|\$)?\. ){1,3}"),
    contexts=st.lists(st.text(max_size=40), max_size=3),
    question=st.text(max_size=10),
)
def test_any_text_is_changed_or_left_without_an_exception(one, response, contexts, question):
    row = Sample(id="x", question=question, contexts=tuple(contexts), response=response)
    lenders = Others(
        [row, Sample(id="y", question="other?", contexts=("Zoe met Ann.",), response="It is 7 km.")]
    )
    result = one.apply(row, lenders, seed=0)
    if result is not None:
        assert (result.response, result.contexts) != (row.response, row.contexts)


@pytest.mark.parametrize("one", PERTURBATIONS.values(), ids=lambda one: one.name)
@pytest.mark.parametrize(
    "text",
    [
        "1" * 60_000,
        "Aa " * 20_000,
        "is not " * 10_000,
        "A" * 60_000,
        "in 1999 " * 8_000,
        "\ud800 is 5 km \udfff",
        "(" * 30_000,
        "1,000" * 10_000,
        "passage 1 and " * 5_000,
        "12 °" * 12_000,
    ],
    ids=[
        *("digits", "names", "not", "letters", "years", "surrogates", "brackets", "commas", "passages"),
        "degrees",
    ],
)
def test_huge_and_broken_texts_end(one, text):
    row = Sample(id="x", question="q", contexts=(text, "Ann was here in 1999."), response=text)
    result = one.apply(row, Others([row]), seed=0)
    assert result is None or result != row


def test_a_blank_answer_and_absent_passages_are_left_alone():
    blank = Sample(id="x", contexts=("a b c d",), response="  ")
    bare = Sample(id="x", response="It is 12 km.")
    lenders = Others(
        [Sample(id="y", contexts=("Another passage here.",), response="Ann met Zoe in Rome today.")]
    )
    for one in PERTURBATIONS.values():
        assert one.apply(blank, lenders, seed=0) is None
        if one.changes == CONTEXTS:
            assert one.apply(bare, lenders, seed=0) is None


def test_lenders_share_neither_question_nor_passage(draw):
    rows = [
        Sample(id="a", question="Who?", contexts=("one",)),
        Sample(id="b", question=" Who? ", contexts=("two",)),
        Sample(id="c", question="Where?", contexts=("zero", "one")),
        Sample(id="d", question="When?", contexts=("three",)),
        Sample(id="e", contexts=("four",)),
    ]
    assert {other.id for other in Others(rows).unrelated_rows(rows[0], draw)} == {"d", "e"}
    assert list(Others([]).unrelated_rows(rows[0], draw)) == []


def test_what_changes_nothing_does_not_apply():
    same = Perturbation("same", Kind.HARMLESS, RESPONSE, "Nothing.", lambda sample, _draw, _others: sample)
    assert same.apply(Sample(id="1", response="r"), Others([]), seed=0) is None


def test_names_are_distinct_lowercase_and_described():
    both = [*PERTURBATIONS.values(), *FAULTS.values()]
    assert len({one.name for one in both}) == len(both)
    for one in both:
        assert one.name == one.name.lower()
        assert one.says.endswith(".")
    assert not PERTURBATIONS.keys() & FAULTS.keys()


def test_choosing_keeps_the_order_of_the_catalogue():
    rows, faults = select(["refusal", "number_swap", "reply_empty"])
    assert [one.name for one in rows] == ["number_swap", "refusal"]
    assert [one.name for one in faults] == ["reply_empty"]
    assert [len(some) for some in select()] == [len(PERTURBATIONS), len(FAULTS)]


def test_an_unknown_name_says_what_is_near():
    with pytest.raises(UnknownNameError, match="number_swap"):
        select(["numbr_swap"])


def test_shuffling_takes_anything_and_keeps_it(draw):
    assert sorted(shuffle({3: "", 1: "", 2: ""}, draw)) == [1, 2, 3]
