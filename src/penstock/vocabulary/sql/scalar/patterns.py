"""LIKE and SIMILAR TO: SQL's patterns as regular expressions."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from penstock.errors import EvaluationError
from penstock.vocabulary.sql.scalar.code import CodeWriter
from penstock.vocabulary.sql.scalar.kinds import BOOLEAN
from penstock.vocabulary.sql.scalar.parameters import A_STRING
from penstock.vocabulary.sql.scalar.registry import strict_function
from penstock.vocabulary.sql.typed_expressions import Call, Literal

__all__ = ["like_matcher"]


@lru_cache(maxsize=1024)
def like_matcher(pattern: str, escape: str | None = None) -> Callable[[str], bool]:
    """Return a predicate for strings that match a LIKE pattern: `%` is any text, `_` one character."""
    if escape is not None and len(escape) != 1:
        raise EvaluationError(f"the escape of LIKE must be one character, and is {escape!r}")
    parts = re.split(r"%", pattern)
    if escape is None and "_" not in pattern and len(parts) <= 3:
        simple = _simple(parts)
        if simple is not None:
            return simple
    found = re.compile(_like_source(pattern, escape), re.DOTALL).fullmatch
    return lambda text: found(text) is not None


def _simple(parts: list[str]) -> Callable[[str], bool] | None:
    if len(parts) == 1:
        return parts[0].__eq__
    if len(parts) == 2:
        start, end = parts
        if not end:
            return lambda text: text.startswith(start)
        if not start:
            return lambda text: text.endswith(end)
        return lambda text: len(text) >= len(start) + len(end) and text.startswith(start) and text.endswith(end)
    if not parts[0] and not parts[2]:
        middle = parts[1]
        return lambda text: middle in text
    return None


def _like_source(pattern: str, escape: str | None) -> str:
    source, at = [], 0
    while at < len(pattern):
        letter = pattern[at]
        if letter == escape:
            at += 1
            if at == len(pattern) or pattern[at] not in ("%", "_", escape):
                raise EvaluationError(
                    f"in the pattern {pattern!r} of LIKE, {escape!r} must stand before %, _ or itself"
                )
            source.append(re.escape(pattern[at]))
        else:
            source.append({"%": ".*", "_": "."}.get(letter) or re.escape(letter))
        at += 1
    return "".join(source)


@lru_cache(maxsize=1024)
def _similar_matcher(pattern: str, escape: str | None = None) -> Callable[[str], bool]:
    source = "".join(
        [{"%": ".*", "_": ".", ".": r"\.", "\\": r"\\", "^": r"\^", "$": r"\$"}.get(each, each) for each in pattern]
    )
    try:
        found = re.compile(source, re.DOTALL).fullmatch
    except re.error as error:
        raise EvaluationError(f"the pattern {pattern!r} of SIMILAR TO cannot be read: {error}") from None
    return lambda text: found(text) is not None


def _maker(matcher: Callable[..., Callable[[str], bool]]) -> Callable[[Call, CodeWriter], Callable[..., Any]]:
    def make(call: Call, writer: CodeWriter) -> Callable[..., Any]:
        constants = [each.value for each in call.arguments[1:] if isinstance(each, Literal)]
        if len(constants) == len(call.arguments) - 1 and None not in constants:
            matches = matcher(*constants)
            return lambda text, *_: matches(text)
        return lambda text, *pattern: matcher(*pattern)(text)

    return make


for _name, _matcher in (("LIKE", like_matcher), ("SIMILAR TO", _similar_matcher)):
    strict_function(_name, (A_STRING, A_STRING, A_STRING), BOOLEAN, make=_maker(_matcher), optional=1)
