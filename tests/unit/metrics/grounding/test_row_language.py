from __future__ import annotations

import pytest

import sgi
from sgi.metrics.grounding.row_language import choose_language

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
