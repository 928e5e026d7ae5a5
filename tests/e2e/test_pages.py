"""Every block of every page: it runs in the order of the page, and prints what the page shows."""

import ast
import json
import os
import re
import shlex
import socket
import sys
import time
import tomllib
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
import typer.main
import yaml

from sgi.cli.main import app
from sgi.llm.batch_service import BatchTimes
from support.block_session import BlockSession
from support.command_server import CommandServer
from support.page_folder import fill, settings_of
from support.page_judge import KEY, page_judge, page_provider
from support.pages import ROOT, blocks, first_missing, pages
from support.provider_server import PROVIDERS, has_client

SHELLS = {"console", "bash"}
NOT_CODE = {"math", "caddy", "nginx", "groovy", "csv"}
"""Formulas, and formats that nothing here reads."""
MAX_NOT_RUN = 18
"""Raise it only for a block that cannot run in a test."""
CHECKED_ONLY = {"pip", "make"}
SERVERS = ("sgi serve", "python serve.py")


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_for_port(port):
    for _ in range(1500):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.02)
    raise AssertionError(f"nothing listens on port {port}")


@pytest.fixture(scope="module")
def server():
    with CommandServer() as opened:
        yield opened


@pytest.fixture(autouse=True)
def _quick_batches(monkeypatch):
    """Do not wait as long for the batch of a judge as for that of a real service."""
    times = BatchTimes(quiet=0.2, first_poll=0.1, longest_poll=0.2)
    monkeypatch.setattr("sgi.llm.batch.BatchTimes", lambda: times)


@pytest.fixture(autouse=True)
def _forget_modules(tmp_path):
    """Forget the modules that a page imported: another page can have other ones with the same names."""
    yield
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


def environment(folder, server):
    names = ("SGI_CACHE_DIR", "SGI_MODELS_DIR", "PYTHONPATH")
    kept = {name: os.environ[name] for name in names if name in os.environ}
    path = os.pathsep.join([str(server.folder), str(Path(sys.executable).parent), os.environ["PATH"]])
    return kept | {"PATH": path, "HOME": str(folder), "HF_HUB_OFFLINE": "1", "COLUMNS": "140"}


def check_syntax(block):
    """Check a block that is not run."""
    content = block.content
    if block.language in SHELLS:
        for command, _ in block.commands:
            check_words(block, shlex.split(command, comments=True))
    elif block.language == "python":
        ast.parse(content)
    elif block.language == "json":
        for part in content.splitlines() if "}\n{" in content else [content]:
            json.loads(part)
    elif block.language == "toml":
        tomllib.loads(content)
    elif block.language == "yaml":
        assert yaml.safe_load(content), block
    else:
        assert block.language == "text", f"{block}: nothing checks this language"


def check_words(block, words):
    """Check a command that is not run: `sgi` must know its options, `make` its target, `pip` its extras, and
    a script must exist."""
    if words[0] == "sgi":
        parse(typer.main.get_command(app), *words)
    elif words[0] == "make":
        targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
        tests = (ROOT / "tests" / "integrations").glob("test_*.py")
        targets |= {f"test-integration-{test.stem.removeprefix('test_')}" for test in tests}
        assert {word for word in words[1:] if "=" not in word} <= targets, block
    elif words[0] in {"python", "sh"} and words[1].endswith((".py", ".sh")):
        assert (ROOT / words[1]).exists(), block
    elif words[0] == "pip":
        project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
        extras = re.findall(r"\[([a-z,-]+)\]", " ".join(words))
        assert set(",".join(extras).split(",")) - {""} <= project["optional-dependencies"].keys(), block


def parse(command, name, *words):
    """Parse the words as the command line does, without a call; a wrong word is an error."""
    if hasattr(command, "commands") and words and not words[0].startswith("-"):
        group = command.make_context(name, [], resilient_parsing=True)
        name, command, rest = command.resolve_command(group, list(words))
        assert command, f"there is no command {words}"
        parse(command, name, *rest)
    else:
        command.make_context(name, list(words), resilient_parsing=hasattr(command, "commands"))


