"""Methods of `Expression` on texts of JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.table.data_type_texts import declared_type
from penstock.table.expression_methods.term import Term, call_node, term_of
from penstock.table.expression_units import (
    JsonExistsOnError,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
)
from penstock.table.types import DataType, DataTypes

if TYPE_CHECKING:
    from penstock.table.expression import Expression

__all__ = ["JsonMethods"]


class JsonMethods(Term):
    """Functions of JSON."""

    def is_json(self, json_type: JsonType | None = None) -> Expression:
        """Whether it is JSON, of a kind."""
        return self._call("IS_JSON", "IS JSON", options=() if json_type is None else (json_type.name,))

    def json_exists(self, path: str, on_error: JsonExistsOnError | None = None) -> Expression:
        """Whether there is something at a path."""
        return self._call("JSON_EXISTS", "JSON_EXISTS", path, options=() if on_error is None else (on_error.name,))

    def json_value(
        self,
        path: str,
        returning_type: DataType = DataTypes.STRING(),  # noqa: B008 (a constant)
        on_empty: JsonValueOnEmptyOrError = JsonValueOnEmptyOrError.NULL,
        default_on_empty: Any = None,
        on_error: JsonValueOnEmptyOrError = JsonValueOnEmptyOrError.NULL,
        default_on_error: Any = None,
    ) -> Expression:
        """The scalar at a path."""
        to = declared_type(returning_type)
        given = [(on_empty, term_of(default_on_empty)), (on_error, term_of(default_on_error))]
        defaults = [term._node for behaviour, term in given if behaviour is JsonValueOnEmptyOrError.DEFAULT]
        node = call_node(
            "JSON_VALUE", self._node, term_of(path)._node, *defaults, options=(to, on_empty.name, on_error.name)
        )
        shown = ", ".join(f"{behaviour.name}, {term._text}" for behaviour, term in given)
        return self._made(node, f"JSON_VALUE({self._text}, {term_of(path)._text}, {to}, {shown})")

    def json_query(
        self,
        path: str,
        wrapping_behavior: JsonQueryWrapper = JsonQueryWrapper.WITHOUT_ARRAY,
        on_empty: JsonQueryOnEmptyOrError = JsonQueryOnEmptyOrError.NULL,
        on_error: JsonQueryOnEmptyOrError = JsonQueryOnEmptyOrError.NULL,
    ) -> Expression:
        """The JSON at a path."""
        wrapper = [*wrapping_behavior.name.split("_"), "WRAPPER"]
        words = [*wrapper, *on_empty.name.split("_"), "ON", "EMPTY", *on_error.name.split("_"), "ON", "ERROR"]
        node = call_node("JSON_QUERY", self._node, term_of(path)._node, options=words)
        shown = f"STRING, {wrapping_behavior.name}, {on_empty.name}, {on_error.name}"
        return self._made(node, f"JSON_QUERY({self._text}, {term_of(path)._text}, {shown})")

    def json_quote(self) -> Expression:
        """The text as a text of JSON."""
        return self._call("JSON_QUOTE", "JSON_QUOTE")

    def json_unquote(self) -> Expression:
        """The text of a text of JSON."""
        return self._call("JSON_UNQUOTE", "JSON_UNQUOTE")
