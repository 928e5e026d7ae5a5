from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.metrics.grounding.analysed_text import AnalysedText
from sgi.metrics.grounding.analysis import ResponseAnalysis, ResponseText
from sgi.metrics.grounding.dates import dates
from sgi.metrics.grounding.language_tables import CODES, language_named
from sgi.metrics.grounding.meta_statements import find_meta_statements
from sgi.metrics.grounding.names_in_text import names_of
from sgi.metrics.grounding.number_words import number_of_word, spelt_numbers
from sgi.metrics.grounding.passage_index import PassageIndex
from sgi.metrics.grounding.quantities import quantities
from sgi.metrics.grounding.words import split_words
from sgi.text.sentences import sentences

OTHERS = CODES[1:]
NUMBER_WORDS = {
    "en": {"twenty-one": 21, "two hundred and five": 205, "one thousand": 1000, "three million": 3_000_000},
    "de": {
        "einundzwanzig": 21,
        "dreihundertfünf": 305,
        "zweitausendvierundzwanzig": 2024,
        "zwei Millionen": 2_000_000,
    },
    "fr": {
        "vingt et un": 21,
        "soixante-quinze": 75,
        "quatre-vingt-dix-neuf": 99,
        "deux cent mille": 200_000,
        "dix-sept": 17,
    },
    "es": {
        "veintidós": 22,
        "treinta y cinco": 35,
        "mil novecientos ochenta y cuatro": 1984,
        "dos mil millones": 2_000_000_000,
    },
    "it": {"ventotto": 28, "trentatré": 33, "duemilacinquecento": 2500, "tre milioni": 3_000_000},
    "pt": {"trinta e dois": 32, "mil e quinhentos": 1500, "duzentos e um": 201, "dois milhões": 2_000_000},
    "nl": {"tweeëndertig": 32, "honderdvijf": 105, "zevenduizend": 7000, "drie miljard": 3_000_000_000},
}
NO_NUMBERS = {
    "en": ["one", "millions", "and", "often"],
    "de": ["eine", "Millionen", "und", "achtung"],
    "fr": ["une", "millions", "et"],
    "es": ["una", "millones", "y"],
    "it": ["una", "milioni", "cento per"],
    "pt": ["uma", "milhões", "e"],
    "nl": ["een", "miljoen", "en"],
}
QUANTITIES = [
    ("en", "1,234.56 m", 1234.56, "m"),
    ("en", "1 234 567 people", 1_234_567, ""),
    ("en", "half a kilo", 0.5, "kg"),
    ("en", "two and a half hours", 2.5, "hour"),
    ("en", "three quarters of them", 75, "percent"),
    ("en", "3 out of 4 people", 75, "percent"),
    ("en", "US$3.5bn", 3.5e9, "usd"),
    ("en", "5 sq ft", 5, "square foot"),
    ("de", "1.234,56 m", 1234.56, "m"),
    ("de", "3,5 %", 3.5, "percent"),
    ("de", "5 Mio. Euro", 5e6, "eur"),
    ("de", "€ 14", 14, "eur"),
    ("fr", "1 234 567 habitants", 1_234_567, ""),
    ("fr", "4,5 millions d'euros", 4.5e6, "eur"),
    ("fr", "38 millions de mètres cubes", 38e6, "m³"),
    ("es", "2,4 millones de dólares", 2.4e6, "$"),
    ("es", "14,5 °C", 14.5, "°C"),
    ("it", "8 per cento", 8, "percent"),
    ("it", "12.400 dipinti", 12400, ""),
    ("pt", "50 quilómetros", 50, "km"),
    ("pt", "3,2 mil milhões de euros", 3.2e9, "eur"),
    ("nl", "0,8 milligram", 0.8, "mg"),
    ("nl", "38 miljoen kubieke meter", 38e6, "m³"),
    ("nl", "1,234,567 boeken", 1_234_567, ""),
]
DATES = [
    ("de", "am 3. Mai 1998", (1998, 5, 3)),
    ("de", "am 03.05.1998", (1998, 5, 3)),
    ("de", "im 19. Jahrhundert", (1800, None, None)),
    ("de", "in den 1990er Jahren", (1990, None, None)),
    ("fr", "le 1er mai 1998", (1998, 5, 1)),
    ("fr", "au XIXe siècle", (1800, None, None)),
    ("es", "el 3 de mayo de 1998", (1998, 5, 3)),
    ("es", "en el siglo XVIII", (1700, None, None)),
    ("it", "il 3 maggio 1998", (1998, 5, 3)),
    ("it", "negli anni 1890", (1890, None, None)),
    ("pt", "em 3 de maio de 1998", (1998, 5, 3)),
    ("pt", "desde março de 2020", (2020, 3, None)),
    ("nl", "op 3 mei 1998", (1998, 5, 3)),
    ("nl", "in de 18e eeuw", (1700, None, None)),
    ("nl", "44 v.Chr.", (-44, None, None)),
]
TIMES = [
    ("de", "um 14.30 Uhr", 870),
    ("fr", "à 14 h 30", 870),
    ("es", "a las 14:30", 870),
    ("it", "alle 14.30", 870),
    ("pt", "às 14h30", 870),
    ("nl", "om 14.30 uur", 870),
]
NAMES = [
    ("de", "Die neue Brücke in Mailand plante Anna Weber.", ["Anna Weber"]),
    ("fr", "L'Italie et le musée d'Orsay accueillent Mme Curie.", ["Orsay", "Mme Curie"]),
    ("es", "Construida en 1990, la torre de Sevilla es de Rafael Vega.", ["Sevilla", "Rafael Vega"]),
    ("it", "La città di Roma è grande, ma l'Umbria è verde.", ["Roma", "Umbria"]),
    ("pt", "Segundo Ana Reis, o rio nasce na Serra da Estrela.", ["Ana Reis", "Serra da Estrela"]),
    ("nl", "Volgens Johan van Dijk ligt Utrecht dichtbij.", ["Johan van Dijk", "Utrecht"]),
]
SILENT = {
    "de": "Das wird im Text nicht erwähnt.",
    "fr": "Le texte ne précise pas la date.",
    "es": "El texto no menciona la fecha.",
    "it": "Il testo non indica la data.",
    "pt": "O texto não menciona a data.",
    "nl": "Dat wordt in de tekst niet vermeld.",
}
CLAIMS = {
    "de": "Laut Text ist der Turm nicht rot.",
    "fr": "Selon le texte, la tour est rouge.",
    "es": "Según el texto, la torre es roja.",
    "it": "Secondo il testo, la torre è rossa.",
    "pt": "Segundo o texto, a torre é vermelha.",
    "nl": "Volgens de tekst is de toren rood.",
}
ABBREVIATIONS = {
    "de": "Am 3. Mai kam z. B. Dr. Weber.",
    "fr": "Cela coûte 3 euros, p. ex. en août.",
    "es": "El Sr. López llegó tarde.",
    "it": "Il sig. Rossi arrivò tardi.",
    "pt": "O Sr. Silva chegou tarde.",
    "nl": "Dhr. Jansen kwam te laat.",
}


