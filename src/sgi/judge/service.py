"""Where judges are, and the models that ask there."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, ClassVar, Self

from sgi.kernel import environment
from sgi.kernel.environment import (
    NO_KEY,
    OPENAI_URL,
    azure_url,
    check_same_source,
    checked_key,
    checked_url,
    openai_url,
    place_of,
    setting,
)
from sgi.kernel.errors import MissingExtra, UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from openai import AsyncOpenAI
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider

    from sgi.judge.chat import ModelChat
    from sgi.judge.spec import JudgeSpec, ModelName

_OLLAMA_URL = "http://localhost:11434/v1"
_OLLAMA_KEY = "OLLAMA_API_KEY"
_OLLAMA_PLACE = "OLLAMA_BASE_URL"
_MODULES = {"anthropic": "anthropic", "google": "google.genai"}
_KEYS = {"anthropic": ("ANTHROPIC_API_KEY",), "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY")}


@dataclass(frozen=True)
class Service(environment.Service):
    """Where a judge is, and the key that opens it; the URL is blank where a service has only one."""

    azure_version: ClassVar[str] = "2024-10-21"
    """The first stable version with JSON schemas for replies."""

    @classmethod
    def of(cls, name: ModelName) -> Self:
        """The service of a judge's name, with what the environment or ``.env`` says of it.

        Raises:
            UsageError: a key or an address is missing or unusable, or only the address stands in ``.env``.
        """
        if name.kind == "openai":
            return cls.openai(name.url)
        if name.kind == "azure":
            return cls.azure()
        if name.kind == "ollama":
            if not name.url:
                check_same_source(_OLLAMA_KEY, _OLLAMA_PLACE)
            key = checked_key(setting(_OLLAMA_KEY) or NO_KEY, _OLLAMA_KEY)
            return cls("ollama", checked_url(_url(name), _OLLAMA_PLACE), key, _OLLAMA_KEY)
        names = _KEYS[name.kind]
        found = next((one for one in names if setting(one)), names[0])
        return cls(name.kind, "", checked_key(setting(found), found), found)

    @property
    def own(self) -> bool:
        """Whether it is a server that only speaks as OpenAI does."""
        return self.kind == "ollama" or (self.kind == "openai" and self.url != OPENAI_URL)


def fingerprint_of(spec: JudgeSpec) -> str:
    """The fingerprint the opened model will have; no key and no client is needed for it.

    Raises:
        UsageError: the environment names no address where one is needed, or an unusable one.
    """
    url = _url(spec.named)
    return spec.fingerprint(place_of(checked_url(url, "The judge's address")) if url else "")


def _url(name: ModelName) -> str:
    """The address, unchecked; blank where the service has only one."""
    if name.kind == "openai":
        return openai_url(name.url)
    if name.kind == "ollama":
        return name.url or setting(_OLLAMA_PLACE) or _OLLAMA_URL
    return azure_url() if name.kind == "azure" else ""


@asynccontextmanager
async def open_chat(spec: JudgeSpec) -> AsyncIterator[ModelChat]:
    """The model a spec names, with one client as long as it is open; nothing is sent before it is used.

    Raises:
        MissingExtra: the extra ``judge`` is not installed.
        UsageError: the service's own client is not installed; a key or an address is missing.
    """
    _check_installed(spec.named.kind)
    from sgi.judge.chat import ModelChat

    service = Service.of(spec.named)
    if service.kind in _MODULES:
        model = _other_model(service, spec.named.name)
        yield ModelChat(model, model, spec, service)
        return
    from sgi.judge.client import openai_client

    async with openai_client(service, spec) as client:
        yield ModelChat(*_openai_models(service, spec.named.name, client), spec, service)


def _check_installed(kind: str) -> None:
    if find_spec("pydantic_ai") is None or find_spec("openai") is None:
        raise MissingExtra("A judge", "judge")
    module = _MODULES.get(kind)
    if module is not None and not _importable(module):
        hint = f'Install it: pip install "pydantic-ai-slim[{kind}]"'
        raise UsageError(f"A judge of {kind} needs its own client.", hint=hint)


def _importable(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its parent isn't there
        return False


def _other_model(service: Service, name: str) -> Model:
    """A model of a service that speaks its own language."""
    if service.kind == "anthropic":
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        return AnthropicModel(name, provider=AnthropicProvider(api_key=service.key))
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    return GoogleModel(name, provider=GoogleProvider(api_key=service.key))


def _openai_models(service: Service, name: str, client: AsyncOpenAI) -> tuple[Model, Model]:
    """A model reached by OpenAI's chat completions, and the same which sends schemas as they are."""
    from openai import AsyncAzureOpenAI
    from pydantic_ai.models.ollama import OllamaModel
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles import ModelProfile, merge_profile
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.azure import AzureProvider
    from pydantic_ai.providers.ollama import OllamaProvider
    from pydantic_ai.providers.openai import OpenAIProvider

    kind = OllamaModel if service.kind == "ollama" else OpenAIChatModel
    if isinstance(client, AsyncAzureOpenAI):
        provider: Provider[AsyncOpenAI] = AzureProvider(openai_client=client)
    elif service.kind == "ollama":
        provider = OllamaProvider(openai_client=client)
    else:
        provider = OpenAIProvider(openai_client=client)
    # Every server of one's own knows the older name of the limit.
    older = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False) if service.own else None
    profile = merge_profile(kind(name, provider=provider).profile, older)
    prepared = merge_profile(profile, ModelProfile(json_schema_transformer=None))
    return kind(name, provider=provider, profile=profile), kind(name, provider=provider, profile=prepared)
