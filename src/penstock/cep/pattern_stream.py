"""`CEP.pattern(stream, pattern)`: find a pattern in a stream."""

from __future__ import annotations

from typing import Any

from penstock.cep.compilation import compile_pattern
from penstock.cep.described import described_elements
from penstock.cep.dynamic_stream import DynamicPatternStream
from penstock.cep.pattern import Pattern, check_pattern
from penstock.cep.searched_stream import SearchedStream, check_search
from penstock.cep.typed_conditions import check_expressions
from penstock.common.typeinfo import TypeInformation
from penstock.datastream.stream import DataStream, add_operator, settings_of_sender
from penstock.datastream.two_phase import can_sit_with_sender
from penstock.errors import GraphError
from penstock.graph.nodes import FORWARD
from penstock.runtime.operators.cep.inert import InertEventFilter, may_have_inert_events
from penstock.runtime.operators.cep.operator import PatternOperator, PatternSpec

__all__ = ["CEP", "PatternStream"]


class CEP:
    """Entry point of complex event processing."""

    @staticmethod
    def pattern(stream: DataStream, pattern: Pattern, comparator: Any = None) -> PatternStream:
        """Find a pattern in the events of each key, or in all events if the stream is not keyed.

        `comparator` orders events of the same time: a function of two events that gives a number below, equal to or
        above 0, or an object with such a method `compare`.
        """
        check_search("CEP.pattern", stream, comparator)
        if not isinstance(pattern, Pattern):
            raise GraphError(f"CEP.pattern: expected a Pattern, made with Pattern.begin(name), got {pattern!r}.")
        return PatternStream(stream, pattern, comparator)

    @staticmethod
    def dynamic_patterns(
        stream: DataStream, pattern_updates: DataStream, comparator: Any = None
    ) -> DynamicPatternStream:
        """Find patterns that are added, changed and removed while the job runs.

        `pattern_updates` is a stream of `PatternUpdate`, or of what `PatternUpdate.from_dict` or `from_json` take:
        dicts, texts or bytes of JSON. Every subtask is given all of them. `comparator` is that of `CEP.pattern`.
        """
        check_search("CEP.dynamic_patterns", stream, comparator)
        check_search("CEP.dynamic_patterns", pattern_updates, None)
        if stream.environment is not pattern_updates.environment:
            raise GraphError(
                "CEP.dynamic_patterns: the streams belong to different environments; build them in one environment."
            )
        return DynamicPatternStream(stream, pattern_updates, comparator)


class PatternStream(SearchedStream):
    """A stream and a pattern; ends with `process`, `select` or `flat_select`. Event time, unless said otherwise."""

    def __init__(self, stream: DataStream, pattern: Pattern, comparator: Any) -> None:
        """Made by `CEP.pattern`."""
        super().__init__(stream, comparator)
        elements = check_pattern(pattern)
        self._automaton = compile_pattern(elements)
        self._described = described_elements(elements)
        self._skip = pattern.get_after_match_skip_strategy()
        self._allows_change = False
        check_expressions(self._automaton, stream.output_type)

    def allow_changed_pattern(self) -> PatternStream:
        """Allow the job to resume from a savepoint or checkpoint of another pattern.

        The partial matches of the other pattern are dropped, and counted as `numPartialMatchesDropped`. Without this
        such a job is refused. Conditions may always change.
        """
        self._allows_change = True
        return self

    def _then(self, function: Any, output_type: TypeInformation | None) -> DataStream:
        spec = PatternSpec(
            self._automaton,
            self._skip,
            self._described,
            self._is_processing_time,
            self._comparator,
            self._late_tag,
            self._allows_change,
        )
        stream = self._without_inert_events()
        return add_operator(
            self._stream.environment,
            "Pattern",
            PatternOperator(function, spec),
            self._edges(stream),
            output_type,
            description=f"Pattern({', '.join(self._described)})",
            is_single=self._is_single,
        )

    def _without_inert_events(self) -> DataStream:
        """The stream without events that cannot change what is found, left out in front of the exchange.

        Late events that the user wants to see, and the clock at which each event comes, are seen by the pattern only.
        """
        stream = self._stream
        is_ordered = self._skip.is_skip_strategy()
        has_inert = may_have_inert_events(self._automaton, is_ordered=is_ordered)
        is_seen = self._is_processing_time or self._late_tag is not None
        if not has_inert or is_seen or not can_sit_with_sender(stream):
            return stream
        return add_operator(
            stream.environment,
            "Pattern (filter)",
            InertEventFilter(self._automaton, is_ordered=is_ordered),
            stream.edges_with(FORWARD),
            stream.output_type,
            is_checked=False,
            **settings_of_sender(stream),
        )
