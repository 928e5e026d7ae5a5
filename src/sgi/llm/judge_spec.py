"""The settings of a judge; they are stored with a run and contain no secret."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, Self

from pydantic import Field, field_validator

from sgi.kernel.environment import Settings, address_label, checked_url, service_url
from sgi.kernel.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

KINDS = ("openai", "azure", "anthropic", "google", "bedrock", "openrouter", "ollama", "vllm")
_WITH_URL = ("openai", "ollama", "vllm")
_HOW_TO_NAME = (
    "write openai:NAME, azure:DEPLOYMENT, anthropic:NAME, google:NAME, bedrock:NAME, openrouter:NAME, "
    "ollama:NAME, vllm:NAME or openai:NAME@http://host:port/v1"
)
_IDENTITY = ("model", "temperature", "seed", "max_tokens", "budget")

_ADDRESS = re.compile(r"@[^@/]*(:\d+|/)|@localhost|@\d+(\.\d+)+$")
"""An address without http://; read as a part of the name, it would send requests to another service."""

DEFAULT_MAX_TOKENS = 4096
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ModelName(NamedTuple):
    """The parts of a judge's name: its kind, the model, and the URL.

    >>> ModelName.of("openai:qwen3@http://127.0.0.1:8080/v1")
    ModelName(kind='openai', name='qwen3', url='http://127.0.0.1:8080/v1')
    """

    kind: str
    name: str
    url: str = ""

    @classmethod
    def of(cls, text: str) -> Self:
        """Parse ``KIND:NAME`` or ``KIND:NAME@URL``; errors do not show the URL.

        Raises:
            ValueError: the text is not the name of a judge.
            UsageError: the URL is invalid, or contains a user or a password.
        """
        kind, _, rest = text.strip().partition(":")
        match = re.fullmatch(r"([^\s@]+(?:@(?!\w+://)[^\s@]+)*)(?:@(\w+://.*))?", rest)
        if match is not None and kind in _WITH_URL and _ADDRESS.search(match[1]):
            raise ValueError("its address must begin with http:// or https://")
        if kind not in KINDS or match is None or "://" in match[1]:
            raise ValueError(f"that is not the name of a judge: {_HOW_TO_NAME}")
        url = match[2] or ""
        if url and kind not in _WITH_URL:
            raise ValueError(f"the URL of {kind} is set by an environment variable; {_HOW_TO_NAME}")
        return cls(kind, match[1], checked_url(url, "The judge's model: its address") if url else "")

    @property
    def api(self) -> str:
        """The API through which the model is asked: ``anthropic``, ``google``, or ``openai`` for the others.

        Amazon Bedrock has Claude only in the API of Anthropic.

        >>> ModelName.of("bedrock:us.anthropic.claude-haiku-4-5-20251001-v1:0").api
        'anthropic'
        """
        if self.kind == "bedrock" and "anthropic." in self.name:
            return "anthropic"
        return self.kind if self.kind in ("anthropic", "google") else "openai"


class JudgeSpec(Settings):
    """The settings of a judge.

    Attributes:
        model: ``openai:NAME``, ``azure:DEPLOYMENT``, ``anthropic:NAME``, ``google:NAME``, ``bedrock:NAME``,
            ``openrouter:NAME``, ``ollama:NAME``, ``vllm:NAME``, or ``openai:NAME@http://host:port/v1`` for a
            server with OpenAI's chat completions.
        temperature: the sampling temperature; None omits it from requests, as some reasoning models require.
            For this and the next two, the text ``none`` means None.
        seed: the random seed of sampling, if the service supports it; None omits it from requests.
        max_tokens: the maximum number of tokens of a reply; None omits it from requests. ``max_cost`` then
            reserves 4096 tokens for a reply.
        budget: the maximum number of tokens of passages in one inquiry; more passages are judged in parts.
        concurrency: the maximum number of requests in flight; SGI lowers it while the service is too busy.
        rpm: the maximum number of requests per minute; None means no limit.
        tpm: the maximum number of tokens per minute; None means no limit.
        timeout: seconds for a request with all attempts and the waits between them, without the wait that
            ``concurrency``, ``rpm`` and ``tpm`` cause.
        retries: the number of further attempts after temporary errors.
        max_cost: the cost limit in US dollars; None means no limit.
        input_price: US dollars per million input tokens; None means the published price.
        output_price: US dollars per million output tokens; None means the published price.
        batch: whether requests are sent in batches, which take up to 24 hours and cost half at OpenAI. The
            settings concurrency, rpm, tpm and timeout then have no effect.

    Raises:
        UsageError: a value is invalid, or the URL contains a secret.

    >>> JudgeSpec.of("openai:gpt-4o-mini").temperature
    0.0
    >>> JudgeSpec(model="openai:m", concurrency=0)
    Traceback (most recent call last):
    sgi.kernel.errors.UsageError: The judge's concurrency: input should be greater than or equal to 1.
    """

    owner: ClassVar[str] = "judge"

    model: str
    temperature: Annotated[float, Field(ge=0, le=2)] | None = 0.0
    seed: int | None = 0
    max_tokens: Annotated[int, Field(ge=1)] | None = DEFAULT_MAX_TOKENS
    budget: Annotated[int, Field(ge=100)] = 16000
    concurrency: Annotated[int, Field(ge=1, le=1000)] = 16
    rpm: Positive | None = None
    tpm: Positive | None = None
    timeout: Positive = 120.0
    retries: Annotated[int, Field(ge=0, le=20)] = 4
    max_cost: Positive | None = None
    input_price: Price | None = None
    output_price: Price | None = None
    batch: bool = False

    @classmethod
    def of(cls, values: str | Mapping[str, Any]) -> Self:
        """Return the spec for a judge's name, or for a mapping of attributes to values."""
        return cls(**({"model": values} if isinstance(values, str) else values))

    @property
    def name_parts(self) -> ModelName:
        """The kind, name and URL in ``model``."""
        return ModelName.of(self.model)

    def fingerprint(self, address: str | None = None) -> str:
        """Return the judge's identity: name, address and sampling settings, without secrets.

        ``address`` is the short form of the address, empty for the default address; None stands for that of
        the settings. Raises a UsageError if the address of the settings is missing or invalid.

        >>> JudgeSpec.of("openai:m").fingerprint("localhost:80")
        'openai:m@localhost:80,temperature=0.0,seed=0,max_tokens=4096'
        """
        kind, model, url = self.name_parts
        address = address_label(service_url(kind, url)) if address is None else address
        name = f"{kind}:{model}{f'@{address}' if address else ''}"
        return f"{name},temperature={self.temperature},seed={self.seed},max_tokens={self.max_tokens}"

    def identity(self) -> dict[str, JsonValue]:
        """Return the settings that affect scores."""
        return self.model_dump(mode="json", include=set(_IDENTITY))

    def check_combination(self) -> None:
        """Raise a UsageError if only one of both prices is set, or the service has no batches."""
        if (self.input_price is None) != (self.output_price is None):
            raise UsageError("The judge has only one price; set both input_price and output_price, or none.")
        if self.batch and self.name_parts.kind != "openai":
            hint = "Use openai:NAME, or openai:NAME@URL for a server with OpenAI's batches."
            raise UsageError(f"SGI does not support batches of {self.name_parts.kind}.", hint=hint)

    @field_validator("temperature", "seed", "max_tokens", mode="before")
    @classmethod
    def _parse_none(cls, value: object) -> object:
        return None if isinstance(value, str) and value.strip().lower() == "none" else value

    @field_validator("model")
    @classmethod
    def _validate_model(cls, model: str) -> str:
        ModelName.of(model)
        return model.strip()
