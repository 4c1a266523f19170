"""JSON_VALUE, JSON_QUERY, JSON_EXISTS, JSON_OBJECT, JSON_ARRAY, JSON_STRING, IS JSON and their kin."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from penstock.errors import EvaluationError, FunctionError
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.scalar.calendar_values import Zone, fraction_text, time_text, timestamp_text, zone_named
from penstock.vocabulary.sql.scalar.code import CodeWriter
from penstock.vocabulary.sql.scalar.json_clauses import (
    prepared_exists,
    prepared_nulls,
    prepared_query,
    prepared_value,
)
from penstock.vocabulary.sql.scalar.json_paths import NotFound, json_path
from penstock.vocabulary.sql.scalar.kinds import (
    BOOLEAN,
    CHARACTERS,
    INTEGERS,
    OCTETS,
    STRING,
    units_per_second,
)
from penstock.vocabulary.sql.scalar.parameters import A_STRING, ANYTHING, implicit_cast
from penstock.vocabulary.sql.scalar.registry import Arguments, special, strict_function
from penstock.vocabulary.sql.scalar.value_texts import double_text, float_text, text_function
from penstock.vocabulary.sql.typed_expressions import Call, TypedExpression

__all__ = ["json_text_function", "json_written"]

_INVALID = object()


class _Number(str):
    """A number as it was written."""


def _read(text: str) -> Any:
    try:
        return json.loads(text, parse_float=_Number, parse_int=int, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return _INVALID


def _refuse_constant(text: str) -> Any:
    raise ValueError(text)


def json_written(value: Any) -> str:
    """A parsed value as JSON without spaces, numbers as they were written."""
    if isinstance(value, _Number):
        return _number_text(value)
    if isinstance(value, dict):
        return "{" + ",".join([f"{_quoted(key)}:{json_written(each)}" for key, each in sorted(value.items())]) + "}"
    if isinstance(value, list):
        return f"[{','.join([json_written(each) for each in value])}]"
    return _quoted(value) if isinstance(value, str) else json.dumps(value)


def _number_text(text: _Number) -> str:
    return str(Decimal(text)) if "e" in text.lower() else str(text)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _scalar_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _number_text(value) if isinstance(value, _Number) else str(value)


def _found(text: str, path_text: str) -> tuple[list[Any] | None, bool]:
    """The values at a path, None where the text or the path fails; and whether that counts as an empty result."""
    value = _read(text)
    path = json_path(path_text)
    if value is _INVALID:
        return None, not path.is_strict
    try:
        return path.find(value), False
    except NotFound:
        return None, not path.is_strict


def _json_value(call: Call) -> Callable[..., Any]:
    """Options: the type to return, then what to do on empty and on error: NULL, ERROR or DEFAULT."""
    type_, on_empty, on_error = _value_options(call.options)

    def json_value(text: str, path: str, *defaults: Any) -> Any:
        found, is_empty = _found(text, path)
        rest = list(defaults)
        empty_default = rest.pop(0) if on_empty == "DEFAULT" and rest else None
        error_default = rest.pop(0) if on_error == "DEFAULT" and rest else None
        if found is None and is_empty:
            return _instead(on_empty, empty_default, "JSON_VALUE found nothing")
        single = found[0] if found and len(found) == 1 else None
        if found is None or len(found) != 1 or isinstance(single, (dict, list)):
            return _instead(on_error, error_default, "JSON_VALUE found no scalar")
        if single is None:
            if json_path(path).is_strict:
                return _instead(on_error, error_default, "JSON_VALUE found NULL")
            return _instead(on_empty, empty_default, "JSON_VALUE found nothing")
        made = _returned(single, type_)
        return made if made is not _INVALID else _instead(on_error, error_default, f"JSON_VALUE found no {type_}")

    return json_value


def _value_options(options: tuple[Any, ...]) -> tuple[LogicalType, str, str]:
    padded = [*options, None, None, None][:3]
    return padded[0] or STRING, padded[1] or "NULL", padded[2] or "NULL"


def _instead(behaviour: str, default: Any, text: str) -> Any:
    if behaviour == "ERROR":
        raise EvaluationError(f"{text}: say NULL or DEFAULT instead of ERROR")
    return default


def _returned(value: Any, type_: LogicalType) -> Any:
    kind = type_.kind
    if kind in CHARACTERS:
        return _scalar_text(value)
    if kind is Kind.BOOLEAN:
        return value if isinstance(value, bool) else {"true": True, "false": False}.get(str(value).lower(), _INVALID)
    try:
        if kind is Kind.DOUBLE:
            return float(value)
        return int(Decimal(value)) if kind in INTEGERS and not isinstance(value, bool) else _INVALID
    except (ValueError, ArithmeticError):
        return _INVALID


def _infer_value(arguments: Arguments, options: tuple[Any, ...]) -> tuple[Arguments, LogicalType]:
    text, path, *defaults = arguments
    type_, _, _ = _value_options(options)
    taken = [A_STRING.take(each, "an argument of JSON_VALUE") for each in (text, path)]
    return (*taken, *[implicit_cast(each, type_) for each in defaults]), type_.with_nullable(True)


def _write_value(writer: CodeWriter, call: Call) -> str:
    name = writer.name_of(_json_value(call))
    defaults = "".join([f", {writer.value(each)}" for each in call.arguments[2:]])
    return writer.strict(call.arguments[:2], lambda texts: f"{name}({texts[0]}, {texts[1]}{defaults})")


special("JSON_VALUE", _infer_value, _write_value, prepare=prepared_value)


def _make_query(call: Call, writer: CodeWriter) -> Callable[[str, str], str | None]:
    """Options: the wrapper WITHOUT, CONDITIONAL or UNCONDITIONAL, what to do on empty and on error."""
    wrapper, on_empty, on_error = ([*call.options, None, None, None])[:3]

    def json_query(text: str, path: str) -> str | None:
        found, is_empty = _found(text, path)
        if found is None:
            return _query_instead((on_empty if is_empty else on_error) or "NULL")
        value = found[0] if json_path(path).is_definite else found
        if wrapper == "UNCONDITIONAL" or (wrapper == "CONDITIONAL" and not isinstance(value, list)):
            value = [value]
        if value is None:
            return _query_instead(on_empty or "NULL")
        return json_written(value) if isinstance(value, (dict, list)) else _query_instead(on_error or "NULL")

    return json_query


def _query_instead(behaviour: str) -> str | None:
    if behaviour == "ERROR":
        raise EvaluationError("JSON_QUERY found no object or array: say NULL or EMPTY ARRAY instead of ERROR")
    return {"EMPTY ARRAY": "[]", "EMPTY OBJECT": "{}"}.get(behaviour)


def _make_exists(call: Call, writer: CodeWriter) -> Callable[[str, str], bool | None]:
    on_error = call.options[0] if call.options else "FALSE"

    def json_exists(text: str, path: str) -> bool | None:
        found, is_empty = _found(text, path)
        if found is not None or is_empty:
            return bool(found) and found != [None]
        if on_error == "ERROR":
            raise EvaluationError("JSON_EXISTS failed: say FALSE, TRUE or UNKNOWN instead of ERROR")
        return {"TRUE": True, "FALSE": False}.get(on_error)

    return json_exists


_S = A_STRING
strict_function("JSON_QUERY", [_S, _S], STRING, make=_make_query, may_be_null=True, prepare=prepared_query)
strict_function("JSON_EXISTS", [_S, _S], BOOLEAN, make=_make_exists, may_be_null=True, prepare=prepared_exists)


def _make_is_json(call: Call, writer: CodeWriter) -> Callable[[str | None], bool]:
    wanted = call.options[0] if call.options else "VALUE"
    kinds = {"VALUE": object, "ARRAY": list, "OBJECT": dict}.get(wanted)

    def is_json(text: str | None) -> bool:
        value = _INVALID if text is None else _read(text)
        if value is _INVALID:
            return False
        return not isinstance(value, (dict, list)) if kinds is None else isinstance(value, kinds)

    return is_json


strict_function("IS JSON", [_S], BOOLEAN.not_null(), make=_make_is_json, takes_null=True)


def json_text_function(type_: LogicalType, zone: Zone) -> Callable[[Any], str]:
    """The function that writes values of a type as JSON; NULL is `null`."""
    write = _json_writer(type_, zone)
    return lambda value: "null" if value is None else write(value)


def _json_writer(type_: LogicalType, zone: Zone) -> Callable[[Any], str]:
    kind = type_.kind
    if kind in CHARACTERS:
        return _quoted
    if kind is Kind.BOOLEAN:
        return lambda value: "true" if value else "false"
    if kind in OCTETS:
        return lambda value: _quoted(base64.b64encode(value).decode())
    if kind in (Kind.FLOAT, Kind.DOUBLE):
        write = double_text if kind is Kind.DOUBLE else float_text
        return lambda value: str(Decimal(write(value))) if math.isfinite(value) else _quoted(write(value))
    if kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ):
        return _json_stamp(type_, zone)
    if kind is Kind.TIME:
        return lambda value: _quoted(time_text(value, 3 if value % 1000 else 0))
    if kind in INTEGERS or kind is Kind.DECIMAL:
        return text_function(type_, zone)
    return _json_composite(type_, zone)


def _json_stamp(type_: LogicalType, zone: Zone) -> Callable[[Any], str]:
    per_second = units_per_second(type_)
    suffix = "Z" if type_.kind is Kind.TIMESTAMP_LTZ else ""

    def write(value: int) -> str:
        fraction = fraction_text(value % per_second, per_second, 9).rstrip("0").rstrip(".")
        whole = timestamp_text(value, per_second, 0).replace(" ", "T")
        return _quoted(whole + fraction + suffix)

    return write


def _json_composite(type_: LogicalType, zone: Zone) -> Callable[[Any], str]:
    parts = [json_text_function(each, zone) for each in type_.parts]
    if type_.kind is Kind.ARRAY:
        return lambda value: f"[{','.join([parts[0](each) for each in value])}]"
    if type_.kind is Kind.ROW:
        names = [_quoted(name) for name in type_.names]
        return lambda value: "{" + ",".join([f"{n}:{p(v)}" for n, p, v in zip(names, parts, value, strict=True)]) + "}"
    if type_.kind is Kind.MAP:
        return lambda value: (
            "{" + ",".join([f"{_quoted(str(k))}:{parts[1](v)}" for k, v in sorted(value.items())]) + "}"
        )
    text = text_function(type_, zone)
    return lambda value: _quoted(text(value))


strict_function(
    "JSON_STRING",
    [ANYTHING],
    STRING,
    make=lambda call, writer: json_text_function(call.arguments[0].type, zone_named(writer.context.time_zone)),
)

_CONSTRUCTORS = ("JSON_OBJECT", "JSON_ARRAY", "JSON")


def _json_source(writer: CodeWriter, expression: TypedExpression) -> str:
    """Source of an expression's JSON; what a constructor of JSON has made goes in as it is."""
    if isinstance(expression, Call) and expression.function in _CONSTRUCTORS:
        return writer.value(expression)
    function = json_text_function(expression.type, zone_named(writer.context.time_zone))
    return f"{writer.name_of(function, 'json_text')}({writer.value(expression)})"


