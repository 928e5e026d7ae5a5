"""Finds footnote definitions and lists of sources at the end of a text."""

from __future__ import annotations

import re

_DEFINITION = re.compile(r"^[ \t]{0,3}\[\^?[^\[\]\n]{1,40}\]:[^\n]*", re.MULTILINE)
_HEADING = re.compile(
    r"^[#*_ \t]{0,6}(?:references|sources|citations|bibliography|footnotes|works cited|sources cited)"
    r"[*_ \t]{0,4}:?[*_ \t]{0,4}$",
    re.IGNORECASE | re.MULTILINE,
)
_ENTRY = re.compile(
    "[ \t]{0,3}(?:[-*•][ \t])?"
    "(?:[\\[【(]\\^?(\\d{1,3})[\\]】)]|(\\d{1,3})[.)](?=\\s)|([¹²³⁴⁵⁶⁷⁸⁹⁰]{1,3}))[ \t]*\\S"
)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


def footnote_spans(text: str) -> list[tuple[int, int]]:
    r"""Return the spans of footnote definitions and of a final list of sources, in order.

    A definition is a line ``[1]: text``. A final list has a heading such as "Sources:", or follows a blank
    line; all its lines begin with a number, and without a heading the numbers increase.

    >>> text = "It is tall [1].\n\nSources:\n[1] A page about towers"
    >>> [text[start:end] for start, end in footnote_spans(text)]
    ['Sources:\n[1] A page about towers']
    """
    if "\n" not in text and not text.lstrip().startswith("["):
        return []
    spans = [match.span() for match in _DEFINITION.finditer(text)]
    final = _final_list(text)
    if final is not None and final < len(text):
        spans = [span for span in spans if span[0] < final]
        spans.append((final, len(text)))
    return spans


def _final_list(text: str) -> int | None:
    """Return where the final list of sources begins; None if there is none."""
    headings = [match.span() for match in _HEADING.finditer(text)]
    if headings:
        start, end = headings[-1]
        lines = [line for line in text[end:].splitlines() if line.strip()]
        if lines and all(_ENTRY.match(line) for line in lines):
            return start
    start = text.rstrip().rfind("\n\n")
    if start < 1 or not text[:start].strip():
        return None
    matches = [_ENTRY.match(line) for line in text[start:].strip().splitlines() if line.strip()]
    numbers = [int(_number(match)) for match in matches if match is not None and not match[2]]
    increasing = numbers == sorted(set(numbers))
    if numbers and len(numbers) == len(matches) and increasing and _is_cited(text[:start], numbers):
        return start + 2
    return None


def _number(match: re.Match[str]) -> str:
    return next(group for group in match.groups() if group).translate(_SUPERSCRIPTS)


def _is_cited(text: str, numbers: list[int]) -> bool:
    """Return whether a text before a list has one of its numbers as a marker."""
    superscript = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
    forms = ("[{}]", "[^{}]", "【{}】", "[{},", ", {}]")
    return any(form.format(number) in text for number in numbers[:50] for form in forms) or any(
        str(number).translate(superscript) in text for number in numbers[:50]
    )
