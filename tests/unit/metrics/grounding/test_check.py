"""Verdicts on the facts of a sentence, one table for each kind of fact."""

import json
import random
import re
from decimal import Decimal
from pathlib import Path

import pytest

from sgi.metrics.grounding import value_support
from sgi.metrics.grounding.analysis import ResponseAnalysis, ResponseText
from sgi.metrics.grounding.check_facts import Verdict, check_facts
from sgi.metrics.grounding.dates import dates
from sgi.metrics.grounding.facts import FactKind
from sgi.metrics.grounding.language_tables import CODES, AnalysedText
from sgi.metrics.grounding.passage_index import PassageIndex
from sgi.text.tokenizers import sentences
from support.slow import slow

SUPPORTED, ABSENT, CONTRADICTED = Verdict
S, A, C = SUPPORTED, ABSENT, CONTRADICTED

NUMBERS = [
    ("It has 12 rooms.", "The house has twelve rooms.", S, "equal"),
    ("It is 8 km away.", "The lake is 5 miles away.", S, "converted"),
    ("It is 26 °C.", "It is 79 degrees.", S, "converted"),
    ("It weighs 500 g.", "It weighs half a kilo.", S, "converted"),
    ("3.0 million people came.", "The fair saw 2,981,232 people.", S, "rounded"),
    ("Half of them left.", "50% of them left.", S, "equal"),
    ("The rate is 0.4.", "The rate is 40 %.", S, "converted"),
    ("It takes about 12 minutes.", "Cook it for 10-15 minutes.", S, "inside a range"),
    ("It takes 15 minutes.", "Cook it for 10-15 minutes.", S, "end of a range"),
    ("It takes 12 minutes.", "Cook it for 10-15 minutes.", A, ""),
    ("Over 200 ships sailed.", "In all 213 ships sailed.", S, "bound"),
    ("Over 190 ships sailed.", "In all 500 ships sailed.", A, ""),
    ("It needs no more than 5 kg.", "It needs at most 5 kg.", S, "equal"),
    ("It needs at least 5 kg.", "It needs at most 5 kg.", C, "other bound"),
    ("Cancel no later than 14 days before.", "Cancel within 14 days before.", S, "equal"),
    ("Together they have 8 kg.", "He has 5 kg and she has 3 kg.", S, "5 + 3"),
    ("He has 8 kg.", "He has 5 kg and she has 3 kg.", A, ""),
    ("The war lasted 4 years.", "The war of 1914–1918 was long.", S, "1918 - 1914"),
    ("He is 5 feet 11 inches tall.", "He is 5'11\" tall.", S, "equal"),
    ("It has 12,500 seats.", "It has 12 500 seats.", S, "equal"),
    ("It has 12,500 seats.", "It has 125,00 seats.", C, "other value"),
    ("Revenue was $1.7 million.", "Revenue was $ 1. 7 million.", S, "equal"),
    ("The tower is 312 m tall.", "The tower is 330 m tall.", C, "other value"),
    ("The tower is 330 km tall.", "The tower is 330 m tall.", C, "other unit"),
    ("It is 5 m² large.", "It is 5 m2 large.", S, "equal"),
    ("It weighs 312 kg.", "The tower is 330 m tall.", A, ""),
    ("It was the 21st floor.", "It was the 22nd floor.", C, "other value"),
    ("It was the twenty-first floor.", "It was the 21st floor.", S, "equal"),
    ("There are 24 of them.", "There are two dozen of them.", S, "equal"),
]
MONEY = [
    ("It costs $20.", "It costs €20.", C, "other currency"),
    ("It costs US$20.", "It costs C$20.", C, "other currency"),
    ("It costs 20 pounds.", "It costs £20.", S, "equal"),
    ("It costs 20 dollars.", "It costs C$20.", S, "equal"),
    ("It costs CHF 20.", "It costs 20 kr.", C, "other currency"),
    ("It costs 2.50 euros.", "It costs 2 euros 50.", S, "equal"),
    ("It costs 9 euros a year.", "It costs 9 euros a month.", C, "other rate"),
    ("It costs 9 euros.", "It costs 9 euros a month.", S, "equal"),
]
POINTS = [
    ("It rose by 1 percentage point.", "It rose from 2% to 3%.", S, "3 - 2"),
    ("It fell by 30 basis points.", "It fell from 2.3% to 2%.", S, "230 - 200"),
    ("It rose by 4 percentage points.", "It rose from 2% to 3%.", A, ""),
    ("It rose by 1%.", "It rose from 2% to 3%.", C, "other value"),
]
DATES = [
    ("It opened in 1940.", "It opened in 1937.", C, "other date"),
    ("It opened in May 2001.", "It opened on 3 May 2001.", S, "same date"),
    ("It opened on 2001-05-03.", "It opened on May 3rd, 2001.", S, "same date"),
    ("It opened on 4 May 2001.", "It opened on 3 May 2001.", C, "other date"),
    ("It opens at 5 pm.", "It opens at 17:00.", S, "same date"),
    ("It opens at 6 pm.", "It opens at 17:00.", C, "other date"),
    ("It is of the 19th century.", "It is of 1845.", S, "same date"),
    ("It is of the 1990s.", "It is of 1985.", A, ""),
    ("It fell in 480 BC.", "It fell in 480 B.C.", S, "same date"),
    ("It was on May 5, 1999.", "The year was 1999. It was May 5.", S, "same date"),
]
IDENTIFIERS = [
    ("Use the E-101 plug.", "Use the E-102 plug.", A, ""),
    ("Use the E-101 plug.", "Use the E101 plug.", S, "equal"),
    ("Install version 2.3.1 now.", "Install version 2.3.10 now.", A, ""),
    ("It is in your 401(k) now.", "It is in your 401k now.", S, "equal"),
    ("Call 555-01-23 now.", "Call 555-01-24 now.", A, ""),
]
OTHER_THINGS = [
    ("Pro costs 9 euros.", "Plus costs 9 euros, Pro 19 euros.", C, "value of another"),
    ("Plus costs 19 euros.", "Plus costs 9 euros, Pro 19 euros.", C, "value of another"),
    ("Pro costs 19 euros.", "Plus costs 9 euros, Pro 19 euros.", S, "equal"),
    ("Plus costs 9 euros.", "Plus costs 9 euros, Pro 19 euros.", S, "equal"),
    ("The lamp weighs 2 kg.", "- Lamp: 1 kg\n- Chair: 2 kg", C, "value of another"),
    ("The chair weighs 2 kg.", "- Lamp: 1 kg\n- Chair: 2 kg", S, "equal"),
]
NAMES = [
    ("He met Ada Byron.", "Then came Ada Byron.", S, "equal"),
    ("He met Byron.", "Then came Ada Byron.", S, "equal"),
    ("He met Steve Byron.", "Then came Ada Byron.", C, "other name"),
    ("He met Ben Kingsley.", "There Kingsley came.", S, "last name"),
    ("He met Bill Gates.", "Then came William Gates.", S, "same words"),
    ("He met Mary Shelley.", "The tower is tall.", A, ""),
    ("She joined the WHO.", "She joined the World Health Organization.", S, "same name"),
    ("It was in World War 2.", "It was in WWII.", S, "same name"),
    ("It was in the First World War.", "It was in World War II.", A, ""),
    ("They live in Spain.", "They are Spanish.", S, "same name"),
    ("It has free Wi-Fi.", "It has WiFi.", S, "same name"),
    ("They watched Henry the Eighth.", "They watched Henry VIII.", S, "same words"),
]
POLARITY = [
    ("Open the valve.", "Do not open the valve.", C, "opposite"),
    ("Do not open the valve.", "Open the valve.", C, "opposite"),
    ("OPEN THE VALVE.", "DO NOT OPEN THE VALVE.", C, "opposite"),
    ("You must never smoke here.", "You must smoke here.", C, "opposite"),
]


