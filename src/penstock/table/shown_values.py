"""Internal values as the texts that Flink's print shows: those of CAST to STRING."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from penstock.vocabulary.sql import scalar
from penstock.vocabulary.sql.logical_types import MAX_LENGTH, Kind, LogicalType
from penstock.vocabulary.sql.scalar.context import EvaluationContext
from penstock.vocabulary.sql.typed_expressions import FieldRef

__all__ = ["shown_rows"]

STRING = LogicalType(Kind.VARCHAR, parameters=(MAX_LENGTH,))


def shown_rows(row_type: LogicalType, rows: Iterable[tuple[Any, ...]], zone: str = "UTC") -> Iterator[tuple[Any, ...]]:
    """Rows `(kind, *texts)`; None stays None."""
    casts = [scalar.cast(FieldRef(i, each.as_plain_time()), STRING) for i, each in enumerate(row_type.parts)]
    calc = scalar.compiled_calc(None, casts, EvaluationContext(time_zone=zone))
    for row in rows:
        yield from calc([row])
