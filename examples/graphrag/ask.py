"""Ask the search methods of GraphRAG the questions of a file, and write rows that SGI reads.

Run it in a project of GraphRAG 3.3.0 after ``graphrag index``: ``python ask.py questions.jsonl answers``.
"""

import asyncio
import gzip
import json
import sys
import time
from pathlib import Path
from typing import Any

import litellm
import pandas as pd
from graphrag.api import basic_search, global_search, local_search
from graphrag.config.load_config import load_config
from litellm.integrations.custom_logger import CustomLogger

CONFIG = load_config(Path())
GRAPH = ["entities", "communities", "community_reports"]
TABLES = {name: pd.read_parquet(f"output/{name}.parquet") for name in [*GRAPH, "text_units", "relationships"]}


class Tokens(CustomLogger):
    """Counts the tokens of the language model, which LiteLLM reports some time after each call."""

    prompt = completion = running = 0

    def log_pre_api_call(self, model: str, messages: object, kwargs: dict[str, Any]) -> None:  # noqa: ARG002
        """Count a call that starts."""
        self.running += kwargs["call_type"] == "acompletion"

    async def async_log_success_event(self, kwargs: Any, response_obj: Any, *_: Any, **__: Any) -> None:  # noqa: ARG002
        """Add the tokens of a call that ended."""
        self.prompt += response_obj.usage.prompt_tokens
        self.completion += response_obj.usage.completion_tokens
        self.running -= 1

    async def async_log_failure_event(self, *_: Any, **__: Any) -> None:
        """Count a call that failed."""
        self.running -= 1


litellm.callbacks.append(TOKENS := Tokens())


async def search(method: str, query: str) -> Any:
    """Return the response and the context data."""
    options: dict[str, Any] = {"config": CONFIG, "response_type": "Multiple Paragraphs", "query": query}
    if method == "basic_search":
        return await basic_search(**options, text_units=TABLES["text_units"])
    if method == "local_search":
        return await local_search(**options, **TABLES, covariates=None, community_level=2)
    options |= {name: TABLES[name] for name in GRAPH}
    return await global_search(**options, community_level=2, dynamic_community_selection=True)


async def ask(method: str, row: dict[str, Any]) -> dict[str, Any]:
    """Ask the question of a row, and add the answer, its context, its time and its tokens to the row."""
    TOKENS.prompt = TOKENS.completion = 0
    start = time.perf_counter()
    response, context = await search(method, row["query"])
    ms = round(1000 * (time.perf_counter() - start))
    while TOKENS.running:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    records = {name: json.loads(table.to_json(orient="records")) for name, table in context.items()}
    usage = {"prompt_tokens": TOKENS.prompt, "completion_tokens": TOKENS.completion}
    return {**row, "method": method, "response": response, "context_data": records, "latency_ms": ms, **usage}


async def ask_all(method: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Ask one question after the other. The first is asked twice, since the first call loads the vectors."""
    return [await ask(method, row) for row in [rows[0], *rows]][1:]


questions = [json.loads(line) for line in Path(sys.argv[1]).read_text("utf-8").splitlines()]
for name in ["local_search", "global_search", "basic_search"]:
    text = "".join(json.dumps(row) + "\n" for row in asyncio.run(ask_all(name, questions)))
    Path(sys.argv[2], f"{name}.jsonl.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
