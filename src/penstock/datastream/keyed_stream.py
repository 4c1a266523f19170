"""`KeyedStream`: a stream partitioned by key."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING, Any, Generic, NoReturn, overload

from penstock.common.state_type import StateType, checked_queryable_name
from penstock.common.type_variables import A, K_co, R, S, T_co
from penstock.common.typeinfo import TypeInformation
from penstock.common.types import Row
from penstock.datastream.aggregations import RollingExtreme, RollingExtremeBy, RollingSum
from penstock.datastream.arguments import check_function, check_type
from penstock.datastream.field_rows import KeyColumns, check_aggregates, row_type
from penstock.datastream.function_signatures import check_callable
from penstock.datastream.selectors import Field, KeyAndValue, check_field, typed_selector
from penstock.datastream.stream import DataStream, add_operator, settings_of_sender
from penstock.datastream.with_state import FilterWithState, FlatMapWithState, MapWithState
from penstock.errors import GraphError
from penstock.graph.nodes import FORWARD, NAME_PREFIX, Exchange, Partitioning, Role
from penstock.runtime import operators
from penstock.vocabulary.field_aggregates import FieldAggregate
from penstock.vocabulary.functions import KeyedProcessFunction, ProcessFunction, ReduceFunction

if TYPE_CHECKING:
    from penstock.datastream.closeable_iterator import CloseableIterator
    from penstock.datastream.interval_join import IntervalJoin
    from penstock.datastream.queryable_stream import QueryableStateStream
    from penstock.datastream.salted import SaltedStream
    from penstock.datastream.windowed_stream import WindowedStream
    from penstock.vocabulary.state import ReducingStateDescriptor, ValueStateDescriptor
    from penstock.vocabulary.window import CountWindow, WindowAssigner
    from penstock.vocabulary.window.assigner import W

FlatMapsWithState = Callable[[A, Any], tuple[Iterable[R], Any]] | Callable[[A, Any], Generator[R, None, Any]]
"""A function of an element and a state that gives results and a new state."""


class KeyedStream(DataStream[T_co], Generic[K_co, T_co]):
    """A stream whose elements go to the subtask of their key, where state and timers belong to the key.

    `KeyedStream[str, Trade]` is a stream of trades whose keys are texts.
    """

    is_keyed = True

    def __init__(
        self,
        stream: DataStream[T_co],
        key_selector: Callable[[T_co], K_co],
        key_type: TypeInformation[K_co] | None = None,
    ) -> None:
        """Made by `DataStream.key_by`."""
        key_selector = typed_selector(key_selector, key_type, stream.output_type)
        keyed = Partitioning(Exchange.KEYED, key_selector, key_type=key_type)
        super().__init__(stream.environment, stream.edges_with(keyed), made_by="key_by", output_type=stream.output_type)
        self.key_selector = key_selector

    @overload  # type: ignore[override]
    def process(self, func: KeyedProcessFunction[K_co, T_co, R], output_type: None = None) -> DataStream[R]: ...

    @overload
    def process(
        self, func: KeyedProcessFunction[K_co, T_co, Any], output_type: TypeInformation[R]
    ) -> DataStream[R]: ...

    def process(
        self, func: KeyedProcessFunction[K_co, T_co, Any], output_type: TypeInformation[Any] | None = None
    ) -> DataStream[Any]:
        """Apply a keyed process function: state and timers of the key, any output, side outputs."""
        if isinstance(func, ProcessFunction):
            raise GraphError("process: a keyed stream needs a KeyedProcessFunction; derive from that instead.")
        check_function("process", func, KeyedProcessFunction, takes_callable=False)
        declared = check_type("process", "output_type", output_type)
        return self._then("KEYED PROCESS", operators.KeyedProcessOperator(func), declared)

    def reduce(self, func: Callable[[T_co, T_co], T_co] | ReduceFunction[T_co]) -> DataStream[T_co]:
        """Combine each element with the last result of its key, and emit the new result."""
        check_function("reduce", func, ReduceFunction)
        return self._then("Reduce", operators.ReduceOperator(func), self.output_type)

    @overload
    def map_with_state(
        self, func: Callable[[T_co, Any], tuple[R, Any]], state_type: None = None, output_type: None = None
    ) -> DataStream[R]: ...

    @overload
    def map_with_state(
        self,
        func: Callable[[T_co, S | None], tuple[R, S | None]],
        state_type: StateType[S],
        output_type: None = None,
    ) -> DataStream[R]: ...

    @overload
    def map_with_state(
        self, func: Callable[[T_co, Any], tuple[Any, Any]], state_type: Any = None, *, output_type: TypeInformation[R]
    ) -> DataStream[R]: ...

    @overload
    def map_with_state(
        self, func: Callable[[T_co, Any], tuple[Any, Any]], state_type: Any, output_type: TypeInformation[R]
    ) -> DataStream[R]: ...

    def map_with_state(
        self,
        func: Callable[[T_co, Any], tuple[Any, Any]],
        state_type: Any = None,
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[Any]:
        """Map elements by `func(element, state of its key) -> (result, new state)`.

        The state is None for a key that has none; None as new state clears it. `state_type` is its type, as a
        descriptor takes one; without it the state is pickled.
        """
        return self._with_state(
            MapWithState, func, state_type, check_type("map_with_state", "output_type", output_type)
        )

    @overload
    def flat_map_with_state(
        self, func: FlatMapsWithState[T_co, R], state_type: Any = None, output_type: None = None
    ) -> DataStream[R]: ...

    @overload
    def flat_map_with_state(
        self, func: FlatMapsWithState[T_co, Any], state_type: Any = None, *, output_type: TypeInformation[R]
    ) -> DataStream[R]: ...

    @overload
    def flat_map_with_state(
        self, func: FlatMapsWithState[T_co, Any], state_type: Any, output_type: TypeInformation[R]
    ) -> DataStream[R]: ...

    def flat_map_with_state(
        self,
        func: FlatMapsWithState[T_co, Any],
        state_type: Any = None,
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[Any]:
        """Turn each element into any number by `func(element, state of its key) -> (iterable, new state)`.

        `func` may be a generator: it yields the results and returns the new state.
        """
        declared = check_type("flat_map_with_state", "output_type", output_type)
        return self._with_state(FlatMapWithState, func, state_type, declared)

    def filter_with_state(
        self, func: Callable[[T_co, Any], tuple[bool, Any]], state_type: Any = None
    ) -> DataStream[T_co]:
        """Keep elements by `func(element, state of its key) -> (keep it, new state)`."""
        return self._with_state(FilterWithState, func, state_type, self.output_type)

    def _with_state(self, kind: Any, func: Any, state_type: Any, output_type: TypeInformation | None) -> DataStream:
        if not callable(func):
            raise GraphError(f"{kind.method}: expected a function of element and state, got {func!r}.")
        check_callable(kind.method, func, ("element", "state"))
        name = kind.method.replace("_", " ").title()
        return self._then(name, operators.KeyedProcessOperator(kind(func, state_type)), output_type)

    def window(self, window_assigner: WindowAssigner[T_co, W]) -> WindowedStream[K_co, T_co, W]:
        """Group the elements of each key in windows."""
        from penstock.datastream.windowed_stream import WindowedStream

        return WindowedStream(self, window_assigner)

    def count_window(self, size: int, slide: int = 0) -> WindowedStream[K_co, T_co, CountWindow]:
        """Group the elements of each key in windows of `size` elements, a new one every `slide` elements."""
        from penstock.datastream.windowed_stream import WindowedStream, count_assigner

        return WindowedStream(self, count_assigner("count_window", size, slide))

    def salted(self, salts: int) -> SaltedStream[K_co, T_co]:
        """Spread the elements of each key over `salts` salts, for skewed keys.

        Windows are then aggregated in two steps, by key and salt and then by key; the results are the same. Call
        `window(...)` next, then `reduce` or `aggregate` with a commutative function.
        """
        from penstock.datastream.salted import SaltedStream

        return SaltedStream(self, salts)

    def interval_join(self, other_stream: KeyedStream[Any, A]) -> IntervalJoin[T_co, A]:
        """Join with another keyed stream by time; call `between(...)` next."""
        from penstock.datastream.interval_join import IntervalJoin

        return IntervalJoin(self, other_stream)

    def aggregate_fields(self, *aggregates: FieldAggregate) -> DataStream[Row]:
        """Count, sum or compare fields of all elements so far, as in `aggregate_fields(count(), sum_of("price"))`.

        Emits a Row for each element, with its key and the aggregates.
        """
        function = check_aggregates(aggregates, self.output_type)
        key = KeyColumns.of(self.key_selector, self.output_type, self.edges[0].partitioning.key_type)
        names, produced = row_type(zip(key.names, key.types, strict=True), function, self.output_type)
        operator = operators.RollingFieldsOperator(function, names, key.is_spread)
        return self._then("Field Aggregation", operator, produced, is_checked=False)

    def sum(self, position_to_sum: Field = 0) -> DataStream[T_co]:
        """Rolling sum of a field; other fields are those of the key's first element."""
        return self._aggregate(RollingSum(check_field("sum", position_to_sum)))

    def min(self, position_to_min: Field = 0) -> DataStream[T_co]:
        """Rolling minimum of a field; other fields are those of the key's first element."""
        return self._aggregate(RollingExtreme(check_field("min", position_to_min)))

    def max(self, position_to_max: Field = 0) -> DataStream[T_co]:
        """Rolling maximum of a field; other fields are those of the key's first element."""
        return self._aggregate(RollingExtreme(check_field("max", position_to_max), largest=True))

    def min_by(self, position_to_min_by: Field = 0) -> DataStream[T_co]:
        """Element with the smallest field so far, the first one if there are several."""
        return self._aggregate(RollingExtremeBy(check_field("min_by", position_to_min_by)))

    def max_by(self, position_to_max_by: Field = 0) -> DataStream[T_co]:
        """Element with the largest field so far, the first one if there are several."""
        return self._aggregate(RollingExtremeBy(check_field("max_by", position_to_max_by), largest=True))

    def as_queryable_state(
        self,
        queryable_state_name: str,
        state_descriptor: ValueStateDescriptor[T_co] | ReducingStateDescriptor[T_co] | None = None,
    ) -> QueryableStateStream:
        """Keep the last element of each key, to be asked for by a name from outside of the job.

        With a `ReducingStateDescriptor`, what the elements of the key reduce to is kept. See docs/queryable_state.md.
        """
        from penstock.datastream.queryable_stream import QueryableStateStream, keeping_operator

        name = checked_queryable_name(queryable_state_name)
        operator, descriptor = keeping_operator(name, state_descriptor, self.output_type)
        title = NAME_PREFIX[Role.SINK] + f"Queryable state: {name}"
        node = self.environment.graph.add(Role.SINK, title, operator, self.edges)
        return QueryableStateStream(self.environment, node.id, descriptor, self.edges[0].partitioning.key_type)

    def cache(self) -> NoReturn:
        """Refused, as in Flink."""
        raise GraphError("cache: not possible for a keyed stream; call cache() before key_by(), or on what follows.")

    def _dealt(self, made_by: str, partitioning: Partitioning) -> NoReturn:
        raise GraphError(
            f"{made_by}: the elements of a keyed stream always go to the subtask of their key: call "
            f"{made_by}() before key_by(), or after the next operator."
        )

    def _aggregate(self, function: Callable[[Any, Any], Any]) -> DataStream[T_co]:
        return self._then("Keyed Aggregation", operators.ReduceOperator(function), self.output_type)

    if TYPE_CHECKING:
        # Rows of key and element, as in PyFlink.
        @overload  # type: ignore[override]
        def execute_and_collect(
            self, job_execution_name: str | None = None, limit: None = None
        ) -> CloseableIterator[Row]: ...

        @overload
        def execute_and_collect(self, job_execution_name: str | None = None, *, limit: int) -> list[Row]: ...

        @overload
        def execute_and_collect(self, job_execution_name: str | None, limit: int) -> list[Row]: ...

        def execute_and_collect(self, job_execution_name: str | None = None, limit: int | None = None) -> Any:
            """Run the job and return a Row of key (`f0`) and element (`f1`) for each element."""

    def _to_collect(self) -> DataStream:
        # In the sender's subtasks: what is collected needs no exchange by key, and keeps its order.
        operator, edges = operators.MapOperator(KeyAndValue(self.key_selector), False), self.edges_with(FORWARD)
        pairs = add_operator(self.environment, "Key and Value", operator, edges, None, **settings_of_sender(self))
        return pairs.uid(f"key-and-value-{max(self.environment.graph.nodes)}")
