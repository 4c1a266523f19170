"""Functions that make expressions: columns, constants, calls.

>>> from penstock.table.expressions import col, concat, lit
>>> str(concat(col("name"), lit("!")))
"concat(name, '!')"
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from penstock.table.data_type_texts import declared_type
from penstock.table.expression import Expression, JsonOnNull, TimePointUnit, function_expression
from penstock.table.expression_methods.numbers import joined
from penstock.table.expression_methods.term import call_node, literal_of, literal_text, term_of
from penstock.table.sql import parse_expression
from penstock.table.sql.nodes import BoundValue
from penstock.table.types import DataType
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.typed_expressions import Literal

__all__ = [
    "CURRENT_RANGE",
    "CURRENT_ROW",
    "UNBOUNDED_RANGE",
    "UNBOUNDED_ROW",
    "and_",
    "array",
    "atan2",
    "call",
    "call_sql",
    "coalesce",
    "col",
    "concat",
    "concat_ws",
    "convert_tz",
    "current_database",
    "current_date",
    "current_time",
    "current_timestamp",
    "current_watermark",
    "date_format",
    "descriptor",
    "e",
    "from_unixtime",
    "if_then_else",
    "json",
    "json_array",
    "json_array_agg",
    "json_object",
    "json_object_agg",
    "json_string",
    "lag",
    "lead",
    "lit",
    "local_time",
    "local_timestamp",
    "log",
    "map_",
    "map_from_arrays",
    "negative",
    "not_",
    "null_of",
    "object_of",
    "or_",
    "pi",
    "rand",
    "rand_integer",
    "range_",
    "row",
    "row_interval",
    "source_watermark",
    "temporal_overlaps",
    "timestamp_diff",
    "to_date",
    "to_timestamp",
    "to_timestamp_ltz",
    "unix_timestamp",
    "uuid",
    "with_all_columns",
    "with_columns",
    "without_columns",
]

_made = function_expression


def col(name: str) -> Expression:
    """A column by its name; `*` stands for all."""
    if name == "*":
        return with_all_columns()
    return Expression(exp.Column(this=exp.to_identifier(name, quoted=True)), name)


def lit(v: Any, data_type: DataType | None = None) -> Expression:
    """A constant, of the type that Flink finds for it or of one that is given."""
    literal = literal_of(v, None if data_type is None else declared_type(data_type))
    return Expression(BoundValue(literal=literal), literal_text(literal, v))


def range_(start: str | int, end: str | int) -> Expression:
    """Columns from one to another, by name or by number from 1; for `with_columns` and `without_columns`."""
    first, last = (col(each) if isinstance(each, str) else lit(each) for each in (start, end))
    return _made("rangeTo", "$RANGE", first, last)


def and_(predicate0: Any, predicate1: Any, *predicates: Any) -> Expression:
    """All of the conditions."""
    return joined("and", predicate0, predicate1, *predicates)


def or_(predicate0: Any, predicate1: Any, *predicates: Any) -> Expression:
    """Any of the conditions."""
    return joined("or", predicate0, predicate1, *predicates)


def not_(expression: Expression) -> Expression:
    """The opposite of a condition; NULL stays NULL."""
    return _made("not", "NOT", expression)


def _bound(text: str) -> Expression:
    return Expression(exp.Var(this=text), text)


UNBOUNDED_ROW = _bound("UNBOUNDED_ROW")
UNBOUNDED_RANGE = _bound("UNBOUNDED_RANGE")
CURRENT_ROW = _bound("CURRENT_ROW")
CURRENT_RANGE = _bound("CURRENT_RANGE")


def current_database() -> Expression:
    """The database in use."""
    return _made("currentDatabase", "CURRENT_DATABASE")


def current_date() -> Expression:
    """The date, in the session's time zone."""
    return _made("currentDate", "CURRENT_DATE")


def current_time() -> Expression:
    """The time of day, in the session's time zone."""
    return _made("currentTime", "CURRENT_TIME")


def current_timestamp() -> Expression:
    """The point in time."""
    return _made("currentTimestamp", "CURRENT_TIMESTAMP")


def current_watermark(rowtimeAttribute: Any) -> Expression:
    """The watermark of a rowtime column; NULL if there is none yet."""
    return _made("CURRENT_WATERMARK", "CURRENT_WATERMARK", rowtimeAttribute)


def local_time() -> Expression:
    """The time of day, in the session's time zone."""
    return _made("localTime", "LOCALTIME")


def local_timestamp() -> Expression:
    """The date and time of day, in the session's time zone."""
    return _made("localTimestamp", "LOCALTIMESTAMP")


