import json

import pytest

from sgi.kernel.errors import DataError
from sgi.kernel.sample import CONTEXTS, Field
from sgi_lab.benchmarks import open_benchmark

HEADER = "Type,Category,Question,Best Answer,Correct Answers,Incorrect Answers,Source\n"
ROW = 'Adversarial,Health,Why?,Because,"Because; So;  ","No; Never; ",http://a\n'


def csv(folder, text):
    path = folder / "T.csv"
    path.write_text(HEADER + text, encoding="utf-8-sig")
    return path


def read(path, **options):
    return list(open_benchmark("truthfulqa", path).samples(**options))


def test_each_answer_is_a_sample(tmp_path):
    samples = read(csv(tmp_path, ROW))

    assert [(sample.id, sample.response, sample.label) for sample in samples] == [
        ("truthfulqa-0-c0", "Because", True),
        ("truthfulqa-0-c1", "So", True),
        ("truthfulqa-0-i0", "No", False),
        ("truthfulqa-0-i1", "Never", False),
    ]
    assert {sample.reference for sample in samples} == {"Because"}
    assert not any(sample.has(Field.CONTEXTS) for sample in samples)
    assert samples[0].metadata == {
        "item": 0,
        "type": "Adversarial",
        "category": "Health",
        "source": "http://a",
    }


def test_lists_of_answers_are_taken_as_they_are(tmp_path):
    row = {
        "question": "Why?",
        "best_answer": "a; b",
        "correct_answers": ["a; b"],
        "incorrect_answers": ["c", ""],
    }
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(row))

    assert [sample.response for sample in read(path)] == ["a; b", "c"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a,b,,Because,x,y,z\n", r"T.csv:3: field 'question': is missing"),
        ("a,b,Why?,,x,y,z\n", r"T.csv:3: field 'best_answer': is missing"),
        ("a,b,Why?,Because,x,,z\n", r"T.csv:3: field 'incorrect_answers': is missing"),
        ("a,b,Why?,Because,;,; ;,z\n", r"T.csv:3: field 'correct_answers': there is no answer"),
        ("a,b,Why?\n", r"T.csv:3: expected 7 cells, found 3"),
    ],
)
def test_a_bad_row_is_named_and_the_numbers_of_the_others_stay(tmp_path, row, message):
    refused = []

    samples = read(csv(tmp_path, ROW + row + ROW), on_reject=refused.append)

    assert {sample.metadata["item"] for sample in samples} == {0, 2}
    assert len(refused) == 1
    with pytest.raises(DataError, match=message):
        raise refused[0].error


def test_without_a_column_it_is_another_table(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("Question,Best Answer,Correct Answers\nq,b,c\n")

    with pytest.raises(DataError, match=r"is not TruthfulQA, whose rows have .*Incorrect Answers"):
        read(path)


def test_the_published_file_holds_the_answers_we_have(data_folder):
    published = {sample.id: sample for sample in read(data_folder / "TruthfulQA.csv")}
    ours = read(data_folder / "truthfulqa.jsonl")

    assert len(published) == 6209
    assert len({sample.question for sample in published.values()}) == 817
    for sample in ours:
        same = published[sample.id]
        assert (same.question, same.response, same.reference, same.label) == (
            sample.question,
            sample.response,
            sample.reference,
            sample.label,
        )
        assert not CONTEXTS & same.model_fields_set
