"""`WindowedStream` and `AllWindowedStream`: windows of a keyed stream, or of a whole stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, overload

from penstock.common.column_block import ColumnSelector
from penstock.common.state_identity import identity_of
from penstock.common.time import Duration, Time, to_millis
from penstock.common.type_variables import SORT, K_co, R, T_co
from penstock.common.typeinfo import TypeInformation, Types
from penstock.common.types import Row
from penstock.datastream.aggregations import RollingExtreme, RollingExtremeBy, RollingSum
from penstock.datastream.arguments import check_function, check_type, is_whole
from penstock.datastream.field_rows import WINDOW_NAMES, KeyColumns, check_aggregates, row_type
from penstock.datastream.incremental_windows import IncrementalWindows
from penstock.datastream.missing_names import HintsAtNames
from penstock.datastream.selectors import Field, check_field, only_key
from penstock.datastream.stream import DataStream, add_operator
from penstock.datastream.two_phase import pre_aggregated
from penstock.errors import GraphError
from penstock.graph.nodes import Edge, Exchange, Partitioning
from penstock.runtime.operators.window import Evaluation, WindowOperator, WindowSpec
from penstock.runtime.operators.window.local import KeyOfPart
from penstock.vocabulary.field_aggregates import FieldAggregate
from penstock.vocabulary.field_aggregation import FieldAggregation
from penstock.vocabulary.functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from penstock.vocabulary.output_tag import OutputTag
from penstock.vocabulary.window import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
    CountWindow,
    Evictor,
    GlobalWindows,
    MergingWindowAssigner,
    Trigger,
    WindowAssigner,
)
from penstock.vocabulary.window.assigner import W
from penstock.vocabulary.window_evaluation import WindowsOfAll, WindowsOfKey
from penstock.vocabulary.window_rows import AllWindowRow, WindowRow

if TYPE_CHECKING:
    import datetime

    from penstock.datastream.keyed_stream import KeyedStream
    from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment

__all__ = ["AllWindowedStream", "WindowedStream", "count_assigner"]


class _Windows(HintsAtNames, IncrementalWindows[SORT, T_co, W]):
    """A stream and how its elements are put in windows; settings change it and return it, as in PyFlink."""

    _method: ClassVar[str]
    _is_single: ClassVar[bool]
    _kinds: ClassVar[dict[str, tuple[type, Evaluation]]]
    """By method: the class of window function that it takes, and how such a function is called."""

    def __init__(
        self,
        stream: DataStream[T_co],
        window_assigner: WindowAssigner[T_co, W],
        key_selector: Callable[[Any], Any],
        key_type: TypeInformation | None,
    ) -> None:
        if not isinstance(window_assigner, WindowAssigner):
            raise GraphError(
                f"{self._method}: expected a WindowAssigner such as TumblingEventTimeWindows.of(Time.minutes(1)), "
                f"got {window_assigner!r}."
            )
        self._stream = stream
        self._assigner = window_assigner
        self._key_selector = key_selector
        self._key_type = key_type
        self._trigger: Trigger[T_co, W] | None = None
        self._evictor: Evictor[T_co, W] | None = None
        self._allowed_lateness = 0
        self._late_tag: OutputTag | None = None
        self._two_phase: bool | None = None

    # ---- about the stream ----

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """Return the environment the stream belongs to."""
        return self._stream.environment

    def get_input_type(self) -> TypeInformation[T_co]:
        """Declared type of the elements; pickled objects if none was declared."""
        return self._stream.get_type()

    # ---- settings ----

    def trigger(self, trigger: Trigger[T_co, W]) -> Self:
        """Fire windows when this trigger says so, instead of the assigner's own."""
        if not isinstance(trigger, Trigger):
            raise GraphError(f"trigger: expected a Trigger such as CountTrigger.of(100), got {trigger!r}.")
        if isinstance(self._assigner, MergingWindowAssigner) and not trigger.can_merge():
            raise GraphError(
                f"trigger: windows of {type(self._assigner).__name__} merge, but {type(trigger).__name__} cannot; use "
                "a trigger whose can_merge() is true."
            )
        self._trigger = trigger
        return self

    def evictor(self, evictor: Evictor[T_co, W]) -> Self:
        """Let an evictor take elements out of a window that fires; every element is kept until then."""
        if not isinstance(evictor, Evictor):
            raise GraphError(f"evictor: expected an Evictor such as CountEvictor.of(100), got {evictor!r}.")
        self._evictor = evictor
        return self

    def allowed_lateness(self, time_ms: int | Duration | Time | datetime.timedelta) -> Self:
        """Keep windows of event time so much longer: a late element then fires its window again."""
        try:
            lateness = to_millis(time_ms)
        except TypeError:
            raise GraphError(f"allowed_lateness: expected milliseconds or a Duration, got {time_ms!r}.") from None
        if lateness < 0:
            raise GraphError(f"allowed_lateness: the allowed lateness cannot be negative, got {time_ms!r}.")
        self._allowed_lateness = lateness
        return self

    def side_output_late_data(self, output_tag: OutputTag[T_co]) -> Self:
        """Send elements that come too late for their windows to a side output, instead of dropping them."""
        if not isinstance(output_tag, OutputTag):
            raise GraphError(f"side_output_late_data: expected an OutputTag, got {output_tag!r}.")
        self._late_tag = output_tag
        return self

    def two_phase(self, enabled: bool = True) -> Self:
        """Aggregate elements before they are sent to their window too, or do not; the configuration says what if not.

        See the key `penstock.window.two-phase`.
        """
        if not isinstance(enabled, bool):
            raise GraphError(f"two_phase: expected True or False, got {enabled!r}.")
        self._two_phase = enabled
        return self

    # ---- evaluations ----

    def aggregate_fields(self, *aggregates: FieldAggregate) -> DataStream[Row]:
        """Count, sum or compare fields in each window, as in `aggregate_fields(count(), sum_of("price"))`.

        Gives a Row for each window: its key, `window_start` and `window_end` in milliseconds, and the aggregates.
        """
        declared = self._stream.output_type
        function = check_aggregates(aggregates, declared)
        times = () if isinstance(self._assigner, _WITHOUT_TIMES) else WINDOW_NAMES
        columns: list[tuple[str, TypeInformation | None]] = [(name, Types.LONG()) for name in times]
        if self._is_single:
            names, produced = row_type(columns, function, declared)
            return self._incremental("aggregate_fields", function, AllWindowRow(names, bool(times)), produced)
        key = KeyColumns.of(self._key_selector, declared, self._key_type)
        names, produced = row_type([*zip(key.names, key.types, strict=True), *columns], function, declared)
        return self._incremental("aggregate_fields", function, WindowRow(names, key.is_spread, bool(times)), produced)

    def sum(self, position_to_sum: Field = 0) -> DataStream[T_co]:
        """Sum of a field in each window; other fields are those of the window's first element."""
        return self._rolled("sum", RollingSum(check_field("sum", position_to_sum)))

    def min(self, position_to_min: Field = 0) -> DataStream[T_co]:
        """Smallest value of a field in each window; other fields are those of the window's first element."""
        return self._rolled("min", RollingExtreme(check_field("min", position_to_min)))

    def max(self, position_to_max: Field = 0) -> DataStream[T_co]:
        """Largest value of a field in each window; other fields are those of the window's first element."""
        return self._rolled("max", RollingExtreme(check_field("max", position_to_max), largest=True))

    def min_by(self, position_to_min_by: Field = 0) -> DataStream[T_co]:
        """Element of each window with the smallest field, the first one if there are several."""
        return self._rolled("min_by", RollingExtremeBy(check_field("min_by", position_to_min_by)))

    def max_by(self, position_to_max_by: Field = 0) -> DataStream[T_co]:
        """Element of each window with the largest field, the first one if there are several."""
        return self._rolled("max_by", RollingExtremeBy(check_field("max_by", position_to_max_by), largest=True))

    # ---- how nodes are made ----

    def _rolled(self, method: str, function: Callable[[Any, Any], Any]) -> DataStream:
        return self._incremental(method, function, None, self._stream.output_type)

    def _incremental(
        self, method: str, combine: Any, window_function: Any, output_type: TypeInformation | None
    ) -> DataStream:
        if window_function is None:
            return self._add(method, Evaluation.RESULT, None, combine, output_type)
        return self._add(method, self._evaluation(method, window_function), window_function, combine, output_type)

    def _whole(self, method: str, function: Any, output_type: TypeInformation | None) -> DataStream:
        self._refuse_counterpart(method, function)
        expected, evaluation = self._kinds[method]
        for other, (kind, _) in self._kinds.items():
            if other != method and isinstance(function, kind):
                raise GraphError(f"{method}: {type(function).__name__} is a {kind.__name__}; pass it to {other}().")
        check_function(method, function, expected, takes_callable=False)
        return self._add(method, evaluation, function, None, check_type(method, "output_type", output_type))

    def _evaluation(self, method: str, function: Any) -> Evaluation:
        self._refuse_counterpart(method, function)
        for kind, evaluation in self._kinds.values():
            if isinstance(function, kind):
                return evaluation
        names = " or a ".join(kind.__name__ for kind, _ in self._kinds.values())
        raise GraphError(f"{method}: window_function must be a {names}, got {function!r}.")

    def _refuse_counterpart(self, method: str, function: Any) -> None:
        """Refuse a function for windows of the other sort of stream, and name the class it has to be of."""
        for kind, _ in self._kinds.values():
            if isinstance(function, _COUNTERPARTS[kind]):
                raise GraphError(
                    f"{method}: {type(function).__name__} derives from {_COUNTERPARTS[kind].__name__}, but after "
                    f"{self._method}() it must be a {kind.__name__}."
                )

    def _add(
        self, method: str, evaluation: Evaluation, function: Any, combine: Any, output_type: TypeInformation | None
    ) -> DataStream:
        environment = self._stream.environment
        trigger = self._trigger or self._assigner.get_default_trigger(environment)
        settings: dict[str, Any] = {
            "assigner": self._assigner,
            "trigger": trigger,
            "evaluation": evaluation,
            "function": function,
            "combine": combine,
            "evictor": self._evictor,
            "allowed_lateness": self._allowed_lateness,
            "late_tag": self._late_tag,
            "key_fields": self._key_selector.key_fields if isinstance(self._key_selector, ColumnSelector) else None,
        }
        name = f"{identity_of(self._assigner)}, {method.title().replace('_', ' ')}"
        partials = pre_aggregated(
            self._stream, self._key_selector, WindowSpec(**settings), name=name, asked=self._two_phase
        )
        operator = WindowOperator(WindowSpec(**settings, takes_partials=partials is not None))
        edges = (
            self._keyed(self._stream, self._key_selector)
            if partials is None
            else self._keyed(partials, KeyOfPart(self._key_selector))
        )
        described = f"Window({type(self._assigner).__name__}, {type(trigger).__name__}, {method})"
        # Aggregates of fields are rows that Penstock makes itself.
        settings = {"is_checked": not isinstance(combine, FieldAggregation), "is_single": self._is_single}
        return add_operator(environment, name, operator, edges, output_type, description=described, **settings)

    def _keyed(self, stream: DataStream, key_selector: Callable[[Any], Any]) -> tuple[Edge, ...]:
        return stream.edges_with(Partitioning(Exchange.KEYED, key_selector, key_type=self._key_type))


