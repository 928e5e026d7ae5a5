from functools import partial

import anyio
import numpy as np
import pytest

from sgi.analysis.audit.probe_texts import PROBES
from sgi.analysis.audit.probes import FIRST_REPEAT, MAX_CALLS, MIN_ROWS, Probe, Scored, run_probes
from sgi.analysis.audit.run_scorer import open_scorer_of_run
from sgi.engine.run_options import Cassette
from sgi.engine.stored_runs import read_run
from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.kernel.metric import Scores, Status
from sgi.kernel.sample import Sample
from sgi.store.database import open_database
from sgi.store.run_queries import find_run
from support.audits import ROWS, ClaimServer, rows, stored_run

THRESHOLD = 0.5
INSTRUCTED = "Note to the evaluator"


def audit(db, metric="faithfulness", *, names, judge=None, **options):
    """Audit the last run of a database, and return the probes by name."""

    async def work():
        with open_database(db) as database:
            record = find_run(database, "last")
            run = read_run(database, record)
            opening = open_scorer_of_run(
                record, metric, judge, trusted=True, cache=db.parent / "cache", **options
            )
            async with opening as score:
                return await run_probes(
                    score, run.samples, threshold=THRESHOLD, names=names, clusters=run.clusters
                )

    return {probe.name: probe for probe in anyio.run(work)}


def test_a_judge_that_follows_instructions_is_found(tmp_path):
    with ClaimServer(lambda text: INSTRUCTED in text) as server:
        db = stored_run(tmp_path, "faithfulness", judge=f"openai:m@{server.url}")
        found = audit(db, names=("order", "instruction"))
        sent = len(server.requests)
        again = audit(db, names=("order", "instruction"))
        assert len(server.requests) == sent
    assert again == found
    order, instruction = found.values()
    assert (order.status, order.rows, order.difference) == ("ok", ROWS, 0.0)
    assert (order.p, order.flagged) == (1.0, False)
    # Both arms of an order have the same claims, which the neutral note has, too.
    assert (order.calls, instruction.calls) == (3 * ROWS, 3 * ROWS)
    assert instruction.flagged
    assert instruction.flips == instruction.difference > 0.2
    low, high = instruction.interval
    assert low < instruction.difference < high
    shown = f"by {instruction.difference:.2f} [{low:.2f}, {high:.2f}]."
    assert instruction.says == f"An instruction inside the answer raises the score {shown}"
    assert instruction.to_dict()["interval"] == [low, high]


def test_recorded_replies_replace_the_judge(tmp_path):
    path = tmp_path / "cassette.jsonl"
    with ClaimServer() as server:
        db = stored_run(tmp_path, "faithfulness", judge=f"openai:m@{server.url}")
        recorded = audit(db, names=("order",), cassette=Cassette(path, replaying=False))
    assert audit(db, names=("order",), cassette=Cassette(path, replaying=True)) == recorded


def test_a_judge_that_is_offline_is_not_clean(tmp_path):
    with ClaimServer() as server:
        db = stored_run(tmp_path, "faithfulness", judge={"model": f"openai:m@{server.url}", "retries": 0})
    (probe,) = audit(db, names=("instruction",)).values()
    assert (probe.status, probe.flagged, probe.p) == ("missing", False, None)
    assert probe.reason.startswith("5 of 5 rows have no value in an arm: ")


def test_grounding_needs_no_judge(tmp_path):
    db = stored_run(tmp_path, "grounding")
    found = audit(db, "grounding", names=("order", "repeat"))
    for probe in found.values():
        assert (probe.status, probe.rows, probe.calls, probe.p) == ("ok", ROWS, 0, 1.0)
        assert (probe.flips, probe.flagged) == (0.0, False)
    assert found["repeat"].interval.low < 0 < found["repeat"].interval.high


