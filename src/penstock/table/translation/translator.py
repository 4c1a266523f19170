"""Makes the operators of a plan. Each kind of node has a function here that gives its stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from penstock.datastream.stream import DataStream, add_operator
from penstock.errors import SqlValidationError
from penstock.graph.nodes import Edge, Exchange, Partitioning
from penstock.runtime.operators import table as operators
from penstock.runtime.operators.table.change_codes import FromChangelogOperator, ToChangelogOperator
from penstock.runtime.operators.table.stamping import StampOperator
from penstock.table.algebra import nodes
from penstock.table.algebra.changelog_nodes import FromChangelog, ToChangelog
from penstock.table.algebra.match_node import Match
from penstock.table.algebra.nodes import PlanNode
from penstock.table.algebra.table_api_nodes import CountWindowAggregate, FinalRows, TableAggregate
from penstock.table.algebra.temporal_nodes import LookupJoin, TemporalJoin
from penstock.table.changelog.inference import InferredPlan
from penstock.table.changelog.modes import ChangelogMode
from penstock.table.metadata.keys import smallest, unique_keys, upsert_keys
from penstock.table.order_of_changes import parallelism_after
from penstock.table.row_patterns import pattern_spec
from penstock.table.translation.settings import TableSettings
from penstock.table.translation.time_joins import lookup_join, temporal_join
from penstock.table.translation.uids import Uids
from penstock.vocabulary.sql.logical_types import Kind, LogicalType, row_of
from penstock.vocabulary.sql.typed_expressions import FieldRef, Literal, TypedExpression
from penstock.vocabulary.sql.user_functions import USER_FUNCTION

__all__ = ["Translator"]

NAME_LENGTH = 80


class Translator:
    """Translates one plan into the graph of an environment; what several nodes read is made once."""

    def __init__(self, plan: InferredPlan, environment: Any, settings: TableSettings) -> None:
        self.plan = plan
        self.environment = environment
        self.settings = settings
        self.uids = Uids()
        self._streams: dict[PlanNode, DataStream] = {}

    def stream(self, node: PlanNode) -> DataStream:
        """The stream of a node's rows."""
        made = self._streams.get(node)
        if made is None:
            translate = TRANSLATIONS.get(type(node))
            if translate is None:
                raise SqlValidationError(f"{node.describe()} cannot be run yet.")
            made = self._streams[node] = translate(self, node)
        return made

    def mode(self, node: PlanNode) -> ChangelogMode:
        """The changelog mode of a node."""
        return self.plan.modes[node]

    def has_changes(self, node: PlanNode) -> bool:
        """Whether a node puts out more than insertions."""
        return not self.mode(node).is_append

    # ---- operators ----

    def then(self, node: PlanNode, operator: Any, edges: tuple[Edge, ...], part: str = "") -> DataStream:
        """Append an operator to the graph."""
        text = node.describe()
        text = f"{part.capitalize()}{text}" if part == "local" else text
        name = text if len(text) <= NAME_LENGTH else text[: NAME_LENGTH - 3] + "..."
        uid = self.uids.uid(node, self.environment.graph, part)
        settings = {"uid": uid, "description": text, "parallelism": parallelism_after(self.environment.graph, edges)}
        return add_operator(self.environment, name, operator, edges, None, is_checked=False, **settings)

    def forward(self, node: PlanNode, operator: Any, source: PlanNode, part: str = "") -> DataStream:
        """An operator that reads its input where it is."""
        return self.then(node, operator, self.stream(source).edges, part)

    def keyed(self, node: PlanNode, operator: Any, source: PlanNode, keys: Sequence[int], part: str = "") -> DataStream:
        """An operator that reads its input by key."""
        return self.then(node, operator, self.keyed_edges(self.stream(source), keys), part)

    @staticmethod
    def keyed_edges(stream: DataStream, keys: Sequence[int]) -> tuple[Edge, ...]:
        """The edges of a stream, dealt out by fields."""
        return stream.edges_with(Partitioning(Exchange.KEYED, operators.RowKey(*keys)))

    def two_inputs(self, node: nodes.Join, operator: Any) -> DataStream:
        """An operator that reads the inputs of a join by its keys."""
        left = self.keyed_edges(self.stream(node.left), node.left_keys)
        right = self.keyed_edges(self.stream(node.right), node.right_keys)
        return self.then(node, operator, left + tuple([replace(each, input_index=1) for each in right]))


