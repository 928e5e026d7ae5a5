"""`--nli`: an entailment model beside the other signals of `grounding`, in every verb that scores."""

from __future__ import annotations

import json

import pytest

from sgi.cli.option_values import metric_list
from sgi.cli.options import complete_entailment
from sgi.engine.named_metrics import with_entailment
from sgi.kernel.entailment_profile import entailment_profiles
from sgi.kernel.errors import UsageError
from sgi.metrics.grounding.detector import Grounding
from support.entailment_models import counting_model

PREMISES = ["the tower in paris is tall and old", "rome is old", "the tower is in rome", "it rains"]
RESPONSES = [
    "The tower is tall. It is not in Rome.",
    "The tower is old.",
    "The passages do not say what it is.",
    "The tower is in Paris. The passages do not say how old it is. It is tall and old.",
]
ROWS = [
    {"id": str(place), "question": "what is it", "contexts": PREMISES, "response": response}
    for place, response in enumerate(RESPONSES)
]


@pytest.fixture
def model(tmp_path):
    return counting_model(tmp_path / "my models" / 'an "nli", it\'s (x)')


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


@pytest.fixture
def no_models(monkeypatch, tmp_path):
    """An empty folder of models, and an empty cache of the hub."""
    monkeypatch.setenv("SGI_MODELS_DIR", str(tmp_path / "models"))
    hub = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(hub, "HF_HUB_CACHE", str(tmp_path / "hub"))


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def test_a_run_resumes_only_with_its_entailment_model(sgi, data, model, tmp_path):
    result = sgi(
        "run", data, "-m", "grounding,sgi", "--nli", model.relative_to(tmp_path), "-q", "-o", "out.jsonl"
    )
    assert result.code == 0
    scored = lines((tmp_path / "out.jsonl").read_text())
    name = Grounding(nli=str(model)).canonical
    assert set(scored[0]["scores"]) == {name, "sgi"}
    again = sgi("run", "--resume", "last", "--nli", model, "-q", "--json")
    assert again.code == 0
    assert name in again.out or json.dumps(name)[1:-1] in again.out
    other = sgi("run", "--resume", "last", "--nli", "owner/other", "-q")
    assert (other.code, "already has an entailment model" in other.err) == (2, True)


def test_a_run_does_not_go_on_with_a_model_that_changed(sgi, data, model):
    assert sgi("run", data, "-m", "grounding", "--nli", model, "-q").code == 0
    written = (model / "onnx" / "model.onnx").stat().st_size
    other = counting_model(model.parent / "other", steep=2.0)
    (model / "onnx" / "model.onnx").write_bytes((other / "onnx" / "model.onnx").read_bytes())
    assert (model / "onnx" / "model.onnx").stat().st_size == written
    changed = sgi("run", data, "--resume", "last", "-q")
    assert changed.code == 2
    assert "what computes its scores (model of grounding" in changed.err


def test_a_spec_names_the_model_as_a_parameter_or_leaves_it_to_the_option(sgi, data, model, tmp_path):
    name = Grounding(nli=str(model)).canonical
    with_parameter = tmp_path / "with_parameter.toml"
    with_parameter.write_text(f"data = 'rows.jsonl'\nmetrics = [{json.dumps(name)}]\n")
    plain = tmp_path / "plain.toml"
    plain.write_text("data = 'rows.jsonl'\nmetrics = 'grounding'\n")
    first = sgi("run", with_parameter, "-q", "--json", "--no-store").json
    assert sgi("run", plain, "--nli", model, "-q", "--json", "--no-store").json == first
    assert json.dumps(name) in json.dumps(first)


def test_score_and_check_ask_it_too(sgi, data, model):
    result = sgi("score", data, "-m", "grounding", "--nli", model)
    assert result.code == 0
    (name,) = {next(iter(row["scores"])) for row in lines(result.out)}
    assert name == Grounding(nli=str(model)).canonical
    words = [word for premise in PREMISES for word in ("--c", premise)]
    checked = sgi("check", *words, "--r", RESPONSES[0], "--q", "what is it", "--nli", model, "--json")
    assert checked.code == 0
    assert checked.json["grounding"] == lines(result.out)[0]["scores"][name]["value"]
    assert checked.json["sentences"][0]["entailment"] > 0.9
    assert sgi("check", *words, "--r", RESPONSES[0], "--nli", model).code == 0


