"""Template environment, assets and inline data of HTML pages."""

from __future__ import annotations

import base64
import gzip
import hashlib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import orjson
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from sgi.report import formatting, tables
from sgi.report.row_details import as_tree, passages, remarks, support

if TYPE_CHECKING:
    from collections.abc import Callable

_UNSAFE = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
_FILTERS: dict[str, Callable[..., Any]] = {
    "number": formatting.number,
    "scaled": formatting.scaled,
    "moment": formatting.moment,
    "count": formatting.count,
    "beginning": formatting.beginning,
    "plain": formatting.plain,
    "pretty": formatting.pretty,
    "notes": formatting.notes,
    "summary_table": tables.summary_table,
    "class_lines": tables.class_lines,
    "ranking_table": tables.ranking_table,
    "group_tables": tables.group_tables,
    "correlation_table": tables.correlation_table,
    "labelled_table": tables.labelled_table,
    "reasons_table": tables.reasons_table,
    "usage_table": tables.usage_table,
    "comparison_tables": tables.comparison_tables,
    "passages": passages,
    "remarks": remarks,
    "support": support,
    "tree": as_tree,
}


def environment(*packages: str) -> Environment:
    r"""Templates of the report, and of further packages, whose own come first.

    Whatever a template prints is escaped, and has lost its control characters and direction overrides; a name
    that is not there is an error.

    Args:
        packages: import names; each has a folder ``templates``.

    >>> environment().from_string("{{ text }}").render(text="<b>\x00")
    '&lt;b&gt;�'
    """
    loaders = [PackageLoader(name) for name in (*packages, "sgi.report")]
    made = Environment(
        loader=ChoiceLoader(loaders),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_clean,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(_FILTERS)
    return made


def _clean(value: Any) -> Any:
    """Texts as they may stand in a page; what is markup already was made of such texts."""
    return formatting.plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def asset(name: str) -> str:
    """A style sheet or script of the report: ``sgi.css``, ``charts.js`` or ``report.js``.

    >>> asset("charts.js").startswith("//")
    True
    """
    return (resources.files("sgi.report") / "assets" / name).read_text(encoding="utf-8")


@cache
def vega_bundle() -> str:
    """Return the classic script of ``scripts/make_vega_bundle.py``: Vega, Vega-Lite and Vega-Embed."""
    return gzip.decompress((resources.files("sgi.report") / "assets" / "vega.js.gz").read_bytes()).decode()


def json_block(value: Any) -> Markup:
    r"""A JSON value for the inside of a script element that holds data; nothing in it can end the element.

    Its texts have lost their control characters and direction overrides. NaN and infinities become null.

    >>> print(json_block({"id": "</script>"}))
    {"id":"\u003c/script\u003e"}
    """
    written = orjson.dumps(_plain(value), option=orjson.OPT_SERIALIZE_NUMPY).decode()
    return Markup(written.translate(_UNSAFE))  # noqa: S704 - no sign of HTML is left in it


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return formatting.plain(value)
    if isinstance(value, dict):
        return {formatting.plain(str(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def inline(text: str) -> Markup:
    """Our own style or script for the inside of its element.

    Raises:
        ValueError: it holds what would end the element.
    """
    if "</" in text and any(end in text.lower() for end in ("</script", "</style", "<!--")):
        raise ValueError("an inline style or script cannot hold its own end")
    return Markup(text)  # noqa: S704 - it is ours, and checked


def content_hash(text: str) -> str:
    """A script or style by its bytes, as a Content-Security-Policy names it.

    >>> content_hash("")
    "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
    """
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