# ---- sources and rows ----


def _scan(translator: Translator, node: nodes.Scan) -> DataStream:
    table = node.table
    columns = table.source_columns
    keys = tuple([each.metadata_key for each in columns if each.metadata_key is not None])
    row_type = row_of(tuple([each.name for each in columns]), tuple([each.type.as_plain_time() for each in columns]))
    stream: DataStream = node.source.stream(translator.environment, row_type, keys, ".".join(table.path))
    if node.columns == tuple(range(len(columns))):
        return stream
    fields = tuple([FieldRef(each, columns[each].type) for each in node.columns])
    operator = operators.CalcOperator(projections=fields, zone=translator.settings.zone)
    return translator.then(node, operator, stream.edges)


def _values(translator: Translator, node: nodes.Values) -> DataStream:
    stream: DataStream = translator.environment.from_collection([(0, *row) for row in node.rows])
    return stream.uid(translator.uids.uid(node, translator.environment.graph)).name("Values")


def _watermark(translator: Translator, node: nodes.WatermarkAssigner) -> DataStream:
    scan = _scan_below(node)
    options = {} if scan is None else dict(scan.table.options)
    is_prompt = scan is not None and bool(getattr(scan.source, "watermark_after_each_row", False))
    if scan is not None and _keeps_watermarks(scan):
        return translator.forward(node, StampOperator(rowtime=node.rowtime), node.input)
    operator = operators.WatermarkAssignerOperator(
        rowtime=node.rowtime,
        watermark=node.watermark,
        after_each_row=is_prompt or options.get("scan.watermark.emit.strategy") == "on-event",
        idle_timeout_ms=translator.settings.idle_timeout_ms,
        zone=translator.settings.zone,
    )
    return translator.forward(node, operator, node.input)


def _keeps_watermarks(scan: nodes.Scan) -> bool:
    """Whether the watermarks are those of a DataStream that the table is made of."""
    watermark = scan.table.origin.schema.watermark
    is_asked = watermark is not None and "SOURCE_WATERMARK" in watermark.expression.upper()
    return is_asked and bool(getattr(scan.source, "has_watermarks", False))


def _scan_below(node: PlanNode) -> nodes.Scan | None:
    while not isinstance(node, nodes.Scan):
        if len(node.inputs) != 1:
            return None
        (node,) = node.inputs
    return node


def _project(translator: Translator, node: nodes.Project) -> DataStream:
    source: PlanNode = node.input
    condition: TypedExpression | None = None
    if isinstance(source, nodes.Filter):
        condition, source = source.condition, source.input
    if condition is None and _is_identity(node):
        return translator.stream(source)
    operator = operators.CalcOperator(condition=condition, projections=node.expressions, zone=translator.settings.zone)
    return translator.forward(node, operator, source)


def _is_identity(node: nodes.Project) -> bool:
    width = len(node.input.types)
    places = [each.index if isinstance(each, FieldRef) else -1 for each in node.expressions]
    return places == list(range(width))


def _filter(translator: Translator, node: nodes.Filter) -> DataStream:
    operator = operators.CalcOperator(condition=node.condition, zone=translator.settings.zone)
    return translator.forward(node, operator, node.input)


def _union(translator: Translator, node: nodes.Union) -> DataStream:
    first, *others = [translator.stream(each) for each in node.parts]
    return first.union(*others)


def _correlate(translator: Translator, node: nodes.Correlate) -> DataStream:
    if node.function != USER_FUNCTION:
        return _unnest(translator, node)
    operator = operators.TableFunctionOperator(
        user_function=node.options[0], arguments=node.arguments, is_left=node.is_left, zone=translator.settings.zone
    )
    return translator.forward(node, operator, node.input)


