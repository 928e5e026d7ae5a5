"""Score rows from traces, and send the scores to Phoenix as annotations of their spans."""

import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

from phoenix.client import Client

import sgi
from sgi.integrations.phoenix_client import upload_scores


class Phoenix(BaseHTTPRequestHandler):
    """A server in place of Phoenix: prints the annotations that it receives."""

    def do_POST(self) -> None:
        """Accept annotations."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        for annotation in body["data"]:
            result = annotation["result"]
            score = f"{result['score']:.2f}" if "score" in result else "no score"
            print(annotation["span_id"], annotation["name"], score, result["label"])
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"data": []}')

    def log_message(self, *_: object) -> None:
        """Print no log."""


# Rows from traces have these ids: sgi.run("traces.jsonl", ...) reads an export of Phoenix.
rows = [
    {
        "question": "How tall is the tower?",
        "contexts": ["The tower is 330 m tall."],
        "response": "It is 312 m tall.",
        "span_id": "eee19b7ec3c1b174",
    },
    {"question": "Who built the tower?", "response": "Gustave Eiffel.", "span_id": "0af7651916cd43dd"},
]
Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
run = sgi.run("rows.jsonl", ["grounding"])

server = HTTPServer(("127.0.0.1", 0), Phoenix)
Thread(target=server.serve_forever, daemon=True).start()
client = Client(base_url=f"http://127.0.0.1:{server.server_port}")  # Client() for your Phoenix
result = upload_scores(run, client)
print(f"{result.rows} rows sent, {result.left_out} left out")
