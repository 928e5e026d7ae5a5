"""Hypothesis strategies for texts and samples, for property tests of your own metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    """Return a strategy for texts in any script, also blank and hostile ones, without lone surrogates.

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
        rows = st.fixed_dictionaries(always | fields)
    else:
        rows = st.fixed_dictionaries(always, optional=fields)
    return rows.map(Sample.model_validate)
