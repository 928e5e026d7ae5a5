"""What every adapter must do, in the environment of its framework; a test class inherits it.

A subclass has the module's name and a driver: it gives rows to the host framework, and returns what the host
recorded. A row is a dict with some of question, contexts, response and reference; an absent key is not given.
"""

import math
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest

import sgi
from sgi.kernel.errors import EmbedderError
from support.scripts import load_script

ROOT = Path(__file__).parents[2]
# An example may open no connection but to this machine.
RUN_OFFLINE = """
import pytest_socket, runpy, sys
pytest_socket.socket_allow_hosts(["127.0.0.1", "::1", "localhost"], allow_unix_socket=True)
runpy.run_path(sys.argv[1], run_name="__main__")
"""

QUESTION = "When was the tower built?"
PASSAGES = ["The tower was built in 1889.", "It is 330 m tall."]
SUPPORTED = {"question": QUESTION, "contexts": PASSAGES, "response": "It was built in 1889."}
CONTRADICTED = {"question": QUESTION, "contexts": PASSAGES, "response": "It is 312 m tall."}
BLANK = {"question": QUESTION, "contexts": PASSAGES, "response": ""}
NO_CONTEXTS = {"question": QUESTION, "response": "It was built in 1889."}
UNICODE = {
    "question": "Wann wurde der Turm 🗼 gebaut? متى",
    "contexts": [
        "Der Turm 🗼 wurde 1889 gebaut.\u2028塔は1889年に建てられた。",
        "e\u0301cole \u200d \u202b \u05d9\u05de\u05d9\u05df",
    ],
    "response": "Der Turm 🗼 wurde 1889 gebaut. 塔",
}


@dataclass(frozen=True)
class HostRow:
    """What the host recorded for one row: its number or verdict, and all texts about the row."""

    value: float | bool | None
    text: str = ""


@dataclass(frozen=True)
class HostResult:
    """What the host recorded for the data: the rows in order, its mean, and the coverage beside the mean.

    Without values the mean is None, as in a host that has no mean.
    """

    rows: Sequence[HostRow]
    mean: float | None = None
    coverage: float | None = None


class RaisingEmbedder:
    """An embedder whose service is down."""

    fingerprint = "raising@1"

    def embed(self, texts: Sequence[str]) -> Any:
        raise EmbedderError("The vector service is down.")


class PageContract:
    """The test of a page; a subclass has the module's name."""

    name: ClassVar[str]

    def test_the_page_shows_what_the_example_prints(self, tmp_path):
        example = ROOT / "examples" / "integrations" / f"with_{self.name}.py"
        with load_script("update_integration_page") as script:
            _, _, printed = script.shown(self.name)
        command = [sys.executable, "-c", RUN_OFFLINE, str(example)]
        result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        assert result.stdout == printed


class AdapterContract(PageContract):
    """Tests of an adapter; see the module."""

    mean: ClassVar[Literal["run", "plain", "none"]] = "run"
    """The mean of ratios: that of `sgi.evaluate`, or the plain mean of a host that computes it itself."""

    def evaluate(self, rows: Sequence[dict[str, Any]], metric: str, embedder: Any = None) -> HostResult:
        """Have the host evaluate the rows with one metric; return what it recorded."""
        raise NotImplementedError

    def test_values_are_those_of_evaluate(self):
        rows = [SUPPORTED, CONTRADICTED]
        host = self.evaluate(rows, "grounding")
        assert [row.value for row in host.rows] == expected(rows, "grounding")

    @pytest.mark.parametrize(
        ("row", "reason"),
        [(BLANK, "undefined: the response is blank"), (NO_CONTEXTS, "missing: the sample has no contexts")],
        ids=["undefined", "missing"],
    )
    def test_a_row_without_value_shows_its_reason(self, row, reason):
        host = self.evaluate([row], "grounding")
        assert host.rows[0].value is None
        assert reason in host.rows[0].text
        assert host.mean is None

    def test_a_row_whose_model_fails_shows_the_error(self):
        host = self.evaluate([SUPPORTED], "sgi", RaisingEmbedder())
        assert host.rows[0].value is None
        assert "failed: The vector service is down." in host.rows[0].text
        assert host.mean is None

    def test_a_row_that_cannot_be_read_fails_alone(self):
        host = self.evaluate([SUPPORTED, {**SUPPORTED, "contexts": [{"no": "text"}]}], "grounding")
        assert host.rows[0].value == expected([SUPPORTED], "grounding")[0]
        assert host.rows[1].value is None
        assert "failed: " in host.rows[1].text
        assert "contexts" in host.rows[1].text

    def test_the_mean_has_its_coverage(self):
        rows = [SUPPORTED, BLANK, CONTRADICTED, NO_CONTEXTS]
        host = self.evaluate(rows, "grounding")
        values = expected([SUPPORTED, CONTRADICTED], "grounding")
        assert [row.value for row in host.rows] == [values[0], None, values[1], None]
        if self.mean != "none":
            assert host.mean == pytest.approx(sum(values) / 2)
            assert host.coverage == 0.5

    def test_the_mean_of_ratios_is_that_of_a_run(self):
        rows = [SUPPORTED, {**SUPPORTED, "response": "Bananas are yellow."}, NO_CONTEXTS]
        (run,) = sgi.evaluate(rows, "sgi").summary().metrics
        known = [value for value in expected(rows, "sgi") if value is not None]
        means = {"run": run.mean, "plain": sum(known) / len(known), "none": None}
        assert run.mean != pytest.approx(means["plain"])
        assert self.evaluate(rows, "sgi").mean == (means[self.mean] and pytest.approx(means[self.mean]))

    def test_a_blank_text_is_data_and_an_absent_one_is_not(self):
        host = self.evaluate(
            [
                {"question": "?", "response": "", "reference": "Paris"},
                {"question": "?", "reference": "Paris"},
            ],
            "squad_token_f1",
        )
        assert host.rows[0].value == 0.0
        assert host.rows[1].value is None
        assert "missing: the sample has no response" in host.rows[1].text

    def test_unicode_arrives_unchanged(self):
        host = self.evaluate([UNICODE], "grounding")
        assert [row.value for row in host.rows] == expected([UNICODE], "grounding")

    def test_many_rows_at_once_get_their_own_values(self):
        rows = [
            {
                "question": QUESTION,
                "contexts": [f"The tower is {n} m tall."],
                "response": f"It is {300 + n % 7} m tall.",
            }
            for n in range(300, 340)
        ]
        rows[7].pop("contexts")
        host = self.evaluate(rows, "grounding")
        assert [row.value for row in host.rows] == expected(rows, "grounding")


def expected(rows: Sequence[dict[str, Any]], metric: str) -> list[float | None]:
    """Return the values that `sgi.evaluate` computes; None without a value."""
    values = sgi.evaluate(list(rows), metric, max_failures=1.0)[metric].values
    return [None if math.isnan(value) else value for value in values.tolist()]
