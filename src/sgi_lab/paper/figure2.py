"""Figure 2: how far models agree on SGI, answer by answer."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.reporting.charts import distribution_chart, matrix_chart, side_by_side
from sgi.stats.effects import pearson, spearman
from sgi_lab.paper.findings import Column, Finding, Section
from sgi_lab.paper.published import PEARSON_MEAN, SPEARMAN_MEAN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sgi_lab.paper.workbench import Workbench

    Row = dict[str, Any]

_COLUMNS = (
    Column("models", "models"),
    Column("n", "n"),
    Column("Pearson", "pearson"),
    Column("Spearman", "spearman"),
    Column("Pearson, grounded", "pearson_grounded"),
    Column("Pearson, hallucinated", "pearson_hallucinated"),
)


def figure2(bench: Workbench) -> Finding:
    """Compute correlations of SGI between the models (Pearson, Spearman), and each model's distributions.

    Models agree already if both react to the lengths of answers, so there is also the correlation within
    each class.
    """
    study, selection = bench.halueval, bench.halueval.sample(bench.sample)
    scores = {model: study.of(model).sgi[selection.rows] for model in study.models}
    labels = study.answers.labels[selection.rows]
    pairs = [_pair(scores, first, second, labels) for first, second in combinations(study.models, 2)]
    matrices = [
        matrix_chart(study.models, _matrix(study.models, pairs, key), title=key.capitalize())
        for key in ("pearson", "spearman")
    ]
    spread = [
        distribution_chart(
            {"grounded": column[labels], "hallucinated": column[~labels]}, title=model, axis="SGI", mark=1.0
        )
        for model, column in scores.items()
    ]
    return Finding(
        name="figure2",
        title="Figure 2: agreement of models on SGI",
        settings=study.settings(selection),
        sections=(Section("Correlations", _COLUMNS, pairs),),
        figures={"figure2": side_by_side(*matrices), "figure2_distributions": side_by_side(*spread)},
        remarks=(_remark(pairs),),
        signatures=study.signatures(study.models, len(selection.rows)),
    )


def _pair(scores: dict[str, Any], first: str, second: str, labels: Any) -> Row:
    left, right = scores[first], scores[second]
    return {
        "models": f"{first}, {second}",
        "pair": [first, second],
        "n": len(left),
        "pearson": pearson(left, right),
        "spearman": spearman(left, right),
        "pearson_grounded": pearson(left[labels], right[labels]),
        "pearson_hallucinated": pearson(left[~labels], right[~labels]),
    }


def _matrix(models: Sequence[str], pairs: Sequence[Row], key: str) -> Any:
    square = np.eye(len(models))
    for row in pairs:
        places = [models.index(name) for name in row["pair"]]
        square[places, places[::-1]] = np.nan if row[key] is None else row[key]
    return square


def _remark(pairs: Sequence[Row]) -> str:
    if not pairs:
        return "An agreement needs two or more models: give them, such as --models minilm,mpnet."
    known = [row for row in pairs if row["pearson"] is not None and row["spearman"] is not None]
    if not known:
        return "Too few answers for a correlation."
    means = [float(np.mean([row[key] for row in known])) for key in ("pearson", "spearman")]
    return (
        f"Mean over the pairs of models ({len(known)}): Pearson {means[0]:.2f} (the paper, ten pairs: "
        f"{PEARSON_MEAN}), Spearman {means[1]:.2f} (the paper: {SPEARMAN_MEAN})."
    )
