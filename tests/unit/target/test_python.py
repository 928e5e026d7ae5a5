import asyncio
import functools
import subprocess
import sys
import textwrap
import threading
from importlib.util import find_spec
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from sgi.kernel.errors import TargetError, UnknownNameError, UsageError
from sgi.kernel.protocols import Reply, Target
from sgi.target.python import PythonTarget, open_python
from sgi.target.target_limits import TransientError


def ask(function, question="Who?"):
    return anyio.run(PythonTarget("rag:answer", function).answer, question)


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Writes a module into the working folder; what it loads is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    before = set(sys.modules)

    def write(name, code):
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(code))

    yield write
    for name in set(sys.modules) - before:
        del sys.modules[name]


class Pipeline:
    def __call__(self, question):
        return question.upper()

    async def run(self, question):
        await anyio.lowlevel.checkpoint()
        return question.upper()


class AsyncPipeline:
    async def __call__(self, question):
        await anyio.lowlevel.checkpoint()
        return question.upper()


async def answer_later(prefix, question):
    await anyio.lowlevel.checkpoint()
    return (question.upper(), [prefix])


@pytest.mark.parametrize(
    "function",
    [
        str.upper,
        lambda question: (question.upper(), None),
        Pipeline(),
        Pipeline().run,
        AsyncPipeline(),
        lambda question: Pipeline().run(question),
        functools.partial(str.upper),
    ],
)
def test_functions_of_all_kinds(function):
    assert ask(function) == Reply("WHO?")


def test_a_partial_of_an_async_function():
    assert ask(functools.partial(answer_later, "p")) == Reply("WHO?", ("p",))


def test_it_is_a_target():
    target = PythonTarget("rag:answer", str.upper)
    assert isinstance(target, Target)
    assert target.fingerprint == "python:rag:answer"


def test_a_sync_function_runs_beside_the_loop_and_an_async_one_on_it():
    threads = []

    def sync(question):
        threads.append(threading.current_thread() is threading.main_thread())
        return question

    async def later(question):
        threads.append(threading.current_thread() is threading.main_thread())
        return question

    ask(sync)
    ask(later)
    assert threads == [False, True]


def test_sync_functions_run_at_the_same_time():
    together = threading.Barrier(5)

    def meet(question):
        together.wait(timeout=20)
        return question

    async def five():
        async with anyio.create_task_group() as group:
            for number in range(5):
                group.start_soon(PythonTarget("rag:meet", meet).answer, str(number))

    anyio.run(five)
    assert not together.broken


@pytest.mark.parametrize(
    "error", [ValueError("bad\nindex"), SystemExit(3), KeyError("k"), StopIteration("s")]
)
@pytest.mark.parametrize("is_async", [False, True])
def test_what_it_raises_is_told_by_type_and_message(error, is_async):
    def fail(question):
        raise error

    async def fail_later(question):
        raise error

    with pytest.raises(TargetError) as caught:
        ask(fail_later if is_async else fail)
    # Python itself makes a RuntimeError of a StopIteration that leaves a coroutine.
    expected = "RuntimeError" if isinstance(error, StopIteration) else type(error).__name__
    assert str(caught.value).startswith(f"rag:answer raised {expected}: ")
    assert "Traceback" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_target_error_of_its_own_stays_as_it_is():
    mine = TransientError("busy", retry_after=2.0)

    def fail(question):
        raise mine

    with pytest.raises(TransientError) as caught:
        ask(fail)
    assert caught.value is mine


def test_a_cancellation_of_its_own_making_is_its_own_fault():
    async def lost(question):
        inner = asyncio.ensure_future(asyncio.sleep(60))
        inner.cancel()
        return await inner

    def lost_too(question):
        return asyncio.run(lost(question))

    for function in (lost, lost_too):
        with pytest.raises(TargetError):
            ask(function)


def test_a_cancellation_from_outside_passes_through():
    async def cancelled():
        task = asyncio.create_task(PythonTarget("rag:wait", lambda _: anyio.sleep(60)).answer("Who?"))
        await anyio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return task.cancelled()

    assert asyncio.run(cancelled())


def test_an_interrupt_passes_through():
    def interrupt(question):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(interrupt)


