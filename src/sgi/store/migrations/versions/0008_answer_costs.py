"""Latency, tokens and cost of answers, of samples and of targets."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; NULL means absent."""
    for table in ("samples", "answers"):
        op.add_column(table, sa.Column("latency_ms", sa.Float(53)))
        op.add_column(table, sa.Column("prompt_tokens", sa.Integer))
        op.add_column(table, sa.Column("completion_tokens", sa.Integer))
        op.add_column(table, sa.Column("cost", sa.Float(53)))


def downgrade() -> None:
    """Not supported: an older version refuses the database, and says so."""
    raise NotImplementedError("Migrations go forward only.")