def to_date(date_str: Any, format: Any = None) -> Expression:
    """The date of a text."""
    return term_of(date_str)._optional("toDate", "TO_DATE", format)


def to_timestamp(timestamp_str: Any, format: Any = None) -> Expression:
    """The timestamp of a text."""
    return term_of(timestamp_str)._optional("toTimestamp", "TO_TIMESTAMP", format)


def to_timestamp_ltz(*args: Any) -> Expression:
    """The point in time of a number with its precision, or of a text with format and zone."""
    return _made("TO_TIMESTAMP_LTZ", "TO_TIMESTAMP_LTZ", *args)


def temporal_overlaps(
    left_time_point: Any, left_temporal: Any, right_time_point: Any, right_temporal: Any
) -> Expression:
    """Whether two stretches of time have something in common."""
    return _made("temporalOverlaps", "OVERLAPS", left_time_point, left_temporal, right_time_point, right_temporal)


def date_format(timestamp: Any, format: Any) -> Expression:
    """A timestamp written by a pattern of Java."""
    return _made("dateFormat", "DATE_FORMAT", timestamp, format)


def timestamp_diff(time_point_unit: TimePointUnit, time_point1: Any, time_point2: Any) -> Expression:
    """How many whole units there are from one point in time to another."""
    first, second = term_of(time_point1), term_of(time_point2)
    node = call_node("TIMESTAMPDIFF", exp.var(time_point_unit.name), first._node, second._node)
    return Expression(node, f"timestampDiff({time_point_unit.name}, {first._text}, {second._text})")


def convert_tz(date_str: Any, tz_from: Any, tz_to: Any) -> Expression:
    """A date and time of one zone, in another."""
    return _made("convertTz", "CONVERT_TZ", date_str, tz_from, tz_to)


def from_unixtime(unixtime: Any, format: Any = None) -> Expression:
    """Seconds since 1970 written by a pattern."""
    return term_of(unixtime)._optional("fromUnixtime", "FROM_UNIXTIME", format)


def unix_timestamp(date_str: Any = None, format: Any = None) -> Expression:
    """Seconds since 1970: now, or of a text."""
    if date_str is None:
        return _made("unixTimestamp", "UNIX_TIMESTAMP")
    return term_of(date_str)._optional("unixTimestamp", "UNIX_TIMESTAMP", format)


def array(head: Any, *tail: Any) -> Expression:
    """An array of values."""
    return _made("array", "ARRAY", head, *tail)


def row(head: Any, *tail: Any) -> Expression:
    """A row of values, whose fields are called f0, f1 and so on."""
    made = _made("row", "ROW", head, *tail)
    made._node.set("is_of_api", True)
    return made


def map_(key: Any, value: Any, *tail: Any) -> Expression:
    """A map of keys and values in turn."""
    return _made("map", "MAP", key, value, *tail)


def map_from_arrays(key: Any, value: Any) -> Expression:
    """A map of an array of keys and one of values."""
    return _made("mapFromArrays", "MAP_FROM_ARRAYS", key, value)


def descriptor(*column_names: str) -> Expression:
    """Names of columns as an argument of a table function."""
    node = exp.Anonymous(this="DESCRIPTOR", expressions=[col(each)._node for each in column_names])
    return Expression(node, f"descriptor({', '.join(column_names)})")


def object_of(class_name: str, *args: Any) -> Expression:
    """An object of a structured type."""
    return _made("OBJECT_OF", "OBJECT_OF", class_name, *args)


def row_interval(rows: int) -> Expression:
    """A number of rows: the length of a window."""
    literal = Literal(rows, LogicalType(Kind.BIGINT, False))
    return Expression(BoundValue(literal=literal), str(rows))


def pi() -> Expression:
    """The number pi."""
    return _made("pi", "PI")


def e() -> Expression:
    """Euler's number."""
    return _made("e", "E")


def rand(seed: Any = None) -> Expression:
    """A random number from 0 to 1."""
    return _made("rand", "RAND", *([] if seed is None else [seed]))


def rand_integer(bound: Any, seed: Any = None) -> Expression:
    """A random whole number below a bound."""
    return _made("randInteger", "RAND_INTEGER", *([bound] if seed is None else [seed, bound]))


def atan2(y: Any, x: Any) -> Expression:
    """The angle of a point."""
    return _made("atan2", "ATAN2", y, x)


def negative(v: Any) -> Expression:
    """The number with the other sign."""
    return _made("minusPrefix", "-", v)


