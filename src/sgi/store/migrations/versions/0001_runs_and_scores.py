"""The first schema: data, runs, scores with their details, and a view with one wide row per evaluation."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_LARGEST = "1.7976931348623157e308"
_VALUE_OR_REASON = f"""CASE WHEN status = 'ok'
    THEN value IS NOT NULL AND reason IS NULL AND value BETWEEN -{_LARGEST} AND {_LARGEST}
    ELSE value IS NULL AND reason IS NOT NULL AND status IN ('undefined', 'missing', 'failed') END"""
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
_REASONING = {"sqlite": "json_extract(v.body, '$.reasoning')", "postgresql": "v.body ->> 'reasoning'"}


def upgrade() -> None:
    """Create the tables and the view."""
    _make_data()
    _make_runs()
    _make_rows()
    _make_scores()
    op.execute(_view(op.get_bind().dialect.name))


def downgrade() -> None:
    """Not supported: an older version refuses the database, and says so."""
    raise NotImplementedError("Migrations go forward only.")


def _make_data() -> None:
    op.create_table(
        "datasets",
        sa.Column("hash", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("rows", sa.Integer, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("hash", name="pk_datasets"),
    )
    op.create_table(
        "samples",
        sa.Column("dataset", sa.Text, nullable=False),
        sa.Column("position", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("cluster", sa.BigInteger, nullable=False),
        sa.Column("question", sa.Text),
        sa.Column("contexts", sa.JSON),
        sa.Column("response", sa.Text),
        sa.Column("reference", sa.Text),
        sa.Column("alternatives", sa.JSON),
        sa.Column("label", sa.Boolean),
        sa.Column("metadata", sa.JSON),
        sa.PrimaryKeyConstraint("dataset", "position", name="pk_samples"),
        sa.ForeignKeyConstraint(
            ["dataset"], ["datasets.hash"], name="fk_samples_dataset", ondelete="CASCADE"
        ),
        sa.UniqueConstraint("dataset", "id", name="uq_samples_dataset_id"),
    )


def _make_runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("dataset", sa.Text, nullable=False),
        sa.Column("name", sa.Text),
        sa.Column("spec", sa.JSON, nullable=False),
        sa.Column("spec_hash", sa.Text, nullable=False),
        sa.Column("signature", sa.Text, nullable=False),
        sa.Column("versions", sa.JSON, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("finished_at", sa.Text),
        sa.Column("stopped", sa.Text),
        sa.Column("rejected", sa.Integer, nullable=False),
        sa.Column("summary", sa.JSON),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
        sa.ForeignKeyConstraint(["dataset"], ["datasets.hash"], name="fk_runs_dataset"),
        sa.UniqueConstraint("name", name="uq_runs_name"),
    )
    op.create_index("ix_runs_dataset", "runs", ["dataset"])
    op.create_table(
        "run_metrics",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("run", sa.Text, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("metric", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("low", sa.Float(53)),
        sa.Column("high", sa.Float(53)),
        sa.Column("higher_is_better", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_run_metrics"),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name="fk_run_metrics_run", ondelete="CASCADE"),
        sa.UniqueConstraint("run", "metric", name="uq_run_metrics_run_metric"),
    )


def _make_rows() -> None:
    op.create_table(
        "batches",
        sa.Column("run", sa.Text, nullable=False),
        sa.Column("start", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("rows", sa.Integer, nullable=False),
        sa.Column("truncated", sa.JSON, nullable=False),
        sa.Column("failures", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("run", "start", name="pk_batches"),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name="fk_batches_run", ondelete="CASCADE"),
    )
    op.create_table(
        "answers",
        sa.Column("run", sa.Text, nullable=False),
        sa.Column("position", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("response", sa.Text),
        sa.Column("contexts", sa.JSON),
        sa.Column("reason", sa.Text),
        sa.Column("seconds", sa.Float(53), nullable=False),
        sa.PrimaryKeyConstraint("run", "position", name="pk_answers"),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name="fk_answers_run", ondelete="CASCADE"),
        sa.CheckConstraint(
            "(response IS NULL) = (reason IS NOT NULL)", name=op.f("ck_answers_answer_or_reason")
        ),
    )


def _make_scores() -> None:
    op.create_table(
        "scores",
        *_place("scores"),
        sa.Column("value", sa.Float(53)),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("reason", sa.Text),
        sa.CheckConstraint(_VALUE_OR_REASON, name=op.f("ck_scores_value_or_reason")),
        sqlite_with_rowid=False,
    )
    for name in ("details", "evidence"):
        op.create_table(name, *_place(name), sa.Column("body", sa.JSON, nullable=False))


def _place(table: str) -> list[sa.schema.SchemaItem]:
    return [
        sa.Column("metric", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False, autoincrement=False),
        sa.PrimaryKeyConstraint("metric", "position", name=f"pk_{table}"),
        sa.ForeignKeyConstraint(
            ["metric"], ["run_metrics.id"], name=f"fk_{table}_metric", ondelete="CASCADE"
        ),
    ]


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
    """Look up a value by its keys: only selected columns cost time."""
    return f"""(
        SELECT {what} FROM run_metrics AS m JOIN {table} AS v ON v.metric = m.id AND v.position = s.position
        WHERE m.run = r.id AND m.metric = '{metric}'
    ) AS {name}"""  # noqa: S608 - only names that stand above
