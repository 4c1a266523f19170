"""Operators that make several rows of one: expand for GROUPING SETS, UNNEST, and rows repeated by a count."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from operator import itemgetter
from typing import Any

from penstock.runtime.operators.table.expressions import block_function, row_function
from penstock.runtime.operators.table.operator import Row, TableOperator
from penstock.runtime.rows import Timestamps
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.typed_expressions import TypedExpression


class ExpandOperator(TableOperator):
    """Makes a row of each list of `projections` out of every row."""

    kind = "expand"
    state_identity = "ExpandOperator"

    def __init__(self, *, projections: tuple[tuple[TypedExpression, ...], ...], zone: str = "UTC") -> None:
        self.projections = projections
        self.zone = zone

    def open(self) -> None:
        """Make the code."""
        self._calcs = [block_function(self, None, each, self.zone) for each in self.projections]

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Expand a block: all rows that are made of one come together."""
        try:
            made = [calc(values) for calc in self._calcs]
        except Exception as error:
            raise self.failure(error, "evaluating expressions") from None
        self.output.emit(list(chain.from_iterable(zip(*made, strict=True))), None)


class UnnestOperator(TableOperator):
    """CROSS (or LEFT) JOIN UNNEST: each row once for every element of a collection, with the element appended.

    `collection` is an ARRAY, MAP (key and value are appended) or MULTISET expression. An element that is a ROW has its
    fields appended. `with_ordinality` appends its position from 1. `is_left` keeps rows whose collection
    is empty or NULL, with NULLs. `condition` is over the row with what was appended.
    """

    kind = "unnest"
    state_identity = "UnnestOperator"

    def __init__(
        self,
        *,
        collection: TypedExpression,
        with_ordinality: bool = False,
        is_left: bool = False,
        condition: TypedExpression | None = None,
        zone: str = "UTC",
    ) -> None:
        self.collection = collection
        self.with_ordinality = with_ordinality
        self.is_left = is_left
        self.condition = condition
        self.zone = zone

    def open(self) -> None:
        """Make the code."""
        self._collection = row_function(self, self.collection, self.zone)
        self._meets = None if self.condition is None else row_function(self, self.condition, self.zone)
        logical = self.collection.type
        is_row = logical.kind is not Kind.MAP and logical.parts[0].kind is Kind.ROW
        self._spread = len(logical.parts[0].parts) if is_row else None
        width = 2 if logical.kind is Kind.MAP else self._spread or 1
        self._nulls = (None,) * (width + self.with_ordinality)

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Unnest the collections of a block."""
        results: list[Row] = []
        consumed = iter(values)
        try:
            for row in consumed:
                made = self._made(row)
                results += made or ([(*row, *self._nulls)] if self.is_left else ())
        except Exception as error:
            raise self.record_failure(error, values, consumed) from None
        self.output.emit(results, None)

    def _made(self, row: Row) -> list[Row]:
        elements: Iterable[tuple[Any, ...]] = self._elements(self._collection(row))
        if self.with_ordinality:
            elements = [(*element, at) for at, element in enumerate(elements, start=1)]
        made = [(*row, *element) for element in elements]
        return made if self._meets is None else [each for each in made if self._meets(each) is True]

    def _elements(self, collection: Any) -> list[tuple[Any, ...]]:
        kind = self.collection.type.kind
        if not collection:
            return []
        if kind is Kind.MAP:
            return list(collection.items())
        if kind is Kind.MULTISET:
            collection = [element for element, count in collection.items() for _ in range(count)]
        if self._spread is None:
            return [(element,) for element in collection]
        nulls = (None,) * self._spread
        return [nulls if element is None else element for element in collection]


class ReplicateRowsOperator(TableOperator):
    """Repeats fields `fields` of a row as often as BIGINT field `count_field` says: INTERSECT ALL and EXCEPT ALL."""

    kind = "replicate rows"
    state_identity = "ReplicateRowsOperator"

    def __init__(self, *, count_field: int, fields: tuple[int, ...], types: tuple[LogicalType, ...] = ()) -> None:
        self.count_field = count_field
        self.fields = fields
        self.types = types

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Repeat the rows of a block."""
        count, chosen = self.count_field + 1, itemgetter(0, *[field + 1 for field in self.fields])
        results: list[Row] = []
        for row in values:
            results += [chosen(row)] * (row[count] or 0)
        self.output.emit(results, None)
