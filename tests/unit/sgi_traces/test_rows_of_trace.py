import json

import pytest

from sgi.io.json_values import nest
from sgi.kernel.errors import DataError
from sgi_traces.assemble import rows_of_trace
from sgi_traces.span import Event, Span

KIND = "openinference.span.kind"
ROOT = {KIND: "CHAIN", "input.value": "Who?", "output.value": "She."}


def span(span_id, parent=None, attributes=None, **fields):
    return Span("t", span_id, parent, attributes=nest((attributes or {}).items()), **fields)


def documents(*texts, kind="RETRIEVER", name="retrieval.documents"):
    return {KIND: kind} | {f"{name}.{n}.document.content": text for n, text in enumerate(texts)}


def model(question=None, answer=None, **attributes):
    asked = {} if question is None else {"llm.input_messages.0.message.role": "user"}
    asked |= {} if question is None else {"llm.input_messages.0.message.content": question}
    replied = {} if answer is None else {"llm.output_messages.0.message.content": answer}
    return {KIND: "LLM"} | asked | replied | attributes


def row(*spans):
    (only,) = rows_of_trace(spans).rows
    return only.values


def test_children_may_come_before_their_parents():
    spans = [span("2", "1", documents("a")), span("3", "1", model("q", "r")), span("1", attributes=ROOT)]

    assert row(*spans) == row(*reversed(spans))


def test_retrievals_are_joined_without_duplicates():
    spans = [
        span("1", attributes=ROOT),
        span("2", "1", documents("a", "b")),
        span("3", "1", documents("b", "c")),
    ]

    assert row(*spans)["contexts"] == ["a", "b", "c"]
    assert row(*spans)["metadata"]["retrievals"] == 2


def test_a_retrieval_inside_a_retrieval_is_a_part_of_it():
    spans = [
        span("1", attributes=ROOT),
        span("2", "1", documents("best")),
        span("3", "2", documents("a", "best")),
        span("4", "3", documents("b")),
    ]

    assert row(*spans)["contexts"] == ["best"]


def test_a_retrieval_around_others_may_have_no_documents_itself():
    spans = [span("1", attributes=ROOT), span("2", "1", {KIND: "RETRIEVER"}), span("3", "2", documents("a"))]

    assert row(*spans)["contexts"] == ["a"]


def test_a_reranker_replaces_only_the_documents_that_it_received():
    ranked = documents("b", kind="RERANKER", name="reranker.output_documents")
    ranked |= {
        "reranker.input_documents.0.document.content": "a",
        "reranker.input_documents.1.document.content": "b",
    }
    spans = [
        span("1", attributes=ROOT, start=1),
        span("2", "1", documents("other"), start=2),
        span("3", "1", documents("a", "b"), start=3),
        span("4", "1", ranked, start=4),
        span("5", "1", documents("later"), start=5),
    ]

    assert row(*spans)["contexts"] == ["other", "b", "later"]


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        ((None, None), "2 retrieved documents have no text"),
        ((None,), "1 retrieved document has no text"),
        (("a", None), "1 of 2 retrieved documents has no text"),
    ],
)
def test_one_document_without_text_leaves_all_contexts_out(texts, reason):
    ids = {f"retrieval.documents.{n}.document.id": str(n) for n in range(len(texts))}
    found = row(span("1", attributes=ROOT), span("2", "1", documents(*texts) | ids))

    assert "contexts" not in found
    assert found["metadata"]["absent"] == {"contexts": reason}
    assert found["context_ids"] == [*ids.values()]


def test_ids_and_scores_are_given_if_every_document_has_its_own():
    def ids(*names):
        return {f"retrieval.documents.{n}.document.id": name for n, name in enumerate(names)}

    def found(attributes):
        return row(span("1", attributes=ROOT), span("2", "1", documents("a", "b") | attributes))

    scores = {"retrieval.documents.0.document.score": 0.5}
    assert found(ids("x", "y") | scores)["context_ids"] == ["x", "y"]
    assert "context_scores" not in found(ids("x", "y") | scores)
    assert found({**scores, "retrieval.documents.1.document.score": 1})["context_scores"] == [0.5, 1.0]
    assert "context_ids" not in found(ids("x", "x"))
    assert "context_ids" not in found(ids("x"))


