"""The diagnosis of a run: for each row one cause with its evidence, and the share of each cause."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sgi.analysis.diagnosis.causes import CAUSES, NOT_DIAGNOSED, SHARES_ARE, TITLES, Cause
from sgi.engine.summary import NotebookRepr
from sgi.kernel.errors import UnknownNameError
from sgi.kernel.short_text import pluralize, pluralize_part, short_repr

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sgi.analysis.diagnosis.spans import Span
    from sgi.stats.intervals import Interval

_SHOWN = 5  # rows to read


@dataclass(frozen=True)
class RowDiagnosis:
    """The cause of one row.

    Attributes:
        id: the id of the row.
        cause: one of the causes; None if the row is not diagnosed.
        because: a sentence that says why; for a row that is not diagnosed, what is unknown.
        doubt: from 0 to 1 for a row without a cause: 1 for the rows to read first; None if it is unknown.
        finding: what was found in a row without a cause.
        system: the system that gave the answer, if the run has answers of several; empty otherwise.
        rule: the number of the rule that decided, from 1; None if the row is not diagnosed.
        signals: the signals of this rule, as numbers, true, false, or None if unknown.
        spans: the parts of the row that these signals are about.
    """

    id: str
    cause: Cause | None
    because: str
    rule: int | None = None
    signals: Mapping[str, float | bool | None] | None = None
    spans: tuple[Span, ...] = ()
    doubt: float | None = None
    finding: str = ""
    system: str = ""

    __repr__ = short_repr

    @property
    def label(self) -> str:
        """The cause, or ``not diagnosed``."""
        return self.cause or NOT_DIAGNOSED

    @property
    def explanation(self) -> str:
        """Why the row has its cause; for a row without a cause, what was found in it."""
        return self.finding or self.because

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON values."""
        spans = [
            {key: value for key, value in asdict(span).items() if value not in (None, "")}
            for span in self.spans
        ]
        return {
            "id": self.id,
            **({"system": self.system} if self.system else {}),
            "cause": self.cause,
            "because": self.because,
            "rule": self.rule,
            "doubt": self.doubt,
            "finding": self.finding,
            "signals": dict(self.signals or {}),
            "spans": spans,
        }


@dataclass(frozen=True)
class CauseShare:
    """The share of the diagnosed rows to which the rules give this cause; it includes wrong diagnoses.

    Attributes:
        rows: the number of rows that are called so.
        share: their share; None if no row is diagnosed.
        interval: the 95 % interval of the share that other clusters of the same kind would be called so; it
            does not include wrong diagnoses. None if there is none.
        no_interval: why there is no interval; empty if there is one.
    """

    cause: Cause
    rows: int
    share: float | None
    interval: Interval | None
    no_interval: str = ""


@dataclass(frozen=True)
class CauseGroup:
    """The shares of the causes in a group of rows."""

    name: str
    rows: int
    diagnosed: int
    causes: tuple[CauseShare, ...]


@dataclass(frozen=True)
class Diagnosis(NotebookRepr):
    """The diagnosis of a run: a cause for each row that has a fault.

    Attributes:
        run: the name of the run.
        rows: the diagnosis of each row.
        causes: the share of each cause that occurs or that the table can give, most frequent first.
        table: the file of the decision table.
        next_steps: what to do about each cause.
        by: the column of ``groups``, or "".
        groups: the shares by group.
        computed: the metrics that were computed because the run does not have them.
        models: the identities of the models behind the metrics, sorted.
        notes: what the reader should know.
    """

    run: str
    rows: tuple[RowDiagnosis, ...]
    causes: tuple[CauseShare, ...]
    table: str
    next_steps: Mapping[Cause, str]
    by: str = ""
    groups: tuple[CauseGroup, ...] = ()
    computed: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    __repr__ = short_repr

    @property
    def diagnosed(self) -> int:
        """The number of diagnosed rows."""
        return sum(row.cause is not None for row in self.rows)

    @property
    def count_text(self) -> str:
        """The numbers of diagnosed rows and of all rows, as a text."""
        return f"{pluralize_part(self.diagnosed, len(self.rows), 'row', 'is', 'are')} diagnosed"

    @property
    def coverage(self) -> float | None:
        """The share of diagnosed rows; None without rows."""
        return self.diagnosed / len(self.rows) if self.rows else None

    @property
    def reasons(self) -> dict[str, int]:
        """Why rows are not diagnosed, with the number of rows, most frequent first."""
        return dict(Counter(row.because for row in self.rows if row.cause is None).most_common())

    def __getitem__(self, row_id: str) -> RowDiagnosis:
        """Return the diagnosis of the row with this id."""
        for row in self.rows:
            if row.id == row_id:
                return row
        raise UnknownNameError(f"row of {self.run}", row_id)

    def of_cause(self, cause: str) -> tuple[RowDiagnosis, ...]:
        """Return the rows with this cause, or the ``not diagnosed`` rows, the most doubtful first."""
        check_cause(cause)
        rows = (row for row in self.rows if row.label == cause)
        return tuple(sorted(rows, key=lambda row: -(row.doubt or 0)))

    @property
    def to_read(self) -> tuple[RowDiagnosis, ...]:
        """The rows without a cause that a person should read, the most doubtful first."""
        return tuple(row for row in self.of_cause(NOT_DIAGNOSED) if row.doubt is not None)

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnosis as JSON values."""
        return {
            "run": self.run,
            "rows": len(self.rows),
            "diagnosed": self.diagnosed,
            "coverage": self.coverage,
            "causes": [asdict(share) for share in self.causes],
            "reasons": self.reasons,
            "by": self.by or None,
            "groups": [asdict(group) for group in self.groups],
            "table": self.table,
            "next_steps": dict(self.next_steps),
            "computed": list(self.computed),
            "models": list(self.models),
            "notes": list(self.notes),
            "diagnoses": [row.to_dict() for row in self.rows],
        }

    def __str__(self) -> str:
        lines = [f"{self.run}: {self.count_text}; {SHARES_ARE}"]
        lines += [_line(share) for share in self.causes if share.rows]
        lines += [
            f"  {NOT_DIAGNOSED}: {pluralize(rows, 'row')}: {reason}" for reason, rows in self.reasons.items()
        ]
        lines += [
            f"  to read: {row.id}{row.system and f' of {row.system}'}: {row.finding}"
            for row in self.to_read[:_SHOWN]
        ]
        return "\n".join(lines)


def _line(share: CauseShare) -> str:
    ends = "–" if share.interval is None else f"[{share.interval.low:.1%}, {share.interval.high:.1%}]"
    value = "–" if share.share is None else f"{share.share:.1%}"
    return f"  {share.cause:<22}{share.rows:>7,}{value:>8}  {ends:<18}{TITLES[share.cause]}"


def check_cause(cause: str) -> None:
    """Raise an UnknownNameError unless this is a cause, or ``not diagnosed``."""
    if cause not in {*CAUSES, NOT_DIAGNOSED}:
        raise UnknownNameError("cause", cause, hint=f"The causes are: {', '.join((*CAUSES, NOT_DIAGNOSED))}.")
