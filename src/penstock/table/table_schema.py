"""`TableSchema`, PyFlink's older class for names and types of columns.

>>> from penstock.table.types import DataTypes
>>> str(TableSchema(["a"], [DataTypes.INT()]))
'(\\n  `a` INT\\n)'
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.errors import SqlError
from penstock.table.data_type_texts import declared_type
from penstock.table.resolved_schema import ResolvedSchema
from penstock.table.types import DataType

__all__ = ["TableSchema"]


class TableSchema(ResolvedSchema):
    """Names and types of columns."""

    def __init__(self, field_names: Sequence[str] = (), data_types: Sequence[Any] = ()) -> None:
        """Take names and types, in their order."""
        if len(field_names) != len(data_types):
            raise SqlError(f"TableSchema: {len(field_names)} names are given for {len(data_types)} types.")
        super().__init__(tuple(field_names), tuple([declared_type(each) for each in data_types]))

    @classmethod
    def builder(cls) -> TableSchema.Builder:
        """A builder."""
        return TableSchema.Builder()

    def copy(self) -> TableSchema:
        """The same again."""
        return TableSchema(self.names, [DataType(each) for each in self.types])

    class Builder:
        """Collects columns."""

        def __init__(self) -> None:
            """Start with none."""
            self._names: list[str] = []
            self._types: list[Any] = []

        def field(self, name: str, data_type: Any) -> TableSchema.Builder:
            """A column."""
            self._names.append(name)
            self._types.append(data_type)
            return self

        def build(self) -> TableSchema:
            """The schema."""
            return TableSchema(self._names, self._types)