def test_no_documents_differ_from_unknown_ones():
    empty = span("2", "1", {KIND: "RETRIEVER", "output.value": "[]"})
    unknown = span("2", "1", {KIND: "RETRIEVER", "output.value": "done"})

    assert row(span("1", attributes=ROOT), empty)["contexts"] == []
    absent = row(span("1", attributes=ROOT), unknown)["metadata"]["absent"]
    assert absent == {"contexts": "1 of 1 retrievals recorded no documents"}


def test_a_blank_document_and_a_blank_answer_are_data():
    found = row(span("1", attributes={**ROOT, "output.value": ""}), span("2", "1", documents("")))

    assert found["contexts"] == [""]
    assert found["response"] == ""


def test_a_tool_is_a_retrieval_only_if_it_says_so():
    result = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.result": '["a"]'}
    search = span("2", "1", result)
    store = span("2", "1", {**result, "gen_ai.tool.type": "datastore", "gen_ai.retrieval.documents": '["a"]'})

    assert "contexts" not in row(span("1", attributes=ROOT), search)
    assert row(span("1", attributes=ROOT), search)["metadata"]["tool_outputs"] == ['["a"]']
    assert row(span("1", attributes=ROOT), store)["contexts"] == ["a"]
    assert row(span("1", attributes=ROOT), store, span("3", "1", documents("b")))["contexts"] == ["b"]


def test_without_texts_of_the_root_the_last_model_answers():
    spans = [
        span("1", start=1),
        span("2", "1", model("Rewrite: who?", "who"), start=2),
        span("3", "1", model("Who?", "She."), start=3),
    ]

    assert (row(*spans)["question"], row(*spans)["response"]) == ("Who?", "She.")


def test_the_query_of_the_retrieval_is_the_question_if_the_message_is_a_prompt_with_passages():
    spans = [
        span("1", start=1),
        span("2", "1", documents("It was she.") | {"input.value": "Who was it?"}, start=2),
        span("3", "1", model("Passages:\nIt was she.\nQuestion: Who was it?", "She."), start=3),
    ]

    assert row(*spans)["question"] == "Who was it?"


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        (model("Who?"), "the last call of a language model has no text"),
        (
            model(
                "Who?", None, **{"llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "f"}
            ),
            "the last call of a language model asked for a tool",
        ),
        (documents("a"), "no output and no call of a language model"),
    ],
)
def test_an_earlier_reply_is_not_the_answer(last, reason):
    first = model("Rewrite", "who") if last[KIND] == "LLM" else documents("b")
    result = rows_of_trace(
        [span("1", start=1), span("2", "1", first, start=2), span("3", "1", last, start=3)]
    )

    assert not result.rows
    assert result.unanswered == (f"no answer: {reason}",)


def chat(*texts):
    roles = ["user", "assistant"] * len(texts)
    asked = {f"llm.input_messages.{n}.message.content": text for n, text in enumerate(texts[:-1])}
    asked |= {f"llm.input_messages.{n}.message.role": roles[n] for n in range(len(texts) - 1)}
    return {KIND: "LLM", "llm.output_messages.0.message.content": texts[-1]} | asked


def test_a_conversation_in_one_trace_has_a_row_per_turn():
    spans = [
        span("1", start=1, attributes={"session.id": "s"}),
        span("2", "1", documents("a"), start=2),
        span("3", "1", chat("one?", "1."), start=3),
        span("4", "1", documents("b"), start=4),
        span("5", "1", chat("one?", "1.", "two?", "2."), start=5),
    ]
    rows = [found.values for found in rows_of_trace(spans).rows]

    assert [(found["question"], found["contexts"], found["response"]) for found in rows] == [
        ("one?", ["a"], "1."),
        ("two?", ["b"], "2."),
    ]
    assert [found["id"] for found in rows] == ["t-1", "t-4"]
    assert {found["metadata"]["session_id"] for found in rows} == {"s"}


