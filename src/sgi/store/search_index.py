"""Search the texts of rows: in an index of a large finished run, otherwise by reading all texts.

The index of a run is the table ``search_<id>``; ``search_indexes`` says which texts it has. It holds all
strings of three characters (trigrams), so it finds parts of words, and languages without spaces. It
gives exactly the rows that reading all texts gives, or None if it cannot.

* SQLite: a table of FTS5 without the texts.
* PostgreSQL: a tsvector of the trigrams with the texts, in which LIKE confirms the candidates.
"""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from sgi.store import schema
from sgi.store.bulk_rows import encode_text
from sgi.store.samples import shown_response, with_answers
from sgi.store.schema import now
from sgi.store.view_cache import MANY_ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from sqlalchemy import Connection

    from sgi.store.database import Database
    from sgi.store.run_queries import RunRecord

_END = "\ufdd1"
"""A noncharacter behind each text, so that no trigram covers two texts, and the last characters begin one."""
_LENGTH = 3
_MAX_TRIGRAMS = 1000
"""Maximum number of trigrams that begin with a short word."""
_ROWS = 4000
"""Rows per transaction: another process that writes waits no longer than that."""
_PAUSE = 0.15
"""Seconds between transactions in SQLite; a waiting process tries again at least every 0.1 s."""
_ABANDONED = timedelta(minutes=15)
_TRIGRAMS = """INSERT INTO search_{id} SELECT position, texts, array_to_tsvector(ARRAY(
    SELECT DISTINCT sign || lead(sign, 1, '') OVER signs || lead(sign, 2, '') OVER signs
    FROM unnest(string_to_array(texts, NULL)) WITH ORDINALITY AS each (sign, place)
    WINDOW signs AS (ORDER BY place)))
    FROM ({texts} OFFSET 0) AS folded"""
_LIKE_SIGNS = re.compile("[/%_]")
_ESCAPED = r"/\g<0>"


def has_search_index(database: Database, record: RunRecord) -> bool:
    """Return whether the texts of a run are indexed, or need no index: too few rows, or not finished."""
    if not record.finished or record.scored < MANY_ROWS:
        return True
    with database.reading() as connection:
        return _index(connection, record) is not None


def build_search_index(
    database: Database, record: RunRecord, *, stopped: Callable[[], bool] = lambda: False
) -> bool:
    """Index the texts of a finished run; return whether the index is complete.

    It is not if ``stopped`` returned True, the texts changed, or another process builds the same index.
    Raises StoreError if the database cannot be written, or its SQLite has no FTS5 with trigrams.
    """
    with database.writing() as connection:
        drop_unused_indexes(connection)
        number = _create(connection, record)
    if number is None:
        return False
    for first in range(0, record.rows, _ROWS):
        if stopped():
            return False
        with database.writing() as connection:
            if not _touch(connection, number):
                return False
            _insert(connection, record, number, first)
        time.sleep(_PAUSE if database.dialect == "sqlite" else 0)
    with database.writing() as connection:
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql("SET LOCAL maintenance_work_mem = '256MB'")
            connection.exec_driver_sql(f"CREATE INDEX ON search_{number} USING gin (trigrams)")
            connection.exec_driver_sql(f"ANALYZE search_{number}")
        return _source(connection, record) is not None and _touch(connection, number, ready=True)


def drop_unused_indexes(connection: Connection) -> None:
    """Drop the indexes of deleted runs and data, and unfinished indexes that no process builds."""
    table = schema.search_indexes
    sources = sa.union_all(sa.select(schema.datasets.c.hash), sa.select(schema.runs.c.id))
    abandoned = ~table.c.ready & (table.c.updated_at < (datetime.now(UTC) - _ABANDONED).isoformat())
    unused = sa.select(table.c.id).where(table.c.source.not_in(sources) | abandoned)
    for number in connection.execute(unused).scalars().all():
        _drop(connection, number)


