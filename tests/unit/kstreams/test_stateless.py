"""Stateless operators of streams, through the test driver."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.errors import StreamsError
from penstock.kstreams import Branched, KStream, StreamsBuilder, TopologyTestDriver

Make = Callable[[KStream], KStream]


def results(make: Make, *pairs: tuple[object, object]) -> list[tuple[object, object]]:
    """What a stream of the topic `in` becomes."""
    builder = StreamsBuilder()
    make(builder.stream("in")).to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.create_input_topic("in").pipe_key_value_list(pairs)
        return [tuple(pair) for pair in driver.create_output_topic("out").read_key_values_to_list()]


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda stream: stream.filter(lambda key, value: value > 1), [("a", 2)]),
        (lambda stream: stream.filter_not(lambda key, value: value > 1), [("a", 1)]),
        (lambda stream: stream.map(lambda key, value: (value, key)), [(1, "a"), (2, "a")]),
        (lambda stream: stream.map_values(lambda value: -value), [("a", -1), ("a", -2)]),
        (lambda stream: stream.map_values(lambda key, value: key * value), [("a", "a"), ("a", "aa")]),
        (lambda stream: stream.map_values(str), [("a", "1"), ("a", "2")]),
        (lambda stream: stream.flat_map(lambda key, value: [(value, key)] * value), [(1, "a"), (2, "a"), (2, "a")]),
        (lambda stream: stream.flat_map_values(lambda value: range(value)), [("a", 0), ("a", 0), ("a", 1)]),
        (lambda stream: stream.select_key(lambda key, value: value), [(1, 1), (2, 2)]),
        (lambda stream: stream.merge(stream.map_values(str)), [("a", "1"), ("a", 1), ("a", "2"), ("a", 2)]),
        (lambda stream: stream.repartition(), [("a", 1), ("a", 2)]),
    ],
)
def test_a_record_becomes(make: Make, expected: list[tuple[object, object]]) -> None:
    assert results(make, ("a", 1), ("a", 2)) == expected


def test_records_are_shown_and_go_on() -> None:
    seen: list[tuple[object, object]] = []
    assert results(lambda stream: stream.peek(lambda key, value: seen.append((key, value))), ("a", 1)) == [("a", 1)]
    assert seen == [("a", 1)]


def test_a_record_goes_to_its_first_branch() -> None:
    builder = StreamsBuilder()
    branches = (
        builder.stream("in")
        .split("by-size-")
        .branch(lambda key, value: value > 10, Branched.as_("large"))
        .branch(lambda key, value: value > 5, Branched.with_function(lambda stream: stream.map_values(str)))
        .default_branch(Branched.as_("rest"))
    )
    assert list(branches) == ["by-size-large", "by-size-2", "by-size-rest"]
    for name, stream in branches.items():
        stream.to(name)
    with TopologyTestDriver(builder.build()) as driver:
        driver.create_input_topic("in").pipe_value_list([1, 20, 7])
        found = {name: driver.create_output_topic(name).read_values_to_list() for name in branches}
    assert found == {"by-size-large": [20], "by-size-2": ["7"], "by-size-rest": [1]}


def test_a_function_that_gives_no_pair_is_named() -> None:
    with pytest.raises(StreamsError, match=r"function of map\(\) must give pairs \(key, value\), but gave 1"):
        results(lambda stream: stream.map(lambda key, value: value), ("a", 1))


def test_what_is_no_function_is_refused_at_once() -> None:
    with pytest.raises(StreamsError, match=r"filter\(\) needs a function, got 5"):
        StreamsBuilder().stream("in").filter(5)  # type: ignore[arg-type]
