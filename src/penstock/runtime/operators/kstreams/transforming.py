"""Transformers, Kafka Streams' older kind of processors: they return what they forward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.errors import StreamsError
from penstock.runtime.operators.kstreams.dsl_processor import DslProcessor
from penstock.vocabulary.kstreams.records import Record


class StreamTransform(DslProcessor):
    """Forwards the pair that `transform(key, value)` returns, if it returns one."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def open(self) -> None:
        """Make and open the transformer."""
        self._transformer = self._make()
        if hasattr(self._transformer, "init"):
            self._transformer.init(self.context)

    def process(self, record: Record) -> None:
        """Transform a record."""
        found = self._transformer.transform(record.key, record.value)
        if found is None:
            return
        if not isinstance(found, tuple) or len(found) != 2:
            raise StreamsError(f"transform() must give a pair (key, value) or None, but gave {found!r}.")
        self.emit(Record(found[0], found[1], record.timestamp, record.headers))

    def close(self) -> None:
        """Close the transformer."""
        if hasattr(self._transformer, "close"):
            self._transformer.close()


class StreamTransformValues(StreamTransform):
    """Forwards the value that `transform(key, value)` returns."""

    def process(self, record: Record) -> None:
        """Transform a value."""
        self.emit(record.with_value(self._transformer.transform(record.key, record.value)))
