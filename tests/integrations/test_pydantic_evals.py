from __future__ import annotations

from pydantic_evals import Case, Dataset

from sgi.integrations.pydantic_evals import SgiEvaluator
from support.adapter_contract import AdapterContract, HostResult, HostRow


class TestPydanticEvals(AdapterContract):
    name = "pydantic_evals"
    mean = "plain"

    def evaluate(self, rows, metric, embedder=None):
        cases = [
            Case(name=str(n), inputs={"question": row.get("question")}, expected_output=row.get("reference"))
            for n, row in enumerate(rows)
        ]
        outputs = {id(case.inputs): row for case, row in zip(cases, rows, strict=True)}

        async def answer(inputs):
            row = outputs[id(inputs)]
            return {name: row[name] for name in ("response", "contexts") if name in row}

        data = Dataset(name="tower", cases=cases, evaluators=[SgiEvaluator(metric, embedder)])
        report = data.evaluate_sync(answer, progress=False)
        assert not report.failures
        recorded = {case.name: recorded_row(case, metric) for case in report.cases}
        averages = report.averages()
        return HostResult(
            [recorded[str(n)] for n in range(len(rows))],
            averages.scores.get(metric),
            averages.labels[f"{metric}.status"].get("ok", 0.0),
        )


def recorded_row(case, metric):
    assert not case.evaluator_failures
    assert not case.assertions
    value = case.scores[metric].value if metric in case.scores else None
    label = case.labels[f"{metric}.status"]
    return HostRow(value, f"{label.value}: {label.reason}")


def test_a_plain_case_needs_no_mapping():
    data = Dataset(
        name="capitals",
        cases=[Case(inputs="Capital of France?", expected_output="Paris")],
        evaluators=[SgiEvaluator(["squad_em", "rouge_l"])],
    )
    case = data.evaluate_sync(lambda _: "paris", progress=False).cases[0]
    assert {name: score.value for name, score in case.scores.items()} == {"squad_em": 1.0, "rouge_l": 1.0}


def test_an_evaluator_is_read_from_a_file_of_the_host(tmp_path):
    (tmp_path / "data.yaml").write_text(
        'name: d\ncases:\n- inputs: {q: "Who?", docs: [Ada wrote it.]}\n  expected_output: Ada\n'
        "evaluators:\n- SgiEvaluator:\n    metrics: [squad_em]\n    columns: {question: inputs.q}\n"
    )
    data = Dataset.from_file(tmp_path / "data.yaml", custom_evaluator_types=[SgiEvaluator])
    case = data.evaluate_sync(lambda _: "Ada", progress=False).cases[0]
    assert case.scores["squad_em"].value == 1.0
