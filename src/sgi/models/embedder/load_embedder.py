"""Opens an embedder by name, with the settings of its model: token limit, pooling, prefix."""

from __future__ import annotations

import difflib
import json
from dataclasses import replace
from typing import TYPE_CHECKING

from sgi.kernel.errors import ModelCorruptError, UnknownNameError
from sgi.kernel.short_text import TORCH
from sgi.models.embedder.long_texts import LONG_TEXTS, LongTexts
from sgi.models.embedder.onnx_embedder import OnnxEmbedder
from sgi.models.embedder.torch_embedder import TorchEmbedder
from sgi.models.known_models import DEFAULT_MODEL
from sgi.models.model_files import DEFAULT_LIMIT, read_settings
from sgi.models.model_location import find_model, require_threads

if TYPE_CHECKING:
    from pathlib import Path

    from sgi.kernel.protocols import Embedder
    from sgi.models.known_models import Pooling
    from sgi.models.model_files import ModelFiles
    from sgi.models.model_location import ModelLocation


def load_embedder(
    name: str | Path = DEFAULT_MODEL,
    *,
    long_texts: LongTexts = LONG_TEXTS[0],
    threads: int | None = None,
) -> Embedder:
    """Open an embedder by name; weights are loaded at first use.

    ONNX Runtime runs a model that has an ONNX graph, in float32; torch (extra ``torch``) runs the others.

    Args:
        name: a known model, which is looked for in the user's folder of models (``SGI_MODELS_DIR``) and then
            on the Hugging Face hub; a folder; ``torch:`` and a folder or a repository on the hub;
            ``openai:MODEL``; ``openai:MODEL@http://host:port/v1``; or ``azure:DEPLOYMENT``.
        long_texts: ``windows`` reads a text that exceeds the token limit in the fewest windows that cover it,
            and averages their vectors; ``truncate`` reads its beginning. Remote models ignore it.
        threads: number of batches computed in parallel; None means all cores that this process may use.

    Raises:
        UnknownNameError: the model or the value of ``long_texts`` does not exist.
        UsageError: a setting is missing.
        ModelMissingError: the files are not on this machine and cannot be downloaded.
        ModelCorruptError: the settings in a folder do not fit the model.
        MissingExtraError: an optional dependency is not installed.

    >>> load_embedder("minilm").fingerprint.partition("-")[0]
    'minilm@8199be6f'
    """
    if long_texts not in LONG_TEXTS:
        near, known = difflib.get_close_matches(long_texts, LONG_TEXTS), ", ".join(LONG_TEXTS)
        raise UnknownNameError("way to read long texts", long_texts, tuple(near), hint=f"There are: {known}.")
    require_threads(threads)
    if isinstance(name, str) and name.startswith(("openai:", "azure:")):
        from sgi.models.embedder.remote import open_remote

        return open_remote(name)
    if isinstance(name, str) and name.startswith(TORCH):
        return TorchEmbedder(name.removeprefix(TORCH), long_texts=long_texts)
    location = find_model(name)
    if location.needs_torch:
        require_prefix(location)
        return TorchEmbedder(location.torch_source, long_texts=long_texts)
    return OnnxEmbedder(embedder_files(location), threads=threads, long_texts=long_texts)


_SPECIAL_TOKENS = 2
"""The number of special tokens, [CLS] and [SEP]; a token limit must be greater."""

_MAX_PREFIX = 2000
"""The maximum number of characters of a prefix, which is read with each text."""


def embedder_files(location: ModelLocation) -> ModelFiles:
    """Return the ONNX files of an embedding model, with the limit, pooling and prefix of the model.

    Limit, pooling and prefix come from the table of known models, or from the settings in the folder.

    Raises:
        ModelMissingError: the ONNX graph or the tokenizer is missing.
        ModelCorruptError: the settings cannot be read, or the pooling is not supported.
    """
    files, folder = location.onnx_files(), location.folder
    if location.record is not None or folder is None:
        return files
    limit = read_settings(folder / "sentence_bert_config.json").get("max_seq_length")
    prompt_file = folder / "config_sentence_transformers.json"
    prompts = read_settings(prompt_file).get("prompts")
    prefix = str(prompts.get("query", "")) if isinstance(prompts, dict) else ""
    if len(prefix) > _MAX_PREFIX:
        raise ModelCorruptError(f"{prompt_file}: the prompt has more than {_MAX_PREFIX:,} characters.")
    return replace(
        files,
        limit=limit if isinstance(limit, int) and limit > _SPECIAL_TOKENS else DEFAULT_LIMIT,
        pooling=_pooling(folder / "1_Pooling" / "config.json"),
        prefix=prefix,
    )


def require_prefix(location: ModelLocation) -> None:
    """Raise a ModelCorruptError unless sentence-transformers adds a known model's prefix to every text.

    It reads the prefix from the settings in the folder.
    """
    record, folder = location.record, location.folder
    if record is None or folder is None:
        return
    settings = read_settings(folder / "config_sentence_transformers.json")
    prompts = settings.get("prompts")
    prompt = prompts.get(settings.get("default_prompt_name"), "") if isinstance(prompts, dict) else ""
    if record.prefix != str(prompt):
        correct = json.dumps({"prompts": {"all": record.prefix}, "default_prompt_name": "all"})
        raise ModelCorruptError(
            f"{record.name} requires {record.prefix!r} before every text, but the settings in {folder} "
            "do not say so.",
            hint=f"Write this to config_sentence_transformers.json there: {correct}.",
        )


def _pooling(path: Path) -> Pooling:
    modes = {name for name, value in read_settings(path).items() if name.startswith("pooling_mode") and value}
    if modes <= {"pooling_mode_mean_tokens"}:
        return "mean"
    if modes == {"pooling_mode_cls_token"}:
        return "cls"
    hint = "Only mean and cls are supported. Torch supports every pooling: name the model torch:FOLDER."
    raise ModelCorruptError(f"{path} requires the pooling {', '.join(sorted(modes))}.", hint=hint)
