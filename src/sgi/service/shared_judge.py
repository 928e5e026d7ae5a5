"""The judge of a service: opened at first use, shared by its tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from sgi.engine.model_wrappers import JudgeWrapper
from sgi.engine.open_resources import open_judge
from sgi.engine.plan import missing_judge
from sgi.kernel.errors import BudgetExceededError, JudgeError
from sgi.kernel.judged_metric import judged_metrics
from sgi.kernel.prompts import ReplyModel
from sgi.service.shared import Shared

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AsyncExitStack
    from pathlib import Path

    from sgi.engine.open_resources import JudgeLike
    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.prompts import Inquiry
    from sgi.kernel.protocols import Judge

T = TypeVar("T", bound=ReplyModel)


def shared_judge(
    metrics: Sequence[AnyMetric], judge: JudgeLike | None, *, cache: bool | str | Path = True
) -> Shared[Judge | None]:
    """The judge of these metrics, opened at first use; the arguments are those of `open_judge`.

    Raises:
        UsageError: a metric asks a judge and none is named.
    """
    if judge is None and judged_metrics(metrics):
        raise missing_judge(judged_metrics(metrics))

    async def make(stack: AsyncExitStack) -> Judge | None:
        opened = await stack.enter_async_context(open_judge(metrics, judge, cache=cache))
        return opened and BudgetAsFailure(opened)

    return Shared(make)


class BudgetAsFailure(JudgeWrapper):
    """Turns an exhausted budget into failed scores, so that the application keeps running."""

    async def ask(self, inquiry: Inquiry, schema: type[T], /) -> T:
        """The reply of the judge; raises JudgeError once the budget is exhausted."""
        try:
            return await self._judge.ask(inquiry, schema)
        except BudgetExceededError as error:
            raise JudgeError(error.message, hint=error.hint) from error
