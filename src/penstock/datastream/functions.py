"""The function classes a user writes and the contexts they are handed; owns no behaviour (the runtime calls them)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.datastream.async_retry_strategies import AsyncRetryPredicate, AsyncRetryStrategy
from penstock.datastream.time_domain import TimeDomain
from penstock.datastream.timerservice import TimerService

if TYPE_CHECKING:
    from penstock.common.time import Time
    from penstock.datastream.output_tag import OutputTag
    from penstock.datastream.state import (
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
    from penstock.metrics import MetricGroup

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
    "ReduceFunctionWrapper",
    "RichAsyncFunction",
    "RuntimeContext",
    "SinkFunction",
    "SourceFunction",
    "TimerService",
    "WindowFunction",
]

IN = TypeVar("IN")
IN1 = TypeVar("IN1")
IN2 = TypeVar("IN2")
OUT = TypeVar("OUT")
KEY = TypeVar("KEY")
W = TypeVar("W")
W2 = TypeVar("W2")


class KeyedStateStore(ABC):
    """Gives access to the keyed state of an operator; the same name always gives the same state."""

    @abstractmethod
    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState[Any]:
        """Return the value state of that name."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """Return the list state of that name."""

    @abstractmethod
    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState[Any, Any]:
        """Return the map state of that name."""

    @abstractmethod
    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState[Any]:
        """Return the reducing state of that name."""

    @abstractmethod
    def get_aggregating_state(self, state_descriptor: AggregatingStateDescriptor) -> AggregatingState[Any, Any]:
        """Return the aggregating state of that name."""


class RuntimeContext(KeyedStateStore):
    """What a function can ask about the subtask it runs in; handed to `open`."""

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


class Function(ABC):  # noqa: B024 - abstract by meaning: every subclass adds its own method
    """The common part of all user functions: a life cycle."""

    def open(self, runtime_context: RuntimeContext) -> None:  # noqa: B027 - optional hook
        """Prepare; called before the first element, once in each process that runs a subtask."""

    def close(self) -> None:  # noqa: B027 - optional hook
        """Release what `open` took."""


class MapFunction(Function):
    """Turns each element into one other."""

    @abstractmethod
    def map(self, value: Any) -> Any:
        """Return the element that takes the place of `value`."""


class CoMapFunction(Function):
    """Turns each element of two connected streams into one other."""

    @abstractmethod
    def map1(self, value: Any) -> Any:
        """Map an element of the first stream."""

    @abstractmethod
    def map2(self, value: Any) -> Any:
        """Map an element of the second stream."""


class FlatMapFunction(Function):
    """Turns each element into any number of others."""

    @abstractmethod
    def flat_map(self, value: Any) -> Iterable[Any] | None:
        """Yield or return the elements that take the place of `value`."""


class CoFlatMapFunction(Function):
    """Turns each element of two connected streams into any number of others."""

    @abstractmethod
    def flat_map1(self, value: Any) -> Iterable[Any] | None:
        """Flat-map an element of the first stream."""

    @abstractmethod
    def flat_map2(self, value: Any) -> Iterable[Any] | None:
        """Flat-map an element of the second stream."""


class ReduceFunction(Function):
    """Combines two elements into one of the same type; must be associative."""

    is_commutative = False
    """Whether the order of elements does not matter either, see `penstock.datastream.commutative`."""

    @abstractmethod
    def reduce(self, value1: Any, value2: Any) -> Any:
        """Return both values combined."""


class ReduceFunctionWrapper(ReduceFunction):
    """A plain callable of two values as a `ReduceFunction`."""

    def __init__(self, func: Callable[[Any, Any], Any]) -> None:
        self._func = func

    def reduce(self, value1: Any, value2: Any) -> Any:
        """Call the wrapped function."""
        return self._func(value1, value2)


class AggregateFunction(Function):
    """Gathers elements in an accumulator that may have another type than elements and result."""

    is_commutative = False
    """Whether the order of elements does not matter, and `merge` works: see `penstock.datastream.commutative`."""

    @abstractmethod
    def create_accumulator(self) -> Any:
        """Return an empty accumulator."""

    @abstractmethod
    def add(self, value: Any, accumulator: Any) -> Any:
        """Return the accumulator with `value` added; it may be the same object, changed."""

    @abstractmethod
    def get_result(self, accumulator: Any) -> Any:
        """Return the result so far."""

    @abstractmethod
    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        """Return both accumulators merged: for merging windows, panes of sliding ones, and two-phase aggregation."""


class KeySelector(Function):
    """Extracts the key of an element."""

    @abstractmethod
    def get_key(self, value: Any) -> Any:
        """Return the key; must give the same key whenever it sees the same element."""


class FilterFunction(Function):
    """Chooses which elements stay."""

    @abstractmethod
    def filter(self, value: Any) -> bool:
        """Return whether the element stays."""


class Partitioner(Function):
    """Chooses the subtask an element goes to."""

    @abstractmethod
    def partition(self, key: Any, num_partitions: int) -> int:
        """Return a number from 0 to `num_partitions` - 1."""


class SourceFunction(Function):
    """A source written as a loop: `run` emits until it is done or `cancel` is called."""

    class SourceContext(ABC):
        """Takes the elements of a source."""

        @abstractmethod
        def collect(self, element: Any) -> None:
            """Emit an element without a timestamp."""

        @abstractmethod
        def collect_with_timestamp(self, element: Any, timestamp: int) -> None:
            """Emit an element with its event time in milliseconds."""

        @abstractmethod
        def emit_watermark(self, watermark: int) -> None:
            """Say that no earlier element is to come."""

        @abstractmethod
        def mark_as_temporarily_idle(self) -> None:
            """Say that nothing is to come for a while."""

    @abstractmethod
    def run(self, ctx: SourceFunction.SourceContext) -> None:
        """Emit elements through `ctx`."""

    @abstractmethod
    def cancel(self) -> None:
        """Make `run` return soon; called from another thread."""


class SinkFunction(Function):
    """Takes elements out of the job, one at a time. A replay after a failure may show an element again."""

    class Context(ABC):
        """What a sink can ask about the element at hand."""

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
    def invoke(self, value: Any, context: SinkFunction.Context) -> None:
        """Write one element."""


class ProcessFunction(Function):
    """Sees every element with its time, and may emit any number of elements to any output."""

    class Context(ABC):
        """What a process function can ask and do while it handles an element."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Return the timer service."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """Return the event time of the element or timer, or None if it has none."""

        @abstractmethod
        def output(self, tag: OutputTag, value: Any) -> None:
            """Emit to a side output; `yield tag, value` does the same."""

    @abstractmethod
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterable[Any] | None:
        """Handle one element; yield or return what to emit."""


