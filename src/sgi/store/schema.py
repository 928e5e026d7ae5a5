"""The tables, one schema for SQLite and PostgreSQL, and the check of its version. Only the store uses them.

Texts are encoded by ``sgi.store.bulk_rows``. NULL in a sample means absent, which differs from blank. Times
are ISO 8601 in UTC.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Any

import sqlalchemy as sa

from sgi.kernel.errors import SchemaVersionError, StoreError
from sgi.store.database_location import ANOTHER
from sgi.store.evals_table import view_definition

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


def now() -> str:
    """Return the current time in the format in which the tables store times."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


datasets = sa.Table(  # the data of runs; runs of the same data share one copy
    "datasets",
    metadata,
    sa.Column("hash", sa.Text, primary_key=True),  # hash of all rows
    sa.Column("name", sa.Text, nullable=False),  # name of the file or of the data
    sa.Column("rows", sa.Integer, nullable=False),  # number of rows
    sa.Column("created_at", sa.Text, nullable=False),  # when it was stored first
)

samples = sa.Table(  # the rows of the data
    "samples",
    metadata,
    sa.Column("dataset", sa.ForeignKey("datasets.hash", ondelete="CASCADE"), primary_key=True),  # the data
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),  # number of the row, from 0
    sa.Column("id", sa.Text, nullable=False),  # id of the row
    sa.Column("cluster", sa.BigInteger, nullable=False),  # rows that are not independent share it
    sa.Column("question", sa.Text),  # the question
    sa.Column("contexts", _JSON),  # list of the passages
    sa.Column("response", sa.Text),  # the response
    sa.Column("reference", sa.Text),  # the expected answer
    sa.Column("alternatives", _JSON),  # list of further accepted answers
    sa.Column("label", sa.Boolean),  # label of the row, such as whether the response is right
    sa.Column("metadata", _JSON),  # other columns of the row, by name
    sa.Column("context_ids", _JSON),  # list of the ids of the passages
    sa.Column("context_scores", _JSON),  # list of the retrieval scores of the passages
    sa.Column("relevance", _JSON),  # passage id -> grade
    sa.Column("gold_passages", _JSON),  # list of the texts of the gold passages
    sa.Column("citations", _JSON),  # list of the citations of the response
    sa.Column("answerable", sa.Boolean),  # whether the data can answer the question
    sa.Column("turns", _JSON),  # list of the messages of the conversation before the question
    sa.Column("latency_ms", sa.Float(53)),  # time that the answer took, in milliseconds
    sa.Column("prompt_tokens", sa.Integer),  # tokens that language models read for the answer
    sa.Column("completion_tokens", sa.Integer),  # tokens that language models wrote for the answer
    sa.Column("cost", sa.Float(53)),  # US dollars
    sa.UniqueConstraint("dataset", "id"),
)

runs = sa.Table(  # a run: metrics computed on data
    "runs",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),  # random id
    sa.Column("dataset", sa.ForeignKey("datasets.hash"), nullable=False, index=True),  # the data of the run
    sa.Column("name", sa.Text, unique=True),  # name that the user gave; NULL: none
    sa.Column("spec", _JSON, nullable=False),  # the settings, without secrets
    sa.Column("spec_hash", sa.Text, nullable=False),  # hash of the settings that can change a score
    sa.Column("signature", sa.Text, nullable=False),  # models, judge and version on one line
    sa.Column("versions", _JSON, nullable=False),  # versions of the packages, by name
    sa.Column("created_at", sa.Text, nullable=False),  # when it started
    sa.Column("finished_at", sa.Text),  # when it ended; NULL: it runs, or was stopped
    sa.Column("stopped", sa.Text),  # why a run ended before its time; NULL while it runs and once it is done
    sa.Column("rejected", sa.Integer, nullable=False, default=0),  # number of rows that could not be read
    sa.Column("summary", _JSON),  # mean, interval and coverage of each metric; NULL until it has finished
)

run_changes = sa.Table(  # how often the rows of a run have changed; no row: never
    "run_changes",
    metadata,
    sa.Column("run", sa.ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),  # the run
    sa.Column("count", sa.BigInteger, nullable=False),  # number of changes
)

