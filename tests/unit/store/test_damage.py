"""Damaged database files: one error with a way out, never a traceback."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing, suppress

import pytest

from sgi.engine.stored_runs import read_run
from sgi.kernel.errors import SgiError, StoreDamagedError
from sgi.kernel.sample import Sample
from sgi.store.database import open_database, status
from sgi.store.legacy_import import import_evals
from sgi.store.run_queries import list_runs
from sgi.store.stored_batches import stored_batches
from sgi.store.transfer import export
from support.runs import add_run
from support.slow import slow

FILES = 150
SAMPLES = [
    Sample(id=f"q{n}", question=f"Which {n}?", contexts=("It is so.",), response=f"{n}") for n in range(40)
]


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    path = tmp_path_factory.mktemp("sound") / "sgi.db"
    with open_database(path) as database:
        for run in ("r1", "r2"):
            scores = {"sgi": [n / 7 for n in range(40)], "bleu": [None] * 40}
            add_run(database, run, name=f"run {run}", samples=SAMPLES, scores=scores)
    return path.read_bytes()


def read_all(database):
    for record in list_runs(database):
        read_run(database, record)
        list(stored_batches(database, record))


def damaged(content, chance):
    """The content cut, or with bytes changed: anywhere, or in the pages that say what is where."""
    changed = bytearray(content)
    if chance.random() < 0.3:
        return bytes(changed[: chance.randrange(len(changed))])
    for _ in range(chance.choice((1, 2, 5, 30, 200))):
        changed[chance.randrange(len(changed) if chance.random() < 0.6 else 4096)] = chance.randrange(256)
    return bytes(changed)


@pytest.mark.parametrize("seed", [0, *slow(1, 2, 3)])
def test_every_way_to_read_a_damaged_file_ends_well_or_in_an_error_of_ours(sound, tmp_path, seed):
    chance = random.Random(seed)
    path = tmp_path / "sgi.db"
    hints = []
    for _ in range(FILES // 4):
        for file in tmp_path.iterdir():
            file.unlink()
        path.write_bytes(damaged(sound, chance))
        try:
            status(path)
            with open_database(path) as database:
                read_all(database)
        except SgiError as error:
            hints.append(error.hint)
    assert all(hints)
    assert len(hints) > FILES // 10


def test_broken_text_and_a_broken_list_are_told_as_damage(sound, tmp_path):
    path = tmp_path / "sgi.db"
    for old, new in ((b"run r1", b"run \xff1"), (b"It is so.", b'It is"so.')):
        path.write_bytes(sound.replace(old, new))
        with open_database(path) as database, pytest.raises(StoreDamagedError):
            read_all(database)


def test_an_old_file_whose_columns_are_no_text(tmp_path):
    old = tmp_path / "old.db"
    with closing(sqlite3.connect(old)) as connection:
        connection.execute("CREATE TABLE evals (id TEXT, qa_pair_id TEXT, bleu_of REAL)")
    old.write_bytes(old.read_bytes().replace(b"bleu_of", b"ble\xff_of"))
    with open_database(tmp_path / "new.db") as database, suppress(SgiError):
        import_evals(database, old)


def test_a_run_does_not_end_well_over_a_database_that_was_cut(tmp_path):
    with open_database(tmp_path / "sgi.db") as database:
        add_run(database, samples=SAMPLES, scores={"sgi": [0.5] * 40})
        database.verify()
        with (tmp_path / "sgi.db").open("r+b") as file:
            file.truncate(8 * 4096)
        with pytest.raises(StoreDamagedError, match="malformed"):
            database.verify()
        (tmp_path / "sgi.db").unlink()
        with pytest.raises(StoreDamagedError, match=r"sgi\.db"):
            database.verify()


@pytest.mark.parametrize("cell", ["samples.question", "scores.value", "batches.rows"])
def test_bytes_in_any_column_are_damage(tmp_path, sound, cell):
    table, _, column = cell.partition(".")
    (tmp_path / "sgi.db").write_bytes(sound)
    with closing(sqlite3.connect(tmp_path / "sgi.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(f"UPDATE {table} SET {column} = x'00ff'")
    with (
        open_database(tmp_path / "sgi.db") as database,
        pytest.raises(StoreDamagedError, match=f"{table}|column of texts"),
    ):
        export(database, tmp_path / "all.jsonl")
