"""The examples printed in the documents the project began with run as printed."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import sgi
from sgi.core import sgi as core
from support.command import sgi as command
from support.embedding_server import EmbeddingServer

ROOT = Path(__file__).parents[2]

PRINTED_000 = """
from sgi.core import sgi
from sgi.openai_embedder import AzureOpenAIEmbedder

embedder = AzureOpenAIEmbedder()
result = sgi(
    q="What is machine learning?",
    c="Machine learning is a subset of AI...",
    r="Machine learning is a method of data analysis...",
    embedder=embedder
)

print(f"SGI: {result['sgi']}")
print(f"θ(r,q): {result['theta_rq']}")
print(f"θ(r,c): {result['theta_rc']}")
"""

PRINTED_001 = """
from sgi import compute_sgi, load_halueval_qa
from sentence_transformers import SentenceTransformer

# Load data
cases = load_halueval_qa(max_samples=100)

# Initialize encoder
encoder = SentenceTransformer('all-mpnet-base-v2')

# Compute SGI
for case in cases:
    q_emb = encoder.encode(case.question)
    c_emb = encoder.encode(case.context)
    r_emb = encoder.encode(case.response)

    result = compute_sgi(q_emb, c_emb, r_emb)
    print(f"SGI: {result.sgi:.3f}, Grounded: {case.is_grounded}")
"""

ENCODER = """
import sgi
class SentenceTransformer:
    def __init__(self, name):
        assert name == "all-mpnet-base-v2"
        self.embedder = sgi.load_embedder("minilm")
    def encode(self, text):
        return 2.5 * self.embedder.embed([text])[0]
"""

TRIPLE = (
    *("--q", "What is machine learning?", "--c", "Machine learning is a subset of AI...", "--r"),
    "Machine learning is a method of data analysis...",
)


def python(*words, cwd, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("AZURE_OPENAI")} | variables
    command = [sys.executable, *words]
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
    )


@pytest.fixture
def azure():
    with EmbeddingServer() as server:
        yield server


def variables(server):
    return {"AZURE_OPENAI_API_KEY": "a-key", "AZURE_OPENAI_ENDPOINT": server.url, "PYTHONIOENCODING": "utf-8"}


def test_document_000_python_example(azure, tmp_path):
    result = python("-c", PRINTED_000, cwd=tmp_path, **variables(azure))
    assert result.returncode == 0, result.stderr
    assert re.fullmatch(r"SGI: [\d.]+\nθ\(r,q\): [\d.]+\nθ\(r,c\): [\d.]+\n", result.stdout)


def test_document_000_reads_a_dotenv_file(azure, tmp_path):
    lines = [f"{name}={value}" for name, value in variables(azure).items()]
    (tmp_path / ".env").write_text("\n".join(lines))
    result = python("-c", PRINTED_000, cwd=tmp_path, PYTHONIOENCODING="utf-8")
    assert result.returncode == 0, result.stderr
    result = command(tmp_path, "compute", *TRIPLE)
    assert result.code == 0, result.err
    assert len(azure.requests) == 2


def test_document_000_command_line(azure, tmp_path):
    """With Azure's variables its service embeds, without them the embedded model."""
    result = python("-m", "sgi.cli", "compute", *TRIPLE, cwd=tmp_path)
    assert re.fullmatch(r"SGI=\d+\.\d{6}  theta_rq=\d+\.\d{6}  theta_rc=\d+\.\d{6}\n", result.stdout)
    assert not azure.requests
    result = command(tmp_path, "compute", *TRIPLE, "--json", **variables(azure))
    assert list(result.json) == ["theta_rq", "theta_rc", "sgi"]
    assert len(azure.requests) == 1


def test_document_000_deployment(azure, tmp_path):
    words = ("compute", *TRIPLE, "--deployment", "your-deployment-name")
    result = command(tmp_path, *words, **variables(azure))
    assert result.code == 0, result.err
    assert "/openai/deployments/your-deployment-name/embeddings" in azure.requests[0].path


NO_NETWORK = """
import socket
def refuse(*_, **__):
    raise AssertionError("a socket was opened")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
"""


def test_document_001_quick_start_needs_no_network_on_a_base_install(tmp_path):
    """Without data of one's own: the bundled items, and nothing on stderr."""
    script = NO_NETWORK + PRINTED_001.replace(
        "from sentence_transformers import SentenceTransformer", ENCODER
    )
    result = python("-c", script, cwd=tmp_path, SGI_DATA_DIR="", HF_HUB_OFFLINE="")
    assert result.returncode == 0, result.stderr
    assert len(result.stdout.splitlines()) == 100
    assert result.stderr == ""


def test_document_000_environment_template(tmp_path):
    """A copy names every variable; with its blanks unfilled the embedded model is used."""
    template = (ROOT / ".env.example").read_text(encoding="utf-8")
    printed = ["API_KEY", "ENDPOINT", "DEPLOYMENT_NAME", "API_VERSION"]
    assert re.findall(r"AZURE_OPENAI_(\w+)=", template) == printed
    (tmp_path / ".env").write_text(template, encoding="utf-8")
    result = command(tmp_path, "compute", *TRIPLE)
    assert (result.code, result.err) == (0, "")


def test_document_000_requirements_are_the_package_with_the_azure_client():
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    (requirement,) = [line for line in lines if not line.startswith("#")]
    assert requirement == ".[openai]"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert any(entry.startswith("openai") for entry in project["optional-dependencies"]["openai"])


def test_document_000_dummy_embedder_is_deterministic(tmp_path):
    script = (
        "import sgi; from sgi.core import sgi as core; "
        "print(core('q', 'c', 'r', embedder=sgi.testing.DummyEmbedder())['sgi'])"
    )
    other_process = python("-c", script, cwd=tmp_path)
    assert float(other_process.stdout) == core("q", "c", "r", embedder=sgi.testing.DummyEmbedder())["sgi"]


def test_document_003_cosine_similarity():
    assert sgi.cosine_similarity(vec1=[1.0, 2.0, 3.0], vec2=[2.0, 4.0, 6.0]) == pytest.approx(1.0)
    assert sgi.cosine_similarity([1.0, 0.0], [-1.0, 0.0]) == 0.0
    for vec2 in ([1.0], [], [0.0, 0.0], [float("nan"), 1.0]):
        with pytest.raises(ValueError):  # noqa: PT011 - each has words of its own
            sgi.cosine_similarity([1.0, 2.0], vec2)
