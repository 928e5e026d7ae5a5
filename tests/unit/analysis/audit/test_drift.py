from dataclasses import replace
from functools import partial

import anyio
import numpy as np

from sgi import api
from sgi.analysis.audit.drift import NO_CAUSE, NOT_RECORDED, Drift, measure_drift
from sgi.analysis.audit.probes import Scored
from sgi.analysis.audit.run_scorer import open_scorer_of_run
from sgi.engine.stored_runs import open_run
from sgi.kernel.errors import UsageError
from sgi.kernel.metric import Scores
from support.audits import ROWS, ClaimServer, rows, stored_run


def drift(db, judge, **options):
    """Compare the last run of a database with the judge as it is now."""

    async def work():
        run = open_run(db=db)
        opening = open_scorer_of_run(run.record, "faithfulness", judge, cache=db.parent / "cache")
        async with opening as score:
            return await measure_drift(
                score, run, "faithfulness", threshold=0.5, provenance=score.provenance, **options
            )

    return anyio.run(work)


def test_a_changed_model_is_found_behind_the_same_name(tmp_path):
    with ClaimServer() as server:
        judge = f"openai:m@{server.url}"
        db = stored_run(tmp_path, "faithfulness", judge=judge)
        stable = drift(db, judge, look=1)
        assert (stable.status, stable.rows, stable.calls) == ("ok", ROWS, 4 * ROWS)
        assert (stable.changed, stable.noise, stable.difference) == (0.0, 0.0, 0.0)
        assert (stable.p, stable.drifted, stable.causes) == (1.0, False, ())
        server.strict = True
        assert drift(db, judge, look=1) == stable  # the replies of the same day are cached
        changed = drift(db, judge, look=2)
    assert changed.drifted
    assert changed.causes == (NO_CAUSE,)
    assert changed.changed == -changed.difference > 0.5
    assert changed.noise == 0.0
    assert changed.difference_interval.high < 0
    assert changed.says.endswith(f"0% between two new requests: {NO_CAUSE}.")
    assert changed.to_dict()["interval"] == [*changed.interval]


def test_a_judge_that_is_offline_has_not_stayed_the_same(tmp_path):
    with ClaimServer() as server:
        judge = {"model": f"openai:m@{server.url}", "retries": 0}
        db = stored_run(tmp_path, "faithfulness", judge=judge)
    found = drift(db, judge)
    assert (found.status, found.drifted, found.p) == ("missing", False, None)
    assert found.reason.startswith(f"{ROWS} of {ROWS} rows have no new score: ")
    assert found.says.startswith("Whether the judge has changed is not known: ")


async def _same(samples, _repeat, /):
    return Scored(Scores.of(np.ones(len(samples))), 0)


async def _broken(_samples, _repeat, /):
    raise UsageError("No model.")


def compared(db, metric="squad_em", score=_same, *, texts=True, now=None):
    run = open_run(db=db)
    run = run if texts else replace(run, read_samples=None)
    return anyio.run(partial(measure_drift, score, run, metric, threshold=0.5, provenance=now))


def test_causes_are_what_differs(tmp_path):
    db = stored_run(tmp_path, "squad_em", data=[row | {"reference": "?"} for row in rows()])
    (before,) = open_run(db=db).provenance.values()
    found = compared(db, now=replace(before, judge="openai:other", version=before.version + 1))
    assert found.drifted  # the stored scores are 0, the new ones 1
    assert [cause.partition(":")[0] for cause in found.causes] == ["version", "judge"]
    assert compared(db).causes == (NOT_RECORDED,)


def test_what_cannot_be_compared_is_missing(tmp_path):
    data = [row | {"reference": "?"} for row in rows()]
    db = stored_run(tmp_path, "squad_em", data=data)
    assert compared(db, "faithfulness").reason.endswith("has no metric faithfulness")
    assert compared(db, texts=False).reason.endswith("stores no texts")
    assert compared(db, score=_broken) == Drift.missing("No model.")
    stored_run(tmp_path, "squad_em", data=data, no_texts=True)
    assert compared(db).reason.endswith("stores no texts")
    stored_run(tmp_path, "squad_em", data=data[:39])
    assert "39 rows" in compared(db).reason


def test_an_audit_asks_the_judge_of_the_run_again_and_no_other(tmp_path):
    data = [row | {"label": number % 3 > 0} for number, row in enumerate(rows())]
    with ClaimServer() as server:
        judge = f"openai:m@{server.url}"
        db = stored_run(tmp_path, "faithfulness", judge=judge, data=data)
        audit = partial(api.audit, "last", "faithfulness", since="last", cache=tmp_path / "cache", db=db)
        same = audit(judge=judge, probes=("length",))
        other = audit(judge=f"openai:other@{server.url}", probes=("length",))
    assert (same.drift.status, same.drift.drifted) == ("ok", False)
    assert [(probe.name, probe.status) for probe in same.probes] == [("length", "ok")]
    assert [found.status for found in (other.drift, *other.probes)] == ["missing", "missing"]
    assert other.drift.reason.endswith("are not those of the run")
