from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sgi.analysis.compare import compare
from sgi.analysis.pairing import pair_rows, pairing_notes, shorten
from sgi.kernel.clusters import Clustering
from sgi.kernel.errors import NotComparableError, UsageError
from sgi.kernel.metric_column import MetricProvenance
from sgi.kernel.row_keys import are_numbers
from sgi.kernel.sample import Sample
from sgi.kernel.signature import placeholder
from support.scored_runs import column, run, run_of, with_record


def texts(*samples, name="last", **facts):
    made = run_of(samples, column("a", np.arange(len(samples)) / 100))
    return with_record(made, name=name, **facts)


def numbered(questions, **facts):
    samples = [Sample(id=str(k), question=question) for k, question in enumerate(questions, 1)]
    return texts(*samples, **facts)


def partners(base, new):
    pairs = pair_rows(base, new)
    return pairs.by, list(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True))


def test_rows_without_ids_are_paired_by_question_where_a_line_was_inserted():
    before = [f"Question {k}?" for k in range(60)]
    after = [*before[:7], "A new one?", *before[7:]]
    made = pair_rows(numbered(before), numbered(after, name="after"))
    assert made.by == "content"
    assert made.second.tolist() == [k if k < 7 else k + 1 for k in range(60)]
    notes = list(pairing_notes(numbered(before), numbered(after, name="after"), made))
    assert notes == [
        "The rows of last and after have no ids: rows were paired by their questions and contexts."
    ]


def test_an_export_of_a_run_without_ids_is_paired_by_the_ids_that_the_run_gave():
    def rows(answer, name, first="Who?"):
        ids = ("old-1-right", "old-1-hallucinated", "old-2-right")
        asked = (first, "Who?", "When?")
        samples = [
            Sample(id=i, question=q, response=f"{answer} {i}") for i, q in zip(ids, asked, strict=True)
        ]
        return texts(*samples, name=name, dataset_name=f"{name}.jsonl")

    made, exported = rows("Old", "old"), rows("New", "export")
    assert (made.numbered, exported.numbered) == (True, False)
    assert partners(made, exported) == ("id", [(0, 0), (1, 1), (2, 2)])
    other = rows("New", "export", first="Where?")
    assert partners(made, other) == ("content", [(2, 2)])


def test_repeated_rows_are_paired_by_equal_responses_and_the_others_are_left_out_with_a_note():
    def rows(*responses, name):
        repeated = [Sample(id=str(k), question="Who?", response=text) for k, text in enumerate(responses, 1)]
        return texts(
            *repeated, Sample(id=str(len(responses) + 1), question="When?", response="1815."), name=name
        )

    before, after = rows("A", "B", "C", "A", name="before"), rows("D", "C", "A", name="after")
    assert partners(before, after) == ("content", [(0, 2), (2, 1), (4, 3)])
    note = list(pairing_notes(before, after, pair_rows(before, after)))[-1]
    assert note.startswith(
        "Left out: 2 of the rows of before and 1 of after. Their question and contexts repeat"
    )

    only = [texts(*(Sample(id=str(k), question="Who?", response=r) for k, r in pairs)) for pairs in
            ([(1, "A"), (2, "B")], [(1, "C"), (2, "D")])]  # fmt: skip
    with pytest.raises(UsageError, match="no equal responses"):
        pair_rows(*only)


def test_questions_that_repeat_are_paired_by_contexts():
    def rows(*contexts):
        return texts(
            *(Sample(id=str(k), question="Sum up.", contexts=(c,)) for k, c in enumerate(contexts, 1))
        )

    assert partners(rows("a", "b", "b", "c"), rows("b", "x", "b", "a")) == (
        "content",
        [(0, 3), (1, 0), (2, 2)],
    )


def test_one_question_keeps_its_partner_when_the_contexts_change():
    before = texts(Sample(id="1", question="Who?", contexts=("a",)), Sample(id="2", question="When?"))
    after = texts(Sample(id="1", question="When?"), Sample(id="2", question=" Who? ", contexts=("b",)))
    assert partners(before, after) == ("content", [(0, 1), (1, 0)])


def test_rows_without_a_question_are_paired_by_contexts_or_reference():
    before = texts(Sample(id="1", contexts=("a", "b")), Sample(id="2", reference="r"), Sample(id="3"))
    after = texts(Sample(id="1", reference="r"), Sample(id="2"), Sample(id="3", contexts=("a", "b")))
    assert partners(before, after) == ("content", [(0, 2), (1, 0)])


