"""Base classes for user functions, and their contexts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic

from penstock.common.type_variables import (
    ACC,
    IN1_contra,
    IN2_contra,
    IN_contra,
    K,
    K_co,
    KEY_contra,
    OUT_co,
    S,
    T,
    T_contra,
    V,
    W_co,
    W_contra,
)
from penstock.errors import HintsAtState
from penstock.vocabulary.async_descriptor import AsyncFunctionDescriptor
from penstock.vocabulary.async_retry_strategies import AsyncRetryPredicate, AsyncRetryStrategy
from penstock.vocabulary.time_domain import TimeDomain
from penstock.vocabulary.timerservice import TimerService
from penstock.vocabulary.window_evaluation import WindowEvaluation, WindowsOfAll, WindowsOfKey

if TYPE_CHECKING:
    from penstock.metrics import MetricGroup
    from penstock.vocabulary.output_tag import OutputTag
    from penstock.vocabulary.state import (
        AggregatingState,
        AggregatingStateDescriptor,
        BroadcastState,
        ListState,
        ListStateDescriptor,
        MapState,
        MapStateDescriptor,
        ReadOnlyBroadcastState,
        ReducingState,
        ReducingStateDescriptor,
        StateDescriptor,
        ValueState,
        ValueStateDescriptor,
    )

__all__ = [
    "AggregateFunction",
    "AllWindowFunction",
    "AsyncFunction",
    "AsyncFunctionDescriptor",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "BaseBroadcastProcessFunction",
    "BroadcastProcessFunction",
    "CoFlatMapFunction",
    "CoMapFunction",
    "CoProcessFunction",
    "FilterFunction",
    "FlatMapFunction",
    "Function",
    "KeySelector",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStateStore",
    "MapFunction",
    "Partitioner",
    "ProcessAllWindowFunction",
    "ProcessFunction",
    "ProcessWindowFunction",
    "ReduceFunction",
    "RichAsyncFunction",
    "RuntimeContext",
    "SinkFunction",
    "SourceFunction",
    "TimerService",
    "WindowFunction",
]

Results = Iterable[OUT_co | tuple["OutputTag[Any]", Any]] | None
"""What a process function yields or returns: elements, pairs of a tag and a value for its side output, or nothing."""


class KeyedStateStore(ABC):
    """Gives access to the keyed state of an operator; the same name always gives the same state."""

    @abstractmethod
    def get_state(self, state_descriptor: ValueStateDescriptor[T]) -> ValueState[T]:
        """Return the value state of that name."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor[T]) -> ListState[T]:
        """Return the list state of that name."""

    @abstractmethod
    def get_map_state(self, state_descriptor: MapStateDescriptor[K, V]) -> MapState[K, V]:
        """Return the map state of that name."""

    @abstractmethod
    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor[T]) -> ReducingState[T]:
        """Return the reducing state of that name."""

    @abstractmethod
    def get_aggregating_state(self, state_descriptor: AggregatingStateDescriptor[T, Any, V]) -> AggregatingState[T, V]:
        """Return the aggregating state of that name."""


class RuntimeContext(KeyedStateStore):
    """Information about the subtask that a function runs in; passed to `open`."""

    @abstractmethod
    def get_task_name(self) -> str:
        """Return the name of the operator."""

    @abstractmethod
    def get_number_of_parallel_subtasks(self) -> int:
        """Return the parallelism of the operator."""

    @abstractmethod
    def get_max_number_of_parallel_subtasks(self) -> int:
        """Return the number of key groups, the highest parallelism the state can be spread over."""

    @abstractmethod
    def get_index_of_this_subtask(self) -> int:
        """Return the number of this subtask, from 0."""

    @abstractmethod
    def get_attempt_number(self) -> int:
        """Return how often this work was tried before."""

    @abstractmethod
    def get_task_name_with_subtasks(self) -> str:
        """Return the name with subtask number and parallelism, such as `Map (1/4)`."""

    @abstractmethod
    def get_job_parameter(self, key: str, default_value: str) -> str:
        """Return a global job parameter."""

    @abstractmethod
    def get_metrics_group(self) -> MetricGroup:
        """Return the group under which the function registers its metrics."""


class Function(HintsAtState, ABC):
    """Base class of all user functions."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Set up; called before the first element, once in each process that runs a subtask."""

    def close(self) -> None:
        """Clean up what `open` created."""


class MapFunction(Function, Generic[IN_contra, OUT_co]):
    """Turns each element into one element."""

    @abstractmethod
    def map(self, value: IN_contra, /) -> OUT_co:
        """Return the element that replaces `value`."""


