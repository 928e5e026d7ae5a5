"""Train the weights of the metric `refusal` on the rows of its labelled set with the part "choice".

The patterns match every refusal among these rows, because we wrote them for these rows. One model learns from
the rows that match. The other learns from all rows, as if no pattern matched, and from the answers of the
sample of HaluEval that ships with the package; so it knows phrases that the patterns do not know. Its offset
lets at most 2 % of the answers pass as refusals. The script chooses the penalties by cross-validation; a fold
holds whole phrase families. `docs/refusals.md` has the results on the other rows.

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

import sgi
from sgi.metrics.refusal.clauses import analyse_response
from sgi.metrics.refusal.model import EMBEDDER, FILE, RefusalModel, Signals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

ROOT = Path(__file__).parents[1]
ROWS = ROOT / "tests" / "data" / "refusals.jsonl"
TARGET = ROOT / "src" / "sgi" / "data" / FILE
ANSWERS = ROOT / "src" / "sgi" / "data" / "halueval_qa_sample.jsonl"
RECIPE = "scripts/train_refusal.py"
REFUSALS = ("no_answer", "not_in_passages", "policy")
PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0)
FOLDS = 5
FALSE_ALARMS = 0.02


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
    """Read the rows of one part: ``choice`` or ``held``."""
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


def embedded_rows(rows: Sequence[Row]) -> Table:
    """Return the embeddings of all rows, and of real answers."""
    items = [json.loads(line) for line in ANSWERS.read_text(encoding="utf-8").splitlines()]
    answers = [item[key] for item in items for key in ("right_answer", "hallucinated_answer")]
    answers = [text for text in answers if not analyse_response(text).denials]
    vectors = sgi.load_embedder(EMBEDDER).embed([*(row.text for row in rows), *answers])
    return Table(
        vectors.astype(np.float64),
        np.array([*(row.refuses for row in rows), *(False for _ in answers)]),
        [*(row.family for row in rows), *(f"answer {number}" for number in range(len(answers)))],
    )


def main() -> None:
    """Choose the settings, train, and write the weights."""
    rows = read_rows("choice")
    matched, embedded = matched_rows(rows), embedded_rows(rows)
    by_signals = matched.fit(np.arange(len(matched.true)), matched.choose_penalty("signals"))
    penalty = embedded.choose_penalty("embedding")
    by_vector = embedded.fit(np.arange(len(embedded.true)), penalty)
    odds = embedded.held_out_odds(penalty)
    shift = max(0.0, float(np.quantile(odds[~embedded.true], 1 - FALSE_ALARMS)))
    found = float(np.mean(odds[embedded.true] > shift))
    print(f"embedding: offset lowered by {shift:.2f}; {found:.0%} of the refusals of unseen families found")
    model = RefusalModel(
        weights=dict(zip(Signals._fields, by_signals.coef_[0].round(4).tolist(), strict=True)),
        intercept=round(float(by_signals.intercept_[0]), 4),
        direction=tuple(by_vector.coef_[0].round(4).tolist()),
        offset=round(float(by_vector.intercept_[0]) - shift, 4),
        trained_on={"signals": len(matched.true), "embedding": len(embedded.true)},
        recipe=RECIPE,
    )
    print(model.weights, model.intercept)
    if "--write" in sys.argv[1:]:
        TARGET.write_text(json.dumps(model.model_dump()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
