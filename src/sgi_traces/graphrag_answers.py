"""Read answers of GraphRAG and similar tools with what they retrieved.

A row is a question and its answer by one method, in one of these forms. The tool's result may also be an
object in one column, beside the question:

* graphrag 3.3: ``query``, ``response`` and ``context_data``, as its Python API returns them;
* lightrag-hku 1.5: the result of ``aquery_llm`` or ``aquery_data``, or the text of ``only_need_context``;
* nano-graphrag 0.0.8: the text for the model, of ``only_need_context``, in the column ``context``;
* fast-graphrag 0.0.5: ``TQueryResponse.to_dict()``;
* benchmark-qed 0.4: answers and retrieval results with a ``question_id``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sgi.io.column_names import NAMES
from sgi.io.columns import recognise
from sgi.kernel import raw_values
from sgi.kernel.errors import DataError
from sgi_traces.assemble import ERROR_REASON
from sgi_traces.graphrag_citations import split_citations
from sgi_traces.graphrag_contexts import Passages, has_tables, is_text_context, read_chunks, read_passages
from sgi_traces.trace_records import all_rows, cell_value, make_row, object_cell, read

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi_traces.assemble import TraceRow, TraceRows

    Values = Mapping[str, Any]

_METHODS = ("method", "search_method", "query_mode", "mode")
_REPEATED = {"context_text", "map_responses", "reduce_context_data", "reduce_context_text"}
"""Fields of GraphRAG's ``SearchResult`` that repeat the context."""
_NO_FIELDS = {"metadata", "method", "completion_time", *_REPEATED}
_NEW_CHUNK = "--New Chunk--\n"
"""Separator of the passages of nano-graphrag's method ``naive``."""
_POINTS = "----Analyst "
"""Beginning of the points that nano-graphrag's method ``global`` makes of the reports."""
_NO_RESULTS = "no_results"
"""Why LightRAG failed if it found nothing: it has no passages, and says so in place of an answer."""
_NOTHING_FOUND = "Sorry, I'm not able to provide an answer"
"""Beginning of the text of nano-graphrag and LightRAG if they found nothing."""


def is_graphrag(values: Values) -> bool:
    """Return whether a record is an answer of GraphRAG or a similar tool.

    >>> is_graphrag({"query": "Who?", "response": "She.", "context_data": {"sources": []}})
    True
    >>> is_graphrag({"query": "Who?", "response": "She.", "context": ["It was she."]})
    False
    """
    values = _flat(values)
    if "context_data" in values:
        given = cell_value(values["context_data"])
        asked = any(name in values for name in ("query", "question", "question_text"))
        return asked and (has_tables(given) or ("method" in values and given in (None, {}, [])))
    context, data, facts = values.get("context"), values.get("data"), values.get("metadata")
    if isinstance(data, dict) and _is_lightrag(values):
        failed = isinstance(facts, dict) and "failure_reason" in facts
        return has_tables(data) or failed or isinstance(values.get("llm_response"), dict)
    if isinstance(context, dict):
        return "response" in values and context.keys() == {"entities", "relations", "chunks"}
    if isinstance(context, list) and "question_id" in values:
        first = context[0] if context and isinstance(context[0], dict) else {}
        return {"source_id", "source_text"} <= first.keys() or {"chunk_id", "text"} <= first.keys()
    if not isinstance(context, str):
        return False
    return context.startswith((_POINTS, _NOTHING_FOUND)) or _NEW_CHUNK in context or is_text_context(context)


