from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest

from sgi.kernel.errors import UsageError
from sgi.kernel.input_limits import size_in_bytes
from sgi.store.database import open_database
from sgi_web.cli.serve import _open_socket
from sgi_web.cli.serve_options import SiteFlags
from support.guards import fitted_guard

PROXY = ("--trusted-proxy", "127.0.0.1", "--identity-header", "X-User")


@contextmanager
def _served(folder, *words, **environment):
    """A server as a process of its own, and the address it tells."""
    command = [sys.executable, "-m", "sgi", "serve", "--port", "0", *words]
    with subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    ) as process:
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def _status(address, **headers):
    asked = urllib.request.Request(address, headers=headers)
    try:
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def test_it_tells_its_address_serves_pages_and_verdicts_and_ends_with_ctrl_c(tmp_path):
    (tmp_path / "guard.json").write_text(fitted_guard().to_json())
    with _served(tmp_path, "--guard", "guard.json", "--guard-on-error", "allow") as (process, address):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
        body = b'{"contexts": [], "response": "It is 3 km long."}'
        headers = {"Content-Type": "application/json"}
        asked = urllib.request.Request(f"{address}api/v1/guard", data=body, headers=headers)
        verdict = json.loads(urllib.request.urlopen(asked, timeout=60).read())
        assert _status(address) == 200
        assert _status(f"{address}healthz") == 200
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "")
    assert "Created the empty database" in err
    assert "press Ctrl-C to stop" in err
    assert "Traceback" not in err
    assert (verdict["blocked"], bool(verdict["error"])) == (False, True)
    assert f"Checking answers at {address}api/v1/guard." in err
    open_database(tmp_path / "sgi.db", create=False).close()


@pytest.mark.parametrize("proxy", ["*", "10.0.0.0/8", "proxy.example.org", ""])
def test_a_trusted_proxy_is_one_address(sgi, monkeypatch, proxy):
    monkeypatch.setenv("SGI_SERVE_TOKEN", "x" * 20)
    result = sgi("serve", "--trusted-proxy", proxy)
    assert result.code == 2
    assert "--trusted-proxy must be an IP address" in result.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--judge", "openai:gpt-4o-mini"), "OPENAI_API_KEY"),
        (("--judge", "gpt"), "that is not the name of a judge"),
        (("--judge-budget", "1"), "Options of the judge are set, but no judge: --judge is required"),
        (("--judge", "ollama:m", "--judge-budget", "1"), "--judge-budget needs the price of the judge"),
    ],
)
def test_a_judge_that_cannot_be_used_is_an_error_before_it_serves(sgi, tmp_path, monkeypatch, words, message):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    result = sgi("serve", *words)
    assert (result.code, result.out) == (2, "")
    assert message in " ".join(result.err.split())
    assert list(tmp_path.iterdir()) == []


def _changed(text):
    return text.replace('"asked": 0.05', '"asked": 0.06')


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (None, "guard.json: cannot be read: No such file or directory. `sgi guard fit"),
        (lambda text: text[:99], "guard.json: is not JSON"),
        (lambda _: "{}", "guard.json: the file is not a guard"),
        (_changed, "guard.json: the file was changed since it was fitted"),
    ],
    ids=["missing", "cut off", "another file", "changed"],
)
def test_an_invalid_guard_file_is_an_error_before_it_serves(sgi, tmp_path, change, message):
    if change is not None:
        (tmp_path / "guard.json").write_text(change(fitted_guard().to_json()))
    before = [*tmp_path.iterdir()]
    result = sgi("serve", "--guard", "guard.json")
    assert (result.code, result.out) == (2, "")
    assert message in " ".join(result.err.split())
    assert [*tmp_path.iterdir()] == before


def test_what_happens_on_errors_needs_a_guard(sgi):
    result = sgi("serve", "--guard-on-error", "allow")
    assert (result.code, result.out) == (2, "")
    assert "--guard-on-error needs --guard" in result.err


def test_the_guard_has_a_time_limit(tmp_path):
    (tmp_path / "guard.json").write_text(fitted_guard().to_json())
    assert SiteFlags(guard=tmp_path / "guard.json").settings(is_local=True)["guard"].timeout == 30


@pytest.mark.slow
def test_the_judge_of_the_environment_scores_uploads_and_its_key_stays_there(tmp_path):
    variables = {"SGI_SERVE_JUDGE": "openai:gpt-4o-mini", "OPENAI_API_KEY": "sk-quite-secret"}
    with _served(tmp_path, "--judge-budget", "0.5", **variables) as (process, address):
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        page = opener.open(f"{address}upload", timeout=60).read().decode()
        key = re.search(r'name="form_key" value="(\w+)"', page)[1]
        row = '{"question": "Why?", "contexts": ["It is."], "response": "It is."}'
        body = (
            f'--b\r\nContent-Disposition: form-data; name="form_key"\r\n\r\n{key}\r\n--b\r\n'
            f'Content-Disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n{row}\r\n--b--\r\n'
        )
        asked = urllib.request.Request(
            f"{address}upload",
            data=body.encode(),
            headers={"Content-Type": "multipart/form-data; boundary=b"},
        )
        page += opener.open(asked, timeout=60).read().decode()
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert "Its budget has $0.5000 left" in page
    assert "sk-quite-secret" not in page + out + err


