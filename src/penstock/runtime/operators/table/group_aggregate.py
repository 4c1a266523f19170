"""GROUP BY: aggregates of each key, with retraction."""

from __future__ import annotations

from typing import Any

from penstock.common.constants import MAX_WATERMARK
from penstock.keys.groups import group_range
from penstock.runtime.columns import NO_KEY, ColumnBlock, Stamps
from penstock.runtime.layouts import Layout
from penstock.runtime.operators.table.aggregate_code import bind_views, indented, with_row_count
from penstock.runtime.operators.table.aggregate_columns import ColumnarCalls, calls_refusal, columnar_calls
from penstock.runtime.operators.table.bundles import MINI_BATCH_SIZE
from penstock.runtime.operators.table.group_columns import GroupColumns
from penstock.runtime.operators.table.keys import RowKey
from penstock.runtime.operators.table.operator import (
    ROW_FORM,
    KeyedTableOperator,
    Row,
    defined,
    described_calls,
    type_texts,
)
from penstock.runtime.operators.table.refusals import keys_refusal
from penstock.runtime.operators.table.seen_columns import SeenValues, ViewOfField
from penstock.runtime.operators.table.slice_columns import KeyColumns
from penstock.runtime.pending_columns import PendingColumns
from penstock.runtime.rows import Timestamps
from penstock.state.hashable_keys import PLAIN_TYPES, hashable_of
from penstock.vocabulary.sql.aggregates.compilation import AggregateCode, seen_views
from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.refusals import MINI_BATCH, RETRACTED, TIME_TO_LIVE, first_refusal
from penstock.vocabulary.sql.typed_expressions import AggregateCall

_STATE = "_accumulators"
_VIEWS = 2
"""How values that were seen are kept: one view for all filters of a DISTINCT, in one value while it is small."""
Groups = dict[Any, tuple[Any, list[Row]]]
_MOST_WAITING = 500_000
"""Rows of columns that are aggregated together."""


