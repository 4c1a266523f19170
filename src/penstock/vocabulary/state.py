"""State handles, descriptors and time to live."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic

from penstock.common.state_aliases import state_aliases
from penstock.common.state_type import StateType, checked_queryable_name, checked_state_type
from penstock.common.time import Duration, Time, to_millis
from penstock.common.type_variables import ACC, A, B, IN_contra, K, OUT_co, S_co, T, V
from penstock.common.typeinfo import Types
from penstock.errors import ConfigurationError
from penstock.vocabulary.commutativity import ReduceFunctionWrapper
from penstock.vocabulary.functions import AggregateFunction, ReduceFunction

__all__ = [
    "AggregatingState",
    "AggregatingStateDescriptor",
    "AppendingState",
    "BroadcastState",
    "ListState",
    "ListStateDescriptor",
    "MapState",
    "MapStateDescriptor",
    "MergingState",
    "OperatorStateStore",
    "ReadOnlyBroadcastState",
    "ReducingState",
    "ReducingStateDescriptor",
    "State",
    "StateDescriptor",
    "StateTtlConfig",
    "ValueState",
    "ValueStateDescriptor",
    "state_aliases",
]


class OperatorStateStore(ABC):
    """Gives access to state that belongs to a subtask, not to a key."""

    @abstractmethod
    def get_broadcast_state(self, state_descriptor: MapStateDescriptor[K, V]) -> BroadcastState[K, V]:
        """Return the broadcast state of that name."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor[T]) -> ListState[T]:
        """Return the list state with this name; its elements are redistributed when the parallelism changes."""

    @abstractmethod
    def get_union_list_state(self, state_descriptor: ListStateDescriptor[T]) -> ListState[T]:
        """Return the list of that name; every subtask gets all elements when the parallelism changes."""


class State(ABC):
    """Base class of state; keyed state is always that of the current key."""

    @abstractmethod
    def clear(self) -> None:
        """Clear the state."""


class ValueState(State, Generic[T]):
    """State of one value."""

    @abstractmethod
    def value(self) -> T | None:
        """Return the value, or None if there is none."""

    @abstractmethod
    def update(self, value: T) -> None:
        """Replace the value; None clears it."""


class AppendingState(State, Generic[IN_contra, OUT_co]):
    """State that elements are added to."""

    @abstractmethod
    def get(self) -> OUT_co | None:
        """Return the combined elements, or None if there are none."""

    @abstractmethod
    def add(self, value: IN_contra) -> None:
        """Add an element."""


class MergingState(AppendingState[IN_contra, OUT_co]):
    """Appending state that can be merged when windows merge."""


class ReducingState(MergingState[T, T]):
    """Keeps the elements reduced to one."""


class AggregatingState(MergingState[IN_contra, OUT_co]):
    """Keeps an accumulator of the elements."""


class ListState(MergingState[T, Iterable[T]]):
    """State of a list."""

    @abstractmethod
    def update(self, values: list[T]) -> None:
        """Replace the list."""

    @abstractmethod
    def add_all(self, values: list[T]) -> None:
        """Append all values."""

    def __iter__(self) -> Iterator[T]:
        return iter(self.get() or ())


class ReadOnlyBroadcastState(State, Generic[K, V]):
    """A map that is the same in all subtasks; read-only, for the side that is not broadcast."""

    @abstractmethod
    def get(self, key: K) -> V | None:
        """Return the value of a key, or None."""

    @abstractmethod
    def contains(self, key: K) -> bool:
        """Return whether the key has a value."""

    @abstractmethod
    def items(self) -> Iterable[tuple[K, V]]:
        """Return keys and values."""

    @abstractmethod
    def keys(self) -> Iterable[K]:
        """Return the keys."""

    @abstractmethod
    def values(self) -> Iterable[V]:
        """Return the values."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Return whether there is no entry."""

    def __getitem__(self, key: K) -> V | None:
        return self.get(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())


