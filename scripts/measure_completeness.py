"""Measure how well `completeness` and its siblings rank answers that people judged against a reference.

Two sets: EVOUNA (right and wrong answers), and the answers of QA feedback (people marked missing information,
and corrected each answer), with the references of the set and with the corrected answers as references. Then
copies of the references with one changed year, number, name or "not", and pairs of statements written by
hand. The questions are split into halves by the first byte of their SHA-256: half A chose the definition, and
half B confirms it.

    python scripts/measure_completeness.py DATA_FOLDER A B -o docs/internals/results/completeness.json
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import re
import time
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import sgi
from sgi.metrics.grounding.names_in_text import names_of
from sgi.stats.auroc_intervals import auroc_interval
from sgi.stats.intervals import Interval
from sgi.stats.means import mean_interval

if TYPE_CHECKING:
    from collections.abc import Iterator

METRICS = ("completeness", "content_f1", "rouge_l_recall", "semantic_similarity")
_DIGITS = 3
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")
_NUMBER = re.compile(r"(?<![\w.,-])\d{1,3}(?![\w.,-])")
_VERB = re.compile(r"\b(?:is|was|are|were)\b")
_PAIRS = Path(__file__).with_name("completeness_pairs.csv")

Row = dict[str, Any]


def _lines(path: Path) -> Iterator[Row]:
    is_packed = path.suffix == ".gz"
    text = gzip.decompress(path.read_bytes()).decode() if is_packed else path.read_text(encoding="utf-8")
    yield from map(json.loads, text.splitlines())


def half(question: str) -> str:
    """Return the half of a question, A or B."""
    return "AB"[sha256(question.encode()).digest()[0] % 2]


def _row(source: Row, response: str, reference: object, *, good: bool) -> Row:
    return {
        "id": source["id"],
        "question": source["question"],
        "response": response,
        "reference": reference,
        "good": good,
    }


def sets(folder: Path, part: str) -> dict[str, list[Row]]:
    """Read the sets of a half."""
    evouna = [row for row in _lines(folder / "evouna.jsonl") if half(row["question"]) == part]
    feedback = _lines(folder / "answers" / "qa_feedback_dev.jsonl.gz")
    rows = [row for row in feedback if half(row["question"]) == part]
    return {
        "EVOUNA": [
            _row(row, row["response"], row["meta"]["references"], good=row["label"] == 1) for row in evouna
        ],
        "QA feedback": [
            _row(row, row["response"], row["reference"], good=not row["meta"]["missing_info"]) for row in rows
        ],
        "QA feedback, corrected answer as reference": [
            _row(row, row["response"], row["meta"]["corrected"], good=not row["meta"]["missing_info"])
            for row in rows
        ],
        "corrected answers": [
            _row(row, row["meta"]["corrected"], row["reference"], good=not row["meta"]["missing_info"])
            for row in rows
        ],
    }


def _scored(rows: list[Row]) -> sgi.Result:
    fields = ("id", "question", "response", "reference")
    return sgi.evaluate([{name: row[name] for name in fields} for row in rows], [*METRICS])


def _rounded(interval: object) -> list[float] | None:
    if not isinstance(interval, Interval):
        return None
    return [round(interval.low, _DIGITS), round(interval.high, _DIGITS)]


def _ranking(rows: list[Row], result: sgi.Result, metric: str) -> dict[str, Any]:
    scores = result[metric]
    ok = scores.ok
    good = np.array([row["good"] for row in rows])[ok]
    questions = np.array([row["question"] for row in rows])[ok]
    values = scores.values[ok]
    pairs = values[good][:, None] - values[~good]
    return {
        "rows": int(ok.sum()),
        "auroc": round(float(np.mean((pairs > 0) + (pairs == 0) / 2)), _DIGITS),
        "interval": _rounded(auroc_interval(values, good, questions)),
        "mean if good": round(float(values[good].mean()), _DIGITS),
        "mean if not": round(float(values[~good].mean()), _DIGITS),
    }


def _named(rows: list[Row], result: sgi.Result) -> dict[str, Any]:
    """Return how often an answer that lacks a statement is one that people found wanting."""
    scores = result["completeness"]
    lacks = [row for row, value in zip(rows, scores.values, strict=True) if value < 1]
    wanting = np.array([not row["good"] for row in lacks], dtype=np.float64)
    questions = np.array([row["question"] for row in lacks])
    return {
        "rows that lack a statement": len(lacks),
        "of them found wanting": round(float(wanting.mean()), _DIGITS),
        "interval": _rounded(mean_interval(wanting, questions, low=0.0, high=1.0)),
        "of all rows": round(1 - sum(row["good"] for row in rows) / len(rows), _DIGITS),
    }


def _change(rows: list[Row], before: sgi.Result, after: sgi.Result, metric: str) -> dict[str, Any]:
    """Return how often the value rises if people add what they found missing."""
    wanting = np.array([not row["good"] for row in rows])
    changes = (after[metric].values - before[metric].values)[wanting]
    return {
        "rows": int(wanting.sum()),
        "rose": round(float((changes > 0).mean()), _DIGITS),
        "fell": round(float((changes < 0).mean()), _DIGITS),
    }


def changed_years(rows: list[Row]) -> dict[str, Any]:
    """Return the values of copies of the references in which the only year is three years later, once."""
    changed = [
        {**row, "response": _YEAR.sub(lambda year: str(int(year[0]) + 3), row["reference"], count=1)}
        for row in rows
        if len(set(_YEAR.findall(row["reference"]))) == 1
    ]
    result = _scored(changed)
    means = {metric: round(float(np.nanmean(result[metric].values)), _DIGITS) for metric in METRICS}
    named = round(float((result["completeness"].values < 1).mean()), _DIGITS)
    return {"rows": len(changed), "a statement called missing": named, "means": means}


def planted(rows: list[Row]) -> dict[str, Any]:
    """Return how often a changed copy of a reference has as many stated statements as an unchanged one."""
    names = [_new_name(row) for row in rows]
    copies: list[tuple[str, Row, str]] = []
    for number, row in enumerate(rows):
        text, own = row["reference"], names[number]
        other = next((name for name in names[number + 1 :] if name and name not in text), "")
        if _YEAR.search(text):
            copies.append(("year", row, _YEAR.sub(lambda year: str(int(year[0]) + 3), text)))
        if _NUMBER.search(text):
            copies.append(("number", row, _NUMBER.sub(lambda found: str(int(found[0]) + 4), text)))
        if own and other:
            copies.append(("name outside the question", row, text.replace(own, other)))
        if _VERB.search(text):
            copies.append(("not", row, _VERB.sub(lambda verb: f"{verb[0]} not", text, count=1)))
    sources = [{name: row[name] for name in ("question", "reference")} for _, row, _ in copies]
    before, after = (
        sgi.evaluate(
            [row | {"response": text} for row, text in zip(sources, texts, strict=True)], "completeness"
        )
        for texts in ([row["reference"] for row in sources], [text for _, _, text in copies])
    )
    figures = {}
    for kind in dict.fromkeys(kind for kind, _, _ in copies):
        chosen = np.array([each == kind for each, _, _ in copies]) & before["completeness"].ok
        passed = (after["completeness"].values >= before["completeness"].values)[chosen].astype(np.float64)
        questions = np.array([row["question"] for _, row, _ in copies])[chosen]
        figures[kind] = {
            "copies": len(passed),
            "all called stated": round(float(passed.mean()), _DIGITS),
            "interval": _rounded(mean_interval(passed, questions, low=0.0, high=1.0)),
        }
    return figures


def _new_name(row: Row) -> str:
    """Return the first name of two words or more in a reference that shares no word with the question."""
    asked = row["question"].casefold()
    names = (name for name in names_of(row["reference"]) if len(name.words) > 1)
    return next((name.text for name in names if not any(word.casefold() in asked for word in name.words)), "")


def pairs() -> dict[str, Any]:
    """Return how many pairs written by hand are called stated, and how their cosines rank them."""
    with _PAIRS.open(encoding="utf-8", newline="") as file:
        rows = [{"question": "", **row} for row in csv.DictReader(file)]
    data = [{name: row[name] for name in ("response", "reference")} for row in rows]
    result = sgi.evaluate(data, ["completeness", "semantic_similarity"])
    stated, cosines = result["completeness"].values == 1, result["semantic_similarity"].values
    figures: dict[str, Any] = {}
    for part in ("choose", "confirm"):
        of = {
            kind: np.array([row["kind"] == kind and row["part"] == part for row in rows])
            for kind in ("equal", "near", "opposite")
        }
        figures[part] = {kind: f"{int(stated[own].sum())} of {int(own.sum())}" for kind, own in of.items()}
        for kind in ("near", "opposite"):
            higher = cosines[of["equal"]][:, None] - cosines[of[kind]]
            figures[part][f"AUROC of the cosine, equal against {kind}"] = round(float(np.mean(higher > 0)), 2)
    return figures


def throughput(rows: list[Row]) -> dict[str, float]:
    """Return the rows per second of `completeness`, and of `grounding` with the reference as passage."""
    names = ("question", "response", "reference")
    data = [{name: row[name] for name in names} | {"contexts": [row["reference"]]} for row in rows]
    speeds: dict[str, float] = {}
    for metric in ("completeness", "grounding"):
        sgi.evaluate(data[:20], [metric])
        start = time.perf_counter()
        sgi.evaluate(data, [metric])
        speeds[metric] = round(len(rows) / (time.perf_counter() - start))
    return speeds


def measure(folder: Path, part: str) -> dict[str, Any]:
    """Return the figures of a half."""
    data = sets(folder, part)
    corrected = data.pop("corrected answers")
    results = {name: _scored(rows) for name, rows in data.items()}
    feedback, after = data["QA feedback"], _scored(corrected)
    return {
        "rankings": {
            name: {metric: _ranking(rows, results[name], metric) for metric in METRICS}
            for name, rows in data.items()
        },
        "lacks a statement": {name: _named(rows, results[name]) for name, rows in data.items()},
        "corrected answers": {
            metric: _change(feedback, results["QA feedback"], after, metric) for metric in METRICS
        },
        "a changed year": changed_years(feedback),
        "planted changes": planted(feedback),
        "rows per second": throughput(feedback),
    }


def main() -> None:
    """Print the figures of each half as JSON, and write them to a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("halves", nargs="+", choices=["A", "B"])
    parser.add_argument("-o", type=Path)
    options = parser.parse_args()
    figures = {part: measure(options.folder, part) for part in options.halves}
    figures["pairs"] = pairs()
    text = json.dumps(figures, indent=1) + "\n"
    print(text)
    if options.o:
        options.o.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
