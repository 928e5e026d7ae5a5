from __future__ import annotations

import asyncio
import json
import operator
from importlib import import_module
from typing import Annotated, TypedDict

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableGenerator, RunnableLambda, RunnablePassthrough, chain
from langchain_core.tools import create_retriever_tool, tool

import sgi
from sgi.integrations.adapter import describe
from sgi.integrations.guarded_answers import AnswerBlockedError
from sgi.integrations.langchain import GuardRunnable, RowCollector
from sgi.kernel.errors import DataError
from support.adapter_contract import AdapterContract, HostResult, HostRow
from support.guards import fitted_guard


class TestLangChain(AdapterContract):
    name = "langchain"
    mean = "none"
    test_a_row_that_cannot_be_read_fails_alone = None  # a document always has a text

    def evaluate(self, rows, metric, embedder=None):
        collector = RowCollector()
        for row in rows:
            given = {"reference": row["reference"]} if "reference" in row else {}
            config = {"callbacks": [collector], "metadata": given}
            steps = RunnableLambda(lambda _, row=row: row.get("response"))
            if "contexts" in row:
                steps = Found(texts=row["contexts"]) | steps
            steps.invoke(row["question"], config)
        with sgi.Scorer(metric, embedder) as scorer:
            scores = [row[metric] for row in scorer.score_many(collector.rows)]
        return HostResult([HostRow(score.value, describe(score)) for score in scores])


class Found(BaseRetriever):
    """Returns all its texts."""

    texts: list[str]

    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(text) for text in self.texts]


MARS = Document("Mars is red.", id="mars")
VENUS = Document("Venus is hot.", id="venus")
IO = Document("Io is a moon of Jupiter. Ελληνικά 🌋", id="io")


class Retriever(BaseRetriever):
    """Returns the documents with a word of the query."""

    def _get_relevant_documents(self, query, *, run_manager):
        words = query.rstrip("?").split()
        return [document for document in (MARS, VENUS, IO) if document.page_content.split()[0] in words]


def model(*answers: str | AIMessage) -> GenericFakeChatModel:
    class WithTools(GenericFakeChatModel):
        def bind_tools(self, tools, **options):
            return self

    return WithTools(messages=iter([AIMessage(text) if isinstance(text, str) else text for text in answers]))


