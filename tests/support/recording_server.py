"""A local HTTP server that records requests, and answers with the given status and body."""

from support.loopback import Handler, LoopbackServer


class RecordingServer(LoopbackServer):
    """Answers each request with the next reply (status, body); the last one repeats.

    ``requests`` has the path and the body of each request.
    """

    def __init__(self, *replies: tuple[int, bytes]) -> None:
        super().__init__(_Recorder)
        self.requests: list[tuple[str, bytes]] = []
        self.replies = [*replies]


class _Recorder(Handler):
    def answer(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server = self.server.owner
        with server.lock:
            server.requests.append((self.path.partition("?")[0], body))
            status, reply = server.replies.pop(0) if len(server.replies) > 1 else server.replies[0]
        self.send(status, reply, {})
