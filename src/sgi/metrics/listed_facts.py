"""Facts that a response must state, listed in a column of the data."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sgi.kernel.metric import Scores, Status
from sgi.kernel.sample import RESPONSE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import JsonValue

    from sgi.kernel.metric import AnyMetric
    from sgi.kernel.sample import Sample

_KEYS = ("statement", "assertion", "fact", "text")
_REQUEST = re.compile(
    r"\s*(?:the|an?)\s(?:response|answer)\s(?:should|must|needs?\sto|has\sto)\s(?:also\s)?"
    r"(?:(?P<forbidden>not|never|avoid|omit)\b|[a-z]+\s(?:that\s)?)",
    re.IGNORECASE,
)


def set_needs(metric: AnyMetric, facts: object) -> None:
    """Set what a metric needs: with a column of facts, "" for none, it needs no reference.

    Raises:
        TypeError: the name of the column is not a text.
    """
    if not isinstance(facts, str):
        raise TypeError(f"facts must be the name of a column, not {facts!r}")
    if facts:
        object.__setattr__(metric, "spec", replace(type(metric).spec, needs=RESPONSE))


def listed_facts(sample: Sample, column: str) -> tuple[str, ...] | str:
    """Return the distinct facts in a column, or the reason why there are none.

    The column has a list of texts, or of objects with a text ``statement`` (benchmark-qed 0.4.0),
    ``assertion``, ``fact`` or ``text``; or one text: a JSON list, or one fact per line. Of "The response
    should state that it is old.", the fact is what follows "that". A row that says what a response must not
    state has a reason.

    >>> from sgi.types import Sample
    >>> must = ["It is red.", {"statement": "The response should mention that it is old."}]
    >>> sample = Sample(id="1", metadata={"must": must})
    >>> listed_facts(sample, "must"), listed_facts(sample, "facts")
    (('It is red.', 'it is old.'), 'the sample has no facts')
    """
    cell = sample.metadata.get(column)
    if isinstance(cell, str):
        cell = _parsed(cell)
    if cell is None or cell == []:
        reason = _absent(sample).get(column)
        return f"the sample has no {column}" + (f" ({reason})" if reason else "")
    texts = [_text(each) for each in cell] if isinstance(cell, list) else [None]
    if None in texts:
        return f"the column {column} is not a list of texts"
    requests = [(text, _REQUEST.match(text)) for text in texts if text and text.strip()]
    if any(request and request["forbidden"] for _, request in requests):
        return f"the column {column} has what a response must not state"
    facts = dict.fromkeys(text[request.end() if request else 0 :].strip() for text, request in requests)
    return tuple(facts) or f"the facts in the column {column} are blank"


def scores_of_facts(
    values: Sequence[float | str], missing: Sequence[str], details: Sequence[Mapping[str, JsonValue]]
) -> Scores:
    """Return the scores of rows: a value, or why it is undefined; ``missing`` says why a row has no facts."""
    absent = np.array([bool(reason) for reason in missing], dtype=np.bool_)
    present = np.flatnonzero(~absent)
    reasons = dict.fromkeys(value for value in values if isinstance(value, str) and value)
    kept = [values[row] for row in present.tolist()]
    scores = Scores.of(
        np.array([np.nan if isinstance(value, str) else value for value in kept], dtype=np.float64),
        undefined={reason: np.array([value == reason for value in kept], np.bool_) for reason in reasons},
        details=[details[row] for row in present.tolist()],
    )
    without = Scores.without_value(Status.MISSING, [reason for reason in missing if reason])
    return Scores.assemble(len(values), [(present, scores), (np.flatnonzero(absent), without)])


def _absent(sample: Sample) -> Mapping[str, JsonValue]:
    reasons = sample.metadata.get("absent")
    return reasons if isinstance(reasons, dict) else {}


def _parsed(text: str) -> JsonValue:
    try:
        parsed: JsonValue = json.loads(text) if text.lstrip().startswith("[") else None
    except ValueError:
        parsed = None
    return [*filter(str.strip, text.splitlines())] if parsed is None else parsed


def _text(fact: JsonValue) -> str | None:
    if isinstance(fact, dict):
        fact = next((fact[key] for key in _KEYS if key in fact), None)
    return fact if isinstance(fact, str) else None