@pytest.mark.parametrize(
    ("sentence", "passage", "verdict", "how"),
    [*NUMBERS, *MONEY, *POINTS, *DATES, *IDENTIFIERS, *OTHER_THINGS, *NAMES, *POLARITY],
)
def test_the_most_serious_verdict_on_a_sentence(sentence, passage, verdict, how):
    checks = check_facts(sentence, ["Of no matter.", passage])
    worst = max(checks, key=lambda check: [SUPPORTED, ABSENT, CONTRADICTED].index(check.verdict))

    assert (worst.verdict, worst.how) == (verdict, how)
    if worst.found:
        assert worst.passage == 1
        assert (
            passage[worst.start : worst.end].strip() in {worst.found.strip(), passage.strip()}
            or "," in how + worst.found
        )


@pytest.mark.parametrize(
    ("code", "sentence", "passage", "verdict"),
    [
        ("de", "Das Ticket kostet 20 Dollar.", "Das Ticket kostet 20 Euro.", C),
        ("de", "Die Stadt hat 12.500 Einwohner.", "Die Stadt hat 12 500 Einwohner.", S),
        ("de", "Es stieg um einen Prozentpunkt.", "Es stieg von 2 % auf 3 %.", S),
        ("de", "Das Ventil öffnen.", "Das Ventil nicht öffnen.", C),
        ("fr", "Le prix est de 3,5 millions d'euros.", "Le prix est de 3 500 000 €.", S),
        ("fr", "Le prix est de 20 € par an.", "Le prix est de 20 € par mois.", C),
        ("es", "Abre a las 17:00.", "Abre a las 9:00.", C),
        ("es", "No abra la válvula.", "Abra la válvula.", C),
        ("it", "Costa ventotto euro.", "Costa 28 €.", S),
        ("pt", "A ponte abriu em 3 de maio de 1998.", "A ponte abriu em 3 de maio de 1999.", C),
        ("nl", "Het weegt 2,5 kg.", "Het weegt 2500 gram.", S),
    ],
)
def test_the_same_rules_hold_in_other_languages(code, sentence, passage, verdict):
    checks = check_facts(AnalysedText.of(sentence, code), [AnalysedText.of(passage, code)])

    assert verdict in {check.verdict for check in checks}
    assert verdict is not SUPPORTED or {check.verdict for check in checks} == {SUPPORTED}


