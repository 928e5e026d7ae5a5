"""Learns from errors which parameters a service refuses."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic_ai.exceptions import AgentRunError, ModelContextWindowExceededError, ModelHTTPError

from sgi.llm.service_errors import service_message

if TYPE_CHECKING:
    from pydantic_ai.settings import ModelSettings

_STATUSES = (400, 404, 422, 500, 501)
_SCHEMA_WORDS = re.compile(
    r"response.?format|json.?(?:schema|object|mode)|structured.?output|response.?schema|grammar",
    re.IGNORECASE,
)
_TOOL_WORDS = re.compile(r"\btools?\b|\btool.?(?:choice|use|call)|function.?call", re.IGNORECASE)
_REFUSED = re.compile(
    r"unsupported|\bnot (?:\w+ )?(?:support|permit|allow|accept|available|valid|implement|recogni|compatible)"
    r"|n[’']t support|unknown|unrecogni|unexpected|extra|deprecated|unavailable|invalid|\bonly\b|must be"
    r"|no longer|remove|cannot|incompatible|disabled|forbidden",
    re.IGNORECASE,
)
_KNOWN_NAMES = re.compile(
    r"expected one of|\b(?:supported|valid|allowed|accepted|known) (?:parameters|fields|arguments)",
    re.IGNORECASE,
)
"""The start of a list of the parameters that the service knows."""
_TOO_LARGE = re.compile(
    r"exceed|too (?:large|many|high|big|long)|at most|at least|less than|greater than|range|between|context",
    re.IGNORECASE,
)
"""Words of a service that knows the limit of tokens, but not this number."""


@dataclass(frozen=True)
class RequestForm:
    """The form of requests that a service accepts, as far as its errors show.

    Attributes:
        mode: how the schema is sent: ``native`` (response_format json_schema), ``tool`` or ``prompted``.
        json_object: whether a ``prompted`` request has the response_format json_object.
        limits: the names that are left for the limit of tokens; the first is sent, none omits it.
        sampling: the sampling parameters that are sent.
    """

    mode: str
    limits: tuple[str, ...]
    sampling: tuple[str, ...]
    json_object: bool = True

    def without_refused(self, error: AgentRunError) -> tuple[RequestForm, str] | None:
        """Return the form without what this error refuses, and what changes; None if it refuses nothing."""
        if (
            not isinstance(error, ModelHTTPError)
            or error.status_code not in _STATUSES
            or isinstance(error, ModelContextWindowExceededError)
        ):
            return None
        message = service_message(error)
        names = self._refused_parameters(error.body, message)
        if names & {*self.limits[:1]}:
            left = self.limits[1:]
            change = f"sends {left[0]} instead of {self.limits[0]}" if left else omits(["max_tokens"])
            return replace(self, limits=left), change
        if names:
            left = tuple(name for name in self.sampling if name not in names)
            return replace(self, sampling=left), omits(sorted(names))
        return self._without_schema(message)

    def _refused_parameters(self, body: Any, message: str) -> set[str]:
        sent = {*self.sampling, *self.limits[:1]}
        param = body.get("param") if isinstance(body, dict) else None
        refused = _named(sent, _KNOWN_NAMES.split(message)[0]) or _named(sent, message)
        if not _REFUSED.search(message):
            refused = set()
        if isinstance(param, str) and param in sent:
            refused = {param}
        return refused - {*self.limits} if _TOO_LARGE.search(message) else refused

    def _without_schema(self, message: str) -> tuple[RequestForm, str] | None:
        described = "describes the schema in the prompt"
        if self.mode == "native" and _SCHEMA_WORDS.search(message):
            return replace(self, mode="prompted"), f"{described} instead of response_format json_schema"
        if self.mode == "tool" and (_TOOL_WORDS.search(message) or _SCHEMA_WORDS.search(message)):
            return replace(self, mode="prompted"), f"{described} instead of a tool"
        if self.mode == "prompted" and self.json_object and _SCHEMA_WORDS.search(message):
            return replace(self, json_object=False), "omits response_format"
        return None

    def settings(self, all_settings: ModelSettings, limit_name: str) -> ModelSettings:
        """Return the settings in this form; ``limit_name`` is pydantic-ai's name of the limit of tokens."""
        settings = all_settings.copy()
        if "temperature" not in self.sampling:
            settings.pop("temperature", None)
        if "seed" not in self.sampling:
            settings.pop("seed", None)
        body: dict[str, Any] = {}
        if self.limits[:1] != (limit_name,):
            limit = settings.pop("max_tokens", None)
            body |= dict.fromkeys(self.limits[:1], limit)
        if not self.json_object:
            body["response_format"] = None
        if body:
            settings["extra_body"] = body
        return settings


def _named(names: set[str], message: str) -> set[str]:
    return {name for name in names if re.search(rf"(?<!\w){name}(?!\w)", message)}


def omits(names: list[str]) -> str:
    """Return what SGI does with these parameters, for a message.

    >>> omits(["seed"])
    'omits seed, as it does with seed=none'
    """
    return f"omits {' and '.join(names)}, as it does with {', '.join(f'{name}=none' for name in names)}"
