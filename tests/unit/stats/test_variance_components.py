from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.stats.means import mean_interval
from sgi.stats.pass_rates import pass_at_k, pass_hat_k
from sgi.stats.variance_components import variance_components

# Lengths of the wings of mosquitoes in micrometres: 3 cages, 4 mosquitoes in each, 2 measurements of each.
# Sokal and Rohlf (1981), Biometry, 2nd edition, box 10.1.
WINGS = (
    *(58.5, 59.5, 77.8, 80.9, 84.0, 83.6, 70.1, 68.3),
    *(69.8, 69.8, 56.0, 54.5, 50.7, 49.3, 63.8, 65.8),
    *(56.6, 57.5, 77.8, 79.2, 69.9, 69.2, 62.1, 64.5),
)


def drawn(seed, sizes, variances):
    """Values with these variances; ``sizes`` has the number of judgements of each answer, by question."""
    generator = np.random.default_rng(seed)
    questions = np.repeat(np.arange(len(sizes)), [sum(one) for one in sizes])
    answers = np.repeat(np.arange(sum(map(len, sizes))), [size for one in sizes for size in one])
    effects = [generator.normal(0, np.sqrt(variance), len(questions)) for variance in variances]
    return effects[0][questions] + effects[1][answers] + effects[2] + 5, questions, answers


def variances(result):
    return {one.sources: one.variance for one in result.components}


def test_a_published_example():
    result = variance_components(WINGS, np.repeat(range(3), 8), np.tile(np.repeat(range(4), 2), 3))
    estimates = variances(result)
    assert (result.questions, result.answers, result.judgements) == (3, 12, 24)
    assert estimates["question",] == pytest.approx(17.71, abs=0.005)
    assert estimates["answer",] == pytest.approx(94.94, abs=0.005)
    assert estimates["judge",] == pytest.approx(1.30, abs=0.005)


def test_unequal_groups_have_the_expected_mean_squares():
    sizes = [[1, 2], [3, 3, 1], [2, 2, 2, 2], [1], [4]] * 3
    values, questions, answers = drawn(1, sizes, (9, 1, 1))
    total = len(values)
    groups = [values[answers == answer] for answer in range(answers.max() + 1)]
    of_question = [values[questions == question] for question in range(len(sizes))]
    error = sum(((group - group.mean()) ** 2).sum() for group in groups)
    between = sum(len(one) * one.mean() ** 2 for one in of_question)
    among = sum(len(group) * group.mean() ** 2 for group in groups) - between
    squares = [sum(size**2 for size in one) for one in sizes]
    inner = sum(square / sum(one) for square, one in zip(squares, sizes, strict=True))
    few, many = len(sizes) - 1, len(groups) - len(sizes)
    judge = error / (total - len(groups))
    answer = (among / many - judge) / ((total - inner) / many)
    weight = (total - sum(sum(one) ** 2 for one in sizes) / total) / few
    mean_square = (between - total * values.mean() ** 2) / few
    question = (mean_square - judge - (inner - sum(squares) / total) / few * answer) / weight
    assert variances(variance_components(values, questions, answers)) == pytest.approx(
        {("question",): question, ("answer",): answer, ("judge",): judge}
    )


def test_sources_that_the_data_cannot_tell_apart_are_one_component():
    values, questions, answers = drawn(0, [[3]] * 20, (1, 1, 1))
    assert list(variances(variance_components(values, questions, answers))) == [
        ("question", "answer"),
        ("judge",),
    ]
    values, questions, answers = drawn(0, [[1, 1]] * 20, (1, 1, 1))
    for given_answers in (answers, None):
        result = variance_components(values, questions, given_answers, judged=True)
        assert list(variances(result)) == [("question",), ("answer", "judge")]
    assert list(variances(variance_components(values, questions))) == [("question",), ("answer",)]


def test_without_repeats_or_with_one_question_there_are_no_components():
    assert variance_components([1, 2, 3], [1, 2, 3]) is None
    assert variance_components([1, 2, 3], [1, 1, 1]) is None
    assert variance_components([], []) is None


