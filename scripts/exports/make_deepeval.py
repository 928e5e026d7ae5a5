"""Write DeepEval test runs and datasets with the real package; its metric needs no model.

Run it in an environment with ``deepeval``.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

os.environ.update(
    DEEPEVAL_TELEMETRY_OPT_OUT="YES", DEEPEVAL_UPDATE_WARNING_OPT_OUT="YES", ERROR_REPORTING="NO"
)

from content import FOLDER, PASSAGES, TURNS, Turn
from deepeval import evaluate
from deepeval.dataset import EvaluationDataset, Golden
from deepeval.evaluate import AsyncConfig, DisplayConfig
from deepeval.metrics import BaseConversationalMetric, BaseMetric
from deepeval.test_case import ConversationalTestCase, LLMTestCase, ToolCall
from deepeval.test_case import Turn as Message


class HasAnswer(BaseMetric):
    """Whether the answer has a text."""

    def __init__(self) -> None:
        self.threshold, self.async_mode, self.evaluation_model = 0.5, False, "none"

    @property
    def __name__(self) -> str:
        return "Has Answer"

    def measure(self, test_case: LLMTestCase, *_: Any, **__: Any) -> float:
        self.score = float(bool(test_case.actual_output))
        self.success, self.reason = (
            self.score >= self.threshold,
            "The answer has a text." if self.score else "It is empty.",
        )
        return self.score

    async def a_measure(self, test_case: LLMTestCase, *_: Any, **__: Any) -> float:
        return self.measure(test_case)

    def is_successful(self) -> bool:
        return bool(self.success)


class HasTurns(BaseConversationalMetric):
    """Whether the conversation has turns."""

    def __init__(self) -> None:
        self.threshold, self.async_mode, self.evaluation_model = 0.5, False, "none"

    @property
    def __name__(self) -> str:
        return "Has Turns"

    def measure(self, test_case: ConversationalTestCase, *_: Any, **__: Any) -> float:
        self.score = float(bool(test_case.turns))
        self.success, self.reason = True, "It has turns."
        return self.score

    async def a_measure(self, test_case: ConversationalTestCase, *_: Any, **__: Any) -> float:
        return self.measure(test_case)

    def is_successful(self) -> bool:
        return bool(self.success)


def passages(turn: Turn) -> list[str] | None:
    return [PASSAGES[key] for key in turn.passages] if turn.has_texts else None


def single(turn: Turn) -> LLMTestCase:
    tool = turn.tool
    return LLMTestCase(
        name=turn.name,
        input=turn.question,
        actual_output=turn.answer or "",
        expected_output=turn.reference,
        retrieval_context=passages(turn),
        context=["The Kerrow Sound tidal power station."] if turn.name == "opening" else None,
        tools_called=[ToolCall(name=tool[0], input_parameters=tool[1], output=tool[2])] if tool else None,
        tags=["rag"],
    )


def conversation() -> ConversationalTestCase:
    turns = []
    for turn in (turn for turn in TURNS if turn.session):
        turns.append(Message(role="user", content=turn.question))
        turns.append(Message(role="assistant", content=turn.answer, retrieval_context=passages(turn)))
    return ConversationalTestCase(name="tour", scenario="A visitor plans a tour.", turns=turns)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        turns = [turn for turn in TURNS if turn.session is None and turn.error is None]
        display = DisplayConfig(show_indicator=False, print_results=False, results_folder=folder)
        calm = AsyncConfig(run_async=False)
        evaluate([*map(single, turns)], [HasAnswer()], display_config=display, async_config=calm)
        (made,) = Path(folder).glob("test_run_*.json")
        values = json.loads(made.read_text())
        (FOLDER / "deepeval_test_run.json").write_text(dumped(values), encoding="utf-8")
        made.unlink()
        evaluate([conversation()], [HasTurns()], display_config=display, async_config=calm)
        (made,) = Path(folder).glob("test_run_*.json")
        (FOLDER / "deepeval_conversation.json").write_text(
            dumped(json.loads(made.read_text())), encoding="utf-8"
        )
    cases = [single(turn) for turn in turns]
    goldens = [
        Golden(
            name=case.name,
            input=case.input,
            actual_output=case.actual_output,
            expected_output=case.expected_output,
            retrieval_context=case.retrieval_context,
            context=case.context,
        )
        for case in cases
    ]
    for kind in ("json", "jsonl", "csv"):
        EvaluationDataset(goldens=goldens).save_as(kind, str(FOLDER), "deepeval_dataset")


def dumped(values: Any) -> str:
    return json.dumps(values, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    main()
