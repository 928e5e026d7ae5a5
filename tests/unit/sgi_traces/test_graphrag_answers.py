"""Answers of GraphRAG and similar tools: forms of tables, methods and ids, folders, and broken records."""

import json
import re
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.sample import Field
from sgi_traces.graphrag_contexts import read_passages
from support.export_files import only, read, rows, write

EXPORTS = Path(__file__).parents[2] / "data" / "exports"
LOCAL, GLOBAL = "local_search", "global_search"
FILES = {
    "graphrag_answers": [
        ("paraphrase-d77434fb01", LOCAL, {"report": 2, "entity": 1, "relationship": 1, "source": 1}),
        ("paraphrase-d77434fb01 (global_search)", GLOBAL, {}),
        ("fact-b4f4710309", LOCAL, {"report": 2, "entity": 7, "relationship": 1, "source": 4}),
        ("fact-b4f4710309 (global_search)", GLOBAL, {"report": 1}),
        ("fact-b4f4710309 (basic_search)", "basic_search", {"source": 6}),
    ],
    "graphrag_lightrag": [
        ("docs-033", "hybrid", {"entity": 3, "relationship": 2, "source": 2}),
        ("fact-1e5fa1fa71", "global", {}),
    ],
    "graphrag_lightrag_texts": [
        ("docs-033", "graphrag_lightrag_texts", {"entity": 7, "relationship": 5, "source": 4}),
        ("fact-1e5fa1fa71", "graphrag_lightrag_texts", {}),
    ],
    "graphrag_nano": [
        ("docs-033", "local", {"report": 1, "entity": 5, "relationship": 3, "source": 3}),
        ("fact-1e5fa1fa71", "naive", {"source": 4}),
        ("docs-030", "global", None),
    ],
    "graphrag_fast": [("1", "graphrag_fast", {"entity": 2, "relationship": 1, "source": 1})],
}
"""The rows of each file: id, method, and the number of passages of each kind; None without contexts."""


@pytest.mark.parametrize("prefix", ["", "graphrag:"])
@pytest.mark.parametrize("name", FILES)
def test_a_file_of_a_real_tool_gives_its_rows(name, prefix):
    path = EXPORTS / f"{name}.jsonl"
    samples, rejected, line = read(f"{prefix}{path}")

    assert not rejected
    assert line.startswith(f"GraphRAG: {len(samples)} record{'s' * (len(samples) > 1)} gave ")
    assert [(sample.id, sample.metadata["method"], kinds(sample)) for sample in samples] == FILES[name]
    raw = squeeze(path.read_text("utf-8"))
    for sample in samples:
        for passage, key in zip(sample.contexts, sample.context_ids, strict=True):
            parts = re.split(r": | – |\n", passage) if not key.startswith("source") else [passage]
            assert all(squeeze(part) in raw for part in parts), passage


def squeeze(text):
    """Remove white space and escapes: JSON within JSON has them twice."""
    return re.sub(r"\\+n|[\\\s]", "", text)


def kinds(sample):
    counts = Counter(key.partition(":")[0] for key in sample.context_ids)
    return dict(counts) if sample.has(Field.CONTEXTS) else None


