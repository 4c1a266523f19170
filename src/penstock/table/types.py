"""`DataTypes`, which makes the types of columns under PyFlink's names.

>>> from penstock.table.types import DataTypes
>>> fields = [DataTypes.FIELD("id", DataTypes.BIGINT().not_null()), DataTypes.FIELD("name", DataTypes.STRING())]
>>> str(DataTypes.ROW(fields))
'ROW<`id` BIGINT NOT NULL, `name` STRING>'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.common.types import Row, RowKind
from penstock.errors import DeclaredTypeError
from penstock.vocabulary.sql.logical_types import MAX_LENGTH, Kind, LogicalType

__all__ = ["DataType", "DataTypes", "Field", "Resolution", "Row", "RowKind"]


@dataclass(frozen=True)
class DataType:
    """A type as a program gives it; `logical_type` is what it says."""

    logical_type: LogicalType

    def not_null(self) -> DataType:
        """The same without NULL."""
        return DataType(self.logical_type.not_null())

    def nullable(self) -> DataType:
        """The same with NULL."""
        return DataType(self.logical_type.with_nullable(True))

    # Of a ROW, under the names that PyFlink has for it.

    @property
    def names(self) -> list[str]:
        """The names of the fields of a ROW."""
        return list(self.logical_type.names)

    @property
    def fields(self) -> list[Field]:
        """The fields of a ROW."""
        return [Field(name, each) for name, each in zip(self.names, self.field_types(), strict=True)]

    def field_names(self) -> list[str]:
        """The names of the fields of a ROW."""
        return self.names

    def field_types(self) -> list[DataType]:
        """The types of the fields of a ROW."""
        return [DataType(each) for each in self.logical_type.parts]

    def bridged_to(self, conversion_cls: str) -> DataType:
        """The same: `conversion_cls` names a Java class, and there are none."""
        return self

    def __str__(self) -> str:
        return str(self.logical_type)

    def __repr__(self) -> str:
        return f"DataType({self.logical_type})"


@dataclass(frozen=True)
class Field:
    """A field of a ROW."""

    name: str
    data_type: DataType
    description: str | None = None


@dataclass(frozen=True)
class Resolution:
    """A part of an INTERVAL: its unit, and how many digits it has."""

    unit: str
    precision: int = -1


class DataTypes:
    """Makes the types of columns. Each may be NULL unless `nullable` is False or `not_null()` is called."""

    @staticmethod
    def NULL() -> DataType:
        """Only NULL."""
        return DataType(LogicalType(Kind.NULL))

    @staticmethod
    def CHAR(length: int, nullable: bool = True) -> DataType:
        """Text of a fixed length."""
        return _sized(Kind.CHAR, length, nullable)

    @staticmethod
    def VARCHAR(length: int, nullable: bool = True) -> DataType:
        """Text up to a length."""
        return _sized(Kind.VARCHAR, length, nullable)

    @staticmethod
    def STRING(nullable: bool = True) -> DataType:
        """Text of any length."""
        return _sized(Kind.VARCHAR, MAX_LENGTH, nullable)

    @staticmethod
    def BOOLEAN(nullable: bool = True) -> DataType:
        """TRUE or FALSE."""
        return _plain(Kind.BOOLEAN, nullable)

    @staticmethod
    def BINARY(length: int, nullable: bool = True) -> DataType:
        """Bytes of a fixed length."""
        return _sized(Kind.BINARY, length, nullable)

    @staticmethod
    def VARBINARY(length: int, nullable: bool = True) -> DataType:
        """Bytes up to a length."""
        return _sized(Kind.VARBINARY, length, nullable)

    @staticmethod
    def BYTES(nullable: bool = True) -> DataType:
        """Bytes of any length."""
        return _sized(Kind.VARBINARY, MAX_LENGTH, nullable)

    @staticmethod
    def DECIMAL(precision: int, scale: int, nullable: bool = True) -> DataType:
        """A decimal number of `precision` digits, `scale` of them behind the point."""
        if not 1 <= precision <= 38 or not 0 <= scale <= precision:
            raise DeclaredTypeError(
                f"DECIMAL({precision}, {scale}) is no type: precision is 1 to 38, and scale 0 to the precision"
            )
        return DataType(LogicalType(Kind.DECIMAL, nullable, (precision, scale)))

    @staticmethod
    def TINYINT(nullable: bool = True) -> DataType:
        """An integer of 8 bits."""
        return _plain(Kind.TINYINT, nullable)

    @staticmethod
    def SMALLINT(nullable: bool = True) -> DataType:
        """An integer of 16 bits."""
        return _plain(Kind.SMALLINT, nullable)

    @staticmethod
    def INT(nullable: bool = True) -> DataType:
        """An integer of 32 bits."""
        return _plain(Kind.INTEGER, nullable)

    @staticmethod
    def BIGINT(nullable: bool = True) -> DataType:
        """An integer of 64 bits."""
        return _plain(Kind.BIGINT, nullable)

    @staticmethod
    def FLOAT(nullable: bool = True) -> DataType:
        """A floating-point number of 32 bits."""
        return _plain(Kind.FLOAT, nullable)

    @staticmethod
    def DOUBLE(nullable: bool = True) -> DataType:
        """A floating-point number of 64 bits."""
        return _plain(Kind.DOUBLE, nullable)

    @staticmethod
    def DATE(nullable: bool = True) -> DataType:
        """A calendar date."""
        return _plain(Kind.DATE, nullable)

    @staticmethod
    def TIME(precision: int = 0, nullable: bool = True) -> DataType:
        """A time of day."""
        return _of_precision(Kind.TIME, precision, nullable)

    @staticmethod
    def TIMESTAMP(precision: int = 6, nullable: bool = True) -> DataType:
        """A date and time of day, without a time zone."""
        return _of_precision(Kind.TIMESTAMP, precision, nullable)

    @staticmethod
    def TIMESTAMP_LTZ(precision: int = 6, nullable: bool = True) -> DataType:
        """A point in time, shown in the session's time zone."""
        return _of_precision(Kind.TIMESTAMP_LTZ, precision, nullable)

    TIMESTAMP_WITH_LOCAL_TIME_ZONE = TIMESTAMP_LTZ

    @staticmethod
    def INTERVAL(upper_resolution: Resolution, lower_resolution: Resolution | None = None) -> DataType:
        """A length of time, of months (`YEAR`, `MONTH`) or of milliseconds (`DAY` to `SECOND`)."""
        in_months = {"YEAR", "MONTH"}
        units = {each.unit for each in (upper_resolution, lower_resolution) if each is not None}
        if units & in_months and units - in_months:
            raise DeclaredTypeError("an INTERVAL is of years and months or of days to seconds, not of both")
        return _plain(Kind.INTERVAL_MONTHS if units <= in_months else Kind.INTERVAL_MILLIS, True)

    @staticmethod
    def YEAR(precision: int = 2) -> Resolution:
        """Years of an interval."""
        return Resolution("YEAR", precision)

    @staticmethod
    def MONTH() -> Resolution:
        """Months of an interval."""
        return Resolution("MONTH")

    @staticmethod
    def DAY(precision: int = 2) -> Resolution:
        """Days of an interval."""
        return Resolution("DAY", precision)

    @staticmethod
    def HOUR() -> Resolution:
        """Hours of an interval."""
        return Resolution("HOUR")

    @staticmethod
    def MINUTE() -> Resolution:
        """Minutes of an interval."""
        return Resolution("MINUTE")

    @staticmethod
    def SECOND(precision: int = 6) -> Resolution:
        """Seconds of an interval."""
        return Resolution("SECOND", precision)

    @staticmethod
    def ARRAY(element_type: DataType, nullable: bool = True) -> DataType:
        """A list."""
        return DataType(LogicalType(Kind.ARRAY, nullable, parts=(element_type.logical_type,)))

    @staticmethod
    def LIST_VIEW(element_type: DataType) -> DataType:
        """A list, in the accumulator of an aggregate function."""
        return DataTypes.ARRAY(element_type)

    @staticmethod
    def MAP(key_type: DataType, value_type: DataType, nullable: bool = True) -> DataType:
        """A dict."""
        return DataType(LogicalType(Kind.MAP, nullable, parts=(key_type.logical_type, value_type.logical_type)))

    @staticmethod
    def MAP_VIEW(key_type: DataType, value_type: DataType) -> DataType:
        """A dict, in the accumulator of an aggregate function."""
        return DataTypes.MAP(key_type, value_type)

    @staticmethod
    def MULTISET(element_type: DataType, nullable: bool = True) -> DataType:
        """Values with how often each is there."""
        return DataType(LogicalType(Kind.MULTISET, nullable, parts=(element_type.logical_type,)))

    @staticmethod
    def ROW(row_fields: Sequence[Field] = (), nullable: bool = True) -> DataType:
        """A row of named fields."""
        names = tuple([each.name for each in row_fields])
        parts = tuple([each.data_type.logical_type for each in row_fields])
        return DataType(LogicalType(Kind.ROW, nullable, parts=parts, names=names))

    @staticmethod
    def FIELD(name: str, data_type: DataType, description: str | None = None) -> Field:
        """A field of a ROW."""
        return Field(name, data_type, description)


def _plain(kind: Kind, nullable: bool) -> DataType:
    return DataType(LogicalType(kind, nullable))


def _sized(kind: Kind, length: int, nullable: bool) -> DataType:
    if not 1 <= length <= MAX_LENGTH:
        raise DeclaredTypeError(f"{kind.value}({length}) is no type: a length is 1 to {MAX_LENGTH}")
    return DataType(LogicalType(kind, nullable, (length,)))


def _of_precision(kind: Kind, precision: int, nullable: bool) -> DataType:
    if not 0 <= precision <= 9:
        raise DeclaredTypeError(f"{kind.value}({precision}) is no type: a precision is 0 to 9")
    return DataType(LogicalType(kind, nullable, (precision,)))
