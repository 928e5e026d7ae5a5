"""The answers of other runs to a question."""

from __future__ import annotations

from sgi.store.database import open_database
from sgi.store.run_queries import find_run
from sgi.store.sample_history import other_answers
from support.kept_runs import store_run

ROW = {"id": "q\x00\u202e'1", "question": "Who?\x00", "contexts": ["Ada wrote it."], "response": "Ada."}


def _store(folder, database, place, **changes):
    (folder / place).mkdir()
    return store_run(database, folder / place, [ROW | changes], metrics=("sgi",))


def test_other_runs_answer_the_same_question_newest_first(tmp_path, database_url):
    answers = ["Ada.", "Bob.", "Eve."]
    runs = [_store(tmp_path, database_url, answer, response=answer) for answer in answers]
    _store(tmp_path, database_url, "question", question="Where?")
    _store(tmp_path, database_url, "id", id="q2")
    with open_database(database_url) as database:
        record = find_run(database, runs[1])
        others = other_answers(database, record, ROW["id"], ROW["question"])
        assert [(other.run, other.response) for other in others] == [(runs[2], "Eve."), (runs[0], "Ada.")]
        assert all(other.values.keys() == {"sgi"} for other in others)
        assert [
            one.run for one in other_answers(database, record, ROW["id"], ROW["question"], most=3)
        ] == runs[2:]
        assert other_answers(database, record, "' OR 1=1 --", ROW["question"]) == ()