class BroadcastState(ReadOnlyBroadcastState[K, V]):
    """A map that is the same in all subtasks; for the broadcast side, which may change it."""

    @abstractmethod
    def put(self, key: K, value: V) -> None:
        """Set the value of a key."""

    @abstractmethod
    def put_all(self, dict_value: dict[K, V]) -> None:
        """Set several values."""

    @abstractmethod
    def remove(self, key: K) -> None:
        """Forget a key."""

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)


class MapState(State, Generic[K, V]):
    """State of a map, stored entry by entry."""

    @abstractmethod
    def get(self, key: K) -> V | None:
        """Return the value of a map key, or None."""

    @abstractmethod
    def put(self, key: K, value: V) -> None:
        """Set the value of a map key."""

    @abstractmethod
    def put_all(self, dict_value: dict[K, V]) -> None:
        """Set several values."""

    @abstractmethod
    def remove(self, key: K) -> None:
        """Forget a map key."""

    @abstractmethod
    def contains(self, key: K) -> bool:
        """Return whether the map key has a value."""

    @abstractmethod
    def items(self) -> Iterable[tuple[K, V]]:
        """Return map keys and values."""

    @abstractmethod
    def keys(self) -> Iterable[K]:
        """Return the map keys."""

    @abstractmethod
    def values(self) -> Iterable[V]:
        """Return the values."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Return whether there is no entry."""

    def __getitem__(self, key: K) -> V | None:
        return self.get(key)

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())


class StateDescriptor(ABC, Generic[S_co]):
    """Names a state and declares its type; `StateDescriptor[ValueState[int]]` gives a `ValueState[int]`.

    The type is one of `Types.*`, a dataclass or named tuple whose fields have type hints, or an `AvroSchema`. Without a
    type, values are pickled, and the classes in them must not change.
    """

    def __init__(self, name: str, type_info: StateType[Any] | None) -> None:
        if not isinstance(name, str) or not name:
            raise ValueError(f"a state needs a non-empty string as its name, got {name!r}")
        self.name = name
        self.type_info = checked_state_type(name, type_info)
        self.ttl_config: StateTtlConfig | None = None
        self.queryable_name: str | None = None

    def get_name(self) -> str:
        """Return the name, unique within the operator."""
        return self.name

    def enable_time_to_live(self, ttl_config: StateTtlConfig) -> None:
        """Let entries expire."""
        if not isinstance(ttl_config, StateTtlConfig):
            raise TypeError(f"state {self.name!r}: expected a StateTtlConfig, got {type(ttl_config).__name__}")
        self.ttl_config = ttl_config

    def set_queryable(self, queryable_state_name: str) -> None:
        """Let this state be asked for by a name of its own, from outside of the job; see docs/queryable_state.md.

        The name must be unique in the job. All keyed state can be queried by operator and state without it.
        """
        self.queryable_name = checked_queryable_name(queryable_state_name)

    def is_queryable(self) -> bool:
        """Whether the state has a queryable name."""
        return self.queryable_name is not None

    def get_queryable_state_name(self) -> str | None:
        """Return the queryable name, or None if there is none."""
        return self.queryable_name

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StateDescriptor):
            return NotImplemented
        return type(self) is type(other) and self.name == other.name

    def __hash__(self) -> int:
        return hash((type(self), self.name))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.type_info!r})"


class ValueStateDescriptor(StateDescriptor[ValueState[T]]):
    """Describes a `ValueState`.

    `ValueStateDescriptor("total", Types.LONG())` is a `ValueStateDescriptor[int]`, so `get_state` gives a
    `ValueState[int]`. Where the type does not say it, write `ValueStateDescriptor[set[str]]("seen")`.
    """

    def __init__(self, name: str, value_type_info: StateType[T] | None = None) -> None:
        super().__init__(name, value_type_info)


class ListStateDescriptor(StateDescriptor[ListState[T]]):
    """Describes a `ListState`; the type is that of an element."""

    def __init__(self, name: str, elem_type_info: StateType[T] | None = None) -> None:
        super().__init__(name, Types.LIST(checked_state_type(name, elem_type_info)))
        self.elem_type_info = checked_state_type(name, elem_type_info)


