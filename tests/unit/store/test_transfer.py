from __future__ import annotations

import gzip
import json
import os
import stat
from contextlib import ExitStack
from dataclasses import asdict

import pytest
import sqlalchemy as sa

from sgi.kernel.errors import SchemaVersionError, StoreError
from sgi.kernel.metric_column import MetricProvenance
from sgi.kernel.sample import Sample
from sgi.kernel.sample_parts import NO_COSTS, NO_RANKING
from sgi.store import schema, transfer
from sgi.store.bulk_rows import encode_json, encode_text, insert_rows
from sgi.store.database import open_database
from sgi.store.evaluations import MetricScore, read_evaluations
from sgi.store.growing_runs import EvaluationRow, save_evaluation
from sgi.store.schema import SCHEMA_VERSION
from sgi.store.transfer import ImportResult, export
from support.runs import HOSTILE, add_run, contents

SAMPLES = (
    Sample(id=HOSTILE, question=HOSTILE, contexts=(HOSTILE, ""), response="", label=False),
    Sample(id="b", reference="R", alternatives=("S",), metadata={HOSTILE: [1.5, 2**70, None, {"x": True}]}),
)


def import_(database, path):
    """Import without summaries."""
    return transfer.import_(database, path, recompute=lambda *_: None)


def fill(database):
    """Two runs with something in every table and every column."""
    add_run(
        database, "r1", name="first", samples=SAMPLES, scores={"sgi": (1.25, None), "bleu": (5e-324, 1e308)}
    )
    add_run(database, "r2", samples=SAMPLES, scores={"bleu": (0.1, 1 / 3)})
    with database.writing() as connection:
        number = connection.execute(sa.select(sa.func.max(schema.run_metrics.c.id))).scalar_one()
        connection.execute(
            sa.update(schema.runs)
            .where(schema.runs.c.id == "r2")
            .values(finished_at=None, stopped=encode_text(HOSTILE), rejected=3)
        )
        connection.execute(sa.update(schema.run_metrics).values(low=-1.0, high=1.0))
        body = encode_json({"reasoning": HOSTILE, "sentences": [0.1, 0.2]})
        insert_rows(connection, schema.details, [(number, 0, body)])
        insert_rows(connection, schema.evidence, [(number, 1, body)])
        ids = encode_json([HOSTILE])
        answers = [
            ("r2", 0, encode_text(HOSTILE), '["p"]', None, 0.25, 12.5, 300, 20, 0.001, ids, "[0.5]"),
            ("r2", 1, None, None, "timeout", 30.0, *NO_COSTS, *NO_RANKING),
        ]
        insert_rows(connection, schema.answers, answers)
        used = [
            ("r1", encode_text(HOSTILE), 2**40, 1, 0, 2**40, 5, 1 / 3, "a", 1),
            ("r2", "openai:x", 0, 0, 0, 0, 0, None, "a", 0),
        ]
        insert_rows(connection, schema.usage, used)
        looks = [
            ("questions", "bleu", ">=", run, encode_text(HOSTILE), True, "2026-01-01")
            for run in ("r1", "gone")
        ]
        insert_rows(connection, schema.gates, looks)
        audit = ("0b", "ab12", encode_text(HOSTILE), "gone", "NEED", encode_json({HOSTILE: 1}), "2026-01-01")
        insert_rows(connection, schema.audits, [audit])
        label = (encode_text(HOSTILE), "q1", "0f", "Ada", None, encode_text(HOSTILE), False, "2026-01-01")
        insert_rows(connection, schema.human_labels, [label])
        notes = [("0a", encode_text(HOSTILE), "2026-01-01T00:00:00", encode_text(HOSTILE))]
        insert_rows(connection, schema.trend_annotations, notes)
        made_of = asdict(MetricProvenance((HOSTILE,), name="sgi", parameters={HOSTILE: 1}, version=1))
        connection.execute(sa.update(schema.run_metrics).values(provenance=made_of))
        insert_rows(connection, schema.run_tags, [("r1", "nightly"), ("r1", "Ümlaut"), ("r2", "nightly")])


