"""Write the table of profiles in docs/entailment.md.

python scripts/make_entailment_page.py
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from page_parts import replace_parts

from sgi.kernel.entailment_profile import entailment_profiles
from sgi.reporting.table import Table

if TYPE_CHECKING:
    from sgi.kernel.entailment_profile import EntailmentProfile

PAGE = Path(__file__).parents[1] / "docs" / "entailment.md"
_COLUMNS = ("profile", "short name", "model", "size", "licence", "outputs", "input", "tokens", "runs with")


def profile_table() -> str:
    """Return the table of profiles as Markdown."""
    rows = [_cells(profile) for profile in entailment_profiles().values()]
    return Table(
        _COLUMNS, rows, left=[name for name in _COLUMNS if name not in {"size", "tokens"}]
    ).markdown()


def needs_list() -> str:
    """Return what the models with files of one's own need, and what no source confirmed, as a list."""
    lines = []
    for profile in entailment_profiles().values():
        unverified = f"Not verified: {profile.unverified}." if profile.unverified else ""
        facts = " ".join(filter(None, (profile.needs, unverified)))
        sources = ", ".join(f"<{source}>" for source in profile.sources)
        lines.append(f"* `{profile.name}`: {facts} Sources: {sources}".replace(":  S", ": S"))
    return "\n".join(lines)


def _cells(profile: EntailmentProfile) -> list[str]:
    form = (
        "pair" if not profile.template else "template, first token" if profile.answer_tokens else "template"
    )
    return [
        profile.name,
        profile.alias or "–",
        profile.model,
        "?" if profile.megabytes is None else f"{profile.megabytes:,} MB",
        profile.licence or "?",
        ", ".join(profile.labels),
        form,
        "–" if profile.limit is None else f"{profile.limit:,}",
        profile.runs,
    ]


def main() -> None:
    """Replace the computed parts of the page."""
    page = PAGE.read_text(encoding="utf-8")
    parts = {"profiles": profile_table(), "sources": needs_list()}
    PAGE.write_text(replace_parts(page, parts), encoding="utf-8")


if __name__ == "__main__":
    main()
