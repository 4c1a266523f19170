"""Schemas in words, for messages: what a type is, and which parts of it are pickled."""

from __future__ import annotations

from penstock.state.serializers.schema_visitor import SchemaVisitor
from penstock.state.serializers.schemas import Schema


def described(schema: Schema) -> str:
    """Return a schema as a message shows it: like the type that it was made of."""
    return _Description().visit(schema)


def pickled_parts(schema: Schema) -> list[str]:
    """Return which parts of a schema are pickled, by their path; an empty path is the whole."""
    return _PickledParts().visit(schema)


class _Description(SchemaVisitor[str]):
    def of_simple(self, schema: Schema, kind: str) -> str:
        return "an object that is pickled" if kind == "PICKLE" else kind

    def of_list(self, schema: Schema, element: str) -> str:
        return f"LIST({element})"

    def of_map(self, schema: Schema, key: str, value: str) -> str:
        return f"MAP({key}, {value})"

    def of_fields(self, schema: Schema, fields: list[tuple[str, str]]) -> str:
        if schema["type"] != "RECORD":
            return f"{schema['type']}({', '.join(part for _, part in fields)})"
        name = schema.get("class", "ROW").rpartition(".")[2]
        return f"{name}({', '.join(f'{field}: {part}' for field, part in fields)})"


class _PickledParts(SchemaVisitor[list[str]]):
    def of_simple(self, schema: Schema, kind: str) -> list[str]:
        return [""] if kind == "PICKLE" else []

    def of_list(self, schema: Schema, element: list[str]) -> list[str]:
        return [f"[]{path}" for path in element]

    def of_map(self, schema: Schema, key: list[str], value: list[str]) -> list[str]:
        return [*(f".key{path}" for path in key), *(f"[]{path}" for path in value)]

    def of_fields(self, schema: Schema, fields: list[tuple[str, list[str]]]) -> list[str]:
        return [f".{name}{path}" for name, paths in fields for path in paths]
