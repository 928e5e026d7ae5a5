"""Profiles of entailment models: how a published model reads a pair, and how its probability is used."""

from __future__ import annotations

from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field, FiniteFloat

from sgi.kernel.environment import Settings
from sgi.kernel.errors import UsageError
from sgi.kernel.parsing import read_toml
from sgi.kernel.short_text import TORCH

if TYPE_CHECKING:
    from collections.abc import Mapping

PREMISE, HYPOTHESIS = "{premise}", "{hypothesis}"
"""The two places in a template."""

FILE = "entailment_profiles.toml"
MAX_FILE = 100_000
"""Maximum number of bytes of a profile file."""

MAX_LOG_ODDS = 6.0
"""Log odds of entailment are clipped to this: the logit of 0.9975. The value is chosen, not measured."""

_MAX_PASSAGES = 20
_MAX_WEIGHT = 10.0
_LABELS = "(labels="


class EntailmentProfile(Settings):
    r"""Settings of an entailment model that its files do not contain.

    The log odds of support of `grounding` rise by

    .. math:: w \cdot \operatorname{clip}(\operatorname{logit}(e) / T + b, -6, 6)

    with the entailment e, the weight w, the temperature T and the offset b.

    Attributes:
        name: the name in this package; the file's name without ``.toml`` for a file.
        alias: a short name.
        model: the model on the Hugging Face hub, ``owner/model``, or a folder. A relative folder in a file is
            relative to the file.
        labels: the meanings of the outputs, in order; empty for the names in the model's configuration.
        template: a text with ``{premise}`` and ``{hypothesis}`` in place of the tokenizer's own format for
            pairs; empty for this format.
        activation: what converts outputs to probabilities; empty for what the configuration says.
        answer_tokens: for a model that generates text, the ids of the first token that stand for ``labels``.
        limit: the maximum number of tokens of a window; None for the limit of the model's configuration.
        premise: what a sentence is compared with: its best ``passages``, one after another, or the
            ``sentences`` of all passages that match it best, as one text.
        passages: maximum number of passages that a sentence is compared with, the best ones first.
        weight: w, the weight of the log odds of entailment. 0.5 is the weight of an independent audit.
        temperature: T; None (1) if it was not measured.
        offset: b; None (0) if it was not measured.
        licence: the licence of the weights (SPDX); empty if unknown.
        megabytes: size of the file with the weights; None if unknown.
        runs: how SGI runs the model from the hub. ``own files`` means that the files on the hub cannot be
            used as they are; ``needs`` says what to do.
        needs: what the user must do before the model runs.
        sources: web pages with the facts.
        unverified: facts that no source confirmed.

    >>> profile = EntailmentProfile(name="a", model="owner/a", labels=("not entailment", "entailment"))
    >>> profile.weight, profile.has_contradiction
    (0.5, False)
    """

    owner: ClassVar[str] = "entailment profile"

    name: str = ""
    alias: str = ""
    model: str = ""
    labels: Annotated[tuple[str, ...], Field(max_length=3)] = ()
    template: str = ""
    activation: Literal["", "softmax", "sigmoid"] = ""
    answer_tokens: tuple[Annotated[int, Field(ge=0)], ...] = ()
    limit: Annotated[int, Field(ge=16, le=1 << 20)] | None = None
    premise: Literal["passages", "sentences"] = "passages"
    passages: Annotated[int, Field(ge=1, le=_MAX_PASSAGES)] = 3
    weight: Annotated[FiniteFloat, Field(ge=0, le=_MAX_WEIGHT)] = 0.5
    temperature: Annotated[FiniteFloat, Field(gt=0)] | None = None
    offset: FiniteFloat | None = None
    licence: str = ""
    megabytes: Annotated[int, Field(gt=0)] | None = None
    runs: Literal["onnx, torch", "torch", "own files"] = "onnx, torch"
    needs: str = ""
    sources: tuple[str, ...] = ()
    unverified: str = ""

    def check_combination(self) -> None:
        """Raise a UsageError if the template lacks a place, or tokens and labels do not match."""
        if self.template:
            places = [self.template.count(place) for place in (PREMISE, HYPOTHESIS)]
            if places != [1, 1] or self.template.index(PREMISE) > self.template.index(HYPOTHESIS):
                message = f"The template of a profile must have {PREMISE} and then {HYPOTHESIS}, each once."
                raise UsageError(message, hint=f'For example template = "{PREMISE}</s>{HYPOTHESIS}".')
        if self.answer_tokens and len(self.answer_tokens) != len(self.labels):
            message = (
                f"The entailment profile has {len(self.answer_tokens)} answer_tokens and {len(self.labels)} "
                "labels."
            )
            raise UsageError(message, hint="Give one token id for each label, in the same order.")

    @property
    def has_contradiction(self) -> bool:
        """Whether the labels include contradiction; False if the profile has no labels."""
        return "contradiction" in self.labels

    @property
    def code(self) -> str:
        """The settings that decide how a probability is used, for fingerprints.

        >>> EntailmentProfile(model="owner/a", temperature=1.5).code
        'w0.5-p3-t1.5'
        """
        calibration = [
            f"-{key}{value:.12g}"
            for key, value in (("t", self.temperature), ("b", self.offset))
            if value is not None
        ]
        read = f"p{self.passages}" if self.premise == "passages" else "s"
        return f"w{self.weight:.12g}-{read}{''.join(calibration)}"


