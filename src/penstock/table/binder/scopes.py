"""What names mean at a place of a query: the relations of FROM with their columns, and those of queries around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.typed_expressions import Call, FieldRef, TypedExpression

__all__ = ["OUTER", "Ambiguous", "NotFound", "Relation", "Scope", "nested_field"]

OUTER = "$OUTER"
"""The function of a call that stands for a field of the query around: `options` are its number."""


class NotFound(LookupError):
    """A name means nothing here; `known` are the names that do."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(name)
        self.name = name
        self.known = tuple(known)


class Ambiguous(LookupError):
    """A name means several columns; `owners` are the relations that have one."""

    def __init__(self, name: str, owners: Sequence[str]) -> None:
        super().__init__(name)
        self.name = name
        self.owners = tuple(owners)


@dataclass(frozen=True)
class Relation:
    """Something in FROM: its alias, and which columns it has from which field on."""

    alias: str | None
    names: tuple[str, ...]
    types: tuple[LogicalType, ...]
    offset: int = 0
    path: tuple[str, ...] = ()
    """The full name of a table, which may stand in front of its columns."""
    hidden: frozenset[str] = frozenset()
    """Columns that USING has merged with those of another relation: not ambiguous, not shown by *."""

    def field(self, position: int) -> FieldRef:
        """An expression that reads a column."""
        return FieldRef(self.offset + position, self.types[position])

    def answers_to(self, parts: Sequence[str]) -> bool:
        """Whether it is what a prefix of a column name means."""
        if len(parts) == 1 and parts[0] == self.alias:
            return True
        return bool(self.path) and len(parts) <= len(self.path) and tuple(self.path[-len(parts) :]) == tuple(parts)


@dataclass(frozen=True)
class Scope:
    """The relations that a name may belong to; `outer` is the scope of the query around a subquery."""

    relations: tuple[Relation, ...]
    outer: Scope | None = None
    merged: dict[str, TypedExpression] = field(default_factory=dict)
    """Columns of USING and NATURAL joins, by their name."""

    @property
    def width(self) -> int:
        """How many fields there are."""
        return sum(len(each.names) for each in self.relations)

    @property
    def all_names(self) -> list[str]:
        """All names that can be used, for messages."""
        return [name for each in self.relations for name in each.names]

    def resolve(self, parts: Sequence[str]) -> tuple[TypedExpression, tuple[str, ...]]:
        """What a dotted name means: a field, and what of the name is left, fields inside of it.

        Looks in the scopes around too; what is found there is a call of `OUTER`.
        """
        try:
            return self._resolve_here(parts)
        except NotFound as error:
            if self.outer is None:
                raise
            missing = error
        try:
            found, rest = self.outer.resolve(parts)
        except NotFound:
            raise missing from None
        assert isinstance(found, FieldRef), "one level of subqueries sees another"
        return Call(OUTER, (), found.type, (found.index,)), rest

    def _resolve_here(self, parts: Sequence[str]) -> tuple[TypedExpression, tuple[str, ...]]:
        for length in range(min(len(parts) - 1, 3), 0, -1):
            owners = [each for each in self.relations if each.answers_to(parts[:length])]
            if owners:
                try:
                    return self._column(parts[length], owners), tuple(parts[length + 1 :])
                except NotFound:
                    if not self._has_column(parts[0]):
                        raise
        if len(parts) == 1 and parts[0] in self.merged:
            return self.merged[parts[0]], ()
        return self._column(parts[0], self.relations), tuple(parts[1:])

    def _has_column(self, name: str) -> bool:
        return any(name in each.names for each in self.relations)

    def _column(self, name: str, relations: Sequence[Relation]) -> FieldRef:
        found = [
            each.field(position)
            for each in relations
            for position, column in enumerate(each.names)
            if column == name and (len(relations) == 1 or name not in each.hidden)
        ]
        if not found:
            raise NotFound(name, [column for each in relations for column in each.names])
        if len(found) > 1 and len({each.index for each in found}) > 1:
            raise Ambiguous(name, [each.alias or "a subquery" for each in relations if name in each.names])
        return found[0]


def nested_field(value: TypedExpression, name: str) -> TypedExpression:
    """A field inside a row, by its name; NULL if the row is."""
    if value.type.kind is not Kind.ROW:
        raise NotFound(name, ())
    if name not in value.type.names:
        raise NotFound(name, value.type.names)
    position = value.type.names.index(name)
    part = value.type.parts[position]
    return Call("FIELD", (value,), part.with_nullable(part.nullable or value.type.nullable), (position,))
