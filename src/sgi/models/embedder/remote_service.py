"""The address and key of an embedding service, and its client."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from sgi.kernel import environment
from sgi.kernel.environment import setting
from sgi.kernel.errors import UsageError
from sgi.kernel.tls import tls_context
from sgi.models.known_models import DEFAULT_MODEL

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_DEFAULT_DEPLOYMENT = "text-embedding-3-small"
_AZURE_REQUIRED = ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT")
_AZURE_VARIABLES = (*_AZURE_REQUIRED, "AZURE_OPENAI_DEPLOYMENT_NAME", "AZURE_OPENAI_API_VERSION")


class Service(environment.Service):
    """Address and key of an embedding service: OpenAI, a compatible server, or Azure OpenAI."""

    azure_version: ClassVar[str] = "2024-02-15-preview"

    @property
    def address(self) -> str:
        """Host and port, and a digest of a path other than the usual one; ``api`` for OpenAI itself."""
        return super().address or "api"

    def client(self, timeout: float, retries: int) -> AsyncOpenAI:
        """Return the client, which retries after the time in the header Retry-After, or after growing waits.

        It follows no redirects, which would send texts to another service, and limits the size of replies.
        """
        from httpx2 import create_ssl_context
        from openai import AsyncAzureOpenAI, AsyncOpenAI, DefaultAsyncHttpxClient

        from sgi.models.embedder.bounded_reply import HEADERS, limit_replies

        hooks = {"response": [limit_replies]}
        http = DefaultAsyncHttpxClient(
            verify=tls_context(create_ssl_context),
            follow_redirects=False,
            headers=HEADERS,
            event_hooks=hooks,
        )
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


def deployment_name(deployment: str = "") -> str:
    """Return the name of the Azure deployment.

    It is the argument; if that is empty, the variable AZURE_OPENAI_DEPLOYMENT_NAME; if that is not set,
    ``text-embedding-3-small``. Raises a UsageError if Azure does not allow the name.
    """
    name = deployment or setting("AZURE_OPENAI_DEPLOYMENT_NAME") or _DEFAULT_DEPLOYMENT
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name):
        message = f"{name!r} is not the name of an Azure deployment."
        raise UsageError(message, hint="A name consists of letters, digits, -, _ and dots.")
    return name


def default_embedder() -> str:
    """Return the embedding model that is used if the user does not name one.

    It is Azure OpenAI if AZURE_OPENAI_API_KEY and AZURE_OPENAI_ENDPOINT are set in the environment or in
    ``.env`` in the working folder. Otherwise it is the embedded model.

    Raises:
        UsageError: only some of Azure's variables are set; the error names the missing ones.
    """
    present = list(filter(setting, _AZURE_VARIABLES))
    if not present:
        return DEFAULT_MODEL
    missing = [name for name in _AZURE_REQUIRED if name not in present]
    if missing:
        verbs = ["is" if len(names) == 1 else "are" for names in (present, missing)]
        message = f"{' and '.join(present)} {verbs[0]} set, but {' and '.join(missing)} {verbs[1]} not."
        hint = f"Set {' and '.join(missing)} to embed with Azure OpenAI, or name {DEFAULT_MODEL}."
        raise UsageError(message, hint=hint)
    return f"azure:{deployment_name()}"
