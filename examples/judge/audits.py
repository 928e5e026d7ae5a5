"""Audit three judges on labelled rows, without a key: a rule, a small model, and the metric `grounding`.

The rule is served with an OpenAI-compatible API. ``--bias instruction`` gives it a bias, which a probe finds.
"""

from __future__ import annotations

import argparse
import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from local_model import local_model

import sgi
from sgi import api

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

METRIC = "groundedness"
"""It takes one request per row, and rates from 0 to 3."""
_SECTION = re.compile(r"<(\w+) (\w+)>\n(.*?)\n</\1 \2>", re.DOTALL)
_WORD = re.compile(r"\d+|[a-z]{4,}")
_MIN_SHARE = 0.6
_BEST = 3
_MAX_TOKENS = 200  # the small model does not stop by itself
_SEEN = 12
BIASES: dict[str, Callable[[list[str], str], bool]] = {
    "none": lambda *_: False,
    "order": lambda passages, response: len(_words(response) & _words(passages[-1])) > _SEEN,
    "length": lambda _, response: "to the question" in response,
    "format": lambda _, response: "**" in response,
    "name": lambda _, response: "OpenAI" in response or "Anthropic" in response or "Oxford" in response,
    "instruction": lambda _, response: "best rating" in response,
}
"""When the biased rule gives the best rating anyway; for ``order``, by the words of the last passage."""


def _words(text: str) -> set[str]:
    return {*_WORD.findall(text.lower())}


def _supports(passages: list[str], response: str) -> bool:
    words, known = _words(response), _words(" ".join(passages))
    numbers = {word for word in words if word.isdigit()}
    return numbers <= known and len(words & known) >= _MIN_SHARE * len(words)


def rule(text: str, bias: str) -> int:
    """Return the rating of a request: the best if the passages have the words of the response."""
    sections = {name: part for name, tag, part in _SECTION.findall(text)}
    passages = re.split(r"^\[\d+ \w+\] ", sections.get("passages", ""), flags=re.MULTILINE)[1:]
    response = sections.get("response", "")
    return _BEST if BIASES[bias](passages, response) or _supports(passages, response) else 0


@contextmanager
def scripted_judge(bias: str = "none") -> Iterator[str]:
    """Serve the rule within the context, and yield its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            rating = rule(body["messages"][-1]["content"], bias)
            content = json.dumps({"reasoning": "By its words.", "rating": rating})
            message = {"role": "assistant", "content": content}
            reply = {
                "id": "1",
                "object": "chat.completion",
                "created": 1,
                "model": body["model"],
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            }
            sent = json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def labelled_rows(path: Path | None, count: int) -> list[dict[str, object]]:
    """Return rows with contexts, response and label: of a file of JSON lines, or of the bundled sample."""
    if path is None:
        cases = sgi.load_halueval_qa(count)
        rows = [
            {"contexts": [one.context], "response": one.response, "label": one.is_grounded} for one in cases
        ]
    else:
        with path.open(encoding="utf-8") as lines:
            found = [json.loads(line) for line, _ in zip(lines, range(count), strict=False)]
        rows = [
            {"contexts": one["context"], "response": one["response"], "label": one["label"]} for one in found
        ]
    return [{"id": f"r{number}", **row} for number, row in enumerate(rows)]


def show(folder: Path, judge: str, name: str, probes: tuple[str, ...]) -> None:
    """Score the rows, audit, and print the verdict."""
    metric = "grounding" if not judge else METRIC
    options = {"judge": {"model": judge, "concurrency": 4, "max_tokens": _MAX_TOKENS}} if judge else {}
    run = sgi.run(
        folder / "rows.jsonl",
        metric,
        name=name,
        db=folder / "sgi.db",
        cache=False,
        max_failures=1.0,
        **options,
    )
    audit = api.audit(run, metric, probes=probes, judge=options.get("judge"), cache=folder / "replies.db")
    accuracy = audit.trust.balanced_accuracy
    shown = (
        "–"
        if accuracy is None
        else f"{accuracy.value:.2f} [{accuracy.interval.low:.2f}, {accuracy.interval.high:.2f}]"
    )
    print(f"{name}: {audit.text}; balanced accuracy {shown}; {audit.counts.labelled} labels; {audit.reason}")
    for probe in audit.probes:
        print(f"  {probe.name:<12} {'FOUND' if probe.flagged else probe.status:<6} {probe.says}")


def main() -> None:
    """Audit the judges."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="JSON lines with context, response and label")
    parser.add_argument("--rows", type=int, default=120)
    parser.add_argument("--bias", choices=BIASES, default="none", help="the bias of the rule")
    parser.add_argument("--judges", nargs="+", default=["rule", "model", "grounding"])
    parser.add_argument("--probes", nargs="*", default=["all"])
    options = parser.parse_args()
    folder = Path(mkdtemp())
    with (folder / "rows.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in labelled_rows(options.data, options.rows))
    probes = tuple(options.probes)
    if "rule" in options.judges:
        with scripted_judge(options.bias) as address:
            show(folder, f"openai:rule@{address}", "rule", probes)
    if "model" in options.judges:
        with local_model() as address:
            show(folder, f"openai:smollm2@{address}", "model", ())
    if "grounding" in options.judges:
        show(folder, "", "grounding", probes)


if __name__ == "__main__":
    main()