@pytest.fixture
def other(tmp_path):
    with open_database(tmp_path / "other.db") as opened:
        yield opened


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A database with something in every table."""
    with open_database(tmp_path_factory.mktemp("filled") / "filled.db") as opened:
        fill(opened)
        yield opened


@pytest.fixture(scope="module")
def content(filled, tmp_path_factory):
    """What the file of a filled database holds."""
    path = tmp_path_factory.mktemp("exported") / "all.jsonl"
    export(filled, path)
    return path.read_bytes()


@pytest.fixture
def exported(content, tmp_path):
    """The file of a filled database."""
    (tmp_path / "all.jsonl").write_bytes(content)
    return tmp_path / "all.jsonl"


@pytest.mark.parametrize("name", ["all.jsonl", "all.jsonl.gz"])
def test_there_and_back_between_the_kinds_nothing_is_lost(tmp_path, postgres_url, name):
    with open_database(tmp_path / "one.db") as one, open_database(postgres_url) as two:
        fill(one)
        before = contents(one)
        assert all(rows for table, rows in before.items() if table != "leases"), "every table has rows"
        rows = export(one, tmp_path / name)
        assert rows == sum(map(len, before.values()))
        assert import_(two, tmp_path / name) == ImportResult(2, 0, {})
        assert contents(two) == before
        assert export(two, tmp_path / f"again.{name}") == rows
        with open_database(tmp_path / "three.db") as three:
            import_(three, tmp_path / f"again.{name}")
            assert contents(three) == before


def test_equal_databases_give_equal_bytes(exported, filled, tmp_path):
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        export(filled, tmp_path / name)
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes()) == exported.read_bytes()


def test_the_file_is_lines_of_json_that_say_what_they_are(exported):
    lines = [json.loads(line) for line in exported.read_bytes().splitlines()]
    assert lines[0] == {"sgi_database": 1, "schema": SCHEMA_VERSION}
    assert lines[-1] == {"rows": len(lines) - 2}
    not_exported = {"leases", "run_changes", "run_views", "search_indexes"}
    assert {line[0] for line in lines[1:-1]} == set(schema.metadata.tables) - not_exported


def test_an_empty_database(database, tmp_path, other):
    assert export(database, tmp_path / "none.jsonl") == 0
    assert import_(other, tmp_path / "none.jsonl") == ImportResult(0, 0, {})


def test_runs_that_are_there_are_left_out(database, exported):
    import_(database, exported)
    before = contents(database)
    assert import_(database, exported) == ImportResult(0, 2, {})
    assert contents(database) == before


def test_a_database_that_holds_other_runs(database, exported):
    add_run(database, "r0", name="first", scores={"sgi": (0.5,), "rouge_l": (0.25,)})
    assert import_(database, exported) == ImportResult(2, 0, {"first": "first-2"})
    with database.reading() as connection:
        query = """SELECT m.run, m.metric, s.value FROM run_metrics m JOIN scores s ON s.metric = m.id
            WHERE s.position = 0 ORDER BY 1, 2"""
        assert [tuple(row) for row in connection.exec_driver_sql(query)] == [
            ("r0", "rouge_l", 0.25),
            ("r0", "sgi", 0.5),
            ("r1", "bleu", 5e-324),
            ("r1", "sgi", 1.25),
            ("r2", "bleu", 0.1),
        ]


def test_runs_written_after_an_import_get_numbers_of_their_own(database, exported):
    import_(database, exported)
    add_run(database, "r9")
    assert len(contents(database)["scores"]) == 7


def test_samples_that_are_partly_there_are_completed(database, exported):
    import_(database, exported)
    with database.writing() as connection:
        connection.execute(sa.delete(schema.runs).where(schema.runs.c.id == "r1"))
        connection.execute(sa.delete(schema.samples).where(schema.samples.c.position == 1))
    assert import_(database, exported) == ImportResult(1, 1, {})
    assert len(contents(database)["samples"]) == 4


def grow(database, *ids):
    for name in ids:
        row = EvaluationRow(Sample(id=name, question="Who?"), None, {"bleu": MetricScore(0.5)})
        save_evaluation(database, "nightly", row, versions={})


def test_data_that_grew_there_and_here_is_left_alone(database, other, tmp_path):
    grow(other, *"abcde")
    export(other, tmp_path / "five.jsonl")
    grow(other, *"fghij")
    export(other, tmp_path / "ten.jsonl")
    assert import_(database, tmp_path / "five.jsonl") == ImportResult(1, 0, {})
    before = contents(database)
    assert import_(database, tmp_path / "ten.jsonl") == ImportResult(0, 1, {})
    assert contents(database) == before
    grow(database, *"fxyz")
    assert [found.sample.id for found in read_evaluations(database, "nightly")] == [*"abcdefxyz"]


def test_data_whose_run_is_gone_comes_whole_with_the_run(database, other, tmp_path):
    grow(other, *"ab")
    export(other, tmp_path / "two.jsonl")
    import_(database, tmp_path / "two.jsonl")
    with database.writing() as connection:
        connection.execute(sa.delete(schema.runs))
    grow(other, *"cd")
    export(other, tmp_path / "four.jsonl")
    assert import_(database, tmp_path / "four.jsonl") == ImportResult(1, 0, {})
    assert contents(database) == contents(other)


def damaged(exported, change):
    lines = exported.read_bytes().splitlines(keepends=True)
    changed = change(lines)
    exported.write_bytes(b"".join(lines if changed is None else changed))


def at(table):
    """The place of a table's first row."""
    return lambda lines: next(k for k, line in enumerate(lines) if line.startswith(f'["{table}"'.encode()))


