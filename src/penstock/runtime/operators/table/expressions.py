"""Code of typed expressions for operators of tables, made when an operator is opened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from penstock.common.column_block import ColumnBlock
from penstock.common.constants import MIN_WATERMARK
from penstock.runtime.operators.operator import StreamOperator
from penstock.runtime.operators.table.operator import ROW_FORM
from penstock.runtime.operators.table.vectorized import has_vectorized, vectorized_calc
from penstock.vocabulary.sql.refusals import Names
from penstock.vocabulary.sql.scalar import calc_refusal, columnar_calc, compiled_calc, compiled_value
from penstock.vocabulary.sql.scalar.context import EvaluationContext
from penstock.vocabulary.sql.typed_expressions import TypedExpression

__all__ = [
    "block_function",
    "column_function",
    "column_refusal",
    "guarded_column_function",
    "guarded_refusal",
    "row_function",
]

Rows = list[tuple[Any, ...]]


def block_function(
    operator: StreamOperator,
    condition: TypedExpression | None,
    projections: Sequence[TypedExpression] | None,
    zone: str = "UTC",
) -> Callable[[Rows], Rows]:
    """What filters and projects a block of rows; kinds are kept."""
    if has_vectorized([condition, *(projections or ())]):
        return vectorized_calc(condition, projections, _context(operator, zone), operator.context.calls)
    return compiled_calc(condition, projections, _context(operator, zone))


def column_function(
    condition: TypedExpression | None, projections: Sequence[TypedExpression] | None
) -> Callable[[ColumnBlock], ColumnBlock] | None:
    """What does the same with a block of columns and never fails; None where an expression has to see rows."""
    return _on_blocks(columnar_calc(condition, projections))


def guarded_column_function(
    operator: StreamOperator,
    condition: TypedExpression | None,
    projections: Sequence[TypedExpression] | None,
    zone: str = "UTC",
) -> Callable[[ColumnBlock], ColumnBlock] | None:
    """The same for more expressions, but it may fail: then `block_function` finds the values, or tells of the error."""
    return _on_blocks(columnar_calc(condition, projections, _context(operator, zone)))


def column_refusal(
    condition: TypedExpression | None,
    projections: Sequence[TypedExpression] | None,
    names: Names = (),
) -> str | None:
    """Return why `column_function` makes nothing of such expressions; None if it does."""
    return calc_refusal(condition, projections, None, names)


def guarded_refusal(
    condition: TypedExpression | None,
    projections: Sequence[TypedExpression] | None,
    zone: str = "UTC",
    names: Names = (),
) -> str | None:
    """Return why `guarded_column_function` makes nothing of such expressions; None if it does."""
    return calc_refusal(condition, projections, EvaluationContext(time_zone=zone), names)


def _on_blocks(
    calc: Callable[[pa.RecordBatch], pa.RecordBatch] | None,
) -> Callable[[ColumnBlock], ColumnBlock] | None:
    return None if calc is None else lambda block: ColumnBlock(calc(block.batch), ROW_FORM)


def row_function(
    operator: StreamOperator, expression: TypedExpression, zone: str = "UTC", *, knows_watermark: bool = True
) -> Callable[[tuple[Any, ...]], Any]:
    """What gives the value of an expression over a row with its kind in front."""
    context = _context(operator, zone)
    return compiled_value(expression, context if knows_watermark else replace(context, watermark=_no_watermark))


def _no_watermark() -> int | None:
    return None


def _context(operator: StreamOperator, zone: str) -> EvaluationContext:
    def watermark() -> int | None:
        return None if operator.watermark == MIN_WATERMARK else operator.watermark

    return EvaluationContext(clock=operator.context.clock, time_zone=zone, watermark=watermark)
