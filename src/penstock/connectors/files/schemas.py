"""Column types of files without a declared schema, inferred as Spark infers them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa

from penstock.formats import json_lines, text_values
from penstock.formats.column_types import ZONE
from penstock.formats.csv_lines import CsvLayout

_CORRUPT = "_corrupt_record"
_WIDTHS: list[pa.DataType] = [pa.int32(), pa.int64()]


def csv_schema(files: Iterable[Iterator[str]], layout: CsvLayout, *, has_header: bool) -> pa.Schema | None:
    """The columns of CSV files, from all their lines; None if there is no line at all."""
    names: list[str] | None = None
    kinds: list[pa.DataType] = []
    for lines in files:
        for number, line in enumerate(filter(layout.is_data, lines)):
            fields = layout.fields(line)
            if names is None:
                names = _header_names(fields) if has_header else [f"_c{place}" for place in range(len(fields))]
                kinds = [pa.null()] * len(names)
            if not (has_header and number == 0):
                for place, text in enumerate(fields[: len(kinds)]):
                    if text is not None and not pa.types.is_string(kinds[place]):
                        kinds[place] = _merged(kinds[place], _type_of_text(text))
    if names is None:
        return None
    return pa.schema(
        [(name, pa.string() if pa.types.is_null(kind) else kind) for name, kind in zip(names, kinds, strict=True)]
    )


def json_schema(files: Iterable[Iterator[str]]) -> pa.Schema | None:
    """The columns of JSON files, sorted by name; None if no object has a field."""
    whole: pa.DataType = pa.struct([])
    is_corrupt = False
    for lines in files:
        for line in lines:
            if line.strip():
                for record in json_lines.records(line):
                    is_corrupt = is_corrupt or record is None
                    whole = json_lines.merged(whole, json_lines.type_of(record or {}))
    known = json_lines.settled(whole)
    fields = {} if known is None else {field.name: field.type for field in known}
    if is_corrupt:
        fields[_CORRUPT] = pa.string()
    return pa.schema(sorted(fields.items())) if fields else None


def spark_type(kind: pa.DataType) -> pa.DataType:
    """The type that Spark reads a column of a Parquet or ORC file as."""
    for is_kind, made in _READ_AS:
        if is_kind(kind):
            return made(kind) if callable(made) else made
    return kind


def _header_names(fields: list[str | None]) -> list[str]:
    lowered = [None if each is None else each.lower() for each in fields]
    return [
        f"_c{place}" if name is None else f"{name}{place}" if lowered.count(name.lower()) > 1 else name
        for place, name in enumerate(fields)
    ]


def _type_of_text(text: str) -> pa.DataType:
    for kind in _WIDTHS:
        if text_values.whole_converter(kind)(text) is not None:
            return kind
    if text_values.WHOLE.fullmatch(text) and len(text.lstrip("+-")) <= 38:
        return pa.decimal128(len(text.lstrip("+-")), 0)
    if text_values.real(text) is not None:
        return pa.float64()
    if text_values.moment(text) is not None:
        return pa.timestamp("us", ZONE) if ":" in text else pa.date32()
    return pa.bool_() if text_values.boolean(text) is not None else pa.string()


def _merged(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    if left == right or pa.types.is_null(left):
        return right
    kinds = [left, right]
    if all(map(_is_number, kinds)):
        if any(map(pa.types.is_floating, kinds)):
            return pa.float64()
        if any(map(pa.types.is_decimal, kinds)):
            digits = [
                each.precision if pa.types.is_decimal(each) else 10 if each == pa.int32() else 20 for each in kinds
            ]
            return pa.decimal128(max(digits), 0)
        return pa.int64()
    if all(pa.types.is_date(each) or pa.types.is_timestamp(each) for each in kinds):
        return pa.timestamp("us", ZONE)
    return pa.string()


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _timestamp(kind: pa.DataType) -> pa.DataType:
    return pa.timestamp("us", None if kind.tz is None else ZONE)


_READ_AS: list[tuple[Callable[[pa.DataType], bool], pa.DataType | Callable[[pa.DataType], pa.DataType]]] = [
    (pa.types.is_large_string, pa.string()),
    (pa.types.is_large_binary, pa.binary()),
    (pa.types.is_fixed_size_binary, pa.binary()),
    (pa.types.is_uint8, pa.int16()),
    (pa.types.is_uint16, pa.int32()),
    (pa.types.is_uint32, pa.int64()),
    (pa.types.is_uint64, pa.decimal128(20, 0)),
    (pa.types.is_float16, pa.float32()),
    (pa.types.is_date, pa.date32()),
    (pa.types.is_null, pa.string()),
    (pa.types.is_timestamp, _timestamp),
    (pa.types.is_dictionary, lambda kind: spark_type(kind.value_type)),
    (pa.types.is_large_list, lambda kind: pa.list_(spark_type(kind.value_type))),
    (pa.types.is_list, lambda kind: pa.list_(spark_type(kind.value_type))),
    (pa.types.is_map, lambda kind: pa.map_(spark_type(kind.key_type), spark_type(kind.item_type))),
    (pa.types.is_struct, lambda kind: pa.struct([(each.name, spark_type(each.type)) for each in kind])),
]
