"""The retrieved passages of several systems by kind, and the kinds that their responses cite."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgi.kernel.sample import CONTEXTS, Field
from sgi.metrics.citations.cited_row import CitedRow
from sgi.text.kind_citations import kind_and_id, kinds_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sgi.analysis.systems import Systems
    from sgi.kernel.sample import Sample

NO_KIND = "passage"
NO_ANSWER, NO_PASSAGES = "no answer", "no passage was retrieved"


@dataclass(frozen=True)
class SystemPassages:
    """The passages of one system. A kind is that of ids ``KIND:ID``, or "passage" for other ids.

    Attributes:
        system: its name.
        rows: number of rows with passages; further rows of a system for the same question do not count.
        without: number of other rows, by the reason.
        passages: mean number of passages per row with passages, by kind, the most frequent first.
        words: mean number of their words, separated by white space; empty if a row has ids without texts.
        citing: number of rows with passages whose response cites one of them.
        cited: share of each kind among the cited passages; each counts once for a row. Empty without any.
    """

    system: str
    rows: int
    without: Mapping[str, int]
    passages: Mapping[str, float]
    words: Mapping[str, float]
    citing: int
    cited: Mapping[str, float]


def passage_kinds(systems: Systems) -> tuple[SystemPassages, ...]:
    """Count the retrieved and cited passages of each system by their kind; empty if no id has a kind."""
    runs = {id(run): run for run in systems.runs}.values()
    if not any(kinds_of(ids) for run in runs for (ids,) in run.fields("context_ids")):
        return ()
    by_system = zip(systems.names, map(systems.samples, range(len(systems.names))), strict=True)
    return tuple(_of_system(name, samples) for name, samples in by_system)


def _of_system(name: str, samples: Sequence[Sample | None]) -> SystemPassages:
    without = Counter(filter(None, map(_reason, samples)))
    rows = [(sample, _kinds(sample)) for sample in samples if sample is not None and not _reason(sample)]
    means = Counter(kind for _, kinds in rows for kind in kinds).most_common()
    passages, words = {kind: count / len(rows) for kind, count in means}, dict[str, float]()
    if all(sample.contexts for sample, _ in rows):
        words = dict.fromkeys(passages, 0.0)
        for row, kinds in rows:
            for kind, text in zip(kinds, row.contexts, strict=True):
                words[kind] += len(text.split()) / len(rows)
    cited = [[kinds[at] for at in _cited(sample)] for sample, kinds in rows]
    used = Counter(kind for kinds in cited for kind in kinds)
    shares = {kind: used[kind] / used.total() for kind in passages} if used else {}
    return SystemPassages(name, len(rows), dict(without), passages, words, sum(map(bool, cited)), shares)


def _kinds(sample: Sample) -> list[str]:
    pairs = map(kind_and_id, sample.context_ids or ("",) * len(sample.contexts))
    return [NO_KIND if pair is None else pair[0] for pair in pairs]


def _cited(sample: Sample) -> Iterable[int]:
    targets = [target.passage for each in CitedRow(sample, "", {}).citations for target in each.targets]
    return {at for at in targets if at is not None}


def _reason(sample: Sample | None) -> str:
    """Return why a row has no passages; "" if it has some."""
    if sample is None:
        return NO_ANSWER
    if sample.contexts or sample.context_ids:
        return ""
    return NO_PASSAGES if sample.has(Field.CONTEXTS) else sample.missing_reason(CONTEXTS)
