"""Measure what an entailment model adds to `grounding` on labelled sets, and write a table.

For each set the table has the AUROC without and with the model, their difference with a 95 % interval over
questions, both AUROCs within answers of similar length, and the time of the model. Every row of a set is
scored twice, without the model first, so that embedding is no part of the measured time.

The script keeps the scores of each set in a file in OUT, and resumes there. A file that was written with
another model, other data or another version is refused.

    python scripts/measure_entailment.py DATA_FOLDER --nli NAME [--sets A,B] [--limit N] [--band LOW:HIGH]
        [--out OUT]
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

import sgi
from sgi.engine.opened_models import shared_entailment_model
from sgi.io.dataset import open_dataset
from sgi.kernel.signature import digest
from sgi.metrics.grounding.detector import Grounding
from sgi.reporting.table import Table
from sgi.stats.auroc_difference import auroc_difference
from sgi.stats.confounds import stratified_auroc
from sgi.stats.ranking import auroc

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sgi.kernel.sample import Sample

SETS = {
    "RAGTruth QA": "ragtruth_qa_test.jsonl",
    "BEGIN": "begin.jsonl",
    "HaluEval QA, equal lengths": "halueval_qa_lenmatched.jsonl",
    "HaluEval dialogue": "halueval_dialogue.jsonl",
    "SummEdits": "entailment/summedits.jsonl",
    "FoolMeTwice": "entailment/fool_me_twice.jsonl",
    "FEVER-Symmetric": "entailment/fever_symmetric.jsonl",
    "ConjNLI": "entailment/conjnli_adversarial.jsonl",
}
"""Sets and their files in the data folder."""

LIMIT = 1000
CHUNK = 20
"""Rows that are scored at once; a stopped run loses at most these."""
STRATA = 5


@dataclass(frozen=True)
class ScoredRow:
    """A labelled row with both scores; NaN is written as null for a row without a value."""

    label: bool
    length: int
    cluster: int
    without: float | None
    with_model: float | None
    pairs: int
    seconds: float


class Measurement:
    """The rows of one set, kept in a file, scored with and without the model."""

    def __init__(self, name: str, path: Path, metric: Grounding, out: Path) -> None:
        self.name = name
        self.path = path
        self.metric = metric
        self.file = out / f"{re.sub(r'[^a-z0-9]+', '-', name.casefold()).strip('-')}.jsonl"
        self.rows: list[ScoredRow] = []

    def run(self, limit: int) -> None:
        """Score the rows that the file does not have yet."""
        samples = [one for one in open_dataset(self.path).samples() if one.label is not None][:limit]
        identity = self._identity()
        if self.file.exists():
            self._resume(identity)
        else:
            self.file.write_text(json.dumps(identity) + "\n", encoding="utf-8")
        for start in range(len(self.rows), len(samples), CHUNK):
            rows = self._score(samples[start : start + CHUNK], start)
            with self.file.open("a", encoding="utf-8") as stream:
                stream.write("".join(json.dumps(asdict(row)) + "\n" for row in rows))
            self.rows += rows
        self.rows = self.rows[: len(samples)]

    def _identity(self) -> dict[str, str]:
        return {
            "metric": self.metric.canonical,
            "version": str(self.metric.spec.version),
            "model": shared_entailment_model(self.metric.nli).fingerprint,
            "data": digest(self.path.read_bytes()).hex(),
        }

    def _resume(self, identity: dict[str, str]) -> None:
        head, *lines = self.file.read_text(encoding="utf-8").splitlines() or [""]
        complete = self.file.read_bytes().endswith(b"\n")
        if json.loads(head or "null") != identity:
            sys.exit(f"{self.file} is of another model, data or version. Name another --out, or delete it.")
        lines = lines if complete else lines[:-1]
        self.rows = [ScoredRow(**json.loads(line)) for line in lines]
        self.file.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")

    def _score(self, samples: Sequence[Sample], start: int) -> list[ScoredRow]:
        plain = sgi.evaluate(samples, "grounding")["grounding"]
        begin = perf_counter()
        again = sgi.evaluate(samples, "grounding")["grounding"]
        middle = perf_counter()
        scores = sgi.evaluate(samples, self.metric)[self.metric.canonical]
        seconds = max(perf_counter() - middle - (middle - begin), 0.0) / len(samples)
        if not np.array_equal(plain.values, again.values, equal_nan=True):
            sys.exit("Two runs without the model differ; the scores cannot be compared.")
        return [
            ScoredRow(
                bool(sample.label),
                len(sample.response),
                sample.cluster(start + place),
                _number(plain.values[place]),
                _number(scores.values[place]),
                _pairs(scores.details[place]),
                seconds,
            )
            for place, sample in enumerate(samples)
        ]

    def cells(self) -> list[str]:
        """Return the row of the table."""
        known = [row for row in self.rows if row.without is not None and row.with_model is not None]
        labels = np.array([row.label for row in known], dtype=np.bool_)
        without = np.array([row.without for row in known], dtype=np.float64)
        with_model = np.array([row.with_model for row in known], dtype=np.float64)
        clusters = np.array([row.cluster for row in known], dtype=np.int64)
        strata = length_strata(np.array([row.length for row in known], dtype=np.float64))
        difference = auroc_difference(with_model, without, labels, clusters)
        pairs, seconds = sum(row.pairs for row in self.rows), sum(row.seconds for row in self.rows)
        return [
            self.name,
            f"{len(known):,}",
            *(_area(auroc(scores, labels)) for scores in (without, with_model)),
            "–" if difference is None else f"{difference.value:+.3f}{_span(difference.interval)}",
            " → ".join(_within(scores, labels, strata) for scores in (without, with_model)),
            f"{pairs / max(len(self.rows), 1):.1f}",
            f"{1000 * seconds / pairs:.1f}" if pairs else "–",
            f"{1000 * seconds / max(len(self.rows), 1):.1f}",
        ]


HEADERS = (
    *("set", "rows", "AUROC without", "with the model", "difference", f"within {STRATA} lengths"),
    *("pairs a row", "ms a pair", "ms a row"),
)


def length_strata(lengths: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the fifth of the lengths to which each answer belongs."""
    if not lengths.size:
        return np.zeros(0, dtype=np.int64)
    bounds = np.quantile(lengths, np.arange(1, STRATA) / STRATA)
    return np.searchsorted(bounds, lengths, side="right").astype(np.int64)


