"""Texts to times and back: DATE_FORMAT, TO_TIMESTAMP, TO_DATE, UNIX_TIMESTAMP, FROM_UNIXTIME, CONVERT_TZ."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from penstock.errors import FunctionError
from penstock.vocabulary.sql.logical_types import Kind
from penstock.vocabulary.sql.scalar.calendar_values import DAY_MS, parse_date, parse_timestamp, zone_named
from penstock.vocabulary.sql.scalar.code import CodeWriter
from penstock.vocabulary.sql.scalar.date_patterns import formatter, parser
from penstock.vocabulary.sql.scalar.kinds import (
    BIGINT,
    CHARACTERS,
    DATE,
    NUMBERS,
    STRING,
    timestamp,
    timestamp_ltz,
)
from penstock.vocabulary.sql.scalar.parameters import A_BIGINT, A_STRING, ANYTHING, Parameter, of_kinds
from penstock.vocabulary.sql.scalar.registry import strict_function
from penstock.vocabulary.sql.scalar.temporal import local_nanos
from penstock.vocabulary.sql.typed_expressions import Call

__all__: list[str] = []

_DEFAULT = "yyyy-MM-dd HH:mm:ss"
_STAMP_OR_TEXT = of_kinds("a timestamp or a string", Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ, *CHARACTERS)


def _millis_of(text: str, pattern: str | None) -> int | None:
    """Milliseconds of a text as if its clock were UTC; an offset in the text is taken into account."""
    found = None if pattern is None else parser(pattern)(text)
    if found is None:  # Flink tries the usual form where the pattern does not fit.
        return parse_timestamp(text, 1000, is_lenient=True)
    return found[0] // 1_000_000 - (found[1] or 0) * 1000


def _make_date_format(call: Call, writer: CodeWriter) -> Callable[[Any, str], str | None]:
    type_, zone = call.arguments[0].type, writer.context.time_zone
    if type_.kind in CHARACTERS:

        def of_text(text: str, pattern: str) -> str | None:
            nanos = parse_timestamp(text, 10**9)
            return None if nanos is None else formatter(pattern)(nanos, zone)

        return of_text
    nanos_of = local_nanos(type_, writer)
    return lambda value, pattern: formatter(pattern)(nanos_of(value), zone)


def _to_date(text: str, pattern: str | None = None) -> int | None:
    if pattern is None:
        return parse_date(text)
    millis = _millis_of(text, pattern)
    return None if millis is None else millis // DAY_MS


def _to_timestamp(text: str, pattern: str | None = None) -> int | None:
    return _millis_of(text, pattern)


def _make_to_timestamp_ltz(call: Call, writer: CodeWriter) -> Callable[..., int | None]:
    kind = call.arguments[0].type.kind
    if kind in CHARACTERS:

        def of_text(text: str, pattern: str | None = None, zone: str = "UTC") -> int | None:
            millis = _millis_of(text, pattern)
            return None if millis is None else zone_named(zone).moment(millis)

        return of_text
    if kind not in NUMBERS:
        raise FunctionError(f"TO_TIMESTAMP_LTZ takes a number or a string, and {call.arguments[0].type} was given")
    return lambda value, precision=3: int(value * 1000) if precision == 0 else int(value)


def _make_unix_timestamp(call: Call, writer: CodeWriter) -> Callable[..., int]:
    zone, clock = zone_named(writer.context.time_zone), writer.context.clock
    if not call.arguments:
        return lambda: clock() // 1000

    def of_text(text: str, pattern: str = _DEFAULT) -> int:
        found = _lenient(pattern)(text)
        if found is None:
            return -(2**63)
        nanos, offset = found
        # Java's older classes, which Flink uses here, take the second of two.
        return zone.moment(nanos // 1_000_000, is_later=True) // 1000 if offset is None else nanos // 10**9 - offset

    return of_text


def _lenient(pattern: str) -> Callable[[str], tuple[int, int | None] | None]:
    """A parser that takes the beginning of a text, as Java's old formats do."""
    read = parser(pattern)

    def parse(text: str) -> tuple[int, int | None] | None:
        for end in range(len(text), 0, -1):
            found = read(text[:end])
            if found is not None:
                return found
        return None

    return parse


def _make_from_unixtime(call: Call, writer: CodeWriter) -> Callable[..., str]:
    zone = zone_named(writer.context.time_zone)

    def write(seconds: int, pattern: str = _DEFAULT) -> str:
        return formatter(pattern)(zone.local(seconds * 1000) * 1_000_000, zone.name)

    return write


def _convert_tz(text: str, source: str, target: str) -> str | None:
    found = re.fullmatch(r"\d{1,4}-\d{1,2}-\d{1,2} \d{1,2}:\d{1,2}:\d{1,2}(\.\d*)?", text)
    millis = parse_timestamp(text, 1000) if found else None
    if millis is None:
        return None
    moment = zone_named(source).moment(millis, is_later=True)
    return formatter(_DEFAULT)(zone_named(target).local(moment) * 1_000_000, target)


_S: Parameter = A_STRING
strict_function("DATE_FORMAT", [_STAMP_OR_TEXT, _S], STRING, make=_make_date_format, may_be_null=True)
strict_function("TO_DATE", [_S, _S], DATE, _to_date, optional=1, may_be_null=True)
strict_function("TO_TIMESTAMP", [_S, _S], timestamp(3), _to_timestamp, optional=1, may_be_null=True)
strict_function(
    "TO_TIMESTAMP_LTZ",
    [ANYTHING, ANYTHING, _S],
    timestamp_ltz(3),
    make=_make_to_timestamp_ltz,
    optional=2,
    may_be_null=True,
)
strict_function("UNIX_TIMESTAMP", [_S, _S], BIGINT, make=_make_unix_timestamp, optional=2)
strict_function("FROM_UNIXTIME", [A_BIGINT, _S], STRING, make=_make_from_unixtime, optional=1, may_be_null=True)
strict_function("CONVERT_TZ", [_S, _S, _S], STRING, _convert_tz, may_be_null=True)
