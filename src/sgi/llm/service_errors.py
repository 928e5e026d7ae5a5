"""Converts the errors of a service to judge errors."""

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
from sgi.kernel.short_text import quote

if TYPE_CHECKING:
    from sgi.kernel.environment import Service

_TRANSIENT = {408, 409, 425, 429}
_SERVER_ERROR = 500
_MAX_QUOTED = 300
_FILTERS = ("content_filter", "content_policy", "responsible_ai")
_SCHEMAS = ("response_format", "json_schema", "json schema", "structured output", "grammar")


def is_schema_error(error: AgentRunError) -> bool:
    """Return whether an error means that the service rejects the JSON schema of a request."""
    if not isinstance(error, ModelHTTPError) or error.status_code not in (400, 422, 501):
        return False
    message = _service_message(error).lower()
    return any(word in message for word in _SCHEMAS)


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
    return JudgeMalformedError(
        f"{name} sent something other than a chat completion.", hint="Check the judge's URL."
    )


def _by_status(error: ModelHTTPError, name: str, service: Service) -> JudgeError:
    status = error.status_code
    if isinstance(error, ModelQuotaExceededError) or status == 402:  # noqa: PLR2004 - Payment Required
        return JudgeRejectedError(
            f"{name}: the account's quota is used up ({status}).", hint="Raise the quota, or add credit."
        )
    if status in (401, 403):
        return JudgeRejectedError(f"{name} refused the key ({status}).", hint=f"Check {service.key_name}.")
    if status == 404:  # noqa: PLR2004 - Not Found
        message = f"{name} does not exist (404)."
        return JudgeRejectedError(
            message, hint="Check the model's name and the URL, which often ends in /v1."
        )
    if status in _TRANSIENT or status >= _SERVER_ERROR or isinstance(error, ModelRateLimitError):
        return _transient(error, name)
    return _request_error(error, name, service)


def _transient(error: ModelHTTPError, name: str) -> JudgeUnavailableError:
    if isinstance(error, ModelRateLimitError | ModelOverloadedError) or error.status_code == 429:  # noqa: PLR2004 - Too Many Requests
        return JudgeUnavailableError(
            f"{name} receives too many requests ({error.status_code}).",
            retry_after=error.retry_after,
            throttled=True,
            hint="Lower the judge's concurrency, or set rpm or tpm.",
        )
    return JudgeUnavailableError(
        f"{name} has a server error ({error.status_code}).",
        retry_after=error.retry_after,
        hint="Try again later.",
    )


def _request_error(error: ModelHTTPError, name: str, service: Service) -> JudgeError:
    message = _service_message(error)
    if any(word in message.lower() for word in _FILTERS):
        return JudgeRefusedError("A content filter of the judge's service refused the request.")
    if isinstance(error, ModelContextWindowExceededError):
        too_long = f"{name}: the request is too long for the model ({error.status_code})."
        return JudgeError(too_long, hint="Lower the judge's budget.")
    reason = redact(quote(message, _MAX_QUOTED), service)
    return JudgeError(f"{name} rejected the request ({error.status_code}): {reason}")


def _service_message(error: ModelAPIError) -> str:
    body = error.body
    if isinstance(body, dict):
        inner = body.get("error", body)
        message = inner.get("message") if isinstance(inner, dict) else inner
        code = inner.get("code") if isinstance(inner, dict) else ""
        return f"{message or json.dumps(body, default=str)} {code or ''}".strip()
    return str(body or error.message)


def redact(text: str, service: Service) -> str:
    """Replace the service's key in a text by ``***``."""
    return text.replace(service.key, "***") if len(service.key) > len("none") else text
