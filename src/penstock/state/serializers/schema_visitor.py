"""One walk over the schema of a state's type, for everything that is made from its parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from penstock.state.serializers.schemas import Schema

R = TypeVar("R")


class SchemaVisitor(ABC, Generic[R]):
    """Makes something of a schema from the inside out: parts first, then what holds them.

    Subclass it, and call `visit`. Schemas are described in `penstock.state.serializers.schemas`.
    """

    def visit(self, schema: Schema) -> R:
        """Return what is made of the schema."""
        kind = schema["type"]
        if kind == "LIST":
            return self.of_list(schema, self.visit(schema["element"]))
        if kind == "MAP":
            return self.of_map(schema, self.visit(schema["key"]), self.visit(schema["value"]))
        if kind in ("TUPLE", "ROW", "RECORD"):
            return self.of_fields(schema, [(name, self.visit(part)) for name, part in fields_of(schema)])
        return self.of_simple(schema, kind)

    @abstractmethod
    def of_simple(self, schema: Schema, kind: str) -> R:
        """Return what is made of a type without parts: a basic one, BYTES, AVRO or PICKLE."""

    @abstractmethod
    def of_list(self, schema: Schema, element: R) -> R:
        """Return what is made of a list."""

    @abstractmethod
    def of_map(self, schema: Schema, key: R, value: R) -> R:
        """Return what is made of a map."""

    @abstractmethod
    def of_fields(self, schema: Schema, fields: list[tuple[str, R]]) -> R:
        """Return what is made of fields in their order, with their names: f0, f1, ... where they have none."""


def fields_of(schema: Schema) -> list[tuple[str, Any]]:
    """Return names and schemas of the fields of a TUPLE, ROW or RECORD."""
    if schema["type"] == "RECORD":
        return [(field["name"], field["type"]) for field in schema["fields"]]
    return [(f"f{at}", part) for at, part in enumerate(schema["fields"])]
