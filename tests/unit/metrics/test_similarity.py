import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from sgi.kernel.metric import Scores
from sgi.kernel.registry import metric
from sgi.kernel.sample import Batch, Sample
from sgi.kernel.vectors import Features, VectorTable
from sgi.metrics.similarity import SemanticSimilarity, cosine_similarity

NOTHING: Mapping[str, str] = {}
TURNS = {"east": 0.0, "near": 20.0, "half": 60.0, "north": 90.0, "west": 180.0}
"""Texts by the direction of their vectors, in degrees."""


def table(
    model: str = "m", *, stretch: float = 1.0, truncated: tuple[str, ...] = (), unread: tuple[str, ...] = ()
) -> VectorTable:
    turns = np.radians(np.array(list(TURNS.values())) * stretch)
    rows = np.stack([np.cos(turns), np.sin(turns)], axis=1).astype(np.float32)
    return VectorTable.of(model, list(TURNS), rows, truncated=truncated, unread=unread)


def score(
    similarity: SemanticSimilarity, rows: Batch, *tables: VectorTable, failures: Mapping[str, str] = NOTHING
) -> Scores:
    features = replace(Features.of(*tables), failures=failures)
    return similarity.score(similarity.prepare(rows), features)


def batch(*rows: tuple[str, str | list[str]]) -> Batch:
    return Batch.of([Sample(id=str(i), response=r, reference=g) for i, (r, g) in enumerate(rows)])


def value(parameters: str, response: str, reference: str | list[str], *tables: VectorTable) -> float:
    similarity = metric(f"semantic_similarity({parameters})")
    return float(score(similarity, batch((response, reference)), *(tables or [table()])).values[0])


@pytest.mark.parametrize(
    ("reference", "cosine"),
    [("east", 1.0), ("near", math.cos(math.radians(20))), ("half", 0.5), ("north", 0.0), ("west", 0.0)],
)
def test_a_cosine_is_never_below_zero(reference: str, cosine: float) -> None:
    scores = score(SemanticSimilarity(), batch(("east", reference)), table())
    assert scores.values[0] == pytest.approx(cosine, abs=1e-7)
    assert scores.details[0]["models"] == {"m": scores.values[0]}


@pytest.mark.parametrize(
    ("cosine", "band"),
    [(0.95, "nearly identical"), (0.75, "same core"), (0.55, "partial"), (0.45, "different")],
)
def test_bands_for_reading(cosine: float, band: str) -> None:
    rows = np.array([[1, 0], [cosine, math.sqrt(1 - cosine**2)]], dtype=np.float32)
    scores = score(SemanticSimilarity(), batch(("a", "b")), VectorTable.of("m", ["a", "b"], rows))
    assert scores.details[0]["band"] == band


@pytest.mark.parametrize(
    ("scale", "values"),
    [
        ("cosine", {"east": 1.0, "half": 0.5, "north": 0.0, "west": 0.0}),
        ("angular", {"east": 1.0, "half": 2 / 3, "north": 0.5, "west": 0.0}),
        ("euclidean", {"east": 1.0, "half": 0.5, "north": 1 - math.sqrt(2) / 2, "west": 0.0}),
        ("manhattan", {"east": 1.0, "north": 1 - 1 / math.sqrt(2), "west": 1 - 1 / math.sqrt(2)}),
    ],
)
def test_scales_fall_from_one(scale: str, values: dict[str, float]) -> None:
    for reference, expected in values.items():
        assert value(f'scale="{scale}"', "east", reference) == pytest.approx(expected, abs=1e-6)


def test_the_manhattan_scale_reaches_zero_where_vectors_can_be_no_further_apart() -> None:
    rows = np.array([[1, 1], [-1, -1]], dtype=np.float32)
    vectors = VectorTable.of("m", ["a", "b"], rows)
    assert value('scale="manhattan"', "a", "b", vectors) == pytest.approx(0.0, abs=1e-6)


def test_two_texts_that_the_model_cut_are_marked_and_not_called_identical() -> None:
    cut = table(truncated=("east", "near"))
    scores = score(SemanticSimilarity(), batch(("east", "near"), ("half", "near"), ("east", "half")), cut)
    both, reference, response = scores.details
    assert scores.values[0] > 0.9
    assert (both["band"], both["truncated"]) == ("both truncated", ["response", "reference"])
    assert "only their beginnings are compared" in both["warning"]
    assert (reference["band"], reference["truncated"]) == ("same core", ["reference"])
    assert (response["band"], response["truncated"]) == ("partial", ["response"])
    angular = score(metric('semantic_similarity(scale="angular")'), batch(("east", "near")), cut)
    assert "warning" in angular.details[0]
    assert "band" not in angular.details[0]


