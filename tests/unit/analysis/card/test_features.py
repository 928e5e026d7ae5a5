from __future__ import annotations

import anyio
import numpy as np
import pytest

from sgi.analysis.card.trivial_scores import cosines, lengths, overlaps, precisions, verbatim
from sgi.geometry.angles import cosine
from sgi.kernel.errors import EmbedderError
from sgi.kernel.sample import Sample

ROWS = [
    Sample(id="1", question="Who?", contexts=("Marie Curie won.", "Nobody."), response="marie  CURIE"),
    Sample(id="2", question="Who?", contexts=("Marie Curie won.",), response="Ada Curie"),
    Sample(id="3", question="Who?", contexts=("Marie Curie won.",)),
    Sample(id="4", question="Who?", response="Ada"),
    Sample(id="5", question="", contexts=("Marie Curie won.", " "), response=" "),
]


class Axes:
    """One axis for each text, in the order of their first appearance; the second half way to the first."""

    fingerprint = "axes@1"

    def __init__(self):
        self.asked = []

    def embed(self, texts, /):
        self.asked.append(list(texts))
        rows = np.eye(len(texts), dtype=np.float32)
        rows[-1] = rows[0]
        return rows


def test_a_verbatim_copy_may_differ_in_case_and_white_space_only():
    assert verbatim(ROWS).tolist() == pytest.approx([1, 0, np.nan, np.nan, 0], nan_ok=True)


def test_lengths_and_overlaps_are_of_rows_that_have_what_they_need():
    assert lengths(ROWS).tolist() == pytest.approx([12, 9, np.nan, 3, 1], nan_ok=True)
    assert precisions(ROWS).tolist() == pytest.approx([1, 0.5, np.nan, np.nan, np.nan], nan_ok=True)
    assert overlaps(ROWS).tolist() == pytest.approx([1, 0.5, np.nan, np.nan, 0], nan_ok=True)
    assert lengths([]).shape == precisions([]).shape == overlaps([]).shape == verbatim([]).shape == (0,)


def test_cosines_take_the_nearest_passage_and_embed_each_text_once():
    embedder = Axes()
    of_question, of_passage = anyio.run(cosines, ROWS, embedder)
    (asked,) = embedder.asked
    assert len(asked) == len(set(asked))
    assert "" not in asked
    assert " " not in asked
    known = dict(zip(asked, embedder.embed(asked), strict=True))

    def expected(response, others):
        return max(float(cosine(known[response][None], known[other][None])[0]) for other in others)

    assert of_question[:2].tolist() == [expected(row.response, [row.question]) for row in ROWS[:2]]
    assert of_passage[:2].tolist() == [expected(row.response, row.contexts) for row in ROWS[:2]]
    assert np.isnan(of_question[[2, 4]]).all()
    assert np.isnan(of_passage[2:]).all()
    assert not np.isnan(of_question[3])


def test_without_texts_nothing_is_embedded():
    embedder = Axes()
    found = anyio.run(cosines, [Sample(id="1"), Sample(id="2", question="Who?", response="  ")], embedder)
    assert embedder.asked == []
    assert [np.isnan(column).tolist() for column in found] == [[True, True]] * 2


def test_an_embedder_that_fails_is_an_error_and_no_number():
    class Broken(Axes):
        def embed(self, texts, /):
            return np.full((len(texts), 3), np.nan, dtype=np.float32)

    with pytest.raises(EmbedderError, match="non-finite"):
        anyio.run(cosines, ROWS, Broken())
