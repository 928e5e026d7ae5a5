"""Rows of Excel files."""

import zipfile
from xml.sax.saxutils import escape

import pytest

from sgi.io.dataset import open_dataset
from sgi.kernel.errors import DataError, UsageError

pytest.importorskip("python_calamine")
SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml"
MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
ROWS = [["id", "question", "contexts", "response"], [1, "Who?", '["It was she.", "B."]', "She."]]


def cell(value):
    if isinstance(value, str):
        return (
            f'<c t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>' if value else "<c/>"
        )
    return f"<c><v>{value}</v></c>"


def write(path, **sheets):
    """Write a workbook; a name that ends in ``_hidden`` is that of a hidden sheet."""
    names = list(sheets)
    state = {name: ' state="hidden"' if name.endswith("_hidden") else "" for name in names}
    parts = {
        "[Content_Types].xml": f'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{SHEET}.sheet.main+xml"/></Types>',
        "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="r" Type="{RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook {MAIN} xmlns:r="{RELATIONS}"><sheets>'
        + "".join(
            f'<sheet name="{name}" sheetId="{k}" r:id="r{k}"{state[name]}/>'
            for k, name in enumerate(names, 1)
        )
        + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": "<Relationships "
        'xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        + "".join(
            f'<Relationship Id="r{k}" Type="{RELATIONS}/worksheet" Target="worksheets/s{k}.xml"/>'
            for k in range(1, len(names) + 1)
        )
        + "</Relationships>",
    }
    for number, rows in enumerate(sheets.values(), 1):
        lines = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
        parts[f"xl/worksheets/s{number}.xml"] = (
            f"<worksheet {MAIN}><sheetData>{lines}</sheetData></worksheet>"
        )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in parts.items():
            file.writestr(name, text)
    return path


def test_rows_have_whole_numbers_lists_and_empty_cells(tmp_path):
    path = write(tmp_path / "a.xlsx", Answers=[*ROWS, ["", "", "", ""], [3, "When?", "", ""]], Empty=[])
    first, second = open_dataset(path).samples()
    assert (first.id, first.question, first.contexts) == ("1", "Who?", ("It was she.", "B."))
    assert (second.id, second.question, second.response) == ("3", "When?", "")


def test_several_sheets_need_the_name_that_the_error_gives(tmp_path):
    path = write(tmp_path / "a.xlsx", Old=ROWS, New=[ROWS[0], [7, "Who?", "", "He."]], Note_hidden=[["x"]])
    with pytest.raises(DataError, match="rows in several sheets: 'Old', 'New'") as caught:
        list(open_dataset(path).samples())
    name = caught.value.hint.split("'")[1]
    assert [sample.response for sample in open_dataset(name).samples()] == ["She."]
    assert [one.response for one in open_dataset(name.replace("Old", "New")).samples()] == ["He."]
    with pytest.raises(DataError, match="no sheet 'Other'"):
        list(open_dataset(name.replace("Old", "Other")).samples())


def test_an_error_has_the_row_of_the_sheet(tmp_path):
    path = write(
        tmp_path / "a.xlsx", Answers=[["question", "response", "label"], ["Who?", "She.", "perhaps"]]
    )
    with pytest.raises(DataError, match=r"a\.xlsx:2: .*label"):
        list(open_dataset(path).samples())
    with pytest.raises(DataError, match=r"a\.xlsx:1: no column is recognised"):
        list(open_dataset(write(tmp_path / "a.xlsx", Answers=[["x", "y"], [1, 2]])).samples())
    with pytest.raises(UsageError, match="`encoding` does not apply to Excel files"):
        open_dataset(path, encoding="cp1252")


def test_what_is_not_a_workbook_or_too_large_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "a.xlsx"
    for content in (b"id,response\n1,x\n", b"PK\x03\x04", write(path, A=ROWS).read_bytes()[:-60]):
        path.write_bytes(content)
        with pytest.raises(DataError, match="is not an Excel file"):
            list(open_dataset(path).samples())
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a", "x")
    with pytest.raises(DataError, match="cannot be read as an Excel file"):
        list(open_dataset(path).samples())
    monkeypatch.setenv("SGI_MAX_FILE", "1KB")
    with pytest.raises(DataError, match="without its compression"):
        list(open_dataset(write(path, A=ROWS * 200)).samples())