TABLES = {
    "reports": [{"id": "2", "title": "Crew", "content": "# Crew\n\nIt has two members."}],
    "entities": [
        {"id": "5", "entity": "ANN", "description": "The captain."},
        {"id": "8", "entity": "BOB", "description": ""},
    ],
    "relationships": [{"id": "7", "source": "ANN", "target": "BOB", "description": "She hired him."}],
    "claims": [{"id": "1", "entity": "ANN", "object_id": "NONE", "description": "She sank the ship."}],
    "sources": [{"id": "3", "text": "Ann hired Bob."}],
}
PASSAGES = {
    "report:2": "# Crew\n\nIt has two members.",
    "entity:5": "ANN: The captain.",
    "entity:8": "BOB",
    "relationship:7": "ANN – BOB: She hired him.",
    "claim:1": "ANN: She sank the ship.",
    "source:3": "Ann hired Bob.",
}
ASKED = {"query": "Who?", "response": "Ann."}
FRAMES = {name: pd.DataFrame(table) for name, table in TABLES.items()}
CONTEXTS = {
    "records": TABLES,
    "upper case": {name.title(): table for name, table in TABLES.items()},
    "another order": dict(reversed(TABLES.items())),
    **{
        orient: {name: frame.to_dict(orient) for name, frame in FRAMES.items()}
        for orient in ("dict", "list", "split", "tight", "index")
    },
    "texts of JSON": {name: frame.to_json() for name, frame in FRAMES.items()},
    "one text of JSON": json.dumps(TABLES),
    "a list": [{name: table} for name, table in TABLES.items()],
    "several searches": {"Why?": TABLES, "Where?": TABLES},
    "an empty frame": {**TABLES, "covariates": pd.DataFrame().assign(in_context=True).to_dict()},
    "earlier questions": {**TABLES, "conversation history": [{"turn": "user", "content": "Hello"}]},
    "candidates": {
        **TABLES,
        "sources": [*TABLES["sources"], {"id": "4", "text": "No.", "in_context": "false"}],
    },
}


@pytest.mark.parametrize("form", CONTEXTS)
def test_each_form_of_tables_gives_the_same_passages(tmp_path, form):
    context = json.loads(json.dumps(CONTEXTS[form]))  # as the file has it: keys are texts
    path = write(tmp_path, {**ASKED, "context_data": context})

    (sample,), _, line = read(path)

    assert dict(zip(sample.context_ids, sample.contexts, strict=True)) == PASSAGES
    assert [*sample.context_ids] == [*PASSAGES]
    assert line.startswith("GraphRAG: 1 record gave 1 row: question ← query, contexts ← context_data, ")
    assert sample.metadata.get("not_in_context") == (1 if form == "candidates" else None)


def test_rows_in_parquet_are_recognised(tmp_path):
    path = tmp_path / "answers.parquet"
    pd.DataFrame([{**ASKED, "context_data": TABLES}]).to_parquet(path)

    (sample,), _, _ = read(path)

    assert dict(zip(sample.context_ids, sample.contexts, strict=True)) == PASSAGES


KINDS = {"reports": "report", "Entities": "entity", "relations": "relationship", "covariates": "claim"}
CELLS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zs", "Zl", "Zp"]), min_size=1)


@st.composite
def tables(draw):
    """Tables whose passages are all different, and the expected number in each."""
    tables = {}
    for name in draw(st.permutations([*KINDS, "text_units"])):
        texts = draw(st.lists(CELLS, max_size=4, unique=True))
        column = {"reports": "summary", "text_units": "text"}.get(name, "description")
        has_ids = draw(st.booleans())
        records = [
            {"entity": "E", "title": "T", "source": "A", "target": "B", column: f"{name}{n} {text}"}
            | ({"id": n} if has_ids else {})
            for n, text in enumerate(texts)
        ]
        orient = draw(st.sampled_from(["records", "list", "split", "index"]))
        tables[name] = records if orient == "records" else pd.DataFrame(records).to_dict(orient)
        tables[name] = (tables[name], [row[column] for row in records])
    return tables


@given(tables())
def test_every_passage_of_every_table_is_there_once(drawn):
    passages = read_passages({name: table for name, (table, _) in drawn.items()}, "context_data")

    assert len(passages.texts) == len(set(passages.ids)) == sum(len(texts) for _, texts in drawn.values())
    for name, (_, texts) in drawn.items():
        kind = KINDS.get(name, "source")
        own = [t for t, n in zip(passages.texts, passages.ids, strict=True) if n.startswith(f"{kind}:")]
        assert all(text in passage for text, passage in zip(texts, own, strict=True))


NANO = """
-----Reports-----
```csv
"id",\t"content"
0,\t"# Crew

It has, "of course", two ```members``` ."
```
-----Entities-----
```csv
"id",\t"entity",\t"type",\t"description",\t"rank"
0,\t"ANN",\t"PERSON",\t"The captain,\tof a ship.",\t5
1,\t"BOB",\t"PERSON",\t"A cook.<SEP>He left.",\t1
```
-----Relationships-----
```csv
"id",\t"source",\t"target",\t"description",\t"weight",\t"rank"
```
-----Sources-----
```csv
"id",\t"content"
0,\t"Ann hired Bob.
1. She did."
```
"""


