"""Types as Flink writes them in compiled plans and resolved schemas."""

from __future__ import annotations

import re
from typing import Any

from penstock.vocabulary.sql.logical_types import Kind, LogicalType


def type_text(declared: LogicalType) -> str:
    """A type without its time attribute, lengths written out."""
    return _bare(declared) + ("" if declared.nullable else " NOT NULL")


def _bare(declared: LogicalType) -> str:
    if declared.kind is Kind.ROW:
        fields = zip(declared.names, declared.parts, strict=True)
        return "ROW<" + ", ".join(f"`{name}` {type_text(part)}" for name, part in fields) + ">"
    if declared.parts:
        return f"{declared.kind.value}<{', '.join(map(type_text, declared.parts))}>"
    if declared.kind is Kind.INTERVAL_MILLIS:
        return "INTERVAL DAY TO SECOND"
    if declared.kind is Kind.TIMESTAMP_LTZ:
        return f"TIMESTAMP({declared.precision}) WITH LOCAL TIME ZONE"
    parameters = f"({', '.join(map(str, declared.parameters))})" if declared.parameters else ""
    return declared.kind.value + parameters


def flink_row_types(output: Any) -> list[str] | None:
    """The types of the fields of a compiled row type, which is a text, or an object where it has time attributes."""
    if isinstance(output, dict):
        return [_field_type(each["fieldType"]) for each in output["fields"]]
    matched = re.fullmatch(r"ROW<(.*)>(?: NOT NULL)?", output, re.DOTALL)
    return None if matched is None else [_without_name(each) for each in _split(matched[1])]


def _field_type(field: Any) -> str:
    if isinstance(field, str):
        return field
    text = f"TIMESTAMP({field.get('precision', 3)})"
    text += " WITH LOCAL TIME ZONE" if "LOCAL" in field["type"] else ""
    return text if field.get("nullable", True) else f"{text} NOT NULL"


def _without_name(field: str) -> str:
    return re.sub(r"^`(?:[^`]|``)*` ", "", field.strip())


def _split(text: str) -> list[str]:
    """The parts of a text between commas that are in no brackets."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    return [*parts, text[start:]] if text else []