def contains_words(
    connection: Connection, record: RunRecord, words: Sequence[str]
) -> Iterable[sa.ColumnElement[bool]]:
    """Return the conditions on rows of `with_answers` whose id, question or response contains each word."""
    indexed = indexed_positions(connection, record, words)
    if indexed is not None:
        return [schema.samples.c.position.in_(indexed)]
    texts = [fold(connection, text) for text in _texts()]
    patterns = (fold(connection, sa.literal(_like_pattern(word))) for word in words)
    return [sa.or_(*(text.like(pattern, escape="/") for text in texts)) for pattern in patterns]


def indexed_positions(
    connection: Connection, record: RunRecord, words: Sequence[str]
) -> sa.Select[Any] | Sequence[int] | None:
    """Select the positions of the rows whose texts contain each word; None if there is no index for that."""
    number = _index(connection, record)
    if number is None or any(_END in word for word in words):
        return None
    encoded = [encode_text(word) for word in words]
    if connection.dialect.name == "postgresql":
        return _select_postgresql(connection, number, words, encoded)
    return _select_sqlite(connection, number, [word.casefold() for word in encoded])


def fold(connection: Connection, text: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    """Convert to lower case in any script, for the search; SQLite's lower() knows only ASCII."""
    if connection.dialect.name != "sqlite":
        return sa.func.lower(text)
    driver: Any = connection.connection.driver_connection
    driver.create_function("sgi_casefold", 1, _casefold, deterministic=True)
    is_ascii = sa.func.length(text) == sa.func.length(sa.cast(text, sa.LargeBinary))
    return sa.case((is_ascii, sa.func.lower(text)), else_=sa.func.sgi_casefold(text))


def _casefold(text: str | None) -> str | None:
    return None if text is None else text.casefold()


def _like_pattern(word: str) -> str:
    """Return the pattern of LIKE, with the escape character "/", for texts that contain a word."""
    return f"%{_LIKE_SIGNS.sub(_ESCAPED, encode_text(word))}%"


def _texts() -> tuple[sa.ColumnElement[Any], ...]:
    return schema.samples.c.id, schema.samples.c.question, shown_response()


def _source(connection: Connection, record: RunRecord) -> tuple[str, str] | None:
    """Return what the index of a run belongs to, and its state; None if the run has no fixed texts.

    Runs of the same data share one index, unless the texts are of the run: a target answered, or it grows.
    """
    runs, answers, changes = schema.runs, schema.answers, schema.run_changes
    count = sa.select(changes.c["count"]).where(changes.c.run == record.id).scalar_subquery()
    own = sa.exists().where(answers.c.run == record.id)
    query = sa.select(runs.c.finished_at, sa.func.coalesce(count, 0), own).where(runs.c.id == record.id)
    found = connection.execute(query).first()
    if found is None or found[0] is None:
        return None
    if found[2] or record.spec.get("service"):
        return record.id, f"{found[1]} {found[0]}"
    return record.dataset, str(record.rows)


def _index(connection: Connection, record: RunRecord) -> int | None:
    source = _source(connection, record)
    if source is None:
        return None
    table = schema.search_indexes
    same = (table.c.source == source[0]) & (table.c.state == source[1])
    return connection.execute(sa.select(table.c.id).where(same, table.c.ready)).scalar()


def _create(connection: Connection, record: RunRecord) -> int | None:
    """Create an empty index; None if there is nothing to index, or the index is there."""
    source = _source(connection, record)
    if source is None:
        return None
    table = schema.search_indexes
    old = connection.execute(sa.select(table).where(table.c.source == source[0])).first()
    if old is not None:
        if old.state == source[1]:
            return None
        _drop(connection, old.id)
    values = {"source": source[0], "state": source[1], "ready": False, "updated_at": now()}
    number = connection.execute(sa.insert(table).values(values).returning(table.c.id)).scalar_one()
    if connection.dialect.name == "postgresql":
        statement = f"CREATE TABLE search_{number} (position integer, texts text, trigrams tsvector)"
    else:
        options = "content='', columnsize=0, tokenize='trigram case_sensitive 1'"
        statement = f"CREATE VIRTUAL TABLE search_{number} USING fts5(texts, {options})"
    connection.exec_driver_sql(statement)
    return int(number)


def _insert(connection: Connection, record: RunRecord, number: int, first: int) -> None:
    samples = schema.samples
    ends = sa.literal(_END * (_LENGTH - 1))
    texts: sa.ColumnElement[str] = sa.literal("")
    for text in _texts():
        texts = texts + sa.func.coalesce(text, "") + ends
    query = (
        sa.select(samples.c.position, fold(connection, texts).label("texts"))
        .select_from(with_answers(record.id))
        .where(samples.c.dataset == record.dataset, samples.c.position.between(first, first + _ROWS - 1))
    )
    if connection.dialect.name == "sqlite":
        table = sa.table(f"search_{number}", sa.column("rowid"), sa.column("texts"))
        connection.execute(sa.insert(table).from_select(["rowid", "texts"], query))
        return
    compiled = query.compile(dialect=connection.dialect)
    statement = _TRIGRAMS.format(id=number, texts=compiled)
    connection.exec_driver_sql(statement, compiled.params)


def _touch(connection: Connection, number: int, *, ready: bool = False) -> bool:
    table = schema.search_indexes
    values = {"updated_at": now(), "ready": ready}
    return bool(connection.execute(sa.update(table).where(table.c.id == number).values(values)).rowcount)


def _drop(connection: Connection, number: int) -> None:
    connection.execute(sa.delete(schema.search_indexes).where(schema.search_indexes.c.id == number))
    connection.exec_driver_sql(f"DROP TABLE IF EXISTS search_{number}")


def _select_sqlite(
    connection: Connection, number: int, words: Sequence[str]
) -> sa.Select[Any] | Sequence[int] | None:
    parts = []
    for word in words:
        trigrams = [word] if len(word) >= _LENGTH else _trigrams_from(connection, number, word)
        if len(trigrams) > _MAX_TRIGRAMS:
            return None
        if not trigrams:
            return ()
        parts.append(" OR ".join(f'"{trigram.replace(chr(34), chr(34) * 2)}"' for trigram in trigrams))
    table = sa.table(f"search_{number}", sa.column("rowid", sa.Integer))
    matches = sa.literal_column(table.name).op("MATCH")(" AND ".join(f"({part})" for part in parts))
    return sa.select(table.c.rowid).where(matches)


def _trigrams_from(connection: Connection, number: int, word: str) -> list[str]:
    """Return the indexed trigrams that begin with a short word."""
    name = f"search_{number}_terms"
    connection.exec_driver_sql(
        f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{name} USING fts5vocab(main, search_{number}, row)"
    )
    query = f"SELECT term FROM temp.{name} WHERE term >= ? AND term < ? LIMIT ?"  # noqa: S608
    bounds = (word, word + chr(0x10FFFF), _MAX_TRIGRAMS + 1)
    return [term for (term,) in connection.exec_driver_sql(query, bounds)]


def _select_postgresql(
    connection: Connection, number: int, words: Sequence[str], encoded: Sequence[str]
) -> sa.Select[Any]:
    folded = connection.execute(sa.select(*(fold(connection, sa.literal(word)) for word in encoded))).one()
    table = sa.table(
        f"search_{number}", sa.column("position"), sa.column("texts", sa.Text), sa.column("trigrams")
    )
    needed = " & ".join(part for word in folded for part in _lexemes(word))
    query = sa.select(table.c.position).where(table.c.trigrams.op("@@")(sa.func.tsquery(needed)))
    patterns = (fold(connection, sa.literal(_like_pattern(word))) for word in words)
    return query.where(*(table.c.texts.like(pattern, escape="/") for pattern in patterns))


def _lexemes(word: str) -> list[str]:
    if len(word) < _LENGTH:
        return [f"{_quoted(word)}:*"]
    return [_quoted(word[at : at + _LENGTH]) for at in range(len(word) - _LENGTH + 1)]


def _quoted(lexeme: str) -> str:
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"
