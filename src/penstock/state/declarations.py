"""What a program declares of a state, and what its rows were written with.

Plain enough to be sent around, so that a job can be refused before it starts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from penstock.errors import StateError
from penstock.state.serializers import Schema, StateSerializer, incompatibility, layout_of, serializer_for
from penstock.state.serializers.descriptions import pickled_parts
from penstock.state.serializers.schemas import PICKLE
from penstock.state.ttl import time_to_live_of

VALUE, MAP_KEY = "value", "map_key"
"""Roles of schemas: that of a state's values, and that of the keys of a map."""

SchemasByRole = dict[str, list[Schema]]
"""Schemas that rows of a state may have, by role; a role without one was always pickled."""


@dataclass(frozen=True)
class StateDeclaration:
    """Kind and schemas of a state as the program asks for it."""

    kind: str
    value: Schema
    map_key: Schema | None = None

    def pickled(self) -> list[str]:
        """Return the parts that are pickled, by their path; an empty one is the whole value."""
        # Keys of maps have bytes of their own: they are pickled only where these would lose their type.
        return pickled_parts(self.value)


Declared = dict[str, dict[str, StateDeclaration]]
"""What a job's functions ask for, by operator uid and state name."""


def merged(found: Iterable[dict[str, SchemasByRole]]) -> dict[str, SchemasByRole]:
    """Return the schemas that several subtasks have, by state, each once."""
    states: dict[str, SchemasByRole] = {}
    for each in found:
        for name, written in each.items():
            for role, schemas in written.items():
                known = states.setdefault(name, {}).setdefault(role, [])
                known += [schema for schema in schemas if schema not in known]
    return states


def refusal(written: SchemasByRole, wanted: StateDeclaration) -> str | None:
    """Return why rows of a state cannot be read as it is declared now, in words; None if they can be."""
    for schema in written.get(VALUE, ()):
        reason = incompatibility(schema, wanted.value)
        if reason is not None:
            return reason
    for schema in written.get(MAP_KEY, ()) if wanted.map_key is not None else ():
        reason = key_incompatibility(schema, wanted.map_key or PICKLE)
        if reason is not None:
            return reason
    return None


def key_incompatibility(written: Schema, wanted: Schema) -> str | None:
    """Return why the keys of a map cannot be read as another type: only numbers may become wider, rows go by them."""
    if layout_of(written) == layout_of(wanted):
        return None
    reason = incompatibility(written, wanted)
    if reason is None and "fields" in written:
        reason = "it has different fields than before"
    return None if reason is None else f"as for the key of the map, {reason}"


def serializers_of(descriptor: Any, kind: str) -> dict[str, StateSerializer]:
    """Return the serializers of a state by role: of its values and, for a map, of its keys."""
    name = descriptor.get_name()
    if kind == "map":
        key, value = getattr(descriptor, "key_type_info", None), getattr(descriptor, "value_type_info", None)
        return {VALUE: serializer_for(value, name), MAP_KEY: serializer_for(key, name)}
    type_info = getattr(descriptor, "type_info", None)
    if kind == "list" and serializer_for(getattr(descriptor, "elem_type_info", None), name).is_pickle:
        type_info = None
    return {VALUE: serializer_for(type_info, name)}


def describe_state(descriptor: Any, described: dict[str, dict[str, Any]]) -> None:
    """Note what readers from outside have to know of a state: its queryable name, and how long values are shown."""
    state, queryable = descriptor.get_name(), getattr(descriptor, "queryable_name", None)
    if queryable is not None:
        names = described.setdefault("queryable", {})
        if names.setdefault(queryable, state) != state:
            raise StateError(
                f"States {names[queryable]!r} and {state!r} both have the queryable name {queryable!r}: give one of "
                "them another name."
            )
    life = time_to_live_of(descriptor)
    if life is not None and not life.returns_expired:
        described.setdefault("ttl", {})[state] = life.millis
