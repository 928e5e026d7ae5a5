import numpy as np
import pytest

from sgi.stats.means import mean_interval
from sgi.stats.prediction_powered import prediction_powered_mean
from support.slow import slow

NONE = float("nan")
SHARES = (0.0, 1.0)


def judged(generator, rows, labelled, *, share, missed, wrong):
    """Labels of the first rows, a judge's verdicts of all; clear of one another but for the truth."""
    truth = (generator.random(rows) < share).astype(float)
    flips = np.where(truth == 1, missed, wrong)
    verdicts = np.where(generator.random(rows) < flips, 1 - truth, truth)
    return np.where(np.arange(rows) < labelled, truth, NONE), verdicts


def test_the_estimate_by_hand():
    labels = [1, 0, 1, 1, NONE, NONE, NONE, NONE]
    scores = np.array([1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0])
    power = np.mean((np.array([1, 0, 1, 1]) - 0.75) * (scores[:4] - 0.75)) / (2 * scores.var(ddof=1))
    assert power < 0  # a score that foretells the opposite is not leant on
    found = prediction_powered_mean(labels, scores)
    assert (found.value, found.power) == (0.75, 0.0)
    labels[1], labels[3] = 1, 0
    found = prediction_powered_mean(labels, scores)
    power = 0.1875 / (2 * scores.var(ddof=1))
    assert found.power == pytest.approx(power)
    assert found.value == pytest.approx(power * 0.75 + 0.75 - power * 0.75)
    assert (found.labelled, found.unlabelled) == (4, 4)


@pytest.mark.parametrize(
    ("labelled", "share", "missed", "wrong"),
    [
        (100, 0.5, 0.2, 0.2),
        (20, 0.9, 0.1, 0.3),
        (20, 0.7, 0.1, 0.3),
        *slow((100, 0.7, 0.1, 0.3), (100, 0.9, 0.05, 0.5), (100, 0.7, 0.02, 0.02)),
        *slow((50, 0.95, 0.1, 0.3), (100, 0.98, 0.1, 0.3), (50, 0.7, 0.1, 0.3)),
    ],
)
def test_the_interval_covers_the_truth(labelled, share, missed, wrong):
    """If nearly all labels are alike, θ ± t·SE covers in 84 to 92 %: its low end is above the truth."""
    generator = np.random.default_rng(0)
    found = []
    for _ in range(1000):
        labels, scores = judged(generator, 1000, labelled, share=share, missed=missed, wrong=wrong)
        found.append(prediction_powered_mean(labels, scores, bounds=SHARES).interval)
    assert np.mean([one.low <= share <= one.high for one in found]) >= 0.93
    assert np.mean([one.low > share for one in found]) <= 0.035


@pytest.mark.slow
def test_the_interval_covers_the_truth_where_questions_repeat():
    # 250 questions of 4 answers, which are right or wrong together in part; 25 questions are labelled.
    generator = np.random.default_rng(2)
    clusters, covered, ignorant = np.repeat(np.arange(250), 4), [], []
    for _ in range(800):
        hard = np.repeat(generator.normal(size=250), 4)
        truth = (np.sqrt(0.5) * (hard + generator.normal(size=1000)) < 0).astype(float)
        scores = np.where(generator.random(1000) < 0.2, 1 - truth, truth)
        labels = np.where(np.arange(1000) < 100, truth, NONE)
        for counts, found in (
            (covered, prediction_powered_mean(labels, scores, clusters, bounds=SHARES)),
            (ignorant, prediction_powered_mean(labels, scores, bounds=SHARES)),
        ):
            counts.append(found.interval.low <= 0.5 <= found.interval.high)
    assert 0.93 <= np.mean(covered) <= 0.98
    assert np.mean(ignorant) < 0.92


def test_a_biased_judge_is_corrected_and_the_labels_are_sharpened():
    generator = np.random.default_rng(3)
    naive, corrected, widths, alone = [], [], [], []
    for _ in range(400):
        labels, scores = judged(generator, 1000, 100, share=0.5, missed=0.02, wrong=0.3)
        found = prediction_powered_mean(labels, scores, bounds=SHARES)
        naive.append(scores.mean())
        corrected.append(found.value)
        widths.append(found.interval.high - found.interval.low)
        other = mean_interval(labels[:100])
        alone.append(other.high - other.low)
    assert np.mean(naive) - 0.5 == pytest.approx(0.14, abs=0.01)
    assert np.mean(corrected) == pytest.approx(0.5, abs=0.006)  # λ is tuned on the same labels
    assert np.mean(widths) < 0.85 * np.mean(alone)


def test_numbers_keep_their_scale():
    generator = np.random.default_rng(4)
    truth = generator.normal(3, 1, 1000)
    scores = 10 * (truth + generator.normal(0, 0.5, 1000))
    labels = np.where(np.arange(1000) < 100, truth, NONE)
    found = prediction_powered_mean(labels, scores)
    assert 0 < found.power < 0.2  # the score's unit is ten times as small
    assert found.interval.low < truth.mean() < found.interval.high
    whole = mean_interval(labels[:100])
    assert found.interval.high - found.interval.low < 0.75 * (whole.high - whole.low)


