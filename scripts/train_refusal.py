"""Train the weights of the metric `refusal` on the rows of its labelled set with the part "choice".

Dutch rows are left out. The model learns from the rows in which a pattern matches. The script chooses the
penalty by cross-validation; a fold holds whole phrase families. `docs/internals/results/refusals.md` has
the results on the other rows.

    python scripts/train_refusal.py [--write]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from sgi.metrics.refusal.refusal_detector import FILE, RefusalModel, Signals
from sgi.text.refusal_clauses import analyse_response

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

ROOT = Path(__file__).parents[1]
ROWS = ROOT / "tests" / "data" / "refusals.jsonl"
TARGET = ROOT / "src" / "sgi" / "data" / FILE
RECIPE = "scripts/train_refusal.py"
REFUSALS = ("no_answer", "not_in_passages", "policy")
PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0)
FOLDS = 5
LATER = {"nl"}  # languages added after the weights were trained


class Row(NamedTuple):
    """A labelled response; the kinds in `REFUSALS` are refusals."""

    language: str
    part: str
    family: str
    kind: str
    text: str

    @property
    def refuses(self) -> bool:
        """Whether the response is labelled as a refusal."""
        return self.kind in REFUSALS


def read_rows(part: str) -> list[Row]:
    """Read the rows of one part: ``choice``, ``held`` or ``held_rag``."""
    rows = [Row(**json.loads(line)) for line in ROWS.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if row.part == part]


class Table(NamedTuple):
    """Rows for a fit.

    Attributes:
        columns: shape (n, k).
        true: whether a response refuses, shape (n,).
        families: the phrase family of each row; a fold of the cross-validation holds whole families.
    """

    columns: NDArray[np.float64]
    true: NDArray[np.bool_]
    families: list[str]

    def fit(self, rows: NDArray[np.int64], penalty: float) -> LogisticRegression:
        """Fit a logistic regression with a quadratic penalty, and equal total weight of both classes."""
        model = LogisticRegression(C=1 / penalty, max_iter=5000, class_weight="balanced")
        return model.fit(self.columns[rows], self.true[rows])

    def held_out_odds(self, penalty: float) -> NDArray[np.float64]:
        """Return the log odds of each row, from a fit that has not seen its family."""
        odds = np.zeros(len(self.true))
        for train, test in GroupKFold(FOLDS).split(self.columns, self.true, self.families):
            odds[test] = self.fit(train, penalty).decision_function(self.columns[test])
        return odds

    def choose_penalty(self, name: str) -> float:
        """Return the penalty with the lowest log loss on unseen families."""
        losses = {}
        for penalty in PENALTIES:
            odds = self.held_out_odds(penalty)
            losses[penalty] = float(np.mean(np.logaddexp(0, np.where(self.true, -odds, odds))))
            print(f"{name}: penalty {penalty:g}, log loss {losses[penalty]:.4f}")
        return min(losses, key=losses.__getitem__)


def matched_rows(rows: Sequence[Row]) -> Table:
    """Return the signals of the rows in which a pattern matches."""
    analysed = [analyse_response(row.text) for row in rows]
    matched = [number for number, each in enumerate(analysed) if each.denials]
    return Table(
        np.array([Signals.of(analysed[number]) for number in matched], dtype=np.float64),
        np.array([rows[number].refuses for number in matched]),
        [rows[number].family for number in matched],
    )


def main() -> None:
    """Choose the penalty, train, and write the weights."""
    rows = [row for row in read_rows("choice") if row.language not in LATER]
    matched = matched_rows(rows)
    penalty = matched.choose_penalty("signals")
    found = matched.held_out_odds(penalty) > 0
    hits = int((found & matched.true).sum())
    refusals = sum(row.refuses for row in rows)
    print(f"cross-validation: precision {hits / found.sum():.3f}, recall {hits / refusals:.3f}")
    fit = matched.fit(np.arange(len(matched.true)), penalty)
    others = len(rows) - len(matched.true)
    missed = refusals - int(matched.true.sum())
    model = RefusalModel(
        weights=dict(zip(Signals._fields, fit.coef_[0].round(4).tolist(), strict=True)),
        intercept=round(float(fit.intercept_[0]), 4),
        unmatched=round((missed + 1) / (others + 2), 4),
        trained_on={"matched": len(matched.true), "unmatched": others},
        recipe=RECIPE,
    )
    print(model)
    if "--write" in sys.argv[1:]:
        TARGET.write_text(json.dumps(model.model_dump()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
