"""Where an entailment model's files lie, and what its settings say."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgi.kernel.errors import MissingExtraError, ModelMissingError, UnknownNameError, UsageError
from sgi.models.files import folder_files, has_graph, models_folder, settings
from sgi.models.known_models import HUB_GRAPH, HUB_TOKENIZER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sgi.models.files import ModelFiles

_HOW_TO_NAME = "Name a folder, torch:FOLDER, or a model of the hub, owner/model."
_HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*", re.ASCII)
_CONFIGURATION = "config.json"
_SETTINGS = ("tokenizer_config.json", "sentence_bert_config.json", "config_sentence_transformers.json")
"""What else may tell of a model."""
_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
_LIMIT_UNTOLD = 512
_NO_LIMIT = 1 << 20
"""Tokenizers that know no limit tell a number beyond all bounds."""
_LEAST_LIMIT = 2
_COUNT_FROM_PADDING = frozenset(
    {"camembert", "data2vec-text", "longformer", "mpnet", "roberta", "roberta-prelayernorm"}
    | {"xlm-roberta", "xlm-roberta-xl", "xmod"}
)
"""Models that number places from the padding token's on, so that the first of their places stay empty."""
_EXPORT = "Export it to ONNX with a head that gives logits for a pair of texts, and name that folder."


@dataclass(frozen=True)
class EntailmentFiles:
    """An entailment model on this machine; its weights may be on the hub still.

    Attributes:
        name: what it is called.
        folder: holds its settings.
        hub: its name on the hub, where the other files come from; empty for one that is here.
    """

    name: str
    folder: Path
    hub: str = ""

    @cached_property
    def configuration(self) -> dict[str, Any]:
        """What ``config.json`` says, and sentence-transformers of its activation.

        Raises:
            ModelMissingError: there is no such file.
            ModelCorruptError: it cannot be read.
        """
        path = self.folder / _CONFIGURATION
        if not path.exists():
            message = f"{self.folder} has no {_CONFIGURATION}, which says what a classifier's outputs mean."
            raise ModelMissingError(
                message, hint="Name the folder of an entailment model, laid out as on the hub."
            )
        more = settings(self.folder / "config_sentence_transformers.json")
        return {**{key: more[key] for key in ("activation_fn",) if key in more}, **settings(path)}

    @property
    def limit(self) -> int:
        """The most tokens it reads at once: the least that its settings tell, or 512."""
        return min(self._limits, default=_LIMIT_UNTOLD)

    @property
    def _limits(self) -> Iterator[int]:
        asked = self.configuration
        places = asked.get("max_position_embeddings")
        if isinstance(places, int) and asked.get("model_type") in _COUNT_FROM_PADDING:
            padding = asked.get("pad_token_id", 1)
            places -= (padding if isinstance(padding, int) else 1) + 1
        for told in (
            settings(self.folder / "sentence_bert_config.json").get("max_seq_length"),
            settings(self.folder / "tokenizer_config.json").get("model_max_length"),
            places,
        ):
            if isinstance(told, int) and _LEAST_LIMIT < told < _NO_LIMIT:
                yield told

    @property
    def typed(self) -> bool:
        """Whether types tell premise from hypothesis: not if the tokenizer lists its inputs without them."""
        told = settings(self.folder / "tokenizer_config.json").get("model_input_names")
        return "token_type_ids" in told if isinstance(told, list) else True

    def require_known_form(self) -> None:
        """Raise if the model reads pairs in a way that its files do not tell.

        Raises:
            UsageError: it puts the pair into a prompt of its own.
        """
        if str(self.configuration.get("model_type", "")).casefold().startswith("hhemv2"):
            message = f"{self.name} reads a pair inside a prompt that is part of its own code."
            hint = "Take a cross-encoder that reads plain pairs: an NLI model, MiniCheck, HHEM 1.0."
            raise UsageError(message, hint=hint)

    def require_torch_form(self) -> None:
        """Raise unless torch can run it from its files alone.

        Raises:
            UsageError: it needs code from the hub, which is never run; or it is no classifier.
        """
        if self.configuration.get("auto_map"):
            message = f"{self.name} needs code of its own from the hub, and such code is not run here."
            raise UsageError(message, hint=_EXPORT)
        told = self.configuration.get("architectures")
        kinds = [str(kind) for kind in told] if isinstance(told, list) else []
        if kinds and not any(kind.endswith("ForSequenceClassification") for kind in kinds):
            message = f"{self.name} is a {', '.join(kinds)}, which classifies no pairs of texts."
            raise UsageError(message, hint=f"Name a model for sequence classification. {_EXPORT}")

    @property
    def has_graph(self) -> bool:
        """Whether it has an ONNX graph, which is fetched if need be.

        Raises:
            ModelMissingError: it is on the hub, and nobody can say.
        """
        return _fetched_if_any(self.hub, HUB_GRAPH) if self.hub else has_graph(self.folder)

    @property
    def may_have_weights(self) -> bool:
        """Whether torch may find weights: beside the settings, or on the hub."""
        return bool(self.hub) or any(any(self.folder.glob(kind)) for kind in _WEIGHTS)

    @property
    def torch_source(self) -> str:
        """What torch loads: a name on the hub, or a folder."""
        return self.hub or str(self.folder)

    def onnx(self) -> ModelFiles:
        """Graph and tokenizer, fetched if need be, with the limit that the settings tell.

        Raises:
            ModelMissingError: there is no graph or no tokenizer.
        """
        if self.hub:
            for needed in (HUB_GRAPH, HUB_TOKENIZER):
                _fetched(self.hub, needed)
            _fetched_if_any(self.hub, f"{HUB_GRAPH}_data")
        return replace(folder_files(self.folder), name=self.name, limit=self.limit)


