"""The stages of window joins and co-groups of two streams."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, Generic, Self, overload

from typing_extensions import TypeVar

from penstock.common.state_identity import identity_of
from penstock.common.time import Duration, Time
from penstock.common.type_variables import A, B, K, R, T1_co, T2_co
from penstock.common.typeinfo import TypeInformation
from penstock.datastream.arguments import check_function, check_type
from penstock.datastream.keyed_stream import KeyedStream
from penstock.datastream.selectors import Field, make_key_selector
from penstock.datastream.stream import DataStream, KeyOrField, add_operator, settings_of_sender
from penstock.datastream.windowed_stream import WindowedStream
from penstock.errors import GraphError
from penstock.graph.nodes import FORWARD
from penstock.runtime import operators
from penstock.runtime.operators import window_join
from penstock.vocabulary.functions import KeySelector, WindowFunction
from penstock.vocabulary.join_functions import CoGroupFunction, FlatJoinFunction, JoinFunction
from penstock.vocabulary.window import Evictor, Trigger, WindowAssigner

__all__ = ["CoGroupedStreams", "CoGroupedWindows", "EqualTo", "JoinedStreams", "JoinedWindows", "Where"]

Joins = Callable[[A, B], Any] | JoinFunction[A, B, Any] | FlatJoinFunction[A, B, Any]
CoGroups = Callable[[list[A], list[B]], Iterable[Any] | None] | CoGroupFunction[A, B, Any]
WINDOWS = TypeVar("WINDOWS", bound="_TwoStreamsInWindows", default=Any)
"""The last stage: it has the `apply` of a join, or that of a co-group."""


class _TwoStreams(ABC, Generic[T1_co, T2_co]):
    """Two streams that are to meet in windows; goes on with `where(...)`."""

    method: ClassVar[str]
    title: ClassVar[str]

    def __init__(self, first: DataStream[T1_co], second: DataStream[T2_co]) -> None:
        """Made by `DataStream.join` and `DataStream.co_group`."""
        if not isinstance(second, DataStream):
            raise GraphError(f"{self.method}: expected a DataStream, got {second!r}.")
        if first.environment is not second.environment:
            raise GraphError(
                f"{self.method}: the streams belong to different environments; build them in one environment."
            )
        self.first = first
        self.second = second

    def _where(self, key_selector: Any, key_type: Any) -> Where[Any, Any, Any]:
        return Where(self, make_key_selector(key_selector, "where"), check_type("where", "key_type", key_type))

    @abstractmethod
    def in_windows(self, keyed: EqualTo[Any], window_assigner: WindowAssigner[Any, Any]) -> _TwoStreamsInWindows:
        """The last stage."""

    @abstractmethod
    def evaluation(self, function: Any) -> WindowFunction[Any, Any, Any, Any]:
        """The window function that calls what the user gave to `apply`."""


class JoinedStreams(_TwoStreams[T1_co, T2_co]):
    """A window join: the function gets each pair of elements with one key and window, one from each stream."""

    method = "join"
    title = "Join"

    @overload
    def where(
        self, key_selector: Callable[[T1_co], K] | KeySelector[T1_co, K], key_type: None = None
    ) -> Where[T2_co, K, JoinedWindows[T1_co, T2_co]]: ...

    @overload
    def where(
        self, key_selector: Field | list[Any] | tuple[Any, ...], key_type: None = None
    ) -> Where[T2_co, Any, JoinedWindows[T1_co, T2_co]]: ...

    @overload
    def where(
        self, key_selector: KeyOrField[T1_co], key_type: TypeInformation[K]
    ) -> Where[T2_co, K, JoinedWindows[T1_co, T2_co]]: ...

    def where(
        self, key_selector: KeyOrField[T1_co], key_type: TypeInformation[Any] | None = None
    ) -> Where[T2_co, Any, JoinedWindows[T1_co, T2_co]]:
        """Set the key of the first stream; call `equal_to(...)` next."""
        return self._where(key_selector, key_type)

    def in_windows(self, keyed: EqualTo[Any], window_assigner: WindowAssigner[Any, Any]) -> JoinedWindows[T1_co, T2_co]:
        """The last stage."""
        return JoinedWindows(keyed, window_assigner)

    def evaluation(self, function: Any) -> WindowFunction[Any, Any, Any, Any]:
        """Call the function with each pair."""
        if not isinstance(function, FlatJoinFunction):
            check_function("apply", function, JoinFunction)
            if window_join.takes_collector(function):
                raise GraphError(
                    "apply: a JoinFunction takes two elements and returns one; derive from FlatJoinFunction to emit "
                    "any number with a collector."
                )
        return window_join.join_evaluation(function)


class CoGroupedStreams(_TwoStreams[T1_co, T2_co]):
    """A window co-group: the function gets all elements of one key and window, as one list per stream."""

    method = "co_group"
    title = "CoGroup"

    @overload
    def where(
        self, key_selector: Callable[[T1_co], K] | KeySelector[T1_co, K], key_type: None = None
    ) -> Where[T2_co, K, CoGroupedWindows[T1_co, T2_co]]: ...

    @overload
    def where(
        self, key_selector: Field | list[Any] | tuple[Any, ...], key_type: None = None
    ) -> Where[T2_co, Any, CoGroupedWindows[T1_co, T2_co]]: ...

    @overload
    def where(
        self, key_selector: KeyOrField[T1_co], key_type: TypeInformation[K]
    ) -> Where[T2_co, K, CoGroupedWindows[T1_co, T2_co]]: ...

    def where(
        self, key_selector: KeyOrField[T1_co], key_type: TypeInformation[Any] | None = None
    ) -> Where[T2_co, Any, CoGroupedWindows[T1_co, T2_co]]:
        """Set the key of the first stream; call `equal_to(...)` next."""
        return self._where(key_selector, key_type)

    def in_windows(
        self, keyed: EqualTo[Any], window_assigner: WindowAssigner[Any, Any]
    ) -> CoGroupedWindows[T1_co, T2_co]:
        """The last stage."""
        return CoGroupedWindows(keyed, window_assigner)

    def evaluation(self, function: Any) -> WindowFunction[Any, Any, Any, Any]:
        """Call the function with two lists."""
        check_function("apply", function, CoGroupFunction)
        return window_join.CoGroupEvaluation(function)


@dataclass(frozen=True)
class Where(Generic[T2_co, K, WINDOWS]):
    """Two streams and the key of the first; call `equal_to(...)` next."""

    streams: _TwoStreams
    key_selector: Callable[[Any], K]
    key_type: TypeInformation[K] | None

    def equal_to(
        self,
        key_selector: Callable[[T2_co], K] | KeySelector[T2_co, K] | Field | list[Any] | tuple[Any, ...],
        key_type: TypeInformation[K] | None = None,
    ) -> EqualTo[WINDOWS]:
        """Set the key of the second stream; call `window(...)` next."""
        declared = check_type("equal_to", "key_type", key_type)
        if None not in (self.key_type, declared) and self.key_type != declared:
            raise GraphError(
                f"equal_to: the keys are of different types, {self.key_type!r} in where() and {declared!r} here; "
                "select keys of one type."
            )
        return EqualTo(self, make_key_selector(key_selector, "equal_to"), declared)


@dataclass(frozen=True)
class EqualTo(Generic[WINDOWS]):
    """Two streams and their keys; call `window(...)` next."""

    where: Where[Any, Any, WINDOWS]
    key_selector: Callable[[Any], Any]
    key_type: TypeInformation | None

    def window(self, window_assigner: WindowAssigner[Any, Any]) -> WINDOWS:
        """Group the elements of each key in windows."""
        return self.where.streams.in_windows(self, window_assigner)  # type: ignore[return-value]


class _TwoStreamsInWindows:
    """Two streams in common windows; ends with `apply(...)`. Trigger and evictor see the elements of both streams."""

    def __init__(self, keyed: EqualTo[Any], window_assigner: WindowAssigner[Any, Any]) -> None:
        """Made by `EqualTo.window`."""
        if not isinstance(window_assigner, WindowAssigner):
            raise GraphError(
                "window: expected a WindowAssigner such as TumblingEventTimeWindows.of(Time.minutes(1)), "
                f"got {window_assigner!r}."
            )
        self._keyed = keyed
        self._assigner = window_assigner
        self._settings: list[Callable[[WindowedStream], Any]] = []

    def trigger(self, trigger: Trigger[Any, Any]) -> Self:
        """Fire windows when this trigger says so, instead of the assigner's own."""
        if not isinstance(trigger, Trigger):
            raise GraphError(f"trigger: expected a Trigger such as CountTrigger.of(100), got {trigger!r}.")
        return self._set(lambda windows: windows.trigger(window_join.trigger_of_tagged(trigger)))

    def evictor(self, evictor: Evictor[Any, Any]) -> Self:
        """Let an evictor take elements of both streams out of a window that fires."""
        if not isinstance(evictor, Evictor):
            raise GraphError(f"evictor: expected an Evictor such as CountEvictor.of(100), got {evictor!r}.")
        return self._set(lambda windows: windows.evictor(window_join.evictor_of_tagged(evictor)))

    def allowed_lateness(self, time_ms: int | Duration | Time | timedelta) -> Self:
        """Keep windows of event time so much longer: a late element then fires its window again."""
        return self._set(lambda windows: windows.allowed_lateness(time_ms))

    def _apply(self, function: Any, output_type: Any) -> DataStream[Any]:
        streams = self._keyed.where.streams
        evaluation = streams.evaluation(function)
        check_type("apply", "output_type", output_type)
        windows = WindowedStream(self._tagged(), window_join.assigner_of_tagged(self._assigner))
        for setting in self._settings:
            setting(windows)
        result = windows.apply(evaluation, output_type)
        return result.name(f"{identity_of(self._assigner)}, {streams.title}")

    def _set(self, setting: Callable[[WindowedStream], Any]) -> Self:
        self._settings.append(setting)
        return self

    def _tagged(self) -> KeyedStream:
        """Both streams as one, keyed: each element says which side it is from."""
        where = self._keyed.where
        first = _tagged_stream(where.streams.first, window_join.FIRST)
        second = _tagged_stream(where.streams.second, window_join.SECOND)
        selector = window_join.TaggedKey((where.key_selector, self._keyed.key_selector))
        return KeyedStream(first.union(second), selector, where.key_type or self._keyed.key_type)


