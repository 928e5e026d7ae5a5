"""Table 5: how well each of the two angles separates the classes, compared with SGI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgi.reporting.charts import Dot, dot_chart
from sgi_lab.paper.findings import Column, Finding, Section, difference
from sgi_lab.paper.published import TABLE_5, paper_model
from sgi_lab.paper.separation import separation
from sgi_lab.paper.workbench import SAMPLES

if TYPE_CHECKING:
    from sgi_lab.paper.workbench import SampleName, Study, Workbench

    Row = dict[str, Any]

_COLUMNS = (
    Column("model", "model"),
    Column("sample", "sample"),
    Column("n", "n"),
    Column("d of θ(r,q)", "effect_rq", digits=2, signed=True),
    Column("d of θ(r,c)", "effect_rc", digits=2, signed=True),
    Column("d of SGI", "effect_sgi", digits=2, signed=True),
    Column("AUROC θ(r,q)", "auroc_rq"),
    Column("AUROC θ(r,c) near", "auroc_rc"),
    Column("AUROC SGI", "auroc_sgi"),
    Column("paper d of θ(r,q)", "paper_rq", digits=2, signed=True),
    Column("ours − paper", "difference_rq", digits=2, signed=True),
    Column("paper d of θ(r,c)", "paper_rc", digits=2, signed=True),
    Column("ours − paper", "difference_rc", digits=2, signed=True),
)


def table5(bench: Workbench) -> Finding:
    """Compute Cohen's d (grounded − hallucinated) of both angles by model and sample."""
    study, selection = bench.halueval, bench.halueval.sample(bench.sample)
    order = [bench.sample, *(name for name in SAMPLES if name != bench.sample)]
    rows = [_row(study, model, name) for name in order for model in study.models]
    known = [row for row in rows if row["effect_rc"] is not None]
    dots = [
        Dot(f"{row['model']}, {row['sample']}", row[key], name)
        for row in known
        for key, name in (("effect_rq", "θ(r,q)"), ("effect_rc", "θ(r,c)"), ("effect_sgi", "SGI"))
    ]
    return Finding(
        name="table5",
        title="Table 5: the two angles apart",
        settings=study.settings(selection),
        sections=(Section("Cohen's d, grounded − hallucinated", _COLUMNS, rows),),
        figures={"table5": dot_chart(dots, title="What separates", axis="Cohen's d", chance=0.0)},
        remarks=tuple(_remark(row) for row in known),
        signatures=study.signatures(study.models, len(selection.rows)),
    )


def _row(study: Study, model: str, name: SampleName) -> Row:
    measured, rows = study.of(model), study.rows(name).rows
    near_question, near_context, index = (
        separation(values, study.answers, rows)
        for values in (measured.theta_rq, -measured.theta_rc, measured.sgi)
    )
    paper = TABLE_5.get(paper_model(model) or "") if name == "paper" else None
    effect_rc = difference(0.0, near_context["effect"])
    return {
        "model": model,
        "sample": name,
        "n": len(rows),
        "effect_rq": near_question["effect"],
        "effect_rc": effect_rc,
        "effect_sgi": index["effect"],
        "auroc_rq": near_question["auroc"],
        "auroc_rc": near_context["auroc"],
        "auroc_sgi": index["auroc"],
        "paper_rq": paper and paper.effect_rq,
        "paper_rc": paper and paper.effect_rc,
        "difference_rq": difference(near_question["effect"], paper and paper.effect_rq),
        "difference_rc": difference(effect_rc, paper and paper.effect_rc),
    }


def _remark(row: Row) -> str:
    return (
        f"{row['model']}, {row['sample']}: d of SGI {row['effect_sgi']:+.2f}, of θ(r,q) alone "
        f"{row['effect_rq']:+.2f}, of θ(r,c) {row['effect_rc']:+.2f} (positive: grounded answers are "
        "farther from the context than hallucinated ones)."
    )
