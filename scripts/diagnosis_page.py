"""Compute the figures of docs/results/diagnosis.md from rows with planted causes and from labelled responses.

The rules and thresholds of the decision table are chosen on the choosing halves of the paragraphs of XQuAD
and of the questions of RAGTruth; the figures on the page are of the held halves. HaluEval chose nothing.
Equal files give equal pages.

    python scripts/diagnosis_page.py DATA_FOLDER
    python scripts/diagnosis_page.py DATA_FOLDER choosing    # prints the figures of the choosing halves
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from page_parts import replace_parts

import sgi
from sgi.analysis.diagnosis.causes import CAUSES, NOT_DIAGNOSED
from sgi.kernel.sample import Sample
from sgi.reporting.table import Table
from sgi.stats.intervals import interval_or_none
from sgi.stats.means import mean_interval
from sgi_lab.benchmarks import open_benchmark
from sgi_lab.metric_bench.cause_plants import PLANTS
from sgi_lab.metric_bench.planted_causes import VERSIONS, half_of, plant_causes, seeded, without_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

PAGE = Path(__file__).parents[1] / "docs" / "results" / "diagnosis.md"
SAMPLE = Path(sgi.__file__).parent / "data" / "halueval_qa_sample.jsonl"
SAMPLE_ROWS = 44
HALUEVAL_ROWS = 600
NATURAL_ROWS = 400
HELD = "held"
SHORT = {
    "retrieval_miss": "miss",
    "passage_ranked_low": "low",
    "ignored_context": "ignored",
    "unsupported_claim": "unsupported",
    "contradicted_fact": "contradicted",
    "wrong_citation": "citation",
    "needless_refusal": "refusal",
    "answered_unanswerable": "unanswerable",
    "incomplete_answer": "incomplete",
    "off_topic": "off topic",
    "correct": "correct",
    NOT_DIAGNOSED: "not diagnosed",
}
ANSWER_FAULTS = frozenset({"ignored_context", "unsupported_claim", "contradicted_fact", "off_topic"})


@dataclass(frozen=True)
class DiagnosedRows:
    """Rows with planted causes, and the label that the diagnosis gives to each."""

    rows: Sequence[Sample]
    labels: Sequence[str]

    @property
    def causes(self) -> list[str]:
        """The planted causes."""
        return [str(row.metadata["cause"]) for row in self.rows]

    @property
    def right(self) -> NDArray[np.float64]:
        """1 for each row whose cause is found, otherwise 0."""
        return np.array([a == b for a, b in zip(self.causes, self.labels, strict=True)], dtype=np.float64)

    @property
    def clusters(self) -> NDArray[np.int64]:
        """The number of the paragraph of each row."""
        return np.unique([str(row.metadata["paragraph"]) for row in self.rows], return_inverse=True)[1]


def diagnose(samples: Iterable[Sample]) -> DiagnosedRows:
    """Diagnose rows with the built-in table."""
    rows = list(samples)
    run = sgi.evaluate(rows, "refusal", cache=False)
    return DiagnosedRows(rows, [row.label for row in sgi.diagnose(run, cache=False).rows])


def xquad_rows(folder: Path, half: str) -> list[Sample]:
    """Return the planted rows of one half of the paragraphs of XQuAD."""
    questions = open_benchmark("squad", folder / "xquad_en" / "xquad.en.json").samples()
    return [row for row in plant_causes(questions, PLANTS) if row.metadata["half"] == half]


def halueval_questions(path: Path, left_out: Path | None = None) -> list[Sample]:
    """Return the questions of HaluEval QA with their knowledge and right answers, in random order.

    Questions of ``left_out`` trained the grounding detector.
    """
    items = _json_rows(path)
    known = {str(row["question"]) for row in _json_rows(left_out)} if left_out else set()
    samples = [
        Sample(
            id=f"{number}",
            question=str(item["question"]),
            contexts=(str(item["knowledge"]),),
            reference=str(item["right_answer"]),
        )
        for number, item in enumerate(items, 1)
        if item["question"] not in known
    ]
    return sorted(samples, key=lambda sample: seeded("order", sample.id).random())


def _json_rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def sample_rows() -> list[Sample]:
    """Return planted rows of the sample that is in the package."""
    return plant_causes(halueval_questions(SAMPLE)[:SAMPLE_ROWS], PLANTS)


def share(values: NDArray[np.float64], clusters: NDArray[np.int64]) -> str:
    """Format the mean of zeros and ones with its clustered 95 % interval."""
    if not len(values):
        return "–"
    interval = interval_or_none(mean_interval(values, clusters, low=0.0, high=1.0))
    ends = f" [{interval.low:.2f}, {interval.high:.2f}]" if interval else ""
    return f"{values.mean():.2f}{ends}"


def confusion(found: DiagnosedRows) -> str:
    """Return the table of planted causes by diagnoses."""
    counts = Counter(zip(found.causes, found.labels, strict=True))
    shown = [*CAUSES, *([NOT_DIAGNOSED] if NOT_DIAGNOSED in found.labels else [])]
    rows = [
        [cause, *(str(counts[cause, label] or "") for label in shown)]
        for cause in CAUSES
        if cause in found.causes
    ]
    return Table(["planted", *(SHORT[label] for label in shown)], rows).markdown()


def by_cause(found: DiagnosedRows) -> str:
    """Return recall and precision of each cause."""
    planted, given, right = np.array(found.causes), np.array(found.labels), found.right
    rows = []
    for cause in CAUSES:
        is_planted, is_given = planted == cause, given == cause
        recall = share(right[is_planted], found.clusters[is_planted])
        precision = share(right[is_given], found.clusters[is_given])
        rows.append([cause, str(is_planted.sum()), recall, str(is_given.sum()), precision])
    return Table(["cause", "planted", "recall", "diagnosed", "precision"], rows).markdown()


def by_plant(found: DiagnosedRows) -> str:
    """Return, for each way to plant a cause, the right and the most frequent wrong diagnoses."""
    rows = []
    for cause, plants in PLANTS.items():
        for plant in plants:
            labels = [
                label
                for row, label in zip(found.rows, found.labels, strict=True)
                if row.metadata["plant"] == plant.__name__
            ]
            if labels:
                counts = Counter(label for label in labels if label != cause)
                wrong = ", ".join(f"{label} {n}" for label, n in counts.most_common(3))
                right = f"{labels.count(cause)} of {len(labels)}"
                rows.append([cause, " ".join((plant.__doc__ or "").split()), right, wrong])
    return Table(
        ["cause", "how it is planted", "right", "diagnosed as"],
        rows,
        left=["how it is planted", "diagnosed as"],
    ).markdown()


def summary(sets: Mapping[str, DiagnosedRows], frequent: str) -> str:
    """Return the share of right diagnoses of each set beside the trivial baselines."""
    rows = []
    for name, found in sets.items():
        planted = np.array(found.causes)
        clusters = found.clusters
        rows.append(
            [
                name,
                f"{len(planted):,}",
                str(len(np.unique(clusters))),
                share(found.right, clusters),
                share((planted == frequent).astype(np.float64), clusters),
                f"{1 / len(set(found.causes)):.2f}",
            ]
        )
    head = ["rows", "n", "paragraphs", "right", f"always {frequent}", "a random cause"]
    return Table(head, rows).markdown()


def by_version(rows: Sequence[Sample]) -> tuple[str, DiagnosedRows]:
    """Return what is diagnosed with fewer columns, and the diagnoses with all of them."""
    found = {name: diagnose(without_fields(rows, missing)) for name, missing in VERSIONS.items()}
    shown = [
        [name, share(one.right, one.clusters), f"{1 - one.labels.count(NOT_DIAGNOSED) / len(rows):.2f}"]
        for name, one in found.items()
    ]
    table = Table(["columns", "right", "diagnosed"], shown).markdown()
    recalls = [
        [cause, *(f"{one.right[np.array(one.causes) == cause].mean():.2f}" for one in found.values())]
        for cause in CAUSES
    ]
    return f"{table}\n\n{Table(['recall', *found], recalls).markdown()}", next(iter(found.values()))


def natural(folder: Path, half: str) -> str:
    """Return the diagnoses of labelled responses: one half of the questions of RAGTruth, and HaluEval."""
    groups: dict[str, list[Sample]] = {}
    for row in _json_rows(folder / "ragtruth_qa_test.jsonl"):
        if half_of(str(row["question"])) != half:
            continue
        spans = [
            str(span["label_type"] if "label_type" in span else span["type"]) for span in row["meta"]["spans"]
        ]  # type: ignore[index,call-overload]
        kind = (
            "conflict" if any("Conflict" in span for span in spans) else "baseless" if spans else "supported"
        )
        groups.setdefault(f"RAGTruth QA, {kind}", []).append(
            Sample(
                id=str(row["id"]), question=row["question"], contexts=row["context"], response=row["response"]
            )  # type: ignore[arg-type]
        )
    items = {str(item["question"]): item for item in _json_rows(folder / "halueval_qa.jsonl")}
    for sample in _halueval(folder)[:NATURAL_ROWS]:
        for kind in ("right", "hallucinated"):
            response = str(items[sample.question][f"{kind}_answer"])
            groups.setdefault(f"HaluEval QA, {kind}", []).append(sample.with_response(response))
    rows = []
    for name, samples in groups.items():
        run = sgi.evaluate(samples, "refusal", cache=False)
        labels = [row.label for row in sgi.diagnose(run, cache=False).rows]
        counts = Counter(labels)
        clusters = np.unique([sample.question for sample in samples], return_inverse=True)[1]
        correct = np.array([label == "correct" for label in labels], dtype=np.float64)
        fault = np.array([label in ANSWER_FAULTS for label in labels], dtype=np.float64)
        most = ", ".join(f"{label} {n / len(labels):.0%}" for label, n in counts.most_common(5))
        rows.append(
            [
                name,
                str(len(labels)),
                share(correct, clusters),
                share(fault, clusters),
                most,
            ]
        )
    head = ["labelled responses", "n", "correct", "fault of the answer", "most frequent"]
    return Table(head, rows, left=["most frequent"]).markdown()


def _halueval(folder: Path) -> list[Sample]:
    return halueval_questions(folder / "halueval_qa.jsonl", folder / "halueval_qa_lenmatched.jsonl")


def sample_part() -> str:
    """Return the figures of the sample in the package, which a test computes again."""
    found = diagnose(sample_rows())
    return f"{int(found.right.sum())} of {len(found.rows)} right.\n\n{confusion(found)}"


def page_parts(folder: Path) -> dict[str, str]:
    """Compute all parts of the page."""
    versions, held = by_version(xquad_rows(folder, HELD))
    other = diagnose(plant_causes(_halueval(folder)[:HALUEVAL_ROWS], PLANTS))
    frequent = Counter(row.metadata["cause"] for row in xquad_rows(folder, "choosing")).most_common(1)[0][0]
    return {
        "summary": summary({"XQuAD, held half": held, "HaluEval QA": other}, str(frequent)),
        "confusion": confusion(held),
        "causes": by_cause(held),
        "plants": by_plant(held),
        "versions": versions,
        "halueval": f"{confusion(other)}\n\n{by_cause(other)}",
        "natural": natural(folder, HELD),
        "sample": sample_part(),
    }


def main(arguments: Sequence[str]) -> None:
    """Write the page, or print the figures of the choosing halves.

    Raises:
        SystemExit: the arguments are not a folder, or a folder and ``choosing``.
    """
    if not arguments or not Path(arguments[0]).is_dir() or arguments[1:] not in ([], ["choosing"]):
        sys.exit("Give the folder with the sets: python scripts/diagnosis_page.py DATA_FOLDER [choosing]")
    folder = Path(arguments[0])
    if arguments[1:]:
        found = diagnose(xquad_rows(folder, "choosing"))
        print(share(found.right, found.clusters), confusion(found), by_plant(found), sep="\n\n")
        print(natural(folder, "choosing"))
        return
    PAGE.write_text(replace_parts(PAGE.read_text(encoding="utf-8"), page_parts(folder)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