def test_steps_with_different_names_are_one_turn():
    spans = [
        span("1", start=1),
        span("2", "1", {**ROOT, "output.value": "who"}, name="rewrite", start=2),
        span("3", "1", documents("a"), start=3),
        span("4", "1", {**ROOT, "input.value": "prompt"}, name="generate", start=4),
    ]

    assert [row(*spans)[name] for name in ("question", "contexts", "response")] == ["Who?", ["a"], "She."]


def test_a_missing_parent_joins_its_children():
    spans = [span("2", "gone", documents("a"), start=1), span("3", "gone", model("Who?", "She."), start=2)]

    assert row(*spans)["contexts"] == ["a"]


@pytest.mark.parametrize("parents", [("1", "2"), ("2", "1"), ("3", "1"), (None, "2")])
def test_cycles_of_parents_end(parents):
    spans = [span("1", parents[0], ROOT), span("2", parents[1], documents("a"))]

    assert row(*spans)["contexts"] == ["a"]


def test_a_span_that_was_sent_twice_counts_once():
    started = span("1", attributes={"input.value": "Who?"}, start=1)
    ended = span("1", attributes=ROOT, start=1, end=2_000_001)

    assert row(started, ended, ended) == row(ended)
    assert row(ended)["latency_ms"] == 2.0


def test_a_span_that_ends_before_it_starts_has_no_latency():
    assert "latency_ms" not in row(span("1", attributes=ROOT, start=2, end=1))


def test_deep_traces_take_linear_time():
    count = 20_000
    spans = [span(str(n), str(n - 1) if n else None, ROOT if not n else {}) for n in range(count)]

    assert row(*spans, span("end", str(count - 1), documents("a")))["contexts"] == ["a"]


def test_wrong_types_name_span_and_attribute():
    with pytest.raises(DataError) as raised:
        rows_of_trace([span("1", attributes=ROOT), span("2", "1", documents(3))])

    assert raised.value.sample_id == "2"
    assert raised.value.field == "retrieval.documents.0.document.content"


@pytest.mark.parametrize(
    "events",
    [
        [("gen_ai.user.message", {"content": "Who?"}), ("gen_ai.choice", {"message": '{"content": "She."}'})],
        [
            ("gen_ai.content.prompt", {"gen_ai.prompt": "Who?"}),
            ("gen_ai.content.completion", {"gen_ai.completion": "She."}),
        ],
        [
            (
                "gen_ai.client.inference.operation.details",
                {
                    "gen_ai.input.messages": json.dumps(
                        [{"role": "user", "parts": [{"type": "text", "content": "Who?"}]}]
                    ),
                    "gen_ai.output.messages": json.dumps(
                        [{"role": "assistant", "parts": [{"type": "text", "content": "She."}]}]
                    ),
                },
            )
        ],
    ],
)
def test_messages_may_be_events(events):
    operation = {"gen_ai.operation.name": "chat"}
    found = row(span("1", attributes=operation, events=tuple(Event(*event) for event in events)))

    assert (found["question"], found["response"]) == ("Who?", "She.")


def test_langchain_messages_are_read():
    human = {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "HumanMessage"],
        "kwargs": {"content": "Who?"},
    }
    reply = {"generations": [[{"text": "She.", "message": {"content": "She."}}]]}
    attributes = {
        KIND: "CHAIN",
        "input.value": json.dumps({"messages": [[human]]}),
        "output.value": json.dumps(reply),
    }

    assert (
        row(span("1", attributes=attributes))["question"],
        row(span("1", attributes=attributes))["response"],
    ) == (
        "Who?",
        "She.",
    )


@pytest.mark.parametrize("kind", ["EVALUATOR", "GUARDRAIL"])
def test_a_model_that_checks_the_answer_does_not_give_it(kind):
    spans = [
        span("1", start=1),
        span("2", "1", model("Who?", "She."), start=2),
        span("3", "1", {KIND: kind, "output.value": "fine"}, start=3),
        span("4", "3", model("Is it right?", "Yes."), start=4),
    ]

    assert row(*spans)["response"] == "She."
    assert not rows_of_trace([span("3", attributes={KIND: kind, "output.value": "fine"}), spans[3]]).rows
