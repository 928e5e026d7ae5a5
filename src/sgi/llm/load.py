"""From a spec to a judge."""

from __future__ import annotations

from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from sgi.kernel.errors import MissingExtraError, UsageError
from sgi.llm.budget import BudgetedChat
from sgi.llm.cassette import CassettePlayer, CassetteRecorder, cassette_judge
from sgi.llm.judge import ChatJudge
from sgi.llm.limits import Limiter
from sgi.llm.prices import price_of
from sgi.llm.reply_cache import CachedChat
from sgi.llm.retry import RetryingChat
from sgi.llm.service import Service
from sgi.llm.usage import UsageCounter

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from openai import AsyncOpenAI
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider

    from sgi.kernel.protocols import Cache
    from sgi.llm.calls import Chat
    from sgi.llm.chat import ModelChat
    from sgi.llm.spec import JudgeSpec

_MODULES = {"anthropic": "anthropic", "google": "google.genai"}


@asynccontextmanager
async def open_judge(
    spec: JudgeSpec,
    cache: Cache,
    *,
    again: bool = False,
    record: Path | None = None,
    replay: Path | None = None,
) -> AsyncIterator[ChatJudge]:
    """The judge a spec names, as long as it is open; it is used in the event loop that opened it.

    Args:
        spec: which judge, and how it is asked.
        cache: keeps what was answered.
        again: ask anew where all that is kept of an inquiry is that its replies were unfit.
        record: a cassette that gets what every call ends in, also what comes from the cache.
        replay: a cassette that answers instead of the model; nothing is sent, and the cache isn't used. What
            was asked anew when it was recorded is so again.

    Raises:
        MissingExtraError: the extra ``judge`` is not installed.
        UsageError: a key or another setting is missing; ``max_cost`` without a known price.
        DataError: a cassette cannot be read.
    """
    counter = UsageCounter()
    if replay is not None:
        if record is not None:
            raise UsageError("A cassette is replayed or recorded, not both at once.")
        replayed = CassettePlayer(replay, counter)
        _check_recorded(replay, spec)
        yield ChatJudge(replayed, budget=spec.budget, again=replayed.knows, counter=counter)
        return
    async with open_chat(spec) as chat:
        wrapped: Chat = wrapped_chat(chat, spec, cache, counter)
        if record is None:
            yield ChatJudge(wrapped, budget=spec.budget, again=again, counter=counter)
            return
        with CassetteRecorder(wrapped, record, spec.identity()) as recorded:
            yield ChatJudge(recorded, budget=spec.budget, again=again, counter=counter)


def wrapped_chat(chat: Chat, spec: JudgeSpec, cache: Cache, counter: UsageCounter) -> Chat:
    """The model with all that stands around it.

    The cache stands outermost, so that what is known passes no limit and costs nothing. The meter stands
    within it and around the tries: it sees each paid call once. Every try passes the limits.

    Raises:
        UsageError: ``max_cost`` without a known price.
    """
    limiter = Limiter(concurrency=spec.concurrency, rpm=spec.rpm, tpm=spec.tpm)
    retrying = RetryingChat(chat, limiter, counter, retries=spec.retries, timeout=spec.timeout)
    price = price_of(spec)
    metered = BudgetedChat(retrying, counter, price=price, max_cost=spec.max_cost, max_tokens=spec.max_tokens)
    return CachedChat(metered, cache, counter)


@asynccontextmanager
async def open_chat(spec: JudgeSpec) -> AsyncIterator[ModelChat]:
    """The model a spec names, with one client as long as it is open; nothing is sent before it is used.

    Raises:
        MissingExtraError: the extra ``judge`` is not installed.
        UsageError: the service's own client is not installed; a key or an address is missing.
    """
    _check_installed(spec.named.kind)
    from sgi.llm.chat import ModelChat

    service = Service.of(spec.named)
    if service.kind in _MODULES:
        model = _other_model(service, spec.named.name)
        yield ModelChat(model, model, spec, service)
        return
    from sgi.llm.client import openai_client

    async with openai_client(service, spec) as client:
        yield ModelChat(*_openai_models(service, spec.named.name, client), spec, service)


def _check_recorded(path: Path, spec: JudgeSpec) -> None:
    """Another judge would not have been asked like that."""
    recorded = cassette_judge(path)
    if recorded != spec.identity():
        changed = sorted(name for name, value in spec.identity().items() if recorded.get(name) != value)
        hint = f"Leave out --judge, and name it as it was: {recorded.get('model')}."
        raise UsageError(f"{path} was recorded from another judge: {', '.join(changed)} differs.", hint=hint)


def _check_installed(kind: str) -> None:
    if not all(map(find_spec, ("pydantic_ai", "openai", "aiohttp"))):
        raise MissingExtraError("A judge", "judge")
    module = _MODULES.get(kind)
    if module is not None and not _importable(module):
        hint = f'Install it: pip install "pydantic-ai-slim[{kind}]"'
        raise UsageError(f"A judge of {kind} needs its own client.", hint=hint)


def _importable(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its parent isn't there
        return False


def _other_model(service: Service, name: str) -> Model:
    """A model of a service that speaks its own language."""
    if service.kind == "anthropic":
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        return AnthropicModel(name, provider=AnthropicProvider(api_key=service.key))
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    return GoogleModel(name, provider=GoogleProvider(api_key=service.key))


def _openai_models(service: Service, name: str, client: AsyncOpenAI) -> tuple[Model, Model]:
    """A model reached by OpenAI's chat completions, and the same which sends schemas as they are."""
    from openai import AsyncAzureOpenAI
    from pydantic_ai.models.ollama import OllamaModel
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles import ModelProfile, merge_profile
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.azure import AzureProvider
    from pydantic_ai.providers.ollama import OllamaProvider
    from pydantic_ai.providers.openai import OpenAIProvider

    kind = OllamaModel if service.kind == "ollama" else OpenAIChatModel
    if isinstance(client, AsyncAzureOpenAI):
        provider: Provider[AsyncOpenAI] = AzureProvider(openai_client=client)
    elif service.kind == "ollama":
        provider = OllamaProvider(openai_client=client)
    else:
        provider = OpenAIProvider(openai_client=client)
    # Every server of one's own knows the older name of the limit.
    older = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False) if service.own else None
    profile = merge_profile(kind(name, provider=provider).profile, older)
    prepared = merge_profile(profile, ModelProfile(json_schema_transformer=None))
    return kind(name, provider=provider, profile=profile), kind(name, provider=provider, profile=prepared)
