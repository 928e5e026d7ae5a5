"""An evidence map in a Markdown page: what is unsupported, and why."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sgi.report.markdown import escaped
from sgi.report.wording import beginning, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.report.views.support import FactView, SentenceView, Stretch, SupportView

_EDGES = re.compile(r"(\s*)(.*?)(\s*)", re.DOTALL)


def support_markdown(view: SupportView, *, longest: int) -> Iterator[str]:
    """The map as items of a list: the sentences that are doubtful or hold what is unsupported, and why.

    Args:
        view: the map.
        longest: characters of a sentence, or a passage.

    Yields:
        Lines that begin with spaces and ``- ``, to stand below an item of a row. What no passage backs is
        **strong**.
    """
    yield f"  - {view.verdict}"
    if view.left_out:
        yield f"  - {view.left_out}"
    for sentence in view.sentences:
        if sentence.is_doubtful or sentence.is_marked:
            chance = "" if sentence.supported is None else f" ({sentence.supported:.2f})"
            yield f"  - sentence {sentence.number}{chance}: {_marked(sentence, longest)}"
            yield from (f"    - {_fact(fact)}" for fact in sentence.facts if fact.verdict != "supported")
            if sentence.more_facts:
                yield f"    - and {sentence.more_facts:,} further facts"
            if sentence.reasons:
                yield f"    - why: {'; '.join(sentence.reasons)}"
    for passage in view.unused:
        yield f"  - no sentence rests on passage {passage.number}: {_text(beginning(passage.text, longest))}"
    if view.more_unused:
        yield f"  - nor does any on {view.more_unused:,} further passages"


def _marked(sentence: SentenceView, longest: int) -> str:
    """The sentence, its beginning where it is long."""
    shown, left = "", longest
    for part in sentence.stretches:
        shown += _stretch(part._replace(text=part.text[:left]))
        left -= len(part.text)
        if left < 0:
            return f"{shown.strip()} …"
    return shown.strip()


def _stretch(part: Stretch) -> str:
    """Its edges stand outside of the stars, which otherwise mean nothing."""
    if not part.verdict or not part.text.strip():
        return _text(part.text)
    edges = _EDGES.fullmatch(part.text)
    before, words, after = ("", part.text, "") if edges is None else edges.groups()
    return f"{_text(before)}**{_text(words)}**{_text(after)}"


def _fact(fact: FactView) -> str:
    told = f"{fact.kind} {_text(fact.text)}: {_text(fact.reason)}"
    if fact.quote is None or not (fact.quote.before or fact.quote.after):
        return told
    around = _text(fact.quote.before), _text(fact.quote.found), _text(fact.quote.after)
    return f"{told}: “{around[0]}**{around[1]}**{around[2]}”"


def _text(text: str) -> str:
    return escaped(plain(text))
