"""Parses and validates the reply of a model."""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from pydantic import ValidationError

from sgi.kernel.errors import JudgeMalformedError, JudgeRefusedError
from sgi.kernel.prompts import ReplyModel
from sgi.kernel.short_text import quote
from sgi.llm.calls import Finish

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic_core import ErrorDetails

    from sgi.llm.calls import Completion

T = TypeVar("T", bound=ReplyModel)

_WITHOUT_SEPARATORS = str.maketrans("", "", " -_")
_MAX_VALUE = 60
_MAX_PROBLEMS = 3
_REFUSAL = re.compile(
    r"\W*(?:i(?:['’]m| am) (?:very |so |really )?(?:sorry|unable|not able|not allowed)"
    r"|(?:my )?(?:sorry|apologies)\b"
    r"|i apologi[sz]e|i (?:can(?:['’]t|not| ?not)|won['’]t|will not|must decline|decline|refuse)\b"
    r"|as an ai\b|unfortunately,? i\b)",
    re.IGNORECASE,
)


class InvalidReplyError(Exception):
    """An invalid reply that the model may repair; the message is the reason, without a full stop.

    The message is part of the repair request, and so of the keys of cached and recorded replies: after a
    change of a message they are not found.
    """


def parse_reply(completion: Completion, schema: type[T], context: Mapping[str, Any] | None = None) -> T:
    """Parse a reply that fits the schema exactly.

    Raises:
        JudgeRefusedError: the model or a filter refuses.
        JudgeMalformedError: the reply is truncated, as a repair would be.
        InvalidReplyError: the reply is empty, is not JSON, or does not fit the schema.

    >>> from sgi.llm.calls import Completion
    >>> from sgi.kernel.prompts import Verdict
    >>> parse_reply(Completion('{"index": 2}'), Verdict)
    Verdict(index=2)
    """
    _require_complete(completion)
    text = completion.text.strip()
    if not text:
        raise InvalidReplyError("it is empty")
    try:
        body = _json_of(text)
    except InvalidReplyError:
        if _REFUSAL.match(text):
            raise JudgeRefusedError(f"The judge declined: {quote(text)}", text=text) from None
        raise
    try:
        return schema.model_validate_json(body, strict=True, context=context)
    except ValidationError as errors:
        problems = errors.errors(include_url=False, include_context=False)
    raise InvalidReplyError(
        "it does not fit the schema: " + "; ".join(map(_problem, problems[:_MAX_PROBLEMS]))
    )


def _require_complete(completion: Completion) -> None:
    if completion.refusal:
        raise JudgeRefusedError(f"The judge declined: {quote(completion.refusal)}", text=completion.refusal)
    if completion.finish == Finish.FILTER:
        message = "A content filter of the judge's service withheld the reply."
        raise JudgeRefusedError(message, text=completion.text)
    if completion.finish == Finish.LENGTH:
        blank = not completion.text.strip()
        what = "contains no answer, only reasoning: it ended" if blank else "was truncated"
        raise JudgeMalformedError(
            f"The judge's reply {what} after {completion.output_tokens:,} tokens.",
            text=completion.text,
            hint="Raise the judge's max_tokens.",
        )


def _json_of(text: str) -> str:
    """Return the JSON object in a text: the text itself, or the only object in its code fence or prose."""
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
    """JSON that parsers read differently."""


def _require_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys: dict[str, str] = {}
    for name, _ in pairs:
        before = keys.get(_normalized_key(name))
        if before is not None:
            one, other = quote(before, _MAX_VALUE), quote(name, _MAX_VALUE)
            both = f"the key {one!r} twice" if name == before else f"the keys {one!r} and {other!r}"
            raise _AmbiguousJsonError(f"it has {both} in one object")
        keys[_normalized_key(name)] = name
    return dict(pairs)


def _normalized_key(name: str) -> str:
    """Return a key without case and separators: ``verdict`` and ``Verdict`` in one object are ambiguous."""
    return name.casefold().translate(_WITHOUT_SEPARATORS)


def _reject_constant(name: str) -> NoReturn:
    raise _AmbiguousJsonError(f"it holds {name}, which is no number")


def _parse_finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise _AmbiguousJsonError("it holds a number beyond all bounds")
    return number


_DECODER = json.JSONDecoder(
    object_pairs_hook=_require_unique_keys, parse_constant=_reject_constant, parse_float=_parse_finite
)


def _problem(error: ErrorDetails) -> str:
    """Return the path of an invalid value, the reason, and the value, if there is one."""
    path = _path(error["loc"])
    reason = error["msg"].removeprefix("Value error, ")
    reason = f"{reason[:1].lower()}{reason[1:]}"
    without_value = error["type"] == "missing" or (
        error["type"] == "value_error" and isinstance(error["input"], dict)
    )
    if without_value:
        return f"{path}: {reason}" if path else reason
    value = quote(json.dumps(error["input"], ensure_ascii=False, default=str), _MAX_VALUE)
    return f"{path or 'the reply'}: {reason}, found {value}"


def _path(steps: Sequence[int | str]) -> str:
    """Return the path of a field, as in code.

    >>> _path(("verdicts", 2, "supported"))
    'verdicts[2].supported'
    """
    parts = [f"[{step}]" if isinstance(step, int) else f".{quote(step, _MAX_VALUE)}" for step in steps]
    return "".join(parts).removeprefix(".")
