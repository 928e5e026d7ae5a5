"""Which ``pip install`` brings an extra, for each way in which the package can have been installed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sgi.kernel import errors as install
from sgi.kernel.errors import DISTRIBUTION, MissingExtraError, install_target

ROOT = Path(__file__).parents[3]


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Metadata of an installed distribution, found before that of this environment."""

    def write(direct_url):
        folder = tmp_path / "site" / "semantic_grounding_index-9.9.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {DISTRIBUTION}\nVersion: 9.9\n")
        if direct_url is not None:
            (folder / "direct_url.json").write_text(json.dumps(direct_url))
        monkeypatch.syspath_prepend(str(folder.parent))
        install._direct_url.cache_clear()

    yield write
    install._direct_url.cache_clear()


@pytest.fixture
def checkout(tmp_path):
    folder = tmp_path / "a check out"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("[project]\n")
    return folder


@pytest.mark.parametrize(("editable", "option"), [(True, "-e "), (False, "")])
def test_a_checkout_is_named_by_its_path(installed, checkout, monkeypatch, tmp_path, editable, option):
    installed({"url": checkout.as_uri(), "dir_info": {"editable": True} if editable else {}})
    monkeypatch.chdir(tmp_path)
    assert install_target("judge") == f'{option}"{checkout}[judge]"'
    monkeypatch.chdir(checkout)
    assert install_target("judge") == f'{option}".[judge]"'
    assert install_target() == f'{option}"."'
    assert str(MissingExtraError("A judge", "judge")).endswith(f'Install it: pip install {option}".[judge]"')


@pytest.mark.parametrize(
    ("direct_url", "expected"),
    [
        (None, '"semantic-grounding-index[hub,parquet]"'),
        (
            {"url": "https://host/sgi-1-py3-none-any.whl", "archive_info": {}},
            '"semantic-grounding-index[hub,parquet] @ https://host/sgi-1-py3-none-any.whl"',
        ),
        (
            {"url": "https://host/sgi.git", "vcs_info": {"vcs": "git", "commit_id": "a" * 40}},
            '"semantic-grounding-index[hub,parquet] @ git+https://host/sgi.git"',
        ),
        ({"url": "file:///is/gone", "dir_info": {}}, '"semantic-grounding-index[hub,parquet]"'),
    ],
)
def test_another_source_is_named_by_its_url_or_by_the_name_in_an_index(installed, direct_url, expected):
    installed(direct_url)
    assert install_target("hub", "parquet") == expected


def test_no_page_names_a_package_that_no_index_has():
    """Documents are read in a checkout: they say ``pip install ".[extra]"``."""
    pages = [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("examples/**/*.md"),
    ]
    pages += ROOT.glob("src/**/*.py")
    named = [
        str(page) for page in pages if re.search(rf"pip install[^\n]*{DISTRIBUTION}", page.read_text("utf-8"))
    ]
    assert named == []