def test_other_scales_have_no_band() -> None:
    scores = score(metric('semantic_similarity(scale="angular")'), batch(("east", "near")), table())
    assert "band" not in scores.details[0]


def test_the_best_of_several_references_counts() -> None:
    assert value("", "east", ["north", "near", "half"]) == value("", "east", "near")
    assert value("", "east", ["north", " ", "near"]) == value("", "east", "near")


def test_equal_texts_score_exactly_one() -> None:
    chance = np.random.default_rng(3)
    texts = [str(i) for i in range(50)]
    vectors = VectorTable.of("m", texts, chance.normal(size=(50, 384)).astype(np.float32))
    for scale in ("cosine", "angular", "euclidean", "manhattan"):
        scores = score(SemanticSimilarity(scale=scale), batch(*zip(texts, texts, strict=True)), vectors)
        assert scores.values.tolist() == [1.0] * 50


def test_blank_texts_score_zero_with_a_warning_and_are_not_embedded() -> None:
    rows = batch(("", "east"), ("east", " "), ("\n", ["", " "]), ("near", ["", "east"]))
    similarity = SemanticSimilarity()
    assert set(similarity.texts(similarity.prepare(rows))) == {"near", "east"}
    scores = score(similarity, rows, table())
    assert scores.values[:3].tolist() == [0.0, 0.0, 0.0]
    assert [detail["warning"] for detail in scores.details[:3]] == [
        "the response is blank",
        "the reference is blank",
        "the response is blank and the reference is blank",
    ]
    assert scores.values[3] > 0.9
    assert "warning" not in scores.details[3]


def test_a_batch_of_blanks_needs_no_vectors() -> None:
    rows = batch(("", "east"), (" ", "near"))
    for similarity in (SemanticSimilarity(), SemanticSimilarity(models=("absent",))):
        assert list(similarity.texts(similarity.prepare(rows))) == []
        assert score(similarity, rows).values.tolist() == [0.0, 0.0]


def test_an_empty_batch_gives_no_scores() -> None:
    assert len(score(SemanticSimilarity(), batch())) == 0


def test_the_models_are_those_named_or_all_configured() -> None:
    assert SemanticSimilarity().embedder_names(("a", "b")) == ("a", "b")
    assert SemanticSimilarity(models=("c",)).embedder_names(("a", "b")) == ("c",)


def test_several_models_become_one_value() -> None:
    tables = table(), table("wide", stretch=2), table("still", stretch=0)
    single, wide = math.cos(math.radians(20)), math.cos(math.radians(40))
    expected = {"mean": (single + wide + 1) / 3, "median": single, "min": wide, "max": 1.0}
    for aggregate, number in expected.items():
        assert value(f'aggregate="{aggregate}"', "east", "near", *tables) == pytest.approx(number, abs=1e-6)
    scores = score(SemanticSimilarity(models=("still", "wide")), batch(("east", "near")), *tables)
    assert list(scores.details[0]["models"]) == ["still", "wide"]
    assert scores.values[0] == pytest.approx((1 + wide) / 2, abs=1e-6)


def test_a_threshold_holds_for_each_model_before_they_are_aggregated() -> None:
    tables = table(), table("wide", stretch=2), table("still", stretch=0)
    assert value("threshold=0.9", "east", "near", *tables) == pytest.approx(2 / 3)
    assert value('threshold=0.9, aggregate="min"', "east", "near", *tables) == 0.0
    assert value('threshold=0.9, aggregate="max"', "east", "near", *tables) == 1.0
    assert value('threshold=0.9, aggregate="majority"', "east", "near", *tables) == 1.0
    assert value('threshold=0.99, aggregate="majority"', "east", "near", *tables) == 0.0


def test_a_value_at_the_threshold_reaches_it() -> None:
    assert value("threshold=1", "east", "east") == 1.0
    assert value("threshold=0", "east", "west") == 1.0


def test_half_of_the_models_is_no_majority() -> None:
    tables = table(), table("still", stretch=0)
    assert value('threshold=0.99, aggregate="majority"', "east", "near", *tables) == 0.0


