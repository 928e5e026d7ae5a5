"""Converts the errors of a service to judge errors."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING

from pydantic_ai.exceptions import (
    AgentRunError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelOverloadedError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelTimeoutError,
)

from sgi.kernel.environment import MIN_IN_CONTENT, SecretMask
from sgi.kernel.errors import (
    JudgeError,
    JudgeMalformedError,
    JudgeRefusedError,
    JudgeRejectedError,
    JudgeUnavailableError,
)
from sgi.kernel.short_text import quote
from sgi.llm.envelope import NO_CHOICES

if TYPE_CHECKING:
    from sgi.kernel.environment import Service

_TRANSIENT = {408, 409, 425, 429}
_SERVER_ERROR = 500
_MAX_QUOTED = 300
_LIMIT = re.compile(r"max_(?:completion_)?tokens")
_FILTERS = ("content_filter", "content_policy", "responsible_ai", "flagged")
_USED_UP = re.compile(
    r"insufficient.{0,20}(?:balance|credit|fund|quota)|credit balance is too low|out of credits"
    r"|余额不足|欠费",
    re.IGNORECASE,
)


def judge_error(error: AgentRunError, name: str, service: Service) -> JudgeError:
    """Convert an error of pydantic-ai; the message contains the judge's ``name``, but not the key."""
    if isinstance(error, ModelHTTPError):
        converted = _by_status(error, name, service)
        converted.answered = True
        return converted
    if isinstance(error, ModelTimeoutError):
        return JudgeUnavailableError(f"{name} did not answer in time.", hint="Raise the judge's timeout.")
    if isinstance(error, ModelConnectionError):
        message = f"{name} cannot be reached, or the connection was closed."
        return JudgeUnavailableError(
            message, hint="Check the URL and the network, and whether the server runs."
        )
    if isinstance(error, ModelAPIError) and error.message == NO_CHOICES:
        # It may be billed, so it does not count as answered.
        return JudgeUnavailableError(f"{name} sent {NO_CHOICES}.", hint="Check the judge's URL.")
    return JudgeMalformedError(
        f"{name} sent something other than a chat completion.", hint="Check the judge's URL."
    )


def _by_status(error: ModelHTTPError, name: str, service: Service) -> JudgeError:
    status, message = error.status_code, service_message(error)
    reason = _reason(message, status, service)
    used_up = status in (400, 403, 429) and _USED_UP.search(message)
    if used_up or isinstance(error, ModelQuotaExceededError) or status == HTTPStatus.PAYMENT_REQUIRED:
        return JudgeRejectedError(
            f"{name}: the account's quota is used up ({status}){reason}.",
            hint="Raise the quota, or add credit.",
        )
    if status in (400, 403) and any(word in message.lower() for word in _FILTERS):
        return JudgeRefusedError(f"A content filter of the judge's service refused the request{reason}.")
    if status in (401, 403) or isinstance(error, ModelAuthenticationError):
        return JudgeRejectedError(
            f"{name} refused the key ({status}){reason}.", hint=f"Check {service.key_name}."
        )
    if status == HTTPStatus.NOT_FOUND:
        return JudgeRejectedError(
            f"{name} does not exist (404){reason}.",
            hint="Check the model's name and the URL, which often ends in /v1.",
        )
    if is_temporary(status) or isinstance(error, ModelRateLimitError):
        return _transient(error, name, reason)
    return _request_error(error, name, service)


def is_temporary(status: int) -> bool:
    """Return whether a request with this HTTP status can succeed later.

    >>> is_temporary(429), is_temporary(503), is_temporary(400)
    (True, True, False)
    """
    return status in _TRANSIENT or status >= _SERVER_ERROR


def _transient(error: ModelHTTPError, name: str, reason: str) -> JudgeUnavailableError:
    throttled = error.status_code == HTTPStatus.TOO_MANY_REQUESTS
    if throttled or isinstance(error, ModelRateLimitError | ModelOverloadedError):
        return JudgeUnavailableError(
            f"{name} receives too many requests ({error.status_code}){reason}.",
            retry_after=error.retry_after,
            throttled=True,
            hint="Lower the judge's concurrency, or set rpm or tpm.",
        )
    return JudgeUnavailableError(
        f"{name} has a server error ({error.status_code}){reason}.",
        retry_after=error.retry_after,
        hint="Try again later.",
    )


def _request_error(error: ModelHTTPError, name: str, service: Service) -> JudgeError:
    message = service_message(error)
    if any(word in message.lower() for word in _FILTERS):
        return JudgeRefusedError("A content filter of the judge's service refused the request.")
    if isinstance(error, ModelContextWindowExceededError):
        too_long = f"{name}: the request is too long for the model ({error.status_code})."
        return JudgeError(too_long, hint="Lower the judge's budget.")
    reason = quote_redacted(message, service)
    hint = "Lower the judge's max_tokens, or omit it with max_tokens=none." if _LIMIT.search(message) else ""
    return JudgeError(f"{name} rejected the request ({error.status_code}): {reason}", hint=hint)


def _reason(message: str, status: int, service: Service) -> str:
    """Return the service's message as the end of a sentence, empty if there is none.

    Services quote a refused key in part, so words with stars or dots are left out of those messages.
    """
    text = quote_redacted(message, service)
    if status in (401, 403):
        text = re.sub(r"\S*(?:\*{2,}|\.{3,}|…)\S*", "***", text)
    return f": {text.rstrip('. ')}" if text.strip(". ") else ""


def service_message(error: ModelAPIError) -> str:
    """Return the message of the service, with its code and with the message of the provider behind it."""
    body = error.body
    if not isinstance(body, dict):
        return str(body or "")
    inner = body.get("error", body)
    if not isinstance(inner, dict):
        return str(inner)
    message, code = inner.get("message") or inner.get("Message"), inner.get("code")  # AWS writes both
    if isinstance(detail := inner.get("detail"), list):  # of FastAPI; it may quote the whole request
        message = "; ".join(map(_validation_problem, detail))
    elif isinstance(detail, str):
        message = message or detail
    metadata = inner.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    parts = [message or json.dumps(inner, default=str), raw or ""]
    if code and str(code) != str(error.status_code if isinstance(error, ModelHTTPError) else ""):
        parts.insert(1, code)
    return " ".join(str(part) for part in parts if part)


def _validation_problem(problem: object) -> str:
    if not isinstance(problem, dict):
        return str(problem)
    place = problem.get("loc")
    names = [str(name) for name in place if name != "body"] if isinstance(place, list) else []
    return f"{'.'.join(names)}: {problem.get('msg')}"


def quote_redacted(text: str, service: Service) -> str:
    """Return the start of a text from the service; its key is masked before and after the text is cut."""
    mask = _mask(service.key if len(service.key) > len("none") else "")
    return mask(quote(mask(text), _MAX_QUOTED))


def redact_reply(text: str, service: Service) -> str:
    """Mask the service's key in a reply, but not a key under 8 characters, which may be a word."""
    return _mask(service.key if len(service.key) >= MIN_IN_CONTENT else "")(text)


@lru_cache(maxsize=16)
def _mask(key: str) -> SecretMask:
    return SecretMask([key])
