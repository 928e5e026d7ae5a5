"""Limits on the work of one request to score rows."""

from __future__ import annotations

import asyncio

import pytest

from sgi.kernel.errors import UsageError
from sgi.kernel.registry import metric
from sgi.kernel.sample import Sample
from sgi_web.api.bodies import MAX_TEXTS, check_size

F1 = metric("content_f1")
SENTENCES = " ".join(f"Sentence {number} is here." for number in range(MAX_TEXTS))
ANSWER = Sample(id="1", question="Which?", contexts=("one",), response=SENTENCES)
ALTERNATIVES = [
    Sample(
        id=str(row),
        response="r",
        reference=f"s {row}",
        alternatives=tuple(f"{row} answer {number}" for number in range(100)),
    )
    for row in range(60)
]
LONG = "word " * 20_000


def check(samples, *metrics):
    asyncio.run(check_size(samples, metrics))


@pytest.mark.parametrize(
    ("samples", "metrics", "message"),
    [
        ([ANSWER], [metric("sgi")], "4,192 texts to embed"),
        (ALTERNATIVES, [metric("semantic_similarity")], "6,061 texts to embed"),
        ([Sample(id="1", response=LONG * 42, reference="r")], [metric("semantic_similarity")], "4,201 texts"),
        ([Sample(id="1", response="a cat " * 110_000, reference="A dog.")], [metric("bertscore")], "texts"),
        ([Sample(id="1", response=LONG, reference=LONG)], [F1] * 3, "character comparisons"),
    ],
)
def test_requests_with_too_much_work_are_refused(samples, metrics, message):
    with pytest.raises(UsageError, match=message):
        check(samples, *metrics)


@pytest.mark.parametrize(
    ("samples", "name"),
    [
        ([ANSWER], "sgi(sentences=false)"),
        (ALTERNATIVES, "content_f1"),
        ([Sample(id="1", response=LONG, reference="word")], "content_f1"),
    ],
)
def test_other_requests_are_accepted(samples, name):
    check(samples, metric(name))