def test_no_text_in_common_is_an_error():
    with pytest.raises(UsageError):
        pair_rows(numbered(["One?"]), numbered(["Two?"]))


def test_ids_of_different_questions_are_refused_with_both_questions():
    before = texts(*(Sample(id=f"q{k}", question=f"Old question {k}?") for k in range(6)), name="monday")
    after = texts(*(Sample(id=f"q{k}", question=f"Old question {k + k // 2}?") for k in range(6)))
    with pytest.raises(UsageError) as caught:
        pair_rows(before, after)
    message = str(caught.value)
    assert "4 of 6 pairs of monday and last have the same id but different questions" in message
    assert "q2 is 'Old question 2?' and 'Old question 3?'" in message
    assert "q4" in message
    assert ("and 1 more" in message, "q5 is" in message) == (True, False)


def test_ids_win_over_content_where_both_runs_have_them():
    before = texts(Sample(id="a", question="Who?"), Sample(id="b", question="Who?"))
    after = texts(Sample(id="b", question="Who?"), Sample(id="a", question="Who?"))
    assert partners(before, after) == ("id", [(0, 1), (1, 0)])


def test_the_same_data_is_paired_by_id_without_reading_a_text():
    def unreadable(rows):
        raise AssertionError(rows)

    one = with_record(replace(run(column("a", [0.1, 0.2])), read_samples=unreadable), dataset="d")
    assert partners(one, one) == ("id", [(0, 0), (1, 1)])


def test_pairs_without_a_question_are_noted():
    before = texts(Sample(id="a", question="Who?"), Sample(id="b", question="When?"))
    after = texts(Sample(id="a", question="Who?"), Sample(id="b"))
    (note,) = pairing_notes(before, after, pair_rows(before, after))
    assert note == "1 pair lacks a question in a run: paired by id, without a check."


@pytest.mark.parametrize(
    ("ids", "stem", "expected"),
    [
        (["1", "2", "3"], "", True),
        (["1", "3"], "", True),
        (["x-1-right", "x-1-hallucinated", "x-2-right"], "x", True),
        (["x-1", "x-2"], "y", False),
        (["01"], "", False),
        (["2", "1"], "", False),
        ([], "", False),
    ],
)
def test_which_ids_are_only_row_numbers(ids, stem, expected):
    assert are_numbers(ids, stem) is expected


def test_rows_without_texts_have_the_keys_of_the_rows_with_texts():
    samples = [
        Sample(id="1", question="Who  is it?", contexts=("a  b", "c"), reference="r\n"),
        Sample(id="2"),
    ]
    one, two = (texts(*made).row_keys for made in (samples, [s.with_placeholders() for s in samples]))
    assert one.identity == two.identity
    assert one.contexts.tolist() == two.contexts.tolist()
    assert one.reference.tolist() == two.reference.tolist()


def test_a_placeholder_is_shown_as_a_text_that_is_not_kept():
    assert shorten(placeholder("Who?")) == "(text not kept)"


VALUES = np.random.default_rng(0).beta(8, 2, 100)
PLAIN = MetricProvenance(("minilm@1,f32",))
JUDGED = MetricProvenance((), "openai:m,temperature=0.0", 16000, "3f2a")


def made(name, provenance=PLAIN, version=1, values=VALUES, metric="sgi"):
    return run(replace(column(metric, values), provenance=provenance, version=version), name=name)


def differences(base, new):
    with pytest.raises(NotComparableError) as caught:
        compare(base, new)
    assert str(caught.value).endswith("accept the differences with `allow_different`.")
    allowed = compare(base, new, allow_different=True)
    assert allowed.differences == caught.value.differences
    return [str(found) for found in allowed.differences]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (PLAIN, MetricProvenance(("minilm@2,f32",)), "embedder of sgi: minilm@1,f32 → minilm@2,f32"),
        (
            MetricProvenance(("tokens:m@1",)),
            MetricProvenance(("tokens:m@2",)),
            "model of sgi: tokens:m@1 → tokens:m@2",
        ),
        (
            JUDGED,
            replace(JUDGED, judge="openai:m,temperature=1.0"),
            "judge of sgi: openai:m,temperature=0.0 → openai:m,temperature=1.0",
        ),
        (JUDGED, replace(JUDGED, prompts="9c1b"), "prompts of sgi: 3f2a → 9c1b"),
        (JUDGED, replace(JUDGED, budget=8000), "judge's budget of tokens of sgi: 16000 → 8000"),
    ],
)
def test_what_computed_a_metric_must_be_the_same(before, after, expected):
    assert differences(made("monday", before), made("friday", after)) == [expected]


