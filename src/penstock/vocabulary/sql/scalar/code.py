"""Writes Python source for typed expressions: each becomes one Python expression over the tuple `row`.

Code has two forms. `value` is the value, None for NULL. `truth` is only right in being true or not, with NULL as not
true, which is all a filter asks for, and is cheaper.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from penstock.vocabulary.sql.scalar.context import EvaluationContext
from penstock.vocabulary.sql.typed_expressions import Call, FieldRef, Literal, TypedExpression

__all__ = ["CodeWriter", "Render", "key_of"]

Render = Callable[[list[str]], str]


_MOST_KNOWN = 10_000
_known: dict[int, tuple[TypedExpression, Any]] = {}
"""Keys of expressions by their ids, which are theirs while they are here: parts are asked for again and again."""


def key_of(expression: TypedExpression) -> Any:
    """What is the same for expressions that compute the same."""
    if isinstance(expression, FieldRef):
        return expression.index
    if isinstance(expression, Literal):
        return "literal", repr(expression.value), str(expression.type)
    known = _known.get(id(expression))
    if known is None:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        known = _known[id(expression)] = expression, _key_of_call(expression)
    return known[1]


def _key_of_call(expression: Call) -> Any:
    arguments = tuple([key_of(each) for each in expression.arguments])
    return expression.function, arguments, str(expression.type), repr(expression.options)


class CodeWriter:
    """Collects what the source of a set of expressions refers to, and knows what has a name already.

    `names` become the globals of the source. Field number i is `row[i + offset]`.
    """

    def __init__(self, context: EvaluationContext, offset: int = 1) -> None:
        self.context = context
        self.names: dict[str, Any] = {}
        self.bound: dict[Any, str] = {}
        self.uses_temporaries = False
        self._offset = offset
        self._temporaries = 0
        self._known: dict[int, str] = {}

    def value(self, expression: TypedExpression) -> str:
        """Return source for the value."""
        name = self.bound.get(key_of(expression))
        return name or self.fresh_value(expression)

    def fresh_value(self, expression: TypedExpression) -> str:
        """Return the same, not using a name for the whole of it."""
        if isinstance(expression, FieldRef):
            return f"row[{expression.index + self._offset}]"
        if isinstance(expression, Literal):
            return self.literal(expression.value)
        source: str = _functions()[expression.function].write(self, expression)
        return source

    def truth(self, expression: TypedExpression) -> str:
        """Return source that is true for TRUE only."""
        if key_of(expression) in self.bound or not isinstance(expression, Call):
            return self.value(expression)
        write = _functions()[expression.function].write_truth
        return self.value(expression) if write is None else write(self, expression)

    def literal(self, value: Any) -> str:
        """Return source for a constant."""
        if value is None or isinstance(value, (bool, str, bytes)):
            return repr(value)
        if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
            return repr(value) if math.copysign(1, value) > 0 else f"({value!r})"
        return self.name_of(value, "constant")

    def name_of(self, thing: Any, name: str = "") -> str:
        """Return a name by which the source can refer to an object."""
        known = self._known.get(id(thing))
        if known is None:
            stem = name or getattr(thing, "__name__", "thing").strip("<>")
            known = f"{stem}_{len(self.names)}"
            self.names[known] = thing
            self._known[id(thing)] = known
        return known

    def temporary(self) -> str:
        """Return a new name for a value inside of an expression."""
        self.uses_temporaries = True
        self._temporaries += 1
        return f"t{self._temporaries}"

    def strict(self, arguments: Sequence[TypedExpression], render: Render) -> str:
        """Return source that is NULL where an argument is, and else what `render` makes of the arguments' sources."""
        checks, texts = self._checked(arguments, "is None")
        rendered = render(texts)
        return f"(None if {' or '.join(checks)} else {rendered})" if checks else rendered

    def strict_truth(self, arguments: Sequence[TypedExpression], render: Render) -> str:
        """Return the same in the form `truth`."""
        checks, texts = self._checked(arguments, "is not None")
        rendered = render(texts)
        return f"({' and '.join([*checks, rendered])})" if checks else rendered

    def atom(self, expression: TypedExpression) -> tuple[str, str]:
        """Return source that computes the value at its first use, and source for further uses."""
        text = self.value(expression)
        if is_atom(text):
            return text, text
        name = self.temporary()
        return f"({name} := {text})", name

    def _checked(self, arguments: Sequence[TypedExpression], check: str) -> tuple[list[str], list[str]]:
        checks, texts = [], []
        for argument in arguments:
            if argument.type.nullable:
                first, text = self.atom(argument)
                checks.append(f"{first} {check}")
            else:
                text = self.value(argument)
            texts.append(text)
        return list(dict.fromkeys(checks)), texts


def is_atom(text: str) -> bool:
    """Whether a source may be written twice without computing twice."""
    return text.isidentifier() or text.isdigit()


def _functions() -> Any:
    from penstock.vocabulary.sql.scalar.registry import FUNCTIONS

    return FUNCTIONS
