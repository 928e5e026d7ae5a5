"""Contexts that are one text with separators are reported, and split on request."""

import json

import pytest

from sgi.engine.plan import open_option_dataset
from sgi.engine.run_options import RunOptions
from sgi.io.split_contexts import split_passages

TEXTS = {
    "dashes": "The tower is 330 m tall.\n---\nIt is from 1889 -- or so.",
    "bars": "The tower is 330 m tall. || It is from 1889 -- or so.",
    "numbers": "1. The tower is 330 m tall.\n2. It is from 1889 -- or so.",
    "blank-lines": "The tower is 330 m tall.\n\nIt is from 1889 -- or so.",
}
PASSAGES = ("The tower is 330 m tall.", "It is from 1889 -- or so.")


def read(path, contexts, **settings):
    rows = [{"question": f"{k}?", "response": "330 m.", **one} for k, one in enumerate(contexts)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    use = []
    dataset = open_option_dataset(RunOptions(data=path, **settings))
    return [sample.contexts for sample in dataset.samples(on_columns=use.append)], use[-1].line()


@pytest.mark.parametrize("name", TEXTS)
def test_the_note_names_the_option_that_splits(tmp_path, name):
    rows = [{"contexts": TEXTS[name]}, {"contexts": [TEXTS[name]]}, {"contexts": ["One.", TEXTS[name]]}]
    whole, line = read(tmp_path / "a.jsonl", rows)
    assert [len(contexts) for contexts in whole] == [1, 1, 2]
    assert "Contexts of 2 of 3 rows are one text" in line
    option = line.rpartition("--split-contexts ")[2].rstrip(".")

    split, line = read(tmp_path / "a.jsonl", rows, split_contexts=option)
    assert split == [PASSAGES, PASSAGES, ("One.", TEXTS[name])]
    assert line.endswith(f"Contexts of 2 of 3 rows were split by {name}.")


def test_single_passages_and_those_with_ids_stay_whole(tmp_path):
    plain = [{"contexts": "The tower is 330 m tall."}] * 3 + [{"contexts": TEXTS["bars"]}]
    assert "--split-contexts" not in read(tmp_path / "a.jsonl", plain)[1]
    with_ids = [{"contexts": [TEXTS["bars"]], "context_ids": ["d1"]}]
    assert read(tmp_path / "b.jsonl", with_ids, split_contexts="bars")[0] == [(TEXTS["bars"],)]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Sources:\n[1] One.\n[2] Two\nlines.", ("Sources:", "One.", "Two\nlines.")),
        ("(1989. was a year)\n2. Two.", ("(1989. was a year)\n2. Two.",)),
        ("1. One.\n 7. Seven.\n2) Two.", ("One.\n 7. Seven.", "Two.")),
        ("", ("",)),
    ],
)
def test_numbers_count_from_1_at_the_beginning_of_lines(text, parts):
    assert split_passages(text, "numbers") == parts