def replaced(table, old, new):
    def change(lines):
        k = at(table)(lines)
        assert old in lines[k]
        lines[k] = lines[k].replace(old, new, 1)

    return change


DAMAGES = {
    "cut": lambda lines: lines[:-1],
    "cut in a line": lambda lines: [*lines[:-3], lines[-3][:-5]],
    "a line is missing": lambda lines: [*lines[:5], *lines[6:]],
    "a line too many": lambda lines: [*lines, b"[]\n"],
    "not JSON": lambda lines: [*lines[:4], b"nonsense\n", *lines[5:]],
    "not UTF-8": lambda lines: [*lines[:4], b'"\xff"\n', *lines[5:]],
    "too deep": lambda lines: [*lines[:4], b"[" * 100_000 + b"\n", *lines[5:]],
    "an unknown table": replaced("batches", b"batches", b"sqlite_master"),
    "tables in another order": lambda lines: [lines[0], *reversed(lines[1:-1]), lines[-1]],
    "a text in a number's place": replaced("batches", b",0,2,", b',"0",2,'),
    "a flag in a number's place": replaced("batches", b",0,2,", b",true,2,"),
    "a value too many": replaced("batches", b",0,2,", b",0,2,2,"),
    "null where none can be": replaced("batches", b",0,2,", b",null,2,"),
    "a run that isn't there": replaced("batches", b'"r1"', b'"r7"'),
    "a status that isn't one": replaced("scores", b'"ok"', b'"odd"'),
    "a metric twice": replaced("run_metrics", b'"sgi"', b'"bleu"'),
    "a row twice": lambda lines: [*lines[:-2], lines[-2], lines[-2], b'{"rows":%d}\n' % (len(lines) - 1)],
    "a number no column holds": replaced("batches", b",0,2,", b",%d,2," % 2**70),
    "an empty row": lambda lines: [*lines[:4], b"[]\n", *lines[5:]],
    "a bare value": lambda lines: [*lines[:4], b"3\n", *lines[5:]],
}


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def unchanged(request, tmp_path_factory):
    """A database with one run, and its contents."""
    with ExitStack() as stack:
        place = tmp_path_factory.mktemp("unchanged") / "sgi.db"
        if request.param == "postgresql":
            place = stack.enter_context(request.getfixturevalue("postgres").database())
        opened = stack.enter_context(open_database(place))
        add_run(opened, "r0")
        yield opened, contents(opened)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_changes_nothing_and_the_line_is_named(unchanged, exported, damage):
    database, before = unchanged
    damaged(exported, DAMAGES[damage])
    with pytest.raises(StoreError, match=r"all\.jsonl:\d+: "):
        import_(database, exported)
    assert contents(database) == before


