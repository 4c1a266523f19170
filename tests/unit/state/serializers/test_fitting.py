"""What a typed state keeps is what it would read back, and what a declared type makes of values everywhere else."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Row, Time, Types
from penstock.common.typeinfo import TypeInformation
from penstock.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from penstock.errors import StateError
from penstock.state.keyed import KeyedStateBackend
from penstock.state.memory_store import MemoryStore
from penstock.state.operator_state import OperatorBroadcastState, OperatorListState
from penstock.state.serializers import serializer_for
from penstock.state.serializers.fitting import fit_for
from tests.unit.common.declared_values import AS_PYFLINK, CUT_BY_PYFLINK, NAMED, NOON, ONLY_HERE, REFUSED, UTC_PLUS_2
from tests.unit.common.test_conversions import same

# State keeps the zone of a time, because the program compares it with others that have one.
ZONED = (Types.SQL_TIMESTAMP(), NOON.replace(tzinfo=UTC_PLUS_2), NOON.replace(tzinfo=UTC_PLUS_2))
TAKEN = [*AS_PYFLINK, *(each for each in ONLY_HERE if each[2] != NOON.replace(hour=10)), ZONED]
NOT_TAKEN = [*REFUSED, *((declared, value) for declared, value, _ in CUT_BY_PYFLINK)]


@pytest.mark.parametrize(("type_info", "value", "expected"), TAKEN, ids=repr)
def test_what_is_kept_is_what_is_read_back(type_info: TypeInformation, value: Any, expected: Any) -> None:
    fit, serializer = fit_for(type_info, "s"), serializer_for(type_info, "s")
    kept = value if fit is None else fit(value)
    assert same(kept, expected) and same(serializer.loads(serializer.dumps(value)), expected)
    assert fit is None or same(fit(kept), kept)


@pytest.mark.parametrize(("type_info", "value"), NOT_TAKEN, ids=repr)
def test_what_would_lose_something_or_is_another_thing_is_refused(type_info: TypeInformation, value: Any) -> None:
    fit = fit_for(type_info, "s")
    assert fit is not None
    for refuse in (fit, serializer_for(type_info, "s").dumps):
        with pytest.raises(StateError, match=r"State 's' is declared as .*, but was given another value"):
            refuse(value)


def test_pickled_parts_are_copied() -> None:
    thing = {1, 2}
    fit = fit_for(Types.TUPLE([Types.PICKLED_BYTE_ARRAY(), Types.DOUBLE()]), "s")
    assert fit is not None
    kept = fit((thing, 1))
    assert kept == (thing, 1.0) and kept[0] is not thing
    assert fit_for(None, "s") is None and fit_for(Types.PICKLED_BYTE_ARRAY(), "s") is None


@pytest.fixture(params=[False, True], ids=["plain", "with a time to live"])
def with_life(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def backend_and(descriptor: StateDescriptor, with_life: bool) -> KeyedStateBackend:
    if with_life:
        descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.days(1)).build())
    backend = KeyedStateBackend(128, clock=lambda: 1_000)
    backend.bind(MemoryStore(), 0)
    backend.set_key("k")
    return backend


TURNED, PLAIN, WANTED = Row(y=1, x="a"), Row("a", 1), Row(x="a", y=1)


def test_values(with_life: bool) -> None:
    descriptor = ValueStateDescriptor("s", NAMED)
    state = backend_and(descriptor, with_life).get_value_state(descriptor)
    for given in (TURNED, PLAIN):
        state.update(given)
        assert same(state.value(), WANTED)
    with pytest.raises(StateError, match=r"State 's' .* field 'y': expected INT, got str 'b'"):
        state.update(Row("a", "b"))
    state.update(None)
    assert state.value() is None


def test_lists(with_life: bool) -> None:
    descriptor = ListStateDescriptor("s", NAMED)
    state = backend_and(descriptor, with_life).get_list_state(descriptor)
    state.add(TURNED)
    state.add_all([PLAIN])
    assert same(state.get(), [WANTED] * 2)
    state.update([TURNED])
    assert same(state.get(), [WANTED])
    with pytest.raises(StateError, match="State 's'"):
        state.add(1)


def test_maps(with_life: bool) -> None:
    descriptor = MapStateDescriptor("s", NAMED, Types.FLOAT())
    state = backend_and(descriptor, with_life).get_map_state(descriptor)
    state.put(TURNED, 1.1)
    state[PLAIN] = 1
    assert same(list(state.items()), [(WANTED, 1.0)])
    assert state.get(TURNED) == state[PLAIN] == 1.0 and TURNED in state and state.contains(PLAIN)
    state.remove(PLAIN)
    assert state.is_empty()
    for wrong in (lambda: state.put(1, 1), lambda: state.get(1), lambda: state.put(PLAIN, "a")):
        with pytest.raises(StateError, match="State 's'"):
            wrong()


def test_reduced_values(with_life: bool) -> None:
    descriptor = ReducingStateDescriptor("s", lambda one, other: one + other, Types.DOUBLE())
    state = backend_and(descriptor, with_life).get_reducing_state(descriptor)
    state.add(1)
    assert same(state.get(), 1.0)
    state.add(2)
    assert same(state.get(), 3.0)


def test_state_without_a_key() -> None:
    listed = OperatorListState("s", "list", serializer_for(NAMED, "s"))
    listed.add(TURNED)
    listed.add_all([PLAIN])
    assert same(listed.get(), [WANTED] * 2)
    listed.update([PLAIN])
    assert same(listed.get(), [WANTED])
    broadcast = OperatorBroadcastState("s", serializer_for(Types.MAP(Types.STRING(), NAMED), "s"))
    broadcast.put("k", TURNED)
    assert same(broadcast.get("k"), WANTED)
    with pytest.raises(StateError, match="a value: expected ROW"):
        broadcast.put("k", 1)
