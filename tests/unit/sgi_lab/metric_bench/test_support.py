import pytest

from sgi_lab.metric_bench.changed_facts import first_error, is_still_supported


@pytest.mark.parametrize(
    ("old", "new", "passage", "stated"),
    [
        ("It is 5 km away.", "It is 5000 m away.", "It is 5 km away.", True),
        ("It is 5 km away.", "It is 5 miles away.", "It is 5 km away.", False),
        ("It keeps for 10 days.", "It keeps for 5 days.", "It keeps for 5 to 10 days.", True),
        (
            "They built it in six years.",
            "They built it in two years.",
            "It was built from 1887 to 1889.",
            True,
        ),
        ("It rose by 5 m.", "It rose by 9 m.", "It rose by 5 m, and then by 3 m.", False),
        ("It came in 1950.", "It came in 1953.", "It came in 1950.", False),
        ("Ada Stone came.", "Bea Moor came.", "Ada Stone came, as did Bea Moor.", True),
        ("Ada Stone came.", "Cleo Finch came.", "Ada Stone came, as did Bea Moor.", False),
        ("It is open.", "It is not open.", "It is open.", False),
    ],
)
def test_what_the_passages_state_or_imply(row, old, new, passage, stated):
    assert is_still_supported(row(old, passage), new) is stated


def test_what_the_question_says_is_stated(row):
    asked = row("He met 5 men.", "He met some men.", question="Did he meet 7 men?")
    assert is_still_supported(asked, "He met 7 men.")


def test_what_a_passage_contradicts_is_an_error_though_the_question_says_it(row):
    asked = row("He met 5 men.", "He met 5 men.", question="Did he meet 7 men?")
    assert not is_still_supported(asked, "He met 7 men.")


def test_a_sentence_that_stood_there_before_decides_nothing(row):
    sample = row("It cost 9 crowns. It is 5 km away.", "It is 5 km away.")
    assert is_still_supported(sample, "It cost 9 crowns. It is 5000 m away.")


def test_an_endless_sentence_is_never_taken_for_an_error(row):
    assert is_still_supported(row("word " * 2_000, "word"), "word " * 2_000 + "7 km")


def test_the_first_candidate_that_is_an_error_is_taken(row):
    sample = row("It is 5 km away.")
    tries = ["It is 5 km away.", None, "It is 5000 m away.", "It is 7 km away.", "It is 8 km away."]
    assert first_error(sample, tries).response == "It is 7 km away."
    assert first_error(sample, tries[:3]) is None


def test_at_most_twenty_candidates_are_tried(row):
    tried = iter([*["It is 5000 m away."] * 19, None, "It is 7 km away."])
    assert first_error(row("It is 5 km away."), tried) is None
    assert list(tried) == ["It is 7 km away."]


def test_of_an_answer_with_an_endless_sentence_nothing_is_tried(row):
    tried = iter(["It is 7 km away."])
    assert first_error(row("word " * 2_000), tried) is None
    assert list(tried) == ["It is 7 km away."]