class MapStateDescriptor(StateDescriptor[MapState[K, V]]):
    """Describes a `MapState` or a broadcast state."""

    def __init__(
        self,
        name: str,
        key_type_info: StateType[K] | None = None,
        value_type_info: StateType[V] | None = None,
    ) -> None:
        self.key_type_info = checked_state_type(name, key_type_info)
        self.value_type_info = checked_state_type(name, value_type_info)
        super().__init__(name, Types.MAP(self.key_type_info, self.value_type_info))


class ReducingStateDescriptor(StateDescriptor[ReducingState[T]]):
    """Describes a `ReducingState`; a plain callable of two values will do as its function."""

    def __init__(
        self,
        name: str,
        reduce_function: ReduceFunction[T] | Callable[[T, T], T],
        type_info: StateType[T] | None = None,
    ) -> None:
        super().__init__(name, type_info)
        if not isinstance(reduce_function, ReduceFunction):
            if not callable(reduce_function):
                raise TypeError(
                    f"state {name!r}: expected a ReduceFunction or a callable of two values, "
                    f"got {type(reduce_function).__name__}"
                )
            reduce_function = ReduceFunctionWrapper(reduce_function)
        self._reduce_function = reduce_function

    def get_reduce_function(self) -> ReduceFunction[T]:
        """Return the function that combines two elements."""
        return self._reduce_function


class AggregatingStateDescriptor(StateDescriptor[AggregatingState[A, B]], Generic[A, ACC, B]):
    """Describes an `AggregatingState`; the type is that of the accumulator."""

    def __init__(
        self, name: str, agg_function: AggregateFunction[A, ACC, B], state_type_info: StateType[ACC] | None = None
    ) -> None:
        super().__init__(name, state_type_info)
        if not isinstance(agg_function, AggregateFunction):
            raise TypeError(f"state {name!r}: expected an AggregateFunction, got {type(agg_function).__name__}")
        self._agg_function = agg_function

    def get_agg_function(self) -> AggregateFunction[A, ACC, B]:
        """Return the aggregate function."""
        return self._agg_function