def test_every_grounding_that_names_none_is_given_the_model():
    own = 'grounding(nli="own/model")'
    assert with_entailment(["sgi", "grounding", own], "a/b") == ["sgi", 'grounding(nli="a/b")', own]
    assert with_entailment([own], "own/model") == [own]
    assert with_entailment(["grounding"], None) == ["grounding"]
    with pytest.raises(UsageError):
        with_entailment([own], "a/b")


def test_a_name_that_is_printed_can_be_typed_again(sgi, data, model):
    name = Grounding(nli=str(model)).canonical
    assert metric_list([f"sgi,{name},theta_rc"]) == ["sgi", name, "theta_rc"]
    assert metric_list([r'grounding(nli="a\\"),sgi']) == [r'grounding(nli="a\\")', "sgi"]
    result = sgi("score", data, "-m", f"{name},theta_rc")
    assert set(lines(result.out)[0]["scores"]) == {name, "theta_rc"}


@pytest.mark.parametrize("form", ["{}", "torch:{}", "{}(labels=entailment,neutral)", "torch:{}(labels=x,y)"])
def test_a_folder_is_named_by_its_whole_path(tmp_path, monkeypatch, form):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path)
    named = Grounding(nli=form.format(tmp_path / "here")).canonical
    assert with_entailment(["grounding"], form.format("here")) == [named]
    assert with_entailment(["grounding"], form.format("owner/here")) == [
        Grounding(nli=form.format("owner/here")).canonical
    ]


@pytest.mark.parametrize("name", ["~no-such-user/x", "x" * 300, "torch:~no-such-user/x"])
def test_a_name_that_can_be_no_folder_stays_as_it_is(sgi, data, name):
    assert with_entailment(["grounding"], name) == [Grounding(nli=name).canonical]
    result = sgi("run", data, "-m", "grounding", "--nli", name, "-q")
    assert result.code in {2, 3}, result.err
    assert "Traceback" not in result.err


def test_calibrate_learns_from_runs_with_the_model_and_applies_to_such_alone(sgi, data, model, tmp_path):
    words = ["tower", "paris", "rome", "tall", "old"]
    rows = [
        {
            "id": str(number),
            "question": f"what about {number % 100}",
            "contexts": ["the tower in paris is tall and old"],
            "response": f"The tower is {words[number % 5]} and {words[(number + number // 5) % 5]}.",
            "label": number % 3 != 0,
        }
        for number in range(200)
    ]
    path = tmp_path / "labelled.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = sgi("run", path, "-m", "grounding", "--nli", model, "-q")
    assert result.code == 0, result.err
    name = Grounding(nli=str(model)).canonical
    fitted = sgi("judge", "calibrate", "last", "-m", name, "--error-rate", "fpr=0.2", "-o", "fitted.json")
    assert fitted.code == 0, fitted.err
    applied = sgi("run", data, "--calibration", "fitted.json", "-m", "theta_rc", "-q", "--json")
    assert (applied.code, "calibrated(" in applied.out) == (0, True), applied.err
    other = counting_model(model.parent / "other", steep=2.0)
    (model / "onnx" / "model.onnx").write_bytes((other / "onnx" / "model.onnx").read_bytes())
    stranger = sgi("run", data, "--calibration", "fitted.json", "-m", "theta_rc", "-q")
    assert (stranger.code, "entailment:" in stranger.err) == (2, True), stranger.err


def test_a_band_is_shown_in_name_and_summary(sgi, data, model):
    result = sgi("run", data, "-m", "grounding", "--nli", model, "--nli-band", "0.3:0.9")
    assert result.code == 0, result.err
    name = Grounding(nli=str(model), nli_band="0.3:0.9").canonical
    assert "Entailment model: " in result.err
    assert "rows across 0.5" in result.err
    shown = sgi("run", "--resume", "last", "--nli", model, "--nli-band", "0.3:0.9", "--json", "-q").json
    (use,) = shown["entailment"]
    assert use["pairs"] > 0
    assert use["sentences_read"] < use["sentences"]
    scored = sgi("score", data, "-m", "grounding", "--nli", model, "--nli-band", "0.3:0.9")
    assert set(lines(scored.out)[0]["scores"]) == {name}


