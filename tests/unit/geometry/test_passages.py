import numpy as np
import pytest

from sgi.geometry import angle, bounded_grounding_index, grounding_index, unit
from sgi.geometry.passages import LEAST_SEPARATION, PassageAngles


def rows(n, seed, d=16):
    return unit(np.random.default_rng(seed).normal(size=(n, d))).astype(np.float32)


LENGTHS = [3, 1, 20, 2]
OWNERS = np.array([0, 0, 1, 2, 3, 3, 3])


@pytest.fixture
def parts():
    return rows(len(OWNERS), 1), rows(len(LENGTHS), 2), rows(sum(LENGTHS), 3)


def measure(statements, questions, passages, owners=OWNERS, lengths=LENGTHS):
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return PassageAngles.of(statements, questions, passages, owners=owners, offsets=offsets)


def test_every_pair_is_that_of_a_plain_loop(parts):
    statements, questions, passages = parts
    offsets = np.concatenate([[0], np.cumsum(LENGTHS)])
    angles = measure(*parts)
    pair = 0
    for statement, owner in zip(statements, OWNERS, strict=True):
        for passage in range(offsets[owner], offsets[owner + 1]):
            assert angles.passage[pair] == passage
            assert angles.theta_rc[pair] == angle([statement], passages[[passage]])[0]
            assert angles.theta_qc[pair] == angle(questions[[owner]], passages[[passage]])[0]
            pair += 1
    assert pair == len(angles.theta_rc) == angles.lengths.sum()
    assert angles.theta_rq.tolist() == angle(statements, questions[OWNERS]).tolist()


def test_nearest_and_mean_are_those_of_a_plain_loop(parts):
    angles = measure(*parts)
    ends = np.cumsum(angles.lengths)
    for statement, (start, end) in enumerate(zip(ends - angles.lengths, ends, strict=True)):
        values = angles.grounding[start:end]
        assert angles.aggregate(angles.grounding, "nearest")[statement] == values.max()
        assert angles.nearest[statement] == start + values.argmax()
        assert angles.aggregate(angles.grounding, "mean")[statement] == pytest.approx(
            values.mean(), rel=1e-14
        )


def test_pairs_have_both_forms_of_the_index(parts):
    angles = measure(*parts)
    theta_rq = np.repeat(angles.theta_rq, angles.lengths)
    assert angles.grounding.tolist() == grounding_index(theta_rq, angles.theta_rc).tolist()
    assert (
        angles.bounded_index.tolist()
        == bounded_grounding_index(theta_rq, angles.theta_rc, angles.theta_qc).tolist()
    )


def test_a_passage_that_is_the_question_counts_only_if_there_is_no_other():
    eye = np.eye(4, dtype=np.float32)
    question = eye[:1]
    statements = unit([[1.0, 0.1, 0.0, 0.0]] * 2).astype(np.float32)
    angles = measure(
        statements,
        np.concatenate([question, question]),
        np.concatenate([question, eye[1:2], question]),
        owners=np.array([0, 1]),
        lengths=[2, 1],
    )
    assert angles.apart.tolist() == [False, True, False]
    assert angles.separate.tolist() == [True, False]
    assert angles.passage[angles.nearest].tolist() == [1, 2]
    assert angles.aggregate(angles.theta_rc, "mean").tolist() == angles.theta_rc[[1, 2]].tolist()


@pytest.mark.parametrize(("theta", "apart"), [(0.9e-3, False), (1.1e-3, True)])
def test_the_separation_is_a_thousandth_of_a_radian(theta, apart):
    assert LEAST_SEPARATION == 1e-3
    question = np.array([[1.0, 0.0]], dtype=np.float32)
    passage = np.array([[np.cos(theta), np.sin(theta)]], dtype=np.float32)
    angles = measure(question[:, ::-1].copy(), question, passage, owners=np.array([0]), lengths=[1])
    assert angles.separate.tolist() == [apart]


def test_the_first_of_equally_near_passages_is_taken():
    eye = np.eye(3, dtype=np.float32)
    angles = measure(eye[2:], eye[:1], np.stack([eye[1], eye[1], eye[1]]), owners=np.array([0]), lengths=[3])
    assert angles.nearest.tolist() == [0]


def test_no_statements_have_no_pairs():
    angles = measure(
        np.zeros((0, 16), np.float32), rows(2, 1), rows(3, 2), owners=np.zeros(0, np.int64), lengths=[1, 2]
    )
    assert angles.aggregate(angles.grounding, "mean").shape == angles.nearest.shape == (0,)
