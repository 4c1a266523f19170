"""Column types from `DataTypes` or `Types` for file formats."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa

from penstock.common.basic_types import BasicType, BasicTypeInfo
from penstock.common.configuration import Configuration
from penstock.common.typeinfo import TypeInformation, Types
from penstock.errors import ConfigurationError
from penstock.vocabulary.sql.logical_types import Kind, LogicalType

__all__ = ["column_type", "refuse_hadoop"]


class _SizedDecimal(BasicTypeInfo[Decimal]):
    """BIG_DEC in a column of so many digits."""

    def __init__(self, precision: int, scale: int) -> None:
        super().__init__(BasicType.BIG_DEC)
        self._digits = precision, scale

    def arrow_type(self) -> pa.DataType:
        """Return the decimal of that size."""
        return pa.decimal128(*self._digits)

    def _identity(self) -> Any:
        return self._digits


_PLAIN: dict[Kind, Callable[[], TypeInformation]] = {
    Kind.BOOLEAN: Types.BOOLEAN,
    Kind.TINYINT: Types.BYTE,
    Kind.SMALLINT: Types.SHORT,
    Kind.INTEGER: Types.INT,
    Kind.BIGINT: Types.LONG,
    Kind.FLOAT: Types.FLOAT,
    Kind.DOUBLE: Types.DOUBLE,
    Kind.CHAR: Types.STRING,
    Kind.VARCHAR: Types.STRING,
    Kind.BINARY: lambda: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    Kind.VARBINARY: lambda: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    Kind.DATE: Types.SQL_DATE,
    Kind.TIME: Types.SQL_TIME,
    Kind.TIMESTAMP: Types.SQL_TIMESTAMP,
    Kind.TIMESTAMP_LTZ: Types.INSTANT,
}


def column_type(given: Any) -> Any:
    """The TypeInformation that a type from DataTypes stands for; anything else as it is."""
    logical = given if isinstance(given, LogicalType) else getattr(given, "logical_type", None)
    return _of(logical) if isinstance(logical, LogicalType) else given


def refuse_hadoop(format_name: str, hadoop_config: Configuration | None) -> None:
    """Settings of Hadoop would have no effect."""
    if hadoop_config is not None and hadoop_config.key_set():
        raise ConfigurationError(f"{format_name}: there is no Hadoop to configure; remove hadoop_config.")


def _of(logical: LogicalType) -> TypeInformation:
    parts = [_of(each) for each in logical.parts]
    if logical.kind is Kind.DECIMAL:
        return _SizedDecimal(logical.precision, logical.scale)
    if logical.kind is Kind.ROW:
        return Types.ROW_NAMED(list(logical.names), parts)
    if logical.kind is Kind.ARRAY:
        return Types.LIST(parts[0])
    if logical.kind is Kind.MAP:
        return Types.MAP(parts[0], parts[1])
    made = _PLAIN.get(logical.kind)
    if made is None:
        raise ConfigurationError(f"A column of a file cannot be {logical}: use another type.")
    return made()
