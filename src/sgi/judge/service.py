"""Where judges are: addresses, keys, and the settings they are read from."""

from __future__ import annotations

import os
import re
from contextlib import asynccontextmanager
from importlib.util import find_spec
from ipaddress import ip_address
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from sgi.kernel.errors import MissingExtra, UsageError
from sgi.kernel.signature import digest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from openai import AsyncOpenAI
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider

    from sgi.judge.chat import ModelChat
    from sgi.judge.spec import JudgeSpec, ModelName

_OPENAI_URL = "https://api.openai.com/v1"
_OLLAMA_URL = "http://localhost:11434/v1"
_NO_KEY = "none"
"""Sent to a server of one's own, which asks for no key; the client insists on one."""
_AZURE_VERSION = "2024-10-21"
"""The first stable version with JSON schemas for replies."""
_MODULES = {"anthropic": "anthropic", "google": "google.genai"}
_GOOGLE_KEYS = ("GOOGLE_API_KEY", "GEMINI_API_KEY")


class Service(NamedTuple):
    """Where a judge is, and the key that opens it."""

    kind: str
    url: str
    key: str
    key_name: str
    api_version: str = ""

    @classmethod
    def of(cls, name: ModelName) -> Service:
        """The service of a judge's name, with what the environment or ``.env`` says of it.

        Raises:
            UsageError: a key or an address is missing or unusable, or only the address stands in ``.env``.
        """
        if name.kind == "openai":
            return cls._openai(name.url)
        if name.kind == "ollama":
            url = name.url or setting("OLLAMA_BASE_URL") or _OLLAMA_URL
            key = _checked_key(setting("OLLAMA_API_KEY") or _NO_KEY, "OLLAMA_API_KEY")
            return cls("ollama", _checked_url(url, "OLLAMA_BASE_URL"), key, "OLLAMA_API_KEY")
        if name.kind == "azure":
            return cls._azure()
        names = ("ANTHROPIC_API_KEY",) if name.kind == "anthropic" else _GOOGLE_KEYS
        found = next((one for one in names if setting(one)), names[0])
        return cls(name.kind, "", _checked_key(setting(found), found), found)

    @classmethod
    def _openai(cls, url: str) -> Service:
        name = "OPENAI_API_KEY"
        if not url:
            _check_same_source(name, "OPENAI_BASE_URL")
        where = url or setting("OPENAI_BASE_URL") or _OPENAI_URL
        key = setting(name) or ("" if where == _OPENAI_URL else _NO_KEY)
        return cls("openai", _checked_url(where, "OPENAI_BASE_URL"), _checked_key(key, name), name)

    @classmethod
    def _azure(cls) -> Service:
        name, place = "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT"
        _check_same_source(name, place)
        key = _checked_key(setting(name), name)
        if not setting(place):
            raise UsageError(f"{place} is not set.", hint=_how_to_set(place))
        version = setting("AZURE_OPENAI_API_VERSION") or _AZURE_VERSION
        return cls("azure", _checked_url(setting(place), place), key, name, version)

    @property
    def place(self) -> str:
        """Host, port, and a digest of a path that isn't the usual one; blank for a service's only address."""
        if self.url in ("", _OPENAI_URL):
            return ""
        parts = urlsplit(self.url)
        path = "" if parts.path in ("", "/v1") else "/" + digest(parts.path.encode(), size=4).hex()
        return f"{parts.netloc.lower()}{path}"

    @property
    def own(self) -> bool:
        """Whether it is a server that only speaks as OpenAI does."""
        return self.kind == "ollama" or (self.kind == "openai" and self.url != _OPENAI_URL)


def setting(name: str) -> str:
    """A variable of the environment, or of ``.env`` in the working folder; blank if neither has it.

    Raises:
        UsageError: ``.env`` cannot be read.
    """
    return os.environ.get(name, "").strip() or _dotenv().get(name, "").strip()


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


def _check_same_source(key: str, address: str) -> None:
    """A ``.env`` that somebody left in a folder must not decide where the key of the environment is sent."""
    if os.environ.get(key, "").strip() and not os.environ.get(address, "").strip() and setting(address):
        message = f"{address} stands in .env, but {key} in the environment."
        raise UsageError(message, hint="Put both in one place, so that it is clear where the key goes.")


def _dotenv() -> dict[str, str]:
    """What ``.env`` says; nothing where python-dotenv is not installed."""
    try:
        from dotenv import dotenv_values
    except ImportError:
        return {}
    try:
        return {name: value or "" for name, value in dotenv_values(".env", encoding="utf-8-sig").items()}
    except (OSError, UnicodeDecodeError) as error:
        message = f".env in the working folder cannot be read ({type(error).__name__})."
        raise UsageError(message, hint="Save it as UTF-8 text, or remove it.") from None


def _how_to_set(name: str) -> str:
    return f"Set {name} in the environment or in a file .env in the working folder."


def _checked_key(key: str, name: str) -> str:
    if not key:
        raise UsageError(f"{name} is not set.", hint=_how_to_set(name))
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise UsageError(f"{name} holds characters no key has.", hint="Paste the key again, without quotes.")
    return key


def _checked_url(url: str, what: str) -> str:
    """The URL without a slash at its end. What is wrong is not shown: it may hold a password."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        if re.fullmatch(r"[\d.]+|.*:.*", host):
            ip_address(host)
        sound = parts.scheme in ("http", "https") and bool(host) and parts.port != 0
    except ValueError:
        sound = False
    if not sound or re.search(r"[\s?#]|[^ -~]", url):
        raise UsageError(
            f"{what} is no http(s) URL.", hint="It begins as in https://host or http://host:port/v1."
        )
    if "@" in parts.netloc:
        raise UsageError(f"{what} holds a password.", hint="Leave it out: the key has a variable of its own.")
    return url.rstrip("/")
