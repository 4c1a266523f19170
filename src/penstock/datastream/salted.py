"""Windows of keys that have most of the elements: aggregated in parts by key and salt, then merged by key.

Both steps are ordinary windows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

from penstock.common.serializer import TypeSerializer
from penstock.common.type_variables import K_co, T_co
from penstock.common.typeinfo import TypeInformation
from penstock.datastream.arguments import is_whole
from penstock.datastream.incremental_windows import IncrementalWindows
from penstock.datastream.stream import DataStream, add_operator, settings_of_sender
from penstock.errors import GraphError
from penstock.graph.nodes import FORWARD
from penstock.runtime import operators
from penstock.runtime.callables import method_or_callable
from penstock.vocabulary.commutativity import Order, order_of
from penstock.vocabulary.functions import AggregateFunction, ProcessWindowFunction, RuntimeContext
from penstock.vocabulary.window import EventTimeTrigger, TimeWindow, TimeWindowSerializer, Trigger, WindowAssigner
from penstock.vocabulary.window_evaluation import WindowsOfKey

if TYPE_CHECKING:
    from penstock.datastream.keyed_stream import KeyedStream

__all__ = ["SaltedStream", "SaltedWindows"]


class Part(NamedTuple):
    """What one salt of a key has come to in a window."""

    key: Any
    start: int
    end: int
    accumulator: Any


class _Parts(AggregateFunction):
    """Aggregates the elements of a key and salt; its result is the accumulator, which is yet to be merged."""

    is_commutative = True  # the function was asked for it

    def __init__(self, function: Any) -> None:
        self._function = function

    def open(self, runtime_context: RuntimeContext) -> None:
        """Open the function."""
        if hasattr(self._function, "open"):
            self._function.open(runtime_context)

    def close(self) -> None:
        """Close the function."""
        if hasattr(self._function, "close"):
            self._function.close()

    def create_accumulator(self) -> Any:
        """Nothing yet; a reduce function begins with an element."""
        return self._function.create_accumulator() if isinstance(self._function, AggregateFunction) else None

    def add(self, value: Any, accumulator: Any) -> Any:
        """Add the element without its salt."""
        if isinstance(self._function, AggregateFunction):
            return self._function.add(value[1], accumulator)
        return value[1] if accumulator is None else self.merge(accumulator, value[1])

    def get_result(self, accumulator: Any) -> Any:
        """The accumulator itself."""
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        """Merge as the function does."""
        if isinstance(self._function, AggregateFunction):
            return self._function.merge(acc_a, acc_b)
        return method_or_callable(self._function, "reduce")(acc_a, acc_b)


class _MergedParts(_Parts):
    """Merges the parts of a key."""

    def create_accumulator(self) -> Any:
        """Nothing yet: the first part is the beginning."""
        return None

    def add(self, value: Part, accumulator: Any) -> Any:
        """Merge a part."""
        return value.accumulator if accumulator is None else self.merge(accumulator, value.accumulator)

    def get_result(self, accumulator: Any) -> Any:
        """The result of the function."""
        return self._function.get_result(accumulator) if isinstance(self._function, AggregateFunction) else accumulator


class _PartOf(ProcessWindowFunction[Any, Any, Any, Any]):
    """Says which window a part is of."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Part]:
        """Emit the part, under the key without its salt."""
        window = context.window()
        for accumulator in elements:
            yield Part(key[0], window.start, window.end, accumulator)


class _WindowOfPart(WindowAssigner[Part, TimeWindow]):
    """Puts a part into the window that it is of."""

    state_identity = "_WindowOfPart"

    def assign_windows(
        self, element: Part, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        """Return that window."""
        return [TimeWindow(element.start, element.end)]

    def get_default_trigger(self, env: Any) -> Trigger[Part, TimeWindow]:
        """Return an EventTimeTrigger."""
        return EventTimeTrigger()

    def get_window_serializer(self) -> TypeSerializer[TimeWindow]:
        """Return how time windows are written."""
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        """Return True."""
        return True


class SaltedStream(Generic[K_co, T_co]):
    """A keyed stream whose keys are spread over several salts, for windows that are aggregated in two steps."""

    def __init__(self, stream: KeyedStream[K_co, T_co], salts: int) -> None:
        """Made by `KeyedStream.salted`."""
        if not is_whole(salts) or salts < 2:
            raise GraphError(f"salted: expected the number of salts for each key, 2 or more, got {salts!r}.")
        self._stream = stream
        self._salts = salts

    def window(self, window_assigner: WindowAssigner[T_co, TimeWindow]) -> SaltedWindows[K_co, T_co]:
        """Group the elements of each key in windows of event time that tumble, slide or cumulate."""
        is_assigner = isinstance(window_assigner, WindowAssigner)
        if not is_assigner or not window_assigner.is_event_time() or window_assigner.pane_grid() is None:
            raise GraphError(
                f"salted: windows of {type(window_assigner).__name__} cannot be merged from parts; use tumbling, "
                "sliding or cumulative event-time windows, or remove salted(...)."
            )
        return SaltedWindows(self._stream, self._salts, window_assigner)


class SaltedWindows(IncrementalWindows[WindowsOfKey[K_co], T_co, TimeWindow], Generic[K_co, T_co]):
    """Windows of a salted stream: `reduce` and `aggregate` by functions that are commutative."""

    def __init__(self, stream: KeyedStream[K_co, T_co], salts: int, assigner: WindowAssigner[T_co, TimeWindow]) -> None:
        """Made by `SaltedStream.window`."""
        self._stream: KeyedStream[K_co, T_co] = stream
        self._salts = salts
        self._assigner = assigner

    def _incremental(
        self, method: str, combine: Any, window_function: Any, output_type: TypeInformation | None
    ) -> DataStream:
        if order_of(combine) is not Order.NONE:
            raise GraphError(
                f"{method}: salted(...) spreads the elements of a key, so that they lose their order. If the order "
                "does not matter to the function, mark it with commutative(...)."
            )
        stream, key_of = self._stream, self._stream.key_selector
        # Chained to whatever sends the elements: the exchange comes after it, by key and salt.
        salted = add_operator(
            stream.environment,
            "Salt",
            operators.SaltOperator(self._salts),
            stream.edges_with(FORWARD),
            None,
            **settings_of_sender(stream),
        )
        parts = salted.key_by(lambda pair: (key_of(pair[1]), pair[0])).window(self._assigner).two_phase(False)
        merged = parts.aggregate(_Parts(combine), _PartOf()).name(f"Salted {method.title()}, parts")
        by_key = merged.key_by(lambda part: part.key, stream.edges[0].partitioning.key_type).window(_WindowOfPart())
        return by_key.aggregate(_MergedParts(combine), window_function, output_type=output_type).name(
            f"Salted {method.title()}"
        )
