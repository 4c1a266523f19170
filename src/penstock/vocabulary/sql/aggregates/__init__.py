"""Flink's aggregate functions: the types of their results, and code that accumulates, retracts and merges.

`result_type("SUM", (type,))` is what a binder asks; operators compile aggregate calls, see `compilation`.
"""

from __future__ import annotations

from penstock.vocabulary.sql.aggregates.result_types import AGGREGATE_FUNCTIONS, AggregateError, result_type

__all__ = ["AGGREGATE_FUNCTIONS", "AggregateError", "result_type"]