@cache
def entailment_profiles() -> Mapping[str, EntailmentProfile]:
    """Return the profiles of the package by name."""
    path = Path(str(files("sgi") / "data" / FILE))
    tables = read_toml(path, error=UsageError, most=MAX_FILE)
    return {name: EntailmentProfile.model_validate({"name": name} | table) for name, table in tables.items()}


def read_profile(path: Path) -> EntailmentProfile:
    """Read the profile in a TOML file.

    Raises:
        UsageError: the file cannot be read, or is not a profile.
    """
    hint = "Name a TOML file with an entailment profile; `model` is the only key that it must have."
    values = read_toml(path, error=UsageError, hint=hint, most=MAX_FILE)
    if not values.get("model"):
        raise UsageError(f"The profile {path} must name the model.", hint=hint)
    profile = EntailmentProfile.model_validate({"name": path.stem} | values)
    folder = path.parent / Path(profile.model).expanduser()
    return profile.model_copy(update={"model": str(folder.absolute())}) if folder.is_dir() else profile


def plain_name(model: str) -> str:
    """Return the name of a model without ``torch:`` before it and ``(labels=…)`` after it.

    >>> plain_name("torch:owner/model(labels=a,b)")
    'owner/model'
    """
    return model.removeprefix(TORCH).partition(_LABELS)[0]


def find_profile(model: str) -> EntailmentProfile | None:
    """Return the profile of a model, by its name, alias, file or model on the hub; None if it has none.

    Raises:
        UsageError: the name is a profile file that cannot be read.

    >>> find_profile("hhem").model, find_profile("owner/other")
    ('vectara/hallucination_evaluation_model', None)
    """
    name = plain_name(model)
    if name.endswith(".toml"):
        return _file_profile(name)
    profiles = entailment_profiles()
    if name in profiles:
        return profiles[name]
    return next((one for one in profiles.values() if name and name in (one.alias, one.model)), None)


def profile_or_default(model: str) -> EntailmentProfile:
    """Return the profile of a model, or the default values for a model without one."""
    return find_profile(model) or EntailmentProfile(model=model)


def _file_profile(name: str) -> EntailmentProfile:
    path = Path(name).expanduser()
    try:
        state = path.stat()
    except (OSError, ValueError) as error:
        message = f"The profile {name} cannot be read: {type(error).__name__}."
        raise UsageError(message, hint="Name an existing TOML file with an entailment profile.") from error
    return _cached_file(path.absolute(), state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=16)
def _cached_file(path: Path, _changed: int, _size: int) -> EntailmentProfile:
    return read_profile(path)
