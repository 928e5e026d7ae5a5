"""What people said of each row, read from a column of the data."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from sgi.kernel.errors import DataError
from sgi.kernel.placeholders import is_placeholder

if TYPE_CHECKING:
    from collections.abc import Sequence

LabelKind = Literal["yes or no", "numbers", "classes"]

_WORDS = {"true": 1.0, "yes": 1.0, "1": 1.0, "false": 0.0, "no": 0.0, "0": 0.0}
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_LONGEST = 80
_HINT = "Labels are true and false, yes and no, 0 and 1, numbers, or names of classes; one kind in a column."


@dataclass(frozen=True)
class Labels:
    """A column of human labels.

    Attributes:
        column: its name.
        kind: what the labels are.
        values: 1 and 0, numbers, or names in lower case; None where a row has no label.
    """

    column: str
    kind: LabelKind
    values: tuple[float | str | None, ...]

    @property
    def count(self) -> int:
        """How many rows have a label."""
        return sum(value is not None for value in self.values)


def read_labels(column: str, values: Sequence[Any], ids: Sequence[str], *, numbers: bool = False) -> Labels:
    """Labels of one kind: yes or no where all are that, else numbers where all are, else names of classes.

    A blank text is no label. Names lose their case and the blanks around them.

    Args:
        column: its name.
        values: what each row has there, as JSON values.
        ids: the rows' ids.
        numbers: take 0 and 1 for numbers as others.

    Raises:
        DataError: a label is neither a number nor a text, or the column mixes kinds; names the row;
            or the labels are texts that the run did not keep.

    >>> read_labels("human", ["yes", "No", None], ["a", "b", "c"])
    Labels(column='human', kind='yes or no', values=(1.0, 0.0, None))
    """
    texts = [_text(value) for value in values]
    for value, text, row in zip(values, texts, ids, strict=True):
        if text and is_placeholder(text):
            hint = "Give labels as numbers or as true and false, or use a run that keeps its texts."
            raise DataError(
                "the label is a text, and the run keeps none", sample_id=row, field=column, hint=hint
            )
        if value is not None and text is None:
            raise _unreadable(value, row, column, "is neither a number nor a text")
    given = [text for text in texts if text]
    if not numbers and all(text in _WORDS for text in given):
        return Labels(column, "yes or no", tuple(_WORDS[text] if text else None for text in texts))
    parsed = [_number(text) if text else None for text in texts]
    if not any(number is not None for number in parsed) and not numbers:
        return Labels(column, "classes", tuple(text or None for text in texts))
    for value, text, number, row in zip(values, texts, parsed, ids, strict=True):
        if text and number is None:
            raise _unreadable(value, row, column, "is no number, but other labels are")
    return Labels(column, "numbers", tuple(parsed))


def _text(value: Any) -> str | None:
    """A label as text, empty where there is none; None of what cannot be a label."""
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
    """A finite number, as it is usually written."""
    number = float(text) if _NUMBER.fullmatch(text) else math.nan
    return number if math.isfinite(number) else None


def _unreadable(value: Any, row: str, column: str, why: str) -> DataError:
    shown = repr(value)
    shown = shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"
    return DataError(f"the label {shown} {why}", sample_id=row, field=column, hint=_HINT)
