"""Where remote services are and the keys that open them, as the environment or a file ``.env`` says."""

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
"""Sent to a server of one's own, which asks for no key; the clients insist on one."""
_OPENAI_KEY = "OPENAI_API_KEY"
_OPENAI_PLACE = "OPENAI_BASE_URL"
AZURE_KEY = "AZURE_OPENAI_API_KEY"
AZURE_PLACE = "AZURE_OPENAI_ENDPOINT"


@dataclass(frozen=True)
class Service:
    """Where a model is asked, and the key that opens it; each room has its own kind of it.

    Attributes:
        kind: how requests are addressed: ``openai``, ``azure``, …
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

    azure_version: ClassVar[str]
    """The version of Azure's interface where nobody names one."""
    url_name: ClassVar[str] = _OPENAI_PLACE
    """What messages call the address of a server of one's own."""

    @classmethod
    def openai(cls, url: str = "") -> Self:
        """OpenAI, or the server at ``url``; the key is OPENAI_API_KEY, which only OpenAI itself insists on.

        Raises:
            UsageError: no key, or no usable one, or the URL is none, or only the URL stands in ``.env``.
        """
        if not url:
            check_same_source(_OPENAI_KEY, _OPENAI_PLACE)
        where = openai_url(url)
        key = setting(_OPENAI_KEY) or ("" if where == OPENAI_URL else NO_KEY)
        return cls("openai", checked_url(where, cls.url_name), checked_key(key, _OPENAI_KEY), _OPENAI_KEY)

    @classmethod
    def azure(cls, *, key: str = "", endpoint: str = "", api_version: str = "") -> Self:
        """Azure OpenAI; what isn't given is read from the AZURE_OPENAI_… variables.

        Raises:
            UsageError: key or endpoint is missing or unusable, or only the endpoint stands in ``.env``; names
                the variable.
        """
        if not key and not endpoint:
            check_same_source(AZURE_KEY, AZURE_PLACE)
        found = checked_key(key or setting(AZURE_KEY), AZURE_KEY)
        version = api_version or setting("AZURE_OPENAI_API_VERSION") or cls.azure_version
        return cls("azure", checked_url(azure_url(endpoint), AZURE_PLACE), found, AZURE_KEY, version)

    @property
    def place(self) -> str:
        """What fingerprints say of the address."""
        return place_of(self.url)


def openai_url(given: str = "") -> str:
    """The address as given, else OPENAI_BASE_URL, else OpenAI's own."""
    return given or setting(_OPENAI_PLACE) or OPENAI_URL


def azure_url(given: str = "") -> str:
    """The address as given, else AZURE_OPENAI_ENDPOINT.

    Raises:
        UsageError: there is none.
    """
    where = given or setting(AZURE_PLACE)
    if not where:
        raise UsageError(f"{AZURE_PLACE} is not set.", hint=_how_to_set(AZURE_PLACE))
    return where


def place_of(url: str) -> str:
    """Host, port, and a digest of a path that isn't the usual one; blank for OpenAI itself or no address.

    >>> place_of("http://LocalHost:8080/v1"), place_of(OPENAI_URL)
    ('localhost:8080', '')
    """
    if url in ("", OPENAI_URL):
        return ""
    parts = urlsplit(url)
    path = "" if parts.path in ("", "/v1") else "/" + digest(parts.path.encode(), size=4).hex()
    return f"{parts.netloc.lower()}{path}"


def setting(name: str) -> str:
    """A variable of the environment, or of ``.env`` in the working folder; blank if neither has it.

    Raises:
        UsageError: ``.env`` cannot be read.
        MissingExtraError: ``.env`` sets the variable, and what reads that file is not installed.
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
    """A ``.env`` that somebody left in a folder must not decide where the key of the environment is sent.

    Raises:
        UsageError: the variable ``address`` stands in ``.env`` alone, and ``key`` in the environment.
    """
    if os.environ.get(key, "").strip() and not os.environ.get(address, "").strip() and setting(address):
        message = f"{address} stands in .env, but {key} in the environment."
        raise UsageError(message, hint="Put both in one place, so that it is clear where the key goes.")


def checked_key(key: str, name: str) -> str:
    """The key, if there is one and a header can carry it.

    Args:
        key: is not shown.
        name: the variable it is read from.

    Raises:
        UsageError: it is blank, or holds characters that no key has.
    """
    if not key:
        raise UsageError(f"{name} is not set.", hint=_how_to_set(name))
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise UsageError(f"{name} holds characters no key has.", hint="Paste the key again, without quotes.")
    return key


def checked_url(url: str, what: str) -> str:
    """The URL without a slash at its end. What is wrong is said without showing it: it may hold a password.

    Args:
        url: an address of http or https, without query and fragment.
        what: what messages call it.

    Raises:
        UsageError: it is no such address, or holds a user or a password.

    >>> checked_url("http://localhost:8080/v1/", "The URL")
    'http://localhost:8080/v1'
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        if re.fullmatch(r"[\d.]+|.*:.*", host):
            ip_address(host)
        sound = parts.scheme in ("http", "https") and bool(host) and parts.port != 0
    except ValueError:
        sound = False
    if not sound or re.search(r"[\s?#\\]|[^ -~]", url):
        hint = "It begins as in https://host or http://host:port/v1."
        raise UsageError(f"{what} is no http(s) URL.", hint=hint)
    if "@" in parts.netloc:
        hint = "Leave it out: the key has a variable of its own."
        raise UsageError(f"{what} holds a user or a password.", hint=hint)
    return url.rstrip("/")


def _dotenv_text() -> str:
    """The file ``.env`` in the working folder; blank where there is none."""
    try:
        return Path(".env").read_text(encoding="utf-8-sig")
    except (FileNotFoundError, IsADirectoryError):
        return ""
    except (OSError, UnicodeDecodeError) as error:
        message = f".env in the working folder cannot be read ({type(error).__name__})."
        raise UsageError(message, hint="Save it as UTF-8 text, or remove it.") from None


def _how_to_set(name: str) -> str:
    return f"Set {name} in the environment or in a file .env in the working folder."
