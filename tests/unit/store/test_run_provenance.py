from __future__ import annotations

import pytest
import sqlalchemy as sa

from sgi.engine.stored_runs import read_run
from sgi.kernel.errors import StoreDamagedError
from sgi.kernel.provenance import MetricProvenance, provenance_differences
from sgi.kernel.registry import metric
from sgi.store import schema
from sgi.store.run_queries import find_run, run_provenance
from sgi.store.writer import Setup, create_run

VERSION = metric("sgi").spec.version
RECORD = MetricProvenance(("hash@1",), name="sgi", parameters={"passages": "mean"}, version=VERSION)


def started(database, provenance):
    metrics = [metric(name) for name in ("sgi(passages='mean')", "rouge_l")]
    start = Setup("hash", "rows.jsonl", 1, {}, "spec", "", {"sgi": "0.1"}, metrics, provenance=provenance)
    return find_run(database, create_run(database, start).run)


def test_a_record_is_read_as_it_was_stored(database):
    name = metric("sgi(passages='mean')").canonical
    lexical = MetricProvenance(name="rouge_l", version=2)
    record = started(database, {name: RECORD, "rouge_l": lexical})
    assert run_provenance(database, record) == {name: RECORD, "rouge_l": lexical}
    assert read_run(database, record).metrics[name].provenance == RECORD
    assert read_run(database, record).metrics[name].name == "sgi"


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"models": ("hash@2",)}, "embedder of sgi: hash@1 → hash@2"),
        ({"models": ("tokens:m@1",)}, "model of sgi: hash@1 → tokens:m@1"),
        ({"version": VERSION + 1}, f"version of sgi: {VERSION} → {VERSION + 1}"),
        ({"judge": "openai:m"}, "judge of sgi: none → openai:m"),
        ({"prompts": "3f2a"}, "prompts of sgi: none → 3f2a"),
    ],
)
def test_each_field_that_differs_is_named(change, difference):
    after = MetricProvenance(**{"models": ("hash@1",), "version": VERSION} | change)
    assert list(map(str, provenance_differences({"sgi": RECORD}, {"sgi": after}))) == [difference]


def test_a_record_that_is_missing_differs():
    (difference,) = provenance_differences({"sgi": None}, {"sgi": RECORD})
    assert str(difference) == "provenance of sgi: not recorded → recorded"


@pytest.mark.parametrize("value", [{"models": "hash@1"}, {"budget": -1}, {"parameters": []}, []])
def test_a_damaged_record_is_refused(database, value):
    record = started(database, {})
    with database.writing() as connection:
        connection.execute(sa.update(schema.run_metrics).values(provenance=value))
    for read in (run_provenance, read_run):
        with pytest.raises(StoreDamagedError, match="provenance"):
            read(database, record)
