"""Flink's logical types as plain data: what a column of a table may hold, and how Flink writes it.

A value of each type inside the runtime, called its *internal* value, is

| type | internal value |
|---|---|
| BOOLEAN | bool |
| TINYINT, SMALLINT, INTEGER, BIGINT | int, in the range of the type |
| FLOAT, DOUBLE | float; a FLOAT is rounded to single precision |
| DECIMAL(p, s) | Decimal with exactly s digits behind the point |
| CHAR(n), VARCHAR(n) | str |
| BINARY(n), VARBINARY(n) | bytes |
| DATE | int, days since 1970-01-01 |
| TIME(p) | int, milliseconds of the day |
| TIMESTAMP(p), TIMESTAMP_LTZ(p) | int since 1970: milliseconds for p up to 3, microseconds up to 6, else nanoseconds |
| INTERVAL YEAR TO MONTH | int, months |
| INTERVAL DAY TO SECOND | int, milliseconds |
| ARRAY | tuple of internal values |
| MAP, MULTISET | dict of internal values (a MULTISET counts); never changed once made |
| ROW | tuple of internal values |
| NULL | None |

None is NULL in all of them. Nothing of it can be changed in place, so rows may be shared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

__all__ = ["MAX_LENGTH", "Kind", "LogicalType", "TimeAttribute", "row_of"]

MAX_LENGTH = 2**31 - 1
"""The length of STRING and BYTES."""


class Kind(Enum):
    """The root of a type, by its SQL name."""

    BOOLEAN = "BOOLEAN"
    TINYINT = "TINYINT"
    SMALLINT = "SMALLINT"
    INTEGER = "INT"
    BIGINT = "BIGINT"
    FLOAT = "FLOAT"
    DOUBLE = "DOUBLE"
    DECIMAL = "DECIMAL"
    CHAR = "CHAR"
    VARCHAR = "VARCHAR"
    BINARY = "BINARY"
    VARBINARY = "VARBINARY"
    DATE = "DATE"
    TIME = "TIME"
    TIMESTAMP = "TIMESTAMP"
    TIMESTAMP_LTZ = "TIMESTAMP_LTZ"
    INTERVAL_MONTHS = "INTERVAL YEAR TO MONTH"
    INTERVAL_MILLIS = "INTERVAL DAY TO SECOND"
    ARRAY = "ARRAY"
    MAP = "MAP"
    MULTISET = "MULTISET"
    ROW = "ROW"
    RAW = "RAW"
    SYMBOL = "SYMBOL"
    NULL = "NULL"


class TimeAttribute(Enum):
    """What makes a timestamp column more than a value."""

    ROWTIME = "ROWTIME"
    PROCTIME = "PROCTIME"


@dataclass(frozen=True)
class LogicalType:
    """A type, with whether NULL may be among its values.

    `parameters`: length, or precision and scale. `parts`: of an ARRAY or MULTISET its element, of a MAP key and value,
    of a ROW its fields, whose `names` stand beside.

    >>> str(LogicalType(Kind.DECIMAL, parameters=(10, 2)).not_null())
    'DECIMAL(10, 2) NOT NULL'
    """

    kind: Kind
    nullable: bool = True
    parameters: tuple[int, ...] = ()
    parts: tuple[LogicalType, ...] = ()
    names: tuple[str, ...] = ()
    time_attribute: TimeAttribute | None = None

    def not_null(self) -> LogicalType:
        """The same without NULL."""
        return self if not self.nullable else replace(self, nullable=False)

    def with_nullable(self, nullable: bool) -> LogicalType:
        """The same, with or without NULL."""
        return self if self.nullable == nullable else replace(self, nullable=nullable)

    def as_plain_time(self) -> LogicalType:
        """The same without what makes it a time attribute."""
        return self if self.time_attribute is None else replace(self, time_attribute=None)

    @property
    def precision(self) -> int:
        """The first parameter: precision, or length."""
        return self.parameters[0]

    @property
    def scale(self) -> int:
        """The second parameter, 0 where there is none."""
        return self.parameters[1] if len(self.parameters) > 1 else 0

    def same_but_for_null(self, other: LogicalType) -> bool:
        """Whether the types differ at most in whether NULL may be among the values, and in time attributes."""
        return self.as_plain_time().with_nullable(True) == other.as_plain_time().with_nullable(True)

    def __str__(self) -> str:
        """Return the type as Flink prints it in schemas. Uids and layouts of state have these texts, so they stay."""
        attribute = "" if self.time_attribute is None else f" *{self.time_attribute.value}*"
        return f"{self._text()}{'' if self.nullable else ' NOT NULL'}{attribute}"

    def _text(self) -> str:
        if self.kind in _UNBOUNDED and self.parameters == (MAX_LENGTH,):
            return _UNBOUNDED[self.kind]
        if self.kind in _INTERVALS:
            return _INTERVALS[self.kind]
        if self.kind is Kind.ROW:
            return "ROW<" + ", ".join(f"`{n}` {p}" for n, p in zip(self.names, self.parts, strict=True)) + ">"
        if self.parts:
            return f"{self.kind.value}<{', '.join(map(str, self.parts))}>"
        return str(self.kind.value) + (f"({', '.join(map(str, self.parameters))})" if self.parameters else "")


_INTERVALS = {Kind.INTERVAL_MONTHS: "INTERVAL MONTH", Kind.INTERVAL_MILLIS: "INTERVAL SECOND(3)"}
_UNBOUNDED = {Kind.VARCHAR: "STRING", Kind.VARBINARY: "BYTES"}


def row_of(names: tuple[str, ...], types: tuple[LogicalType, ...], nullable: bool = False) -> LogicalType:
    """A row type: the schema of a table, and of what a plan node puts out."""
    return LogicalType(Kind.ROW, nullable, parts=types, names=names)
