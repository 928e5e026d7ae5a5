"""The fact checks on passages of the same content in seven languages, with planted errors."""

import json
from pathlib import Path

import pytest

from sgi.metrics.grounding.analysis import ResponseAnalysis, ResponseText
from sgi.metrics.grounding.check_facts import Verdict
from sgi.metrics.grounding.language_tables import CODES, AnalysedText
from sgi.metrics.grounding.passage_index import PassageIndex

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
