"""Notes on the time axis of trends, such as releases."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "trend_annotations",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        sa.Column("at", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_trend_annotations"),
    )
    op.create_index("ix_trend_annotations_data", "trend_annotations", ["data"])


def downgrade() -> None:
    """Not supported: an older version refuses the database, and says so."""
    raise NotImplementedError("Migrations go forward only.")
