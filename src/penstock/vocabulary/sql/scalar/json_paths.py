"""The paths of JSON functions, such as `lax $.a[0].b`, as Flink's library reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from penstock.errors import EvaluationError

__all__ = ["NotFound", "Path", "json_path"]

_STEP = re.compile(
    r"\.?\[\s*(?P<index>-?\d+)\s*\]|\.?\[\s*(?P<many>-?\d+(?:\s*,\s*-?\d+)+)\s*\]"
    r"|\.?\[\s*(?P<start>-?\d+)?:(?P<end>-?\d+)?\s*\]"
    r"|\.?\[\s*\*\s*\]|\.\*|(?P<deep>\.\.)(?P<deepkey>[^.\[\]*]+|\*)"
    r"|\.?\[\s*(?:'(?P<single>[^']*)'|\"(?P<double>[^\"]*)\")\s*\]|\.(?P<key>[^.\[\]*]+)"
)


class NotFound(Exception):
    """A step of a path leads nowhere."""


class Path:
    """A path: whether it is strict, whether it may give many values, and how it is followed."""

    def __init__(self, text: str) -> None:
        stripped = text.strip()
        mode = re.match(r"(?i)(lax|strict)\s+", stripped)
        # Without a word it is strict.
        self.is_strict = mode is None or mode[1].lower() == "strict"
        self.steps = tuple(_steps(stripped[mode.end() :] if mode else stripped, text))
        self.is_definite = all(kind in ("key", "index") for kind, _ in self.steps)

    def find(self, value: Any) -> list[Any]:
        """Return the values the path leads to."""
        found = [value]
        for kind, argument in self.steps:
            found = [each for one in found for each in _followed(kind, argument, one, self.is_definite)]
        return found


def _steps(text: str, whole: str) -> Iterator[tuple[str, Any]]:
    if not text.startswith("$"):
        raise EvaluationError(f"the JSON path {whole!r} must begin with $")
    at = 1
    while at < len(text):
        step = _STEP.match(text, at)
        if step is None:
            raise EvaluationError(f"the JSON path {whole!r} cannot be read from {text[at:]!r} on")
        at = step.end()
        yield _step(step)


def _step(step: re.Match[str]) -> tuple[str, Any]:
    groups = step.groupdict()
    if groups["index"] is not None:
        return "index", int(groups["index"])
    if groups["many"] is not None:
        return "many", [int(each) for each in groups["many"].split(",")]
    if groups["start"] is not None or groups["end"] is not None:
        return "slice", slice(*[None if groups[name] is None else int(groups[name]) for name in ("start", "end")])
    if groups["deep"]:
        return "deep", groups["deepkey"].strip()
    for name in ("single", "double", "key"):
        if groups[name] is not None:
            return "key", groups[name]
    return "all", None


def _followed(kind: str, argument: Any, value: Any, is_definite: bool) -> list[Any]:
    if kind == "key":
        if isinstance(value, dict) and argument in value:
            return [value[argument]]
    elif kind == "index":
        if isinstance(value, list) and -len(value) <= argument < len(value):
            return [value[argument]]
    elif kind == "all":
        return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    elif kind == "deep":
        return [each for each in _all_below(value, argument)]
    elif isinstance(value, list):
        return value[argument] if kind == "slice" else [value[at] for at in argument if -len(value) <= at < len(value)]
    if is_definite:
        raise NotFound
    return []


def _all_below(value: Any, key: str) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values() if key == "*" else [value[key]] if key in value else []
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in below:
        yield from _all_below(each, key)


@lru_cache(maxsize=1024)
def json_path(text: str) -> Path:
    """Return a path; each is read once."""
    return Path(text)
