"""`ResolvedSchema`: the columns of a table or result, with names, types, watermark and primary key."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.table.types import DataType
from penstock.vocabulary.sql.logical_types import LogicalType, row_of

__all__ = ["ResolvedSchema"]


@dataclass(frozen=True)
class ResolvedSchema:
    """Columns with types; `extras` are texts such as `METADATA FROM 'key'` or `AS a + 1`, by name."""

    names: tuple[str, ...]
    types: tuple[LogicalType, ...]
    primary_key: tuple[str, ...] = ()
    primary_key_name: str | None = None
    watermarks: tuple[tuple[str, str], ...] = ()

    @staticmethod
    def of_row_type(row_type: LogicalType) -> ResolvedSchema:
        """The schema of a query."""
        return ResolvedSchema(row_type.names, row_type.parts)

    def get_column_count(self) -> int:
        """How many columns there are."""
        return len(self.names)

    def get_column_names(self) -> list[str]:
        """Their names."""
        return list(self.names)

    def get_column_data_types(self) -> list[DataType]:
        """Their types."""
        return [DataType(each) for each in self.types]

    # The names of PyFlink's older TableSchema.

    def get_field_names(self) -> list[str]:
        """The names of the columns."""
        return list(self.names)

    def get_field_count(self) -> int:
        """How many columns there are."""
        return len(self.names)

    def get_field_data_types(self) -> list[DataType]:
        """The types of the columns."""
        return self.get_column_data_types()

    def get_field_data_type(self, field: int | str) -> DataType | None:
        """The type of a column, by its name or its number from 0; None if there is none."""
        place = self.names.index(field) if isinstance(field, str) and field in self.names else field
        if not isinstance(place, int) or not 0 <= place < len(self.types):
            return None
        return DataType(self.types[place])

    def get_field_name(self, field_index: int) -> str | None:
        """The name of a column, by its number from 0; None if there is none."""
        return self.names[field_index] if 0 <= field_index < len(self.names) else None

    def to_row_data_type(self) -> DataType:
        """The columns as a row type."""
        return DataType(row_of(self.names, self.types))

    def __str__(self) -> str:
        """As Flink prints a schema."""
        lines = [f"  `{name}` {type_}" for name, type_ in zip(self.names, self.types, strict=True)]
        lines += [f"  WATERMARK FOR `{column}`: {text}" for column, text in self.watermarks]
        if self.primary_key:
            keys = ", ".join(f"`{each}`" for each in self.primary_key)
            lines.append(f"  CONSTRAINT `{self.primary_key_name}` PRIMARY KEY ({keys}) NOT ENFORCED")
        return "(\n" + ",\n".join(lines) + "\n)"