class GroupAggregateOperator(KeyedTableOperator):
    """Aggregates rows by the fields `key_fields`, which the input is keyed by (none: one group of all rows).

    Emits the key's fields, then the results of `aggregates`: +I for the first row of a key, -U (if
    `generate_update_before`) and +U when a result has changed, -D when the last row of the key is retracted. Without
    `aggregates` it is SELECT DISTINCT. `needs_retraction`: the input has other rows than +I. `mini_batch` emits once
    for each key of a group of rows instead of once for each row: the groups end with `mini_batch_size` rows, at a
    watermark and at the end of a batch. `is_two_phase` counts as Flink does where it aggregates before the exchange
    already: the keys of every `mini_batch_size` rows, instead of rows. `is_total`: without rows, the end of the input
    gives the results of none.
    """

    kind = "group aggregate"
    state_identity = "GroupAggregateOperator"

    def __init__(
        self,
        *,
        key_fields: tuple[int, ...],
        aggregates: tuple[AggregateCall, ...],
        input_types: tuple[LogicalType, ...],
        needs_retraction: bool,
        generate_update_before: bool,
        mini_batch: bool = False,
        mini_batch_size: int = MINI_BATCH_SIZE,
        is_two_phase: bool = False,
        state_ttl_ms: int = 0,
        is_total: bool = False,
    ) -> None:
        self.key_fields = key_fields
        self.aggregates = aggregates
        self.input_types = input_types
        self.needs_retraction = needs_retraction
        self.generate_update_before = generate_update_before
        self.mini_batch = mini_batch
        self.mini_batch_size = mini_batch_size
        self.is_two_phase = is_two_phase
        self.state_ttl_ms = state_ttl_ms
        self.is_total = is_total

    def refusal(self) -> str | None:
        """Refuse all but groups with a key, of rows that are only added, whose aggregates can be folded as columns."""
        # With a time to live, what is read counts too, and unchanged results are emitted.
        return first_refusal(
            RETRACTED if self.needs_retraction else None,
            MINI_BATCH if self.mini_batch else None,
            TIME_TO_LIVE if self.state_ttl_ms else None,
            None if self.key_fields else "there is no GROUP BY column",
            keys_refusal(self.input_types, self.key_fields, self.column_names),
            calls_refusal(self.aggregates, self.input_types, self.column_names, in_groups=True),
        )

    def layout(self) -> Layout:
        """What the keys are, and what the accumulators hold."""
        has_views = self.needs_retraction or any(call.is_distinct for call in self.aggregates)
        return {
            "operator": self.kind,
            **({"views": _VIEWS} if has_views else {}),
            "keys": type_texts([self.input_types[at] for at in self.key_fields]),
            "aggregates": described_calls(self.aggregates),
            "retraction": self.needs_retraction,
        }

    def open(self) -> None:
        """Get the state and make the loop over rows."""
        code = with_row_count(self.aggregates, self.input_types, retracts=self.needs_retraction)
        self._groups: Groups = {}
        self._waiting = 0
        self._local: Groups = {}
        self._local_rows = 0
        self._state = self.value_state(_STATE, code.state_type())
        views = bind_views(self, code, starts_small=True)
        code.scope.update(held=self._state.held, hold=self._state.hold, views=views)
        self._process = defined(_Loop(self, code).lines(), "process", code.scope)
        self._result_of_none = defined(_result_of_none(code), "result_of_none", code.scope)
        self._columns = self._group_columns(code)
        self._pending = PendingColumns()
        self._pending_watermark: int | None = None

    def _group_columns(self, code: AggregateCode) -> GroupColumns | None:
        """The groups in columns, where they can be."""
        if self.refusal() is not None:
            return None
        calls = columnar_calls(self.aggregates, self.input_types, in_groups=True)
        return GroupColumns(
            self.key_fields,
            KeyColumns([self.input_types[at] for at in self.key_fields]),
            calls,
            self.backend,
            self._state,
            with_update_before=self.generate_update_before,
            seen=self._seen_values(calls, code) if calls.distinct else None,
        )

    def _seen_values(self, calls: ColumnarCalls, code: AggregateCode) -> SeenValues:
        """The views that the loop over rows has too."""
        views = []
        for (field,), (name, filters) in seen_views(self.aggregates).items():
            slots = tuple([(slot, chosen) for slot, of, chosen in calls.distinct if of == field])
            views.append(ViewOfField(code.scope[name], field, slots, tuple(filters)))
        return SeenValues(self.backend, views)

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Aggregate a block."""
        assert keys is not None
        if self.mini_batch:
            self._gather(values, keys)
            return
        self._flush_columns()
        self._process_rows(values, keys)

    def _process_rows(self, values: list[Any], keys: list[Any]) -> None:
        results: list[Row] = []
        consumed = iter(values)
        try:
            self._process(zip(self.backend.walk(keys), consumed, strict=False), results.append)
        except Exception as error:
            raise self.record_failure(error, values, consumed) from None
        self.output.emit(results, None)

    def process_columns(self, block: ColumnBlock, timestamps: Stamps | None, keys: Any) -> None:
        """Let columns wait: state is read once for each key of what is aggregated together."""
        if self._columns is None:
            super().process_columns(block, timestamps, keys)
            return
        if not self._pending.takes(block, None):
            self._flush_columns()
        self._pending.add(block, None)
        if len(self._pending) >= _MOST_WAITING:
            self._flush_columns()

    def _flush_columns(self) -> None:
        """Aggregate the columns that wait; then the watermark goes on that came behind them."""
        if len(self._pending):
            assert self._columns is not None
            block, _ = self._pending.take()
            made = self._columns.changes(block.batch)
            if made is None:
                rows = block.values()
                self.row_records += len(rows)
                self._process_rows(rows, list(map(RowKey(*self.key_fields), rows)))
            else:
                self.output.emit(ColumnBlock(made, ROW_FORM), None)
        watermark, self._pending_watermark = self._pending_watermark, None
        if watermark is not None:
            self.output.emit_watermark(watermark)

    def _gather(self, values: list[Any], keys: list[Any]) -> None:
        start = 0
        while start < len(values):
            stop = start + self.mini_batch_size - self._local_rows
            _add_to(self._local, values[start:stop], keys[start:stop])
            self._local_rows += len(values[start:stop])
            start = stop
            if self._local_rows == self.mini_batch_size:
                self._process_local()

    def _process_local(self) -> None:
        """Aggregate the rows, or pass on what the first phase would have made of them, one key after another."""
        local, self._local, self._local_rows = self._local, {}, 0
        if not self.is_two_phase:
            self._groups = local
            self._process_groups()
            return
        for hashable, (key, rows) in local.items():
            group = self._groups.get(hashable)
            if group is None:
                self._groups[hashable] = key, rows
            else:
                group[1].extend(rows)
            self._waiting += 1
            if self._waiting >= self.mini_batch_size:
                self._process_groups()

    def _process_gathered(self) -> None:
        if self.mini_batch:
            self._process_local()
            self._process_groups()

    def _process_groups(self) -> None:
        """Aggregate the rows that have been gathered."""
        groups, self._groups, self._waiting = self._groups, {}, 0
        results: list[Row] = []
        keys = [key for key, _ in groups.values()]
        for key, (_, rows) in zip(self.backend.walk(keys), groups.values(), strict=True):
            try:
                self._process(rows, results.append)
            except Exception as error:
                raise self.failure(error, f"aggregating rows of key {key!r}") from None
        self.output.emit(results, None)

    def begin_batch(self, version: int, attempt: str, state: Any) -> None:
        """Nothing is left of a batch that failed."""
        self._groups, self._waiting = {}, 0
        self._local, self._local_rows = {}, 0
        self._pending.drop()
        self._pending_watermark = None

    def on_watermark(self, watermark: int) -> None:
        """Emit what was gathered before the watermark; columns and the watermark behind them wait together."""
        if len(self._pending):
            self.watermark = self._pending_watermark = watermark
            return
        self._process_gathered()
        if self.is_total and watermark == MAX_WATERMARK:
            self._emit_total()
        super().on_watermark(watermark)

    def on_status(self, is_idle: bool) -> None:
        """Emit what came before."""
        self._flush_columns()
        super().on_status(is_idle)

    def on_end(self) -> None:
        """Emit what was gathered before the end."""
        self._flush_columns()
        self._process_gathered()
        super().on_end()

    def _emit_total(self) -> None:
        """Emit the results of no rows if there is no row, or none is left; the subtask does that rows would come to."""
        context = self.context
        group = int.from_bytes(self.backend.encoded(NO_KEY)[0], "big")
        if group not in group_range(context.subtask, context.parallelism, context.max_parallelism):
            return
        self.backend.set_key(NO_KEY)
        if self._state.held() is None:
            self.output.emit([self._result_of_none()], None)

    def end_batch(self, now_ms: int, end_of_input: bool) -> None:
        """Emit what was gathered: state and output belong to the batch."""
        self._flush_columns()
        self._process_gathered()


def _add_to(groups: Groups, values: list[Any], keys: list[Any]) -> None:
    """Put rows with those of the same key."""
    for key, row in zip(keys, values, strict=True):
        hashable = key if type(key) in PLAIN_TYPES else hashable_of(key)
        group = groups.get(hashable)
        if group is None:
            groups[hashable] = key, [row]
        else:
            group[1].append(row)


def _result_of_none(code: AggregateCode) -> list[str]:
    values = "".join(f"{each}, " for each in code.values)
    names = [f"    {code.names} = {code.initial}"] if code.slots else []
    return ["def result_of_none():", *names, f"    return (0, {values})"]


class _Loop:
    """The text of the loop over rows: of each one, or of all rows of a key together."""

    def __init__(self, operator: GroupAggregateOperator, code: AggregateCode) -> None:
        self._operator = operator
        self._code = code
        self._keys = "".join(f"row[{at + 1}], " for at in operator.key_fields)
        count = len(code.values)
        self._before = "".join(f"before{at}, " for at in range(count))
        self._after = "".join(f"after{at}, " for at in range(count))
        self._is_changed = " or ".join(f"before{at} != after{at}" for at in range(count)) or "False"

    def lines(self) -> list[str]:
        """The definition of `process`."""
        return self._of_groups() if self._operator.mini_batch else self._of_rows()

    def _of_rows(self) -> list[str]:
        code = self._code
        skip = ["if row[0] & 1:", "    continue"] if self._operator.needs_retraction else []
        return [
            "def process(pairs, emit):",
            "    for key, row in pairs:",
            "        accumulator = held()",
            "        if accumulator is None:",
            *indented(skip, 3),
            f"            {code.names} = {code.initial}",
            "        else:",
            *indented(self._unpacked(), 3),
            *indented(self._folded(), 2),
            *indented(self._emission(), 2),
        ]

    def _of_groups(self) -> list[str]:
        code = self._code
        skip = [
            "while row is not None and row[0] & 1:",
            "    row = next(remaining_rows, None)",
            "if row is None:",
            "    return",
        ]
        return [
            "def process(rows, emit):",
            "    remaining_rows = iter(rows)",
            "    row = next(remaining_rows)",
            "    accumulator = held()",
            "    if accumulator is None:",
            *indented(skip if self._operator.needs_retraction else [], 2),
            f"        {code.names} = {code.initial}",
            "    else:",
            *indented(self._unpacked(), 2),
            "    while row is not None:",
            *indented(self._folded(), 2),
            "        last = row",
            "        row = next(remaining_rows, None)",
            "    row = last",
            *indented(self._emission(), 1),
        ]

    def _unpacked(self) -> list[str]:
        code = self._code
        values = [f"before{at} = {value}" for at, value in enumerate(code.values)]
        return [f"{code.names} = accumulator", *values] if code.slots or values else ["pass"]

    def _folded(self) -> list[str]:
        code = self._code
        if not self._operator.needs_retraction:
            return code.accumulate
        return [
            "if row[0] & 1:",
            *indented(code.retract, 1),
            "else:",
            *indented(code.accumulate, 1),
        ]

    def _emission(self) -> list[str]:
        """Keep the accumulator and emit what has changed; or forget the key."""
        code, operator = self._code, self._operator
        kept = [
            *[f"after{at} = {value}" for at, value in enumerate(code.values)],
            f"folded = {code.names}",
            "if folded != accumulator:",
            "    hold(folded)",
            "if accumulator is None:",
            f"    emit((0, {self._keys}{self._after}))",
            *indented(self._update(), 0),
        ]
        if not operator.needs_retraction:
            return kept
        forget = [
            "if accumulator is not None:",
            f"    emit((3, {self._keys}{self._before}))",
            "    hold(None)",
            "for view in views:",
            "    view.clear()",
        ]
        return ["if row_count > 0:", *indented(kept, 1), "else:", *indented(forget, 1)]

    def _update(self) -> list[str]:
        # With a time to live the consumer's state has to be kept alive, so Flink emits unchanged results too.
        renews = self._operator.state_ttl_ms > 0 and not self._operator.mini_batch
        condition = "else:" if renews else f"elif {self._is_changed}:"
        before = [f"    emit((1, {self._keys}{self._before}))"] if self._operator.generate_update_before else []
        lines = [condition, *before, f"    emit((2, {self._keys}{self._after}))"]
        if renews:
            lines.insert(1, "    hold(folded)")
        return lines