class Page:
    """A page whose blocks run one after the other in one folder."""

    def __init__(self, path, folder, server, stack):
        self.folder, self._server, self._stack = folder, server, stack
        self._environment = environment(folder, server)
        self._sessions = {}
        self._output = None
        self._port = free_port()
        self._judge = None
        self._without_client = []
        settings = settings_of(path)
        if settings.get("judge"):
            self._open_judge(page_judge())
        elif settings.get("providers"):
            for name in settings["providers"]:
                self._environment |= stack.enter_context(page_provider(name))
                if not has_client(PROVIDERS[name]):
                    self._without_client.append(f"--judge {name}:")
            self._environment |= self._no_proxy_and_cache()
        fill(settings, folder)
        for command in settings.get("commands", []):
            self._command(command)

    def _open_judge(self, judge):
        self._judge = self._stack.enter_context(judge)
        self._environment |= {
            "OPENAI_API_KEY": KEY,
            "OLLAMA_BASE_URL": self._judge.replace("127.0.0.1", "localhost"),  # not the address of OpenAI
            **self._no_proxy_and_cache(),
        }

    def _no_proxy_and_cache(self):
        return {
            "NO_PROXY": "127.0.0.1,localhost",
            "SGI_CACHE_DIR": str(self.folder / "cache"),  # no replies from other pages
        }

    def run(self, block):
        """Run a block or compare it, as its language and the notes about it say."""
        if block.notes.keys() & {"example", "printed"}:
            return
        if "file" in block.notes:
            (self.folder / block.notes["file"]).write_text(block.content, "utf-8")
        elif "not run" in block.notes or any(name in block.content for name in self._without_client):
            check_syntax(block)
        elif block.language in SHELLS:
            self._run_commands(block)
        elif block.language == "python":
            code, self._output = self._session("python").run(block.content)
            assert code == 0, f"{block}\n{self._output}"
            self._compare(block, block.shown, self._output)
        elif block.language == "text":
            assert self._output is not None, f"{block}: no block before it has an output"
            self._compare(block, block.shown, self._output)
        elif block.language not in NOT_CODE:
            check_syntax(block)

    def _run_commands(self, block):
        self._output = ""
        last = block.commands[-1]
        for command, lines in block.commands:
            words = shlex.split(command, comments=True)
            if words == ["make", "demo"]:
                command = "sgi demo"  # noqa: PLW2901
            elif words[0] in CHECKED_ONLY:
                check_words(block, words)
                continue
            expected = int(block.notes.get("exit", 0)) if (command, lines) == last else 0
            end = time.monotonic() + float(block.notes.get("repeat", 0))
            printed = self._command(command, expected)
            while first_missing(lines, printed) and time.monotonic() < end:
                time.sleep(0.1)
                printed = self._command(command, expected)
            self._compare(block, lines, printed)
            self._output += printed

    def _command(self, command, expected=0):
        if self._judge:
            command = re.sub(r"@http://[\w.]+:\d+/v1", f"@{self._judge}", command)
        if command.startswith(SERVERS):  # a process of its own, which runs on
            name, *words = (word for word in shlex.split(command, comments=True) if word != "&")
            words = [str(Path(sys.executable).with_name(name)), *words, "--port", str(self._port)]
            stop = "{ kill $server; wait $server; } 2> /dev/null"  # the server that the page started before
            start = f"{shlex.join(words)} > serve.log 2>&1 & server=$!"
            code, printed = self._session("console").run(f"{stop}; {start}")
            wait_for_port(self._port)
        else:
            addressed = command.replace("127.0.0.1:8765", f"127.0.0.1:{self._port}")
            code, printed = self._session("console").run(addressed)
        assert code == expected, f"{command}\n{printed}"
        return printed

    def _session(self, language):
        if language not in self._sessions:
            session = BlockSession(language, self.folder, self._environment, self._server)
            self._sessions[language] = self._stack.enter_context(session)
        return self._sessions[language]

    def _compare(self, block, shown, printed):
        missing = first_missing(shown, printed)
        assert not missing, f"{block} shows this line, which is not printed:\n{missing}\nPrinted:\n{printed}"


def page_parameter(path):
    settings = settings_of(path)
    marks = [pytest.mark.slow] if settings.get("slow") else []
    return pytest.param(path, id=str(path.relative_to(ROOT)), marks=marks)


@pytest.mark.parametrize("path", [*map(page_parameter, pages())])
def test_the_blocks_run_and_print_what_the_page_shows(path, server, tmp_path):
    with ExitStack() as stack:
        page = Page(path, tmp_path, server, stack)
        for block in blocks(path):
            page.run(block)


def test_few_blocks_are_not_run():
    found = [block for path in pages() for block in blocks(path) if "not run" in block.notes]
    listing = "\n".join(f"{block}: {block.notes['not run']}" for block in found)
    assert len(found) <= MAX_NOT_RUN, f"{len(found)} blocks are not run:\n{listing}"
    assert all(block.notes["not run"] for block in found), f"A block needs a reason:\n{listing}"
