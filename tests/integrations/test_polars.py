from __future__ import annotations

import polars as pl

import sgi.integrations.polars  # noqa: F401 - registers the accessor
from support.adapter_contract import AdapterContract, HostResult, HostRow

COLUMNS = ("question", "contexts", "response", "reference")


class TestPolars(AdapterContract):
    name = "polars"

    def evaluate(self, rows, metric, embedder=None):
        data = {name: pl.Series([row.get(name) for row in rows], dtype=pl.Object) for name in COLUMNS}
        scores = pl.DataFrame(data).sgi.evaluate(metric, embedder, on_error="skip", max_failures=1.0)
        (summary,) = scores.sgi.summary().to_dicts()
        reasons = scores[f"{metric}_reason"].fill_null("").to_list()
        texts = [
            f"{status}: {reason}" for status, reason in zip(scores[f"{metric}_status"], reasons, strict=True)
        ]
        return HostResult(list(map(HostRow, scores[metric], texts)), summary["mean"], summary["coverage"])
