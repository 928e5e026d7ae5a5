from __future__ import annotations

import json

import anyio
import numpy as np
import pytest

from sgi.engine.accumulator import Accumulator
from sgi.engine.cascade import Cascade, FittedThreshold
from sgi.engine.resources import Resources
from sgi.engine.routing import Router, route_batch, score_routed
from sgi.kernel.errors import JudgeError, UsageError
from sgi.kernel.metric import Status
from sgi.kernel.protocols import Embeddings
from sgi.kernel.registry import metric
from sgi.kernel.sample import Batch, Sample
from sgi.testing.fakes import HashEmbedder
from support.cascades import MetadataScore, row, run_cascade, unsupported_rows
from support.judged_metrics import Echo, Politeness, ReferencePoliteness, RuleJudge

LABELLED = unsupported_rows([0.5] * 9)  # with alpha 0.1: cleared is what scores more than 0.5
REASON = "not judged: grounding is above 0.5 (cascade, alpha 0.1)"


def router(metrics, threshold=0.5):
    learnt = FittedThreshold(threshold=threshold, unsupported=9, candidates=9, labelled=9, apart=False)
    return Router.of(Cascade(alpha=0.1, fitted=learnt), metrics)


def scored(rows, metrics, judge, failed=None, *, embedder=None, **more):
    batch, resources = Batch.of(rows), Resources({"hash": embedder or HashEmbedder()}, judge=judge)
    used, lost = router(metrics, **more), failed or {}

    async def work():
        routed = await route_batch(used, batch, resources, lost)
        return routed, await score_routed(used, batch, resources, lost, routed)

    routed, made = anyio.run(work)
    return routed, made, len(used.questions)


def test_the_judge_is_asked_about_rows_in_doubt_alone():
    rows = [*LABELLED, row("a", 0.5), row("b", 0.501), row("c", 0.99), row("d", None), row("e", 0.0)]
    result, judge = run_cascade(rows)
    statuses = dict(zip((sample.id for sample in result.samples), result["politeness"].status, strict=True))
    assert {name for name, status in statuses.items() if status == "undefined"} == {"b", "c"}
    assert judge.usage.calls == len(rows) - 2
    assert set(result["politeness"].reasons) == {"", REASON}
    assert [found is None for found in result.evidence["politeness"]] == [
        status == "undefined" for status in result["politeness"].status
    ]


def test_scores_in_doubt_are_those_of_a_run_without_a_cascade_bit_for_bit():
    rng = np.random.default_rng(7)
    rows = [*LABELLED, *(row(f"r{n}", float(score)) for n, score in enumerate(rng.random(691)))]
    metrics = [MetadataScore(), Politeness(), metric("content_f1"), Echo()]
    rows = [sample.model_copy(update={"reference": "It is."}) for sample in rows]
    whole, _ = run_cascade(rows, None, metrics=metrics, embedder=HashEmbedder())
    part, judge = run_cascade(rows, metrics=metrics, embedder=HashEmbedder())
    assert list(part) == list(whole)
    doubtful = part["grounding"].values <= 0.5
    for name in ("politeness", "echo"):
        assert part[name].values[doubtful].tobytes() == whole[name].values[doubtful].tobytes()
        assert (part[name].status[~doubtful] == "undefined").all()
    assert part["content_f1"].values.tobytes() == whole["content_f1"].values.tobytes()
    assert judge.usage.calls == 2 * doubtful.sum()
    assert part.summary().cascade.calls_per_row == 2.0


def test_a_row_that_lacks_a_field_is_missing_whether_it_is_cleared_or_not():
    rows = [row("a", 0.9), row("b", 0.9, reference="B."), row("c", 0.1), row("d", 0.1, reference="D.")]
    judge = RuleJudge()
    routed, made, questions = scored(rows, [MetadataScore(), ReferencePoliteness()], judge)
    found = made.scores["reference_politeness"]
    assert found.status.tolist() == [Status.MISSING, Status.UNDEFINED, Status.MISSING, Status.OK]
    assert "reference" in found.reasons[0]
    assert (judge.usage.calls, questions, routed.inquired) == (1, 1, 1)


def test_rows_that_failed_before_are_failed_and_not_asked_about():
    rows = [row("a", 0.9), row("b", 0.9), row("c", 0.1)]
    judge = RuleJudge()
    routed, made, _ = scored(rows, [MetadataScore(), Politeness()], judge, {1: "no answer"})
    assert made.scores["politeness"].status.tolist() == [Status.UNDEFINED, Status.FAILED, Status.OK]
    assert made.scores["politeness"].reasons[1] == "no answer"
    assert (judge.usage.calls, routed.inquired) == (1, 1)


@pytest.mark.parametrize("stated", [0.9, 0.1])
def test_a_batch_all_of_one_kind(stated):
    rows = [row("a", stated), row("b", stated)]
    _, made, _ = scored(rows, [MetadataScore(), Politeness()], RuleJudge())
    assert set(made.scores["politeness"].status) == {"undefined" if stated > 0.5 else "ok"}
    assert list(made.scores) == ["grounding", "politeness"]


def test_without_a_threshold_nothing_is_cleared():
    _, made, _ = scored([row("a", 1.0)], [MetadataScore(), Politeness()], RuleJudge(), threshold=None)
    assert made.scores["politeness"].ok.all()
    assert Router.of(Cascade(alpha=0.1), []) is None


class Cutting(HashEmbedder):
    """Reads eight characters of a text."""

    def encode(self, texts, /):
        return Embeddings(self.embed(texts), np.array([len(text) > 8 for text in texts]))


