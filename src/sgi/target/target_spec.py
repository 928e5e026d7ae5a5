"""The settings of the RAG system to evaluate; a run stores them, so they contain no secret."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Annotated, ClassVar
from urllib.parse import parse_qsl

from pydantic import Field, JsonValue, field_validator

from sgi.kernel.environment import Settings, http_url
from sgi.kernel.errors import UsageError
from sgi.kernel.raw_values import check_path, set_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pydantic import JsonValue

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OF_THE_CLIENT = {"content-length", "transfer-encoding", "connection", "host"}
_OF_URLS = (
    *("question_field", "body", "headers", "answer_field"),
    *("contexts_field", "context_ids_field", "context_scores_field", "usage_field", "cost_field"),
)
_HOW_TO_NAME = "Write module:function, as in rag:answer, or a URL, as in http://127.0.0.1:8000/answer."


class TargetSpec(Settings):
    """Settings of the RAG system to evaluate (the target), and of the calls to it.

    Values of ``headers``, ``body`` and the URL's query may contain ``${NAME}``, an environment variable that
    is read when the target is opened. A secret must be written in this form, since a run stores this spec;
    only the scheme of an Authorization header may precede it, as in ``Bearer ${NAME}``.

    The location of a value in JSON is a path, names joined by dots: the key of an object, the number of a
    list item, or ``*`` for every item: ``choices.0.message.content``, ``sources.*.text``.

    Attributes:
        where: ``module:function``, or the http(s) URL for POST requests.
        concurrency: the maximum number of requests in flight.
        timeout: seconds for an attempt.
        retries: the number of further attempts after temporary errors.
        rate: the maximum number of requests per minute, evenly spaced; None means no limit.
        question_field: the path of the question in the request; its last part is a name.
        body: the constant part of the request, JSON.
        headers: additional HTTP headers.
        answer_field: the path of the answer in the reply.
        contexts_field: the path of the passages in the reply, a text or a list of texts. With a final ``?``
            the first name may be missing; None means that replies have no passages.
        context_ids_field: the path of the ids of the passages, a list with one id for each passage; as for
            the passages, ``?`` and None.
        context_scores_field: the path of their retrieval scores, a list of numbers, in the same way.
        usage_field: the path of the token counts in the reply, which may be missing; None means not to read
            them.
        cost_field: the path of the cost in US dollars; as for the token counts.

    Raises:
        UsageError: a value is invalid, or contains a secret.

    >>> TargetSpec(where="http://127.0.0.1:8000/ask", headers={"X-Api-Key": "${RAG_KEY}"}).is_url
    True
    >>> TargetSpec(where="rag:answer", concurrency=0)
    Traceback (most recent call last):
    sgi.kernel.errors.UsageError: The target's concurrency: input should be greater than or equal to 1.
    """

    owner: ClassVar[str] = "target"

    where: str
    concurrency: Annotated[int, Field(ge=1, le=1000)] = 8
    timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 60.0
    retries: Annotated[int, Field(ge=0, le=20)] = 2
    rate: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    question_field: str = "question"
    body: dict[str, JsonValue] = Field(default_factory=dict)
    headers: dict[str, str] = Field(default_factory=dict)
    answer_field: str = "answer"
    contexts_field: str | None = "contexts?"
    context_ids_field: str | None = "context_ids?"
    context_scores_field: str | None = "context_scores?"
    usage_field: str | None = "usage"
    cost_field: str | None = "cost"

    @property
    def is_url(self) -> bool:
        """Whether the target is a service behind a URL."""
        return "://" in self.where

    @property
    def fingerprint(self) -> str:
        """The target's identity, without secrets: ``python:module:function`` or ``http:URL``."""
        return f"{'http' if self.is_url else 'python'}:{self.where}"

    def check_combination(self) -> None:
        """Raise a UsageError if ``question_field`` does not fit ``body``, or a function has URL settings."""
        if self.is_url:
            try:
                set_path(self.body, self.question_field, "")
            except ValueError as error:
                raise UsageError(f"The target's question_field: {error}.") from None
            return
        for name in _OF_URLS:
            if getattr(self, name) != type(self).model_fields[name].get_default(call_default_factory=True):
                raise UsageError(f"The target's {name} requires a URL; {self.where} is a Python function.")

    @field_validator("where")
    @classmethod
    def _check_where(cls, where: str) -> str:
        if "://" in where:
            _check_url(where)
        else:
            _check_name(where)
        return where

    @field_validator("question_field", "answer_field", "usage_field", "cost_field")
    @classmethod
    def _check_field(cls, path: str | None) -> str | None:
        return None if path is None else check_path(path, every=False)

    @field_validator("contexts_field", "context_ids_field", "context_scores_field")
    @classmethod
    def _check_passages_field(cls, path: str | None) -> str | None:
        if path is not None:
            check_path(path.removesuffix("?"), every=True)
        return path

    @field_validator("headers")
    @classmethod
    def _check_headers(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            if not _HEADER_NAME.fullmatch(name) or name.lower() in _OF_THE_CLIENT:
                raise ValueError(f"{name!r} cannot be set as a header")
            if not (value.isascii() and value.isprintable()):
                raise ValueError(f"the value of {name} has characters that a header cannot have")
            _check_not_secret(name, value)
        return headers

    @field_validator("body")
    @classmethod
    def _check_body(cls, body: dict[str, JsonValue]) -> dict[str, JsonValue]:
        for name, value in _values(body):
            _check_not_secret(name, value)
        try:
            json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
        except ValueError:
            raise ValueError(
                "it contains NaN, infinity or a lone surrogate, which JSON cannot express"
            ) from None
        return body


def _check_name(where: str) -> None:
    module, colon, attribute = where.partition(":")
    if not colon:
        raise ValueError(f"{where!r} is not the name of a target: {_HOW_TO_NAME}".rstrip("."))
    parts = [*module.split("."), *attribute.split(".")]
    if not all(part.isidentifier() for part in parts) or module.endswith(".py"):
        raise ValueError(
            f"{where!r} is not of the form module:function. {_HOW_TO_NAME} "
            "A module is named without its folder and .py".rstrip(".")
        )


def _check_url(url: str) -> None:
    """Raise a ValueError for an invalid URL, without showing it: it may contain a password."""
    parts = http_url(url)
    if parts is None:
        raise ValueError("it is not an http(s) URL such as http://127.0.0.1:8000/answer")
    if "@" in parts.netloc:
        raise ValueError(
            'the URL contains a password; write headers = {Authorization = "Basic ${NAME}"} instead'
        )
    if has_variable(url.partition("?")[0]):
        raise ValueError("${NAME} is allowed only in the query of the URL, not in its host or path")
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        _check_not_secret(name, value)


def _check_not_secret(name: str, value: JsonValue) -> None:
    if value in ("", None) or isinstance(value, bool) or not names_a_secret(name):
        return
    if names_a_count(name) and (not isinstance(value, str) or value.isdecimal()):
        return
    if not isinstance(value, str) or not is_variable(value):
        raise ValueError(
            f"{name!r} looks like a secret, and runs store their settings; write ${{NAME}} for its whole "
            "value, or Bearer ${NAME}"
        )


def _values(value: JsonValue, name: str = "") -> Iterator[tuple[str, JsonValue]]:
    """Yield all texts, numbers, booleans and nulls in a JSON value, each with its key."""
    if isinstance(value, list):
        for item in value:
            yield from _values(item, name)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _values(item, key)
    else:
        yield name, value


_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_ALONE = re.compile(rf"(?:(?:Bearer|Basic|Token|ApiKey) )?{_VARIABLE.pattern}", re.IGNORECASE)
_SECRET = re.compile(
    r"auth(?!or(?!iz))|cookie|token(?!iz)|key(?!word|board)|secret|passw|passphrase|pwd|credential|signature|"
    r"session|bearer",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SECRET_WORD = re.compile(r"sig|sign|sas|pw|pass|pin|otp|pat|jwt|creds?|sid|psk")
_COUNT_WORD = re.compile(
    r"max|min|num|number|n|count|total|top|per|limit|budget|window|size|length|len|timeout|ttl|age|seconds|ms|"
    r"tokens"
)


def names_a_secret(name: str) -> bool:
    """Return whether a field with this name probably contains a secret.

    >>> [names_a_secret(name) for name in ("Authorization", "X-Api-Key", "sig", "Accept", "tokenizer")]
    [True, True, True, False, False]
    """
    if _SECRET.search(name) or name.lower() == "code":  # but not country_code
        return True
    return _has_word(name, _SECRET_WORD)


def names_a_count(name: str) -> bool:
    """Return whether a field with this name contains a number, such as max_tokens, and so not a secret."""
    return _has_word(name, _COUNT_WORD)


def has_variable(text: str) -> bool:
    """Return whether the text contains ``${NAME}``."""
    return _VARIABLE.search(text) is not None


def variables(value: JsonValue) -> set[str]:
    """Return the names of the variables in a JSON value."""
    if isinstance(value, str):
        return set(_VARIABLE.findall(value))
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {name for item in items for name in variables(item)}


def is_variable(text: str) -> bool:
    """Return whether the text is only ``${NAME}``, optionally after the scheme of an Authorization header.

    >>> [is_variable(text) for text in ("${KEY}", "Bearer ${KEY}", "Bearer s3cr3t${KEY}")]
    [True, True, False]
    """
    return _ALONE.fullmatch(text) is not None


def _has_word(name: str, pattern: re.Pattern[str]) -> bool:
    return any(pattern.fullmatch(word.lower()) for word in _WORD.findall(name))


class Environment:
    """Replaces variables by their values, and collects the values.

    Attributes:
        values: the values by name; messages contain none of them.
    """

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def expand(self, text: str, quote: Callable[[str], str] = str) -> str:
        """Replace each ``${NAME}`` by its value, converted by ``quote``; UsageError if it is not set."""
        return _VARIABLE.sub(lambda match: quote(self._value(match[1])), text)

    def expand_all(self, value: JsonValue) -> JsonValue:
        """Replace the variables in all texts of a JSON value, but not in keys."""
        if isinstance(value, str):
            return self.expand(value)
        if isinstance(value, list):
            return [self.expand_all(item) for item in value]
        if isinstance(value, dict):
            return {key: self.expand_all(item) for key, item in value.items()}
        return value

    def _value(self, name: str) -> str:
        value = os.environ.get(name, "").strip()
        if not value:
            raise UsageError(
                f"The target's settings contain ${{{name}}}, but {name} is not set.",
                hint=f"Set {name} in the environment.",
            )
        self.values[name] = value
        return value
