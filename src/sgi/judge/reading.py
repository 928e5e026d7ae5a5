"""From what a model wrote to what was asked for: strictly, and with the reason where it cannot be."""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from pydantic import ValidationError

from sgi.judge.calls import Finish
from sgi.kernel.errors import JudgeMalformed, JudgeRefused
from sgi.kernel.judging import ReplyModel

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from sgi.judge.calls import Completion

T = TypeVar("T", bound=ReplyModel)

_SHOWN = 200
_FOUND = 60
_MOST_PROBLEMS = 3
_REFUSAL = re.compile(
    r"\W*(?:i(?:['’]m| am) (?:very |so |really )?(?:sorry|unable|not able|not allowed)"
    r"|(?:my )?(?:sorry|apologies)\b"
    r"|i apologi[sz]e|i (?:can(?:['’]t|not| ?not)|won['’]t|will not|must decline|decline|refuse)\b"
    r"|as an ai\b|unfortunately,? i\b)",
    re.IGNORECASE,
)


class Unfit(Exception):  # noqa: N818 - the name says what the reply is
    """A reply that cannot be used, and may be repaired; the text says why, without a stop at its end."""


def read(completion: Completion, schema: type[T], items: int | None) -> T:
    """What the model replied, if that is exactly what was asked for.

    Args:
        completion: what came.
        schema: what it must be.
        items: how many verdicts it must hold; None where it holds no list of them.

    Raises:
        JudgeRefused: the model or a filter declined.
        JudgeMalformed: the reply is cut; another turn would be cut as well.
        Unfit: the reply is empty, is no JSON, or does not fit.

    >>> from sgi.judge.calls import Completion
    >>> from sgi.kernel.judging import Verdict
    >>> read(Completion('{"index": 2}'), Verdict, None)
    Verdict(index=2)
    """
    _check_whole(completion)
    text = completion.text.strip()
    if not text:
        raise Unfit("it is empty")
    try:
        body = _json_of(text)
    except Unfit:
        if _REFUSAL.match(text):
            raise JudgeRefused(f"The judge declined: {shown(text)}") from None
        raise
    try:
        return schema.model_validate_json(body, strict=True, context={"items": items})
    except ValidationError as errors:
        problems = errors.errors(include_url=False, include_context=False)
    raise Unfit("it does not fit the schema: " + "; ".join(map(_problem, problems[:_MOST_PROBLEMS])))


def shown(text: str, most: int = _SHOWN) -> str:
    r"""The first part of a text, on one line, without control characters.

    >>> shown("one\n\x1b[31mtwo")
    'one [31mtwo'
    """
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * most]).split())
    return line if len(line) <= most else f"{line[:most]}…"


def _check_whole(completion: Completion) -> None:
    """Nothing declined the request, and the reply is no fragment."""
    if completion.refusal:
        raise JudgeRefused(f"The judge declined: {shown(completion.refusal)}")
    if completion.finish == Finish.FILTER:
        raise JudgeRefused("A content filter of the judge's service withheld the reply.")
    if completion.finish == Finish.LENGTH:
        raise JudgeMalformed(
            f"The judge's reply was cut after {completion.output_tokens:,} tokens.",
            text=completion.text,
            hint="Raise the judge's max_tokens.",
        )


def _json_of(text: str) -> str:
    """The text, or the one object that stands in it within a fence or prose.

    Other brackets around the object make it unclear what is meant: it may be a piece of something cut.
    """
    try:
        _DECODER.decode(text)
    except _Ambiguous as error:
        raise Unfit(str(error)) from None
    except (ValueError, RecursionError):
        pass
    else:
        return text
    start = text.find("{")
    if start < 0:
        raise Unfit("it holds no JSON object")
    try:
        _, end = _DECODER.raw_decode(text, start)
    except _Ambiguous as error:
        raise Unfit(str(error)) from None
    except RecursionError:
        raise Unfit("its JSON is nested too deep") from None
    except ValueError as error:
        raise Unfit(f"it is no JSON ({error})") from None
    if re.search(r"[][{}]", text[:start] + text[end:]):
        raise Unfit("it holds more than one JSON object, or pieces of one")
    return text[start:end]


class _Ambiguous(ValueError):  # noqa: N818 - the name says what the JSON is
    """JSON of which readers make different things."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _Ambiguous(f"it has the key {shown(twice, _FOUND)!r} twice in one object")
    return made


def _no_constant(name: str) -> NoReturn:
    raise _Ambiguous(f"it holds {name}, which is no number")


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise _Ambiguous("it holds a number beyond all bounds")
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite)


def _problem(error: ErrorDetails) -> str:
    """Where a reply does not fit, how, and what stands there."""
    place = ".".join(map(str, error["loc"]))
    what = error["msg"].removeprefix("Value error, ")
    what = f"{what[:1].lower()}{what[1:]}"
    if error["type"] in ("missing", "value_error"):
        return f"{place}: {what}" if place else what
    found = shown(json.dumps(error["input"], ensure_ascii=False, default=str), _FOUND)
    return f"{place or 'the reply'}: {what}, found {found}"
