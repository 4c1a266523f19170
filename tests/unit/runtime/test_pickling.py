"""A function that cannot be sent to the workers: who is named."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

import pytest

from penstock.datastream import MapFunction, StreamExecutionEnvironment
from penstock.datastream.data_stream import DataStream
from penstock.errors import GraphError


class Client:
    def __init__(self) -> None:
        self.guard = threading.Lock()


class Asking(MapFunction):
    def __init__(self, client: Client) -> None:
        self.client = client

    def map(self, value: Any) -> Any:
        return value


def with_captured_lock(stream: DataStream) -> DataStream:
    lock = threading.Lock()

    def locked(value: Any) -> Any:
        with lock:
            return value

    return stream.map(locked).name("ask the service")


def with_client_in_function(stream: DataStream) -> DataStream:
    return stream.map(Asking(Client())).name("ask the service")


def with_default_argument(stream: DataStream) -> DataStream:
    return stream.map(lambda value, lock=threading.Lock(): value).name("ask the service")  # noqa: B008


def with_class_of_a_function(stream: DataStream) -> DataStream:
    lock = threading.Lock()

    class Local(MapFunction):
        def map(self, value: Any) -> Any:
            with lock:
                return value

    return stream.map(Local()).name("ask the service")


@pytest.mark.parametrize(
    ("build", "found_by"),
    [
        (with_captured_lock, r"variable 'lock' in '.*locked', line \d+ of .*test_pickling.py"),
        (with_client_in_function, r"attribute 'client' of 'Asking' -> attribute 'guard' of 'Client'"),
        (with_default_argument, r"a default argument in '.*<lambda>'"),
        (with_class_of_a_function, r"method 'map' of class '.*Local' -> variable 'lock' in"),
    ],
)
def test_operator_function_and_captured_variable_are_named(
    build: Callable[[DataStream], DataStream], found_by: str
) -> None:
    env = StreamExecutionEnvironment.in_process()
    build(env.from_collection([1])).print()
    with pytest.raises(GraphError, match=r"operator 'ask the service' .* refers to a _thread.lock") as caught:
        env.execute()
    assert re.search(found_by, str(caught.value)), str(caught.value)
    assert "Create such objects in open()" in str(caught.value)


def test_a_key_selector_is_named_too() -> None:
    env = StreamExecutionEnvironment.in_process()
    lock = threading.Lock()
    env.from_collection([1]).map(lambda value: value).name("before").key_by(lambda value: (lock, value)[1]).map(
        str
    ).print()
    with pytest.raises(GraphError, match=r"key selector or partitioner behind operator 'before' .* variable 'lock' in"):
        env.execute()
