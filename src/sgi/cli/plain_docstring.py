r"""Shows docstrings in a terminal: formulas in TeX become Unicode text, and markup is removed."""

from __future__ import annotations

import re
from typing import Final

_SYMBOLS: Final = {
    "alpha": "α",
    "beta": "β",
    "cap": "∩",
    "cdot": "·",
    "cup": "∪",
    "ge": "≥",
    "in": "∈",
    "lambda": "λ",
    "le": "≤",
    "mid": "|",
    "prod": "Π",
    "sigma": "σ",
    "sum": "Σ",
    "theta": "θ",
    "varepsilon": "ε",
}
_LOWER: Final = str.maketrans("0123456789-", "₀₁₂₃₄₅₆₇₈₉₋")
_UPPER: Final = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_SIZE: Final = re.compile(r"\\(?:Bigl?|Bigr|left|right)(?![A-Za-z])")
_SPACE: Final = re.compile(r"\\(?:[, ;]|quad(?![A-Za-z]))")
_TEXT: Final = re.compile(r"\\(?:text|mathrm|operatorname)\{([^{}]*)\}")
_SCRIPT: Final = re.compile(r"([_^])(?:\{([^{}]*)\}|(\d))")
_FRACTION: Final = re.compile(r"\\frac\{([^{}]*)\}\{([^{}]*)\}")
_COMMAND: Final = re.compile(r"\\([A-Za-z]+)(?=(\\?[A-Za-z])?)")
_INLINE: Final = re.compile(r":math:`([^`]*)`")
_ROLE: Final = re.compile(r":\w+:(?=`)")


def plain_docstring(docstring: str) -> str:
    r"""Return a docstring as text for a terminal, without its Python examples.

    >>> plain_docstring("A ratio.\n\n.. math:: a \\le b\n\nIt needs ``k``.\n\n>>> 1\n1")
    'A ratio.\n\n    a ≤ b\n\nIt needs `k`.'
    """
    parts = [part for part in re.split(r"\n\n(?!    )", docstring) if not part.startswith(">>>")]
    return "\n\n".join(map(_part, parts)).strip()


def _part(part: str) -> str:
    if part.startswith(".. math::"):
        return f"    {plain_formula(part.removeprefix('.. math::'))}"
    return _ROLE.sub("", _INLINE.sub(lambda match: plain_formula(match[1]), part)).replace("``", "`")


def plain_formula(tex: str) -> str:
    r"""Return a formula in the TeX of the docstrings as Unicode text.

    >>> plain_formula(r"\frac{1}{n} \sum_i \max(0, \cos\theta(q, c_i)) + 10^{-8}")
    '(1 / n) Σ_i max(0, cos θ(q, c_i)) + 10⁻⁸'
    >>> plain_formula(r"\frac{|\text{relevant} \cap \text{first } k|}{k}")
    '|relevant ∩ first k| / k'
    """
    text = _SPACE.sub(" ", _SIZE.sub("", tex)).replace(r"\{", "\0").replace(r"\}", "\1")
    before = ""
    while text != before:  # the innermost braces first
        before = text
        for pattern, replace in ((_TEXT, _inner), (_SCRIPT, _script), (_FRACTION, _fraction)):
            text = pattern.sub(replace, text)
    text = _COMMAND.sub(_symbol, text).replace("^*", "*").replace("\0", "{").replace("\1", "}")
    text = re.sub(r"\s+", " ", text).replace(" ,", ",").strip()
    whole = re.fullmatch(r"\(((?:[^()]|\([^()]*\))*)\)", text)
    return whole[1] if whole else text


def _inner(match: re.Match[str]) -> str:
    return match[1]


def _script(match: re.Match[str]) -> str:
    """Return digits as Unicode subscripts and superscripts, and other scripts in brackets."""
    words = match[2] or match[3]
    if re.fullmatch(r"-?\d+", words):
        return words.translate(_LOWER if match[1] == "_" else _UPPER)
    return f"{match[1]}({words})" if len(words) > 1 else match[1] + words


def _fraction(match: re.Match[str]) -> str:
    above, below = (_operand(part.strip()) for part in match.groups())
    return f"({above} / {below})"


def _operand(words: str) -> str:
    """Put brackets around a sum or a product."""
    closed = re.fullmatch(r"\|[^|]*\||\S*|\S+\([^()]*\)", words)
    return words if closed else f"({words})"


def _symbol(match: re.Match[str]) -> str:
    """Return the symbol of a command; a function has a space before its argument."""
    name = match[1]
    return _SYMBOLS.get(name) or (f"{name} " if match[2] else name)
