"""Compute the tables of fact pairs in docs/results/grounding.md: how often verdicts of fact checks are right.

The pairs are in tests/data/facts: a passage, a sentence, a fact in it, and the right verdict. A pair with the
verdict "none" marks words that claim nothing that can be checked. The rules of the checks were chosen on the
part "choice"; the part "held" was written before the last of them, and its failures were not read. A pair has
the version of the rules that it was written for, if that is not 2.

    python scripts/facts_page.py             replaces the table in docs/results/grounding.md
    python scripts/facts_page.py --failures  prints the wrong verdicts of the part "choice"
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from page_parts import replace_parts

from sgi.metrics.grounding.facts.check import Verdict, check_facts
from sgi.reporting.table import Table
from sgi.stats.intervals import normal_quantile, wilson_ends

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "results" / "grounding.md"
PAIRS = ROOT / "tests" / "data" / "facts"
NONE = "none"
"""The verdict of a part of a sentence that has no fact."""

CHOICE, HELD = "choice", "held"
LEVEL = 0.95
_SEVERITY = (Verdict.CONTRADICTED, Verdict.ABSENT, Verdict.SUPPORTED)


@dataclass(frozen=True, slots=True)
class Pair:
    """A fact of a sentence, with the verdict that is right and the verdict that the checks give."""

    id: str
    phenomenon: str
    part: str
    passage: str
    sentence: str
    fact: str
    start: int
    expected: str
    version: int = 2
    verdict: str = NONE

    @property
    def is_error(self) -> bool:
        """Whether the passage does not support the fact."""
        return self.expected in {Verdict.CONTRADICTED, Verdict.ABSENT}

    @property
    def is_flagged(self) -> bool:
        """Whether the checks call the fact contradicted or absent."""
        return self.verdict in {Verdict.CONTRADICTED, Verdict.ABSENT}


def read_pairs() -> list[Pair]:
    """Read the pairs, and check each fact."""
    files = sorted(PAIRS.glob("*.jsonl"))
    pairs = [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]
    return [Pair(**pair, verdict=verdict(pair["passage"], pair["sentence"], pair)) for pair in pairs]


def verdict(passage: str, sentence: str, pair: dict[str, object]) -> str:
    """Return the most severe verdict on the facts that overlap the fact of a pair."""
    start = int(str(pair["start"]))
    end = start + len(str(pair["fact"]))
    verdicts = {
        check.verdict
        for check in check_facts(sentence, [passage])
        if check.fact.start < end and start < check.fact.end
    }
    return next((one for one in _SEVERITY if one in verdicts), NONE)


def contradicted_precision(pairs: Sequence[Pair]) -> tuple[int, int]:
    """Return how many of the contradicted verdicts are right, and their number."""
    given = [pair for pair in pairs if pair.verdict == Verdict.CONTRADICTED]
    return sum(pair.expected == Verdict.CONTRADICTED for pair in given), len(given)


def absent_precision(pairs: Sequence[Pair]) -> tuple[int, int]:
    """Return how many of the absent verdicts are on unsupported facts, and their number."""
    given = [pair for pair in pairs if pair.verdict == Verdict.ABSENT]
    return sum(pair.is_error for pair in given), len(given)


def error_recall(pairs: Sequence[Pair]) -> tuple[int, int]:
    """Return how many of the planted errors are flagged, and their number."""
    errors = [pair for pair in pairs if pair.is_error]
    return sum(pair.is_flagged for pair in errors), len(errors)


def false_alarms(pairs: Sequence[Pair]) -> tuple[int, int]:
    """Return how many of the right facts (and parts without a fact) are flagged, and their number."""
    right = [pair for pair in pairs if not pair.is_error]
    return sum(pair.is_flagged for pair in right), len(right)


MEASURES = {
    "precision of contradicted": contradicted_precision,
    "precision of absent": absent_precision,
    "recall of planted errors": error_recall,
    "false alarms on right facts": false_alarms,
}


def fraction(hits: int, n: int) -> str:
    """Format a count, such as "12 of 13"."""
    return f"{hits} of {n}" if n else "–"


def with_interval(hits: int, n: int) -> str:
    """Format a share with its Wilson interval and its count."""
    low, high = wilson_ends(hits / n, n, normal_quantile(LEVEL))
    return f"{hits / n:.3f} [{low:.3f}, {high:.3f}], {hits} of {n}"


def summary(pairs: Sequence[Pair]) -> str:
    """Return the measures of each part, and of the pairs in it that were written for one version."""
    columns = {
        f"{part}, version {version}": [pair for pair in pairs if (pair.part, pair.version) == (part, version)]
        for part in (CHOICE, HELD)
        for version in sorted({pair.version for pair in pairs if pair.part == part})
    }
    rows = [
        (name, *(with_interval(*measure(chosen)) for chosen in columns.values()))
        for name, measure in MEASURES.items()
    ]
    return Table(("measure", *columns), rows, left=tuple(columns)).markdown()


def by_phenomenon(pairs: Sequence[Pair]) -> str:
    """Return the measures of each phenomenon and part."""
    names = list(dict.fromkeys(pair.phenomenon for pair in pairs))
    rows = []
    for name in names:
        for part in (CHOICE, HELD):
            chosen = [pair for pair in pairs if (pair.phenomenon, pair.part) == (name, part)]
            counts = [fraction(*measure(chosen)) for measure in MEASURES.values()]
            rows.append((name.replace("_", " "), part, str(len(chosen)), *counts))
    return Table(("phenomenon", "part", "pairs", *MEASURES), rows, left=("part",)).markdown()


def failures(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs of the part "choice" whose error is missed, or whose right fact is flagged."""
    return [pair for pair in pairs if pair.part == CHOICE and pair.is_error != pair.is_flagged]


def main(arguments: Sequence[str]) -> None:
    """Replace the table in the page, or print failures."""
    pairs = read_pairs()
    if "--failures" in arguments:
        for pair in failures(pairs):
            print(pair.id, pair.expected, pair.verdict, pair.fact, pair.sentence, pair.passage, sep=" | ")
        return
    text = f"{summary(pairs)}\n\n{by_phenomenon(pairs)}"
    PAGE.write_text(replace_parts(PAGE.read_text("utf-8"), {"fact pairs": text}), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
