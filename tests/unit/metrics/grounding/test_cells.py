"""Values in tables, lists of keys and values, and JSON belong to their row and column."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.metrics.grounding.analysis import ResponseAnalysis
from sgi.metrics.grounding.cells import tables_of, with_bars
from sgi.metrics.grounding.normalize_unicode import normalize_text

PLANS = {
    "Markdown": "| Plan | Price | Storage | Seats |\n|---|---|---|---|\n| Basic | $9 | 10 GB | 1 |\n"
    "| Plus | $19 | 100 GB | 5 |\n| Pro | $49 | 1 TB | 20 |",
    "CSV": "Plan,Price,Storage,Seats\nBasic,$9,10 GB,1\nPlus,$19,100 GB,5\nPro,$49,1 TB,20",
    "semicolons": "Plan;Price;Storage;Seats\r\nBasic;$9;10 GB;1\r\nPlus;$19;100 GB;5\r\nPro;$49;1 TB;20\r\n",
    "tabs": "Plan\tPrice\tStorage\tSeats\nBasic\t$9\t10 GB\t1\nPlus\t$19\t100 GB\t5\nPro\t$49\t1 TB\t20",
    "HTML": "<table><tr><th>Plan</th><th>Price</th><th>Storage</th><th>Seats</th></tr>"
    "<tr><td>Basic</td><td>$9</td><td>10 GB</td><td>1</td></tr>"
    "<tr><td>Plus</td><td>$19</td><td>100 GB</td><td>5</td></tr>"
    "<tr><td>Pro</td><td>$49</td><td>1 TB</td><td>20</td></tr></table>",
    "YAML": "Basic plan:\n  price: $9\n  storage: 10 GB\n  seats: 1\nPlus plan:\n  price: $19\n"
    "  storage: 100 GB\n  seats: 5\nPro plan:\n  price: $49\n  storage: 1 TB\n  seats: 20",
    "YAML list": "- plan: Basic\n  price: $9\n  storage: 10 GB\n  seats: 1\n- plan: Plus\n  price: $19\n"
    "  storage: 100 GB\n  seats: 5\n- plan: Pro\n  price: $49\n  storage: 1 TB\n  seats: 20",
    "JSON": '[{"plan": "Basic", "price": "$9", "storage": "10 GB", "seats": 1}, {"plan": "Plus",'
    ' "price": "$19", "storage": "100 GB", "seats": 5}, {"plan": "Pro", "price": "$49", "storage": "1 TB",'
    ' "seats": 20}]',
    "columns": "| | Basic | Plus | Pro |\n|---|---|---|---|\n| Price | $9 | $19 | $49 |\n"
    "| Storage | 10 GB | 100 GB | 1 TB |\n| Seats | 1 | 5 | 20 |",
}
ANSWERS = [
    ("How much does the Plus plan cost?", "The Plus plan costs $19.", "The Plus plan costs $49."),
    ("How much storage does Pro have?", "Pro has 1 TB of storage.", "Pro has 100 GB of storage."),
    ("How many seats does Basic have?", "Basic has 1 seat.", "Basic has 5 seats."),
    ("How many seats does the Pro plan include?", "20", "5"),
    ("What is the price of Plus?", "It is $19.", "It is $9."),
    ("Which plan has 100 GB?", "Plus", "Basic"),
]
OTHERS = [
    (
        "| Company | 2019 | 2020 |\n|---|---|---|\n| Alpha | 5.2 | 6.1 |\n| Beta | 3.3 | 2.9 |",
        "What was Alpha's revenue in 2020?",
        "In 2020, Alpha's revenue was 6.1.",
        "In 2020, Alpha's revenue was 5.2.",
    ),
    (
        "| Name | Weight (kg) | Price (EUR) |\n| Alpha | 5 | 9 |\n| Beta | 7 | 19 |\n| Gamma | 9 | 29 |",
        "What does Beta cost?",
        "Beta costs 19 euros.",
        "Beta costs 29 euros.",
    ),
    (
        "Dosage\nAdults: 500 mg\nChildren: 250 mg\nMaximum per day\nAdults: 4 g\nChildren: 2 g",
        "What may children take?",
        "Children take 250 mg.",
        "Children take 500 mg.",
    ),
    (
        "[server]\nport = 8080\ntimeout = 30\n[client]\nport = 9090\ntimeout = 5",
        "Which port does the client use?",
        "The client uses port 9090.",
        "The client uses port 8080.",
    ),
    (
        "Flight: LH123\nDeparture: 09:15\nGate: B22\n\nFlight: BA456\nDeparture: 10:30\nGate: A7",
        "What is the gate of LH123?",
        "B22",
        "A7",
    ),
    (
        "| Country | Capital |\n|---|---|\n| France | Paris |\n| Spain | Madrid |\n| Italy | Rome |",
        "What is the capital of France?",
        "The capital of France is Paris.",
        "The capital of France is Rome.",
    ),
    ("WiFi: no\nParking: yes\nPets: allowed", "Does it have WiFi?", "No, it has no WiFi.", "It has WiFi."),
    (
        '{"name": "Inn", "attributes": {"OutdoorSeating": false, "TakeOut": true}}',
        "What does the inn offer?",
        "The inn has no outdoor seating.",
        "The inn has outdoor seating.",
    ),
    (
        "Feature,Basic,Pro,Team\nSSO,no,yes,yes\nAPI,no,yes,no\nExport,yes,yes,yes",
        "Which plan has SSO?",
        "Pro has SSO.",
        "Basic has SSO.",
    ),
]


def verdicts(passage, question, response):
    passage = normalize_text(with_bars(passage)).text
    analysis = ResponseAnalysis.of(response, [passage], question)
    return [check.verdict.value for sentence in analysis.sentences for check in sentence.checks]


@pytest.mark.parametrize("form", PLANS)
@pytest.mark.parametrize(("question", "right", "wrong"), ANSWERS)
def test_a_value_belongs_to_its_row_and_column_in_every_form(form, question, right, wrong):
    assert "contradicted" not in verdicts(PLANS[form], question, right)
    assert "contradicted" in verdicts(PLANS[form], question, wrong)


@pytest.mark.parametrize(("passage", "question", "right", "wrong"), OTHERS)
def test_other_tables_and_keys(passage, question, right, wrong):
    assert "contradicted" not in verdicts(passage, question, right)
    assert "contradicted" in verdicts(passage, question, wrong)


YEARS = "Year | Profit | Staff\n2020 | 10 | 45\n2021 | 12 | 47\n2022 | 20 | 40"
FRUIT = (
    "| Fruit | Boxes | Cost |\n|---|---|---|\n| Apples | 3 | $6 |\n| Pears | 2 | $4 |\n| Total | 5 | $10 |"
)


@pytest.mark.parametrize(
    ("passage", "question", "response"),
    [
        (
            f"{PLANS['Markdown']}\n\nUntil May, Plus costs $49.",
            "",
            "Plus costs $49.",
        ),  # also outside the table
        (PLANS["Markdown"], "", "Pro costs $49, Plus costs $19."),
        (PLANS["Markdown"], "", "Unlike Plus, Pro costs $49."),
        (PLANS["Markdown"], "Is there a plan cheaper than Pro?", "It costs $9."),
        (PLANS["Markdown"], "", "If you do not need Pro, pay $9."),
        (YEARS, "", "After 2021 the profit was 20."),
        (FRUIT, "", "Apples and pears together cost $10."),
        (FRUIT, "", "Apples and pears cost $10."),
        (FRUIT, "", "Apples cost $2 each."),
        ("WiFi: no\n\nRooms\nWiFi: free", "", "The rooms have WiFi."),  # the key has another value too
        ("Pool: no\nParking: yes", "", "The hotel lacks a pool."),
        ("Pool: no\nParking: yes", "", "The pool is closed."),
        ("Alice said: no\nBob said: yes", "", "The committee met Alice."),
        ("Feature|Free|Team\nSSO|no|yes", "", "Only Team has SSO; it is missing from Free."),
        ('{"stars": 4.5, "reviews": [{"stars": 5}, {"stars": 2}]}', "", "By its reviews, it has 4.5 stars."),
        ('{"address": "1114 State St", "stars": 4.5}', "", "The 4.5 star inn is at 1114 State St."),
    ],
)
def test_what_tables_do_not_contradict(passage, question, response):
    assert "contradicted" not in verdicts(passage, question, response)


@pytest.mark.parametrize("response", ["It has WiFi.", "It has Wi-Fi."])
def test_a_key_is_read_in_parts_and_as_written(response):
    assert "contradicted" in verdicts("WiFi: no\nParking: yes", "", response)


def test_prose_with_commas_is_not_a_table():
    prose = "Ada, Alan and Grace met\nin May, June and July\nto talk, read and write 5 letters"
    assert with_bars(prose) == prose
    assert tables_of(prose).cells == ()


@given(st.text(alphabet="ab1,;:|\t\n{}[]\"'- <td>", max_size=200))
def test_any_text_is_read_and_keeps_its_length(text):
    assert len(with_bars(text)) == len(text)
    for cell in tables_of(with_bars(text)).cells:
        assert 0 <= cell.start < cell.end <= len(text)
