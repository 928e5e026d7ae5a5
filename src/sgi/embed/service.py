"""Where remote models are, and the client that speaks to them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sgi.kernel import environment
from sgi.kernel.environment import setting
from sgi.kernel.errors import UsageError

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_AZURE_DEPLOYMENT = "text-embedding-3-small"


@dataclass(frozen=True)
class Service(environment.Service):
    """Where vectors come from, and the key that opens it: of OpenAI, of a server like it, or of Azure."""

    azure_version: ClassVar[str] = "2024-02-15-preview"
    url_name: ClassVar[str] = "The embedding server's URL"

    @property
    def place(self) -> str:
        """Host, port, and a digest of a path that isn't the usual one; ``api`` for OpenAI itself.

        >>> Service("openai", "http://localhost:8080/v1", "", "").place
        'localhost:8080'
        """
        return super().place or "api"

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
