"""Avro's rules of schema resolution, asked before anything is read."""

from __future__ import annotations

import json
from typing import Any

_PROMOTIONS = {
    "int": {"long", "float", "double"},
    "long": {"float", "double"},
    "float": {"double"},
    "string": {"bytes"},
    "bytes": {"string"},
}
# Logical types whose values are the same in Python.
_CONVERTED = {frozenset({f"{kind}-millis", f"{kind}-micros"}) for kind in ("time", "timestamp", "local-timestamp")}
_NAMED = frozenset({"record", "error", "enum", "fixed"})


def avro_incompatibility(written: str, wanted: str, what: str) -> str | None:
    """Return why data of one schema cannot be read by another; None if they can be."""
    old, new = json.loads(written), json.loads(wanted)
    names: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    for schema, found in zip((old, new), names, strict=True):
        _collect(schema, "", found)
    return _Comparison(*names).reason(old, new, what)


def _collect(schema: Any, space: str, found: dict[str, Any]) -> None:
    """Note named types by their full and their short names."""
    if isinstance(schema, list):
        for each in schema:
            _collect(each, space, found)
    elif isinstance(schema, dict):
        kind = schema.get("type")
        if kind in _NAMED:
            space = schema.get("namespace", schema["name"].rpartition(".")[0] or space)
            short = _short(schema["name"])
            found[short] = schema
            found[f"{space}.{short}" if space else short] = schema
            for field in schema.get("fields", ()):
                _collect(field["type"], space, found)
        else:
            for key in ("type", "items", "values"):
                if isinstance(schema.get(key), (dict, list)):
                    _collect(schema[key], space, found)


def _short(name: str) -> str:
    return name.rpartition(".")[2]


class _Comparison:
    """Two schemas with their named types; pairs under comparison are taken as fine, so that recursion ends."""

    def __init__(self, old_names: dict[str, Any], new_names: dict[str, Any]) -> None:
        self._old_names = old_names
        self._new_names = new_names
        self._open: set[tuple[str, str]] = set()

    def reason(self, old: Any, new: Any, what: str) -> str | None:
        old, new = _resolved(old, self._old_names), _resolved(new, self._new_names)
        if isinstance(old, list):
            reasons = (self.reason(branch, new, what) for branch in old)
            return next(filter(None, reasons), None)
        if isinstance(new, list):
            if any(self.reason(old, branch, what) is None for branch in new):
                return None
            return f"{what} was {_name(old)} and is one of {', '.join(map(_name, new))} now"
        before, after = _kind(old), _kind(new)
        meanings = _meaning(old), _meaning(new)
        if meanings[0] and meanings[0] != meanings[1] and frozenset(meanings) not in _CONVERTED:
            return f"{what} was {meanings[0]} and is {meanings[1] or _name(new)} now: keep its logicalType"
        if before != after:
            return None if after in _PROMOTIONS.get(before, ()) else f"{what} was {_name(old)} and is {_name(new)} now"
        if before == "array":
            return self.reason(old["items"], new["items"], f"an element of {what}")
        if before == "map":
            return self.reason(old["values"], new["values"], f"a value of {what}")
        return self._named_reason(before, old, new, what) if before in _NAMED else None

    def _named_reason(self, kind: str, old: Any, new: Any, what: str) -> str | None:
        names = {_short(each) for each in (new["name"], *new.get("aliases", ()))}
        if _short(old["name"]) not in names:
            return f"{what} was {kind} {old['name']} and is {new['name']} now: name the old one in its aliases"
        if kind == "fixed":
            sizes = old["size"], new["size"]
            return None if sizes[0] == sizes[1] else f"{what} had {sizes[0]} bytes and has {sizes[1]} now"
        if kind == "enum":
            gone = sorted(set(old["symbols"]) - set(new["symbols"]))
            if not gone or "default" in new:
                return None
            return f"{what} had the symbols {', '.join(gone)}, which are gone: give the enum a default"
        pair = old["name"], new["name"]
        if pair in self._open:
            return None
        self._open.add(pair)
        return self._fields_reason(old, new, what)

    def _fields_reason(self, old: Any, new: Any, what: str) -> str | None:
        before = {field["name"]: field for field in old["fields"]}
        for field in new["fields"]:
            names = (field["name"], *field.get("aliases", ()))
            source = next((before[name] for name in names if name in before), None)
            part = f"field {field['name']!r}{'' if what == 'it' else f' of {what}'}"
            if source is None:
                if "default" not in field:
                    return f"{part} is new and has no default: give it one, or name its old name in its aliases"
                continue
            reason = self.reason(source["type"], field["type"], part)
            if reason is not None:
                return reason
        return None


def _resolved(schema: Any, names: dict[str, Any]) -> Any:
    if isinstance(schema, str):
        return names.get(schema, names.get(_short(schema), schema))
    # {"type": "int"} and {"type": {"type": "record", ...}} say what their type says.
    if isinstance(schema, dict) and schema.get("type") not in _NAMED and not isinstance(schema.get("type"), str):
        return _resolved(schema["type"], names)
    return schema


def _kind(schema: Any) -> str:
    return str(schema["type"] if isinstance(schema, dict) else schema)


def _meaning(schema: Any) -> str:
    """What a value stands for beyond its type: numbers of another scale are other numbers."""
    found = str(schema.get("logicalType", "")) if isinstance(schema, dict) else ""
    return f"decimal of scale {schema.get('scale', 0)}" if found == "decimal" else found


def _name(schema: Any) -> str:
    if isinstance(schema, list):
        return " or ".join(map(_name, schema))
    return str(schema.get("name", schema["type"])) if isinstance(schema, dict) else str(schema)