run_views = sa.Table(  # computed from all rows of a run; can be deleted at any time
    "run_views",
    metadata,
    sa.Column("run", sa.ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),  # the run
    sa.Column("view", sa.Text, primary_key=True),  # name of the view
    sa.Column("state", sa.Text, nullable=False),  # of the run and of this package, when it was computed
    sa.Column("body", sa.LargeBinary, nullable=False),  # compressed
)

search_indexes = sa.Table(  # which texts the table search_<id> indexes
    "search_indexes",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),  # number in the name of the table
    sa.Column("source", sa.Text, nullable=False, unique=True),  # a dataset, or a run with its own answers
    sa.Column("state", sa.Text, nullable=False),  # of the source when it was indexed
    sa.Column("ready", sa.Boolean, nullable=False),  # whether all texts are indexed
    sa.Column("updated_at", sa.Text, nullable=False),  # when it was last written
    sqlite_autoincrement=True,  # a process that still builds a dropped index must not write into another one
)

run_tags = sa.Table(  # the tags of runs
    "run_tags",
    metadata,
    sa.Column("run", sa.ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),  # the run
    sa.Column("tag", sa.Text, primary_key=True, index=True),  # one tag
)

run_metrics = sa.Table(  # the metrics of a run
    "run_metrics",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),  # number, by which scores name the metric
    sa.Column("run", sa.ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),  # the run
    sa.Column("position", sa.Integer, nullable=False),  # place among the metrics of the run, from 0
    sa.Column("metric", sa.Text, nullable=False),  # the metric with its parameters
    sa.Column("version", sa.Integer, nullable=False),  # version of its definition
    sa.Column("low", sa.Float(53)),  # NULL: no bound, or not known
    sa.Column("high", sa.Float(53)),  # as low
    sa.Column("higher_is_better", sa.Boolean, nullable=False),  # false: lower values are better
    sa.Column("unit", sa.Text, nullable=False, server_default=""),  # unit of the values; empty for none
    sa.Column("provenance", _JSON),  # models, judge and prompts that computed it; NULL: not recorded
    sa.UniqueConstraint("run", "metric"),
)

batches = sa.Table(  # the batches of rows that a run has stored completely
    "batches",
    metadata,
    sa.Column("run", sa.ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),  # the run
    sa.Column("start", sa.Integer, primary_key=True, autoincrement=False),  # position of the first row
    sa.Column("rows", sa.Integer, nullable=False),  # number of rows
    sa.Column("truncated", _JSON, nullable=False),  # texts longer than a model reads
    sa.Column("failures", _JSON, nullable=False),  # models that gave no vectors at all -> why
    sa.Column("windowed", _JSON),  # texts longer than a model reads that it read in windows; NULL: none
)


def in_batch(position: sa.Column[int]) -> sa.ColumnElement[bool]:
    """Build the SQL condition that a position lies in a batch."""
    return (position >= batches.c.start) & (position < batches.c.start + batches.c.rows)


answers = sa.Table(  # what the target of a run returned for each row
    "answers",
    metadata,
    sa.Column("run", sa.ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),  # the run
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),  # position of the row
    sa.Column("response", sa.Text),  # the answer; NULL: there is none
    sa.Column("contexts", _JSON),  # NULL: the target returned none
    sa.Column("reason", sa.Text),  # why there is no answer; NULL: there is one
    sa.Column("seconds", sa.Float(53), nullable=False),  # with retries and waits
    sa.Column("latency_ms", sa.Float(53)),  # of the attempt that was answered
    sa.Column("prompt_tokens", sa.Integer),  # tokens that the target read
    sa.Column("completion_tokens", sa.Integer),  # tokens that the target wrote
    sa.Column("cost", sa.Float(53)),  # US dollars
    sa.Column("context_ids", _JSON),  # list of the ids of the passages
    sa.Column("context_scores", _JSON),  # list of their retrieval scores
    sa.CheckConstraint("(response IS NULL) = (reason IS NOT NULL)", name="answer_or_reason"),
)

