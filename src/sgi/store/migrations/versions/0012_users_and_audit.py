"""Users of the dashboard, and the log of changes through the server."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "sgi_users",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("token_hash", sa.Text, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_sgi_users"),
    )
    op.create_table(
        "sgi_audit_log",
        sa.Column("id", sa.Integer, nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("at", "user", "action", "target", "detail")),
        sa.PrimaryKeyConstraint("id", name="pk_sgi_audit_log"),
    )
    op.create_index("ix_sgi_audit_log_user", "sgi_audit_log", ["user"])


def downgrade() -> None:
    """Not supported: an older version refuses the database, and says so."""
    raise NotImplementedError("Migrations go forward only.")