def test_a_judge_without_an_error_in_few_rows_is_no_proof_of_none():
    labels = np.array([1, 0] * 10 + [NONE] * 980)
    scores = np.array([1.0, 0.0] * 10 + [1.0, 0.0] * 490)
    found = prediction_powered_mean(labels, scores, bounds=SHARES)
    assert found.value == pytest.approx(0.5)
    assert found.interval.high - found.interval.low > 0.1
    in_questions = prediction_powered_mean(labels, scores, np.arange(1000) // 2, bounds=SHARES)
    assert in_questions.interval.low < found.interval.low


def test_where_nothing_shows_how_wrong_a_score_can_be_there_is_no_interval():
    found = prediction_powered_mean([0.25] * 20 + [NONE] * 20, [0.5] * 40)
    assert (found.value, found.power, found.interval) == (0.25, 0.0, None)


def test_value_and_interval_stay_within_the_bounds():
    labels = [1.0] * 19 + [0.0] + [NONE] * 980
    scores = [1.0] * 18 + [0.0] * 2 + [1.0] * 980
    found = prediction_powered_mean(labels, scores, bounds=SHARES)
    free = prediction_powered_mean(labels, scores)
    assert free.interval.high > 1 == found.interval.high
    assert found.value <= 1


def test_all_rows_labelled_is_the_mean_of_the_labels():
    generator = np.random.default_rng(5)
    labels, clusters = (generator.random(60) < 0.7).astype(float), np.arange(60) // 2
    found = prediction_powered_mean(labels, generator.random(60), clusters, bounds=SHARES)
    assert (found.value, found.power, found.unlabelled) == (labels.mean(), 0.0, 0)
    assert found.interval == mean_interval(labels, clusters, low=0, high=1)


def test_few_labels_have_no_interval_and_one_no_value():
    scores = np.arange(20.0)
    assert prediction_powered_mean([1] + [NONE] * 19, scores) is None
    assert prediction_powered_mean([1, 0, 1, 0] + [NONE] * 16, scores, bounds=SHARES).interval is None
    clusters = np.array([0, 0, 1, 1, 2, 3, *range(4, 18)])
    found = prediction_powered_mean([1, 0, 1, 0, 1, 1] + [NONE] * 14, scores, clusters, bounds=SHARES)
    assert found.interval is None


@pytest.mark.parametrize(
    ("labels", "scores", "bounds"),
    [
        ([1, 0], [1], None),
        ([1, 0], [1, NONE], None),
        ([1, np.inf], [1, 2], None),
        ([1, 2], [1, 2], SHARES),
        ([-1, NONE], [1, 2], SHARES),
    ],
)
def test_what_makes_no_sense_is_refused(labels, scores, bounds):
    with pytest.raises(ValueError, match=r"one shape|finite|outside"):
        prediction_powered_mean(labels, scores, bounds=bounds)


def test_known_probabilities_take_the_bias_out_of_labels_of_uncertain_rows():
    """With 1/probability the interval covers the share; as if they were a random sample it does not."""
    generator = np.random.default_rng(1)
    covered, blind = [], []
    for _ in range(400):
        scores = generator.beta(2, 1, 1000)
        truth = (generator.random(1000) < scores) * 1.0
        chances = np.where(np.abs(scores - 0.5) < 0.2, 0.3, 0.06)
        labels = np.where(generator.random(1000) < chances, truth, NONE)
        found = prediction_powered_mean(labels, 0.5 * scores, probabilities=chances, bounds=SHARES)
        covered.append(found.interval.low <= 2 / 3 <= found.interval.high)
        naive = prediction_powered_mean(labels, 0.5 * scores, bounds=SHARES)
        blind.append(naive.interval.low <= 2 / 3 <= naive.interval.high)
    assert 0.93 <= np.mean(covered) <= 0.98
    assert np.mean(blind) < 0.85


def test_equal_probabilities_give_nearly_the_estimate_of_a_random_sample():
    generator = np.random.default_rng(2)
    labels, scores = judged(generator, 1000, 100, share=0.7, missed=0.1, wrong=0.3)
    plain = prediction_powered_mean(labels, scores, bounds=SHARES)
    drawn = prediction_powered_mean(labels, scores, probabilities=np.full(1000, 0.1), bounds=SHARES)
    assert drawn.value == pytest.approx(plain.value, abs=0.005)
    assert drawn.interval.low == pytest.approx(plain.interval.low, abs=0.01)
    assert drawn.interval.high == pytest.approx(plain.interval.high, abs=0.01)


def test_a_few_labels_with_nearly_all_the_weight_have_no_interval():
    chances = np.where(np.arange(50) < 2, 0.001, 1.0)
    labels = np.where(np.arange(50) < 20, np.arange(50) % 2, NONE)
    found = prediction_powered_mean(labels, np.linspace(0, 1, 50), probabilities=chances, bounds=SHARES)
    assert found.interval is None