# One CASE, since a check of each part by itself would double the cost of writing a row.
_LARGEST = "1.7976931348623157e308"
_VALUE_OR_REASON = f"""CASE WHEN status = 'ok'
    THEN value IS NOT NULL AND reason IS NULL AND value BETWEEN -{_LARGEST} AND {_LARGEST}
    ELSE value IS NULL AND reason IS NOT NULL AND status IN ('undefined', 'missing', 'failed') END"""

scores = sa.Table(  # the score of each row and metric
    "scores",
    metadata,
    sa.Column("metric", sa.ForeignKey("run_metrics.id", ondelete="CASCADE"), primary_key=True),  # the metric
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),  # position of the row
    sa.Column("value", sa.Float(53)),  # the value; NULL: there is none
    sa.Column("status", sa.Text, nullable=False),  # ok, undefined, missing or failed
    sa.Column("reason", sa.Text),  # why there is no value; NULL: there is one
    sa.CheckConstraint(_VALUE_OR_REASON, name="value_or_reason"),
    sqlite_with_rowid=False,
)

details = sa.Table(  # how values were computed, for the metrics that say it
    "details",
    metadata,
    sa.Column("metric", sa.ForeignKey("run_metrics.id", ondelete="CASCADE"), primary_key=True),  # the metric
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),  # position of the row
    sa.Column("body", _JSON, nullable=False),  # what the value was made of
)

evidence = sa.Table(  # the judgements behind the values of judged metrics
    "evidence",
    metadata,
    sa.Column("metric", sa.ForeignKey("run_metrics.id", ondelete="CASCADE"), primary_key=True),  # the metric
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),  # position of the row
    sa.Column("body", _JSON, nullable=False),  # what a judge said, as the metric's evidence is written
)

usage = sa.Table(  # the requests to the judge, by judge and attempt at the run
    "usage",
    metadata,
    sa.Column("run", sa.ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),  # the run
    sa.Column("judge", sa.Text, primary_key=True),  # its fingerprint
    sa.Column("calls", sa.BigInteger, nullable=False),  # requests that were sent
    sa.Column("cached", sa.BigInteger, nullable=False),  # replies from the cache
    sa.Column("retries", sa.BigInteger, nullable=False),  # requests that were sent again
    sa.Column("input_tokens", sa.BigInteger, nullable=False),  # tokens that the judge read
    sa.Column("output_tokens", sa.BigInteger, nullable=False),  # tokens that it wrote
    sa.Column("cost", sa.Float(53)),  # US dollars; NULL: the price is not known
    # One process writes an attempt, and writes its totals: a write that is repeated changes nothing.
    sa.Column("attempt", sa.Text, primary_key=True, server_default=""),  # token of the process that wrote it
    sa.Column("unanswered", sa.BigInteger, nullable=False, server_default="0"),  # requests without a reply
)

leases = sa.Table(  # which process writes a run; no row: none does
    "leases",
    metadata,
    sa.Column("run", sa.ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),  # the run
    sa.Column("owner", sa.Text, nullable=False),  # a random token
    sa.Column("host", sa.Text, nullable=False),  # for messages
    sa.Column("machine", sa.Text, nullable=False),  # processes that can see each other have the same
    sa.Column("process", sa.Text, nullable=False),  # the process id and the start time of the process
    sa.Column("since", sa.Text, nullable=False),  # when the process took the lease
    sa.Column("pid", sa.BigInteger, nullable=False),  # for messages
    sa.Column("expires_at", sa.Float(53), nullable=False),  # seconds since 1970, by the clock of the database
)

gates = sa.Table(  # each run that was gated; no reference to the run, so that deleting it leaves the count
    "gates",
    metadata,
    sa.Column("questions", sa.Text, primary_key=True),  # a hash of the set of questions
    sa.Column("metric", sa.Text, primary_key=True),  # the metric with its parameters
    sa.Column("side", sa.Text, primary_key=True),  # >=, <= or drop
    sa.Column("run", sa.Text, primary_key=True),  # id of the run
    sa.Column("rule", sa.Text, nullable=False),  # the rule as text
    sa.Column("passed", sa.Boolean, nullable=False),  # whether the run met the rule
    sa.Column("decided_at", sa.Text, nullable=False),  # when the gate decided
)

