"""Compare the rate of the judge over HTTP with the limit of its service.

python benchmarks/judge.py [--quick]
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from harness import Figure, benchmark_main
from sgi.engine.plan import BATCH_SIZE
from sgi.kernel.prompts import Example, Prompt, Verdict, Verdicts
from sgi.llm.judge_spec import JudgeSpec
from sgi.llm.open_judge import open_judge
from sgi.store.cache import MemoryCache

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.kernel.prompts import Inquiry
    from sgi.kernel.protocols import Judge

CALLS = 3200
LATENCY = 0.2
CONCURRENCY = 64
IN_FLIGHT = 3 * BATCH_SIZE
"""Concurrent inquiries: the rows of all batches that a run has in flight."""
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


def measure(*, quick: bool) -> Iterator[Figure]:
    """Measure over HTTP."""
    with serving() as url:
        yield asyncio.run(over_http(url, 256 if quick else CALLS))


if __name__ == "__main__":
    benchmark_main(measure)
