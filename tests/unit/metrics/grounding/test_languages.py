import pytest
from hypothesis import given
from hypothesis import strategies as st

import sgi
from sgi.metrics.grounding.analysis import ResponseAnalysis, ResponseText
from sgi.metrics.grounding.dates import dates
from sgi.metrics.grounding.language_tables import CODES, AnalysedText, language_named
from sgi.metrics.grounding.meta_statements import find_meta_statements
from sgi.metrics.grounding.names_in_text import names_of
from sgi.metrics.grounding.number_words import number_of_word, spelt_numbers
from sgi.metrics.grounding.passage_index import PassageIndex
from sgi.metrics.grounding.quantities import quantities
from sgi.metrics.grounding.row_language import choose_language, is_foreign
from sgi.metrics.grounding.words import split_words
from sgi.text.tokenizers import sentences

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


PASSAGES = {
    "en": "The old tower in the town is 330 m tall, and it was opened in the year 1889 by the mayor.",
    "de": "Der alte Turm in der Stadt ist 330 m hoch und wurde im Jahr 1889 vom Bürgermeister eröffnet.",
    "fr": "La vieille tour de la ville mesure 330 m et elle a été ouverte en 1889 par le maire.",
    "es": "La vieja torre de la ciudad mide 330 m y fue inaugurada en el año 1889 por el alcalde.",
    "it": "La vecchia torre della città è alta 330 m e fu inaugurata nel 1889 dal sindaco.",
    "pt": "A velha torre da cidade tem 330 m de altura e foi inaugurada no ano de 1889 pelo prefeito.",
    "nl": "De oude toren in de stad is 330 m hoog en werd in het jaar 1889 door de burgemeester geopend.",
}


POLISH = "Stara wieża stoi nad brzegiem rzeki od ponad stu lat i jest bardzo wysoka, a obok niej rośnie las."


@pytest.mark.parametrize("code", PASSAGES)
def test_response_and_passages_of_one_language_are_read_in_it(code):
    assert choose_language(PASSAGES[code], [PASSAGES[code]]) == (code, "")


@pytest.mark.parametrize("code", PASSAGES)
def test_the_passages_decide_for_a_short_response(code):
    assert choose_language("330 m", [PASSAGES[code]]) == (code, "")


def test_short_passages_are_judged_together():
    passages = ["Der Turm ist hoch.", "Er steht in der Stadt und ist alt."]

    assert choose_language("330 m", passages).code == "de"


@pytest.mark.parametrize(
    ("response", "passages", "reason"),
    [
        (PASSAGES["de"], [PASSAGES["en"]], "the response is in German, the passages in English"),
        ("The tower is 330 m tall.", [PASSAGES["de"]], "the response is in English, the passages in German"),
        (PASSAGES["fr"], [PASSAGES["nl"]], "the response is in French, the passages in Dutch"),
        (POLISH, [PASSAGES["en"]], "the response is in Polish; grounding covers English, German"),
        ("330 m", [POLISH], "the passages are in Polish; grounding covers English, German"),
    ],
)
def test_a_language_that_does_not_fit_has_a_reason(response, passages, reason):
    assert choose_language(response, passages).reason.startswith(reason)


def test_passages_of_several_languages_are_read_in_that_of_the_response():
    passages = [PASSAGES["en"], PASSAGES["de"], PASSAGES["fr"]]

    assert choose_language(PASSAGES["de"], passages) == ("de", "")
    assert choose_language(PASSAGES["en"], passages) == ("en", "")


def test_a_row_has_a_value_and_an_evidence_map_in_its_language():
    rows = [
        {"response": response, "contexts": [PASSAGES["de"]]}
        for response in ("Der Turm ist 330 Meter hoch.", "Der Turm ist 312 Meter hoch.", PASSAGES["fr"])
    ]
    scores = sgi.evaluate(rows, "grounding")["grounding"]

    assert scores.row(0).value > scores.row(1).value
    (check,) = scores.details[1]["sentences"][0]["checks"]
    assert (check["fact"], check["verdict"], check["found"]) == ("312 Meter", "contradicted", "330 m")
    assert "in French" in scores.row(2).reason
