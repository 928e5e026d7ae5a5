"""Tables 2 and 3, figures 3 and 4: SGI by terciles of θ(q,c) and of lengths, with length as a baseline."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.geometry.sgi_ratio import bounds
from sgi.reporting.charts import line_chart, side_by_side
from sgi.stats.effects import cohen_d
from sgi.stats.ranking import auroc
from sgi_lab.paper.findings import Column, Finding, Section, difference
from sgi_lab.paper.paper_answers import text_lengths
from sgi_lab.paper.published import REPORTED_MODEL, TABLE_2, TABLE_3, paper_model
from sgi_lab.paper.separation import CLASS_COLUMNS, LENGTH_COLUMN, separation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sgi_lab.paper.paper_answers import AnswerVectors
    from sgi_lab.paper.published import Stratum
    from sgi_lab.paper.workbench import SampleName, Study, Workbench

    Floats = NDArray[np.float64]
    Row = dict[str, Any]

_ROUNDING = 1e-6  # rounding error of float32 angles, relative to ratios near 1
TERCILES = ("low", "middle", "high")
_NAMES = {"effect": "d", "auroc": "AUROC"}

_COLUMNS = (
    Column("tercile", "tercile"),
    *CLASS_COLUMNS,
    Column("paper (mpnet) d", "paper_effect", digits=2, signed=True),
    Column("d − paper", "effect_difference", digits=2, signed=True),
    Column("paper (mpnet) AUROC", "paper_auroc"),
    Column("AUROC − paper", "auroc_difference", signed=True),
    LENGTH_COLUMN,
)
_ANGLES, _LENGTHS = Column("from – to", "range", digits=2), Column("from – to", "range", digits=0)
_MEANS = (
    Column("paper from – to", "paper_range", digits=2),
    Column("paper SGI grounded", "paper_grounded", digits=2),
    Column("paper SGI hallucinated", "paper_hallucinated", digits=2),
)
"""Means that the paper prints for table 2 only; they are near those of its five models together."""


def table2(bench: Workbench) -> Finding:
    """Compute SGI by terciles of θ(q,c) for each model, and violations of the triangle inequality."""
    study, title = bench.halueval, "Table 2: SGI by terciles of θ(q,c)"
    finding = _by_distance(bench, "table2", title, study.models, ("auroc",))
    triangles = (_bounds(model, study.of(model)) for model in study.models)
    return replace(finding, remarks=(*finding.remarks, *triangles))


def table3(bench: Workbench) -> Finding:
    """Compute AUROC of SGI by tercile of each length, for each model."""
    title = "Table 3: SGI by terciles of length in characters"
    return _by_length(bench, "table3", title, bench.halueval.models)


def figure3(bench: Workbench) -> Finding:
    """Compute effect and AUROC by tercile of θ(q,c), with the paper's numbers."""
    title = "Figure 3: SGI and the distance of question and context"
    return _by_distance(bench, "figure3", title, [bench.halueval.reported_model], ("effect", "auroc"))


def figure4(bench: Workbench) -> Finding:
    """Compute AUROC of SGI by tercile of each length, with the paper's numbers and length alone."""
    title = "Figure 4: SGI and the lengths of question, context and response"
    return _by_length(bench, "figure4", title, [bench.halueval.reported_model])


def _by_distance(
    bench: Workbench, name: str, title: str, models: Sequence[str], keys: Sequence[str]
) -> Finding:
    """Compare the terciles of θ(q,c) by model, with a chart for each of the keys."""
    study, selection = bench.halueval, bench.halueval.sample(bench.sample)
    tables = {
        model: _rows(study, model, study.of(model).theta_qc, selection.rows, TABLE_2) for model in models
    }
    charts = [_lines("terciles of θ(q,c)", tables, TABLE_2, key) for key in keys]
    return Finding(
        name=name,
        title=title,
        settings=study.settings(selection),
        sections=tuple(Section(model, (*_COLUMNS, _ANGLES, *_MEANS), rows) for model, rows in tables.items()),
        figures={name: side_by_side(*charts) if len(charts) > 1 else charts[0]},
        remarks=tuple(_trend(study, model, rows, bench.sample) for model, rows in tables.items()),
        signatures=study.signatures(models, len(selection.rows)),
    )


def _by_length(bench: Workbench, name: str, title: str, models: Sequence[str]) -> Finding:
    study, selection = bench.halueval, bench.halueval.sample(bench.sample)
    answers, reported = study.answers, study.reported_model
    lengths = {
        "question": text_lengths(answers.questions),
        "context": text_lengths(answers.contexts),
        "response": answers.lengths,
    }
    tables = {
        (feature, model): _rows(study, model, values, selection.rows, TABLE_3[feature])
        for model in models
        for feature, values in lengths.items()
    }
    charts = [
        _lines(f"terciles of {feature} length", {reported: tables[feature, reported]}, TABLE_3[feature])
        for feature in lengths
    ]
    rates = ", ".join(Column("", "base_rate", digits=2).cell(row) for row in tables["response", reported])
    return Finding(
        name=name,
        title=title,
        settings=study.settings(selection),
        sections=tuple(
            Section(f"{feature} length, {model}", (*_COLUMNS, _LENGTHS), rows)
            for (feature, model), rows in tables.items()
        ),
        figures={name: side_by_side(*charts)},
        remarks=(f"Share of grounded answers in the terciles of response length: {rates}.",),
        signatures=study.signatures(models, len(selection.rows)),
    )


