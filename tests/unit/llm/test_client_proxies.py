"""Which proxy the client takes: the one httpx would."""

import ssl

import httpx2
import pytest
from yarl import URL

from sgi.kernel.errors import UsageError
from sgi.llm.client import proxy_of

pytestmark = pytest.mark.usefixtures("no_proxies")
_NO_MATTER = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # making the usual one takes long


@pytest.mark.parametrize(
    "proxy", ["socks5://me:pass-1@127.0.0.1:1", "http://", "http://h:99999", "http://[x"]
)
def test_a_proxy_of_another_kind_is_said_without_its_password(monkeypatch, proxy):
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(UsageError, match="Judges support only HTTP proxies") as caught:
        proxy_of(URL("https://judge.example/v1"))
    assert "pass-1" not in str(caught.value)


_HOSTS = [
    *("a.example", "b.a.example", "ba.example", "localhost", "x.localhost", "127.0.0.1", "10.1.2.3"),
    "[::1]",
]
_ENTRIES = [
    "", "*", "a.example", ".a.example", "*.a.example", "A.Example", "localhost", "127.0.0.1", "10.0.0.0/8",
    "10.1.2.3/31", "::1", "[::1]", "::/64", "a.example:8080", "127.0.0.1:8080", "127.0.0.1:9", "http://a.example",
    "https://a.example", "10.0.0.0/99", "a b", "example", "https://10.1.2.3:8080",
]  # fmt: skip


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("host", _HOSTS)
@pytest.mark.parametrize(
    "named", [("HTTP_PROXY",), ("HTTPS_PROXY",), ("ALL_PROXY",), ("HTTP_PROXY", "ALL_PROXY")]
)
def test_proxies_are_those_of_httpx(monkeypatch, scheme, host, named):
    for number, name in enumerate(named):
        monkeypatch.setenv(name, f"proxy-{number}.example:3128")
    address = f"{scheme}://{host}:8080/v1"
    for entry in [*_ENTRIES, ", nowhere.example ,a.example", "nowhere.example"]:
        monkeypatch.setenv("NO_PROXY", entry)
        ours = proxy_of(URL(address))
        assert (ours and str(ours)) == _by_httpx(address), entry


def _by_httpx(address):
    """The proxy httpx would use: it keeps one transport for each."""
    client = httpx2.AsyncClient(verify=_NO_MATTER)
    pool = client._transport_for_url(httpx2.URL(address))._pool
    proxy = getattr(pool, "_proxy_url", None)
    return proxy and f"{proxy.scheme.decode()}://{proxy.host.decode()}:{proxy.port}"