def concat(first: Any, *others: Any) -> Expression:
    """Texts behind each other; NULL if one is."""
    return _made("concat", "CONCAT", first, *others)


def concat_ws(separator: Any, first: Any, *others: Any) -> Expression:
    """Texts with a separator between them; what is NULL is left out."""
    return _made("concat_ws", "CONCAT_WS", separator, first, *others)


def uuid() -> Expression:
    """A random UUID."""
    return _made("uuid", "UUID")


def null_of(data_type: DataType) -> Expression:
    """NULL of a type."""
    return Expression(BoundValue(literal=Literal(None, declared_type(data_type))), "null")


def log(v: Any, base: Any = None) -> Expression:
    """The logarithm to a base, the natural one without."""
    return _made("log", "LOG", *([v] if base is None else [base, v]))


def source_watermark() -> Expression:
    """The watermark of the source; only for schemas."""
    return _made("sourceWatermark", "SOURCE_WATERMARK")


def if_then_else(condition: Any, if_true: Any, if_false: Any) -> Expression:
    """One value where a condition is TRUE, another elsewhere."""
    return _made("ifThenElse", "CASE", condition, if_true, if_false)


def coalesce(*args: Any) -> Expression:
    """The first value that is not NULL."""
    return _made("coalesce", "COALESCE", *args)


def with_all_columns() -> Expression:
    """All columns."""
    return Expression(exp.Star(), "withAllColumns()")


def with_columns(head: Any, *tails: Any) -> Expression:
    """Some columns: by name, number from 1, or `range_`."""
    return _made("withColumns", "$WITH_COLUMNS", head, *tails)


def without_columns(head: Any, *tails: Any) -> Expression:
    """All columns but some."""
    return _made("withoutColumns", "$WITHOUT_COLUMNS", head, *tails)


def json(value: Any) -> Expression:
    """A text of JSON that `json_object` and `json_array` take over as it is."""
    return _made("JSON", "JSON", value)


def json_string(value: Any) -> Expression:
    """A value as JSON."""
    return _made("JSON_STRING", "JSON_STRING", value)


def json_object(on_null: JsonOnNull = JsonOnNull.NULL, *args: Any) -> Expression:
    """An object of JSON, of keys and values in turn."""
    return _with_nulls("JSON_OBJECT", on_null, args)


def json_object_agg(on_null: JsonOnNull, key_expr: Any, value_expr: Any) -> Expression:
    """An object of JSON, of the rows of a group."""
    return _aggregated("JSON_OBJECTAGG", on_null, key_expr, value_expr)


def json_array(on_null: JsonOnNull = JsonOnNull.ABSENT, *args: Any) -> Expression:
    """An array of JSON."""
    return _with_nulls("JSON_ARRAY", on_null, args)


def json_array_agg(on_null: JsonOnNull, item_expr: Any) -> Expression:
    """An array of JSON, of the rows of a group."""
    return _aggregated("JSON_ARRAYAGG", on_null, item_expr)


def _with_nulls(function: str, on_null: JsonOnNull, arguments: tuple[Any, ...]) -> Expression:
    terms = [term_of(each) for each in arguments]
    node = call_node(function, *[each._node for each in terms], options=(on_null.name, "ON", "NULL"))
    return Expression(node, f"{function}({', '.join([on_null.name, *[each._text for each in terms]])})")


def _aggregated(function: str, on_null: JsonOnNull, *arguments: Any) -> Expression:
    terms = [term_of(each) for each in arguments]
    node = call_node(function, *[each._node for each in terms])
    node.set("clauses", [exp.var(on_null.name), exp.var("ON"), exp.var("NULL")])
    return Expression(node, f"{function}({', '.join([on_null.name, *[each._text for each in terms]])})")


def lag(expr: Any, offset: Any = 1, default: Any = None) -> Expression:
    """The value of an earlier row of an OVER window."""
    return term_of(expr)._optional("LAG", "LAG", offset, default)


def lead(expr: Any, offset: Any = 1, default: Any = None) -> Expression:
    """The value of a later row of an OVER window."""
    return term_of(expr)._optional("LEAD", "LEAD", offset, default)


def call(f: Any, *args: Any) -> Expression:
    """A function by its name, or one made by `udf`, `udtf`, `udaf` or `udtaf`."""
    if isinstance(f, str):
        return _made(f, f, *args)
    function = f.user_function
    made = _made(function.name, function.name, *args)
    made._node.set("function", function)
    return made


def call_sql(sql_expression: str) -> Expression:
    """An expression of SQL."""
    return Expression(parse_expression(sql_expression), sql_expression)
