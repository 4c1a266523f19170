"""`CEP.dynamic_patterns(stream, pattern_updates)`: patterns that change while the job runs."""

from __future__ import annotations

from typing import Any

from penstock.cep.searched_stream import SearchedStream, checked_tag
from penstock.cep.updates import Updates
from penstock.common.typeinfo import TypeInformation
from penstock.datastream.stream import DataStream, add_operator
from penstock.errors import GraphError
from penstock.runtime.operators.cep.dynamic import DynamicPatternOperator, DynamicSpec
from penstock.vocabulary.output_tag import OutputTag

__all__ = ["DynamicPatternStream"]


class DynamicPatternStream(SearchedStream):
    """A stream and updates of patterns; ends with `process`, `select` or `flat_select`.

    `ctx.pattern_id()` tells which pattern has matched. Functions of `select` and `flat_select` may take the id behind
    the match, `select(match, pattern_id)`, and those for timeouts behind the time: `timeout(match, timestamp,
    pattern_id)`. A collector comes last.
    """

    _gives_ids = True

    def __init__(self, stream: DataStream, pattern_updates: DataStream, comparator: Any) -> None:
        """Made by `CEP.dynamic_patterns`."""
        super().__init__(stream, comparator)
        self._updates = pattern_updates
        self._malformed_tag: OutputTag | None = None
        self._are_updates_timed = False

    def side_output_malformed_updates(self, malformed_updates_output_tag: OutputTag) -> DynamicPatternStream:
        """Send malformed updates to a side output instead of failing the job.

        They come as `{"update": the record, "error": why}`, and are counted as `numMalformedUpdates`. An event for
        which a condition raises then does not fulfil it; that is counted as `numConditionFailures`, and told there once
        for each pattern and worker process. Without this the job fails.
        """
        self._malformed_tag = checked_tag("side_output_malformed_updates", malformed_updates_output_tag)
        return self

    def updates_in_event_time(self) -> DynamicPatternStream:
        """Apply updates at their timestamps, whatever the order of arrival.

        Event time is then that of both streams, so the updates need timestamps and watermarks. Without this an update
        takes effect when it comes, and its watermark means nothing.
        """
        self._are_updates_timed = True
        return self

    def _then(self, function: Any, output_type: TypeInformation | None) -> DataStream:
        if self._are_updates_timed and self._is_processing_time:
            raise GraphError(
                "updates_in_event_time: in processing time an update takes effect when it arrives; leave out one of "
                "updates_in_event_time() and in_processing_time()."
            )
        spec = DynamicSpec(
            Updates(self._stream.output_type),
            self._is_processing_time,
            self._comparator,
            self._late_tag,
            self._malformed_tag,
            self._are_updates_timed,
        )
        return add_operator(
            self._stream.environment,
            "Dynamic Patterns",
            DynamicPatternOperator(function, spec),
            self._edges(self._stream) + self._updates.broadcast().edges_into(1),
            output_type,
            is_single=self._is_single,
        )
