"""Shortens texts for messages."""


def shorten(text: str, longest: int = 60) -> str:
    """Truncate a text to at most ``longest`` characters, including the ellipsis.

    >>> shorten("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def quote(text: str, limit: int = 200) -> str:
    r"""Return the start of an untrusted text, on one line, without control characters and lone surrogates.

    The result is part of requests to judges, so a change makes their cached replies unusable.

    >>> quote("one\n\x1b[31mtwo")
    'one [31mtwo'
    """
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * limit]).split())
    return line if len(line) <= limit else f"{line[:limit]}…"
