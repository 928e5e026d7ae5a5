"""Read DeepEval's test runs and datasets."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from sgi.io.documents import Document, documents_in
from sgi.kernel import raw_values
from sgi.kernel.errors import DataError
from sgi_traces.span import read_costs, usage_attributes
from sgi_traces.trace_conversation import ChatMessage, conversation_rows
from sgi_traces.trace_records import all_rows, cell_value, list_cell, make_row, read

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi_traces.assemble import TraceRow, TraceRows

_RUN = "testRunData"
RUN_LISTS = ("testCases", "conversationalTestCases")
"""The lists of a test run."""
_FIELDS = {
    "question": ("input",),
    "contexts": ("retrieval_context", "retrievalContext"),
    "response": ("actual_output", "actualOutput"),
    "reference": ("expected_output", "expectedOutput"),
}
_LABELS = {"True": "passed", "False": "failed"}
_SEPARATOR = "|"
"""DeepEval writes it between the passages in CSV and JSON lines."""


def is_deepeval(values: Mapping[str, object]) -> bool:
    """Return whether a record is a test run, a test case or a golden.

    >>> is_deepeval({"testCases": [], "metricsScores": []}), is_deepeval({"input": "Who?", "output": "She."})
    (True, False)
    """
    if isinstance(values.get(_RUN), dict) or isinstance(values.get(RUN_LISTS[0]), list):
        return True
    if "custom_column_key_values" in values and {"additional_metadata", "comments"} <= values.keys():
        return "input" in values or "turns" in values
    return "input" in values and "actualOutput" in values


class DeepEvalReader:
    """Makes rows of test cases; their ids are their names, and repeated names get a number."""

    def __init__(self) -> None:
        self._names: Counter[str] = Counter()

    def rows(self, values: Mapping[str, Any], line: int = 0) -> TraceRows:
        """Make a row of a test case, or of each turn of a conversation; of all if it is a test run.

        Raises DataError with the field for wrong types.
        """
        run = values[_RUN] if isinstance(values.get(_RUN), dict) else values
        if RUN_LISTS[0] not in run and RUN_LISTS[1] not in run:
            return self._rows(values, line)
        parts = []
        for field, place, case in [
            (key, *item) for key in RUN_LISTS for item in enumerate(list_cell(run, key))
        ]:
            try:
                parts.append(self._rows(case, line))
            except DataError as error:
                where = f"{field}.{place}" + (f".{error.field}" if error.field else "")
                raise DataError(
                    error.message, sample_id=error.sample_id, field=where, hint=error.hint
                ) from None
        rows = (row for part in parts for row in part.rows)
        return all_rows(rows, (reason for part in parts for reason in part.unanswered))

    def _rows(self, case: Any, line: int) -> TraceRows:
        if not isinstance(case, dict) or not {"input", "turns"} & case.keys():
            raise DataError("is not a test case of DeepEval, which has an input or turns")
        name = read(case, "name")
        if name:
            self._names[name] += 1
            name = name if self._names[name] == 1 else f"{name}-{self._names[name]}"
        try:
            return (
                _conversation(case, name or "", line)
                if "turns" in case
                else all_rows([_case(case, name, line)])
            )
        except DataError as error:
            raise DataError(error.message, sample_id=name, field=error.field, hint=error.hint) from None


def _case(case: Mapping[str, Any], name: str | None, line: int) -> TraceRow:
    columns = {field: next((key for key in keys if key in case), keys[0]) for field, keys in _FIELDS.items()}
    passages = documents(case, columns["contexts"])
    texts = (
        None
        if passages is None or any(item.text is None for item in passages)
        else [item.text for item in passages]
    )
    fields = {
        "id": name or None,
        "question": read(case, columns["question"]),
        "contexts": texts,
        "response": read(case, columns["response"]),
        "reference": read(case, columns["reference"]),
        **_costs(case),
    }
    rest = {
        key: cell_value(value) for key, value in case.items() if key not in {*columns.values(), "metricsData"}
    }
    absent = {"contexts": "retrieval_context is empty" if passages is None else "a passage has no text"}
    metadata = {**rest, "evaluations": _evaluations(case)}
    return make_row(fields, columns, metadata, absent=absent, line=line)


def _costs(case: Mapping[str, object]) -> dict[str, object]:
    usage = {"input": case.get("input_token_count"), "output": case.get("output_token_count")}
    return read_costs(usage_attributes(usage, case.get("token_cost")))._asdict()


def documents(case: Mapping[str, Any], column: str) -> list[Document] | None:
    """Return the passages of a case; a text holds several with ``|`` between them."""
    value = cell_value(case.get(column))
    if raw_values.is_absent(value) or value == "":
        return None
    if isinstance(value, str):
        return [Document(part) for part in value.split(_SEPARATOR)]
    items = (
        [item.get("context", item) if isinstance(item, dict) else item for item in value]
        if isinstance(value, list)
        else None
    )
    passages = None if items is None else documents_in(items)
    if passages is None:
        raise DataError(f"expected a list of passages, found {raw_values.describe(value)}", field=column)
    return passages


def _conversation(case: Mapping[str, Any], name: str, line: int) -> TraceRows:
    messages = []
    for place, turn in enumerate(list_cell(case, "turns")):
        if not isinstance(turn, dict) or turn.get("role") not in ("user", "assistant"):
            raise DataError("expected an object with role user or assistant", field=f"turns.{place}")
        column = next((key for key in _FIELDS["contexts"] if key in turn), "retrievalContext")
        messages.append(
            ChatMessage(turn["role"], read(turn, "content"), documents=documents(turn, column), source=column)
        )
    rest = {key: cell_value(value) for key, value in case.items() if key not in {"turns", "metricsData"}}
    metadata = {**rest, "session_evaluations": _evaluations(case)}
    return conversation_rows(messages, metadata, source="turns", name=name, line=line)


def _evaluations(case: Mapping[str, object]) -> dict[str, object]:
    """Return the scores of DeepEval's metrics, by metric."""
    scores: dict[str, object] = {}
    for metric in list_cell(case, "metricsData"):
        if isinstance(metric, dict) and isinstance(metric.get("name"), str):
            known = {
                "score": metric.get("score"),
                "label": _LABELS.get(str(metric.get("success"))),
                "explanation": metric.get("reason") or metric.get("error"),
            }
            scores[metric["name"]] = {key: value for key, value in known.items() if value is not None}
    return scores
