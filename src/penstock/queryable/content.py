"""What a replica's store says about the version that it holds: the job, its operators, what is described of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import QueryError
from penstock.queryable.json_values import ValueReader
from penstock.queryable.store import StoreView, part_prefix
from penstock.state.declarations import VALUE, SchemasByRole
from penstock.state.state_ids import STATE_KINDS, state_id
from penstock.state.stored_schemas import SCHEMA_ROW, role_of, split_schema_row

FORMAT = 1
"""Of what a store says about its version; a store of another format is filled anew."""

_META = b"\x00"


def parsed_content(data: bytes | None) -> dict[str, Any] | None:
    """What the bytes in a store say; None if there are none, or of another format."""
    content: dict[str, Any] | None = None if data is None else json.loads(data)
    return content if content is not None and content.get("format") == FORMAT else None


@dataclass(frozen=True)
class KeyedStateInfo:
    """A keyed state of an operator: its kind, the schemas that its rows may have, how long they live."""

    name: str
    kind: str
    schemas: SchemasByRole
    ttl_ms: int | None
    queryable_name: str | None

    @property
    def id(self) -> bytes:
        """The four bytes that stand for it in rows."""
        return state_id(self.name)


@dataclass(frozen=True)
class OperatorInfo:
    """An operator and where its rows are."""

    uid: str
    name: str
    kind: str
    index: int
    parallelism: int
    max_parallelism: int
    vertex: int
    described: dict[str, Any]

    @property
    def number(self) -> bytes:
        """The two bytes that tell its rows from those of others in the vertex."""
        return self.index.to_bytes(2, "big")

    def parts(self) -> list[bytes]:
        """The prefixes of the rows of its subtasks."""
        return [part_prefix(self.vertex, subtask) for subtask in range(self.parallelism)]


@dataclass
class VersionContent:
    """One version of a job, as a store holds it."""

    version: int
    sealed_ms: int
    job_id: str
    job_name: str
    operators: dict[str, OperatorInfo]
    _states: dict[str, dict[str, KeyedStateInfo]] = field(default_factory=dict)
    _readers: dict[tuple[str, str, bool], ValueReader] = field(default_factory=dict)

    @classmethod
    def of(cls, content: dict[str, Any]) -> VersionContent:
        """From what a store says."""
        found = (_operators(vertex, content) for vertex in content["plan"])
        operators = {each.uid: each for several in found for each in several}
        return cls(content["version"], content["sealed_ms"], content["job_id"], content["job_name"], operators)

    def states_of(self, operator: OperatorInfo, view: StoreView) -> dict[str, KeyedStateInfo]:
        """The keyed states of an operator, by name."""
        if operator.uid not in self._states:
            self._states[operator.uid] = _states(operator, view)
        return self._states[operator.uid]

    def values_of(self, operator: OperatorInfo, state: KeyedStateInfo, *, allows_pickles: bool) -> ValueReader:
        """What reads the values of a state."""
        place = operator.uid, state.name, allows_pickles
        if place not in self._readers:
            schemas = state.schemas.get(VALUE, [])
            self._readers[place] = ValueReader(state.name, schemas, allows_pickles=allows_pickles)
        return self._readers[place]

    def find_operator(self, name: str) -> OperatorInfo:
        """An operator by its uid, or by its name if only one has it."""
        if name in self.operators:
            return self.operators[name]
        named = [each for each in self.operators.values() if name in (each.name, _bare(each.name))]
        if len(named) == 1:
            return named[0]
        if named:
            uids = ", ".join(repr(each.uid) for each in named)
            raise QueryError(f"job {self.job_name!r} has several operators named {name!r}: ask by uid, one of {uids}")
        known = ", ".join(sorted(repr(each.uid) for each in self.operators.values())) or "none"
        raise QueryError(f"job {self.job_name!r} has no operator {name!r}: it has {known}", status=404)

    def find_state(self, operator: OperatorInfo, name: str, view: StoreView) -> KeyedStateInfo:
        """A keyed state of an operator."""
        states = self.states_of(operator, view)
        if name not in states:
            known = ", ".join(sorted(map(repr, states))) or "none yet"
            raise QueryError(f"operator {operator.uid!r} has no keyed state {name!r}: it has {known}", status=404)
        return states[name]

    def find_queryable(self, name: str, view: StoreView) -> tuple[OperatorInfo, KeyedStateInfo | None]:
        """A state by its queryable name; None for one that has no entry yet."""
        for operator in self.operators.values():
            state = operator.described.get("queryable", {}).get(name)
            if state is not None:
                return operator, self.states_of(operator, view).get(state)
        known = ", ".join(sorted(map(repr, self.queryable_names()))) or "none"
        raise QueryError(f"job {self.job_name!r} has no queryable state {name!r}: it has {known}", status=404)

    def queryable_names(self) -> list[str]:
        """All queryable names of the job."""
        return [name for each in self.operators.values() for name in each.described.get("queryable", {})]


def _bare(name: str) -> str:
    return name.removeprefix("Sink: ").removeprefix("Source: ")


def _operators(vertex: dict[str, Any], content: dict[str, Any]) -> Iterator[OperatorInfo]:
    number = content["vertices"][vertex["uid"]]
    for index, each in enumerate(vertex["operators"]):
        yield OperatorInfo(
            uid=each["uid"],
            name=each["name"],
            kind=each["kind"],
            index=index,
            parallelism=vertex["parallelism"],
            max_parallelism=vertex["max_parallelism"],
            vertex=number,
            described=content["described"].get(each["uid"], {}),
        )


def _states(operator: OperatorInfo, view: StoreView) -> dict[str, KeyedStateInfo]:
    """Found in the rows that say which states there are, of all subtasks."""
    kinds: dict[str, str] = {}
    schemas: dict[str, SchemasByRole] = {}
    for part in operator.parts():
        states = part + _META + operator.number + b"s"
        for row, value in view.scan(states):
            kinds[row[len(states) :].decode("utf-8", "surrogatepass")] = STATE_KINDS[value[0]]
        written = part + _META + operator.number + SCHEMA_ROW
        for row, text in view.scan(written):
            head, name = split_schema_row(row[len(written) :])
            known = schemas.setdefault(name, {}).setdefault(role_of(head), [])
            schema = json.loads(text)
            known += [schema] if schema not in known else []
    lives, names = operator.described.get("ttl", {}), operator.described.get("queryable", {})
    by_state = {state: name for name, state in names.items()}
    return {
        name: KeyedStateInfo(name, kind, schemas.get(name, {}), lives.get(name), by_state.get(name))
        for name, kind in kinds.items()
    }