class WindowedStream(_Windows[WindowsOfKey[K_co], T_co, W], Generic[K_co, T_co, W]):
    """The elements of a keyed stream, in windows of each key."""

    _method = "window"
    _is_single = False
    _kinds: ClassVar = {
        "apply": (WindowFunction, Evaluation.APPLY),
        "process": (ProcessWindowFunction, Evaluation.PROCESS),
    }

    def __init__(self, keyed_stream: KeyedStream[K_co, T_co], window_assigner: WindowAssigner[T_co, W]) -> None:
        """Made by `KeyedStream.window` and `count_window`."""
        key_type = keyed_stream.edges[0].partitioning.key_type
        super().__init__(keyed_stream, window_assigner, keyed_stream.key_selector, key_type)

    @overload
    def apply(self, window_function: WindowFunction[T_co, R, K_co, W], output_type: None = None) -> DataStream[R]: ...

    @overload
    def apply(
        self, window_function: WindowFunction[T_co, Any, K_co, W], output_type: TypeInformation[R]
    ) -> DataStream[R]: ...

    def apply(
        self, window_function: WindowFunction[T_co, Any, K_co, W], output_type: TypeInformation[Any] | None = None
    ) -> DataStream[Any]:
        """Evaluate a window from all its elements."""
        return self._whole("apply", window_function, output_type)

    @overload
    def process(
        self, process_window_function: ProcessWindowFunction[T_co, R, K_co, W], output_type: None = None
    ) -> DataStream[R]: ...

    @overload
    def process(
        self, process_window_function: ProcessWindowFunction[T_co, Any, K_co, W], output_type: TypeInformation[R]
    ) -> DataStream[R]: ...

    def process(
        self,
        process_window_function: ProcessWindowFunction[T_co, Any, K_co, W],
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[Any]:
        """Evaluate a window from all its elements, with access to time, state and side outputs."""
        return self._whole("process", process_window_function, output_type)


class AllWindowedStream(_Windows[WindowsOfAll, T_co, W], Generic[T_co, W]):
    """All elements of a stream, in windows; one subtask holds them all."""

    _method = "window_all"
    _is_single = True
    _kinds: ClassVar = {
        "apply": (AllWindowFunction, Evaluation.APPLY_ALL),
        "process": (ProcessAllWindowFunction, Evaluation.PROCESS_ALL),
    }

    def __init__(self, data_stream: DataStream[T_co], window_assigner: WindowAssigner[T_co, W]) -> None:
        """Made by `DataStream.window_all` and `count_window_all`."""
        super().__init__(data_stream, window_assigner, only_key, None)

    @overload
    def apply(self, window_function: AllWindowFunction[T_co, R, W], output_type: None = None) -> DataStream[R]: ...

    @overload
    def apply(
        self, window_function: AllWindowFunction[T_co, Any, W], output_type: TypeInformation[R]
    ) -> DataStream[R]: ...

    def apply(
        self, window_function: AllWindowFunction[T_co, Any, W], output_type: TypeInformation[Any] | None = None
    ) -> DataStream[Any]:
        """Evaluate a window from all its elements."""
        return self._whole("apply", window_function, output_type)

    @overload
    def process(
        self, process_window_function: ProcessAllWindowFunction[T_co, R, W], output_type: None = None
    ) -> DataStream[R]: ...

    @overload
    def process(
        self, process_window_function: ProcessAllWindowFunction[T_co, Any, W], output_type: TypeInformation[R]
    ) -> DataStream[R]: ...

    def process(
        self,
        process_window_function: ProcessAllWindowFunction[T_co, Any, W],
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[Any]:
        """Evaluate a window from all its elements, with access to time, state and side outputs."""
        return self._whole("process", process_window_function, output_type)


_WITHOUT_TIMES = (GlobalWindows, CountTumblingWindowAssigner, CountSlidingWindowAssigner)

# Functions for windows of a keyed stream and of a whole stream, each with the other.
_COUNTERPARTS: dict[type, type] = {
    WindowFunction: AllWindowFunction,
    ProcessWindowFunction: ProcessAllWindowFunction,
    AllWindowFunction: WindowFunction,
    ProcessAllWindowFunction: ProcessWindowFunction,
}


def count_assigner(method: str, size: int, slide: int) -> WindowAssigner[Any, CountWindow]:
    """The assigner of windows of `size` elements; with a slide, a new one every `slide` elements."""
    if not is_whole(size) or size < 1:
        raise GraphError(f"{method}: the size must be a number of elements, 1 or more, got {size!r}.")
    if not is_whole(slide) or slide < 0:
        raise GraphError(f"{method}: the slide must be a number of elements (0: as many as the size), got {slide!r}.")
    return CountSlidingWindowAssigner(size, slide) if slide else CountTumblingWindowAssigner(size)