class CoMapFunction(Function, Generic[IN1_contra, IN2_contra, OUT_co]):
    """Turns each element of two connected streams into one element; None drops it, as in PyFlink."""

    @abstractmethod
    def map1(self, value: IN1_contra, /) -> OUT_co:
        """Map an element of the first stream."""

    @abstractmethod
    def map2(self, value: IN2_contra, /) -> OUT_co:
        """Map an element of the second stream."""


class FlatMapFunction(Function, Generic[IN_contra, OUT_co]):
    """Turns each element into any number of elements."""

    @abstractmethod
    def flat_map(self, value: IN_contra, /) -> Iterable[OUT_co] | None:
        """Yield or return the elements that replace `value`."""


class CoFlatMapFunction(Function, Generic[IN1_contra, IN2_contra, OUT_co]):
    """Turns each element of two connected streams into any number of elements."""

    @abstractmethod
    def flat_map1(self, value: IN1_contra, /) -> Iterable[OUT_co] | None:
        """Flat-map an element of the first stream."""

    @abstractmethod
    def flat_map2(self, value: IN2_contra, /) -> Iterable[OUT_co] | None:
        """Flat-map an element of the second stream."""


class ReduceFunction(Function, Generic[T]):
    """Combines two elements into one of the same type; must be associative."""

    is_commutative = False
    """Whether the order of elements does not matter either, see `penstock.datastream.commutative`."""

    @abstractmethod
    def reduce(self, value1: T, value2: T, /) -> T:
        """Return both values combined."""


class AggregateFunction(Function, Generic[IN_contra, ACC, OUT_co]):
    """Aggregates elements in an accumulator, whose type may differ from elements and result."""

    is_commutative = False
    """Whether the order of elements does not matter, and `merge` works: see `penstock.datastream.commutative`."""

    @abstractmethod
    def create_accumulator(self) -> ACC:
        """Return an empty accumulator."""

    @abstractmethod
    def add(self, value: IN_contra, accumulator: ACC, /) -> ACC:
        """Return the accumulator with `value` added; it may be the same object, changed."""

    @abstractmethod
    def get_result(self, accumulator: ACC, /) -> OUT_co:
        """Return the result so far."""

    @abstractmethod
    def merge(self, acc_a: ACC, acc_b: ACC, /) -> ACC:
        """Return both accumulators merged: for merging windows, panes of sliding ones, and two-phase aggregation."""


class KeySelector(Function, Generic[IN_contra, K_co]):
    """Extracts the key of an element."""

    @abstractmethod
    def get_key(self, value: IN_contra, /) -> K_co:
        """Return the key; it must always be the same for the same element."""


class FilterFunction(Function, Generic[T_contra]):
    """Chooses which elements to keep."""

    @abstractmethod
    def filter(self, value: T_contra, /) -> bool:
        """Return whether to keep the element."""


class Partitioner(Function, Generic[KEY_contra]):
    """Chooses the subtask an element goes to."""

    @abstractmethod
    def partition(self, key: KEY_contra, num_partitions: int, /) -> int:
        """Return a number from 0 to `num_partitions` - 1."""


class SourceFunction(Function, Generic[T]):
    """A source written as a loop: `run` emits until it is done or `cancel` is called."""

    class SourceContext(ABC, Generic[T_contra]):
        """Takes the elements of a source."""

        @abstractmethod
        def collect(self, element: T_contra) -> None:
            """Emit an element without a timestamp."""

        @abstractmethod
        def collect_with_timestamp(self, element: T_contra, timestamp: int) -> None:
            """Emit an element with its event time in milliseconds."""

        @abstractmethod
        def emit_watermark(self, watermark: int) -> None:
            """Emit a watermark: no earlier elements are expected."""

        @abstractmethod
        def mark_as_temporarily_idle(self) -> None:
            """Mark the source as idle."""

    @abstractmethod
    def run(self, ctx: SourceFunction.SourceContext[T], /) -> None:
        """Emit elements through `ctx`."""

    @abstractmethod
    def cancel(self) -> None:
        """Make `run` return soon; called from another thread."""


class SinkFunction(Function, Generic[T_contra]):
    """Writes elements to the outside, one at a time. A replay after a failure may repeat an element."""

    class Context(ABC):
        """Information about the current element."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """Return the clock in milliseconds since 1970."""

        @abstractmethod
        def current_watermark(self) -> int:
            """Return the event-time watermark."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """Return the element's event time, or None if it has none."""

    @abstractmethod
    def invoke(self, value: T_contra, context: SinkFunction.Context, /) -> None:
        """Write one element."""