def entailment_files(name: str | Path) -> EntailmentFiles:
    """The files of a model in a folder, among the user's models, or on the hub.

    Raises:
        UnknownNameError: that is no name of a model.
        ModelMissingError: there is no such folder, or the hub's files are neither here nor to be had.
        MissingExtraError: huggingface_hub is not installed.

    >>> entailment_files("/no/such/folder")
    Traceback (most recent call last):
    sgi.kernel.errors.ModelMissingError: There is no folder /no/such/folder. Name a folder, torch:FOLDER, or a
    model of the hub, owner/model.
    """
    folder = existing_folder(name)
    if folder is not None:
        return EntailmentFiles(folder.resolve().name, folder)
    if isinstance(name, Path) or name.startswith(("/", "~", ".")):
        raise ModelMissingError(f"There is no folder {Path(name)}.", hint=_HOW_TO_NAME)
    if not _HUB_NAME.fullmatch(name):
        raise UnknownNameError("entailment model", name, hint=_HOW_TO_NAME)
    kept = existing_folder(models_folder() / name)
    if kept is not None:
        return EntailmentFiles(name, kept)
    configuration = _fetched(name, _CONFIGURATION)
    for further in _SETTINGS:
        _fetched_if_any(name, further)
    return EntailmentFiles(name, configuration.parent, hub=name)


def existing_folder(name: str | Path) -> Path | None:
    """The folder of this name, where there is one: any text may be asked about.

    >>> existing_folder("~nobody-here/x"), existing_folder("x" * 300), existing_folder("")
    (None, None, None)
    """
    folder = Path(os.path.expanduser(name))  # noqa: PTH111 - pathlib's fails where there is no such user
    try:
        return folder if str(name) and folder.is_dir() else None
    except OSError:  # such as of a name that is too long for one
        return None


def _fetched(hub: str, file: str) -> Path:
    """A file of a model on the hub, fetched unless it was before (``HF_HUB_OFFLINE=1`` never fetches)."""
    try:
        from huggingface_hub import hf_hub_download
    except ImportError as error:
        raise MissingExtraError(f"Fetching the model {hub}", "hub") from error
    try:
        return Path(hf_hub_download(hub, file))
    except Exception as error:  # a dropped connection is an error of whichever HTTP client the hub's uses
        why = type(error).__name__
        message = f"{file} of the model {hub} is not on this machine and could not be fetched ({why})."
        hint = (
            f"There is no folder {hub} either. With a network (and without HF_HUB_OFFLINE) models come "
            f"from https://huggingface.co/{hub}; or put the model's folder at {models_folder() / hub}, "
            "or name yours."
        )
        raise ModelMissingError(message, hint=hint) from error


def _fetched_if_any(hub: str, file: str) -> bool:
    """Fetch a file that a model may do without; says whether the model has it.

    Raises:
        ModelMissingError: the hub is unreachable, and it is not recorded that the file does not exist. The
            model is not used without the file, because its effect is unknown.
    """
    try:
        _fetched(hub, file)
    except ModelMissingError as missing:
        if _is_absent(hub, file, missing.__cause__):
            return False
        why = type(missing.__cause__).__name__
        message = (
            f"Whether the model {hub} has {file} is not known on this machine and could not be asked ({why})."
        )
        raise ModelMissingError(message, hint=missing.hint) from missing.__cause__
    return True


def _is_absent(hub: str, file: str, error: BaseException | None) -> bool:
    """Whether the hub says, or said before, that it has no such file."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    if isinstance(error, LocalEntryNotFoundError):  # not here, and not asked
        found = try_to_load_from_cache(hub, file)
        return found is not None and not isinstance(found, str)  # its mark of a file that is not there
    return isinstance(error, EntryNotFoundError)
