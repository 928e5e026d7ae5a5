from __future__ import annotations

import subprocess
import sys

import pytest

import sgi

HEAVY = (
    "onnxruntime",
    "sqlalchemy",
    "sqlite3",
    "scipy",
    "sklearn",
    "typer",
    "rich",
    "pandas",
    "openai",
)


def loaded_after(code: str) -> set[str]:
    """The top-level modules in a fresh process after this code."""
    script = f"{code}\nimport sys\nprint(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import sgi",
        "import sgi; sgi.compute_sgi; sgi.Metric; sgi.geometry",
        "import sgi.types",
        "from sgi.errors import DataError",
    ],
)
def test_importing_sgi_and_its_types_loads_nothing_heavy(code):
    assert loaded_after(code).isdisjoint(HEAVY)


def test_bare_import_loads_not_even_numpy():
    assert loaded_after("import sgi").isdisjoint({"numpy", "pydantic"})


def test_every_public_name_is_there():
    for name in sgi.__all__:
        assert getattr(sgi, name) is not None
    assert set(sgi.__all__) <= set(dir(sgi))
    assert len(sgi.__all__) <= 28  # more names than a newcomer can read


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'evaluat'"):
        sgi.evaluat  # noqa: B018 - the access is the test


def test_the_version_is_the_installed_one():
    from importlib.metadata import version

    assert sgi.__version__ == version("semantic-grounding-index")