class KeyedProcessFunction(Function):
    """A process function on a keyed stream: state and timers belong to the key of the element."""

    class Context(ProcessFunction.Context):
        """The context of an element with a key."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """Return the key of the element or timer."""

    class OnTimerContext(Context):
        """The context of a firing timer."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Return which kind of time fired the timer."""

    @abstractmethod
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any] | None:
        """Handle one element; yield or return what to emit."""

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any] | None:
        """Handle a timer set for `timestamp`; yield or return what to emit."""
        return None


class CoProcessFunction(Function):
    """A process function over two connected streams."""

    class Context(ProcessFunction.Context):
        """The context of an element of either stream."""

    @abstractmethod
    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Iterable[Any] | None:
        """Handle an element of the first stream."""

    @abstractmethod
    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Iterable[Any] | None:
        """Handle an element of the second stream."""


class KeyedCoProcessFunction(Function):
    """A process function over two connected keyed streams, which share state and timers of a key."""

    class Context(KeyedProcessFunction.Context):
        """The context of an element of either stream."""

    class OnTimerContext(Context):
        """The context of a firing timer."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Return which kind of time fired the timer."""

    @abstractmethod
    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterable[Any] | None:
        """Handle an element of the first stream."""

    @abstractmethod
    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterable[Any] | None:
        """Handle an element of the second stream."""

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterable[Any] | None:
        """Handle a timer set for `timestamp`."""
        return None


class AsyncFunction(Function, Generic[IN, OUT]):
    """Turns each element into a list of others by an asynchronous call."""

    @abstractmethod
    async def async_invoke(self, value: IN) -> list[OUT]:
        """Return the elements that take the place of `value`."""

    def timeout(self, value: IN) -> list[OUT]:
        """Return what to emit when the call took too long; by default the job fails."""
        raise TimeoutError(f"the asynchronous call took too long for element {value!r}")


# Java's name; as in PyFlink, every function has open() and close() here.
RichAsyncFunction = AsyncFunction


class AsyncFunctionDescriptor:
    """An AsyncFunction with everything that was said about its calls."""

    class OutputMode(Enum):
        """Whether results leave in the order of the input, or as calls complete."""

        ORDERED = 0
        UNORDERED = 1

    def __init__(
        self,
        async_function: AsyncFunction[Any, Any],
        timeout: Time,
        capacity: int,
        async_retry_strategy: AsyncRetryStrategy[Any],
        output_mode: OutputMode,
    ) -> None:
        self.async_function = async_function
        self.timeout = timeout
        self.capacity = capacity
        self.async_retry_strategy = async_retry_strategy
        self.output_mode = output_mode


class WindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Evaluates a window of a keyed stream from all its elements."""

    @abstractmethod
    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Iterable[OUT]:
        """Yield or return the results of the window."""


class AllWindowFunction(Function, Generic[IN, OUT, W]):
    """Evaluates a window of a stream that is not keyed."""

    @abstractmethod
    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[OUT]:
        """Yield or return the results of the window."""


class ProcessWindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Evaluates a window with access to time and state."""

    class Context(ABC, Generic[W2]):
        """What a window function can ask about its window."""

        @abstractmethod
        def window(self) -> W2:
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
        def output(self, tag: OutputTag, value: Any) -> None:
            """Emit to a side output."""

    @abstractmethod
    def process(self, key: KEY, context: ProcessWindowFunction.Context[W], elements: Iterable[IN]) -> Iterable[OUT]:
        """Yield or return the results of the window."""

    def clear(self, context: ProcessWindowFunction.Context[W]) -> None:
        """Free the per-window state; called when the window is removed."""


class ProcessAllWindowFunction(Function, Generic[IN, OUT, W]):
    """Evaluates a window of a stream that is not keyed, with access to state."""

    class Context(ABC, Generic[W2]):
        """What a window function can ask about its window."""

        @abstractmethod
        def window(self) -> W2:
            """Return the window."""

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """Return state of this window; free it in `clear`."""

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """Return state that outlives the window."""

        @abstractmethod
        def output(self, tag: OutputTag, value: Any) -> None:
            """Emit to a side output."""

    @abstractmethod
    def process(self, context: ProcessAllWindowFunction.Context[W], elements: Iterable[IN]) -> Iterable[OUT]:
        """Yield or return the results of the window."""

    def clear(self, context: ProcessAllWindowFunction.Context[W]) -> None:
        """Free the per-window state; called when the window is removed."""


class BaseBroadcastProcessFunction(Function):
    """The common part of the functions that join a stream with a broadcast one."""

    class BaseContext(ABC):
        """What both sides can ask and do."""

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
        def output(self, tag: OutputTag, value: Any) -> None:
            """Emit to a side output."""

    class Context(BaseContext):
        """The broadcast side: state may be written."""

        @abstractmethod
        def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
            """Return the broadcast state of that name."""

    class ReadOnlyContext(BaseContext):
        """The other side: state may only be read, so that it stays the same in all subtasks."""

        @abstractmethod
        def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> ReadOnlyBroadcastState[Any, Any]:
            """Return the broadcast state of that name."""


class BroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[IN1, IN2, OUT]):
    """Joins a stream that is not keyed with a broadcast one."""

    class Context(BaseBroadcastProcessFunction.Context):
        """The broadcast side."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext):
        """The side that is not broadcast."""

    @abstractmethod
    def process_element(self, value: IN1, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterable[OUT] | None:
        """Handle an element of the stream that is not broadcast."""

    @abstractmethod
    def process_broadcast_element(self, value: IN2, ctx: BroadcastProcessFunction.Context) -> Iterable[OUT] | None:
        """Handle a broadcast element; every subtask sees it and must change the state in the same way."""


class KeyedBroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[KEY, IN1, IN2, OUT]):
    """Joins a keyed stream with a broadcast one."""

    class Context(BaseBroadcastProcessFunction.Context):
        """The broadcast side."""

        @abstractmethod
        def apply_to_keyed_state(self, state_descriptor: StateDescriptor, function: Callable[[Any, Any], None]) -> None:
            """Call `function(key, state)` for every key of this subtask that has the state."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext):
        """The keyed side."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Return the timer service."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """Return the key of the element or timer."""

    class OnTimerContext(ReadOnlyContext):
        """The context of a firing timer."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Return which kind of time fired the timer."""

    @abstractmethod
    def process_element(self, value: IN1, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> Iterable[OUT] | None:
        """Handle an element of the keyed stream."""

    @abstractmethod
    def process_broadcast_element(self, value: IN2, ctx: KeyedBroadcastProcessFunction.Context) -> Iterable[OUT] | None:
        """Handle a broadcast element; every subtask sees it and must change the state in the same way."""

    def on_timer(self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext) -> Iterable[OUT] | None:
        """Handle a timer set for `timestamp`."""
        return None
