"""Reads addresses and keys of remote services from the environment or a file ``.env``."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import ClassVar, Self
from urllib.parse import urlsplit

from sgi.kernel.environment_variables import (
    AZURE_ADDRESS,
    AZURE_KEY,
    AZURE_VERSION,
    OPENAI_ADDRESS,
    OPENAI_KEY,
    Variable,
)
from sgi.kernel.errors import UsageError, require_extra
from sgi.kernel.signature import digest

OPENAI_URL = "https://api.openai.com/v1"
NO_KEY = "none"
"""The key for a user's own server if no key is set, since the client libraries require a key."""


@dataclass(frozen=True)
class Service:
    """Address and key of a remote service.

    Attributes:
        kind: the API: ``openai``, ``azure``, …
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

    azure_version: ClassVar[str]
    """The default version of Azure's API."""
    url_name: ClassVar[str] = OPENAI_ADDRESS.name
    """The name of ``url`` in messages."""

    @classmethod
    def openai(cls, url: str = "") -> Self:
        """Return the service of OpenAI, or of the server at ``url``; the key is OPENAI_API_KEY.

        Only OpenAI itself requires a key. Raises a UsageError if the key or the URL is missing or invalid, or
        only the URL is in ``.env``.
        """
        if not url:
            check_same_source(OPENAI_KEY, OPENAI_ADDRESS)
        where = openai_url(url)
        key = setting(OPENAI_KEY) or ("" if where == OPENAI_URL else NO_KEY)
        name = OPENAI_KEY.name
        return cls("openai", checked_url(where, cls.url_name), checked_key(key, name), name)

    @classmethod
    def azure(cls, *, key: str = "", endpoint: str = "", api_version: str = "") -> Self:
        """Return the service of Azure OpenAI; empty arguments are replaced by the variables AZURE_OPENAI_….

        Raises a UsageError if key or endpoint is missing or invalid, or only the endpoint is in ``.env``.
        """
        if not key and not endpoint:
            check_same_source(AZURE_KEY, AZURE_ADDRESS)
        name = AZURE_KEY.name
        valid = checked_key(key or setting(AZURE_KEY), name)
        version = api_version or setting(AZURE_VERSION) or cls.azure_version
        return cls("azure", checked_url(azure_url(endpoint), AZURE_ADDRESS.name), valid, name, version)

    @property
    def address(self) -> str:
        """The short form of the address in fingerprints."""
        return address_label(self.url)


def openai_url(url: str = "") -> str:
    """Return the argument; if empty, OPENAI_BASE_URL; if that is not set, OpenAI's own address."""
    return url or setting(OPENAI_ADDRESS) or OPENAI_URL


def azure_url(url: str = "") -> str:
    """Return the argument; if empty, AZURE_OPENAI_ENDPOINT; raise UsageError if that is not set."""
    where = url or setting(AZURE_ADDRESS)
    if not where:
        raise UsageError(f"{AZURE_ADDRESS.name} is not set.", hint=_how_to_set(AZURE_ADDRESS.name))
    return where


def address_label(url: str) -> str:
    """Return host, port, and a digest of a path other than the usual one; "" for OpenAI or no address."""
    if url in ("", OPENAI_URL):
        return ""
    parts = urlsplit(url)
    path = "" if parts.path in ("", "/v1") else "/" + digest(parts.path.encode(), size=4).hex()
    return f"{parts.netloc.lower()}{path}"


def setting(variable: Variable) -> str:
    """Return the value in the environment, or in ``.env`` in the working folder; "" if it is not set.

    Raises:
        UsageError: ``.env`` cannot be read.
        MissingExtraError: ``.env`` sets the variable, and python-dotenv is not installed.
    """
    name, value = variable.name, variable.read().strip()
    if value:
        return value
    text = _dotenv_text()
    if not re.search(rf"^[ \t]*(?:export[ \t]+)?{name}[ \t]*=[ \t]*[^\s#]", text, re.MULTILINE):
        return ""
    with require_extra(f"Reading {name} from .env", "openai"):
        from dotenv import dotenv_values
    return (dotenv_values(stream=io.StringIO(text)).get(name) or "").strip()


def check_same_source(key: Variable, address: Variable) -> None:
    """Raise a UsageError if the address is set only in ``.env`` and the key only in the environment.

    Otherwise a ``.env`` in a downloaded folder could send the key to another server.
    """
    if key.read().strip() and not address.read().strip() and setting(address):
        message = (
            f"{address.name} is set in .env, but {key.name} in the environment; both must be in one place."
        )
        raise UsageError(message, hint="Set both in .env or both in the environment.")


def checked_key(key: str, name: str) -> str:
    """Return the key; raise UsageError if it is empty or cannot be sent in an HTTP header.

    ``name`` is the variable that contains the key. Errors do not show the key.
    """
    if not key:
        raise UsageError(f"{name} is not set.", hint=_how_to_set(name))
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise UsageError(
            f"{name} contains characters that a key cannot have.", hint="Paste the key again, without quotes."
        )
    return key


def checked_url(url: str, what: str) -> str:
    """Return an http(s) URL without a slash at its end; ``what`` is the name of the setting in messages.

    Raises a UsageError if it is not an http(s) URL, or has a query, a fragment, a user or a password. Errors
    do not show the URL, which may contain a password.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        if re.fullmatch(r"[\d.]+|.*:.*", host):
            ip_address(host)
        valid = parts.scheme in ("http", "https") and bool(host) and parts.port != 0
    except ValueError:
        valid = False
    if not valid or re.search(r"[\s?#\\]|[^ -~]", url):
        hint = "Write https://host or http://host:port/v1."
        raise UsageError(f"{what} is not an http(s) URL.", hint=hint)
    if "@" in parts.netloc:
        hint = "Remove it from the URL: the key is set in another variable."
        raise UsageError(f"{what} contains a user or a password.", hint=hint)
    return url.rstrip("/")


def _dotenv_text() -> str:
    try:
        return Path(".env").read_text(encoding="utf-8-sig")
    except (FileNotFoundError, IsADirectoryError):
        return ""
    except (OSError, UnicodeDecodeError) as error:
        message = f".env in the working folder cannot be read ({type(error).__name__})."
        raise UsageError(message, hint="Save it as UTF-8 text, or remove it.") from None


def _how_to_set(name: str) -> str:
    return f"Set {name} in the environment or in a file .env in the working folder."
