from __future__ import annotations

import json
from dataclasses import replace

import anyio
import pytest

from sgi.engine.cascade import Cascade, CascadeSummary, Misses, parse_cascade
from sgi.engine.resources import Resources
from sgi.engine.routing import fit_threshold
from sgi.engine.summary import Summary
from sgi.io.dataset import open_dataset
from sgi.kernel.errors import DataError, EmbedderError, UsageError
from sgi.kernel.registry import metric
from sgi.reporting.views.headline import Headline, headline_notes
from sgi.stats.intervals import Interval
from sgi.testing.fakes import HashEmbedder
from support.cascades import MetadataScore, row, run_cascade, unsupported_rows


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


TOLD = CascadeSummary(
    alpha=0.05,
    threshold=0.8712,
    detector="grounding",
    judged=("faithfulness", "ragas_score"),
    rows=1000,
    cleared=412,
    without_value=12,
    calls_per_row=2.0,
    calls_saved=824,
    unsupported=210,
    candidates=212,
    labelled=400,
    misses=Misses(230, 9, Interval(0.019, 0.07, 0.95, "wilson")),
)


@pytest.mark.parametrize("summary", [TOLD, replace(TOLD, misses=None), replace(TOLD, threshold=None)])
def test_it_is_kept_as_json_and_read_again(summary):
    assert CascadeSummary.from_dict(json.loads(json.dumps(summary.to_dict()))) == summary


def test_what_was_cleared_what_it_saves_and_what_it_promises():
    cleared, numbers, saved, promise, measured = TOLD.notes()
    assert "grounding above 0.8712 cleared 412 of 1,000 rows (41.2%)" in cleared
    assert cleared.endswith("the judge scored the other 588, 12 of them without grounding.")
    assert "of faithfulness, ragas_score cover only the rows that the judge scored" in numbers
    assert saved == "Judge calls saved: about 824, estimated from 2 calls for each judged row."
    assert "at most 0.05 of the unsupported answers" in promise
    assert "like the 210 labelled answers" in promise
    assert measured.endswith("9 of 230 unsupported rows were cleared, 3.9% [1.9%, 7.0%].")


def test_few_labels_are_told_and_promise_nothing():
    (line,) = replace(TOLD, threshold=None, unsupported=7, candidates=7).notes()
    assert "scored every row" in line
    assert "needs at least 19 labelled unsupported rows" in line
    assert line.endswith("there are 7.")


def test_labelled_rows_without_a_score_are_told():
    result, _ = run_cascade([*unsupported_rows([None] * 40), row("s", 0.9)])
    (line,) = result.summary().cascade.notes()
    assert line.endswith("there are 40, 0 of them with a score of grounding.")


def test_labels_that_were_learnt_from_measure_nothing():
    result, _ = run_cascade([*unsupported_rows([0.5] * 9), row("s", 0.9, label=True), row("n", None)])
    summary = result.summary().cascade
    assert summary.misses is None
    assert (summary.rows, summary.cleared, summary.without_value, summary.labelled) == (11, 1, 1, 10)
    assert (summary.calls_per_row, summary.calls_saved) == (1.0, 1)
    assert not any(line.startswith("Measured") for line in summary.notes())


def test_where_all_is_cleared_nobody_knows_what_a_row_takes(tmp_path):
    path = tmp_path / "checked.jsonl"
    rows = unsupported_rows([0.5] * 9)
    path.write_text("".join(sample.model_dump_json(exclude_unset=True) + "\n" for sample in rows))
    result, judge = run_cascade([row("s", 0.9)], f"alpha=0.1,labelled={path}")
    summary = result.summary().cascade
    assert (judge.usage.calls, summary.calls_per_row, summary.calls_saved) == (0, None, None)
    assert not any(line.startswith("Judge calls saved") for line in summary.notes())


def test_a_summary_has_it_only_where_there_was_one():
    rows = unsupported_rows([0.5] * 9)
    with_it, without = run_cascade(rows)[0].summary(), run_cascade(rows, None)[0].summary()
    for summary in (with_it, without):
        assert Summary.from_dict(json.loads(json.dumps(summary.to_dict()))) == summary
    assert "cascade" not in without.to_dict()
    assert "Cascade: " in str(with_it)
    assert "Cascade: " not in str(without)


def test_the_notes_of_a_report_begin_with_it():
    made = Headline((), (), 0, 0, 0, 0, {}, {}, "", TOLD)
    assert list(headline_notes(made)) == list(TOLD.notes())