class JoinedWindows(_TwoStreamsInWindows, Generic[T1_co, T2_co]):
    """Two joined streams in common windows."""

    @overload
    def apply(self, function: FlatJoinFunction[T1_co, T2_co, R], output_type: None = None) -> DataStream[R]: ...

    @overload
    def apply(
        self, function: Callable[[T1_co, T2_co], R] | JoinFunction[T1_co, T2_co, R], output_type: None = None
    ) -> DataStream[R]: ...

    @overload
    def apply(self, function: Joins[T1_co, T2_co], output_type: TypeInformation[R]) -> DataStream[R]: ...

    def apply(self, function: Joins[T1_co, T2_co], output_type: TypeInformation[Any] | None = None) -> DataStream[Any]:
        """Call a JoinFunction, a FlatJoinFunction, or a callable of two elements that returns one, for each pair."""
        return self._apply(function, output_type)


class CoGroupedWindows(_TwoStreamsInWindows, Generic[T1_co, T2_co]):
    """Two co-grouped streams in common windows."""

    @overload
    def apply(
        self,
        function: Callable[[list[T1_co], list[T2_co]], Iterable[R] | None] | CoGroupFunction[T1_co, T2_co, R],
        output_type: None = None,
    ) -> DataStream[R]: ...

    @overload
    def apply(self, function: CoGroups[T1_co, T2_co], output_type: TypeInformation[R]) -> DataStream[R]: ...

    def apply(
        self, function: CoGroups[T1_co, T2_co], output_type: TypeInformation[Any] | None = None
    ) -> DataStream[Any]:
        """Call a CoGroupFunction, or a callable of two lists that yields or returns results, for each window."""
        return self._apply(function, output_type)


def _tagged_stream(stream: DataStream, side: int) -> DataStream:
    # However elements are dealt out, they are dealt out by key next: tagging them in the sender's subtasks, as Flink
    # does, saves an exchange.
    operator, edges = operators.MapOperator(window_join.Tag(side), False), stream.edges_with(FORWARD)
    return add_operator(stream.environment, f"Tag {side + 1}", operator, edges, None, **settings_of_sender(stream))
