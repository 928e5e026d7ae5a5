"""Prices of tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sgi.kernel.environment import has_usual_address

if TYPE_CHECKING:
    from sgi.llm.judge_spec import JudgeSpec

_MILLION = 1_000_000
_PROVIDERS = {"bedrock": "aws"}
"""The names that ``genai-prices`` has for services with another name here."""
_LOOKUP_TOKENS = 1000
"""The size in tokens of the request whose price is looked up; higher price tiers begin far above."""


@dataclass(frozen=True)
class Price:
    """US dollars per million tokens.

    >>> Price(2.5, 10.0).of(1000, 100)
    0.0035
    """

    input_price: float
    output_price: float

    def of(self, input_tokens: float, output_tokens: float) -> float:
        """Return the cost of these tokens in US dollars."""
        return (input_tokens * self.input_price + output_tokens * self.output_price) / _MILLION


def price_of(spec: JudgeSpec) -> Price | None:
    """Return the prices in the spec, or the published prices of the service; None if both are unknown.

    The published price of a request in a batch is half the price of another request
    (https://platform.openai.com/docs/guides/batch).
    Published prices are from the package ``genai-prices``; nothing is downloaded. For a user's own server
    there are none.
    """
    if spec.input_price is not None and spec.output_price is not None:
        return Price(spec.input_price, spec.output_price)
    kind, name, url = spec.name_parts
    if url or not (kind == "azure" or has_usual_address(kind)):
        return None
    try:
        from genai_prices import Usage, calc_price
    except ImportError:
        return None
    try:
        usage = Usage(input_tokens=_LOOKUP_TOKENS, output_tokens=_LOOKUP_TOKENS)
        price = calc_price(usage, name, provider_id=_PROVIDERS.get(kind, kind))
    except LookupError:
        return None
    scale = _MILLION / _LOOKUP_TOKENS / (2 if spec.batch else 1)
    return Price(float(price.input_price) * scale, float(price.output_price) * scale)
