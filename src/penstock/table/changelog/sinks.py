"""The end of the inference: what a sink takes, and whether rows must be kept by its primary key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.errors import SqlValidationError
from penstock.table.algebra.nodes import PlanNode, Sink
from penstock.table.changelog.changes import ChangeFinder
from penstock.table.changelog.conflicts import check_conflict
from penstock.table.changelog.inference import InferredPlan, infer_changelog
from penstock.table.changelog.modes import ALL_CHANGES, Change, ChangelogMode, Updates, changes_of, kinds_of
from penstock.table.metadata.keys import upsert_keys
from penstock.table.rules.batch import final_plan
from penstock.table.translation.settings import TableSettings
from penstock.vocabulary.sql.row_kinds import INSERT, UPDATE_BEFORE

__all__ = ["infer_for_sink"]


def infer_for_sink(sink: Sink, settings: Mapping[str, str]) -> InferredPlan:
    """The optimized plan of an INSERT with changelog modes, its sink as root."""
    plan = final_plan(sink.input, settings)
    changes = ChangeFinder().of(plan)
    accepted = frozenset(sink.sink.accepts(kinds_of(changes)))
    _check(sink, plan, changes, accepted)
    is_keyed = _is_keyed_like(sink, plan)
    ways = _ways(sink, changes, accepted, is_keyed)
    by_key = bool(getattr(sink.sink, "deletes_by_key", False)) and is_keyed
    inferred = infer_changelog(plan, ways, by_key)
    mode = inferred.modes[inferred.root]
    materializes = _materializes(sink, inferred.root, mode, accepted, TableSettings.of(settings))
    takes = frozenset(sink.sink.accepts(kinds_of(ALL_CHANGES)))
    check_conflict(sink, inferred.root, takes, materializes, settings)
    made = replace(sink, input=inferred.root, materializes=materializes)
    return InferredPlan(made, {**inferred.modes, made: mode}, inferred.strategies)


def _check(sink: Sink, plan: PlanNode, changes: frozenset[Change], accepted: frozenset[int]) -> None:
    taken = changes_of(accepted)
    missing = [each for each in (Change.UPDATE, Change.DELETE) if each in changes and each not in taken]
    if not missing:
        return
    kinds = " and ".join(f"{each.value}s" for each in missing)
    name = ".".join(sink.table.path)
    raise SqlValidationError(
        f"A query that {' and '.join(each.value + 's' for each in missing)} rows cannot be written to {name}, whose "
        f"connector takes no {kinds}: {_culprit(plan)} makes them. Aggregate by windows, whose results are final, or "
        f"write to a table whose connector takes a changelog (upsert-kafka, jdbc with a PRIMARY KEY, print)."
    )


def _culprit(plan: PlanNode) -> str:
    """The lowest node that makes updates or deletes of rows that are only inserted."""
    finder = ChangeFinder()
    node = plan
    while True:
        changing = [each for each in node.inputs if not finder.is_append(each)]
        if not changing:
            return node.describe()
        node = changing[0]


def _is_keyed_like(sink: Sink, plan: PlanNode) -> bool:
    """Whether the changelog updates by just the primary key of the sink."""
    return bool(sink.primary_key) and frozenset(sink.primary_key) in upsert_keys(plan)


def _ways(sink: Sink, changes: frozenset[Change], accepted: frozenset[int], is_keyed: bool) -> tuple[Updates, ...]:
    if Change.UPDATE not in changes:
        return (Updates.NONE,)
    if UPDATE_BEFORE in accepted:
        return (Updates.BOTH,)
    if sink.primary_key and not is_keyed:
        return (Updates.BOTH,)
    return (Updates.AFTER, Updates.BOTH)


def _materializes(
    sink: Sink, plan: PlanNode, mode: ChangelogMode, accepted: frozenset[int], settings: TableSettings
) -> bool:
    if not sink.primary_key or settings.upsert_materialize == "NONE":
        return False
    if settings.upsert_materialize == "FORCE":
        return True
    if mode.is_append or accepted == {INSERT} or UPDATE_BEFORE in accepted:
        return False
    key = frozenset(sink.primary_key)
    return not any(each <= key for each in upsert_keys(plan))
