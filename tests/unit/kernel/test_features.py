import numpy as np
import pytest

from sgi.kernel.vectors import Features, VectorTable


def test_the_vectors_are_those_of_the_first_embedder():
    tables = [VectorTable.of(name, ["a"], np.eye(1, dtype=np.float32)) for name in ("first", "second")]
    assert Features.of(*tables).vectors is tables[0]
    assert [*Features.of(*tables).by_embedder] == ["first", "second"]


@pytest.mark.parametrize(
    ("name", "words"), [("tokens", "no token vectors"), ("entailments", "no entailment probabilities")]
)
def test_a_feature_that_was_not_requested_is_an_error(name, words):
    with pytest.raises(LookupError, match=words):
        getattr(Features(), name)
