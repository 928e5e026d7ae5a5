"""A local server that sends raw bytes, in the event loop of the test."""

import asyncio
import re
from contextlib import asynccontextmanager


class RawServer:
    """Sends raw replies; records the heads of requests and the number of connections."""

    def __init__(self, *replies, then=None):
        self.heads: list[str] = []
        self.connections = 0
        self.open = 0
        self._replies = [*replies]
        self._then = then or self._write

    async def _write(self, writer):
        if not self._replies:
            return writer.close()
        writer.write(self._replies.pop(0) if len(self._replies) > 1 else self._replies[0])
        return await writer.drain()

    async def __call__(self, reader, writer):
        self.connections += 1
        self.open += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                self.heads.append(head)
                size = re.search(r"(?i)content-length: (\d+)", head)
                await reader.readexactly(int(size[1]) if size else 0)
                await self._then(writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.open -= 1
            writer.close()


@asynccontextmanager
async def serve(wire, context=None):
    server = await asyncio.start_server(wire, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
