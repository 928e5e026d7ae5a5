import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.text.refusals import PHRASES, SHORT_FORMS, is_no_answer, mentions_uncertainty, plain_apostrophes

NO_ANSWERS = [
    *PHRASES,
    *SHORT_FORMS,
    "I don’t know.",
    *(
        *("I don‘t know.", "I don`t know.", "I don´t know.", "I don′t know."),
        "We don’t have enough information.",
    ),
    "I don't know who wrote it.",
    "I DO NOT KNOW!",
    "N/A.",
    "**Unknown**",
    "Answer: unknown",
    "The answer is unknown.",
    "The author is unknown.",
    "It remains unknown.",
    "I don't know. The context does not say.",
    "I don't know; it is not stated in the text.",
    "I don't know\nThe passages don't mention it.",
    "I don't know. Could you rephrase the question?",
    "Unfortunately, I don't know.",
    "Based on the context, I don't know.",
    "I'm not sure, as the context does not specify.",
    "I am really not sure about that.",
    "Sorry, I cannot answer that question.",
    "I'm sorry, but I cannot answer this question based on the provided context.",
    "I can't determine that.",
    "I cannot determine the answer from the passages.",
    "Unable to answer the question with the given information.",
    "We don't have enough information.",
    "There is no information about this in the context.",
    "The provided context contains no information about the ferry.",
    "No information is available on this.",
    "No data available.",
    "Insufficient data to answer.",
    "The information is not available in the provided documents.",
]

ANSWERS = [
    *("", " \n", "Paris", "The unknown soldier", "Unknown Pleasures", "I'm not sure, but it was Paris"),
    *("I'm not sure, but I think it was Paris.", "I don't know. It was Paris.", "I don't know, Paris?"),
    "I don't know the exact date, only the year 1889.",
    *("I do not know much about it, however it was built in 1950", "unknown to me until now: it is Paris"),
    "The unknown continent was not sure of itself.",
    "The substance was unknown to the Romans and later called zinc.",
    *("The scientists cannot determine the origin.", "He is unable to answer letters."),
    *('He said, "I don\'t know."', "'I Don't Know' is a song by a singer from Bristol"),
    *("No information was lost in the move.", "Insufficient data caused the failure."),
    *("The book is not available in Spain.", "None of the passengers survived.", "Nonetheless"),
    *("null hypothesis", "nullable"),
]


@pytest.mark.parametrize("text", NO_ANSWERS)
def test_these_say_that_there_is_no_answer(text):
    assert is_no_answer(text)


@pytest.mark.parametrize("text", ANSWERS)
def test_these_give_an_answer_or_leave_it_to_a_judge(text):
    assert not is_no_answer(text)


TAILS = st.sampled_from(["", ".", "!", "...", " ", "\n"])
CASES = st.sampled_from([str.lower, str.upper, str.title, str.capitalize])


@given(st.sampled_from(NO_ANSWERS), TAILS, CASES, st.sampled_from("'’‘＇"))
def test_neither_case_nor_apostrophe_nor_what_ends_it_matters(text, tail, case, apostrophe):
    if len(text) < 10 and tail == "...":
        return
    assert is_no_answer(case(text.replace("’", "'")).replace("'", apostrophe) + tail)


@given(st.sampled_from(NO_ANSWERS), st.sampled_from(["It was Paris.", "However, it was Paris.", "Paris"]))
def test_whatever_goes_on_to_answer_is_an_answer(text, answer):
    assert not is_no_answer(f"{text.rstrip('.!?')}. {answer}")


@given(st.text(st.characters(), max_size=80))
def test_any_text_is_read_and_the_same_way_twice(text):
    assert is_no_answer(text) is is_no_answer(text)
    assert mentions_uncertainty(text) is mentions_uncertainty(text)


def documents_rule(answer):
    """Document 002's own procedure, step by step, for every apostrophe."""
    lowered = plain_apostrophes(answer).lower().strip()
    for phrase in PHRASES:
        if phrase in lowered:
            return True
    return len(lowered) < 10 and any(word in lowered for word in ["unknown", "n/a", "none", "null"])


WORDS = st.sampled_from(
    [*PHRASES, *SHORT_FORMS, "Paris", "the", "n", "ne", "\u0130", " ", "\n", "I DON'T KNOW", "’"]
)


@given(st.lists(WORDS, max_size=5).map("".join) | st.text(max_size=15))
def test_the_substring_rule_is_the_documents_to_the_letter(text):
    assert mentions_uncertainty(text) == documents_rule(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the tomb of the unknown soldier", True),
        ("Nonesuch", True),
        ("Nonetheless", False),
        ("annulled!", True),
        ("I don’t know", True),
        ("Sadly, I don`t know that", True),
        ("don´t have enough information", True),
        ("", False),
    ],
)
def test_the_substring_rule_takes_words_within_words(text, expected):
    assert mentions_uncertainty(text) is expected


def test_there_are_twelve_phrases():
    assert len(set(PHRASES)) == 12


@pytest.mark.parametrize(
    "text",
    [
        "i don't know " * 20_000,
        "the " * 50_000 + "context",
        "is " * 50_000 + "unknown",
        "based on " * 30_000,
        "not" + " " * 200_000 + "sure",
        "." * 200_000,
        "because " * 50_000,
    ],
    ids=range(7),
)
def test_hostile_texts_are_read_in_no_time(text):
    start = time.perf_counter()
    is_no_answer(text)
    assert time.perf_counter() - start < 5
