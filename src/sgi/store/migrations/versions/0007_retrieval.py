"""Ids and scores of passages, gold passages, citations, answerability and conversations of a sample."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; NULL means absent."""
    for name in ("context_ids", "context_scores", "relevance", "gold_passages", "citations"):
        op.add_column("samples", sa.Column(name, sa.JSON))
    op.add_column("samples", sa.Column("answerable", sa.Boolean))
    op.add_column("samples", sa.Column("turns", sa.JSON))


def downgrade() -> None:
    """Not supported: an older version refuses the database, and says so."""
    raise NotImplementedError("Migrations go forward only.")
