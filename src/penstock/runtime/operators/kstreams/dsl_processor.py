"""What Penstock's own processors share: they are their own suppliers, and know where to forward."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Self

from penstock.runtime.operators.kstreams.task import Forward, NodeContext
from penstock.vocabulary.kstreams.records import Record, ValueAndTimestamp

Getter = Callable[[Any], ValueAndTimestamp | None]
"""Looks up a key in a table: its value with its timestamp, or None."""


class DslProcessor:
    """A description that is part of a topology; a copy of it, made by `get`, runs in a task."""

    context: NodeContext
    emit: Forward

    def get(self) -> Self:
        """A processor for a task."""
        return copy.copy(self)

    def init(self, context: NodeContext) -> None:
        """Note the context, then do what the operator needs to begin."""
        self.context = context
        self.emit = context.emit
        self.open()

    def open(self) -> None:
        """Get stores and memories."""

    def process(self, record: Record) -> None:
        """Work on a record."""
        raise AssertionError(f"{type(self).__name__} takes no records")

    def close(self) -> None:
        """The task ends."""


class TableProcessor(DslProcessor):
    """A processor that makes a table: it forwards changes, and others look keys up in it."""

    sends_old_values = False
    queryable_name: str | None = None

    def enable_sending_old_values(self, *, force: bool) -> bool:
        """Have old values sent too, if need be (`force`) by making stores; tells whether they will be."""
        raise AssertionError(f"{type(self).__name__} is no table")

    def store_names(self) -> tuple[str, ...]:
        """The stores that `getter` reads."""
        return () if self.queryable_name is None else (self.queryable_name,)

    def getter(self, context: NodeContext) -> Getter:
        """What looks keys up, from a processor with another context."""
        assert self.queryable_name is not None
        getter: Getter = context.get_state_store(self.queryable_name).get
        return getter
