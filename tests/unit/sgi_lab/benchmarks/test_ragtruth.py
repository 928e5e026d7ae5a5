import json

import pytest

from sgi.io import open_dataset
from sgi.kernel.errors import DataError, UnknownNameError
from sgi.kernel.sample import Field
from sgi_lab.benchmarks import open_benchmark

PASSAGES = "passage 1:One\nstill one.\n\npassage 2:Two says passage 9: no.\n\npassage 3:Three\n\n"
SOURCES = [
    {
        "source_id": "s1",
        "task_type": "QA",
        "source": "MARCO",
        "source_info": {"question": "Who?", "passages": PASSAGES},
        "prompt": "Answer: Who?",
    },
    {
        "source_id": 2,
        "task_type": "Summary",
        "source": "CNN/DM",
        "source_info": "An article.",
        "prompt": "p",
    },
    {
        "source_id": "s3",
        "task_type": "Data2txt",
        "source": "Yelp",
        "source_info": {"name": "Café", "stars": 3.0, "hours": None},
        "prompt": "p",
    },
]
SPAN = {
    "start": 0,
    "end": 3,
    "text": "Bad",
    "meta": "why",
    "label_type": "Evident Conflict",
    "implicit_true": True,
}


def response(name, source, spans=(), **changed):
    return {
        "id": name,
        "source_id": source,
        "model": "gpt-4-0613",
        "temperature": 0.7,
        "labels": list(spans),
        "split": "test",
        "quality": "good",
        "response": f"r{name}",
    } | changed


RESPONSES = [
    response("1", "s1"),
    response("2", "s1", [SPAN], split="train"),
    response("3", "2"),
    response("4", "s3", quality="truncated"),
]


@pytest.fixture
def folder(tmp_path):
    return save(tmp_path, RESPONSES, SOURCES)


def save(folder, responses, sources):
    for name, rows in (("response", responses), ("source_info", sources)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text)
    return folder


def read(path, on_reject=None, **options):
    return list(open_benchmark("ragtruth", path, **options).samples(on_reject=on_reject))


def test_a_response_is_joined_with_its_source(folder):
    samples = read(folder)

    assert [sample.id for sample in samples] == ["1", "2", "3", "4"]
    assert [sample.response for sample in samples] == ["r1", "r2", "r3", "r4"]
    assert samples[0].question == "Who?"
    assert samples[0].contexts == ("One\nstill one.", "Two says passage 9: no.", "Three")
    assert samples[2].contexts == ("An article.",)
    assert json.loads(samples[3].contexts[0]) == SOURCES[2]["source_info"]
    assert [sample.has(Field.QUESTION) for sample in samples] == [True, True, False, False]


def test_any_span_makes_it_false_and_is_kept(folder):
    samples = read(folder)

    assert [sample.label for sample in samples] == [True, False, True, True]
    assert [sample.metadata["spans"] for sample in samples] == [[], [SPAN], [], []]


def test_all_that_is_known_is_in_the_metadata(folder):
    assert read(folder)[1].metadata == {
        "task_type": "QA",
        "source": "MARCO",
        "source_id": "s1",
        "model": "gpt-4-0613",
        "temperature": 0.7,
        "split": "train",
        "quality": "good",
        "spans": [SPAN],
    }


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        ({"task_type": "QA"}, ["1", "2"]),
        ({"split": "test"}, ["1", "3", "4"]),
        ({"task_type": "QA", "split": "test"}, ["1"]),
        ({"task_type": None, "split": None}, ["1", "2", "3", "4"]),
    ],
)
def test_tasks_and_splits_can_be_chosen(folder, options, ids):
    assert [sample.id for sample in read(folder, **options)] == ids


