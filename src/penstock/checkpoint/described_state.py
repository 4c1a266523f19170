"""What a seal says about keyed state for readers outside of the job: types of keys, and queryable names."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from penstock.common.typeinfo import RecordTypeInfo, TypeInformation
from penstock.errors import QueryableNameError
from penstock.graph.nodes import Exchange
from penstock.graph.plan import JobPlan
from penstock.runtime.report import Described
from penstock.state.serializers.schemas import PICKLE, schema_of


def described_keys(plan: JobPlan) -> Described:
    """The types of the keys of each keyed operator, as far as the program declares them."""
    types = {
        edge.target: edge.partitioning.key_type
        for vertex in plan.vertices
        for edge in vertex.outputs
        if edge.partitioning.exchange is Exchange.KEYED and edge.partitioning.key_type is not None
    }
    return {
        chained.uid: _described_key(types[vertex.id])
        for vertex in plan.vertices
        if vertex.id in types
        for chained in vertex.operators
        if chained.operator.is_keyed
    }


def _described_key(key_type: TypeInformation) -> dict[str, object]:
    schema = schema_of(key_type)
    found: dict[str, object] = {} if schema == PICKLE else {"key": schema}
    if isinstance(key_type, RecordTypeInfo) and dataclasses.is_dataclass(key_type.record_class):
        cls = key_type.record_class
        compared = [field.name for field in dataclasses.fields(cls) if field.compare]
        found["key_class"] = [cls.__module__, cls.__qualname__, compared]
    return found


def merged_descriptions(reported: Described, keys: Described, names: Mapping[str, str]) -> Described:
    """What subtasks report with what the plan knows; a queryable name that two states have is refused.

    `names` are those of operators, by uid.
    """
    owners: dict[str, tuple[str, str]] = {}
    for uid, each in reported.items():
        for queryable, state in each.get("queryable", {}).items():
            owner = owners.setdefault(queryable, (uid, state))
            if owner != (uid, state):
                raise QueryableNameError(
                    f"queryable state {queryable!r} exists twice: it is state {owner[1]!r} of operator "
                    f"{names.get(owner[0], owner[0])!r} and state {state!r} of operator {names.get(uid, uid)!r}; give "
                    "one of them another name in set_queryable()"
                )
    uids = {**reported, **keys}
    return {uid: {**reported.get(uid, {}), **keys.get(uid, {})} for uid in uids}
