import gzip

import pytest

from support.answers_to_check import rows_to_check
from support.kept_runs import write_rows
from support.scripts import load_script


@pytest.fixture(scope="module")
def script():
    with load_script("measure_flags") as module:
        yield module


def answer(script, number, *flags, unsupported, name="BEGIN"):
    return script.Answer(name, number, unsupported, frozenset(flags))


def test_an_answer_counts_once_for_each_kind_and_the_base_rate_is_that_of_its_set(script):
    answers = [answer(script, n, "number absent", "date absent", unsupported=n < 8) for n in range(10)]
    answers += [answer(script, n, unsupported=False) for n in range(10)]
    answers += [answer(script, n, "number absent", unsupported=True, name="mtRAG") for n in range(30)]
    table = script.measure(answers)
    numbers, dates = table.flags
    assert (numbers.kind, numbers.answers, numbers.unsupported) == ("number absent", 40, 38)
    assert (dates.answers, dates.unsupported, dates.base_rate) == (10, 8, 0.4)
    assert numbers.base_rate == pytest.approx((10 * 0.4 + 30 * 1.0) / 40)
    assert table.base_rate == pytest.approx(38 / 50)
    assert dates.low < 0.8 < dates.high


def test_a_set_is_scored_and_only_chosen_rows_count(script, tmp_path):
    # The SHA-256 of the first passages is odd, that of the others even.
    chosen = [
        row | {"id": f"chosen {row['id']}", "contexts": [*row["contexts"], "It rains."]}
        for row in rows_to_check(1)
    ]
    rows = [*rows_to_check(1), *chosen]
    path = write_rows(tmp_path / "rows.jsonl", rows)
    (tmp_path / "answers").mkdir()
    (tmp_path / "answers" / "ragtruth_summary.jsonl.gz").write_bytes(gzip.compress(path.read_bytes()))
    answers = script.read("RAGTruth, summaries, half A", tmp_path)
    assert [one.flags for one in answers] == [
        set(),
        {"low score"},
        {"number absent"},
        {"number contradicted"},
    ]
    assert [one.unsupported for one in answers] == [False, True, True, True]
