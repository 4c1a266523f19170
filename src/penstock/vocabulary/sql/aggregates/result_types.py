"""The types of results of aggregate functions, as Flink has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.errors import PenstockError
from penstock.vocabulary.sql.logical_types import MAX_LENGTH, Kind, LogicalType

__all__ = ["AGGREGATE_FUNCTIONS", "AggregateError", "result_type"]

_EXACT = (Kind.TINYINT, Kind.SMALLINT, Kind.INTEGER, Kind.BIGINT)
_NUMERIC = (*_EXACT, Kind.FLOAT, Kind.DOUBLE, Kind.DECIMAL)
_MAX_PRECISION = 38


class AggregateError(PenstockError):
    """An aggregate function cannot be called like this."""


def result_type(
    function: str, argument_types: Sequence[LogicalType], is_distinct: bool = False, is_grouped: bool = True
) -> LogicalType:
    """Return the type of an aggregate call's result.

    `is_grouped`: there are keys, so no group is empty; without them most results may be NULL.

    >>> str(result_type("AVG", [LogicalType(Kind.INTEGER, nullable=False)]))
    'INT NOT NULL'
    """
    rule = AGGREGATE_FUNCTIONS.get(function)
    if rule is None:
        raise AggregateError(f"There is no aggregate function {function}.")
    low, high, infer = rule
    if not low <= len(argument_types) <= high:
        raise AggregateError(f"{function} does not take {len(argument_types)} arguments.")
    found = infer(function, [each.as_plain_time() for each in argument_types])
    may_be_empty = not is_grouped and function not in _NEVER_NULL
    return found.with_nullable(True) if may_be_empty else found


def _count(function: str, types: list[LogicalType]) -> LogicalType:
    return LogicalType(Kind.BIGINT, nullable=False)


def _numeric(function: str, types: list[LogicalType]) -> LogicalType:
    if types[0].kind not in _NUMERIC:
        raise AggregateError(f"{function} needs a number, not {types[0]}.")
    return types[0]


def _sum(function: str, types: list[LogicalType]) -> LogicalType:
    found = _numeric(function, types)
    if found.kind is Kind.DECIMAL:
        return LogicalType(Kind.DECIMAL, found.nullable, (_MAX_PRECISION, found.scale))
    return found


def _sum0(function: str, types: list[LogicalType]) -> LogicalType:
    return _sum(function, types).not_null()


def _avg(function: str, types: list[LogicalType]) -> LogicalType:
    found = _numeric(function, types)
    if found.kind is Kind.DECIMAL:
        return LogicalType(Kind.DECIMAL, found.nullable, (_MAX_PRECISION, max(6, found.scale)))
    return found


def _deviation(function: str, types: list[LogicalType]) -> LogicalType:
    found = _numeric(function, types)
    if found.kind is Kind.DECIMAL:
        return LogicalType(Kind.DECIMAL, found.nullable, (_MAX_PRECISION, max(6, found.scale)))
    return found


def _first(function: str, types: list[LogicalType]) -> LogicalType:
    return types[0]


def _nullable_first(function: str, types: list[LogicalType]) -> LogicalType:
    return types[0].with_nullable(True)


def _text(function: str, types: list[LogicalType]) -> LogicalType:
    return LogicalType(Kind.VARCHAR, types[0].nullable if types else True, (MAX_LENGTH,))


def _text_not_null(function: str, types: list[LogicalType]) -> LogicalType:
    return LogicalType(Kind.VARCHAR, False, (MAX_LENGTH,))


def _multiset(function: str, types: list[LogicalType]) -> LogicalType:
    return LogicalType(Kind.MULTISET, False, parts=(types[0],))


def _array(function: str, types: list[LogicalType]) -> LogicalType:
    return LogicalType(Kind.ARRAY, True, parts=(types[0],))


_Rule = tuple[int, int, Callable[[str, list[LogicalType]], LogicalType]]

AGGREGATE_FUNCTIONS: dict[str, _Rule] = {
    "COUNT": (0, 1_000, _count),
    "SUM": (1, 1, _sum),
    "SUM0": (1, 1, _sum0),
    "$SUM0": (1, 1, _sum0),
    "AVG": (1, 1, _avg),
    "MIN": (1, 1, _first),
    "MAX": (1, 1, _first),
    "FIRST_VALUE": (1, 1, _first),
    "LAST_VALUE": (1, 1, _first),
    "SINGLE_VALUE": (1, 1, _nullable_first),
    "LISTAGG": (1, 2, _text),
    "COLLECT": (1, 1, _multiset),
    "ARRAY_AGG": (1, 1, _array),
    "STDDEV_POP": (1, 1, _deviation),
    "STDDEV_SAMP": (1, 1, _deviation),
    "STDDEV": (1, 1, _deviation),
    "VAR_POP": (1, 1, _deviation),
    "VAR_SAMP": (1, 1, _deviation),
    "VARIANCE": (1, 1, _deviation),
    "JSON_OBJECTAGG": (2, 2, _text_not_null),
    "JSON_ARRAYAGG": (1, 1, _text_not_null),
    "LAG": (1, 3, _nullable_first),
    "LEAD": (1, 3, _nullable_first),
    "ROW_NUMBER": (0, 0, _count),
    "RANK": (0, 0, _count),
    "DENSE_RANK": (0, 0, _count),
    "CUME_DIST": (0, 0, _count),
    "PERCENT_RANK": (0, 0, _count),
    "NTILE": (1, 1, _count),
}
"""By name: the least and most arguments, and what gives the type."""

_NEVER_NULL = {
    "COUNT",
    "SUM0",
    "$SUM0",
    "COLLECT",
    "JSON_OBJECTAGG",
    "JSON_ARRAYAGG",
    "ROW_NUMBER",
    "RANK",
    "DENSE_RANK",
}
