"""Limits how often an address can try tokens."""

from __future__ import annotations

import time
from ipaddress import IPv4Address, ip_address, ip_network
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

FREE_TRIES = 5
"""Number of wrong tokens before the first delay."""
MAX_SECONDS = 300.0
MAX_ADDRESSES = 10_000
_MAX_DOUBLINGS = 16
_NETWORK_BITS = 64


class TokenThrottle:
    """Delays an address by 1, 2, 4 … 300 s after 5 wrong tokens; during a delay no token is checked.

    A delay also refuses the right token, so that the response reveals nothing. A right token after the delay
    resets the count. One IPv6 network (/64) counts as one address. Memory is bounded: the least recently seen
    of more than 10,000 addresses is dropped.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._wrong: dict[str, tuple[int, float]] = {}
        self._lock = Lock()

    def seconds_left(self, address: str) -> float:
        """Return the seconds until tokens of this address are checked again; 0 if they are checked now."""
        _, until = self._wrong.get(_network(address), (0, 0.0))
        return max(0.0, until - self._clock())

    def count_wrong(self, address: str) -> None:
        """Count a wrong token."""
        key = _network(address)
        with self._lock:
            count = self._wrong.pop(key, (0, 0.0))[0] + 1
            doublings = min(count - FREE_TRIES - 1, _MAX_DOUBLINGS)
            delay = 0.0 if doublings < 0 else min(2.0**doublings, MAX_SECONDS)
            self._wrong[key] = count, self._clock() + delay
            if len(self._wrong) > MAX_ADDRESSES:
                del self._wrong[next(iter(self._wrong))]

    def forget(self, address: str) -> None:
        """Reset the count of an address after a right token."""
        with self._lock:
            self._wrong.pop(_network(address), None)


def _network(address: str) -> str:
    """Return the IPv4 address, or the IPv6 network (/64), because one caller can use all its addresses."""
    try:
        ip = ip_address(address)
    except ValueError:
        return address
    if isinstance(ip, IPv4Address):
        return address
    return str(ip.ipv4_mapped or ip_network((int(ip), _NETWORK_BITS), strict=False))
