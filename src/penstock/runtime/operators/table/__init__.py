"""Operators of tables: rows of changelogs in, rows of changelogs out. Each row is a tuple that begins with its kind."""

from __future__ import annotations

from penstock.runtime.operators.table.calc import CalcOperator
from penstock.runtime.operators.table.constraints import ConstraintEnforcerOperator
from penstock.runtime.operators.table.count_windows import CountWindowAggregateOperator
from penstock.runtime.operators.table.deduplicate import DeduplicateOperator
from penstock.runtime.operators.table.expand import ExpandOperator, ReplicateRowsOperator, UnnestOperator
from penstock.runtime.operators.table.final_rows import FinalRowsOperator
from penstock.runtime.operators.table.group_aggregate import GroupAggregateOperator
from penstock.runtime.operators.table.interval_join import TableIntervalJoinOperator
from penstock.runtime.operators.table.join import JoinKind, JoinSide, RegularJoinOperator
from penstock.runtime.operators.table.keys import RowKey
from penstock.runtime.operators.table.kinds import DropUpdateBeforeOperator
from penstock.runtime.operators.table.local_window_aggregate import LocalWindowAggregateOperator, slicing_refusal
from penstock.runtime.operators.table.lookup_join import AsyncLookupJoinOperator, LookupJoinOperator, LookupTerms
from penstock.runtime.operators.table.lookup_materialize import MaterializedLookupJoinOperator
from penstock.runtime.operators.table.match import MatchRecognizeOperator, RowCondition
from penstock.runtime.operators.table.materialize import UpsertMaterializeOperator
from penstock.runtime.operators.table.normalize import ChangelogNormalizeOperator
from penstock.runtime.operators.table.over_aggregate import OverAggregateOperator, OverOrder
from penstock.runtime.operators.table.rank import RankOperator, RankStrategy
from penstock.runtime.operators.table.sorting import BoundedSortOperator, LimitOperator, TemporalSortOperator
from penstock.runtime.operators.table.table_aggregate import GroupTableAggregateOperator
from penstock.runtime.operators.table.table_functions import TableFunctionOperator
from penstock.runtime.operators.table.temporal_join import TemporalJoinOperator
from penstock.runtime.operators.table.watermarks import WatermarkAssignerOperator
from penstock.runtime.operators.table.window_aggregate import (
    WINDOW_END,
    WINDOW_START,
    WINDOW_TIME,
    GroupWindowAggregateOperator,
    WindowAggregateOperator,
)
from penstock.runtime.operators.table.window_functions import SessionFunctionOperator, WindowFunctionOperator
from penstock.runtime.operators.table.window_join import TableWindowJoinOperator
from penstock.runtime.operators.table.window_rank import WindowDeduplicateOperator, WindowRankOperator

__all__ = [
    "WINDOW_END",
    "WINDOW_START",
    "WINDOW_TIME",
    "AsyncLookupJoinOperator",
    "BoundedSortOperator",
    "CalcOperator",
    "ChangelogNormalizeOperator",
    "ConstraintEnforcerOperator",
    "CountWindowAggregateOperator",
    "DeduplicateOperator",
    "DropUpdateBeforeOperator",
    "ExpandOperator",
    "FinalRowsOperator",
    "GroupAggregateOperator",
    "GroupTableAggregateOperator",
    "GroupWindowAggregateOperator",
    "JoinKind",
    "JoinSide",
    "LimitOperator",
    "LocalWindowAggregateOperator",
    "LookupJoinOperator",
    "LookupTerms",
    "MatchRecognizeOperator",
    "MaterializedLookupJoinOperator",
    "OverAggregateOperator",
    "OverOrder",
    "RankOperator",
    "RankStrategy",
    "RegularJoinOperator",
    "ReplicateRowsOperator",
    "RowCondition",
    "RowKey",
    "SessionFunctionOperator",
    "TableFunctionOperator",
    "TableIntervalJoinOperator",
    "TableWindowJoinOperator",
    "TemporalJoinOperator",
    "TemporalSortOperator",
    "UnnestOperator",
    "UpsertMaterializeOperator",
    "WatermarkAssignerOperator",
    "WindowAggregateOperator",
    "WindowDeduplicateOperator",
    "WindowFunctionOperator",
    "WindowRankOperator",
    "slicing_refusal",
]
