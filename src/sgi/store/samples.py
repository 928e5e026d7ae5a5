"""A sample as a row of its table, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgi.kernel.sample import Sample
from sgi.store.text_codec import restored, stored, stored_json

if TYPE_CHECKING:
    from collections.abc import Mapping

_TEXTS = ("question", "response", "reference")
_OTHERS = ("contexts", "alternatives", "label", "metadata")


def sample_row(dataset: str, position: int, sample: Sample) -> dict[str, Any]:
    """The row of the table ``samples``, as a driver takes it, its columns in the table's order.

    JSON is text here. NULL stands where a field is absent, which is not the same as blank.

    >>> row = sample_row("d", 0, Sample(id="1", question="", contexts=("a",)))
    >>> row["question"], row["contexts"], row["response"]
    ('', '["a"]', None)
    """
    given = sample.model_fields_set
    return {
        "dataset": dataset,
        "position": position,
        "id": stored(sample.id),
        "cluster": sample.cluster(position),
        "question": stored(sample.question) if "question" in given else None,
        "contexts": stored_json(sample.contexts) if "contexts" in given else None,
        "response": stored(sample.response) if "response" in given else None,
        "reference": None if sample.reference is None else stored(sample.reference),
        "alternatives": stored_json(sample.alternatives) if "alternatives" in given else None,
        "label": sample.label,
        "metadata": stored_json(sample.metadata) if "metadata" in given else None,
    }


def sample_of(row: Mapping[str, Any]) -> Sample:
    """The sample in a row of the table ``samples``, as SQLAlchemy reads it: JSON is values again.

    >>> absent = dict.fromkeys(sample_row("d", 0, Sample(id="1")))
    >>> sorted(sample_of(absent | {"id": "1", "response": "", "contexts": ["a"]}).model_fields_set)
    ['contexts', 'id', 'response']
    """
    given = {name: row[name] for name in (*_TEXTS, *_OTHERS) if row[name] is not None}
    texts = {name: restored(given[name]) for name in _TEXTS if name in given}
    return Sample(id=restored(row["id"]), **(given | texts))
