import asyncio
import functools
import subprocess
import sys
import textwrap
import threading
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
