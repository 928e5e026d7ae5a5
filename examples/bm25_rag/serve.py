"""Serve the RAG system over HTTP on this machine: POST {"question": …} to /answer."""

from __future__ import annotations

import argparse
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import rag


class Handler(BaseHTTPRequestHandler):
    """Answer one question per request."""

    def do_POST(self) -> None:
        """Read the question, and send the answer and its contexts."""
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
        """Log nothing."""


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description="Serve the example RAG system on this machine.")
    parser.add_argument("--port", type=int, default=8765, help="0 selects a free port")
    with ThreadingHTTPServer(("127.0.0.1", parser.parse_args().port), Handler) as server:
        print(f"http://127.0.0.1:{server.server_port}/answer", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
