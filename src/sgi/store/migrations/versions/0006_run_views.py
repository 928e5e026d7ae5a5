"""Views of a run that are computed from all its rows, and how often the rows have changed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the two tables."""
    op.create_table(
        "run_changes",
        sa.Column("run", sa.Text, nullable=False),
        sa.Column("count", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("run", name="pk_run_changes"),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name="fk_run_changes_run", ondelete="CASCADE"),
    )
    op.create_table(
        "run_views",
        sa.Column("run", sa.Text, nullable=False),
        sa.Column("view", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("run", "view", name="pk_run_views"),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name="fk_run_views_run", ondelete="CASCADE"),
    )


def downgrade() -> None:
    """Not supported: an older version refuses the database, and says so."""
    raise NotImplementedError("Migrations go forward only.")
