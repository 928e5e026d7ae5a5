from __future__ import annotations

import pytest

from sgi_web import site as module
from sgi_web.site import FREE_TRIES, MAX_SECONDS, TokenThrottle
from support.web_server import submit_form, web_client

TOKEN = "the very secret token"
GUESS = "a guess"
RIGHT = {"Authorization": f"Bearer {TOKEN}"}
WRONG = {"Authorization": "Bearer a guess of somebody"}


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def guarded(site, clock):
    site.token = TOKEN
    site.throttle = TokenThrottle(clock)
    with web_client(site) as made:
        yield made


def guess(client, times):
    return [client.get("/api/v1/runs", headers=WRONG).status_code for _ in range(times)]


def test_after_five_wrong_tokens_an_address_waits_whatever_it_sends(guarded, clock):
    assert guess(guarded, FREE_TRIES) == [401] * FREE_TRIES
    assert guess(guarded, 4) == [429, 429, 429, 429]
    response = guarded.get("/api/v1/runs", headers=RIGHT)
    assert (response.status_code, response.headers["retry-after"]) == (429, "1")
    assert "Try again in 1 s" in response.json()["error"]["message"]
    clock.now += 1
    assert guarded.get("/api/v1/runs", headers=RIGHT).status_code == 200
    assert guess(guarded, FREE_TRIES) == [401] * FREE_TRIES, "the right token forgets the wrong ones"


def test_delays_double_up_to_five_minutes(clock):
    throttle = TokenThrottle(clock)
    seen = []
    for _ in range(FREE_TRIES + 30):
        throttle.count_wrong("192.0.2.1")
        seen.append(throttle.seconds_left("192.0.2.1"))
        clock.now += seen[-1]
    assert seen[: FREE_TRIES + 4] == [0] * FREE_TRIES + [1, 2, 4, 8]
    assert seen[-1] == MAX_SECONDS


def test_the_form_and_the_health_page_are_no_way_around(guarded, clock):
    for _ in range(FREE_TRIES):
        assert submit_form(guarded, "/login", token=GUESS).status_code == 403
    response = submit_form(guarded, "/login", token=GUESS)
    assert (response.status_code, response.headers["retry-after"]) == (429, "1")
    assert submit_form(guarded, "/login", token=TOKEN).status_code == 429
    known = guarded.get("/readyz", headers=RIGHT)
    assert known.content == guarded.get("/readyz", headers=WRONG).content, "nothing tells right from wrong"


def test_who_has_signed_in_is_not_kept_out(guarded):
    submit_form(guarded, "/login", token=TOKEN)
    assert guess(guarded, FREE_TRIES + 2)[-1] == 200, "the session is known, and the token not looked at"


def test_requests_without_a_token_are_not_counted(guarded):
    for _ in range(3 * FREE_TRIES):
        assert guarded.get("/api/v1/runs").status_code == 401
    assert guarded.get("/api/v1/runs", headers=RIGHT).status_code == 200


def test_addresses_are_forgotten_before_they_fill_the_memory(clock, monkeypatch):
    monkeypatch.setattr(module, "MAX_ADDRESSES", 100)
    throttle = TokenThrottle(clock)
    for number in range(1000):
        throttle.count_wrong(f"10.0.{number // 256}.{number % 256}")
    assert len(throttle._wrong) == 100


def test_the_addresses_of_one_ipv6_network_count_as_one(clock):
    throttle = TokenThrottle(clock)
    for number in range(FREE_TRIES + 1):
        throttle.count_wrong(f"2001:db8::{number:x}")
    assert throttle.seconds_left("2001:db8::ffff") == 1.0
    assert throttle.seconds_left("2001:db8:0:1::1") == 0.0
