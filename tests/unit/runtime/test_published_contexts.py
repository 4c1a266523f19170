"""What user functions are handed is of the classes that they name in their type hints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from penstock.common import Duration, Time, Types, WatermarkStrategy
from penstock.datastream import (
    BroadcastProcessFunction,
    CheckpointedFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessAllWindowFunction,
    ProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
    SinkFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.checkpointed_function import FunctionInitializationContext, FunctionSnapshotContext
from penstock.datastream.data_stream import DataStream
from penstock.datastream.functions import KeyedStateStore
from penstock.datastream.state import MapStateDescriptor, OperatorStateStore
from penstock.datastream.timerservice import TimerService
from penstock.datastream.window import (
    Evictor,
    TimeWindow,
    TimeWindowSerializer,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from penstock.vocabulary.join_functions import ProcessJoinFunction

STATE = MapStateDescriptor("broadcast", Types.STRING(), Types.LONG())


def is_published(thing: Any, *kinds: type) -> list[str]:
    return [f"{type(thing).__name__} is no {kind.__qualname__}" for kind in kinds if not isinstance(thing, kind)]


def problems(stream: DataStream) -> list[str]:
    """The complaints of a job, each once."""
    with stream.execute_and_collect() as results:
        return sorted(set(results))


def numbers(environment: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value)
    return environment.from_collection([1, 2, 3]).assign_timestamps_and_watermarks(strategy)


def keyed(environment: StreamExecutionEnvironment) -> Any:
    return numbers(environment).key_by(lambda value: 0)


def test_process_functions() -> None:
    class Process(ProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.found = is_published(runtime_context, RuntimeContext)

        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[str]:
            yield from self.found
            yield from is_published(ctx, ProcessFunction.Context)
            yield from is_published(ctx.timer_service(), TimerService)

    class Keyed(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
            ctx.timer_service().register_event_time_timer(value)
            yield from is_published(ctx, KeyedProcessFunction.Context)

        def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
            yield from is_published(ctx, KeyedProcessFunction.OnTimerContext)

    environment = StreamExecutionEnvironment.in_process()
    assert problems(numbers(environment).process(Process())) == []
    assert problems(keyed(environment).process(Keyed())) == []


def test_the_context_of_a_stream_without_keys_is_not_one_with_keys() -> None:
    class Process(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[str]:
            yield str(isinstance(ctx, KeyedProcessFunction.Context))

    assert problems(numbers(StreamExecutionEnvironment.in_process()).process(Process())) == ["False"]


def test_functions_of_two_streams() -> None:
    class Co(CoProcessFunction):
        def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Iterator[str]:
            yield from is_published(ctx, CoProcessFunction.Context)

        process_element2 = process_element1

    class KeyedCo(KeyedCoProcessFunction):
        def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterator[str]:
            ctx.timer_service().register_event_time_timer(value)
            yield from is_published(ctx, KeyedCoProcessFunction.Context)

        process_element2 = process_element1

        def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterator[str]:
            yield from is_published(ctx, KeyedCoProcessFunction.OnTimerContext)

    environment = StreamExecutionEnvironment.in_process()
    assert problems(numbers(environment).connect(numbers(environment)).process(Co())) == []
    assert problems(keyed(environment).connect(keyed(environment)).process(KeyedCo())) == []


def test_broadcast_functions() -> None:
    class Broadcast(BroadcastProcessFunction):
        def process_element(self, value: Any, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterator[str]:
            yield from is_published(ctx, BroadcastProcessFunction.ReadOnlyContext)

        def process_broadcast_element(self, value: Any, ctx: BroadcastProcessFunction.Context) -> Iterator[str]:
            yield from is_published(ctx, BroadcastProcessFunction.Context)

    class Keyed(KeyedBroadcastProcessFunction):
        def process_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> Iterator[str]:
            ctx.timer_service().register_event_time_timer(value)
            yield from is_published(ctx, KeyedBroadcastProcessFunction.ReadOnlyContext)

        def process_broadcast_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.Context) -> Iterator[str]:
            yield from is_published(ctx, KeyedBroadcastProcessFunction.Context)

        def on_timer(self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext) -> Iterator[str]:
            yield from is_published(ctx, KeyedBroadcastProcessFunction.OnTimerContext)

    environment = StreamExecutionEnvironment.in_process()
    everywhere = numbers(environment).broadcast(STATE)
    assert problems(numbers(environment).connect(everywhere).process(Broadcast())) == []
    assert problems(keyed(environment).connect(everywhere).process(Keyed())) == []


class Windows(WindowAssigner[Any, TimeWindow]):
    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        assert is_published(context, WindowAssigner.WindowAssignerContext) == []
        return [TimeWindow(0, 10)]

    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        return AtOnce()

    def get_window_serializer(self) -> TimeWindowSerializer:
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        return True


class AtOnce(Trigger[Any, TimeWindow]):
    def on_element(
        self, element: Any, timestamp: int | None, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        assert is_published(ctx, Trigger.TriggerContext) == []
        return TriggerResult.FIRE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        return None

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        return None


class Evicts(Evictor[Any, TimeWindow]):
    def evict_before(self, elements: Any, size: int, window: Any, evictor_context: Evictor.EvictorContext) -> None:
        assert is_published(evictor_context, Evictor.EvictorContext) == []

    evict_after = evict_before


def test_window_functions() -> None:
    class Process(ProcessWindowFunction):
        def process(self, key: Any, context: ProcessWindowFunction.Context, elements: Iterable[Any]) -> Iterator[str]:
            yield from is_published(context, ProcessWindowFunction.Context)
            yield from is_published(context.global_state(), KeyedStateStore)
            yield from is_published(context.window_state(), KeyedStateStore)

    class ProcessAll(ProcessAllWindowFunction):
        def process(self, context: ProcessAllWindowFunction.Context, elements: Iterable[Any]) -> Iterator[str]:
            yield from is_published(context, ProcessAllWindowFunction.Context)

    environment = StreamExecutionEnvironment.in_process()
    assert problems(keyed(environment).window(Windows()).evictor(Evicts()).process(Process())) == []
    tumbling = TumblingEventTimeWindows.of(Time.milliseconds(10))
    assert problems(numbers(environment).window_all(tumbling).process(ProcessAll())) == []


def test_functions_of_joins() -> None:
    class Join(ProcessJoinFunction):
        def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterator[str]:
            yield from is_published(ctx, ProcessJoinFunction.Context)

    environment = StreamExecutionEnvironment.in_process()
    joined = keyed(environment).interval_join(keyed(environment))
    assert problems(joined.between(Duration.of_millis(-1), Duration.of_millis(1)).process(Join())) == []


def test_checkpointed_functions_and_sinks() -> None:
    class Checkpointed(MapFunction, CheckpointedFunction):
        def initialize_state(self, context: FunctionInitializationContext) -> None:
            assert is_published(context, FunctionInitializationContext) == []
            assert is_published(context.get_operator_state_store(), OperatorStateStore) == []
            assert is_published(context.get_keyed_state_store(), KeyedStateStore) == []

        def snapshot_state(self, context: FunctionSnapshotContext) -> None:
            assert is_published(context, FunctionSnapshotContext) == []

        def map(self, value: Any) -> Any:
            return value

    class Sink(SinkFunction):
        def invoke(self, value: Any, context: SinkFunction.Context) -> None:
            assert is_published(context, SinkFunction.Context) == []

    environment = StreamExecutionEnvironment.in_process()
    numbers(environment).map(Checkpointed()).add_sink(Sink())
    environment.execute()
