"""The client and the environment: certificates, proxies and passwords."""

import asyncio
import shutil
import ssl
import subprocess
from base64 import b64encode

import pytest

from sgi.kernel.errors import JudgeUnavailableError
from sgi.llm.judge_spec import JudgeSpec
from sgi.llm.open_judge import open_chat
from support.judge_server import JudgeServer, call
from support.judge_wire import KEY, answer, complete
from support.wire import RawServer, serve

pytestmark = pytest.mark.usefixtures("no_remote_settings", "no_proxies")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    if shutil.which("openssl") is None:
        pytest.skip("needs the command openssl to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    options = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    places = ["-keyout", folder / "key.pem", "-out", folder / "cert.pem"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(["openssl", *options.split(), *names, *places], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return folder / "cert.pem", context


def test_a_certificate_that_nobody_vouches_for_is_refused(certificate):
    wire = RawServer(answer())
    with pytest.raises(JudgeUnavailableError, match="cannot be reached"):
        complete(wire, url="https://127.0.0.1:{port}/v1", context=certificate[1])
    assert not wire.heads


def test_a_certificate_the_environment_vouches_for_is_taken(certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    wire = RawServer(answer())
    complete(wire, call("a"), call("b"), url="https://127.0.0.1:{port}/v1", context=certificate[1])
    assert (len(wire.heads), wire.connections) == (2, 1)


def test_a_proxy_of_the_environment_gets_the_request_with_its_own_password(monkeypatch):
    async def work():
        async with serve(wire) as port:
            monkeypatch.setenv("HTTP_PROXY", f"http://me:pass-1@127.0.0.1:{port}")
            async with open_chat(JudgeSpec(model="openai:m@http://judge.example/v1")) as chat:
                await chat.complete(call())

    wire = RawServer(answer())
    asyncio.run(work())
    (head,) = wire.heads
    assert head.startswith("POST http://judge.example/v1/chat/completions HTTP/1.1\r\n")
    assert f"proxy-authorization: basic {b64encode(b'me:pass-1').decode()}".lower() in head.lower()


def test_a_proxy_tunnels_tls_and_never_sees_the_key(monkeypatch):
    async def work():
        async with serve(wire) as port:
            monkeypatch.setenv("HTTPS_PROXY", f"http://me:pass-1@127.0.0.1:{port}")
            async with open_chat(JudgeSpec(model="openai:m@https://judge.example/v1")) as chat:
                await chat.complete(call())

    wire = RawServer(answer(b"", "", "407 Proxy Authentication Required"))
    with pytest.raises(JudgeUnavailableError, match="cannot be reached") as caught:
        asyncio.run(work())
    (head,) = wire.heads
    assert head.startswith("CONNECT judge.example:443 HTTP/1.1\r\n")
    assert KEY not in head
    assert "pass-1" not in f"{caught.value} {vars(caught.value)}"


def test_passwords_of_netrc_are_not_sent(monkeypatch, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password pass-1\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k-1")
    with JudgeServer(key="k-1") as server:
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", server.url.removesuffix("/v1"))

        async def work():
            async with open_chat(JudgeSpec(model="azure:m")) as chat:
                await chat.complete(call())

        asyncio.run(work())
    assert "authorization" not in server.requests[0].headers
