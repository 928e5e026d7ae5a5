"""Read Markdown, HTML, plain text, PDF and JSON Lines into passages; nothing in a document is executed."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import count
from typing import TYPE_CHECKING, Any

import orjson

from sgi.io.json_values import id_of
from sgi.io.text_file import broken_text, numbered_lines, open_bytes
from sgi.kernel.errors import DataError, require_extra
from sgi.kernel.input_limits import how_to_raise, input_limits, size_text
from sgi_quiz.passages import Passage, squeezed, text_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from markdown_it.token import Token

_TEXT_KEYS = ("text", "content", "page_content", "passage", "chunk", "document", "body", "context")
_ID_KEYS = ("id", "id_", "_id", "doc_id", "document_id", "chunk_id", "passage_id")
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_FIRST_LINE = re.compile(r"([^\n.!?]{1,100})\n\s*\n(?=\S)")
"""A line above a text that is its title."""
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?([\w-]{1,40})", re.IGNORECASE)
_HEAD = 4096
_MARKDOWN_BLOCKS = {
    f"{name}_open" for name in ("paragraph", "table", "bullet_list", "ordered_list", "blockquote")
}


class _Headings:
    """The headings above a place in a document, the outermost first."""

    def __init__(self) -> None:
        self._levels: list[tuple[int, str]] = []
        self._is_open = False

    def enter(self, level: int, title: str) -> None:
        self._levels = [one for one in self._levels if one[0] < level] + [(level, title.replace("`", ""))]
        self._is_open = True

    def opens(self) -> bool:
        """Return whether the next block is the first below a heading."""
        was_open, self._is_open = self._is_open, False
        return was_open

    def titles(self) -> tuple[str, ...]:
        return tuple(title for _, title in self._levels)


def read_passages(path: Path, name: str, encoding: str | None = None) -> Iterator[Passage]:
    """Yield the passages of a file, by its suffix.

    Raises DataError with the reason if the file cannot be read, MissingExtraError for PDF without pypdf.
    """
    yield from READERS[path.suffix.casefold()](path, name, encoding)


def _whole_text(path: Path, name: str, encoding: str | None) -> str:
    _check_size(path, name)
    with open_bytes(path) as stream:
        lines = b"".join(line for _, line in numbered_lines(stream, name, encoding))
    if problem := broken_text(lines):
        raise DataError(f"{problem}; name its --encoding", file=name)
    return lines.decode("utf-8", "replace").replace("\r\n", "\n")


def _check_size(path: Path, name: str) -> None:
    size, most = path.stat().st_size, input_limits().file
    if size > most:
        message = f"the file has {size_text(size)}, more than {size_text(most)}"
        raise DataError(message, file=name, hint=how_to_raise("file"))


def _read_text(path: Path, name: str, encoding: str | None) -> Iterator[Passage]:
    for number, part in enumerate(text_parts(_whole_text(path, name, encoding))):
        yield Passage(name, number, part, squeezed(part))


def _read_markdown(path: Path, name: str, encoding: str | None) -> Iterator[Passage]:
    with require_extra("Reading Markdown", "quiz"):
        from markdown_it import MarkdownIt

    text = _whole_text(path, name, encoding)
    front = _FRONT_MATTER.match(text)
    text = text[front.end() :] if front else text
    lines = text.splitlines(keepends=True)
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    headings = _Headings()
    numbers = count()
    at = 0
    while at < len(tokens):
        token = tokens[at]
        end = _end_of(tokens, at)
        if token.type == "heading_open":
            headings.enter(int(token.tag[1]), _inline(tokens[at + 1]))
        elif token.map and token.type in _MARKDOWN_BLOCKS:
            raw = "".join(lines[slice(*token.map)]).strip()
            inside = tokens[at : end + 1]
            plain = " ".join(_inline(one) for one in inside if one.type == "inline")
            cells = _cells(inside) if token.type == "table_open" else ()
            steps = _items(inside) if token.type == "ordered_list_open" else ()
            items = _items(inside) if token.type == "bullet_list_open" else ()
            above = headings.titles(), cells, steps, items, headings.opens()
            yield Passage(name, next(numbers), raw, plain, *above)
        elif token.type in {"fence", "code_block", "html_block"}:
            headings.opens()
            text = squeezed(token.content)
            yield Passage(name, next(numbers), token.content, text, headings.titles(), is_code=True)
        at = end + 1


def _end_of(tokens: Sequence[Token], start: int) -> int:
    depth = 0
    for at in range(start, len(tokens)):
        depth += tokens[at].nesting
        if depth == 0:
            return at
    return len(tokens) - 1


def _inline(token: Token) -> str:
    """Return the text of an inline token without markup; code stays between backticks."""
    forms = {"text": "{}", "code_inline": "`{}`", "softbreak": " ", "hardbreak": " "}
    return squeezed("".join(forms.get(one.type, "").format(one.content) for one in token.children or ()))


def _cells(tokens: Sequence[Token]) -> tuple[tuple[str, ...], ...]:
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(_inline(token).replace("`", ""))
    return tuple(map(tuple, rows))


def _items(tokens: Sequence[Token]) -> tuple[str, ...]:
    items: list[str] = []
    for token in tokens:
        if token.type == "list_item_open" and token.level == 1:
            items.append("")
        elif token.type == "inline" and not items[-1]:
            items[-1] = _inline(token)
    return tuple(items)


@dataclass
class _Block:
    tag: str
    parts: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)


_ITEM = "\0"
"""Begins an item of a list of HTML."""


class _Html(HTMLParser):
    """Collects headings, paragraphs, lists and tables; scripts, styles and navigation are left out."""

    IGNORED = frozenset({"script", "style", "nav", "footer", "template", "noscript", "svg", "form", "head"})
    BLOCKS = frozenset({"p", "ul", "ol", "dd", "dt", "blockquote", "pre", "table", "summary", "td", "div",
                        "section", "article", "main", "body",
                        *(f"h{level}" for level in range(1, 7))})  # fmt: skip

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[_Block] = [_Block("body")]
        self._ignored: list[str] = []
        self._table: _Block | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        """Open a block."""
        if tag in self.IGNORED:
            self._ignored.append(tag)
        elif self._ignored:
            return
        elif tag == "table":
            self._table = _Block("table")
            self.blocks.append(self._table)
        elif self._table is not None:
            self._open_cell(self._table.rows, tag)
        elif tag == "li":
            self.blocks[-1].parts.append(_ITEM)
        elif tag == "code":
            self.handle_data("`")
        elif tag in self.BLOCKS:
            self.blocks.append(_Block(tag))

    def _open_cell(self, rows: list[list[str]], tag: str) -> None:
        if tag == "tr":
            rows.append([])
        elif tag in {"td", "th"} and rows:
            rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        """Close a block."""
        if tag in self.IGNORED and tag in self._ignored:
            del self._ignored[self._ignored.index(tag) :]
        elif tag == "table" and self._table is not None:
            self._table = None
            self.blocks.append(_Block("body"))
        elif tag == "code" and not self._ignored and self._table is None:
            self.handle_data("`")
        elif tag in self.BLOCKS and not self._ignored and self._table is None:
            self.blocks.append(_Block("body"))

    def handle_data(self, data: str) -> None:
        """Append text to the open block or cell."""
        if self._ignored:
            return
        if self._table is None:
            self.blocks[-1].parts.append(data.replace(_ITEM, " "))
        elif self._table.rows and self._table.rows[-1]:
            self._table.rows[-1][-1] += data


def _read_html(path: Path, name: str, encoding: str | None) -> Iterator[Passage]:
    """Yield the passages of a page; their source text is the text of the page, one block a paragraph."""
    if encoding is None:
        with open_bytes(path) as stream:
            declared = _CHARSET.search(stream.read(_HEAD))
        encoding = declared[1].decode("ascii") if declared else None
    parser = _Html()
    try:
        parser.feed(_whole_text(path, name, encoding))
    except LookupError:
        raise DataError(f"unknown encoding {encoding!r}; name its --encoding", file=name) from None
    headings = _Headings()
    numbers = count()
    for block in parser.blocks:
        rows = tuple(tuple(squeezed(cell) for cell in row) for row in block.rows if any(row))
        lines = tuple(filter(None, map(squeezed, "".join(block.parts).split(_ITEM))))
        text = "\n".join(" | ".join(row) for row in rows) if rows else squeezed("\n".join(lines))
        if not text:
            continue
        level = int(block.tag[1]) if re.fullmatch(r"h\d", block.tag) else 7 * (block.tag in {"dt", "summary"})
        if level:
            headings.enter(level, text)
        else:
            yield Passage(
                name,
                next(numbers),
                text.replace("`", ""),
                text,
                headings.titles(),
                cells=rows,
                steps=lines if block.tag == "ol" else (),
                items=lines if block.tag == "ul" else (),
                is_first=headings.opens(),
                is_code=block.tag == "pre",
            )


def _read_pdf(path: Path, name: str, encoding: str | None) -> Iterator[Passage]:  # noqa: ARG001
    with require_extra("Reading PDF", "pdf"):
        import pypdf
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it warns of what the reason of the file says
    _check_size(path, name)
    numbers = count()
    try:
        document = pypdf.PdfReader(path)
        pages = () if document.is_encrypted else (page.extract_text() for page in document.pages)
        for part in (part for text in pages for part in text_parts(text)):
            yield Passage(name, next(numbers), part, squeezed(part))
    except Exception as error:  # pypdf raises many types for damaged files
        raise DataError(f"the PDF cannot be read: {error}"[:200], file=name) from error
    if document.is_encrypted:
        raise DataError("the PDF is encrypted", file=name, hint="Save it without a password.")
    if not next(numbers):
        raise DataError("the PDF has no text; it may be scanned", file=name)


def _read_json_lines(path: Path, name: str, encoding: str | None) -> Iterator[Passage]:
    with open_bytes(path) as stream:
        for number, (line, content) in enumerate(numbered_lines(stream, name, encoding)):
            if not content.strip():
                continue
            try:
                row: Any = orjson.loads(content)
            except orjson.JSONDecodeError as error:
                raise DataError(f"is not JSON: {error}", file=name, line=line) from None
            keys = [key for key in _TEXT_KEYS if isinstance(row, dict) and isinstance(row.get(key), str)]
            if not keys:
                raise DataError(f"expected one of the fields {', '.join(_TEXT_KEYS)}", file=name, line=line)
            found = next((row[key] for key in _ID_KEYS if row.get(key) is not None), None)
            text, title = row[keys[0]], row.get("title")
            first = _FIRST_LINE.match(text)
            if first and not (isinstance(title, str) and title):
                title = first[1].strip()
            yield Passage(
                name,
                number,
                text,
                squeezed(text[first.end() :] if first else text),
                (title.replace("_", " "),) if isinstance(title, str) and title else (),
                id=None if found is None else id_of(found, name, number, "id"),
            )


READERS: dict[str, Callable[[Path, str, str | None], Iterator[Passage]]] = {
    ".md": _read_markdown,
    ".markdown": _read_markdown,
    ".html": _read_html,
    ".htm": _read_html,
    ".txt": _read_text,
    ".text": _read_text,
    ".pdf": _read_pdf,
    ".jsonl": _read_json_lines,
}
"""The readers by suffix."""
