import json
from random import Random

import pytest

from sgi.kernel.sample import Sample
from sgi_lab.metric_bench.perturbation import Others

STRANGER = Sample(
    id="stranger",
    question="Who keeps the lighthouse?",
    contexts=("The keeper Olga Brandt lit the lamp at Cape Morwen.", "It is said that Tom Hale helped."),
    response="The lamp at Cape Morwen was lit by the keeper Olga Brandt. It burnt whale oil.",
    label=True,
)


@pytest.fixture
def draw():
    """Random numbers that are the same in every run."""
    return Random(0)


@pytest.fixture
def others():
    """One row to borrow from."""
    return Others([STRANGER])


@pytest.fixture
def row():
    """A row with this answer, and with passages that hold it unless others are given."""

    def make(response, *contexts, question="What is known?"):
        given = contexts or (f"{response} It is so.",)
        return Sample(id="row", question=question, contexts=given, response=response, label=True)

    return make


@pytest.fixture(scope="session")
def real_rows(data_folder):
    """The first labelled rows of each set, by the set's name; grounded ones and others."""
    names = ("halueval_qa_lenmatched", "ragtruth_qa_test", "begin")
    found = {}
    for name in names:
        with (data_folder / f"{name}.jsonl").open(encoding="utf-8") as file:
            read = [json.loads(line) for line, _ in zip(file, range(80), strict=False)]
        found[name] = [
            Sample(
                id=one["id"],
                question=one["question"],
                contexts=one.get("contexts") or one["context"],
                response=one["response"],
                reference=one.get("reference"),
                label=one["label"],
            )
            for one in read
        ]
    return found