human_labels = sa.Table(  # of the data's name and the text, not of a run: equal answers share their labels
    "human_labels",
    metadata,
    sa.Column("data", sa.Text, primary_key=True),  # name of the data
    sa.Column("sample", sa.Text, primary_key=True),  # id of the row
    sa.Column("version", sa.Text, primary_key=True),  # hash of the question, the passages and the answer
    sa.Column("author", sa.Text, primary_key=True),  # who gave the label
    sa.Column("value", sa.Boolean),  # true: the answer is good; NULL: skipped
    sa.Column("comment", sa.Text, nullable=False),  # comment of the author; empty for none
    sa.Column("decides", sa.Boolean, primary_key=True),  # true: decides between people who disagree
    sa.Column("created_at", sa.Text, nullable=False),  # when it was given
)

audits = sa.Table(  # verdicts on judges and metrics; no reference to the run, so that deleting it leaves them
    "audits",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),  # random id
    sa.Column("scorer", sa.Text, nullable=False, index=True),  # hash of metric, models, judge and prompts
    sa.Column("metric", sa.Text, nullable=False),  # the metric with its parameters
    sa.Column("run", sa.Text, nullable=False),  # id of the run that was audited
    sa.Column("verdict", sa.Text, nullable=False),  # TRUSTED, NOT TRUSTED or NEED
    sa.Column("body", _JSON, nullable=False),  # labels, counts and estimates
    sa.Column("created_at", sa.Text, nullable=False),  # when it was made
)

trend_annotations = sa.Table(  # notes on the time axis of trends, such as releases
    "trend_annotations",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),  # random id
    sa.Column("data", sa.Text, nullable=False, index=True),  # the name of the data
    sa.Column("at", sa.Text, nullable=False),  # the time on the axis
    sa.Column("text", sa.Text, nullable=False),  # the note
)


SCHEMA_VERSION = "0016"
"""Version of the tables in `sgi.store.schema`. Raise it with each change of them: there are no migrations."""

_VERSION = sa.Table("sgi_version", sa.MetaData(), sa.Column("version_num", sa.Text, primary_key=True))
"""It has a prefix, because an application may have its own tables in the same database."""


def create_tables(connection: sa.Connection) -> None:
    """Create all tables and the view ``evals``, and store their version, in the caller's transaction."""
    for statement in _definitions(connection.dialect.name):
        connection.exec_driver_sql(statement)
    connection.execute(sa.insert(_VERSION).values(version_num=SCHEMA_VERSION))


@cache
def _definitions(dialect: str) -> tuple[str, ...]:
    """Return the statements that create the tables, their indexes and the view, compiled once a process."""
    made: list[str] = []

    def add(statement: Any, *_: object) -> None:
        made.append(str(statement.compile(dialect=engine.dialect)))

    engine = sa.create_mock_engine(f"{dialect}://", add)
    metadata.create_all(engine, checkfirst=False)
    made.append(view_definition(dialect))
    _VERSION.create(engine)
    return tuple(made)


def read_version(connection: sa.Connection, shown: str) -> str | None:
    """Return the schema version, or None if SGI has no tables in the database.

    Raises StoreError if another program's tables have our names.
    """
    inspector = sa.inspect(connection)
    if inspector.has_table(_VERSION.name):
        return connection.execute(sa.select(_VERSION)).scalar() or "unknown"
    there = {*inspector.get_table_names(), *inspector.get_view_names()}
    taken = sorted(there.intersection([*metadata.tables, "evals"]))
    if taken:
        hint = "Give SGI a database or a schema of its own, as with ?options=-csearch_path%3Dsgi in the URL."
        raise StoreError(f"{shown} has tables of another program: {', '.join(taken)}.", hint=hint)
    return None


def require_version(version: str | None, shown: str) -> None:
    """Raise SchemaVersionError for another version than ours, StoreError for an empty database."""
    if version is None:
        raise StoreError(
            f"The database {shown} is empty.",
            hint=f"`sgi run` creates the tables and stores a run. {ANOTHER}",
        )
    if version != SCHEMA_VERSION:
        raise SchemaVersionError(
            shown, version, SCHEMA_VERSION, hint=f"Read it with the version of SGI that wrote it. {ANOTHER}"
        )
