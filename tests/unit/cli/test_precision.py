"""--backend and --precision, from the command line to the numbers."""

from __future__ import annotations

import json

import pytest

from sgi.engine.fast_profile import FastProfile, MetricChange
from sgi.models.embedder.openvino import Processor, processor

ROWS = [
    {
        "question": "Who wrote Emma?",
        "context": "Emma is a novel by Jane Austen, published in 1815.",
        "response": answer,
    }
    for answer in ("Jane Austen wrote it.", "It was written by Charlotte Brontë.")
]
INT8 = ("--backend", "openvino", "--precision", "int8")
TRIPLE = ("compute", "--q", "Who wrote Emma?", "--c", ROWS[0]["context"], "--r", "Jane Austen.", "--json")


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


@pytest.fixture
def int8():
    pytest.importorskip("openvino", reason="needs OpenVINO: pip install '.[openvino]'")
    if not processor().int8:
        pytest.skip("this processor multiplies no 8-bit activations")


@pytest.mark.usefixtures("int8")
def test_compute_and_score(sgi, rows):
    exact = sgi(*TRIPLE).json["sgi"]
    near = sgi(*TRIPLE, *INT8).json["sgi"]
    assert near == pytest.approx(exact, 0.05)
    assert near != exact
    result = sgi("score", rows, "-m", "sgi", "--no-cache", *INT8)
    assert result.code == 0
    assert len(result.out.splitlines()) == len(ROWS)


@pytest.mark.usefixtures("int8")
def test_a_run_resumes_with_its_precision(sgi, rows, tmp_path):
    (tmp_path / "run.toml").write_text(
        'data = "rows.jsonl"\nmetrics = "sgi"\nname = "small"\nbackend = "openvino"\nprecision = "int8"\n'
    )
    result = sgi("run", "run.toml", "--no-cache", "--json")
    assert result.code == 0
    assert "openvino-int8" in result.json["signature"]
    again = sgi("run", rows, "--resume", "last", "--no-cache", "--json")
    assert (again.code, again.json["signature"]) == (0, result.json["signature"])
    other = sgi("run", "--resume", "last", "--precision", "f32", "--no-cache")
    assert other.code == 2


def test_what_runs_here_is_not_azures(sgi):
    result = sgi(*TRIPLE, "--deployment", "mine", "--backend", "onnx")
    assert result.code == 2
    assert "do not apply to --deployment" in result.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--precision", "int8"),
            "int8 is not available with the default backend, which computes in float32",
        ),
        (("--precision", "half"), "Unknown precision 'half'"),
        (("--backend", "openvin"), "Did you mean 'openvino'"),
    ],
)
def test_what_cannot_be_is_one_line(sgi, rows, words, message):
    for verb in (TRIPLE, ("run", rows, "-m", "sgi"), ("score", rows, "-m", "sgi"), ("serve",)):
        result = sgi(*verb, *words)
        assert result.code == 2
        assert message in result.err
        assert "Traceback" not in result.err


def test_an_unsupported_precision_is_an_error_before_the_work(sgi, rows, monkeypatch):
    lacking = Processor("a processor", bf16=False, int8=True)
    monkeypatch.setattr("sgi.models.embedder.openvino.processor", lambda: lacking)
    for verb in (TRIPLE, ("run", rows, "-m", "sgi"), ("score", rows, "-m", "sgi"), ("serve", "--port", "0")):
        result = sgi(*verb, "--backend", "openvino", "--precision", "bf16")
        assert (result.code, result.out) == (2, "")
        assert "This processor (a processor) has no instructions for bf16" in result.err
        assert "Traceback" not in result.err


def test_serve_hands_them_to_its_site(sgi, monkeypatch):
    pytest.importorskip("fastapi")
    able = Processor("a processor", bf16=False, int8=True)
    monkeypatch.setattr("sgi.models.embedder.openvino.processor", lambda: able)
    served = []
    monkeypatch.setattr("sgi.cli.serve._serve", lambda site, *_, **__: served.append(site))
    assert sgi("serve", "--port", "0", *INT8).code == 0
    assert (served[0].backend, served[0].precision) == ("openvino", "int8")


def test_doctor_tells_what_the_processor_does(sgi):
    found = {check["name"]: check for check in sgi("doctor", "--json").json}
    assert found["precision"]["found"].startswith("f32")
    assert found["precision"]["required"] is False
    assert "extra openvino" in found


@pytest.fixture
def profile(monkeypatch):
    """A profile that is known already; listing its models costs no measurement."""
    known = FastProfile(
        model="minilm",
        backend="openvino",
        precision="f32",
        milliseconds={"onnx f32": 30.0, "openvino f32": 20.0},
        rows=100,
        changes=(MetricChange(metric="sgi", largest=0.0123, threshold=0.9, verdicts=2),),
    )
    monkeypatch.setattr("sgi.engine.fast_profile.fast_profile", lambda *_: known)
    return known


@pytest.mark.usefixtures("int8", "profile")
def test_fast_uses_the_profile_and_prints_what_it_changes(sgi, rows):
    result = sgi("run", rows, "-m", "sgi", "--fast", "--no-cache", "--json")
    assert result.code == 0
    assert result.json["signature"].count("openvino-f32") == 1
    assert (
        "Fast: minilm runs on openvino with f32. ms per row: onnx f32 30.0, openvino f32 20.0." in result.err
    )
    assert "the largest change of any metric is 0.012 (sgi), in 100 rows" in result.err
    assert "sgi 0.012 (2 verdicts)" in result.err
    scored = sgi("score", rows, "-m", "sgi", "--fast", "--no-cache")
    assert (scored.code, "Fast: minilm" in scored.err) == (0, True)
    quiet = sgi("score", rows, "-m", "sgi", "--fast", "--no-cache", "-q")
    assert (quiet.code, "Fast" in quiet.err) == (0, False)


@pytest.mark.parametrize("command", [("run",), ("score", "-m", "sgi")])
def test_fast_and_a_precision_exclude_each_other(sgi, rows, command):
    result = sgi(command[0], rows, *command[1:], "--fast", "--precision", "f32")
    assert result.code == 2
    assert "--fast cannot be combined with --precision." in result.err