def test_every_difference_is_told_at_once_and_equal_ones_together():
    def several(name, provenance, version):
        columns = [replace(column(m, VALUES), provenance=provenance, version=version) for m in ("a", "b")]
        return run(*columns, column("rouge_l" if version == 1 else "rouge_l(beta=1.2)", VALUES), name=name)

    assert differences(several("monday", PLAIN, 1), several("friday", MetricProvenance(("other@1",)), 2)) == [
        "parameters of rouge_l, rouge_l(beta=1.2): rouge_l → rouge_l(beta=1.2)",
        "version of a, b: 1 → 2",
        "embedder of a, b: minilm@1,f32 → other@1",
    ]


def test_only_the_metrics_that_are_compared_have_to_be_alike():
    def two(name, model):
        return run(
            replace(column("sgi", VALUES), provenance=MetricProvenance((model,)), version=1),
            replace(column("rouge_l", VALUES), provenance=MetricProvenance(), version=1),
            name=name,
        )

    base, new = two("monday", "one@1"), two("friday", "two@1")
    assert [found.metric for found in compare(base, new, metrics=["rouge_l"]).metrics] == ["rouge_l"]
    with pytest.raises(NotComparableError, match="embedder of sgi"):
        compare(base, new, metrics=["sgi"])


def test_models_that_are_not_recorded_are_noted_for_metrics_that_use_some():
    lexical = compare(made("monday", None, metric="rouge_l"), made("friday", PLAIN, metric="rouge_l"))
    assert lexical.notes == ()
    note, *_ = compare(made("monday", None), made("friday", PLAIN)).notes
    assert note.startswith("The models of sgi are not recorded in both runs")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (0, 3, "rows without a value of sgi: 0 of 100 (0.0%) → 3 of 100 (3.0%)"),
        (5, 0, "rows without a value of sgi: 5 of 100 (5.0%) → 0 of 100 (0.0%)"),
        (0, 2, None),
        (4, 4, None),
    ],
)
def test_a_share_of_values_that_are_missing_must_be_the_same(before, after, expected):
    def holed(rows):
        return np.where(np.arange(100) < rows, np.nan, VALUES)

    runs = made("monday", values=holed(before)), made("friday", values=holed(after))
    if expected is None:
        assert compare(*runs).differences == ()
    else:
        assert differences(*runs) == [expected]


def test_in_large_runs_mcnemar_finds_smaller_differences():
    values = np.resize(VALUES, 2000)
    holed = np.where(np.arange(2000) < 10, np.nan, values)
    assert differences(made("monday", values=values), made("friday", values=holed)) == [
        "rows without a value of sgi: 0 of 2,000 (0.0%) → 10 of 2,000 (0.5%)"
    ]


def of_texts(name, samples):
    base = made(name, values=VALUES[: len(samples)])
    ids = tuple(sample.id for sample in samples)
    return replace(base, ids=ids, read_samples=lambda rows: (samples[row] for row in rows))


def asked(first, last, *, reference="Paris", response="x"):
    return [
        Sample(id=f"q{k}", question=f"Question {k}?", reference=reference, response=f"{response} {k}")
        for k in range(first, last)
    ]


def test_responses_and_contexts_may_differ_and_references_may_not():
    base = of_texts("monday", asked(0, 40))
    assert compare(base, of_texts("friday", asked(0, 40, response="other"))).differences == ()
    changed = [*asked(0, 38), *asked(38, 40, reference="Lyon")]
    assert differences(base, of_texts("friday", changed)) == [
        "reference of 2 of 40 pairs, such as q38: 'Paris' → 'Lyon'"
    ]


def test_runs_that_overlap_in_part_are_different_data_and_a_larger_run_is_not():
    base = of_texts("monday", asked(0, 40))
    assert compare(base, of_texts("friday", asked(0, 60))).only_new == 20
    assert compare(base, of_texts("friday", asked(2, 42))).only_base == 2
    assert differences(base, of_texts("friday", asked(3, 43))) == [
        "rows without a partner: 3 of 40 → 3 of 40"
    ]


def test_runs_are_clustered_alike():
    other = replace(made("friday"), clustering=Clustering("doc"))
    assert differences(made("monday"), other) == ["clustering: question → doc"]
