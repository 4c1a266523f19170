"""What all streams have in which patterns are looked for: kinds of time, late events, functions for matches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

from penstock.cep.functions import (
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
)
from penstock.cep.selecting import Selected, SelectedOrTimedOut
from penstock.common.typeinfo import TypeInformation
from penstock.datastream.arguments import check_function, check_type
from penstock.datastream.keyed_stream import KeyedStream
from penstock.datastream.selectors import only_key
from penstock.datastream.stream import DataStream
from penstock.errors import GraphError
from penstock.graph.nodes import Edge, Exchange, Partitioning
from penstock.vocabulary.output_tag import OutputTag


class SearchedStream(ABC):
    """A stream and what is looked for in it; ends with `process`, `select` or `flat_select`.

    Event time, unless said otherwise.
    """

    _gives_ids = False
    """Whether functions for matches may take the id of the pattern."""

    def __init__(self, stream: DataStream, comparator: Any) -> None:
        self._stream = stream
        self._comparator = comparator
        self._is_processing_time = False
        self._late_tag: OutputTag | None = None

    def in_event_time(self) -> Self:
        """Take events in order of their timestamps, as the watermark says; this is the default."""
        self._is_processing_time = False
        return self

    def in_processing_time(self) -> Self:
        """Take events in the order they come; time is that of the clock."""
        self._is_processing_time = True
        return self

    def side_output_late_data(self, late_data_output_tag: OutputTag) -> Self:
        """Send events that come after the watermark has passed their time to a side output.

        Without this they are dropped and counted as `numLateRecordsDropped`.
        """
        self._late_tag = checked_tag("side_output_late_data", late_data_output_tag)
        return self

    def process(
        self, pattern_process_function: PatternProcessFunction[Any, Any], output_type: TypeInformation | None = None
    ) -> DataStream:
        """Call a function for each match; for partial matches that time out if it handles them."""
        check_function("process", pattern_process_function, PatternProcessFunction, takes_callable=False)
        return self._then(pattern_process_function, check_type("process", "output_type", output_type))

    def select(self, *functions: Any, output_type: TypeInformation | None = None) -> DataStream:
        """Make one element of each match: `select(function)`.

        `select(tag, timeout_function, function)` also makes one of each partial match that times out, for a side
        output: `timeout_function(match, timestamp)`.
        """
        return self._select("select", functions, (PatternSelectFunction, PatternTimeoutFunction), output_type)

    def flat_select(self, *functions: Any, output_type: TypeInformation | None = None) -> DataStream:
        """Make any number of elements of each match: `flat_select(function)`.

        `flat_select(tag, timeout_function, function)` does so for partial matches that time out, too.
        """
        kinds = (PatternFlatSelectFunction, PatternFlatTimeoutFunction)
        return self._select("flat_select", functions, kinds, output_type)

    def _select(
        self, method: str, given: tuple[Any, ...], kinds: tuple[type, type], output_type: TypeInformation | None
    ) -> DataStream:
        if len(given) not in (1, 3):
            raise GraphError(
                f"{method}: expected a function, or a side output's tag, a function for timeouts and a function; got "
                f"{len(given)} arguments."
            )
        check_function(method, given[-1], kinds[0])
        declared = check_type(method, "output_type", output_type)
        shape = {"is_flat": method == "flat_select", "gives_ids": self._gives_ids}
        if len(given) == 1:
            return self._then(Selected(given[0], **shape), declared)
        tag = checked_tag(method, given[0])
        check_function(method, given[1], kinds[1])
        return self._then(SelectedOrTimedOut(given[2], tag, given[1], **shape), declared)

    @abstractmethod
    def _then(self, function: Any, output_type: TypeInformation | None) -> DataStream:
        """Add the operator."""

    @property
    def _is_single(self) -> bool:
        """Whether all events are one sequence, because the stream has no keys."""
        return not isinstance(self._stream, KeyedStream)

    def _edges(self, stream: DataStream) -> tuple[Edge, ...]:
        """The edges that bring the events of a stream, dealt out as those of the one that is searched."""
        if self._is_single:
            return stream.edges_with(Partitioning(Exchange.KEYED, only_key))
        return stream.edges_with(self._stream.edges[0].partitioning)


def checked_tag(method: str, tag: Any) -> OutputTag:
    """A tag, or a complaint."""
    if not isinstance(tag, OutputTag):
        raise GraphError(f"{method}: expected an OutputTag, got {tag!r}.")
    return tag


def check_search(method: str, stream: Any, comparator: Any) -> None:
    """Refuse what is no stream, or no comparator of events."""
    if not isinstance(stream, DataStream):
        raise GraphError(f"{method}: expected a DataStream, got {stream!r}.")
    if comparator is not None and not callable(getattr(comparator, "compare", comparator)):
        raise GraphError(f"{method}: expected a function of two events as comparator, got {comparator!r}.")