def call(name: str, query: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": {"query": query}, "id": name}])


PROMPT = ChatPromptTemplate.from_template("{context} {question}")
INPUTS = {"context": Retriever(), "question": RunnablePassthrough()}


def rag(*answers: str):
    return INPUTS | PROMPT | model(*answers) | StrOutputParser()


@pytest.fixture
def collector() -> RowCollector:
    return RowCollector()


@pytest.fixture
def config(collector):
    return {"callbacks": [collector]}


def texts(row):
    return row["question"], row["contexts"], row["response"]


def outputs_of(chain, way, given, config=None):
    """The outputs of a chain, called in one of four ways."""

    async def stream():
        return [text async for text in chain.astream(given, config)]

    if way == "invoke":
        return [chain.invoke(given, config)]
    if way == "ainvoke":
        return [asyncio.run(chain.ainvoke(given, config))]
    return asyncio.run(stream()) if way == "astream" else list(chain.stream(given, config))


WAYS = pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream"])


@WAYS
def test_a_call_gives_a_row_with_ids_and_latency(collector, config, way):
    config |= {"metadata": {"thread_id": 7, "user": "ü"}, "tags": ["t"]}
    outputs = outputs_of(rag("It is red."), way, "Is Mars red?", config)
    assert (len(outputs) > 1) is way.endswith("stream")
    (row,) = collector.rows
    assert texts(row) == ("Is Mars red?", ["Mars is red."], "It is red.")
    facts = row["metadata"]
    assert facts["document_ids"] == ["mars"]
    assert (facts["session_id"], facts["user"], facts["tags"]) == ("7", "ü", ["t"])
    assert row["latency_ms"] > 0
    assert "error" not in facts


def test_id_and_reference_come_from_the_metadata_of_the_call(collector, config):
    rag("It is red.").invoke("Is Mars red?", config | {"metadata": {"id": "q1", "reference": "Yes.", "n": 1}})
    (row,) = collector.rows
    assert (row["id"], row["reference"], row["metadata"]["n"]) == ("q1", "Yes.", 1)
    assert "reference" not in row["metadata"]
    assert sgi.evaluate(collector.rows, "squad_token_f1")["squad_token_f1"].values.tolist() == [0.0]


def test_an_abandoned_stream_has_no_response(collector, config):
    stream = rag("It is red.").stream("Is Mars red?", config)
    next(stream)
    stream.close()
    assert texts(collector.rows[0]) == ("Is Mars red?", ["Mars is red."], None)


ECHO = RunnableLambda(lambda prompt: prompt.to_string())


def test_rows_of_a_batch_do_not_mix(collector, config):
    questions = [f"{name} number {number}?" for number in range(20) for name in ("Mars", "Venus", "Io")]
    (INPUTS | PROMPT | ECHO).batch(questions, config)
    asyncio.run((INPUTS | PROMPT | ECHO).abatch(questions, config))
    assert sorted(row["question"] for row in collector.rows) == sorted(questions * 2)
    for row in collector.rows:
        assert row["contexts"][0].split()[0] == row["question"].split()[0]
        assert row["question"] in row["response"]
    assert len({row["metadata"]["trace_id"] for row in collector.rows}) == 120
    assert not collector.run_map
    assert not collector.order_map


@pytest.mark.parametrize("failing", ["retriever", "model"])
def test_a_failed_call_gives_a_row_with_the_error(collector, config, failing):
    def fail(_):
        raise RuntimeError("no connection: ü")

    steps = fail | PROMPT if failing == "retriever" else INPUTS | PROMPT
    with pytest.raises(RuntimeError):
        (steps | RunnableLambda(fail)).invoke("Is Mars red?", config)
    (row,) = collector.rows
    assert row["metadata"]["error"] == "RuntimeError('no connection: ü')"
    assert texts(row) == ("Is Mars red?", None if failing == "retriever" else ["Mars is red."], None)


def test_nothing_retrieved_is_an_empty_list_and_no_retrieval_is_absent(collector, config):
    rag("I do not know.").invoke("Is Pluto a planet?", config)
    (PROMPT.partial(context="") | model("Yes.") | StrOutputParser()).invoke(
        {"question": "Is Pluto a planet?"}, config
    )
    assert [row["contexts"] for row in collector.rows] == [[], None]


def test_a_message_as_output(collector, config):
    blocks = AIMessage([{"type": "text", "text": "It "}, {"type": "text", "text": "is red."}])
    (INPUTS | PROMPT | model(blocks)).invoke("Is Mars red?", config)
    assert collector.rows[0]["response"] == "It is red."


def test_named_inputs_and_outputs(collector, config):
    prompt = ChatPromptTemplate.from_template("{context} {query}")
    steps = RunnablePassthrough.assign(context=lambda row: Retriever().invoke(row["query"])).assign(
        summary=prompt | model("It is red.") | StrOutputParser()
    )
    steps.invoke({"query": "Is Mars red?", "style": "short"}, config)
    assert texts(collector.rows[0]) == ("Is Mars red?", ["Mars is red."], "It is red.")


def test_a_reranker_replaces_the_retrieved_documents(collector, config):
    rerank = RunnableLambda(lambda documents: documents[-1:])
    inputs = {"context": Retriever() | rerank, "question": RunnablePassthrough()}
    (inputs | PROMPT | ECHO).invoke("Mars Venus Io?", config)
    (Retriever() | rerank | (lambda documents: documents[0].page_content)).invoke("Mars Venus?", config)
    assert [row["contexts"] for row in collector.rows] == [[IO.page_content], ["Venus is hot."]]


def test_several_retrievals_are_joined_without_repetition(collector, config):
    @chain
    def answer(question):
        documents = [*Retriever().invoke("Mars Venus"), *Retriever().invoke("Venus Io")]
        return f"{len(documents)} documents"

    answer.invoke("Which?", config)
    assert collector.rows[0]["contexts"] == ["Mars is red.", "Venus is hot.", IO.page_content]
    assert collector.rows[0]["metadata"]["document_ids"] == ["mars", "venus", "io"]


def test_calls_outside_of_a_chain_are_counted(collector, config):
    Retriever().invoke("Mars", config)
    model("Yes.").invoke("Is Mars red?", config)
    assert collector.rows == []
    assert collector.skipped == {"retriever": 1, "llm": 1}


def test_an_agent_with_two_retriever_tools(collector, config):
    agents = import_module("langchain.agents")

    @tool(response_format="content_and_artifact")
    def find(query: str):
        """Find passages."""
        return "text", [MARS]

    @tool
    def web(query: str) -> str:
        """Search the web."""
        return f"web page about {query}"

    collector.tools = frozenset({"web"})
    search = create_retriever_tool(Retriever(), "search", "Search.")
    answers = (call("find", "Mars"), call("search", "Venus Mars"), call("web", "Io"), "Mars and Venus.")
    agent = agents.create_agent(model(*answers), [find, search, web])
    agent.invoke({"messages": [("user", "Which planets?")]}, config)
    assert texts(collector.rows[0]) == (
        "Which planets?",
        ["Mars is red.", "Venus is hot.", "web page about Io"],
        "Mars and Venus.",
    )


def test_an_agent_that_stops_before_its_answer_has_no_response(collector, config):
    agents = import_module("langchain.agents")
    search = create_retriever_tool(Retriever(), "search", "Search.")
    agent = agents.create_agent(model(call("search", "Mars")), [search], interrupt_before=["tools"])
    agent.invoke({"messages": [{"role": "user", "content": "Is Mars red?"}]}, config)
    assert texts(collector.rows[0]) == ("Is Mars red?", None, None)


def test_a_graph_whose_state_has_the_documents(collector, config):
    graphs = import_module("langgraph.graph")

    class State(TypedDict):
        question: str
        context: Annotated[list, operator.add]
        answer: str

    def retrieve(state):
        return {"context": [MARS]}  # a search that no callback sees

    def retrieve_again(state):
        return {"context": [VENUS]}

    def generate(state):
        return {"answer": model("Both.").invoke("x").text}

    steps = [retrieve, retrieve_again, generate]
    graph = graphs.StateGraph(State).add_sequence(steps).add_edge(graphs.START, "retrieve").compile()
    graph.invoke({"question": "Which planets?"}, config)
    list(graph.stream({"question": "Which planets?"}, config))
    expected = ("Which planets?", ["Mars is red.", "Venus is hot."], "Both.")
    assert [texts(row) for row in collector.rows] == [expected, expected]


def test_a_conversation_gives_a_row_for_each_turn(collector, config):
    agents = import_module("langchain.agents")
    memory = import_module("langgraph.checkpoint.memory").InMemorySaver()
    search = create_retriever_tool(Retriever(), "search", "Search.")
    answers = (call("search", "Mars"), "It is red.", call("search", "Venus"), "It is hot.")
    agent = agents.create_agent(model(*answers), [search], checkpointer=memory)
    config["configurable"] = {"thread_id": "talk"}
    for question in ("What of Mars?", "And Venus?"):
        agent.invoke({"messages": [("user", question)]}, config)
    assert [texts(row) for row in collector.rows] == [
        ("What of Mars?", ["Mars is red."], "It is red."),
        ("And Venus?", ["Venus is hot."], "It is hot."),
    ]
    assert {row["metadata"]["session_id"] for row in collector.rows} == {"talk"}


def test_rows_go_into_evaluate_and_into_a_file(collector, config, tmp_path):
    rag("It is red.", "").batch(["Is Mars red?", "Is Venus hot?"], config | {"max_concurrency": 1})
    (PROMPT.partial(context="") | model("Yes.") | StrOutputParser()).invoke({"question": "Is it so?"}, config)
    result = sgi.evaluate(collector.rows, ["grounding", "sgi"])
    statuses = [status.name.lower() for status in map(sgi.types.Status, result["grounding"].status)]
    assert statuses == ["ok", "undefined", "missing"]
    collector.write(tmp_path / "rows.jsonl")
    assert [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()] == collector.rows
    from_file = sgi.evaluate(tmp_path / "rows.jsonl", ["grounding"])
    assert from_file["grounding"].values[0] == result["grounding"].values[0]


HEIGHT = "The tower is 330 m tall."
TOWER = [Document(f"{HEIGHT} It stands in Paris.")]
TRUE, FALSE = f"{HEIGHT} It stands in Paris.", f"{HEIGHT} It was built in 1204. It stands in Paris."
WITHDRAWN = "[withdrawn]"
ASKED = {"question": "How tall is the tower?"}


@pytest.fixture
def guard():
    return sgi.Guard(fitted_guard())


def guarded(guard, answer, *, fallback=None, asked=None):
    """A chain whose model writes one word at a time, and the guard after it."""

    def words(_):
        for word in answer.split(" "):
            if asked is not None:
                asked.append(word)
            yield f"{word} "

    async def awords(_):
        for word in words(_):
            yield word

    chain = RunnablePassthrough.assign(context=lambda _: TOWER)
    return chain.assign(response=RunnableGenerator(words, awords)) | GuardRunnable(guard, fallback=fallback)


@WAYS
def test_the_guard_passes_an_allowed_answer_on(guard, way):
    outputs = outputs_of(guarded(guard, TRUE), way, ASKED)
    assert "".join(outputs) == f"{TRUE} "
    assert len(outputs) == (2 if way.endswith("stream") else 1)
    assert (guard.counts.checked, guard.counts.blocked) == (1, 0)


@WAYS
def test_the_guard_raises_for_a_blocked_answer_with_its_verdict(guard, way):
    answer, asked = f"{FALSE} {TRUE} {TRUE}", []
    with pytest.raises(AnswerBlockedError, match="is blocked: its passages do not") as raised:
        outputs_of(guarded(guard, answer, asked=asked), way, ASKED)
    assert (len(asked) < len(answer.split())) is way.endswith("stream")
    assert "1204" in raised.value.verdict.reason
    assert guard.counts.blocked == 1


@WAYS
def test_the_fallback_replaces_a_blocked_answer_or_its_rest(guard, way):
    outputs = outputs_of(guarded(guard, FALSE, fallback=WITHDRAWN), way, ASKED)
    assert outputs == ([f"{HEIGHT} ", WITHDRAWN] if way.endswith("stream") else [WITHDRAWN])


@pytest.mark.parametrize(
    "given",
    [
        lambda answer: {"input": "", "documents": TOWER, "answer": AIMessage(answer)},
        lambda answer: {"contexts": [TOWER[0].page_content], "response": answer},
        lambda answer: {"context": TOWER[0].page_content, "output": answer},
    ],
    ids=["documents and a message", "texts without a question", "one text"],
)
def test_the_guard_reads_the_usual_names(guard, given):
    step = GuardRunnable(guard, fallback=WITHDRAWN)
    for answer, expected in ((FALSE, WITHDRAWN), (TRUE, TRUE)):
        assert step.invoke(given(answer)) == expected
        assert "".join(step.stream(given(answer))).endswith(expected)
        assert step.batch([given(answer)] * 2) == [expected] * 2
    assert guard.counts.errors == 0


@pytest.mark.parametrize("given", [{"question": "", "context": TOWER}, TRUE, {"answer": 3}], ids=repr)
def test_an_input_without_an_answer_is_an_error(guard, given):
    step = GuardRunnable(guard, fallback=WITHDRAWN)
    for call in (step.invoke, lambda given: list(step.stream(given))):
        with pytest.raises(DataError, match="the guard"):
            call(given)
    assert guard.counts.checked == 0


def test_callbacks_see_the_output_of_the_guard(guard, collector, config):
    chain = guarded(guard, FALSE, fallback=WITHDRAWN)
    chain.invoke(ASKED, config)
    list(chain.stream(ASKED, config))
    assert [row["response"] for row in collector.rows] == [WITHDRAWN, f"{HEIGHT} {WITHDRAWN}"]
