"""Which process writes a run; usage of each attempt at a run, with the requests that were never answered."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table of leases, and the columns of usage; what is stored belongs to an attempt without id."""
    texts = ("owner", "host", "machine", "process", "since")
    op.create_table(
        "leases",
        sa.Column("run", sa.Text, nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in texts),
        sa.Column("pid", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.Float(53), nullable=False),
        sa.PrimaryKeyConstraint("run", name="pk_leases"),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name="fk_leases_run", ondelete="CASCADE"),
    )
    with op.batch_alter_table("usage") as usage:
        usage.add_column(sa.Column("attempt", sa.Text, nullable=False, server_default=""))
        usage.add_column(sa.Column("unanswered", sa.BigInteger, nullable=False, server_default="0"))
        usage.drop_constraint("pk_usage", type_="primary")
        usage.create_primary_key("pk_usage", ["run", "judge", "attempt"])


def downgrade() -> None:
    """Not supported: an older version refuses the database, and says so."""
    raise NotImplementedError("Migrations go forward only.")