def _unnest(translator: Translator, node: nodes.Correlate) -> DataStream:
    operator = operators.UnnestOperator(
        collection=node.arguments[0],
        with_ordinality="WITH ORDINALITY" in node.options,
        is_left=node.is_left,
        zone=translator.settings.zone,
    )
    return translator.forward(node, operator, node.input)


def _expand(translator: Translator, node: nodes.Expand) -> DataStream:
    lists = []
    for number, group in enumerate(node.groups):
        fields: list[TypedExpression] = []
        for index, field in enumerate(node.input.fields):
            is_out = index in node.key_fields and index not in group
            fields.append(Literal(None, field.type.with_nullable(True)) if is_out else field)
        lists.append((*fields, Literal(number, LogicalType(Kind.BIGINT, False))))
    operator = operators.ExpandOperator(projections=tuple(lists), zone=translator.settings.zone)
    return translator.forward(node, operator, node.input)


def _replicate(translator: Translator, node: nodes.Replicate) -> DataStream:
    width = len(node.types)
    operator = operators.ReplicateRowsOperator(count_field=width, fields=tuple(range(width)), types=node.types)
    return translator.forward(node, operator, node.input)


# ---- aggregates ----


ONE_PHASE = ("FIRST_VALUE", "LAST_VALUE", "SINGLE_VALUE")
"""Aggregates that Flink cannot merge, so that it has no phase before the exchange."""


def _aggregate(translator: Translator, node: nodes.Aggregate) -> DataStream:
    operator = operators.GroupAggregateOperator(
        key_fields=node.keys,
        aggregates=node.calls,
        input_types=node.input.types,
        needs_retraction=translator.has_changes(node.input),
        generate_update_before=translator.mode(node).has_update_before,
        mini_batch=translator.settings.is_mini_batch,
        mini_batch_size=translator.settings.mini_batch_size,
        is_two_phase=translator.settings.is_two_phase and not any(each.function in ONE_PHASE for each in node.calls),
        state_ttl_ms=translator.settings.state_ttl_ms if node.ttl_ms is None else node.ttl_ms,
    )
    return translator.keyed(node, operator, node.input, node.keys)


def _table_aggregate(translator: Translator, node: TableAggregate) -> DataStream:
    operator = operators.GroupTableAggregateOperator(
        key_fields=node.keys,
        aggregate=node.calls[0],
        input_types=node.input.types,
        state_ttl_ms=translator.settings.state_ttl_ms,
    )
    return translator.keyed(node, operator, node.input, node.keys)


def _count_window(translator: Translator, node: CountWindowAggregate) -> DataStream:
    if translator.has_changes(node.input):
        raise SqlValidationError(f"{node.describe()} takes rows that are only inserted, but its input updates.")
    operator = operators.CountWindowAggregateOperator(
        key_fields=node.keys, aggregates=node.calls, input_types=node.input.types, size=node.size, slide=node.slide
    )
    return translator.keyed(node, operator, node.input, node.keys)


def _final_rows(translator: Translator, node: FinalRows) -> DataStream:
    operator = operators.FinalRowsOperator(types=node.types)
    return translator.keyed(node, operator, node.input, ())


PROPERTY_WORDS = {
    nodes.WindowProperty.START: operators.WINDOW_START,
    nodes.WindowProperty.END: operators.WINDOW_END,
    nodes.WindowProperty.TIME: operators.WINDOW_TIME,
}


def _window_aggregate(translator: Translator, node: nodes.WindowAggregate) -> DataStream:
    attached = None if node.end is None else (node.start, node.end)
    operator = operators.WindowAggregateOperator(
        key_fields=node.keys,
        aggregates=node.calls,
        input_types=node.input.types,
        window=node.spec,
        time_field=node.time if node.is_event_time else None,
        window_fields=attached if node.time is None else None,
        is_event_time=node.is_event_time,
        properties=tuple([PROPERTY_WORDS[each] for each in node.properties]),
        needs_retraction=translator.has_changes(node.input),
        is_partial=_is_two_phase(translator, node),
    )
    if not operator.is_partial:
        return translator.keyed(node, operator, node.input, node.keys)
    assert node.time is not None
    local = operators.LocalWindowAggregateOperator(
        key_fields=node.keys,
        aggregates=node.calls,
        input_types=node.input.types,
        window=node.spec,
        time_field=node.time,
    )
    stream = translator.forward(node, local, node.input, "local")
    return translator.then(node, operator, translator.keyed_edges(stream, range(len(node.keys))))