class ProcessFunction(Function, Generic[IN_contra, OUT_co]):
    """Sees every element with its time, and may emit any number of elements to any output."""

    class Context(ABC):
        """Time, timers and side outputs for the current element."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Return the timer service."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """Return the event time of the element or timer, or None if it has none."""

        @abstractmethod
        def output(self, tag: OutputTag[T], value: T) -> None:
            """Emit to a side output; `yield tag, value` does the same."""

    @abstractmethod
    def process_element(self, value: IN_contra, ctx: ProcessFunction.Context, /) -> Results[OUT_co]:
        """Handle one element; yield or return what to emit."""


class KeyedProcessFunction(Function, Generic[KEY_contra, IN_contra, OUT_co]):
    """A process function on a keyed stream: state and timers belong to the key of the element."""

    class Context(ProcessFunction.Context, Generic[K_co]):
        """The context of an element with a key."""

        @abstractmethod
        def get_current_key(self) -> K_co:
            """Return the key of the element or timer."""

    class OnTimerContext(Context[K_co]):
        """The context of a firing timer."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Return which kind of time fired the timer."""

    @abstractmethod
    def process_element(self, value: IN_contra, ctx: KeyedProcessFunction.Context[KEY_contra], /) -> Results[OUT_co]:
        """Handle one element; yield or return what to emit."""

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext[KEY_contra], /) -> Results[OUT_co]:
        """Handle a timer set for `timestamp`; yield or return what to emit."""
        return None


class CoProcessFunction(Function, Generic[IN1_contra, IN2_contra, OUT_co]):
    """A process function over two connected streams."""

    class Context(ProcessFunction.Context):
        """The context of an element of either stream."""

    @abstractmethod
    def process_element1(self, value: IN1_contra, ctx: CoProcessFunction.Context, /) -> Results[OUT_co]:
        """Handle an element of the first stream."""

    @abstractmethod
    def process_element2(self, value: IN2_contra, ctx: CoProcessFunction.Context, /) -> Results[OUT_co]:
        """Handle an element of the second stream."""


class KeyedCoProcessFunction(Function, Generic[KEY_contra, IN1_contra, IN2_contra, OUT_co]):
    """A process function over two connected keyed streams, which share state and timers of a key."""

    class Context(KeyedProcessFunction.Context[K_co]):
        """The context of an element of either stream."""

    class OnTimerContext(Context[K_co]):
        """The context of a firing timer."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Return which kind of time fired the timer."""

    @abstractmethod
    def process_element1(
        self, value: IN1_contra, ctx: KeyedCoProcessFunction.Context[KEY_contra], /
    ) -> Results[OUT_co]:
        """Handle an element of the first stream."""

    @abstractmethod
    def process_element2(
        self, value: IN2_contra, ctx: KeyedCoProcessFunction.Context[KEY_contra], /
    ) -> Results[OUT_co]:
        """Handle an element of the second stream."""

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext[KEY_contra], /) -> Results[OUT_co]:
        """Handle a timer set for `timestamp`."""
        return None


class AsyncFunction(Function, Generic[IN_contra, OUT_co]):
    """Turns each element into a list of elements with an async call."""

    @abstractmethod
    async def async_invoke(self, value: IN_contra, /) -> list[OUT_co]:
        """Return the elements that replace `value`."""

    def timeout(self, value: IN_contra, /) -> list[OUT_co]:
        """Return what to emit when the call times out; by default the job fails."""
        raise TimeoutError(f"the async call timed out for element {value!r}")


# Java's name; as in PyFlink, every function has open() and close() here.
RichAsyncFunction = AsyncFunction


class WindowFunction(
    Function,
    WindowEvaluation[IN_contra, OUT_co, WindowsOfKey[KEY_contra], W_contra],
    Generic[IN_contra, OUT_co, KEY_contra, W_contra],
):
    """Evaluates a window of a keyed stream from all its elements."""

    @abstractmethod
    def apply(self, key: KEY_contra, window: W_contra, inputs: Iterable[IN_contra], /) -> Iterable[OUT_co]:
        """Yield or return the results of the window."""


class AllWindowFunction(
    Function, WindowEvaluation[IN_contra, OUT_co, WindowsOfAll, W_contra], Generic[IN_contra, OUT_co, W_contra]
):
    """Evaluates a window of a stream that is not keyed."""

    @abstractmethod
    def apply(self, window: W_contra, inputs: Iterable[IN_contra], /) -> Iterable[OUT_co]:
        """Yield or return the results of the window."""