@dataclass
class GraphRAGReader:
    """Makes rows of the answers in a file.

    Attributes:
        method: the method of rows that do not name theirs; None if they have none, since others name theirs.
        retrieved: what benchmark-qed retrieved for each question id, from another file; None without it.
        methods: the method of each id so far.
    """

    method: str | None
    retrieved: Mapping[str, Passages] | None = None
    methods: dict[str, str] = field(default_factory=dict)

    def rows(self, values: Values, line: int = 0) -> TraceRows:
        """Make a row of an answer; its absent fields have reasons.

        An empty ``context_data`` means that the method found nothing: the row has contexts, but none in them.
        Without ``context_data``, the row has no contexts. An id that another method has already used becomes
        ``ID (METHOD)``. Citations such as ``[Data: Reports (2)]`` become the field ``citations``. Raises
        DataError with the id and the field for other forms.
        """
        name = None
        try:
            name = read(values, "id", raw_values.as_id) or read(values, "question_id", raw_values.as_id)
            return all_rows([self._row(values, name, line)])
        except DataError as error:
            raise DataError(error.message, sample_id=name, field=error.field, hint=error.hint) from None

    def _row(self, values: Values, name: str | None, line: int) -> TraceRow:
        values = _flat(values)
        columns = {key: value for key, value in values.items() if not raw_values.is_absent(value)}
        metadata = object_cell(columns, "metadata")
        method = _method({**metadata, **columns}) or self.method
        error = columns.get("error")
        failure = f"{ERROR_REASON}: {error}" if isinstance(error, str) else "the row has no answer"
        reasons = {"question": "the row has no question", "response": failure}
        reasons |= {} if method else {"method": "other rows name theirs"}
        sources: dict[str, str] = {}
        place = _place(columns, values)
        if place == "data":
            sources |= {"response": "llm_response.content"} if "llm_response" in columns else {}
            columns = _answer_of_lightrag(columns, reasons)
            metadata["references"] = object_cell(columns, "data").get("references")
        given = cell_value(columns.pop(place, None))
        passages = self._passages(given, place, name, method)
        if isinstance(passages, str):
            is_null = place in values and given is None and self.retrieved is None
            reasons.setdefault("contexts", f"{place} is null" if is_null else passages)
        else:
            columns |= {"contexts": list(passages.texts), "context_ids": list(passages.ids)}
            place = place if given is not None else "retrieval results"
            sources |= dict.fromkeys(("contexts", "context_ids"), place)
            metadata |= {"not_in_context": passages.left_out} if passages.left_out else {}
        columns = _renamed(columns, sources)
        columns["id"] = name and self._unique(name, method)
        sources |= {} if "id" in values else {"id": "question_id"}
        columns = {
            key: value for key, value in columns.items() if key not in _NO_FIELDS and value is not None
        }
        if not columns:
            problem = f"the row has no question, no answer and no passages: {reasons['response']}"
            hint = "LightRAG does not write the question: add it beside the result, as question."
            raise DataError(problem, hint=hint)
        plan = recognise(tuple(columns))
        keep = {"latency_ms", "label"}  # their columns' names say whether to convert their values
        named = {key if name in keep else name: key for name, key in plan.fields.items()}
        metadata |= {key: columns[key] for key in plan.spare} | ({"method": method} if method else {})
        fields = {name: columns[key] for name, key in named.items()}
        if isinstance(passages, Passages) and "citations" not in fields:
            fields |= _with_citations(fields.get("response"), passages)
        return make_row(fields, {**named, **sources}, metadata, absent=reasons, line=line)

    def _passages(self, value: object, place: str, name: str | None, method: str | None) -> Passages | str:
        """Return the passages of a row, or the reason if it has none."""
        if isinstance(value, str) and not is_text_context(value):
            if value.startswith(_POINTS):
                return "the context has points that were made of the reports, not the reports"
            if value.startswith(_NOTHING_FOUND):
                value = {}
            elif _NEW_CHUNK in value or method == "naive":
                value = {"sources": [{"text": text} for text in value.split(_NEW_CHUNK)]}
        if place == "context" and isinstance(value, list):
            return read_chunks(value, place)
        if value is not None:
            return read_passages(value, place)
        if self.retrieved is None:
            return f"the row has no {place}"
        return self.retrieved.get(name or "", "the retrieval results do not have this question_id")

    def _unique(self, name: str, method: str | None) -> str:
        """Return the id, or ``ID (METHOD)`` if another method has it."""
        method = method or "no method"
        other = f"{name} ({method})"
        first = self.methods.get(name)
        if first == method or (first is not None and other in self.methods):
            taken = name if first == method else other
            raise DataError(
                f"the id {taken!r} is there twice", field="id", hint="Give each answer its own id."
            )
        name = name if first is None else other
        self.methods[name] = method
        return name


