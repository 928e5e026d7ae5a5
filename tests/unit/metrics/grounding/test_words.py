import math
import re
from importlib.resources import files
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel.sample import Sample
from sgi.metrics.grounding import words
from sgi.metrics.grounding.content_precision import content_word_precisions
from sgi.metrics.grounding.language_tables import language_named
from sgi.metrics.grounding.meta_statements import find_meta_statements
from sgi.metrics.grounding.prepared_row import NO_CLAIMS, PreparedRow, yes_no_statement
from sgi.metrics.grounding.words import split_words


@given(st.text())
def test_any_text_is_words_with_their_places(text):
    words = split_words(text)
    assert len(words.starts) == len(words.ends) == len(words.content) == len(words)
    assert all(start < end for start, end in zip(words.starts, words.ends, strict=True))
    assert all(before <= after for before, after in zip(words.ends, words.starts[1:], strict=False))
    assert all(text[start:end].strip() for start, end in zip(words.starts, words.ends, strict=True))


def test_numbers_keep_their_marks_and_do_not_take_the_full_stop():
    assert split_words("It cost 2,500.50. Then 3.").stems[2::2] == ("2,500.50", "3")


def test_endings_are_cut_and_function_words_told_apart():
    words = split_words("Cities were growing in the valley's shadow")
    assert words.stems[:3] == ("citi", "were", "grow")
    assert [stem for stem, carries in zip(words.stems, words.content, strict=True) if carries] == [
        "citi",
        "grow",
        "valley",
        "shadow",
    ]


def test_pairs_reach_over_function_words():
    assert split_words("the tower of the city").pairs == frozenset({("tower", "citi")})


def test_a_text_without_words_has_none():
    words = split_words("… — !!! 🎉")
    assert (len(words), words.pairs, words.vocabulary) == (0, frozenset(), frozenset())


def test_threads_stem_as_one_does():
    from concurrent.futures import ThreadPoolExecutor

    english = language_named("en")
    stems = ("beauti", "fly", "relat", "cit", "nation", "hope")
    words = [f"{stem}{last}{number}ing" for number in range(40) for stem in stems for last in ("ful", "ies")]
    alone = [english.stem(word) for word in words]
    english._stems.clear()
    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(english.stem, words))
    assert together == alone


def test_words_that_skip_the_stemmer_have_the_same_stem():
    text = (files("sgi") / "data" / "halueval_qa_sample.jsonl").read_text(encoding="utf-8").casefold()
    own = set(re.findall(r"[^\W_]+", text)) - language_named("en").numbers.keys()
    skipped = sorted(word for word in own if word[-1] in words._KEPT_ENDS)
    assert len(skipped) > 900
    assert [language_named("en")._stemmer.stemWord(word) for word in skipped] == skipped


TEXTS = st.text(alphabet="ab cT'.1é\n", max_size=30)


def test_the_share_counts_every_occurrence_of_stems_in_all_passages_together():
    rows = [
        ("Towers, towers and bridges", ["The tower is tall."]),
        ("red tower", ["It is red.", "A tower."]),
        ("tower", []),
        ("It is so.", ["It is so."]),
        ("", ["words"]),
    ]
    *shares, without_content, empty = content_word_precisions(rows)
    assert shares == [2 / 3, 1.0, 0.0]
    assert math.isnan(without_content)
    assert math.isnan(empty)


@given(st.lists(st.tuples(TEXTS, st.lists(TEXTS, max_size=3)), max_size=4))
def test_rows_together_are_those_of_each_and_more_passages_never_lower_it(rows):
    together = content_word_precisions(rows)
    for found, (response, passages) in zip(together, rows, strict=True):
        alone, more = content_word_precisions([(response, passages), (response, [*passages, "ab cT"])])
        assert (math.isnan(found) and math.isnan(alone)) or found == alone
        assert math.isnan(alone) or 0 <= alone <= more <= 1


def claimed(sentence):
    """What is left of a sentence without what it says of its passages."""
    left, at = "", 0
    for start, end in find_meta_statements(sentence).spans:
        left, at = left + sentence[at:start], end
    return (left + sentence[at:]).strip()


@pytest.mark.parametrize(
    ("sentence", "left"),
    [
        ("Based on passage 2, it opened in 1889.", "it opened in 1889."),
        ("According to the provided context, bees sleep.", "bees sleep."),
        ("It opened in 1889 (passage 3).", "It opened in 1889 ."),
        ("2. Mix the flour.", "Mix the flour."),
        ("The passage under the river is long.", "The passage under the river is long."),
    ],
)
def test_what_names_the_passages_is_no_claim(sentence, left):
    assert claimed(sentence) == left


