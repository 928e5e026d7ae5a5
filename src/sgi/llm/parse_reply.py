"""Parses and validates the reply of a model."""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import TYPE_CHECKING, NoReturn, TypeVar

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
_MAX_OBJECTS = 100
_SEVERAL = "it holds more than one JSON object, or pieces of one"
_REASONING_TAG = re.compile(
    r"<(/?)(?:think|thinking|thought|thoughts|reasoning|reflection|analysis|scratchpad|seed:think)>"
    r"|\[(/?)THINK\]|◁(/?)think▷|(<\|channel\|>final<\|message\|>)",
    re.IGNORECASE,
)
_FENCE = re.compile(r"```[\w-]*\s(.*?)```", re.DOTALL)
_TEMPLATE = re.compile(r"\{(?:[^{}]|\{[^{}]*\})*\}")
"""Maybe the form of a reply, such as ``{"verdicts": [...]}``; with dots outside of strings it is not JSON."""
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_OBJECT_BEGIN = re.compile(r"""\{(?=\s*["'“])""")
_REFUSAL = re.compile(
    r"\W*(?:i(?:['’]m| am) (?:very |so |really )?(?:sorry|unable|not able|not allowed)"
    r"|(?:my )?(?:sorry|apologies)\b"
    r"|i apologi[sz]e|i (?:can(?:['’]t|not| ?not)|won['’]t|will not|must decline|decline|refuse)\b"
    r"|as an ai\b|unfortunately,? i\b"
    r"|(?:es tut mir (?:sehr )?leid|tut mir leid|leider\b|entschuldigung|ich bedau[er]+e|als ki\b"
    r"|ich (?:kann|darf|möchte|werde)\b[^.!?\n]*\b(?:nicht|kein\w*)\b)"
    r"|(?:je (?:suis|regrette)\b[^.!?\n]*\b(?:désolée?|regret)|désolée?\b|je regrette|je m['’]excuse|excusez"
    r"|malheureusement|je ne (?:peux|puis|suis pas)|en tant qu['’]ia\b)"
    r"|(?:lo siento|lo lamento|lamento\b|disculp|perdón|no puedo\b|lamentablemente|desafortunadamente)"
    r"|(?:mi dispiace|spiacente|mi scuso|purtroppo|non posso\b|non sono in grado)"
    r"|(?:desculp|sinto muito|infelizmente|não (?:posso|consigo)\b)"
    r"|(?:het spijt me|helaas|ik kan\b[^.!?\n]*\b(?:niet|geen)\b)"
    r"|(?:przykro mi|przepraszam|niestety|nie mogę)|(?:omlouvám|bohužel|je mi líto|nemohu)"
    r"|(?:tyvärr|förlåt|jag kan inte|beklager|desværre|dessverre|undskyld|jeg kan ikke)"
    r"|(?:valitettavasti|pahoittelen|en voi\b)|(?:sajnálom|sajnos)|(?:îmi pare rău|din păcate|nu pot\b)"
    r"|(?:üzgünüm|özür dilerim|maalesef)|(?:xin lỗi|rất tiếc|tôi không thể)"
    r"|(?:maaf\b|saya tidak (?:dapat|bisa))"
    r"|(?:извините|простите|прошу прощения|к сожалению|сожалею|мне жаль|я не могу|вибачте|на жаль|я не можу)"
    r"|(?:λυπάμαι|συγγνώμη|δυστυχώς|δεν μπορώ)|(?:מצטער|סליחה|אני לא יכול|איני יכול)"
    r"|(?:عذر|آسف|أعتذر|نعتذر|للأسف|لا أستطيع|لا يمكنني|متأسفم|متاسفم|ببخشید)"
    r"|(?:क्षमा|माफ़|मुझे खेद|मुझे अफ़सोस|मैं.{0,40}नहीं कर सक)|(?:ขออภัย|ขอโทษ|เสียใจ|ฉันไม่สามารถ)"
    r"|(?:非常|很|十分)?(?:抱歉|对不起|對不起|遗憾|遺憾)|我(?:无法|無法|不能|没有办法|沒有辦法)"
    r"|(?:大変)?(?:申し訳|申しわけ|すみません|すいません|ごめん|恐れ入りますが|残念ながら|お答えでき)"
    r"|(?:죄송|미안|유감|안타깝|저는.{0,40}수 없))",
    re.IGNORECASE,
)


