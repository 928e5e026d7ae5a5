"""Addresses and keys of judges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from sgi.kernel import environment
from sgi.kernel.environment import (
    NO_KEY,
    OPENAI_URL,
    address_label,
    azure_url,
    check_same_source,
    checked_key,
    checked_url,
    openai_url,
    setting,
)
from sgi.kernel.environment_variables import (
    ANTHROPIC_KEY,
    GEMINI_KEY,
    GOOGLE_KEY,
    OLLAMA_ADDRESS,
    OLLAMA_KEY,
)

if TYPE_CHECKING:
    from sgi.llm.spec import JudgeSpec, ModelName

_OLLAMA_URL = "http://localhost:11434/v1"
_KEYS = {"anthropic": (ANTHROPIC_KEY,), "google": (GOOGLE_KEY, GEMINI_KEY)}


@dataclass(frozen=True)
class Service(environment.Service):
    """Address and key of a judge's service; the URL is empty if the service has a fixed address."""

    azure_version: ClassVar[str] = "2024-10-21"
    """The first stable version with JSON schemas for replies."""

    @classmethod
    def of(cls, name: ModelName) -> Self:
        """Return the service for the name of a judge, with settings from the environment or ``.env``.

        Raises a UsageError if a key or an address is missing or invalid, or only the address is in ``.env``.
        """
        if name.kind == "openai":
            return cls.openai(name.url)
        if name.kind == "azure":
            return cls.azure()
        if name.kind == "ollama":
            if not name.url:
                check_same_source(OLLAMA_KEY, OLLAMA_ADDRESS)
            key = checked_key(setting(OLLAMA_KEY) or NO_KEY, OLLAMA_KEY.name)
            return cls("ollama", checked_url(_url(name), OLLAMA_ADDRESS.name), key, OLLAMA_KEY.name)
        keys = _KEYS[name.kind]
        key_variable = next((one for one in keys if setting(one)), keys[0])
        key = checked_key(setting(key_variable), key_variable.name)
        return cls(name.kind, "", key, key_variable.name)

    @property
    def own(self) -> bool:
        """Whether the service is not OpenAI itself, but another server with OpenAI's API."""
        return self.kind == "ollama" or (self.kind == "openai" and self.url != OPENAI_URL)


def fingerprint_of(spec: JudgeSpec) -> str:
    """Return the fingerprint that the judge of a spec has when it is open; no key is required.

    Raises a UsageError if the address is missing or invalid.
    """
    url = _url(spec.name_parts)
    return spec.fingerprint(address_label(checked_url(url, "The judge's address")) if url else "")


def _url(name: ModelName) -> str:
    if name.kind == "openai":
        return openai_url(name.url)
    if name.kind == "ollama":
        return name.url or setting(OLLAMA_ADDRESS) or _OLLAMA_URL
    return azure_url() if name.kind == "azure" else ""