def texts(*pairs: tuple[str, str]) -> list[AnalysedText]:
    return [AnalysedText.of(text, code) for code, text in pairs]


@pytest.mark.parametrize(("code", "words"), [(code, text) for code in CODES for text in NUMBER_WORDS[code]])
def test_number_words_are_read(code, words):
    (number,) = spelt_numbers(words, language_named(code))

    assert (number.value, number.end) == (NUMBER_WORDS[code][words], len(words))


@pytest.mark.parametrize(("code", "word"), [(code, word) for code in CODES for word in NO_NUMBERS[code]])
def test_articles_scales_and_conjunctions_alone_are_not_numbers(code, word):
    assert number_of_word(word.lower(), language_named(code)) is None


@pytest.mark.parametrize(("code", "text", "value", "unit"), QUANTITIES)
def test_a_quantity_is_read_with_the_marks_and_units_of_the_language(code, text, value, unit):
    (quantity,) = quantities(AnalysedText.of(text, code))

    assert quantity.low == pytest.approx(value)
    assert [one.name for one in quantity.units[:1]] == [unit] * bool(unit)


@pytest.mark.parametrize(("code", "text", "date"), DATES)
def test_a_date_is_read(code, text, date):
    (fact,) = dates(AnalysedText.of(text, code))

    assert (fact.year, fact.month, fact.day) == date


@pytest.mark.parametrize(("code", "text", "minute"), TIMES)
def test_a_time_of_day_is_read(code, text, minute):
    (fact,) = dates(AnalysedText.of(text, code))

    assert fact.minute == minute


@pytest.mark.parametrize(("code", "text", "names"), NAMES)
def test_names_are_read(code, text, names):
    assert [name.text for name in names_of(AnalysedText.of(text, code))] == names


@pytest.mark.parametrize("code", OTHERS)
def test_a_statement_that_the_passages_do_not_say_claims_nothing(code):
    assert find_meta_statements(AnalysedText.of(SILENT[code], code)).silent
    claim = find_meta_statements(AnalysedText.of(CLAIMS[code], code))
    assert not claim.silent
    assert claim.spans[0][0] == 0


@pytest.mark.parametrize("code", OTHERS)
def test_abbreviations_of_the_language_end_no_sentence(code):
    assert sentences(ABBREVIATIONS[code], code) == [ABBREVIATIONS[code]]


def test_inflected_words_have_one_stem_and_elided_articles_are_words():
    german, french = texts(("de", "Türme Turmes zwei"), ("fr", "L'île d'Aix"))

    assert split_words(german).stems == ("turm", "turm", "2")
    assert split_words(french).stems == ("l", "île", "d", "aix")
    assert split_words(french).content.tolist() == [False, True, False, True]


@pytest.mark.parametrize("code", CODES)
def test_the_tables_of_a_language_are_complete(code):
    language = language_named(code)

    assert len(language.months) == len(set(language.month_numbers.values())) == 12
    assert len(language.weekdays) == 7
    assert {"second", "day", "year", "km", "kg", "percent", "eur"} <= {
        unit.name for units in language.units.values() for unit in units
    }


@pytest.mark.parametrize("code", OTHERS)
@given(text=st.text(max_size=80), other=st.text(max_size=80))
def test_any_text_can_be_analysed(code, text, other):
    index = PassageIndex.of(texts((code, other)))
    analysis = ResponseAnalysis.of(ResponseText.of(text, language=code), index, text)

    spans = [
        sentence.start + check.fact.start for sentence in analysis.sentences for check in sentence.checks
    ]
    assert all(0 <= start < len(text) for start in spans)
