from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sgi.analysis.compare import compare
from sgi.kernel.clusters import Clustering
from sgi.kernel.errors import NotComparableError
from sgi.kernel.metric_column import MetricProvenance
from sgi.kernel.sample import Sample
from support.scored_runs import column, run

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
