"""The same RAG system behind HTTP, on this machine alone: POST {"question": …} to /answer."""

from __future__ import annotations

import argparse
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import rag


class Handler(BaseHTTPRequestHandler):
    """Answers one question a request."""

    def do_POST(self) -> None:
        """Read the question, send answer and contexts."""
        try:
            length = int(self.headers["Content-Length"])
            question = json.loads(self.rfile.read(length))["question"]
            self.send_json(200, rag.answer(question))
        except (KeyError, TypeError, ValueError, AttributeError):
            self.send_json(400, {"error": 'Send {"question": "…"}.'})

    def send_json(self, status: int, content: object) -> None:
        """Send the content with the status."""
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep the terminal quiet."""


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description="Serve the example RAG system on this machine.")
    parser.add_argument("--port", type=int, default=8765, help="0 takes any that is free")
    with ThreadingHTTPServer(("127.0.0.1", parser.parse_args().port), Handler) as server:
        print(f"http://127.0.0.1:{server.server_port}/answer", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
