import doctest
import io

from rich.console import Console

import table
from harness import Figure


def render(*figures):
    console = Console(width=160, file=io.StringIO())
    table.show(figures, console)
    return console.file.getvalue()


def test_doctests():
    assert doctest.testmod(table).attempted > 0
    assert doctest.testmod(table).failed == 0


def test_a_row_has_all_values_of_a_figure():
    text = render(Figure("embed", "texts/s", 1234.5, 321.0, "peer", wanted=2.5, note="cosine 0.9999"))
    assert "embed [1]  1,234 texts/s  peer: 321" in text
    assert "3.85 ×  ≥ 2.5 ×  yes" in text
    assert "[1] cosine 0.9999" in text


def test_maximum_targets_and_missing_values():
    assert "≤ 2 ×  no" in render(
        Figure("pass", "s", 3.0, 1.0, "read", is_bound=True, wanted=2, higher_is_better=False)
    )
    assert "≤ 1,000 MB  yes" in render(Figure("memory", "MB", 999.0, wanted=1000, higher_is_better=False))
    text = render(Figure("rows", "rows/s", 5.0, None, "factlens", wanted=25, note="not installed"))
    assert "factlens: –" in text
    assert "not measured" in text
    assert "[1] not installed" in text