def _is_two_phase(translator: Translator, node: nodes.WindowAggregate) -> bool:
    """Whether windows are aggregated before the exchange too: by default where they can be, as in Flink."""
    is_timed = node.is_event_time and node.time is not None and not translator.has_changes(node.input)
    if not is_timed or not translator.settings.is_two_phase:
        return False
    return operators.can_be_local(node.keys, node.calls, node.input.types, node.spec)


def _group_window(translator: Translator, node: nodes.GroupWindowAggregate) -> DataStream:
    operator = operators.GroupWindowAggregateOperator(
        key_fields=node.keys,
        aggregates=node.calls,
        input_types=node.input.types,
        window=node.window,
        time_field=node.time if node.is_event_time else None,
        properties=node.properties,
        needs_retraction=translator.has_changes(node.input),
    )
    return translator.keyed(node, operator, node.input, node.keys)


def _window_table(translator: Translator, node: nodes.WindowTable) -> DataStream:
    time = node.time if node.is_event_time else None
    if node.window.kind.value == "SESSION":
        operator = operators.SessionFunctionOperator(window=node.window, time_field=time, types=node.input.types)
        return translator.keyed(node, operator, node.input, node.partition)
    return translator.forward(node, operators.WindowFunctionOperator(window=node.window, time_field=time), node.input)


NOT_OVER = frozenset(["LEAD", "NTILE", "PERCENT_RANK", "CUME_DIST"])
NOT_BY_TIME = frozenset(["RANK", "DENSE_RANK"])


def _over(translator: Translator, node: nodes.Over) -> DataStream:
    attribute = node.time_attribute
    order = operators.OverOrder(attribute.value) if attribute is not None else operators.OverOrder.FIELDS
    missing = NOT_OVER | (NOT_BY_TIME if attribute is not None else frozenset())
    for each in node.calls:
        if each.function in missing:
            why = (
                "has no order by time; order by another column" if each.function in NOT_BY_TIME else "needs later rows"
            )
            raise SqlValidationError(f"{each.function} cannot be used on a stream, it {why}: {node.describe()}.")
    operator = operators.OverAggregateOperator(
        aggregates=node.calls,
        input_types=node.input.types,
        order=order,
        time_field=node.order[0].index if order is operators.OverOrder.ROWTIME else None,
        sort_fields=node.order if order is operators.OverOrder.FIELDS else (),
        is_rows=node.frame.is_rows,
        preceding=node.frame.preceding,
        generate_update_before=translator.mode(node).has_update_before,
        state_ttl_ms=translator.settings.state_ttl_ms,
    )
    return translator.keyed(node, operator, node.input, node.partition)


# ---- joins ----


def _side(
    translator: Translator, node: PlanNode, keys: tuple[int, ...], ttl_ms: int | None = None
) -> operators.JoinSide:
    known = upsert_keys(node) if translator.has_changes(node) else unique_keys(node)
    covered = frozenset([each for each in known if each <= set(keys)])
    ttl = translator.settings.state_ttl_ms if ttl_ms is None else ttl_ms
    is_insert_only = not translator.has_changes(node)
    return operators.JoinSide(node.types, keys, smallest(covered or known), ttl, is_insert_only)


def _join(translator: Translator, node: nodes.Join) -> DataStream:
    operator = operators.RegularJoinOperator(
        join=operators.JoinKind(node.kind.value),
        left=_side(translator, node.left, node.left_keys, node.ttls_ms[0]),
        right=_side(translator, node.right, node.right_keys, node.ttls_ms[1]),
        condition=node.condition,
        filter_nulls=tuple([not each for each in node.null_safe]),
        zone=translator.settings.zone,
    )
    return translator.two_inputs(node, operator)


