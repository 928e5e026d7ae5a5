"""The published import: ``from sgi.openai_embedder import AzureOpenAIEmbedder``."""

from __future__ import annotations

from sgi.models.embedder.remote import RemoteEmbedder
from sgi.models.embedder.remote_service import Service, deployment_name

__all__ = ["AzureOpenAIEmbedder"]


class AzureOpenAIEmbedder(RemoteEmbedder):
    """Embedder that requests unit vectors from a deployment of Azure OpenAI (extra ``openai``).

    An argument that is not given is read from its environment variable, otherwise from ``.env`` in the
    working folder.

    Args:
        deployment: AZURE_OPENAI_DEPLOYMENT_NAME; if that is not set either, text-embedding-3-small.
        api_key: AZURE_OPENAI_API_KEY.
        endpoint: AZURE_OPENAI_ENDPOINT, such as ``https://name.openai.azure.com/``.
        api_version: AZURE_OPENAI_API_VERSION; if that is not set either, 2024-02-15-preview.

    Raises:
        UsageError: the key or the endpoint is missing, and the message names the variable; or is not valid.

    >>> AzureOpenAIEmbedder(
    ...     deployment="mine", api_key="a-key", endpoint="https://name.openai.azure.com/"
    ... ).fingerprint
    'azure:mine@name.openai.azure.com,remote'
    """

    def __init__(
        self,
        *,
        deployment: str | None = None,
        api_key: str | None = None,
        endpoint: str | None = None,
        api_version: str | None = None,
    ) -> None:
        service = Service.of("azure", endpoint or "", key=api_key or "", api_version=api_version or "")
        super().__init__(service, deployment_name(deployment or ""))
