"""Usage of judges by run; the view shows the judge's relevance if a run has it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_METRICS = (
    "bleu",
    "rouge_l",
    "rouge_l_precision",
    "rouge_l_recall",
    "squad_em",
    "squad_token_f1",
    "content_f1",
    "lexical_aggregate",
    "answer_relevance",
    "context_relevance",
    "groundedness",
    "llm_judged_overall",
    "semantic_similarity",
    "sgi",
)
_REASONED = ("answer_relevance", "context_relevance", "groundedness")
_PREFERRED = {"answer_relevance": "answer_relevance_rated"}
_REASONING = {"sqlite": "json_extract(v.body, '$.reasoning')", "postgresql": "v.body ->> 'reasoning'"}


def upgrade() -> None:
    """Create the table and the column of a metric's unit, and recreate the view."""
    counts = ("calls", "cached", "retries", "input_tokens", "output_tokens")
    op.create_table(
        "usage",
        sa.Column("run", sa.Text, nullable=False),
        sa.Column("judge", sa.Text, nullable=False),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in counts),
        sa.Column("cost", sa.Float(53)),
        sa.PrimaryKeyConstraint("run", "judge", name="pk_usage"),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name="fk_usage_run", ondelete="CASCADE"),
    )
    op.execute("DROP VIEW evals")
    op.add_column("run_metrics", sa.Column("unit", sa.Text, nullable=False, server_default=""))
    op.execute(_view(op.get_bind().dialect.name))


def downgrade() -> None:
    """Not supported: an older version refuses the database, and says so."""
    raise NotImplementedError("Migrations go forward only.")


def _view(dialect: str) -> str:
    values = [_looked_up("v.value", "scores", metric, metric) for metric in _METRICS]
    reasons = [
        _looked_up(_REASONING[dialect], "evidence", metric, f"{metric}_reasoning") for metric in _REASONED
    ]
    return f"""
        CREATE VIEW evals AS
        SELECT r.id || ':' || s.position AS id,
            coalesce(r.name, r.id) AS test_run_id,
            s.id AS qa_pair_id,
            s.question,
            s.reference,
            CASE WHEN a.run IS NULL THEN s.response ELSE a.response END AS answer,
            {", ".join([*values, *reasons])}
        FROM runs AS r
        JOIN batches AS b ON b.run = r.id
        JOIN samples AS s
            ON s.dataset = r.dataset AND s.position >= b.start AND s.position < b.start + b.rows
        LEFT JOIN answers AS a ON a.run = r.id AND a.position = s.position
    """  # noqa: S608 - only names that stand above


def _looked_up(what: str, table: str, metric: str, name: str) -> str:
    number = _number(metric)
    if metric in _PREFERRED:
        number = f"coalesce({_number(_PREFERRED[metric])}, {number})"
    row = f"v.metric = {number} AND v.position = s.position"
    return f"(SELECT {what} FROM {table} AS v WHERE {row}) AS {name}"  # noqa: S608 - only names that stand above


def _number(metric: str) -> str:
    return f"(SELECT m.id FROM run_metrics AS m WHERE m.run = r.id AND m.metric = '{metric}')"  # noqa: S608 - a name that stands above
