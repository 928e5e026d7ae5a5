"""A target that a file names runs only code of the working folder."""

import subprocess
import sys
import textwrap
from importlib.util import find_spec

import pytest

from sgi.kernel.errors import UsageError
from sgi.target.python import open_python


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working folder; what is imported from it is forgotten afterwards."""
    place = tmp_path / "work"
    place.mkdir()
    monkeypatch.chdir(place)
    before = set(sys.modules)
    yield place
    for name in set(sys.modules) - before:
        del sys.modules[name]


def write(path, code):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(code))


LEAVES_A_TRACE = "open('imported', 'w').close()\n"


@pytest.mark.parametrize(
    "where",
    ["os:system", "subprocess:run", "subprocess:getoutput", "builtins:exec", "posix:system", "sys:exit"],
)
def test_functions_of_installed_modules_are_refused(folder, where):
    with (
        pytest.raises(UsageError, match=f"If you trust it, name the target yourself: {where}"),
        open_python(where, code_folder=folder),
    ):
        pass


@pytest.mark.parametrize(
    "code",
    [
        "from os import system as answer",
        "from subprocess import getoutput as answer",
        "from functools import partial\nfrom subprocess import getoutput\nanswer = partial(getoutput)",
        "answer = eval",
        "exec(compile('def answer(question): return question', '<text>', 'exec'))",
        "from textwrap import dedent\nimport sys\ndedent.__module__ = 'rag'\nanswer = dedent",
        "import subprocess\nclass C:\n    call = staticmethod(subprocess.getoutput)\nanswer = C().call",
        "import operator\nanswer = operator.methodcaller('upper')",
    ],
)
def test_a_module_of_the_folder_lends_its_name_to_nothing_else(folder, code):
    from textwrap import dedent

    write(folder / "rag.py", code)
    try:
        with (
            pytest.raises(UsageError),
            open_python("rag:answer", code_folder=folder),
        ):
            pass
    finally:
        dedent.__module__ = "textwrap"


@pytest.mark.parametrize(
    "where", ["rag:os.system", "rag:answer.__globals__.get", "rag:answer.__class__", "rag:answer.__call__"]
)
def test_attributes_lead_out_of_no_module(folder, where):
    write(folder / "rag.py", "import os\ndef answer(question): return question")
    with pytest.raises(UsageError), open_python(where, code_folder=folder):
        pass


def test_a_module_of_another_place_is_not_even_imported(folder, tmp_path, monkeypatch):
    write(tmp_path / "elsewhere" / "stranger.py", LEAVES_A_TRACE + "def answer(question): return question")
    monkeypatch.syspath_prepend(tmp_path / "elsewhere")
    assert find_spec("stranger") is not None
    with (
        pytest.raises(UsageError),
        open_python("stranger:answer", code_folder=folder),
    ):
        pass
    assert not (folder / "imported").exists()
    with open_python("stranger:answer"):
        assert (folder / "imported").exists()


def test_nor_the_package_around_a_module_of_the_folder(folder, tmp_path, monkeypatch):
    write(folder / "pack" / "rag.py", "def answer(question): return question")
    write(tmp_path / "elsewhere" / "pack" / "__init__.py", LEAVES_A_TRACE)
    monkeypatch.syspath_prepend(tmp_path / "elsewhere")
    with (
        pytest.raises(UsageError, match="pack"),
        open_python("pack.rag:answer", code_folder=folder),
    ):
        pass
    assert not (folder / "imported").exists()


@pytest.mark.parametrize("link", ["rag.py", "rag"])
def test_links_lead_out_of_no_folder(folder, tmp_path, link):
    write(tmp_path / "elsewhere" / "__init__.py", LEAVES_A_TRACE + "def answer(question): return question")
    target = tmp_path / "elsewhere"
    (folder / link).symlink_to(target if link == "rag" else target / "__init__.py")
    with pytest.raises(UsageError, match="no module 'rag'"), open_python("rag:answer", code_folder=folder):
        pass
    assert not (folder / "imported").exists()


def test_a_file_named_as_a_module_that_is_loaded_does_not_stand_for_it(folder):
    write(folder / "subprocess.py", "def getoutput(question): return question")
    with (
        pytest.raises(UsageError, match="subprocess"),
        open_python("subprocess:getoutput", code_folder=folder),
    ):
        pass
    assert subprocess.__file__ != str(folder / "subprocess.py")


@pytest.mark.parametrize(
    ("files", "where"),
    [
        ({"rag.py": "def answer(question): return question"}, "rag:answer"),
        ({"pack/__init__.py": "", "pack/rag.py": "async def answer(q): return q"}, "pack.rag:answer"),
        ({"space/rag.py": "def answer(question): return question"}, "space.rag:answer"),
        ({"pack/__init__.py": "def answer(question): return question"}, "pack:answer"),
        ({"rag.py": "class C:\n    def __call__(self, q): return q\nanswer = C()"}, "rag:answer"),
        ({"rag.py": "class C:\n    def ask(self, q): return q\nanswer = C()"}, "rag:answer.ask"),
        (
            {"rag.py": "import functools\n@functools.lru_cache\ndef answer(question): return question"},
            "rag:answer",
        ),
        ({"rag.py": "from other import answer", "other.py": "def answer(q): return q"}, "rag:answer"),
    ],
)
def test_the_working_folder_s_own_functions_run(folder, files, where):
    for name, code in files.items():
        write(folder / name, code)
    with open_python(where, code_folder=folder) as target:
        assert target.fingerprint == f"python:{where}"
