"""COUNT, SUM, AVG, and the moments behind STDDEV and VAR."""

from __future__ import annotations

from math import sqrt
from typing import Any

from penstock.common.typeinfo import TypeInformation, Types
from penstock.vocabulary.sql.aggregates.arithmetic import (
    BITS,
    as_decimal,
    decimal_average,
    decimal_minus,
    decimal_plus,
    single,
    truncated_quotient,
    wrapped,
    zero,
)
from penstock.vocabulary.sql.aggregates.code import CallCode, Compiling, nested
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.state_types import state_type

__all__ = ["average", "count", "deviation", "sum_", "sum_from_zero"]

_SCOPE: dict[str, Any] = {
    "wrapped": wrapped,
    "single": single,
    "truncated_quotient": truncated_quotient,
    "decimal_plus": decimal_plus,
    "decimal_minus": decimal_minus,
    "decimal_average": decimal_average,
}


def count(compiling: Compiling) -> CallCode:
    """COUNT(*), COUNT(x), COUNT(x, y): rows in which no argument is NULL."""
    counted = compiling.slot("count", Types.LONG(), "0")
    types = compiling.call.argument_types
    may_be_null = [name for at, name in enumerate(compiling.arguments) if at >= len(types) or types[at].nullable]
    condition = " and ".join(f"{name} is not None" for name in may_be_null)

    def lines(line: str) -> list[str]:
        return nested(condition, [line]) if condition else [line]

    name = counted.name
    return CallCode([counted], lines(f"{name} += 1"), lines(f"{name} -= 1"), name, [f"{name} += {name}_"])


def sum_(compiling: Compiling) -> CallCode:
    """SUM: NULL where there is no value."""
    compiling.scope.update(_SCOPE)
    total, value = compiling.slot("sum", _sum_type(compiling), "None"), compiling.argument
    name = total.name
    if compiling.retracts:
        return _retracting_sum(compiling)
    plus = _plus(compiling.call.type, name, value)
    add = [f"if {name} is None:", f"    {name} = {value}", "else:", *("    " + line for line in plus)]
    merge_plus = _plus(compiling.call.type, name, f"{name}_")
    merge = [f"if {name} is None:", f"    {name} = {name}_", "else:", *("    " + line for line in merge_plus)]
    return CallCode([total], _guarded(compiling, add), None, name, nested(f"{name}_ is not None", merge))


def _retracting_sum(compiling: Compiling) -> CallCode:
    start = _zero(compiling)
    total, seen = compiling.slot("sum", _sum_type(compiling), start), compiling.slot("seen", Types.LONG(), "0")
    name, value, logical = total.name, compiling.argument, compiling.call.type
    # An overflow of decimals makes the sum NULL, and it starts anew with the next value, as Flink's does.
    plus = _from_null(logical, name, value, _plus(logical, name, value))
    minus = _from_null(logical, name, f"-{value}", _minus(logical, name, value))
    return CallCode(
        [total, seen],
        _guarded(compiling, [*plus, f"{seen.name} += 1"]),
        _guarded(compiling, [*minus, f"{seen.name} -= 1"]),
        f"({name} if {seen.name} else None)",
        [*_from_null(logical, name, f"{name}_", _plus(logical, name, f"{name}_")), f"{seen.name} += {seen.name}_"],
    )


def sum_from_zero(compiling: Compiling) -> CallCode:
    """$SUM0: 0 where there is no value."""
    compiling.scope.update(_SCOPE)
    total = compiling.slot("sum", _sum_type(compiling), _zero(compiling))
    name, value, logical = total.name, compiling.argument, compiling.call.type
    return CallCode(
        [total],
        _guarded(compiling, _plus(logical, name, value)),
        _guarded(compiling, _minus(logical, name, value)),
        name,
        _plus(logical, name, f"{name}_"),
    )


def average(compiling: Compiling) -> CallCode:
    """AVG: of whole numbers the quotient without its fraction, as Flink has it."""
    compiling.scope.update(_SCOPE)
    logical, value = compiling.call.type, compiling.argument
    summed = LogicalType(Kind.BIGINT) if logical.kind in BITS else logical
    start = _zero(compiling) if logical.kind is Kind.DECIMAL else ("0" if logical.kind in BITS else "0.0")
    if logical.kind is Kind.FLOAT:
        summed = LogicalType(Kind.DOUBLE)
    total, seen = compiling.slot("sum", state_type(summed), start), compiling.slot("seen", Types.LONG(), "0")
    name, counted = total.name, seen.name
    quotient = {
        Kind.DECIMAL: f"decimal_average({name}, {counted}, {logical.scale})",
        Kind.DOUBLE: f"{name} / {counted}",
        Kind.FLOAT: f"single({name} / {counted})",
    }.get(logical.kind, f"truncated_quotient({name}, {counted})")
    guard = f"{counted} and {name} is not None" if logical.kind is Kind.DECIMAL else counted
    plus = _from_null(summed, name, value, _plus(summed, name, value))
    minus = _from_null(summed, name, f"-{value}", _minus(summed, name, value))
    merge = _from_null(summed, name, f"{name}_", _plus(summed, name, f"{name}_"))
    return CallCode(
        [total, seen],
        _guarded(compiling, [*plus, f"{counted} += 1"]),
        _guarded(compiling, [*minus, f"{counted} -= 1"]),
        f"({quotient} if {guard} else None)",
        [*merge, f"{counted} += {counted}_"],
    )


