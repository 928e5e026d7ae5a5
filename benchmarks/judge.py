"""Compare the rate of the judge with the limit of its service, and measure our own time per call.

python benchmarks/judge.py [--quick]
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from harness import Figure, benchmark_main
from sgi.engine.plan import BATCH_SIZE
from sgi.kernel.prompts import Example, Prompt, Verdict, Verdicts
from sgi.llm.calls import Completion
from sgi.llm.judge import ChatJudge
from sgi.llm.load import open_judge, wrapped_chat
from sgi.llm.spec import JudgeSpec
from sgi.llm.usage import UsageCounter
from sgi.store.cache import MemoryCache, SqliteCache

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.kernel.prompts import Inquiry
    from sgi.kernel.protocols import Judge
    from sgi.llm.calls import Call

CALLS = 3200
LATENCY = 0.2
CONCURRENCY = 64
IN_FLIGHT = 3 * BATCH_SIZE
"""Concurrent inquiries: the rows of all batches that a run has in flight."""
TARGET = 0.3
"""Milliseconds of our own time per call."""
_CLAIM = "The novel Emma was written by Jane Austen and published in December 1815 in London."
_SERVER = r"""
import asyncio, json, sys
latency, text = float(sys.argv[1]), sys.argv[2]
message = {"role": "assistant", "content": text}
choices = [{"index": 0, "finish_reason": "stop", "message": message}]
usage = {"prompt_tokens": 300, "completion_tokens": 60, "total_tokens": 360}
reply = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": choices}
reply["usage"] = usage
body = json.dumps(reply).encode()
head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)

class Serve(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.data = transport, b""
    def data_received(self, data):
        self.data += data
        start, gap, rest = self.data.partition(b"\r\n\r\n")
        size = int(start.lower().partition(b"content-length:")[2].partition(b"\r\n")[0] or 0) if gap else 0
        if gap and len(rest) >= size:
            self.data = rest[size:]
            asyncio.get_running_loop().call_later(latency, self.transport.write, head + body)

async def main():
    server = await asyncio.get_running_loop().create_server(Serve, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


class Supported(Verdict):
    """A verdict like those of faithfulness."""

    reason: str
    supported: bool


_VERDICTS = tuple(
    Supported(index=index, reason="The passage says so.", supported=True) for index in (1, 2, 3)
)
_REPLY = Verdicts[Supported](verdicts=_VERDICTS)
_PROMPT = Prompt(
    "bench.claims",
    "Say of each claim whether the passages support it. " * 20,
    (Example({"claims": ("It rains.",) * 3}, _REPLY),),
    items="claims",
)


class Scripted:
    """A model that replies immediately."""

    fingerprint = "scripted"

    async def complete(self, call: Call, /) -> Completion:
        """Return the same reply to every call."""
        del call
        return Completion(_REPLY.model_dump_json(), input_tokens=300, output_tokens=60)


async def ask_all(judge: Judge, calls: int, *, first: int = 0) -> float:
    """Return the seconds for distinct inquiries, as many in flight as in a run of one metric."""
    inquiries = [
        _PROMPT.about(passages=(f"{number}: {_CLAIM * 10}",), claims=(_CLAIM,) * 3)
        for number in range(first, first + calls)
    ]
    slots = asyncio.Semaphore(IN_FLIGHT)

    async def ask(inquiry: Inquiry) -> None:
        async with slots:
            await judge.ask(inquiry, Verdicts[Supported])

    start = time.perf_counter()
    await asyncio.gather(*map(ask, inquiries))
    return time.perf_counter() - start


@contextmanager
def serving() -> Iterator[str]:
    """Yield the URL of a server in another process, which replies after 200 ms."""
    command = [sys.executable, "-c", _SERVER, str(LATENCY), _REPLY.model_dump_json()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            port = server.stdout.readline().strip() if server.stdout else ""
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.terminate()


async def over_http(url: str, calls: int) -> Figure:
    """Compare the rate with the limit of 64 concurrent calls."""
    async with open_judge(
        JudgeSpec(model=f"openai:m@{url}", concurrency=CONCURRENCY), MemoryCache()
    ) as judge:
        await ask_all(judge, CONCURRENCY, first=calls)
        start = time.process_time()
        seconds = await ask_all(judge, calls)
        busy = time.process_time() - start
    return Figure(
        f"judge over HTTP, {CONCURRENCY} concurrent, {1000 * LATENCY:.0f} ms per call",
        "calls/s",
        ours=calls / seconds,
        peer=CONCURRENCY / LATENCY,
        beside="limit of the service",
        is_bound=True,
        wanted=0.95,
        note=f"processor time of client and judge {1000 * busy / calls:.2f} ms per call",
    )


async def in_process(calls: int, folder: Path) -> list[Figure]:
    """Measure the wrappers and the parsing of replies, with the cache on disk."""
    spec = JudgeSpec(model="openai:m@http://127.0.0.1:1/v1")
    counter = UsageCounter()
    figures = []
    with SqliteCache(folder / "cache.db") as cache:
        judge = ChatJudge(wrapped_chat(Scripted(), spec, cache, counter), counter=counter)
        for source in ("a new reply", "a cached reply"):
            milliseconds = 1000 * await ask_all(judge, calls) / calls
            work = f"our own time per judge call, {source}"
            figures.append(Figure(work, "ms", milliseconds, wanted=TARGET, higher_is_better=False))
    if (judge.usage.calls, judge.usage.cached) != (calls, calls):
        raise SystemExit(f"{calls} inquiries, each sent twice, gave {judge.usage}")
    return figures


def measure(*, quick: bool) -> Iterator[Figure]:
    """Measure in one process, and over HTTP."""
    calls = 256 if quick else CALLS
    with tempfile.TemporaryDirectory() as folder:
        yield from asyncio.run(in_process(calls, Path(folder)))
    with serving() as url:
        yield asyncio.run(over_http(url, calls))


if __name__ == "__main__":
    benchmark_main(measure)