def test_a_packed_file_that_was_cut(database, filled, tmp_path):
    path = tmp_path / "all.jsonl.gz"
    export(filled, path)
    content = path.read_bytes()
    for cut in (content[: len(content) // 2], content[:-9] + b"\0" * 9, content[:12]):
        path.write_bytes(cut)
        with pytest.raises(StoreError, match=r"gz:\d+: "):
            import_(database, path)
    assert contents(database)["runs"] == []


@pytest.mark.parametrize("content", [b"", b"{}\n", b'["runs"]\n', b"null\n"])
def test_a_file_that_is_no_export(database, tmp_path, content):
    (tmp_path / "x.jsonl").write_bytes(content)
    with pytest.raises(StoreError, match=r"x\.jsonl"):
        import_(database, tmp_path / "x.jsonl")


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (f'"schema":"{SCHEMA_VERSION}"', '"schema":"0014"', "0014"),
        (f'"schema":"{SCHEMA_VERSION}"', '"schema":"9999"', "9999"),
        (f'"schema":"{SCHEMA_VERSION}"', '"schema":[1]', "unknown"),
        ('_database":1', '_database":2', "unknown"),
    ],
)
def test_files_of_other_versions(database, exported, old, new, found):
    exported.write_bytes(exported.read_bytes().replace(old.encode(), new.encode(), 1))
    with pytest.raises(SchemaVersionError) as caught:
        import_(database, exported)
    error = caught.value
    assert (error.place, error.found, error.needed) == (str(exported), found, SCHEMA_VERSION)


@pytest.mark.parametrize("verb", [export, import_])
def test_a_name_without_a_known_ending(database, tmp_path, verb):
    with pytest.raises(StoreError, match=r"all\.db"):
        verb(database, tmp_path / "all.db")


def test_files_that_cannot_be_read_or_written(database, tmp_path):
    with pytest.raises(StoreError, match=r"none\.jsonl.*No such file"):
        import_(database, tmp_path / "none.jsonl")
    with pytest.raises(StoreError, match=r"all\.jsonl.*No such file"):
        export(database, tmp_path / "deep" / "all.jsonl")
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(StoreError, match=r"folder\.jsonl.*Is a directory"):
        export(database, tmp_path / "folder.jsonl")
    assert not list(tmp_path.glob(".sgi-*"))


def test_a_failed_export_leaves_the_file_there_was(database, tmp_path):
    add_run(database)
    path = tmp_path / "all.jsonl"
    path.write_text("precious")
    with database.writing() as connection:
        connection.exec_driver_sql("ALTER TABLE evidence RENAME TO gone")
    with pytest.raises(StoreError, match="evidence"):
        export(database, path)
    assert path.read_text() == "precious"
    assert not list(tmp_path.glob(".sgi-*"))


@pytest.mark.skipif(os.name != "posix", reason="permissions are told otherwise here")
def test_only_the_user_may_read_the_file(filled, tmp_path):
    export(filled, tmp_path / "all.jsonl")
    assert stat.S_IMODE((tmp_path / "all.jsonl").stat().st_mode) == 0o600