_SAMPLES = ("STDDEV_SAMP", "STDDEV", "VAR_SAMP", "VARIANCE")


def deviation(compiling: Compiling) -> CallCode:
    """STDDEV and VAR by Welford's method: the count, the mean, and the sum of squared distances from it."""
    value = compiling.argument
    counted = compiling.slot("seen", Types.LONG(), "0")
    mean, squares = compiling.slot("mean", Types.DOUBLE(), "0.0"), compiling.slot("squares", Types.DOUBLE(), "0.0")
    is_whole = compiling.in_over and compiling.call.type.kind in BITS
    make_result = _whole_deviation_result if is_whole else _deviation_result
    result = compiling.known("deviation", make_result(compiling.function, compiling.call.type))
    n, m, s, d = counted.name, mean.name, squares.name, f"distance{compiling.number}"
    accumulate = [
        f"{d} = float({value}) - {m}",
        f"{n} += 1",
        f"{m} += {d} / {n}",
        f"{s} += {d} * (float({value}) - {m})",
    ]
    retract = [
        f"{n} -= 1",
        f"if {n}:",
        f"    {d} = float({value}) - {m}",
        f"    {m} -= {d} / {n}",
        f"    {s} -= {d} * (float({value}) - {m})",
        "else:",
        f"    {m} = {s} = 0.0",
    ]
    merge = [
        f"{d} = {m}_ - {m}",
        f"{s} += {s}_ + {d} * {d} * {n} * {n}_ / ({n} + {n}_)",
        f"{m} += {d} * {n}_ / ({n} + {n}_)",
        f"{n} += {n}_",
    ]
    return CallCode(
        [counted, mean, squares],
        _guarded(compiling, accumulate),
        _guarded(compiling, retract),
        f"{result}({n}, {s}, {m})" if is_whole else f"{result}({n}, {s})",
        nested(f"{n}_", merge),
    )


def _whole_deviation_result(function: str, logical: LogicalType) -> Any:
    """Integers in OVER: as in Flink, the square of the sum is divided as a whole number, and so is what remains."""
    less = 1 if function in _SAMPLES else 0
    is_root = function.startswith("STDDEV")

    def result(counted: int, squares: float, mean: float) -> Any:
        if counted <= less:
            return None
        total = round(mean * counted)
        found = round(max(squares, 0.0) + total * total % counted / counted) // (counted - less)
        return _as_type(sqrt(found) if is_root else found, logical)

    return result


def _deviation_result(function: str, logical: LogicalType) -> Any:
    less = 1 if function in _SAMPLES else 0
    is_root = function.startswith("STDDEV")

    def result(counted: int, squares: float) -> Any:
        if counted <= less:
            return None
        found = max(squares, 0.0) / (counted - less)
        return _as_type(sqrt(found) if is_root else found, logical)

    return result


def _as_type(value: float, logical: LogicalType) -> Any:
    if logical.kind in BITS:
        return wrapped(int(value), BITS[logical.kind])
    if logical.kind is Kind.DECIMAL:
        return as_decimal(value, logical)
    return single(value) if logical.kind is Kind.FLOAT else value


def _guarded(compiling: Compiling, lines: list[str]) -> list[str]:
    types = compiling.call.argument_types
    if types and not types[0].nullable:
        return lines
    return nested(f"{compiling.argument} is not None", lines)


def _sum_type(compiling: Compiling) -> TypeInformation:
    return state_type(compiling.call.type)


def _zero(compiling: Compiling) -> str:
    logical = compiling.call.type
    if logical.kind is Kind.DECIMAL:
        return compiling.known("zero", zero(logical))
    return "0" if logical.kind in BITS else "0.0"


def _from_null(logical: LogicalType, name: str, value: str, lines: list[str]) -> list[str]:
    if logical.kind is not Kind.DECIMAL:
        return lines
    return [f"if {name} is None:", f"    {name} = {value}", "else:", *("    " + line for line in lines)]


def _plus(logical: LogicalType, name: str, value: str) -> list[str]:
    return _combined(logical, name, value, "+", "decimal_plus")


def _minus(logical: LogicalType, name: str, value: str) -> list[str]:
    return _combined(logical, name, value, "-", "decimal_minus")


def _combined(logical: LogicalType, name: str, value: str, sign: str, of_decimals: str) -> list[str]:
    if logical.kind in BITS:
        bits = BITS[logical.kind]
        half = 1 << (bits - 1)
        return [
            f"{name} {sign}= {value}",
            f"if not {-half} <= {name} < {half}:",
            f"    {name} = wrapped({name}, {bits})",
        ]
    if logical.kind is Kind.DECIMAL:
        return [f"{name} = {of_decimals}({name}, {value})"]
    if logical.kind is Kind.FLOAT:
        return [f"{name} = single({name} {sign} {value})"]
    return [f"{name} {sign}= {value}"]
