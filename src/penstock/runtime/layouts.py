"""How settings of an operator decide where its keyed state is and what it means: as plain data.

An operator whose settings do so (windows, intervals, field aggregates, patterns) says how in `layout()`: a dict of
numbers, texts, lists and dicts, fit for JSON. It is kept with the state. Before a job goes on from state that was
written under another layout, `layout_refusal(written)` says why it cannot be, or that it can; in its first batch
`adopt_layout(written)` then brings what is there into a layout that works, or goes on in the old one.
"""

from __future__ import annotations

from typing import Any

Layout = dict[str, Any]


def described(layout: Layout) -> str:
    """A layout in words, for messages: its settings by name."""
    return ", ".join(f"{name} {_told(value)}" for name, value in layout.items())


def _told(value: Any) -> str:
    if isinstance(value, dict):
        return f"({described(value)})"
    return value if isinstance(value, str) else repr(value)


def difference(written: Layout, now: Layout) -> str:
    """What differs, with what it was and what it is."""
    names = [name for name in {**written, **now} if written.get(name) != now.get(name)]
    was = described({name: written[name] for name in names if name in written})
    is_now = described({name: now[name] for name in names if name in now})
    return f"it was written with {was or 'less'}, but now has {is_now or 'less'}"
