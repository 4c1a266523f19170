"""Functions of numbers, hashes and random values."""

from __future__ import annotations

import hashlib
import math
import random
import uuid
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, Decimal
from typing import Any

from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.scalar.code import CodeWriter
from penstock.vocabulary.sql.scalar.kinds import DOUBLE, INT, INTEGERS, STRING, char, decimal, varchar
from penstock.vocabulary.sql.scalar.numbers import EXACTLY, MODULUS, decimal_fit, float32, wrapped
from penstock.vocabulary.sql.scalar.parameters import A_DOUBLE, A_NUMBER, A_STRING, AN_INT
from penstock.vocabulary.sql.scalar.registry import strict_function
from penstock.vocabulary.sql.typed_expressions import Call, Literal, TypedExpression

__all__ = ["make_ceil", "make_floor", "rounded_down_type"]

Number = Callable[..., Any]


def _guarded(function: Callable[..., float], outside: float = math.nan) -> Callable[..., float]:
    """A function of floats that gives NaN or infinity where Python's raises."""

    def guarded(*values: float) -> float:
        try:
            return function(*values)
        except OverflowError:
            return math.inf
        except (ValueError, ZeroDivisionError):
            return outside

    return guarded


def _power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 == 1 else math.inf
    except ValueError:
        return math.inf if base == 0 else math.nan


