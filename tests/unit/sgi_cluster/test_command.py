import pytest


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--workers", "2"], "--ray"),
        (["--ray", "local"], "`out`"),
        (["--ray", "local", "-o", "scores", "--resume", "last"], "--resume"),
        (["--ray", "local", "-o", "scores", "--tag", "t"], "--tag"),
        (["--ray", "local", "-o", "scores", "--db", "x.db"], "--db"),
        (["--ray", "local", "-o", "scores", "--dry-run"], "--dry-run"),
        (["--ray", "local", "-o", "scores", "--target", "app:answer"], "--target"),
        (["--ray", "local", "-o", "scores", "--workers", "0"], "--workers"),
        (["--ray", "local", "-o", "scores", "-m", "nope"], "nope"),
        (["--ray", "nowhere", "-o", "scores"], "nowhere"),
    ],
)
def test_options_that_do_not_apply_to_ray_are_errors(sgi, tmp_path, words, reason):
    (tmp_path / "rows.jsonl").write_text('{"question": "q", "response": "a", "contexts": ["b"]}\n')
    result = sgi("run", "rows.jsonl", *words)
    assert result.code == 2
    assert reason in result.err
    assert [file.name for file in tmp_path.iterdir()] == ["rows.jsonl"]


def test_a_folder_without_a_run_creates_no_database(sgi, tmp_path):
    result = sgi("runs", "db", "import", str(tmp_path), "--db", str(tmp_path / "new.db"))
    assert result.code == 2
    assert str(tmp_path) in result.err
    assert not (tmp_path / "new.db").exists()