def _infer_object(arguments: Arguments, options: tuple[Any, ...]) -> tuple[Arguments, LogicalType]:
    if len(arguments) % 2:
        raise FunctionError("JSON_OBJECT takes pairs of a key and a value")
    for each in arguments[::2]:
        A_STRING.take(each, "a key of JSON_OBJECT")
    return arguments, STRING.not_null()


def _write_object(writer: CodeWriter, call: Call) -> str:
    omits = "ABSENT" in call.options
    pairs = [
        f"({writer.value(key)}, {_json_source(writer, value)})"
        for key, value in zip(call.arguments[::2], call.arguments[1::2], strict=True)
    ]
    return f"{writer.name_of(_object_text)}({omits}, {', '.join(pairs)})" if pairs else "'{}'"


def _object_text(omits: bool, *pairs: tuple[str, str]) -> str:
    made = {key: value for key, value in pairs if not omits or value != "null"}
    return "{" + ",".join([f"{_quoted(key)}:{value}" for key, value in sorted(made.items())]) + "}"


def _write_array(writer: CodeWriter, call: Call) -> str:
    texts = [_json_source(writer, each) for each in call.arguments]
    keeps = "NULL" in call.options
    return f"{writer.name_of(_array_text)}({keeps}, {', '.join(texts)})" if texts else "'[]'"


def _array_text(keeps: bool, *texts: str) -> str:
    return f"[{','.join([each for each in texts if keeps or each != 'null'])}]"


special("JSON_OBJECT", _infer_object, _write_object, prepare=prepared_nulls)
special(
    "JSON_ARRAY",
    lambda arguments, options: (arguments, STRING.not_null()),
    _write_array,
    prepare=prepared_nulls,
)


def _json_quote(text: str) -> str:
    quoted = json.dumps(text)
    return re.sub(r"(?<!\\)((?:\\\\)*)/", r"\1\\/", quoted)


def _json_unquote(text: str) -> str:
    if len(text) < 2 or not text.startswith('"') or not text.endswith('"'):
        return text
    value = _read(text)
    return value if isinstance(value, str) else text


strict_function("JSON_QUOTE", [_S], STRING, _json_quote)
strict_function("JSON_UNQUOTE", [_S], STRING, _json_unquote)
