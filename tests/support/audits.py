"""A judge for audits: an HTTP server that judges faithfulness by rule, and stored runs of it."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sgi
from sgi.kernel.signature import digest
from support.answers import write_jsonl
from support.judge_server import JudgeServer, Request, ServerReply

ROWS = 44


def rows(count: int = ROWS, passages: int = 2) -> list[dict[str, Any]]:
    """Rows whose second passage has the words of the response."""
    return [
        {
            "id": f"q{row}",
            "question": f"What does page {row} say?",
            "contexts": ["Nothing of the kind.", f"Page {row} names the ferry."][:passages],
            "response": f"Page {row} names the ferry.",
        }
        for row in range(count)
    ]


class ClaimServer(JudgeServer):
    """Supports the claim of two thirds of the rows, and of each text that ``favours`` accepts.

    Set ``strict`` to support no claim at all.
    """

    def __init__(self, favours: Callable[[str], bool] = lambda _: False) -> None:
        super().__init__(replies=self._reply)
        self.strict = False
        self._favours = favours

    def _reply(self, request: Request) -> ServerReply:
        if "verdicts" not in json.dumps(request.body):
            page = re.search(r"Page\D*(\d+)", request.text)
            favoured = "best" if self._favours(request.text) else "plain"
            return ServerReply(json.dumps({"claims": [f"Page {page and page[1]} is {favoured}."]}))
        number, favoured = re.findall(r"Page (\d+) is (\w+)", request.text)[0]
        supported = favoured == "best" or digest(number.encode())[0] % 3 > 0
        verdict = {"index": 1, "reason": "So it says.", "supported": int(supported and not self.strict)}
        return ServerReply(json.dumps({"verdicts": [verdict | {"passage": None}]}))


def stored_run(folder: Path, metric: str, **options: Any) -> Path:
    """Score the rows of a folder in a run of its database, and return the database."""
    database = folder / "sgi.db"
    data = write_jsonl(folder / "rows.jsonl", options.pop("data", rows()))
    sgi.run(data, metric, db=database, cache=folder / "cache", max_failures=1.0, **options)
    return database
