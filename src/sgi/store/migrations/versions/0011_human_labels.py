"""Labels that people give to answers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "human_labels",
        sa.Column("data", sa.Text, nullable=False),
        sa.Column("sample", sa.Text, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("value", sa.Boolean),
        sa.Column("comment", sa.Text, nullable=False),
        sa.Column("decides", sa.Boolean, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("data", "sample", "version", "author", "decides", name="pk_human_labels"),
    )


def downgrade() -> None:
    """Not supported: an older version refuses the database, and says so."""
    raise NotImplementedError("Migrations go forward only.")