def test_a_property_that_fails_is_a_failure_of_the_answer():
    class Late:
        @property
        def answer(self):
            raise RuntimeError("lost")

    with pytest.raises(TargetError, match="RuntimeError: lost"):
        ask(lambda _: Late())


def test_one_that_hangs_is_left_to_itself_when_it_is_cancelled():
    release = threading.Event()

    async def give_up():
        with anyio.move_on_after(0.05) as scope:
            await PythonTarget("rag:hang", lambda _: release.wait(60) and "late").answer("Who?")
        return scope.cancelled_caught

    assert anyio.run(give_up)
    release.set()  # the loop is closed: the thread's answer goes nowhere, and says nothing


def test_a_hanging_thread_does_not_keep_the_process_from_ending():
    code = """
        import threading, anyio
        from sgi.target.python import PythonTarget
        async def main():
            with anyio.move_on_after(0.05):
                await PythonTarget("rag:hang", lambda _: threading.Event().wait()).answer("Who?")
        anyio.run(main)
        print("end")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "end\n"


def test_a_module_of_the_working_folder_is_found_and_may_import_its_neighbours_later(module):
    module("sgi_test_neighbour", "WORD = 'Mars'")
    module(
        "sgi_test_rag",
        """
        class Rag:
            def ask(self, question):
                from sgi_test_neighbour import WORD
                return WORD
        rag = Rag()
        """,
    )
    path = list(sys.path)
    with open_python("sgi_test_rag:rag.ask") as target:
        assert anyio.run(target.answer, "Which?") == Reply("Mars")
        assert sys.path[0] == str(Path.cwd())
    assert sys.path == path


def test_a_builtin_that_tells_no_signature_is_asked():
    with open_python("builtins:max") as target:
        assert anyio.run(target.answer, "Who?") == Reply("o")


def test_an_interrupt_while_importing_passes_through(module):
    module("sgi_test_interrupt", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt), open_python("sgi_test_interrupt:answer"):
        pass


def test_a_module_that_is_not_there_is_named(module):
    module("sgi_test_package/__init__", "")
    for where, name in [
        ("sgi_test_absent:answer", "sgi_test_absent"),
        ("sgi_test_absent.deep:answer", "sgi_test_absent"),
        ("sgi_test_package.deep:answer", "sgi_test_package.deep"),
    ]:
        with (
            pytest.raises(UsageError, match=f"Python finds no module '{name}'. Start sgi in the folder"),
            open_python(where),
        ):
            pass


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("import sgi_test_not_installed", "ModuleNotFoundError: No module named 'sgi_test_not_installed'"),
        ("import sgi_test_brok", "ModuleNotFoundError: No module named 'sgi_test_brok'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("def answer(:", "SyntaxError: "),
        ("raise SystemExit('no key')", "SystemExit: no key"),
        ("raise ImportError('a\\nb')", "ImportError: a b"),
    ],
)
def test_a_module_whose_own_import_fails_says_why(module, code, problem):
    module("sgi_test_broken", code)
    with (
        pytest.raises(UsageError, match=f"'sgi_test_broken' cannot be imported: {problem}"),
        open_python("sgi_test_broken:answer"),
    ):
        pass


def test_an_attribute_that_is_not_there_is_told_the_near_one(module):
    module(
        "sgi_test_names", "def answer(question): return question\n\ndef _answers(): pass\nanswer_count = 3"
    )
    with (
        pytest.raises(UnknownNameError, match="anser"),
        open_python("sgi_test_names:anser"),
    ):
        pass


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ("sgi_test_kinds:Rag", "is a class"),
        ("sgi_test_kinds:number", "must be a function; it is a value of type int"),
        (
            "sgi_test_kinds:two",
            r"two\(question, k\) must be callable with the question as its only argument: .*'k'",
        ),
        ("sgi_test_kinds:none", r"none\(\) must be callable with the question as its only argument"),
        ("sgi_test_kinds:named", "must be callable with the question as its only argument"),
    ],
)
def test_what_cannot_be_asked_is_told_at_once(module, where, problem):
    module(
        "sgi_test_kinds",
        """
        class Rag: pass
        number = 3
        def two(question, k): return question
        def none(): return ""
        def named(*, question): return question
        """,
    )
    with pytest.raises(UsageError, match=problem), open_python(where):
        pass


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
