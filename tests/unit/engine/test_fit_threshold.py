from __future__ import annotations

import json

import anyio
import pytest

from sgi.engine.cascade import Cascade, parse_cascade
from sgi.engine.resources import Resources
from sgi.engine.routing import fit_threshold
from sgi.io.dataset import open_dataset
from sgi.kernel.errors import DataError, EmbedderError, UsageError
from sgi.kernel.registry import metric
from sgi.testing.fakes import HashEmbedder
from support.cascades import MetadataScore, row, unsupported_rows


def learn(rows, cascade="alpha=0.1", **more):
    rule = parse_cascade(cascade)
    return anyio.run(
        lambda: fit_threshold(rule, MetadataScore(), Resources(), open_dataset(rows), **more)
    ).fitted


def test_the_threshold_is_the_score_that_few_enough_unsupported_rows_exceed():
    scores = [place / 100 for place in range(40)]
    rows = [*unsupported_rows(scores), *(row(f"s{n}", 0.99, label=True) for n in range(50)), row("x", 1.0)]
    found = learn(rows)  # ⌊41 × 0.1⌋ = 4: the fourth greatest
    assert (found.threshold, found.unsupported, found.labelled, found.apart) == (0.36, 40, 90, False)


def test_too_few_unsupported_rows_clear_nothing():
    assert learn(unsupported_rows([0.1] * 8)).threshold is None
    assert learn(unsupported_rows([0.1] * 9)).threshold == 0.1
    supported = learn([row("a", 0.2, label=True)])
    assert (supported.threshold, supported.unsupported, supported.labelled) == (None, 0, 1)


def test_one_row_of_each_question_counts():
    rows = [row(f"u{n}", 0.5, label=False, question=f"Which {n % 8}?") for n in range(80)]
    found = learn(rows)
    assert (found.unsupported, found.threshold) == (8, None)


def test_rows_without_a_value_promise_nothing():
    found = learn(unsupported_rows([0.1] * 8 + [None] * 30))
    assert (found.unsupported, found.candidates, found.labelled, found.threshold) == (8, 38, 38, None)
    together = [
        row(f"u{n}", None if n % 2 else 0.5, label=False, question=f"Which {n // 2}?") for n in range(20)
    ]
    assert (learn(together).unsupported, learn(together).candidates) == (10, 10)


class Flaky(HashEmbedder):
    """Works for some calls, fails once, and works again."""

    def __init__(self, works):
        super().__init__()
        self.left = works

    def embed(self, texts, /):
        self.left -= 1
        if self.left == -1:
            raise EmbedderError("the server is down")
        return super().embed(texts)


def test_rows_that_failed_teach_nothing():
    rows = [
        row(
            f"u{n}",
            label=False,
            question=f"How tall is tower {n}?",
            contexts=(f"The tower {n} is {300 + n} m tall.",),
            response=f"It is {n} m tall.",
        )
        for n in range(300)
    ]

    def learnt_by(works):
        resources, data = Resources({"hash": Flaky(works)}), open_dataset(rows)
        return anyio.run(fit_threshold, parse_cascade("alpha=0.1"), metric("sgi_bounded"), resources, data)

    assert learnt_by(9).fitted.unsupported == 300
    with pytest.raises(EmbedderError) as caught:
        learnt_by(1)
    assert "Fix the cause" in caught.value.hint


def test_rows_in_many_batches_keep_their_questions():
    rows = [row(f"u{n}", n / 1000, label=False, question=f"Which {n // 2}?") for n in range(600)]
    assert learn(rows).unsupported == 300


def test_without_labels_there_is_a_way_out():
    with pytest.raises(UsageError):
        learn([row("a", 0.2)])


def test_labels_of_the_data_are_not_those_of_a_target():
    with pytest.raises(UsageError):
        learn(unsupported_rows([0.1] * 9), own_answers=False)


@pytest.fixture
def checked(tmp_path):
    """A file of nine unsupported rows."""
    path = tmp_path / "checked.jsonl"
    lines = [json.loads(sample.model_dump_json(exclude_unset=True)) for sample in unsupported_rows([0.3] * 9)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_file_teaches_and_the_labels_of_the_data_measure_only_other_questions(checked):
    cascade = Cascade(alpha=0.1, labelled=checked)
    other = learn([row("other", 0.9, label=False)], cascade)
    assert (other.threshold, other.unsupported, other.apart) == (0.3, 9, True)
    assert not learn([row("other", 0.9), row("u3", 0.9)], cascade).apart
    assert not learn([row("other", 0.9)], cascade, own_answers=False).apart


@pytest.mark.parametrize("left_out", ["question", "response", "id"])
def test_rows_learnt_from_are_known_again_where_the_file_lacks_a_column(checked, left_out):
    lines = [json.loads(line) for line in checked.read_text().splitlines()]
    checked.write_text(
        "".join(json.dumps({k: v for k, v in line.items() if k != left_out}) + "\n" for line in lines)
    )
    cascade = Cascade(alpha=0.1, labelled=checked)
    assert not learn([row("other", 0.9), row("u3", 0.3, label=False)], cascade).apart
    assert learn([row("other", 0.9)], cascade).apart


def test_the_same_passages_under_another_question_are_not_apart(checked):
    again = row("other", 0.9, contexts=(*row("u3").contexts, ""))
    cascade = Cascade(alpha=0.1, labelled=checked)
    assert learn([again], cascade).apart
    assert not learn([again.model_copy(update={"contexts": row("u3").contexts})], cascade).apart


def test_a_bad_row_of_the_file_is_an_error_with_its_line_even_where_rows_of_the_data_are_skipped(checked):
    with checked.open("a") as file:
        file.write("{broken\n")
    with pytest.raises(DataError, match=r"checked\.jsonl:10"):
        learn([row("other")], Cascade(alpha=0.1, labelled=checked), on_reject=lambda _: None)
