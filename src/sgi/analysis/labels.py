"""Reads human labels from a column of the data."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sgi.engine.stored_runs import grouped_run
from sgi.kernel.errors import DataError, UsageError
from sgi.kernel.short_text import shorten
from sgi.kernel.signature import is_placeholder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sgi.engine.run import Run
    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

LabelKind = Literal["yes or no", "numbers", "classes"]

_WORDS = {"true": 1.0, "yes": 1.0, "1": 1.0, "false": 0.0, "no": 0.0, "0": 0.0}
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_HINT = "Use one kind of labels: true and false, yes and no, 0 and 1, numbers, or names of classes."


@dataclass(frozen=True)
class Labels:
    """A column of human labels: 1 and 0, numbers, or names in lower case; None for a row without a label."""

    column: str
    kind: LabelKind
    values: tuple[float | str | None, ...]

    @cached_property
    def known_rows(self) -> NDArray[np.bool_]:
        """Mask of the rows with a label, shape (n,)."""
        return np.array([value is not None for value in self.values], dtype=np.bool_)


def yes_no_labels(
    database: Database, record: RunRecord, label: str
) -> tuple[Run, tuple[float | str | None, ...]]:
    """Read a run and its yes/no labels: 1 for yes, 0 for no, None for a row without a label.

    Raises:
        UnknownNameError: there is no such column.
        DataError: a label cannot be read.
        UsageError: the labels are not yes and no.
    """
    run, values, _ = grouped_run(database, record, label, {})
    labels = read_labels(label, values, run.ids)
    if labels.kind != "yes or no":
        hint = "Use a column of yes and no, true and false, or 1 and 0 as `label`."
        raise UsageError(
            f"The labels in {label!r} of {record.label} are {labels.kind}, not yes and no.", hint=hint
        )
    return run, labels.values


def read_labels(column: str, values: Sequence[Any], ids: Sequence[str], *, numbers: bool = False) -> Labels:
    """Read labels of one kind: yes/no labels, numbers or names of classes.

    The first kind that fits all values is used. A blank text is not a label. Names are stripped and in lower
    case. ``values`` are JSON values. With ``numbers``, 0 and 1 are numbers, not yes and no.

    Raises:
        DataError: a label is neither a number nor a text, the column mixes kinds, or the run does not store
            texts; names the row.

    >>> read_labels("human", ["yes", "No", None], ["a", "b", "c"])
    Labels(column='human', kind='yes or no', values=(1.0, 0.0, None))
    """
    texts = [_text(value) for value in values]
    for value, text, row in zip(values, texts, ids, strict=True):
        if text and is_placeholder(text):
            hint = "Give labels as numbers or as true and false, or use a run that stores its texts."
            message = "the label is a text, and the run stores no texts"
            raise DataError(message, sample_id=row, field=column, hint=hint)
        if value is not None and text is None:
            raise _unreadable(value, row, column, "is neither a number nor a text")
    if not numbers and all(text in _WORDS for text in texts if text):
        return Labels(column, "yes or no", tuple(_WORDS[text] if text else None for text in texts))
    parsed = [_number(text) if text else None for text in texts]
    if not any(number is not None for number in parsed) and not numbers:
        return Labels(column, "classes", tuple(text or None for text in texts))
    for value, text, number, row in zip(values, texts, parsed, ids, strict=True):
        if text and number is None:
            raise _unreadable(value, row, column, "is not a number, but other labels are")
    return Labels(column, "numbers", tuple(parsed))


def _text(value: Any) -> str | None:
    """Return a label as text, empty for a row without a label; None if the value cannot be a label."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value.strip().casefold()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value) if abs(value) < 10**300 else None
    if isinstance(value, float) and math.isfinite(value):
        return str(int(value)) if value in {0.0, 1.0} else repr(value)
    return None


def _number(text: str) -> float | None:
    number = float(text) if _NUMBER.fullmatch(text) else math.nan
    return number if math.isfinite(number) else None


def _unreadable(value: Any, row: str, column: str, why: str) -> DataError:
    return DataError(f"the label {shorten(repr(value), 80)} {why}", sample_id=row, field=column, hint=_HINT)
