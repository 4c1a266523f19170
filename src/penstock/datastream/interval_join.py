"""The builder of interval joins of two keyed streams."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any, Generic, Self, overload

from penstock.common.time import Duration, Time, to_millis
from penstock.common.type_variables import R, T1_co, T2_co
from penstock.common.typeinfo import TypeInformation
from penstock.datastream.arguments import check_function, check_type
from penstock.datastream.keyed_stream import KeyedStream
from penstock.datastream.stream import DataStream, add_operator
from penstock.errors import GraphError
from penstock.runtime.operators.interval_join import IntervalJoinOperator, IntervalJoinSpec
from penstock.vocabulary.join_functions import ProcessJoinFunction
from penstock.vocabulary.output_tag import OutputTag

__all__ = ["IntervalJoin", "IntervalJoined"]

Length = int | Time | Duration | timedelta


class IntervalJoin(Generic[T1_co, T2_co]):
    """Two keyed streams to join by time; call `between(...)` next."""

    def __init__(self, left: KeyedStream[Any, T1_co], right: KeyedStream[Any, T2_co]) -> None:
        """Made by `KeyedStream.interval_join`."""
        if not isinstance(right, KeyedStream):
            raise GraphError(
                f"interval_join: both streams must be keyed; call key_by(...) on the other one: {right!r}."
            )
        if left.environment is not right.environment:
            raise GraphError(
                "interval_join: the streams belong to different environments; build them in one environment."
            )
        self._left = left
        self._right = right

    def in_event_time(self) -> IntervalJoin[T1_co, T2_co]:
        """Join by event time (the only option)."""
        return self

    def in_processing_time(self) -> IntervalJoin[T1_co, T2_co]:
        """Refused: as in Flink, only event time is supported."""
        raise GraphError(
            "in_processing_time: an interval join needs event time; give the streams timestamps with "
            "assign_timestamps_and_watermarks(...) and remove in_processing_time()."
        )

    def between(self, lower_bound: Length, upper_bound: Length) -> IntervalJoined[T1_co, T2_co]:
        """Join where left time + lower_bound <= right time <= left time + upper_bound."""
        lower, upper = _millis("lower_bound", lower_bound), _millis("upper_bound", upper_bound)
        if lower > upper:
            raise GraphError(f"between: lower_bound must not be above upper_bound, got {lower} ms and {upper} ms.")
        return IntervalJoined(self._left, self._right, lower, upper)


class IntervalJoined(Generic[T1_co, T2_co]):
    """An interval join with its bounds; call `process(...)` next.

    A row is late if its time is before the watermark: it goes to the side output set for its side, or is dropped and
    counted as `numLateRecordsDropped`. `left_outer`, `right_outer` and `full_outer` go beyond Flink: a row of that
    side that found no partner is handed to the function with None for the other side, once the watermark says that
    none can come. Such a row keeps its own timestamp, so an outer join passes on watermarks that are behind by as much
    as a row may have to wait for a partner: `upper_bound` for left rows, `-lower_bound` for right rows.
    """

    def __init__(self, left: KeyedStream[Any, T1_co], right: KeyedStream[Any, T2_co], lower: int, upper: int) -> None:
        """Made by `IntervalJoin.between`."""
        self._left = left
        self._right = right
        self._spec = IntervalJoinSpec(lower, upper)
        self._skipped = [0, 0]

    def lower_bound_exclusive(self) -> Self:
        """Leave out pairs whose distance is exactly the lower bound."""
        self._skipped[0] = 1
        return self

    def upper_bound_exclusive(self) -> Self:
        """Leave out pairs whose distance is exactly the upper bound."""
        self._skipped[1] = 1
        return self

    def side_output_left_late_data(self, output_tag: OutputTag[Any]) -> Self:
        """Send late rows of the left stream to a side output."""
        return self._set(left_late_tag=_tag("side_output_left_late_data", output_tag))

    def side_output_right_late_data(self, output_tag: OutputTag[Any]) -> Self:
        """Send late rows of the right stream to a side output."""
        return self._set(right_late_tag=_tag("side_output_right_late_data", output_tag))

    def left_outer(self) -> IntervalJoined[T1_co, T2_co | None]:
        """Also emit rows of the left stream that have no partner."""
        return self._set(left_outer=True)

    def right_outer(self) -> IntervalJoined[T1_co | None, T2_co]:
        """Also emit rows of the right stream that have no partner."""
        return self._set(right_outer=True)

    def full_outer(self) -> IntervalJoined[T1_co | None, T2_co | None]:
        """Also emit rows of both streams that have no partner."""
        return self._set(left_outer=True, right_outer=True)

    @overload
    def process(
        self, process_join_function: ProcessJoinFunction[T1_co, T2_co, R], output_type: None = None
    ) -> DataStream[R]: ...

    @overload
    def process(
        self, process_join_function: ProcessJoinFunction[T1_co, T2_co, Any], output_type: TypeInformation[R]
    ) -> DataStream[R]: ...

    def process(
        self,
        process_join_function: ProcessJoinFunction[T1_co, T2_co, Any],
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[Any]:
        """Call the function for each pair; results carry the later time of the two."""
        check_function("process", process_join_function, ProcessJoinFunction, takes_callable=False)
        declared = check_type("process", "output_type", output_type)
        before, after = self._skipped
        spec = replace(self._spec, lower=self._spec.lower + before, upper=self._spec.upper - after)
        operator = IntervalJoinOperator(process_join_function, spec)
        edges = self._left.edges + self._right.edges_into(1)
        return add_operator(self._left.environment, "Interval Join", operator, edges, declared)

    def _set(self, **settings: Any) -> Self:
        self._spec = replace(self._spec, **settings)
        return self


def _millis(parameter: str, length: Length) -> int:
    try:
        return to_millis(length)
    except TypeError:
        raise GraphError(
            f"between: {parameter} must be milliseconds, a Time, a Duration or a timedelta, got {length!r}."
        ) from None


def _tag(method: str, tag: Any) -> OutputTag:
    if not isinstance(tag, OutputTag):
        raise GraphError(f"{method}: expected an OutputTag, got {tag!r}.")
    return tag
