import subprocess
import zipfile

import pytest

from support.scripts import FOLDER, load_script


@pytest.fixture
def script():
    inside = subprocess.run(
        ["git", "-C", FOLDER, "rev-parse", "--verify", "HEAD"], capture_output=True, check=False
    )
    if inside.returncode:
        pytest.skip("a source distribution has no commits")
    with load_script("build_release") as module:
        yield module


@pytest.mark.slow
def test_a_commit_always_gives_the_same_distributions(script, tmp_path):
    first = script.build_release(tmp_path / "a", "HEAD")
    assert first == script.digests(tmp_path / "a")
    assert sorted(name.rpartition(".")[2] for name in first) == ["gz", "whl"]
    wheel = next((tmp_path / "a").glob("*.whl"))
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    tracked = script.git("ls-tree", "-r", "--name-only", "HEAD", "src/").decode().split("\n")
    assert packed == {name.removeprefix("src/") for name in tracked if name.count("/") > 1}


def test_a_build_that_depends_on_its_surroundings_is_refused(script, tmp_path, monkeypatch):
    """A build hook that writes the time zone into the wheel."""
    project = tmp_path / "project"
    project.mkdir()
    hook = "\n[tool.hatch.build.targets.wheel.hooks.custom]\npath = 'hook.py'\n"
    (project / "pyproject.toml").write_text(
        "[build-system]\nrequires = ['hatchling']\nbuild-backend = 'hatchling.build'\n"
        "[project]\nname = 'zone'\nversion = '1'\n"
        "[tool.hatch.build.targets.wheel]\npackages = ['zone']\n" + hook
    )
    (project / "zone").mkdir()
    (project / "zone" / "__init__.py").write_text("")
    (project / "hook.py").write_text(
        "import os\n"
        "from hatchling.builders.hooks.plugin.interface import BuildHookInterface\n"
        "class Zone(BuildHookInterface):\n"
        "    def initialize(self, version, build_data):\n"
        "        with open(os.path.join(self.root, 'zone', 'name.txt'), 'w') as file:\n"
        "            file.write(os.environ['TZ'])\n"
        "        build_data['artifacts'].append('zone/name.txt')\n"
    )
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"]):
        user = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *user, *command], cwd=project, check=True)
    monkeypatch.setattr(script, "ROOT", project)
    with pytest.raises(SystemExit, match=r"not reproducible: .*\.whl"):
        script.build_release(tmp_path / "out", "HEAD")
    assert not (tmp_path / "out").exists()