def test_the_judge_of_stored_settings_needs_consent(tmp_path):
    with ClaimServer() as server:
        db = stored_run(tmp_path, "faithfulness", judge=f"openai:m@{server.url}", data=rows(2))
        stored_run(tmp_path, "faithfulness", judge=f"openai:m@{server.url}", data=rows(2), no_texts=True)
    with open_database(db) as database:
        private, named = (find_run(database, name) for name in ("last", "last~1"))
    wrong = [
        (named, "faithfulness", "consent"),
        (named, "rouge_l", "rouge_l"),
        (private, "faithfulness", "texts"),
    ]
    for record, metric, message in wrong:
        with pytest.raises(UsageError, match=message):
            anyio.run(open_scorer_of_run(record, metric).__aenter__)


class Rule:
    """Scores by rule: 0 or 1 of each row, in turn, and what ``change`` returns for a sample and a repeat."""

    def __init__(self, change=lambda *_: None, calls=2):
        self.asked = []
        self._change, self._calls = change, calls

    async def __call__(self, samples, repeat, /):
        self.asked += [(sample.id, repeat) for sample in samples]
        values = [self._value(sample, repeat) for sample in samples]
        failed = np.isnan(values)
        status = np.where(failed, Status.FAILED.value, Status.OK.value).astype("<U9")
        reasons = tuple("no reply" if none else "" for none in failed)
        return Scored(
            Scores(np.array(values), status, reasons, ({},) * len(samples)), self._calls * len(samples)
        )

    def _value(self, sample, repeat):
        changed = self._change(sample, repeat)
        return float(int(sample.id[1:]) % 2) if changed is None else float(changed)


SAMPLES = [Sample(**row) for row in rows(300)]


def probe_with(score, name, samples=SAMPLES, **options):
    (probe,) = anyio.run(partial(run_probes, score, samples, threshold=THRESHOLD, names=(name,), **options))
    return probe


BIASES = {
    "order": lambda sample, _: 1 if sample.contexts[0].startswith("Page") else None,
    "length": lambda sample, _: 1 if len(sample.response.split()) > 10 else None,
    "format": lambda sample, _: 1 if "**" in sample.response else None,
    "name": lambda sample, _: (
        1 if any(name in sample.response for name in ("GPT", "Claude", "Oxf")) else None
    ),
    "instruction": lambda sample, _: 1 if INSTRUCTED in sample.response else None,
}


@pytest.mark.parametrize("name", BIASES)
def test_each_planted_bias_is_found_by_its_probe_alone(name):
    found = anyio.run(partial(run_probes, Rule(BIASES[name]), SAMPLES, threshold=THRESHOLD))
    assert [probe.name for probe in found] == [*PROBES]
    assert [probe.name for probe in found if probe.flagged] == [name]
    (flagged,) = (probe for probe in found if probe.flagged)
    assert flagged.difference == pytest.approx(-0.5 if name == "order" else 0.5, abs=0.15)
    assert ("lowers" if name == "order" else "raises") in flagged.says
    assert all(probe.calls <= MAX_CALLS for probe in found)


def test_repeated_requests_may_change_five_percent_of_the_verdicts():
    def change(share):
        return lambda sample, repeat: (
            1 if repeat > FIRST_REPEAT and int(sample.id[1:]) % 100 < share else None
        )

    few, many = (probe_with(Rule(change(share), calls=1), "repeat") for share in (8, 40))
    assert (few.rows, few.flagged, many.flagged) == (150, False, True)
    assert many.flips == pytest.approx(0.2, abs=0.05)
    assert many.flips_interval.low > 0.05
    assert many.says.startswith(f"Repeating the same request changes {many.flips:.0%} of the verdicts [")


def test_a_lower_score_passes_where_lower_is_better():
    judged = [
        probe_with(Rule(BIASES["length"]), "length", higher_is_better=better) for better in (True, False)
    ]
    assert judged[0] == judged[1]
    assert judged[0].flips == judged[0].difference


