"""Where remote models are, and the client that speaks to them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sgi.kernel import environment
from sgi.kernel.environment import AZURE_KEY, AZURE_PLACE, setting
from sgi.kernel.errors import UsageError
from sgi.models.known_models import DEFAULT_MODEL

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_AZURE_DEPLOYMENT = "text-embedding-3-small"
_DEPLOYMENT_NAME = "AZURE_OPENAI_DEPLOYMENT_NAME"
_AZURE_REQUIRED = (AZURE_KEY, AZURE_PLACE)
_AZURE_VARIABLES = (*_AZURE_REQUIRED, _DEPLOYMENT_NAME, "AZURE_OPENAI_API_VERSION")


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
        """The client that speaks to it: it waits as Retry-After says, or longer each time.

        It follows no redirect, which would take the texts to another service, and reads no endless reply.
        """
        from openai import AsyncAzureOpenAI, AsyncOpenAI, DefaultAsyncHttpxClient

        from sgi.models.bounded_reply import HEADERS, bound

        hooks = {"response": [bound]}
        http = DefaultAsyncHttpxClient(follow_redirects=False, headers=HEADERS, event_hooks=hooks)
        if self.kind == "openai":
            return AsyncOpenAI(
                api_key=self.key, base_url=self.url, timeout=timeout, max_retries=retries, http_client=http
            )
        return AsyncAzureOpenAI(
            api_key=self.key,
            azure_endpoint=self.url,
            api_version=self.api_version,
            timeout=timeout,
            max_retries=retries,
            http_client=http,
        )


def deployment_name(given: str = "") -> str:
    """The Azure deployment: as given, else AZURE_OPENAI_DEPLOYMENT_NAME, else text-embedding-3-small.

    Raises:
        UsageError: Azure does not allow the name.
    """
    name = given or setting(_DEPLOYMENT_NAME) or _AZURE_DEPLOYMENT
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name):
        message = f"{name!r} is not the name of an Azure deployment."
        raise UsageError(message, hint="Such names have letters, digits, -, _ and dots.")
    return name


def default_embedder(backend: str = "auto", precision: str = "auto") -> str:
    """The embedding model of a command that names none.

    Azure OpenAI, where AZURE_OPENAI_API_KEY and AZURE_OPENAI_ENDPOINT are set in the environment or in
    ``.env`` in the working folder; otherwise the embedded model. A backend or a precision is chosen for a
    model that runs here, so with one of them it is always the embedded model.

    Raises:
        UsageError: only some of Azure's variables are set; names those that are missing.

    >>> default_embedder("onnx")
    'minilm'
    """
    present = [name for name in _AZURE_VARIABLES if setting(name)]
    if not present or (backend, precision) != ("auto", "auto"):
        return DEFAULT_MODEL
    missing = [name for name in _AZURE_REQUIRED if name not in present]
    if missing:
        verbs = ["is" if len(names) == 1 else "are" for names in (present, missing)]
        message = f"{' and '.join(present)} {verbs[0]} set, but {' and '.join(missing)} {verbs[1]} not."
        hint = f"Set {' and '.join(missing)} to embed with Azure OpenAI, or use --embedder {DEFAULT_MODEL}."
        raise UsageError(message, hint=hint)
    return f"azure:{deployment_name()}"
