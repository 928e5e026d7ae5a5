"""List the labelled rows that the grounding detector ranks worst, to be read by hand.

For each set: the 20 supported rows with the lowest score and the 20 unsupported rows with the highest score.
Equal scores are ordered by id. At most 3 rows with the same passages and the same label are taken, so that
one document cannot fill the list. Sets that train the detector are scored with weights that were trained
without them. `docs/results/misranked-rows.md` has the causes.

    python scripts/misranked_rows.py DATA_FOLDER [--causes FILE]

Each line of the output has the set, the id, the label and the score. With ``--causes``, a file with the
cause of each row (`docs/results/misranked-rows.jsonl`), each line has the cause too, "?" for a row that is
not in the file. A row that was read with several versions of the detector has its last cause.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import train_grounding

import sgi
from sgi.metrics.grounding.evidence_map import EvidenceMap
from sgi.metrics.grounding.model import grounding_model
from sgi.metrics.grounding.signals import Signals

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sgi.stats.monotone_logistic import MonotoneLogistic

SETS = {
    **train_grounding.SETS,
    "HaluEval dialogue": "halueval_dialogue.jsonl",
    "SummEdits": "entailment/summedits.jsonl",
    "FoolMeTwice": "entailment/fool_me_twice.jsonl",
    "FEVER-Symmetric": "entailment/fever_symmetric.jsonl",
}
ROWS_READ = {"HaluEval dialogue": 1000, "SummEdits": 1000}
"""Number of rows from the start of the large sets."""

PER_LABEL = 20
MAX_PER_PASSAGES = 3


class ScoredRow(NamedTuple):
    """A labelled row with its log odds of support."""

    row_id: str
    label: bool
    passages: tuple[str, ...]
    log_odds: float


def score_rows(path: Path, count: int | None, model: MonotoneLogistic) -> list[ScoredRow]:
    """Score the labelled rows that have a value with these weights; ``count`` None means all rows."""
    lines = path.read_text(encoding="utf-8").splitlines()[:count]
    result = sgi.evaluate([json.loads(line) for line in lines], "grounding")
    scores = result["grounding"]
    rows = []
    for number, sample in enumerate(result.samples):
        if sample.label is not None and scores.ok[number]:
            signals = EvidenceMap.model_validate(dict(scores.details[number])).signals
            values = np.array([[signals[name].value for name in Signals._fields]], dtype=np.float64)
            log_odds = float(model.log_odds(values)[0])
            rows.append(ScoredRow(str(sample.id), bool(sample.label), tuple(sample.contexts), log_odds))
    return rows


def misranked(rows: Sequence[ScoredRow]) -> Iterator[ScoredRow]:
    """Return the supported rows with the lowest score, and the others with the highest."""
    for label in (True, False):
        sign = 1 if label else -1
        ordered = sorted(
            (row for row in rows if row.label == label), key=lambda row: (sign * row.log_odds, row.row_id)
        )
        seen: Counter[tuple[str, ...]] = Counter()
        taken = 0
        for row in ordered:
            seen[row.passages] += 1
            if seen[row.passages] <= MAX_PER_PASSAGES and taken < PER_LABEL:
                taken += 1
                yield row


def read_causes(path: Path) -> dict[tuple[str, str], str]:
    """Read the cause of each row, by set and id; the last record of a row counts."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {(record["set"], record["id"]): record["cause"] for record in records}


def models(folder: Path) -> Mapping[str, MonotoneLogistic]:
    """Train the weights for each set of the training data without this set."""
    sets = {name: train_grounding.read(folder / file) for name, file in train_grounding.SETS.items()}
    return {name: train_grounding.train_without(sets, name) for name in sets}


def main(arguments: Sequence[str]) -> None:
    """Print the rows of all sets."""
    folder = Path(arguments[0])
    causes = read_causes(Path(arguments[2])) if arguments[1:2] == ["--causes"] else None
    trained = models(folder)
    for name, file in SETS.items():
        model = trained.get(name, grounding_model().logistic)
        for row in misranked(score_rows(folder / file, ROWS_READ.get(name), model)):
            score = 1 / (1 + np.exp(-row.log_odds))
            columns = [name, row.row_id, str(int(row.label)), f"{score:.3f}"]
            if causes is not None:
                columns.append(causes.get((name, row.row_id), "?"))
            print("\t".join(columns))


if __name__ == "__main__":
    main(sys.argv[1:])
