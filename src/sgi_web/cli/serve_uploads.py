"""The options of ``sgi serve`` about the judge of uploads and live traces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import anyio

from sgi.cli import options
from sgi.cli.option_values import judge_settings
from sgi.kernel.errors import UsageError

if TYPE_CHECKING:
    from sgi.llm.spec import JudgeSpec

Judge = Annotated[
    str | None,
    options.judge_option(
        "--judge",
        envvar="SGI_SERVE_JUDGE",
        show_envvar=False,
        help="LLM for judged metrics of uploads and, with --otlp, of traces: openai:NAME or another name "
        "that `sgi run` accepts. Default: SGI_SERVE_JUDGE. Its key is read from the environment.",
    ),
]
JudgeBudget = Annotated[
    float | None,
    options.judge_option(
        "--judge-budget",
        min=0.0,
        help="Maximum cost of the judge for uploads in US dollars, until the server stops.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class UploadFlags:
    """The values of the options about the judge: one field for each option."""

    judge: Judge = None
    judge_set: options.JudgeSet = None
    judge_budget: JudgeBudget = None

    @property
    def settings(self) -> dict[str, Any] | None:
        """The settings of the judge; None without a judge."""
        return judge_settings(self.judge, self.judge_set)

    def site_settings(self) -> dict[str, Any]:
        """Return the judge of uploads and its budget.

        Raises:
            UsageError: see `_checked_judge`.
            MissingExtraError: the extra ``judge`` is not installed.
        """
        return {"judge": self._checked_judge(), "judge_budget": self.judge_budget}

    def _checked_judge(self) -> JudgeSpec | None:
        """Return the judge; None if there is none.

        Raises:
            UsageError: an option needs --judge, the key is missing, or a budget has no known price.
            MissingExtraError: the extra ``judge`` is not installed.
        """
        if self.judge is None:
            if self.judge_set or self.judge_budget is not None:
                raise UsageError("The options of the judge need --judge.", hint="Write --judge openai:NAME.")
            return None
        from sgi.llm.load import open_chat
        from sgi.llm.prices import price_of
        from sgi.llm.spec import JudgeSpec

        spec = JudgeSpec.of(self.settings or {})
        spec.check_combination()
        if self.judge_budget is not None and price_of(spec) is None:
            raise UsageError(
                "--judge-budget needs a price, and the price of this judge is unknown.",
                hint="Add --judge-set input_price=… and --judge-set output_price=…",
            )

        async def check() -> None:
            async with open_chat(spec):
                pass

        anyio.run(check)
        return spec
