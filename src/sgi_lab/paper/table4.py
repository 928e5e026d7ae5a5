"""Table 4: θ(r,q) on TruthfulQA, which has no contexts, scored in both directions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sgi.reporting.charts import distribution_chart
from sgi_lab.paper.findings import Column, Finding, Section, difference
from sgi_lab.paper.published import REPORTED_MODEL, TABLE_4, paper_model
from sgi_lab.paper.separation import LENGTH_COLUMN, separation

if TYPE_CHECKING:
    from sgi_lab.paper.workbench import Study, Workbench

    Row = dict[str, Any]

_TURNED = (
    "The paper prints false − true: −0.019 and d −0.14. Here the signs are reversed, so that all rows are "
    "comparable."
)
_MOST_FALSE, _MOST = 2, 2000
_NO_CONTEXT = (
    "There is no context here. With c = q, as in the author's code, SGI is 1 for every answer, up to "
    "rounding. So this table is about θ(r,q)."
)

_COLUMNS = (
    Column("model", "model"),
    Column("answers", "answers"),
    Column("n", "n"),
    Column("θ(r,q) true", "true"),
    Column("θ(r,q) false", "false"),
    Column("true − false", "difference", signed=True),
    Column("d", "effect", digits=2, signed=True),
    Column("p", "p", digits=4),
    Column("AUROC, far = false", "far_is_false"),
    Column("the same − paper", "auroc_difference", signed=True),
    Column("AUROC, near = false", "auroc"),
    Column("95 %", "auroc_interval"),
    LENGTH_COLUMN,
)


def table4(bench: Workbench) -> Finding:
    """Compute θ(r,q) of true and false answers.

    The author's code sets c = q, so SGI is θ/(θ + ε): 1 for every answer except for rounding, which ranks by
    θ(r,q). The paper scores a larger angle as false; SGI's own hypothesis is the other direction.
    """
    study = bench.truthfulqa
    rows = [_row(study, model, name) for model in study.models for name in ("loader", "all")]
    model = study.reported_model
    angles, labels = study.of(model).theta_rq, study.answers.labels
    classes, title = {"true": angles[labels], "false": angles[~labels]}, f"θ(r,q) on TruthfulQA, {model}"
    return Finding(
        name="table4",
        title="Table 4: θ(r,q) on TruthfulQA",
        settings=study.settings()
        | {"loader": f"best answer and at most {_MOST_FALSE} false ones a question, the first {_MOST:,}"},
        sections=(
            Section("Measured", _COLUMNS, rows),
            Section("The paper", _COLUMNS, [_paper()], _TURNED),
        ),
        figures={"table4": distribution_chart(classes, title=title, axis="θ(r,q) in radians")},
        remarks=(_NO_CONTEXT, *(_remark(row) for row in rows if row["answers"] == "loader")),
        signatures=study.signatures(study.models, len(study.answers.labels)),
    )


def _row(study: Study, model: str, name: str) -> Row:
    answers = study.answers
    rows = np.arange(len(answers.labels)) if name == "all" else _as_loaded(study)
    found = separation(study.of(model).theta_rq, answers, rows)
    paper_auroc = TABLE_4.auroc if name == "loader" and paper_model(model) == REPORTED_MODEL else None
    return {
        "model": model,
        "answers": name,
        "n": found["n"],
        "true": found["grounded"],
        "false": found["hallucinated"],
        "difference": difference(found["grounded"], found["hallucinated"]),
        "effect": found["effect"],
        "p": found["p"],
        "far_is_false": difference(1.0, found["auroc"]),
        "auroc": found["auroc"],
        "auroc_interval": found["auroc_interval"],
        "length_auroc": found["length_auroc"],
        "auroc_difference": difference(difference(1.0, found["auroc"]), paper_auroc),
    }


def _as_loaded(study: Study) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Select rows as the author's loader does: a question's best answer and first false ones, up to 2,000."""
    answers = study.answers
    false: dict[int, int] = {}
    kept = []
    for row, sample in enumerate(answers.samples):
        cluster = int(answers.clusters[row])
        if answers.labels[row]:
            wanted = sample.response == sample.reference
        else:
            false[cluster] = false.get(cluster, 0) + 1
            wanted = false[cluster] <= _MOST_FALSE
        if wanted:
            kept.append(row)
    return np.array(kept[:_MOST], dtype=np.int64)


def _paper() -> Row:
    paper = TABLE_4
    return {
        "model": "the paper",
        "answers": "800 after filtering",
        "true": paper.true,
        "false": paper.false,
        "difference": paper.true - paper.false,
        "effect": -paper.effect,
        "p": paper.p,
        "far_is_false": paper.auroc,
        "auroc": 1 - paper.auroc,
    }


def _remark(row: Row) -> str:
    if row["auroc_interval"] is None:
        return f"{row['model']}: too few answers for an interval."
    low, high = row["auroc_interval"]
    verdict = "contains" if low <= 0.5 <= high else "excludes"  # noqa: PLR2004 - chance
    return (
        f"{row['model']}: AUROC {row['far_is_false']:.3f} if far from the question means false, as in the "
        f"paper, and {row['auroc']:.3f} in SGI's direction. The 95 % interval {low:.3f}–{high:.3f} of the "
        f"latter {verdict} 0.5. Length alone: {row['length_auroc']:.3f}."
    )
