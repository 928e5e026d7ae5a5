"""Write logs of OpenAI's API with the types of the real package; no model is asked.

Run it in an environment with ``openai``.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from content import FOLDER, MODEL, PASSAGES, SYSTEM, TURNS, Turn
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionMessageParam

START = 1_795_000_000
TOOL = {
    "type": "function",
    "function": {
        "name": "search_documents",
        "description": "Search the documents of the station.",
        "parameters": {"type": "object", "properties": {"query": {"type": "string"}}},
    },
}


def messages(turn: Turn) -> list[ChatCompletionMessageParam]:
    """Return the messages of a request after the model called the search tool."""
    result = [
        {"id": f"doc-{key}", **({"text": PASSAGES[key]} if turn.has_texts else {})} for key in turn.passages
    ]
    call = {"id": f"call_{turn.name}", "type": "function"}
    arguments = json.dumps({"query": turn.question}, ensure_ascii=False)
    return [
        {"role": "user", "content": turn.question},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{**call, "function": {"name": "search_documents", "arguments": arguments}}],
        },
        {
            "role": "tool",
            "tool_call_id": call["id"],
            "content": json.dumps({"results": result}, ensure_ascii=False),
        },
    ]


def completion(turn: Turn, number: int) -> ChatCompletion:
    return ChatCompletion.model_validate(
        {
            "id": f"chatcmpl-{turn.name}",
            "object": "chat.completion",
            "created": START + number,
            "model": MODEL,
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "logprobs": None,
                    "message": {"role": "assistant", "content": turn.answer, "refusal": None},
                }
            ],
            "usage": {"prompt_tokens": 100, "completion_tokens": 12, "total_tokens": 112},
        }
    )


def response(turn: Turn, number: int) -> Response:
    """Return a reply of the Responses API that searched files."""
    found = [
        {
            "file_id": f"file-{key}",
            "filename": f"{key}.md",
            "score": round(0.9 - 0.1 * rank, 2),
            "attributes": {},
            **({"text": PASSAGES[key]} if turn.has_texts else {}),
        }
        for rank, key in enumerate(turn.passages)
    ]
    cited = [
        {"type": "file_citation", "index": 0, "file_id": item["file_id"], "filename": item["filename"]}
        for item in found[:1]
    ]
    text = {"type": "output_text", "text": turn.answer, "annotations": cited}
    output = [
        {
            "type": "file_search_call",
            "id": f"fs_{turn.name}",
            "status": "completed",
            "queries": [turn.question],
        },
        {
            "type": "message",
            "id": f"msg_{turn.name}",
            "role": "assistant",
            "status": "completed",
            "content": [text],
        },
    ]
    output[0]["results"] = found
    return Response.model_validate(
        {
            "id": f"resp_{turn.name}",
            "object": "response",
            "created_at": START + number,
            "model": MODEL,
            "status": "failed" if turn.error else "completed",
            "error": {"code": "server_error", "message": turn.error} if turn.error else None,
            "output": [] if turn.error else output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [{"type": "file_search", "vector_store_ids": ["vs_kerrow"]}],
        }
    )


def chat_log() -> list[dict[str, Any]]:
    """Return a log of requests and responses; the session's turns carry the history."""
    lines = []
    history: list[Any] = []
    for number, turn in enumerate(TURNS):
        before = history if turn.session else []
        own = messages(turn)
        request = {
            "model": MODEL,
            "messages": [{"role": "system", "content": SYSTEM}, *before, *own],
            "tools": [TOOL],
        }
        line: dict[str, Any] = {"request": request, "response": None, "error": turn.error}
        if turn.error is None:
            line["response"] = completion(turn, number).model_dump(mode="json")
        if turn.session:
            line["request"]["metadata"] = {"session_id": turn.session}
            history = [*history, *own, {"role": "assistant", "content": turn.answer}]
        lines.append(line)
    return lines


def batch() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the lines of a batch's input file and output file."""
    asked, answered = [], []
    for number, turn in enumerate(turn for turn in TURNS if turn.session is None):
        body = {"model": MODEL, "messages": [{"role": "system", "content": SYSTEM}, *messages(turn)]}
        asked.append({"custom_id": turn.name, "method": "POST", "url": "/v1/chat/completions", "body": body})
        line: dict[str, Any] = {
            "id": f"batch_req_{number}",
            "custom_id": turn.name,
            "response": None,
            "error": None,
        }
        if turn.error:
            line["error"] = {"code": "batch_expired", "message": turn.error}
        else:
            reply = completion(turn, number).model_dump(mode="json")
            line["response"] = {"status_code": 200, "request_id": f"req_{number}", "body": reply}
        answered.append(line)
    return asked, answered


def fine_tuning() -> list[dict[str, Any]]:
    """Return examples for fine-tuning: single turns, and a session of several."""
    tour = [turn for turn in TURNS if turn.session]
    conversation = [
        message
        for turn in tour
        for message in (
            {"role": "user", "content": turn.question},
            {"role": "assistant", "content": turn.answer},
        )
    ]
    single = [
        [*messages(turn), {"role": "assistant", "content": turn.answer}]
        for turn in TURNS
        if turn.session is None and turn.answer
    ]
    return [{"messages": [{"role": "system", "content": SYSTEM}, *own]} for own in (*single, conversation)]


def main() -> None:
    asked, answered = batch()
    write("openai_chat_log.jsonl", chat_log())
    write("openai_completions.jsonl", [row["response"] for row in chat_log() if row["response"]])
    write("openai_batch_output.jsonl", answered)
    write("openai_batch_joined.jsonl", [*asked, *answered])
    write("openai_fine_tuning.jsonl", fine_tuning())
    responses = [
        {
            "request": {"model": MODEL, "input": turn.question, "include": ["file_search_call.results"]},
            "response": response(turn, number).model_dump(mode="json"),
        }
        for number, turn in enumerate(TURNS)
    ]
    write("openai_responses.jsonl", responses)


def write(name: str, rows: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