def _logarithm(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda value: function(value) if value > 0 else -math.inf if value == 0 else math.nan


def _log(*values: float) -> float:
    ln = _logarithm(math.log)
    return ln(values[0]) if len(values) == 1 else ln(values[1]) / ln(values[0])


def _cot(value: float) -> float:
    return 1.0 / math.tan(value)


for _name, _function in {
    "SQRT": _guarded(math.sqrt),
    "EXP": _guarded(math.exp),
    "LN": _logarithm(math.log),
    "LOG10": _logarithm(math.log10),
    "LOG2": _logarithm(math.log2),
    "SIN": _guarded(math.sin),
    "COS": _guarded(math.cos),
    "TAN": _guarded(math.tan),
    "COT": _guarded(_cot),
    "ASIN": _guarded(math.asin),
    "ACOS": _guarded(math.acos),
    "ATAN": math.atan,
    "SINH": _guarded(math.sinh),
    "COSH": _guarded(math.cosh),
    "TANH": math.tanh,
    "DEGREES": math.degrees,
    "RADIANS": math.radians,
}.items():
    strict_function(_name, [A_DOUBLE], DOUBLE, _function)

strict_function("LOG", [A_DOUBLE, A_DOUBLE], DOUBLE, _log, optional=1)
strict_function("POWER", [A_DOUBLE, A_DOUBLE], DOUBLE, _power)
strict_function("ATAN2", [A_DOUBLE, A_DOUBLE], DOUBLE, math.atan2)
strict_function("PI", [], DOUBLE.not_null(), lambda: math.pi)
strict_function("E", [], DOUBLE.not_null(), lambda: math.e)


def _same(types: Sequence[LogicalType]) -> LogicalType:
    return types[0]


def _make_abs(call: Call, writer: CodeWriter) -> Number:
    if call.type.kind in INTEGERS:
        modulus = MODULUS[call.type.kind]
        return lambda value: wrapped(abs(value), modulus)
    return EXACTLY.abs if call.type.kind is Kind.DECIMAL else abs


def _make_sign(call: Call, writer: CodeWriter) -> Number:
    if call.type.kind is Kind.DECIMAL:
        return lambda value: decimal_fit(Decimal((value > 0) - (value < 0)), call.type)
    if call.type.kind in INTEGERS:
        return lambda value: (value > 0) - (value < 0)
    return lambda value: value if value == 0 or math.isnan(value) else math.copysign(1.0, value)


strict_function("ABS", [A_NUMBER], _same, make=_make_abs)
strict_function("SIGN", [A_NUMBER], _same, make=_make_sign)


def rounded_down_type(types: Sequence[LogicalType]) -> LogicalType:
    """The type of FLOOR and CEIL."""
    return decimal(types[0].precision, 0) if types[0].kind is Kind.DECIMAL else types[0]


def make_floor(call: Call, writer: CodeWriter) -> Number:
    """The function of FLOOR for a number."""
    return _whole(call, math.floor, ROUND_FLOOR)


def make_ceil(call: Call, writer: CodeWriter) -> Number:
    """The function of CEIL for a number."""
    return _whole(call, math.ceil, ROUND_CEILING)


def _whole(call: Call, round_float: Callable[[float], int], rounding: str) -> Number:
    kind = call.arguments[0].type.kind
    if kind in INTEGERS:
        return lambda value: value
    if kind is Kind.DECIMAL:
        return lambda value: decimal_fit(value.to_integral_value(rounding), call.type)
    return lambda value: math.copysign(float(round_float(value)), value) if math.isfinite(value) else value


def _make_round(call: Call, writer: CodeWriter) -> Number:
    type_, kind = call.type, call.arguments[0].type.kind
    if kind is Kind.DECIMAL:
        return lambda value, digits=0: decimal_fit(_round_decimal(value, digits, None), type_)
    if kind in INTEGERS:
        modulus = MODULUS[kind]
        return lambda value, digits=0: wrapped(int(_round_decimal(Decimal(value), min(digits, 0), None)), modulus)
    return _float_rounding(kind, None)


def _make_truncate(call: Call, writer: CodeWriter) -> Number:
    type_, kind = call.type, call.arguments[0].type.kind
    if kind is Kind.DECIMAL:
        return lambda value, digits=0: decimal_fit(_round_decimal(value, digits, ROUND_DOWN), type_)
    if kind in INTEGERS:
        return lambda value, digits=0: int(_round_decimal(Decimal(value), min(digits, 0), ROUND_DOWN))
    return _float_rounding(kind, ROUND_DOWN)


def _float_rounding(kind: Kind, rounding: str | None) -> Number:
    def rounded(value: float, digits: int = 0) -> float:
        if not math.isfinite(value):
            return value
        text = repr(value) if kind is Kind.DOUBLE else f"{value:.9g}"
        made = float(_round_decimal(Decimal(text), digits, rounding))
        return float32(made) if kind is Kind.FLOAT else made

    return rounded


def _round_decimal(value: Decimal, digits: int, rounding: str | None) -> Decimal:
    if -int(value.as_tuple().exponent) <= digits:
        return value
    return value.quantize(Decimal(1).scaleb(-digits), rounding=rounding, context=EXACTLY)


def _round_type(arguments: Sequence[TypedExpression]) -> LogicalType:
    """A DECIMAL gets one digit more before the point, and as many behind it as asked for."""
    type_ = arguments[0].type
    asked = arguments[1] if len(arguments) > 1 else Literal(0, INT)
    if type_.kind is not Kind.DECIMAL or not isinstance(asked, Literal) or asked.value is None:
        return type_
    (precision, scale), digits = type_.parameters, asked.value
    if digits >= scale:
        return type_
    if digits < 0:
        return decimal(min(38, 1 + precision - scale), 0)
    return decimal(1 + precision - scale + digits, digits)


strict_function("ROUND", [A_NUMBER, AN_INT], _same, make=_make_round, optional=1, result_of=_round_type)
strict_function("TRUNCATE", [A_NUMBER, AN_INT], _same, make=_make_truncate, optional=1, result_of=_round_type)

strict_function("RAND", [AN_INT], DOUBLE.not_null(), make=lambda c, w: _random(), optional=1, is_deterministic=False)
strict_function(
    "RAND_INTEGER",
    [AN_INT, AN_INT],
    INT.not_null(),
    make=lambda call, writer: _random_integer(),
    optional=1,
    is_deterministic=False,
)
strict_function("UUID", [], STRING.not_null(), lambda: str(uuid.uuid4()), is_deterministic=False)


def _random() -> Number:
    sources: dict[int | None, random.Random] = {}

    def rand(seed: int | None = None) -> float:
        if seed not in sources:
            sources[seed] = random.Random(seed)
        return sources[seed].random()

    return rand


def _random_integer() -> Number:
    rand = _random()
    return lambda first, bound=None: int(rand() * first) if bound is None else int(rand(first) * bound)


_HASHES = {"MD5": 32, "SHA1": 40, "SHA224": 56, "SHA256": 64, "SHA384": 96, "SHA512": 128}
for _name, _length in _HASHES.items():
    strict_function(
        _name,
        [A_STRING],
        char(_length),
        make=lambda call, writer: _hash_function(call.function.lower()),
    )


def _hash_function(name: str) -> Callable[[str], str]:
    make = getattr(hashlib, name)
    return lambda text: str(make(text.encode()).hexdigest())


def _sha2(text: str, bits: int) -> str | None:
    return _hash_function(f"sha{bits}")(text) if bits in (224, 256, 384, 512) else None


strict_function("SHA2", [A_STRING, AN_INT], varchar(128), _sha2)
