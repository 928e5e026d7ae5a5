"""URLs of pages; ids can contain any characters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote_to_bytes, urlencode

from starlette.convertors import PathConvertor, register_url_convertor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

_SAMPLES = b"/samples/"
_ENCODED = "%:"
"""Begins the value of a field that is encoded."""
_CHANGED = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_STEPS = frozenset({"", ".", ".."})
"""Segments that browsers resolve as relative steps, even if they are escaped."""


class _AnyPath(PathConvertor):
    """Path parameter with any characters, including line breaks."""

    regex = r"[\s\S]+"


register_url_convertor("anything", _AnyPath())


def segment(text: str) -> str:
    """Encode a text as one path segment, or as the value of a field that `unescaped` reads."""
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def unescaped(text: str | bytes) -> str:
    r"""Decode a text that `segment` encoded.

    HTML replaces some control characters, and browsers change line breaks in the values of fields.

    >>> unescaped(segment("a\x01\r\n%"))
    'a\x01\r\n%'
    """
    try:
        return unquote_to_bytes(text).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return unquote_to_bytes(text).decode("utf-8", "replace")


def field_text(text: str) -> str:
    r"""Return the value of a form's field for a name, encoded as in a URL if HTML would change it.

    >>> field_text("50% of a"), field_text("a\rb"), field_text("%:a")
    ('50% of a', '%:a%0Db', '%:%25%3Aa')
    """
    is_changed = text.startswith(_ENCODED) or _CHANGED.search(text) is not None
    return f"{_ENCODED}{segment(text)}" if is_changed else text


def from_field(text: str) -> str:
    r"""Decode a value of a form that `field_text` encoded, and return the name.

    >>> [from_field(field_text(name)) for name in ("50% of a", "a\rb", "%:a", "a%0Db")]
    ['50% of a', 'a\rb', '%:a', 'a%0Db']
    """
    return unescaped(text.removeprefix(_ENCODED)) if text.startswith(_ENCODED) else text


def run_path(run: str, *further: str) -> str:
    """Return the path of the page of a run, or of a page below it."""
    return "/".join(("/runs", segment(run), *further))


def sample_path(run: str, sample_id: str) -> str:
    """Return the path of the page of a sample.

    >>> sample_path("r", "q/1"), sample_path("r", "..")
    ('/runs/r/samples/q%2F1', '/runs/r/samples?id=..')
    """
    if sample_id in _STEPS:
        return f"{run_path(run, 'samples')}?{urlencode({'id': sample_id})}"
    return run_path(run, "samples", segment(sample_id))


def requested_sample(request: Request) -> str:
    """Return the sample id of the request, even if it is not valid Unicode."""
    if "id" in request.query_params:
        return request.query_params["id"]
    _, _, escaped = bytes(request.scope["raw_path"]).partition(_SAMPLES)
    return unescaped(escaped)


def with_query(path: str, values: Mapping[str, object]) -> str:
    """Add query parameters to a path; empty parameters are left out, and a list repeats its parameter.

    >>> with_query("/leaderboard", {"run": ["a", "b"], "by": None, "page": 2})
    '/leaderboard?run=a&run=b&page=2'
    """
    parameters = {
        name: value if isinstance(value, list) else str(value)
        for name, value in values.items()
        if value is not None and value != ""
    }
    text = urlencode(parameters, doseq=True, errors="replace")
    return f"{path}{'&' if '?' in path else '?'}{text}" if text else path


def trace_address(template: str, metadata: Mapping[str, object]) -> str:
    """Return the address of the trace of a row in a tracing tool; empty without a template or a trace.

    >>> trace_address("https://traces.example.org/{trace_id}", {"trace_id": "a/b"})
    'https://traces.example.org/a%2Fb'
    """
    trace = metadata.get("trace_id")
    return template.replace("{trace_id}", segment(trace)) if isinstance(trace, str) and trace else ""


def local(path: str) -> str:
    r"""Return the path if it is on this site, otherwise ``/``; this prevents open redirects.

    >>> local("/runs/r?page=2"), local("//evil.example"), local("/\\evil.example"), local("https://evil.example")
    ('/runs/r?page=2', '/', '/', '/')
    """
    is_ours = path.startswith("/") and not path.startswith("//") and "\\" not in path and path.isprintable()
    return path if is_ours else "/"
