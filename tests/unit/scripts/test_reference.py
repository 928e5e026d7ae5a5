"""The reference of the documentation site has everything that is public, and its examples are true."""

import contextlib
import html
import io
import json
import re
from importlib import import_module

import pytest
import typer

from sgi.cli.main import app
from sgi.io.column_names import NAMES
from sgi.kernel.registry import BUILT_IN
from support.pages import ROOT
from support.scripts import load_script

GOLDEN = ROOT / "tests" / "golden"
BLOCKS = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def pages():
    with load_script("make_reference") as script:
        return script.pages()


def section(page, title):
    return page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("module", ["sgi", "sgi.geometry", "sgi.testing"])
def test_every_public_name_is_on_a_page(module, pages):
    public = {name: getattr(import_module(module), name) for name in import_module(module).__all__}
    kinds = {
        name for name, value in public.items() if isinstance(value, type) and issubclass(value, Exception)
    }
    titles = set(re.findall(r"^## `(.+)`$", pages["python.md"], re.MULTILINE))
    assert titles >= {f"{module}.{name}" for name in public.keys() - kinds}
    assert all(f"\n| `{name}` |" in pages["errors.md"] for name in kinds)


def test_every_metric_is_in_the_table_and_has_details(pages):
    for name in BUILT_IN:
        assert f"[`{name}`](metric-details.md#{name})" in pages["metrics.md"]
        assert section(pages["metric-details.md"], name)


def test_every_option_of_every_command_is_in_its_section(pages):
    commands = "".join(text for name, text in pages.items() if name.startswith("commands"))

    def walk(command, path):
        children = getattr(command, "commands", {})
        for name, child in children.items():
            walk(child, (*path, name))
        if not children and not command.hidden:
            words = section(commands, f"`{' '.join(path)}`")
            for parameter in command.params:
                assert parameter.opts[-1] in words, (path, parameter.name)

    walk(typer.main.get_command(app), ("sgi",))


def test_the_section_of_a_command_has_its_exit_codes_variables_and_the_keys_of_its_json(pages):
    gate, run = (section(pages["commands.md"], f"`sgi {name}`") for name in ("gate", "run"))
    assert "**Exit codes:** 0 success, 2 an error that the user can fix, 4 a failed gate" in gate
    assert "2 an error that the user can fix, 3 success except for failed or rejected rows ([all]" in run
    line = next(line for line in run.splitlines() if line.startswith("**Environment variables:**"))
    assert all(f"`{name}`" in line for name in ("SGI_DATABASE_URL", "SGI_CACHE_DIR", "OPENAI_API_KEY"))
    assert "GITHUB" not in line
    assert "[Keys of the JSON](formats.md#sgi-gate---json)" in gate
    keys = pages["formats.md"].partition("\n### `sgi gate --json`\n")[2].partition("\n### ")[0]
    assert "| `passed` | Whether every rule passed. |" in keys
    assert "`metric`, `rule`, `side`, `value`" in keys


def test_every_column_is_there(pages):
    assert all(f"`{name}`" in pages["formats.md"] for names in NAMES.values() for name in names)


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_example_of_a_metric_prints_what_its_section_says(name, pages):
    blocks = BLOCKS.findall(section(pages["metric-details.md"], name).rpartition("* In Python:")[2])
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


def test_the_messages_that_commands_print_are_on_the_page_of_errors(pages):
    """The others come from libraries, such as the reader of TOML."""
    headings = re.findall(r"^### (.+)$", html.unescape(pages["errors.md"]).replace("\\", ""), re.MULTILINE)
    patterns = [re.compile(".*".join(map(re.escape, each.rstrip(".").split("…")))) for each in headings]
    files = GOLDEN.glob("refusals/*.jsonl")
    printed = [json.loads(line)[1] for path in files for line in path.read_text("utf-8").splitlines()]
    for path in GOLDEN.glob("commands/*.txt"):
        printed += re.findall(r"^! Error: (.+)$", path.read_text("utf-8"), re.MULTILINE)
    texts = [text.replace("`", "'") for text in printed]
    found = [any(pattern.search(text) for pattern in patterns) for text in texts]
    assert sum(found) >= 0.9 * len(found)
