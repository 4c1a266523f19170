"""The connector 'datagen': rows made up, by sequences or at random."""

from __future__ import annotations

import random
import string
import struct
from collections.abc import Callable, Mapping
from decimal import Context, Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.connectors.generated.columns import RandomColumns
from penstock.datastream.connectors.data_gen import DataGeneratorSource, RateLimiterStrategy
from penstock.datastream.stream import DataStream
from penstock.errors import SqlError
from penstock.table.connectors.contract import Connector, TableContext, TableSource
from penstock.table.connectors.options import Options
from penstock.vocabulary.sql.external_values import per_second
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.row_kinds import KIND_COLUMN
from penstock.vocabulary.sql.scalar import arrow_type

__all__ = ["DataGenConnector"]

_WIDE = Context(prec=76)
_LIMITS = {Kind.TINYINT: 7, Kind.SMALLINT: 15, Kind.INTEGER: 31, Kind.BIGINT: 63}
_SOME_DAY = 1_700_000_000_000
_HEX = string.hexdigits[:16]


class DataGenConnector(Connector):
    """Rows for trying things; the same rows in every run."""

    name = "datagen"

    def keys(self) -> Mapping[str, str]:
        """How many rows, how fast, and how each field is made."""
        return {
            "number-of-rows": "how many rows there are; without it they do not end",
            "rows-per-second": "how fast they come, 10000 unless set",
            "fields.": "of a field: kind (random, sequence), start, end, min, max, length, null-rate, max-past",
        }

    def source(self, table: TableContext) -> TableSource:
        """The generator."""
        return _Generated(table)


class _Generated(TableSource):
    def __init__(self, table: TableContext) -> None:
        self.table = table
        self.count = table.options.integer("number-of-rows")
        columns = table.physical_type
        self.fields = [
            _field(name, declared, table.options) for name, declared in zip(columns.names, columns.parts, strict=True)
        ]
        ends = [each.count for each in self.fields if each.count is not None]
        limits = [*ends, *([self.count] if self.count is not None else [])]
        self.count = min(limits) if limits else None
        self.is_bounded = self.count is not None

    def stream(
        self, environment: Any, row_type: LogicalType, metadata: tuple[str, ...] = (), name: str = ""
    ) -> DataStream[tuple[Any, ...]]:
        rate = RateLimiterStrategy.per_second(self.table.options.integer("rows-per-second", 10_000) or 10_000)
        source: Any
        if all(each.has_column for each in self.fields):
            source = DataGeneratorSource.of_columns(_Columns(self.fields), self.count, None, rate, row_format="tuple")
        else:
            source = DataGeneratorSource(_Row(self.fields), self.count, rate)
        made: DataStream[tuple[Any, ...]] = environment.from_source(source, None, name or self.table.path[-1])
        return made


class _Row:
    def __init__(self, fields: list[_Field]) -> None:
        self.fields = fields

    def __call__(self, number: int, chance: random.Random) -> tuple[Any, ...]:
        return (0, *[each(number, chance) for each in self.fields])


class _Columns:
    """Makes many rows at once, where every field has a way to."""

    def __init__(self, fields: list[_Field]) -> None:
        self.fields = fields

    def __call__(self, numbers: npt.NDArray[np.int64], chance: RandomColumns) -> dict[str, Any]:
        kinds = np.zeros(len(numbers), np.int8)
        made = {f"f{at}": each.column(numbers, chance) for at, each in enumerate(self.fields)}
        return {KIND_COLUMN: kinds, **made}


