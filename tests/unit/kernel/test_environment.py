"""Settings, keys and addresses of remote services: where they are read from and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgi.kernel import environment
from sgi.kernel.environment import address_label, checked_url, service_url, setting
from sgi.kernel.errors import MissingExtraError, UsageError

KEY = "sk-very-secret-0123456789"
pytestmark = pytest.mark.usefixtures("no_remote_settings")


class Service(environment.Service):
    azure_version: ClassVar[str] = "2030-01-01"


def test_settings_come_from_the_environment_then_from_dotenv(monkeypatch, tmp_path):
    (tmp_path / ".env").write_bytes(
        b"\xef\xbb\xbfOPENAI_API_KEY='from file'\r\nexport AZURE_OPENAI_API_KEY=x # note\r\nBARE\r\n"
    )
    assert setting("OPENAI_API_KEY") == "from file"
    assert setting("AZURE_OPENAI_API_KEY") == "x"
    assert setting("OPENAI_BASE_URL") == setting("BARE") == ""
    monkeypatch.setenv("OPENAI_API_KEY", " from shell\n")
    assert setting("OPENAI_API_KEY") == "from shell"
    assert "AZURE_OPENAI_API_KEY" not in os.environ


def test_a_dotenv_file_that_cannot_be_read_is_not_passed_over(monkeypatch, tmp_path):
    """Without its reader: a variable that the file sets is an error, one that it leaves blank is blank."""
    (tmp_path / ".env").write_text("export AZURE_OPENAI_API_KEY=x\nOPENAI_API_KEY=\n# OPENAI_BASE_URL=y\n")
    monkeypatch.setitem(sys.modules, "dotenv", None)
    with pytest.raises(MissingExtraError) as caught:
        setting("AZURE_OPENAI_API_KEY")
    assert (caught.value.extra, "AZURE_OPENAI_API_KEY" in caught.value.message) == ("openai", True)
    assert setting("OPENAI_API_KEY") == setting("OPENAI_BASE_URL") == ""


def test_a_dotenv_file_of_another_encoding_is_named(tmp_path):
    (tmp_path / ".env").write_text(f"OPENAI_API_KEY={KEY}", encoding="utf-16")
    with pytest.raises(UsageError, match=r"\.env") as caught:
        setting("OPENAI_API_KEY")
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_a_folder_called_dotenv_is_no_settings_file(tmp_path):
    (tmp_path / ".env").mkdir()
    assert setting("OPENAI_API_KEY") == ""


def test_dotenv_is_read_only_where_a_setting_is_wanted():
    code = "import sys, sgi.kernel.environment; print([m for m in ('dotenv', 'openai') if m in sys.modules])"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("inside", "outside", "refused"),
    [
        (["PLACE"], ["KEY"], True),
        (["PLACE", "KEY"], ["KEY"], True),
        (["PLACE", "KEY"], [], False),
        (["KEY"], ["PLACE"], False),
        (["PLACE"], ["KEY", "PLACE"], False),
        ([], ["KEY", "PLACE"], False),
    ],
)
@pytest.mark.parametrize(
    ("kind", "key", "address"),
    [
        ("azure", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT"),
        ("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
        ("ollama", "OLLAMA_API_KEY", "OLLAMA_BASE_URL"),
        ("anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
        ("bedrock", "AWS_BEARER_TOKEN_BEDROCK", "AWS_BEDROCK_BASE_URL"),
    ],
)
def test_a_file_alone_does_not_say_where_the_key_of_the_environment_goes(
    monkeypatch, tmp_path, inside, outside, refused, kind, key, address
):
    values = {"KEY": (key, "a-key"), "PLACE": (address, "http://127.0.0.1:9/")}
    (tmp_path / ".env").write_text("".join(f"{'='.join(values[name])}\n" for name in inside))
    for name in outside:
        monkeypatch.setenv(*values[name])
    if refused:
        with pytest.raises(UsageError) as caught:
            Service.of(kind)
        assert all(name in caught.value.message for name in (key, address, ".env"))
    else:
        service = Service.of(kind)
        assert (service.url, service.key, service.key_name) == ("http://127.0.0.1:9", "a-key", key)


def test_openai_insists_on_a_key_and_a_server_of_ones_own_does_not(monkeypatch):
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        Service.of("openai")
    own = Service.of("openai", "http://host/v1/")
    assert (own, own.is_own) == (Service("openai", "http://host/v1", "none", "OPENAI_API_KEY"), True)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert Service.of("openai").url == service_url("openai") == "https://api.openai.com/v1"
    assert not Service.of("openai").is_own
    monkeypatch.setenv("OPENAI_BASE_URL", "http://other/v1")
    assert Service.of("openai").url == service_url("openai") == "http://other/v1"
    assert Service.of("openai", "http://host/v1").url == "http://host/v1"
    with pytest.raises(UsageError):
        Service.of("openai", "ftp://host")


def test_azure_takes_what_is_given_before_what_is_set(monkeypatch):
    with pytest.raises(UsageError, match="AZURE_OPENAI_API_KEY"):
        Service.of("azure", "http://given")
    for get in (lambda: Service.of("azure", key=KEY), lambda: service_url("azure")):
        with pytest.raises(UsageError, match="AZURE_OPENAI_ENDPOINT"):
            get()
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "set-key")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "http://set/")
    service = Service.of("azure")
    assert (service.kind, service.url, service.key, service.api_version) == (
        "azure",
        "http://set",
        "set-key",
        "2030-01-01",
    )
    monkeypatch.setenv("AZURE_OPENAI_API_VERSION", "2031-01-01")
    assert Service.of("azure").api_version == "2031-01-01"
    given_all = Service.of("azure", "http://given", key=KEY, api_version="2032-01-01")
    assert (given_all.url, given_all.key, given_all.api_version) == ("http://given", KEY, "2032-01-01")


def test_the_key_is_in_no_repr():
    assert KEY not in repr(Service("openai", "http://h/v1", KEY, "OPENAI_API_KEY"))


@pytest.mark.parametrize("key", ["sk-é", "sk-a b", "sk-a\nb", "sk-\u201ca\u201d", "sk-\x7f"])
def test_keys_no_header_can_carry_are_refused_and_not_shown(key):
    with pytest.raises(UsageError, match="OPENAI_API_KEY") as caught:
        Service.of("openai", key=key)
    assert key not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://h/v1",
        "http://",
        "http://h:0/v1",
        "http://[::1/v1",
        "http://999.1.1.1/v1",
        "http://h/v1?key=PASSWORD",
        "http://h/v1#PASSWORD",
        "http://h\\PASSWORD/v1",
        "http://hé/v1",
        "http://h/v1\n",
    ],
)
def test_bad_urls_are_refused_and_not_shown(url):
    with pytest.raises(UsageError, match="It") as caught:
        checked_url(url, "It")
    assert "PASSWORD" not in str(caught.value) + repr(vars(caught.value))


@pytest.mark.parametrize("url", ["http://u:PASSWORD@h/v1", "https://PASSWORD@h"])
def test_urls_with_a_password_are_refused_and_not_shown(url):
    with pytest.raises(UsageError, match="It") as caught:
        checked_url(url, "It")
    assert "PASSWORD" not in "".join(traceback.format_exception(caught.value)).replace(url, "")


@pytest.mark.parametrize(
    "url", ["http://localhost:8080/v1", "https://[::1]:1/v1", "http://10.0.0.1", "http://h/a@b"]
)
def test_good_urls_pass(url):
    assert checked_url(f"{url}/", "It") == url


@given(st.text(max_size=30))
def test_any_text_is_an_address_or_an_error_of_use(text):
    for url in (text, f"http://{text}"):
        try:
            sound = checked_url(url, "It")
        except UsageError:
            continue
        assert address_label(sound).isprintable()
        assert "@" not in address_label(sound)
        assert not sound.endswith("/")


def test_places_tell_hosts_and_unusual_paths_apart():
    assert address_label("http://Host:80/v1") == address_label("http://host:80") == "host:80"
    assert address_label("http://host/tenant-a/v1").startswith("host/")
    assert "tenant" not in address_label("http://host/tenant-a/v1")
    assert address_label("http://host/tenant-a/v1") != address_label("http://host/tenant-b/v1")
    assert address_label("") == address_label("https://api.openai.com/v1") == ""
