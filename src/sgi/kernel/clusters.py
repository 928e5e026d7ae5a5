"""Cluster rules: which rows form a cluster, because they are not statistically independent."""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sgi.kernel.errors import UnknownNameError
from sgi.kernel.placeholders import display_text, placeholder, with_placeholders
from sgi.kernel.short_text import shorten
from sgi.kernel.signature import digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

BY_QUESTION = "question"
"""The default rule: a cluster has the rows with the same question, or with none and the same passages."""

BY_CONTEXTS = "contexts"
"""Rule: a cluster has the rows with the same passages."""

BY_ROW = "row"
"""Rule: every row is a separate cluster."""

WORDS = (BY_QUESTION, BY_CONTEXTS, BY_ROW)
"""The names of the built-in rules. Any other rule is the name of a metadata column."""

_NO_COLUMNS: Mapping[str, Any] = {}
_MAX_TEXT = 80
_MAX_NAMES = 20
_DOMINANT = 5
"""A cluster with more than 1/5 of the rows is dominant: up to there, simulated 95 % intervals cover 93 %."""
_MIN_CLUSTERS = 5


def is_column(by: str) -> bool:
    """Return whether a rule is the name of a metadata column."""
    return by not in WORDS


def cluster_number(
    by: str,
    position: int,
    *,
    question: str = "",
    contexts: Sequence[str] = (),
    metadata: Mapping[str, Any] = _NO_COLUMNS,
) -> int:
    """Return the number of a row's cluster, a signed 64-bit integer.

    A row without the fields of the rule is a separate cluster. White space is ignored, and a placeholder
    (`sgi.kernel.placeholders`) gives the same number as its text. ``by`` is the rule: one of ``WORDS``, or a
    metadata column; ``position`` is the index of the row.

    >>> cluster_number("doc", 0, metadata={"doc": 7}) == cluster_number("doc", 1, metadata={"doc": 7})
    True
    """
    texts = _cluster_texts(by, question, contexts, metadata) or (f"\0{position}",)
    parts = (text.encode("utf-8", "surrogatepass") for text in texts)
    return int.from_bytes(digest(*parts, size=8), "big", signed=True)


def has_value(metadata: Mapping[str, Any], column: str) -> bool:
    """Return whether a row has a value in a metadata column; null and blank texts do not count."""
    value = metadata.get(column)
    return value is not None and (not isinstance(value, str) or bool(value.strip()))


def _cluster_texts(
    by: str, question: str, contexts: Sequence[str], metadata: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return the values that all rows of a cluster have, as placeholders; empty for a separate row."""
    if by == BY_ROW:
        return ()
    if by == BY_QUESTION and question.strip():
        return (placeholder(question),)
    if not is_column(by):
        return ("", *map(placeholder, contexts)) if any(text.strip() for text in contexts) else ()
    if not has_value(metadata, by):
        return ()
    return ("\0column", json.dumps(with_placeholders(metadata[by]), sort_keys=True))


def unknown_column(data: str, column: str, columns: Iterable[str]) -> UnknownNameError:
    """Return the error for a column that does not exist; it lists the existing columns."""
    names = sorted(columns)
    near = tuple(difflib.get_close_matches(column, names, n=2))
    return UnknownNameError(f"column of {data}", column, near, hint=list_columns(names))


def list_columns(columns: Iterable[str]) -> str:
    """Return a sentence that lists the columns of the data, but not more than twenty.

    >>> list_columns(["topic", "kind"])
    'It has: kind, topic.'
    """
    names = sorted(columns)
    more = f", and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return f"It has: {', '.join(names[:_MAX_NAMES])}{more}." if names else "It has none."


@dataclass(frozen=True)
class DominantCluster:
    """A cluster with more than a fifth of the rows.

    Attributes:
        text: the question that its rows share; empty for other cluster rules.
        rows: number of its rows.
        contexts: number of different lists of passages of rows that share a question; otherwise 0.
    """

    text: str
    rows: int
    contexts: int


@dataclass(frozen=True)
class Clustering:
    """The cluster rule of a run, the number of rows without a value for it, and the dominant cluster.

    Attributes:
        by: what the rows of a cluster share: ``question``, ``contexts``, ``row`` or a column.
        without_value: number of rows without a value in the column.
        dominant: the largest cluster, if it is too large for intervals that keep their level.
    """

    by: str = BY_QUESTION
    without_value: int = 0
    dominant: DominantCluster | None = None

    def notes(self, rows: int) -> Iterator[str]:
        r"""Yield notes that explain how the intervals treat rows; ``rows`` is the number of all rows.

        >>> print(*Clustering("doc", without_value=2).notes(9), sep="\n")
        Intervals and tests treat rows with the same 'doc' as one cluster.
        2 of 9 rows have no value in the column 'doc'; each of them is a cluster of its own.
        """
        if self.by == BY_CONTEXTS:
            yield "Intervals and tests treat rows with the same contexts as one cluster."
        elif self.by == BY_ROW:
            yield "Intervals and tests treat all rows as independent."
        elif is_column(self.by):
            yield f"Intervals and tests treat rows with the same {self.by!r} as one cluster."
        if self.without_value:
            yield (
                f"{self.without_value:,} of {rows:,} rows have no value in the column {self.by!r};"
                " each of them is a cluster of its own."
            )
        if self.dominant is not None:
            yield _dominant_note(self.dominant, rows)


DEFAULT_CLUSTERING = Clustering()
"""The default rule, without further notes."""


def _dominant_note(cluster: DominantCluster, rows: int) -> str:
    """Explain the limit that `scripts/simulate.py means` measures."""
    text = shorten(" ".join(display_text(cluster.text)[: 4 * _MAX_TEXT].split()), _MAX_TEXT)
    passages = f", with {cluster.contexts:,} different contexts" if cluster.contexts > 1 else ""
    which = f"have the question {text!r}{passages}, and" if text else "belong together, and"
    advice = " If these rows are independent, cluster them by contexts." if passages else ""
    return (
        f"{cluster.rows:,} of {rows:,} rows {which} count as one cluster. With more than a fifth of the rows"
        f" in one cluster, 95 % intervals of means miss the true mean in up to 11 % of simulations.{advice}"
    )


def dominant_cluster(
    text: str, rows: int, contexts: int, *, of: int, clusters: int
) -> DominantCluster | None:
    """Return the largest cluster if it has more than a fifth of the rows, or None.

    With fewer than 5 clusters, there is hardly an interval that a note could concern: then only a question
    with different passages counts, for which there is another cluster rule.
    """
    dominates = rows > 1 and of < _DOMINANT * rows and (clusters >= _MIN_CLUSTERS or contexts > 1)
    return DominantCluster(text if text.strip() else "", rows, contexts) if dominates else None
