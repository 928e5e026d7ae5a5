"""Identifies sets of questions, so that gates on the same questions can be counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgi.analysis.pairing import RowKeys
from sgi.kernel.signature import canonical_json, digest

if TYPE_CHECKING:
    from sgi.kernel.scored import ScoredRun


def questions_key(run: ScoredRun) -> str:
    """Hash the set of questions of a run, independent of order, responses and contexts.

    A row without a question is identified by its contexts, else by its reference, else by its id.

    >>> import numpy as np
    >>> from sgi.kernel.sample import Sample
    >>> from sgi.kernel.scored import ScoredRun
    >>> def key(*samples):
    ...     ids = tuple(sample.id for sample in samples)
    ...     read = lambda rows: (samples[row] for row in rows)
    ...     return questions_key(ScoredRun("last", len(ids), ids, np.arange(len(ids)), {}, samples=read))
    >>> one, two = Sample(id="1", question="Who?"), Sample(id="2", question="When?")
    >>> key(one, two) == key(two, one), key(one) == key(two)
    (True, False)
    """
    keys = RowKeys.of(run)
    identities = [("", 0)] * len(run.ids) if keys is None else keys.identity
    named = {found if found[1] else ("id", name) for found, name in zip(identities, run.ids, strict=True)}
    return digest(canonical_json(sorted(map(list, named), key=repr))).hex()
