"""Template environment, assets and inline data of HTML pages."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import zlib
from dataclasses import dataclass
from functools import cache, partial
from importlib import resources
from inspect import getmembers, isfunction
from typing import TYPE_CHECKING, Any

import orjson
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from sgi.kernel.short_text import metric_label, pluralize, pluralize_part
from sgi.reporting import (
    answers_to_check,
    descriptions,
    diagnosis_tables,
    formatting,
    label_tables,
    leaderboard_view,
    row_details,
    safe_text,
    section_findings,
    tables,
)
from sgi.reporting.overview import overview
from sgi.reporting.views import run_header
from sgi.reporting.views.headline import headline_notes

if TYPE_CHECKING:
    from collections.abc import Callable

_MAX_PLAIN_BYTES = 100_000
"""Larger data in a page is compressed."""
_UNSAFE = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
_FILTERS: dict[str, Callable[..., Any]] = {
    "number": formatting.number,
    "scaled": formatting.format_scaled,
    "mean_text": formatting.format_mean,
    "moment": formatting.moment,
    "count": "{:,}".format,
    "pluralize": pluralize,
    "pluralize_part": pluralize_part,
    "beginning": formatting.beginning,
    "pretty": partial(json.dumps, ensure_ascii=False, indent=2, default=str),
    "notes": headline_notes,
    "metric_label": metric_label,
    "state_of": run_header.state_of,
    "stop_reason": run_header.stop_reason,
    "stored_means": run_header.stored_means,
    "definition": descriptions.definition,
    "overview": overview,
    "tree": row_details.as_tree,
}
_MODULES = (
    answers_to_check,
    diagnosis_tables,
    label_tables,
    leaderboard_view,
    row_details,
    section_findings,
    tables,
)
"""Templates call the public functions of these modules as filters."""


class _PlainTemplate(Template):
    """A template whose output has no control characters and direction overrides."""

    def render(self, *args: Any, **values: Any) -> str:
        """Render the template."""
        return safe_text.plain(super().render(*args, **values))


def environment(*packages: str) -> Environment:
    r"""Return the Jinja environment of the report; templates of ``packages`` take precedence over its own.

    Output is escaped, without control characters and direction overrides. An undefined name is an error.

    >>> environment().from_string("{{ text }}").render(text="<b>\x00")
    '&lt;b&gt;�'
    """
    loaders = [PackageLoader(name) for name in (*packages, "sgi.reporting")]
    jinja = Environment(
        loader=ChoiceLoader(loaders),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    jinja.template_class = _PlainTemplate
    jinja.filters.update(_FILTERS)
    for module in _MODULES:
        functions = getmembers(module, isfunction)
        jinja.filters.update({name: each for name, each in functions if each.__module__ == module.__name__})
    return jinja


def asset(name: str) -> str:
    """Return a style sheet or script of the report: ``sgi.css``, ``charts.js`` or ``report.js``."""
    return (resources.files("sgi.reporting") / "assets" / name).read_text(encoding="utf-8")


@cache
def vega_bundle() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script, which ``scripts/make_vega_bundle.py`` makes."""
    return gzip.decompress((resources.files("sgi.reporting") / "assets" / "vega.js.gz").read_bytes()).decode()


@dataclass(frozen=True)
class DataBlock:
    """Content of a script element with data: JSON, or if ``packed`` its zlib compression in base64."""

    text: Markup
    packed: bool


def data_block(value: Any) -> DataBlock:
    r"""Return JSON to embed in a script element; it cannot end the element. Large JSON is compressed.

    Control characters and direction overrides are removed. NaN and infinities become null.

    >>> print(data_block({"id": "</script>"}).text)
    {"id":"\u003c/script\u003e"}
    """
    written = orjson.dumps(safe_text.plain_json(value), option=orjson.OPT_SERIALIZE_NUMPY)
    if len(written) > _MAX_PLAIN_BYTES:
        return DataBlock(Markup(base64.b64encode(zlib.compress(written)).decode()), packed=True)  # noqa: S704 - base64
    return DataBlock(Markup(written.decode().translate(_UNSAFE)), packed=False)  # noqa: S704 - all HTML characters are escaped


def inline(text: str) -> Markup:
    """Return one of our own styles or scripts as markup, to embed in its element.

    Raises:
        ValueError: it contains a closing tag.
    """
    if "</" in text and any(end in text.lower() for end in ("</script", "</style", "<!--")):
        raise ValueError("An inline style or script must not contain a closing tag.")
    return Markup(text)  # noqa: S704 - own file, checked above


def content_hash(text: str) -> str:
    """Return the hash of a script or style for a Content-Security-Policy."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def render_page(template: str, charts: dict[str, Any], data: dict[str, Any], **parts: Any) -> str:
    """Render a template with inline style and scripts, and a security policy that allows nothing else."""
    style = asset("sgi.css")
    scripts = [asset(f"{name}.js") for name in ("charts", "report", "sections", "passages")]
    if charts:
        scripts.insert(0, vega_bundle())
    policy = (
        "default-src 'none'; "
        f"script-src {' '.join(map(content_hash, scripts))}; style-src {content_hash(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        environment()
        .get_template(template)
        .render(
            **parts,
            policy=policy,
            style=inline(style),
            scripts=[inline(script) for script in scripts],
            charts=charts,
            blocks={name: data_block(value) for name, value in (data | {"charts": charts}).items()},
        )
    )
