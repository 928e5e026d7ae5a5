"""Each loader gets its corpus and a fixed number of mutated inputs; `make fuzz` runs for as long as it is told."""

import time

import pytest

from fuzz.campaign import CORPUS, run_target
from fuzz.targets import TARGETS

pytestmark = pytest.mark.filterwarnings("default")
PER_WEIGHT = 8


@pytest.mark.parametrize("name", TARGETS)
def test_bad_input_ends_in_an_error_of_ours(name, tmp_path):
    """The corpus comes first: it holds every input that once ended in a traceback."""
    count = PER_WEIGHT * TARGETS[name].weight + len(list((CORPUS / name).glob("*")))

    _, falls = run_target(name, count, seed=17, until=time.monotonic() + 3600, keep=tmp_path)

    assert not falls


def test_every_corpus_belongs_to_a_target():
    assert {path.name for path in CORPUS.iterdir()} <= TARGETS.keys()
