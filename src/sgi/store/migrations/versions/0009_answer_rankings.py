"""Ids and scores of the passages of a target."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; NULL means absent."""
    for name in ("context_ids", "context_scores"):
        op.add_column("answers", sa.Column(name, sa.JSON))


def downgrade() -> None:
    """Not supported: an older version refuses the database, and says so."""
    raise NotImplementedError("Migrations go forward only.")
