"""Which runtimes and precisions are candidates for the fastest one, and which is chosen."""

import pytest

from sgi.kernel.errors import UsageError
from sgi.models.embedder import fastest
from sgi.models.embedder.fastest import Candidate, choose, find_candidates, time_candidates

ONNX, BF16, INT8 = Candidate("onnx", "f32"), Candidate("openvino", "bf16"), Candidate("openvino", "int8")


@pytest.mark.parametrize(
    ("seconds", "chosen"),
    [
        ({ONNX: 1.0}, ONNX),
        ({ONNX: 1.0, INT8: 0.91}, ONNX),
        ({ONNX: 1.0, INT8: 0.9}, INT8),
        ({ONNX: 1.0, BF16: 0.7, INT8: 0.65}, BF16),
        ({ONNX: 1.0, BF16: 0.7, INT8: 0.4}, INT8),
        ({ONNX: 1.0, BF16: 1.2, INT8: 1.1}, ONNX),
    ],
)
def test_a_less_precise_arithmetic_must_save_a_tenth_of_the_time(seconds, chosen):
    assert choose(seconds) == chosen


def test_each_candidate_that_opens_embeds_each_row_once_per_round():
    calls = []

    class Embedder:
        def __init__(self, name):
            self.name = name

        def network(self):
            if self.name == "bf16":
                raise UsageError("This model has no such precision.")

        def encode(self, texts):
            calls.append((self.name, tuple(texts)))

    candidates = {ONNX: Embedder("onnx"), BF16: Embedder("bf16"), INT8: Embedder("int8")}
    seconds = time_candidates(candidates, [["a", "b"], ["c"]])
    assert seconds.keys() == {ONNX, INT8}
    rounds = fastest._ROUNDS + 1
    assert calls == [("onnx", ("a", "b")), ("onnx", ("c",)), ("int8", ("a", "b")), ("int8", ("c",))] * rounds


def test_the_most_precise_candidate_is_first_and_a_named_backend_is_the_only_one():
    found = find_candidates("minilm")
    assert next(iter(found)) == ONNX
    assert all(embedder.fingerprint.startswith("minilm@") for embedder in found.values())
    assert list(find_candidates("minilm", "onnx")) == [ONNX]


def test_without_openvino_only_onnx_runtime_is_a_candidate(monkeypatch):
    monkeypatch.setattr(fastest, "find_spec", lambda _: None)
    assert list(find_candidates("minilm")) == [ONNX]


def test_a_remote_model_has_no_candidates(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-that-is-not-used")
    assert find_candidates("openai:text-embedding-3-small") == {}