@pytest.mark.parametrize(
    ("offline", "judged", "counted"),
    [
        # Both embed the questions; the judged metric only those of the rows in doubt.
        ("theta_rq", Echo(), {"question": 4, "response": 2}),
        ("theta_rq", Politeness(), {"question": 4, "response": 2}),
        ("squad_em", Echo(), {"question": 3}),
        # Rows a and c in one part; c, d and e in the other, as d and e have no contexts. At least 3.
        ("theta_qc", Echo(), {"question": 3, "response": 2}),
    ],
)
def test_truncated_rows_of_both_parts_are_counted_once(offline, judged, counted):
    rows = [
        row("a", 0.9, question="A long one?", contexts=("C.",), response="A long response."),
        row("b", 0.9, question="Who?", contexts=("C.",), response="Short."),
        row("c", 0.1, question="A long one, c?", contexts=("C.",), response="A long one."),
        row("d", 0.1, question="A long one, d?", contexts=(), response="Short."),
        row("e", 0.1, question="A long one, e?", contexts=(), response="Short."),
    ]
    metrics = [MetadataScore(), metric(offline), judged]
    _, made, _ = scored(rows, metrics, RuleJudge(), embedder=Cutting())
    assert made.truncated == counted


def test_every_row_and_metric_is_told_as_done_with():
    metrics, calls = [MetadataScore(), Politeness(), Echo()], []
    rows = [row("a", 0.9), row("b", 0.1)]
    rows += [Sample(id="c", contexts=("C.",), response="C.", metadata={"stated": 0.9})]  # asks nothing
    resources = Resources({"hash": HashEmbedder()}, judge=RuleJudge())
    anyio.run(lambda: route_batch(router(metrics), Batch.of(rows), resources, {}, lambda: calls.append(1)))
    assert len(calls) == 5


def test_two_metrics_that_ask_the_same_are_one_call():
    class Twice(Politeness):
        spec = Politeness.spec.__class__("twice", 1, needs=Politeness.spec.needs, low=0.0, high=1.0)

    routed, _, questions = scored(
        [row("a", 0.1), row("b", 0.1)], [MetadataScore(), Politeness(), Twice()], RuleJudge()
    )
    assert (questions, routed.inquired) == (2, 2)


def test_no_judge_is_told():
    with pytest.raises(UsageError):
        scored([row("a", 0.1)], [MetadataScore(), Politeness()], None)


def test_failures_are_a_share_of_the_rows_that_were_asked_about():
    rows = [*LABELLED, *(row(f"s{n}", 0.9) for n in range(91)), row("no reply", 0.1)]
    with pytest.raises(JudgeError, match="10"):
        run_cascade(rows, max_failures=0.09)
    result, _ = run_cascade(rows, max_failures=0.1)
    assert result["politeness"].status.tolist().count("failed") == 1


def test_a_share_of_few_rows_stops_nothing_before_the_end():
    early = [row("no reply", 0.1), *(row(f"a{n}", 0.1) for n in range(9))]
    late = [row(f"b{n}", 0.1) for n in range(30)]
    rows = [*LABELLED, *early, *(row(f"s{n}", 0.9) for n in range(300)), *late]
    result, _ = run_cascade(rows, max_failures=0.03)  # 1 of 19 in the first batch, 1 of 49 in all
    assert result["politeness"].status.tolist().count("failed") == 1
    with pytest.raises(JudgeError, match="04"):
        run_cascade(rows, max_failures=0.02)


def test_the_share_is_taken_from_counts_and_not_from_every_row_again():
    class Untouchable:
        def __iter__(self):
            raise AssertionError("every row so far is looked at again")

        __len__ = __getitem__ = __iter__

    metrics = [MetadataScore(), Politeness()]
    accumulator = Accumulator(router=router(metrics))
    rows = [row("a", 0.9), row("b", 0.1), row("no reply", 0.1)]
    _, made, _ = scored(rows, metrics, RuleJudge())
    accumulator.add(Batch.of(rows), made)
    assert (accumulator.cleared_rows, list(accumulator.cleared)) == (1, [1, 0, 0])
    accumulator.cleared = Untouchable()
    found = accumulator.failures()
    assert (found.failed, found.rows, found.judged) == (1, 2, True)
    assert accumulator.failures(fewest_asked=3).failed == 0


def test_a_judge_that_fails_always_stops_the_run_as_soon_as_enough_rows_were_asked_about():
    rows = [*LABELLED, *(row(f"no reply {n}", 0.1) for n in range(3000))]
    judge = RuleJudge()
    with pytest.raises(JudgeError, match="256"):
        run_cascade(rows, judge=judge)
    assert judge.usage.calls < 2000


def test_a_threshold_just_below_one_is_told_as_that():
    near = router([MetadataScore(), Politeness()], threshold=0.999993)
    assert "above 0.99999" in near.reason
    assert "above 1 (" in router([MetadataScore(), Politeness()], threshold=1.0).reason


def test_a_file_of_labelled_rows_by_python(tmp_path):
    path = tmp_path / "checked.jsonl"
    path.write_text("".join(sample.model_dump_json(exclude_unset=True) + "\n" for sample in LABELLED))
    result, judge = run_cascade(
        [row("x", 0.9, label=False), row("y", 0.2)], {"alpha": 0.1, "labelled": str(path)}
    )
    assert judge.usage.calls == 1
    summary = result.summary().cascade
    assert (summary.cleared, summary.misses.unsupported, summary.misses.cleared) == (1, 1, 1)
    assert json.loads(json.dumps(result.summary().to_dict()))["cascade"]["misses"]["rate"] == 1.0


def test_a_cascade_needs_a_metric_that_asks():
    with pytest.raises(UsageError):
        run_cascade(LABELLED, metrics=[MetadataScore()])
