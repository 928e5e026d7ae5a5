from __future__ import annotations

import json

import anyio
import pytest

from sgi.engine.cascade.learning import learnt
from sgi.engine.cascade.rule import Cascade, read_cascade
from sgi.engine.tools import Tools
from sgi.io.dataset import open_dataset
from sgi.kernel.errors import DataError, UsageError
from support.cascades import Stated, row, unsupported


def learn(rows, cascade="alpha=0.1", **more):
    rule = read_cascade(cascade)
    return anyio.run(lambda: learnt(rule, Stated(), Tools(), open_dataset(rows), **more)).learnt


def test_the_threshold_is_the_score_that_few_enough_unsupported_rows_exceed():
    scores = [place / 100 for place in range(40)]
    rows = [*unsupported(scores), *(row(f"s{n}", 0.99, label=True) for n in range(50)), row("x", 1.0)]
    found = learn(rows)  # ⌊41 × 0.1⌋ = 4: the fourth greatest
    assert (found.threshold, found.unsupported, found.labelled, found.apart) == (0.36, 40, 90, False)


def test_too_few_unsupported_rows_clear_nothing():
    assert learn(unsupported([0.1] * 8)).threshold is None
    assert learn(unsupported([0.1] * 9)).threshold == 0.1
    supported = learn([row("a", 0.2, label=True)])
    assert (supported.threshold, supported.unsupported, supported.labelled) == (None, 0, 1)


def test_one_row_of_each_question_counts():
    rows = [row(f"u{n}", 0.5, label=False, question=f"Which {n % 8}?") for n in range(80)]
    found = learn(rows)
    assert (found.unsupported, found.threshold) == (8, None)


def test_rows_without_a_value_promise_nothing():
    found = learn(unsupported([0.1] * 8 + [None] * 30))
    assert (found.unsupported, found.labelled, found.threshold) == (8, 38, None)


def test_rows_in_many_batches_keep_their_questions():
    rows = [row(f"u{n}", n / 1000, label=False, question=f"Which {n // 2}?") for n in range(600)]
    assert learn(rows).unsupported == 300


def test_without_labels_there_is_a_way_out():
    with pytest.raises(UsageError, match=r"has a label.*labelled=FILE"):
        learn([row("a", 0.2)])


def test_labels_of_the_data_are_not_those_of_a_target():
    with pytest.raises(UsageError, match="that the target will give"):
        learn(unsupported([0.1] * 9), own_answers=False)


@pytest.fixture
def checked(tmp_path):
    """A file of nine unsupported rows."""
    path = tmp_path / "checked.jsonl"
    lines = [json.loads(sample.model_dump_json(exclude_unset=True)) for sample in unsupported([0.3] * 9)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_file_teaches_and_the_labels_of_the_data_measure_only_other_questions(checked):
    cascade = Cascade(alpha=0.1, labelled=checked)
    other = learn([row("other", 0.9, label=False)], cascade)
    assert (other.threshold, other.unsupported, other.apart) == (0.3, 9, True)
    assert not learn([row("other", 0.9), row("u3", 0.9)], cascade).apart
    assert not learn([row("other", 0.9)], cascade, own_answers=False).apart


def test_a_bad_row_of_the_file_is_an_error_with_its_line_even_where_rows_of_the_data_are_skipped(checked):
    with checked.open("a") as file:
        file.write("{broken\n")
    with pytest.raises(DataError, match=r"checked\.jsonl:10"):
        learn([row("other")], Cascade(alpha=0.1, labelled=checked), on_reject=lambda _: None)