class _Field:
    """Makes the values of one field; holds plain data only, so that it can be pickled."""

    count: int | None = None

    def __init__(self, declared: LogicalType, options: Mapping[str, str]) -> None:
        self.declared = declared
        self.null_rate = float(options.get("null-rate", 0))
        self.low = options.get("min")
        self.high = options.get("max")
        self.length = int(options.get("length", 100))
        self.max_past_ms = int(options.get("max-past", "0").split()[0] or 0)

    def __call__(self, number: int, chance: random.Random) -> Any:
        if self.null_rate and chance.random() < self.null_rate:
            return None
        return self.value(chance)

    @property
    def has_column(self) -> bool:
        """Whether the values of many rows can be made at once."""
        return self.declared.kind in _RANDOM_COLUMNS

    def column(self, numbers: npt.NDArray[np.int64], chance: RandomColumns) -> pa.Array:
        """The values of many rows."""
        is_null = chance.random() < self.null_rate if self.null_rate else None
        values = pa.array(_RANDOM_COLUMNS[self.declared.kind](self, chance), mask=is_null)
        return values.cast(arrow_type(self.declared))

    def value(self, chance: random.Random) -> Any:
        """A value that is not NULL."""
        return _RANDOM[self.declared.kind](self, chance)


class _Sequence(_Field):
    def __init__(self, declared: LogicalType, start: int, end: int) -> None:
        super().__init__(declared, {})
        self.start = start
        self.count = end - start + 1

    def __call__(self, number: int, chance: random.Random) -> Any:
        value = self.start + number
        if self.declared.kind in (Kind.VARCHAR, Kind.CHAR):
            return str(value)
        if self.declared.kind is Kind.DECIMAL:
            return Decimal(value).quantize(Decimal(1).scaleb(-self.declared.scale), context=_WIDE)
        return float(value) if self.declared.kind in (Kind.FLOAT, Kind.DOUBLE) else value

    @property
    def has_column(self) -> bool:
        return self.declared.kind is not Kind.DECIMAL and arrow_type(self.declared) is not None

    def column(self, numbers: npt.NDArray[np.int64], chance: RandomColumns) -> pa.Array:
        values = pa.array(numbers + self.start)
        return values.cast(arrow_type(self.declared), safe=False)


class _Nested(_Field):
    """Arrays, maps and rows, of fields for their parts."""

    def __init__(self, declared: LogicalType, options: Mapping[str, str], parts: list[_Field]) -> None:
        super().__init__(declared, options)
        self.parts = parts
        self.length = int(options.get("length", 3))

    def value(self, chance: random.Random) -> Any:
        kind = self.declared.kind
        if kind is Kind.ROW:
            return tuple([each(0, chance) for each in self.parts])
        elements = [tuple([each(0, chance) for each in self.parts]) for _ in range(self.length)]
        if kind is Kind.MAP:
            return dict(elements)
        values = tuple([each for (each,) in elements])
        return values if kind is Kind.ARRAY else {each: values.count(each) for each in values}


PART_NAMES = {Kind.ARRAY: ("element",), Kind.MULTISET: ("element",), Kind.MAP: ("key", "value")}


def _field(name: str, declared: LogicalType, options: Options) -> _Field:
    own = options.under(f"fields.{name}.")
    kind = own.get("kind", "random")
    if kind == "sequence":
        if "start" not in own or "end" not in own:
            raise SqlError(f"Table {options.name}: a sequence needs 'fields.{name}.start' and 'fields.{name}.end'.")
        return _Sequence(declared, int(own["start"]), int(own["end"]))
    if kind != "random":
        raise SqlError(f"Table {options.name}: 'fields.{name}.kind' must be random or sequence, got '{kind}'.")
    if declared.kind is Kind.ROW or declared.kind in PART_NAMES:
        names = PART_NAMES.get(declared.kind, declared.names)
        parts = [_field(f"{name}.{part}", each, options) for part, each in zip(names, declared.parts, strict=True)]
        return _Nested(declared, own, parts)
    if declared.kind not in _RANDOM:
        raise SqlError(f"Table {options.name}: the connector 'datagen' cannot make values of type {declared}.")
    return _Field(declared, own)


def _whole(field: _Field, chance: random.Random) -> int:
    limit = 1 << _LIMITS[field.declared.kind]
    return chance.randint(int(field.low or -limit), int(field.high or limit - 1))


def _real(field: _Field, chance: random.Random) -> float:
    return chance.uniform(float(field.low or 0), float(field.high or 1e6))


