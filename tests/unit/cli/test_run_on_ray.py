import pytest


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--workers", "2"], "--workers needs --ray"),
        (["--ray", "local"], "`out` is required"),
        (["--ray", "local", "-o", "parts", "--resume", "last"], "--resume cannot be combined with --ray"),
        (["--ray", "local", "-o", "parts", "--tag", "t"], "--tag cannot be combined with --ray"),
        (["--ray", "local", "-o", "parts", "--db", "x.db"], "--db cannot be combined with --ray"),
        (["--ray", "local", "-o", "parts", "--dry-run"], "--dry-run cannot be combined with --ray"),
        (["--ray", "local", "-o", "parts", "--target", "app:answer"], "cannot send requests to a target"),
        (["--ray", "local", "-o", "parts", "--workers", "0"], "equal to 1"),
        (["--ray", "local", "-o", "parts", "-m", "nope"], "nope"),
        (["--ray", "local", "-o", "parts", "-m", "bertscore(idf=true)"], "weighs tokens by all references"),
        (["--ray", "nowhere", "-o", "parts"], "not an address of a Ray cluster"),
    ],
)
def test_options_that_do_not_apply_to_ray_are_errors(sgi, tmp_path, monkeypatch, words, reason):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text('{"response": "a", "reference": "b"}\n')
    result = sgi("run", "rows.jsonl", *words)
    assert result.code == 2
    assert reason in result.err
    assert [file.name for file in tmp_path.iterdir()] == ["rows.jsonl"]


def test_a_folder_that_holds_no_run_is_not_imported(sgi, tmp_path):
    result = sgi("db", "import", str(tmp_path), "--db", str(tmp_path / "new.db"))
    assert result.code == 2
    assert "holds" in result.err
