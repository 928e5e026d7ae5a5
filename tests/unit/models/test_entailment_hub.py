"""A model on a hub that answers, says that it has no such file, or does not answer at all."""

import hashlib
import json
import shutil
import sys

import pytest

from sgi.kernel.errors import MissingExtraError, ModelMissingError, UsageError
from sgi.models.entailment.load_entailment import load_entailment_model
from support.entailment_models import counting_model
from support.loopback import Handler, LoopbackServer

PAIR = [("the tower is tall", "the tower is tall")]
COMMIT = "0" * 40
ADDRESS = "{repo_id}/resolve/{revision}/{filename}"


class _Files(Handler):
    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        hub = self.server.owner
        name = self.path.partition("/main/")[2] or self.path.partition(f"/{COMMIT}/")[2]
        hub.requests.append(name)
        if name in hub.silent:
            self.close_connection = True
            return
        path = hub.folder / name
        body = path.read_bytes() if path.is_file() else b""
        self.send_response(200 if path.is_file() else 404)
        if not path.is_file():
            self.send_header("X-Error-Code", "EntryNotFound")
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", f'"{hashlib.sha256(body).hexdigest()}"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)


class Hub(LoopbackServer):
    """The files of one model; it hangs up on who asks for the silent ones."""

    def __init__(self, folder):
        super().__init__(_Files)
        self.folder = folder
        self.silent = set()
        self.requests = []


@pytest.fixture
def hub(monkeypatch, tmp_path):
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setenv("SGI_MODELS_DIR", str(tmp_path / "kept"))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    with Hub(counting_model(tmp_path / "a-model")) as server:
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "ENDPOINT", server.url)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", f"{server.url}/{ADDRESS}")
        yield server


def test_what_a_model_does_without_is_remembered_where_there_is_no_network(hub, monkeypatch):
    first = load_entailment_model("owner/model")
    assert first.entail(PAIR).entailment[0] > 0.9
    assert "tokenizer_config.json" in hub.requests
    hub.requests.clear()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert load_entailment_model("owner/model").fingerprint == first.fingerprint
    assert hub.requests == []


@pytest.mark.parametrize(
    "silent", ["tokenizer_config.json", "sentence_bert_config.json", "onnx/model.onnx_data"]
)
def test_a_connection_that_drops_is_no_model_without_that_file(hub, silent):
    hub.silent.add(silent)
    with pytest.raises(ModelMissingError, match=f"owner/model.*{silent}"):
        load_entailment_model("owner/model")
    assert silent in hub.requests
    hub.silent.clear()
    assert load_entailment_model("owner/model").entail(PAIR).entailment[0] > 0.9


def test_a_score_that_is_no_probability_is_refused_whether_the_hub_answers_or_not(hub):
    labels = {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}
    (hub.folder / "config.json").write_text(json.dumps({"model_type": "bert"} | labels))
    identity = {"activation_fn": "torch.nn.modules.linear.Identity"}
    (hub.folder / "config_sentence_transformers.json").write_text(json.dumps(identity))
    hub.silent.add("config_sentence_transformers.json")
    with pytest.raises(ModelMissingError, match="config_sentence_transformers"):
        load_entailment_model("owner/model")
    hub.silent.clear()
    with pytest.raises(UsageError, match=r"owner/model.*regression"):
        load_entailment_model("owner/model")


def test_torch_takes_over_only_where_there_is_no_graph(hub, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    hub.silent.add("onnx/model.onnx")
    with pytest.raises(ModelMissingError, match=r"owner/model.*onnx/model\.onnx"):
        load_entailment_model("owner/model")
    hub.silent.clear()
    shutil.rmtree(hub.folder / "onnx")
    with pytest.raises(MissingExtraError, match=r"\[torch\]"):
        load_entailment_model("owner/model").entail(PAIR)
