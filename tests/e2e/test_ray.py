"""A run on a Ray cluster gives what one process gives, bit for bit, also when a worker is killed."""

import json
import os
import signal

import pytest
from pyarrow import parquet

from sgi.engine.progress import Advanced, Started
from sgi.kernel.errors import BudgetExceededError, DataError, EmbedderError, UnknownNameError
from sgi.store.database import open_database
from sgi_cluster import run
from support.cluster_runs import comparable_tables, sgi, worker_processes
from support.judge_server import JudgeServer, ServerReply
from support.runs import contents

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray.data.context"),  # Ray of its own settings
]
RATINGS = ("answer_relevance", "context_relevance", "groundedness")


@pytest.fixture(scope="module", autouse=True)
def _cluster():
    """A cluster of this machine, which all runs of this file join."""
    from sgi_cluster.cluster import connect_cluster

    with connect_cluster("local", 2):
        yield


@pytest.fixture(scope="module")
def answers(data_folder, tmp_path_factory):
    """The rows of 300 real questions, with a broken line and a repeated id."""
    lines = (data_folder / "halueval_qa.jsonl").read_bytes().splitlines(keepends=True)[:300]
    rows = [json.loads(line) | {"id": f"q{number}"} for number, line in enumerate(lines)]
    rows[170]["id"] = "q3"
    written = [json.dumps(row).encode() + b"\n" for row in rows]
    written[70] = b"{broken\n"
    path = tmp_path_factory.mktemp("data") / "answers.jsonl"
    path.write_bytes(b"".join(written))
    return path


def equals_one_process(tmp_path, data, *words, code=0):
    """Compare a run on the cluster with one of a single process: files, headline and stored tables."""
    words = [*words, "--inputs", "--json", "-q"]
    alone, folder = tmp_path / "alone.parquet", tmp_path / "cluster"
    cluster = ["-o", folder, "--ray", "local", "--workers", "2", "--cache", tmp_path / "two.cache"]
    single = ["-o", alone, "--db", tmp_path / "one.db", "--cache", tmp_path / "one.cache"]
    headlines = [json.loads(sgi("run", data, *words, *where, code=code)) for where in (cluster, single)]
    for headline in headlines:
        for name in ("run", "output", "rejects"):
            del headline[name]
    del headlines[1]["to_check"]  # only a stored run has rows to check
    assert headlines[0] == headlines[1]
    rows = parquet.read_table(folder / "scores.parquet")
    assert rows.drop_columns("record").equals(parquet.read_table(alone))
    sgi("runs", "db", "import", folder, "--db", tmp_path / "two.db")
    with open_database(tmp_path / "one.db") as one, open_database(tmp_path / "two.db") as two:
        tables = [comparable_tables(contents(database)) for database in (one, two)]
    assert tables[0] == tables[1]
    assert len(tables[0]["batches"]) > 1
    return rows


def test_all_values_equal_those_of_one_process(answers, tmp_path):
    definition = tmp_path / "metrics.toml"
    definition.write_text(
        '[quality]\nmetric = "weighted_mean"\nof = ["rouge_l", "sgi_bounded"]\nweights = [2, 1]\n'
    )
    metrics = "quality,sgi,grounding,bertscore(idf=true)"
    words = ("--define", definition, "-m", metrics, "--on-error", "skip")
    rows = equals_one_process(tmp_path, answers, *words, code=3)
    assert len(rows) == 596
    assert len(set(rows["sgi"].to_pylist())) > 500
    rejected = [(tmp_path / f"{name}.rejected.jsonl").read_bytes() for name in ("cluster", "alone")]
    assert rejected[0] == rejected[1]
    assert [json.loads(line)["line"] for line in rejected[0].splitlines()] == [71, 171]


def test_judgements_and_turns_equal_those_of_one_process(tmp_path, no_remote_settings):
    def rate(request):
        if "In 1907." in json.dumps(request.body):
            return ServerReply("no JSON")
        rating = {"reasoning": "So.", "rating": request.body["seed"] % 4}
        return ServerReply(json.dumps(dict.fromkeys(RATINGS, rating)))

    data = tmp_path / "conversations.jsonl"
    turns = [
        [
            {"role": "user", "text": f"When did bridge number {number} open?"},
            {"role": "assistant", "text": f"In {1900 + number}.", "contexts": [f"It opened in {number}."]},
        ]
        for number in range(120)
    ]
    rows = [{"id": f"c{n}", "turns": turns[2 * n] + turns[2 * n + 1]} for n in range(60)]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with JudgeServer(replies=rate) as server:
        words = ["-m", "groundedness,sgi", "--judge", f"openai:m@{server.url}"]
        rows = equals_one_process(tmp_path, data, *words, "--per-turn", "--repeat-judge", "3", code=3)
    assert len(rows) == 360
    assert rows["groundedness"].to_pylist()[:3] == pytest.approx([0, 1 / 3, 2 / 3])
    assert set(rows["groundedness_status"].to_pylist()) == {"ok", "failed"}


def test_the_errors_are_those_of_one_process(answers, tmp_path, no_remote_settings):
    with pytest.raises(DataError) as broken:
        run(answers, tmp_path / "a", ["rouge_l"])
    assert (broken.value.file, broken.value.line) == (str(answers), 71)
    with pytest.raises(UnknownNameError) as unknown:
        run(answers, tmp_path / "b", ["nope"], on_error="skip")
    assert unknown.value.name == "nope"
    with JudgeServer(replies=lambda _: ServerReply(json.dumps(dict.fromkeys(RATINGS, None)))) as server:
        judge = {"model": f"openai:m@{server.url}", "input_price": 1e6, "output_price": 1e6, "max_cost": 1}
        with pytest.raises(BudgetExceededError):
            run(answers, tmp_path / "c", ["groundedness"], on_error="skip", judge=judge, cache=False)
        refused = f"openai:m@{server.url}"
        with pytest.raises(EmbedderError):
            run(answers, tmp_path / "d", ["sgi"], refused, on_error="skip", cache=False)
    assert not [name for name in "abcd" if (tmp_path / name / "run.json").exists()]


def test_a_killed_worker_costs_and_doubles_no_row(answers, tmp_path):
    events, killed = [], []

    def listen(event):
        events.append(event)
        scoring = any(isinstance(event, Started) and event.stage == "scoring" for event in events)
        if scoring and isinstance(event, Advanced) and not killed:
            killed.append(worker_processes(os.getpid())[-1])
            os.kill(killed[0], signal.SIGKILL)

    options = {"on_error": "skip", "inputs": True, "cache": False}
    report = run(answers, tmp_path / "scores", ["rouge_l", "sgi"], workers=2, listener=listen, **options)
    assert killed
    assert report.summary.rows == 596
    alone = tmp_path / "alone.parquet"
    words = ["-m", "rouge_l,sgi", "--on-error", "skip", "--inputs", "--no-store", "-q", "-o", alone]
    sgi("run", answers, *words, code=3)
    rows = parquet.read_table(tmp_path / "scores" / "scores.parquet")
    assert rows.drop_columns("record").equals(parquet.read_table(alone))
