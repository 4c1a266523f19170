"""Methods of keyed streams on a stream without a key: what to do is said."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import GraphError


@pytest.fixture
def stream() -> Any:
    return StreamExecutionEnvironment.in_process().from_collection([("a", 1)])


def test_windows_need_a_key_or_take_the_whole_stream(stream: Any) -> None:
    with pytest.raises(GraphError, match=r"window: this stream has no key\. Call key_by\(.*, or window_all\("):
        stream.window(TumblingEventTimeWindows.of(10))
    with pytest.raises(GraphError, match=r"count_window: .* Call key_by\(.*, or count_window_all\("):
        stream.map(len).count_window(3)


@pytest.mark.parametrize("method", ["reduce", "sum", "max_by", "interval_join", "aggregate_fields", "map_with_state"])
def test_so_do_others(stream: Any, method: str) -> None:
    with pytest.raises(GraphError, match=rf"{method}: this stream has no key\. .*\.{method}\(\.\.\.\)\.$"):
        getattr(stream, method)


def test_a_stream_is_an_object_as_any_other(stream: Any) -> None:
    assert not hasattr(stream, "window") and hasattr(stream.key_by(len), "window")
    with pytest.raises(AttributeError, match="'DataStream' object has no attribute 'widow'"):
        _ = stream.widow
    assert isinstance(copy.copy(stream), DataStream)


@pytest.mark.parametrize(
    ("owner", "name", "hint"),
    [
        (lambda s: s, "keyBy", r"in Python it is key_by\(\)"),
        (lambda s: s, "flatMap", r"flat_map\(\)"),
        (lambda s: s.key_by(str), "mapWithState", r"map_with_state\(\)"),
        (lambda s: s.key_by(str).count_window(1), "sideOutputLateData", r"side_output_late_data\(\)"),
        (lambda s: s.connect(s), "flatMap", r"flat_map\(\)"),
        (lambda s: s.environment, "setParallelism", r"set_parallelism\(\)"),
        (lambda s: s, "collect", r"use execute_and_collect\(\)"),
        (lambda s: s, "forEach", r"use map\(\.\.\.\) or add_sink"),
        (lambda s: s, "groupBy", r"use key_by"),
        (lambda s: s, "nonsense", r"has no attribute 'nonsense'$"),
    ],
)
def test_other_names_for_what_there_is(stream: Any, owner: Any, name: str, hint: str) -> None:
    found = owner(stream)
    with pytest.raises(AttributeError, match=hint):
        getattr(found, name)
    assert not hasattr(found, name)


def test_a_stream_is_no_list_of_its_records(stream: Any) -> None:
    with pytest.raises(GraphError, match=r"for record in stream\.execute_and_collect\(\)"):
        list(stream)
    with pytest.raises(TypeError):
        for _ in stream.key_by(str):
            pass
