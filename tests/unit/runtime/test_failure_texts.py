"""What a failure shows: the user's lines, none of Penstock's where it raises on purpose, and hints."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.functions import KeyedProcessFunction, MapFunction, ProcessFunction, RuntimeContext
from penstock.datastream.state import ValueStateDescriptor
from penstock.errors import JobFailedError


class Letters(ProcessFunction):
    """Returns what it should yield."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        return "text"


class Timed(ProcessFunction):
    """Counts on a timestamp."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield ctx.timestamp() + 1


class NoKey(KeyedProcessFunction):
    """Reads state where there is no key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        runtime_context.get_state(ValueStateDescriptor("s", None)).value()

    def process_element(self, value: Any, ctx: Any) -> Any: ...


class AsInJava(MapFunction):
    """Asks for state as Java's functions do."""

    def map(self, value: Any) -> Any:
        return self.get_runtime_context().get_state("s")  # type: ignore[attr-defined]


def failure_of(function: Any) -> str:
    environment = StreamExecutionEnvironment.in_process().set_parallelism(1)
    stream = environment.from_collection([7])
    if isinstance(function, KeyedProcessFunction):
        stream = stream.key_by(str).process(function)
    elif isinstance(function, ProcessFunction):
        stream = stream.process(function)
    else:
        stream = stream.map(function) if isinstance(function, MapFunction) else stream.flat_map(function)
    stream.print()
    with pytest.raises(JobFailedError) as failure:
        environment.execute()
    return str(failure.value)


def frames_of(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.startswith("  File ")]


def test_an_error_of_ours_shows_where_the_function_is() -> None:
    text = failure_of(Letters())
    (frame,) = frames_of(text)
    assert frame.startswith(f'File "{__file__}", line ') and frame.endswith("in process_element")
    assert "TypeError: process_element returned the text 'text'" in text
    assert "record: 7" in text
    (frame,) = frames_of(failure_of(lambda value: 5))
    assert frame.startswith(f'File "{__file__}"')


def test_an_error_of_ours_that_user_code_ran_into_shows_the_users_line_last() -> None:
    (frame,) = frames_of(failure_of(NoKey()))
    assert frame.startswith(f'File "{__file__}"') and frame.endswith("in open")


def test_a_stream_without_timestamps_is_hinted_at() -> None:
    text = failure_of(Timed())
    assert "hint: ctx.timestamp() is None, because this stream has no timestamps" in text
    assert "hint" not in failure_of(Letters())


def test_state_is_asked_for_in_open() -> None:
    text = failure_of(AsInJava())
    assert "has no attribute 'get_runtime_context'; ask for state in open(self, runtime_context)" in text
    assert len(frames_of(text)) == 1
