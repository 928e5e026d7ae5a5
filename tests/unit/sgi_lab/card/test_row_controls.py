import anyio
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.geometry.angles import cosine
from sgi.kernel.errors import EmbedderError
from sgi.kernel.sample import Sample
from sgi_lab.card.row_controls import cosines, lengths, overlaps, precisions, shuffled_contexts, verbatim

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


CONTEXTS = st.lists(st.sampled_from(["p", "q", "r", "s", ""]), min_size=1, max_size=2)
PAIRS = st.lists(st.tuples(st.sampled_from(["", " ", "who", "what", "why", "when"]), CONTEXTS), max_size=25)


def samples(rows):
    return [
        Sample(id=str(n), question=question, contexts=tuple(contexts))
        for n, (question, contexts) in enumerate(rows)
    ]


@given(PAIRS, st.integers(0, 5))
def test_no_answer_keeps_its_contexts_or_gets_those_of_its_own_question(rows, seed):
    made = samples(rows)
    found = shuffled_contexts(made, seed=seed)
    if found is None:
        return
    owners = {}
    for sample in made:
        owners.setdefault(sample.contexts, set()).add(sample.question)
    for sample, contexts in zip(made, found, strict=True):
        assert contexts != sample.contexts
        assert contexts in owners
        if sample.question.strip():
            assert sample.question not in owners[contexts]


def test_equal_seeds_give_equal_circles_and_others_do_not():
    made = samples([(f"question {n}", [f"passage {n}"]) for n in range(30)])
    first, again, other = (shuffled_contexts(made, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert sorted(first) == sorted(sample.contexts for sample in made)


def test_answers_to_one_question_get_the_same_other_contexts():
    made = samples([(f"question {n // 3}", [f"passage {n // 3}"]) for n in range(12)])
    found = shuffled_contexts(made)
    assert all(len(set(found[n : n + 3])) == 1 for n in range(0, 12, 3))


def test_questions_that_share_a_passage_are_kept_together():
    made = samples([("a", ["x"]), ("b", ["x"]), ("b", ["y"]), ("c", ["y"]), ("d", ["z"])])
    assert shuffled_contexts(made) == [("z",), ("z",), ("z",), ("z",), ("x",)]


def test_one_question_or_one_context_for_all_cannot_be_shuffled():
    assert shuffled_contexts(samples([("a", ["x"]), ("a", ["y"])])) is None
    assert shuffled_contexts(samples([("a", ["x"]), ("b", ["x"])])) is None
    assert shuffled_contexts([]) is None


def test_blank_questions_are_no_kin():
    made = samples([("", ["x"]), ("", ["y"]), ("  ", ["z"])])
    assert sorted(shuffled_contexts(made)) == [("x",), ("y",), ("z",)]


def test_rows_with_one_question_get_contexts_of_others_where_the_question_is_only_the_task():
    made = samples([("Summarize.", [f"passage {n}"]) for n in range(5)])
    assert shuffled_contexts(made) is None
    found = shuffled_contexts(made, questions=False)
    assert sorted(found) == sorted(sample.contexts for sample in made)
    assert all(contexts != sample.contexts for sample, contexts in zip(made, found, strict=True))