def test_a_thresholded_value_has_no_band_but_keeps_the_models_values() -> None:
    assert "reached" not in score(SemanticSimilarity(), batch(("east", "near")), table()).details[0]
    strict = score(SemanticSimilarity(threshold=0.99), batch(("east", "near")), table())
    assert strict.details[0]["reached"] == []
    scores = score(SemanticSimilarity(threshold=0.5), batch(("east", "near")), table())
    assert "band" not in scores.details[0]
    assert scores.details[0]["reached"] == ["m"]
    assert scores.details[0]["models"]["m"] == pytest.approx(math.cos(math.radians(20)), abs=1e-6)


def test_a_failed_model_is_left_out_and_named() -> None:
    failures = {"broken": "no answer within 30 s"}
    for similarity in (SemanticSimilarity(), SemanticSimilarity(models=("broken", "m"))):
        scores = score(similarity, batch(("east", "near"), ("", "near")), table(), failures=failures)
        assert scores.status.tolist() == ["ok", "ok"]
        assert list(scores.details[0]["models"]) == ["m"]
        assert scores.details[0]["left_out"] == {"broken": "no answer within 30 s"}


@pytest.mark.parametrize("named", [(), ("a", "b")])
def test_where_all_models_failed_the_row_failed(named: tuple[str, ...]) -> None:
    failures = {"a": "refused", "b": "timed out"}
    scores = score(SemanticSimilarity(models=named), batch(("east", "near"), ("", "near")), failures=failures)
    assert scores.status.tolist() == ["failed", "ok"]
    assert scores.reasons[0] == "no model gave vectors: a: refused; b: timed out"


def test_without_any_model_the_row_failed() -> None:
    scores = score(SemanticSimilarity(), batch(("east", "near")))
    assert scores.reasons == ("no embedding model is configured",)


def test_the_name_reads_back() -> None:
    text = 'semantic_similarity(models=["a", "b"], threshold=0.8, aggregate="majority", scale="angular")'
    assert metric(text).canonical == text
    assert SemanticSimilarity(models=["a"], threshold=1).canonical == (
        'semantic_similarity(models=["a"], threshold=1.0)'
    )


def test_two_vectors_as_lists_or_arrays() -> None:
    assert cosine_similarity([1, 2, 3], [2, 4, 6]) == 1.0
    assert cosine_similarity([1.0, 0.0], np.array([0.0, 1.0])) == 0.0
    assert cosine_similarity([1.0, 0.0], [-1.0, 0.0]) == 0.0
    assert cosine_similarity([3, 4], [4, 3]) == pytest.approx(0.96, abs=1e-15)
    assert cosine_similarity([1e200, 1e200], [1e-200, 0.0]) == pytest.approx(math.sqrt(0.5), abs=1e-15)


@pytest.mark.parametrize(
    ("u", "v", "message"),
    [
        ([0.0, 0.0], [1.0, 0.0], "zero or not finite"),
        ([1.0, float("nan")], [1.0, 0.0], "zero or not finite"),
        ([], [], "zero or not finite"),
        ([1.0, 0.0], [1.0, 0.0, 0.0], r"not shapes \(2,\) and \(3,\)"),
        (["a"], ["b"], "real numbers"),
    ],
)
def test_what_is_no_pair_of_vectors_is_an_error(u: list[object], v: list[object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cosine_similarity(u, v)


def test_a_threshold_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="threshold"):
        SemanticSimilarity(threshold=math.nan)


def test_a_model_without_the_letters_of_a_text_is_left_out() -> None:
    rows = batch(
        ("near", "east"), ("half", "east"), ("near", ["half", "east"]), ("half", "half"), ("", "half")
    )
    whole, part = table("whole"), table("part", stretch=0.5, unread=("half",))
    alone = score(SemanticSimilarity(), rows, part)
    assert alone.status.tolist() == ["ok", "undefined", "ok", "undefined", "ok"]
    assert [" of the response;" in reason for reason in alone.reasons] == [False, True, False, True, False]
    both = score(SemanticSimilarity(), rows, part, whole)
    only = score(SemanticSimilarity(), rows, whole)
    assert both.ok.all()
    assert both.values[[1, 3]].tolist() == only.values[[1, 3]].tolist()
    assert "part covers less" in both.details[1]["left_out"]["part"]
    assert "left_out" not in both.details[0]
    # Of the third row the first model compares only the reference that it reads.
    assert both.details[2]["models"]["part"] == alone.values[0]
    reference = score(SemanticSimilarity(), batch(("near", "half")), part)
    assert " of the reference;" in reference.reasons[0]