def tercile_of(values: Floats) -> NDArray[np.int64]:
    """Return the tercile of each value, 0, 1 or 2; a value on an edge belongs to the lower one.

    >>> tercile_of(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])).tolist()
    [0, 0, 1, 1, 2, 2]
    """
    edges = np.quantile(values, [1 / 3, 2 / 3]) if len(values) else np.zeros(2)
    return np.searchsorted(edges, values, side="left").astype(np.int64)


def _rows(
    study: Study, model: str, values: Floats, rows: NDArray[np.int64], paper: Mapping[str, Stratum]
) -> list[Row]:
    """Return one row per tercile of ``values``, with the paper's numbers."""
    thirds, scores = tercile_of(values[rows]), study.of(model).sgi
    comparable = paper_model(model) == REPORTED_MODEL and np.array_equal(rows, study.rows("paper").rows)
    made = []
    for third, name in enumerate(TERCILES):
        chosen = rows[thirds == third]
        found = separation(scores, study.answers, chosen)
        ends = (float(values[chosen].min()), float(values[chosen].max())) if len(chosen) else None
        made.append(
            {"tercile": name, "range": ends, **found, **_beside(found, paper[name], comparable=comparable)}
        )
    return made


def _beside(found: Row, paper: Stratum, *, comparable: bool) -> Row:
    """Return the paper's numbers, with the difference if model and sample are the same."""
    return {
        "paper_effect": paper.effect,
        "paper_auroc": paper.auroc,
        "paper_range": paper.ends,
        "paper_grounded": paper.grounded,
        "paper_hallucinated": paper.hallucinated,
        "effect_difference": difference(found["effect"], paper.effect) if comparable else None,
        "auroc_difference": difference(found["auroc"], paper.auroc) if comparable else None,
    }


def _trend(study: Study, model: str, rows: Sequence[Row], sample: SampleName) -> str:
    """Describe whether d and AUROC rise over the terciles of θ(q,c), and in how many draws."""
    rising = {key: _rises([row[key] for row in rows]) for key in ("effect", "auroc")}
    shown = " and ".join(
        f"{name} {'rises' if rising[key] else 'does not rise'}" for key, name in _NAMES.items()
    )
    draws = [_is_rising(study, model, drawn) for drawn in study.draws(sample)]
    if not draws:
        return f"{model}: from tercile to tercile of θ(q,c) {shown}. Both rise in the paper."
    effect, area = np.mean(draws, axis=0)
    both = np.mean([all(pair) for pair in draws])
    return (
        f"{model}: d rises from tercile to tercile of θ(q,c) in {100 * effect:.0f} % of {len(draws)} draws "
        f"of the sample, AUROC in {100 * area:.0f} %, both in {100 * both:.0f} %. In this draw, {shown}. In "
        "the paper, which has one draw, both rise."
    )


def _is_rising(study: Study, model: str, rows: NDArray[np.int64]) -> tuple[bool, bool]:
    """Return whether d, and whether AUROC, rises over the terciles of θ(q,c)."""
    measured = study.of(model)
    scores, labels = measured.sgi[rows], study.answers.labels[rows]
    thirds = tercile_of(measured.theta_qc[rows])
    parts = [(scores[thirds == third], labels[thirds == third]) for third in range(len(TERCILES))]
    effects = [cohen_d(values[grounded], values[~grounded]) for values, grounded in parts]
    return _rises(effects), _rises([auroc(values, grounded) for values, grounded in parts])


def _rises(values: Sequence[float | None]) -> bool:
    known = [value for value in values if value is not None]
    return len(known) == len(values) and all(low < high for low, high in pairwise(known))


def _bounds(model: str, measured: AnswerVectors) -> str:
    """Describe the share of answers that violate the bounds of the triangle inequality."""
    # Without an angle of question or response to the context, the ratio or its range is a single value.
    known = (measured.theta_rc > 0.0) & (measured.theta_qc > 0.0)
    theta_rq, theta_rc, theta_qc = (
        angles[known] for angles in (measured.theta_rq, measured.theta_rc, measured.theta_qc)
    )
    if not known.any():
        return f"{model}: no answer has bounds."
    low, high = bounds(theta_qc, theta_rc)
    ratio = theta_rq / theta_rc
    slack = _ROUNDING * np.maximum(1.0, ratio)
    outside = int(((ratio < low - slack) | (ratio > high + slack)).sum())
    far, width = float((theta_rc > theta_qc).mean()), float(np.median(high - low))
    return (
        f"{model}: {outside:,} of {int(known.sum()):,} answers violate |θ(q,c)/θ(r,c) − 1| ≤ SGI ≤ upper "
        f"bound. The median width of the interval is {width:.2f}. Without the absolute value, as printed in "
        f"the paper, the lower bound is trivial for {100 * far:.0f} % of the answers."
    )


def _lines(
    title: str, tables: Mapping[str, Sequence[Row]], paper: Mapping[str, Stratum], key: str = "auroc"
) -> Any:
    series: dict[str, dict[str, float | None]] = {
        f"SGI, {model}": {row["tercile"]: row[key] for row in rows} for model, rows in tables.items()
    }
    series["the paper"] = {name: getattr(paper[name], key) for name in TERCILES}
    if key == "auroc":
        first = next(iter(tables.values()))
        series["length alone"] = {row["tercile"]: row["length_auroc"] for row in first}
    axis = "AUROC" if key == "auroc" else "Cohen's d"
    return line_chart(series, title=f"SGI by {title}", axis=axis, across=title)