class InvalidReplyError(Exception):
    """An invalid reply that the model may repair; the message is the reason, without a full stop.

    The message is part of the repair request, and so of the keys of cached and recorded replies: after a
    change of a message they are not found.
    """


def parse_reply(completion: Completion, schema: type[T], context: Mapping[str, object] | None = None) -> T:
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
        if _REFUSAL.match(_without_reasoning(text)):
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
    """Return the JSON object in a text: the text itself, or the only object in its code fence or prose.

    Equal objects count as one, and reasoning in tags is left out. A text that begins like a JSON object must
    be one, and outside of a fence the brackets of the prose must be closed: an object inside a broken one is
    not the reply.
    """
    if _is_json(text):
        return text
    answer = _without_reasoning(text)
    if _is_json(answer):
        return answer
    fenced = [body for match in _FENCE.finditer(answer) if _is_json(body := match[1]) and "{" in body]
    rest = _FENCE.sub(" ", answer) if fenced else answer
    others, prose = _objects_of(rest, required=not fenced)
    objects = [*fenced, *others]
    first = json.loads(objects[0])
    is_prose = fenced or all(map(_is_balanced, prose))
    if not is_prose or any(json.loads(other) != first for other in objects[1:]):
        raise InvalidReplyError(_SEVERAL)
    return objects[0]


def _is_json(text: str) -> bool:
    try:
        _DECODER.decode(text)
    except _AmbiguousJsonError as error:
        raise InvalidReplyError(str(error)) from None
    except (ValueError, RecursionError):
        return False
    return True


def _without_reasoning(text: str) -> str:
    """Return the text without reasoning in tags; a closing tag alone ends reasoning that began before.

    >>> _without_reasoning("<think>Hm.</think> Yes"), _without_reasoning("Hm.</think>Yes")
    ('Yes', 'Yes')
    """
    kept, position, opened = "", 0, -1
    for tag in _REASONING_TAG.finditer(text):
        if not any(tag.groups()):
            opened = tag.start() if opened < 0 else opened
        elif opened >= 0 or not position:
            kept += text[position : max(opened, 0)] if opened >= position else ""
            position, opened = tag.end(), -1
    return (kept + text[position:]).strip()


def _objects_of(text: str, *, required: bool) -> tuple[list[str], list[str]]:
    """Return the JSON objects in a text, and the prose before, between and after them."""
    objects: list[str] = []
    prose: list[str] = []
    position = 0
    while begin := _OBJECT_BEGIN.search(text, position):
        prose.append(text[position : begin.start()])
        if (template := _TEMPLATE.match(text, begin.start())) and "..." in _STRING.sub("", template[0]):
            position = template.end()
            continue
        position = _end_of_object(text, begin.start(), _SEVERAL if objects or not required else "")
        objects.append(text[begin.start() : position])
        if len(objects) > _MAX_OBJECTS:
            raise InvalidReplyError(_SEVERAL)
    if required and not objects:
        start = text.find("{")
        if start < 0:
            raise InvalidReplyError("it has no JSON object")
        objects.append(text[start : _end_of_object(text, start)])
    return objects, [*prose, text[position:]]


def _end_of_object(text: str, start: int, problem: str = "") -> int:
    try:
        return _DECODER.raw_decode(text, start)[1]
    except _AmbiguousJsonError as error:
        raise InvalidReplyError(str(error)) from None
    except RecursionError:
        raise InvalidReplyError("its JSON is nested too deep") from None
    except ValueError as error:
        raise InvalidReplyError(problem or f"it is no JSON ({error})") from None


def _is_balanced(text: str) -> bool:
    """Return whether all brackets and braces of a text are closed.

    >>> _is_balanced("claims [1] and {2}"), _is_balanced('"verdicts": [')
    (True, False)
    """
    opened: list[str] = []
    for mark in re.findall(r"[][{}]", text):
        if mark in "[{":
            opened.append("]" if mark == "[" else "}")
        elif not opened or opened.pop() != mark:
            return False
    return not opened


class _AmbiguousJsonError(ValueError):
    """JSON that parsers read differently."""


def _require_unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
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
    raise _AmbiguousJsonError(f"it holds {name}, which is not a number")


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