def _interval_join(translator: Translator, node: nodes.IntervalJoin) -> DataStream:
    operator = operators.TableIntervalJoinOperator(
        join=operators.JoinKind(node.kind.value),
        left=_side(translator, node.left, node.left_keys),
        right=_side(translator, node.right, node.right_keys),
        left_time=node.left_time if node.is_event_time else None,
        right_time=node.right_time if node.is_event_time else None,
        lower_ms=node.lower_ms,
        upper_ms=node.upper_ms,
        condition=node.condition,
        filter_nulls=tuple([not each for each in node.null_safe]),
    )
    return translator.two_inputs(node, operator)


def _window_join(translator: Translator, node: nodes.WindowJoin) -> DataStream:
    operator = operators.TableWindowJoinOperator(
        join=operators.JoinKind(node.kind.value),
        left=_side(translator, node.left, node.left_keys),
        right=_side(translator, node.right, node.right_keys),
        left_window_end=node.left_window[1],
        right_window_end=node.right_window[1],
        condition=node.condition,
        filter_nulls=tuple([not each for each in node.null_safe]),
        zone=node.zone,
    )
    return translator.two_inputs(node, operator)


# ---- order ----


def _rank(translator: Translator, node: nodes.Rank) -> DataStream:
    if node.window is not None:
        outside = tuple([each for each in node.partition if each not in node.window_fields])
        windowed = operators.WindowRankOperator(
            types=node.input.types,
            sort_fields=node.order,
            window_end=node.window[1],
            start=node.first,
            end=node.last,
            emits_rank=node.shows_rank,
            zone=node.zone,
        )
        return translator.keyed(node, windowed, node.input, outside)
    strategy = translator.plan.strategies[node]
    operator = operators.RankOperator(
        types=node.input.types,
        sort_fields=node.order,
        strategy=strategy,
        start=node.first,
        end=node.last,
        emits_rank=node.shows_rank,
        generate_update_before=translator.mode(node).has_update_before,
        unique_key=smallest(upsert_keys(node.input)) or (),
        state_ttl_ms=translator.settings.state_ttl_ms,
    )
    return translator.keyed(node, operator, node.input, node.partition)


def _limit(translator: Translator, node: nodes.Limit) -> DataStream:
    end = None if node.fetch is None else node.offset + node.fetch
    if not node.order and not translator.has_changes(node.input):
        operator: Any = operators.LimitOperator(start=node.offset, end=2**63 - 1 if end is None else end)
        return translator.keyed(node, operator, node.input, ())
    if end is None:
        raise SqlValidationError("ORDER BY with OFFSET needs a LIMIT on a stream: without it no row could be left out.")
    strategy = translator.plan.strategies.get(node, operators.RankStrategy.RETRACT)
    operator = operators.RankOperator(
        types=node.input.types,
        sort_fields=node.order,
        strategy=strategy,
        start=node.offset + 1,
        end=end,
        generate_update_before=translator.mode(node).has_update_before,
        unique_key=smallest(upsert_keys(node.input)) or (),
        state_ttl_ms=translator.settings.state_ttl_ms,
    )
    return translator.keyed(node, operator, node.input, ())


def _sort(translator: Translator, node: nodes.Sort) -> DataStream:
    first = node.order[0]
    attribute = node.input.types[first.index].time_attribute
    if attribute is None or first.descending:
        if translator.settings.sorts_at_end:
            at_end = operators.BoundedSortOperator(types=node.input.types, sort_fields=node.order)
            return translator.keyed(node, at_end, node.input, ())
        raise SqlValidationError(
            f"ORDER BY {node.input.names[first.index]} cannot be done on a stream that never ends: order by a time "
            f"attribute ascending first, or add a LIMIT."
        )
    is_rowtime = attribute.value == "ROWTIME"
    operator = operators.TemporalSortOperator(
        types=node.input.types, time_field=first.index if is_rowtime else None, sort_fields=node.order[1:]
    )
    return translator.keyed(node, operator, node.input, ())


