import numpy as np
import pytest

from sgi.geometry import angle, unit
from sgi.kernel.errors import DataError, UsageError
from sgi.stats.ranking import auroc
from sgi_lab.paper.geometry import reference
from sgi_lab.paper.geometry.displacement import Neighbours, directional_grounding_index
from sgi_lab.paper.geometry.flat_displacement import (
    flat_displacement_consistency,
    flat_displacement_magnitude_ratio,
    flat_expected_response_deviation,
)
from sgi_lab.paper.geometry.near_duplicates import Pairs
from sgi_lab.paper.geometry.reference import ReferenceSet
from support.labelled_pairs import COUNT, FRESH, NEW, Answers, changed, moved, random_rows


def mean_direction(ways):
    return unit(ways.sum(axis=0))


@pytest.fixture
def pairs():
    return Answers()


# What goes wrong without a guard, and the guard.


@pytest.mark.parametrize(
    "score",
    [
        flat_displacement_consistency,
        lambda *parts: -flat_expected_response_deviation(*parts),
        lambda *parts: -flat_displacement_magnitude_ratio(*parts),
    ],
)
def test_self_neighbours_tell_good_from_bad_where_there_is_nothing_to_tell_and_the_guard_refuses_them(
    pairs, score
):
    known = pairs.reference()
    leaky = known.neighbours(Pairs.of(*pairs.columns()), k=5, temperature=0.1, leaky=True)
    assert auroc(score(pairs.question_rows, pairs.response_rows, leaky), pairs.labels) == 1.0
    with pytest.raises(DataError, match="Reference pair 'good-0' has the same id"):
        known.neighbours(Pairs.of(*pairs.columns()), k=5, temperature=0.1)
    honest = known.neighbours(Pairs.of(*pairs.columns()), k=5, temperature=0.1, exclude="group")
    chance = auroc(score(pairs.question_rows, pairs.response_rows, honest), pairs.labels)
    assert 0.3 < chance < 0.7


def test_a_direction_of_the_scored_pairs_leaks_too_and_the_guard_refuses_it():
    pairs = Answers(3, dimension=512)  # each answer is a third of the mean
    known = pairs.reference(slice(3))
    columns = pairs.columns()

    def area(directions):
        scores = directional_grounding_index(pairs.question_rows, pairs.response_rows, directions)
        return auroc(scores, pairs.labels)

    assert area(known.directions(Pairs.of(*columns), leaky=True)) == 1.0
    with pytest.raises(DataError, match="has the same id"):
        known.directions(Pairs.of(*columns))
    assert area(known.directions(Pairs.of(*columns), exclude="group")) < 0.9


def test_no_neighbour_is_of_the_scored_pairs_group_id_or_question(pairs):
    known = pairs.reference(slice(None))
    near = known.neighbours(Pairs.of(*pairs.columns()), k=10, exclude="group")
    groups, questions, ids = map(np.array, (pairs.groups, pairs.questions, pairs.ids))
    for column in (groups, questions, ids):
        assert not (column[near.indices] == column[:, None]).any()
    leaky = known.neighbours(Pairs.of(*pairs.columns()), k=10, leaky=True)
    assert (groups[leaky.indices] == groups[:, None]).sum(axis=1).tolist() == [2] * len(groups)


