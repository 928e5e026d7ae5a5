"""Profiles of entailment models: the packaged table, own files, and what is refused."""

from __future__ import annotations

import pytest

from sgi.kernel.entailment_profile import (
    EntailmentProfile,
    entailment_profiles,
    find_profile,
    plain_name,
    profile_or_default,
)
from sgi.kernel.errors import UnknownNameError, UsageError
from sgi.models.entailment.entailment_labels import LabelMap

PROFILES = entailment_profiles()


def test_names_aliases_and_models_are_distinct():
    names = [word for one in PROFILES.values() for word in (one.name, one.alias, one.model) if word]
    assert len(names) == len(set(names))
    for word in names:
        assert find_profile(word) is find_profile(f"torch:{word}(labels=a,b)")
        assert find_profile(word) in PROFILES.values()


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_a_packaged_profile_states_its_facts(profile):
    label_map = LabelMap.read({}, profile.name, profile.labels)
    assert label_map.contradiction == (
        profile.labels.index("contradiction") if profile.has_contradiction else None
    )
    assert profile.sources
    assert all(source.startswith("https://") for source in profile.sources)
    assert (profile.runs == "own files") == bool(profile.needs)
    assert (profile.temperature, profile.offset) == (None, None), "no profile was measured"
    assert profile.licence in {"MIT", "Apache-2.0"} or "licence" in profile.unverified
    assert profile.megabytes or "size" in profile.unverified or profile.name.startswith("alignscore")


def test_a_file_is_a_profile(tmp_path):
    (tmp_path / "weights").mkdir()
    path = tmp_path / "mine.toml"
    path.write_text(
        "model = 'weights'\nlabels = ['entailment', 'not entailment']\nweight = 0.8\noffset = -1\n"
    )
    profile = find_profile(f"torch:{path}")
    assert (profile.name, profile.model, profile.weight) == ("mine", str(tmp_path / "weights"), 0.8)
    assert profile.code == "w0.8-p3-b-1"
    path.write_text("model = 'owner/model'\npassages = 1\n")
    assert find_profile(str(path)).code == "w0.5-p1"
    path.write_text("model = 'owner/model'\npremise = 'sentences'\n")
    assert find_profile(str(path)).code == "w0.5-s"


@pytest.mark.parametrize(
    "name", ["none.toml", "torch:/no/such/folder/a.toml", "x" * 300 + ".toml", "\x00.toml"]
)
def test_a_file_that_does_not_exist_is_an_error(name):
    with pytest.raises(UsageError, match="cannot be read"):
        find_profile(name)


def test_an_unknown_key_names_the_near_one(tmp_path):
    with pytest.raises(UnknownNameError, match="weight"):
        EntailmentProfile.model_validate({"model": "a/b", "wieght": 1})


def test_a_model_without_profile_has_the_defaults():
    assert find_profile("owner/model") is None
    assert find_profile("") is None
    assert profile_or_default("owner/model").code == "w0.5-p3"
    assert plain_name("torch:a/b") == "a/b"
