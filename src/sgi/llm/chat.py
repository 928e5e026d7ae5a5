"""A model of any service, by pydantic-ai's model layer: its direct requests alone, without agents.

This module, ``client`` and ``faults`` are imported when a model is opened, and not before.
"""

from __future__ import annotations

import json
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import AgentRunError, UserError
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
from sgi.llm.calls import Completion, Finish
from sgi.llm.parse_reply import shown
from sgi.llm.service_errors import about_schemas, fault, redacted

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import Model

    from sgi.llm.calls import Call, Message, Shape
    from sgi.llm.service import Service
    from sgi.llm.spec import JudgeSpec

_WORDS = 300
_FINISHES = {"length": Finish.LENGTH, "content_filter": Finish.FILTER}


class ModelChat:
    """A model of a service.

    Replies are held to the schema by the service where it can, by a tool call where it only has those, else
    by instructions. A service that says it cannot after all is given instructions from then on.

    Args:
        preparing: the model, of pydantic-ai; it turns a schema into one its service takes.
        model: the same, which may take schemas as they are.
        spec: how it is asked.
        service: where it is.
    """

    def __init__(self, preparing: Model, model: Model, spec: JudgeSpec, service: Service) -> None:
        # Preparing a schema takes a tenth of a request's time, so each is prepared once.
        self._prepared = lru_cache(maxsize=1024)(partial(_prepared, preparing))
        self._model = model
        self._service = service
        self._name = f"{service.kind}:{spec.named.name}"
        self._settings = _settings(spec, service)
        self._fingerprint = spec.fingerprint(service.address)
        self._mode = _mode(model)

    @property
    def fingerprint(self) -> str:
        """Name, place unless it is the usual one, and what is asked of sampling."""
        return self._fingerprint

    async def complete(self, call: Call, /) -> Completion:
        """The model's reply.

        Raises:
            JudgeUnavailableError: the service cannot be reached, broke off, is busy or out of order.
            JudgeRejectedError: it takes no request: key, model or quota.
            JudgeRefusedError: a filter of the service refused the request.
            JudgeMalformedError: it sent something that is no completion.
            JudgeError: it does not take this request.
            UsageError: the model layer cannot put the request in the service's words.
        """
        mode = self._mode
        try:
            response = await self._request(call, mode)
        except AgentRunError as error:
            if mode != "native" or not about_schemas(error):
                raise fault(error, self._name, self._service) from None
            self._mode = "prompted"
            response = await self._prompted(call)
        return _completion(response, call)

    async def _prompted(self, call: Call) -> ModelResponse:
        try:
            return await self._request(call, "prompted")
        except AgentRunError as error:
            raise fault(error, self._name, self._service) from None

    async def _request(self, call: Call, mode: str) -> ModelResponse:
        try:
            return await model_request(
                self._model,
                _messages(call.messages),
                model_settings=self._settings,
                model_request_parameters=self._prepared(call.shape, mode),
                instrument=False,
            )
        except UserError as error:
            told = redacted(shown(str(error), _WORDS), self._service)
            raise UsageError(f"{self._name} cannot be asked for {call.shape.name}: {told}") from None
        # What a broken reply does inside the client and the layer: both index and compare before they check.
        except (LookupError, TypeError, ValueError, AttributeError, AssertionError) as error:
            message = f"{self._name} sent something that is no chat completion ({type(error).__name__})."
            raise JudgeMalformedError(message, hint="Check the judge's URL.") from None


def _mode(model: Model) -> str:
    """How the model's replies are held to a schema."""
    profile = model.profile
    if profile.get("supports_json_schema_output", False):
        return "native"
    return "tool" if profile.get("supports_tools", True) else "prompted"


def _settings(spec: JudgeSpec, service: Service) -> ModelSettings:
    settings = ModelSettings(max_tokens=spec.max_tokens, timeout=spec.timeout)
    if spec.temperature is not None:
        settings["temperature"] = spec.temperature
    if spec.seed is not None:
        settings["seed"] = spec.seed
    if service.kind in ("anthropic", "google"):  # the others' client is made without
        settings["max_retries"] = 0
    return settings


def _prepared(model: Model, shape: Shape, mode: str) -> ModelRequestParameters:
    """The schema as the service takes it; without its strict mode where that has no words for the schema."""
    try:
        return model.customize_request_parameters(_parameters(shape, mode, strict=True))
    except UserError:
        return model.customize_request_parameters(_parameters(shape, mode, strict=False))


def _parameters(shape: Shape, mode: Any, *, strict: bool) -> ModelRequestParameters:
    schema = json.loads(shape.text)
    if mode == "tool":
        tool = ToolDefinition(name=shape.name, parameters_json_schema=schema, strict=strict, kind="output")
        return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)
    wanted = OutputObjectDefinition(json_schema=schema, name=shape.name, strict=strict)
    return ModelRequestParameters(output_mode=mode, output_object=wanted)


def _messages(messages: tuple[Message, ...]) -> list[ModelMessage]:
    made: list[ModelMessage] = []
    for message in messages:
        text = _encodable(message.text)
        if message.role == "assistant":
            made.append(ModelResponse(parts=[TextPart(text)]))
            continue
        part = SystemPromptPart(text) if message.role == "system" else UserPromptPart(text)
        if made and isinstance(made[-1], ModelRequest):
            made[-1].parts = [*made[-1].parts, part]
        else:
            made.append(ModelRequest(parts=[part]))
    return made


def _completion(response: ModelResponse, call: Call) -> Completion:
    """What came, with tokens estimated where the service counted none."""
    text = "".join(_written(part) for part in response.parts)
    refusal = str((response.provider_details or {}).get("refusal") or "")
    finish = _FINISHES.get(response.finish_reason or "", Finish.STOP)
    usage = response.usage
    return Completion(
        _encodable(text),
        Finish.STOP if refusal else finish,
        _encodable(refusal),
        usage.input_tokens or call.tokens,
        usage.output_tokens or estimated_tokens(text),
    )


def _written(part: Any) -> str:
    if isinstance(part, ToolCallPart):
        # As it was written, where it is a text: read and written anew, it would lose what is wrong with it.
        return part.args if isinstance(part.args, str) else part.args_as_json_str()
    return part.content if isinstance(part, TextPart) else ""


def _encodable(text: str) -> str:
    """The text with a mark in place of what is no character: half a pair, which no UTF-8 holds."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