@pytest.mark.parametrize(
    "sentence",
    [
        *("The passages do not mention the height.", "The height is not specified."),
        *("I am unable to answer that.", "There is no information about the builder."),
        *("The answer cannot be determined from this.", "I don't know."),
    ],
)
def test_a_sentence_that_says_that_passages_are_silent_is_told(sentence):
    assert find_meta_statements(sentence).silent


@pytest.mark.parametrize(
    "sentence",
    ["It is not in Rome.", "No bees live here.", "The tower was not built by Eiffel.", "It is red.", ""],
)
def test_a_negation_alone_says_nothing_of_passages(sentence):
    assert not find_meta_statements(sentence).silent


@given(
    st.text()
    | st.lists(st.sampled_from(["Based on ", "passage ", "2", " and ", "the text says "])).map("".join)
)
def test_spans_lie_within_any_sentence_in_order_and_apart(sentence):
    spans = find_meta_statements(sentence).spans
    ends = [0, *(place for span in spans for place in span)]
    assert ends == sorted(ends)
    assert ends[-1] <= len(sentence)
    assert all(start < end for start, end in spans)
    assert all(first[1] < second[0] for first, second in pairwise(spans))


@pytest.mark.parametrize(
    ("response", "question", "text"),
    [
        ("Yes", "Is Ada Byron a writer?", "Ada Byron is a writer"),
        (
            "yes.",
            "Did Ada Byron and Ben of Wales meet in Paris?",
            "Ada Byron and Ben of Wales did meet in Paris",
        ),
        ("Yeah, she is!", "is the writer English", "the writer is English"),
        ("No, they aren't.", "Are Rome and Oslo cities?", "It is not so that Rome and Oslo are cities"),
        ("True", "Wasn't the tower built in 1889?", "the tower was built in 1889"),
        ("Yes, that is right.", "Is Ada Byron red? ??", "Ada Byron is red"),
        ("That's correct.", "Is Ada Byron red?", "Ada Byron is red"),
        ("Absolutely.", "Is Ada Byron red?", "Ada Byron is red"),
    ],
)
def test_yes_and_no_say_what_the_question_asks(response, question, text):
    statement = yes_no_statement(response, question)
    assert statement is not None
    assert statement.text == text
    assert statement.denied == response.startswith("No")


@pytest.mark.parametrize(
    ("response", "question"),
    [
        ("Yes", "Who wrote it?"),
        ("Yes", ""),
        ("Yes, in 1889", "Was it built in 1889?"),
        ("Yesterday", "Was it built?"),
        ("", "Was it built?"),
        ("No. 5", "Is it first?"),
        ("Right.", "Is it left or right?"),
        ("Yes", f"Is it {'very ' * 400}red?"),
    ],
)
def test_other_answers_and_questions_have_no_statement(response, question):
    assert yes_no_statement(response, question) is None


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_texts_can_be_read(response, question):
    yes_no_statement(response, question)
    statement = yes_no_statement("no", f"Is {question}?")
    assert statement is None or statement.text.startswith("It is not so that")


def test_equal_questions_share_their_analysis_in_each_language():
    def row(response, before=None):
        return PreparedRow.of(
            Sample(id="1", question="Wie hoch?", response=response, contexts=["Rot"]), before
        )

    first = row("330 m")
    assert row("312 m", first).question is first.question
    german = "Der Turm steht seit 1889 am Ufer der Seine und ist rot."
    assert row(german, first).question is row(german, first).question is not first.question
    assert row(german, first).source is row(german, first).source is not first.source


def test_the_row_is_read_with_its_statement_and_spans_are_those_of_the_response():
    sample = Sample(
        id="1", question="Is the tower 312 m tall?", response="Yes!", contexts=["It is 330 m tall."]
    )
    row = PreparedRow.of(sample)
    assert (row.response.text, row.question, row.reason) == ("the tower is 312 m tall", "", "")
    assert row.original_spans == ((0, 4),)


def test_without_a_fitting_question_yes_claims_nothing():
    sample = Sample(id="1", question="How tall is it?", response="Yes!", contexts=["It is 330 m tall."])
    assert PreparedRow.of(sample).reason == NO_CLAIMS
