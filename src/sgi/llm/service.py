"""Addresses and keys of judges."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from sgi.kernel import environment
from sgi.kernel.environment import address_label, service_url

if TYPE_CHECKING:
    from sgi.llm.spec import JudgeSpec


class Service(environment.Service):
    """Address and key of a judge's service; the URL is empty if the service has a fixed address."""

    azure_version: ClassVar[str] = "2024-10-21"
    """The first stable version with JSON schemas for replies."""


def fingerprint_of(spec: JudgeSpec) -> str:
    """Return the fingerprint that the judge of a spec has when it is open; no key is required.

    Raises a UsageError if the address is missing or invalid.
    """
    return spec.fingerprint(address_label(service_url(spec.name_parts.kind, spec.name_parts.url)))
