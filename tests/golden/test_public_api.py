"""docs/public-api.json lists the public names, and the check finds what breaks programs."""

from __future__ import annotations

import json
import subprocess

import pytest

from support.scripts import load_script


@pytest.fixture(scope="module")
def script():
    with load_script("public_api") as module:
        yield module


def test_the_list_is_that_of_the_code(script):
    listed = script.PAGE.read_text("utf-8")
    current = script.text(script.public_api())
    changes = list(script.breaking_changes(json.loads(listed), json.loads(current)))
    assert not changes, "breaking changes; docs/internals/versions.md says when they are allowed"
    assert current == listed, "run `python scripts/public_api.py`"


def parameters(function):
    return {"f": {"kind": "function", "parameters": function}}


OLD = parameters([["a", "positional or keyword", None], ["b", "positional or keyword", "1"]])


@pytest.mark.parametrize(
    ("new", "change"),
    [
        ({}, "f is gone"),
        ({"f": {"kind": "class"}}, "f was a function and is a class"),
        (parameters(OLD["f"]["parameters"][:1]), "f: the parameter b is gone"),
        (parameters([["a", "positional or keyword", None], ["b", "keyword-only", "1"]]), "b is keyword-only"),
        (
            parameters([["a", "positional or keyword", None], ["b", "positional or keyword", "2"]]),
            "default of b",
        ),
        (parameters([*OLD["f"]["parameters"], ["c", "keyword-only", None]]), "c has no default"),
        (parameters(OLD["f"]["parameters"][::-1]), "order of the parameters"),
    ],
)
def test_what_breaks_a_program_is_found(script, new, change):
    assert any(change in line for line in script.breaking_changes(OLD, new))


def test_what_breaks_no_program_is_allowed(script):
    more = [["a", "positional or keyword", "0"], OLD["f"]["parameters"][1], ["c", "keyword-only", "None"]]
    new = parameters([*more, ["options", "variadic keyword", None]]) | {"g": {"kind": "attribute"}}
    assert list(script.breaking_changes(OLD, new)) == []


def test_members_of_classes_are_compared(script):
    old = {"C": {"kind": "class", "parameters": [], "members": OLD}}
    new = {"C": {"kind": "class", "parameters": [], "members": {}}}
    assert list(script.breaking_changes(old, new)) == ["C.f is gone"]


@pytest.mark.parametrize(
    ("old", "new", "allowed"),
    [
        ("v0.1.0", "0.1.1", False),
        ("v0.1.0", "0.2.0", True),
        ("v1.1.0", "1.2.0", False),
        ("v1.9.3", "2.0.0", True),
    ],
)
def test_the_version_number_announces_breaking_changes(script, old, new, allowed):
    assert script.may_break(old, new) == allowed


@pytest.fixture
def project(script, tmp_path, monkeypatch):
    """A project with three commits: without a list of names, with the name `f`, and without a name."""

    def git(*words):
        user = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", "-C", tmp_path, *user, *words], check=True)

    page = tmp_path / "docs" / "public-api.json"
    page.parent.mkdir()
    git("init", "-q")
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "0.1.1"\n')
    for content in (None, json.dumps(OLD), "{}"):
        if content is not None:
            page.write_text(content)
        git("add", ".")
        git("commit", "-q", "-m", "step")
    monkeypatch.setattr(script, "ROOT", tmp_path)
    monkeypatch.setattr(script, "PAGE", page)
    return git


def test_without_a_tag_there_is_nothing_to_compare_with(script, project, capsys):
    project("tag", "v0.1.1")  # the release that is made now
    assert script.check_since("last") == []
    assert "there is no release to compare with" in capsys.readouterr().out
    project("tag", "v0.0.1", "HEAD~2")
    assert script.check_since("last") == []
    assert "v0.0.1 has no list of public names" in capsys.readouterr().out
    with pytest.raises(SystemExit, match=r"There is no tag v0\.3"):
        script.check_since("v0.3")


@pytest.mark.parametrize(("tag", "expected"), [("v0.1.0", ["f is gone"]), ("v0.0.9", [])])
def test_changes_since_the_last_tag_are_listed(script, project, capsys, tag, expected):
    project("tag", tag, "HEAD~1")
    assert script.check_since("last") == expected
    assert ("f is gone" in capsys.readouterr().out) != bool(expected)
