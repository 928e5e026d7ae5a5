"""The pages of the reference, made from the code.

`make_site.py` adds them to the site. To read them alone: python scripts/make_reference.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from reference_pages.commands import command_pages
from reference_pages.data import columns_page, database_page, errors_page, exit_codes_page
from reference_pages.http_api import http_pages
from reference_pages.json_output import PAGE, json_page
from reference_pages.markdown import link_titles
from reference_pages.metric_pages import metric_pages
from reference_pages.python_api import python_pages
from reference_pages.settings import environment_page, settings_page

_INDEX = """# Reference

The code makes these pages, so they are complete.

* [Commands](commands/index.md): every command with its options, defaults and examples
* [Settings in TOML files](settings.md): every key
* [Environment variables](environment-variables.md): what each does, its default, and which commands read it
* [Columns of data](columns.md): every column name that SGI recognises
* [Metrics](metrics/index.md): a page for each metric, with an example and its output
* [Python API](python/index.md): a page for each public name
* [HTTP API](http-api/index.md): every operation of `sgi serve`, with an example
* [Database schema](database-schema.md): every table and column
* [Errors](errors.md): every error, and when it occurs
* [Exit codes](exit-codes.md): what the exit code of a command means
* [JSON of commands](json.md): the keys that `sgi run`, `show`, `gate` and `compare` print with `--json`
"""


def pages() -> dict[str, str]:
    """Return the text of each page, by its path in the folder of the reference."""
    made = {
        "index.md": _INDEX,
        **command_pages(),
        "settings.md": settings_page(),
        "environment-variables.md": environment_page(),
        "columns.md": columns_page(),
        **metric_pages(),
        **python_pages(),
        **http_pages(),
        "database-schema.md": database_page(),
        "errors.md": errors_page(),
        "exit-codes.md": exit_codes_page(),
        PAGE: json_page(),
    }
    return {path: link_titles(content, path.count("/") + 1) for path, content in made.items()}


if __name__ == "__main__":
    for path, content in pages().items():
        file = Path(sys.argv[1]) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
