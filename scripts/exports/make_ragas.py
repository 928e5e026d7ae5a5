"""Write ragas evaluation datasets with the real package.

Run it in an environment with ``ragas``.
"""

from __future__ import annotations

from content import FOLDER, PASSAGES, TURNS, Turn
from ragas import EvaluationDataset, MultiTurnSample, SingleTurnSample
from ragas.messages import AIMessage, HumanMessage, ToolCall, ToolMessage


def single(turn: Turn) -> SingleTurnSample:
    return SingleTurnSample(
        user_input=turn.question,
        retrieved_contexts=[PASSAGES[key] for key in turn.passages] if turn.has_texts else None,
        retrieved_context_ids=[f"doc-{key}" for key in turn.passages],
        response=turn.answer,
        reference=turn.reference,
    )


def session() -> MultiTurnSample:
    messages: list[HumanMessage | AIMessage | ToolMessage] = []
    for turn in (turn for turn in TURNS if turn.session):
        messages.append(HumanMessage(content=turn.question))
        messages.append(AIMessage(content=turn.answer or ""))
    return MultiTurnSample(user_input=messages, reference_topics=["visits", "tides"])


def with_tool(turn: Turn) -> MultiTurnSample:
    name, arguments, result = turn.tool or ("", {}, "")
    return MultiTurnSample(
        user_input=[
            HumanMessage(content=turn.question),
            AIMessage(content="I look it up.", tool_calls=[ToolCall(name=name, args=arguments)]),
            ToolMessage(content=result),
            AIMessage(content=turn.answer or ""),
        ],
        reference_tool_calls=[ToolCall(name=name, args=arguments)],
    )


def main() -> None:
    turns = [single(turn) for turn in TURNS if turn.session is None]
    dataset = EvaluationDataset(samples=[*turns])
    dataset.to_jsonl(FOLDER / "ragas_dataset.jsonl")
    dataset.to_csv(FOLDER / "ragas_dataset.csv")
    dataset.to_pandas().to_parquet(FOLDER / "ragas_dataset.parquet")
    tool = next(turn for turn in TURNS if turn.tool)
    EvaluationDataset(samples=[session(), with_tool(tool)]).to_jsonl(FOLDER / "ragas_multi_turn.jsonl")


if __name__ == "__main__":
    main()