@pytest.mark.parametrize(
    ("values", "expected", "shares", "reason"),
    [
        ([0.1] * 12, [0.0, 0.0], [None, None], "all values are equal"),
        ([0.1, 0.1, 0.7, 0.7] * 3, [0.108, 0.0], [1.0, 0.0], "the same without any one"),
        ([0, 1] * 6, [0.0, 0.5], [0.0, 1.0], "the same without any one"),
        ([0.5, 1, 0, 1], [0.0, 0.3125], [0.0, 1.0], "2 clusters are too few"),
    ],
)
def test_components_of_zero_have_a_reason_in_place_of_an_interval(values, expected, shares, reason):
    result = variance_components(values, np.repeat(range(len(values) // 2), 2)).components
    assert [one.variance for one in result] == pytest.approx(expected, abs=1e-12)
    assert [one.share for one in result] == shares
    assert [one.interval for one in result] == [None, None]
    assert all(reason in one.no_interval for one in result)


def test_the_standard_error_of_other_numbers():
    values, questions, answers = drawn(1, [[2, 2, 2]] * 3000, (1.0, 4.0, 2.0))
    result = variance_components(values, questions, answers)
    assert result.standard_error(200) == pytest.approx(np.sqrt(7 / 200), rel=0.1)
    assert result.standard_error(200, 2, 5) == pytest.approx(np.sqrt((1 + 4 / 2 + 2 / 10) / 200), rel=0.1)
    judged_once = variance_components(values[::2], questions[::2], judged=True)
    assert judged_once.standard_error(200, 2) == pytest.approx(np.sqrt((1 + 6 / 2) / 200), rel=0.1)
    assert judged_once.standard_error(200, 2, 2) is None
    one_answer = variance_components(
        values[questions % 3 == answers % 3],
        questions[questions % 3 == answers % 3],
        answers[questions % 3 == answers % 3],
    )
    assert one_answer.standard_error(200, 1, 3) == pytest.approx(np.sqrt((5 + 2 / 3) / 200), rel=0.1)
    assert one_answer.standard_error(200, 2) is None


@pytest.mark.parametrize(("mean", "share", "questions"), [(0.9, 0.33, 20), (0.9, 0.1, 20), (0.9, 0.33, 100)])
def test_intervals_of_pass_and_fail_cover_the_true_share(mean, share, questions):
    """With a jackknife, the upper end is below the truth in 9 to 38 % of these data sets."""
    generator = np.random.default_rng(3)
    total = 1 / share - 1
    below = above = 0
    for _ in range(100):
        rates = generator.beta(mean * total, (1 - mean) * total, questions)
        values = generator.random((questions, 3)) < rates[:, None]
        result = variance_components(values.ravel().astype(float), np.repeat(np.arange(questions), 3))
        interval = result.components[0].interval
        if interval is not None:
            below += interval.high < share
            above += interval.low > share
    assert max(below, above) <= 6


def test_rare_fails_of_answers_and_judgements_have_no_interval():
    generator = np.random.default_rng(3)
    codes = np.arange(60 * 9)
    for passes, known in ((0.95, False), (0.6, True)):
        values = (generator.random(60 * 9) < passes).astype(float)
        result = variance_components(values, codes // 9, codes // 3, judged=True)
        assert ("each outcome" not in result.components[0].no_interval) == known


@given(st.floats(-1e6, 1e6), st.floats(0.01, 100))
def test_shares_do_not_depend_on_shift_and_scale(shift, scale):
    values, questions, answers = drawn(2, [[2, 1], [1, 3], [2, 2, 2]] * 5, (1.0, 1.0, 1.0))
    first = variance_components(values, questions, answers)
    second = variance_components(shift + scale * values, questions, answers)
    for one, other in zip(first.components, second.components, strict=True):
        assert other.share == pytest.approx(one.share, rel=1e-5)


UNEQUAL = [[1, 2], [3, 3, 1], [2, 2, 2, 2]] * 20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "truth"),
    [
        ([[3] * 3] * 60, (1.0, 0.5, 0.5)),
        (UNEQUAL, (1.0, 1.0, 1.0)),
        ([[2] * 3] * 100, (0.05, 1.0, 1.0)),
        ([[3] * 3] * 60, (1.0, 0.05, 0.3)),
    ],
)
def test_estimates_have_no_bias_and_intervals_cover_the_true_share(sizes, truth):
    runs = [variance_components(*drawn(seed, sizes, truth)) for seed in range(400)]
    for place, true in enumerate(truth):
        components = [run.components[place] for run in runs]
        estimates = [one.variance for one in components]
        assert np.mean(estimates) == pytest.approx(true, abs=max(0.02, 4 * np.std(estimates) / 20))
        share = true / sum(truth)
        covered = np.mean([one.interval.low <= share <= one.interval.high for one in components])
        assert 0.91 < covered < 0.985


@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "between"), [([3] * 60, 1.0), ([2, 3, 8] * 30, 0.3), ([5] * 40, 3.0)])
def test_intervals_of_two_sources_cover_the_true_share(sizes, between):
    share = 1 / (1 + between)
    data = [[1] * size for size in sizes]
    runs = [variance_components(*drawn(seed, data, (between, 0.0, 1.0))[:2]) for seed in range(400)]
    intervals = [run.components[1].interval for run in runs]
    assert 0.91 < np.mean([one.low <= share <= one.high for one in intervals]) < 0.985


@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_rates_count_all_subsets(case):
    n, passed, k = case
    subsets = list(combinations([True] * passed + [False] * (n - passed), k))
    assert pass_at_k(n, passed, k) == pytest.approx(np.mean([any(one) for one in subsets]))
    assert pass_hat_k(n, passed, k) == pytest.approx(np.mean([all(one) for one in subsets]))


@pytest.mark.parametrize("case", [(3, 4, 1), (3, -1, 1), (3, 1, 0), (3, 1, 4)])
def test_impossible_counts_are_refused(case):
    for function in (pass_at_k, pass_hat_k):
        with pytest.raises(ValueError, match="passed"):
            function(*case)


def mean_coverage(answers, judgements, *, by_question=True, runs=1000, questions=40):
    """The share of runs whose interval contains the expected value over questions, answers and judge.

    Each question has a rate from Beta(2, 1); each answer a rate near it, by which each judgement is 1.
    """
    generator = np.random.default_rng(answers * 10 + judgements)
    contained = 0
    for _ in range(runs):
        rates = generator.beta(2, 1, (questions, 1))
        of_answers = generator.beta(4 * rates + 1e-9, 4 * (1 - rates) + 1e-9, (questions, answers))
        values = generator.random((questions, answers, judgements)) < of_answers[:, :, None]
        clusters = np.repeat(np.arange(questions), answers * judgements)
        flat = values.ravel().astype(float)
        interval = mean_interval(flat, clusters if by_question else None, low=0.0, high=1.0)
        contained += interval.low <= 2 / 3 <= interval.high
    return contained / runs


@pytest.mark.slow
@pytest.mark.parametrize(("answers", "judgements"), [(1, 1), (1, 3), (3, 1), (3, 3)])
def test_the_interval_of_a_mean_covers_the_chance_of_answers_and_judge(answers, judgements):
    assert 0.935 < mean_coverage(answers, judgements) < 0.975


@pytest.mark.slow
def test_judgements_as_clusters_of_their_own_would_give_too_short_intervals():
    assert mean_coverage(3, 3, by_question=False) < 0.8
