"""Which judge is asked, and how: data that a run keeps, so it holds no secret."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    field_validator,
    model_validator,
)

from sgi.kernel.environment import checked_url
from sgi.kernel.errors import UsageError
from sgi.kernel.settings import refusal

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
"""What looks like a server's address: taken for a part of the name, it would be asked elsewhere."""

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ModelName(NamedTuple):
    """A judge's name, in its parts.

    >>> ModelName.of("openai:qwen3@http://127.0.0.1:8080/v1")
    ModelName(kind='openai', name='qwen3', url='http://127.0.0.1:8080/v1')
    """

    kind: str
    name: str
    url: str = ""

    @classmethod
    def of(cls, text: str) -> Self:
        """The parts of ``KIND:NAME`` or ``KIND:NAME@URL``; what is wrong is said without the URL.

        Raises:
            ValueError: this names no judge.
            UsageError: the URL is none, or holds a user or a password.
        """
        kind, _, rest = text.strip().partition(":")
        found = re.fullmatch(r"([^\s@]+(?:@(?!\w+://)[^\s@]+)*)(?:@(\w+://.*))?", rest)
        if found is not None and kind in _WITH_URL and _ADDRESS.search(found[1]):
            raise ValueError("its address has no http:// or https:// before it")
        if kind not in KINDS or found is None or "://" in found[1]:
            raise ValueError(f"that names no judge: {_HOW_TO_NAME}")
        url = found[2] or ""
        if url and kind not in _WITH_URL:
            raise ValueError(f"{kind} takes no URL; {_HOW_TO_NAME}")
        return cls(kind, found[1], checked_url(url, "The judge's model: its address") if url else "")


class JudgeSpec(BaseModel):
    """Which judge is asked, and how.

    Attributes:
        model: ``openai:NAME``, ``azure:DEPLOYMENT``, ``anthropic:NAME``, ``google:NAME``, ``ollama:NAME``, or
            ``openai:NAME@http://host:port/v1`` for a server that speaks OpenAI's chat completions.
        temperature: of sampling; None leaves it to the model, as some reasoning models demand.
        seed: of sampling, where the service takes one; None sends none.
        max_tokens: the most tokens of a reply.
        budget: the most tokens of passages in one inquiry; what is longer is asked about in parts.
        concurrency: how many requests are in flight at once; less while the service says it is too many.
        rpm: the most requests a minute; None for no limit.
        tpm: the most tokens a minute; None for no limit.
        timeout: seconds a request may take, all its tries and the waits between them together, but not the
            wait for its turn.
        retries: further tries after the first, where the fault may pass.
        max_cost: US dollars that may be spent; None for no limit.
        input_price: US dollars for a million tokens sent; None takes the known price.
        output_price: the same, for tokens written.

    Raises:
        UsageError: a value is nonsense, or the URL holds a secret.

    >>> JudgeSpec.of("openai:gpt-4o-mini").temperature
    0.0
    >>> JudgeSpec(model="openai:m", concurrency=0)
    Traceback (most recent call last):
    sgi.kernel.errors.UsageError: The judge's concurrency: input should be greater than or equal to 1.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

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
        """A spec of a judge's name, or of plain values by the names of the attributes."""
        return cls(**({"model": values} if isinstance(values, str) else values))

    @property
    def named(self) -> ModelName:
        """The model's name, in its parts."""
        return ModelName.of(self.model)

    def fingerprint(self, place: str) -> str:
        """Everything that can change a reply: name, place, and what is asked of sampling; no secret.

        Args:
            place: where the model is; blank for the usual place.

        >>> JudgeSpec.of("openai:m").fingerprint("localhost:80")
        'openai:m@localhost:80,temperature=0.0,seed=0,max_tokens=4096'
        """
        name = f"{self.named.kind}:{self.named.name}{f'@{place}' if place else ''}"
        return f"{name},temperature={self.temperature},seed={self.seed},max_tokens={self.max_tokens}"

    def identity(self) -> dict[str, JsonValue]:
        """What can change a number; the rest says how fast it comes and what it costs.

        >>> JudgeSpec.of({"model": "openai:m", "concurrency": 4}).identity()["budget"]
        16000
        """
        return self.model_dump(mode="json", include=set(_IDENTITY))

    @model_validator(mode="wrap")
    @classmethod
    def _tell(cls, values: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """What pydantic found wrong, as an error of ours that shows no value: it may be secret."""
        try:
            spec = handler(values)
        except ValidationError as errors:
            refused = refusal(errors, "judge", cls.model_fields)
        else:
            if (spec.input_price is None) != (spec.output_price is None):
                raise UsageError("The judge has one price without the other; give both prices or none.")
            return spec
        raise refused

    @field_validator("model")
    @classmethod
    def _checked(cls, model: str) -> str:
        ModelName.of(model)
        return model.strip()
