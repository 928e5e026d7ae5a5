import json
from datetime import UTC, datetime
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from sgi.integrations.langchain_rows import run_row, without_messages

KEYS = st.sampled_from(
    [
        *("question", "output", "messages", "content", "type", "role", "lc", "id", "kwargs"),
        *("page_content", "artifact", "x"),
    ]
)
VALUES = st.recursive(
    st.none() | st.integers() | st.floats() | st.text(max_size=4) | st.sampled_from(["human", "ai"]),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(KEYS, values, max_size=4),
    max_leaves=12,
)
OBJECTS = st.none() | st.dictionaries(KEYS, VALUES, max_size=4)


def run(run_type="chain", inputs=None, outputs=None, child_runs=(), metadata=None):
    now = datetime.now(UTC)
    return SimpleNamespace(
        id="1",
        trace_id="1",
        name="run",
        run_type=run_type,
        inputs=inputs,
        outputs=outputs,
        child_runs=child_runs,
        error=None,
        extra={"metadata": metadata},
        start_time=now,
        end_time=now,
        tags=None,
    )


def serialized(name, **fields):
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", name], "kwargs": fields}


@given(OBJECTS, OBJECTS, OBJECTS, st.sampled_from(["retriever", "tool", "llm"]))
def test_any_values_give_texts_or_none(inputs, outputs, metadata, run_type):
    child = run(run_type, inputs=outputs, outputs=inputs)
    row = run_row(run(inputs=inputs, outputs=outputs, child_runs=[child], metadata=metadata), tools=["run"])
    assert {type(row["question"]), type(row["response"])} <= {str, type(None)}
    assert row["contexts"] is None or {type(text) for text in row["contexts"]} <= {str}
    json.dumps(row["metadata"])
    without_messages(outputs or {})


def test_runs_of_an_export_have_messages_and_documents_as_json():
    documents = [
        serialized("Document", page_content="Mars is red.", id="mars"),
        {"page_content": "It is cold."},
    ]
    question = [
        serialized("SystemMessage", content="Be brief."),
        serialized("HumanMessage", content="Is Mars red?"),
    ]
    answer = serialized(
        "AIMessage", content=[{"type": "text", "text": "It "}, {"type": "text", "text": "is."}]
    )
    retriever = run("retriever", inputs={"query": "Mars"}, outputs={"documents": documents})
    row = run_row(run(inputs={"messages": question}, outputs={"output": answer}, child_runs=[retriever]))
    assert (row["question"], row["response"]) == ("Is Mars red?", "It is.")
    assert row["contexts"] == ["Mars is red.", "It is cold."]
    assert row["metadata"]["document_ids"] == ["mars", None]
