from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.metrics.grounding.not_english import is_foreign

FOREIGN = {
    "German": "Der Bäcker öffnet seinen Laden um sechs, und die Kinder warten schon vor der Tür.",
    "French": "Le boulanger ouvre sa boutique à six heures, et les enfants attendent déjà devant.",
    "Spanish": "El panadero abre su tienda todas las mañanas a las seis y los niños ya esperan en la puerta.",
    "Italian": "Il fornaio apre la sua bottega ogni mattina alle sei, e i bambini aspettano già sulla porta.",
    "Polish": "Piekarz otwiera swój sklep każdego ranka o szóstej, a dzieci czekają już przed drzwiami.",
    "Turkish": "Fırıncı dükkânını her sabah saat altıda açıyor ve çocuklar kapının önünde bekliyor.",
    "Finnish": "Leipuri avaa kauppansa joka aamu kello kuusi, ja lapset odottavat jo oven edessä.",
    "Russian": "Пекарь открывает лавку каждое утро в шесть часов, и дети уже ждут у двери.",
    "Japanese": "パン屋は毎朝六時に店を開け、子どもたちはもう戸口で待っている。",
    "Arabic": "يفتح الخباز دكانه كل صباح في الساعة السادسة والأطفال ينتظرون عند الباب.",
}
ENGLISH = {
    "prose": "The baker opens his shop every morning at six, and the children are waiting there already.",
    "one word": "Paris",
    "names": "Ada Lovelace, Alan Turing, Grace Hopper, Edsger Dijkstra, Barbara Liskov, Donald Knuth",
    "foreign names": "Gabriel García Márquez, Jürgen Habermas, Søren Kierkegaard",
    "list": "- two eggs\n- flour\n- a cup of milk\n- some butter\n- salt and pepper\n- an onion",
    "terse list": "Requirements: hammer, nails, screws, glue, wood, paint, brush, ladder, gloves",
    "code": "def total(rows):\n    return sum(row.price * row.count for row in rows if row.price)",
    "digits": "1889 330 12.5 7 8 9 10 11 2,500.50",
    "empty": "",
    "blank": " \n\t",
    "emoji": "🎉🗼👩‍👩‍👧",
    "signs": "?! … — ***",
    "a foreign word": "The Germans call this feeling Schadenfreude, and there is no English word for it.",
    "a quotation": "The sign over the door of the shop says “Tür bitte schließen”, that is: please close it.",
}


@pytest.mark.parametrize("language", FOREIGN)
def test_another_language_is_told(language):
    assert is_foreign(FOREIGN[language])


@pytest.mark.parametrize("kind", ENGLISH)
def test_english_and_what_is_in_doubt_is_not(kind):
    assert not is_foreign(ENGLISH[kind])


def test_a_few_words_of_another_language_are_in_doubt_unless_their_letters_tell():
    assert not is_foreign("Der Bäcker öffnet.")
    assert is_foreign("Пекарь")


def test_of_two_languages_the_one_with_most_words_tells():
    german, english = FOREIGN["German"], ENGLISH["prose"]
    assert is_foreign(f"{german} {german} Good bye!")
    assert not is_foreign(f"{english} {english} Auf Wiedersehen!")


def test_of_two_scripts_that_of_most_letters_tells():
    assert is_foreign("東京は日本の首都である。 It is old.")
    assert not is_foreign("The name of the capital of Japan is written 東京.")


@given(st.text())
def test_any_text_is_told(text):
    assert is_foreign(text) in {True, False}
