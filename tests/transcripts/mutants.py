"""Operators broken on purpose, each with the transcript that must notice. No monkeypatching: they must reach Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from penstock.datastream import DataStream
from penstock.datastream.window import EventTimeSessionWindows, PurgingTrigger
from penstock.runtime.operators import (
    KeyedProcessOperator,
    MapOperator,
    ProcessOperator,
    ReduceOperator,
    StreamOperator,
    WatermarkOperator,
    WindowOperator,
)
from penstock.runtime.rows import Timestamps
from penstock.testing.transcripts import Transcript
from tests.transcripts.every_case import BY_NAME


class Mutant(StreamOperator):
    """An operator with a fault; `seen_by` is the name of the transcript that must fail.

    `fades`: only what is in the store between two steps shows it, which a job on Spark does not let us see.
    """

    seen_by = ""
    fades = False
    replaces: type[StreamOperator]


class Veil:
    """Stands before an object and answers some calls itself."""

    def __init__(self, hidden: Any) -> None:
        self._hidden = hidden

    def __getattr__(self, name: str) -> Any:
        return getattr(self._hidden, name)


class BackwardTimers(Veil):
    def pop_due(self, domain: int, up_to: int) -> Iterator[Any]:
        return iter(list(self._hidden.pop_due(domain, up_to))[::-1])


class Uncleared(Veil):
    def clear(self) -> None:
        pass


class Unerased(Veil):
    def delete(self, *arguments: Any) -> None:
        pass


class Unmerged(Veil):
    def merge(self, *arguments: Any) -> None:
        pass


class UnclearedTrigger(Veil):
    def clear(self, window: Any, ctx: Any) -> None:
        pass


class EvictorSwapped(Veil):
    def evict_before(self, *arguments: Any) -> None:
        self._hidden.evict_after(*arguments)

    def evict_after(self, *arguments: Any) -> None:
        self._hidden.evict_before(*arguments)


class AssignedOneBefore(Veil):
    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Any:
        return self._hidden.assign_windows(element, timestamp - 1, context)


class PanesTooFew(Veil):
    def needed_from(self, timestamp: int) -> int:
        return int(self._hidden.needed_from(timestamp) + self._hidden.slide)


class TimersInDisorder(KeyedProcessOperator, Mutant):
    seen_by = "timers fire in the order of their timestamps, whatever the order they were set in"
    replaces = KeyedProcessOperator

    def open(self) -> None:
        super().open()
        self.context.timers = BackwardTimers(self.context.timers)  # type: ignore[assignment]


class TimersOneLate(KeyedProcessOperator, Mutant):
    seen_by = "an event-time timer fires when the watermark reaches it, with its own timestamp"
    replaces = KeyedProcessOperator

    def on_watermark(self, watermark: int) -> None:
        super().on_watermark(watermark - 1)


class TimersOneEarly(KeyedProcessOperator, Mutant):
    seen_by = "event time may be negative"
    replaces = KeyedProcessOperator

    def on_watermark(self, watermark: int) -> None:
        super().on_watermark(min(watermark, 2**63 - 2) + 1)


class TimersStay(KeyedProcessOperator, Mutant):
    seen_by = "a timer that was deleted does not fire, and one that never was may be deleted"
    replaces = KeyedProcessOperator

    def open(self) -> None:
        self.context.timers = Unerased(self.context.timers)  # type: ignore[assignment]
        super().open()


class TimersAtTheEnd(KeyedProcessOperator, Mutant):
    seen_by = "the end of input fires no processing-time timers"
    replaces = KeyedProcessOperator

    def on_end(self) -> None:
        self.on_processing_time(2**62)
        super().on_end()


class StateStays(KeyedProcessOperator, Mutant):
    seen_by = "value state belongs to its key and lasts until it is cleared"
    replaces = KeyedProcessOperator

    def open(self) -> None:
        super().open()
        self.function.count = Uncleared(self.function.count)


class StateLeftBehind(KeyedProcessOperator, Mutant):
    """Nothing that comes out is wrong: only the store shows it."""

    seen_by = "state that a timer clears is gone"
    replaces = KeyedProcessOperator

    def on_watermark(self, watermark: int) -> None:
        super().on_watermark(watermark)
        assert self.context.timers is not None and self.context.backend is not None
        self.context.backend.set_key("nobody")
        self.function.until.update(1)


class TwiceAfterRestore(MapOperator, Mutant):
    """Says the last thing again when the next batch begins."""

    seen_by = "map keeps timestamps, and the lack of them"
    replaces = MapOperator

    def begin_batch(self, version: int, attempt: str, state: Any) -> None:
        self.last = state
        if state is not None:
            self.output.emit(*state)

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        super().process_block(values, timestamps, keys)
        self.last = ([self.function(values[-1])], None if timestamps is None else [timestamps[-1]])

    def snapshot(self) -> Any:
        return self.last


class ForgetsBetweenBatches(ReduceOperator, Mutant):
    """Keeps its results in the process and not in the store."""

    seen_by = "sum adds up the field of the first record"
    replaces = ReduceOperator

    def begin_batch(self, version: int, attempt: str, state: Any) -> None:
        self.results: dict[Any, Any] = {}

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        assert keys is not None
        for value, key in zip(values, keys, strict=True):
            self.results[key] = self.function(self.results[key], value) if key in self.results else value
            self.output.emit([self.results[key]], timestamps)


class LosesTimestamps(MapOperator, Mutant):
    seen_by = "map keeps timestamps, and the lack of them"
    replaces = MapOperator

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        super().process_block(values, None, keys)


class SidesInTheMainOutput(ProcessOperator, Mutant):
    seen_by = "side outputs take what is yielded with a tag and what is given to ctx.output"
    replaces = ProcessOperator

    def open(self) -> None:
        super().open()
        self.output.emit_side = lambda tag, values, timestamps: self.output.emit(  # type: ignore[method-assign]
            values, timestamps
        )


class NothingIsLate(ProcessOperator, Mutant):
    """Watermarks pass by unseen."""

    seen_by = "a record at the watermark is late, one behind it is not"
    replaces = ProcessOperator

    def on_watermark(self, watermark: int) -> None:
        self.output.emit_watermark(watermark)


class WatermarksOneAhead(WatermarkOperator, Mutant):
    """Nothing is wrong with the records: only the watermark shows it."""

    seen_by = "monotonous timestamps stay one behind"
    replaces = WatermarkOperator

    def open(self) -> None:
        super().open()
        emit = self.output.emit_watermark
        self.output.emit_watermark = lambda watermark: emit(  # type: ignore[method-assign]
            min(watermark, 2**63 - 2) + 1
        )


def kept_by(operator: Any) -> Any:
    """What keeps the windows of an opened operator."""
    return operator._element.__self__


class WindowsOneEarly(WindowOperator, Mutant):
    seen_by = (
        "a window holds its start and not its end, and fires with its last timestamp when the watermark reaches that"
    )
    replaces = WindowOperator

    def on_watermark(self, watermark: int) -> None:
        super().on_watermark(min(watermark, 2**63 - 2) + 1)


class WindowsHoldTheirEnd(WindowOperator, Mutant):
    seen_by = (
        "a window holds its start and not its end, and fires with its last timestamp when the watermark reaches that"
    )
    replaces = WindowOperator

    def open(self) -> None:
        self.spec = replace(self.spec, assigner=AssignedOneBefore(self.spec.assigner))  # type: ignore[arg-type]
        super().open()


class ResultsOneLate(WindowOperator, Mutant):
    """Stamps results with the end of the window."""

    seen_by = "windows may be reduced"
    replaces = WindowOperator

    def open(self) -> None:
        emit = self.output.emit
        self.output.emit = lambda values, timestamps: emit(  # type: ignore[method-assign]
            values, [timestamp + 1 for timestamp in timestamps or []]
        )
        super().open()


class TouchingSessionsStayApart(WindowOperator, Mutant):
    seen_by = "sessions that only touch are one"
    replaces = WindowOperator

    def open(self) -> None:
        self.spec = replace(self.spec, assigner=EventTimeSessionWindows.with_gap(9))
        super().open()


class LateRecordsLetIn(WindowOperator, Mutant):
    seen_by = "late records go aside with their timestamps, if one asks for them"
    replaces = WindowOperator

    def open(self) -> None:
        super().open()
        kept_by(self).is_late = lambda window: False


class LateRecordsLost(WindowOperator, Mutant):
    seen_by = "late records go aside with their timestamps, if one asks for them"
    replaces = WindowOperator

    def open(self) -> None:
        self.spec = replace(self.spec, late_tag=None)
        super().open()


class LatenessIgnored(WindowOperator, Mutant):
    seen_by = "a window that is kept fires again with each late record"
    replaces = WindowOperator

    def open(self) -> None:
        self.spec = replace(self.spec, allowed_lateness=0)
        super().open()


class FiringAlwaysPurges(WindowOperator, Mutant):
    seen_by = "a window that is kept fires again with each late record"
    replaces = WindowOperator

    def open(self) -> None:
        self.spec = replace(self.spec, trigger=PurgingTrigger.of(self.spec.trigger))
        super().open()


class WindowsStay(WindowOperator, Mutant):
    """Nothing that comes out is wrong: only the store shows it."""

    seen_by = "windows may be aggregated"
    replaces = WindowOperator

    def _contents(self, evaluator: Any) -> Any:
        return Uncleared(super()._contents(evaluator))


class TriggersStay(WindowOperator, Mutant):
    """Nothing that comes out is wrong: only the store shows it."""

    seen_by = "a count trigger fires every so many records, keeps the elements, and not at the window's end"
    replaces = WindowOperator

    def open(self) -> None:
        self.spec = replace(self.spec, trigger=UnclearedTrigger(self.spec.trigger))  # type: ignore[arg-type]
        super().open()


class TimersOfMergedWindowsStay(WindowOperator, Mutant):
    """Nothing that comes out is wrong: only the store shows it, until the end of input."""

    seen_by = "a record between two sessions makes them one, and only one fires"
    fades = True
    replaces = WindowOperator

    def open(self) -> None:
        self.context.timers = Unerased(self.context.timers)  # type: ignore[assignment]
        super().open()


class MergingForgets(WindowOperator, Mutant):
    seen_by = "a record between two sessions makes them one, and only one fires"
    replaces = WindowOperator

    def _contents(self, evaluator: Any) -> Any:
        return Unmerged(super()._contents(evaluator))


class EvictsAfterwards(WindowOperator, Mutant):
    seen_by = "a count evictor keeps the last elements for the function"
    replaces = WindowOperator

    def open(self) -> None:
        self.spec = replace(self.spec, evictor=EvictorSwapped(self.spec.evictor))  # type: ignore[arg-type]
        super().open()


class PanesGoTooEarly(WindowOperator, Mutant):
    """Forgets a pane one window too early."""

    seen_by = "sliding windows of an aggregation that does not mind the order are the same, kept as panes"
    replaces = WindowOperator

    def open(self) -> None:
        super().open()
        kept_by(self)._grid = PanesTooFew(kept_by(self)._grid)


MUTANTS: list[type[Mutant]] = [
    TimersInDisorder,
    TimersOneLate,
    TimersOneEarly,
    TimersStay,
    TimersAtTheEnd,
    StateStays,
    StateLeftBehind,
    TwiceAfterRestore,
    ForgetsBetweenBatches,
    LosesTimestamps,
    SidesInTheMainOutput,
    NothingIsLate,
    WatermarksOneAhead,
    WindowsOneEarly,
    WindowsHoldTheirEnd,
    ResultsOneLate,
    TouchingSessionsStayApart,
    LateRecordsLetIn,
    LateRecordsLost,
    LatenessIgnored,
    FiringAlwaysPurges,
    WindowsStay,
    TriggersStay,
    TimersOfMergedWindowsStay,
    MergingForgets,
    EvictsAfterwards,
    PanesGoTooEarly,
]


class _Sabotage:
    """A pipeline with its operators replaced by broken ones."""

    def __init__(self, pipeline: Callable[..., DataStream], mutant: type[Mutant]) -> None:
        self._pipeline = pipeline
        self._mutant = mutant

    def __call__(self, *streams: DataStream) -> DataStream:
        graph = streams[0].get_execution_environment().graph
        known = set(graph.nodes)
        result = self._pipeline(*streams)
        for node in list(graph.nodes.values()):
            if node.id not in known and type(node.operator) is self._mutant.replaces:
                graph.change(node.id, operator=self._broken(node.operator))
        return result

    def _broken(self, operator: StreamOperator) -> Mutant:
        broken = self._mutant.__new__(self._mutant)
        broken.__dict__.update(operator.__dict__)
        return broken


def mutated(mutant: type[Mutant], name: str = "") -> Transcript:
    """The transcript that must notice the mutant, or another one, about the mutant."""
    transcript = BY_NAME[name or mutant.seen_by]
    return replace(
        transcript, name=f"{mutant.__name__}: {transcript.name}", pipeline=_Sabotage(transcript.pipeline, mutant)
    )
