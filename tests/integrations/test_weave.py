from __future__ import annotations

import asyncio

import pytest
import weave

import sgi
from sgi.integrations.weave import SgiScorer
from support.adapter_contract import BLANK, SUPPORTED, AdapterContract, HostResult, HostRow


class TestWeave(AdapterContract):
    name = "weave"

    def evaluate(self, rows, metric, embedder=None):
        scorer = SgiScorer(metrics=metric, embedder=embedder)
        dataset = [{"number": number, **row} for number, row in enumerate(rows)]
        recorded = {}

        @weave.op
        def answer(number):
            return rows[number].get("response")

        @weave.op
        async def record(number, output, **row):
            row.pop("response", None)  # the output is the response
            recorded[number] = (await scorer.score(output=output, **row))[metric]
            return recorded[number]

        fields = {name for row in rows for name in row}
        dataset = [dict.fromkeys(fields) | row for row in dataset]
        evaluation = weave.Evaluation(dataset=dataset, scorers=[scorer, record])
        summary = asyncio.run(evaluation.evaluate(answer))["SgiScorer"][metric]
        cells = [recorded[number] for number in range(len(rows))]
        return HostResult(
            [HostRow(cell["value"], cell["text"]) for cell in cells], summary["mean"], summary["coverage"]
        )

    def test_a_row_whose_model_fails_has_no_value_in_the_coverage(self):
        @weave.op
        def answer(question):
            raise RuntimeError("The application is down.")

        evaluation = weave.Evaluation(dataset=[SUPPORTED, BLANK], scorers=[SgiScorer()])
        summary = asyncio.run(evaluation.evaluate(answer))["SgiScorer"]["grounding"]
        assert summary == {"mean": None, "coverage": 0.0, "ok": 0, "rows": 2}

    def test_an_unknown_metric_is_refused_when_the_scorer_is_made(self):
        with pytest.raises(sgi.errors.UnknownNameError):
            SgiScorer(metrics="groundin")