class StateTtlConfig:
    """When state expires and how expired entries are removed."""

    class UpdateType(enum.Enum):
        """What restarts the time to live."""

        Disabled = 0
        OnCreateAndWrite = 1
        OnReadAndWrite = 2

    class StateVisibility(enum.Enum):
        """Whether an expired entry that is still there may be read."""

        ReturnExpiredIfNotCleanedUp = 0
        NeverReturnExpired = 1

    class TtlTimeCharacteristic(enum.Enum):
        """Which time counts."""

        ProcessingTime = 0

    class CleanupStrategies:
        """How expired entries are removed besides when they are read."""

        class Strategies(enum.Enum):
            """The kinds of clean-up."""

            FULL_STATE_SCAN_SNAPSHOT = 0
            INCREMENTAL_CLEANUP = 1
            ROCKSDB_COMPACTION_FILTER = 2

        class CleanupStrategy(ABC):  # noqa: B024 - a marker: subclasses only carry settings
            """The settings of one kind of clean-up."""

        class EmptyCleanupStrategy(CleanupStrategy):
            """A clean-up without settings."""

        class IncrementalCleanupStrategy(CleanupStrategy):
            """Looks at some entries whenever state is used."""

            def __init__(self, cleanup_size: int, run_cleanup_for_every_record: bool) -> None:
                self._cleanup_size = _positive(cleanup_size, "cleanup_size")
                self._run_cleanup_for_every_record = run_cleanup_for_every_record

            def get_cleanup_size(self) -> int:
                """Return how many entries are looked at each time."""
                return self._cleanup_size

            def run_cleanup_for_every_record(self) -> bool:
                """Return whether this also happens for records that use no state."""
                return self._run_cleanup_for_every_record

        class RocksdbCompactFilterCleanupStrategy(CleanupStrategy):
            """Removes entries when RocksDB compacts."""

            def __init__(
                self, query_time_after_num_entries: int, periodic_compaction_time: Duration | Time | None = None
            ) -> None:
                self._query_time_after_num_entries = query_time_after_num_entries
                self._periodic_compaction_time = periodic_compaction_time or Duration.of_days(30)

            def get_query_time_after_num_entries(self) -> int:
                """Return after how many entries the clock is read again."""
                return self._query_time_after_num_entries

            def get_periodic_compaction_time(self) -> Duration | Time:
                """Return after how long a file is compacted even if nothing else asks for it."""
                return self._periodic_compaction_time

        EMPTY_STRATEGY = EmptyCleanupStrategy()

        def __init__(
            self,
            strategies: dict[StateTtlConfig.CleanupStrategies.Strategies, CleanupStrategy],
            is_cleanup_in_background: bool,
        ) -> None:
            self._strategies = dict(strategies)
            self._is_cleanup_in_background = is_cleanup_in_background

        def is_cleanup_in_background(self) -> bool:
            """Return whether the backend may clean up by itself."""
            return self._is_cleanup_in_background

        def in_full_snapshot(self) -> bool:
            """Return whether expired entries are left out of full snapshots."""
            return self.Strategies.FULL_STATE_SCAN_SNAPSHOT in self._strategies

        def get_incremental_cleanup_strategy(self) -> IncrementalCleanupStrategy | None:
            """Return the settings of incremental clean-up, or None if it is off."""
            default = self.IncrementalCleanupStrategy(5, False) if self._is_cleanup_in_background else None
            found = self._strategies.get(self.Strategies.INCREMENTAL_CLEANUP, default)
            return found if isinstance(found, self.IncrementalCleanupStrategy) else None

        def get_rocksdb_compact_filter_cleanup_strategy(self) -> RocksdbCompactFilterCleanupStrategy | None:
            """Return the settings of clean-up by RocksDB, or None if it is off."""
            default = self.RocksdbCompactFilterCleanupStrategy(1000) if self._is_cleanup_in_background else None
            found = self._strategies.get(self.Strategies.ROCKSDB_COMPACTION_FILTER, default)
            return found if isinstance(found, self.RocksdbCompactFilterCleanupStrategy) else None

    class Builder:
        """Builds a `StateTtlConfig` step by step."""

        def __init__(self, ttl: Duration | Time) -> None:
            self._ttl = ttl
            self._update_type = StateTtlConfig.UpdateType.OnCreateAndWrite
            self._state_visibility = StateTtlConfig.StateVisibility.NeverReturnExpired
            self._ttl_time_characteristic = StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
            self._is_cleanup_in_background = True
            self._strategies: dict[
                StateTtlConfig.CleanupStrategies.Strategies, StateTtlConfig.CleanupStrategies.CleanupStrategy
            ] = {}

        def set_update_type(self, update_type: StateTtlConfig.UpdateType) -> StateTtlConfig.Builder:
            """Choose what restarts the time to live."""
            self._update_type = update_type
            return self

        def update_ttl_on_create_and_write(self) -> StateTtlConfig.Builder:
            """Restart it at each write (the default)."""
            return self.set_update_type(StateTtlConfig.UpdateType.OnCreateAndWrite)

        def update_ttl_on_read_and_write(self) -> StateTtlConfig.Builder:
            """Restart it at each write and read."""
            return self.set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)

        def set_state_visibility(self, state_visibility: StateTtlConfig.StateVisibility) -> StateTtlConfig.Builder:
            """Choose whether an expired entry that is still there may be read."""
            self._state_visibility = state_visibility
            return self

        def return_expired_if_not_cleaned_up(self) -> StateTtlConfig.Builder:
            """Let expired entries be read until they are removed."""
            return self.set_state_visibility(StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp)

        def never_return_expired(self) -> StateTtlConfig.Builder:
            """Hide expired entries (the default)."""
            return self.set_state_visibility(StateTtlConfig.StateVisibility.NeverReturnExpired)

        def set_ttl_time_characteristic(
            self, ttl_time_characteristic: StateTtlConfig.TtlTimeCharacteristic
        ) -> StateTtlConfig.Builder:
            """Choose which time counts."""
            self._ttl_time_characteristic = ttl_time_characteristic
            return self

        def use_processing_time(self) -> StateTtlConfig.Builder:
            """Count processing time (the default)."""
            return self.set_ttl_time_characteristic(StateTtlConfig.TtlTimeCharacteristic.ProcessingTime)

        def cleanup_full_snapshot(self) -> StateTtlConfig.Builder:
            """Leave expired entries out of full snapshots."""
            strategies = StateTtlConfig.CleanupStrategies
            self._strategies[strategies.Strategies.FULL_STATE_SCAN_SNAPSHOT] = strategies.EMPTY_STRATEGY
            return self

        def cleanup_incrementally(
            self, cleanup_size: int, run_cleanup_for_every_record: bool
        ) -> StateTtlConfig.Builder:
            """Look at some entries whenever state is used."""
            strategies = StateTtlConfig.CleanupStrategies
            self._strategies[strategies.Strategies.INCREMENTAL_CLEANUP] = strategies.IncrementalCleanupStrategy(
                cleanup_size, run_cleanup_for_every_record
            )
            return self

        def cleanup_in_rocksdb_compact_filter(
            self, query_time_after_num_entries: int, periodic_compaction_time: Duration | Time | None = None
        ) -> StateTtlConfig.Builder:
            """Remove entries when RocksDB compacts."""
            strategies = StateTtlConfig.CleanupStrategies
            self._strategies[strategies.Strategies.ROCKSDB_COMPACTION_FILTER] = (
                strategies.RocksdbCompactFilterCleanupStrategy(query_time_after_num_entries, periodic_compaction_time)
            )
            return self

        def disable_cleanup_in_background(self) -> StateTtlConfig.Builder:
            """Remove expired entries only when they are read, and by the strategies chosen here."""
            self._is_cleanup_in_background = False
            return self

        def set_ttl(self, ttl: Duration | Time) -> StateTtlConfig.Builder:
            """Set the time to live."""
            self._ttl = ttl
            return self

        def build(self) -> StateTtlConfig:
            """Return the configuration."""
            return StateTtlConfig(
                self._update_type,
                self._state_visibility,
                self._ttl_time_characteristic,
                self._ttl,
                StateTtlConfig.CleanupStrategies(self._strategies, self._is_cleanup_in_background),
            )

    def __init__(
        self,
        update_type: StateTtlConfig.UpdateType,
        state_visibility: StateTtlConfig.StateVisibility,
        ttl_time_characteristic: StateTtlConfig.TtlTimeCharacteristic,
        ttl: Duration | Time,
        cleanup_strategies: StateTtlConfig.CleanupStrategies,
    ) -> None:
        if to_millis(ttl) <= 0:
            raise ConfigurationError(f"the time to live must be at least one millisecond, got {ttl!r}")
        self._update_type = update_type
        self._state_visibility = state_visibility
        self._ttl_time_characteristic = ttl_time_characteristic
        self._ttl = ttl
        self._cleanup_strategies = cleanup_strategies

    @staticmethod
    def new_builder(ttl: Duration | Time) -> StateTtlConfig.Builder:
        """Start building a configuration with this time to live."""
        return StateTtlConfig.Builder(ttl)

    def get_update_type(self) -> StateTtlConfig.UpdateType:
        """Return what restarts the time to live."""
        return self._update_type

    def get_state_visibility(self) -> StateTtlConfig.StateVisibility:
        """Return whether an expired entry that is still there may be read."""
        return self._state_visibility

    def get_ttl(self) -> Duration | Time:
        """Return the time to live."""
        return self._ttl

    def get_ttl_time_characteristic(self) -> StateTtlConfig.TtlTimeCharacteristic:
        """Return which time counts."""
        return self._ttl_time_characteristic

    def is_enabled(self) -> bool:
        """Return whether state expires at all."""
        return self._update_type is not StateTtlConfig.UpdateType.Disabled

    def get_cleanup_strategies(self) -> StateTtlConfig.CleanupStrategies:
        """Return how expired entries are removed."""
        return self._cleanup_strategies


def _positive(value: int, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise ConfigurationError(f"{what} must be a positive whole number, got {value!r}")
    return value
