from __future__ import annotations

import anyio
import pytest

from sgi.kernel.errors import BudgetExceededError, JudgeError, UsageError
from sgi.kernel.registry import metric
from sgi.kernel.sample import Sample
from sgi.service.shared_resources import shared_judge
from support.judged_metrics import Echo, RuleJudge

METRICS = (Echo(),)
SAMPLE = Sample(id="a", question="Who?", response="Thank you.")


class Spent(RuleJudge):
    """Has no money left."""

    async def ask(self, inquiry, schema, /):
        raise BudgetExceededError("It has cost enough.", hint="Raise the limit.")


def test_an_application_goes_on_when_the_money_is_spent():
    async def use():
        shared = shared_judge(METRICS, Spent())
        return await METRICS[0].ask(SAMPLE, await shared.get())

    with pytest.raises(JudgeError, match=r"It has cost enough\. Raise the limit\."):
        anyio.run(use)


def test_an_application_without_a_judge_is_told_at_once():
    with pytest.raises(UsageError, match="needed for echo"):
        shared_judge(METRICS, None)
    assert anyio.run(shared_judge([metric("squad_em")], None).get) is None
