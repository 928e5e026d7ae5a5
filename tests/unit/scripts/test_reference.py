"""The reference of the documentation site has everything that is public, and its examples are true."""

import contextlib
import io
import re
from importlib import import_module

import pytest
import typer

from sgi.cli.main import app
from sgi.io.column_names import NAMES
from sgi.kernel import errors
from sgi.kernel.registry import BUILT_IN
from sgi.store.schema import metadata
from support.scripts import FOLDER, load_script

DOCS = FOLDER.parent / "docs"
LINK = re.compile(r"\]\((?!\w+:|#)([^()#\s]+)")
BLOCKS = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def files():
    with load_script("site_pages") as script:
        return script.collect()


@pytest.fixture(scope="module")
def pages(files):
    return {name: content.decode() for name, content in files.items() if name.endswith(".md")}


@pytest.mark.parametrize("module", ["sgi", "sgi.errors", "sgi.geometry", "sgi.metrics", "sgi.testing"])
def test_every_public_name_has_a_page(module, pages):
    titles = {text.splitlines()[0] for name, text in pages.items() if name.startswith("reference/")}
    with load_script("make_reference"):
        paths = import_module("reference_pages.python_api").public_names()
    for name in import_module(module).__all__:
        page = pages[f"reference/{paths[f'{module}.{name}']}"]
        assert f"{module}.{name}" in page or name == "metrics"
    assert titles >= {f"# `{name}`" for name in BUILT_IN}


def test_every_option_of_every_command_is_on_its_page(pages):
    def walk(command, path):
        children = getattr(command, "commands", {})
        for name, child in children.items():
            walk(child, (*path, name))
        if not children:
            page = pages[f"reference/commands/{'-'.join(path)}.md"]
            for parameter in command.params:
                assert parameter.opts[-1] in page, (path, parameter.name)

    walk(typer.main.get_command(app), ("sgi",))


def test_the_page_of_a_command_has_its_exit_codes_variables_and_the_keys_of_its_json(pages):
    gate, run = (pages[f"reference/commands/sgi-{name}.md"] for name in ("gate", "run"))
    assert "**Exit codes:** 0 success, 2 an error that the user can fix, 4 a failed gate" in gate
    assert "2 an error that the user can fix, 3 success except for failed or rejected rows ([all]" in run
    line = next(line for line in run.splitlines() if line.startswith("**Environment variables:**"))
    assert all(f"`{name}`" in line for name in ("SGI_DATABASE_URL", "SGI_CACHE_DIR", "OPENAI_API_KEY"))
    assert "GITHUB" not in line
    assert "SGI_WEBHOOK_URL" in pages["reference/commands/sgi-watch.md"]
    assert "[Keys of the JSON](../json.md#sgi-gate)" in gate
    section = pages["reference/json.md"].partition("## `sgi gate`")[2].partition("\n## ")[0]
    assert "| `passed` | Whether every rule passed. |" in section
    assert "`metric`, `rule`, `side`, `value`" in section


def test_every_column_table_and_error_is_there(pages):
    columns, database = pages["reference/columns.md"], pages["reference/database-schema.md"]
    assert all(f"`{name}`" in columns for names in NAMES.values() for name in names)
    for table in metadata.tables.values():
        section = database.partition(f"\n## {table.name}\n")[2].partition("\n## ")[0]
        words, _, rows = section.strip().partition("\n\n")
        assert words[0].isalpha(), table.name
        cells = {
            row.split(" | ")[0].strip("| `"): row.strip("| ").split(" | ") for row in rows.splitlines()[2:]
        }
        assert [*cells] == [column.name for column in table.columns]
        assert [name for name, row in cells.items() if len(row) != 4 or not row[-1]] == [], table.name
    assert "Rows that are not independent share it." in database
    classes = {name for name in dir(errors) if name.endswith(("Error", "Warning"))}
    assert all(f"\n## {name}\n" in pages["reference/errors.md"] for name in classes)


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_example_of_a_metric_prints_what_its_page_says(name, pages):
    blocks = BLOCKS.findall(pages[f"reference/metrics/{name}.md"].partition("\n## Example\n")[2])
    (language, program), (_, output) = blocks[:2]
    assert language == "python"
    if "judge=judge" in program:
        return  # the replies of the judge are on the page as text
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(program, {})  # noqa: S102 - our own page
    value, status = printed.getvalue().split()
    shown = output.split(maxsplit=2)
    assert [f"{float(value):.4g}" if value != "None" else value, status] == shown[:2]


def test_every_link_between_pages_leads_to_a_page(files, pages):
    for name, text in pages.items():
        folder = DOCS.joinpath(name).parent
        for link in LINK.findall(re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)):
            target = folder.joinpath(link).resolve()
            assert target.is_relative_to(DOCS), (name, link)
            assert target.relative_to(DOCS).as_posix() in files, (name, link)
