"""How a lookup join asks for rows: the columns it looks up by, and what it does with what it finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.table.algebra.nodes import Filter, PlanNode, Project, Scan
from penstock.table.algebra.temporal_nodes import LookupJoin
from penstock.table.binder.conditions import conjuncts
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.typed_expressions import Call, FieldRef, Literal, TypedExpression, fields_of, rewritten

__all__ = ["LookupAccess", "lookup_access"]

WHOLE = (Kind.TINYINT, Kind.SMALLINT, Kind.INTEGER, Kind.BIGINT)
TEXT = (Kind.CHAR, Kind.VARCHAR)


@dataclass(frozen=True)
class LookupAccess:
    """A lookup join in terms of the columns of the table.

    `left_keys` are fields of left rows, whose values are asked for in `key_columns`, numbers of columns of the scan;
    the columns after them have `constants`. `filters` and `projections` are over found rows, `before` over left rows:
    without it there is nothing to look up. `conditions` are over both, right fields as projected.
    """

    scan: Scan
    left_keys: tuple[int, ...]
    key_columns: tuple[int, ...]
    constants: tuple[Literal, ...]
    filters: tuple[TypedExpression, ...]
    projections: tuple[TypedExpression, ...]
    before: tuple[TypedExpression, ...]
    conditions: tuple[TypedExpression, ...]


def lookup_access(node: LookupJoin) -> LookupAccess:
    """What a join asks of the table on its right; `key_columns` is empty if there is nothing to ask by."""
    scan, projections, filters = _flattened(node.right)
    width = len(node.left.types)
    pairs: list[tuple[int, int]] = []
    rest: list[TypedExpression] = []
    for left, right, is_safe in zip(node.left_keys, node.right_keys, node.null_safe, strict=True):
        made = projections[right]
        # As in Flink, NULL is not looked up, whatever the comparison says of it.
        if isinstance(made, FieldRef) and made.index not in [column for _, column in pairs]:
            pairs.append((left, made.index))
        else:
            sides = (node.left.field(left), FieldRef(right + width, node.right.types[right]))
            rest.append(Call("IS NOT DISTINCT FROM" if is_safe else "=", sides, LogicalType(Kind.BOOLEAN)))
    fixed = _constants(filters, [column for _, column in pairs])
    parts = [*rest, *conjuncts(node.condition)]
    before = [each for each in parts if (read := list(fields_of(each))) and all(field < width for field in read)]
    return LookupAccess(
        scan,
        tuple([left for left, _ in pairs]),
        (*[column for _, column in pairs], *fixed),
        tuple([value for value, _ in fixed.values()]),
        tuple([each for each in filters if all(each is not part for _, part in fixed.values())]),
        tuple(projections),
        tuple(before),
        tuple([each for each in parts if each not in before]),
    )


def _flattened(right: PlanNode) -> tuple[Scan, list[TypedExpression], list[TypedExpression]]:
    """The scan below projections and filters; the fields of the plan, and its conditions, as of the scan's columns."""
    if isinstance(right, Scan):
        return right, list(right.fields), []
    (below,) = right.inputs
    scan, fields, filters = _flattened(below)
    if isinstance(right, Filter):
        return scan, fields, [*filters, *[_inlined(each, fields) for each in conjuncts(right.condition)]]
    assert isinstance(right, Project), right.describe()
    return scan, [_inlined(each, fields) for each in right.expressions], filters


def _inlined(expression: TypedExpression, fields: Sequence[TypedExpression]) -> TypedExpression:
    return rewritten(expression, lambda each: fields[each.index] if isinstance(each, FieldRef) else None)


def _constants(filters: Sequence[TypedExpression], taken: Sequence[int]) -> dict[int, tuple[Literal, TypedExpression]]:
    """Columns that must have a constant, which can be asked for, each with the condition that says so."""
    found: dict[int, tuple[Literal, TypedExpression]] = {}
    for each in filters:
        if not isinstance(each, Call) or each.function != "=":
            continue
        column, value = each.arguments
        if isinstance(column, Literal):
            column, value = value, column
        if not isinstance(column, FieldRef) or not isinstance(value, Literal) or value.value is None:
            continue
        if column.index not in found and column.index not in taken and _is_same_kind(column.type, value.type):
            found[column.index] = (value, each)
    return found


def _is_same_kind(column: LogicalType, value: LogicalType) -> bool:
    """Whether a constant is a value of the column as it is."""
    if column.same_but_for_null(value):
        return True
    # CHAR pads what is compared, so it is not what it seems.
    is_text = column.kind is Kind.VARCHAR and value.kind in TEXT
    return is_text or (column.kind in WHOLE and value.kind in WHOLE)
