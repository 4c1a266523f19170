"""Which columns expressions of the Table API stand for, and the names that Flink gives them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sqlglot import exp

from penstock.errors import SqlValidationError
from penstock.table.binder.problems import near_names
from penstock.table.sql.nodes import BoundValue, CastTo
from penstock.vocabulary.sql.logical_types import LogicalType

__all__ = ["aliased", "chosen", "column", "name_of", "named", "without_alias"]

NamesOf = Callable[[exp.Expr], LogicalType]


def column(name: str) -> exp.Expr:
    """A column in the tree."""
    return exp.Column(this=exp.to_identifier(name, quoted=True))


def aliased(node: exp.Expr, name: str) -> exp.Expr:
    """A node under a name."""
    return exp.Alias(this=without_alias(node), alias=exp.to_identifier(name, quoted=True))


def without_alias(node: exp.Expr) -> exp.Expr:
    """What an alias stands for."""
    return (node.this if isinstance(node, exp.Alias) else node).copy()


def chosen(nodes: Iterable[exp.Expr], names: Sequence[str], type_of: NamesOf) -> list[exp.Expr]:
    """The nodes with those that stand for several columns spread out; `names` are all columns."""
    found: list[exp.Expr] = []
    for node in nodes:
        word = node.this if isinstance(node, exp.Anonymous) else ""
        if isinstance(node, exp.Star):
            found += map(column, names)
        elif word in ("$WITH_COLUMNS", "$WITHOUT_COLUMNS"):
            listed = [name for each in node.expressions for name in _listed(each, names)]
            kept = listed if word == "$WITH_COLUMNS" else [each for each in names if each not in listed]
            found += map(column, kept)
        elif word == "$FLATTEN":
            found += _flattened(node.expressions[0], type_of)
        else:
            found.append(node.copy())
    return found


def _listed(node: exp.Expr, names: Sequence[str]) -> list[str]:
    if isinstance(node, exp.Anonymous) and node.this == "$RANGE":
        first, last = (_place(each, names) for each in node.expressions)
        return list(names[first : last + 1])
    if isinstance(node, exp.Star):
        return list(names)
    return [names[_place(node, names)]]


def _place(node: exp.Expr, names: Sequence[str]) -> int:
    if isinstance(node, BoundValue):
        number = node.args["literal"].value
        if isinstance(number, int) and 1 <= number <= len(names):
            return number - 1
        raise SqlValidationError(f"There is no column number {number}: columns are counted from 1 to {len(names)}.")
    if node.name not in names:
        raise SqlValidationError(f"There is no column '{node.name}' here.{near_names(node.name, names)}")
    return list(names).index(node.name)


def _flattened(node: exp.Expr, type_of: NamesOf) -> list[exp.Expr]:
    row = type_of(node)
    if not row.names:
        return [node.copy()]
    stem = transitive_name(node)
    made = []
    for name in row.names:
        field = exp.Dot(this=exp.Paren(this=node.copy()), expression=exp.to_identifier(name, quoted=True))
        made.append(aliased(field, name if stem is None else f"{stem}${name}"))
    return made


def named(nodes: Sequence[exp.Expr]) -> list[exp.Expr]:
    """The nodes, each under its name."""
    made = [aliased(node, name_of(node, index)) for index, node in enumerate(nodes)]
    names = [each.alias for each in made]
    for name in names:
        if names.count(name) > 1:
            raise SqlValidationError(f"Ambiguous column name: {name}. Give one of them another with alias(...).")
    return made


def name_of(node: exp.Expr, index: int) -> str:
    """The name of a column: its alias or own name, `a-INT` for a cast, `a$b` for a field of a row, else `_c0`."""
    if isinstance(node, CastTo) and not node.args.get("is_try"):
        inner = transitive_name(node.this)
        return f"_c{index}" if inner is None else f"{inner}-{node.args['to']}"
    return transitive_name(node) or f"_c{index}"


def transitive_name(node: exp.Expr) -> str | None:
    """The name that an expression has without being given one."""
    if isinstance(node, exp.Alias):
        return str(node.alias)
    if isinstance(node, exp.Column):
        return str(node.name)
    if isinstance(node, exp.Paren):
        return transitive_name(node.this)
    if isinstance(node, exp.Dot):
        inner = transitive_name(node.this)
        return None if inner is None else f"{inner}${node.expression.name}"
    if isinstance(node, exp.Anonymous) and node.this == "$FIELD":
        inner = transitive_name(node.expressions[0])
        return None if inner is None else f"{inner}$_{node.args['options'][0]}"
    return None
