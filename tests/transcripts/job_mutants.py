"""Operators of queries and topologies broken on purpose, each with the transcript that must notice.

Played in process only: no player has the bare operator of a query. A fault of the path of columns must be seen by the
transcript in columns and not by the one in rows, and the other way round.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.runtime.columns import ColumnBlock, Stamps
from penstock.runtime.operators.kstreams.operator import TopologyOperator
from penstock.runtime.operators.table import (
    DeduplicateOperator,
    GroupAggregateOperator,
    MatchRecognizeOperator,
    OverAggregateOperator,
    RankOperator,
    RegularJoinOperator,
    TableIntervalJoinOperator,
    TableWindowJoinOperator,
    TemporalJoinOperator,
    WindowAggregateOperator,
)
from penstock.runtime.operators.table.join import JoinKind
from penstock.runtime.rows import Timestamps
from penstock.vocabulary.sql.row_kinds import DELETE, INSERT
from tests.transcripts.mutants import Mutant


class RetractionsIgnored(GroupAggregateOperator, Mutant):
    seen_by = "group: a row that is taken back changes the result, the last one deletes it, rows"
    replaces = GroupAggregateOperator

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        super().process_block([(INSERT, *row[1:]) for row in values], timestamps, keys)


class ColumnsCountTwice(GroupAggregateOperator, Mutant):
    """Rows are right: only columns show it."""

    seen_by = "group: each row changes the results of its key, as one update, columns"
    replaces = GroupAggregateOperator

    def process_columns(self, block: ColumnBlock, timestamps: Stamps | None, keys: Any) -> None:
        super().process_columns(block, timestamps, keys)
        super().process_columns(block, timestamps, keys)


class RowsCountTwice(GroupAggregateOperator, Mutant):
    """Columns are right: only rows show it."""

    seen_by = "group: each row changes the results of its key, as one update, rows"
    replaces = GroupAggregateOperator

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        super().process_block(values, timestamps, keys)
        super().process_block(values, timestamps, keys)


class OneUpdateForEachBlock(GroupAggregateOperator, Mutant):
    """Results depend on where batches are cut."""

    seen_by = "group: each row changes the results of its key, as one update, rows"
    replaces = GroupAggregateOperator

    def open(self) -> None:
        self.mini_batch = True
        super().open()


class TimeToLiveIgnored(GroupAggregateOperator, Mutant):
    seen_by = "ttl: a group that is not written for so long begins anew, columns"
    replaces = GroupAggregateOperator

    def open(self) -> None:
        self.state_ttl_ms = 0
        super().open()


class WindowsOneLate(WindowAggregateOperator, Mutant):
    seen_by = (
        "tumble: a window holds its start and not its end, and comes when the watermark reaches its last millisecond, "
        "columns"
    )
    replaces = WindowAggregateOperator

    def on_watermark(self, watermark: int) -> None:
        super().on_watermark(watermark - 1)


class OffsetsIgnored(WindowAggregateOperator, Mutant):
    seen_by = "tumble: an offset moves the windows, also before 1970, rows"
    replaces = WindowAggregateOperator

    def open(self) -> None:
        self.window = replace(self.window, offset_ms=0)
        super().open()


class FramesOneLonger(OverAggregateOperator, Mutant):
    seen_by = "over: a frame of so many rows before, columns"
    replaces = OverAggregateOperator

    def open(self) -> None:
        self.preceding = None if self.preceding is None else self.preceding + 1
        super().open()


class RanksOneMore(RankOperator, Mutant):
    seen_by = "top: a better row takes the place of the last one, columns"
    replaces = RankOperator

    def open(self) -> None:
        self.end = (self.end or 0) + 1
        super().open()


class LastForFirst(DeduplicateOperator, Mutant):
    seen_by = "deduplicate: the first row that comes, rows"
    replaces = DeduplicateOperator

    def open(self) -> None:
        self.keep_last = True
        super().open()


class NullsAreEqual(RegularJoinOperator, Mutant):
    seen_by = "join: NULL equals nothing, not even NULL, rows"
    replaces = RegularJoinOperator

    def open(self) -> None:
        self.filter_nulls = (False,) * len(self.filter_nulls)
        super().open()


class PaddingStays(RegularJoinOperator, Mutant):
    """A row that stood alone is not taken back."""

    seen_by = "left join: a row stands alone until the first of the other side comes, rows"
    replaces = RegularJoinOperator

    def open(self) -> None:
        super().open()
        emit = self.output.emit

        def emit_without_deletions(rows: Any, stamps: Any) -> None:
            emit([row for row in rows if row[0] != DELETE], stamps)

        self.output.emit = emit_without_deletions  # type: ignore[method-assign]


class BoundsExcluded(TableIntervalJoinOperator, Mutant):
    seen_by = "interval: both bounds belong to it, whichever side comes first, columns"
    replaces = TableIntervalJoinOperator

    def open(self) -> None:
        self.lower_ms += 1
        super().open()


class OuterRowsLost(TableWindowJoinOperator, Mutant):
    seen_by = "window join: left outer, rows stand alone at the end of the window, rows"
    replaces = TableWindowJoinOperator

    def open(self) -> None:
        self.join = JoinKind.INNER
        super().open()


class RowsWithoutVersionLost(TemporalJoinOperator, Mutant):
    seen_by = "versions: a row that was deleted is no version, and a left join keeps rows without one, rows"
    replaces = TemporalJoinOperator

    def open(self) -> None:
        self.join = JoinKind.INNER
        super().open()


class MatchesOneLate(MatchRecognizeOperator, Mutant):
    seen_by = "match: rows of a key in the order of time, when the watermark has passed them, columns"
    replaces = MatchRecognizeOperator

    def on_watermark(self, watermark: int) -> None:
        super().on_watermark(watermark - 1)


class DeletionsLost(TopologyOperator, Mutant):
    seen_by = "kstreams table-table: each side updates the result, and either deletes it"
    replaces = TopologyOperator

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        super().process_block([each for each in values if each[3] is not None], timestamps, keys)


class TimeStandsStill(TopologyOperator, Mutant):
    """No record is late, and no window is closed."""

    seen_by = "kstreams suppress: a window comes once, when it is closed"
    replaces = TopologyOperator

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        super().process_block([(*each[:4], min(each[4], 9), *each[5:]) for each in values], timestamps, keys)


JOB_MUTANTS: list[type[Mutant]] = [
    RetractionsIgnored,
    ColumnsCountTwice,
    RowsCountTwice,
    OneUpdateForEachBlock,
    TimeToLiveIgnored,
    WindowsOneLate,
    OffsetsIgnored,
    FramesOneLonger,
    RanksOneMore,
    LastForFirst,
    NullsAreEqual,
    PaddingStays,
    BoundsExcluded,
    OuterRowsLost,
    RowsWithoutVersionLost,
    MatchesOneLate,
    DeletionsLost,
    TimeStandsStill,
]
