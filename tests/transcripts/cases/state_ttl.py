"""When state with a time to live is there and when it is gone.

The time to live is 100 ms everywhere, and the clock goes as it does in the cases of timers: 100, 199, 200, 300, ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.common import Types
from penstock.common.time import Time
from penstock.datastream import DataStream, KeyedProcessFunction
from penstock.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from penstock.testing import Clock
from penstock.testing.transcripts import End, Left, Step, Transcript
from tests.transcripts.cases.keyed_state import Average

LONG = Types.LONG()
Builder = StateTtlConfig.Builder


def add(a: int, b: int) -> int:
    return a + b


class Calls(KeyedProcessFunction):
    """Calls the method of the state that each record names, (key, method, argument, ...), and tells the result."""

    def __init__(self, getter: str, descriptor: Any) -> None:
        self._getter = getter
        self._descriptor = descriptor

    def open(self, context: Any) -> None:
        self.state = getattr(context, self._getter)(self._descriptor)

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        _, method, *arguments = value
        result = getattr(self.state, method)(*arguments)
        if result is not None or method in ("value", "get"):
            yield result if isinstance(result, (int, float, bool, type(None))) else list(result)


def calls(getter: str, descriptor: Any, configure: Callable[[Builder], Builder] = lambda builder: builder) -> Any:
    descriptor.enable_time_to_live(configure(StateTtlConfig.new_builder(Time.milliseconds(100))).build())

    def pipeline(stream: DataStream) -> DataStream:
        return stream.key_by(lambda value: value[0]).process(Calls(getter, descriptor))

    return pipeline


def kept(builder: Builder) -> Builder:
    return builder.disable_cleanup_in_background()


def returned(builder: Builder) -> Builder:
    # What an expired object that is still there looks like must not depend on how far clean-up has come.
    return builder.return_expired_if_not_cleaned_up().disable_cleanup_in_background()


def touched(builder: Builder) -> Builder:
    return builder.update_ttl_on_read_and_write()


def touched_and_returned(builder: Builder) -> Builder:
    return returned(touched(builder))


TRANSCRIPTS = [
    Transcript(
        "ttl: a value lives from its last write, and reading does not prolong it",
        calls("get_state", ValueStateDescriptor("state", LONG)),
        [
            Step(Clock(100), ("a", "update", 1), ("b", "update", 2), left=Left(state_entries=2)),
            Step(Clock(199), ("a", "value"), ("b", "update", 3), out=[(1, None)], left=Left(state_entries=2)),
            Step(Clock(200), ("a", "value"), ("b", "value"), out=[(None, None), (3, None)], left=Left(state_entries=1)),
            Step(Clock(300), ("c", "value"), out=[(None, None)], left=Left()),
            Step(Clock(400), ("b", "value"), End(), out=[(None, None)]),
        ],
    ),
    Transcript(
        "ttl: a value that is touched by reads lives from the last of them",
        calls("get_state", ValueStateDescriptor("state", LONG), touched),
        [
            Step(Clock(100), ("a", "update", 1)),
            Step(Clock(199), ("a", "value"), out=[(1, None)]),
            Step(Clock(200), ("a", "value"), out=[(1, None)]),
            Step(Clock(300), ("a", "value"), End(), out=[(None, None)]),
        ],
    ),
    Transcript(
        "ttl: an expired value may be returned once, for reading removes it",
        calls("get_state", ValueStateDescriptor("state", LONG), returned),
        [
            Step(Clock(100), ("a", "update", 1)),
            Step(Clock(199)),
            Step(Clock(200), left=Left(state_entries=1)),
            Step(Clock(300), ("a", "value"), ("a", "value"), out=[(1, None), (None, None)]),
            Step(Clock(400), End()),
        ],
    ),
    Transcript(
        "ttl: without clean-up in background what nobody reads stays",
        calls("get_state", ValueStateDescriptor("state", LONG), kept),
        [
            Step(Clock(100), ("a", "update", 1), ("b", "update", 2)),
            Step(Clock(199)),
            Step(Clock(200), ("a", "value"), End(), out=[(None, None)]),
        ],
        left=Left(state_entries=1),
    ),
    Transcript(
        "ttl: elements of a list expire one by one",
        calls("get_list_state", ListStateDescriptor("state", LONG)),
        [
            Step(Clock(100), ("a", "add", 1), ("a", "add_all", [2, 3])),
            Step(Clock(199), ("a", "add", 4), ("a", "get"), out=[([1, 2, 3, 4], None)]),
            Step(Clock(200), ("a", "get"), ("a", "add", 5), out=[([4], None)], left=Left(state_entries=1)),
            Step(Clock(300), ("a", "get"), ("a", "update", [6]), out=[([], None)]),
            Step(Clock(400), End()),
        ],
    ),
    Transcript(
        "ttl: a list that is touched by reads keeps what was alive then",
        calls("get_list_state", ListStateDescriptor("state", LONG), touched_and_returned),
        [
            Step(Clock(100), ("a", "add", 1)),
            Step(Clock(199), ("a", "add", 2)),
            Step(Clock(200), ("a", "get"), ("a", "get"), out=[([1, 2], None), ([2], None)]),
            Step(Clock(300), ("a", "get"), ("a", "get"), out=[([2], None), ([], None)]),
            Step(Clock(400), End()),
        ],
    ),
    Transcript(
        "ttl: expired elements may be returned as long as one of their list lives",
        calls("get_list_state", ListStateDescriptor("state", LONG), returned),
        [
            Step(Clock(100), ("a", "add", 1)),
            Step(Clock(199), ("a", "add", 2)),
            Step(Clock(200), ("a", "get"), ("a", "get"), out=[([1, 2], None), ([1, 2], None)]),
            Step(Clock(300), ("a", "get"), ("a", "get"), out=[([1, 2], None), ([], None)]),
            Step(Clock(400), End()),
        ],
    ),
    Transcript(
        "ttl: entries of a map expire one by one",
        calls("get_map_state", MapStateDescriptor("state", Types.STRING(), LONG)),
        [
            Step(Clock(100), ("a", "put", "p", 1), ("a", "put", "q", 2), ("a", "is_empty"), out=[(False, None)]),
            Step(Clock(199), ("a", "put", "q", 3), ("a", "get", "p"), out=[(1, None)]),
            Step(Clock(200), ("a", "contains", "p"), ("a", "items"), out=[(False, None), ([("q", 3)], None)]),
            Step(Clock(300), ("a", "is_empty"), ("a", "keys"), out=[(True, None), ([], None)], left=Left()),
            Step(Clock(400), End()),
        ],
    ),
    Transcript(
        "ttl: reading an entry of a map touches that one only",
        calls("get_map_state", MapStateDescriptor("state", Types.STRING(), LONG), touched),
        [
            Step(Clock(100), ("a", "put_all", {"p": 1, "q": 2})),
            Step(Clock(199), ("a", "get", "p"), out=[(1, None)]),
            Step(Clock(200), ("a", "items"), out=[([("p", 1)], None)]),
            Step(Clock(300), ("a", "items"), End(), out=[([], None)]),
        ],
    ),
    Transcript(
        "ttl: what is added to an expired value starts anew",
        calls("get_reducing_state", ReducingStateDescriptor("state", add, LONG)),
        [
            Step(Clock(100), ("a", "add", 1)),
            Step(Clock(199), ("a", "add", 2), ("a", "get"), out=[(3, None)]),
            Step(Clock(200), ("a", "get"), out=[(3, None)]),
            Step(Clock(300), ("a", "add", 4), ("a", "get"), out=[(4, None)]),
            Step(Clock(400), ("a", "get"), End(), out=[(None, None)]),
        ],
    ),
    Transcript(
        "ttl: what is added to an expired accumulator starts a new one",
        calls("get_aggregating_state", AggregatingStateDescriptor("state", Average(), Types.TUPLE([LONG, LONG]))),
        [
            Step(Clock(100), ("a", "add", 1)),
            Step(Clock(199), ("a", "add", 2), ("a", "get"), out=[(1.5, None)]),
            Step(Clock(200), ("a", "get"), out=[(1.5, None)]),
            Step(Clock(300), ("a", "add", 4), ("a", "get"), out=[(4.0, None)]),
            Step(Clock(400), ("a", "get"), End(), out=[(None, None)]),
        ],
    ),
]
