"""A local server that behaves as the API of a provider does; `PROVIDERS` describes how each one behaves.

The shapes are those of the providers' public documentation and client libraries, as of 2026-11-28.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import pytest

from support.judge_server import JudgeServer, Request, ServerReply

KEY = "key-not-real-0123456789"
USAGE = (100, 10)
"""Input and output tokens that every provider reports."""
WAIT = 7
"""Seconds that the replies named ``throttled`` request as a wait, where the provider requests one."""


def _json(status: int, body: Any, **headers: str) -> ServerReply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ServerReply(status=status, body=json.dumps(body).encode(), headers=named)


def _chat(text: str | None, finish: str = "stop", **more: Any) -> ServerReply:
    """A chat completion in the form of OpenAI; other providers with that form add fields."""
    read, written = USAGE
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    completion = {"id": "chat-1", "object": "chat.completion", "created": 1, "model": "m"}
    return _json(200, completion | {"choices": [choice], "usage": usage} | more)


def _claude(text: str, stop: str = "end_turn", **more: Any) -> ServerReply:
    read, written = USAGE
    content = [{"type": "text", "text": text}] if text else []
    usage = {"input_tokens": read, "output_tokens": written}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content}
    return _json(200, message | {"stop_reason": stop, "stop_sequence": None, "usage": usage} | more)


def _claude_error(status: int, kind: str, message: str, **headers: str) -> ServerReply:
    error = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
    return _json(status, error, **headers)


def _gemini(text: str, finish: str = "STOP") -> ServerReply:
    read, written = USAGE
    content = {"content": {"role": "model", "parts": [{"text": text}]}} if text else {}
    usage = {"promptTokenCount": read, "candidatesTokenCount": written - 4, "thoughtsTokenCount": 4}
    candidate = {"index": 0, "finishReason": finish, **content}
    return _json(200, {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m"})


def _gemini_error(code: int, status: str, message: str, *details: dict[str, Any]) -> ServerReply:
    error = {"code": code, "message": message, "status": status, "details": [*details]}
    return _json(code, {"error": error})


@dataclass(frozen=True)
class Provider:
    """How a provider behaves.

    Attributes:
        model: the name after ``--judge``.
        path: the pattern of the path of requests.
        variables: environment variables; ``{url}`` is the address of the server.
        key_name: the variable of the key.
        headers: the headers that can have the key.
        schema: where the request has the JSON schema of the reply.
        good: a reply with a text.
        throttled: too many requests; `WAIT` is the requested wait unless ``waits`` is false.
        overloaded: a temporary failure.
        declined: replies of a model or a filter that declines.
        cut: a reply that ended at the token limit.
        wrong_key: the reply to a wrong key.
        package: the client library that must be installed, if any.
    """

    model: str
    path: str
    variables: Mapping[str, str]
    key_name: str
    headers: tuple[str, ...]
    schema: tuple[str, ...]
    good: Callable[[str], ServerReply]
    throttled: ServerReply
    overloaded: ServerReply
    declined: tuple[ServerReply, ...]
    cut: ServerReply
    wrong_key: ServerReply
    waits: bool = True
    package: str = ""
    more: Mapping[str, ServerReply] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """The variable of the address."""
        return next(iter(self.variables))


_OPENAI_SCHEMA = ("response_format", "json_schema", "schema")
_BEARER = ("authorization",)
_PROSE = _chat("I'm sorry, but I can't help with that.")
_RETRY_INFO = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{WAIT}s"}
_DAILY_QUOTA = {
    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
    "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "quotaValue": "20"}],
}
_BAD_KEY = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
_FILTERED = {
    "message": "The response was filtered due to the prompt triggering our content management policy.",
    "code": "content_filter",
    "param": "prompt",
    "status": 400,
    "innererror": {"code": "ResponsibleAIPolicyViolation", "content_filter_result": {}},
}
_FLAGGED = {
    "code": 403,
    "message": 'The model requires moderation on the provider. Your input was flagged for "violence".',
    "metadata": {"reasons": ["violence"], "flagged_input": "…", "provider_name": "P"},
}
_UPSTREAM = {
    "code": 429,
    "message": "Provider returned error",
    "metadata": {
        "raw": "m is temporarily rate-limited upstream. Please retry shortly.",
        "provider_name": "P",
    },
}

PROVIDERS = {
    "anthropic": Provider(
        model="anthropic:claude-haiku-4-5",
        path="/v1/messages",
        variables={"ANTHROPIC_BASE_URL": "{url}"},
        key_name="ANTHROPIC_API_KEY",
        headers=("authorization", "x-api-key"),
        schema=("output_config", "format", "schema"),
        good=_claude,
        throttled=_claude_error(
            429, "rate_limit_error", "This exceeds your rate limit.", retry_after=f"{WAIT}"
        ),
        overloaded=_claude_error(529, "overloaded_error", "Overloaded"),
        declined=(
            _claude(
                "", "refusal", stop_details={"type": "refusal", "category": "cyber", "explanation": "No."}
            ),
            _claude("", "refusal"),
        ),
        cut=_claude('{"verdicts": [', "max_tokens"),
        wrong_key=_claude_error(401, "authentication_error", "invalid x-api-key"),
        package="anthropic",
        more={
            "credit": _claude_error(
                400, "invalid_request_error", "Your credit balance is too low to access the API."
            )
        },
    ),
    "google": Provider(
        model="google:gemini-3.5-flash-lite",
        path="/v1(beta)?/models/gemini-3.5-flash-lite:generateContent",
        variables={"GOOGLE_GEMINI_BASE_URL": "{url}"},
        key_name="GOOGLE_API_KEY",
        headers=("x-goog-api-key",),
        schema=("generationConfig", "responseJsonSchema"),
        good=_gemini,
        throttled=_gemini_error(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.", _RETRY_INFO),
        overloaded=_gemini_error(503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
        declined=(
            _gemini("", "SAFETY"),
            _json(200, {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "modelVersion": "m"}),
        ),
        cut=_gemini('{"verdicts": [', "MAX_TOKENS"),
        wrong_key=_gemini_error(
            400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", _BAD_KEY
        ),
        package="google.genai",
        more={
            "quota of the day": _gemini_error(
                429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.", _DAILY_QUOTA
            )
        },
    ),
    "bedrock": Provider(
        model="bedrock:openai.gpt-oss-120b-1:0",
        path="/openai/v1/chat/completions",
        variables={"AWS_BEDROCK_BASE_URL": "{url}/openai/v1"},
        key_name="AWS_BEARER_TOKEN_BEDROCK",
        headers=_BEARER,
        schema=_OPENAI_SCHEMA,
        good=lambda text: _chat(f"<reasoning>The passage says so.</reasoning>{text}"),
        throttled=_json(
            429,
            {"message": "Too many tokens, please wait before trying again."},
            x_amzn_errortype="ThrottlingException",
        ),
        waits=False,
        overloaded=_json(503, {"message": "Bedrock is unable to process your request."}),
        declined=(_PROSE, _chat("Blocked.", "content_filter")),
        cut=_chat("<reasoning>The passage", "length"),
        wrong_key=_json(403, {"Message": "Authentication failed: Please make sure your API Key is valid."}),
    ),
    "azure": Provider(
        model="azure:gpt-4o-mini",
        path="/openai/deployments/gpt-4o-mini/chat/completions",
        variables={"AZURE_OPENAI_ENDPOINT": "{url}"},
        key_name="AZURE_OPENAI_API_KEY",
        headers=("api-key",),
        schema=_OPENAI_SCHEMA,
        good=lambda text: _chat(
            text, prompt_filter_results=[{"prompt_index": 0, "content_filter_results": {}}]
        ),
        throttled=_json(
            429,
            {
                "error": {
                    "code": "429",
                    "message": "Requests have exceeded the token rate limit of your tier.",
                }
            },
            retry_after=f"{WAIT}",
        ),
        overloaded=_json(
            503, {"error": {"code": "ServiceUnavailable", "message": "Please try again later."}}
        ),
        declined=(_json(400, {"error": _FILTERED}), _chat("", "content_filter")),
        cut=_chat('{"verdicts": [', "length"),
        wrong_key=_json(
            401,
            {
                "error": {
                    "code": "401",
                    "message": "Access denied due to invalid subscription key or wrong endpoint.",
                }
            },
        ),
        more={
            "absent": _json(
                404,
                {"error": {"code": "DeploymentNotFound", "message": "The API deployment does not exist."}},
            )
        },
    ),
    "ollama": Provider(
        model="ollama:qwen3",
        path="/v1/chat/completions",
        variables={"OLLAMA_BASE_URL": "{url}/v1"},
        key_name="OLLAMA_API_KEY",
        headers=_BEARER,
        schema=_OPENAI_SCHEMA,
        good=_chat,
        throttled=_json(429, {"error": "you have reached your usage limit"}),
        waits=False,
        overloaded=_json(
            503,
            {
                "error": {
                    "message": "server busy, please try again.  maximum pending requests exceeded",
                    "code": None,
                }
            },
        ),
        declined=(_PROSE,),
        cut=_chat('{"verdicts": [', "length"),
        wrong_key=_json(401, {"error": "unauthorized"}),
        more={
            "absent": _json(404, {"error": {"message": "model 'qwen3' not found", "type": "not_found_error"}})
        },
    ),
    "vllm": Provider(
        model="vllm:Qwen/Qwen3-8B",
        path="/v1/chat/completions",
        variables={"VLLM_BASE_URL": "{url}/v1"},
        key_name="VLLM_API_KEY",
        headers=_BEARER,
        schema=_OPENAI_SCHEMA,
        good=_chat,
        throttled=_json(429, {"detail": "Too many requests"}, retry_after=f"{WAIT}"),
        overloaded=_json(503, {"detail": "Service Unavailable"}),
        declined=(_PROSE,),
        cut=_chat('{"verdicts": [', "length"),
        wrong_key=_json(401, {"error": "Unauthorized"}),
        more={
            "absent": _json(
                404,
                {"error": {"message": "The model `m` does not exist.", "type": "NotFoundError", "code": 404}},
            )
        },
    ),
    "openrouter": Provider(
        model="openrouter:openai/gpt-4o-mini",
        path="/api/v1/chat/completions",
        variables={"OPENROUTER_BASE_URL": "{url}/api/v1"},
        key_name="OPENROUTER_API_KEY",
        headers=_BEARER,
        schema=_OPENAI_SCHEMA,
        good=lambda text: _chat(text, provider="P"),
        throttled=_json(429, {"error": _UPSTREAM, "user_id": "u"}, retry_after=f"{WAIT}"),
        overloaded=_json(200, {"error": {"code": 502, "message": "Provider returned error"}, "user_id": "u"}),
        declined=(_json(403, {"error": _FLAGGED}), _chat("", "content_filter")),
        cut=_chat('{"verdicts": [', "length"),
        wrong_key=_json(401, {"error": {"message": "User not found.", "code": 401}}),
        more={
            "credit": _json(402, {"error": {"message": "This request requires more credits.", "code": 402}}),
        },
    ),
}


def has_client(provider: Provider) -> bool:
    """Whether the client library of a provider is installed, or it needs none."""
    try:
        return not provider.package or bool(find_spec(provider.package))
    except ModuleNotFoundError:  # its parent package is not there
        return False


def require_client(provider: Provider) -> None:
    """Skip the test if the client library of a provider is not installed."""
    if not has_client(provider):
        pytest.skip("needs the client library of the provider")


class ProviderServer(JudgeServer):
    """Serves one provider: it checks the path and the key, and then replies as `JudgeServer` does."""

    def __init__(
        self,
        provider: Provider,
        plan: Iterable[ServerReply] = (),
        replies: Callable[[Request], ServerReply] | ServerReply | None = None,
    ) -> None:
        super().__init__(plan, provider.good("{}") if replies is None else replies)
        self._path = ""
        self._provider = provider

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables of a user of this server."""
        variables = {name: value.format(url=self.url) for name, value in self._provider.variables.items()}
        return variables | {self._provider.key_name: KEY}

    def enter(self, request: Request) -> ServerReply:
        """Record a request, and return its reply."""
        if not re.fullmatch(self._provider.path, request.path.partition("?")[0]):
            return ServerReply(status=404, body=b"404 page not found")
        sent = [request.headers.get(name, "") for name in self._provider.headers]
        if KEY not in [value.removeprefix("Bearer ") for value in sent]:
            return self._provider.wrong_key
        return super().enter(request)
