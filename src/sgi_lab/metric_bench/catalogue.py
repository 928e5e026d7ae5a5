"""All perturbations and judge faults, and their selection by name."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from sgi.kernel.errors import UnknownNameError
from sgi_lab.metric_bench.changed_answers import ANSWERS
from sgi_lab.metric_bench.changed_facts import FACTS
from sgi_lab.metric_bench.changed_passages import PASSAGES
from sgi_lab.metric_bench.judge_faults import JUDGE_FAULTS
from sgi_lab.metric_bench.meaning import MEANINGS
from sgi_lab.metric_bench.perturbation import Kind
from sgi_lab.metric_bench.wording import WORDINGS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi_lab.metric_bench.judge_faults import JudgeFault
    from sgi_lab.metric_bench.perturbation import Perturbation

PERTURBATIONS: dict[str, Perturbation] = {
    one.name: one
    for one in sorted(
        (*FACTS, *MEANINGS, *PASSAGES, *WORDINGS, *ANSWERS),
        key=lambda one: list(Kind).index(one.kind),
    )
}
"""Perturbations of rows by name: errors, then harmless, surely supported and other changes."""
FAULTS: dict[str, JudgeFault] = {fault.name: fault for fault in JUDGE_FAULTS}
"""Faults of a judge by name."""


def select(names: Sequence[str] = ()) -> tuple[tuple[Perturbation, ...], tuple[JudgeFault, ...]]:
    """Return the perturbations and judge faults with these names, in the catalogue's order; all if empty.

    Raises:
        UnknownNameError: a name is unknown; the message suggests similar names.

    >>> [[one.name for one in some] for some in select(["reply_cut", "number_swap"])]
    [['number_swap'], ['reply_cut']]
    """
    known = [*PERTURBATIONS, *FAULTS]
    for name in names:
        if name not in known:
            near = tuple(difflib.get_close_matches(name, known, n=2, cutoff=0.5))
            raise UnknownNameError(
                "perturbation", name, near, hint="`sgi study bench --list` shows them all."
            )
    wanted = frozenset(names or known)
    rows = tuple(one for one in PERTURBATIONS.values() if one.name in wanted)
    return rows, tuple(fault for fault in FAULTS.values() if fault.name in wanted)
