"""Evidence maps and citation maps as lines, on a terminal and in Markdown; `evidence.html` is their HTML."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.text import Text

from sgi.kernel.short_text import pluralize
from sgi.reporting.formatting import beginning
from sgi.reporting.safe_text import STEERING, escape, one_line
from sgi.reporting.terminal_style import FAINT, HEADING, WARNING, style_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.reporting.views.evidence_checks import Check
    from sgi.reporting.views.evidence_view import MapView, SentenceView, Stretch

_LONGEST = 160
_INDENT = " " * 10
_SPACES = re.compile(r"\s+")
_EDGES = re.compile(r"(\s*)(.*?)(\s*)", re.DOTALL)


def map_lines(view: MapView) -> Iterator[Text]:
    """Yield the lines of a map; unsupported spans are in [brackets], control characters are replaced."""
    yield Text(view.summary)
    for sentence in view.sentences:
        yield Text("")
        yield _sentence_line(sentence)
        yield from _remarks(sentence)
    if view.legend:
        yield Text("")
        yield Text("citations:", style=FAINT)
    for verdict, sign, meaning in view.legend:
        yield Text(f"  {sign} {verdict}: {meaning}", style=style_of(verdict))
    if view.left_out:
        yield Text("")
        yield Text(view.left_out)
    if view.unused:
        yield Text("")
    for number, text in view.unused:
        yield Text(f"Passage {number} supports no sentence: {_shorten(text)}", style=FAINT)
    if view.more_unused:
        yield Text(_more_unused(view), style=FAINT)
    if view.signals:
        parts = ", ".join(f"{_shorten(name)} {log_odds:+.2f}" for name, log_odds in view.signals)
        yield Text("")
        yield Text(f"contribution of each signal to the score, in log odds: {parts}", style=FAINT)


def _sentence_line(sentence: SentenceView) -> Text:
    verdict_style = style_of(sentence.verdict)
    style = f"{HEADING} {verdict_style}" if verdict_style else FAINT
    if sentence.evidence is None:
        line = Text(f"{sentence.number:>2}  ").append(sentence.verdict, style=style)
        return line.append(f": {_shorten(sentence.text)}")
    score = "–" if sentence.evidence.score is None else f"{sentence.evidence.score:.2f}"
    line = Text.assemble((f"{sentence.number:>2}  {score:>4}  ", style))
    for part in sentence.stretches:
        text = _flat(part.text)
        is_marked = part.verdict and not part.sign
        line.append(f"[{text}]" if is_marked else f"{text}{part.sign}", style=style_of(part.verdict))
    return line


def _remarks(sentence: SentenceView) -> Iterator[Text]:
    """Yield the verdict, the best passage, the checks, and why a score is low."""
    evidence = sentence.evidence
    if evidence is not None:
        if sentence.verdict != "supported":
            yield _remark(sentence.verdict, style_of(sentence.verdict) or FAINT)
        if evidence.score is not None:
            yield _remark(f"passage {evidence.passage + 1}: {_shorten(evidence.beside)}")
            if evidence.claim:
                yield _remark(f"read as: {_shorten(evidence.claim)}")
    if sentence.entailment:
        yield _remark(sentence.entailment)
    yield from map(_check, sentence.checks)
    if sentence.more_checks:
        yield _remark(f"and {pluralize(sentence.more_checks, 'more fact')}")
    if sentence.reasons:
        yield _remark(f"why: {'; '.join(sentence.reasons)}", WARNING)


def _remark(text: str, style: str = FAINT) -> Text:
    return Text(f"{_INDENT}{text}", style=style)


def _check(check: Check) -> Text:
    what = f"{check.kind} {_shorten(check.text)}:" if check.kind else _shorten(check.text)
    line = _remark(f"{check.sign} {what} {_shorten(check.reason)}", style_of(check.verdict))
    if quote := check.quote:
        quoted = f": {_flat(quote.before)}[{_shorten(quote.found)}]{_flat(quote.after)}"
        line.append(quoted, style=FAINT)
    return line


def _flat(text: str) -> str:
    """Put the text on one line; spaces at its ends stay."""
    return _SPACES.sub(" ", text.translate(STEERING))


def _shorten(text: str) -> str:
    return one_line(_flat(text).strip(), longest=_LONGEST)


def evidence_markdown(view: MapView, *, longest: int) -> Iterator[str]:
    """Yield list items: sentences that are not supported or have an unsupported **part**, and why."""
    yield f"  - {view.summary}"
    if view.left_out:
        yield f"  - {view.left_out}"
    for sentence in view.sentences:
        if sentence.is_unsupported or sentence.is_partly_supported or sentence.is_marked:
            score = None if sentence.evidence is None else sentence.evidence.score
            verdict = "" if score is None else f" ({sentence.verdict}, support score {score:.2f})"
            yield f"  - sentence {sentence.number}{verdict}: {_marked(sentence, longest)}"
            yield from (f"    - {_item(check)}" for check in sentence.checks if check.verdict != "supported")
            if sentence.more_checks:
                yield f"    - and {pluralize(sentence.more_checks, 'more fact')}"
            if sentence.reasons:
                yield f"    - why: {'; '.join(sentence.reasons)}"
    if view.legend:
        yield f"  - citations: {'; '.join(f'{sign} {verdict}' for verdict, sign, _ in view.legend)}"
    for number, text in view.unused:
        yield f"  - passage {number} supports no sentence: {escape(beginning(text, longest))}"
    if view.more_unused:
        yield f"  - {_more_unused(view)}"


def _marked(sentence: SentenceView, longest: int) -> str:
    """Return the sentence with its unsupported parts in bold, or its start if it is long."""
    shown, left = "", longest
    for part in sentence.stretches:
        shown += _bold(part._replace(text=part.text[:left]))
        left -= len(part.text)
        if left < 0:
            return f"{shown.strip()} …"
    return shown.strip()


def _bold(part: Stretch) -> str:
    """Put a part in bold; spaces at its edges stay outside the asterisks, as Markdown requires."""
    edges = _EDGES.fullmatch(part.text)
    if edges is None or not edges[2] or not part.verdict or part.sign:
        return escape(part.text) + part.sign
    return f"{escape(edges[1])}**{escape(edges[2])}**{escape(edges[3])}"


def _item(check: Check) -> str:
    item = f"{check.kind} {escape(check.text)}: {escape(check.reason)}"
    if check.quote is None:
        return item
    before, found, after = map(escape, check.quote)
    return f"{item}: “{before}**{found}**{after}”"


def _more_unused(view: MapView) -> str:
    return f"{pluralize(view.more_unused, 'more passage supports', 'more passages support')} no sentence"
