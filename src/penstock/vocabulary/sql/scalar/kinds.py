"""Types that are often written, and questions about types: which family one is of, how wide, how fine."""

from __future__ import annotations

from penstock.vocabulary.sql.logical_types import MAX_LENGTH, Kind, LogicalType

__all__ = [
    "BIGINT",
    "BOOLEAN",
    "BYTES",
    "CHARACTERS",
    "DATE",
    "DOUBLE",
    "EXACT",
    "FLOAT",
    "INT",
    "INTEGERS",
    "INTERVALS",
    "INTERVAL_MILLIS",
    "INTERVAL_MONTHS",
    "NULL",
    "NUMBERS",
    "OCTETS",
    "SMALLINT",
    "STRING",
    "TIME_POINTS",
    "TINYINT",
    "array",
    "char",
    "decimal",
    "decimal_form",
    "map_of",
    "multiset",
    "time",
    "timestamp",
    "timestamp_ltz",
    "units_per_milli",
    "units_per_second",
    "varchar",
]

INTEGERS = (Kind.TINYINT, Kind.SMALLINT, Kind.INTEGER, Kind.BIGINT)
EXACT = (*INTEGERS, Kind.DECIMAL)
NUMBERS = (*EXACT, Kind.FLOAT, Kind.DOUBLE)
CHARACTERS = (Kind.CHAR, Kind.VARCHAR)
OCTETS = (Kind.BINARY, Kind.VARBINARY)
TIME_POINTS = (Kind.DATE, Kind.TIME, Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ)
INTERVALS = (Kind.INTERVAL_MONTHS, Kind.INTERVAL_MILLIS)

BOOLEAN = LogicalType(Kind.BOOLEAN)
TINYINT = LogicalType(Kind.TINYINT)
SMALLINT = LogicalType(Kind.SMALLINT)
INT = LogicalType(Kind.INTEGER)
BIGINT = LogicalType(Kind.BIGINT)
FLOAT = LogicalType(Kind.FLOAT)
DOUBLE = LogicalType(Kind.DOUBLE)
STRING = LogicalType(Kind.VARCHAR, parameters=(MAX_LENGTH,))
BYTES = LogicalType(Kind.VARBINARY, parameters=(MAX_LENGTH,))
DATE = LogicalType(Kind.DATE)
NULL = LogicalType(Kind.NULL)
INTERVAL_MONTHS = LogicalType(Kind.INTERVAL_MONTHS)
INTERVAL_MILLIS = LogicalType(Kind.INTERVAL_MILLIS)

_DIGITS = {Kind.TINYINT: 3, Kind.SMALLINT: 5, Kind.INTEGER: 10, Kind.BIGINT: 19}


def char(length: int) -> LogicalType:
    """CHAR(length)."""
    return LogicalType(Kind.CHAR, parameters=(length,))


def varchar(length: int) -> LogicalType:
    """VARCHAR(length)."""
    return LogicalType(Kind.VARCHAR, parameters=(length,))


def decimal(precision: int, scale: int = 0) -> LogicalType:
    """DECIMAL(precision, scale)."""
    return LogicalType(Kind.DECIMAL, parameters=(precision, scale))


def time(precision: int = 0) -> LogicalType:
    """TIME(precision)."""
    return LogicalType(Kind.TIME, parameters=(precision,))


def timestamp(precision: int = 6) -> LogicalType:
    """TIMESTAMP(precision)."""
    return LogicalType(Kind.TIMESTAMP, parameters=(precision,))


def timestamp_ltz(precision: int = 6) -> LogicalType:
    """TIMESTAMP_LTZ(precision)."""
    return LogicalType(Kind.TIMESTAMP_LTZ, parameters=(precision,))


def array(element: LogicalType) -> LogicalType:
    """ARRAY<element>."""
    return LogicalType(Kind.ARRAY, parts=(element,))


def multiset(element: LogicalType) -> LogicalType:
    """MULTISET<element>."""
    return LogicalType(Kind.MULTISET, parts=(element,))


def map_of(key: LogicalType, value: LogicalType) -> LogicalType:
    """MAP<key, value>."""
    return LogicalType(Kind.MAP, parts=(key, value))


def decimal_form(type_: LogicalType) -> tuple[int, int]:
    """Precision and scale of the DECIMAL that holds all values of an exact number's type."""
    if type_.kind is Kind.DECIMAL:
        return type_.precision, type_.scale
    return _DIGITS[type_.kind], 0


def units_per_second(type_: LogicalType) -> int:
    """How many units of a timestamp's internal value make a second."""
    precision = type_.precision if type_.parameters else 6
    return 1000 if precision <= 3 else 1_000_000 if precision <= 6 else 1_000_000_000


def units_per_milli(type_: LogicalType) -> int:
    """How many units of a timestamp's internal value make a millisecond."""
    return units_per_second(type_) // 1000
