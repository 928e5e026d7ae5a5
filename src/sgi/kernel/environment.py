"""Reads addresses and keys of remote services from the environment or a file ``.env``.

The reference of environment variables is made from ``scripts/reference_pages/environment.toml``.
"""

from __future__ import annotations

import difflib
import io
import json
import os
import re
from base64 import b64encode
from dataclasses import dataclass, field, replace
from html import escape
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self
from urllib.parse import SplitResult, quote, quote_plus, urlsplit

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, ValidationError, model_validator

from sgi.kernel.errors import UnknownNameError, UsageError, require_extra
from sgi.kernel.parsing import first_problem
from sgi.kernel.signature import digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
        """A short form of the service's address, for fingerprints."""
        return address_label(self.url)

    @property
    def is_own(self) -> bool:
        """Whether the service is the user's own server with OpenAI's API."""
        return self.kind in _LOCAL or (self.kind == "openai" and self.url != _URLS["openai"])


def service_url(kind: str, url: str = "") -> str:
    """Return the URL; if it is empty, the URL in the environment or ``.env``, or the default.

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
    """Return whether a service is used at its default address, because the environment sets no other."""
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


MASK = "***"
MIN_IN_CONTENT = 8
"""Minimum length of a secret that is masked in replies; a shorter one, such as ``none``, is often a word."""
_MIN_ENCODED = 8
"""Minimum length of an encoded part of a secret; shorter ones occur in other texts by chance."""


class SecretMask:
    r"""Masks secrets in plain form and as JSON, HTML, URL, hexadecimal and base64, in any case of letters.

    Base64 is found at any offset, as in the base64 of ``user:secret``; up to one character at each end, which
    also depends on the text beside the secret, stays. Other encodings are not found.

    >>> mask = SecretMask(["s3cr3t/key"])
    >>> mask("s3cr3t/key, S3CR3T%2fKEY and czNjcjN0L2tleQ== are the same")
    '***, *** and ***Q== are the same'
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {form for secret in secrets if secret for form in _forms(secret)}
        longest_first = sorted(forms, key=lambda form: (-len(form), form))
        self._pattern = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE) if forms else None

    def __call__(self, text: str) -> str:
        """Return the text with ``***`` for each secret."""
        return text if self._pattern is None else self._pattern.sub(MASK, text)


def _forms(secret: str) -> Iterator[str]:
    yield secret
    yield quote(secret, safe="")
    yield quote(secret)
    yield quote_plus(secret)
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret)[1:-1].replace("/", "\\/")
    yield escape(secret)
    yield escape(secret, quote=False)
    raw = secret.encode()
    yield from (form for form in (raw.hex(), *_base64_forms(raw)) if len(form) >= _MIN_ENCODED)


def _base64_forms(raw: bytes) -> Iterator[str]:
    """Yield the characters that depend only on the secret, for each offset in a group of three bytes."""
    for before in range(3):
        first, end = -(-before * 8 // 6), (before + len(raw)) * 8 // 6
        standard = b64encode(bytes(before) + raw).decode()[first:end]
        yield standard
        yield standard.translate({ord("+"): "-", ord("/"): "_"})
        yield quote(standard, safe="")


class Settings(BaseModel):
    """Frozen settings; invalid values raise a UsageError without the value, which may be secret."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    owner: ClassVar[str]
    """The name of the thing with these settings in messages, such as ``judge``."""

    def check_combination(self) -> None:
        """Raise a UsageError if valid settings contradict each other."""

    @model_validator(mode="wrap")
    @classmethod
    def _convert_errors(cls, values: object, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            settings = handler(values)
        except ValidationError as errors:
            error = _usage_error(errors, cls)
        else:
            settings.check_combination()
            return settings
        raise error


def _usage_error(errors: ValidationError, settings: type[Settings]) -> UsageError:
    owner, fields = settings.owner, settings.model_fields
    first = errors.errors(include_url=False, include_context=False, include_input=False)[0]
    if first["type"] == "extra_forbidden":
        name = ".".join(map(str, first["loc"]))
        near = tuple(difflib.get_close_matches(name, fields, n=2))
        return UnknownNameError(f"setting of a {owner}", name, near, hint=f"It has: {', '.join(fields)}.")
    link = "'s " if first["loc"] else ": "
    return UsageError(f"The {owner}{link}{first_problem(errors)}.")
