"""Operators of sources, of single rows and of kinds of changes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from penstock.common.watermark_strategy import OfferedWatermarks, WatermarkStrategy
from penstock.datastream.stream import DataStream
from penstock.graph.nodes import FORWARD, Chaining, Edge, Node, Role
from penstock.runtime.operators import table as operators
from penstock.runtime.operators.partitioned_source import create_source_operator
from penstock.runtime.operators.table.change_codes import FromChangelogOperator, ToChangelogOperator
from penstock.runtime.operators.table.stamping import StampOperator
from penstock.table.algebra import nodes
from penstock.table.algebra.changelog_nodes import FromChangelog, ToChangelog
from penstock.table.algebra.nodes import PlanNode
from penstock.table.algebra.table_api_nodes import FinalRows
from penstock.table.sql.nesting import refuse_depth
from penstock.table.translation.narrowing import narrowed
from penstock.table.translation.watermark_options import WatermarkOptions, refuse_alignment
from penstock.vocabulary.sql.logical_types import Kind, LogicalType, row_of
from penstock.vocabulary.sql.row_kinds import DELETE, UPDATE_BEFORE
from penstock.vocabulary.sql.typed_expressions import Call, FieldRef, Literal, TypedExpression
from penstock.vocabulary.sql.user_functions import USER_FUNCTION

if TYPE_CHECKING:
    from penstock.table.translation.translator import Translator

__all__ = [
    "correlate",
    "drop_update_before",
    "expand",
    "filter_rows",
    "final_rows",
    "from_changelog",
    "normalize",
    "projection",
    "replicate",
    "scan_table",
    "to_changelog",
    "union_all",
    "values_rows",
    "watermark_assigner",
]

_TRUTH = LogicalType(Kind.BOOLEAN, False)


def scan_table(translator: Translator, node: nodes.Scan) -> DataStream:
    """The rows of a table."""
    table = node.table
    if table.watermark is None:
        refuse_alignment(node, "it declares no WATERMARK FOR a column")
    columns = table.source_columns
    keys = tuple([each.metadata_key for each in columns if each.metadata_key is not None])
    row_type = row_of(tuple([each.name for each in columns]), tuple([each.type.as_plain_time() for each in columns]))
    stream = translator.reuse.source(node) if translator.settings.reuses_sources else None
    if stream is None:
        made: DataStream = node.source.stream(translator.environment, row_type, keys, ".".join(table.path))
        stream = translator.reuse.keep_source(node, made)
    if node.columns == tuple(range(len(columns))):
        return stream
    fields = tuple([FieldRef(each, columns[each].type) for each in node.columns])
    operator = operators.CalcOperator(projections=fields, zone=translator.settings.zone)
    return _behind_each(translator, node, operator, stream, row_type.names)


def _behind_each(
    translator: Translator,
    node: PlanNode,
    operator: Any,
    stream: DataStream,
    column_names: tuple[str, ...] | None = None,
) -> DataStream:
    """Put an operator behind each source of a table, so that it can be in the vertex of that source."""
    parts = [translator.then(node, operator, (each,), column_names=column_names) for each in stream.edges]
    return parts[0].union(*parts[1:]) if len(parts) > 1 else parts[0]


def values_rows(translator: Translator, node: nodes.Values) -> DataStream:
    """Rows that stand in the query."""
    stream: DataStream = translator.environment.from_collection([(0, *row) for row in node.rows])
    return stream.uid(translator.uids.uid(node, translator.environment.graph)).name("Values")


def watermark_assigner(translator: Translator, node: nodes.WatermarkAssigner) -> DataStream:
    """Rows with their event time and its watermarks."""
    scan = _scan_below(node)
    options = WatermarkOptions() if scan is None else WatermarkOptions.of(scan)
    if scan is not None and _keeps_watermarks(scan):
        refuse_alignment(scan, "its watermarks are those of a stream; give with_watermark_alignment to from_source()")
        return translator.forward(node, StampOperator(rowtime=node.rowtime), node.input)
    is_prompt = options.is_prompt or bool(getattr(scan and scan.source, "watermark_after_each_row", False))
    idle_ms = (
        translator.settings.idle_timeout_ms if options.idle_timeout_ms is None else options.idle_timeout_ms or None
    )
    operator = operators.WatermarkAssignerOperator(
        rowtime=node.rowtime,
        watermark=node.watermark,
        after_each_row=is_prompt,
        idle_timeout_ms=idle_ms,
        zone=translator.settings.zone,
    )
    made = _behind_each(translator, node, operator, translator.stream(node.input))
    can_push = scan is not None and not getattr(scan.source, "has_watermarks", False)
    strategy: WatermarkStrategy[Any] = WatermarkStrategy(
        partial(OfferedWatermarks, is_prompt), idle_timeout_ms=idle_ms, alignment=options.alignment
    )
    are_pushed = [can_push and _push_into_source(translator, each, strategy) for each in made.edges]
    if scan is not None and not all(are_pushed):
        refuse_alignment(scan, "its watermarks are not made in its source, which rows leave for other subtasks")
    return made


def _push_into_source(translator: Translator, assigner: Edge, strategy: WatermarkStrategy[Any]) -> bool:
    """Let the source make the watermarks, for each of its partitions, of what the assigner works out in its vertex.

    Nothing is done, and False returned, if rows change subtasks between the two.
    """
    graph = translator.environment.graph
    path = [graph.nodes[assigner.source_id]]
    while path[-1].role is not Role.SOURCE:
        node = path[-1]
        if len(node.inputs) != 1 or node.inputs[0].partitioning != FORWARD:
            return False
        path.append(graph.nodes[node.inputs[0].source_id])
        if _parallelism_of(path[-1]) != _parallelism_of(node):
            return False
    source = path.pop()
    graph.change(source.id, operator=create_source_operator(source.operator.source, strategy))
    for each in path:
        graph.change(each.id, chaining=Chaining.JOINED)
    return True


def _parallelism_of(node: Node) -> int | None:
    return 1 if node.is_single else node.parallelism


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


def projection(translator: Translator, node: nodes.Project) -> DataStream:
    """Other columns of the same rows."""
    source: PlanNode = node.input
    condition: TypedExpression | None = None
    if isinstance(source, nodes.Filter) and narrowed(translator, source) is None:
        condition, source = source.condition, source.input
    if condition is None and _is_identity(node):
        return translator.stream(source)
    expressions = node.expressions
    refuse_depth([condition, *expressions])
    if condition is None and _may_lack_fields(translator, source):
        expressions = tuple(map(_null_without_fields, expressions))
    operator = operators.CalcOperator(condition=condition, projections=expressions, zone=translator.settings.zone)
    if isinstance(source, nodes.Scan):
        return _behind_each(translator, node, operator, translator.stream(source), source.row_type.names)
    return translator.forward(node, operator, source)


def _may_lack_fields(translator: Translator, node: PlanNode) -> bool:
    """Whether rows that delete may have their key only, though other columns are NOT NULL."""
    if not isinstance(node, nodes.Scan):
        return translator.mode(node).deletes_by_key
    kinds = node.source.changelog_kinds
    return bool(node.source.deletes_by_key) or (DELETE in kinds and UPDATE_BEFORE not in kinds)


def _null_without_fields(expression: TypedExpression) -> TypedExpression:
    """The expression, or NULL where a field that it needs is not there."""
    needed = [] if isinstance(expression, FieldRef) else list(dict.fromkeys(_needed_fields(expression)))
    if not needed:
        return expression
    missing = [Call("IS NULL", (FieldRef(each.index, each.type.with_nullable(True)),), _TRUTH) for each in needed]
    condition = missing[0]
    for each in missing[1:]:
        condition = Call("OR", (condition, each), _TRUTH)
    nullable = expression.type.with_nullable(True)
    return Call("CASE", (condition, Literal(None, nullable), expression), nullable)


def _needed_fields(expression: TypedExpression) -> Iterator[FieldRef]:
    if isinstance(expression, FieldRef) and not expression.type.nullable:
        yield expression
    for each in expression.arguments if isinstance(expression, Call) else ():
        yield from _needed_fields(each)


def _is_identity(node: nodes.Project) -> bool:
    width = len(node.input.types)
    places = [each.index if isinstance(each, FieldRef) else -1 for each in node.expressions]
    return places == list(range(width))


def filter_rows(translator: Translator, node: nodes.Filter) -> DataStream:
    """The rows for which a condition holds."""
    both = narrowed(translator, node)
    if both is not None:
        made = operators.CalcOperator(
            condition=both.condition, projections=both.projections, zone=translator.settings.zone
        )
        return translator.forward(node, made, both.source)
    refuse_depth([node.condition])
    operator = operators.CalcOperator(condition=node.condition, zone=translator.settings.zone)
    return translator.forward(node, operator, node.input)


def union_all(translator: Translator, node: nodes.Union) -> DataStream:
    """The rows of several inputs."""
    first, *others = [translator.stream(each) for each in node.parts]
    return first.union(*others)


def correlate(translator: Translator, node: nodes.Correlate) -> DataStream:
    """Each row with those that a function makes of it."""
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


def expand(translator: Translator, node: nodes.Expand) -> DataStream:
    """A row for each grouping set."""
    lists = []
    for number, group in enumerate(node.groups):
        fields: list[TypedExpression] = []
        for index, field in enumerate(node.input.fields):
            is_out = index in node.key_fields and index not in group
            fields.append(Literal(None, field.type.with_nullable(True)) if is_out else field)
        lists.append((*fields, Literal(number, LogicalType(Kind.BIGINT, False))))
    operator = operators.ExpandOperator(projections=tuple(lists), zone=translator.settings.zone)
    return translator.forward(node, operator, node.input)


def replicate(translator: Translator, node: nodes.Replicate) -> DataStream:
    """A row as often as a column says."""
    width = len(node.types)
    operator = operators.ReplicateRowsOperator(count_field=width, fields=tuple(range(width)), types=node.types)
    return translator.forward(node, operator, node.input)


def normalize(translator: Translator, node: nodes.Normalize) -> DataStream:
    """Changes by key, with the rows before them."""
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


def drop_update_before(translator: Translator, node: nodes.DropUpdateBefore) -> DataStream:
    """Changes without the rows before updates."""
    return translator.forward(node, operators.DropUpdateBeforeOperator(), node.input)


def to_changelog(translator: Translator, node: ToChangelog) -> DataStream:
    """Rows with a column that says what each changes."""
    return translator.forward(node, ToChangelogOperator(codes=node.codes), node.input)


def from_changelog(translator: Translator, node: FromChangelog) -> DataStream:
    """Changes that a column tells."""
    return translator.forward(node, FromChangelogOperator(code=node.code, kinds=node.kinds), node.input)


def final_rows(translator: Translator, node: FinalRows) -> DataStream:
    """What is left at the end of the input."""
    operator = operators.FinalRowsOperator(types=node.types)
    return translator.keyed(node, operator, node.input, ())