def test_the_text_of_nano_graphrag_keeps_quotes_separators_and_line_ends(tmp_path):
    sample = only(tmp_path, "graphrag", {**ASKED, "mode": "local", "context": NANO})

    assert dict(zip(sample.context_ids, sample.contexts, strict=True)) == {
        "report:0": '# Crew\n\nIt has, "of course", two ```members``` .',
        "entity:0": "ANN: The captain,\tof a ship.",
        "entity:1": "BOB: A cook.\nHe left.",
        "source:0": "Ann hired Bob.\n1. She did.",
    }
    assert sample.metadata["method"] == "local"


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        ("Ann hired Bob.--New Chunk--\nHe left.", ("Ann hired Bob.", "He left.")),
        ("Ann hired Bob.", ("Ann hired Bob.",)),
        ('Document Chunks (Each)\n\n```json\n{"content": "Ann."}\n```\n\nReference', ("Ann.",)),
        ("Sorry, I'm not able to provide an answer to that question.", ()),
    ],
)
def test_the_text_of_the_method_naive_is_split(tmp_path, context, expected):
    assert only(tmp_path, "graphrag", {**ASKED, "method": "naive", "context": context}).contexts == expected


ABSENT = {
    "no context_data": ({}, "the row has no context_data"),
    "null": ({"context_data": None}, "context_data is null"),
    "null of nano-graphrag": ({"context": None}, "context is null"),
    "points of nano-graphrag": (
        {"context": "----Analyst 0----\nImportance Score: 5\nShe."},
        "the context has points that were made of the reports, not the reports",
    ),
}


@pytest.mark.parametrize("form", ABSENT)
def test_contexts_are_absent_with_a_reason(tmp_path, form):
    columns, reason = ABSENT[form]
    sample = only(tmp_path, "graphrag", {**ASKED, **columns})

    assert not sample.has(Field.CONTEXTS)
    assert sample.metadata["absent"] == {"contexts": reason}


@pytest.mark.parametrize("context", [{}, [], {"reports": [], "sources": {}}, {"entities": None}])
def test_a_method_that_found_nothing_has_no_passages(tmp_path, context):
    sample = only(tmp_path, "graphrag", {**ASKED, "context_data": context})

    assert sample.has(Field.CONTEXTS)
    assert sample.contexts == sample.context_ids == ()


def test_costs_labels_and_references_are_fields_and_the_rest_is_metadata(tmp_path):
    record = {
        **ASKED,
        "context_data": TABLES,
        "context_text": "a long text",
        "completion_time": 1.5,
        "prompt_tokens": 20,
        "output_tokens": 4,
        "total_cost": 0.25,
        "ground_truth": "Ann",
        "hallucinated": True,
        "method": "local",
        "llm_calls": 2,
        "question_type": "Fact Retrieval",
    }
    sample = only(tmp_path, "graphrag", record)

    assert (sample.latency_ms, sample.cost) == (1500.0, 0.25)
    assert (sample.prompt_tokens, sample.completion_tokens) == (20, 4)
    assert (sample.reference, sample.label) == ("Ann", False)
    assert sample.metadata == {"llm_calls": 2, "question_type": "Fact Retrieval", "method": "local"}
    record = {**ASKED, "latency_s": 2, "completion_time": None}
    assert only(tmp_path, "graphrag", record).latency_ms == 2000


