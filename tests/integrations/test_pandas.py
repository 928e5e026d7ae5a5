from __future__ import annotations

import pandas as pd

import sgi.integrations.pandas  # noqa: F401 - registers the accessor
from support.adapter_contract import AdapterContract, HostResult, HostRow

COLUMNS = dict.fromkeys(("question", "contexts", "response", "reference"))


class TestPandas(AdapterContract):
    name = "pandas"

    def evaluate(self, rows, metric, embedder=None):
        frame = pd.DataFrame([COLUMNS | row for row in rows], dtype=object)
        scores = frame.sgi.evaluate(metric, embedder, on_error="skip", max_failures=1.0)
        (summary,) = scores.sgi.summary().to_dict("records")
        values = scores[metric].astype(object).where(scores[metric].notna(), None)
        texts = scores[f"{metric}_status"] + ": " + scores[f"{metric}_reason"].fillna("")
        return HostResult(
            list(map(HostRow, values, texts)),
            None if pd.isna(summary["mean"]) else summary["mean"],
            summary["coverage"],
        )