def _single(field: _Field, chance: random.Random) -> float:
    (value,) = struct.unpack("f", struct.pack("f", _real(field, chance)))
    return float(value)


def _decimal(field: _Field, chance: random.Random) -> Decimal:
    step = Decimal(1).scaleb(-field.declared.scale)
    most = float(field.high or 10 ** min(field.declared.precision - field.declared.scale, 15) - 1)
    return Decimal(str(chance.uniform(float(field.low or 0), most))).quantize(step, context=_WIDE)


def _text(field: _Field, chance: random.Random) -> str:
    length = min(field.length, field.declared.precision)
    return "".join(chance.choices(_HEX, k=length))


def _timestamp(field: _Field, chance: random.Random) -> int:
    # Rows are the same in every run, so their times are near a fixed day.
    millis = _SOME_DAY - chance.randint(0, max(field.max_past_ms, 0))
    return millis * (per_second(field.declared.precision) // 1000)


def _between(chance: RandomColumns, low: int, high: int) -> npt.NDArray[np.int64]:
    """Whole numbers from `low` to `high`; computed without a sign, because a range may have 64 bits."""
    span = high - low + 1
    steps = np.minimum((chance.random() * float(span)).astype(np.uint64), np.uint64(span - 1))
    return (steps + np.uint64(low % 2**64)).view(np.int64)


def _whole_column(field: _Field, chance: RandomColumns) -> npt.NDArray[Any]:
    limit = 1 << _LIMITS[field.declared.kind]
    return _between(chance, int(field.low or -limit), int(field.high or limit - 1))


def _real_column(field: _Field, chance: RandomColumns) -> npt.NDArray[Any]:
    low, high = float(field.low or 0), float(field.high or 1e6)
    values = low + (high - low) * chance.random()
    return values.astype(np.float32) if field.declared.kind is Kind.FLOAT else values


def _timestamp_column(field: _Field, chance: RandomColumns) -> npt.NDArray[Any]:
    millis = _SOME_DAY - _between(chance, 0, max(field.max_past_ms, 0))
    return millis * (per_second(field.declared.precision) // 1000)


_RANDOM: dict[Kind, Callable[[_Field, random.Random], Any]] = {
    Kind.BOOLEAN: lambda field, chance: chance.random() < 0.5,
    Kind.TINYINT: _whole,
    Kind.SMALLINT: _whole,
    Kind.INTEGER: _whole,
    Kind.BIGINT: _whole,
    Kind.FLOAT: _single,
    Kind.DOUBLE: _real,
    Kind.DECIMAL: _decimal,
    Kind.CHAR: _text,
    Kind.VARCHAR: _text,
    Kind.BINARY: lambda field, chance: chance.randbytes(min(field.length, field.declared.precision)),
    Kind.VARBINARY: lambda field, chance: chance.randbytes(min(field.length, field.declared.precision)),
    Kind.DATE: lambda field, chance: chance.randint(0, 20_000),
    Kind.TIME: lambda field, chance: chance.randrange(86_400_000),
    Kind.TIMESTAMP: _timestamp,
    Kind.TIMESTAMP_LTZ: _timestamp,
}

_RANDOM_COLUMNS: dict[Kind, Callable[[_Field, RandomColumns], npt.NDArray[Any]]] = {
    Kind.BOOLEAN: lambda field, chance: chance.random() < 0.5,
    Kind.TINYINT: _whole_column,
    Kind.SMALLINT: _whole_column,
    Kind.INTEGER: _whole_column,
    Kind.BIGINT: _whole_column,
    Kind.FLOAT: _real_column,
    Kind.DOUBLE: _real_column,
    Kind.DATE: lambda field, chance: _between(chance, 0, 20_000),
    Kind.TIME: lambda field, chance: _between(chance, 0, 86_399_999),
    Kind.TIMESTAMP: _timestamp_column,
    Kind.TIMESTAMP_LTZ: _timestamp_column,
}
