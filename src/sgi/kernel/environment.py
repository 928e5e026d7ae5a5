"""Addresses and keys of remote services, from the environment or a file ``.env``."""

from __future__ import annotations

import io
import os
import re
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import ClassVar, Self
from urllib.parse import urlsplit

from sgi.kernel.errors import MissingExtraError, UsageError
from sgi.kernel.signature import digest

OPENAI_URL = "https://api.openai.com/v1"
NO_KEY = "none"
"""Sent to a user's own server without a key; the clients require one."""
_OPENAI_KEY = "OPENAI_API_KEY"
_OPENAI_ADDRESS = "OPENAI_BASE_URL"
AZURE_KEY = "AZURE_OPENAI_API_KEY"
AZURE_ADDRESS = "AZURE_OPENAI_ENDPOINT"


@dataclass(frozen=True)
class Service:
    """Address and key of a remote service.

    Attributes:
        kind: the API: ``openai``, ``azure``, …
        url: the base URL.
        key: sent with every request; never displayed.
        key_name: the variable with the key.
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
    url_name: ClassVar[str] = _OPENAI_ADDRESS
    """The name of ``url`` in messages."""

    @classmethod
    def openai(cls, url: str = "") -> Self:
        """OpenAI, or the server at ``url``, with OPENAI_API_KEY, which only OpenAI itself requires.

        Raises a UsageError if the key or the URL is missing or unusable, or only the URL is in ``.env``.
        """
        if not url:
            check_same_source(_OPENAI_KEY, _OPENAI_ADDRESS)
        where = openai_url(url)
        key = setting(_OPENAI_KEY) or ("" if where == OPENAI_URL else NO_KEY)
        return cls("openai", checked_url(where, cls.url_name), checked_key(key, _OPENAI_KEY), _OPENAI_KEY)

    @classmethod
    def azure(cls, *, key: str = "", endpoint: str = "", api_version: str = "") -> Self:
        """Azure OpenAI; the defaults are the variables AZURE_OPENAI_….

        Raises a UsageError if key or endpoint is missing or unusable, or only the endpoint is in ``.env``.
        """
        if not key and not endpoint:
            check_same_source(AZURE_KEY, AZURE_ADDRESS)
        valid = checked_key(key or setting(AZURE_KEY), AZURE_KEY)
        version = api_version or setting("AZURE_OPENAI_API_VERSION") or cls.azure_version
        return cls("azure", checked_url(azure_url(endpoint), AZURE_ADDRESS), valid, AZURE_KEY, version)

    @property
    def address(self) -> str:
        """The address in fingerprints."""
        return address_label(self.url)


def openai_url(url: str = "") -> str:
    """Return the argument, else OPENAI_BASE_URL, else OpenAI's own address."""
    return url or setting(_OPENAI_ADDRESS) or OPENAI_URL


def azure_url(url: str = "") -> str:
    """Return the argument, else AZURE_OPENAI_ENDPOINT; UsageError if both are empty."""
    where = url or setting(AZURE_ADDRESS)
    if not where:
        raise UsageError(f"{AZURE_ADDRESS} is not set.", hint=_how_to_set(AZURE_ADDRESS))
    return where


def address_label(url: str) -> str:
    """Host, port, and a digest of an unusual path; empty for OpenAI itself or no address."""
    if url in ("", OPENAI_URL):
        return ""
    parts = urlsplit(url)
    path = "" if parts.path in ("", "/v1") else "/" + digest(parts.path.encode(), size=4).hex()
    return f"{parts.netloc.lower()}{path}"


def setting(name: str) -> str:
    """Return a variable of the environment, or of ``.env`` in the working folder; empty if neither has it.

    Raises:
        UsageError: ``.env`` cannot be read.
        MissingExtraError: ``.env`` sets the variable, and python-dotenv is not installed.
    """
    value = os.environ.get(name, "").strip()
    if value:
        return value
    text = _dotenv_text()
    if not re.search(rf"^[ \t]*(?:export[ \t]+)?{name}[ \t]*=[ \t]*[^\s#]", text, re.MULTILINE):
        return ""
    try:
        from dotenv import dotenv_values
    except ImportError:
        raise MissingExtraError(f"Reading {name} from .env", "openai") from None
    return (dotenv_values(stream=io.StringIO(text)).get(name) or "").strip()


def check_same_source(key: str, address: str) -> None:
    """Raise a UsageError if only ``.env`` has the address for a key that only the environment has.

    Otherwise a ``.env`` in a downloaded folder could redirect the key.
    """
    if os.environ.get(key, "").strip() and not os.environ.get(address, "").strip() and setting(address):
        message = f"{address} is set in .env, but {key} in the environment."
        raise UsageError(message, hint="Set both in .env or both in the environment.")


def checked_key(key: str, name: str) -> str:
    """Return a key that can be sent in a header; UsageError if it is empty or contains impossible characters.

    ``name`` is the variable with the key. Errors do not show the key.
    """
    if not key:
        raise UsageError(f"{name} is not set.", hint=_how_to_set(name))
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise UsageError(
            f"{name} has characters that no key has.", hint="Paste the key again, without quotes."
        )
    return key


def checked_url(url: str, what: str) -> str:
    """Return an http(s) URL without a slash at its end; ``what`` is its name in messages.

    Raises a UsageError if it is no such URL, or has a query, a fragment, a user or a password. Errors do not
    show the URL, which may contain a password.
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
        hint = "Leave it out: the key has a variable of its own."
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
