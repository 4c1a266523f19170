"""Parts that plans of one job have in common: a table is read once, and what is computed alike is computed once."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import fields
from typing import Any

from penstock.datastream.stream import DataStream
from penstock.table.algebra.nodes import PlanNode, Scan
from penstock.table.changelog.modes import ChangelogMode
from penstock.table.rules.determinism import is_deterministic
from penstock.vocabulary.sql.typed_expressions import Call

__all__ = ["Meanings", "Reuse"]


class Reuse:
    """The streams of a job so far, by what they do.

    Two nodes do the same if all their fields are equal, their changelog modes too, and their inputs do the same. What
    cannot be compared, or gives other rows when it is computed again, is nobody else's.
    """

    def __init__(self) -> None:
        self._streams: dict[Hashable, DataStream] = {}
        self._sources: dict[Hashable, DataStream] = {}

    def known(self, meaning: Hashable | None) -> DataStream | None:
        """The stream that does this, if there is one."""
        return None if meaning is None else self._streams.get(meaning)

    def keep(self, meaning: Hashable | None, stream: DataStream) -> DataStream:
        """Remember a stream for plans to come."""
        if meaning is not None:
            self._streams[meaning] = stream
        return stream

    def source(self, node: Scan) -> DataStream | None:
        """The stream of all columns of a table, if it is read already."""
        return self._sources.get(_table_of(node))

    def keep_source(self, node: Scan, stream: DataStream) -> DataStream:
        """Remember it."""
        self._sources[_table_of(node)] = stream
        return stream


class Meanings:
    """What the nodes of one plan do, as values that can be compared with those of another plan.

    Without `modes` it is what they do before it is known how updates are told. `shares_clock`: the processing time of
    one row may be that of the same row elsewhere.
    """

    def __init__(self, modes: Mapping[PlanNode, ChangelogMode] | None = None, *, shares_clock: bool = False) -> None:
        self._allowed = frozenset(["PROCTIME"]) if shares_clock else frozenset()
        self._modes = modes
        self._known: dict[PlanNode, Hashable | None] = {}

    def of(self, node: PlanNode) -> Hashable | None:
        """The meaning of a node; None where it has one of its own."""
        if node not in self._known:
            self._known[node] = self._found(node)
        return self._known[node]

    def _found(self, node: PlanNode) -> Hashable | None:
        inputs = tuple([self.of(each) for each in node.inputs])
        own = (*_table_of(node), node.columns) if isinstance(node, Scan) else _fields_of(node)
        mode = None if self._modes is None else self._modes.get(node)
        if None in inputs or (mode is None and self._modes is not None) or not self._is_deterministic(own):
            return None
        meaning = (type(node), own, mode, inputs)
        try:
            hash(meaning)
        except TypeError:
            return None
        return meaning

    def _is_deterministic(self, value: Any) -> bool:
        if isinstance(value, tuple):
            return all(map(self._is_deterministic, value))
        return not isinstance(value, Call) or is_deterministic(value, self._allowed)


def _table_of(node: Scan) -> tuple[Any, ...]:
    """What tells one reading of a table from another: the table as it was declared, and hints."""
    table = node.table
    return table.path, id(table.origin), table.options, node.hints, id(table.origin.inline)


def _fields_of(node: PlanNode) -> tuple[Any, ...]:
    """What a node is besides its inputs."""
    values = [getattr(node, each.name) for each in fields(node)]  # type: ignore[arg-type]
    return tuple([value for value in values if not _is_input(value)])


def _is_input(value: Any) -> bool:
    return isinstance(value, PlanNode) or (isinstance(value, tuple) and any(map(_is_input, value)))
