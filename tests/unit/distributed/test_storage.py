import gzip

import pytest

from sgi.distributed.storage import Folder, find_sources, open_input
from sgi.kernel.errors import DataError, UsageError


@pytest.fixture
def tree(tmp_path):
    for name in ("b.jsonl", "a.csv", "deep/b.jsonl.gz", ".hidden.jsonl", "_made/c.jsonl", "notes.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        content = b'{"response": "a"}\n'
        path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    return tmp_path


def _shown(found, base):
    return [source.shown.removeprefix(f"{base}/") for source in found]


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_a_folder_gives_its_files_of_known_kinds_in_order(tree, prefix):
    found = find_sources(f"{prefix}{tree}")
    assert _shown(found, f"{prefix}{tree}") == ["a.csv", "b.jsonl", "deep/b.jsonl.gz"]
    assert [source.size > 0 for source in found] == [True] * 3


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_a_pattern_gives_the_files_it_fits(tree, prefix):
    assert _shown(find_sources(f"{prefix}{tree}/*.jsonl"), f"{prefix}{tree}")[-1] == "b.jsonl"
    assert _shown(find_sources(f"{prefix}{tree}/a.*"), f"{prefix}{tree}") == ["a.csv"]


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_one_file_is_read_as_it_is(tree, prefix):
    (source,) = find_sources(f"{prefix}{tree}/deep/b.jsonl.gz")
    assert source.stem is None
    with open_input(source.place, source.shown) as stream:
        assert stream.read() == b'{"response": "a"}\n'


def test_ids_of_several_files_begin_with_what_tells_them_apart(tree):
    assert [source.stem for source in find_sources(str(tree))] == ["a.csv", "b.jsonl", "deep/b.jsonl.gz"]
    (tree / "deep" / "b.jsonl.gz").unlink()
    assert [source.stem for source in find_sources(str(tree))] == ["a", "b"]


def test_a_path_of_files_of_one_name_tells_them_apart_by_their_folders(tmp_path):
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "rows.jsonl").write_bytes(b"{}\n")
    assert [source.stem for source in find_sources(str(tmp_path))] == ["x/rows.jsonl", "y/rows.jsonl"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("nothing.jsonl", "does not exist"),
        ("notes.txt", "suffix '.txt'"),
        ("none*.jsonl", "holds no file that can be read"),
        ("file:///no/such/place", "cannot be read|holds no file"),
        ("file:///no/such/rows.jsonl", "cannot be read|holds no file"),
    ],
)
def test_what_cannot_be_read_is_named(tree, name, reason):
    with pytest.raises(DataError, match=reason):
        find_sources(name if name.startswith("file:") else f"{tree}/{name}")


def test_a_query_stays_with_an_address(tree):
    query = "?region=eu"  # Arrow passes it over where it reads a file of this machine
    (found,) = find_sources(f"file://{tree}/a.csv{query}")
    assert (found.place, found.shown) == (f"file://{tree}/a.csv{query}", f"file://{tree}/a.csv")
    several = find_sources(f"file://{tree}/*.jsonl{query}")
    assert [source.place for source in several][-1] == f"file://{tree}/b.jsonl{query}"
    encode_error = find_sources(f"file://{tree}/deep{query}")[0]
    with open_input(encode_error.place, encode_error.shown) as stream:
        assert stream.read() == b'{"response": "a"}\n'
    folder = Folder(f"file://{tree}/new{query}")
    folder.make()
    folder.put("a.json", b"{}\n")
    assert (folder.read("a.json"), list(folder.lines("a.json"))) == (b"{}\n", [b"{}\n"])
    assert folder.names() == {"a.json"}
    assert folder.path_of("a.json") == f"file://{tree}/new/a.json"


def test_signs_that_an_address_escapes_are_read(tmp_path):
    for name in ("a b.jsonl", "50%20.jsonl"):
        (tmp_path / name).write_bytes(name.encode())
    found = find_sources(f"file://{tmp_path}")
    assert [source.stem for source in found] == ["50%20", "a b"]
    for source in found:
        with open_input(source.place, source.shown) as stream:
            assert stream.read().decode() == source.shown.rpartition("/")[2]


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_a_file_is_created_once(tmp_path, prefix):
    folder = Folder(f"{prefix}{tmp_path}")
    assert folder.create("run.json", b"first")
    assert not folder.create("run.json", b"second")
    assert folder.read("run.json") == b"first"
    assert folder.names() == {"run.json"}


def test_a_file_is_created_once_also_without_links(tmp_path, monkeypatch):
    def no_links(*_):
        raise OSError("not supported")

    monkeypatch.setattr("sgi.distributed.storage.os.link", no_links)
    folder = Folder(str(tmp_path))
    assert [folder.create("run.json", content) for content in (b"first", b"second")] == [True, False]
    assert folder.read("run.json") == b"first"


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_a_file_in_a_folder_is_there_whole_or_not_at_all(tmp_path, prefix):
    folder = Folder(f"{prefix}{tmp_path}/new/er")
    assert folder.names() == set()
    folder.make()
    folder.put("a.json", b"{}")
    folder.put("a.json", b'{"b": 1}')
    assert folder.read("a.json") == b'{"b": 1}'
    assert folder.read("b.json") is None
    with folder.writer("rows.jsonl") as rows:
        rows.write([{"id": "1"}])
    assert list(folder.lines("rows.jsonl")) == [b'{"id":"1"}\n']
    with pytest.raises(ZeroDivisionError), folder.writer("rows.jsonl") as rows:
        rows.write([{"id": "2"}, {"id": str(1 / 0)}])
    assert list(folder.lines("rows.jsonl")) == [b'{"id":"1"}\n']
    assert folder.names() == {"a.json", "rows.jsonl"}
    with folder.writer("none.jsonl"):
        pass
    assert folder.digest("none.jsonl") != folder.digest("rows.jsonl") == folder.digest("rows.jsonl")
    with pytest.raises(DataError, match=r"gone\.jsonl"):
        folder.digest("gone.jsonl")


def test_what_a_killed_writer_left_is_swept_away(tmp_path):
    (tmp_path / ".sgi-0123.part").write_bytes(b"half")
    (tmp_path / "part-000000.jsonl").write_bytes(b"{}\n")
    Folder(str(tmp_path)).sweep()
    assert Folder(str(tmp_path)).names() == {"part-000000.jsonl"}


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_a_file_where_the_folder_should_be_is_told(tmp_path, prefix):
    (tmp_path / "taken").write_bytes(b"x")
    with pytest.raises(UsageError, match="cannot be a folder"):
        Folder(f"{prefix}{tmp_path}/taken").make()