def test_a_port_in_use_is_an_error(sgi, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = sgi("serve", "--port", str(taken.getsockname()[1]))
    assert result.code == 2
    assert "--port 0 takes a free port" in result.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("host", ["a..b", "x" * 70 + ".example", ".example"])
def test_an_invalid_host_is_an_error(sgi, host):
    result = sgi("serve", "--host", host, "--token", "quite a secret token")
    assert (result.code, result.out) == (2, "")
    assert f"Cannot listen on {host}" in result.err
    assert "--host must be an address" in " ".join(result.err.split())


def test_an_unusable_database_is_an_error(sgi, tmp_path):
    (tmp_path / "other.db").write_text("no database at all, but long enough to be looked at")
    result = sgi("serve", "--port", "0", "--db", "other.db")
    assert result.code == 2
    assert "other.db" in result.err


def test_without_the_extra_the_error_has_the_pip_command(sgi, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    result = sgi("serve")
    assert result.code == 2
    assert "[web]" in result.err


@pytest.mark.parametrize("text", ["", "x", "-1MB", "0", "1TB", "1e999", "nan MB"])
def test_what_is_no_size(text):
    with pytest.raises(UsageError, match="Write 100MB"):
        size_in_bytes(text)


def test_responses_are_sent_at_once():
    """Without TCP_NODELAY, the second part of a response waits 40 ms for the client's acknowledgement."""

    async def accepted_socket():
        connected = asyncio.get_running_loop().create_future()
        with _open_socket("127.0.0.1", 0) as listener:
            server = await asyncio.start_server(lambda _, writer: connected.set_result(writer), sock=listener)
            async with server:
                _, client = await asyncio.open_connection(*listener.getsockname())
                writer = await connected
                option = writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                client.close()
                writer.close()
                return option

    assert asyncio.run(accepted_socket())


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--identity-header", "X-User"], ["--identity-header", "--trusted-proxy"]),
        ([*PROXY, "--identity-header", "X User"], ["'X User'"]),
        ([*PROXY, "--token", "t" * 16], ["SGI_SERVE_TOKEN"]),
        (["--trusted-proxy", "127.0.0.1"], ["SGI_SERVE_TOKEN"]),
        (["--public-host", "sgi.example.org"], ["SGI_SERVE_TOKEN"]),
        (["--host", "::"], ["SGI_SERVE_TOKEN"]),
        (["--token", "fifteen letters"], ["16"]),
        (["--view-token", "sixteen letters é"], ["16"]),
        (["--token", "t" * 16, "--view-token", "t" * 16], ["SGI_SERVE_VIEW_TOKEN"]),
    ],
)
def test_the_options_about_clients_are_checked(sgi, tmp_path, monkeypatch, words, named):
    for name in ("SGI_SERVE_TOKEN", "SGI_SERVE_VIEW_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    result = sgi("serve", *words)
    assert (result.code, result.out) == (2, "")
    assert all(each in " ".join(result.err.split()) for each in named)
    assert not any(token in result.err for token in ("t" * 16, "fifteen letters", "sixteen letters"))
    assert list(tmp_path.iterdir()) == []


def test_a_proxy_names_the_people_and_others_do_not_get_in(tmp_path):
    with _served(tmp_path, *PROXY) as (_, address):
        assert _status(f"{address}api/v1/runs") == 401
        assert _status(f"{address}api/v1/runs", **{"X-User": "ann", "X-Forwarded-For": "192.0.2.1"}) == 200
        assert _status(f"{address}upload", **{"X-User": "ann"}) == 200


def test_the_tokens_of_the_environment_may_edit_and_read(tmp_path):
    edit, view = "a token of an editor", "a token of a reader"
    variables = {"SGI_SERVE_TOKEN": edit, "SGI_SERVE_VIEW_TOKEN": view}
    with _served(tmp_path, **variables) as (process, address):
        statuses = [
            [
                _status(f"{address}{path}", Authorization=f"Bearer {token}")
                for path in ("api/v1/runs", "upload")
            ]
            for token in (edit, view, "another token, a guess")
        ]
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert statuses[:2] == [[200, 200], [200, 403]]
    assert statuses[2][0] == 401
    assert not any(token in out + err + address for token in (edit, view))
