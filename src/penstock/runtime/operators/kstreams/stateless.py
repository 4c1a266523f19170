"""Stateless operators of streams: filter, map, flat_map, branch and the like."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.errors import StreamsError
from penstock.runtime.callables import checked_results
from penstock.runtime.operators.kstreams.dsl_processor import DslProcessor
from penstock.runtime.operators.kstreams.task import Forward
from penstock.vocabulary.kstreams.records import Record


class PassThrough(DslProcessor):
    """Forwards what it gets: where streams come together, and the start of a branch."""

    def process(self, record: Record) -> None:
        """Forward it."""
        self.emit(record)


class StreamFilter(DslProcessor):
    """Forwards records for which a predicate holds, or does not hold."""

    def __init__(self, predicate: Callable[[Any, Any], bool], *, is_negated: bool = False) -> None:
        self._predicate = predicate
        self._is_negated = is_negated

    def process(self, record: Record) -> None:
        """Ask the predicate."""
        if bool(self._predicate(record.key, record.value)) is not self._is_negated:
            self.emit(record)


def everything(key: Any, value: Any) -> bool:
    """Let every record pass."""
    return True


class StreamMap(DslProcessor):
    """Makes one record of another, with a new key."""

    def __init__(self, mapper: Callable[[Any, Any], tuple[Any, Any]]) -> None:
        self._mapper = mapper

    def process(self, record: Record) -> None:
        """Map it."""
        key, value = _pair(self._mapper(record.key, record.value), "map")
        self.emit(Record(key, value, record.timestamp, record.headers))


class StreamMapValues(DslProcessor):
    """Makes one value of another."""

    def __init__(self, mapper: Callable[[Any, Any], Any]) -> None:
        self._mapper = mapper

    def process(self, record: Record) -> None:
        """Map it."""
        self.emit(Record(record.key, self._mapper(record.key, record.value), record.timestamp, record.headers))


class SelectKey(DslProcessor):
    """Gives records another key."""

    def __init__(self, mapper: Callable[[Any, Any], Any]) -> None:
        self._mapper = mapper

    def process(self, record: Record) -> None:
        """Select its key."""
        self.emit(Record(self._mapper(record.key, record.value), record.value, record.timestamp, record.headers))


class StreamFlatMap(DslProcessor):
    """Makes any number of records of one."""

    def __init__(self, mapper: Callable[[Any, Any], Any]) -> None:
        self._mapper = mapper

    def process(self, record: Record) -> None:
        """Forward each pair."""
        for each in _results(self._mapper(record.key, record.value), "flat_map"):
            key, value = _pair(each, "flat_map")
            self.emit(Record(key, value, record.timestamp, record.headers))


class StreamFlatMapValues(DslProcessor):
    """Makes any number of values of one."""

    def __init__(self, mapper: Callable[[Any, Any], Any]) -> None:
        self._mapper = mapper

    def process(self, record: Record) -> None:
        """Forward each value."""
        for value in _results(self._mapper(record.key, record.value), "flat_map_values"):
            self.emit(Record(record.key, value, record.timestamp, record.headers))


def _results(returned: Any, method: str) -> Iterable[Any]:
    try:
        return checked_results(returned, method)
    except TypeError as error:
        raise StreamsError(f"{error}.") from None


def _pair(found: Any, method: str) -> tuple[Any, Any]:
    if isinstance(found, tuple) and len(found) == 2:
        return found
    raise StreamsError(f"The function of {method}() must give pairs (key, value), but gave {found!r}.")


class StreamPeek(DslProcessor):
    """Shows records to a function; forwards them, unless it is the end of the line (foreach)."""

    def __init__(self, action: Callable[[Any, Any], Any], *, forwards: bool) -> None:
        self._action = action
        self._forwards = forwards

    def process(self, record: Record) -> None:
        """Call the function."""
        self._action(record.key, record.value)
        if self._forwards:
            self.emit(record)


class StreamPrint(DslProcessor):
    """Prints records as Kafka Streams does: [label]: key, value."""

    def __init__(self, label: str, mapper: Callable[[Any, Any], str] | None, write: Callable[[str], Any]) -> None:
        self._label = label
        self._mapper = mapper
        self._write = write

    def process(self, record: Record) -> None:
        """Write a line."""
        text = f"{record.key}, {record.value}" if self._mapper is None else self._mapper(record.key, record.value)
        self._write(f"[{self._label}]: {text}")


class StreamBranch(DslProcessor):
    """Forwards a record to the child of the first predicate that holds, or to the default child."""

    def __init__(self) -> None:
        self.predicates: list[Callable[[Any, Any], bool]] = []
        self.children: list[str] = []
        self.default: str | None = None

    def open(self) -> None:
        """Find the children."""
        self._branches: list[tuple[Callable[[Any, Any], bool], Forward]] = [
            (predicate, self.context.emit_to(child))
            for predicate, child in zip(self.predicates, self.children, strict=True)
        ]
        self._default = None if self.default is None else self.context.emit_to(self.default)

    def process(self, record: Record) -> None:
        """Find its branch."""
        for predicate, emit in self._branches:
            if predicate(record.key, record.value):
                emit(record)
                return
        if self._default is not None:
            self._default(record)