def names_method(values: Values) -> bool:
    """Return whether a record names the method of its answer.

    >>> names_method({"method": "local"}), names_method({"result": {"context": {}, "response": "She."}})
    (True, False)
    """
    values = _flat(values)
    try:
        return _method({**object_cell(values, "metadata"), **values}) is not None
    except DataError:
        return False


def _method(columns: Values) -> str | None:
    return next((read(columns, key) for key in _METHODS if columns.get(key)), None)


def _with_citations(response: object, passages: Passages) -> dict[str, object]:
    """Return the response without its citations, and these as a field; nothing if it has none to separate."""
    split = split_citations(response, passages.ids, passages.files) if isinstance(response, str) else None
    return {} if split is None else {"response": split[0], "citations": split[1]}


def _flat(values: Values) -> Values:
    """Return a row with the columns of the tool's result, if one of its columns holds this object."""
    for name, result in values.items():
        if not isinstance(result, dict) or not (
            "context_data" in result or {"response", "context"} <= result.keys() or _is_lightrag(result)
        ):
            continue
        own = {key: value for key, value in values.items() if key != name}
        facts = {**object_cell(result, "metadata"), **object_cell(own, "metadata")}
        return {**result, **own, "metadata": facts}
    return values


def _renamed(columns: Values, sources: dict[str, str]) -> dict[str, Any]:
    """Return the columns with the question of benchmark-qed and GraphRAG's seconds as fields, and note it."""
    columns = dict(columns)
    if "question_id" in columns and not {"question", "query"} & columns.keys():
        asked = "question_text" if "question_text" in columns else "text"
        columns["question"], sources["question"] = columns.pop(asked, None), asked
    if "completion_time" in columns and "latency_ms" not in columns:
        columns["latency_ms"] = read(columns, "completion_time", raw_values.as_number) * 1000
        sources["latency_ms"] = "completion_time"
    return columns


def _place(columns: Values, values: Values) -> str:
    """Return the column of what was retrieved; ``context_data`` for a row with a column of texts."""
    if _is_lightrag(columns):
        return "data"
    context = cell_value(columns.get("context"))
    has_texts = isinstance(context, list) and not any(isinstance(item, dict) for item in context[:1])
    return (
        "context" if "context" in values and not ("context_data" in columns or has_texts) else "context_data"
    )


def _is_lightrag(values: Values) -> bool:
    return "llm_response" in values or {"status", "message", "data"} <= values.keys()


def _answer_of_lightrag(columns: Values, reasons: dict[str, str]) -> dict[str, Any]:
    """Return the columns of a result of LightRAG with the answer as ``response``, or why it has none."""
    status = columns.get("status", "success")
    if status not in ("success", "failure"):
        raise DataError(f"expected success or failure, found {raw_values.describe(status)}", field="status")
    rest = {key: value for key, value in columns.items() if key not in {"status", "message", "llm_response"}}
    if status == "success" and "llm_response" not in columns:
        return rest
    rest = {key: value for key, value in rest.items() if key not in NAMES["response"]}
    reply = object_cell(columns, "llm_response")
    if status == "failure":
        reason = read(columns, "message") or "LightRAG failed without a message"
        reasons |= {"response": reason, "contexts": reason}
        if object_cell(columns, "metadata").get("failure_reason") != _NO_RESULTS:
            return {**rest, "data": None}
    elif reply.get("llm_generated") is False:
        reasons["response"] = "no language model wrote the text: llm_response.llm_generated is false"
        return rest
    else:
        reasons["response"] = "llm_response.content is null"
    return {**rest, "response": reply.get("content")}
