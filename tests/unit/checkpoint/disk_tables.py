"""Small jobs with the operators of tables, for `test_plain_on_disk.py`."""

from __future__ import annotations

from typing import Any

from penstock.connectors.generated.held_rows import RowSource
from penstock.datastream import DataStream
from penstock.datastream.stream import add_operator
from penstock.runtime.operators import table
from penstock.runtime.operators.table.change_codes import FromChangelogOperator, ToChangelogOperator
from penstock.runtime.operators.table.count_windows import CountWindowAggregateOperator
from penstock.runtime.operators.table.final_rows import FinalRowsOperator
from penstock.runtime.operators.table.stamping import StampOperator
from penstock.vocabulary.sql.aggregates import result_type
from penstock.vocabulary.sql.logical_types import MAX_LENGTH, Kind, LogicalType
from penstock.vocabulary.sql.ordering import SortField
from penstock.vocabulary.sql.typed_expressions import AggregateCall, FieldRef, Literal
from penstock.vocabulary.sql.windows import WindowKind, WindowSpec

BIGINT = LogicalType(Kind.BIGINT)
STRING = LogicalType(Kind.VARCHAR, parameters=(MAX_LENGTH,))
TIME = LogicalType(Kind.TIMESTAMP, parameters=(3,))
DECIMAL = LogicalType(Kind.DECIMAL, parameters=(10, 2))
TYPES = (BIGINT, STRING, TIME)
BY_TIME = (SortField(2, descending=True),)
SIDES: dict[str, Any] = {"left": table.JoinSide(TYPES, (1,)), "right": table.JoinSide(TYPES, (1,), (0,))}
TUMBLE = WindowSpec(WindowKind.TUMBLE, 50)


def call(function: str, *fields: int, **settings: Any) -> AggregateCall:
    chosen = tuple(TYPES[at] for at in fields)
    return AggregateCall(function, fields, result_type(function, chosen), chosen, **settings)


CALLS = (
    *(call("COUNT"), call("SUM", 0), call("AVG", 0), call("MAX", 1), call("COUNT", 0, is_distinct=True)),
    *(call("COLLECT", 1), call("LISTAGG", 1), call("FIRST_VALUE", 1), call("ARRAY_AGG", 0), call("STDDEV_POP", 0)),
)
FIELDS = tuple(FieldRef(at, logical) for at, logical in enumerate(TYPES))


def rows_of(bench: Any) -> DataStream:
    changes = bench.events().map(lambda event: (0, *event))
    watermarks = table.WatermarkAssignerOperator(rowtime=2, watermark=FIELDS[2])
    return then(changes, table.CalcOperator(projections=FIELDS)).union(then(changes, watermarks))


def then(stream: DataStream, operator: Any, *keys: int) -> DataStream:
    edges = stream.edges
    if operator.is_keyed:
        edges = stream.key_by(table.RowKey(*keys)).edges
    return add_operator(stream.environment, operator.kind, operator, edges, None)


def joined(left: DataStream, right: DataStream, operator: Any) -> DataStream:
    edges = left.connect(right).key_by(table.RowKey(1), table.RowKey(1))
    both = (*edges.stream1.edges, *edges.stream2.edges)
    return add_operator(left.environment, operator.kind, operator, both, None)


def together(streams: list[DataStream]) -> DataStream:
    shown = [stream.map(str) for stream in streams]
    return shown[0].union(*shown[1:])


def table_rows(bench: Any) -> DataStream:
    rows = rows_of(bench)
    array = Literal((1, 2), LogicalType(Kind.ARRAY, parts=(BIGINT,)))
    operators: list[Any] = [
        table.ConstraintEnforcerOperator(names=("n", "name", "t"), types=TYPES),
        table.DropUpdateBeforeOperator(),
        table.ExpandOperator(projections=(FIELDS, FIELDS)),
        table.UnnestOperator(collection=array),
        table.ReplicateRowsOperator(count_field=0, fields=(1,)),
        table.WindowFunctionOperator(window=TUMBLE, time_field=2),
        StampOperator(rowtime=2),
    ]
    told = then(rows, ToChangelogOperator(codes=("i", "b", "a", "d")))
    back = then(told, FromChangelogOperator(code=0, kinds=(("i", 0), ("b", 1), ("a", 2), ("d", 3))))
    held = bench.environment.from_source(RowSource([(0, 1, "a", 2)]), None, "held rows")
    return together([*[then(rows, operator) for operator in operators], back, held])


def table_aggregates(bench: Any) -> DataStream:
    rows = rows_of(bench)
    settings: dict[str, Any] = {"aggregates": CALLS, "input_types": TYPES}
    session = WindowSpec(WindowKind.SESSION, 50)
    grouped: dict[str, Any] = {**settings, "key_fields": (1,)}
    operators: list[Any] = [
        table.GroupAggregateOperator(**grouped, needs_retraction=True, generate_update_before=True, state_ttl_ms=10),
        table.GroupAggregateOperator(**grouped, needs_retraction=False, generate_update_before=False, mini_batch=True),
        table.WindowAggregateOperator(**grouped, window=WindowSpec(WindowKind.HOP, 100, 50), time_field=2),
        table.WindowAggregateOperator(**grouped, window=session, time_field=2),
        table.GroupWindowAggregateOperator(**grouped, window=TUMBLE, time_field=2),
        table.SessionFunctionOperator(window=session, time_field=2, types=TYPES),
        table.OverAggregateOperator(**settings, order=table.OverOrder.ROWTIME, time_field=2, preceding=20),
        table.OverAggregateOperator(**settings, order=table.OverOrder.FIELDS, sort_fields=BY_TIME),
        CountWindowAggregateOperator(**grouped, size=4, slide=2),
        FinalRowsOperator(types=TYPES),
    ]
    return together([then(rows, operator, 1) for operator in operators])


def table_orders(bench: Any) -> DataStream:
    rows = rows_of(bench)
    ranked: dict[str, Any] = {"types": TYPES, "sort_fields": BY_TIME, "end": 2}
    operators: list[Any] = [
        *[table.RankOperator(**ranked, strategy=strategy, unique_key=(0,)) for strategy in table.RankStrategy],
        table.DeduplicateOperator(types=TYPES, keep_last=False, time_field=2),
        table.WindowRankOperator(**ranked, window_end=2),
        table.WindowDeduplicateOperator(types=TYPES, keep_last=True, time_field=2, window_end=2),
        table.UpsertMaterializeOperator(types=TYPES),
        table.ChangelogNormalizeOperator(types=TYPES, generate_update_before=True),
    ]
    single: list[Any] = [
        table.TemporalSortOperator(types=TYPES, time_field=2),
        table.BoundedSortOperator(types=TYPES, sort_fields=BY_TIME),
        table.LimitOperator(start=0, end=5),
    ]
    streams = [then(rows, operator, 1) for operator in operators] + [then(rows, operator) for operator in single]
    return together(streams)


def table_joins(bench: Any) -> DataStream:
    rows, others = rows_of(bench), rows_of(bench)
    bounds: dict[str, Any] = {"left_time": 2, "right_time": 2, "lower_ms": -20, "upper_ms": 20}
    operators: list[Any] = [
        table.RegularJoinOperator(join=table.JoinKind.FULL, **SIDES),
        table.TableWindowJoinOperator(join=table.JoinKind.INNER, **SIDES, left_window_end=2, right_window_end=2),
        table.TableIntervalJoinOperator(join=table.JoinKind.FULL, **SIDES, **bounds),
    ]
    return together([joined(rows, others, operator) for operator in operators])


TABLE_CASES = [table_rows, table_aggregates, table_orders, table_joins]
