"""Reads addresses and keys of remote services from the environment or a file ``.env``.

The reference of environment variables is made from ``scripts/reference_pages/environment.toml``.
"""

from __future__ import annotations

import io
import os
import re
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path
from typing import ClassVar, Self
from urllib.parse import SplitResult, urlsplit

from sgi.kernel.errors import UsageError, require_extra
from sgi.kernel.signature import digest

_ADDRESSES = {
    "openai": "OPENAI_BASE_URL",
    "azure": "AZURE_OPENAI_ENDPOINT",
    "ollama": "OLLAMA_BASE_URL",
    "vllm": "VLLM_BASE_URL",
    "openrouter": "OPENROUTER_BASE_URL",
    "bedrock": "AWS_BEDROCK_BASE_URL",
    "anthropic": "ANTHROPIC_BASE_URL",
    "google": "GOOGLE_GEMINI_BASE_URL",
}
_KEYS = {
    "openai": ("OPENAI_API_KEY",),
    "azure": ("AZURE_OPENAI_API_KEY",),
    "ollama": ("OLLAMA_API_KEY",),
    "vllm": ("VLLM_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "bedrock": ("AWS_BEARER_TOKEN_BEDROCK",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
}
_URLS = {
    "openai": "https://api.openai.com/v1",
    "ollama": "http://localhost:11434/v1",
    "vllm": "http://localhost:8000/v1",
    "openrouter": "https://openrouter.ai/api/v1",
    "bedrock": "https://bedrock-runtime.{region}.amazonaws.com/openai/v1",
    "anthropic": "https://api.anthropic.com",
    "google": "https://generativelanguage.googleapis.com",
}
"""The usual addresses; ``{region}`` is the region of AWS."""
_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
_LOCAL = ("ollama", "vllm")
_NO_KEY = "none"
"""The key for a user's own server if no key is set, since the client libraries require a key."""


@dataclass(frozen=True)
class Service:
    """Address and key of a remote service.

    Attributes:
        kind: the service: ``openai``, ``azure``, ``ollama``, ``vllm``, ``openrouter``, ``bedrock``,
            ``anthropic`` or ``google``.
        url: the base URL.
        key: sent with every request; never displayed.
        key_name: the name of the environment variable that contains the key.
        api_version: the version of Azure's API.

    >>> Service("openai", "http://localhost:8080/v1", "a-secret", "OPENAI_API_KEY")
    Service(kind='openai', url='http://localhost:8080/v1', key_name='OPENAI_API_KEY', api_version='')
    """

    kind: str
    url: str
    key: str = field(repr=False)
    key_name: str
    api_version: str = ""

    azure_version: ClassVar[str] = "2024-10-21"
    """The default version of Azure's API: the first stable one with JSON schemas for replies."""

    @classmethod
    def of(cls, kind: str, url: str = "", *, key: str = "", api_version: str = "") -> Self:
        """Return a service; empty arguments are read from the environment or ``.env``.

        A user's own server needs no key. Raises a UsageError if a key or an address is missing or invalid, or
        only the address is in ``.env``.
        """
        key_name = next((name for name in _KEYS[kind] if setting(name)), _KEYS[kind][0])
        address = _ADDRESSES.get(kind, "")
        in_environment = [bool(os.environ.get(name, "").strip()) for name in (key_name, address)]
        if not (url or key) and in_environment == [True, False] and address and setting(address):
            # A .env in a downloaded folder could send the key to another server.
            message = (
                f"{address} is set in .env, but {key_name} in the environment; both must be in one place."
            )
            raise UsageError(message, hint="Set both in .env or both in the environment.")
        if kind == "azure":
            api_version = api_version or setting("AZURE_OPENAI_API_VERSION") or cls.azure_version
        service = cls(kind, service_url(kind, url), "", key_name, api_version)
        key = key or setting(key_name) or (_NO_KEY if service.is_own else "")
        if not key:
            raise _missing(key_name)
        if not re.fullmatch("[!-~]+", key):  # printable ASCII, as in a header
            hint = "Paste the key again, without quotes."
            raise UsageError(f"{key_name} contains characters that a key cannot have.", hint=hint)
        return replace(service, key=key)

    @property
    def address(self) -> str:
        """The short form of the address in fingerprints."""
        return address_label(self.url)

    @property
    def is_own(self) -> bool:
        """Whether the service is the user's own server with OpenAI's API."""
        return self.kind in _LOCAL or (self.kind == "openai" and self.url != _URLS["openai"])


def service_url(kind: str, url: str = "") -> str:
    """Return the URL; if it is empty, that of the environment or ``.env``, or the usual one of the service.

    Raises a UsageError if it is missing or invalid.
    """
    name = _ADDRESSES[kind]
    where = url or setting(name) or _URLS.get(kind)
    if where is None:
        raise _missing(name)
    if "{region}" in where:
        where = where.replace("{region}", _region())
    return checked_url(where, "The server's URL" if url else name)


def has_usual_address(kind: str) -> bool:
    """Return whether the environment sets no other address for a service that has a usual one."""
    return kind in _URLS and kind not in _LOCAL and not setting(_ADDRESSES[kind])


def address_label(url: str) -> str:
    """Return host, port, and a digest of a path other than ``/v1``; "" for the usual address of a service."""
    if url == "" or url in [usual for kind, usual in _URLS.items() if kind not in _LOCAL]:
        return ""
    parts = urlsplit(url)
    path = "" if parts.path in ("", "/v1") else "/" + digest(parts.path.encode(), size=4).hex()
    return f"{parts.netloc.lower()}{path}"


def setting(name: str) -> str:
    """Return the value in the environment, or in ``.env`` in the working folder; "" if it is not set.

    Raises:
        UsageError: ``.env`` cannot be read.
        MissingExtraError: ``.env`` sets the variable, and python-dotenv is not installed.
    """
    if value := os.environ.get(name, "").strip():
        return value
    path = Path(".env")
    try:
        text = path.read_text(encoding="utf-8-sig") if path.is_file() else ""
    except (OSError, UnicodeDecodeError) as error:
        message = f".env in the working folder cannot be read ({type(error).__name__})."
        raise UsageError(message, hint="Save it as UTF-8 text, or remove it.") from None
    if not re.search(rf"^[ \t]*(?:export[ \t]+)?{name}[ \t]*=[ \t]*[^\s#]", text, re.MULTILINE):
        return ""
    with require_extra(f"Reading {name} from .env", "openai"):
        from dotenv import dotenv_values
    return (dotenv_values(stream=io.StringIO(text)).get(name) or "").strip()


def http_url(url: str) -> SplitResult | None:
    """Return the parts of an http(s) URL without a fragment; None for other texts."""
    try:
        parts = urlsplit(url)
        if re.fullmatch(r"[\d.]+|.*:.*", parts.hostname or ""):
            ip_address(parts.hostname or "")
        valid = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        return None
    return parts if valid and re.fullmatch(r"[!-~]+", url) and not re.search(r"[#\\]", url) else None


def checked_url(url: str, what: str) -> str:
    """Return an http(s) URL without a slash at its end; ``what`` is the name of the setting in messages.

    Raises a UsageError if it is not an http(s) URL, or has a query, a fragment, a user or a password. Errors
    do not show the URL, which may contain a password.
    """
    parts = http_url(url)
    if parts is None or "?" in url:
        raise UsageError(f"{what} is not an http(s) URL.", hint="Write https://host or http://host:port/v1.")
    if "@" in parts.netloc:
        hint = "Remove it from the URL: the key is set in another variable."
        raise UsageError(f"{what} contains a user or a password.", hint=hint)
    return url.rstrip("/")


def _region() -> str:
    """Return the region of AWS; it becomes a part of a host, so nothing else is accepted."""
    region = next(filter(None, map(setting, _REGIONS)), "")
    if not region:
        raise _missing(_REGIONS[0])
    if not re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)+", region):
        raise UsageError(f"{_REGIONS[0]} is not a region of AWS.", hint="Write for example us-west-2.")
    return region


def _missing(name: str) -> UsageError:
    hint = f"Set {name} in the environment or in a file .env in the working folder."
    return UsageError(f"{name} is not set.", hint=hint)
