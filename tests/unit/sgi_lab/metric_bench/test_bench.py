import asyncio
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from sgi.engine.progress import Advanced, ColumnsRead, Finished, Started
from sgi.kernel.errors import DataError, UnknownNameError, UsageError
from sgi.kernel.metric import Metric, MetricSpec, Scores
from sgi.kernel.sample import CONTEXTS, RESPONSE
from sgi.testing import HashEmbedder
from sgi.text.overlap import is_verbatim
from sgi_lab.metric_bench.bench import bench
from sgi_lab.metric_bench.bench_page import bench_markdown
from sgi_lab.metric_bench.catalogue import FAULTS, PERTURBATIONS
from sgi_lab.metric_bench.matrix import Bench, Cell
from sgi_lab.metric_bench.measures import Verdict
from sgi_lab.metric_bench.perturbation import Kind, Perturbation

BOTH = RESPONSE | CONTEXTS
NAMES = ("Olga Brandt", "Tom Hale", "Ada Stone", "Bea Moor", "Cleo Finch", "Dan Webb")
TRADES = ("keeper", "baker", "miller", "joiner", "smith", "weaver")


def rows(n=24, label=1):
    """Answers that stand in their first passage word for word."""
    result = []
    for k in range(n):
        name, trade = NAMES[k % 6], TRADES[k // 6 % 6]
        sentence = f"The {trade} {name} was paid {37 + 3 * k} crowns, and lived {50 + k} km away."
        held = (sentence, f"Wind and rain came over hill {k}.")
        result.append(
            {
                "id": f"r{k}",
                "question": f"Who came {k}th?",
                "contexts": held,
                "response": sentence,
                "label": label,
            }
        )
    return result


@dataclass(frozen=True)
class Constant(Metric):
    """Always one half."""

    spec: ClassVar = MetricSpec("constant", 1, needs=BOTH, low=0.0, high=1.0)

    def score(self, batch, features, /):
        return Scores.of(np.full(len(batch), 0.5))


@dataclass(frozen=True)
class Substring(Metric):
    """1 where the answer stands in a passage as it is."""

    spec: ClassVar = MetricSpec("substring", 1, needs=BOTH, low=0.0, high=1.0)

    def score(self, batch, features, /):
        found = [is_verbatim(text, batch.contexts[row]) for row, text in enumerate(batch.response)]
        return Scores.of(np.array(found, dtype=float))


@dataclass(frozen=True)
class FailsClosed(Substring):
    """Undefined where the answer stands in no passage."""

    spec: ClassVar = MetricSpec("fails_closed", 1, needs=BOTH, low=0.0, high=1.0)

    def score(self, batch, features, /):
        found = super().score(batch, features).values
        return Scores.of(found, undefined={"it stands nowhere": found == 0})


@dataclass(frozen=True)
class FallsOrFails(Substring):
    """0 where the answer stands in no passage, but for its blanks; of seven in ten undefined instead."""

    spec: ClassVar = MetricSpec("falls_or_fails", 1, needs=BOTH, low=0.0, high=1.0)

    def score(self, batch, features, /):
        texts = [" ".join(text.split()) for text in batch.response]
        found = np.array([text in passages[0] for text, passages in zip(texts, batch.contexts, strict=True)])
        fails = np.array([int(name.split(":")[0]) % 10 < 7 for name in batch.ids])
        return Scores.of(found.astype(float), undefined={"it stands nowhere": ~found & fails})


@dataclass(frozen=True)
class Length(Metric):
    """Characters of the answer; of no use, and in an open range."""

    spec: ClassVar = MetricSpec("length", 1, needs=RESPONSE, low=0.0, high=np.inf, higher_is_better=False)

    def score(self, batch, features, /):
        return Scores.of(np.array([len(text) for text in batch.response], dtype=float))


ERRORS = ("number_swap", "unit_swap", "entity_swap", "negation", "contexts_exchanged")


def test_a_constant_metric_is_blind_and_steady():
    result = bench(rows(60), [Constant()], cache=False)
    for cell in result.cells:
        wanted = {
            Kind.ERROR: {Verdict.BLIND, Verdict.NONE},
            Kind.HARMLESS: {Verdict.STEADY, Verdict.NONE},
            Kind.SUPPORTED: {Verdict.STEADY, Verdict.NONE},
            Kind.OTHER: {Verdict.STAYS},
        }[cell.kind]
        assert cell.verdict in wanted, cell
        assert (cell.verdict is Verdict.NONE) is (cell.pairs == 0), cell
        assert cell.pairs + cell.lost + cell.not_applicable == result.rows


def test_a_metric_that_reads_the_passages_sees_every_error():
    result = bench(rows(60), [Substring()], ERRORS, cache=False)
    assert {cell.perturbation: cell.verdict for cell in result.cells} == dict.fromkeys(
        PERTURBATIONS.keys() & set(ERRORS), Verdict.SEES
    )
    for cell in result.cells:
        assert (cell.pairs, cell.share, cell.median_change) == (60, 1.0, -1.0)
    assert [cell.perturbation for cell in result.cells] == [n for n in PERTURBATIONS if n in ERRORS]


def test_every_metric_is_held_to_one_rate_of_false_alarms():
    result = bench(rows(), [Substring(), Constant(), Length()], ["number_swap", "framed"], cache=False)
    alarms = {alarm.metric: alarm for alarm in result.alarms}
    # A frame breaks every copied answer as much as an error does, and so nothing stands out.
    assert (alarms["substring"].fall, alarms["substring"].alarms, alarms["substring"].paraphrases) == (
        1,
        0,
        24,
    )
    assert result.cell("substring", "number_swap").seen == 0.0
    assert result.cell("constant", "number_swap").seen == 0.0
    assert result.cell("length", "framed").seen is None
    spaced = bench(rows(), [Substring()], ["number_swap", "contractions"], cache=False)
    assert spaced.alarms == ()
    assert spaced.cell("substring", "number_swap").seen is None


def test_what_fails_closed_is_lost_and_never_seen():
    result = bench(rows(), [FailsClosed()], ["number_swap", "passages_shuffled"], cache=False)
    swapped, shuffled = result.cells
    assert (swapped.pairs, swapped.lost, swapped.share) == (0, 24, 0.5)
    assert (swapped.median_change, swapped.unchanged, swapped.mean_change) == (None, None, None)
    assert swapped.verdict is Verdict.BLIND
    assert swapped.reasons == {"after, undefined: it stands nowhere": 24}
    assert (shuffled.lost, shuffled.verdict) == (0, Verdict.STEADY)


def test_an_error_that_leaves_no_value_is_half_a_success_and_not_seen():
    result = bench(
        rows(60), [FallsOrFails()], ["number_swap", "refusal", "bullets", "white_space"], cache=False
    )
    swapped, refused = result.cell("falls_or_fails", "number_swap"), result.cell("falls_or_fails", "refusal")
    assert (swapped.pairs, swapped.lost, swapped.unchanged) == (18, 42, 0.0)
    assert swapped.share == pytest.approx((18 + 42 / 2) / 60)
    assert swapped.seen == pytest.approx(18 / 60)
    assert swapped.verdict is Verdict.PARTLY
    assert (swapped.median_change, swapped.mean_change) == (0.0, 1.0)
    assert (refused.pairs, refused.lost, refused.share) == (18, 42, 1.0)
    page = bench_markdown(result)
    assert "| number_swap | 60 | partly 0.65 [" in page
    assert page.count(", 42 lost |") == 3


def test_a_row_without_a_value_beforehand_says_so():
    data = [row | {"response": "Nobody said 12 of this."} for row in rows()]
    (cell,) = bench(data, [FailsClosed()], ["number_swap"], cache=False).cells
    assert cell.reasons == {"before, undefined: it stands nowhere": 24}


def test_a_metric_that_reads_no_passages_is_not_asked_about_them():
    result = bench(rows(), [Length()], ["irrelevant_behind", "fluff_added"], cache=False)
    assert [cell.verdict for cell in result.cells] == [Verdict.NONE, Verdict.FALLS]
    assert result.cells[0].pairs == 24


def test_the_matrix_is_the_same_in_any_order_of_the_data():
    data = rows()
    ahead = bench(data, [Substring(), Length()], cache=False, seed=4)
    back = bench(data[::-1], [Substring(), Length()], cache=False, seed=4)
    numbers = [
        (cell.metric, cell.perturbation, cell.pairs, cell.share, cell.median_change) for cell in ahead.cells
    ]
    assert numbers == [(c.metric, c.perturbation, c.pairs, c.share, c.median_change) for c in back.cells]
    assert ahead == bench(data, [Substring(), Length()], cache=False, seed=4)


def test_only_grounded_rows_are_perturbed_and_at_most_n():
    data = rows(12) + [row | {"id": f"bad{k}"} for k, row in enumerate(rows(30, label=0))]
    assert bench(data, [Length()], ["refusal"], cache=False).rows == 12
    some = bench(data, [Length()], ["refusal"], n=11, cache=False)
    assert (some.rows, some.cells[0].pairs) == (11, 11)


def test_data_without_labels_is_taken_for_grounded_and_says_so():
    data = [{key: value for key, value in row.items() if key != "label"} for row in rows()]
    result = bench(data, [Length()], ["refusal"], cache=False)
    assert result.rows == 24
    assert result.notes == ("The data has no labels, so all rows count as grounded.",)


def test_few_rows_give_no_verdict_and_a_note():
    result = bench(rows(4), [Substring()], ["number_swap"], cache=False)
    assert result.cells[0].verdict is Verdict.TOO_FEW
    assert result.cells[0].share == 1.0
    assert "10 pairs" in result.notes[0]


def test_each_text_is_embedded_once():
    embedder = HashEmbedder()
    bench(rows(), ["sgi", "theta_rc"], ERRORS, embedder=embedder, cache=False)
    assert len(embedder.texts_seen) == len(set(embedder.texts_seen))


def test_without_metrics_every_built_in_one_is_taken_that_has_its_fields():
    result = bench(rows(3), None, ["refusal"], embedder=HashEmbedder(), cache=False)
    assert {"sgi", "sgi_bounded", "grounding", "theta_rq"} <= set(result.metrics)
    assert not {"rouge_l", "faithfulness", "ragas_faithfulness"} & set(result.metrics)


def test_a_perturbation_of_ones_own_stands_behind_the_named_ones():
    shout = Perturbation(
        "shout",
        Kind.HARMLESS,
        RESPONSE,
        "In capitals.",
        lambda s, _draw, _others: s.with_response(s.response.upper()),
    )
    result = bench(rows(), [Substring()], [shout, "refusal"], cache=False)
    assert [change.name for change in result.changes] == ["refusal", "shout"]
    assert result.cell("substring", "shout").verdict is Verdict.STEADY
    assert result.cell("substring", "nothing") is None
    assert [change.name for change in bench(rows(), [Substring()], [shout], cache=False).changes] == ["shout"]


def test_it_runs_within_an_event_loop_and_tells_of_its_progress():
    heard = []

    async def within():
        return bench(rows(), [Length()], ["refusal"], cache=False, listener=heard.append)

    assert asyncio.run(within()).rows == 24
    assert [type(event) for event in heard] == [ColumnsRead, Started, Advanced, Finished]


def test_a_bench_is_json_of_its_schema_and_reads_back():
    result = bench(rows(), [Substring(), FailsClosed()], cache=False)
    assert Bench.model_validate_json(result.model_dump_json()) == result
    schema = Bench.model_json_schema()
    assert set(schema["$defs"]["Cell"]["properties"]) == set(Cell.model_fields)
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"data": rows(label=0)}, DataError, "no grounded row"),
        ({"data": []}, DataError, "0 rows"),
        ({"n": 0}, UsageError, "at least 1"),
        ({"metrics": ["rouge_l"]}, UsageError, "needs reference"),
        ({"metrics": ["sgii"]}, UnknownNameError, "sgi"),
        ({"changes": ["swap"]}, UnknownNameError, "perturbation"),
        ({"changes": ["reply_cut"]}, UsageError, "needs a judge"),
        ({"changes": [PERTURBATIONS["refusal"], "refusal"]}, UsageError, "refusal is given twice"),
        ({"changes": [FAULTS["reply_cut"], FAULTS["reply_cut"]]}, UsageError, "reply_cut is given twice"),
        ({"metrics": ["faithfulness"]}, UsageError, "judge is needed"),
        (
            {"metrics": ["theta_rc"], "judge": "openai:m@http://127.0.0.1:1/v1"},
            UsageError,
            "no metric needs it",
        ),
    ],
)
def test_what_cannot_be_done_is_told_before_any_work(arguments, error, message):
    with pytest.raises(error, match=message):
        bench(**{"data": rows(), "metrics": [Length()], "cache": False, **arguments})


def test_a_bug_in_a_metric_is_raised_with_the_row():
    @dataclass(frozen=True)
    class Broken(Length):
        def score(self, batch, features, /):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        bench(rows(), [Broken()], ["refusal"], cache=False)
    assert "0:r0" in caught.value.__notes__[0]


def test_more_metrics_and_changes_make_the_intervals_wider():
    alone = bench(rows(), [Substring()], ["number_swap"], cache=False).cells[0]
    beside = bench(rows(), [Constant(), Substring()], ["number_swap", "entity_swap"], cache=False)
    among = beside.cell("substring", "number_swap")
    assert (among.share, among.seen) == (alone.share, alone.seen)
    assert among.low < alone.low