def _pairs(details: Mapping[str, Any]) -> int:
    return sum(sentence["entailment_pairs"] for sentence in details.get("sentences", ()))


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _area(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _within(scores: NDArray[np.float64], labels: NDArray[np.bool_], strata: NDArray[np.int64]) -> str:
    result = stratified_auroc(scores, labels, strata) if len(scores) else None
    return _area(None if result is None else result.ranking.auroc)


def _span(interval: object) -> str:
    low, high = getattr(interval, "low", None), getattr(interval, "high", None)
    return "" if low is None or high is None else f" [{low:+.3f}, {high:+.3f}]"


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--nli", required=True, help="profile, profile file, folder or owner/model")
    sets = f"names or files, separated by '|'; default: {', '.join(SETS)}"
    parser.add_argument("--sets", default="", help=sets)
    parser.add_argument("--limit", type=int, default=LIMIT, help=f"rows of a set; default: {LIMIT}")
    parser.add_argument("--band", default="", help="read only uncertain sentences, such as 0.2:0.9")
    parser.add_argument("--out", type=Path, default=Path("entailment-measurement"))
    return parser.parse_args(words)


def chosen_sets(data: Path, names: str) -> dict[str, Path]:
    """Return the files of the sets; a set without a file is left out, unless it was named.

    Raises:
        SystemExit: a set that was named has no file, or there is none.
    """
    named = [name.strip() for name in names.split("|") if name.strip()]
    files = {name: data / SETS.get(name, name) for name in named or SETS}
    missing = [str(path) for path in files.values() if not path.is_file()]
    if named and missing:
        sys.exit(f"There is no {missing[0]}. The sets are {', '.join(SETS)}, or files in {data}.")
    files = {name: path for name, path in files.items() if path.is_file()}
    return files or sys.exit(f"{data} has no file of a set: {', '.join(SETS.values())}.")


def measure(options: argparse.Namespace) -> str:
    """Measure all sets, and return the page."""
    metric = Grounding(nli=options.nli, nli_band=options.band)
    model = shared_entailment_model(options.nli)
    options.out.mkdir(parents=True, exist_ok=True)
    model.entail([("A test sentence.", "A sentence.")])  # opens the model before the first time is taken
    table_rows = []
    for name, path in chosen_sets(options.data, options.sets).items():
        measurement = Measurement(name, path, metric, options.out)
        measurement.run(options.limit)
        table_rows.append(measurement.cells())
        print(" | ".join(table_rows[-1]), file=sys.stderr)
    table = Table(HEADERS, table_rows, left=[HEADERS[0]])
    return (
        f"# {options.nli}\n\n`{metric.canonical}`, `{model.fingerprint}`\n\n{table.markdown()}\n\n"
        "The difference is the AUROC with the model minus that without, with its 95 % interval.\n"
    )


if __name__ == "__main__":
    chosen = arguments()
    page = measure(chosen)
    (chosen.out / "table.md").write_text(page, encoding="utf-8")
    print(page)
