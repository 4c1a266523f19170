"""`Expression`: a part of a query in Python: columns, constants, functions of them.

>>> from penstock.table.expressions import col
>>> str((col("price") * 2 > 10) & col("name").is_not_null)
'and(greaterThan(times(price, 2), 10), isNotNull(name))'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from penstock.pyflink_names import names_from_elsewhere
from penstock.table.data_type_texts import declared_type
from penstock.table.expression_methods.collections import BitmapMethods, CollectionMethods
from penstock.table.expression_methods.json_texts import JsonMethods
from penstock.table.expression_methods.numbers import AggregateMethods, ConditionMethods, NumberMethods
from penstock.table.expression_methods.term import call_node, term_of
from penstock.table.expression_methods.texts import TextMethods
from penstock.table.expression_methods.times import TimeMethods
from penstock.table.expression_units import (
    JsonExistsOnError,
    JsonOnNull,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
    TimeIntervalUnit,
    TimePointUnit,
)
from penstock.table.sql.nodes import BoundTable, CastTo
from penstock.table.types import DataType

if TYPE_CHECKING:
    from penstock.table.table import Table

__all__ = [
    "Expression",
    "JsonExistsOnError",
    "JsonOnNull",
    "JsonQueryOnEmptyOrError",
    "JsonQueryWrapper",
    "JsonType",
    "JsonValueOnEmptyOrError",
    "TimeIntervalUnit",
    "TimePointUnit",
]


class Expression(
    NumberMethods,
    ConditionMethods,
    AggregateMethods,
    TextMethods,
    TimeMethods,
    CollectionMethods,
    JsonMethods,
    BitmapMethods,
):
    """A part of a query; a name that is none of its methods reads a field of a row: `col("address").city`."""

    __hash__ = object.__hash__

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Expression({self._text})"

    def __getattr__(self, name: str) -> Expression:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.get(name)

    def alias(self, name: str, *extra_names: str) -> Expression:
        """The same under a name; several names are for functions that make several columns."""
        names = (name, *extra_names)
        texts = ", ".join(f"'{each}'" for each in names)
        made = exp.Alias(this=self._node.copy(), alias=exp.to_identifier(name, quoted=True))
        if extra_names:
            made.set("more", extra_names)
        return Expression(made, f"as({self._text}, {texts})")

    def as_argument(self, name: str) -> Expression:
        """The same as an argument of a function that takes it by name."""
        node = exp.Kwarg(this=exp.var(name), expression=self._node.copy())
        return Expression(node, f"ASSIGNMENT('{name}', {self._text})")

    def cast(self, data_type: DataType) -> Expression:
        """The value in another type; fails where it cannot be."""
        to = declared_type(data_type)
        return Expression(CastTo(this=self._node.copy(), to=to), f"cast({self._text}, {to})")

    def try_cast(self, data_type: DataType) -> Expression:
        """The value in another type; NULL where it cannot be."""
        to = declared_type(data_type)
        return Expression(CastTo(this=self._node.copy(), to=to, is_try=True), f"TRY_CAST({self._text}, {to})")

    @property
    def asc(self) -> Expression:
        """The order from the least value to the greatest."""
        return Expression(exp.Ordered(this=self._node.copy(), desc=False), f"asc({self._text})")

    @property
    def desc(self) -> Expression:
        """The order from the greatest value to the least."""
        return Expression(exp.Ordered(this=self._node.copy(), desc=True), f"desc({self._text})")

    def in_(self, first_element_or_table: Any, *remaining_elements: Any) -> Expression:
        """Whether it is one of some values, or in the only column of a Table."""
        from penstock.table.table import Table

        if isinstance(first_element_or_table, Table):
            return Expression(_in_table(self._node, first_element_or_table), f"in({self._text}, table)")
        terms = [term_of(each) for each in (first_element_or_table, *remaining_elements)]
        node = exp.In(this=self._node.copy(), expressions=[each._node.copy() for each in terms])
        return Expression(node, f"in({', '.join([self._text, *[each._text for each in terms]])})")

    def over(self, alias: Any) -> Expression:
        """The aggregate over the rows of a window that `over_window` has named."""
        name = alias._node.name if isinstance(alias, Expression) else alias
        shown = alias._text if isinstance(alias, Expression) else f"'{alias}'"
        node = exp.Window(this=self._node.copy(), alias=exp.to_identifier(name, quoted=True))
        return Expression(node, f"over({self._text}, {shown})")


def _in_table(node: exp.Expr, table: Table) -> exp.Expr:
    query = exp.Select(expressions=[exp.Star()], from_=exp.From(this=BoundTable(plan=table.planned.plan)))
    return exp.In(this=node.copy(), query=exp.Subquery(this=query))


def function_expression(printed: str, function: str, *arguments: Any) -> Expression:
    """A function of terms and constants."""
    terms = [term_of(each) for each in arguments]
    text = f"{printed}({', '.join(each._text for each in terms)})"
    return Expression(call_node(function, *[each._node for each in terms]), text)


if not TYPE_CHECKING:
    __getattr__ = names_from_elsewhere(__name__)
