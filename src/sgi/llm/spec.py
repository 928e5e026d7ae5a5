"""The settings of a judge; they are stored with a run and contain no secret."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, Self

from pydantic import Field, field_validator

from sgi.kernel.environment import checked_url
from sgi.kernel.errors import UsageError
from sgi.kernel.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

KINDS = ("openai", "azure", "anthropic", "google", "ollama")
_WITH_URL = ("openai", "ollama")
_HOW_TO_NAME = (
    "write openai:NAME, azure:DEPLOYMENT, anthropic:NAME, google:NAME, ollama:NAME "
    "or openai:NAME@http://host:port/v1"
)
_IDENTITY = ("model", "temperature", "seed", "max_tokens", "budget")

_ADDRESS = re.compile(r"@[^@/]*(:\d+|/)|@localhost|@\d+(\.\d+)+$")
"""An address without http://: as a part of the name, requests would go to another service."""

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ModelName(NamedTuple):
    """The parts of a judge's name.

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
            ValueError: it is not the name of a judge.
            UsageError: the URL is invalid, or contains a user or a password.
        """
        kind, _, rest = text.strip().partition(":")
        match = re.fullmatch(r"([^\s@]+(?:@(?!\w+://)[^\s@]+)*)(?:@(\w+://.*))?", rest)
        if match is not None and kind in _WITH_URL and _ADDRESS.search(match[1]):
            raise ValueError("its address has no http:// or https:// before it")
        if kind not in KINDS or match is None or "://" in match[1]:
            raise ValueError(f"that is not the name of a judge: {_HOW_TO_NAME}")
        url = match[2] or ""
        if url and kind not in _WITH_URL:
            raise ValueError(f"{kind} has a fixed URL; {_HOW_TO_NAME}")
        return cls(kind, match[1], checked_url(url, "The judge's model: its address") if url else "")


class JudgeSpec(Settings):
    """The settings of a judge.

    Attributes:
        model: ``openai:NAME``, ``azure:DEPLOYMENT``, ``anthropic:NAME``, ``google:NAME``, ``ollama:NAME``, or
            ``openai:NAME@http://host:port/v1`` for a server with OpenAI's chat completions.
        temperature: of sampling; None sends none, as some reasoning models require.
        seed: of sampling, if the service supports it; None sends none.
        max_tokens: the most tokens of a reply.
        budget: the most tokens of passages in one inquiry; longer contexts are judged in parts.
        concurrency: the most requests in flight; fewer while the service reports too many.
        rpm: the most requests per minute; None for no limit.
        tpm: the most tokens per minute; None for no limit.
        timeout: seconds for a request with all attempts and the waits between them, without the wait for
            a slot.
        retries: further attempts after transient errors.
        max_cost: the limit of the cost in US dollars; None for no limit.
        input_price: US dollars per million input tokens; None for the published price.
        output_price: US dollars per million output tokens.

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
    max_tokens: Annotated[int, Field(ge=1)] = 4096
    budget: Annotated[int, Field(ge=100)] = 16000
    concurrency: Annotated[int, Field(ge=1, le=1000)] = 16
    rpm: Positive | None = None
    tpm: Positive | None = None
    timeout: Positive = 120.0
    retries: Annotated[int, Field(ge=0, le=20)] = 4
    max_cost: Positive | None = None
    input_price: Price | None = None
    output_price: Price | None = None

    @classmethod
    def of(cls, values: str | Mapping[str, Any]) -> Self:
        """Return a spec from a judge's name, or from values by attribute."""
        return cls(**({"model": values} if isinstance(values, str) else values))

    @property
    def name_parts(self) -> ModelName:
        """The parts of the model's name."""
        return ModelName.of(self.model)

    def fingerprint(self, address: str) -> str:
        """Everything that can change a reply: name, address and sampling settings; no secret.

        ``address`` is the label of the address; empty for the default.

        >>> JudgeSpec.of("openai:m").fingerprint("localhost:80")
        'openai:m@localhost:80,temperature=0.0,seed=0,max_tokens=4096'
        """
        name = f"{self.name_parts.kind}:{self.name_parts.name}{f'@{address}' if address else ''}"
        return f"{name},temperature={self.temperature},seed={self.seed},max_tokens={self.max_tokens}"

    def identity(self) -> dict[str, JsonValue]:
        """Return the settings that can change a score."""
        return self.model_dump(mode="json", include=set(_IDENTITY))

    def check_combination(self) -> None:
        """Raise a UsageError if one price is missing."""
        if (self.input_price is None) != (self.output_price is None):
            raise UsageError("The judge has one price without the other; give both prices or none.")

    @field_validator("model")
    @classmethod
    def _validate_model(cls, model: str) -> str:
        ModelName.of(model)
        return model.strip()