@pytest.mark.parametrize(
    ("shared", "what"),
    [
        ({"ids": ["good-3"]}, "id"),
        ({"questions": ["  what IS number\n3? "]}, "question"),
        ({"questions": ["What is number 3?"], "responses": ["it is  3."]}, "question and response"),
        ({"questions": ["«Ｗhat is num\u200dber 3"]}, "question"),
        ({"ids": ["Good\u200b-3 "]}, "id"),
        ({"groups": ["3"]}, "group"),
        ({"groups": [" 3\n"]}, "group"),
        ({"question_rows": random_rows(COUNT, 1)[[3]]}, "question vector"),
        ({"question_rows": moved(random_rows(COUNT, 1)[[3]], 0.0009)}, "question vector"),
    ],
)
def test_a_scored_pair_with_kin_in_the_reference_is_refused(pairs, shared, what):
    columns = changed(pairs.columns(slice(3, 4)), **{**FRESH, **shared})
    known, scored = pairs.reference(), Pairs.of(*columns)
    for call in (lambda: known.neighbours(scored, k=2), lambda: known.directions(scored)):
        with pytest.raises(DataError) as caught:
            call()
        assert f"Reference pair 'good-3' has the same {what}. Keep scored and" in str(caught.value)
        assert caught.value.sample_id == columns[0][0]
    near = known.neighbours(scored, k=COUNT - 1, exclude="group")
    assert sorted(near.indices[0]) == [place for place in range(COUNT) if place != 3]
    ways = unit(known.response_rows.astype(np.float64) - known.pairs.question_rows)
    apart = known.directions(scored, exclude="group")[0]
    assert apart == pytest.approx(mean_direction(np.delete(ways, 3, axis=0)), abs=1e-12)
    assert known.neighbours(scored, k=2, leaky=True).indices[0, 0] == 3
    assert known.directions(scored, leaky=True)[0] == pytest.approx(mean_direction(ways), abs=1e-12)


def test_a_letter_that_looks_the_same_is_told_by_its_vector_alone(pairs):
    twin = {**FRESH, "questions": ["What is number 3?".replace("e", "\u0435")]}
    columns = changed(pairs.columns(slice(3, 4)), **twin)
    assert pairs.reference().neighbours(Pairs.of(*columns), k=1).indices.tolist() == [[3]]
    columns = changed(columns, question_rows=pairs.question_rows[[3]])
    with pytest.raises(DataError, match="Reference pair 'good-3' has the same question vector"):
        pairs.reference().neighbours(Pairs.of(*columns), k=1)


def test_a_missing_group_is_shared_by_none(pairs):
    columns = changed(pairs.columns(), groups=[None] * 2 * COUNT)
    known = ReferenceSet.fit(Pairs.of(*(column[:COUNT] for column in columns)), pairs.response_rows[:COUNT])
    fresh = changed(pairs.columns(slice(3, 4)), **{**FRESH, "groups": [None]})
    assert known.neighbours(Pairs.of(*fresh), k=1).indices.tolist() == [[3]]
    near = known.neighbours(Pairs.of(*columns), k=COUNT - 1, exclude="group")
    own = np.array([*range(COUNT)] * 2)
    assert not (near.indices == own[:, None]).any()  # the question is the group


def test_a_pair_without_kin_meets_its_nearest(pairs):
    columns = changed(pairs.columns(slice(3, 4)), **FRESH)
    near = pairs.reference().neighbours(Pairs.of(*columns), k=2)
    assert near.indices[0, 0] == 3
    assert near.angles[0, 0] == pytest.approx(0.01, rel=1e-3)


def test_questions_a_thousandth_apart_are_two(pairs):
    columns = changed(
        pairs.columns(slice(3, 4)), **NEW, question_rows=moved(pairs.question_rows[[3]], 0.0011)
    )
    assert pairs.reference().neighbours(Pairs.of(*columns), k=1).indices.tolist() == [[3]]


def test_a_common_answer_is_no_kin(pairs):
    columns = changed(pairs.columns(slice(3, 4)), **{**FRESH, "responses": ["It is 3."]})
    assert pairs.reference().neighbours(Pairs.of(*columns), k=2).indices[0, 0] == 3


