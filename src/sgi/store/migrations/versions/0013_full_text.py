"""Columns of scores for sorting, indexes of texts, and saved filters."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables; the first two can be cleared at any time."""
    op.create_table(
        "run_columns",
        sa.Column(
            "run",
            sa.Text,
            sa.ForeignKey("runs.id", name="fk_run_columns_run", ondelete="CASCADE"),
            nullable=False,
        ),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("run", "name", name="pk_run_columns"),
    )
    op.create_table(
        "search_indexes",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("ready", sa.Boolean, nullable=False),
        sa.Column("updated_at", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_search_indexes"),
        sa.UniqueConstraint("source", name="uq_search_indexes_source"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "saved_filters",
        sa.Column("data", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("query", sa.Text, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("data", "name", name="pk_saved_filters"),
    )


def downgrade() -> None:
    """Not supported: an older version refuses the database, and says so."""
    raise NotImplementedError("Migrations go forward only.")
