"""The type that values of several types are brought to: of branches of CASE, of elements of an ARRAY, of a UNION."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.errors import FunctionError
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.scalar.kinds import (
    CHARACTERS,
    DOUBLE,
    EXACT,
    INTEGERS,
    INTERVALS,
    NULL,
    NUMBERS,
    OCTETS,
    decimal,
    decimal_form,
)

__all__ = ["MAX_PRECISION", "common_type", "common_type_or_none", "exact_decimal"]

MAX_PRECISION = 38


def common_type(types: Sequence[LogicalType]) -> LogicalType:
    """Return the narrowest type that values of all the types can be cast to without loss.

    >>> from penstock.vocabulary.sql.scalar.kinds import BIGINT, INT
    >>> str(common_type([INT.not_null(), BIGINT.not_null()]))
    'BIGINT NOT NULL'
    """
    found = common_type_or_none(types)
    if found is None:
        raise FunctionError(
            f"the types {', '.join(map(str, types))} have no type in common: write a CAST to the one that is meant"
        )
    return found


def common_type_or_none(types: Sequence[LogicalType]) -> LogicalType | None:
    """Return the same, None where there is no such type."""
    nullable = any(each.nullable or each.kind is Kind.NULL for each in types)
    plain = [each.as_plain_time() for each in types if each.kind is not Kind.NULL]
    if not plain:
        return NULL
    found: LogicalType | None = plain[0]
    for each in plain[1:]:
        found = None if found is None else _of_two(found, each)
    if found is not None and len(types) == 1:
        found = types[0]
    return None if found is None else found.with_nullable(nullable)


def exact_decimal(left: LogicalType, right: LogicalType) -> LogicalType:
    """The DECIMAL that holds the values of two types of exact numbers, as far as 38 digits allow."""
    (p, s), (q, t) = decimal_form(left), decimal_form(right)
    whole = max(p - s, q - t)
    scale = min(max(s, t), MAX_PRECISION - whole)  # as in Flink, the fraction gives way
    return decimal(whole + scale, scale)


def _of_two(left: LogicalType, right: LogicalType) -> LogicalType | None:
    if left.same_but_for_null(right):
        return left
    if left.kind in NUMBERS and right.kind in NUMBERS:
        return _of_numbers(left, right)
    for family, fixed, varying in ((CHARACTERS, Kind.CHAR, Kind.VARCHAR), (OCTETS, Kind.BINARY, Kind.VARBINARY)):
        if left.kind in family and right.kind in family:
            both_fixed = left.kind is fixed and right.kind is fixed and left.precision == right.precision
            return LogicalType(fixed if both_fixed else varying, parameters=(max(left.precision, right.precision),))
    return _of_times(left, right) or _of_composites(left, right)


def _of_numbers(left: LogicalType, right: LogicalType) -> LogicalType:
    if left.kind in INTEGERS and right.kind in INTEGERS:
        return max(left, right, key=lambda each: INTEGERS.index(each.kind))
    if left.kind in EXACT and right.kind in EXACT:
        return exact_decimal(left, right)
    if Kind.DECIMAL in (left.kind, right.kind) or Kind.DOUBLE in (left.kind, right.kind):
        return DOUBLE
    return left if left.kind is Kind.FLOAT else right


_STAMPS = (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ)


def _of_times(left: LogicalType, right: LogicalType) -> LogicalType | None:
    if left.kind is Kind.TIME and right.kind is Kind.TIME:
        return max(left, right, key=lambda each: each.precision)
    if left.kind in INTERVALS and left.kind is right.kind:
        return left
    if left.kind not in _STAMPS or right.kind not in _STAMPS:
        return None
    stamps = [each for each in (left, right) if each.kind is not Kind.DATE]
    precision = max(each.precision for each in stamps)
    kind = max((each.kind for each in stamps), key=_STAMPS.index)
    return LogicalType(kind, parameters=(precision,))


def _of_composites(left: LogicalType, right: LogicalType) -> LogicalType | None:
    if left.kind is not right.kind or not left.parts or len(left.parts) != len(right.parts):
        return None
    parts = [common_type_or_none(pair) for pair in zip(left.parts, right.parts, strict=True)]
    known = tuple([each for each in parts if each is not None])
    return LogicalType(left.kind, parts=known, names=left.names) if len(known) == len(parts) else None
