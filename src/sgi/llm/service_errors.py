"""What a service's errors mean for those who ask."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pydantic_ai.exceptions import (
    AgentRunError,
    ModelAPIError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelOverloadedError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelTimeoutError,
)

from sgi.kernel.errors import (
    JudgeError,
    JudgeMalformedError,
    JudgeRefusedError,
    JudgeRejectedError,
    JudgeUnavailableError,
)
from sgi.llm.parse_reply import shown

if TYPE_CHECKING:
    from sgi.llm.service import Service

_PASSING = {408, 409, 425, 429}
_SERVER_ERROR = 500
_WORDS = 300
_FILTERS = ("content_filter", "content_policy", "responsible_ai")
_SCHEMAS = ("response_format", "json_schema", "json schema", "structured output", "grammar")


def about_schemas(error: AgentRunError) -> bool:
    """Whether a service says that it cannot hold a reply to this schema."""
    if not isinstance(error, ModelHTTPError) or error.status_code not in (400, 422, 501):
        return False
    told = _words(error).lower()
    return any(word in told for word in _SCHEMAS)


def fault(error: AgentRunError, name: str, service: Service) -> JudgeError:
    """The error of ours that a service's error stands for; it repeats no key.

    Args:
        error: what the model layer raised.
        name: the judge's, for the message.
        service: whose key must not be told.
    """
    if isinstance(error, ModelHTTPError):
        made = _by_status(error, name, service)
        made.answered = True
        return made
    if isinstance(error, ModelTimeoutError):
        return JudgeUnavailableError(f"{name} was silent for too long.", hint="Raise the judge's timeout.")
    if isinstance(error, ModelConnectionError):
        message = f"{name} cannot be reached, or the connection broke off."
        return JudgeUnavailableError(message, hint="Check the URL, the network and whether the server runs.")
    return JudgeMalformedError(
        f"{name} sent something that is no chat completion.", hint="Check the judge's URL."
    )


def _by_status(error: ModelHTTPError, name: str, service: Service) -> JudgeError:
    status = error.status_code
    if isinstance(error, ModelQuotaExceededError) or status == 402:  # noqa: PLR2004 - HTTP's number for payment required
        return JudgeRejectedError(
            f"{name}: the account's quota is used up ({status}).", hint="Raise it, or pay."
        )
    if status in (401, 403):
        return JudgeRejectedError(f"{name} refused the key ({status}).", hint=f"Check {service.key_name}.")
    if status == 404:  # noqa: PLR2004 - HTTP's number for what isn't there
        message = f"{name} is not there (404)."
        return JudgeRejectedError(
            message, hint="Check the model's name and the URL, which often ends in /v1."
        )
    if status in _PASSING or status >= _SERVER_ERROR or isinstance(error, ModelRateLimitError):
        return _passing(error, name)
    return _not_taken(error, name, service)


def _passing(error: ModelHTTPError, name: str) -> JudgeUnavailableError:
    if isinstance(error, ModelRateLimitError | ModelOverloadedError) or error.status_code == 429:  # noqa: PLR2004 - HTTP's number for too many requests
        return JudgeUnavailableError(
            f"{name} is asked too fast ({error.status_code}).",
            retry_after=error.retry_after,
            throttled=True,
            hint="Lower the judge's concurrency, or set rpm or tpm.",
        )
    return JudgeUnavailableError(
        f"{name} is out of order ({error.status_code}).",
        retry_after=error.retry_after,
        hint="Try again later.",
    )


def _not_taken(error: ModelHTTPError, name: str, service: Service) -> JudgeError:
    """A request that would be refused again."""
    words = _words(error)
    if any(word in words.lower() for word in _FILTERS):
        return JudgeRefusedError("A content filter of the judge's service refused the request.")
    if isinstance(error, ModelContextWindowExceededError):
        message = f"{name}: the request is longer than the model reads ({error.status_code})."
        return JudgeError(message, hint="Lower the judge's budget.")
    told = redacted(shown(words, _WORDS), service)
    return JudgeError(f"{name} did not take the request ({error.status_code}): {told}")


def _words(error: ModelAPIError) -> str:
    """What the service says: its message, else all it sent."""
    body = error.body
    if isinstance(body, dict):
        inner = body.get("error", body)
        message = inner.get("message") if isinstance(inner, dict) else inner
        code = inner.get("code") if isinstance(inner, dict) else ""
        return f"{message or json.dumps(body, default=str)} {code or ''}".strip()
    return str(body or error.message)


def redacted(words: str, service: Service) -> str:
    """The words without the key."""
    return words.replace(service.key, "***") if len(service.key) > len("none") else words