def test_kin_of_kin_are_passed_over():
    eye = np.eye(4)
    groups, questions = ["one", "one", "two", "three"], ["A?", "B?", "b?", "D?"]
    known = ReferenceSet.fit(Pairs.of(["a", "b", "c", "d"], groups, questions, ["."] * 4, eye), -eye)
    # The group "one" leads to "A?" and "B?", and this to the pair of group "two".
    near = known.neighbours(
        Pairs.of(["x"], ["new"], ["A?"], ["!"], eye[:1]), k=1, exclude="group", temperature=1.0
    )
    assert near.indices.tolist() == [[3]]
    # Two scored pairs can make near duplicates of pairs that share nothing themselves.
    columns = (["x", "y"], ["new", "new"], ["A?", "D?"], ["!", "!"])
    with pytest.raises(UsageError, match="Id 'x' has fewer than 1 reference pairs of other groups"):
        known.neighbours(Pairs.of(*columns, eye[:2]), k=1, exclude="group", temperature=1.0)


def test_the_guard_looks_at_the_neighbours_themselves(pairs, monkeypatch):
    # A fault in the recognition of near duplicates must not pass.
    monkeypatch.setattr(reference, "duplicate_codes", lambda shared: np.arange(len(shared[0][1])))
    with pytest.raises(DataError, match="id 'good-0': Reference pair 'good-0' has the same id"):
        pairs.reference().neighbours(Pairs.of(*pairs.columns()), k=5, temperature=0.1, exclude="group")


# Which neighbours, which weights.


@pytest.mark.parametrize("block", [1, 2**25])
def test_neighbours_are_those_of_a_plain_loop(pairs, block, monkeypatch):
    monkeypatch.setattr(reference, "_BLOCK_BYTES", block)
    known = pairs.reference(slice(None))
    near = known.neighbours(Pairs.of(*pairs.columns()), k=7, temperature=0.2, exclude="group")
    for row, found in enumerate(near.indices):
        angles = angle(np.repeat(pairs.question_rows[[row]], 2 * COUNT, axis=0), pairs.question_rows)
        angles[np.array(pairs.groups) == pairs.groups[row]] = np.inf
        order = np.lexsort((np.arange(2 * COUNT), angles))[:7]
        assert found.tolist() == order.tolist()
        assert near.angles[row].tolist() == angles[order].tolist()
    assert np.allclose(near.weights.sum(axis=1), 1.0)


def test_neighbours_carry_the_reference_rows_and_can_be_all_there_are(pairs):
    known = pairs.reference()
    near = known.neighbours(Pairs.of(*changed(pairs.columns(slice(3, 4)), **FRESH)), k=COUNT, temperature=1.0)
    assert isinstance(near, Neighbours)
    assert sorted(near.indices[0].tolist()) == list(range(COUNT))
    assert near.responses is known.response_rows
    assert len(known) == COUNT


def test_the_temperature_is_the_median_angle_to_the_kth_that_is_no_kin(pairs):
    known = pairs.reference(slice(None))  # two pairs a question: each has one at angle 0, a near duplicate
    kth = []
    for row in range(2 * COUNT):
        angles = angle(np.repeat(pairs.question_rows[[row]], 2 * COUNT, axis=0), pairs.question_rows)
        kth.append(np.sort(angles[np.array(pairs.groups) != pairs.groups[row]])[4])
    assert known.temperature(5) == np.median(kth) > 0.5
    columns = changed(pairs.columns(slice(3, 4)), **FRESH)
    chosen, given = (
        known.neighbours(Pairs.of(*columns), 5, temperature) for temperature in (None, np.median(kth))
    )
    assert chosen.weights.tolist() == given.weights.tolist()


def test_directions_leave_kin_out(pairs):
    known = pairs.reference()
    ways = unit(pairs.response_rows[:COUNT].astype(np.float64) - pairs.question_rows[:COUNT])
    scored = Pairs.of(*pairs.columns())
    values = known.directions(scored, exclude="group")
    for row, group in enumerate(pairs.groups):
        others = [i for i in range(COUNT) if i != int(group)]
        assert values[row] == pytest.approx(mean_direction(ways[others]), abs=1e-12)
    assert known.directions(scored, leaky=True)[7] == pytest.approx(mean_direction(ways), abs=1e-12)
    fresh = Pairs.of(*changed(pairs.columns(slice(3, 4)), **FRESH))
    for kwargs in ({}, {"exclude": "group"}):
        assert known.directions(fresh, **kwargs)[0] == pytest.approx(mean_direction(ways), abs=1e-12)


