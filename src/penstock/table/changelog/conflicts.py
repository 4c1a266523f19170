"""ON CONFLICT of an INSERT: what happens where the changelog updates by another key than the table's primary key."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.errors import SqlValidationError
from penstock.table.algebra.nodes import PlanNode, Scan, Sink, WatermarkAssigner
from penstock.table.metadata.keys import smallest, upsert_keys
from penstock.vocabulary.sql.row_kinds import INSERT

__all__ = ["check_conflict"]

REQUIRED = "table.exec.sink.require-on-conflict"


def check_conflict(
    sink: Sink, plan: PlanNode, accepted: frozenset[int], materializes: bool, settings: Mapping[str, str]
) -> None:
    """Refuse an ON CONFLICT that has no meaning, and a query that needs one and has none."""
    name = ".".join(sink.table.path)
    if sink.conflict is not None and accepted == {INSERT}:
        raise SqlValidationError(
            f"ON CONFLICT clause is only allowed for upsert sinks. The sink '{name}' is not an upsert sink because it "
            f"only accepts INSERT (append-only) changes; leave ON CONFLICT out."
        )
    if sink.conflict is not None and not sink.primary_key:
        raise SqlValidationError(f"ON CONFLICT needs a PRIMARY KEY of the sink table {name}.")
    if sink.conflict == "ERROR" or (sink.conflict == "NOTHING" and materializes):
        _check_watermarks(sink, plan)
    if materializes and sink.conflict is None and settings.get(REQUIRED, "true").lower() == "true":
        raise SqlValidationError(
            f"The query has an upsert key that differs from the primary key of the sink table {name}: it updates by "
            f"{_key_text(plan)}, the table by ({', '.join(sink.columns[each].name for each in sink.primary_key)}). Add "
            f"ON CONFLICT DO DEDUPLICATE to the INSERT to keep the last row of each primary key, or set "
            f"'{REQUIRED}' to 'false'."
        )


def _key_text(plan: PlanNode) -> str:
    key = smallest(upsert_keys(plan))
    return "whole rows" if key is None else f"({', '.join(plan.names[each] for each in key)})"


def _check_watermarks(sink: Sink, plan: PlanNode) -> None:
    if not _has_watermarks(plan):
        raise SqlValidationError(
            f"ON CONFLICT DO {sink.conflict} requires all source tables to define watermarks: declare WATERMARK FOR a "
            f"time column, or use ON CONFLICT DO DEDUPLICATE."
        )


def _has_watermarks(plan: PlanNode) -> bool:
    if isinstance(plan, WatermarkAssigner):
        return True
    return not isinstance(plan, Scan) and all(map(_has_watermarks, plan.inputs))
