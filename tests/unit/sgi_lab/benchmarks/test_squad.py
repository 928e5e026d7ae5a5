import json

import pytest

from sgi.kernel.errors import DataError
from sgi.kernel.sample import Field
from sgi_lab.benchmarks import open_benchmark


def question(name="q1", *answers, **more):
    return {
        "id": name,
        "question": "Who?",
        "answers": [{"text": text, "answer_start": 0} for text in answers],
        **more,
    }


def save(folder, *questions, name="squad.json"):
    path = folder / name
    paragraphs = [{"context": "c", "qas": list(questions)}]
    path.write_text(json.dumps({"version": "v2.0", "data": [{"title": "T", "paragraphs": paragraphs}]}))
    return path


def read(path, on_reject=None, **options):
    return list(open_benchmark("squad", path, **options).samples(on_reject=on_reject))


def test_a_question_has_its_paragraph_and_all_distinct_answers(tmp_path):
    (sample,) = read(save(tmp_path, question("q1", "A", "A", "B")))

    assert (sample.id, sample.question, sample.contexts) == ("q1", "Who?", ("c",))
    assert sample.references == ("A", "B")
    assert not sample.has(Field.RESPONSE)
    assert sample.metadata == {"title": "T"}


def test_a_question_without_answer_expects_the_empty_text(tmp_path):
    impossible = question("q1", is_impossible=True)
    hidden = {"id": "q2", "question": "Who?"}

    first, second = read(save(tmp_path, impossible, hidden))

    assert first.reference == ""
    assert first.metadata["is_impossible"] is True
    assert second.reference is None


def test_predictions_are_the_responses(tmp_path):
    path = save(tmp_path, question("q1", "A"), question("q2", "A"), question("q3", "A"))
    given = tmp_path / "p.json"
    given.write_text(json.dumps({"q1": "a", "q2": "", "elsewhere": "x"}))

    samples = read(path, predictions=given)

    assert [sample.response for sample in samples] == ["a", "", ""]
    assert [sample.has(Field.RESPONSE) for sample in samples] == [True, True, False]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "p.json: expected an object, found a list"),
        ('{"q1": 3}', "p.json: id 'q1': expected text, found number 3"),
        ("{", "p.json: is not JSON"),
        ("", "p.json: is not JSON"),
    ],
)
def test_predictions_of_another_kind_are_refused(tmp_path, text, message):
    given = tmp_path / "p.json"
    given.write_text(text)

    with pytest.raises(DataError, match=message):
        read(save(tmp_path, question()), predictions=given)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (question(3.5, "A"), "field 'id': expected text or a whole number"),
        (question("q1") | {"question": None}, "id 'q1': field 'question': is missing"),
        (question("q1") | {"answers": "A"}, "id 'q1': field 'answers': expected a list of objects"),
        (question("q1") | {"answers": [{"text": 3}]}, "id 'q1': field 'text': expected text, found number 3"),
        (question("q0", "A"), "id 'q0': field 'id': .*has the same id"),
    ],
)
def test_one_bad_question_is_named_and_the_others_are_read(tmp_path, bad, message):
    refused = []

    samples = read(save(tmp_path, question("q0", "A"), bad, question("q9", "A")), refused.append)

    assert [sample.id for sample in samples] == ["q0", "q9"]
    with pytest.raises(DataError, match=message):
        raise refused[0].error


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"data": [{"title": "T", "paragraphs": 3}]}, "field 'paragraphs': expected a list of objects"),
        (
            {"data": [{"paragraphs": [{"context": "c"}]}]},
            "field 'qas': expected a list of objects, found null",
        ),
        ({"data": [{"paragraphs": [{"qas": []}]}]}, "field 'context': is missing"),
        ({"data": [{"title": "T"}]}, "is not SQuAD, whose rows have data with paragraphs"),
        ({"data": []}, "holds no rows"),
        ({"data": [3]}, "expected an object, found number 3"),
    ],
)
def test_another_structure_is_told(tmp_path, document, message):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(document))

    with pytest.raises(DataError, match=f"a.json.*{message}"):
        read(path)


def test_rows_with_their_answers_as_lists_are_read(tmp_path):
    path = tmp_path / "a.jsonl"
    row = {"id": "q", "title": "T", "context": "c", "question": "?", "answers": {"text": ["A", "A", "B"]}}
    path.write_text(json.dumps(row))

    (sample,) = read(path)

    assert sample.references == ("A", "B")


def test_xquad_with_its_predictions(data_folder):
    folder = data_folder / "xquad_en"

    samples = read(folder / "xquad.en.json", predictions=folder / "predictions.json")

    assert len(samples) == 1190
    assert all(sample.has(Field.RESPONSE) and sample.reference and sample.contexts[0] for sample in samples)
