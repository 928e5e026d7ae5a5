from urllib.parse import quote

import pytest

from sgi.kernel.errors import UsageError
from sgi.target.target_spec import Environment, has_variable, is_variable, names_a_count, names_a_secret


def test_variables_are_expanded_wherever_they_stand_and_remembered(monkeypatch):
    monkeypatch.setenv("RAG_USER", "me")
    monkeypatch.setenv("RAG_KEY", " a&b\n")
    environment = Environment()
    assert environment.expand("${RAG_USER}:${RAG_KEY}") == "me:a&b"
    assert environment.expand("k=${RAG_KEY}", quote) == "k=a%26b"
    assert set(environment.values.values()) == {"me", "a&b"}


def test_json_is_expanded_in_its_texts_alone(monkeypatch):
    monkeypatch.setenv("RAG_KEY", "abc")
    settings = {"${RAG_KEY}": ["${RAG_KEY}", 3, None, {"deep": "x ${RAG_KEY}"}]}
    assert Environment().expand_all(settings) == {"${RAG_KEY}": ["abc", 3, None, {"deep": "x abc"}]}


def test_a_value_is_not_expanded_again(monkeypatch):
    monkeypatch.setenv("RAG_KEY", "${HOME}")
    assert Environment().expand("${RAG_KEY}") == "${HOME}"


@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_variable_that_is_not_set_is_named(monkeypatch, value):
    monkeypatch.delenv("RAG_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("RAG_KEY", value)
    with pytest.raises(UsageError, match="RAG_KEY"):
        Environment().expand("Bearer ${RAG_KEY}")


@pytest.mark.parametrize("text", ["$RAG_KEY", "${}", "${1}", "${A B}", "{RAG_KEY}", "$ {A}"])
def test_what_names_no_variable_stays(text):
    assert not has_variable(text)
    assert Environment().expand(text) == text


def test_names_that_look_secret():
    secret = (
        *("AUTHORIZATION", "Proxy-Authorization", "Cookie", "x-api-key", "apikey", "accessToken"),
        *("client_secret", "sig", "X-Sig", "code", "pwd", "dbPwd", "userPass", "passphrase", "OTP", "jwt"),
    )
    harmless = ("Accept", "X-Author", "tokenizer", "keyword", "X-Request-Id", "top_k")
    harmless += ("country_code", "design", "signal", "compass", "passage", "spin", "pattern")
    assert all(map(names_a_secret, secret))
    assert not any(map(names_a_secret, harmless))


def test_counts_are_told_from_secrets():
    counts = ("max_tokens", "tokens", "maxTokens", "session-timeout", "token_limit", "num_keys")
    assert all(map(names_a_count, counts))
    assert not any(map(names_a_count, ("api_key", "token", "country", "sig", "session")))


def test_a_variable_alone_or_after_a_scheme():
    alone = ("${KEY}", "Bearer ${KEY}", "basic ${A_1}", "Token ${KEY}", "ApiKey ${KEY}")
    beside = ("", "KEY", "x${KEY}", "${KEY}x", "Bearer x${KEY}", "${A}${B}", "Other ${KEY}", "${KEY}\n")
    assert all(map(is_variable, alone))
    assert not any(map(is_variable, beside))
