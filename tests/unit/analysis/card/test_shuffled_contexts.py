from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sgi.analysis.card.shuffled_contexts import shuffled_contexts
from sgi.kernel.sample import Sample

CONTEXTS = st.lists(st.sampled_from(["p", "q", "r", "s", ""]), min_size=1, max_size=2)
ROWS = st.lists(st.tuples(st.sampled_from(["", " ", "who", "what", "why", "when"]), CONTEXTS), max_size=25)


def samples(rows):
    return [
        Sample(id=str(n), question=question, contexts=tuple(contexts))
        for n, (question, contexts) in enumerate(rows)
    ]


@given(ROWS, st.integers(0, 5))
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