def test_a_profile_file_is_named_by_its_whole_path(sgi, data, model, tmp_path):
    (tmp_path / "mine.toml").write_text(f"model = {json.dumps(str(model))}\nweight = 0\n")
    result = sgi("score", data, "-m", "grounding", "--nli", "mine.toml")
    assert result.code == 0, result.err
    plain = sgi("score", data, "-m", "grounding")
    (name,) = lines(result.out)[0]["scores"]
    assert name == Grounding(nli=str(tmp_path / "mine.toml")).canonical
    values = [[cell["value"] for cell in row["scores"].values()] for row in lines(result.out)]
    assert values == [[cell["value"] for cell in row["scores"].values()] for row in lines(plain.out)]


def test_names_of_profiles_are_completed():
    assert complete_entailment("nli-deberta-v3-s") == ["nli-deberta-v3-small"]
    assert complete_entailment("x") == []


def test_profiles_are_listed_with_size_licence_and_source(sgi):
    listed = sgi("study", "models", "entailment")
    assert listed.code == 0
    for profile in entailment_profiles().values():
        (line,) = (line for line in listed.out.splitlines() if line.startswith(f"{profile.name} "))
        assert profile.model in line
        assert (profile.licence or "?") in line
        assert (f"{profile.megabytes:,} MB" if profile.megabytes else "?") in line
    facts = {one["name"]: one for one in sgi("study", "models", "entailment", "--json").json}
    assert facts.keys() == entailment_profiles().keys()
    assert "T5" in facts["hhem-2.1-open"]["needs"]


def test_doctor_measures_a_model(sgi, model):
    cost = sgi("doctor", "--nli", model, "--json").json
    assert cost["fingerprint"].startswith("entailment:")
    assert cost["outputs"] == "softmax of 3 outputs: entailment is output 1, contradiction is output 0"
    assert (cost["pairs"], cost["pairs_per_row"], cost["profile"]) == (11, 1.0, "")
    assert cost["rows_per_second"] == pytest.approx(1000 / cost["milliseconds"])
    shown = sgi("doctor", "--nli", model)
    assert shown.code == 0
    assert "ms (median of 11)" in shown.out


def test_doctor_says_what_is_wrong_with_a_model(sgi, tmp_path, no_models):
    named = counting_model(tmp_path / "named", labels=("a", "b", "c"))
    broken = counting_model(tmp_path / "broken", steep=float("nan"))
    for words, said in (
        ((named,), "unknown which output means entailment"),
        ((broken,), "returned a non-finite value"),
        (("deberta-xsmall",), "is not on this machine"),
        (("minicheck-t5",), "in your folder of models"),
        (("./nowhere",), "does not exist"),
    ):
        result = sgi("doctor", "--nli", *words)
        assert (result.code, said in result.err) == (2, True), result.err


def test_doctor_never_contacts_the_hub(sgi, no_models, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    asked = []
    monkeypatch.setattr("socket.socket.connect", lambda *words: asked.append(words))
    result = sgi("doctor", "--nli", "owner/model")
    assert "is not on this machine" in result.err
    assert asked == []


def test_fetch_opens_the_model_of_a_profile(sgi, tmp_path, no_models):
    missing = sgi("study", "models", "fetch", "deberta-small")
    assert (missing.code, "is not on this machine" in missing.err) == (2, True)
    labels = ("contradiction", "entailment", "neutral")
    counting_model(tmp_path / "models" / "cross-encoder" / "nli-deberta-v3-small", labels=labels)
    fetched = sgi("study", "models", "fetch", "deberta-small")
    assert (fetched.code, fetched.out) == (0, "Downloaded the files of deberta-small.\n")
    cost = sgi("doctor", "--nli", "deberta-small", "--json").json
    assert (cost["profile"], cost["fingerprint"][-8:]) == ("nli-deberta-v3-small", ",w0.5-p3")
