"""What the experiments compute, on answers few enough to check by hand, embedded where we put them."""

from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
import pytest

from sgi.kernel.errors import DataError, SgiError
from sgi.kernel.protocols import Embeddings
from sgi.kernel.sample import Sample
from sgi.stats.calibration import expected_calibration_error
from sgi_lab.paper import NAMES
from sgi_lab.paper.displacement_scores import ReferenceScores
from sgi_lab.paper.published import TABLE_1, TABLE_2
from sgi_lab.paper.reproduce import EXPERIMENTS
from sgi_lab.paper.separation import separation
from sgi_lab.paper.terciles import tercile_of
from sgi_lab.paper.workbench import DRAWS, Workbench

PER_CLASS = 12


@dataclass
class Placed:
    """An embedder that puts each text on a circle, at the angle that is written behind its last space."""

    name: str = "placed"
    fingerprint: str = "placed@1"
    asked: list[str] = field(default_factory=list)

    def embed(self, texts, /):
        self.asked += texts
        angles = np.array([float(text.rpartition(" ")[2].rstrip(".")) for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def item(n, *, right, wrong, question=0.0, context=1.0, right_length=30, wrong_length=60):
    """An item of two answers at these angles, padded to these lengths."""
    return [
        Sample(
            id=f"{n}-{label}",
            question=f"question {n} {question}",
            contexts=(f"context {n} {context}",),
            response=_padded(angle, length),
            reference=_padded(right, right_length),
            label=label,
        )
        for label, angle, length in ((True, right, right_length), (False, wrong, wrong_length))
    ]


def _padded(angle, length):
    return f"{'y' * (length - len(str(angle)) - 1)} {angle}"


def bench(samples, *, sample="full", truthful=(), **embedders):
    given = {"halueval_qa": samples, "truthfulqa": truthful}
    return Workbench(lambda name: (name, given[name]), embedders or {"placed": Placed()}, sample)


def spread(items=PER_CLASS, **changes):
    """Right answers near the context, wrong ones near the question, each at an angle of its own."""
    return [
        sample
        for n in range(items)
        for sample in item(n, right=0.7 + 0.02 * n, wrong=0.1 + 0.03 * n, **changes)
    ]


def rows(finding, table=0):
    return finding.to_dict()["tables"][table]["rows"]


def test_table_1_has_the_means_the_effect_and_the_differences():
    right, wrong = [0.75, 0.5, 0.6, 0.65, 0.7, 0.55], [0.25, 0.2, 0.1, 0.3, 0.15, 0.35]
    samples = [s for n in range(6) for s in item(n, right=right[n], wrong=wrong[n])]
    result = EXPERIMENTS["table1"](bench(samples, sample="paper", minilm=Placed(), placed=Placed()))
    study = bench(samples, sample="paper").halueval
    chosen = [study.answers.samples[n] for n in study.rows("paper").rows]
    for row in rows(result):
        for label, key in ((True, "grounded"), (False, "hallucinated")):
            angles = [float(s.response.split()[-1]) for s in chosen if s.label == label]
            assert row[key] == pytest.approx(np.mean([a / (1 - a) for a in angles]), rel=1e-5)
    named, other = rows(result)
    assert named["paper_auroc"] == TABLE_1["minilm"].auroc
    assert named["auroc_difference"] == pytest.approx(named["auroc"] - TABLE_1["minilm"].auroc)
    assert named["effect_difference"] == pytest.approx(named["effect"] - TABLE_1["minilm"].effect)
    assert "paper_auroc" not in other
    full = next(row for row in rows(result, 1) if row["sample"] == "full")
    sgi = {label: [a / (1 - a) for a in angles] for label, angles in ((True, right), (False, wrong))}
    pooled = np.sqrt((np.var(sgi[True], ddof=1) + np.var(sgi[False], ddof=1)) / 2)
    assert full["effect"] == pytest.approx((np.mean(sgi[True]) - np.mean(sgi[False])) / pooled, rel=1e-4)
    assert full["auroc"] == 1.0
    assert full["length_auroc"] == 1.0
    assert "paper_auroc" not in full


def test_a_tercile_holds_its_own_third_and_a_value_on_an_edge_goes_to_the_lower():
    assert tercile_of(np.array([6.0, 1.0, 2.0, 3.0, 4.0, 5.0])).tolist() == [2, 0, 0, 1, 1, 2]
    assert tercile_of(np.array([1.0, 1.0, 1.0, 2.0])).tolist() == [0, 0, 0, 2]


def placed_by_context(effects):
    """Three groups of items by θ(q,c); in each, answers of the classes as far apart as is said."""
    samples = []
    for group, (context, effect) in enumerate(zip((0.6, 0.9, 1.2), effects, strict=True)):
        for n in range(6):
            middle = context / 2 + 0.01 * (n - 2.5)
            ends = {"right": middle + effect, "wrong": middle - effect}
            samples += item(10 * group + n, question=0.0, context=context + 0.001 * n, **ends)
    return samples


@pytest.mark.parametrize(
    ("effects", "effect"),
    [
        ((0.01, 0.02, 0.06), "rises"),
        ((0.06, 0.005, 0.05), "does not rise"),
        ((0.01, 0.06, 0.02), "does not rise"),
        ((0.02, 0.01, 0.06), "does not rise"),
    ],
)
def test_table_2_says_rises_only_if_every_tercile_is_above_the_one_before(effects, effect):
    result = EXPERIMENTS["table2"](bench(placed_by_context(effects), mpnet=Placed()))
    assert [row["n"] for row in rows(result)] == [12, 12, 12]
    assert f"from tercile to tercile of θ(q,c) d {effect} and AUROC" in result.remarks[0]
    assert [row["paper_auroc"] for row in rows(result)] == [result.auroc for result in TABLE_2.values()]


def test_table_2_says_in_how_many_draws_of_the_sample_it_rises():
    level = [
        s for n in range(60) for s in item(n, right=0.6 + 0.001 * (n % 7), wrong=0.4, context=1 + n / 60)
    ]
    given = bench(level, sample="paper", mpnet=Placed())
    study = given.halueval
    assert len(study.draws("paper")) == DRAWS
    both = []
    for drawn in study.draws("paper"):
        thirds = tercile_of(study.of("mpnet").theta_qc[drawn])
        parts = [separation(study.of("mpnet").sgi, study.answers, drawn[thirds == k]) for k in range(3)]
        rises = [[one[key] for one in parts] for key in ("effect", "auroc")]
        both.append(all(values[0] < values[1] < values[2] for values in rises))
    remark = EXPERIMENTS["table2"](given).remarks[0]
    assert f"% of {DRAWS} draws of the sample" in remark
    assert f"both in {100 * np.mean(both):.0f} %" in remark
    assert "draws" not in EXPERIMENTS["table2"](bench(level, mpnet=Placed())).remarks[0]


def test_the_difference_from_the_paper_stands_only_beside_its_own_model_and_sample():
    samples = spread(40, right_length=30, wrong_length=30)
    for name, model, known in (
        ("paper", "mpnet", True),
        ("paper", "minilm", False),
        ("full", "mpnet", False),
        ("matched", "mpnet", False),
    ):
        result = EXPERIMENTS["table2"](bench(samples, sample=name, **{model: Placed()}))
        found = [row["auroc_difference"] for row in rows(result) if row["auroc"] is not None]
        assert found
        assert all((value is not None) == known for value in found)


def test_table_4_takes_the_best_and_two_false_answers_and_scores_both_ways():
    truthful = [
        Sample(
            id=f"{n}-{k}",
            question=f"q {n} 0.0",
            response=_padded(angle, 30),
            reference=_padded(0.5, 30),
            label=k < 2,
        )
        for n in range(5)
        for k, angle in enumerate((0.5, 0.9, 0.1, 0.2, 0.3, 0.4))
    ]
    result = EXPERIMENTS["table4"](bench(spread(), truthful=truthful))
    loaded, everything = rows(result)
    assert (loaded["n"], everything["n"]) == (15, 30)
    assert loaded["true"] == pytest.approx(0.5, abs=1e-5)
    assert loaded["false"] == pytest.approx(0.15, abs=1e-5)
    assert everything["true"] == pytest.approx(0.7, abs=1e-5)
    assert (loaded["auroc"], loaded["far_is_false"]) == (1.0, 0.0)
    (paper,) = rows(result, 1)
    assert paper["difference"] > 0 < paper["effect"]


def test_table_5_gives_each_angle_its_own_sign():
    result = EXPERIMENTS["table5"](bench(spread(), sample="full"))
    found = rows(result)[0]
    assert found["effect_rq"] > 0
    assert found["effect_rc"] < 0
    assert found["auroc_rq"] > 0.9
    assert found["auroc_rc"] > 0.9
    assert "(positive: grounded answers are farther from the context" in result.remarks[0]


def test_figure_2_correlates_answer_by_answer_and_class_by_class():
    @dataclass
    class Turned(Placed):
        """Sees right answers as `Placed` does, and turns the order of the wrong ones."""

        def embed(self, texts, /):
            def angle(text):
                given = float(text.rpartition(" ")[2])
                return 0.55 - given if text.startswith("y") and given < 0.5 else given

            angles = np.array([angle(text) for text in texts])
            return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)

    result = EXPERIMENTS["figure2"](bench(spread(), one=Placed(), two=Turned(name="turned")))
    (pair,) = rows(result)
    assert pair["pearson_grounded"] == pytest.approx(1.0, abs=1e-6)
    assert pair["pearson_hallucinated"] < -0.9
    assert 0.5 < pair["pearson"] < 1.0


def test_figure_5_counts_hallucinations_from_the_lowest_sgi_on():
    shares = [row["share"] for row in rows(EXPERIMENTS["figure5"](bench(spread(20))))]
    assert shares[0] == shares[1] == 1.0
    assert shares[-1] == shares[-2] == 0.0


def test_calibration_keeps_a_question_in_one_fold_and_beats_or_not_the_base_rate():
    result = EXPERIMENTS["calibration"](bench(spread(30)))
    found = {row["key"]: row for row in rows(result) if row["sample"] == "full"}
    assert found["minmax"]["brier"] < found["minmax_as_coded"]["brier"]
    assert found["isotonic"]["brier"] < found["base rate"]["brier"]
    assert found["base rate"]["brier"] == pytest.approx(0.25)


def test_the_error_of_min_max_has_its_mean_and_range_over_draws():
    given = bench(spread(30, right_length=30, wrong_length=30), sample="paper")
    result = EXPERIMENTS["calibration"](given)
    study, errors = given.halueval, []
    for drawn in study.draws("paper"):
        sgi = study.of("placed").sgi[drawn]
        forecast = 1 - (sgi - sgi.min()) / (sgi.max() - sgi.min())
        errors.append(expected_calibration_error(forecast, ~study.answers.labels[drawn]))
    found = {row["key"]: row for row in rows(result) if row["sample"] == "paper"}
    assert found["minmax"]["drawn_mean"] == pytest.approx(np.mean(errors))
    assert found["minmax"]["drawn_range"] == pytest.approx((min(errors), max(errors)))
    assert found["platt"]["drawn_mean"] is None
    expected = f"over {DRAWS} draws: mean {np.mean(errors):.3f}, range {min(errors):.3f} to {max(errors):.3f}"
    assert expected in result.remarks[0]
    assert expected in EXPERIMENTS["figure5"](given).remarks[0]


def test_out_of_fold_forecasts_of_a_question_never_saw_its_other_answers(monkeypatch):
    from sgi_lab.paper import paper_calibration

    seen = []
    real = paper_calibration.out_of_fold_probabilities

    def watched(scores, labels, clusters=None, **options):
        seen.append(clusters)
        return real(scores, labels, clusters, **options)

    monkeypatch.setattr(paper_calibration, "out_of_fold_probabilities", watched)
    given = bench(spread(20))
    EXPERIMENTS["calibration"](given)
    assert seen
    assert all(clusters is not None and len(set(clusters)) <= len(clusters) for clusters in seen)
    assert any(len(set(clusters)) == len(clusters) // 2 for clusters in seen)


def test_a_reference_dealt_out_anew_is_no_longer_the_answer_to_its_question():
    samples = [
        sample
        for n in range(20)
        for sample in item(
            n, question=0.05 * n, context=0.05 * n + 1.0, right=0.05 * n + 0.5, wrong=0.05 * n + 0.1
        )
    ]
    scores = ReferenceScores(bench(samples).halueval, "placed")
    name = "expected_response_deviation"
    own, dealt = (
        scores.of(protocol, [name])[name] for protocol in ("leave question out", "shuffled reference")
    )
    assert not np.allclose(own, dealt)
    labels = scores.study.answers.labels
    assert own[labels].mean() > dealt[labels].mean()


@pytest.mark.parametrize("name", NAMES)
def test_too_little_data_is_told_or_shown_with_gaps_and_never_a_crash(name):
    samples = item(0, right=0.7, wrong=0.2) + item(1, right=0.8, wrong=0.1)
    for sample in ("paper", "full", "matched"):
        with suppress(SgiError):  # with its words; anything else is a bug of ours
            result = EXPERIMENTS[name](bench(samples, sample=sample, truthful=samples))
            assert "nan" not in result.markdown().lower()


def test_every_text_is_embedded_once():
    embedder = Placed()
    given = bench(spread(), placed=embedder)
    for name in ("table1", "table2", "table3", "table5", "figure2"):
        EXPERIMENTS[name](given)
    assert len(embedder.asked) == len(set(embedder.asked))


@pytest.mark.parametrize(
    ("name", "message"),
    [("table1", "not both classes in the sample 'matched'"), ("calibration", "'matched'")],
)
def test_a_sample_without_both_classes_is_refused_by_its_name(name, message):
    samples = item(0, right=0.7, wrong=0.2) + item(1, right=0.8, wrong=0.1)
    with pytest.raises(DataError, match=message):
        EXPERIMENTS[name](bench(samples, sample="matched"))


def test_an_answer_that_is_its_context_breaks_no_table():
    samples = spread() + item(99, right=1.0, wrong=0.0)
    result = EXPERIMENTS["table2"](bench(samples))
    assert any(": 0 of" in remark for remark in result.remarks)


def test_what_speaks_against_a_number_is_told_beside_it():
    samples = spread() + item(99, right=1.0, wrong=0.0) + item(98, right=0.5, wrong=0.3, context=0.0)
    remarks = EXPERIMENTS["table1"](bench(samples)).remarks
    assert "placed: 1 answers equal their context" in " ".join(remarks)
    assert "placed: 2 answers have their question as context" in " ".join(remarks)


def test_answers_without_a_context_are_refused():
    samples = [*spread(), Sample(id="bare", question="q 0.0", response="y 0.3", label=True)]
    with pytest.raises(DataError, match="1 of 25 answers without a context"):
        EXPERIMENTS["table1"](bench(samples))


def test_contexts_that_are_cut_are_counted():
    class Short(Placed):
        def encode(self, texts, /):
            return Embeddings(self.embed(texts), np.array([text.startswith("context") for text in texts]))

    remarks = EXPERIMENTS["table1"](bench(spread(3), short=Short())).remarks
    assert "short: 6 contexts exceed the model's limit" in " ".join(remarks)


def test_the_draw_in_the_table_is_one_of_many():
    (row,) = rows(EXPERIMENTS["table1"](bench(spread(40, wrong_length=30), sample="matched")))
    assert 0 <= row["draws_deviation"] < 0.2
    assert row["draws_mean"] == pytest.approx(row["auroc"], abs=0.2)
    (whole,) = rows(EXPERIMENTS["table1"](bench(spread(), sample="full")))
    assert "draws_mean" not in whole
