"""One walk over a parsed Avro schema, for everything that is made from its parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

R = TypeVar("R")


class AvroVisitor(ABC, Generic[R]):
    """Makes something of an Avro schema from the inside out: parts first, then what holds them.

    Named types are made once, and found again where the schema only names them. Use a visitor for one schema.
    """

    def __init__(self) -> None:
        self._named: dict[str, R | None] = {}

    def visit(self, schema: Any) -> R:
        """Return what is made of a schema that fastavro has parsed."""
        if isinstance(schema, list):
            return self.visit(self.branch_of(schema))
        if isinstance(schema, str):
            return self._visit_name(schema)
        made = self.of_logical(schema) if "logicalType" in schema else None
        if made is None:
            made = self._visit_parts(schema)
        if "name" in schema:
            self._named[schema["name"]] = made
        return made

    def _visit_name(self, name: str) -> R:
        if name not in self._named:
            return self.of_simple(name)
        made = self._named[name]
        return self.of_itself(name) if made is None else made

    def _visit_parts(self, schema: Any) -> R:
        kind = schema["type"]
        if kind == "record":
            self._named[schema["name"]] = None  # until it is made
            return self.of_record(schema, [self.visit(field["type"]) for field in schema["fields"]])
        if kind == "array":
            return self.of_array(self.visit(schema["items"]))
        if kind == "map":
            return self.of_map(self.visit(schema["values"]))
        return self.of_fixed(schema) if kind == "fixed" else self.visit(kind)

    @abstractmethod
    def branch_of(self, union: list[Any]) -> Any:
        """Return the branch of a union that counts."""

    @abstractmethod
    def of_simple(self, name: str) -> R:
        """Return what is made of a primitive type, or of an enum."""

    @abstractmethod
    def of_fixed(self, schema: Any) -> R:
        """Return what is made of bytes of a fixed number."""

    @abstractmethod
    def of_array(self, items: R) -> R:
        """Return what is made of an array."""

    @abstractmethod
    def of_map(self, values: R) -> R:
        """Return what is made of a map, whose keys are strings."""

    @abstractmethod
    def of_record(self, schema: Any, fields: list[R]) -> R:
        """Return what is made of a record, of what was made of its fields."""

    @abstractmethod
    def of_itself(self, name: str) -> R:
        """Return what is made of a record where it holds itself."""

    def of_logical(self, schema: Any) -> R | None:
        """Return what is made of a logical type; None if it is taken for the type below it."""
        return None


def only_branch(union: list[Any]) -> Any:
    """Return the one branch of a union that is not null; raises ValueError if there are others."""
    others = [each for each in union if each != "null"]
    if len(others) != 1:
        raise ValueError(f"a column has one type, and may be null: {union}")
    return others[0]
