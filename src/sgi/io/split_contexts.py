"""Split contexts that are one text with separators, and say when data has such contexts."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

from sgi.io.column_use import ColumnUse
from sgi.kernel.sample import Sample
from sgi.kernel.short_text import pluralize, pluralize_part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.io.column_use import ReportColumns
    from sgi.io.readers import Dataset
    from sgi.io.rows import Reject

Separator = Literal["dashes", "bars", "numbers", "blank-lines"]
"""What separates passages: a line of ``---``, ``||``, numbers from 1 that begin lines, or blank lines."""
_PATTERNS: dict[Separator, re.Pattern[str]] = {
    "dashes": re.compile(r"\n[ \t]*-{3,}[ \t]*\n"),
    "bars": re.compile(r"\|\|"),
    "blank-lines": re.compile(r"\n[ \t]*\n"),
}
_NUMBER = re.compile(r"^[ \t]*(?:\[(\d{1,3})\]:?|(\d{1,3})[.)])[ \t]+", re.MULTILINE)
_SHARE = 0.5
"""A separator is reported if at least this share of the rows with contexts has it."""


def split_passages(text: str, by: Separator) -> tuple[str, ...]:
    r"""Split a text at a separator; blank parts are left out, and a text without it stays whole.

    >>> split_passages("One.\n---\nTwo.", "dashes"), split_passages("[1] One.\n[2] Two.", "numbers")
    (('One.', 'Two.'), ('One.', 'Two.'))
    """
    parts = _numbered(text) if by == "numbers" else _PATTERNS[by].split(text)
    passages = tuple(part.strip() for part in parts if part.strip())
    return passages if len(passages) > 1 else (text,)


def _numbered(text: str) -> list[str]:
    """Split before the lines that begin with 1, 2, 3 and so on; what precedes them is the first part."""
    cuts: list[re.Match[str]] = []
    for match in _NUMBER.finditer(text):
        if int(match[1] or match[2]) == len(cuts) + 1:
            cuts.append(match)
    if not cuts:
        return [text]
    ends = [*(match.start() for match in cuts[1:]), len(text)]
    return [text[: cuts[0].start()], *(text[one.end() : end] for one, end in zip(cuts, ends, strict=True))]


@dataclass(frozen=True)
class SplitContexts:
    """Data whose contexts of one text are split by ``by``; None only reports that they could be.

    Rows with ids or scores of their contexts are not split, because the ids would no longer fit.
    """

    rows: Dataset
    by: Separator | None = None

    @property
    def name(self) -> str:
        """The name of the rows, for messages and the signature."""
        return self.rows.name

    def samples(
        self, *, on_reject: Reject | None = None, on_columns: ReportColumns | None = None
    ) -> Iterator[Sample]:
        """Yield the rows in order; the note on separators comes after the last one."""
        use = ColumnUse()

        def keep(found: ColumnUse) -> None:
            nonlocal use
            use = found
            if on_columns is not None:
                on_columns(found)

        counts: Counter[Separator] = Counter()
        total = 0
        for sample in self.rows.samples(on_reject=on_reject, on_columns=keep):
            total += bool(sample.contexts)
            found = self._found(sample)
            if found is not None:
                counts[found] += 1
            yield sample if found is None or self.by is None else _split(sample, found)
        note = self._note(counts, total)
        if note and on_columns is not None:
            on_columns(replace(use, notes=(*(use.notes or ("Columns:",)), note)))

    def _found(self, sample: Sample) -> Separator | None:
        """Return the separator of the only passage of a row; None if it has none or is not split."""
        if len(sample.contexts) != 1 or sample.context_ids or sample.context_scores:
            return None
        text = sample.contexts[0]
        names = get_args(Separator) if self.by is None else (self.by,)
        return next((name for name in names if len(split_passages(text, name)) > 1), None)

    def _note(self, counts: Counter[Separator], total: int) -> str:
        if self.by is not None:
            return f"Contexts of {pluralize_part(counts[self.by], total, 'row')} were split by {self.by}."
        name, count = next(iter(counts.most_common(1)), ("", 0))
        if not count or count < _SHARE * total:
            return ""
        return (
            f"Contexts of {count:,} of {pluralize(total, 'row')} are one text with {name}, and count as one"
            f" passage. If these separate passages, use --split-contexts {name}."
        )


def _split(sample: Sample, by: Separator) -> Sample:
    values = {name: getattr(sample, name) for name in sample.model_fields_set}
    return Sample(**values | {"contexts": split_passages(sample.contexts[0], by)})