def test_a_reference_whose_response_is_its_question_has_no_direction():
    eye = np.eye(3)
    known = ReferenceSet.fit(
        Pairs.of(["a", "b"], ["1", "2"], ["A?", "B?"], ["A?", "b"], eye[:2]), eye[[0, 2]]
    )
    values = known.directions(Pairs.of(["x"], ["0"], ["X?"], ["x"], -eye[:1]))
    assert values[0] == pytest.approx(unit(eye[2] - eye[1]))
    with pytest.raises(DataError, match="id 'y': The reference set has no direction"):
        known.directions(
            Pairs.of(["x", "y"], ["0", "2"], ["X?", "Y?"], ["x", "y"], -eye[:2]), exclude="group"
        )


def test_contradictions_are_refused(pairs):
    known = pairs.reference()
    with pytest.raises(UsageError, match="leaky=True and exclude='group' contradict each other"):
        known.neighbours(Pairs.of(*pairs.columns()), exclude="group", leaky=True)


@pytest.mark.parametrize("k", [0, -1, COUNT + 1])
def test_a_number_of_neighbours_that_cannot_be_is_refused(pairs, k):
    with pytest.raises(UsageError, match=f"`k` must be from 1 to {COUNT}, .*, not {k}"):
        pairs.reference().neighbours(Pairs.of(*changed(pairs.columns(slice(1)), **FRESH)), k=k)


def test_too_few_neighbours_of_other_groups_name_the_pair(pairs):
    known = pairs.reference(slice(3))
    with pytest.raises(UsageError, match="Id 'good-1' has fewer than 3 reference pairs of other groups"):
        known.neighbours(Pairs.of(*pairs.columns(slice(1, 4))), k=3, temperature=1.0, exclude="group")
    with pytest.raises(UsageError, match="Id 'good-0' has fewer than 3"):
        known.temperature(3)


def test_an_empty_reference_is_refused(pairs):
    with pytest.raises(DataError, match="The reference set has no pair"):
        pairs.reference(slice(0))


@pytest.mark.parametrize("place", range(6))
def test_columns_of_other_lengths_are_refused(pairs, place):
    columns = [*pairs.columns(slice(4)), pairs.response_rows[:4]]
    columns[place] = columns[place][:3]
    with pytest.raises(ValueError, match=r"zip\(\) argument|must have the same shape"):
        ReferenceSet.fit(Pairs.of(*columns[:5]), columns[5])


def test_rows_that_are_no_directions_are_refused(pairs):
    with pytest.raises(ValueError, match="must have length 1"):
        ReferenceSet.fit(Pairs.of(*pairs.columns()), 2 * pairs.response_rows)
    long, short = np.sqrt(1.5) * pairs.question_rows, np.sqrt(0.5) * pairs.response_rows
    with pytest.raises(ValueError, match="must have length 1"):
        ReferenceSet.fit(Pairs.of(*pairs.columns()[:4], long), short)  # of unit length on average
    columns = changed(pairs.columns(slice(1)), **NEW, question_rows=2 * pairs.question_rows[:1])
    with pytest.raises(ValueError, match="must have length 1"):
        pairs.reference().neighbours(Pairs.of(*columns))
    with pytest.raises(ValueError, match="dimensions"):
        pairs.reference().neighbours(Pairs.of(*changed(columns, question_rows=np.eye(3)[:1])))


def test_no_scored_pairs_have_no_neighbours(pairs):
    near = pairs.reference().neighbours(Pairs.of(*pairs.columns(slice(0))), k=4)
    assert near.indices.shape == near.weights.shape == (0, 4)
    assert pairs.reference().directions(Pairs.of(*pairs.columns(slice(0)))).shape == (0, 16)
