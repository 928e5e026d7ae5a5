"""``sgi compute``: what it prints, and which model it shares with ``sgi run``."""

from __future__ import annotations

import json

import pytest

from support.embedding_server import EmbeddingServer

TRIPLE = ("--q", "Who wrote Emma?", "--c", "Emma is a novel by Jane Austen.", "--r", "Jane Austen wrote it.")
LONG = ("--q", "Who wrote Emma?", "--c", "Emma is a novel. " * 200, "--r", "Jane Austen.")
RUN = ("run", "rows.jsonl", "-m", "theta_rq", "--no-store", "--no-cache")
pytestmark = pytest.mark.usefixtures("no_remote_settings")


@pytest.fixture
def rows(sgi, tmp_path):
    row = {"question": "Who wrote Emma?", "response": "Jane Austen wrote it."}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row))


def test_a_truncated_text_is_noted_with_its_tokens(sgi):
    result = sgi("compute", *LONG, "--long-texts", "truncate")
    assert result.out.startswith("SGI=")
    assert "the context has 1,002 tokens; the model reads 256" in result.err


def test_a_truncated_text_is_a_field_of_the_json(sgi):
    result = sgi("compute", *LONG, "--json", "--long-texts", "truncate")
    assert result.json["truncated"] == {"context": {"tokens": 1002, "limit": 256}}
    whole = sgi("compute", *LONG, "--json")
    assert "truncated" not in whole.json
    assert whole.json["sgi"] != result.json["sgi"]


def test_the_help_names_the_default_embedder(sgi, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    assert "Default: Azure OpenAI if its variables are set, otherwise the bundled" in sgi("compute", "-h").out


def test_a_copy_of_the_context_is_noted(sgi):
    copy = sgi("compute", "--q", "Who wrote Emma?", "--c", "Jane Austen.", "--r", "Jane Austen.")
    assert "the response copies the context" in copy.err
    assert "copies" not in sgi("compute", *TRIPLE).err


def test_texts_with_equal_beginnings_that_are_truncated_are_no_copy(sgi):
    long = "Emma is a novel. " * 200
    words = ("compute", "--q", "Who?", "--c", f"{long}By Austen.", "--r", f"{long}By Dickens.", "--json")
    result = sgi(*words, "--long-texts", "truncate")
    assert set(result.json["truncated"]) == {"context", "response"}
    assert result.json["note"].startswith(
        "the parts of the response and the context that the model reads are"
    )
    assert "copies" not in result.err
    assert "note" not in sgi(*words).json


def test_score_notes_truncated_rows(sgi, tmp_path):
    row = {"question": "Who?", "context": "Emma is a novel. " * 200, "response": "Austen."}
    (tmp_path / "long.jsonl").write_text(json.dumps(row))
    words = ("score", "long.jsonl", "-m", "sgi(sentences=false)", "--no-cache")
    assert "contexts: truncated in 1 of 1 row" in sgi(*words, "--long-texts", "truncate").err
    assert "contexts: read in windows in 1 of 1 row" in sgi(*words).err


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize("words", [("compute", *TRIPLE), RUN, ("score", *RUN[1:4], "--no-cache")])
@pytest.mark.parametrize(
    ("present", "missing"),
    [
        (["AZURE_OPENAI_API_KEY"], ["AZURE_OPENAI_ENDPOINT"]),
        (["AZURE_OPENAI_ENDPOINT"], ["AZURE_OPENAI_API_KEY"]),
        (["AZURE_OPENAI_DEPLOYMENT_NAME"], ["AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT"]),
        (["AZURE_OPENAI_API_VERSION"], ["AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT"]),
    ],
)
def test_some_of_azures_variables_are_refused_and_the_missing_ones_named(
    sgi, monkeypatch, words, present, missing
):
    for name in present:
        monkeypatch.setenv(name, "a-value")
    result = sgi(*words)
    assert result.code == 2
    assert all(name in result.err for name in (*present, *missing))
    assert "or name minilm" in result.err
    assert sgi(*words, "-e", "minilm").code == 0


@pytest.mark.usefixtures("rows")
def test_metrics_that_embed_nothing_need_no_embedder(sgi, monkeypatch, tmp_path):
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "a-value")
    (tmp_path / "pair.jsonl").write_text('{"response": "a", "reference": "a"}')
    assert sgi("run", "pair.jsonl", "-m", "bleu", "--no-store").code == 0


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize("words", [("compute", *TRIPLE), RUN])
def test_one_shell_has_one_model(sgi, monkeypatch, words):
    """With Azure's variables every command asks Azure; -e keeps the texts here."""
    with EmbeddingServer() as server:
        monkeypatch.setenv("AZURE_OPENAI_API_KEY", "a-key")
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", server.url)
        monkeypatch.setenv("AZURE_OPENAI_DEPLOYMENT_NAME", "mine")
        result = sgi(*words)
        assert result.code == 0, result.err
        assert "texts are sent to azure:mine at 127.0.0.1:" in result.err
        assert "/openai/deployments/mine/" in server.requests[0].path
        asked = len(server.requests)
        assert sgi(*words, "-e", "minilm").code == 0
        assert len(server.requests) == asked


@pytest.mark.usefixtures("rows")
def test_a_run_keeps_the_model_that_the_environment_chose(sgi, monkeypatch):
    with EmbeddingServer() as server:
        monkeypatch.setenv("AZURE_OPENAI_API_KEY", "a-key")
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", server.url)
        words = [word for word in RUN if word != "--no-store"]
        run = sgi(*words, "--db", "runs.db", "--json").json["run"]
        output = sgi("show", run, "--db", "runs.db").out
    assert "azure:text-embedding-3-small@" in output