@pytest.mark.parametrize(
    ("response", "text", "cited"),
    [
        ("She is 7 [Data: Sources (3, 9); Reports (2)].", "She is 7.", ["source:3", "source:9", "report:2"]),
        ("``a` is old [Data: Sources (3)]. And `b`.", "``a` is old. And `b`.", ["source:3"]),
        ("Write `[Data: Sources (3)]`.", "Write `[Data: Sources (3)]`.", []),
        ("She is 7 [1].", "She is 7 [1].", []),  # no number of a file, so it is not known what it names
    ],
)
def test_citations_of_graphrag_become_a_field(tmp_path, response, text, cited):
    sample = only(tmp_path, "graphrag", {**context(sources=[{"id": "3", "text": "a"}]), "response": response})
    assert (sample.response, [one.passage for one in sample.citations]) == (text, cited)
    assert {text[one.start : one.end] for one in sample.citations} <= {text, text.partition(". ")[0] + "."}


def context(**tables):
    return {"id": "g", **ASKED, "context_data": tables}


BROKEN = {
    "not tables": (
        {**context(), "context_data": 5},
        "context_data",
        "expected an object of tables, found number 5",
    ),
    "a text": ({**context(), "context_data": "Who"}, "context_data", "expected the tables of nano-graphrag"),
    "an unknown kind": (context(communities_v9=[]), "context_data.communities_v9", "is not a known table"),
    "a kind in a list": (
        {**context(), "context_data": [{"id": "1"}]},
        "context_data.0",
        "is not a known table of passages",
    ),
    "a number": (context(reports=5), "context_data.reports", "expected a table: a list of objects, or"),
    "a row": (context(sources={"id": "1", "text": "a"}), "context_data.sources", "expected a table"),
    "a list of texts": (
        context(sources=["a"]),
        "context_data.sources",
        "row 1: expected an object, found text",
    ),
    "unequal columns": (
        context(sources={"id": ["1", "2"], "text": ["a"]}),
        "context_data.sources",
        "expected",
    ),
    "short rows": (
        context(sources={"columns": ["id", "text"], "data": [["1"]]}),
        "context_data.sources",
        "expected a table",
    ),
    "no text": (
        context(sources=[{"id": "1", "body": "a"}]),
        "context_data.sources",
        "source 1: has no text; its",
    ),
    "a text of another type": (context(sources=[{"text": 5}]), "context_data.sources.text", "expected text"),
    "an id of another type": (
        context(entities=[{"id": 1.5, "entity": "A"}]),
        "context_data.entities",
        "entity 1:",
    ),
    "two texts of an id": (
        context(sources=[{"id": "1", "text": "a"}, {"id": 1, "text": "b"}]),
        "context_data.sources",
        "the id 'source:1' has two different texts",
    ),
    "too deep": (
        {**context(), "context_data": {"a": {"b": {"c": {"reports": []}}}}},
        "context_data.a",
        "is not a known table",
    ),
    "another text": (
        {"id": "g", **ASKED, "context": "Ann."},
        "context",
        "expected the tables of nano-graphrag",
    ),
    "a broken text": (
        {"id": "g", **ASKED, "context": NANO.replace('0,\t"Ann', "Ann")},
        "context.Sources",
        "its table cannot be read: expected id, content, found 'Ann hired",
    ),
    "a text of LightRAG": (
        {"id": "g", **ASKED, "context": "Document Chunks (Each)\n\n```json\n{\n```"},
        "context.Document Chunks",
        "its table cannot be read: ",
    ),
    "a part of the context": (
        context(sources=[{"id": "1", "text": "a", "in_context": "perhaps"}]),
        "context_data.sources.in_context",
        "expected true or false, found text 'perhaps'",
    ),
    "a method": ({**context(), "method": 5}, "method", "expected text, found number 5"),
    "a time": (
        {**context(), "completion_time": "1 s"},
        "completion_time",
        "expected a number, found text '1 s'",
    ),
    "tokens": ({**context(), "prompt_tokens": "many"}, "prompt_tokens", "expected"),
    "a response": ({**context(), "response": {"nodes": []}}, "response", "expected text, found an object"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_an_error_names_file_line_id_and_field(tmp_path, kind):
    record, field, problem = BROKEN[kind]

    samples, (error,), _ = rows(tmp_path, "graphrag", {"id": "ok", **ASKED}, record)

    assert [sample.id for sample in samples] == ["ok"]
    assert error.startswith(f"{tmp_path / 'export.jsonl'}:2: id 'g': field '{field}")
    assert problem in error