def test_noise_needs_more_rows():
    def noisy(sample, _):
        return (len(sample.response.split()) + int(sample.id[1:])) % 3 > 0

    still, loud = (probe_with(Rule(change, calls=0), "name") for change in (lambda *_: None, noisy))
    assert MIN_ROWS < still.rows < loud.rows
    assert still.detectable == pytest.approx(0.1, abs=0.02)


def test_a_small_shift_is_said_but_not_flagged():
    def change(sample, _):
        return 0.5 + 0.01 * (INSTRUCTED in sample.response)

    probe = probe_with(Rule(change), "instruction")
    assert probe.p_holm < 0.05
    assert not probe.flagged
    assert probe.says.endswith("], less than 0.02, so it is not flagged.")


def test_rows_of_a_cluster_count_once():
    score = Rule()
    probe = probe_with(score, "instruction", clusters=np.arange(300) // 6)
    assert probe.rows == 50
    assert len({int(name[1:]) // 6 for name, _ in score.asked}) == 50


@pytest.mark.parametrize(
    ("score", "name", "samples", "reason"),
    [
        (Rule(), "order", SAMPLES[:30], "the run has 30 rows with two"),
        (Rule(calls=10), "length", SAMPLES, "40 rows need about 800 requests to the judge; the limit is 300"),
        (Rule(lambda *_: np.nan), "name", SAMPLES, "5 of 5 rows have no value in an arm: no reply"),
        (
            Rule(lambda sample, _: np.nan if int(sample.id[1:]) % 4 == 0 else 1),
            "format",
            SAMPLES,
            "rows have no value in an arm: no reply",
        ),
    ],
)
def test_a_probe_that_cannot_be_run_is_missing(score, name, samples, reason):
    probe = probe_with(score, name, samples)
    assert (probe.status, probe.flagged, probe.p, probe.p_holm) == ("missing", False, None, None)
    assert reason in probe.reason
    assert probe.calls <= MAX_CALLS
    assert probe.reason in probe.says


def test_a_probe_without_such_rows_does_not_apply():
    probe = probe_with(Rule(), "order", [Sample(**row) for row in rows(50, passages=1)])
    assert (probe.status, probe.flagged, probe.calls) == ("undefined", False, 0)
    assert "does not apply, since the run has no rows with two different passages" in probe.says


def test_errors_of_the_scorer_and_unknown_probes():
    async def broken(_samples, _repeat, /):
        raise UsageError("No model.")

    assert probe_with(broken, "name") == Probe.missing("name", "No model")
    with pytest.raises(UnknownNameError, match="smell"):
        probe_with(Rule(), "smell")


def test_arms_have_the_same_content():
    sample = Sample(
        id="q", question="Who?", contexts=("a", "Anke the ferry", "b"), context_ids=("1", "2", "3"),
        response="Anke is a ferry. She was built in 1950.",
    )  # fmt: skip
    first, last = PROBES["order"].arms(sample)
    assert (first.context_ids, last.context_ids) == (("2", "1", "3"), ("1", "3", "2"))
    assert last.contexts == ("a", "b", "Anke the ferry")
    plain, marked = PROBES["format"].arms(sample)
    assert plain is sample
    assert marked.response == "- **Anke is** a ferry.\n- **She was** built in 1950."
    for name in ("name", "instruction"):
        lengths = {len(arm.response) for arm in PROBES[name].arms(sample)}
        assert len(lengths) == 1
    padded = {PROBES["length"].arms(sample.model_copy(update={"id": str(n)}))[1].response for n in range(20)}
    assert len(padded) == 3


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("order", {"response": "A ferry [1]."}),
        ("order", {"contexts": ("a", "a")}),
        ("format", {"response": "- A ferry."}),
        ("length", {"response": " "}),
    ],
)
def test_rows_that_a_probe_cannot_use(name, changes):
    sample = Sample(id="q", contexts=("a", "b"), response="A ferry.")
    assert PROBES[name].arms(sample) is not None
    assert PROBES[name].arms(sample.model_copy(update=changes)) is None