def _deduplicate(translator: Translator, node: nodes.Deduplicate) -> DataStream:
    if node.window is not None:
        windowed = operators.WindowDeduplicateOperator(
            types=node.input.types,
            keep_last=node.keeps_last,
            time_field=node.time,
            window_end=node.window[1],
            zone=node.zone,
        )
        return translator.keyed(node, windowed, node.input, node.keys)
    mode = translator.mode(node)
    operator = operators.DeduplicateOperator(
        types=node.input.types,
        keep_last=node.keeps_last,
        time_field=node.time if node.is_event_time else None,
        generate_update_before=mode.has_update_before,
        mini_batch=translator.settings.is_mini_batch,
        mini_batch_size=translator.settings.mini_batch_size,
        state_ttl_ms=translator.settings.state_ttl_ms,
    )
    return translator.keyed(node, operator, node.input, node.keys)


def _match(translator: Translator, node: Match) -> DataStream:
    conditions = {variable: operators.RowCondition(variable, each) for variable, each in node.definitions}
    spec = pattern_spec(
        node.elements,
        node.skip,
        node.within_ms,
        conditions,
        is_processing_time=not node.is_event_time,
        comparator=node.order[1:] or None,
    )
    operator = operators.MatchRecognizeOperator(
        spec=spec,
        partition=node.partition,
        measures=node.measures,
        types=node.input.types,
        time_field=node.order[0].index if node.is_event_time else None,
        zone=translator.settings.zone,
    )
    return translator.keyed(node, operator, node.input, node.partition)


# ---- changelogs ----


def _normalize(translator: Translator, node: nodes.Normalize) -> DataStream:
    operator = operators.ChangelogNormalizeOperator(
        types=node.input.types,
        generate_update_before=translator.mode(node).has_update_before,
        condition=node.condition,
        mini_batch=translator.settings.is_mini_batch,
        mini_batch_size=translator.settings.mini_batch_size,
        state_ttl_ms=translator.settings.state_ttl_ms,
        zone=translator.settings.zone,
    )
    return translator.keyed(node, operator, node.input, node.keys)


def _drop_update_before(translator: Translator, node: nodes.DropUpdateBefore) -> DataStream:
    return translator.forward(node, operators.DropUpdateBeforeOperator(), node.input)


def _to_changelog(translator: Translator, node: ToChangelog) -> DataStream:
    return translator.forward(node, ToChangelogOperator(codes=node.codes), node.input)


def _from_changelog(translator: Translator, node: FromChangelog) -> DataStream:
    return translator.forward(node, FromChangelogOperator(code=node.code, kinds=node.kinds), node.input)


TRANSLATIONS: dict[type[PlanNode], Callable[[Translator, Any], DataStream]] = {
    nodes.Scan: _scan,
    nodes.Values: _values,
    nodes.WatermarkAssigner: _watermark,
    nodes.Project: _project,
    nodes.Filter: _filter,
    nodes.Union: _union,
    nodes.Correlate: _correlate,
    nodes.Expand: _expand,
    nodes.Replicate: _replicate,
    nodes.Aggregate: _aggregate,
    nodes.WindowAggregate: _window_aggregate,
    nodes.GroupWindowAggregate: _group_window,
    nodes.WindowTable: _window_table,
    nodes.Over: _over,
    nodes.Join: _join,
    nodes.IntervalJoin: _interval_join,
    nodes.WindowJoin: _window_join,
    TemporalJoin: temporal_join,
    LookupJoin: lookup_join,
    nodes.Rank: _rank,
    nodes.Limit: _limit,
    nodes.Sort: _sort,
    nodes.Deduplicate: _deduplicate,
    Match: _match,
    nodes.Normalize: _normalize,
    nodes.DropUpdateBefore: _drop_update_before,
    TableAggregate: _table_aggregate,
    CountWindowAggregate: _count_window,
    FinalRows: _final_rows,
    ToChangelog: _to_changelog,
    FromChangelog: _from_changelog,
}
