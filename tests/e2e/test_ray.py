"""Runs on a Ray cluster give what one process gives, also when workers and drivers are killed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from sgi.distributed import import_partitions, run
from sgi.kernel.errors import DataError, RunMismatchError, StoreError, UsageError
from sgi.store.database import open_database
from sgi.store.run_queries import list_runs
from support.judge_server import JudgeServer, ServerReply
from support.partitions import (
    comparable_tables,
    engine_processes,
    manifest_files,
    partition_lines,
    score_in_one_process,
    scoring_advances,
    sgi,
    write_head,
)
from support.runs import contents

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray.data.context"),  # Ray of its own settings
]
PATIENCE = 90.0
RATINGS = ("answer_relevance", "context_relevance", "groundedness")
FRAGMENT = 12 * 2**10  # bytes: about 40 samples


@pytest.fixture(scope="module")
def cluster():
    """A cluster of two cores, which all tests of this file join."""
    from sgi.distributed.cluster import connect_cluster

    with connect_cluster("local", 2) as found:
        yield found


@pytest.fixture(scope="module", autouse=True)
def _small_fragments():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sgi.distributed.fragments.MIN_FRAGMENT_BYTES", FRAGMENT)
        yield


@pytest.fixture(scope="module")
def answers(data_folder, tmp_path_factory):
    """200 real answers, two to a question."""
    folder = tmp_path_factory.mktemp("data")
    return write_head(data_folder / "halueval_qa.jsonl", folder / "answers.jsonl", 100)


@pytest.fixture(scope="module")
def finished(cluster, answers, tmp_path_factory):
    """A run that two workers did: its folder, its report and what it told meanwhile."""
    folder, events = tmp_path_factory.mktemp("run") / "parts", []
    report = run(answers, folder, ["rouge_l", "sgi"], workers=2, inputs=True, listener=events.append)
    return folder, report, events


def test_two_workers_write_what_one_process_writes(finished, answers, tmp_path):
    folder, report, events = finished
    assert len(manifest_files(folder)) > 3
    assert partition_lines(folder) == score_in_one_process(
        answers, tmp_path / "alone.jsonl", "-m", "rouge_l,sgi", "--inputs"
    )
    assert (report.summary.rows, report.failures, report.rejected) == (200, 0, 0)
    assert sum(scoring_advances(events)) == 200
    # Its headline is that of one process, to the last bit.
    facts = json.loads(sgi("run", answers, "-m", "rouge_l,sgi", "--no-store", "--json", "-q"))
    assert json.loads(json.dumps(report.summary.to_dict())).items() <= facts.items()


def test_a_worker_that_is_killed_costs_and_doubles_no_row(cluster, answers, tmp_path):
    alone = score_in_one_process(answers, tmp_path / "alone.jsonl", "-m", "sgi")
    killed, there = [], []

    def kill(event):
        if not killed and len(scored := _scored(events)) > 1 and scored[-1]:
            killed.append(engine_processes(os.getpid())[0])
            os.kill(killed[0], signal.SIGKILL)
            there.append(len(manifest_files(tmp_path / "parts")))

    events = []

    def listen(event):
        events.append(event)
        kill(event)

    report = run(answers, tmp_path / "parts", ["sgi"], workers=2, cache=False, listener=listen)
    total = len(manifest_files(tmp_path / "parts"))
    assert there[0] < total  # it was killed in the midst of its work
    assert partition_lines(tmp_path / "parts") == alone
    assert report.summary.rows == sum(scoring_advances(events)) == 200
    assert not list((tmp_path / "parts").glob("*.part"))
    assert not list((tmp_path / "parts").glob(".*.part"))


def _scored(events):
    try:
        return scoring_advances(events)
    except StopIteration:
        return []


def test_a_killed_run_resumes_and_repeats_no_partition(cluster, answers, tmp_path):
    import ray

    folder = tmp_path / "parts"
    address = ray.get_runtime_context().gcs_address
    words = ["run", str(answers), "-m", "sgi", "--ray", address, "--workers", "2", "--no-cache"]
    first = _until(folder, 1, [*words, "-o", str(folder)], signal.SIGINT)
    assert first.returncode == 130
    assert b"To resume, give the same command again." in first.stderr
    assert b"Traceback" not in first.stderr
    result = len(manifest_files(folder))
    second = _until(folder, result + 1, [*words, "-o", str(folder)], signal.SIGKILL)
    assert second.returncode == -signal.SIGKILL
    before = _settled(folder)
    events = []
    run(answers, folder, ["sgi"], workers=2, cache=False, listener=events.append)
    after = manifest_files(folder)
    assert 0 < len(before) < len(after)
    assert {name: after[name] for name in before} == before  # none of them was written again
    advances = scoring_advances(events)
    assert len(advances) == 1 + len(after) - len(before)  # those that were there, and then one by one
    assert partition_lines(folder) == score_in_one_process(answers, tmp_path / "alone.jsonl", "-m", "sgi")


def _until(folder, partitions, words, end):
    """Run the command, and end it when it has written so many partitions."""
    smaller = f"from sgi.distributed import fragments; fragments.MIN_FRAGMENT_BYTES = {FRAGMENT}"
    code = f"{smaller}; from sgi.cli.main import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    until = time.monotonic() + PATIENCE
    while len(manifest_files(folder)) < partitions:
        assert process.poll() is None, process.stderr.read().decode()
        assert time.monotonic() < until
        time.sleep(0.01)
    process.send_signal(end)
    stdout, stderr = process.communicate(timeout=PATIENCE)
    return subprocess.CompletedProcess(words, process.returncode, stdout, stderr)


def _settled(folder):
    """The manifests, once the workers of a driver that is gone have ended."""
    until = time.monotonic() + PATIENCE
    while engine_processes(os.getpid()):
        assert time.monotonic() < until
        time.sleep(0.1)
    return manifest_files(folder)


def test_a_folder_of_another_run_is_refused(finished, answers, tmp_path):
    folder, _, _ = finished
    written = manifest_files(folder)
    with pytest.raises(RunMismatchError, match="the settings changed"):
        run(answers, folder, ["squad_em"], workers=2)
    with pytest.raises(RunMismatchError, match="inputs"):
        run(answers, folder, ["rouge_l", "sgi"], workers=2)
    content = answers.read_bytes()
    try:
        answers.write_bytes(content.replace(b"Simpsons", b"Sampsons", 1))  # of the same size
        with pytest.raises(RunMismatchError, match=r"its data \(.*answers.jsonl\) changed"):
            run(answers, folder, ["rouge_l", "sgi"], workers=2, inputs=True)
        answers.write_bytes(content + content.splitlines(keepends=True)[0])
        with pytest.raises(RunMismatchError, match=r"its data \(.*answers.jsonl\) changed"):
            run(answers, folder, ["rouge_l", "sgi"], workers=2, inputs=True)
    finally:
        answers.write_bytes(content)
    assert run(answers, folder, ["rouge_l", "sgi"], workers=2, inputs=True).summary.rows == 200
    assert manifest_files(folder) == written  # nothing was done again


def test_a_row_that_cannot_be_read_stops_or_is_put_aside(cluster, answers, tmp_path):
    lines = answers.read_bytes().splitlines(keepends=True)
    lines[70] = b"{broken\n"
    (tmp_path / "answers.jsonl").write_bytes(b"".join(lines))
    data, folder = f"file://{tmp_path}/*.jsonl", f"file://{tmp_path}/parts"
    with pytest.raises(DataError, match=r"answers.jsonl:71: invalid JSON"):
        run(data, folder, ["rouge_l"], workers=2)
    assert not (tmp_path / "parts").exists()
    report = run(data, folder, ["rouge_l"], workers=2, on_error="skip")
    assert (report.rejected, report.summary.rows) == (1, 198)
    (aside,) = partition_lines(tmp_path / "parts", ".rejected").splitlines()
    assert json.loads(aside)["line"] == 71
    assert json.loads(aside)["row"] == "{broken"


def test_an_id_in_two_fragments_is_rejected_as_in_one_process(cluster, tmp_path):
    data, folder = tmp_path / "rows.jsonl", tmp_path / "parts"
    rows = [{"id": f"{n % 150}", "response": f"{n} " + "a" * 200, "reference": "b"} for n in range(200)]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(DataError, match=r"rows.jsonl:151: id '0': .*rows.jsonl:1 has the same id"):
        run(data, folder, ["rouge_l"], workers=2)
    report = run(data, folder, ["rouge_l"], workers=2, on_error="skip")
    assert (report.rejected, report.summary.rows) == (50, 150)
    assert run(data, folder, ["rouge_l"], workers=2, on_error="skip").rejected == 50  # and goes on
    words = ["-m", "rouge_l", "--on-error", "skip", "--no-store", "-q"]
    sgi("run", data, *words, "-o", tmp_path / "alone.jsonl", code=3)
    assert partition_lines(folder) == (tmp_path / "alone.jsonl").read_bytes()
    assert partition_lines(folder, ".rejected") == (tmp_path / "alone.rejected.jsonl").read_bytes()
    with open_database(tmp_path / "sgi.db") as database:
        assert import_partitions(database, folder, data=data).rows == 150


def test_partitions_become_the_run_that_one_process_keeps(finished, answers, tmp_path):
    folder, _, _ = finished
    sgi("run", answers, "-m", "rouge_l,sgi", "--inputs", "--db", tmp_path / "one.db", "-q")
    sgi("db", "import", folder, "--data", answers, "--db", tmp_path / "two.db")
    with open_database(tmp_path / "one.db") as one, open_database(tmp_path / "two.db") as two:
        assert comparable_tables(contents(one)) == comparable_tables(contents(two))
        kept = import_partitions(one, folder, data=answers, name="cluster")
    facts = json.loads(sgi("show", "cluster", "--db", tmp_path / "one.db", "--json"))
    assert kept.run in json.dumps(facts)
    with open_database(tmp_path / "one.db") as one:
        (alone,) = (record.id for record in list_runs(one) if record.id != kept.run)
    compared = json.loads(sgi("compare", alone, "cluster", "--db", tmp_path / "one.db", "--json"))
    for metric in compared["metrics"]:
        difference = metric["difference"]
        assert (difference["pairs"], difference["first"]) == (200, difference["second"])


def test_an_incomplete_folder_is_imported_only_on_request(finished, answers, tmp_path):
    folder = tmp_path / "parts"
    shutil.copytree(finished[0], folder)
    sorted(folder.glob("part-??????.json"))[1].unlink()
    with open_database(tmp_path / "sgi.db") as database:
        with pytest.raises(StoreError, match=r"1 of . partitions are missing.*incomplete"):
            import_partitions(database, folder, data=answers)
        kept = import_partitions(database, folder, data=answers, incomplete=True)
        assert 0 < kept.missing < 200
        assert kept.rows + kept.missing == 200
        (record,) = list_runs(database)
        assert (record.scored, record.rows, record.finished) == (kept.rows, 200, False)


def _equals_one_process(tmp_path, data, *words):
    """Compare a run on the cluster with a run in one process: lines, summary and stored tables."""
    import ray

    parts, address = tmp_path / "parts", ray.get_runtime_context().gcs_address
    caches = ("--cache", tmp_path / "cluster.cache"), ("--cache", tmp_path / "alone.cache")
    sgi("run", data, "-o", parts, "--ray", address, "--workers", "2", "--inputs", "-q", *caches[0], *words)
    databases = tmp_path / "one.db", tmp_path / "two.db"
    alone = tmp_path / "alone.jsonl"
    sgi("run", data, "-o", alone, "--inputs", "-q", "--db", databases[0], *caches[1], *words)
    assert len(manifest_files(parts)) > 1
    assert partition_lines(parts) == alone.read_bytes()
    sgi("db", "import", parts, "--data", data, "--db", databases[1])
    with open_database(databases[0]) as one, open_database(databases[1]) as two:
        assert comparable_tables(contents(one)) == comparable_tables(contents(two))
        summaries = [list_runs(database)[0].summary for database in (one, two)]
    assert summaries[0] == summaries[1]
    return [json.loads(line) for line in alone.read_bytes().splitlines()]


def test_each_turn_of_a_conversation_is_a_row_as_in_one_process(cluster, tmp_path):
    data = tmp_path / "conversations.jsonl"
    conversations = [
        {"id": f"c{number}", "turns": [turn for year in range(number % 4 + 1) for turn in _exchange(year)]}
        for number in range(120)
    ]
    data.write_text("".join(json.dumps(row) + "\n" for row in conversations))
    rows = _equals_one_process(
        tmp_path, data, "--per-turn", "-m", "grounding(history=true),contradicts_itself,sgi"
    )
    assert len(rows) == sum(number % 4 + 1 for number in range(120))
    assert [row["id"] for row in rows[:3]] == ["c0-1", "c1-1", "c1-2"]


def _exchange(year):
    passage = f"The bridge opened in {1900 + year} and is {70 + year} metres long."
    yield {"role": "user", "text": f"When did bridge {year} open?"}
    yield {"role": "assistant", "text": f"It opened in {1900 + year % 3}.", "contexts": [passage]}


def test_each_judgement_is_a_row_as_in_one_process(cluster, answers, tmp_path, no_remote_settings):
    def rate(request):
        rating = {"reasoning": "So.", "rating": request.body["seed"] % 4}
        return ServerReply(json.dumps(dict.fromkeys(RATINGS, rating)))

    with JudgeServer(replies=rate) as server:
        judge = ("--judge", f"openai:m@{server.url}", "-m", "groundedness,rouge_l")
        rows = _equals_one_process(tmp_path, answers, *judge, "--repeat-judge", "3")
    assert len(rows) == 600
    values = [row["scores"]["groundedness"]["value"] for row in rows[:3]]
    assert values == pytest.approx([0, 1 / 3, 2 / 3])
    with pytest.raises(UsageError, match="`repeat_judge` needs a metric that asks a judge"):
        run(answers, tmp_path / "other", ["rouge_l"], workers=2, repeat_judge=2)


def test_definitions_give_what_one_process_gives(cluster, answers, tmp_path):
    (tmp_path / "metrics.toml").write_text(
        """
        [quality]
        metric = "weighted_mean"
        of = ["rouge_l", "grounding", "plain"]
        weights = [2, 1, 1]

        [plain]
        metric = "contains"
        text = "the"
        """,
        encoding="utf-8",
    )
    rows = _equals_one_process(
        tmp_path, answers, "--define", tmp_path / "metrics.toml", "-m", "quality,plain"
    )
    assert len({row["scores"][name]["value"] for row in rows for name in row["scores"]}) > 10
    assert all("quality(definition=" in " ".join(row["scores"]) for row in rows)
