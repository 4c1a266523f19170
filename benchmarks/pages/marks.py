"""Documents of which a part is made by a program: it stands between two marks, which are comments in the text."""

from __future__ import annotations

from pathlib import Path


def filled(document: str, begin: str, end: str, content: str, name: str) -> str:
    """The document called `name` with other lines between its two marks."""
    before, found_begin, rest = document.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found_begin or not found_end:
        raise SystemExit(f"{name} needs the lines {begin} and {end}: what is made goes between them.")
    return f"{before}{begin}\n{content}{end}{after}"


def fill(page: Path, begin: str, end: str, content: str) -> None:
    """Write other lines between the two marks of a page."""
    page.write_text(filled(page.read_text(), begin, end, content, page.name))
