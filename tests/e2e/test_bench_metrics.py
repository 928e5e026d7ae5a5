"""The bench of metrics, through the command a person types."""

import subprocess
import sys

import pytest

from sgi_lab.metric_bench.catalogue import PERTURBATIONS
from sgi_lab.metric_bench.matrix import Bench


@pytest.mark.slow
def test_every_built_in_metric_on_the_bundled_sample(tmp_path):
    command = [sys.executable, "-m", "sgi", "study", "bench", "-n", "10", "-o", "out", "--no-cache"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "the bundled sample" in result.stderr
    assert result.stdout.startswith(
        "# Which metric detects which error\n\n10 grounded rows of halueval_qa_sample.jsonl"
    )
    written = Bench.model_validate_json((tmp_path / "out" / "bench.json").read_text("utf-8"))
    assert {"sgi", "theta_rc", "rouge_l", "bertscore", "semantic_similarity"} <= set(written.metrics)
    assert [change.name for change in written.changes] == list(PERTURBATIONS)
    assert len(written.cells) == len(written.metrics) * len(PERTURBATIONS)
    assert written.cell("theta_rc", "contexts_exchanged").share > 0.7
    assert written.cell("theta_rc", "white_space").share == 1.0
    assert (tmp_path / "out" / "bench.md").read_text("utf-8") == result.stdout
