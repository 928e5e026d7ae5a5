"""Reads the settings of an embedding model: token limit, pooling, prefix."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from sgi.kernel.errors import ModelCorruptError
from sgi.models.model_files import DEFAULT_LIMIT, read_settings

if TYPE_CHECKING:
    from pathlib import Path

    from sgi.models.known_models import Pooling
    from sgi.models.model_files import ModelFiles
    from sgi.models.model_location import ModelLocation

_SPECIAL_TOKENS = 2
"""The number of special tokens, [CLS] and [SEP]; a token limit must be greater."""

_MAX_PREFIX = 2000
"""The maximum number of characters of a prefix, which is read with each text."""


def embedder_files(location: ModelLocation) -> ModelFiles:
    """Return the ONNX files of an embedding model, with the limit, pooling and prefix of the model.

    These are those of the known model, or the settings in the folder.

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
