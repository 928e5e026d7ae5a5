"""Compute the values on public data that docs/which-metric.md shows. Equal files give equal pages.

python scripts/which_metric_page.py DATA_FOLDER
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from page_parts import replace_parts

import sgi
from sgi.io.dataset import open_dataset
from sgi.stats.ranking import auroc
from sgi.stats.sample_size import detectable_difference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

PAGE = Path(__file__).parents[1] / "docs" / "which-metric.md"
WITH_CONTEXT = ("grounding", "sgi")
WITH_REFERENCE = ("semantic_similarity", "rouge_l", "squad_token_f1")
SETS = {
    "RAGTruth QA": ("ragtruth_qa_test", WITH_CONTEXT),
    "HaluEval QA": ("halueval_qa", WITH_CONTEXT),
    "EVOUNA": ("evouna", WITH_REFERENCE),
    "TruthfulQA": ("truthfulqa", WITH_REFERENCE),
}
ROWS = 300
"""At most as many rows of a set, drawn at random with a fixed seed."""
DROPS = (0.02, 0.05, 0.1)
PAIRS = (("gpt35", "chatgpt"), ("chatgpt", "gpt4"), ("fid", "gpt4"))
"""Systems of EVOUNA that answered the same questions."""
SIMULATIONS = 2000
QUANTILES = 1.959964 + 0.841621
"""The sum of the normal quantiles of a two-sided test at 5 % and a power of 80 %."""


def score_set(path: Path, metrics: Sequence[str]) -> tuple[NDArray[np.bool_], dict[str, NDArray[np.float64]]]:
    """Return the labels of a set, and the values of each metric and of the length baseline."""
    every = [sample for sample in open_dataset(path).samples() if sample.label is not None]
    rows = np.sort(np.random.default_rng(0).permutation(len(every))[:ROWS])
    samples = [every[row] for row in rows]
    result = sgi.evaluate(samples, list(metrics), cache=False)
    values = {name: result[name].values for name in metrics}
    values["length (shorter is better)"] = np.array([-float(len(s.response.split())) for s in samples])
    return np.array([bool(sample.label) for sample in samples]), values


def spread(values: NDArray[np.float64]) -> str:
    """Return median and 10-90 % range."""
    low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def simulated_power(values: NDArray[np.float64], drop: float, n: int) -> float:
    """Return the share of simulated comparisons of two samples of n rows that find the drop."""
    draw = np.random.default_rng(0)
    hits = 0
    for _ in range(SIMULATIONS):
        old, new = draw.choice(values, n), draw.choice(values, n) - drop
        error = math.sqrt((old.var(ddof=1) + new.var(ddof=1)) / n)
        hits += abs(old.mean() - new.mean()) > 1.959964 * error
    return hits / SIMULATIONS


def paired_sizes(path: Path, metric: str) -> list[tuple[object, ...]]:
    """Return, for each pair of systems and drop, the number of questions without and with pairing."""
    samples = list(open_dataset(path).samples())
    values = sgi.evaluate(samples, metric, cache=False)[metric].values
    systems: dict[str, dict[str, float]] = {}
    for sample, value in zip(samples, values, strict=True):
        systems.setdefault(str(sample.metadata["model"]), {})[sample.question] = value
    rows: list[tuple[object, ...]] = []
    for names in PAIRS:
        first, second = (systems[name] for name in names)
        both = np.array([(first[text], second[text]) for text in first if text in second])
        both = both[np.isfinite(both).all(axis=1)]
        differences = both[:, 0] - both[:, 1]
        smallest = detectable_difference(differences, np.ones(len(differences)))
        assert smallest is not None
        correlation = float(np.corrcoef(both.T)[0, 1])
        for drop in DROPS:
            unpaired = math.ceil(both.var(axis=0, ddof=1).sum() * (QUANTILES / drop) ** 2)
            paired = math.ceil(len(differences) * (smallest / drop) ** 2)
            power = simulated_paired_power(differences, drop, paired)
            pair = " and ".join(names)
            rows.append((pair, f"{correlation:.2f}", drop, f"{unpaired:,}", f"{paired:,}", f"{power:.2f}"))
    return rows


def simulated_paired_power(differences: NDArray[np.float64], drop: float, n: int) -> float:
    """Return the share of simulated comparisons of n questions, asked of both systems, that find the drop."""
    draw, centred = np.random.default_rng(0), differences - differences.mean() + drop
    samples = (draw.choice(centred, n) for _ in range(SIMULATIONS))
    hits = sum(abs(one.mean()) > 1.959964 * one.std(ddof=1) / math.sqrt(n) for one in samples)
    return hits / SIMULATIONS


def main(arguments: Sequence[str]) -> None:
    """Compute the tables, and write them into the page.

    Raises:
        SystemExit: the argument is not one folder.
    """
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        sys.exit("Give the folder with the sets: python scripts/which_metric_page.py DATA_FOLDER")
    ranges, sizes = [], []
    for title, (name, metrics) in SETS.items():
        labels, columns = score_set(Path(arguments[0]) / f"{name}.jsonl", metrics)
        for metric, column in columns.items():
            known = np.isfinite(column)
            values, right = column[known], labels[known]
            rank = auroc(values, right)
            shown = ("–", "–") if metric not in metrics else (spread(values[right]), spread(values[~right]))
            ranges.append((title, metric, f"{right.sum()} / {(~right).sum()}", *shown, f"{rank:.2f}"))
            if metric in metrics[:1]:
                for drop in DROPS:
                    n = math.ceil(2 * (QUANTILES * values.std(ddof=1) / drop) ** 2)
                    power = simulated_power(values, drop, n)
                    sizes.append((title, metric, f"{values.std(ddof=1):.2f}", drop, f"{n:,}", f"{power:.2f}"))
    tables = {
        "ranges": markdown(
            ("data", "metric", "right / wrong", "right answers", "wrong answers", "AUROC"), ranges
        ),
        "sizes": markdown(
            ("data", "metric", "standard deviation", "drop", "questions per run", "simulated power"), sizes
        ),
    }
    tables["paired"] = markdown(
        ("systems of EVOUNA", "correlation", "drop", "unpaired", "paired", "simulated power (paired)"),
        paired_sizes(Path(arguments[0]) / "evouna.jsonl", "semantic_similarity"),
    )
    PAGE.write_text(replace_parts(PAGE.read_text(encoding="utf-8"), tables), encoding="utf-8")


def markdown(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


if __name__ == "__main__":
    main(sys.argv[1:])
