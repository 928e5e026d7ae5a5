import pytest

from support.scripts import load_script

CHANGELOG = (
    "# Changelog\n\n## Unreleased\n\n- later\n\n## 1.2.0 (2026-12-01)\n\n- now\n\n## 1.1.0 (2026-11-01)\n"
)


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.0"\n')
    (tmp_path / "CITATION.cff").write_text("title: SGI\nversion: 1.2.0\n")
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    return tmp_path


def test_the_notes_are_those_of_the_tag(project):
    with load_script("check_release") as script:
        assert script.check("v1.2.0", project) == "- now"


@pytest.mark.parametrize(
    ("tag", "file", "old", "new", "error"),
    [
        ("v1.2.1", "CITATION.cff", "", "", "The tag is v1.2.1"),
        ("v1.2.0", "CITATION.cff", "1.2.0", "1.1.0", "CITATION.cff needs"),
        ("v1.2.0", "CHANGELOG.md", "1.2.0 (2026-12-01)", "1.2.0", "needs a section"),
        ("v1.2.0", "CHANGELOG.md", "- now\n", "", "needs a section"),
    ],
)
def test_a_tag_that_does_not_fit_is_refused(project, tag, file, old, new, error):
    path = project / file
    path.write_text(path.read_text().replace(old, new))
    with load_script("check_release") as script, pytest.raises(SystemExit, match=error):
        script.check(tag, project)
