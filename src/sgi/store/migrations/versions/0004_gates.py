"""Which runs were gated on which questions, and what computed each metric of a run."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table and the column for provenance."""
    op.add_column("run_metrics", sa.Column("provenance", sa.JSON(none_as_null=True)))
    key = ("questions", "metric", "side", "run")
    op.create_table(
        "gates",
        *(sa.Column(name, sa.Text, nullable=False) for name in key),
        sa.Column("rule", sa.Text, nullable=False),
        sa.Column("passed", sa.Boolean, nullable=False),
        sa.Column("decided_at", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint(*key, name="pk_gates"),
    )


def downgrade() -> None:
    """Not supported: an older version refuses the database, and says so."""
    raise NotImplementedError("Migrations go forward only.")
