"""LangChain and LangGraph: a collector of one row for each call, and a step that blocks answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from sgi.integrations.guarded_answers import AnswerBlockedError, allowed_text, iterate, iterate_in_thread
from sgi.integrations.langchain_rows import run_row
from sgi.io.column_names import NAMES
from sgi.io.write import open_writer
from sgi.kernel.errors import DataError, require_extra

with require_extra("sgi.integrations.langchain", "langchain"):
    from langchain_core.runnables import AddableDict, RunnableGenerator
    from langchain_core.tracers.base import BaseTracer

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterator

    from langchain_core.runnables import RunnableConfig
    from langchain_core.tracers.schemas import Run

    from sgi.kernel.guard_verdict import GuardVerdict
    from sgi.service.guard import Guard


class RowCollector(BaseTracer):  # type: ignore[misc]  # Any where LangChain is not installed
    """Callback that collects a row with question, contexts, response, id and latency for each root call.

    Pass it in ``config={"callbacks": [collector]}``. It works with ``invoke``, ``stream``, ``batch`` and
    their async forms. ``rows`` goes into `sgi.evaluate`, and `write` writes a file for ``sgi run``.

    Attributes:
        rows: the rows of chains, graphs and agents, in the order in which the calls end.
        skipped: the number of root calls that are not a chain, by type, such as a model called alone.

    Args:
        tools: names of tools whose text output is a passage, such as a web search.
    """

    run_inline = True

    def __init__(self, *, tools: Collection[str] = ()) -> None:
        super().__init__()
        self.tools = frozenset(tools)
        self.rows: list[dict[str, Any]] = []
        self.skipped: Counter[str] = Counter()

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the rows to a file, as JSON lines, CSV or Parquet by its suffix."""
        with open_writer(path) as writer:
            writer.write(list(self.rows))

    def _persist_run(self, run: Run) -> None:
        if run.run_type == "chain":
            self.rows.append(run_row(run, tools=self.tools))
        else:
            self.skipped[run.run_type] += 1
        self._forget(run)

    def _forget(self, run: Run) -> None:
        """Remove the tree from the base class's table, which otherwise grows for ever."""
        self.order_map.pop(run.id, None)
        for child in run.child_runs:
            self._forget(child)


class GuardRunnable(RunnableGenerator):  # type: ignore[misc]  # the same
    """Last step of a chain: returns the text of the answer if the guard allows it.

    Its input is a mapping with the question, the passages (texts or documents) and the answer (a text or a
    message), under names such as ``question``, ``context`` and ``response``. ``stream`` and ``astream`` yield
    each sentence when it is allowed. For this, the question and the passages must come before the answer, as
    with ``RunnablePassthrough.assign(response=...)``; otherwise the answer is complete before it is checked.

    Args:
        guard: the guard.
        fallback: the output in place of a blocked answer; in a stream, in place of its rest, which LangChain
            then still reads for its callbacks.

    Raises:
        AnswerBlockedError: an answer is blocked, and there is no fallback.
        DataError: an input has no answer, or a part of it is not a text.
    """

    def __init__(self, guard: Guard, *, fallback: str | None = None) -> None:
        super().__init__(self._sentences, self._asentences, name="guard")
        self.guard = guard
        self.fallback = fallback

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> str:  # noqa: A002 - the name of the host
        """Return the answer, or the fallback."""
        return str(self._call_with_config(self._check, input, config))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> str:  # noqa: A002 - the same
        """Return the answer, or the fallback."""
        return str(await self._acall_with_config(self._acheck, input, config))

    def _check(self, values: Any) -> str:
        parts = _parts(_fields(values))
        return self._settle(self.guard.check(*parts), parts.response)

    async def _acheck(self, values: Any) -> str:
        parts = _parts(_fields(values))
        return self._settle(await self.guard.acheck(*parts), parts.response)

    def _settle(self, verdict: GuardVerdict, response: str) -> str:
        if not verdict.blocked:
            return response
        if self.fallback is None:
            raise AnswerBlockedError(verdict)
        return self.fallback

    def _sentences(self, chunks: Iterator[Any]) -> Iterator[str]:
        yield from iterate(self._asentences(iterate_in_thread(chunks)))

    async def _asentences(self, chunks: AsyncIterator[Any]) -> AsyncGenerator[str]:
        values = AddableDict()
        async for chunk in chunks:
            values += _fields(chunk)
            if all(_value(values, field) is not None for field in _Parts._fields):
                break
        parts = _parts(values)

        async def pieces() -> AsyncIterator[str]:
            yield parts.response
            async for chunk in chunks:
                yield _text(_value(_fields(chunk), "response") or "")

        verdicts = self.guard.stream(parts.question, parts.contexts, pieces())
        async for text in allowed_text(verdicts, self.fallback):
            yield text


class _Parts(NamedTuple):
    question: str
    contexts: list[str]
    response: str


def _parts(values: Mapping[str, Any]) -> _Parts:
    response = _value(values, "response")
    if response is None:
        raise DataError("the input of the guard has no answer", hint=f"Its keys are {', '.join(values)}.")
    found = _value(values, "contexts") or ()
    passages = found if isinstance(found, (list, tuple)) else [found]
    texts = [_text(getattr(passage, "page_content", passage)) for passage in passages]
    return _Parts(_text(_value(values, "question") or ""), texts, _text(response))


def _fields(values: Any) -> AddableDict:
    if not isinstance(values, Mapping):
        raise DataError(f"the input of the guard is not a mapping but {type(values).__name__}")
    return AddableDict(values)


def _value(values: Mapping[str, Any], field: str) -> Any:
    """Return the value under the first known name of a field; None if there is none."""
    return next((values[name] for name in NAMES[field] if values.get(name) is not None), None)


def _text(value: Any) -> str:
    """Return a text, or the text of a message."""
    text = value if isinstance(value, str) else getattr(value, "text", None)
    if not isinstance(text, str):
        raise DataError(f"the guard expects texts, documents and messages, not {type(value).__name__}")
    return str(text)
