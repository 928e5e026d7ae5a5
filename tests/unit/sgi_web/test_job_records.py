from __future__ import annotations

import json
import os
import time

import pytest

from sgi.engine.spec import RunSpec
from sgi_web.job_records import JobRecord, restore_jobs
from support.kept_runs import rows, write_rows


@pytest.fixture
def facts(tmp_path):
    """What is written of an upload."""
    data = write_rows(tmp_path / "upload-1.jsonl", rows(3)).resolve()
    read = {"columns": {"question": "q"}, "on_error": "skip", "per_turn": True, "max_failures": 1.0}
    spec = RunSpec(data=data, metrics=("squad_em",), name="mine", **read)
    return {"id": "abc", "spec": spec.to_dict(), "shown": "rows.jsonl", "tags": ["a"]}


def test_what_is_written_is_restored_once_its_server_is_gone(tmp_path, facts):
    record = JobRecord.create(tmp_path, "abc", facts)
    assert list(restore_jobs(tmp_path)) == [], "a living server works on it"
    record.close()
    (found,) = restore_jobs(tmp_path)
    assert (found.id, found.shown, found.tags, found.state, found.run) == (
        "abc",
        "rows.jsonl",
        ("a",),
        "waiting",
        None,
    )
    assert found.spec == RunSpec.of(facts["spec"])
    found.record.add({"started": True})
    found.record.add({"run": "20260101-000000-abcdef"})
    found.record.close()
    (again,) = restore_jobs(tmp_path)
    assert (again.state, again.run) == ("stopped", "20260101-000000-abcdef")
    again.record.remove()
    assert list(tmp_path.glob("job-*")) == []


@pytest.mark.parametrize(
    "change",
    [
        {"target": "os:system"},
        {"judge": "openai:gpt"},
        {"data": "/etc/passwd"},
        {"data": "../upload-1.jsonl"},
        {"calibration": "/etc/passwd"},
    ],
)
def test_a_record_cannot_ask_for_more_than_an_upload(tmp_path, facts, change):
    JobRecord.create(tmp_path, "abc", facts | {"spec": facts["spec"] | change}).close()
    assert list(restore_jobs(tmp_path)) == []


@pytest.mark.parametrize("cut", [0, 1, 40, -1])
def test_a_record_that_was_cut_belongs_to_no_accepted_upload(tmp_path, facts, cut):
    path = tmp_path / "job-abc.jsonl"
    path.write_bytes((json.dumps(facts).encode() + b"\n")[:cut])
    assert list(restore_jobs(tmp_path)) == []
    assert path.exists(), "another server may be writing it"
    os.utime(path, (time.time() - 4000,) * 2)
    assert list(restore_jobs(tmp_path)) == []
    assert not path.exists()


def test_a_line_that_was_cut_leaves_those_before(tmp_path, facts):
    JobRecord.create(tmp_path, "abc", facts).close()
    with (tmp_path / "job-abc.jsonl").open("ab") as stream:
        stream.write(b'{"started": tr')
    (found,) = restore_jobs(tmp_path)
    assert found.state == "waiting"
    found.record.add({"run": "r"})
    found.record.close()
    (again,) = restore_jobs(tmp_path)
    assert again.run == "r"
    again.record.close()
