"""The clauses of JSON functions, as `RETURNING INT NULL ON EMPTY`, that a query gives as a list of words."""

from __future__ import annotations

from typing import Any

from penstock.errors import FunctionError
from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.typed_expressions import TypedExpression

__all__ = ["prepared_exists", "prepared_nulls", "prepared_query", "prepared_value"]

Arguments = tuple[TypedExpression, ...]
Options = tuple[Any, ...]


def prepared_value(arguments: Arguments, options: Options) -> tuple[Arguments, Options]:
    """The type to return and what to do on empty and on error; defaults become arguments."""
    words, type_ = list(options), None
    if words[:1] == ["RETURNING"]:
        type_, words = words[1], words[2:]
    elif words and isinstance(words[0], LogicalType):
        return arguments, options  # They are in this form already.
    behaviours, defaults = _behaviours(words, "JSON_VALUE")
    kept = [defaults[place] for place in ("EMPTY", "ERROR") if place in defaults]
    return (*arguments, *kept), (type_, behaviours.get("EMPTY"), behaviours.get("ERROR"))


def prepared_query(arguments: Arguments, options: Options) -> tuple[Arguments, Options]:
    """The wrapper, and what to do on empty and on error."""
    words, wrapper = list(options), None
    if "RETURNING" in words:
        raise FunctionError("JSON_QUERY returns STRING here: leave out RETURNING, and cast")
    if "WRAPPER" in words:
        end = words.index("WRAPPER")
        before, words = words[:end], words[end + 1 :]
        wrapper = "WITHOUT" if "WITHOUT" in before else "CONDITIONAL" if "CONDITIONAL" in before else "UNCONDITIONAL"
    behaviours, _ = _behaviours(words, "JSON_QUERY")
    return arguments, (wrapper, behaviours.get("EMPTY"), behaviours.get("ERROR"))


def prepared_exists(arguments: Arguments, options: Options) -> tuple[Arguments, Options]:
    """What to do on error."""
    return arguments, options[:1]


def prepared_nulls(arguments: Arguments, options: Options) -> tuple[Arguments, Options]:
    """Whether NULLs are left out."""
    return arguments, options[:1]


def _behaviours(words: list[Any], name: str) -> tuple[dict[str, str], dict[str, TypedExpression]]:
    """By EMPTY and ERROR: the words before ON, and the default where there is one."""
    behaviours: dict[str, str] = {}
    defaults: dict[str, TypedExpression] = {}
    while words:
        if "ON" not in words[1:]:
            raise FunctionError(f"{name} has words that are no clause: {' '.join(map(str, words))}")
        at = words.index("ON", 1)
        place, said = words[at + 1], words[:at]
        if said[0] == "DEFAULT":
            defaults[place] = said[1]
            said = said[:1]
        behaviours[place] = " ".join(said)
        words = words[at + 2 :]
    return behaviours, defaults
