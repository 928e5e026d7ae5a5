"""Compute the tables of docs/results/refusals.md: errors on held rows, and refusals in real data.

The script replaces the parts between markers in the page. Equal files give equal pages.

    python scripts/refusals_page.py DATA_FOLDER
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import train_refusal as training
from page_parts import replace_parts

import sgi
from sgi.io.dataset import open_dataset
from sgi.metrics.refusal.details import Kind
from sgi.metrics.refusal.patterns import refusal_patterns
from sgi.reporting.table import Table
from sgi.stats.intervals import normal_quantile, wilson_ends

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]

PAGE = Path(__file__).parents[1] / "docs" / "results" / "refusals.md"
RIGHT_ANSWERS = "HaluEval right answers"
REAL = {
    RIGHT_ANSWERS: "halueval_qa.jsonl",
    "RAGTruth QA": "ragtruth_qa_test.jsonl",
    "EVOUNA": "evouna.jsonl",
    "TruthfulQA": "truthfulqa.jsonl",
    "HaluEval dialogue": "halueval_dialogue.jsonl",
    "BEGIN": "begin.jsonl",
}
NAMES = {
    "en": "English",
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "it": "Italian",
    "pt": "Portuguese",
}
DRAWS = 2000
LEVEL = 0.95
_EXAMPLES = 12
_SHORT = 110


def share(hits: int, n: int) -> str:
    """Format a share with its Wilson interval."""
    low, high = wilson_ends(hits / n, n, normal_quantile(LEVEL))
    return f"{hits / n:.2f} [{low:.2f}, {high:.2f}]"


def f1_score(found: Flags, true: Flags) -> float:
    """Return the F1 of flags."""
    return 2 * float((found & true).sum()) / max(1.0, float(found.sum() + true.sum()))


def f1_cell(found: Flags, true: Flags, families: NDArray[np.str_]) -> str:
    """Format F1 with a percentile interval of a bootstrap over phrase families."""
    rng = np.random.default_rng(0)
    names = np.unique(families)
    members = [np.flatnonzero(families == name) for name in names]
    draws = [
        np.concatenate([members[number] for number in rng.integers(len(names), size=len(names))])
        for _ in range(DRAWS)
    ]
    low, high = np.quantile([f1_score(found[rows], true[rows]) for rows in draws], [0.025, 0.975])
    return f"{f1_score(found, true):.2f} [{low:.2f}, {high:.2f}]"


def errors_table(rows: Sequence[training.Row], found: Flags) -> str:
    """Return precision, recall and F1 by language."""
    true = np.array([row.refuses for row in rows])
    families = np.array([row.family for row in rows])
    languages = np.array([row.language for row in rows])
    cells = []
    for language in (*refusal_patterns(), ""):
        part = languages == language if language else np.ones(len(rows), dtype=np.bool_)
        hits = int((found & true & part).sum())
        cells.append(
            [
                NAMES.get(language, "all"),
                f"{int((true & part).sum())}",
                f"{int((~true & part).sum())}",
                share(hits, int((found & part).sum())),
                share(hits, int((true & part).sum())),
                f1_cell(found[part], true[part], families[part]),
            ]
        )
    return Table(["language", "refusals", "others", "precision", "recall", "F1"], cells).markdown()


def held_rows(part: str) -> str:
    """Return the tables of held rows: all by language, and the errors by phrase family."""
    rows = training.read_rows(part)
    texts = [row.text for row in rows]
    details = sgi.evaluate([{"response": text} for text in texts], "refusal")["refusal"].details
    found = np.array([detail["probability"] >= 0.5 for detail in details])  # noqa: PLR2004  # the threshold
    errors = Counter(
        (row.family, row.kind) for row, flag in zip(rows, found, strict=True) if flag != row.refuses
    )
    totals = Counter((row.family, row.kind) for row in rows)
    worst = [[family, kind, f"{n} of {totals[family, kind]}"] for (family, kind), n in errors.most_common()]
    return "\n\n".join(
        [
            errors_table(rows, found),
            Table(["phrase family", "label", "errors"], worst, left=["label"]).markdown(),
        ]
    )


def real_rows(folder: Path) -> str:
    """Return the classes of the responses of public data, and responses that are refusals."""
    kinds = list(Kind.__args__)  # type: ignore[attr-defined]
    counts, examples = [], []
    for name, file in REAL.items():
        samples = [
            sample
            for sample in open_dataset(folder / file).samples()
            if sample.response.strip() and (sample.label or name != RIGHT_ANSWERS)
        ]
        details = sgi.evaluate([{"response": sample.response} for sample in samples], "refusal")[
            "refusal"
        ].details
        classes = Counter(str(detail["kind"]) for detail in details)
        counts.append([name, f"{len(samples)}", *(f"{classes[kind]}" for kind in kinds)])
        texts = {}
        for sample, detail in zip(samples, details, strict=True):
            if detail["kind"] in training.REFUSALS:
                texts.setdefault(" ".join(sample.response.split()), detail)
        step = max(1, len(texts) // _EXAMPLES)
        for text, detail in list(texts.items())[::step][:_EXAMPLES]:
            shown = text if len(text) <= _SHORT else text[:_SHORT] + " …"
            examples.append([name, shown, f"{detail['probability']:.2f}"])
    classes_table = Table(["data", "responses", *kinds], counts).markdown()
    return (
        classes_table
        + "\n\n"
        + Table(["data", "response", "probability"], examples, left=["response"]).markdown()
    )


def main() -> None:
    """Replace the computed parts of the page."""
    parts = {
        "held": held_rows("held"),
        "held_rag": held_rows("held_rag"),
        "real": real_rows(Path(sys.argv[1])),
    }
    PAGE.write_text(replace_parts(PAGE.read_text(encoding="utf-8"), parts), encoding="utf-8")


if __name__ == "__main__":
    main()