@pytest.mark.parametrize(
    "sentence",
    [
        *("Step 2: press the button.", "1. Press the button.", "The 2nd passage says so."),
        *("(Passage 1, lines 2-3) Press it.", "It is open 24/7.", "Both of the two lamps are on."),
        "They are in their 30s.",
    ],
)
def test_numbers_that_claim_nothing_are_not_flagged(sentence):
    assert not [
        check for check in check_facts(sentence, ["The lamp is on."]) if check.verdict is not SUPPORTED
    ]


@pytest.mark.parametrize(
    ("sentence", "passage", "question", "evidence"),
    [
        ("The tower is 312 m tall.", "The tower is 330 m tall.", "Is the tower 312 m tall?", "330 m"),
        ("The bridge opened in 1940.", "The bridge opened in 1937.", "Did it open in 1940?", "1937"),
    ],
)
def test_a_passage_outranks_the_question(sentence, passage, question, evidence):
    check, *_ = check_facts(sentence, [passage], question)
    asked, *_ = check_facts(sentence, ["Of no matter."], question)

    assert (check.verdict, check.found) == (CONTRADICTED, evidence)
    assert (asked.verdict, asked.how) == (SUPPORTED, "question")


def test_the_question_names_the_thing_of_a_bare_value():
    passages = ["Plus costs 9 euros, Pro 19 euros."]

    (wrong,) = check_facts("9 euros", passages, "What does Pro cost?")
    (right,) = check_facts("19 euros", passages, "What does Pro cost?")

    assert (wrong.verdict, right.verdict) == (CONTRADICTED, SUPPORTED)


def test_a_copy_that_cuts_a_number_is_no_copy():
    (check,) = check_facts("It costs 5", ["It costs 5 million dollars."])

    assert check.how != "copied"


def test_each_text_is_read_once(monkeypatch):
    passages = [f"The tower is {height} m tall and in Paris." for height in (301, 302, 303)]
    sentence = "The tower is 299 m tall, in Rome, and 298 m wide."
    read = []
    monkeypatch.setattr(value_support, "dates", lambda text: read.append(text) or dates(text))
    analysed = [AnalysedText.of(passage) for passage in passages]
    for _ in range(5):
        check_facts(AnalysedText.of(sentence), analysed)
    assert all(read.count(passage) == 1 for passage in passages)
    assert read.count(sentence) == 5


def swapped(sentence, check, passages, draw):
    """The sentence with a number in the place of the fact that no passage has, or None."""
    match = re.search(r"\d[\d,]*(?:\.\d+)?", check.fact.text)
    if not match or not Decimal(match[0].replace(",", "")):
        return None
    places = len(match[0].partition(".")[2])
    value = float(match[0].replace(",", ""))
    while True:
        if check.fact.kind is FactKind.DATE:
            new = str(int(value) + draw.choice([-1, 1]) * draw.randint(1, 9))
        else:
            factor = draw.choice([draw.uniform(0.2, 0.8), draw.uniform(1.25, 5)])
            new = f"{value * factor + places:.{places}f}"
        if not any(re.search(rf"(?<!\d){re.escape(new)}(?!\d)", text) for text in passages):
            break
        value += 1
    start = check.fact.start + match.start()
    return sentence[:start] + new + sentence[start + len(match[0]) :], start


