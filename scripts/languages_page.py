"""Compute the numbers of docs/languages.md.

The rows are those of tests/data/languages: parallel passages in seven languages with planted errors. With a
folder that has xquad.en.json, xquad.de.json and xquad.es.json (github.com/google-deepmind/xquad), the script
also computes the table on these real passages; without it, that table stays.

    python scripts/languages_page.py [XQUAD_FOLDER]
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from language_rows import LanguageRow, language_rows
from page_parts import replace_parts

import sgi
from sgi.metrics.grounding.analysed_text import AnalysedText
from sgi.metrics.grounding.analysis import ResponseAnalysis, ResponseText
from sgi.metrics.grounding.facts.check import Verdict, facts_of
from sgi.metrics.grounding.passage_index import PassageIndex
from sgi.reporting.table import Table
from sgi.stats.ranking import auroc
from sgi.text.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PAGE = Path(__file__).parents[1] / "docs" / "languages.md"
NAMES = {
    "en": "English",
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "it": "Italian",
    "pt": "Portuguese",
    "nl": "Dutch",
}
KINDS = ("number", "date", "name", "negation")
XQUAD = ("en", "de", "es")
_FIRST_HALF = 120  # paragraphs of XQuAD that were read while the rules were written
_LENGTHS = range(40, 300)
_ERRORS_SEED = 1


def parallel(part: str) -> str:
    """Return the table of one part of the parallel passages."""
    rows = list(language_rows(part))
    scores = sgi.evaluate([row.row for row in rows], "grounding")["grounding"]
    values = [scores.row(number).value for number in range(len(rows))]
    details: list[Any] = list(scores.details)
    cells = []
    for code, name in NAMES.items():
        own = [number for number, row in enumerate(rows) if row.language == code]
        labels = [rows[number].label == 1 for number in own]
        odds = [_log_odds(values[number]) for number in own]
        nearness = [details[number]["signals"]["nearness"]["log_odds"] for number in own]
        right = [details[number] for number in own if rows[number].label]
        facts = sum(len(list(_checks(detail))) for detail in right)
        false = sum(check["verdict"] != "supported" for detail in right for check in _checks(detail))
        cells.append(
            [
                name,
                f"{len(own)}",
                f"{auroc(odds, labels):.3f}",
                f"{auroc(np.subtract(odds, nearness), labels):.3f}",
                f"{false} / {facts}",
                *(
                    _recall([(rows[at], details[at]) for at in own if rows[at].kind == kind])
                    for kind in KINDS
                ),
            ]
        )
    head = [
        "language",
        "rows",
        "AUROC",
        "without nearness",
        "false alarms / facts",
        *(f"{kind}s" for kind in KINDS),
    ]
    return Table(head, cells).markdown()


def _log_odds(value: float | None) -> float:
    if value is None:
        raise SystemExit("A row has no value.")
    return float(np.log(value / (1 - value)))


def _checks(detail: Any) -> Iterator[dict[str, Any]]:
    for sentence in detail["sentences"]:
        yield from sentence["checks"]


def _recall(rows: Sequence[tuple[LanguageRow, Any]]) -> str:
    """Return how many planted errors a check marks; a negation may be marked at another word."""
    found = 0
    for row, detail in rows:
        start, end = row.error
        found += any(
            check["verdict"] != "supported"
            and (
                check["kind"] == "negation"
                if row.kind == "negation"
                else check["start"] < end and start < check["end"]
            )
            for check in _checks(detail)
        )
    return f"{found} / {len(rows)}"


def xquad(folder: Path) -> str:
    """Return the table of the second half of XQuAD: reordered sentences, and sentences with wrong digits."""
    cells = []
    for code in XQUAD:
        articles = json.loads((folder / f"xquad.{code}.json").read_text(encoding="utf-8"))["data"]
        passages = [paragraph["context"] for article in articles for paragraph in article["paragraphs"]]
        checked: Counter[str] = Counter()
        false: Counter[str] = Counter()
        planted: Counter[str] = Counter()
        found: Counter[str] = Counter()
        for passage in passages[_FIRST_HALF:]:
            index = PassageIndex.of([AnalysedText.of(passage, code)])
            chosen = [text for text in sentences(passage, code) if len(text) in _LENGTHS]
            for text in chosen:
                for _, check in _unsupported(_reordered(text), index, code):
                    checked[check.fact.kind.value] += 1
                    false[check.fact.kind.value] += check.verdict is not Verdict.SUPPORTED
            for text, start, end, kind in _wrong_digits(chosen, code):
                planted[kind] += 1
                found[kind] += any(
                    check.verdict is not Verdict.SUPPORTED
                    and offset + check.fact.start < end
                    and start < offset + check.fact.end
                    for offset, check in _unsupported(text, index, code)
                )
        cells.append(
            [
                NAMES[code],
                *(f"{false[kind]} / {checked[kind]}" for kind in ("number", "date", "name")),
                *(f"{found[kind]} / {planted[kind]}" for kind in ("number", "date")),
            ]
        )
    head = [
        "language",
        "false numbers",
        "false dates",
        "false names",
        "wrong numbers found",
        "wrong dates found",
    ]
    return Table(head, cells).markdown()


def _unsupported(response: str, index: PassageIndex, code: str) -> Iterator[tuple[int, Any]]:
    analysis = ResponseAnalysis.of(ResponseText.of(response, language=code), index) if response else None
    for sentence in analysis.sentences if analysis else ():
        for check in sentence.checks:
            yield sentence.start, check


def _reordered(sentence: str) -> str:
    """Return the sentence with its last part, after a comma, first; "" if it has no comma."""
    *parts, last = sentence.rstrip(".").split(", ")
    return f"{last[0].upper()}{last[1:]}, {', '.join(parts)}." if parts and last else ""


def _wrong_digits(chosen: Sequence[str], code: str) -> Iterator[tuple[str, int, int, str]]:
    """Yield each sentence with one digit of a number or date changed, its place, and the kind of the fact."""
    random = np.random.default_rng(_ERRORS_SEED)
    for text in chosen:
        for fact in facts_of(AnalysedText.of(text, code)):
            digits = list(re.finditer(r"[0-9]", fact.text))
            if not digits or fact.kind.value not in {"number", "date"}:
                continue
            digit = digits[-2 if fact.kind.value == "date" and len(digits) > 2 else -1]  # noqa: PLR2004 - a year
            place = fact.start + digit.start()
            other = str((int(digit[0]) + int(random.integers(1, 9))) % 10)
            yield text[:place] + other + text[place + 1 :], fact.start, fact.end, fact.kind.value


def main(arguments: Sequence[str]) -> None:
    """Write the page."""
    parts = {"development": parallel("development"), "test": parallel("test")}
    if arguments:
        parts["xquad"] = xquad(Path(arguments[0]))
    PAGE.write_text(replace_parts(PAGE.read_text(encoding="utf-8"), parts), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
