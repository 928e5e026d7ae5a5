"""Table 1: SGI of both classes, effect and AUROC by model, on the paper's sample and two controls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.reporting.charts import Dot, dot_chart
from sgi.stats.ranking import auroc
from sgi_lab.paper.findings import Column, Finding, Section, difference
from sgi_lab.paper.published import TABLE_1, paper_model
from sgi_lab.paper.separation import CLASS_COLUMNS, LENGTH_COLUMN, separation
from sgi_lab.paper.workbench import SAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from sgi_lab.paper.workbench import SampleName, Study, Workbench

    Floats = NDArray[np.float64]

Row = dict[str, Any]


def table1(bench: Workbench) -> Finding:
    """Compute SGI by model over the chosen sample, with the paper's numbers, and two other samples."""
    study = bench.halueval
    ours = [_row(study, model, bench.sample) for model in study.models]
    beside = [_row(study, model, name) for name in SAMPLES if name != bench.sample for model in study.models]
    selection = study.sample(bench.sample)
    return Finding(
        name="table1",
        title="Table 1: SGI by model",
        settings=study.settings(selection),
        sections=(
            Section(f"The paper's table, on the {bench.sample} sample", _COLUMNS, ours),
            Section(
                "The same on the other samples",
                (_MODEL, Column("sample", "sample"), *CLASS_COLUMNS, *_DRAWS, *_ALONE),
                beside,
            ),
        ),
        figures={"table1": _chart([*ours, *beside])},
        remarks=tuple(_remarks(study, [*ours, *beside])),
        signatures=study.signatures(study.models, len(selection.rows)),
    )


_SAMPLES_DRAWN = 20
_MODEL = Column("model", "model")
_ALONE = (Column("θ(r,q) alone", "theta_rq_auroc"), LENGTH_COLUMN)
_DRAWS = (
    Column(f"AUROC, mean of {_SAMPLES_DRAWN} draws", "draws_mean"),
    Column("standard deviation of the draws", "draws_deviation"),
)
"""The paper's and the matched sample are drawn by seed, so the AUROC of one draw is one of many."""


_COLUMNS = (
    _MODEL,
    *CLASS_COLUMNS,
    *_DRAWS,
    Column("paper SGI grounded", "paper_grounded"),
    Column("paper SGI hallucinated", "paper_hallucinated"),
    Column("paper d", "paper_effect", digits=2, signed=True),
    Column("d − paper", "effect_difference", digits=2, signed=True),
    Column("paper AUROC", "paper_auroc"),
    Column("AUROC − paper", "auroc_difference", signed=True),
    *_ALONE,
)


def _row(study: Study, model: str, name: SampleName) -> Row:
    measured, answers, rows = study.of(model), study.answers, study.rows(name).rows
    found = separation(measured.sgi, answers, rows)
    row = {
        "model": model,
        "sample": name,
        **found,
        "theta_rq_auroc": auroc(measured.theta_rq[rows], answers.labels[rows]),
        **_over_draws(study, measured.sgi, name),
    }
    paper = TABLE_1.get(paper_model(model) or "")
    if paper is None or name != "paper":
        return row
    return row | {
        "paper_grounded": paper.grounded,
        "paper_hallucinated": paper.hallucinated,
        "paper_effect": paper.effect,
        "paper_auroc": paper.auroc,
        "effect_difference": difference(found["effect"], paper.effect),
        "auroc_difference": difference(found["auroc"], paper.auroc),
    }


def _over_draws(study: Study, scores: Floats, name: SampleName) -> Row:
    """Compute AUROC over samples drawn with consecutive seeds; the table shows the first of them."""
    drawn = study.draws(name)[:_SAMPLES_DRAWN]
    found = [area for rows in drawn if (area := auroc(scores[rows], study.answers.labels[rows])) is not None]
    return {"draws_mean": float(np.mean(found)), "draws_deviation": float(np.std(found))} if found else {}


def _remarks(study: Study, rows: Sequence[Row]) -> Iterator[str]:
    selected = study.rows("paper")
    if len(selected.rows):
        bad = 1 - study.answers.labels[selected.rows].mean()
        yield (
            f"The paper's sample, as drawn by the author's loader, is {100 * bad:.0f} % hallucinated. "
            f"Left out: {selected.omissions}."
        )
    yield from study.caveats()
    for row in rows:
        if row["sample"] == "full" and row["length_auroc"] is not None:
            yield (
                f"{row['model']}, AUROC on all answers: length alone {row['length_auroc']:.3f}, "
                f"θ(r,q) alone {row['theta_rq_auroc']:.3f}, SGI {row['auroc']:.3f}."
            )
        if row["sample"] == "matched" and row["length_auroc"] is not None:
            yield (
                f"{row['model']}, AUROC on answers of exactly equal length: SGI {row['auroc']:.3f}, "
                f"θ(r,q) {row['theta_rq_auroc']:.3f}, length {row['length_auroc']:.3f}."
            )


def _chart(rows: Sequence[Row]) -> Any:
    dots = [
        Dot(row["model"], row["auroc"], f"SGI, {row['sample']}", *(row["auroc_interval"] or ()))
        for row in rows
        if row["auroc"] is not None
    ]
    papers = [row for row in rows if row.get("paper_auroc") is not None]
    dots += [Dot(row["model"], row["paper_auroc"], "the paper") for row in papers]
    full = [row for row in rows if row["sample"] == "full"]
    dots += [Dot(row["model"], row["length_auroc"], "length alone, full") for row in full]
    return dot_chart(dots, title="SGI by model", axis="AUROC", chance=0.5)
