"""Hypothesis strategies for texts and samples, for property tests of your own metrics."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from sgi.kernel.errors import UsageError
from sgi.kernel.sample import Sample

try:
    from hypothesis import strategies as st
except ModuleNotFoundError as error:
    raise UsageError(
        "sgi.testing.strategies needs hypothesis.", hint="Install it: pip install hypothesis"
    ) from error

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_ODD = (
    "",
    " ",
    "\n\n",
    "\u00a0",
    "\u200b",
    "e\u0301 is é",
    "👩\u200d👩\u200d👧",
    "القاهرة هي عاصمة مصر.",
    "東京は日本の首都である。",
    "a\x00b",
    "1,889.5 km",
    "One. Two! Three?",
    "=1+1",
    '{"json": null}',
)


def texts(max_size: int = 60) -> SearchStrategy[str]:
    """Return a strategy for texts in any script, including blank and hostile texts, without lone surrogates.

    ``max_size`` is the maximum length of random texts, in characters.

    >>> from hypothesis import find
    >>> find(texts(), lambda text: "1" in text)
    '1'
    """
    any_text = st.text(st.characters(codec="utf-8"), max_size=max_size)
    words = st.lists(st.sampled_from(("Paris", "is", "the", "capital.", "1889", "Rome?")), max_size=12)
    return st.one_of(any_text, words.map(" ".join), st.sampled_from(_ODD))


def samples(*, complete: bool = False) -> SearchStrategy[Sample]:
    """Return a strategy for samples with some of the fields, or all if ``complete``; fields may be blank.

    >>> from hypothesis import given
    >>> @given(samples(complete=True))
    ... def a_response_is_given(sample):
    ...     assert sample.response is not None
    >>> a_response_is_given()
    """
    always = {"id": st.uuids().map(str)}
    fields = {
        "question": texts(),
        "contexts": st.lists(texts(), max_size=5).map(tuple),
        "response": texts(),
        "reference": texts(),
        "alternatives": st.lists(texts(), max_size=3).map(tuple),
        "label": st.booleans(),
        "metadata": st.dictionaries(
            texts(8), st.none() | st.booleans() | st.integers() | texts(8), max_size=3
        ),
    }
    if complete:
        rows = st.fixed_dictionaries(always | fields | _retrieval_fields())
    else:
        none: SearchStrategy[dict[str, Any]] = st.just({})
        retrieval = none | st.fixed_dictionaries({}, optional=_retrieval_fields())
        rows = st.builds(operator.or_, st.fixed_dictionaries(always, optional=fields), retrieval)
    return rows.map(_with_equal_lengths).map(Sample.model_validate)


def _retrieval_fields() -> dict[str, SearchStrategy[Any]]:
    """Return strategies for the fields that most data lacks."""
    ids = texts(8).filter(str.strip)
    return {
        "context_ids": st.lists(ids, max_size=5, unique=True),
        "context_scores": st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=5),
        "relevance": st.dictionaries(ids, st.integers(-1, 3), max_size=3),
        "gold_passages": st.lists(texts(), max_size=3),
        "citations": st.lists(_citations(ids), max_size=3),
        "answerable": st.booleans(),
        "turns": st.lists(_turns(), max_size=3),
        "latency_ms": st.floats(0, 1e9),
        "prompt_tokens": st.integers(0, 2**31 - 1),
        "completion_tokens": st.integers(0, 2**31 - 1),
        "cost": st.floats(0, 1e9),
    }


def _citations(ids: SearchStrategy[str]) -> SearchStrategy[dict[str, Any]]:
    spans = st.tuples(st.integers(0, 50), st.integers(1, 50)).map(
        lambda span: {"start": span[0], "end": span[0] + span[1]}
    )
    passages = st.fixed_dictionaries({"passage": ids | st.integers(1, 9)})
    return st.builds(operator.or_, passages, st.just({}) | spans)


def _turns() -> SearchStrategy[dict[str, Any]]:
    roles = st.sampled_from(("user", "assistant", "system", "tool"))
    contexts = st.lists(texts(), max_size=2)
    return st.fixed_dictionaries({"role": roles, "text": texts()}, optional={"contexts": contexts})


def _with_equal_lengths(values: dict[str, Any]) -> dict[str, Any]:
    """Cut passages, their ids and their scores to the shortest of the three."""
    given = {"contexts", "context_ids", "context_scores"} & values.keys()
    length = min((len(values[name]) for name in given), default=0)
    return values | {name: values[name][:length] for name in given}
