"""The pages of the reference, made from the code.

`make_site.py` adds them to the site. To read them alone: python scripts/make_reference.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from reference_pages.commands import command_pages
from reference_pages.error_messages import errors_page
from reference_pages.http_api import http_page
from reference_pages.json_output import PAGE, formats_page
from reference_pages.markdown import link_titles
from reference_pages.metric_pages import metric_pages
from reference_pages.python_api import python_page
from reference_pages.settings import environment_page, settings_page


def pages() -> dict[str, str]:
    """Return the text of each page, by its name in the folder of the reference."""
    made = {
        **command_pages(),
        "settings.md": settings_page(),
        PAGE: formats_page(),
        "environment.md": environment_page(),
        **metric_pages(),
        "python.md": python_page(),
        "http-api.md": http_page(),
        "errors.md": errors_page(),
    }
    return {name: link_titles(content) for name, content in made.items()}


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in pages().items():
        (folder / name).write_text(content, encoding="utf-8")
