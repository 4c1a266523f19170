"""Methods of `Expression` on numbers and conditions, and the aggregates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from penstock.errors import SqlError
from penstock.table.expression_methods.term import Term, call_node, term_of

if TYPE_CHECKING:
    from penstock.table.expression import Expression

__all__ = ["AggregateMethods", "ConditionMethods", "NumberMethods", "joined", "one"]


def one(printed: str, function: str, meaning: str) -> property:
    """A property that is a function of the expression alone."""

    def made(self: Term) -> Expression:
        return self._call(printed, function)

    made.__doc__ = meaning
    return property(made)


class NumberMethods(Term):
    """Arithmetic and functions of numbers."""

    def __abs__(self) -> Expression:
        return self._call("abs", "ABS")

    def __add__(self, other: Any) -> Expression:
        return self._call("plus", "+", other)

    def __radd__(self, other: Any) -> Expression:
        return _reversed("plus", "+", self, other)

    def __sub__(self, other: Any) -> Expression:
        return self._call("minus", "-", other)

    def __rsub__(self, other: Any) -> Expression:
        return _reversed("minus", "-", self, other)

    def __mul__(self, other: Any) -> Expression:
        return self._call("times", "*", other)

    def __rmul__(self, other: Any) -> Expression:
        return self._call("times", "*", other)

    def __truediv__(self, other: Any) -> Expression:
        return self._call("divide", "/", other)

    def __rtruediv__(self, other: Any) -> Expression:
        return _reversed("divide", "/", self, other)

    def __mod__(self, other: Any) -> Expression:
        return self._call("mod", "MOD", other)

    def __rmod__(self, other: Any) -> Expression:
        return _reversed("mod", "MOD", self, other)

    def __pow__(self, other: Any) -> Expression:
        return self._call("power", "POWER", other)

    def __rpow__(self, other: Any) -> Expression:
        return _reversed("power", "POWER", self, other)

    def __neg__(self) -> Expression:
        return self._call("minusPrefix", "-")

    exp = one("exp", "EXP", "Euler's number to this power.")
    log10 = one("log10", "LOG10", "The logarithm to the base 10.")
    log2 = one("log2", "LOG2", "The logarithm to the base 2.")
    ln = one("ln", "LN", "The natural logarithm.")
    cosh = one("cosh", "COSH", "The hyperbolic cosine.")
    sinh = one("sinh", "SINH", "The hyperbolic sine.")
    sin = one("sin", "SIN", "The sine.")
    cos = one("cos", "COS", "The cosine.")
    tan = one("tan", "TAN", "The tangent.")
    cot = one("cot", "COT", "The cotangent.")
    asin = one("asin", "ASIN", "The arc sine.")
    acos = one("acos", "ACOS", "The arc cosine.")
    atan = one("atan", "ATAN", "The arc tangent.")
    tanh = one("tanh", "TANH", "The hyperbolic tangent.")
    degrees = one("degrees", "DEGREES", "An angle in degrees, from radians.")
    radians = one("radians", "RADIANS", "An angle in radians, from degrees.")
    sqrt = one("sqrt", "SQRT", "The square root.")
    abs = one("abs", "ABS", "The absolute value.")
    sign = one("sign", "SIGN", "-1, 0 or 1.")
    bin = one("bin", "BIN", "A whole number in binary digits.")
    hex = one("hex", "HEX", "A number or text in hexadecimal digits.")
    unhex = one("UNHEX", "UNHEX", "Bytes, from hexadecimal digits.")

    def log(self, base: Any = None) -> Expression:
        """The logarithm to a base, the natural one without."""
        if base is None:
            return self._call("log", "LOG")
        return _reversed("log", "LOG", self, base)

    def round(self, places: Any) -> Expression:
        """The number rounded to so many places behind the point."""
        return self._call("round", "ROUND", places)

    def truncate(self, n: Any = 0) -> Expression:
        """The number cut to so many places behind the point."""
        return self._call("truncate", "TRUNCATE", n)


class ConditionMethods(Term):
    """Comparisons and conditions."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]
        return self._call("equals", "=", other)

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]
        return self._call("notEquals", "<>", other)

    def __lt__(self, other: Any) -> Expression:
        return self._call("lessThan", "<", other)

    def __le__(self, other: Any) -> Expression:
        return self._call("lessThanOrEqual", "<=", other)

    def __gt__(self, other: Any) -> Expression:
        return self._call("greaterThan", ">", other)

    def __ge__(self, other: Any) -> Expression:
        return self._call("greaterThanOrEqual", ">=", other)

    def __and__(self, other: Any) -> Expression:
        return joined("and", self, other)

    def __or__(self, other: Any) -> Expression:
        return joined("or", self, other)

    def __rand__(self, other: Any) -> Expression:
        return joined("and", self, other)

    def __ror__(self, other: Any) -> Expression:
        return joined("or", self, other)

    def __invert__(self) -> Expression:
        return self._call("isNotTrue", "IS NOT TRUE")

    def __bool__(self) -> bool:
        raise SqlError(
            f"The value of {self._text} is not known yet: join conditions by &, | and ~, not by and, or, not."
        )

    is_null = one("isNull", "IS NULL", "Whether it is NULL.")
    is_not_null = one("isNotNull", "IS NOT NULL", "Whether it is not NULL.")
    is_true = one("isTrue", "IS TRUE", "Whether it is TRUE.")
    is_false = one("isFalse", "IS FALSE", "Whether it is FALSE.")
    is_not_true = one("isNotTrue", "IS NOT TRUE", "Whether it is FALSE or NULL.")
    is_not_false = one("isNotFalse", "IS NOT FALSE", "Whether it is TRUE or NULL.")

    def between(self, lower_bound: Any, upper_bound: Any) -> Expression:
        """Whether it is not below the first and not above the second."""
        return self._call("between", "BETWEEN", lower_bound, upper_bound)

    def not_between(self, lower_bound: Any, upper_bound: Any) -> Expression:
        """Whether it is below the first or above the second."""
        inside = self._call("notBetween", "BETWEEN", lower_bound, upper_bound)
        return _retold(inside, "NOT")

    def then(self, if_true: Any, if_false: Any) -> Expression:
        """The first where it is TRUE, the second elsewhere."""
        return self._call("ifThenElse", "CASE", if_true, if_false)

    def if_null(self, null_replacement: Any) -> Expression:
        """The value, another one where it is NULL."""
        return self._call("ifNull", "IFNULL", null_replacement)


