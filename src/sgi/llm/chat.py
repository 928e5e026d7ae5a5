"""Chat models of any service, through the model classes of pydantic-ai (its agents are not used).

This module, ``client`` and ``service_errors`` are imported only when a model is opened.
"""

from __future__ import annotations

import json
import logging
import re
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import AgentRunError, ModelContextWindowExceededError, ModelHTTPError, UserError
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from sgi.kernel.errors import JudgeMalformedError, UsageError
from sgi.kernel.prompts import estimated_tokens
from sgi.llm.calls import CALL_KEY, Completion, Finish
from sgi.llm.service_errors import judge_error, quote_redacted, redact_reply, service_message

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import Model

    from sgi.kernel.environment import Service
    from sgi.llm.calls import Call, Message, Shape
    from sgi.llm.judge_spec import JudgeSpec


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
        """Return the form without the refused part, and the change in words; None if nothing is refused."""
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

    def _refused_parameters(self, body: object, message: str) -> set[str]:
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
        """Return the model settings that the service accepts, with the token limit under ``limit_name``."""
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
    """Return the end of a message that says which parameters SGI omits.

    >>> omits(["seed"])
    'omits seed, as it does with seed=none'
    """
    return f"omits {' and '.join(names)}, as it does with {', '.join(f'{name}=none' for name in names)}"


_log = logging.getLogger("sgi.llm")
_FINISHES = {"length": Finish.LENGTH, "content_filter": Finish.FILTER}


class ModelChat:
    """Chat model of a remote service.

    The service enforces the JSON schema of the reply if it can; otherwise a tool call or instructions
    describe the schema. After a service refuses a schema, a tool or a parameter, the request is repeated in a
    form without it, and so are later requests; a log message says so once.

    Args:
        preparing: the pydantic-ai model that converts a schema to one that the service accepts.
        model: the pydantic-ai model that sends requests with converted schemas.
        spec: the settings of the judge.
        service: the address and the key of the service.
    """

    def __init__(self, preparing: Model, model: Model, spec: JudgeSpec, service: Service) -> None:
        # Converting a schema takes a tenth of the time of a request, so each is converted once.
        self._parameters = lru_cache(maxsize=1024)(partial(_converted_parameters, preparing))
        self._model = model
        self._service = service
        self._name = f"{service.kind}:{spec.name_parts.name}"
        api = spec.name_parts.api
        self._settings = _settings(spec, api)
        self.fingerprint = spec.fingerprint(service.address)
        self._limit_name = _limit_name(model, api)
        self._batched = spec.batch
        self._form = _first_form(self._settings, model, self._limit_name, api)
        self._omitted = [name for name in _sampling(self._settings) if name not in self._form.sampling]

    async def complete(self, call: Call, /) -> Completion:
        """Return the model's reply.

        Raises:
            JudgeUnavailableError: the service cannot be reached, is busy or fails, or the connection breaks.
            JudgeRejectedError: the service rejects all requests, because of the key, the model or the quota.
            JudgeRefusedError: a content filter of the service refuses the request.
            JudgeMalformedError: the reply is not a chat completion.
            JudgeError: the service rejects this request.
            UsageError: pydantic-ai cannot express the request for the service.
        """
        if self._omitted:
            omitted, self._omitted = self._omitted, []
            _log.warning("%s takes no %s, so SGI %s.", self._name, " and no ".join(omitted), omits(omitted))
        while True:
            form = self._form
            try:
                return _completion(await self._request(call, form), call, self._service)
            except AgentRunError as error:
                learned = form.without_refused(error)
                if learned is None:
                    raise judge_error(error, self._name, self._service) from None
            if self._form is form:  # otherwise another call has learned it meanwhile
                self._form, change = learned
                _log.warning("%s refuses a part of the requests, so from now on SGI %s.", self._name, change)

    async def _request(self, call: Call, form: RequestForm) -> ModelResponse:
        settings = _with_repeat(form.settings(self._settings, self._limit_name), call.repeat)
        if self._batched:
            settings["extra_headers"] = {CALL_KEY: call.key(self.fingerprint).hex()}
        try:
            return await model_request(
                self._model,
                _messages(call.messages),
                model_settings=settings,
                model_request_parameters=self._parameters(call.shape, form.mode),
                instrument=False,
            )
        except UserError as error:
            reason = quote_redacted(str(error), self._service)
            raise UsageError(f"{self._name} does not support {call.shape.name}: {reason}") from None
        # An invalid reply causes these errors in the client and the model layer, which do not validate first.
        except (LookupError, TypeError, ValueError, AttributeError, AssertionError, RecursionError) as error:
            message = f"{self._name} sent something other than a chat completion ({type(error).__name__})."
            raise JudgeMalformedError(message, hint="Check the judge's URL.") from None


