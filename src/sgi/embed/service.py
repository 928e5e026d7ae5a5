"""Where remote models are: addresses, keys and the settings they are read from."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sgi.kernel.errors import UsageError
from sgi.kernel.signature import digest

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_OPENAI_URL = "https://api.openai.com/v1"
_NO_KEY = "none"
"""Sent to a server of one's own, which asks for no key; the client insists on one."""
_AZURE_KEY = "AZURE_OPENAI_API_KEY"
_AZURE_ENDPOINT = "AZURE_OPENAI_ENDPOINT"
_AZURE_DEPLOYMENT = "text-embedding-3-small"
_AZURE_VERSION = "2024-02-15-preview"


@dataclass(frozen=True)
class Service:
    """Where vectors come from, and the key that opens it.

    Attributes:
        kind: ``openai`` or ``azure``: how requests are addressed.
        url: the part every address begins with.
        key: sent with every request; shown nowhere.
        key_name: the variable the key is read from.
        api_version: Azure's.

    >>> Service("openai", "http://localhost:8080/v1", "a-secret", "OPENAI_API_KEY")
    Service(kind='openai', url='http://localhost:8080/v1', key_name='OPENAI_API_KEY', api_version='')
    """

    kind: str
    url: str
    key: str = field(repr=False)
    key_name: str
    api_version: str = ""

    @classmethod
    def openai(cls, url: str = "") -> Service:
        """OpenAI, or the server at ``url``; the key is OPENAI_API_KEY, which only OpenAI itself insists on.

        Raises:
            UsageError: no key, or no usable one, or the URL is none, or only the URL stands in ``.env``.
        """
        name = "OPENAI_API_KEY"
        if not url:
            _check_same_source(name, "OPENAI_BASE_URL")
        where = url or setting("OPENAI_BASE_URL") or _OPENAI_URL
        key = setting(name) or ("" if where == _OPENAI_URL else _NO_KEY)
        return cls("openai", _checked_url(where, "The embedding server's URL"), _checked_key(key, name), name)

    @classmethod
    def azure(cls, *, key: str = "", endpoint: str = "", api_version: str = "") -> Service:
        """Azure OpenAI; what isn't given is read from the AZURE_OPENAI_… variables.

        Raises:
            UsageError: key or endpoint is missing or unusable, or only the endpoint stands in ``.env``; names
                the variable.
        """
        if not key and not endpoint:
            _check_same_source(_AZURE_KEY, _AZURE_ENDPOINT)
        found = _checked_key(key or setting(_AZURE_KEY), _AZURE_KEY)
        where = endpoint or setting(_AZURE_ENDPOINT)
        if not where:
            raise UsageError(f"{_AZURE_ENDPOINT} is not set.", hint=_how_to_set(_AZURE_ENDPOINT))
        version = api_version or setting("AZURE_OPENAI_API_VERSION") or _AZURE_VERSION
        return cls("azure", _checked_url(where, _AZURE_ENDPOINT), found, _AZURE_KEY, version)

    @property
    def place(self) -> str:
        """Host, port, and a digest of a path that isn't the usual one; ``api`` for OpenAI itself.

        >>> Service("openai", "http://localhost:8080/v1", "", "").place
        'localhost:8080'
        """
        if self.url == _OPENAI_URL:
            return "api"
        parts = urlsplit(self.url)
        path = "" if parts.path in ("", "/v1") else "/" + digest(parts.path.encode(), size=4).hex()
        return f"{parts.netloc.lower()}{path}"

    def client(self, timeout: float, retries: int) -> AsyncOpenAI:
        """The client that speaks to it: it waits as Retry-After says, or longer each time."""
        from openai import AsyncAzureOpenAI, AsyncOpenAI

        if self.kind == "openai":
            return AsyncOpenAI(api_key=self.key, base_url=self.url, timeout=timeout, max_retries=retries)
        return AsyncAzureOpenAI(
            api_key=self.key,
            azure_endpoint=self.url,
            api_version=self.api_version,
            timeout=timeout,
            max_retries=retries,
        )


def deployment_name(given: str = "") -> str:
    """The Azure deployment: as given, else AZURE_OPENAI_DEPLOYMENT_NAME, else text-embedding-3-small.

    Raises:
        UsageError: it is no name Azure allows.
    """
    name = given or setting("AZURE_OPENAI_DEPLOYMENT_NAME") or _AZURE_DEPLOYMENT
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name):
        message = f"{name!r} is no name of an Azure deployment."
        raise UsageError(message, hint="Such names have letters, digits, -, _ and dots.")
    return name


def setting(name: str) -> str:
    """A variable of the environment, or of ``.env`` in the working folder; blank if neither has it.

    Raises:
        UsageError: ``.env`` cannot be read.
    """
    return os.environ.get(name, "").strip() or _dotenv().get(name, "").strip()


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
