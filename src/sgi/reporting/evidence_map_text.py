"""Evidence map as lines of text: each sentence, its unsupported parts and its best passage."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.text import Text

from sgi.reporting.citation_map_text import legend_lines
from sgi.reporting.formatting import STEERING, one_line
from sgi.reporting.terminal_style import FAINT, HEADING, SIGNS, WARNING, style_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.reporting.views.evidence_map_view import EvidenceMapView, FactView, SentenceView

_QUOTED = 160
_INDENT = " " * 10
_SPACES = re.compile(r"\s+")


def evidence_map_lines(view: EvidenceMapView) -> Iterator[Text]:
    """Yield the lines of the map; unsupported spans are in [brackets], control characters are replaced."""
    yield Text(view.verdict)
    for sentence in view.sentences:
        yield Text("")
        yield _sentence(sentence)
        yield from _best_passage(sentence)
        yield from map(_fact, sentence.facts)
        if sentence.more_facts:
            yield Text(f"{_INDENT}and {sentence.more_facts:,} further facts", style=FAINT)
        if sentence.reasons:
            yield Text(f"{_INDENT}why: {'; '.join(sentence.reasons)}", style=WARNING)
    yield from legend_lines(view.legend)
    if view.left_out:
        yield Text("")
        yield Text(view.left_out)
    if view.unused:
        yield Text("")
    for passage in view.unused:
        yield Text(f"Passage {passage.number} supports no sentence: {_shorten(passage.text)}", style=FAINT)
    if view.more_unused:
        yield Text(f"{view.more_unused:,} further passages support no sentence either.", style=FAINT)
    if view.signals:
        parts = ", ".join(f"{_shorten(part.name)} {part.log_odds:+.2f}" for part in view.signals)
        yield Text("")
        yield Text(f"contribution of each signal to the score, in log odds: {parts}", style=FAINT)


def _sentence(sentence: SentenceView) -> Text:
    score = "–" if sentence.score is None else f"{sentence.score:.2f}"
    style = f"{HEADING} {style_of(sentence.verdict)}" if sentence.verdict else FAINT
    line = Text.assemble((f"{sentence.number:>2}  {score:>4}  ", style))
    for part in sentence.stretches:
        text = _flat(part.text)
        style = style_of(part.citation or part.verdict)
        line.append(f"[{text}]" if part.verdict else f"{text}{part.sign}", style=style)
    return line


def _best_passage(sentence: SentenceView) -> Iterator[Text]:
    """Yield the best passage, or the reason why there is none."""
    if sentence.about_passages:
        yield Text(f"{_INDENT}says that something is not in the passages", style=FAINT)
    elif sentence.score is None:
        yield Text(f"{_INDENT}claims nothing", style=FAINT)
    else:
        if sentence.verdict != "supported":
            yield Text(f"{_INDENT}{sentence.verdict}", style=style_of(sentence.verdict))
        yield Text(f"{_INDENT}passage {sentence.passage}: {_shorten(sentence.beside)}", style=FAINT)
        if sentence.claim:
            yield Text(f"{_INDENT}read as: {_shorten(sentence.claim)}", style=FAINT)
    if sentence.entailment is not None:
        against = "" if sentence.contradiction is None else f", contradicted {sentence.contradiction:.2f}"
        yield Text(f"{_INDENT}entailed {sentence.entailment:.2f}{against}", style=FAINT)


def _fact(fact: FactView) -> Text:
    check = f"{_INDENT}{SIGNS[fact.verdict]} {fact.kind} {_shorten(fact.text)}: {_shorten(fact.reason)}"
    line = Text(check, style=style_of(fact.verdict))
    if fact.quote is not None and (fact.quote.before or fact.quote.after):
        quoted = f": {_flat(fact.quote.before)}[{_shorten(fact.quote.found)}]{_flat(fact.quote.after)}"
        line.append(quoted, style=FAINT)
    return line


def _flat(text: str) -> str:
    """Put the text on one line; spaces at its ends stay."""
    return _SPACES.sub(" ", text.translate(STEERING))


def _shorten(text: str) -> str:
    return one_line(_flat(text).strip(), longest=_QUOTED)