@pytest.mark.parametrize("name", ["ragtruth_qa_test", *slow("begin")])
def test_most_swapped_numbers_in_real_answers_are_seen(data_folder, name):
    draw = random.Random(7)
    seen = missed = grounded = flagged = 0
    for line in (data_folder / f"{name}.jsonl").read_text().splitlines():
        row = json.loads(line)
        if row["label"] != 1:
            continue
        passages = [row["context"]] if isinstance(row["context"], str) else row["context"]
        for sentence in sentences(row["response"]):
            for check in check_facts(sentence, passages, row["question"]):
                if check.fact.kind not in {FactKind.NUMBER, FactKind.DATE}:
                    continue
                grounded += 1
                flagged += check.verdict is not SUPPORTED
                other = check.verdict is SUPPORTED and swapped(sentence, check, passages, draw)
                if not other:
                    continue
                text, start = other
                verdicts = [
                    again.verdict
                    for again in check_facts(text, passages, row["question"])
                    if again.fact.start <= start < again.fact.end
                ]
                seen += bool(verdicts) and verdicts[0] is not SUPPORTED
                missed += bool(verdicts) and verdicts[0] is SUPPORTED

    assert grounded > 200
    assert flagged / grounded <= 0.05
    assert seen > 150
    assert seen / (seen + missed) >= 0.95


LONG = 40_000


def times(piece):
    return piece * (LONG // len(piece))


@pytest.mark.parametrize(
    ("sentence", "passage", "verdict"),
    [
        ("It had three cats.", times("a "), ABSENT),
        ("5", times("15 "), ABSENT),
        ("The rope is 7 to 9 kg.", times("7 kg, ") + "and 9 kg.", SUPPORTED),
        ("It took 400 years.", times("In 1500, ") + "in 1900.", SUPPORTED),
        ("It was on May 5, 1999.", times("In 1999; May 5; ") + "May 5, in 1999", SUPPORTED),
        *slow(
            ("5", times("15 ") + "5", SUPPORTED),
            ("5", times("5 million ") + "5", SUPPORTED),
            ('It is 5" wide.', times('5" '), SUPPORTED),
            ("It was Zork then.", times('He said "Abc". ') + "Zorks", SUPPORTED),
        ),
    ],
)
def test_long_and_hostile_passages_are_read_to_their_end(sentence, passage, verdict):
    (check,) = check_facts(sentence, [passage])

    assert check.verdict is verdict


def test_the_facts_of_a_long_sentence_are_bounded():
    numbers = ", ".join(f"A-{number}" for number in range(3000))

    assert len(check_facts(f"Use {numbers}.", [numbers])) <= 200


DATA = Path(__file__).parents[3] / "data" / "languages"
MISSED = {"de": 0.25}  # names of one word look like other nouns


def records(part: str, code: str) -> list[dict]:
    lines = (DATA / f"{part}.jsonl").read_text(encoding="utf-8").splitlines()
    return [record for record in map(json.loads, lines) if record["language"] == code]


def unsupported(record: dict, response: str) -> list:
    """Return (kind, start, end) of the facts of a response that its passage does not support."""
    code = record["language"]
    index = PassageIndex.of([AnalysedText.of(" ".join(record["sentences"]), code)])
    analysis = ResponseAnalysis.of(ResponseText.of(response, language=code), index)
    return [
        (check.fact.kind, sentence.start + check.fact.start, sentence.start + check.fact.end)
        for sentence in analysis.sentences
        for check in sentence.checks
        if check.verdict is not Verdict.SUPPORTED
    ]


@pytest.mark.parametrize("code", CODES)
def test_right_answers_have_few_unsupported_facts(code):
    answers = [
        (record, answer)
        for record in records("development", code)
        for answer in (*record["sentences"], record["compressed"], record["reworded"])
    ]
    false = [answer for record, answer in answers if unsupported(record, answer)]

    assert len(false) <= 0.02 * len(answers), false


@pytest.mark.parametrize("code", CODES)
def test_planted_errors_are_found(code):
    missed = []
    errors = [
        (record, error)
        for record in records("development", code)
        for error in record["errors"]
        if error["kind"] != "negation"
    ]
    for record, error in errors:
        base = error["base"]
        text = record["sentences"][base] if isinstance(base, int) else record[base]
        start = text.index(error["old"])
        end = start + len(error["new"])
        response = text.replace(error["old"], error["new"])
        found = [kind for kind, first, last in unsupported(record, response) if first < end and start < last]
        if not found:
            missed.append(response)

    assert len(missed) <= MISSED.get(code, 0.06) * len(errors), missed


def test_every_passage_exists_in_every_language_with_the_same_errors():
    for part in ("development", "test"):
        kinds = {
            code: [
                (record["id"], [(error["kind"], error["base"]) for error in record["errors"]])
                for record in records(part, code)
            ]
            for code in CODES
        }
        assert len(kinds["en"]) >= 8
        assert all(kinds[code] == kinds["en"] for code in CODES)
