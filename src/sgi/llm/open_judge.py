"""Opens the judge of a spec."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager, closing
from importlib.util import find_spec
from typing import TYPE_CHECKING

from sgi.kernel.environment import Service
from sgi.kernel.errors import MissingExtraError, UsageError
from sgi.llm.budget import BudgetedChat
from sgi.llm.calls import UsageCounter, price_of
from sgi.llm.cassette import CassettePlayer, CassetteRecorder, cassette_judge
from sgi.llm.judge import CachedChat, ChatJudge
from sgi.llm.judge_spec import DEFAULT_MAX_TOKENS
from sgi.llm.retry import Limiter, RetryingChat

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from openai import AsyncOpenAI
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider

    from sgi.kernel.protocols import Cache
    from sgi.llm.calls import Chat
    from sgi.llm.chat import ModelChat
    from sgi.llm.judge_spec import JudgeSpec

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
    """Context manager that opens the judge of a spec for use in the current event loop.

    Args:
        spec: the judge and its settings.
        cache: stores replies.
        again: whether to request a new reply if all cached replies of an inquiry are invalid.
        record: a cassette (a file) to which all replies and errors are written, also those from the cache.
        replay: a cassette that replaces the model and the cache, so nothing is sent. Requests that were
            repeated during the recording are repeated again.

    Raises:
        MissingExtraError: the extra ``judge`` is not installed.
        UsageError: a key or another setting is missing, or ``max_cost`` is set without a known price.
        DataError: a cassette cannot be read.
    """
    counter = UsageCounter()
    if replay is not None:
        if record is not None:
            raise UsageError("record and replay cannot be used together.")
        player = CassettePlayer(replay, counter)
        _require_same_judge(replay, spec)
        yield ChatJudge(player, budget=spec.budget, again=player.contains, counter=counter)
        return
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(open_chat(spec, cache))
        chat: Chat = wrapped_chat(model, spec, cache, counter)
        if record is not None:
            chat = stack.enter_context(closing(CassetteRecorder(chat, record, spec.identity())))
        yield ChatJudge(chat, budget=spec.budget, again=again, counter=counter, batched=spec.batch)


def wrapped_chat(chat: Chat, spec: JudgeSpec, cache: Cache, counter: UsageCounter) -> Chat:
    """Wrap a chat model with cache, budget, retries and limits.

    The cache is outermost, so cached calls do not count for limits and cost nothing. The budget counts each
    paid call once. Every attempt counts for the limits, which a batch does not have. Raises a UsageError for
    ``max_cost`` without a known price.
    """
    if spec.batch:
        from sgi.llm.batch import BatchedChat

        retrying: Chat = BatchedChat(chat, counter, retries=spec.retries)
    else:
        limiter = Limiter(concurrency=spec.concurrency, rpm=spec.rpm, tpm=spec.tpm)
        retrying = RetryingChat(chat, limiter, counter, retries=spec.retries, timeout=spec.timeout)
    price = price_of(spec)
    budgeted = BudgetedChat(
        retrying,
        counter,
        price=price,
        max_cost=spec.max_cost,
        max_tokens=spec.max_tokens or DEFAULT_MAX_TOKENS,
    )
    return CachedChat(budgeted, cache, counter)


@asynccontextmanager
async def open_chat(spec: JudgeSpec, cache: Cache | None = None) -> AsyncIterator[ModelChat]:
    """Context manager that opens the chat model of a spec; nothing is sent before its first use.

    ``cache`` is the cache of replies, in which batches are remembered.

    Raises:
        MissingExtraError: the extra ``judge`` is not installed.
        UsageError: the service's client library is not installed, or a key or an address is missing.
    """
    api = spec.name_parts.api
    _check_installed(api)
    from sgi.llm.chat import ModelChat

    service = Service.of(spec.name_parts.kind, spec.name_parts.url)
    if api in _MODULES:
        async with _other_model(api, service, spec.name_parts.name) as model:  # closes its connections
            yield ModelChat(model, model, spec, service)
        return
    async with _open_client(service, spec, cache) as client:
        yield ModelChat(*_openai_models(service, spec.name_parts.name, client), spec, service)


def _open_client(
    service: Service, spec: JudgeSpec, cache: Cache | None
) -> AbstractAsyncContextManager[AsyncOpenAI]:
    if not spec.batch:
        from sgi.llm.client import openai_client

        return openai_client(service, spec)
    if cache is None:
        raise UsageError(
            "Batches of requests are not supported here.", hint="Remove batch from its settings."
        )
    from sgi.llm.batch import batch_client

    return batch_client(service, f"{service.kind}:{spec.name_parts.name}", cache)


def _require_same_judge(path: Path, spec: JudgeSpec) -> None:
    judge = cassette_judge(path)
    if judge != spec.identity():
        names = sorted(name for name, value in spec.identity().items() if judge.get(name) != value)
        hint = f"Use the recorded judge: {judge.get('model')}."
        raise UsageError(f"{path} was recorded from another judge: {', '.join(names)} differs.", hint=hint)


def _check_installed(api: str) -> None:
    if not all(map(find_spec, ("pydantic_ai", "openai", "aiohttp"))):
        raise MissingExtraError("A judge", "judge")
    module = _MODULES.get(api)
    if module is not None and not _importable(module):
        hint = f'Install it: pip install "pydantic-ai-slim[{api}]"'
        raise UsageError(f"A judge with the API of {api} requires its client library.", hint=hint)


def _importable(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its parent package does not exist
        return False


def _other_model(api: str, service: Service, name: str) -> Model:
    if api == "anthropic":
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        url = service.url
        if service.kind == "bedrock":  # its APIs are beside each other
            url = f"{url.removesuffix('/v1').removesuffix('/openai')}/anthropic"
        return AnthropicModel(name, provider=AnthropicProvider(api_key=service.key, base_url=url))
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    return GoogleModel(name, provider=GoogleProvider(api_key=service.key, base_url=service.url))


def _openai_models(service: Service, name: str, client: AsyncOpenAI) -> tuple[Model, Model]:
    """Return two models with OpenAI's chat API: one converts schemas, one sends converted schemas."""
    from openai import AsyncAzureOpenAI
    from pydantic_ai.models.ollama import OllamaModel
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles import ModelProfile, merge_profile
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.azure import AzureProvider
    from pydantic_ai.providers.ollama import OllamaProvider
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openrouter import OpenRouterProvider

    kind = OllamaModel if service.kind == "ollama" else OpenAIChatModel
    if isinstance(client, AsyncAzureOpenAI):
        provider: Provider[AsyncOpenAI] = AzureProvider(openai_client=client)
    elif service.kind == "ollama":
        provider = OllamaProvider(openai_client=client)
    elif service.kind == "openrouter":
        provider = OpenRouterProvider(openai_client=client)
    else:
        provider = OpenAIProvider(openai_client=client)
    # All compatible servers know the older name of the token limit.
    has_older = service.is_own or service.kind == "openrouter"
    older = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False) if has_older else None
    # pydantic-ai would omit the temperature for some models, with a Python warning for each request.
    as_given = OpenAIModelProfile(openai_supports_reasoning=False)
    profile = merge_profile(merge_profile(kind(name, provider=provider).profile, older), as_given)
    prepared = merge_profile(profile, ModelProfile(json_schema_transformer=None))
    return kind(name, provider=provider, profile=profile), kind(name, provider=provider, profile=prepared)
