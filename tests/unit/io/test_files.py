import ast
import gzip
from graphlib import TopologicalSorter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sgi import io
from sgi.io.files import SUFFIXES, check_readable, file_rows, open_file, require_rows, suffix
from sgi.io.raw_rows import RawRow
from sgi.kernel.errors import DataError

ROOM = Path(io.__file__).parent
TEXTS = {
    ".jsonl": '{"id": "a", "response": "r"}\n',
    ".ndjson": '{"id": "a", "response": "r"}\n',
    ".json": '[{"id": "a", "response": "r"}]',
    ".csv": "id,response\na,r\n",
    ".tsv": "id\tresponse\na\tr\n",
}


def save(folder, kind):
    """A file of this kind with one row."""
    path = folder / f"rows{kind}"
    if kind == ".parquet":
        pq.write_table(pa.table({"id": ["a"], "response": ["r"]}), path)
    else:
        path.write_text(TEXTS[kind])
    return path


@pytest.mark.parametrize("kind", SUFFIXES)
def test_every_kind_of_file_gives_the_same_row(tmp_path, kind):
    path = save(tmp_path, kind)

    assert [row.values for row in file_rows(path)] == [{"id": "a", "response": "r"}]
    assert [sample.response for sample in open_file(path).samples()] == ["r"]


@pytest.mark.parametrize("kind", sorted(TEXTS))
def test_every_kind_of_text_is_read_compressed(tmp_path, kind):
    path = tmp_path / f"rows{kind.upper()}.gz"
    path.write_bytes(gzip.compress(TEXTS[kind].encode()))

    check_readable(path)
    assert suffix(path) == kind
    assert [row.values for row in file_rows(path)] == [{"id": "a", "response": "r"}]


def test_a_file_is_opened_when_its_first_row_is_asked_for(tmp_path):
    rows = file_rows(tmp_path / "rows.jsonl")
    save(tmp_path, ".jsonl")

    assert next(rows).line == 1


def test_rows_are_passed_on_and_none_is_told():
    rows = [RawRow(1, {"id": "a"}), RawRow(2, {"id": "b"})]

    assert list(require_rows(iter(rows), "rows.csv")) == rows
    with pytest.raises(DataError):
        next(require_rows(iter([]), "rows.csv"))


def modules():
    """The room's modules by name, the room itself and its inner one among them."""
    names = {path: [*path.relative_to(ROOM).with_suffix("").parts] for path in ROOM.rglob("*.py")}
    return {
        ".".join(["sgi.io", *(part for part in parts if part != "__init__")]): p for p, parts in names.items()
    }


def runtime_imports(node):
    """What a module imports, inside its functions too, but not for the type checker alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        if isinstance(child, ast.Import):
            yield from (name.name for name in child.names)
        if isinstance(child, ast.ImportFrom):
            assert child.level == 0
            yield from (f"{child.module}.{name.name}" for name in child.names)
        yield from runtime_imports(child)


def arrows(name, path, known):
    """The modules of the room that one needs; a module inside a package needs the package's own file."""
    for found in runtime_imports(ast.parse(path.read_text(encoding="utf-8"))):
        needed = found if found in known else found.rpartition(".")[0]
        while needed in known and not f"{name}.".startswith(f"{needed}."):
            yield needed
            needed = needed.rpartition(".")[0]


def test_no_module_of_the_room_needs_one_that_needs_it():
    known = modules()
    needs = {name: set(arrows(name, path, known)) for name, path in known.items()}

    assert "sgi.io.readers" in needs["sgi.io.dataset"]
    order = list(TopologicalSorter(needs).static_order())  # a CycleError names the circle
    assert order.index("sgi.io.text_file") < order.index("sgi.io.readers") < order.index("sgi.io.dataset")
