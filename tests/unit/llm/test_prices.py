"""Where prices come from: the spec, or what is published."""

import pytest

from sgi.llm.calls import Price, price_of
from sgi.llm.judge_spec import JudgeSpec

pytestmark = pytest.mark.usefixtures("no_remote_settings")


def test_published_prices_are_in_dollars_a_million_tokens():
    assert price_of(JudgeSpec.of("openai:gpt-4o-mini")) == Price(0.15, 0.6)
    assert price_of(JudgeSpec.of("azure:gpt-4o")) == Price(2.5, 10.0)
    assert price_of(JudgeSpec.of("anthropic:claude-sonnet-4-5")) == Price(3.0, 15.0)
    assert price_of(JudgeSpec.of("google:gemini-2.5-flash")) == Price(0.3, 2.5)
    assert price_of(JudgeSpec.of("bedrock:openai.gpt-oss-120b-1:0")) == Price(0.15, 0.6)
    assert price_of(JudgeSpec.of("openrouter:anthropic/claude-haiku-4.5")) == Price(1.0, 5.0)


@pytest.mark.parametrize(
    "model",
    [
        *("openai:no-such", "ollama:llama3", "vllm:gpt-4o", "openai:gpt-4o@http://127.0.0.1:1/v1"),
        "azure:my-deployment",
    ],
)
def test_what_has_no_published_price_is_not_known(model):
    assert price_of(JudgeSpec.of(model)) is None


def test_another_address_in_the_environment_has_no_published_price(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
    assert price_of(JudgeSpec.of("openai:gpt-4o")) is None
    assert price_of(JudgeSpec.of("anthropic:claude-sonnet-4-5")) is None


def test_given_prices_go_first_and_may_be_nothing():
    spec = JudgeSpec(model="openai:gpt-4o", input_price=0, output_price=0)
    assert price_of(spec) == Price(0.0, 0.0)
    assert Price(0.0, 0.0).of(10, 10) == 0.0