class AggregateMethods(Term):
    """Aggregate functions over the rows of a group."""

    sum = one("sum", "SUM", "The sum; NULL of none.")
    sum0 = one("sum0", "$SUM0", "The sum; 0 of none.")
    min = one("min", "MIN", "The least value.")
    max = one("max", "MAX", "The greatest value.")
    count = one("count", "COUNT", "How many rows there are where it is not NULL.")
    avg = one("avg", "AVG", "The mean.")
    first_value = one("first_value", "FIRST_VALUE", "The value of the first row.")
    last_value = one("last_value", "LAST_VALUE", "The value of the last row.")
    stddev_pop = one("stddevPop", "STDDEV_POP", "The standard deviation of all there are.")
    stddev_samp = one("stddevSamp", "STDDEV_SAMP", "The standard deviation, estimated from a sample.")
    var_pop = one("varPop", "VAR_POP", "The variance of all there are.")
    var_samp = one("varSamp", "VAR_SAMP", "The variance, estimated from a sample.")
    collect = one("collect", "COLLECT", "The values with how often each is there.")
    array_agg = one("ARRAY_AGG", "ARRAY_AGG", "The values as an array.")

    def list_agg(self, separator: Any = None) -> Expression:
        """The texts, joined."""
        return self._optional("listAgg", "LISTAGG", separator)

    def percentile(self, percentage: Any, frequency: Any = None) -> Expression:
        """The value below which so much of the values is."""
        return self._optional("PERCENTILE", "PERCENTILE", percentage, frequency)

    @property
    def distinct(self) -> Expression:
        """The same aggregate over values that are counted once: `t.a.count.distinct`."""
        node = self._node.copy()
        if not isinstance(node, exp.Anonymous):
            return self._made(exp.Distinct(expressions=[node]), f"distinct({self._text})")
        node.set("expressions", [exp.Distinct(expressions=list(node.expressions))])
        return self._made(node, f"distinct({self._text})")


def _reversed(printed: str, function: str, self: Term, other: Any) -> Expression:
    return term_of(other)._call(printed, function, self)


def joined(word: str, *terms: Any) -> Expression:
    """Conditions joined by AND or OR."""
    parts = [term_of(each) for each in terms]
    node = parts[0]._node.copy()
    for each in parts[1:]:
        node = (exp.And if word == "and" else exp.Or)(this=node, expression=each._node.copy())
    return parts[0]._made(node, f"{word}({', '.join(each._text for each in parts)})")


def _retold(inner: Expression, function: str) -> Expression:
    """The same text for a function around a term."""
    return inner._made(call_node(function, inner._node), inner._text)
