"""From what a model wrote to what was asked for: strictly, and with the reason where it cannot be."""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from pydantic import ValidationError

from sgi.kernel.errors import JudgeMalformedError, JudgeRefusedError
from sgi.kernel.prompts import ReplyModel
from sgi.llm.calls import Finish

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic_core import ErrorDetails

    from sgi.llm.calls import Completion

T = TypeVar("T", bound=ReplyModel)

_SHOWN = 200
_NO_DASHES = str.maketrans("", "", " -_")
_FOUND = 60
_MOST_PROBLEMS = 3
_REFUSAL = re.compile(
    r"\W*(?:i(?:['’]m| am) (?:very |so |really )?(?:sorry|unable|not able|not allowed)"
    r"|(?:my )?(?:sorry|apologies)\b"
    r"|i apologi[sz]e|i (?:can(?:['’]t|not| ?not)|won['’]t|will not|must decline|decline|refuse)\b"
    r"|as an ai\b|unfortunately,? i\b)",
    re.IGNORECASE,
)


class InvalidReplyError(Exception):
    """A reply that cannot be used, and may be repaired; the text says why, without a stop at its end."""


def read(completion: Completion, schema: type[T], context: Mapping[str, Any] | None = None) -> T:
    """What the model replied, if that is exactly what was asked for.

    Args:
        completion: what came.
        schema: what it must be.
        context: what of the inquiry it is held against, as `Inquiry.context` tells.

    Raises:
        JudgeRefusedError: the model or a filter declined.
        JudgeMalformedError: the reply is cut; another turn would be cut as well.
        InvalidReplyError: the reply is empty, is no JSON, or does not fit.

    >>> from sgi.llm.calls import Completion
    >>> from sgi.kernel.prompts import Verdict
    >>> read(Completion('{"index": 2}'), Verdict)
    Verdict(index=2)
    """
    _check_whole(completion)
    text = completion.text.strip()
    if not text:
        raise InvalidReplyError("it is empty")
    try:
        body = _json_of(text)
    except InvalidReplyError:
        if _REFUSAL.match(text):
            raise JudgeRefusedError(f"The judge declined: {shown(text)}", text=text) from None
        raise
    try:
        return schema.model_validate_json(body, strict=True, context=context)
    except ValidationError as errors:
        problems = errors.errors(include_url=False, include_context=False)
    raise InvalidReplyError(
        "it does not fit the schema: " + "; ".join(map(_problem, problems[:_MOST_PROBLEMS]))
    )


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
        raise JudgeRefusedError(f"The judge declined: {shown(completion.refusal)}", text=completion.refusal)
    if completion.finish == Finish.FILTER:
        message = "A content filter of the judge's service withheld the reply."
        raise JudgeRefusedError(message, text=completion.text)
    if completion.finish == Finish.LENGTH:
        raise JudgeMalformedError(
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
    except _AmbiguousJsonError as error:
        raise InvalidReplyError(str(error)) from None
    except (ValueError, RecursionError):
        pass
    else:
        return text
    start = text.find("{")
    if start < 0:
        raise InvalidReplyError("it holds no JSON object")
    try:
        _, end = _DECODER.raw_decode(text, start)
    except _AmbiguousJsonError as error:
        raise InvalidReplyError(str(error)) from None
    except RecursionError:
        raise InvalidReplyError("its JSON is nested too deep") from None
    except ValueError as error:
        raise InvalidReplyError(f"it is no JSON ({error})") from None
    if re.search(r"[][{}]", text[:start] + text[end:]):
        raise InvalidReplyError("it holds more than one JSON object, or pieces of one")
    return text[start:end]


class _AmbiguousJsonError(ValueError):
    """JSON of which readers make different things."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    seen: dict[str, str] = {}
    for name, _ in pairs:
        before = seen.get(_folded(name))
        if before is not None:
            one, other = shown(before, _FOUND), shown(name, _FOUND)
            both = f"the key {one!r} twice" if name == before else f"the keys {one!r} and {other!r}"
            raise _AmbiguousJsonError(f"it has {both} in one object")
        seen[_folded(name)] = name
    return dict(pairs)


def _folded(name: str) -> str:
    """A key as a hasty reader takes it: of ``verdict`` and ``Verdict`` nobody can tell which one is meant."""
    return name.casefold().translate(_NO_DASHES)


def _no_constant(name: str) -> NoReturn:
    raise _AmbiguousJsonError(f"it holds {name}, which is no number")


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise _AmbiguousJsonError("it holds a number beyond all bounds")
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite)


def _problem(error: ErrorDetails) -> str:
    """Where a reply does not fit, how, and what stands there.

    Of a field that is missing, and of an object whose fields do not go together, nothing stands there alone.
    """
    place = _place(error["loc"])
    what = error["msg"].removeprefix("Value error, ")
    what = f"{what[:1].lower()}{what[1:]}"
    whole = error["type"] == "missing" or (
        error["type"] == "value_error" and isinstance(error["input"], dict)
    )
    if whole:
        return f"{place}: {what}" if place else what
    found = shown(json.dumps(error["input"], ensure_ascii=False, default=str), _FOUND)
    return f"{place or 'the reply'}: {what}, found {found}"


def _place(steps: Sequence[int | str]) -> str:
    """The way to a field, as one writes it in code.

    >>> _place(("verdicts", 2, "supported"))
    'verdicts[2].supported'
    """
    parts = [f"[{step}]" if isinstance(step, int) else f".{shown(step, _FOUND)}" for step in steps]
    return "".join(parts).removeprefix(".")