def test_the_choice_is_in_the_name(folder):
    assert open_benchmark("ragtruth", folder, task_type="QA", split="test").name == (
        "ragtruth(split=test, task_type=QA)"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "tset"}, "Unknown split of ragtruth 'tset'. Did you mean 'test'"),
        ({"task_type": "qa"}, "Unknown task_type of ragtruth 'qa'.*There are QA, Summary, Data2txt"),
        ({"splitt": "test"}, "Unknown option of ragtruth 'splitt'. Did you mean 'split'"),
    ],
)
def test_an_unknown_choice_is_told(folder, options, message):
    with pytest.raises(UnknownNameError, match=message):
        open_benchmark("ragtruth", folder, **options)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (response("9", "nowhere"), "id '9': field 'source_id': 'nowhere' is not in source_info.jsonl"),
        (response("9", "s1", labels="none"), "id '9': field 'labels': expected a list of spans"),
        (response("9", "s1", labels=[3]), "id '9': field 'labels': expected a list of spans"),
        (response("9", "s1", response=None), "id '9': field 'response': is missing"),
        ({"id": "9", "response": "r"}, "is not RAGTruth, whose rows have"),
        (response("1", "s1"), "id '1': field 'id': .*response.jsonl:1 has the same id"),
    ],
)
def test_a_bad_response_is_named_and_the_others_are_read(tmp_path, bad, message):
    refused = []

    samples = read(save(tmp_path, [RESPONSES[0], bad, RESPONSES[2]], SOURCES), refused.append)

    assert [sample.id for sample in samples] == ["1", "3"]
    with pytest.raises(DataError, match=rf"response.jsonl:2: .*{message}|response.jsonl:2: {message}"):
        raise refused[0].error


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (SOURCES[0], "source_info.jsonl:4: id 's1': field 'source_id': another line has the same source"),
        ({"source_info": "a"}, "source_info.jsonl:4: field 'source_id': is missing"),
        ({"source_id": "9"}, "source_info.jsonl:4: field 'source_info': is missing"),
        (
            {"source_id": "9", "source_info": [1]},
            "source_info.jsonl:4: field 'source_info': expected text or",
        ),
        ({"source_id": "9", "source_info": {"passages": "p"}}, "source_info.jsonl:4: field 'question'"),
        ([], "source_info.jsonl:4: expected an object, found a list"),
    ],
)
def test_a_bad_source_stops_the_reading_also_where_bad_rows_are_skipped(tmp_path, bad, message):
    path = save(tmp_path, RESPONSES, [*SOURCES, bad])

    with pytest.raises(DataError, match=message):
        read(path, [].append)


@pytest.mark.parametrize("missing", ["response.jsonl", "source_info.jsonl"])
def test_half_of_the_files_is_not_enough(folder, missing):
    (folder / missing).unlink()

    with pytest.raises(DataError, match=rf"{missing}: does not exist"):
        read(folder)


def test_the_file_of_responses_alone_asks_for_the_folder(folder):
    with pytest.raises(DataError, match="Name the folder that holds"):
        read(folder / "response.jsonl")


def test_text_without_headings_is_one_passage(tmp_path):
    sources = [
        {"source_id": str(place), "source_info": {"question": "q", "passages": text}}
        for place, text in enumerate(["no heading", "first words\npassage 1: one", "passage 2: two"])
    ]
    path = save(tmp_path, [response(str(place), str(place)) for place in range(3)], sources)

    assert [sample.contexts for sample in read(path)] == [
        ("no heading",),
        ("first words\npassage 1: one",),
        ("passage 2: two",),
    ]


def test_rows_of_our_own_are_chosen_by_their_metadata(tmp_path):
    path = tmp_path / "a.jsonl"
    rows = [{"id": split, "response": "r", "meta": {"split": split}} for split in ("train", "test")]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    assert [sample.id for sample in read(path, split="test")] == ["test"]
    with pytest.raises(DataError, match="the row has no task_type, by which rows are selected"):
        read(path, task_type="QA")


def test_the_answers_here_are_read(data_folder):
    path = data_folder / "ragtruth_qa_test.jsonl"

    assert list(open_benchmark("ragtruth", path).samples()) == list(open_dataset(path).samples())
