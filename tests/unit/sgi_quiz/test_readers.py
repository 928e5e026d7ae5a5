import codecs

import pytest

from sgi.kernel.input_limits import variable
from sgi_quiz.document_files import Documents
from sgi_quiz.passages import MAX_PASSAGE, text_parts
from sgi_quiz.readers import read_passages


def passages_of(tmp_path, name, content, encoding=None):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return [*read_passages(path, name, encoding)]


def test_markdown_has_headings_tables_and_steps(corpus):
    path = corpus / "ferries.md"
    found = [*read_passages(path, "ferries.md")]
    source = path.read_text("utf-8")
    assert all(passage.text in source for passage in found)
    table = next(passage for passage in found if passage.cells)
    assert table.cells[1] == ("Anke", "42 m", "14 kn")
    assert table.headings == ("Ferries of the Tolvik line", "Vessels")
    assert next(passage.steps for passage in found if passage.steps)[2] == "Park the car on the lower deck."


def test_markdown_without_front_matter_links_and_images(tmp_path):
    text = "---\ntitle: x\n---\nSee [the guide](a.md) ![i](i.png) and `run`.\n\n```\ncode = 1\n```\n"
    passage, code = passages_of(tmp_path, "a.md", text)
    assert passage.plain == "See the guide and `run`."
    assert code.is_code
    assert code.plain == "code = 1"


def test_html_without_scripts_and_navigation(corpus):
    found = [*read_passages(corpus / "towns" / "rundvik.html", "rundvik.html")]
    text = "\n".join(passage.text for passage in found)
    assert "script" not in text
    assert "Menu Corporation" not in text
    assert found[-1].headings == ("Rundvik", "Why is the lighthouse of Rundvik closed?")


def test_html_tables_lists_and_definitions(tmp_path):
    text = (
        "<table><tr><th>Ship<th>Length</tr><tr><td>Anke<td>42 m</tr></table>"
        "<ul><li>one<li>two</ul><dl><dt>What is a hull?</dt><dd>The body of a ship.</dd></dl>"
    )
    table, items, body = passages_of(tmp_path, "a.html", text)
    assert table.cells == (("Ship", "Length"), ("Anke", "42 m"))
    assert items.plain == "one two"
    assert (body.headings, body.text) == (("What is a hull?",), "The body of a ship.")


@pytest.mark.parametrize("between", ["", "\n", "\n\n"])
def test_items_of_html_lists_are_apart_whatever_is_between_them(tmp_path, between):
    items = between.join(f"<li>{each}</li>" for each in ("Open the\n\nvalve.", "Press <b>the</b> button."))
    steps, needs = passages_of(tmp_path, "a.html", f"<ol>{items}</ol><ul>{between}{items}{between}</ul>")
    assert steps.steps == needs.items == ("Open the valve.", "Press the button.")
    assert steps.text == "Open the valve. Press the button."


def test_html_uses_the_declared_encoding(tmp_path):
    text = '<meta charset="iso-8859-1"><p>Café</p>'.encode("latin-1")
    assert passages_of(tmp_path, "a.html", text)[0].text == "Café"


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (codecs.BOM_UTF8 + "Smørbrød.".encode(), None),
        ("Smørbrød.".encode("utf-16"), None),
        (b"Sm\xf8rbr\xf8d.", "latin-1"),
    ],
)
def test_text_in_other_encodings(tmp_path, content, encoding):
    assert passages_of(tmp_path, "a.txt", content, encoding)[0].text == "Smørbrød."


def test_long_text_is_cut_after_a_sentence():
    text = "The ferry leaves at noon. " * 200
    parts = [*text_parts(text)]
    assert all(part in text and len(part) <= MAX_PASSAGE and part.endswith("noon.") for part in parts)


def test_json_lines_have_ids_and_titles(corpus):
    first, second = read_passages(corpus / "people.jsonl", "people.jsonl")
    assert (first.id, second.id, first.headings) == ("p1", "p2", ("Nils Berg",))


def test_pdf(tmp_path):
    pypdf = pytest.importorskip("pypdf")
    with (tmp_path / "blank.pdf").open("wb") as stream:
        writer = pypdf.PdfWriter()
        writer.add_blank_page(100, 100)
        writer.write(stream)
    with (tmp_path / "locked.pdf").open("wb") as stream:
        writer = pypdf.PdfWriter()
        writer.add_blank_page(100, 100)
        writer.encrypt("secret")
        writer.write(stream)
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4 broken")
    (tmp_path / "text.pdf").write_bytes(_pdf("The ferry Anke was launched in 1950."))
    documents = Documents.find([tmp_path])
    (passage,) = documents.passages()
    assert passage.plain == "The ferry Anke was launched in 1950."
    assert documents.skipped["locked.pdf"] == "the PDF is encrypted"
    assert "has no text" in documents.skipped["blank.pdf"]
    assert "cannot be read" in documents.skipped["broken.pdf"]


def _pdf(text):
    """A PDF file with one line of text, as the format's reference writes it."""
    stream = f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET".encode()
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 400 200]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    content, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(content))
        content += b"%d 0 obj%sendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = len(content)
    content += b"xref\n0 6\n0000000000 65535 f \n" + table
    return content + b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % start


def test_each_file_that_cannot_be_read_has_a_reason(tmp_path, monkeypatch):
    monkeypatch.setenv(variable("file"), "1KB")
    folder = tmp_path / "docs"
    (folder / "sub").mkdir(parents=True)
    (folder / "good.txt").write_text("The ferry Anke was launched in 1950.")
    (folder / "large.txt").write_text("The ferry is late. " * 100)
    (folder / "empty.md").write_text("")
    (folder / "latin.txt").write_bytes(b"caf\xe9")
    (folder / "binary.txt").write_bytes(bytes(range(256)))
    (folder / "rows.jsonl").write_text('{"text": "A ferry."}\n{"title": 3}\n')
    (folder / "broken.jsonl").write_text("{")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    (folder / ".hidden.md").write_text("Hidden.")
    (tmp_path / "outside.txt").write_text("Outside.")
    (folder / "sub" / "link.txt").symlink_to(tmp_path / "outside.txt")
    documents = Documents.find([folder])
    texts = [passage.text for passage in documents.passages()]
    assert texts == ["The ferry Anke was launched in 1950.", "A ferry."]
    assert documents.other == 1
    reasons = {
        "large.txt": "more than 1 KB",
        "empty.md": "is empty",
        "latin.txt": "--encoding",
        "binary.txt": "binary",
        "rows.jsonl": "line 2",
        "broken.jsonl": "is not JSON",
        "sub/link.txt": "link out of the folder",
    }
    assert documents.skipped.keys() == reasons.keys()
    assert all(reason in documents.skipped[name] for name, reason in reasons.items())
