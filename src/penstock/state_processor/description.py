"""What a savepoint is said to hold, for people and programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.errors import CheckpointError
from penstock.savepoint.manifest import Manifest, OperatorRecord
from penstock.state.declarations import SchemasByRole


@dataclass(frozen=True)
class StateInfo:
    """A state: its name, its kind, and the schemas its rows may have (`value`, `map_key`); none if pickled."""

    name: str
    kind: str
    schemas: SchemasByRole = field(default_factory=dict)


@dataclass(frozen=True)
class OperatorInfo:
    """An operator: keyed states, state without a key, whether it has timers, and in how many key groups it is cut."""

    uid: str
    name: str
    parallelism: int
    max_parallelism: int
    states: list[StateInfo] = field(default_factory=list)
    operator_states: list[StateInfo] = field(default_factory=list)
    has_timers: bool = False


def record_of(manifest: Manifest, uid: str, place: str) -> OperatorRecord:
    """The record of an operator; an unknown uid is refused, naming the known ones."""
    found = manifest.operators.get(uid)
    if found is None:
        raise CheckpointError(f"{place} has no operator with uid {uid!r}: it has {listed(manifest.operators)}")
    return found


def listed(names: Any) -> str:
    """Names for a message."""
    return ", ".join(map(repr, sorted(names))) or "none"