def _mode(model: Model) -> str:
    profile = model.profile
    if profile.get("supports_json_schema_output", False):
        return "native"
    return "tool" if profile.get("supports_tools", True) else "prompted"


def _limit_name(model: Model, api: str) -> str:
    """Return the name under which pydantic-ai sends the limit of tokens."""
    newer = dict(model.profile).get("openai_chat_supports_max_completion_tokens", True)
    return "max_completion_tokens" if newer and api == "openai" else "max_tokens"


def _first_form(settings: ModelSettings, model: Model, limit_name: str, api: str) -> RequestForm:
    limits = [limit_name] if "max_tokens" in settings else []
    if limits and api == "openai":
        limits += {"max_tokens", "max_completion_tokens"} - {limit_name}
    absent = _absent_sampling(model, api)
    sampling = tuple(name for name in _sampling(settings) if name not in absent)
    return RequestForm(_mode(model), tuple(limits), sampling)


def _sampling(settings: ModelSettings) -> list[str]:
    return [name for name in ("temperature", "seed") if name in settings]


def _absent_sampling(model: Model, api: str) -> set[str]:
    """Return the sampling parameters that a model is known not to have; pydantic-ai would drop them."""
    names = {"seed"} if api == "anthropic" else set()
    if dict(model.profile).get("anthropic_disallows_sampling_settings"):
        names.add("temperature")
    return names


def _settings(spec: JudgeSpec, api: str) -> ModelSettings:
    settings = ModelSettings(timeout=spec.timeout)
    if spec.max_tokens is not None:
        settings["max_tokens"] = spec.max_tokens
    if spec.temperature is not None:
        settings["temperature"] = spec.temperature
    if spec.seed is not None:
        settings["seed"] = spec.seed
    if api != "openai":  # the client of this package has no retries
        settings["max_retries"] = 0
    return settings


def _with_repeat(settings: ModelSettings, repeat: int) -> ModelSettings:
    """Give each repeat its own seed: a service with a fixed seed would send the same reply again."""
    seed = settings.get("seed")
    return settings if seed is None or repeat == 1 else {**settings, "seed": seed + repeat - 1}


def _converted_parameters(model: Model, shape: Shape, mode: str) -> ModelRequestParameters:
    """Return the schema in a form that the service accepts, in strict mode if that supports the schema."""
    try:
        return model.customize_request_parameters(_parameters(shape, mode, strict=True))
    except UserError:
        return model.customize_request_parameters(_parameters(shape, mode, strict=False))


def _parameters(shape: Shape, mode: Any, *, strict: bool) -> ModelRequestParameters:
    schema = json.loads(shape.text)
    if mode == "tool":
        tool = ToolDefinition(name=shape.name, parameters_json_schema=schema, strict=strict, kind="output")
        return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)
    output = OutputObjectDefinition(json_schema=schema, name=shape.name, strict=strict)
    return ModelRequestParameters(output_mode=mode, output_object=output)


def _messages(messages: tuple[Message, ...]) -> list[ModelMessage]:
    requests: list[ModelMessage] = []
    for message in messages:
        text = _encodable(message.text)
        if message.role == "assistant":
            requests.append(ModelResponse(parts=[TextPart(text)]))
            continue
        part = SystemPromptPart(text) if message.role == "system" else UserPromptPart(text)
        if requests and isinstance(requests[-1], ModelRequest):
            requests[-1].parts = [*requests[-1].parts, part]
        else:
            requests.append(ModelRequest(parts=[part]))
    return requests


def _completion(response: ModelResponse, call: Call, service: Service) -> Completion:
    """Return the reply; replies are stored and printed, so the key is masked here."""
    text = redact_reply("".join(_part_text(part) for part in response.parts), service)
    refusal = redact_reply(str((response.provider_details or {}).get("refusal") or ""), service)
    finish = _FINISHES.get(response.finish_reason or "", Finish.STOP)
    usage = response.usage
    return Completion(
        _encodable(text),
        Finish.STOP if refusal else finish,
        _encodable(refusal),
        usage.input_tokens or call.tokens,
        usage.output_tokens or estimated_tokens(text),
    )


def _part_text(part: object) -> str:
    if isinstance(part, ToolCallPart):
        # The original text, if there is one: parsing and writing it again would hide its errors.
        return part.args if isinstance(part.args, str) else part.args_as_json_str()
    return part.content if isinstance(part, TextPart) else ""


def _encodable(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode, by the replacement character."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
