"""A part of the page: its text, and the pictures it shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.pages.charts import BarPanel, LinePanel, svg

PICTURES = "images/benchmarks"
"""Beside the page."""
NONE = "-"


@dataclass
class Section:
    """Text in order, and SVG by name."""

    title: str
    paragraphs: list[str] = field(default_factory=list)
    pictures: dict[str, str] = field(default_factory=dict)

    def add(self, paragraph: str) -> None:
        """Append some text."""
        self.paragraphs.append(paragraph)

    def add_table(self, header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> None:
        """Append a table; the first `left` columns are text."""
        self.add(table(header, rows, left=left))

    def add_picture(self, name: str, panels: Sequence[BarPanel | LinePanel], description: str) -> None:
        """Append a picture."""
        self.pictures[name] = svg(panels, description=description)
        self.add(f"![{description}]({PICTURES}/{name}.svg)")

    def text(self) -> str:
        """As Markdown."""
        return "\n\n".join([f"## {self.title}", *self.paragraphs]) + "\n"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """A table in Markdown."""
    rule = "|" + "---|" * left + "---:|" * (len(header) - left)
    lines = ["| " + " | ".join(row) + " |" for row in (header, *rows)]
    return "\n".join([lines[0], rule, *lines[1:]])


def number(value: float | None, digits: int = 0) -> str:
    """With thousands apart; a dash if there is none."""
    return NONE if value is None else f"{value:,.{digits}f}"


def rounded(rate: float | None) -> str:
    """A rate to three digits: more is chance."""
    return number(None if rate is None else float(f"{rate:.3g}"))


def heading(content: dict[str, Any]) -> str:
    """When, of what and on what something was measured."""
    machine = content["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in content["versions"].items())
    rounds = f"up to {content['rounds']} rounds" if content["rounds"] > 1 else "one round"
    # Of results that were added to: every time something was measured, for a row may be of any of them.
    parts = [*content.get("earlier", []), content]
    when = " and ".join(f"{part['date']} at commit {part['commit']}" for part in parts)
    return (
        f"Measured {when}, parallelism {content['parallelism']}, {rounds}, on "
        f"{machine['cores']} cores ({machine['cpu']}), {machine['memory_gb']} GB, {machine['system']}; {versions}."
    )
