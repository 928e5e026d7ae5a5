"""The tables: one schema for SQLite and PostgreSQL. Only the store uses them.

Texts are encoded by ``sgi.store.text_codec``. NULL in a sample means absent, which differs from blank. Times
are ISO 8601 in UTC.
"""

from __future__ import annotations

import sqlalchemy as sa

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

_JSON = sa.JSON(none_as_null=True)  # None is NULL, not JSON's null

datasets = sa.Table(
    "datasets",
    metadata,
    sa.Column("hash", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("rows", sa.Integer, nullable=False),
    sa.Column("created_at", sa.Text, nullable=False),
)

samples = sa.Table(
    "samples",
    metadata,
    sa.Column("dataset", sa.ForeignKey("datasets.hash", ondelete="CASCADE"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("id", sa.Text, nullable=False),
    sa.Column("cluster", sa.BigInteger, nullable=False),  # rows that are not independent share it
    sa.Column("question", sa.Text),
    sa.Column("contexts", _JSON),
    sa.Column("response", sa.Text),
    sa.Column("reference", sa.Text),
    sa.Column("alternatives", _JSON),
    sa.Column("label", sa.Boolean),
    sa.Column("metadata", _JSON),
    sa.Column("context_ids", _JSON),
    sa.Column("context_scores", _JSON),
    sa.Column("relevance", _JSON),  # passage id -> grade
    sa.Column("gold_passages", _JSON),
    sa.Column("citations", _JSON),
    sa.Column("answerable", sa.Boolean),
    sa.Column("turns", _JSON),
    sa.Column("latency_ms", sa.Float(53)),
    sa.Column("prompt_tokens", sa.Integer),
    sa.Column("completion_tokens", sa.Integer),
    sa.Column("cost", sa.Float(53)),  # US dollars
    sa.UniqueConstraint("dataset", "id"),
)

runs = sa.Table(
    "runs",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("dataset", sa.ForeignKey("datasets.hash"), nullable=False, index=True),
    sa.Column("name", sa.Text, unique=True),
    sa.Column("spec", _JSON, nullable=False),
    sa.Column("spec_hash", sa.Text, nullable=False),
    sa.Column("signature", sa.Text, nullable=False),
    sa.Column("versions", _JSON, nullable=False),
    sa.Column("created_at", sa.Text, nullable=False),
    sa.Column("finished_at", sa.Text),
    sa.Column("stopped", sa.Text),  # why a run ended before its time; NULL while it runs and once it is done
    sa.Column("rejected", sa.Integer, nullable=False, default=0),
    sa.Column("summary", _JSON),
)

run_changes = sa.Table(  # how often the rows of a run have changed; no row: never
    "run_changes",
    metadata,
    sa.Column("run", sa.ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("count", sa.BigInteger, nullable=False),
)

run_views = sa.Table(  # computed from all rows of a run; can be deleted at any time
    "run_views",
    metadata,
    sa.Column("run", sa.ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("view", sa.Text, primary_key=True),
    sa.Column("state", sa.Text, nullable=False),  # of the run and of this package, when it was computed
    sa.Column("body", sa.LargeBinary, nullable=False),  # compressed
)

run_columns = sa.Table(  # scores or labels of a whole run as an array; can be cleared at any time
    "run_columns",
    metadata,
    sa.Column("run", sa.ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("state", sa.Text, nullable=False),  # of the run when it was read
    sa.Column("body", sa.LargeBinary, nullable=False),
)

search_indexes = sa.Table(  # which texts the table search_<id> indexes
    "search_indexes",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("source", sa.Text, nullable=False, unique=True),  # a dataset, or a run with its own answers
    sa.Column("state", sa.Text, nullable=False),  # of the source when it was indexed
    sa.Column("ready", sa.Boolean, nullable=False),
    sa.Column("updated_at", sa.Text, nullable=False),
    sqlite_autoincrement=True,  # a process that still builds a dropped index must not write into another one
)

saved_filters = sa.Table(
    "saved_filters",
    metadata,
    sa.Column("data", sa.Text, primary_key=True),  # name of the data
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("query", sa.Text, nullable=False),  # parameters of the page
    sa.Column("created_at", sa.Text, nullable=False),
)

run_tags = sa.Table(
    "run_tags",
    metadata,
    sa.Column("run", sa.ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("tag", sa.Text, primary_key=True, index=True),
)

run_metrics = sa.Table(
    "run_metrics",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("run", sa.ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("metric", sa.Text, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("low", sa.Float(53)),  # NULL: no bound, or not known
    sa.Column("high", sa.Float(53)),
    sa.Column("higher_is_better", sa.Boolean, nullable=False),
    sa.Column("unit", sa.Text, nullable=False, server_default=""),
    sa.Column("provenance", _JSON),  # models, judge and prompts that computed it; NULL: not recorded
    sa.UniqueConstraint("run", "metric"),
)

batches = sa.Table(
    "batches",
    metadata,
    sa.Column("run", sa.ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("start", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("rows", sa.Integer, nullable=False),
    sa.Column("truncated", _JSON, nullable=False),  # texts longer than a model reads
    sa.Column("failures", _JSON, nullable=False),  # models that gave no vectors at all -> why
    sa.Column("windowed", _JSON),  # texts longer than a model reads that it read in windows; NULL: none
)


def in_batch(position: sa.Column[int]) -> sa.ColumnElement[bool]:
    """Build the SQL condition that a position lies in a batch."""
    return (position >= batches.c.start) & (position < batches.c.start + batches.c.rows)


answers = sa.Table(
    "answers",
    metadata,
    sa.Column("run", sa.ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("response", sa.Text),
    sa.Column("contexts", _JSON),  # NULL: the target returned none
    sa.Column("reason", sa.Text),
    sa.Column("seconds", sa.Float(53), nullable=False),  # with retries and waits
    sa.Column("latency_ms", sa.Float(53)),  # of the attempt that was answered
    sa.Column("prompt_tokens", sa.Integer),
    sa.Column("completion_tokens", sa.Integer),
    sa.Column("cost", sa.Float(53)),
    sa.Column("context_ids", _JSON),
    sa.Column("context_scores", _JSON),
    sa.CheckConstraint("(response IS NULL) = (reason IS NOT NULL)", name="answer_or_reason"),
)

# One CASE, since a check of each part by itself would double the cost of writing a row.
_LARGEST = "1.7976931348623157e308"
_VALUE_OR_REASON = f"""CASE WHEN status = 'ok'
    THEN value IS NOT NULL AND reason IS NULL AND value BETWEEN -{_LARGEST} AND {_LARGEST}
    ELSE value IS NULL AND reason IS NOT NULL AND status IN ('undefined', 'missing', 'failed') END"""

scores = sa.Table(
    "scores",
    metadata,
    sa.Column("metric", sa.ForeignKey("run_metrics.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("value", sa.Float(53)),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("reason", sa.Text),
    sa.CheckConstraint(_VALUE_OR_REASON, name="value_or_reason"),
    sqlite_with_rowid=False,
)

details = sa.Table(
    "details",
    metadata,
    sa.Column("metric", sa.ForeignKey("run_metrics.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("body", _JSON, nullable=False),  # what the value was made of
)

evidence = sa.Table(
    "evidence",
    metadata,
    sa.Column("metric", sa.ForeignKey("run_metrics.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("body", _JSON, nullable=False),  # what a judge said, as the metric's evidence is written
)

usage = sa.Table(
    "usage",
    metadata,
    sa.Column("run", sa.ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("judge", sa.Text, primary_key=True),  # its fingerprint
    sa.Column("calls", sa.BigInteger, nullable=False),
    sa.Column("cached", sa.BigInteger, nullable=False),
    sa.Column("retries", sa.BigInteger, nullable=False),
    sa.Column("input_tokens", sa.BigInteger, nullable=False),
    sa.Column("output_tokens", sa.BigInteger, nullable=False),
    sa.Column("cost", sa.Float(53)),  # US dollars; NULL: the price is not known
    # One process writes an attempt, and writes its totals: a write that is repeated changes nothing.
    sa.Column("attempt", sa.Text, primary_key=True, server_default=""),
    sa.Column("unanswered", sa.BigInteger, nullable=False, server_default="0"),
)

leases = sa.Table(  # which process writes a run; no row: none does
    "leases",
    metadata,
    sa.Column("run", sa.ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("owner", sa.Text, nullable=False),  # a random token
    sa.Column("host", sa.Text, nullable=False),  # for messages
    sa.Column("machine", sa.Text, nullable=False),  # processes that can see each other have the same
    sa.Column("process", sa.Text, nullable=False),  # the process id and the start time of the process
    sa.Column("since", sa.Text, nullable=False),
    sa.Column("pid", sa.BigInteger, nullable=False),  # for messages
    sa.Column("expires_at", sa.Float(53), nullable=False),  # seconds since 1970, by the clock of the database
)

gates = sa.Table(  # each run that was gated; no reference to the run, so that deleting it leaves the count
    "gates",
    metadata,
    sa.Column("questions", sa.Text, primary_key=True),  # a hash of the set of questions
    sa.Column("metric", sa.Text, primary_key=True),
    sa.Column("side", sa.Text, primary_key=True),  # >=, <= or drop
    sa.Column("run", sa.Text, primary_key=True),
    sa.Column("rule", sa.Text, nullable=False),
    sa.Column("passed", sa.Boolean, nullable=False),
    sa.Column("decided_at", sa.Text, nullable=False),
)

human_labels = sa.Table(  # of the data's name and the text, not of a run: equal answers share their labels
    "human_labels",
    metadata,
    sa.Column("data", sa.Text, primary_key=True),  # name of the data
    sa.Column("sample", sa.Text, primary_key=True),
    sa.Column("version", sa.Text, primary_key=True),  # hash of the question, the passages and the answer
    sa.Column("author", sa.Text, primary_key=True),
    sa.Column("value", sa.Boolean),  # NULL: skipped
    sa.Column("comment", sa.Text, nullable=False),
    sa.Column("decides", sa.Boolean, primary_key=True),  # a decision does not replace a label of its author
    sa.Column("created_at", sa.Text, nullable=False),
)

users = sa.Table(  # of the dashboard; the prefix is there because applications often have a table `users`
    "sgi_users",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("token_hash", sa.Text, nullable=False),  # SHA-256 of a random token; the token is not stored
    sa.Column("created_at", sa.Text, nullable=False),
)

audit_log = sa.Table(  # changes through the server; no reference to the user, so that removing one keeps them
    "sgi_audit_log",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("at", sa.Text, nullable=False),
    sa.Column("user", sa.Text, nullable=False, index=True),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("target", sa.Text, nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
)

trend_annotations = sa.Table(  # notes on the time axis of trends, such as releases
    "trend_annotations",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("data", sa.Text, nullable=False, index=True),  # the name of the data
    sa.Column("at", sa.Text, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
)