class ProcessWindowFunction(
    Function,
    WindowEvaluation[IN_contra, OUT_co, WindowsOfKey[KEY_contra], W_contra],
    Generic[IN_contra, OUT_co, KEY_contra, W_contra],
):
    """Evaluates a window with access to time and state."""

    class Context(ABC, Generic[W_co]):
        """Information about the window, and its state."""

        @abstractmethod
        def window(self) -> W_co:
            """Return the window."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """Return the clock in milliseconds since 1970."""

        @abstractmethod
        def current_watermark(self) -> int:
            """Return the event-time watermark."""

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """Return state of this key and window; free it in `clear`."""

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """Return state of this key that outlives the window."""

        @abstractmethod
        def output(self, tag: OutputTag[T], value: T) -> None:
            """Emit to a side output."""

    @abstractmethod
    def process(
        self, key: KEY_contra, context: ProcessWindowFunction.Context[W_contra], elements: Iterable[IN_contra], /
    ) -> Iterable[OUT_co]:
        """Yield or return the results of the window."""

    def clear(self, context: ProcessWindowFunction.Context[W_contra], /) -> None:
        """Free the per-window state; called when the window is removed."""


class ProcessAllWindowFunction(
    Function, WindowEvaluation[IN_contra, OUT_co, WindowsOfAll, W_contra], Generic[IN_contra, OUT_co, W_contra]
):
    """Evaluates a window of a stream that is not keyed, with access to state."""

    class Context(ABC, Generic[W_co]):
        """Information about the window, and its state."""

        @abstractmethod
        def window(self) -> W_co:
            """Return the window."""

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """Return state of this window; free it in `clear`."""

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """Return state that outlives the window."""

        @abstractmethod
        def output(self, tag: OutputTag[T], value: T) -> None:
            """Emit to a side output."""

    @abstractmethod
    def process(
        self, context: ProcessAllWindowFunction.Context[W_contra], elements: Iterable[IN_contra], /
    ) -> Iterable[OUT_co]:
        """Yield or return the results of the window."""

    def clear(self, context: ProcessAllWindowFunction.Context[W_contra], /) -> None:
        """Free the per-window state; called when the window is removed."""


class BaseBroadcastProcessFunction(Function):
    """Base class of functions that combine a stream with a broadcast stream."""

    class BaseContext(ABC):
        """What both sides have in common."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """Return the event time of the element, or None if it has none."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """Return the clock in milliseconds since 1970."""

        @abstractmethod
        def current_watermark(self) -> int:
            """Return the event-time watermark."""

        @abstractmethod
        def output(self, tag: OutputTag[T], value: T) -> None:
            """Emit to a side output."""

    class Context(BaseContext):
        """The broadcast side: state may be written."""

        @abstractmethod
        def get_broadcast_state(self, state_descriptor: MapStateDescriptor[K, V]) -> BroadcastState[K, V]:
            """Return the broadcast state of that name."""

    class ReadOnlyContext(BaseContext):
        """The other side: state may only be read, so that it stays the same in all subtasks."""

        @abstractmethod
        def get_broadcast_state(self, state_descriptor: MapStateDescriptor[K, V]) -> ReadOnlyBroadcastState[K, V]:
            """Return the broadcast state of that name."""


class BroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[IN1_contra, IN2_contra, OUT_co]):
    """Joins a stream that is not keyed with a broadcast one."""

    class Context(BaseBroadcastProcessFunction.Context):
        """The broadcast side."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext):
        """The side that is not broadcast."""

    @abstractmethod
    def process_element(self, value: IN1_contra, ctx: BroadcastProcessFunction.ReadOnlyContext, /) -> Results[OUT_co]:
        """Handle an element of the stream that is not broadcast."""

    @abstractmethod
    def process_broadcast_element(self, value: IN2_contra, ctx: BroadcastProcessFunction.Context, /) -> Results[OUT_co]:
        """Handle a broadcast element; every subtask sees it and must change the state in the same way."""


class KeyedBroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[KEY_contra, IN1_contra, IN2_contra, OUT_co]):
    """Joins a keyed stream with a broadcast one."""

    class Context(BaseBroadcastProcessFunction.Context, Generic[K_co]):
        """The broadcast side."""

        @abstractmethod
        def apply_to_keyed_state(
            self, state_descriptor: StateDescriptor[S], function: Callable[[K_co, S], object]
        ) -> None:
            """Call `function(key, state)` for every key of this subtask that has the state."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext, Generic[K_co]):
        """The keyed side."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Return the timer service."""

        @abstractmethod
        def get_current_key(self) -> K_co:
            """Return the key of the element or timer."""

    class OnTimerContext(ReadOnlyContext[K_co]):
        """The context of a firing timer."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Return which kind of time fired the timer."""

    @abstractmethod
    def process_element(
        self, value: IN1_contra, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext[KEY_contra], /
    ) -> Results[OUT_co]:
        """Handle an element of the keyed stream."""

    @abstractmethod
    def process_broadcast_element(
        self, value: IN2_contra, ctx: KeyedBroadcastProcessFunction.Context[KEY_contra], /
    ) -> Results[OUT_co]:
        """Handle a broadcast element; every subtask sees it and must change the state in the same way."""

    def on_timer(
        self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext[KEY_contra], /
    ) -> Results[OUT_co]:
        """Handle a timer set for `timestamp`."""
        return None
