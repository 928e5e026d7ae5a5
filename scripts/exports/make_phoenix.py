"""Make the Phoenix files in tests/data/exports with a real server and its client.

Needs arize-phoenix and the packages of make_otel.py. The server keeps its data in the folder that
``PHOENIX_WORKING_DIR`` names, which must be empty::

    PHOENIX_WORKING_DIR=/tmp/phoenix PHOENIX_HOST=127.0.0.1 PHOENIX_PORT=16006 phoenix serve &
    python scripts/exports/make_phoenix.py http://127.0.0.1:16006
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import urlopen

from make_otel import FOLDER, FixedIds, Recorder, openinference
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from phoenix.client import Client

if TYPE_CHECKING:
    import pandas as pd

PROJECT = "heat-pump-help"


def send(address: str) -> None:
    """Send the spans of make_otel.py to the server, and a person's verdict to the first one."""
    resource = Resource({"service.name": PROJECT, "openinference.project.name": PROJECT})
    provider = TracerProvider(resource=resource, id_generator=FixedIds(1))
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{address}/v1/traces")))
    openinference(Recorder(provider.get_tracer("demo")))
    provider.shutdown()


def export(address: str, folder: Path) -> None:
    """Write the spans as the client returns them: data frames, and lists of objects."""
    client = Client(base_url=address)
    frame: pd.DataFrame = client.spans.get_spans_dataframe(project_identifier=PROJECT)
    frame.to_parquet(folder / "phoenix_spans.parquet")
    frame.to_json(folder / "phoenix_spans_records.json", orient="records", date_format="iso")
    frame.to_json(folder / "phoenix_spans_lines.jsonl", orient="records", lines=True, date_format="iso")
    frame.to_csv(folder / "phoenix_spans.csv", index=False)
    spans = client.spans.get_spans(project_identifier=PROJECT, limit=1000)
    (folder / "phoenix_get_spans.json").write_text(json.dumps(spans, indent=1), encoding="utf-8")
    with urlopen(f"{address}/v1/projects/{PROJECT}/spans?limit=1000") as response:  # noqa: S310 - our server
        (folder / "phoenix_rest_spans.json").write_bytes(response.read())
    with urlopen(f"{address}/v1/projects/{PROJECT}/spans/otlpv1?limit=1000") as response:  # noqa: S310
        (folder / "phoenix_otlp_spans.json").write_bytes(response.read())


if __name__ == "__main__":
    target = Path(sys.argv[2]) if len(sys.argv) > 2 else FOLDER  # noqa: PLR2004
    send(sys.argv[1])
    time.sleep(5)  # the server inserts spans in the background
    export(sys.argv[1], target)
