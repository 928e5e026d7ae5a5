"""Settings of Sphinx. `python scripts/make_site.py` starts it; it sets the version."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from docutils.nodes import SkipNode
from latex2mathml.converter import convert

if TYPE_CHECKING:
    from docutils.nodes import Node
    from sphinx.application import Sphinx

_LINKS = ("color-brand-primary", "color-brand-content", "color-brand-visited")

_SCROLLS = re.compile(r'<pre(?=>)|<div class="table-wrapper[^"]*"')
"""Parts that scroll sideways if they are wide."""

project = "SGI"
version = release = os.environ["SGI_SITE_VERSION"]
copyright = "the authors of SGI, Apache-2.0"  # noqa: A001 - the name is Sphinx's
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4
myst_fence_as_directive = ["math"]
suppress_warnings = ["misc.highlighting_failure"]  # `console` blocks with quotes over several lines
highlight_language = "text"
pygments_style, pygments_dark_style = "default", "github-dark"
smartquotes = False  # options begin with two hyphens
html_theme = "furo"
html_title = f"SGI {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["search.js"]
html_copy_source = html_show_sphinx = html_use_index = False
html_math_renderer = "mathml"
html_theme_options = {
    "footer_icons": [],
    # Fonts of the system: the site loads nothing from other servers.
    "light_css_variables": dict.fromkeys(_LINKS, "#0d74ce"),
    "dark_css_variables": dict.fromkeys(_LINKS, "#70b8ff"),
}
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
        "versions.html",
    ]
}
templates_path = ["templates"]


def setup(app: Sphinx) -> None:
    """Register the renderer of formulas, and what makes the pages accessible."""
    app.add_html_math_renderer("mathml", (_write_math, None), (_write_math, None))
    app.connect("html-page-context", _adapt_page, priority=1000)  # after furo


def _write_math(translator: Any, node: Node) -> None:
    """Write a formula as MathML, which browsers show without a script."""
    if type(node).__name__ == "math":
        translator.body.append(convert(node.astext()))
    else:
        formula = convert(node.astext(), display="block")
        translator.body.append(f'<div class="formula" tabindex="0">{formula}</div>')
    raise SkipNode


def _adapt_page(_app: Sphinx, _page: str, _template: str, context: dict[str, Any], _tree: Any) -> None:
    """Let the keyboard scroll wide parts, and give the headings in the navigation a level."""
    tree = "furo_navigation_tree"
    context[tree] = context.get(tree, "").replace('role="heading"', 'role="heading" aria-level="2"')
    if "body" in context:
        context["body"] = _SCROLLS.sub(r'\g<0> tabindex="0"', context["body"])
